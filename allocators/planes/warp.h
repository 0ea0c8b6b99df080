/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: what lanes of a warp call together; part of planes.h. */
#ifndef SHPOOL_ALLOCATORS_PLANES_WARP_H
#define SHPOOL_ALLOCATORS_PLANES_WARP_H

#include <shpool/allocators/planes/planes.h>

/* The first of 32 words, one a lane: w, or at the pool's end a lower one. */
SIMT_FN uint32_t shpool_planes_window(uint32_t words, uint32_t w)
{
    const uint32_t most = (words > SIMT_WARP) ? words - SIMT_WARP : 0u;

    return (w < most) ? w : most;
}

/* ---- malloc: all lanes call all of these ---- */

/* Claim granules first..end-1, which are among the words of first's window, as an allocation, a
 * word in each lane.  1, or 0 with nothing changed.  Lanes without work change nothing by the same
 * atomics, each in another word: a branch would split the warp. */
SIMT_FN uint32_t shpool_planes_claim_warp(simt_addr base, uint32_t granules, uint32_t first,
                                          uint32_t end)
{
    const uint32_t  words = shpool_planes_words_of(granules);
    const uint32_t  w     = shpool_planes_window(words, first >> 5) + simt_lane();
    const uint32_t  in    = (w < words) ? w : words - 1u;
    const uint32_t  own   = shpool_planes_bits(32u * w, first, end);
    const uint32_t  last  = own & shpool_planes_bits(32u * w, end - 1u, end);
    const uint32_t  bit   = own & shpool_planes_bits(32u * w, first, first + 1u);
    const simt_addr a     = shpool_planes_used(base, in);
    const simt_addr tags  = shpool_planes_tags(base, granules, 2u * in);
    const uint32_t  old   = simt_atomic_or(a, own, SIMT_ACQUIRE); /* as in claim_word */
    const uint32_t  low   = simt_peek(tags);
    const uint32_t  high  = simt_peek(tags + 4u);
    const uint32_t  won   = simt_all(SIMT_ALL_LANES, (old & own) == 0) != 0;

    simt_warp_sync(SIMT_ALL_LANES); /* no lane uses the memory before all have claimed */
    if (!SIMT_LIKELY(won)) {
        (void)simt_atomic_and(a, ~own | old, SIMT_RELAXED); /* relaxed: as in claim_word */
        simt_warp_sync(SIMT_ALL_LANES);
        return 0;
    }
    (void)simt_atomic_add(tags, shpool_planes_change(low, own & 0xffffu, last & 0xffffu, 0),
                          SIMT_RELAXED);
    (void)simt_atomic_add(tags + 4u, shpool_planes_change(high, own >> 16, last >> 16, 0),
                          SIMT_RELAXED);
    simt_warp_sync(SIMT_ALL_LANES);
    /* release: as in tag */
    (void)simt_atomic_or(tags + ((first >> 2) & 4u), (bit | (bit >> 16)) & 0xffffu,
                         SIMT_RELEASE);
    simt_warp_sync(SIMT_ALL_LANES); /* any lane may free it at once */
    return 1;
}

/* Claim in order, by the first lane: this progresses. */
SIMT_FN uint32_t shpool_planes_claim_led(simt_addr base, uint32_t granules, uint32_t first,
                                         uint32_t end)
{
    uint32_t won = 0;

    if (simt_lane() == 0) {
        won = shpool_planes_claim(base, first, end);
        if (won) {
            shpool_planes_tag(base, granules, first, end);
        }
    }
    simt_warp_sync(SIMT_ALL_LANES); /* orders the others after what the first lane acquired */
    return simt_shfl(SIMT_ALL_LANES, won, 0);
}

/* The word at which the caller's warp begins.  The reversed bits of the warps' numbers divide the
 * spread in halves, quarters ... */
SIMT_FN uint32_t shpool_planes_begin_warp(simt_addr base, uint32_t rank)
{
    const uint32_t spread = simt_shfl(SIMT_ALL_LANES, simt_peek(base + SHPOOL_PLANES_SPREAD),
                                      0);

    return simt_mulhi(simt_reverse(rank / SIMT_WARP), spread + 1u);
}

/* Warps that need the same words spread further; after a search in vain they come closer together,
 * lest what they hold all over the pool leaves no long runs. */
