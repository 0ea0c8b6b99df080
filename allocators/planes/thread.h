/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: what one thread calls; planes.h has the terms. */
#ifndef SHPOOL_ALLOCATORS_PLANES_THREAD_H
#define SHPOOL_ALLOCATORS_PLANES_THREAD_H

#include <shpool/allocators/planes/runs.h>

/* ---- malloc ---- */

/* Claim `need` granules in the thread's home; 0 if that fails, or they never fit there.  A claim in
 * vain shows what others have claimed meanwhile: the second look uses that. */
SIMT_FN simt_addr shpool_planes_malloc_home(shpool_view view, uint32_t need, uint32_t alignment)
{
    uint32_t        high;
    uint32_t        half  = shpool_planes_home(view, &high);
    uint32_t        shift = (half << 4) & 16u;
    const simt_addr a     = shpool_planes_used(view.base, half >> 1);
    simt_addr       tags  = shpool_planes_tags(view.base, view.word[0], half);
    uint32_t        used;
    uint32_t        fit;
    uint32_t        i;
    uint32_t        look;

    if ((need <= SHPOOL_PLANES_HALF) && (view.word[0] != 0) && (alignment <= 16u)) {
        used = simt_peek(a);
        SIMT_UNROLLED
        for (look = 0; look < SHPOOL_PLANES_LOOKS; look++) {
            fit = shpool_run_starts(~(used >> shift) & 0xffffu, need, SHPOOL_PLANES_HALF);
            i   = shpool_run_pick(fit, 0u - high);
            if (fit != 0) {
                used = shpool_planes_take_half(a, shift, tags, i, need);
                if ((used & simt_mask(i + shift, need)) == 0) {
                    return shpool_planes_payload(view, 16u * half + i);
                }
            } else { /* the other half of the word */
                half ^= 1u;
                shift ^= 16u;
                tags ^= 4u;
            }
        }
    }
    return 0;
}

/* Where a word seems to have `need` granules (1..SMALL) free, from the four words of `quad` on,
 * around the pool; NOWHERE if none has.  Within one half if possible, at the end that the lane
 * prefers.  It only peeks. */
SIMT_FN uint32_t shpool_planes_seek(simt_addr base, uint32_t granules, uint32_t quad,
                                    uint32_t need, uint32_t rank)
{
    const uint32_t quads = shpool_planes_words_of(granules) / 4u;
    const uint32_t half  = simt_mask(0, SHPOOL_PLANES_HALF + 1u - need) * 0x10001u;
    uint32_t       left  = quads;
    uint32_t       fit   = 0;
    uint32_t       w     = 0;
    simt_u128      used;

    quad = (quad < quads) ? quad : 0u;
    SIMT_ROLLED
    do {
        used = simt_peek_quad(shpool_planes_used(base, 4u * quad));
        w    = 4u * quad;
        quad = (quad + 1u < quads) ? quad + 1u : 0u;
        left--;
        if ((used.x & used.y & used.z & used.w) != 0xffffffffu) {
            need   = simt_pin(need); /* what follows from it would take five registers */
            used.x = shpool_run_starts(~used.x, need, SHPOOL_PLANES_SMALL);
            used.y = shpool_run_starts(~used.y, need, SHPOOL_PLANES_SMALL);
            used.z = shpool_run_starts(~used.z, need, SHPOOL_PLANES_SMALL);
            used.w = shpool_run_starts(~used.w, need, SHPOOL_PLANES_SMALL);
            fit    = used.x | used.y | used.z | used.w;
        }
    } while ((fit == 0) && (left != 0));
    if (fit == 0) {
        return SHPOOL_PLANES_NOWHERE;
    }
    /* the lane's own word of the quad, or the first one after it */
    fit = ((used.x != 0) ? 1u : 0u) | ((used.y != 0) ? 2u : 0u) | ((used.z != 0) ? 4u : 0u) |
          ((used.w != 0) ? 8u : 0u);
    fit |= fit << 4;
    left = (simt_ffs(fit & (0xffffffffu << (rank & 3u))) - 1u) & 3u;
    fit  = (left == 0) ? used.x : (left == 1u) ? used.y : (left == 2u) ? used.z : used.w;
    fit  = ((fit & half) != 0) ? fit & half : fit;
    return 32u * (w + left) + shpool_run_pick(fit, 0u - ((rank >> 2) & 1u));
}

