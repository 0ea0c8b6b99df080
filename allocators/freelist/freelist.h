/* SPDX-License-Identifier: BSD-3-Clause */
/* freelist: a list of free blocks, and two bits for each 16 bytes instead of headers.
 *
 * Terms
 *   granule   16 bytes of payload, numbered 0..G-1
 *   block     a run of granules, free or used; there are no gaps between blocks, block k begins at
 *             granule k
 *   map       pairs of words for 32 granules: "a block begins here", and "it is free"; granule G
 *             and all after it count as starts of used blocks, so every block has an end
 *   link      first payload words of a free block: next (low half) and previous (high half) in the
 *             list by granule + 1, 0 at the ends; then its size in granules
 *
 * Pool:  head of the list | lock | geometry | spare | map | padding to the alignment | G granules
 *
 * Policy: first fit on a list that begins with the block freed last (LIFO); memory comes from the
 * high end of the block, so that the list does not change; immediate coalescing with both
 * neighbours.  No bytes per allocation beyond rounding up to 16; 2 bits per 16 bytes of pool.
 *
 * Invariants (the numbers that walk reports)
 *   1  block 0 begins at granule 0, the map is closed after granule G-1
 *   2  a granule marked free begins a block
 *   3  no two free blocks are adjacent
 *   4  the list holds exactly the free blocks, linked both ways, with their sizes
 *
 * LIFO first fit, and bits instead of boundary tags: Wilson et al., Dynamic Storage Allocation: A
 * Survey and Critical Review (IWMM 1995), sections 3.6 and 3.4. */
#ifndef SHPOOL_ALLOCATORS_FREELIST_H
#define SHPOOL_ALLOCATORS_FREELIST_H

#include <shpool/impl/heap/group_lock.h>
#include <shpool/impl/heap/run_word.h>
#include <shpool/module.h>

/* ---- geometry: word[0] = G, word[1] = offset of granule 0 ---- */

#define SHPOOL_FREELIST_CONTROL 16u /* bytes before the map */

SIMT_HD uint32_t shpool_fl_offset(uint32_t alignment, uint32_t pairs)
{
    return (SHPOOL_FREELIST_CONTROL + 8u * pairs + alignment - 1u) & ~(alignment - 1u);
}

/* Number of granules with `pairs` pairs of map words, the last of which has at least the end. */
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

/* State of granule g: 1 begins a used block, 3 a free one, 0 none. */
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

/* The block before the one that begins at g; g itself if there is none. */
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

/* An entry, or the last one if the number leads out of the pool because a link was overwritten. */
SIMT_FN simt_addr shpool_fl_entry_within(shpool_view view, uint32_t entry)
{
    return shpool_fl_entry(view, (entry < view.word[0]) ? entry : view.word[0]);
}

/* Remove the block with this link from the list. */
SIMT_FN void shpool_fl_unlink_from(shpool_view view, uint32_t link)
{
    simt_store16(shpool_fl_entry_within(view, link >> 16), (uint16_t)link);
    link = simt_keep(link);
    if ((link & 0xffffu) != 0) {
        simt_store16(shpool_fl_entry_within(view, link & 0xffffu) + 2u, (uint16_t)(link >> 16));
    }
}
SIMT_FN void shpool_fl_unlink(shpool_view view, uint32_t g)
{
    shpool_fl_unlink_from(view, simt_load32(shpool_fl_payload(view, g)));
}

/* Called by one thread. */
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

/* ---- malloc ---- */

/* Make the granules at..at+need-1 of the free block g of `size` an allocation. */
SIMT_FN simt_addr shpool_fl_carve(shpool_view view, uint32_t g, uint32_t size, uint32_t at,
                                  uint32_t need)
{
    uint32_t behind = size - (at - g) - need;

    if (behind != 0) { /* an aligned request only: plain ones take the end */
        need += at;
        shpool_fl_flip(view, need, SHPOOL_FL_BEGINS);
        shpool_fl_flip(view, need, SHPOOL_FL_FREE);
        shpool_fl_push(view, need, behind);
    }
    if (at != g) {
        simt_store32(shpool_fl_payload(view, g) + 4u, at - g);
        shpool_fl_flip(view, at, SHPOOL_FL_BEGINS);
    } else {
        shpool_fl_unlink(view, g);
        shpool_fl_flip(view, g, SHPOOL_FL_FREE);
    }
    return shpool_fl_payload(view, at);
}

/* A request in one word: granules, and in the upper half those that it is aligned to.  More than a
 * pool can have stays more. */
SIMT_FN uint32_t shpool_fl_want(uint32_t bytes, uint32_t alignment)
{
    uint32_t need = (bytes + 15u) >> 4;

    return ((need < 0xffffu) ? need : 0xffffu) | (alignment << 12);
}

