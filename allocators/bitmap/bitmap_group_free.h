/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's free for warps: the first lane ends the allocation's ownership, as in bitmap.h; then
 * each lane clears one word.  bitmap_group.h explains the rest. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_GROUP_FREE_H
#define SHPOOL_ALLOCATORS_BITMAP_GROUP_FREE_H

/* Each lane clears its word, at a, of an allocation that the group has taken.  own: the granule
 * that the group has taken it by, in the first lane's word.  taken: 0 if it has not; then nothing
 * is cleared.  1: it has more words. */
SIMT_FN uint32_t shpool_bitmap_clear_word(simt_addr a, uint32_t own, uint32_t taken)
{
    /* relaxed: as for the length */
    const uint32_t word = simt_atomic_load(a, SIMT_RELAXED);
    const uint32_t in   = (word & ~(word >> SHPOOL_BITMAP_STARTS) & SHPOOL_BITMAP_USED) | own;
    /* an addition carries through the ones of a run: from its first granule here */
    const uint32_t run  = in & ~(in + ((own > 1u) ? own : 1u));
    const uint32_t more = shpool_bitmap_goes_on(word, run);
    const uint32_t ends = simt_ballot(SIMT_ALL_LANES, more == 0);
    uint32_t       clear = run | (own << SHPOOL_BITMAP_STARTS) | (more ? SHPOOL_BITMAP_MORE : 0u);

    clear = (((ends & simt_mask(0, simt_lane())) == 0) && taken) ? clear : 0u;
    (void)simt_atomic_and(a, ~clear, SIMT_RELEASE); /* release: as in shpool_bitmap_clear */
    return ends == 0;
}

/* The address of word w.  From the last word on: of the last one, or of padding after it. */
SIMT_FN simt_addr shpool_bitmap_word_near(shpool_view view, uint32_t w)
{
    const simt_addr last = view.base + view.word[1] - 4u;
    const simt_addr a    = shpool_bitmap_word_at(view, w);

    return (a < last) ? a : last;
}

/* Clear the rest of the allocation that began at granule `first`, after the words that the warp has
 * cleared in one step.  The next long run is tried there if it would be tried further up. */
SIMT_FN_NOINLINE void shpool_bitmap_clear_on(simt_addr base, uint32_t offset, uint32_t first)
{
    const shpool_view view = {base, 0, 0, 0, {0, offset}, 0};
    uint32_t          w    = shpool_bitmap_word_of(first) + simt_lane();
    uint32_t          word;

    SIMT_ROLLED
    do {
        w += SIMT_WARP;
    } while (shpool_bitmap_clear_word(shpool_bitmap_word_near(view, w), 0, 1u));
    word = simt_peek(base + SHPOOL_BITMAP_BEGIN);
    if ((simt_lane() == 0) && (first < shpool_bitmap_next_of(word))) {
        shpool_bitmap_set_next(base, word, first);
    }
}

/* Called by one lane, with an addr that is not 0: if the word has changed meanwhile, or the free
 * will be refused. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_free_call(simt_addr base, uint32_t granules,
                                                  uint32_t offset, uint32_t rank, simt_addr addr)
{
    const shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};

    return (addr != 0) ? shpool_bitmap_free(view, addr, 0) : (uint32_t)SHPOOL_FREE_OK;
}

/* The same for all lanes, whose first one frees; addr is in the pool, so that it is not 0. */
SIMT_FN uint32_t shpool_bitmap_free_again(shpool_view view, simt_addr addr)
{
    const simt_addr leads  = (simt_lane() == 0) ? addr : 0u;
    const uint32_t  reason = shpool_bitmap_free_call(view.base, view.word[0], view.word[1],
                                                     view.rank, leads);

    simt_warp_sync(SIMT_ALL_LANES); /* it is free when any of them returns */
    return reason;
}

/* The first lane of a smaller group frees what begins at addr, which is a granule of the pool.  It
 * tries once without a call, in which ptxas would part the warp; but see shpool_bitmap_malloc_lead.
 */
SHPOOL_BITMAP_AWAY uint32_t shpool_bitmap_free_lead(simt_addr base, uint32_t granules,
                                                    uint32_t offset, uint32_t rank, simt_addr addr)
{
    const shpool_view     view = {base, 0, rank, 0, {granules, offset}, 0};
    shpool_bitmap_release r    = shpool_bitmap_release_of(view, shpool_bitmap_granule(view, addr));

    return shpool_bitmap_give(view, &r)
               ? shpool_bitmap_given(view, &r)
               : shpool_bitmap_free_call(base, granules, offset, rank, addr);
}

SIMT_FN uint32_t shpool_bitmap_free_led(shpool_view view, simt_addr addr, uint32_t lanes)
{
    uint32_t reason = SHPOOL_FREE_OK;

    if (simt_lane() == simt_ffs(lanes) - 1u) {
        reason = shpool_bitmap_free_lead(view.base, view.word[0], view.word[1], view.rank, addr);
    }
    simt_warp_sync(lanes); /* as above */
    return reason;
}

SIMT_FN uint32_t shpool_bitmap_free_warp(shpool_view view, simt_addr addr, uint32_t first)
{
    const uint32_t  w    = shpool_bitmap_word_of(first);
    const simt_addr a    = simt_keep(shpool_bitmap_word_near(view, w + simt_lane()));
    const uint32_t  seen = simt_atomic_load(a, SIMT_RELAXED);
    const uint32_t  own  = (simt_lane() == 0) ? 1u << (first - SHPOOL_BITMAP_SPAN * w) : 0u;
    const uint32_t  used = own & seen & (seen >> SHPOOL_BITMAP_STARTS); /* own, or 0 */
    uint32_t        sole;
    uint32_t        more;

    /* As for a long run in shpool_bitmap_give: the thread that clears the used bit of the first
     * granule is the one that frees it.  relaxed: the start bit keeps the granule in use */
    sole = (simt_atomic_cas(a, seen, seen ^ used, SIMT_RELAXED) == seen) && (used != 0);
    simt_warp_sync(SIMT_ALL_LANES); /* the other words are this allocation's only from here on */
    sole = simt_any(SIMT_ALL_LANES, sole != 0) != 0;
    more = shpool_bitmap_clear_word(a, own, sole);
    if (!SIMT_LIKELY(sole && !more)) { /* one branch on the usual path */
        if (!sole) {
            return shpool_bitmap_free_again(view, addr);
        }
        shpool_bitmap_clear_on(view.base, view.word[1], first);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* every word is clear */
    /* release: as in shpool_bitmap_released */
    (void)simt_atomic_add(view.base + 16u + 4u * (view.rank & (SHPOOL_BITMAP_COUNTERS - 1u)),
                          own != 0, SIMT_RELEASE);
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_bitmap_free_group(shpool_view view, simt_addr addr, uint32_t site,
                                          uint32_t lanes)
{
    const uint32_t first = shpool_bitmap_granule(view, addr);

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    return SIMT_LIKELY(lanes == SIMT_ALL_LANES) ? shpool_bitmap_free_warp(view, addr, first)
                                                : shpool_bitmap_free_led(view, addr, lanes);
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_GROUP_FREE_H */
