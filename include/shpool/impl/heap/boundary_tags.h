/* SPDX-License-Identifier: BSD-3-Clause */
/* Boundary tags: the heap structure of the classic allocators.  Not for direct inclusion.
 *
 * Four allocators differ in only two respects: which free block serves a request (first fit, best
 * fit), and which threads share a pool (one thread, or a group with a lock, group_lock.h).  The
 * common part is here; tags_blocks.h has the accesses to single words.
 *
 * Terms
 *   granule   16 bytes, numbered from the pool's base; block k is the one whose payload starts at
 *             granule k
 *   block     a run of granules, free or used; its header is the word before its payload, so its
 *             last 4 bytes belong to the next block's header
 *   header    bit 31 used | bits 15..29 size in granules | bits 0..14 size of the previous block
 *             (0: this is the first).  The two sizes give direct access to both neighbours.
 *   link      first payload word of a free block: next free (high half) and previous free (low
 *             half) by granule, 0 at the ends.  The list is in address order.
 *   sentinel  the header after the last block: used, size 0
 *
 * Pool:  first free block | lock | geometry | header | payload ... | sentinel
 *
 * Allocations come from the high end of a free block, so that the list does not change; a freed
 * block is merged with both neighbours immediately.  Overhead: 4 bytes per allocation, rounded up
 * to 16, and 20 bytes per pool.  No function here is safe while another thread uses the pool.
 *
 * Invariants (the numbers that walk reports)
 *   1  sizes add up to the pool, the sentinel closes it
 *   2  each header repeats the size of the previous block
 *   3  no two free blocks are adjacent
 *   4  the list holds exactly the free blocks, in address order, linked both ways
 *
 * Boundary tags, address-ordered first fit and best fit: Knuth, TAOCP 1, 2.5, A and C. */
#ifndef SHPOOL_IMPL_BOUNDARY_TAGS_H
#define SHPOOL_IMPL_BOUNDARY_TAGS_H

#include <shpool/impl/heap/tags_blocks.h>

/* ---- malloc ---- */

/* Make the granules at..at+need-1 of the free block `block` an allocation.  Headers first, and the
 * list last: that order needs the fewest registers. */
SIMT_FN simt_addr shpool_tags_carve(shpool_view view, uint32_t block, uint32_t header, uint32_t at,
                                    uint32_t need)
{
    uint32_t front  = at - block;
    uint32_t behind = shpool_tags_size(header) - front - need;
    uint32_t link;

    shpool_tags_set_before(view, at + need + behind, (behind != 0) ? behind : need);
    shpool_tags_set_header(view, at, SHPOOL_TAGS_USED, need,
                           (front != 0) ? front : shpool_tags_before(header));
    if (front != 0) {
        shpool_tags_set_header(view, block, 0, front, shpool_tags_before(header));
        if (behind == 0) {
            return shpool_tags_payload(view, at); /* the common case: the list does not change */
        }
    }
    link = shpool_tags_link(view, block);
    if (behind == 0) {
        shpool_tags_unlink(view, link);
    } else { /* only for aligned requests: others take the end */
        shpool_tags_set_header(view, at + need, 0, behind, need);
        if (front != 0) {
            link = (link & 0xffff0000u) | block; /* between block and its successor */
        }
        shpool_tags_relink(view, at + need, link);
    }
    return shpool_tags_payload(view, at);
}

/* Encodes a request in one word: granules, header included, and in the upper half its alignment in
 * granules.  A request larger than any pool stays larger. */
SIMT_FN uint32_t shpool_tags_want(uint32_t bytes, uint32_t alignment)
{
    uint32_t need = (bytes + 4u + 15u) >> 4;

    return ((need < 0xffffu) ? need : 0xffffu) | (alignment << 12);
}

/* Where `need` granules would begin in the free block `block`: as high as the alignment permits.
 * The result is below the block, or wraps to far above it, if they do not fit. */
SIMT_FN uint32_t shpool_tags_place(shpool_view view, uint32_t block, uint32_t size, uint32_t want)
{
    uint32_t end = block + size - (want & 0xffffu);

    return end - (((view.base >> 4) + end) & ((want >> 16) - 1u));
}

/* best: 0 chooses the first block that is large enough, 1 the smallest such block.
 * take: 0, or the number of granules to allocate instead from the block that serves `want`
 * (alignment 16 only). */