SIMT_FN simt_addr shpool_fl_serve(shpool_view view, uint32_t want)
{
    uint32_t need  = simt_keep(want & 0xffffu);
    uint32_t entry = simt_load32(view.base);

    /* An entry beyond the pool means that a free block was overwritten.  It is not followed. */
    while ((entry != 0) && (entry <= view.word[0])) {
        uint32_t g    = entry - 1u;
        uint32_t size = simt_load32(shpool_fl_payload(view, g) + 4u);

        if ((size >= need) && (size <= view.word[0] - g)) {
            uint32_t at = g + size - need; /* as far up as the alignment allows */

            at -= ((shpool_fl_payload(view, at) >> 4) & ((want >> 16) - 1u));
            if (at - g <= size - need) { /* inside, and not below */
                return shpool_fl_carve(view, g, size, at, need);
            }
        }
        entry = simt_load32(shpool_fl_payload(view, g)) & 0xffffu;
    }
    return 0;
}

/* ---- free ---- */

/* 0 if addr begins a used block, else the shpool_free_result. */
SIMT_FN uint32_t shpool_fl_refuse(shpool_view view, simt_addr addr)
{
    uint32_t g = shpool_fl_granule(view, addr);
    uint32_t what;

    if ((g & 0x0fffffffu) >= view.word[0]) { /* also for the empty pool */
        return SHPOOL_FREE_FOREIGN;
    }
    what = shpool_fl_what(view, g & 0x0fffffffu);
    if ((what == 1u) && (g < view.word[0])) {
        return SHPOOL_FREE_OK;
    }
    if (what == 0) { /* inside a block: is that one free? */
        what = shpool_fl_what(view, shpool_fl_block_before(view, g & 0x0fffffffu));
    }
    return ((what & 2u) != 0) ? SHPOOL_FREE_DOUBLE : SHPOOL_FREE_INTERIOR;
}

/* Whether the list links the free block g both ways and knows its size. */
SIMT_FN uint32_t shpool_fl_listed(shpool_view view, uint32_t g, uint32_t size)
{
    uint32_t link     = simt_load32(shpool_fl_payload(view, g));
    uint32_t next     = link & 0xffffu;
    uint32_t previous = link >> 16;

    if ((simt_load32(shpool_fl_payload(view, g) + 4u) != size) || (next > view.word[0]) ||
        (previous > view.word[0])) {
        return 0;
    }
    return ((simt_load32(shpool_fl_entry(view, previous)) & 0xffffu) == g + 1u) &&
           ((next == 0) || ((simt_load32(shpool_fl_entry(view, next)) >> 16) == g + 1u));
}

/* Whether the block at g, if it is free, is consistent with the list. */
SIMT_FN uint32_t shpool_fl_sound(shpool_view view, uint32_t g)
{
    return (g >= view.word[0]) || (shpool_fl_what(view, g) != 3u) ||
           shpool_fl_listed(view, g, shpool_fl_next_block(view, g) - g);
}

/* The same as shpool_fl_refuse(), and a look at the neighbours that a free would merge with: their
 * links lie where an overrun reaches them. */
SIMT_FN uint32_t shpool_fl_owns(shpool_view view, simt_addr addr)
{
    uint32_t reason = shpool_fl_refuse(view, addr);
    uint32_t g      = shpool_fl_granule(view, addr);

    if ((reason == SHPOOL_FREE_OK) &&
        (!shpool_fl_sound(view, shpool_fl_next_block(view, g)) ||
         !shpool_fl_sound(view, shpool_fl_block_before(view, g)))) {
        return SHPOOL_FREE_CORRUPT;
    }
    return reason;
}

/* Merge the free block g into the previous one, of `size`; returns the sum of their sizes. */
SIMT_FN uint32_t shpool_fl_absorb(shpool_view view, uint32_t g, uint32_t size)
{
    size += simt_load32(shpool_fl_payload(view, g) + 4u);
    shpool_fl_flip(view, g, SHPOOL_FL_BEGINS);
    shpool_fl_flip(view, g, SHPOOL_FL_FREE);
    shpool_fl_unlink(view, simt_keep(g));
    return size;
}

/* Make the used block g of `size` free. */
SIMT_FN void shpool_fl_give(shpool_view view, uint32_t g, uint32_t size)
{
    uint32_t other = g + size;

    if ((other < view.word[0]) && (shpool_fl_what(view, other) == 3u)) {
        size = shpool_fl_absorb(view, simt_keep(other), size);
    }
    other = shpool_fl_block_before(view, g);
    if ((other != g) && (shpool_fl_what(view, other) == 3u)) {
        shpool_fl_flip(view, g, SHPOOL_FL_BEGINS); /* the previous one grows; its place does not
                                                      change */
        simt_store32(shpool_fl_payload(view, other) + 4u, g - other + size);
    } else {
        shpool_fl_flip(view, g, SHPOOL_FL_FREE);
        shpool_fl_push(view, simt_keep(g), size);
    }
}

SIMT_FN uint32_t shpool_fl_free(shpool_view view, simt_addr addr)
{
    uint32_t reason = shpool_fl_refuse(view, addr);
    uint32_t g      = simt_keep(shpool_fl_granule(view, addr));

    if (reason == SHPOOL_FREE_OK) {
        shpool_fl_give(view, g, shpool_fl_next_block(view, g) - g);
    }
    return reason;
}

/* ---- the rest ---- */

