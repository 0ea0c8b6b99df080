/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the names of what can be chosen: commands, bindings, workloads. */
#ifndef SHPOOL_BENCH_NAMES_H
#define SHPOOL_BENCH_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * X(name, summary).  A command is bench_NAME(): argv[0] is the tool's name, the options follow; it
 * returns the exit status.  Each has a --help of its own.
 */
#define BENCH_COMMANDS(X) \
    X(block, "allocators of a block's shared memory; if no command is given") \
    X(compare, "two files of block --json: which rows are faster or slower") \
    X(plot, "a chart of a file of block --json") \
    X(loadstore, "copies between global and shared memory, on a GPU") \
    X(map, "a picture of a pool over time, from a trace") \
    X(memory, "allocators of device memory, on a GPU") \
    X(advise, "which pool suits a recorded kernel: bytes, allocator, blocks on an SM") \
    X(replay, "which allocator suits a recorded kernel, and how many bytes")

#define BENCH_DECLARE(_name, _summary) int bench_##_name(int argc, char **argv);
BENCH_COMMANDS(BENCH_DECLARE)
#undef BENCH_DECLARE

/** The lines of all commands in a usage text. */
void bench_commands(FILE *to);

typedef enum bench_binding_id { BENCH_TABLE, BENCH_INLINE, BENCH_LINKED } bench_binding_id;
extern const char *const bench_binding_names[]; /* NULL at the end */

extern const char *const bench_command_names[]; /* likewise */
extern const char *const bench_device_names[];
#define BENCH_ANY_DEVICE (-1) /* CUDA if there is a GPU */

/** Workloads in bench/block/workload.h's order; NULL at the end. */
extern const char *const bench_workload_names[];

/** Scopes of the workload objects in bench/block/objects.h's order; NULL at the end. */
extern const char *const bench_scope_names[];

/** A row of BENCH_WORKLOADS. */
typedef struct bench_workload {
    const char *name;
    uint32_t    least;  /* bytes of the smallest request */
    uint32_t    traits; /* BENCH_FILLS, ... */
    const char *summary;
} bench_workload;

/** Workload `index`; past the last one, one whose name is NULL. */
const bench_workload *bench_workload_at(size_t index);

/** Bytes of shared memory that it needs beside the pool: letter boxes. */
uint32_t bench_box_bytes(size_t workload, uint32_t threads);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_NAMES_H */
