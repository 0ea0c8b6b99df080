/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench replay: the request, and the rows of its results. */
#ifndef SHPOOL_BENCH_REPLAY_H
#define SHPOOL_BENCH_REPLAY_H

#include "tools/bench/list.h"
#include "replay.h"

typedef struct replay_options {
    const char *allocator;
    int device;                /* in bench_device_names, or BENCH_ANY_DEVICE */
    const char *arch;
    bench_list threads_per_pool; /* none: several */
    uint32_t bytes;            /* 0: as recorded */
    int cuda;
} replay_options;

/* One allocator and geometry. */
typedef struct replay_row {
    char allocator[SHPOOL_NAME_BYTES];
    char spec[160];            /* of the least bytes */
    uint32_t threads_per_pool;
    uint32_t pools;
    uint32_t blocks;           /* of a multiprocessor, with the least bytes */
    replay_tally tally;        /* at the requested bytes; in the recorded order */
    replay_tally gpu;          /* there, threads running freely */
    replay_tally gpu_least;    /* the same with the least bytes */
    replay_need need;
    int missing;               /* cannot replay this */
    char note[512];
} replay_row;

typedef struct replay_table {
    replay_row *rows;
    uint32_t count;
} replay_table;

/** Ranks the rows and prints them, and the spec that needs the fewest bytes. */
void replay_table_print(const replay_options *o, replay_table *t);

#endif
