/* SPDX-License-Identifier: BSD-3-Clause */
/* From records to operations: which allocation a free is about, and how long each one lived. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "life.h"

/* Kinds in the table of places; a mark's kind is MARK plus its pool. */
enum { SHARED, GLOBAL, MARK };

/* The latest malloc at the place, or TRACE_NONE.  Freed ones stay; their end shows the free. */
static uint32_t object_of(const trace_builder *b, const trace_record *record)
{
    return bench_places_get(&b->latest, record->place, record->global ? GLOBAL : SHARED);
}

static int is_live(const trace_op *op)
{
    return (op->kind == TRACE_MALLOC) && (op->end == 0);
}

int trace_builder_begin(trace_builder *b, const trace_file *trace, trace_life *life,
                        uint32_t records)
{
    memset(b, 0, sizeof(*b));
    b->life = life;
    b->threads_per_pool = trace->threads_per_pool;
    life->room = records + 1;
    life->ops = malloc(life->room * sizeof(*life->ops));
    b->waiting = malloc(trace->block_threads * sizeof(*b->waiting));
    b->given = malloc((records + 1) * sizeof(*b->given));
    b->top = malloc(trace->block_threads * sizeof(*b->top)); /* no fewer than pools */
    if ((life->ops == NULL) || (b->waiting == NULL) || (b->given == NULL) || (b->top == NULL)) {
        free(life->ops);
        life->ops = NULL;
        trace_builder_end(b);
        return -1;
    }
    memset(b->waiting, 0xff, trace->block_threads * sizeof(*b->waiting));
    memset(b->top, 0xff, trace->block_threads * sizeof(*b->top));
    return 0;
}

/* Allocations never freed live to the end. */
void trace_builder_end(trace_builder *b)
{
    trace_life *life = b->life;

    for (uint32_t i = 0; (life->ops != NULL) && (i < life->count); i++) {
        if (is_live(&life->ops[i])) {
            life->ops[i].end = life->count;
        }
    }
    bench_places_free(&b->latest);
    free(b->waiting);
    free(b->given);
    free(b->top);
}

static trace_op *append(trace_builder *b, trace_kind kind, const trace_record *record,
                        uint32_t object)
{
    trace_life *life = b->life;
    const unsigned long long before = (life->count != 0) ? life->ops[life->count - 1].cycles : 0;

    if (life->count == life->room) { /* a recorded release becomes several operations */
        trace_op *more = (life->room < TRACE_MOST_OPS)
                             ? realloc(life->ops, 2 * (size_t)life->room * sizeof(*more)) : NULL;

        if (more == NULL) {
            return NULL;
        }
        life->ops = more;
        life->room *= 2;
    }
    life->ops[life->count] = (trace_op){ .kind = kind, .thread = record->thread,
                                         .members = record->members, .object = object,
                                         .cycles = record->timed ? record->cycles : before };
    life->timed |= record->timed;
    return &life->ops[life->count++];
}

static trace_added add_malloc(trace_builder *b, const trace_record *record)
{
    trace_life *life = b->life;
    const uint32_t index = life->count;
    const uint32_t before = b->waiting[record->thread];
    const int goes_on = (record->letter == 'w') || !record->nowhere;
    trace_op *op = append(b, TRACE_MALLOC, record, index);

    if (op == NULL) {
        return TRACE_NO_MEMORY;
    }
    op->bytes = record->bytes;
    op->usable = record->usable;
    op->alignment = record->alignment;
    op->place = record->place;
    op->global = record->global;
    /* an attempt that failed, and then the next one, perhaps after frees: one request that waits */
    if ((before != TRACE_NONE) && (life->ops[before].bytes == record->bytes) &&
        (life->ops[before].members == record->members) && goes_on) {
        life->ops[before].kind = TRACE_SKIP;
        life->waits++;
    }
    b->waiting[record->thread] = ((record->letter == 'w') && record->nowhere) ? index : TRACE_NONE;
    life->waiting += record->letter == 'w';
    if (record->nowhere) {
        op->end = TRACE_NONE;
    } else {
        const uint32_t former = object_of(b, record);

        if ((former != TRACE_NONE) && is_live(&life->ops[former])) {
            life->ops[former].end = index; /* it must have been freed without a record */
        }
        if (bench_places_set(&b->latest, op->place, op->global ? GLOBAL : SHARED, index) != 0) {
            return TRACE_NO_MEMORY;
        }
        if (!op->global) {
            uint32_t *top = &b->top[op->thread / b->threads_per_pool];

            b->given[b->given_count] = (trace_given){ index, *top };
            *top = b->given_count++;
        }
    }
    return TRACE_ADDED;
}

static trace_added add_free(trace_builder *b, const trace_record *record)
{
    trace_life *life = b->life;
    const uint32_t object = object_of(b, record);

    if ((record->reason != 0) || record->nowhere || (object == TRACE_NONE) ||
        !is_live(&life->ops[object])) {
        life->refused++;
        return TRACE_ADDED;
    }
    life->ops[object].end = life->count;
    return (append(b, TRACE_FREE, record, object) != NULL) ? TRACE_ADDED : TRACE_NO_MEMORY;
}

