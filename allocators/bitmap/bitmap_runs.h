/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's words: where they lie, and runs of granules that are claimed in them and given back.
 * bitmap.h explains the terms, and chooses the runs. */
#ifndef SHPOOL_ALLOCATORS_BITMAP_RUNS_H
#define SHPOOL_ALLOCATORS_BITMAP_RUNS_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#define SHPOOL_BITMAP_CONTROL 16u          /* bytes in front of the words */
#define SHPOOL_BITMAP_USED    0x0000ffffu  /* used bits of a word */
#define SHPOOL_BITMAP_PENDING 0x000007ffu  /* of the state */
#define SHPOOL_BITMAP_GENERATION 0x800u    /* one generation */

/* word[0] = G, word[1] = offset of granule 0. */
SIMT_HD uint32_t shpool_bitmap_granules(uint32_t bytes, uint32_t alignment, uint32_t words)
{
    uint32_t offset = (SHPOOL_BITMAP_CONTROL + 4u * words + alignment - 1u) & ~(alignment - 1u);
    uint32_t room   = (bytes > offset) ? (bytes - offset) >> 4 : 0u;

    return (room < 16u * words) ? room : 16u * words;
}

SIMT_HD shpool_layout shpool_bitmap_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout = {0, 0, {0, 0}};
    uint32_t      words  = (bytes + 243u) / 260u; /* 256 B of payload and 4 B of bits a word */
    uint32_t      granules;

    if (words == 0) {
        return layout;
    }
    granules = shpool_bitmap_granules(bytes, alignment, words);
    /* Where padding rounds the words up, fewer words can leave more payload. */
    while ((words > 1u) && (shpool_bitmap_granules(bytes, alignment, words - 1u) >= granules)) {
        words--;
        granules = shpool_bitmap_granules(bytes, alignment, words);
    }
    if (granules == 0) {
        return layout;
    }
    words          = (granules + 15u) >> 4;
    layout.word[0] = granules;
    layout.word[1] = (SHPOOL_BITMAP_CONTROL + 4u * words + alignment - 1u) & ~(alignment - 1u);
    layout.largest = granules << 4;
    layout.bytes   = layout.word[1] + layout.largest;
    return layout;
}

/* ---- addresses ---- */

SIMT_FN simt_addr shpool_bitmap_word_at(shpool_view view, uint32_t w)
{
    return view.base + SHPOOL_BITMAP_CONTROL + 4u * w;
}

SIMT_FN simt_addr shpool_bitmap_payload(shpool_view view, uint32_t granule)
{
    return view.base + view.word[1] + (granule << 4);
}

SIMT_FN uint32_t shpool_bitmap_words(shpool_view view)
{
    return (view.word[0] + 15u) >> 4;
}

/* The bits of an allocation that lies in one word, its start bit included; `start` is its first
 * bit, as a power of two. */
SIMT_FN uint32_t shpool_bitmap_run(uint32_t start, uint32_t count)
{
    return (simt_mask(0, count) | 0x10000u) * start;
}

SIMT_FN void shpool_bitmap_init(shpool_view view, uint32_t member, uint32_t members)
{
    uint32_t words = shpool_bitmap_words(view);
    uint32_t w;

    if (member == 0) {
        simt_store32(view.base, 0);
        simt_store32(view.base + 4u, view.word[0]);
        simt_store32(view.base + 8u, view.word[1]);
    }
    for (w = member; w < words; w += members) {
        uint32_t left = view.word[0] - 16u * w; /* granules from this word on */
        uint32_t tail = (left < 16u) ? (SHPOOL_BITMAP_USED << left) & SHPOOL_BITMAP_USED : 0u;

        simt_store32(shpool_bitmap_word_at(view, w), tail | (tail << 16));
    }
}

/* ---- claiming and giving back runs ---- */

/* Take back marks of granules first..first+count-1, from the end, so that a run that starts with a
 * start bit never has a hole in it: lengths are read from start to the first granule that is not
 * used or starts another allocation. */
SIMT_FN void shpool_bitmap_clear(shpool_view view, uint32_t first, uint32_t count)
{
    while (count != 0) {
        uint32_t last = first + count - 1u;
        uint32_t w    = last >> 4;
        uint32_t from = (first > (w << 4)) ? first : w << 4;
        uint32_t n    = last - from + 1u;
        uint32_t mask = simt_mask(from & 15u, n);

        /* release: the owner's accesses to the payload; pairs with the acquire of the claim that
         * takes the granules next (shpool_bitmap_claim, shpool_bitmap_take) */
        (void)simt_atomic_and(shpool_bitmap_word_at(view, w), ~(mask | (mask << 16)), SIMT_RELEASE);
        count -= n;
    }
}

/* Mark granules first..end-1 used; head: with a start bit.  1, or 0 with nothing marked.
 * Words in ascending order: of several claims that meet, the one furthest up always gets on. */
SIMT_FN uint32_t shpool_bitmap_claim(shpool_view view, uint32_t first, uint32_t end, uint32_t head)
{
    uint32_t is_long = (first >> 4) != ((end - 1u) >> 4);
    uint32_t at      = first;

    if (is_long) {
        /* relaxed: the marks' release orders it for whoever sees a mark */
        (void)simt_atomic_add(view.base, 1u, SIMT_RELAXED);
    }
    while (at < end) {
        uint32_t  room   = 16u - (at & 15u);
        uint32_t  mask   = simt_mask(at & 15u, (end - at < room) ? end - at : room);
        uint32_t  set    = mask | ((at == first) ? head << (16u + (at & 15u)) : 0u);
        simt_addr a      = shpool_bitmap_word_at(view, at >> 4);
        uint32_t  seen   = simt_atomic_load(a, SIMT_RELAXED);
        uint32_t  old    = seen;

        do {
            seen = old;
            if (((seen | (seen >> 16)) & mask) != 0) {
                shpool_bitmap_clear(view, first, at - first);
                if (is_long) {
                    /* release: pairs with the acquire in shpool_bitmap_malloc_slow; the marks are
                     * gone before the generation says so */
                    (void)simt_atomic_add(view.base, SHPOOL_BITMAP_GENERATION - 1u, SIMT_RELEASE);
                }
                return 0;
            }
            /* acquire: pairs with the release in shpool_bitmap_clear and _free, the payload's last
             * owner is done with it.  release: pairs with the acquire in shpool_bitmap_find, who
             * sees the mark also sees it pending */
            old = simt_atomic_cas(a, seen, seen | set, SIMT_ACQ_REL);
        } while (old != seen);
        at = (at | 15u) + 1u;
    }
    if (is_long) {
        (void)simt_atomic_add(view.base, 0u - 1u, SIMT_RELEASE); /* as above */
    }
    return 1;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_RUNS_H */