SIMT_FN simt_addr shpool_tags_take(shpool_view view, uint32_t want, uint32_t take, uint32_t best)
{
    uint32_t need  = simt_keep(want & 0xffffu);
    uint32_t found = 0;
    uint32_t place = 0;
    uint32_t taken = 0; /* header of the chosen block */
    uint32_t least = SHPOOL_TAGS_GRANULES + 1u; /* its size */
    uint32_t block;

    if (need > view.word[0]) {
        return 0; /* also for the empty pool */
    }
    for (block = shpool_tags_next(view, 0); block != 0; block = shpool_tags_next(view, block)) {
        uint32_t header = shpool_tags_header(view, block);
        uint32_t size   = shpool_tags_size(header);

        if ((size >= need) && (size < least)) {
            uint32_t at = shpool_tags_place(view, block, size, want);

            if (at - block <= size - need) { /* inside the block, not below it */
                found = block;
                place = at;
                taken = header;
                least = size;
                if (!best || (size == need)) {
                    break;
                }
            }
        }
    }
    if (found == 0) {
        return 0;
    }
    if (best) { /* recomputed, because no registers are left to keep them */
        taken = shpool_tags_header(view, found);
        place = shpool_tags_place(view, found, shpool_tags_size(taken), want);
    }
    if (take != 0) {
        if (shpool_tags_size(taken) < take) {
            return 0;
        }
        need  = take;
        place = found + shpool_tags_size(taken) - take;
    }
    return shpool_tags_carve(view, found, taken, place, need);
}

SIMT_FN simt_addr shpool_tags_malloc(shpool_view view, uint32_t want, uint32_t best)
{
    return shpool_tags_take(view, want, 0, best);
}

/* ---- free ---- */

/* Free the used granules `block`..+size; `before` is the size of the previous block. */
SIMT_FN void shpool_tags_give(shpool_view view, uint32_t block, uint32_t size, uint32_t before)
{
    uint32_t behind = shpool_tags_header(view, block + size);
    uint32_t front  = (before != 0) ? shpool_tags_header(view, block - before) : SHPOOL_TAGS_USED;
    uint32_t link   = 0;

    if ((behind & SHPOOL_TAGS_USED) == 0) {
        link = shpool_tags_link(view, block + size);
        size += shpool_tags_size(behind);
    }
    if ((front & SHPOOL_TAGS_USED) == 0) { /* it grows; its place in the list does not change */
        if ((behind & SHPOOL_TAGS_USED) == 0) {
            shpool_tags_unlink(view, link);
        }
        shpool_tags_set_header(view, block, 0, 0, 0); /* otherwise a second free would find it
                                                         used */
        block -= before;
        size  += before;
        before = shpool_tags_before(front);
    } else {
        if ((behind & SHPOOL_TAGS_USED) != 0) { /* find its place in the list */
            uint32_t next = shpool_tags_next(view, 0);

            link = 0;
            while ((next != 0) && (next < block)) {
                link = next;
                next = shpool_tags_next(view, next);
            }
            link |= next << 16;
        }
        shpool_tags_relink(view, block, link);
    }
    shpool_tags_set_header(view, block, 0, size, before);
    shpool_tags_set_before(view, block + size, size);
}

/* Block whose payload would start at addr; 0 if this pool has none.  The rotation moves misaligned
 * addresses, and addresses below the pool, to far above its end. */
SIMT_FN uint32_t shpool_tags_block(shpool_view view, simt_addr addr)
{
    uint32_t offset = addr - view.base;
    uint32_t block  = (offset >> 4) | (offset << 28);

    return (block - view.word[1] < view.word[0] - view.word[1]) ? block : 0u;
}

/* Why such an address is not an allocation. */
SIMT_FN uint32_t shpool_tags_stray(shpool_view view, simt_addr addr)
{
    return (shpool_tags_block(view, addr & ~15u) != 0) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_FOREIGN;
}

/* Defines the free function of a pool whose blocks have these headers; _give frees a used block.
 * It is a macro, because in a function that returns the block nvcc turns the branches into
 * selections. */
#define SHPOOL_TAGS_FREE(_free, _give) \
    SIMT_FN uint32_t _free(shpool_view view, simt_addr addr) \
    { \
        uint32_t block = shpool_tags_block(view, addr); \
        uint32_t header; \
        if (block == 0) { \
            return shpool_tags_stray(view, addr); \
        } \
        header = shpool_tags_header(view, block); \
        if ((header & SHPOOL_TAGS_USED) == 0) { \
            return SHPOOL_FREE_DOUBLE; /* detects most double frees; owns detects all of them */ \
        } \
        _give(view, block, shpool_tags_size(header), shpool_tags_before(header)); \
        return SHPOOL_FREE_OK; \
    }

SHPOOL_TAGS_FREE(shpool_tags_free, shpool_tags_give)

