/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pointers without __restrict__: what is unknown at compile time is checked at run time; if the
 * check fails, the original code runs.  The check is almost the same in all lanes of a warp: a
 * thread tests whether its own addresses are further apart than the length of the warp's records,
 * plus a margin.
 */
#include "decide.h"

/* Records from a thread's own to those of other lanes, in both directions, on both sides: 62, and
 * fields of its own; more is harmless, since arrays are larger. */
#define RECORDS  80
#define MOST_GAP ((int64_t)1 << 40)

static int64_t magnitude(int64_t value)
{
    return (value < 0) ? (int64_t)(0 - (uint64_t)value) : value;
}

/* The earliest of those accesses of the group that `moved` is one of: sources, or members. */
static uint32_t anchor_of(const coalesce_group *group, uint32_t moved)
{
    uint32_t first_source = COALESCE_NO_ACCESS;
    uint32_t first        = group->member[0];
    int      is_source    = 0;

    for (uint32_t k = 0; k < group->count; k++) {
        first = (group->member[k] < first) ? group->member[k] : first;
        if (group->source != NULL) {
            first_source = (group->source[k] < first_source) ? group->source[k] : first_source;
            is_source |= (group->source[k] == moved);
        }
    }
    return is_source ? first_source : first;
}

/* 1: x and y are a constant apart, which is added to *sum_p. */
static int is_near(const coalesce_access *access, uint32_t x, uint32_t y, int64_t *sum_p)
{
    int64_t distance;

    if ((access[x].run != access[y].run) ||
        !coalesce_form_distance(&access[x].address, &access[y].address, &distance) ||
        (magnitude(distance) < 0) || (magnitude(distance) > MOST_GAP)) {
        return 0;
    }
    *sum_p += magnitude(distance);
    return 1;
}

/* 1: an existing check suffices, with more bytes if necessary. */
static int widen(const coalesce_access *access, uint32_t a, uint32_t b, int64_t bytes,
                 coalesce_plan *plan)
{
    for (uint32_t i = 0; i < plan->aparts; i++) {
        coalesce_apart *apart = &plan->apart[i];
        int64_t         same  = bytes;
        int64_t         turned = bytes;

        if (is_near(access, a, apart->a, &same) && is_near(access, b, apart->b, &same)) {
            apart->bytes = (same > apart->bytes) ? same : apart->bytes;
            return 1;
        }
        if (is_near(access, a, apart->b, &turned) && is_near(access, b, apart->a, &turned)) {
            apart->bytes = (turned > apart->bytes) ? turned : apart->bytes;
            return 1;
        }
    }
    return 0;
}

static int may_ask(const coalesce_options *options, uint32_t run)
{
    for (uint32_t i = 0; i < options->asks_nots; i++) {
        if (options->asks_not[i] == run) {
            return 0;
        }
    }
    return options->asks_apart;
}

void coalesce_ask_not(coalesce_options *options, uint32_t run)
{
    if (options->asks_nots == COALESCE_MOST_APART) {
        options->asks_apart = 0;
    } else {
        options->asks_not[options->asks_nots++] = run;
    }
}

int coalesce_plan_ask_apart(const coalesce_leaves *leaves, const coalesce_access *access,
                            const coalesce_options *options, const coalesce_group *group,
                            uint32_t moved, uint32_t other, coalesce_plan *plan)
{
    const uint32_t a      = anchor_of(group, moved);
    coalesce_lanes lanes  = coalesce_lanes_of(leaves, &access[other].address, &options->block);
    int64_t        stride = (lanes.pattern == COALESCE_STRIDED) ? magnitude(lanes.stride) : 0;
    int64_t        bytes;

    if (!may_ask(options, access[moved].run) || !access[other].address.known || (stride < 0) ||
        (stride > MOST_GAP / RECORDS)) {
        return 0;
    }
    stride = (stride > group->record_bytes) ? stride : group->record_bytes;
    bytes  = RECORDS * (stride + access[other].bytes);
    if (widen(access, a, other, bytes, plan)) {
        return 1;
    }
    if (plan->aparts == COALESCE_MOST_APART) {
        return 0;
    }
    plan->apart[plan->aparts++] = (coalesce_apart){ a, other, bytes };
    return 1;
}