static trace_added add_resize(trace_builder *b, const trace_record *record)
{
    const uint32_t object = record->nowhere ? TRACE_NONE : object_of(b, record);
    trace_op *op;

    b->waiting[record->thread] = TRACE_NONE;
    if ((object == TRACE_NONE) || !is_live(&b->life->ops[object])) {
        return TRACE_UNKNOWN;
    }
    op = append(b, TRACE_RESIZE, record, object);
    if (op == NULL) {
        return TRACE_NO_MEMORY;
    }
    op->bytes = record->bytes;
    op->usable = record->usable;
    return TRACE_ADDED;
}

static uint32_t pool_of(const trace_builder *b, const trace_record *record)
{
    return record->thread / b->threads_per_pool;
}

static trace_added add_mark(trace_builder *b, const trace_record *record)
{
    return (bench_places_set(&b->latest, record->place, MARK + pool_of(b, record),
                             b->life->count) == 0) ? TRACE_ADDED : TRACE_NO_MEMORY;
}

/* The frees of the pool's allocations since the mark, the latest first.  Each allocation is visited
 * once: a later release goes no further than the pool's top. */
static trace_added add_release(trace_builder *b, const trace_record *record)
{
    uint32_t *top = &b->top[pool_of(b, record)];
    uint32_t since = bench_places_get(&b->latest, record->place, MARK + pool_of(b, record));

    if (since == BENCH_NOWHERE) {
        if (record->place != 0) {
            return TRACE_UNKNOWN;
        }
        since = 0; /* shpool_reset() */
    }
    while ((*top != TRACE_NONE) && (b->given[*top].op >= since)) {
        const uint32_t object = b->given[*top].op;

        *top = b->given[*top].below;
        if (is_live(&b->life->ops[object])) {
            b->life->ops[object].end = b->life->count;
            if (append(b, TRACE_FREE, record, object) == NULL) {
                return TRACE_NO_MEMORY;
            }
        }
    }
    return TRACE_ADDED;
}

trace_added trace_builder_add(trace_builder *b, const trace_record *record)
{
    switch (record->letter) {
    case 'm':
    case 'w':
        return add_malloc(b, record);
    case 'f':
        return add_free(b, record);
    case 'r':
        return add_resize(b, record);
    case 'k':
        return add_mark(b, record);
    default:
        return add_release(b, record);
    }
}

/* ---- requesters ---- */

trace_threads trace_threads_of(uint32_t thread, uint32_t members, uint32_t block_threads)
{
    const uint32_t warp = thread - thread % TRACE_WARP;
    uint32_t end = warp + TRACE_WARP;

    if (members > TRACE_WARP) {
        return (trace_threads){ 0, block_threads };
    }
    end = (end < block_threads) ? end : block_threads;
    /* a free is recorded by the lane whose pool has the address, which may not be the first lane */
    return (trace_threads){ (thread + members <= end) ? thread : end - members, members };
}

const char *trace_who(uint32_t thread, uint32_t members, uint32_t block_threads,
                      char text[TRACE_WHO_BYTES])
{
    const trace_threads who = trace_threads_of(thread, members, block_threads);
    const uint32_t warp = who.first / TRACE_WARP;
    const uint32_t lane = who.first % TRACE_WARP;
    const uint32_t rest = block_threads - warp * TRACE_WARP;

    if (members == 1) {
        (void)snprintf(text, TRACE_WHO_BYTES, "thread %u", thread);
    } else if (members > TRACE_WARP) {
        (void)snprintf(text, TRACE_WHO_BYTES, "the block");
    } else if (members == ((rest < TRACE_WARP) ? rest : TRACE_WARP)) {
        (void)snprintf(text, TRACE_WHO_BYTES, "warp %u", warp);
    } else {
        (void)snprintf(text, TRACE_WHO_BYTES, "lanes %u-%u of warp %u", lane,
                       lane + who.count - 1, warp);
    }
    return text;
}

/* ---- sums ---- */

void trace_life_sums(const trace_life *life, trace_sums *sums)
{
    uint32_t *bytes = calloc(life->count + 1u, sizeof(*bytes)); /* of each live allocation */
    uint64_t now = 0;

    for (uint32_t i = 0; i < life->count; i++) {
        const trace_op *op = &life->ops[i];

        sums->mallocs += op->kind == TRACE_MALLOC;
        sums->frees += op->kind == TRACE_FREE;
        sums->resizes += op->kind == TRACE_RESIZE;
        sums->groups += (op->kind != TRACE_SKIP) && (op->members > 1);
        sums->failures += (op->kind == TRACE_MALLOC) && (op->end == TRACE_NONE);
        if (((op->kind == TRACE_MALLOC) || (op->kind == TRACE_RESIZE)) &&
            (op->bytes > sums->largest)) {
            sums->largest = op->bytes;
        }
        if ((bytes == NULL) || (op->kind == TRACE_SKIP) ||
            ((op->kind == TRACE_MALLOC) && (op->end == TRACE_NONE))) {
            continue;
        }
        now -= bytes[op->object];
        bytes[op->object] = (op->kind == TRACE_FREE) ? 0 : op->bytes;
        now += bytes[op->object];
        if (now > sums->peak_bytes) {
            sums->peak_bytes = (now < UINT32_MAX) ? (uint32_t)now : UINT32_MAX;
        }
    }
    sums->dropped += life->dropped;
    sums->refused += life->refused;
    sums->waits += life->waits;
    free(bytes);
}

void trace_file_sums(const trace_file *trace, trace_sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    for (uint32_t i = 0; i < trace->count; i++) {
        trace_life_sums(&trace->lives[i], sums);
    }
}
