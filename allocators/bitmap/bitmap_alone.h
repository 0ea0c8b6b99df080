/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's malloc of a warp that has met no other, as the spread is 0, where the first look does
 * not serve it.  bitmap_group.h explains the terms. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_ALONE_H
#define SHPOOL_ALLOCATORS_BITMAP_ALONE_H

#define SHPOOL_BITMAP_WINDOWS 4u /* of 32 pairs, which a warp reads together */

/* Called by all lanes: the first pair from pair p on that may have a part of a run of `need`
 * granules; NOWHERE if there seems to be none.  Half of each run, or a whole pair, lies in one
 * pair: pairs without as many free granules in a row are passed.  It only peeks: no YIELD. */
SIMT_FN uint32_t shpool_bitmap_pass(shpool_view view, uint32_t p, uint32_t need)
{
    const uint32_t            end   = shpool_bitmap_words_of(simt_pin(view.word[0])) / 2u;
    const uint32_t            half  = (need + 1u) / 2u;
    const shpool_bitmap_sieve sieve =
        shpool_bitmap_sieve_of((half < SHPOOL_BITMAP_PAIR) ? half : SHPOOL_BITMAP_PAIR);
    uint32_t                  hits[SHPOOL_BITMAP_WINDOWS];
    uint32_t                  any = 0;
    uint32_t                  i;

    SIMT_ROLLED
    for (; (any == 0) && (p < end); p += SIMT_WARP * SHPOOL_BITMAP_WINDOWS) {
        SIMT_UNROLLED
        for (i = 0; i < SHPOOL_BITMAP_WINDOWS; i++) { /* no load waits for another */
            const uint32_t  q     = p + SIMT_WARP * i + simt_lane();
            const simt_pair words = simt_peek_pair(
                shpool_bitmap_word_at(view, 2u * ((q < end) ? q : end - 1u)));

            hits[i] = shpool_bitmap_passes(shpool_bitmap_lasts(words, sieve), sieve);
        }
        SIMT_UNROLLED
        for (i = 0; i < SHPOOL_BITMAP_WINDOWS; i++) {
            hits[i] = simt_ballot(SIMT_ALL_LANES, hits[i] != 0);
            any |= hits[i];
        }
    }
    if (any == 0) {
        return SHPOOL_BITMAP_NOWHERE;
    }
    SIMT_UNROLLED
    for (i = SHPOOL_BITMAP_WINDOWS; i-- != 0;) {
        any = (hits[i] != 0) ? simt_ffs(hits[i]) - 1u - SIMT_WARP * (SHPOOL_BITMAP_WINDOWS - i)
                             : any;
    }
    return p + any;
}

/* Called by all lanes: the first place for a request of up to LOOK granules.  NOWHERE if there
 * seems to be none, and for TWO granules or more if it is not in the first 32 pairs that are not
 * passed.  The hint becomes the first pair that is not full. */
SIMT_FN uint32_t shpool_bitmap_find_alone(shpool_view view, shpool_bitmap_wish wish)
{
    uint32_t need = 1u; /* at first, for the hint */
    uint32_t turn = 0;
    uint32_t p    = 0;

    SIMT_ROLLED
    for (;; turn++) { /* one loop: its code is there once */
        /* pinned, as the word is read again: registers are scarcer than the time of a search */
        const uint32_t end = shpool_bitmap_words_of(simt_pin(view.word[0])) / 2u;
        uint32_t       run;
        uint32_t       first;

        p = shpool_bitmap_pass(view, p, need);
        if (p == SHPOOL_BITMAP_NOWHERE) {
            return p;
        }
        if (turn == 0) {
            shpool_bitmap_set_hint(view, p);
            need = wish.need;
            continue;
        }
        p -= (p != 0); /* the run may begin there */
        run   = SHPOOL_BITMAP_PAIR * p;
        first = shpool_bitmap_fit_warp(shpool_bitmap_look_at(view, p + simt_lane(), end, p), wish,
                                       &run);
        if ((first != SHPOOL_BITMAP_NOWHERE) || (need >= SHPOOL_BITMAP_TWO)) {
            return first;
        }
        p += SIMT_WARP - 1u - need / SHPOOL_BITMAP_PAIR;
    }
}

/* Called by all lanes of a warp that has met no other.  A run of more than LOOK granules begins
 * where the last one ended, without a search; others are placed first fit.  NOWHERE: there seems to
 * be no room, or others were quicker, or the pool ends before.  word: what shpool_bitmap_begin
 * returns. */
SIMT_FN uint32_t shpool_bitmap_malloc_alone(shpool_view view, uint32_t word,
                                            shpool_bitmap_wish wish)
{
    const uint32_t follows = wish.need > SHPOOL_BITMAP_LOOK;
    const uint32_t first   = follows ? (shpool_bitmap_next_of(word) + wish.below) & ~wish.below
                                     : shpool_bitmap_find_alone(view, wish);
    uint32_t       got;

    if ((first >= view.word[0]) || (wish.need > view.word[0] - first)) { /* also NOWHERE */
        return SHPOOL_BITMAP_NOWHERE;
    }
    got = shpool_bitmap_claim_pairs(view, first, wish.need);
    if (follows && (simt_lane() == 0)) { /* not again in vain: others see its marks */
        shpool_bitmap_set_next(view.base, word,
                               got ? first + wish.need : shpool_bitmap_next_of(~0u));
    }
    simt_warp_sync(SIMT_ALL_LANES);
    return got ? first : SHPOOL_BITMAP_NOWHERE;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_ALONE_H */
