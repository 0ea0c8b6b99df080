/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a request failed: the holes between what was live. */
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

/* What is live in a pool as operation `at` begins, sorted; the number. */
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

int heap_map_explain(const trace_file *trace, const trace_life *life, uint32_t at,
                     heap_map_fault *fault_p)
{
    const uint32_t pool = life->ops[at].thread / trace->threads_per_pool;
    const uint32_t begin = pool * trace->pool_bytes;
    const uint32_t end = begin + trace->pool_bytes;
    heap_map_fault fault = { .at = at, .pool = pool, .hole_at = begin, .below = TRACE_NONE,
                             .above = TRACE_NONE };
    extent *live = malloc((at + 1u) * sizeof(*live));
    uint32_t reached = begin;
    uint32_t below = TRACE_NONE;
    uint32_t count;

    memset(fault_p, 0, sizeof(*fault_p));
    if (live == NULL) {
        return -1;
    }
    count = find_live(life, at, begin, end, live);
    for (uint32_t i = 0; i <= count; i++) {
        const uint32_t next = (i < count) ? live[i].begin : end;

        if (next > reached) {
            fault.free_bytes += next - reached;
            if (next - reached > fault.hole) {
                fault.hole = next - reached;
                fault.hole_at = reached;
                fault.below = below;
                fault.above = (i < count) ? live[i].op : TRACE_NONE;
            }
        }
        if ((i < count) && (live[i].end > reached)) {
            reached = live[i].end;
            below = live[i].op;
        }
    }
    free(live);
    *fault_p = fault;
    return 0;
}
