/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the members of a result. */
#ifndef SHPOOL_BENCH_RECORD_H
#define SHPOOL_BENCH_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <shpool/shpool.h>

#include "facts.h"
#include "names.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One measurement of the sweep. */
typedef struct bench_point {
    const char *spec;             /* NULL: as $SHPOOL_ALLOCATOR says */
    bench_binding_id binding;
    size_t   workload;
    uint32_t threads;
    uint32_t payload_bytes;       /* 0: total_bytes counts */
    uint32_t total_bytes;
    uint32_t threads_per_pool;
    uint32_t scope;               /* of objects: index in bench/block/objects.h's order */
    uint32_t median;              /* likewise, bytes; 0: another workload */
    uint32_t touched;             /* likewise */
} bench_point;

#define BENCH_MEASURED "measured"
#define BENCH_ABSENT   "n/a"    /* such a row cannot exist; the note says why */
#define BENCH_FAILED   "failed" /* it should exist, but failed */

/** One measurement.  Negative figures: not measured.  bench_row_columns names all of it. */
typedef struct bench_row {
    char     spec[512];     /* as requested */
    char     allocator[SHPOOL_NAME_BYTES];
    char     binding[8];
    char     workload[8];
    char     state[12];     /* BENCH_MEASURED, ... */
    uint32_t threads;
    uint32_t payload_bytes; /* requested; 0: total_bytes was */
    uint32_t total_bytes;
    uint32_t threads_per_pool; /* requested; 0: the allocator's own choice */
    uint32_t pool_threads;  /* that share a pool in fact */
    uint32_t pools;
    uint32_t shared_bytes;  /* of a block's pools, metadata included */
    uint32_t blocks;        /* of the launch that gave gops */
    double   registers;
    double   cycles;        /* per operation, one thread of a block alone on the GPU: median */
    double   cycles_spread; /* median distance from that median, percent of it */
    double   gops;          /* 10^9 operations per second, the whole device: median */
    double   gops_spread;
    double   failed;        /* percent of operations that were refused mallocs */
    double   utilisation;   /* ramp, aging: percent of the region that was payload */
    double   sm_mhz;        /* clock of the multiprocessors right after the measurement */
    unsigned long long operations; /* of one launch; checked launches on a GPU */
    unsigned long long refused;    /* of those */
    unsigned long long errors;     /* payload checks that failed, in all launches */
    char     digest[17];    /* of the operations: equal digests did the same; else empty */
    char     scope[8];      /* objects: scope of a request; other workloads: empty */
    uint32_t median_bytes;  /* objects: requested; 0 */
    uint32_t touched;       /* objects: 1 if all bytes are written and read; 0 */
    double   malloc_cycles; /* objects: mean of a malloc with its refusals and pauses (GPU) */
    double   free_cycles;
    bench_series cycles_samples;
    bench_series gops_samples;
    char     note[2048];    /* why a figure is missing; a list of all allocators fits */
} bench_row;

/** Where and how the rows were measured: bench_origin_columns and bench_fact_columns name it. */
typedef struct bench_facts {
    bench_origin origin;
    int64_t  threads;       /* negative: there are several; the rows have them */
    int64_t  payload_bytes;
    uint32_t iterations;
    uint32_t repeats;
    uint32_t seed;
    uint32_t planned;      /* planned rows; more than the results have: interrupted */
    double   sigma;        /* of the sizes of objects; negative: not measured */
} bench_facts;

extern const bench_column bench_row_columns[];  /* a name of NULL ends each */
extern const bench_column bench_fact_columns[];

/** Whether only the workload objects has such a column: files of earlier versions lack it, and
 *  tables of other workloads. */
int bench_is_objects_column(const bench_column *column);

/** A row with everything but the figures. */
void bench_row_init(bench_row *row, const bench_point *point);

/** Set the row's planned pool. */
void bench_row_set_pool(bench_row *row, const shpool_pool *pool);

/** The row's medians and spreads from its samples. */
void bench_row_summarise(bench_row *row);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_RECORD_H */
