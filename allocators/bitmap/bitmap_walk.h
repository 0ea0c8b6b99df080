/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap: its largest free run, and the walk that checks its invariants, which bitmap.h numbers. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_WALK_H
#define SHPOOL_ALLOCATORS_BITMAP_WALK_H

SIMT_FN uint32_t shpool_bitmap_largest(shpool_view view)
{
    uint32_t words = shpool_bitmap_words(view);
    uint32_t run   = 0;
    uint32_t best  = 0;
    uint32_t w;

    for (w = 0; w < words; w++) {
        uint32_t unused = shpool_bitmap_unused(
            simt_atomic_load(shpool_bitmap_word_at(view, w), SIMT_RELAXED));
        uint32_t i;

        for (i = 0; i < SHPOOL_BITMAP_SPAN; i++) {
            run  = ((unused >> i) & 1u) ? run + 1u : 0u;
            best = (run > best) ? run : best;
        }
    }
    return best << 4;
}

/* Invariant that word w, with the value `word`, breaks even if other threads are active; 0:
 * none. */
SIMT_FN uint32_t shpool_bitmap_wrong(shpool_view view, uint32_t w, uint32_t word)
{
    const uint32_t behind = shpool_bitmap_behind(view, w);
    const uint32_t known  = SHPOOL_BITMAP_USED | (SHPOOL_BITMAP_USED << SHPOOL_BITMAP_STARTS) |
                           SHPOOL_BITMAP_MORE | ((w & 1u) ? 0u : SHPOOL_BITMAP_CLAIMED);

    if (((word & SHPOOL_BITMAP_MORE) != 0) && (SHPOOL_BITMAP_SPAN * (w + 1u) >= view.word[0])) {
        return 5; /* there is no next word to continue in */
    }
    return ((word & behind) != behind) ? 3u : ((word & ~known) != 0) ? 6u : 0u;
}

/* Checks only data that never changes, even if other threads are active. */
SIMT_FN shpool_walk shpool_bitmap_outline(shpool_view view)
{
    shpool_walk walk = {0, 0, 0, 0};
    uint32_t    w;

    for (w = 0; (w < 2u) && (view.word[0] != 0) && (walk.broken == 0); w++) {
        walk.where  = view.base + 4u + 4u * w;
        walk.broken = (simt_load32(walk.where) != view.word[w]) ? 6u : 0u;
    }
    if ((view.word[0] != 0) && (walk.broken == 0)) { /* a warp begins within the pool */
        uint32_t begin;

        walk.where  = view.base + SHPOOL_BITMAP_BEGIN;
        begin       = simt_atomic_load(walk.where, SIMT_RELAXED);
        walk.broken = ((begin >> SHPOOL_BITMAP_HINT) + (begin & SHPOOL_BITMAP_SPREAD) >
                       shpool_bitmap_last_start(view)) ? 6u : 0u;
    }
    for (w = 0; (w < shpool_bitmap_words(view)) && (walk.broken == 0); w++) {
        walk.where  = shpool_bitmap_word_at(view, w);
        walk.broken = shpool_bitmap_wrong(view, w, simt_atomic_load(walk.where, SIMT_RELAXED));
    }
    walk.where = (walk.broken != 0) ? walk.where : 0u;
    return walk;
}

/* Claims are short: this waits until it has seen none, or found that one never ends. */
SIMT_FN shpool_walk shpool_bitmap_guard(shpool_view view)
{
    shpool_walk walk  = shpool_bitmap_outline(view);
    uint32_t    words = (walk.broken == 0) ? shpool_bitmap_words(view) : 0u;
    uint32_t    bits  = ~0u; /* first all of the pending count, then a bit of each pair */
    simt_addr   a     = view.base;
    uint32_t    w;

    for (w = 0; (w <= words) && (words != 0); w += 2u) {
        if (shpool_is_stuck(view, a, bits, view.base)) {
            walk.broken = 4;
            walk.where  = a;
            return walk;
        }
        a    = shpool_bitmap_word_at(view, w);
        bits = SHPOOL_BITMAP_CLAIMED;
    }
    return walk;
}

SIMT_FN shpool_walk shpool_bitmap_walk(shpool_view view)
{
    shpool_walk walk   = shpool_bitmap_outline(view);
    uint32_t    before = 0; /* whether the previous granule is used */
    uint32_t    more   = 0; /* whether the previous word says that its last run continues */
    uint32_t    g;

    for (g = 0; (g < view.word[0]) && (walk.broken == 0); g++) {
        uint32_t w    = shpool_bitmap_word_of(g);
        uint32_t word = simt_atomic_load(shpool_bitmap_word_at(view, w), SIMT_RELAXED);
        uint32_t both = shpool_bitmap_both(word, g - SHPOOL_BITMAP_SPAN * w);

        if ((word & SHPOOL_BITMAP_CLAIMED) != 0) {
            walk.broken = 4;
        } else if (both == 0x10000u) {
            walk.broken = 2;
        } else if ((both == 1u) && (before == 0)) {
            walk.broken = 1;
        } else if ((g == SHPOOL_BITMAP_SPAN * w) && ((both == 1u) != more)) {
            walk.broken = 5;
        } else if (both != 0) {
            walk.live += both >> 16;
            walk.used += 16u;
        }
        walk.where = (walk.broken != 0) ? shpool_bitmap_payload(view, g) : 0u;
        before = both & 1u;
        more   = (word & SHPOOL_BITMAP_MORE) != 0;
    }
    if ((walk.broken == 0) && (view.word[0] != 0) &&
        (simt_atomic_load(view.base, SIMT_RELAXED) != 0)) {
        walk.broken = 4;
        walk.where  = view.base;
    }
    return walk;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_WALK_H */
