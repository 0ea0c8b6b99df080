/* SPDX-License-Identifier: BSD-3-Clause */
/* freelist's map of blocks and list of the free ones: where they lie, single steps in them.
 * freelist.h explains the terms, and makes allocations of blocks. */
#ifndef SHPOOL_ALLOCATORS_FREELIST_MAP_H
#define SHPOOL_ALLOCATORS_FREELIST_MAP_H

#include <shpool/abi.h>
#include <shpool/impl/heap/run_word.h>
#include <shpool/simt.h>

#define SHPOOL_FREELIST_CONTROL 16u /* bytes in front of the map */

/* word[0] = G, word[1] = offset of granule 0. */
SIMT_HD uint32_t shpool_fl_offset(uint32_t alignment, uint32_t pairs)
{
    return (SHPOOL_FREELIST_CONTROL + 8u * pairs + alignment - 1u) & ~(alignment - 1u);
}

/* Granules with so many pairs of map words, one of which holds at least the end. */
SIMT_HD uint32_t shpool_fl_granules(uint32_t bytes, uint32_t alignment, uint32_t pairs)
{
    uint32_t offset = shpool_fl_offset(alignment, pairs);
    uint32_t room   = (bytes > offset) ? (bytes - offset) >> 4 : 0u;

    return (room < 32u * pairs - 1u) ? room : 32u * pairs - 1u;
}

SIMT_HD shpool_layout shpool_fl_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout = {0, 0, {0, 0}};
    uint32_t      pairs;
    uint32_t      granules;

    if (bytes > 0x80000u) { /* half a MiB: links and geometry have 16 bits */
        bytes = 0x80000u;
    }
    pairs    = bytes / 520u + 2u; /* 512 B of payload and 8 B of map a pair */
    granules = shpool_fl_granules(bytes, alignment, pairs);
    while ((pairs > 1u) && (shpool_fl_granules(bytes, alignment, pairs - 1u) >= granules)) {
        pairs--;
        granules = shpool_fl_granules(bytes, alignment, pairs);
    }
    if (granules == 0) {
        return layout;
    }
    layout.word[0] = granules;
    layout.word[1] = shpool_fl_offset(alignment, (granules >> 5) + 1u);
    layout.largest = granules << 4;
    layout.bytes   = layout.word[1] + layout.largest;
    return layout;
}

/* ---- addresses ---- */

/* The pair of map words that has granule g. */
SIMT_FN simt_addr shpool_fl_pair(shpool_view view, uint32_t g)
{
    return view.base + SHPOOL_FREELIST_CONTROL + ((g >> 5) << 3);
}
SIMT_FN simt_addr shpool_fl_payload(shpool_view view, uint32_t g)
{
    return view.base + view.word[1] + (g << 4);
}

/* Granule of addr; at least G if addr is not the start of a granule of this pool. */
SIMT_FN uint32_t shpool_fl_granule(shpool_view view, simt_addr addr)
{
    return shpool_run_granule(addr - view.base - view.word[1]);
}

/* ---- the map ---- */

#define SHPOOL_FL_BEGINS 0u /* offsets of the words of a pair */
#define SHPOOL_FL_FREE   4u

/* Turn over granule g's bit in one half of the map. */
SIMT_FN void shpool_fl_flip(shpool_view view, uint32_t g, uint32_t half)
{
    simt_addr a = shpool_fl_pair(view, simt_keep(g)) + half;

    simt_store32(a, simt_load32(a) ^ (1u << (g & 31u)));
}

/* What granule g is: 1 begins a used block, 3 a free one, 0 none. */
SIMT_FN uint32_t shpool_fl_what(shpool_view view, uint32_t g)
{
    simt_addr a = shpool_fl_pair(view, g);

    return ((simt_load32(a) >> (g & 31u)) & 1u) | (((simt_load32(a + 4u) >> (g & 31u)) & 1u) << 1);
}

/* The next beginning of a block above g; G at the latest. */
SIMT_FN uint32_t shpool_fl_next_block(shpool_view view, uint32_t g)
{
    uint32_t at   = (g + 1u) & ~31u; /* first granule of the word to look at */
    uint32_t rest = simt_load32(shpool_fl_pair(view, at)) &
                    simt_mask((g + 1u) & 31u, 32u);

    while (rest == 0) { /* ends: the map is closed */
        at += 32u;
        rest = simt_load32(shpool_fl_pair(view, at));
    }
    return at + simt_ffs(rest) - 1u;
}

/* The block in front of the one that begins at g; g itself if there is none. */
SIMT_FN uint32_t shpool_fl_block_before(shpool_view view, uint32_t g)
{
    uint32_t at   = g & ~31u;
    uint32_t rest = simt_load32(shpool_fl_pair(view, at)) & simt_mask(0, g & 31u);

    while (rest == 0) {
        if (at == 0) {
            return g;
        }
        at -= 32u;
        rest = simt_load32(shpool_fl_pair(view, at));
    }
    return at + 31u - simt_clz(rest);
}

/* ---- the list ---- */

/* Entry k is block k - 1; entry 0 is the head, whose "next" is the pool's first word. */
SIMT_FN simt_addr shpool_fl_entry(shpool_view view, uint32_t entry)
{
    return (entry != 0) ? shpool_fl_payload(view, entry - 1u) : view.base;
}

SIMT_FN void shpool_fl_push(shpool_view view, uint32_t g, uint32_t size)
{
    simt_addr a     = shpool_fl_payload(view, g);
    uint32_t  first = simt_load32(view.base);

    simt_store32(a, first);
    simt_store32(a + 4u, size);
    if (first != 0) {
        simt_store16(shpool_fl_entry(view, first) + 2u, (uint16_t)(g + 1u));
    }
    simt_store32(view.base, g + 1u);
}

/* An entry, or the last one for a number that leads out of the pool: somebody wrote over a link. */
SIMT_FN simt_addr shpool_fl_entry_within(shpool_view view, uint32_t entry)
{
    return shpool_fl_entry(view, (entry < view.word[0]) ? entry : view.word[0]);
}

SIMT_FN void shpool_fl_unlink(shpool_view view, uint32_t g)
{
    uint32_t link = simt_load32(shpool_fl_payload(view, g));

    simt_store16(shpool_fl_entry_within(view, link >> 16), (uint16_t)link);
    link = simt_keep(link);
    if ((link & 0xffffu) != 0) {
        simt_store16(shpool_fl_entry_within(view, link & 0xffffu) + 2u, (uint16_t)(link >> 16));
    }
}

/* By one thread. */
SIMT_FN void shpool_fl_init(shpool_view view)
{
    uint32_t granules = view.word[0];
    uint32_t g;

    if (granules == 0) {
        return;
    }
    for (g = 0; g <= granules; g += 32u) {
        uint32_t behind = (granules - g < 32u) ? simt_mask(granules - g, 32u) : 0u;
        uint32_t here   = (g == 0) ? 1u : 0u;

        simt_store32(shpool_fl_pair(view, g), behind | here);
        simt_store32(shpool_fl_pair(view, g) + 4u, here);
    }
    simt_store32(view.base, 0);
    shpool_fl_push(view, 0, granules);
}

#endif /* SHPOOL_ALLOCATORS_FREELIST_MAP_H */
