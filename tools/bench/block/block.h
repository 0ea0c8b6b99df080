/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: what its files share. */
#ifndef SHPOOL_BENCH_BLOCK_H
#define SHPOOL_BENCH_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/bench/list.h"
#include "tools/bench/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the user's options: options.c ---- */

typedef struct bench_options {
    int         device;    /* in bench_device_names, or BENCH_ANY_DEVICE */
    bench_names allocators; /* specs or "all"; none: as $SHPOOL_ALLOCATOR says */
    bench_names skipped;   /* names that "all" leaves out */
    bench_list  bindings;  /* bench_binding_id */
    bench_list  workloads; /* indices in workload.h's order */
    bench_list  scopes;    /* of the workload objects: indices in objects.h's order */
    bench_list  medians;   /* likewise, bytes */
    bench_list  touched;   /* likewise, 0 or 1 */
    double      sigma;     /* likewise, of the logarithm of the sizes */
    bench_list  threads;
    bench_list  payload_bytes; /* of all pools of a block; empty: total_bytes counts */
    bench_list  total_bytes;   /* of shared memory, for the pools to fill */
    bench_list  threads_per_pool; /* 0: the allocator's own choice */
    uint32_t    blocks;     /* CPU: blocks of the grid */
    uint32_t    iterations;
    uint32_t    repeats;    /* launches whose median counts */
    uint32_t    spin_ms;    /* GPU: work before a measurement, so that its clocks rise */
    uint32_t    seed;
    const char *json;       /* file; "-": stdout; NULL: none */
    const char *csv;        /* likewise */
    const char *plot;       /* file */
} bench_options;

/** 0: go on; else exit status + 1. */
int bench_options_parse(int argc, char **argv, bench_options *options);

/** Complete the options once the device is known: all allocators, the defaults. */
int bench_options_complete(bench_options *options, int cuda);

/** How many points there are: the product of all lists; scopes, medians and touched count for
 *  objects only. */
size_t bench_points(const bench_options *options);

/** How many of them differ only in the workload; they are adjacent. */
size_t bench_workload_points(const bench_options *options);

/** Point `index`; workloads (of objects: touched, medians, scopes) change fastest, then bindings,
 *  allocators, pools, threads.  A spec's own size is that of its points. */
void bench_point_at(const bench_options *options, size_t index, bench_point *point);

/** A point's configuration for shpool_plan(). */
void bench_point_config(const bench_point *point, shpool_config *want);

/* ---- what a point means for a pool and a kernel: point.c ---- */

/** The row cannot exist, because... */
void bench_row_absent(bench_row *row, const char *why);

/** Say why planning failed; 0: such pools cannot exist, -1: it should have worked. */
int bench_row_refused(bench_row *row, shpool_status status);

/** Whether the point's row cannot exist for this pool; then the row says why. */
int bench_row_missing(bench_row *row, const bench_point *point, const shpool_pool *pool);

struct bench_args;
struct bench_tally;

/** A kernel's arguments, except the places of tally and sizes. */
void bench_args_init(struct bench_args *args, const bench_options *options,
                     const bench_point *point, const shpool_pool *pool);

/** Add the results of one launch of row->blocks blocks; errors accumulate.  -1: units gave up, and
 *  the note says so. */
int bench_row_tally(bench_row *row, size_t workload, const struct bench_tally *tally);

/* ---- the workload objects: objects.c ---- */

#define BENCH_OWN_SLOT    "own slot" /* the spec of the baseline, which has no allocator */
#define BENCH_BLOCK_BYTES 16u        /* of static shared memory in kernels of scope block */

/** The lines of all scopes in a usage text. */
void bench_scopes(FILE *to);

int bench_is_own_slot(const char *spec);

/** A pool in which every unit of the point has a slot: pool->largest bytes.  Always SHPOOL_OK. */
shpool_status bench_own_slot_plan(const bench_point *point, shpool_pool *pool);

/** Why the row of a point of objects cannot exist; NULL: it can. */
const char *bench_objects_missing(const bench_point *point, const shpool_pool *pool);

/** BENCH_SIZES requests, lognormal, for a point whose workload has a table of sizes; of objects the
 *  row notes if the pool limits them. */
void bench_row_sizes(bench_row *row, const bench_options *options, const bench_point *point,
                     const shpool_pool *pool, uint32_t *sizes);

/* ---- cpu.c, cuda.cu ---- */

/** One row on the CPU block executor; 0, or -1 with row->note set. */
int bench_cpu_row(const bench_options *options, const bench_point *point, bench_row *row);

/** One row on the current GPU; 0, or -1 with row->note set. */
int bench_cuda_row(const bench_options *options, const bench_point *point, bench_row *row);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_BLOCK_H */