SIMT_FN void shpool_planes_spread(simt_addr base, uint32_t granules, uint32_t more)
{
    if (simt_lane() == 0) {
        const simt_addr a      = base + SHPOOL_PLANES_SPREAD;
        const uint32_t  spread = simt_peek(a);
        const uint32_t  most   = (granules - 1u) >> 5;
        const uint32_t  wide   = (more != 0) ? spread + more
                                             : spread - spread / SHPOOL_PLANES_GATHER;

        simt_atomic_store(a, (wide < most) ? wide : most, SIMT_RELAXED); /* a hint */
    }
    simt_warp_sync(SIMT_ALL_LANES);
}

/* One look at the window of word w, and a claim of the first fit there from w on, else of the first
 * one.  Returns the granule; NOWHERE if there is none; LATE if other threads were quicker. */
SIMT_FN uint32_t shpool_planes_bid(simt_addr base, uint32_t granules, uint32_t w,
                                   shpool_planes_wish wish)
{
    const uint32_t words = shpool_planes_words_of(granules);
    const uint32_t from  = shpool_planes_window(words, w);
    const uint32_t mine  = from + simt_lane();
    uint32_t       run   = 32u * from;
    const uint32_t used  = simt_peek(shpool_planes_used(base, (mine < words) ? mine : from));
    const uint32_t fit   = shpool_planes_fit_warp((mine < words) ? used : 0xffffffffu, 32u * mine,
                                                  wish, &run);
    const uint32_t hits  = simt_ballot(SIMT_ALL_LANES, fit != SHPOOL_PLANES_NOWHERE);
    const uint32_t high  = hits & ~simt_mask(0, w - from);
    uint32_t       first;

    if (!SIMT_LIKELY(hits != 0)) {
        return SHPOOL_PLANES_NOWHERE;
    }
    first = simt_shfl(SIMT_ALL_LANES, fit, simt_ffs((high != 0) ? high : hits) - 1u);
    return shpool_planes_claim_warp(base, granules, first, first + wish.need)
               ? first : SHPOOL_PLANES_LATE;
}

/* Any request, exactly, as malloc_far.  late: claims that came too late. */
SIMT_FN_NOINLINE uint32_t shpool_planes_malloc_warp(simt_addr base, uint32_t granules,
                                                    uint32_t rank, uint32_t need, uint32_t below,
                                                    uint32_t late)
{
    const shpool_planes_wish wish = {need, below};
    shpool_planes_vain       vain;
    uint32_t                 w;

    if (need > granules) {
        return SHPOOL_PLANES_NOWHERE;
    }
    if (late) {
        shpool_planes_spread(base, granules, (need >> 5) + 1u);
    }
    vain = shpool_planes_begin(base);
    w    = shpool_planes_begin_warp(base, rank);
    for (;;) {
        const uint32_t first = shpool_planes_find(base, granules, w, wish, 0, 1);

        if (first != SHPOOL_PLANES_NOWHERE) {
            late++;
            if (((late < SHPOOL_PLANES_TRIES) && (need <= 31u * 32u))
                    ? shpool_planes_claim_warp(base, granules, first, first + need)
                    : shpool_planes_claim_led(base, granules, first, first + need)) {
                return first;
            }
            w = first >> 5;
        } else if (w != 0) {
            w = 0;
        } else {
            shpool_planes_spread(base, granules, 0);
            if (shpool_planes_is_full(base, granules, wish, &vain, 1)) {
                return SHPOOL_PLANES_NOWHERE;
            }
        }
    }
}

/* A call for the first lane of a smaller group: whole warps would save more registers. */
SIMT_FN_NOINLINE simt_addr shpool_planes_malloc_lead(simt_addr base, uint32_t granules,
                                                     uint32_t rank, uint32_t need,
                                                     uint32_t alignment)
{
    return shpool_planes_malloc_away(base, granules, rank, need, alignment);
}

