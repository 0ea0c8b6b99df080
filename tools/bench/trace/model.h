/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench advise: how long a recorded kernel takes with other pools.
 *
 * A warp is a list of steps: calls of its lanes that come together, with the cycles before them in
 * which it computes.  Calls cost a constant of the allocator and the accesses to shared memory that
 * the executor counts when it replays the recording in such a pool. */
#ifndef SHPOOL_BENCH_TRACE_MODEL_H
#define SHPOOL_BENCH_TRACE_MODEL_H

#include <shpool/shpool.h>

#include "file.h"
#include "replay.h"

#define MODEL_BLIND_CYCLES 3000.0 /* between steps, if the recording has no times */

typedef struct model_step {
    uint32_t warp;
    uint32_t first; /* of its operations, in model.list */
    uint32_t count;
    double   gap;   /* cycles before it */
} model_step;

typedef struct model {
    const replay_script *script;
    model_step *steps;
    uint32_t   *list;    /* operations of the script, as each warp makes them */
    uint32_t   *begin;   /* of each warp's steps, block * warps + warp; one more ends the last */
    uint32_t    warps;   /* of a block */
    double      traced;  /* cycles of a call while it was recorded: not part of the gaps */
    uint32_t    timed;
    uint32_t    waits;   /* the kernel can wait for memory */
} model;

/** Cycles, added up over the recorded blocks. */
typedef struct model_time {
    double busy;     /* mean of a block's warps: computing and calling */
    double calls;    /* of these, calling */
    double whole;    /* also waiting, for memory and for the pool's lock */
    double starved;  /* requests that would wait for ever, of all */
} model_time;

/**
 * Make it of a trace and of the script of the same trace.
 * @return 0, or -1: no memory
 */
int  model_make(const trace_file *trace, const replay_script *script, model *m);
void model_free(model *m);

/**
 * Estimate the time with a planned pool, with the accesses in script->spent.
 * @param [in] waits  requests that do not fit wait; 0: all fit
 * @return 0, or -1: no memory
 */
int model_estimate(const model *m, const shpool_pool *pool, int waits, model_time *time_p);

#endif /* SHPOOL_BENCH_TRACE_MODEL_H */
