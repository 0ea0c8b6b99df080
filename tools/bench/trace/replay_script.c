/* SPDX-License-Identifier: BSD-3-Clause */
/* From a trace to the script that kernels replay. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "file.h"

#define THREAD(_op) ((_op)->what >> 16)

static uint32_t log2_of(uint32_t power)
{
    return 31u - (uint32_t)__builtin_clz(power);
}

/* The lanes that make a recorded call; for a block, those of its first warp. */
static trace_threads lanes_of(const trace_op *op, uint32_t block_threads)
{
    const uint32_t warp = op->thread - op->thread % TRACE_WARP;
    const uint32_t rest = block_threads - warp;

    return (op->members <= TRACE_WARP)
               ? trace_threads_of(op->thread, op->members, block_threads)
               : (trace_threads){ warp, (rest < TRACE_WARP) ? rest : TRACE_WARP };
}

/* giver[i]: which operation of the script has the pointer of the malloc i of the life. */
static void add_life(replay_script *script, uint32_t block, const trace_life *life,
                     uint32_t *giver)
{
    replay_block *made = &script->block[block];

    made->begin = script->count;
    for (uint32_t i = 0; i < life->count; i++) {
        const trace_op *op = &life->ops[i];
        replay_op *to = &script->ops[script->count];
        const uint32_t alignment = (op->kind == TRACE_MALLOC) ? op->alignment : 1;
        const uint32_t kind = (op->kind == TRACE_FREE) ? REPLAY_FREE
                              : (op->kind == TRACE_RESIZE) ? REPLAY_RESIZE
                              : (op->end == TRACE_NONE) ? REPLAY_TRY : REPLAY_MALLOC;
        const trace_threads who = lanes_of(op, script->block_threads);

        if (op->kind == TRACE_SKIP) {
            continue;
        }
        *to = (replay_op){ .what = kind | (log2_of(alignment) << 8) | (who.first << 16),
                           .bytes = op->bytes, .from = REPLAY_NONE,
                           .lanes = (~0u >> (TRACE_WARP - who.count)) << who.first % TRACE_WARP };
        if (op->kind != TRACE_MALLOC) {
            to->from = giver[op->object];
        }
        giver[op->object] = made->count;
        script->alignment = (alignment > script->alignment) ? alignment : script->alignment;
        made->count++;
        script->count++;
    }
}

/* Count the steps of each thread in begin[]; or note them in steps[], and begin[] has their ends
 * then. */
static void walk_steps(replay_script *script, uint32_t *steps)
{
    for (uint32_t b = 0; b < script->blocks; b++) {
        for (uint32_t i = 0; i < script->block[b].count; i++) {
            const replay_op *op = &script->ops[script->block[b].begin + i];
            const size_t warp = (size_t)b * script->block_threads +
                                THREAD(op) / TRACE_WARP * TRACE_WARP;

            for (uint32_t lanes = op->lanes; lanes != 0; lanes &= lanes - 1) {
                const uint32_t at = script->begin[warp + (uint32_t)__builtin_ctz(lanes)]++;

                if (steps != NULL) {
                    steps[at] = i;
                }
            }
        }
    }
}

/* Add the steps in which each thread takes part; 0, or -1: no memory. */
static int add_steps(replay_script *script)
{
    const size_t lists = (size_t)script->blocks * script->block_threads;
    uint64_t sum = 0;

    walk_steps(script, NULL);
    for (size_t t = 0; t <= lists; t++) {
        const uint32_t count = script->begin[t];

        script->begin[t] = (uint32_t)sum;
        sum += count;
    }
    script->steps = (sum < UINT32_MAX) ? calloc(sum + 1u, sizeof(*script->steps)) : NULL;
    if (script->steps == NULL) {
        return -1;
    }
    walk_steps(script, script->steps);
    memmove(script->begin + 1, script->begin, lists * sizeof(*script->begin));
    script->begin[0] = 0;
    return 0;
}

