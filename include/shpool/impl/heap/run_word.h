/* SPDX-License-Identifier: BSD-3-Clause */
/* Granules of 16 bytes, and runs of them in a bitmap's words; shared by allocators with bitmaps. */
#ifndef SHPOOL_IMPL_RUN_WORD_H
#define SHPOOL_IMPL_RUN_WORD_H

#include <shpool/abi.h>
#include <shpool/simt.h>

/* Positions i of a word such that bits i..i+need-1 of `free` are set; need 1..most, most a power of
 * two and a constant.  Doubling (Warren, Hacker's Delight, 6-2) without a branch: the shifts depend
 * on need alone, so they are ready when the word arrives. */
SIMT_FN uint32_t shpool_run_starts(uint32_t free, uint32_t need, uint32_t most)
{
    uint32_t left = need - 1u; /* bit i is set if need - left granules from i on are free */
    uint32_t step;

    for (step = 1u; step < most; step *= 2u) {
        uint32_t shift = (left < step) ? left : step;

        free &= free >> shift;
        left -= shift;
    }
    return free;
}

/* Index of the lowest bit of `starts`, which is not 0; with high = 0xffffffff the highest. */
SIMT_FN uint32_t shpool_run_pick(uint32_t starts, uint32_t high)
{
    return 31u - simt_clz(starts & ((0u - starts) | high));
}

/* The granules of an allocation that begins at bit 0, as ones from bit 0 on.  `more` has the
 * granules from there on that are used and do not begin an allocation. */
SIMT_FN uint32_t shpool_run_extent(uint32_t more)
{
    more |= 1u; /* its first granule begins an allocation */
    return more & ~(more + 1u);
}

/* Continue, in a word of `span` granules that begins at `at`, a search for `need` free ones that
 * start at a multiple of below + 1; all granules from *start_p to here are free.  1: found at
 * *start_p. */
SIMT_FN uint32_t shpool_run_search(uint32_t *start_p, uint32_t at, uint32_t span, uint32_t used,
                                   uint32_t need, uint32_t below)
{
    uint32_t start = *start_p;
    uint32_t found = 0;

    while (start < at + span) {
        uint32_t hit;

        used = (start > at) ? used & (0xffffffffu << (start - at)) : used;
        if (used == 0) {
            found = at + span >= start + need;
            break;
        }
        hit = at + simt_ffs(used) - 1u;
        if (hit >= start + need) {
            found = 1;
            break;
        }
        start = (hit | below) + 1u; /* first multiple above it */
    }
    *start_p = start;
    return found;
}

/* How a pool's bits lie before its granules: `head` bytes, then `bytes` for each `span` of them. */
typedef struct shpool_run_bits {
    uint32_t head, bytes, span;
} shpool_run_bits;

/* Offset of granule 0 after the bits of `units` spans. */
SIMT_HD uint32_t shpool_run_offset(shpool_run_bits bits, uint32_t units, uint32_t alignment)
{
    return (bits.head + bits.bytes * units + alignment - 1u) & ~(alignment - 1u);
}

/* Number of granules that fit after them. */
SIMT_HD uint32_t shpool_run_granules(shpool_run_bits bits, uint32_t units, uint32_t bytes,
                                     uint32_t alignment)
{
    const uint32_t offset = shpool_run_offset(bits, units, alignment);
    const uint32_t room   = (bytes > offset) ? (bytes - offset) >> 4 : 0u;

    return (room < bits.span * units) ? room : bits.span * units;
}

/* A pool's layout: word[0] is the number of its granules, word[1] the offset of the first. */
SIMT_HD shpool_layout shpool_run_layout(shpool_run_bits bits, uint32_t bytes, uint32_t alignment)
{
    const uint32_t each   = 16u * bits.span + bits.bytes;
    shpool_layout  layout = {0, 0, {0, 0}};
    uint32_t       units  = bytes / each + ((bytes % each != 0) ? 1u : 0u);
    uint32_t       granules;

    if (units == 0) {
        return layout;
    }
    granules = shpool_run_granules(bits, units, bytes, alignment);
    /* Where padding rounds the bits up, fewer of them can leave more payload. */
    while ((units > 1u) &&
           (shpool_run_granules(bits, units - 1u, bytes, alignment) >= granules)) {
        units--;
        granules = shpool_run_granules(bits, units, bytes, alignment);
    }
    if (granules == 0) {
        return layout;
    }
    units          = (granules + bits.span - 1u) / bits.span;
    layout.word[0] = granules;
    layout.word[1] = shpool_run_offset(bits, units, alignment);
    layout.largest = granules << 4;
    layout.bytes   = layout.word[1] + layout.largest;
    return layout;
}

/* Granule at `offset` bytes after granule 0; a value far above any pool's if the address is not the
 * start of a granule.  The rotation moves misaligned addresses, and addresses below the pool,
 * there. */
SIMT_FN uint32_t shpool_run_granule(uint32_t offset)
{
    return (offset >> 4) | (offset << 28);
}

/* Why such a granule is not one of a pool's `granules`. */
SIMT_FN uint32_t shpool_run_stray(uint32_t granule, uint32_t granules)
{
    return ((granule & 0x0fffffffu) < granules) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_FOREIGN;
}

#endif /* SHPOOL_IMPL_RUN_WORD_H */
