/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's usual malloc: a run of up to 16 granules at home or near it, by a fixed number of tries.
 * bitmap.h explains the terms, and why there is no loop. */
#ifndef SHPOOL_ALLOCATORS_BITMAP_NEAR_H
#define SHPOOL_ALLOCATORS_BITMAP_NEAR_H

#include <shpool/allocators/bitmap/bitmap_runs.h>

/* Where a thread tries first.  Each warp has words of its own, its lanes' homes are in different
 * banks; where it has too few, a multiplicative hash spreads them (Knuth, TAOCP 3, 6.4). */
typedef struct shpool_bitmap_place {
    uint32_t home;      /* word */
    uint32_t from, end; /* its neighbourhood: the warp's words, or all; even */
} shpool_bitmap_place;

SIMT_FN shpool_bitmap_place shpool_bitmap_where(shpool_view view)
{
    uint32_t            words = shpool_bitmap_words(view);
    uint32_t            warps = (simt_block_threads() - 1u) / SIMT_WARP; /* less 1 */
    uint32_t            own   = (words >> (32u - simt_clz(warps))) & ~1u;
    uint32_t            lane  = view.rank % SIMT_WARP;
    uint32_t            from  = (view.rank / SIMT_WARP) * own;
    uint32_t            tiny  = own < 8u; /* all threads share all words */
    uint32_t            odd   = (own >= 3u * SIMT_WARP) ? (own / SIMT_WARP - 1u) | 1u : 1u;
    uint32_t            hash  = simt_mulhi((tiny ? view.rank : lane) * 2654435769u,
                                           tiny ? words : own);
    shpool_bitmap_place at;

    /* no branch: a caller's loop then keeps the result */
    at.from = tiny ? 0u : from;
    at.end  = tiny ? words : from + own;
    at.home = at.from + ((own < SIMT_WARP) ? hash : lane * odd);
    return at;
}

/* Even words fill from below and odd ones from above, so that what is free in a pair lies together:
 * shpool_run_pick()'s `high`. */
SIMT_FN uint32_t shpool_bitmap_high(shpool_bitmap_place at)
{
    return 0u - (at.home & 1u);
}

/* Claim `need` granules (1..11) in word w; 0 if there is no room, or others came first. */
SIMT_FN simt_addr shpool_bitmap_take(shpool_view view, uint32_t w, uint32_t need, uint32_t high)
{
    simt_addr a    = shpool_bitmap_word_at(view, w);
    uint32_t  seen = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t  fit  = shpool_run_starts(shpool_bitmap_unused(seen), need, 16u);
    uint32_t  i;
    uint32_t  run;

    if (fit == 0) {
        return 0;
    }
    i   = shpool_run_pick(fit, high);
    run = (simt_mask(0, need) | (1u << SHPOOL_BITMAP_STARTS)) << i;
    /* acquire: pairs with the release in shpool_bitmap_clear, _give and _free_long */
    return (simt_atomic_cas(a, seen, seen + run, SIMT_ACQUIRE) == seen)
               ? shpool_bitmap_payload(view, SHPOOL_BITMAP_SPAN * w + i) : 0u;
}

/* As shpool_bitmap_claim, for a run that crosses from the word at a, which held `low`, to the one
 * behind it, which held `next`; orders as there. */
SIMT_FN uint32_t shpool_bitmap_cross(shpool_view view, simt_addr a, uint32_t low, uint32_t set_low,
                                     uint32_t next, uint32_t set_next)
{
    uint32_t got;

    set_low |= SHPOOL_BITMAP_MORE;
    shpool_bitmap_claiming(view);
    got = (simt_atomic_cas(a, low, low | set_low, SIMT_ACQ_REL) == low);
    if (!got) {
        shpool_bitmap_claimed(view, 0);
        return 0;
    }
    got = (simt_atomic_cas(a + 4u, next, next | set_next, SIMT_ACQ_REL) == next);
    if (!got) {
        (void)simt_atomic_and(a, ~set_low, SIMT_RELEASE);
    }
    shpool_bitmap_claimed(view, !got);
    return got;
}

/* Starts of runs of `need` granules (1..16) in a pair of words, also across. */
SIMT_FN uint32_t shpool_bitmap_pair(uint32_t low, uint32_t next, uint32_t need)
{
    return shpool_run_starts(shpool_bitmap_unused(low) |
                             (shpool_bitmap_unused(next) << SHPOOL_BITMAP_SPAN), need, 16u);
}

