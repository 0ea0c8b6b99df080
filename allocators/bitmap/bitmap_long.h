/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap for warps that wait: requests of more granules than a warp sees in one step. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_LONG_H
#define SHPOOL_ALLOCATORS_BITMAP_LONG_H

/* Called by all lanes: mark granules first..end-1, a run that contains whole pairs.  Between its
 * first and its last pair, no lane has to look before it claims.  Returns 1, or 0 with nothing
 * marked. */
SIMT_FN uint32_t shpool_bitmap_claim_long(shpool_view view, uint32_t first, uint32_t end)
{
    const simt_pair none = {0, 0};
    const simt_pair amid = {SHPOOL_BITMAP_THROUGH | SHPOOL_BITMAP_CLAIMED, SHPOOL_BITMAP_THROUGH};
    const uint32_t  last = (end - 1u) / SHPOOL_BITMAP_PAIR;
    const uint32_t  from = first / SHPOOL_BITMAP_PAIR + 1u + simt_lane();
    const uint32_t  edge = (simt_lane() == 0) ? from - 1u : last; /* lanes 0 and 1 */
    const simt_addr a    = simt_keep(shpool_bitmap_word_at(view, 2u * edge));
    const simt_pair bits = shpool_bitmap_bits(SHPOOL_BITMAP_PAIR * edge, first, end);
    const simt_pair seen = simt_atomic_load_pair(a, SIMT_RELAXED);
    const simt_pair set  = {seen.x | bits.x, seen.y | bits.y};
    uint32_t        ends = 1;
    uint32_t        mine = 0; /* the lane's whole pairs, a bit for each: it has claimed them */
    uint32_t        got;
    uint32_t        p;

    if (simt_lane() < 2u) { /* acquire: as in shpool_bitmap_claim_pairs */
        ends = shpool_bitmap_is_free(seen, bits) &&
               simt_atomic_cas_pair(a, seen, set, SIMT_ACQUIRE);
    }
    got = ends;
    SIMT_ROLLED
    for (p = from; p < last; p += SIMT_WARP) {
        const uint32_t one = simt_atomic_cas_pair(shpool_bitmap_word_at(view, 2u * p), none, amid,
                                                  SIMT_ACQUIRE);

        mine |= one << (p - from) / SIMT_WARP;
        got &= one;
    }
    simt_warp_sync(SIMT_ALL_LANES); /* no lane uses the memory before all have claimed */
    got = simt_all(SIMT_ALL_LANES, got) != 0;
    if (!got) { /* release: as in shpool_bitmap_clear */
        if (ends && (simt_lane() < 2u)) {
            (void)simt_atomic_and(a + 4u, ~bits.y, SIMT_RELEASE);
            (void)simt_atomic_and(a, ~bits.x, SIMT_RELEASE);
        }
        for (p = from; mine != 0; p += SIMT_WARP, mine >>= 1) {
            if ((mine & 1u) != 0) {
                (void)simt_atomic_and(shpool_bitmap_word_at(view, 2u * p + 1u), 0, SIMT_RELEASE);
                (void)simt_atomic_and(shpool_bitmap_word_at(view, 2u * p), 0, SIMT_RELEASE);
            }
        }
        simt_warp_sync(SIMT_ALL_LANES); /* every mark is gone again */
        return 0;
    }
    /* release: a pair that is not CLAIMED any more says that the others are marked */
    if (simt_lane() < 2u) {
        (void)simt_atomic_and(a, ~SHPOOL_BITMAP_CLAIMED, SIMT_RELEASE);
    }
    SIMT_ROLLED
    for (p = from; p < last; p += SIMT_WARP) {
        (void)simt_atomic_and(shpool_bitmap_word_at(view, 2u * p), ~SHPOOL_BITMAP_CLAIMED,
                              SIMT_RELEASE);
    }
    simt_warp_sync(SIMT_ALL_LANES);
    return 1;
}

/* A request of more than LOOK granules: a few reads show where the pool can have room for it.  Each
 * lane reads one pair in `stride`; a run of `need` granules contains `row` of these pairs one after
 * another, wholly free.  Before each such row, the run's beginning is looked for, and the run is
 * claimed.  Returns its granule, or NOWHERE: there was no room when the warp looked, or another one
 * was claiming or quicker.  A call, because it is long. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_malloc_long(simt_addr base, uint32_t granules,
                                                    uint32_t need, uint32_t below)
{
    const shpool_view view   = {base, 0, 0, 0, {granules, 0}, 0};
    const uint32_t    end    = shpool_bitmap_words_of(granules) / 2u;
    const uint32_t    stride = end / SIMT_WARP + 1u;
    uint32_t          row    = (need - SHPOOL_BITMAP_PAIR + 1u) / SHPOOL_BITMAP_PAIR / stride;
    shpool_bitmap_look look  = shpool_bitmap_look_at(view, stride * simt_lane(), end, 0);
    uint32_t           rows  = simt_ballot(SIMT_ALL_LANES, look.unused == SHPOOL_BITMAP_FULL);

    if ((row == 0) || simt_any(SIMT_ALL_LANES, (look.words.x & SHPOOL_BITMAP_CLAIMED) != 0)) {
        return SHPOOL_BITMAP_NOWHERE;
    }
    SIMT_ROLLED
    for (; row > 1u; row--) {
        rows &= rows >> 1; /* bit i: a row begins with lane i's pair */
    }
    SIMT_ROLLED
    for (; (rows != 0) && (need <= granules); rows &= rows - 1u) {
        const uint32_t to   = stride * (simt_ffs(rows) - 1u);
        const uint32_t from = (to != 0) ? to - stride : 0u; /* if it began before this pair, its row
                                                               would, too */
        uint32_t       first;

        look  = shpool_bitmap_look_at(view, from + simt_lane(), end, 0);
        first = shpool_bitmap_reach(look, SHPOOL_BITMAP_PAIR * from);
        first = (simt_shfl(SIMT_ALL_LANES, first, to - from) + below) & ~below;
        if ((first + need <= granules) && /* aligned, it may begin after the last granule */
            shpool_bitmap_claim_long(view, first, first + need)) {
            return first;
        }
    }
    return SHPOOL_BITMAP_NOWHERE;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_LONG_H */
