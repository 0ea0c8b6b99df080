/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of warp collectives, once all lanes have arrived. */
#include "engine.h"

static const char *const names[] = {
    [SIMT_OP_SYNC] = "simt_warp_sync",   [SIMT_OP_BALLOT] = "simt_ballot",
    [SIMT_OP_ANY] = "simt_any",          [SIMT_OP_ALL] = "simt_all",
    [SIMT_OP_SHFL] = "simt_shfl",        [SIMT_OP_SHFL_XOR] = "simt_shfl_xor",
    [SIMT_OP_SHFL_UP] = "simt_shfl_up",  [SIMT_OP_SHFL_DOWN] = "simt_shfl_down",
    [SIMT_OP_MATCH] = "simt_match_any",  [SIMT_OP_CONVERGED] = "simt_converged",
};

const char *simt_collective_name(uint32_t op)
{
    return (op < sizeof(names) / sizeof(names[0])) ? names[op] : "simt_collective";
}

/* Lanes of the group that vote yes, or that hold `value`. */
static uint32_t lanes_true(const simt_thread *lanes, uint32_t mask)
{
    uint32_t found = 0;

    for (uint32_t rest = mask; rest != 0; rest &= rest - 1u) {
        uint32_t i = simt_ffs(rest) - 1u;

        found |= (lanes[i].value != 0) ? (1u << i) : 0u;
    }
    return found;
}

static uint32_t lanes_equal(const simt_thread *lanes, uint32_t mask, uint32_t value)
{
    uint32_t found = 0;

    for (uint32_t rest = mask; rest != 0; rest &= rest - 1u) {
        uint32_t i = simt_ffs(rest) - 1u;

        found |= (lanes[i].value == value) ? (1u << i) : 0u;
    }
    return found;
}

/* The lane a shuffle reads; the caller's own where that would lie outside the warp. */
static uint32_t shuffle_source(const simt_thread *self, uint32_t lane)
{
    uint32_t arg    = self->arg;
    uint32_t source = lane;

    switch (self->op) {
    case SIMT_OP_SHFL:
        source = arg % SIMT_WARP;
        break;
    case SIMT_OP_SHFL_XOR:
        source = (arg < SIMT_WARP) ? (lane ^ arg) : lane;
        break;
    case SIMT_OP_SHFL_UP:
        source = (arg <= lane) ? (lane - arg) : lane;
        break;
    default:
        source = (arg < SIMT_WARP - lane) ? (lane + arg) : lane;
        break;
    }
    return source;
}

/* Undefined on a GPU; here the one result that no caller can mistake for a correct one. */
static uint32_t shuffled(const simt_thread *lanes, const simt_thread *self, uint32_t source)
{
    return ((self->mask >> source) & 1u) ? lanes[source].value : ~self->value;
}

int simt_collective_is_common(uint32_t op)
{
    return (op == SIMT_OP_BALLOT) || (op == SIMT_OP_ANY) || (op == SIMT_OP_ALL) ||
           (op == SIMT_OP_SYNC);
}

uint32_t simt_collective_answer(const simt_thread *lanes, uint32_t lane)
{
    const simt_thread *self = &lanes[lane];

    switch (self->op) {
    case SIMT_OP_BALLOT:
        return lanes_true(lanes, self->mask);
    case SIMT_OP_ANY:
        return lanes_true(lanes, self->mask) != 0;
    case SIMT_OP_ALL:
        return lanes_true(lanes, self->mask) == self->mask;
    case SIMT_OP_MATCH:
        return lanes_equal(lanes, self->mask, self->value);
    case SIMT_OP_SYNC:
        return 0;
    default:
        return shuffled(lanes, self, shuffle_source(self, lane));
    }
}