/* Claim `need` granules (1..16) in words w and w + 1, also across; 0 as above. */
SIMT_FN simt_addr shpool_bitmap_take_pair(shpool_view view, uint32_t w, uint32_t need,
                                          uint32_t high)
{
    simt_addr a    = shpool_bitmap_word_at(view, w);
    uint32_t  low  = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t  next = simt_atomic_load(a + 4u, SIMT_RELAXED);
    uint32_t  fit  = shpool_bitmap_pair(low, next, need);
    uint32_t  i;
    uint32_t  run;
    uint32_t  set_low;
    uint32_t  set_next;
    uint32_t  got;

    if (fit == 0) {
        return 0;
    }
    i        = shpool_run_pick(fit, high);
    run      = simt_mask(i, need);
    set_low  = (run & SHPOOL_BITMAP_USED) | (1u << SHPOOL_BITMAP_STARTS << i);
    set_next = run >> SHPOOL_BITMAP_SPAN;
    if (i >= SHPOOL_BITMAP_SPAN) {
        set_low = 0;
        set_next |= 1u << SHPOOL_BITMAP_STARTS << (i - SHPOOL_BITMAP_SPAN);
    }
    if ((set_low == 0) || (set_next == 0)) {
        uint32_t seen = (set_low != 0) ? low : next;

        a += (set_low != 0) ? 0u : 4u;
        /* acquire: as in shpool_bitmap_take */
        got = (simt_atomic_cas(a, seen, seen | set_low | set_next, SIMT_ACQUIRE) == seen);
    } else {
        got = shpool_bitmap_cross(view, a, low, set_low, next, set_next);
    }
    return got ? shpool_bitmap_payload(view, SHPOOL_BITMAP_SPAN * w + i) : 0u;
}

/* The same in the first of four pairs that has room, from word w on.  It is read again there: while
 * four are looked at, one changes too easily. */
SIMT_FN simt_addr shpool_bitmap_take_near(shpool_view view, uint32_t w, uint32_t need,
                                          uint32_t high)
{
    uint32_t best = 8u;
    uint32_t k;

    SIMT_UNROLLED
    for (k = 8u; k > 0; k -= 2u) { /* backwards, so that the first one stays */
        simt_addr a = shpool_bitmap_word_at(view, w + k - 2u);

        best = (shpool_bitmap_pair(simt_atomic_load(a, SIMT_RELAXED),
                                   simt_atomic_load(a + 4u, SIMT_RELAXED), need) != 0) ? k - 2u
                                                                                       : best;
    }
    return (best < 8u) ? shpool_bitmap_take_pair(view, w + best, need, high) : 0u;
}

/* Four pairs further on in the neighbourhood. */
SIMT_FN uint32_t shpool_bitmap_next(shpool_bitmap_place at, uint32_t w, uint32_t step)
{
    return (w + step + 8u <= at.end) ? w + step : at.from;
}

/* Try the neighbourhood; 0 if it has no room.  A fixed number of tries, no loop (bitmap.h says
 * why): where a third of a pool is in use one malloc in a million gets past them. */
SIMT_FN simt_addr shpool_bitmap_take_around(shpool_view view, shpool_bitmap_place at,
                                            uint32_t need)
{
    uint32_t  high = shpool_bitmap_high(at);
    uint32_t  w    = at.home & ~1u;
    simt_addr addr = shpool_bitmap_take_pair(view, w, need, high);

    if ((addr != 0) || (at.end - at.from < 8u)) {
        return addr;
    }
    w    = shpool_bitmap_next(at, w, (high != 0) ? 10u : 2u); /* neighbours part */
    addr = shpool_bitmap_take_near(view, w, need, high);
    if (addr != 0) {
        return addr;
    }
    w    = shpool_bitmap_next(at, w, 8u);
    addr = shpool_bitmap_take_near(view, w, need, high);
    if (addr != 0) {
        return addr;
    }
    w    = shpool_bitmap_next(at, w, 8u);
    addr = shpool_bitmap_take_near(view, w, need, high);
    if (addr != 0) {
        return addr;
    }
    /* the last words of the pool: where words do not divide among warps they are nobody's */
    return shpool_bitmap_take_near(view, shpool_bitmap_words(view) - 8u, need, high);
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_NEAR_H */