/* Any request, exactly: from word w on, then everything. */
SIMT_FN simt_addr shpool_planes_malloc_far(simt_addr base, uint32_t granules, uint32_t w,
                                           uint32_t need, uint32_t below)
{
    const shpool_planes_wish wish = {need, below};
    shpool_planes_vain       vain;

    if (need > granules) {
        return 0; /* the empty pool has no granules */
    }
    vain = shpool_planes_begin(base);
    for (;;) {
        uint32_t first = vain.spot;

        granules = simt_load32(base + 4u);
        if (first != SHPOOL_PLANES_NOWHERE) { /* of the proof */
            vain.spot = SHPOOL_PLANES_NOWHERE;
        } else if ((need <= SHPOOL_PLANES_SMALL) && (below == 0)) {
            first = shpool_planes_seek(base, granules, w >> 2, need, w);
            w     = 0;
        } else {
            first = shpool_planes_find(base, granules, w, wish, 0, 0);
        }
        if (first != SHPOOL_PLANES_NOWHERE) {
            if (shpool_planes_claim(base, first, first + need, 2u)) {
                shpool_planes_tag(base, granules, first, first + need);
                return base + simt_load32(base + 8u) + (first << 4);
            }
            w = first >> 5; /* another thread was quicker, and made progress */
            if (need > SHPOOL_PLANES_SMALL) {
                shpool_planes_spread(base, granules, (need >> 5) + 1u);
            }
        } else if (w != 0) {
            w = 0;
        } else {
            shpool_planes_spread(base, granules, 0);
            if (shpool_planes_is_full(base, granules, wish, &vain, 0)) {
                return 0;
            }
        }
    }
}

/* A word near home that serves the request, which is small; 0 if that fails.  *spot_p: the place of
 * the last try; NOWHERE if no word has room. */
SIMT_FN simt_addr shpool_planes_malloc_around(shpool_view view, uint32_t need, uint32_t *spot_p)
{
    uint32_t spot = 16u * shpool_planes_home(view, spot_p);
    uint32_t turn;

    SIMT_ROLLED
    for (turn = 0; turn < SHPOOL_PLANES_TRIES; turn++) {
        spot = shpool_planes_seek(view.base, view.word[0], spot >> 7, need, view.rank + turn);
        if (spot == SHPOOL_PLANES_NOWHERE) {
            break;
        }
        if (shpool_planes_claim_word(shpool_planes_used(view.base, spot >> 5),
                                     simt_mask(spot & 31u, need))) {
            shpool_planes_tag_word(shpool_planes_tags(view.base, view.word[0], spot >> 5 << 1),
                                   simt_mask(spot & 31u, need));
            return view.base + simt_load32(view.base + 8u) + (spot << 4);
        }
    }
    *spot_p = spot;
    return 0;
}

/* Where home had no room, or other threads were quicker: near it, then anywhere.  A call: in the
 * caller's code it would cost 15 registers. */
SIMT_FN_NOINLINE simt_addr shpool_planes_malloc_away(simt_addr base, uint32_t granules,
                                                     uint32_t rank, uint32_t need,
                                                     uint32_t alignment)
{
    const shpool_view view = {base, 0, rank, 0, {granules, 0}, 0};
    simt_addr         addr = 0;
    uint32_t          spot;

    if (shpool_planes_is_small(granules, need, alignment)) {
        addr = shpool_planes_malloc_around(view, need, &spot);
    } else {
        spot = shpool_planes_place(base, rank) << 5;
    }
    /* NOWHERE is behind the last word: the search then begins with the first one */
    return (addr != 0) ? addr
                       : shpool_planes_malloc_far(base, granules, spot >> 5, need,
                                                  (alignment >> 4) - 1u);
}

