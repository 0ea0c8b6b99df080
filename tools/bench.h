/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: what its files share. */
#ifndef SHPOOL_BENCH_H
#define SHPOOL_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_MAX_WORKLOADS 16

/** What the user asked for. */
typedef struct bench_options {
    const char *device;    /* "cpu", "cuda", or NULL: cuda if there is one */
    const char *allocator; /* a name, "all", or NULL: as $SHPOOL_ALLOCATOR says */
    const char *binding;   /* "inline", "table", "linked", "all" */
    const char *workload;  /* a name or "all" */
    uint32_t    threads;
    uint32_t    bytes;     /* payload of all pools of a block */
    uint32_t    blocks;    /* CPU: blocks of the grid */
    uint32_t    iterations;
    uint32_t    seed;
    int         json;
} bench_options;

/** One measurement.  Negative figures: not measured. */
typedef struct bench_row {
    char     allocator[SHPOOL_NAME_BYTES];
    char     binding[8];
    char     workload[8];
    uint32_t threads;
    uint32_t pools;
    uint32_t shared_bytes;
    uint32_t blocks;       /* of the launch that gave gops */
    int      registers;
    double   cycles;       /* per operation, one thread of a block alone on the GPU */
    double   gops;         /* 10^9 operations per second, the whole device */
    double   failed;       /* percent of operations that were refused mallocs */
    double   utilisation;  /* ramp: percent of the region that was payload */
    unsigned long long errors; /* payload checks that failed */
    char     note[2048];   /* why a figure is missing; a list of all allocators fits */
} bench_row;

/** The workloads over the block allocators; argv[0] is the tool's name, the options follow.  Exit
 * status. */
int bench_block(int argc, char **argv);

/** The usage lines of all commands (bench.c's table). */
void bench_commands(FILE *to);

/** Receives each row as soon as it is measured. */
typedef void (*bench_sink)(const bench_row *row, void *user);

/** Name of workload `index` (bench_workload.h's order), or NULL past the last. */
const char *bench_workload_name(size_t index);

/** A row with everything but the figures set. */
void bench_row_init(bench_row *row, const char *allocator, const char *binding,
                    const char *workload, const shpool_pool *pool);

/** Whether the row of `workload` cannot exist for this pool; then row->note says why. */
int bench_row_missing(bench_row *row, size_t workload, const shpool_pool *pool);

/** One row on the CPU block executor; 0, or -1 with row->note set. */
int bench_cpu_row(const bench_options *options, const char *spec, size_t workload, bench_row *row);

/** Whether there is a GPU; its name and driver in text, or why not. */
int bench_cuda_present(char *text, size_t bytes);

/** One row on the current GPU; 0, or -1 with row->note set. */
int bench_cuda_row(const bench_options *options, const char *spec, const char *binding,
                   size_t workload, bench_row *row);

/** A number from low to high, K, M or G behind it; -1: it is none, and stderr says so. */
int bench_number(const char *text, const char *option, uint32_t low, uint32_t high,
                 uint32_t *value);

/** Begin, add to and print the JSON document; -1: this build has no JSON library. */
int  bench_json_begin(const bench_options *options, const char *device);
void bench_json_row(const bench_row *row, void *user);
void bench_json_end(void);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_H */
