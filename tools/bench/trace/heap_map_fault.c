/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a request failed: the holes between the live allocations. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "heap_map.h"

typedef struct extent {
    uint32_t begin;
    uint32_t end;
    uint32_t op;
} extent;

static int by_begin(const void *a, const void *b)
{
    const extent *x = a;
    const extent *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return (a > b) ? a : b;
}

/* Find the live allocations of a pool when operation `at` begins, sorted; returns their number. */
static uint32_t find_live(const trace_life *life, uint32_t at, uint32_t begin, uint32_t end,
                          extent *live)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < at; i++) {
        const trace_op *op = &life->ops[i];

        if ((op->kind == TRACE_MALLOC) && !op->global && (op->end != TRACE_NONE) &&
            (op->end > at) && (op->place >= begin) && (op->place < end)) {
            live[count++] = (extent){ (uint32_t)op->place,
                                      (uint32_t)op->place + most(op->usable, op->bytes), i };
        }
    }
    qsort(live, count, sizeof(*live), by_begin);
    for (uint32_t i = 0; i < at; i++) { /* as they are since they were resized */
        const trace_op *op = &life->ops[i];

        for (uint32_t j = 0; (op->kind == TRACE_RESIZE) && (j < count); j++) {
            if (live[j].op == op->object) {
                live[j].end = live[j].begin + most(op->usable, op->bytes);
            }
        }
    }
    return count;
}

/* Metadata bytes at the start of a pool: those below every allocation of the trace, and no more
 * than a fresh pool reserves. */
static uint32_t head_of(const trace_file *trace)
{
    uint32_t head = trace->pool_bytes - ((trace->largest < trace->pool_bytes) ? trace->largest
                                                                             : trace->pool_bytes);

    for (uint32_t i = 0; i < trace->count; i++) {
        for (uint32_t j = 0; j < trace->lives[i].count; j++) {
            const trace_op *op = &trace->lives[i].ops[j];
            uint32_t at;

            if ((op->kind == TRACE_MALLOC) && !op->global && (op->end != TRACE_NONE) &&
                (trace->pool_bytes != 0)) {
                at = (uint32_t)(op->place % trace->pool_bytes);
                head = (at < head) ? at : head;
            }
        }
    }
    return head;
}

/* The holes between live allocations, from `begin` to `end`: their sum, and the largest. */
static void find_holes(const extent *live, uint32_t count, uint32_t begin, uint32_t end,
                       heap_map_fault *fault)
{
    uint32_t reached = begin;
    uint32_t below = TRACE_NONE;

    fault->free_bytes = 0;
    fault->hole = 0;
    fault->hole_at = begin;
    fault->below = TRACE_NONE;
    fault->above = TRACE_NONE;
    for (uint32_t i = 0; i <= count; i++) {
        const uint32_t next = (i < count) ? live[i].begin : end;

        if (next > reached) {
            fault->free_bytes += next - reached;
            if (next - reached > fault->hole) {
                fault->hole = next - reached;
                fault->hole_at = reached;
                fault->below = below;
                fault->above = (i < count) ? live[i].op : TRACE_NONE;
            }
        }
        if ((i < count) && (live[i].end > reached)) {
            reached = live[i].end;
            below = live[i].op;
        }
    }
}

/* Granules of a pool. */
typedef struct granules {
    uint32_t begin;
    uint32_t end;
    unsigned char *used;
} granules;

/* Mark an extent as used; nonzero if it lies in the pool and no part of it was. */
static int use(granules *g, uint32_t from, uint32_t to)
{
    int was_free = (from >= g->begin) && (from < to) && (to <= g->end);

    for (; (from >= g->begin) && (from < to) && (from < g->end); from += SHPOOL_MIN_ALIGNMENT) {
        unsigned char *one = &g->used[(from - g->begin) / SHPOOL_MIN_ALIGNMENT];

        was_free &= !*one;
        *one = 1;
    }
    return was_free;
}

/* Mark threads; the number of those that were not marked before. */
static uint32_t see(trace_threads who, unsigned char *seen)
{
    uint32_t fresh = 0;

    for (uint32_t i = who.first; i < who.first + who.count; i++) {
        fresh += !seen[i];
        seen[i] = 1;
    }
    return fresh;
}

/*
 * Add to the live allocations those that other threads may already have got, although they are
 * recorded later: mallocs that may have been in progress, because they are the first operation
 * after `at` of all their threads, in granules that no other allocation has used since.  Returns
 * the total number.
 */
static uint32_t add_taken(const trace_life *life, uint32_t at, granules *g, unsigned char *seen,
                          uint32_t threads, extent *live, uint32_t count)
{
    const trace_op *asked = &life->ops[at];
    uint32_t left = threads - see(trace_threads_of(asked->thread, asked->members, threads), seen);

    for (uint32_t i = 0; i < count; i++) {
        use(g, live[i].begin, live[i].end);
    }
    for (uint32_t i = at + 1; (i < life->count) && (left > 0); i++) {
        const trace_op *op = &life->ops[i];
        const uint32_t begin = (uint32_t)op->place;
        const uint32_t end = begin + most(most(op->usable, op->bytes), 1);
        const trace_threads who = trace_threads_of(op->thread, op->members, threads);
        const uint32_t fresh = see(who, seen);

        if ((op->kind == TRACE_MALLOC) && !op->global && (op->end != TRACE_NONE) &&
            use(g, begin, end) && (fresh == who.count)) {
            live[count++] = (extent){ begin, end, i };
        }
        left -= fresh;
    }
    qsort(live, count, sizeof(*live), by_begin);
    return count;
}

/* Allocations taken from the largest hole, and the bytes left; live: with those added by
 * add_taken(). */
static void find_takers(const extent *live, uint32_t count, granules *g, heap_map_fault *fault)
{
    heap_map_fault rest = *fault;

    for (uint32_t i = 0; i < count; i++) {
        if ((live[i].op > fault->at) && (live[i].begin >= fault->hole_at) &&
            (live[i].begin < fault->hole_at + fault->hole)) {
            fault->taken = (fault->takers == 0) ? live[i].op : fault->taken;
            fault->takers++;
        }
    }
    find_holes(live, count, g->begin, g->end, &rest);
    fault->left = rest.hole;
}

int heap_map_explain(const trace_file *trace, const trace_life *life, uint32_t at,
                     heap_map_fault *fault_p)
{
    const uint32_t pool = life->ops[at].thread / trace->threads_per_pool;
    const uint32_t begin = pool * trace->pool_bytes + head_of(trace);
    const uint32_t end = (pool + 1) * trace->pool_bytes;
    granules g = { begin, end, calloc((end - begin) / SHPOOL_MIN_ALIGNMENT + 1u, 1) };
    heap_map_fault fault = { .at = at, .pool = pool, .taken = TRACE_NONE };
    extent *live = malloc((at + 1u + trace->block_threads) * sizeof(*live));
    unsigned char *seen = calloc(trace->block_threads, 1);
    const int fine = (g.used != NULL) && (live != NULL) && (seen != NULL);
    uint32_t count;

    if (fine) {
        count = find_live(life, at, begin, end, live);
        find_holes(live, count, begin, end, &fault);
        fault.left = fault.hole;
        if (fault.hole >= life->ops[at].bytes) { /* large enough, as far as it is recorded */
            count = add_taken(life, at, &g, seen, trace->block_threads, live, count);
            find_takers(live, count, &g, &fault);
        }
    }
    free(g.used);
    free(live);
    free(seen);
    *fault_p = fault;
    return fine ? 0 : -1;
}