SIMT_FN simt_addr shpool_planes_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                       uint32_t site)
{
    uint32_t        need = (bytes + 15u) >> 4;
    const simt_addr addr = shpool_planes_malloc_home(view, need, alignment);

    (void)site;
    if (addr != 0) {
        return addr;
    }
    need = simt_pin(need); /* what home does not need is computed after it */
    return shpool_planes_malloc_away(view.base, view.word[0], view.rank, need, alignment);
}

/* ---- free ---- */

/* Why a free of granule `first` is refused, which has no start bit.  (Its used bit may be that of
 * another thread's free.) */
SIMT_FN_NOINLINE uint32_t shpool_planes_refuse(simt_addr base, uint32_t granules, uint32_t first)
{
    uint32_t g = 0;

    SIMT_ROLLED
    while (g < first) {
        g = shpool_planes_next(base, granules, 0, g, first);
        if (g < first) {
            g = shpool_planes_next(base, granules, 16u, g, granules);
            if (g >= first) {
                return SHPOOL_FREE_INTERIOR;
            }
            g++;
        }
    }
    return SHPOOL_FREE_DOUBLE;
}

/* The rest of a free, of a run that ends in another half. */
SIMT_FN_NOINLINE void shpool_planes_free_long(simt_addr base, uint32_t granules, uint32_t first)
{
    shpool_planes_give(base, first,
                       shpool_planes_next(base, granules, 16u, first, granules - 1u) + 1u);
}

SIMT_FN uint32_t shpool_planes_free(shpool_view view, simt_addr addr, uint32_t site)
{
    const uint32_t first = shpool_planes_granule(view, addr);
    const uint32_t bit   = 1u << (first & 15u);
    uint32_t       tags;
    uint32_t       last;
    uint32_t       searching;

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    /* who clears the bit frees the run; it is free once its used bits are clear */
    tags = simt_atomic_and(shpool_planes_tags(view.base, view.word[0], first >> 4),
                           ~bit, SIMT_RELAXED);
    if ((tags & bit) == 0) {
        return shpool_planes_refuse(view.base, view.word[0], first);
    }
    last = (tags >> 16) & (0u - bit); /* the owner's: stable */
    if (last == 0) {
        shpool_planes_free_long(view.base, view.word[0], first);
        return SHPOOL_FREE_OK;
    }
    /* from bit up to the lowest of `last` */
    last = ((last ^ (last - 1u)) & (0u - bit)) << (first & 16u);
    simt_fence(); /* also pairs with that of prove */
    searching = simt_peek(view.base);
    /* release: as in clear */
    (void)simt_atomic_and(shpool_planes_used(view.base, first >> 5), ~last,
                          SIMT_FENCED);
    if (!SIMT_LIKELY(searching == 0)) {
        shpool_planes_release(view.base);
    }
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_planes_owns(shpool_view view, simt_addr addr)
{
    const uint32_t first = shpool_planes_granule(view, addr);
    uint32_t       tags;

    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    tags = simt_peek(shpool_planes_tags(view.base, view.word[0], first >> 4));
    return ((tags >> (first & 15u)) & 1u) ? (uint32_t)SHPOOL_FREE_OK
                                          : shpool_planes_refuse(view.base, view.word[0], first);
}

/* ---- the rest ---- */

/* Granules of the allocation that starts at addr; 0 if none does. */
SIMT_FN uint32_t shpool_planes_size(shpool_view view, simt_addr addr)
{
    const uint32_t first = shpool_planes_granule(view, addr);

    return (shpool_planes_owns(view, addr) == SHPOOL_FREE_OK)
               ? shpool_planes_next(view.base, view.word[0], 16u, first, view.word[0] - 1u) + 1u -
                     first
               : 0u;
}

SIMT_FN uint32_t shpool_planes_usable(shpool_view view, simt_addr addr)
{
    return shpool_planes_size(view, addr) << 4;
}

SIMT_FN uint32_t shpool_planes_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    const uint32_t first = shpool_planes_granule(view, addr);
    const uint32_t need  = (bytes + 15u) >> 4;
    const uint32_t have  = shpool_planes_size(view, addr);
    const uint32_t last  = first + ((need < have) ? need : have) - 1u;
    simt_addr      tags;

    if ((have == 0) || (need > view.word[0] - first)) {
        return 0;
    }
    tags = shpool_planes_tags(view.base, view.word[0], last >> 4);
    if (need > have) {
        if (!shpool_planes_claim(view.base, first + have, first + need, 2u)) {
            return 0;
        }
        shpool_planes_end(view.base, view.word[0], first + have, first + need);
        /* release: who does not see the former end sees the new one */
        (void)simt_atomic_and(tags, ~(0x10000u << (last & 15u)), SIMT_RELEASE);
    } else if (need < have) {
        (void)simt_atomic_or(tags, 0x10000u << (last & 15u), SIMT_RELAXED);
        shpool_planes_give(view.base, last + 1u, first + have);
    }
    return 1;
}