int replay_script_make(const struct trace_file *trace, replay_script *script_p)
{
    replay_script script = { .block_threads = trace->block_threads, .alignment = 16,
                             .total_bytes = trace->pools * trace->pool_bytes,
                             .blocks = trace->count };
    size_t lists = (size_t)trace->count * trace->block_threads;
    size_t ops = 1;
    size_t most = 1;
    uint32_t *giver;

    for (uint32_t i = 0; i < trace->count; i++) {
        ops += trace->lives[i].count;
        most = (trace->lives[i].count > most) ? trace->lives[i].count : most;
    }
    script.block = calloc(trace->count, sizeof(*script.block));
    script.ops = calloc(ops, sizeof(*script.ops));
    script.begin = calloc(lists + 1, sizeof(*script.begin));
    giver = malloc(most * sizeof(*giver));
    memset(script_p, 0, sizeof(*script_p));
    if ((script.block == NULL) || (script.ops == NULL) || (script.begin == NULL) ||
        (giver == NULL) || (ops > UINT32_MAX)) {
        replay_script_free(&script);
        free(giver);
        return -1;
    }

    for (uint32_t i = 0; i < trace->count; i++) {
        trace_sums sums = { .mallocs = 0 };

        add_life(&script, i, &trace->lives[i], giver);
        trace_life_sums(&trace->lives[i], &sums);
        script.peak_bytes = (sums.peak_bytes > script.peak_bytes) ? sums.peak_bytes
                                                                  : script.peak_bytes;
    }
    free(giver);
    if (add_steps(&script) != 0) {
        replay_script_free(&script);
        return -1;
    }
    script.total_bytes += (script.total_bytes != 0) ? SHPOOL_SLACK_BYTES(script.alignment) : 0;
    *script_p = script;
    return 0;
}

void replay_script_free(replay_script *script)
{
    free(script->block);
    free(script->ops);
    free(script->steps);
    free(script->begin);
    memset(script, 0, sizeof(*script));
}

static const char *name_of(const replay_script *script, const replay_op *op,
                           char text[TRACE_WHO_BYTES])
{
    return trace_who(THREAD(op), (uint32_t)__builtin_popcount(op->lanes), script->block_threads,
                     text);
}

/* Whether a lane of a call has the memory in its pool: for a resize the first one, as the memory
 * may move to its pool. */
static int shares_pool(const replay_op *op, uint32_t giver, uint32_t threads_per_pool)
{
    const uint32_t pool = giver / threads_per_pool;
    const uint32_t first = THREAD(op);
    uint32_t last = first + (uint32_t)__builtin_popcount(op->lanes) - 1;

    last = ((op->what & 0xffu) == REPLAY_RESIZE) ? first : last;
    return (first / threads_per_pool <= pool) && (pool <= last / threads_per_pool);
}

int replay_fits(const replay_script *script, uint32_t scope, uint32_t threads_per_pool, char *why,
                size_t bytes)
{
    char who[2][TRACE_WHO_BYTES];

    if (scope >= SHPOOL_SCOPE_BLOCK) {
        return 1;
    }
    for (uint32_t b = 0; b < script->blocks; b++) {
        const replay_op *ops = &script->ops[script->block[b].begin];

        for (uint32_t i = 0; i < script->block[b].count; i++) {
            const replay_op *giver = &ops[(ops[i].from != REPLAY_NONE) ? ops[i].from : i];

            if (!shares_pool(&ops[i], THREAD(giver), threads_per_pool)) {
                snprintf(why, bytes, "%s frees or resizes what %s has: they need a pool in common",
                         name_of(script, &ops[i], who[0]), name_of(script, giver, who[1]));
                return 0;
            }
        }
    }
    return 1;
}

void replay_spec(const replay_shape *shape, char *text, size_t bytes)
{
    int used = snprintf(text, bytes, "%s%ctotal_bytes=%u", shape->spec,
                        (strchr(shape->spec, ':') != NULL) ? ',' : ':', shape->total_bytes);

    if ((shape->threads_per_pool != 0) && (used > 0) && ((size_t)used < bytes)) {
        snprintf(text + used, bytes - (size_t)used, ",threads_per_pool=%u",
                 shape->threads_per_pool);
    }
}
