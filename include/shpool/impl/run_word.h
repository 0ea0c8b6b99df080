/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of granules in one word of a bitmap: the steps that allocators with bitmaps share. */
#ifndef SHPOOL_IMPL_RUN_WORD_H
#define SHPOOL_IMPL_RUN_WORD_H

#include <shpool/simt.h>

/* Positions i of a word such that bits i..i+need-1 of `free` are set; need 1..most, most a power of
 * two and a constant.  Doubling (Warren, Hacker's Delight, 6-2) without a branch: the shifts depend
 * on need alone, so they are ready when the word arrives. */
SIMT_FN uint32_t shpool_run_starts(uint32_t free, uint32_t need, uint32_t most)
{
    uint32_t left = need - 1u; /* bit i says: need - left granules from i on are free */
    uint32_t step;

    for (step = 1u; step < most; step *= 2u) {
        uint32_t shift = (left < step) ? left : step;

        free &= free >> shift;
        left -= shift;
    }
    return free;
}

/* Index of the lowest of `starts`, which is not 0; with high = 0xffffffff of the highest. */
SIMT_FN uint32_t shpool_run_pick(uint32_t starts, uint32_t high)
{
    return 31u - simt_clz(starts & ((0u - starts) | high));
}

/* Of an allocation that begins at bit 0, given which granules from there on are used and begin no
 * other one: its granules as ones from bit 0 on. */
SIMT_FN uint32_t shpool_run_extent(uint32_t more)
{
    more |= 1u; /* its first granule begins one */
    return more & ~(more + 1u);
}

#endif /* SHPOOL_IMPL_RUN_WORD_H */