/* Walks from the first block, so that only the address decides, not the words before it. */
SIMT_FN uint32_t shpool_tags_owns(shpool_view view, simt_addr addr)
{
    uint32_t target = shpool_tags_block(view, addr & ~15u);
    uint32_t before = 0;
    uint32_t block  = view.word[1];

    if (target == 0) {
        return SHPOOL_FREE_FOREIGN;
    }
    for (;;) {
        uint32_t header = shpool_tags_header(view, block);
        uint32_t size   = shpool_tags_size(header);

        if ((shpool_tags_before(header) != before) || (size == 0) ||
            (size > view.word[0] - block)) {
            return SHPOOL_FREE_CORRUPT;
        }
        if (target < block + size) {
            if ((header & SHPOOL_TAGS_USED) == 0) {
                return SHPOOL_FREE_DOUBLE;
            }
            if ((target != block) || ((addr & 15u) != 0)) {
                return SHPOOL_FREE_INTERIOR;
            }
            /* The next header shows whether the block itself was overrun. */
            header = shpool_tags_header(view, block + size);
            return (shpool_tags_before(header) == size) ? SHPOOL_FREE_OK : SHPOOL_FREE_CORRUPT;
        }
        before = size;
        block += size;
    }
}

/* ---- the rest ---- */

SIMT_FN uint32_t shpool_tags_usable(shpool_view view, simt_addr addr)
{
    uint32_t block  = shpool_tags_block(view, addr);
    uint32_t header = (block != 0) ? shpool_tags_header(view, block) : 0u;

    return ((header & SHPOOL_TAGS_USED) != 0) ? (shpool_tags_size(header) << 4) - 4u : 0u;
}

SIMT_FN uint32_t shpool_tags_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    uint32_t block = shpool_tags_block(view, addr);
    uint32_t need  = simt_keep((bytes + 4u + 15u) >> 4);
    uint32_t header;
    uint32_t size;

    if (block == 0) {
        return 0;
    }
    header = shpool_tags_header(view, block);
    if ((header & SHPOOL_TAGS_USED) == 0) {
        return 0;
    }
    size = shpool_tags_size(header);
    if (need > size) { /* take the whole next block, if it is free and large enough */
        uint32_t behind = block + size;
        uint32_t more   = shpool_tags_header(view, behind);

        if (((more & SHPOOL_TAGS_USED) != 0) || (need - size > shpool_tags_size(more))) {
            return 0;
        }
        size += shpool_tags_size(more);
        shpool_tags_set_before(view, block + size, size);
        shpool_tags_set_header(view, block, SHPOOL_TAGS_USED, size, shpool_tags_before(header));
        shpool_tags_unlink(view, shpool_tags_link(view, behind));
    }
    if (need < size) { /* free the end */
        shpool_tags_set_header(view, block, SHPOOL_TAGS_USED, need, shpool_tags_before(header));
        shpool_tags_give(view, block + need, size - need, need);
    }
    return 1;
}

SIMT_FN uint32_t shpool_tags_largest(shpool_view view)
{
    uint32_t best = 0;
    uint32_t block;

    if (view.word[0] == 0) {
        return 0;
    }
    for (block = shpool_tags_next(view, 0); block != 0; block = shpool_tags_next(view, block)) {
        uint32_t size = shpool_tags_size(shpool_tags_header(view, block));

        best = (size > best) ? size : best;
    }
    return (best != 0) ? (best << 4) - 4u : 0u;
}

SIMT_FN shpool_walk shpool_tags_walk(shpool_view view)
{
    shpool_walk walk     = {0, 0, 0, 0};
    uint32_t    block    = view.word[1];
    uint32_t    before   = 0;
    uint32_t    was_free = 0;
    uint32_t    previous = 0; /* last free block seen */

    if (view.word[0] == 0) {
        return walk;
    }
    for (;;) {
        uint32_t header = shpool_tags_header(view, block);
        uint32_t size   = shpool_tags_size(header);

        if (shpool_tags_before(header) != before) {
            walk.broken = 2;
        } else if (block == view.word[0]) {
            walk.broken = ((header & SHPOOL_TAGS_USED) && (size == 0)) ? 0u : 1u;
            break;
        } else if ((size == 0) || (size > view.word[0] - block)) {
            walk.broken = 1;
        } else if ((header & SHPOOL_TAGS_USED) != 0) {
            walk.live++;
            walk.used += (size << 4) - 4u;
            was_free = 0;
        } else {
            if (was_free) {
                walk.broken = 3;
            } else if ((shpool_tags_next(view, previous) != block) ||
                       ((shpool_tags_link(view, block) & 0xffffu) != previous)) {
                walk.broken = 4;
            }
            was_free = 1;
            previous = block;
        }
        if (walk.broken != 0) {
            break;
        }
        before = size;
        block += size;
    }
    if ((walk.broken == 0) && (shpool_tags_next(view, previous) != 0)) {
        walk.broken = 4;
        block       = previous;
    }
    walk.where = (walk.broken != 0) ? shpool_tags_payload(view, block) : 0u;
    return walk;
}

#endif /* SHPOOL_IMPL_BOUNDARY_TAGS_H */