SIMT_FN uint32_t shpool_fl_usable(shpool_view view, simt_addr addr)
{
    uint32_t g = shpool_fl_granule(view, addr);

    return (shpool_fl_refuse(view, addr) == SHPOOL_FREE_OK)
               ? (shpool_fl_next_block(view, g) - g) << 4 : 0u;
}

SIMT_FN uint32_t shpool_fl_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    uint32_t need = simt_keep((bytes + 15u) >> 4);
    uint32_t size = shpool_fl_usable(view, addr) >> 4;
    uint32_t g    = simt_keep(shpool_fl_granule(view, addr));

    if (size == 0) {
        return 0;
    }
    if (need > size) { /* take the whole next block, if it is free and large enough */
        uint32_t behind = g + size;

        if ((behind >= view.word[0]) || (shpool_fl_what(view, behind) != 3u) ||
            (need - size > simt_load32(shpool_fl_payload(view, behind) + 4u))) {
            return 0;
        }
        size = shpool_fl_absorb(view, simt_keep(behind), size);
    }
    if (need < size) { /* free the end */
        shpool_fl_flip(view, g + need, SHPOOL_FL_BEGINS);
        shpool_fl_give(view, g + need, size - need);
    }
    return 1;
}

SIMT_FN uint32_t shpool_fl_largest(shpool_view view)
{
    uint32_t entry = (view.word[0] != 0) ? simt_load32(view.base) : 0u;
    uint32_t best  = 0;

    while ((entry != 0) && (entry <= view.word[0])) {
        uint32_t size = simt_load32(shpool_fl_payload(view, entry - 1u) + 4u);

        best  = (size > best) ? size : best;
        entry = simt_load32(shpool_fl_payload(view, entry - 1u)) & 0xffffu;
    }
    return best << 4;
}

/* 0, or the invariant that block g of `size` breaks; was_free: the previous block is free. */
SIMT_FN uint32_t shpool_fl_judge(shpool_view view, uint32_t g, uint32_t size, uint32_t was_free)
{
    uint32_t what = shpool_fl_what(view, g);

    if (((what & 1u) == 0) || (size > view.word[0] - g)) {
        return (what == 2u) ? 2u : 1u;
    }
    if (what == 1u) {
        return 0;
    }
    return was_free ? 3u : shpool_fl_listed(view, g, size) ? 0u : 4u;
}

/* Blocks that the map knows: used ones in the low half, free ones in the high half. */
SIMT_FN uint32_t shpool_fl_census(shpool_view view)
{
    uint32_t count = 0;
    uint32_t g;

    SIMT_ROLLED
    for (g = 0; g < view.word[0]; g += 32u) {
        uint32_t here  = (view.word[0] - g < 32u) ? simt_mask(0, view.word[0] - g) : ~0u;
        uint32_t frees = simt_load32(shpool_fl_pair(view, g) + SHPOOL_FL_FREE) & here;

        count += simt_popc(simt_load32(shpool_fl_pair(view, g)) & here & ~frees);
        count += simt_popc(frees) << 16;
    }
    return count;
}

/* Granules of the free blocks in the list of `count` entries; ~0 if it has more or fewer. */
SIMT_FN uint32_t shpool_fl_listed_granules(shpool_view view, uint32_t count)
{
    uint32_t entry = simt_load32(view.base); /* as malloc reads it: all of the word */
    uint32_t sum   = 0;

    for (; (entry != 0) && (entry <= view.word[0]) && (count != 0); count--) {
        sum += simt_load32(shpool_fl_payload(view, entry - 1u) + 4u);
        entry = simt_load32(shpool_fl_payload(view, entry - 1u)) & 0xffffu;
    }
    return ((entry == 0) && (count == 0)) ? sum : ~0u;
}

SIMT_FN shpool_walk shpool_fl_walk(shpool_view view)
{
    shpool_walk walk     = {0, 0, 0, 0};
    uint32_t    was_free = 0;
    uint32_t    g        = 0;

    if (view.word[0] == 0) {
        return walk;
    }
    while (g < view.word[0]) {
        uint32_t size = shpool_fl_next_block(view, g) - g;

        walk.broken = shpool_fl_judge(view, g, size, was_free);
        if (walk.broken != 0) {
            walk.where = shpool_fl_payload(view, g);
            return walk;
        }
        was_free = shpool_fl_what(view, g) >> 1;
        g += size;
    }
    walk.live = shpool_fl_census(view);
    walk.used = shpool_fl_listed_granules(view, walk.live >> 16);
    walk.live &= 0xffffu;
    if (walk.used == ~0u) {
        walk.broken = 4;
        walk.where  = view.base;
    }
    walk.used = (view.word[0] - walk.used) << 4;
    return walk;
}

#define SHPOOL_PACKS_freelist  ~, SHPOOL_PACKING(SHPOOL_PACK_DOWN, 0u, 0u, 0u)
#define SHPOOL_GUARDS_freelist ~, 1 /* module.h */
SHPOOL_LOCKED_MODULE(freelist, shpool_fl, shpool_fl_serve,
                     shpool_fl_want(bytes, alignment))

#endif /* SHPOOL_ALLOCATORS_FREELIST_H */
