/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: one pool for the whole block, no lock, metadata out of band, three bits a granule.
 *
 * Terms
 *   granule    16 bytes of payload, numbered 0..G-1; an allocation is a run of granules
 *   used       a bit a granule, 32 in a word: it is claimed.  A claim sets the bits of its run by
 *              an atomic OR, and owns it if none of them was set; else it clears those it has set
 *   tags       16 start bits, and above them 16 end bits: half a word's
 *   end        an owned run's last granule has a bit, its others have none.  Only a granule's owner
 *              changes its bit, so a free leaves them alone: elsewhere they mean nothing
 *   start      an allocation begins here.  Set last by malloc; a free begins by clearing it, and
 *              who clears it is the one that frees.  Where it is set, the run up to the next end
 *              bit is owned.  With the end bit in the same half, one addition sets both
 *   searching  number of threads that try to prove that a request fits nowhere
 *   releases   how often memory became free while somebody did
 *   proof      the last one: its number, modulo 65,536, and below it how many granules did not fit
 *   spread     number of words over which the searches of warps, and long ones of lanes, begin,
 *              less 1
 *
 * Pool:  searching | G | offset of granule 0 | spread | proof | releases | 2 unused |
 *        used, a word for 32 granules, whole quads | tags, 2 words for each | padding | G granules
 * (The view has G and the offset, too; slow searches read them here, to save registers.)  Words of
 * one kind side by side: 32 neighbours are in 32 banks, and one load reads four.
 *
 * When a malloc may fail: if its request did not fit at some instant.  Used bits do not prove that,
 * because a claim may undo them.  Tags do: a run that they show was owned at an instant of the
 * search, and if `releases` has not changed, it still is when the search ends.  For when a start
 * bit was read, the run from there to its end bit e was owned.  If the end bit that is read later
 * lies further up, e's bit was cleared meanwhile, by a later owner of e who had set one further up
 * before.  (Hence end bits are read after start bits, and an owner sets its own before it removes
 * former ones.)
 *   If frees void LONGEST + VOIDS proofs of a request, it is refused without one.
 *   A free counts only if somebody searches.  It may miss no search that saw its start bit.  The
 * search raises `searching`, and the free clears its start bit; then each has a fence, and then
 * reads what the other has written.  Fences have one order: if the free's comes first, the search
 * sees no start bit, else the free sees `searching` raised.  The free has that fence anyway: it
 * releases the payload.
 *
 * Convergence: ptxas inserts a YIELD, which splits a warp, into loops that atomics or ordered loads
 * decide, and at the entry of called functions with atomics.  In one lane it costs about 250 cycles
 * a turn.  So home is straight-line code, and long loops only peek, at four words in a turn.
 *
 * The idea of claiming by one atomic on a bitmap at a scattered start is that of ScatterAlloc
 * (Steinberger et al., InPar 2012) and Halloc (Adinetz and Pleiter, 2014).
 *
 * Invariants (the numbers that walk reports)
 *   1  a used granule belongs to an allocation
 *   2  a start bit has its used bit, and is not inside another allocation
 *   3  the used bits after granule G-1 are set, their tags are not
 *   4  an allocation ends before granule G
 *   5  G and the offset equal the view's */
#ifndef SHPOOL_ALLOCATORS_PLANES_H
#define SHPOOL_ALLOCATORS_PLANES_H

#include <shpool/allocators/planes/thread.h>

#define SHPOOL_GROUPS_planes ~, 1
#define SHPOOL_GUARDS_planes ~, 1
#define SHPOOL_CLEAN_planes  ~, 1 /* free memory holds nothing: module.h */
#define SHPOOL_PACKS_planes  ~, SHPOOL_PACKING(SHPOOL_PACK_ANY, 0u, 0u, 0u)

/* ---- malloc of lanes: all of them call all of these ---- */

/* The first of 32 words, one a lane: w, or at the pool's end a lower one. */
SIMT_FN uint32_t shpool_planes_window(uint32_t words, uint32_t w)
{
    const uint32_t most = (words > SIMT_WARP) ? words - SIMT_WARP : 0u;

    return (w < most) ? w : most;
}

/* Claim granules first..end-1, which are among the words of first's window, as an allocation, a
 * word in each lane.  1, or 0 with nothing changed.  Lanes without work change nothing by the same
 * atomics, each in another word: a branch would split the warp, and predicates cost more. */
