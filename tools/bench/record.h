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

/** One measurement.  Negative figures: not measured.  O: only the workload objects has it: files of
 *  earlier versions lack it, and tables of other workloads. */
#define BENCH_ROW(X, O) \
    X(TEXT, spec, [512], "allocator", -18, NULL) /* as requested */ \
    X(TEXT, allocator, [SHPOOL_NAME_BYTES], NULL, 0, NULL) \
    X(TEXT, binding, [8], "binding", -7, NULL) \
    X(TEXT, workload, [8], "workload", -8, NULL) \
    X(TEXT, state, [12], NULL, 0, NULL) /* BENCH_MEASURED, ... */ \
    X(U32, threads, , "threads", 7, NULL) \
    X(U32, payload_bytes, , "payload", 7, NULL) /* requested; 0: total_bytes was */ \
    X(U32, total_bytes, , NULL, 0, NULL) \
    X(U32, threads_per_pool, , NULL, 0, NULL) /* requested; 0: the allocator's own choice */ \
    X(U32, pool_threads, , "a pool", 6, NULL) /* that share a pool in fact */ \
    X(U32, pools, , NULL, 0, NULL) \
    X(U32, shared_bytes, , "shared", 7, NULL) /* of a block's pools, metadata included */ \
    X(U32, blocks, , "blocks", 6, NULL) /* of the launch that gave gops */ \
    X(REAL, registers, , "regs", 4, "%.0f") \
    X(REAL, cycles_per_op, , "cycles/op", 9, "%.0f") /* one thread of a block alone: median */ \
    X(REAL, cycles_spread_percent, , NULL, 0, NULL) /* median distance from that median */ \
    X(REAL, gops, , "Gop/s", 9, "%.4g") /* 10^9 operations per second, the whole device: median */ \
    X(REAL, gops_spread_percent, , "+-%", 4, "%.1f") \
    X(REAL, failures_percent, , "failed %", 8, "%.2f") /* of operations: refused mallocs */ \
    X(REAL, utilisation_percent, , "util %", 6, "%.1f") /* ramp, aging: payload of the region */ \
    X(REAL, sm_mhz, , NULL, 0, NULL) /* clock right after the measurement */ \
    X(U64, operations, , NULL, 0, NULL) /* of one launch; checked launches on a GPU */ \
    X(U64, failures, , NULL, 0, NULL) /* of those: refused */ \
    X(U64, errors, , "errors", 6, NULL) /* payload checks that failed, in all launches */ \
    X(TEXT, digest, [17], NULL, 0, NULL) /* equal: the same operations; else empty */ \
    O(TEXT, scope, [8], "scope", -6, NULL) /* of a request */ \
    O(U32, median_bytes, , "median", 6, NULL) /* requested */ \
    O(U32, touched, , "touched", 7, NULL) /* 1: all bytes are written and read */ \
    O(REAL, malloc_cycles, , "malloc", 7, "%.0f") /* mean, with refusals and pauses (GPU) */ \
    O(REAL, free_cycles, , "free", 7, "%.0f") \
    X(SERIES, cycles_samples, , NULL, 0, NULL) \
    X(SERIES, gops_samples, , NULL, 0, NULL) \
    X(TEXT, note, [2048], "", 0, NULL) /* why a figure is missing; all allocators' names fit */
typedef struct bench_row {
    BENCH_ROW(BENCH_MEMBER, BENCH_MEMBER)
} bench_row;

/** Where and how the rows were measured. */
#define BENCH_FACTS(X) \
    X(INT, threads, , NULL, 0, NULL) /* negative: there are several; the rows have them */ \
    X(INT, payload_bytes, , NULL, 0, NULL) \
    X(U32, iterations, , NULL, 0, NULL) \
    X(U32, repeats, , NULL, 0, NULL) \
    X(U32, seed, , NULL, 0, NULL) \
    X(U32, planned, , NULL, 0, NULL) /* rows; more than the results have: interrupted */ \
    X(REAL, sigma, , NULL, 0, NULL) /* of the sizes of objects; negative: not measured */
typedef struct bench_facts {
    bench_origin origin;
    BENCH_FACTS(BENCH_MEMBER)
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