SIMT_FN uint32_t shpool_planes_largest(shpool_view view)
{
    uint32_t largest = 0;
    uint32_t g       = 0;

    while (g < view.word[0]) {
        const uint32_t start = shpool_planes_next(view.base, view.word[0], 0, g, view.word[0]);

        largest = (start - g > largest) ? start - g : largest;
        g = shpool_planes_next(view.base, view.word[0], 16u, start, view.word[0]) + 1u;
    }
    return largest << 4;
}

/* Checks only data that never changes: G, the offset, and the used bits from granule G on. */
SIMT_FN shpool_walk shpool_planes_guard(shpool_view view)
{
    const uint32_t words = shpool_planes_words_of(view.word[0]);
    shpool_walk    walk  = {0, 0, 0, 0};
    uint32_t       w;

    for (w = 0; (w < 2u) && (words != 0) && (walk.broken == 0); w++) {
        walk.where  = view.base + 4u + 4u * w;
        walk.broken = (simt_load32(walk.where) != view.word[w]) ? 5u : 0u;
    }
    for (w = view.word[0] >> 5; (w < words) && (walk.broken == 0); w++) {
        walk.where  = shpool_planes_used(view.base, w);
        walk.broken = ((simt_peek(walk.where) |
                        shpool_planes_bits(32u * w, 0, view.word[0])) != 0xffffffffu) ? 3u : 0u;
    }
    walk.where = (walk.broken != 0) ? walk.where : 0u;
    return walk;
}

SIMT_FN shpool_walk shpool_planes_walk(shpool_view view)
{
    const uint32_t halves = 2u * shpool_planes_words_of(view.word[0]);
    shpool_walk    walk   = shpool_planes_guard(view);
    uint32_t       in     = 0; /* whether a granule belongs to the allocation of the one before */
    uint32_t       g      = 0;

    while ((g < SHPOOL_PLANES_HALF * halves) && (walk.broken == 0)) {
        uint32_t used = simt_peek(shpool_planes_used(view.base, g >> 5)) >> (g & 16u);
        uint32_t tags = simt_peek(shpool_planes_tags(view.base, view.word[0], g >> 4));

        do {
            const uint32_t is    = used & 1u;
            const uint32_t start = tags & 1u;
            const uint32_t end   = (tags >> 16) & 1u;

            if (g >= view.word[0]) {
                walk.broken = in ? 4u : (!is || start || end) ? 3u : 0u;
            } else if (start && (in || !is)) {
                walk.broken = 2;
            } else if (is != (in || start)) {
                walk.broken = 1;
            } else {
                walk.live += start;
                walk.used += is ? 16u : 0u;
            }
            walk.where = (walk.broken != 0) ? shpool_planes_payload(view, g) : 0u;
            in = is && !end && (g < view.word[0]);
            used >>= 1;
            tags >>= 1;
            g++;
        } while (((g & (SHPOOL_PLANES_HALF - 1u)) != 0) && (walk.broken == 0));
    }
    if (in && (walk.broken == 0)) {
        walk.broken = 4;
        walk.where  = shpool_planes_payload(view, g - 1u);
    }
    return walk;
}

#endif /* SHPOOL_ALLOCATORS_PLANES_THREAD_H */
