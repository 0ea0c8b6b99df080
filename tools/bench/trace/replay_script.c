/* SPDX-License-Identifier: BSD-3-Clause */
/* From a trace to what kernels replay. */
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

/* Where what a thread does next is to be noted. */
static void chain(replay_script *script, uint32_t block, uint32_t thread, uint32_t index,
                  uint32_t *latest)
{
    if (latest[thread] == REPLAY_NONE) {
        script->first[(size_t)block * script->block_threads + thread] = index;
    } else {
        script->ops[script->block[block].begin + latest[thread]].next = index;
    }
    latest[thread] = index;
}

/* giver[i]: which operation of the script has the pointer of the malloc i of the life. */
static void add_life(replay_script *script, uint32_t block, const trace_life *life,
                     uint32_t *giver, uint32_t *latest)
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

        if (op->kind == TRACE_SKIP) {
            continue;
        }
        *to = (replay_op){ .what = kind | (log2_of(alignment) << 8) | (op->thread << 16),
                           .bytes = op->bytes, .from = REPLAY_NONE, .next = REPLAY_NONE };
        if (op->kind != TRACE_MALLOC) {
            to->from = giver[op->object];
        }
        giver[op->object] = made->count;
        script->alignment = (alignment > script->alignment) ? alignment : script->alignment;
        chain(script, block, op->thread, made->count, latest);
        made->count++;
        script->count++;
    }
}

int replay_script_make(const struct trace_file *trace, replay_script *script_p)
{
    replay_script script = { .block_threads = trace->block_threads, .alignment = 16,
                             .total_bytes = trace->pools * trace->pool_bytes,
                             .blocks = trace->count };
    size_t firsts = (size_t)trace->count * trace->block_threads;
    size_t ops = 1;
    size_t most = 1;
    uint32_t *giver;
    uint32_t *latest;

    for (uint32_t i = 0; i < trace->count; i++) {
        ops += trace->lives[i].count;
        most = (trace->lives[i].count > most) ? trace->lives[i].count : most;
    }
    script.block = calloc(trace->count, sizeof(*script.block));
    script.ops = calloc(ops, sizeof(*script.ops));
    script.first = malloc(firsts * sizeof(*script.first));
    giver = malloc(most * sizeof(*giver));
    latest = malloc(trace->block_threads * sizeof(*latest));
    memset(script_p, 0, sizeof(*script_p));
    if ((script.block == NULL) || (script.ops == NULL) || (script.first == NULL) ||
        (giver == NULL) || (latest == NULL) || (ops > UINT32_MAX)) {
        replay_script_free(&script);
        free(giver);
        free(latest);
        return -1;
    }

    memset(script.first, 0xff, firsts * sizeof(*script.first));
    for (uint32_t i = 0; i < trace->count; i++) {
        trace_sums sums = { .mallocs = 0 };

        memset(latest, 0xff, trace->block_threads * sizeof(*latest));
        add_life(&script, i, &trace->lives[i], giver, latest);
        trace_life_sums(&trace->lives[i], &sums);
        script.peak_bytes = (sums.peak_bytes > script.peak_bytes) ? sums.peak_bytes
                                                                  : script.peak_bytes;
    }
    free(giver);
    free(latest);
    *script_p = script;
    return 0;
}

void replay_script_free(replay_script *script)
{
    free(script->block);
    free(script->ops);
    free(script->first);
    memset(script, 0, sizeof(*script));
}

int replay_fits(const replay_script *script, uint32_t scope, uint32_t threads_per_pool, char *why,
                size_t bytes)
{
    if (scope >= SHPOOL_SCOPE_BLOCK) {
        return 1;
    }
    for (uint32_t b = 0; b < script->blocks; b++) {
        const replay_op *ops = &script->ops[script->block[b].begin];

        for (uint32_t i = 0; i < script->block[b].count; i++) {
            const uint32_t giver = (ops[i].from != REPLAY_NONE) ? ops[i].from : i;

            if (THREAD(&ops[i]) / threads_per_pool != THREAD(&ops[giver]) / threads_per_pool) {
                snprintf(why, bytes, "thread %u frees or resizes what thread %u has: they need a "
                         "pool in common", THREAD(&ops[i]), THREAD(&ops[giver]));
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