SIMT_FN uint32_t shpool_planes_claim_warp(simt_addr base, uint32_t granules, uint32_t first,
                                          uint32_t end)
{
    const uint32_t  words = shpool_planes_words_of(granules);
    const uint32_t  w     = shpool_planes_window(words, first >> 5) + simt_lane();
    const uint32_t  in    = (w < words) ? w : words - 1u;
    const uint32_t  own   = shpool_planes_bits(32u * w, first, end);
    const uint32_t  last  = (w == (end - 1u) >> 5) ? 1u << ((end - 1u) & 31u) : 0u;
    const uint32_t  bit   = (w == first >> 5) ? 1u << (first & 15u) : 0u;
    const simt_addr a     = shpool_planes_used(base, in);
    const simt_addr tags  = shpool_planes_tags(base, granules, 2u * in);
    const uint32_t  old   = simt_atomic_or(a, own, SIMT_ACQUIRE); /* as in claim_word */
    uint32_t        low   = simt_peek(tags);
    uint32_t        high  = simt_peek(tags + 4u);
    const uint32_t  won   = simt_all(SIMT_ALL_LANES, (old & own) == 0) != 0;

    simt_warp_sync(SIMT_ALL_LANES); /* no lane uses the memory before all have claimed */
    if (!SIMT_LIKELY(won)) {
        (void)simt_atomic_and(a, ~own | old, SIMT_RELAXED); /* as in claim_word */
        simt_warp_sync(SIMT_ALL_LANES);
        return 0;
    }
    low  = shpool_planes_change(low, own & 0xffffu, last & 0xffffu, 0);
    high = shpool_planes_change(high, own >> 16, last >> 16, 0);
    (void)simt_atomic_add(tags, low, SIMT_RELAXED);
    (void)simt_atomic_add(tags + 4u, high, SIMT_RELAXED);
    simt_warp_sync(SIMT_ALL_LANES);
    /* release: as in tag */
    (void)simt_atomic_or(tags + ((first >> 2) & 4u), bit, SIMT_RELEASE);
    simt_warp_sync(SIMT_ALL_LANES); /* any lane may free it at once */
    return 1;
}

/* Claim in order, by the first lane: this progresses. */
SIMT_FN uint32_t shpool_planes_claim_led(simt_addr base, uint32_t granules, uint32_t first,
                                         uint32_t end)
{
    uint32_t won = 0;

    if (simt_lane() == 0) {
        won = shpool_planes_claim(base, first, end, 4u);
        if (won) {
            shpool_planes_tag(base, granules, first, end);
        }
    }
    simt_warp_sync(SIMT_ALL_LANES); /* orders the others after what the first lane acquired */
    return simt_shfl(SIMT_ALL_LANES, won, 0);
}

/* One look at the 32 words from w on, and a claim of the first fit there.  Returns the granule;
 * NOWHERE if there is none; LATE if other threads were quicker. */
SIMT_FN uint32_t shpool_planes_bid(simt_addr base, uint32_t granules, uint32_t w,
                                   shpool_planes_wish wish)
{
    const uint32_t words = shpool_planes_words_of(granules);
    const uint32_t mine  = w + simt_lane();
    const uint32_t used  = simt_peek(shpool_planes_used(base, (mine < words) ? mine : words - 1u));
    const uint32_t fit   = shpool_planes_fit_warp((mine < words) ? used : 0xffffffffu, 32u * mine,
                                                  32u * w, wish);
    const uint32_t hits  = simt_ballot(SIMT_ALL_LANES, fit != SHPOOL_PLANES_NOWHERE);
    uint32_t       first;

    if (!SIMT_LIKELY(hits != 0)) {
        return SHPOOL_PLANES_NOWHERE;
    }
    first = simt_shfl(SIMT_ALL_LANES, fit, simt_ffs(hits) - 1u);
    return shpool_planes_claim_warp(base, granules, first, first + wish.need)
               ? first : SHPOOL_PLANES_LATE;
}

/* Any request, exactly, as malloc_far.  late: claims that came too late.  tries: the request may
 * wait.  It then gives up soon and draws a ticket, lest newcomers overtake it. */
