/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's usual malloc: a run of up to 16 granules at home or near it, by a fixed number of tries.
 * bitmap.h explains the terms, and why only what peeks may loop. */
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

/* A spot: granule i of word w as 32 w + i; the lowest value that is none. */
#define SHPOOL_BITMAP_NOWHERE 0xffffffffu

/* Where words w and w + 1 seem to have `need` free granules (1..16), also across. */
SIMT_FN uint32_t shpool_bitmap_spot(simt_addr base, uint32_t w, uint32_t need, uint32_t high)
{
    simt_addr a   = base + SHPOOL_BITMAP_CONTROL + 4u * w;
    uint32_t  fit = shpool_bitmap_pair(simt_peek(a), simt_peek(a + 4u), need);
    uint32_t  i   = shpool_run_pick(fit, high);

    i += (i >= SHPOOL_BITMAP_SPAN) ? 32u - SHPOOL_BITMAP_SPAN : 0u;
    return (fit != 0) ? 32u * w + i : SHPOOL_BITMAP_NOWHERE;
}

/* The same for the neighbourhood, and then for all words.  Lanes and turns begin at different
 * words, so that those that met once meet less often; behind a full neighbourhood all go on alike.
 * A call, as it is long; it only peeks, so nothing parts the warp (bitmap.h). */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_seek(simt_addr base, uint32_t granules, uint32_t rank,
                                             uint32_t need, uint32_t turn)
{
    shpool_view         view = {base, 0, rank, 0, {granules, 0}, 0};
    shpool_bitmap_place at   = shpool_bitmap_where(view);
    uint32_t            high = shpool_bitmap_high(at) ^ (0u - (turn & 1u));
    uint32_t            w    = (at.home & ~1u) + ((high != 0) ? 10u : 2u) + ((rank >> turn) & 6u);
    uint32_t            left = (at.end - at.from) / 2u;
    uint32_t            spot = SHPOOL_BITMAP_NOWHERE;

    w = (w < at.end) ? w : at.from;
    SIMT_ROLLED
    for (; (left != 0) && (spot == SHPOOL_BITMAP_NOWHERE); left--) {
        spot = shpool_bitmap_spot(base, w, need, high);
        w    = (w + 2u < at.end) ? w + 2u : at.from;
    }
    at.end = shpool_bitmap_words(view);
    left   = at.end / 2u;
    SIMT_ROLLED
    for (; (left != 0) && (spot == SHPOOL_BITMAP_NOWHERE); left--) {
        w    = (w + 2u < at.end) ? w + 2u : 0u;
        spot = shpool_bitmap_spot(base, w, need, high);
    }
    return spot;
}

/* Claim `need` granules (1..16) at a spot; 0 if they are not free any more. */
SIMT_FN simt_addr shpool_bitmap_take_at(shpool_view view, uint32_t spot, uint32_t need)
{
    uint32_t  w        = spot / 32u;
    uint32_t  i        = spot % 32u;
    simt_addr a        = shpool_bitmap_word_at(view, w);
    uint32_t  run      = simt_mask(i, need);
    uint32_t  set      = run & SHPOOL_BITMAP_USED;
    uint32_t  set_next = run >> SHPOOL_BITMAP_SPAN;
    uint32_t  seen     = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t  next;
    uint32_t  got;

    if ((shpool_bitmap_unused(seen) & set) != set) {
        return 0;
    }
    set |= 1u << SHPOOL_BITMAP_STARTS << i;
    if (set_next == 0) {
        /* acquire: as in shpool_bitmap_take */
        got = (simt_atomic_cas(a, seen, seen | set, SIMT_ACQUIRE) == seen);
    } else {
        next = simt_atomic_load(a + 4u, SIMT_RELAXED);
        if ((shpool_bitmap_unused(next) & set_next) != set_next) {
            return 0;
        }
        got = shpool_bitmap_cross(view, a, seen, set, next, set_next);
    }
    return got ? shpool_bitmap_payload(view, SHPOOL_BITMAP_SPAN * w + i) : 0u;
}

/* Try home and the word beside it, then where there seems to be room; 0 if there was none, or
 * others were always quicker.  A fixed number of tries (bitmap.h says why): of 67 million mallocs
 * in the benchmark's `mixed` at most four got past six. */
SIMT_FN simt_addr shpool_bitmap_take_around(shpool_view view, shpool_bitmap_place at,
                                            uint32_t need)
{
    uint32_t  spot = shpool_bitmap_spot(view.base, at.home & ~1u, need, shpool_bitmap_high(at));
    simt_addr addr = (spot != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_take_at(view, spot, need) : 0u;
    uint32_t  turn;

    if (addr != 0) {
        return addr;
    }
    SIMT_UNROLLED
    for (turn = 0; turn < 6u; turn++) {
        spot = shpool_bitmap_seek(view.base, view.word[0], view.rank, need, turn);
        if (spot == SHPOOL_BITMAP_NOWHERE) {
            return 0;
        }
        addr = shpool_bitmap_take_at(view, spot, need);
        if (addr != 0) {
            return addr;
        }
    }
    return 0;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_NEAR_H */