SIMT_FN simt_addr shpool_planes_malloc_group(shpool_view view, uint32_t bytes, uint32_t alignment,
                                             uint32_t site, uint32_t lanes)
{
    const shpool_planes_wish wish  = {(bytes + 15u) >> 4, (alignment >> 4) - 1u};
    const uint32_t           lead  = simt_ffs(lanes) - 1u;
    uint32_t                 first = SHPOOL_PLANES_NOWHERE;
    simt_addr                addr  = 0;

    (void)site;
    if (!SIMT_LIKELY(lanes == SIMT_ALL_LANES)) { /* a smaller group: its first lane requests */
        if (simt_lane() == lead) {
            addr = shpool_planes_malloc_home(view, wish.need, alignment);
            addr = (addr != 0) ? addr
                               : shpool_planes_malloc_lead(view.base, view.word[0], view.rank,
                                                           wish.need, alignment);
        }
        simt_warp_sync(lanes); /* orders the others after what the first lane acquired */
        return simt_shfl(lanes, addr, lead);
    }
    if (SIMT_LIKELY(view.word[0] != 0)) {
        first = shpool_planes_bid(view.base, view.word[0],
                                  shpool_planes_begin_warp(view.base, view.rank), wish);
    }
    if (!SIMT_LIKELY(first < SHPOOL_PLANES_LATE)) {
        first = shpool_planes_malloc_warp(view.base, view.word[0], view.rank, wish.need,
                                          wish.below, first == SHPOOL_PLANES_LATE);
    }
    return (first != SHPOOL_PLANES_NOWHERE) ? shpool_planes_payload(view, first) : 0u;
}

/* ---- free ---- */

/* The rest of a free of a warp that was refused, or of a run that ends after its window. */
SIMT_FN_NOINLINE uint32_t shpool_planes_free_rest(simt_addr base, uint32_t granules,
                                                  uint32_t first, uint32_t won)
{
    uint32_t reason = SHPOOL_FREE_OK;

    if (simt_lane() == 0) {
        if (won) {
            shpool_planes_free_long(base, granules, first);
        } else {
            reason = shpool_planes_refuse(base, granules, first);
        }
    }
    simt_warp_sync(SIMT_ALL_LANES);
    return reason;
}

SIMT_FN uint32_t shpool_planes_free_warp(shpool_view view, uint32_t first)
{
    const uint32_t  words = shpool_planes_words_of(view.word[0]);
    const uint32_t  lane  = simt_lane();
    const uint32_t  w     = shpool_planes_window(words, first >> 5) + lane;
    const uint32_t  in    = (w < words) ? w : words - 1u;
    const simt_addr tags  = shpool_planes_tags(view.base, view.word[0], 2u * in);
    const uint32_t  from  = shpool_planes_bits(32u * w, first, view.word[0]);
    const uint32_t  bit   = (w == first >> 5) ? 1u << (first & 15u) : 0u;
    const uint32_t  last  = shpool_planes_ends(simt_peek(tags), simt_peek(tags + 4u)) &
                            from; /* the owner's: stable */
    /* acquire: as in free */
    const uint32_t  was   = simt_atomic_and(tags + ((first >> 2) & 4u), ~bit, SIMT_ACQUIRE);
    const uint32_t  seen  = simt_peek(view.base);
    const uint32_t  won   = simt_all(SIMT_ALL_LANES, (was & bit) == bit) != 0;
    const uint32_t  ends  = simt_ballot(SIMT_ALL_LANES, last != 0);
    uint32_t        own   = (last ^ (last - 1u)) & from; /* all of `from` if `last` is 0 */

    if (!SIMT_LIKELY(won && (ends != 0))) {
        return shpool_planes_free_rest(view.base, view.word[0], first, won);
    }
    own = ((ends & simt_mask(0, lane)) == 0) ? own : 0u; /* else a lower lane has the end */
    (void)simt_atomic_and(shpool_planes_used(view.base, in), ~own, SIMT_RELEASE);
    simt_warp_sync(SIMT_ALL_LANES); /* every word is clear */
    if ((lane == (first >> 5) - (w - lane)) && (seen != 0)) { /* the lane that cleared the bit */
        shpool_planes_release(view.base);
    }
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_planes_free_group(shpool_view view, simt_addr addr, uint32_t site,
                                          uint32_t lanes)
{
    const uint32_t first  = shpool_planes_granule(view, addr);
    uint32_t       reason = SHPOOL_FREE_OK;

    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    if (SIMT_LIKELY(lanes == SIMT_ALL_LANES)) {
        return shpool_planes_free_warp(view, first);
    }
    if (simt_lane() == simt_ffs(lanes) - 1u) {
        reason = shpool_planes_free(view, addr, site);
    }
    simt_warp_sync(lanes); /* it is free when any of them returns */
    return reason;
}

#endif /* SHPOOL_ALLOCATORS_PLANES_WARP_H */