SIMT_FN_NOINLINE uint32_t shpool_planes_malloc_warp(simt_addr base, uint32_t granules,
                                                    uint32_t rank, uint32_t need, uint32_t below,
                                                    uint32_t late, uint32_t tries)
{
    const shpool_planes_wish wish = {need, below};
    shpool_planes_vain       vain;
    uint32_t                 w;

    if (need > granules) {
        return SHPOOL_PLANES_NOWHERE;
    }
    if (late && (simt_lane() == 0)) {
        shpool_planes_spread(base, granules, (need >> 5) + 1u);
    }
    vain = shpool_planes_begin(base);
    w    = simt_shfl(SIMT_ALL_LANES, shpool_planes_place(base, rank), 0);
    for (;;) {
        const uint32_t first = (vain.spot != SHPOOL_PLANES_NOWHERE)
                                   ? vain.spot
                                   : shpool_planes_find(base, granules, w, wish, 0, 1);

        vain.spot = SHPOOL_PLANES_NOWHERE;

        if (first != SHPOOL_PLANES_NOWHERE) {
            late++;
            if (((late < SHPOOL_PLANES_BIDS) && (need <= 31u * 32u))
                    ? shpool_planes_claim_warp(base, granules, first, first + need)
                    : shpool_planes_claim_led(base, granules, first, first + need)) {
                return first;
            }
            w = first >> 5;
        } else if (w != 0) {
            w = 0;
        } else {
            if (simt_lane() == 0) {
                shpool_planes_spread(base, granules, 0);
            }
            if (shpool_planes_is_full(base, granules, wish, &vain, 1) ||
                (tries && (vain.searches >= SHPOOL_PLANES_LONGEST))) {
                return SHPOOL_PLANES_NOWHERE;
            }
        }
    }
}

SIMT_FN simt_addr shpool_planes_malloc_group(shpool_view view, uint32_t bytes, uint32_t alignment,
                                             uint32_t site, uint32_t lanes)
{
    const shpool_planes_wish wish  = {(bytes + 15u) >> 4, (alignment >> 4) - 1u};
    const uint32_t           lead  = simt_ffs(lanes) - 1u;
    uint32_t                 first = SHPOOL_PLANES_NOWHERE;
    simt_addr                addr  = 0;

    if (!SIMT_LIKELY(lanes == SIMT_ALL_LANES)) { /* a smaller group: its first lane requests */
        if (simt_lane() == lead) {
            addr = shpool_planes_malloc(view, bytes, alignment, site);
        }
        simt_warp_sync(lanes); /* orders the others after what the first lane acquired */
        return simt_shfl(lanes, addr, lead);
    }
    if (SIMT_LIKELY(view.word[0] != 0)) {
        first = shpool_planes_bid(view.base, view.word[0],
                                  shpool_planes_place(view.base, view.rank), wish);
    }
    if (!SIMT_LIKELY(first < SHPOOL_PLANES_LATE)) {
        first = shpool_planes_malloc_warp(view.base, view.word[0], view.rank, wish.need,
                                          wish.below, first == SHPOOL_PLANES_LATE,
                                          site == SHPOOL_SITE_TRY);
    }
    return (first != SHPOOL_PLANES_NOWHERE) ? shpool_planes_payload(view, first) : 0u;
}

/* ---- free of lanes ---- */

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
    const uint32_t  was   = simt_atomic_and(tags + ((first >> 2) & 4u), ~bit, SIMT_RELAXED);
    const uint32_t  won   = simt_all(SIMT_ALL_LANES, (was & bit) == bit) != 0;
    const uint32_t  ends  = simt_ballot(SIMT_ALL_LANES, last != 0);
    uint32_t        own   = (last ^ (last - 1u)) & from; /* all of `from` if `last` is 0 */
    uint32_t        seen;

    if (!SIMT_LIKELY(won && (ends != 0))) {
        return shpool_planes_free_rest(view.base, view.word[0], first, won);
    }
    own = ((ends & simt_mask(0, lane)) == 0) ? own : 0u; /* else a lower lane has the end */
    simt_fence(); /* as in free */
    seen = simt_peek(view.base);
    (void)simt_atomic_and(shpool_planes_used(view.base, in), ~own, SIMT_FENCED);
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

#endif /* SHPOOL_ALLOCATORS_PLANES_H */
