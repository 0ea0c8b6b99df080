/* SPDX-License-Identifier: BSD-3-Clause */
/* Replay on the CPU block executor: in the recorded order, so that it repeats exactly. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shpool/executor.h>

#include "lib/internal.h"
#include "replay.h"
#include "replay_kernel.h"

typedef struct job {
    shpool_pool pool;
    replay_args args;
} job;

static void kernel(void *arg)
{
    const job *j = arg;
    shpool_heap heap = shpool_init(&j->pool, simt_from_shared(simt_dynamic_base()));

    replay_run(heap, &j->args);
    shpool_fini(heap);
}

static shpool_status launch(const replay_script *script, job *j)
{
    simt_launch shape = { .grid = { script->blocks }, .block = { script->block_threads },
                          .dynamic_bytes = j->pool.shared_bytes + 4u * script->block_threads,
                          .max_switches = ~0ull };
    simt_result result;
    shpool_status status = simt_run(&shape, kernel, j, &result);

    return (status == SHPOOL_OK) ? status
                                 : shpool_error(status, "%s: %s", j->pool.name, result.text);
}

shpool_status replay_cpu(const replay_script *script, const replay_shape *shape, int stop,
                         replay_tally *tally_p, shpool_pool *pool_p)
{
    shpool_config want = { .block_threads = script->block_threads,
                           .alignment = script->alignment };
    uint32_t failed = 0;
    char spec[SHPOOL_SPEC_BYTES + 64];
    shpool_status status;
    job j;

    memset(tally_p, 0, sizeof(*tally_p));
    memset(&j, 0, sizeof(j));
    replay_spec(shape, spec, sizeof(spec));
    status = shpool_simt_open(spec, &want, &j.pool);
    if (status != SHPOOL_OK) {
        return status;
    }
    j.args = (replay_args){ .block = script->block, .ops = script->ops, .steps = script->steps,
                            .begin = script->begin, .tally = tally_p, .failed = &failed,
                            .spent = script->spent,
                            .box = j.pool.shared_bytes, .ordered = 1, .stop = stop != 0 };
    j.args.got = calloc(script->count + 1u, sizeof(*j.args.got));
    j.args.pending = malloc((script->count + 1u) * sizeof(*j.args.pending));
    if ((j.args.got == NULL) || (j.args.pending == NULL)) {
        status = shpool_error(SHPOOL_ERR_NO_MEMORY, "no memory to replay %u operations",
                              script->count);
    } else {
        memset(j.args.pending, 1, script->count * sizeof(*j.args.pending));
        status = launch(script, &j);
    }
    free(j.args.got);
    free(j.args.pending);
    if (pool_p != NULL) {
        *pool_p = j.pool;
        pool_p->report = NULL;
    }
    (void)shpool_simt_close(&j.pool);
    return status;
}

/* ---- the least bytes that suffice ---- */

/* Sizes that one pool may have: multiples of 16 bytes, or the odd ones of them (lib/plan.c). */
typedef struct sizes {
    uint32_t pools;
    uint32_t least; /* of one pool */
    uint32_t step;
    uint32_t slack; /* of a block */
} sizes;

static uint32_t total_of(const sizes *s, uint32_t steps)
{
    return s->slack + s->pools * (s->least + steps * s->step);
}

/* 1: no request fails; 0: a request fails, or there is no such pool; negative: a status. */
static int enough(const replay_script *script, replay_shape shape, uint32_t total,
                  replay_need *need)
{
    replay_tally tally;
    shpool_status status;

    need->runs++;
    shape.total_bytes = total;
    status = replay_cpu(script, &shape, 1, &tally, NULL);
    if (status == SHPOOL_ERR_TOO_SMALL) {
        return 0;
    }
    return (status == SHPOOL_OK) ? (tally.failures == 0) : (int)status;
}

shpool_status replay_bisect(const replay_script *script, const replay_shape *shape,
                            replay_need *need_p)
{
    replay_shape largest = *shape;
    replay_tally tally;
    shpool_pool pool;
    sizes s;
    uint32_t low = 0;  /* too few, or 0 */
    uint32_t high;     /* enough */
    uint32_t steps;
    int doubling = 1;
    int answer;
    shpool_status status;

    memset(need_p, 0, sizeof(*need_p));
    largest.total_bytes = SHPOOL_MAX_SHARED;
    status = replay_cpu(script, &largest, 1, &tally, &pool); /* the most that a block can have */
    need_p->runs = 1;
    if ((status != SHPOOL_OK) || (tally.failures != 0)) {
        return status;
    }
    need_p->possible = 1;
    if (pool.pool_bytes == 0) { /* all is spilled */
        return SHPOOL_OK;
    }
    s.pools = pool.pools;
    s.slack = SHPOOL_SLACK_BYTES(script->alignment);
    s.least = ((pool.pools > 1) && (script->alignment > 16)) ? script->alignment : 16;
    s.step = ((pool.pools > 1) && (script->alignment == 16)) ? 32 : s.least;
    high = (pool.pool_bytes - s.least) / s.step;

    /* from the peak of live bytes upwards, doubling each time until it is enough, then by
     * bisection */
    steps = script->peak_bytes / pool.pools / s.step;
    while (low < high) {
        steps = (doubling && (steps < high)) ? steps : low + (high - low) / 2;
        answer = enough(script, *shape, total_of(&s, steps), need_p);
        if (answer < 0) {
            return (shpool_status)answer;
        }
        doubling &= !answer && (2 * steps + 1 < high);
        high = answer ? steps : high;
        low = answer ? low : steps + 1;
        steps = 2 * steps + 1;
    }
    need_p->bytes = total_of(&s, high);
    need_p->below = (high > 0) ? total_of(&s, high - 1) : 0;
    return SHPOOL_OK;
}
