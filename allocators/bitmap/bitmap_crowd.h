/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's malloc near home in a pool that has fewer than 32 words for each warp.  All threads
 * share all of its words, and it may be nearly full. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_CROWD_H
#define SHPOOL_ALLOCATORS_BITMAP_CROWD_H

/* Find `need` (1..16) granules that seem free, pair by pair, from the pair of word w around the
 * pool; if w is odd, at a pair's upper end.  Returns the spot, or NOWHERE.  Most pairs have too few
 * free granules, and a warp often waits for one searching lane, so skipping a pair takes few
 * instructions.  As shpool_bitmap_seek, this is a call that only peeks. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_seek_shared(simt_addr base, uint32_t granules, uint32_t w,
                                                    uint32_t need)
{
    const uint32_t words = shpool_bitmap_words_of(granules);
    const uint32_t high  = 0u - (w & 1u);
    uint32_t       left  = words / 2u;
    uint32_t       spot;

    w &= ~1u;
    SIMT_ROLLED
    for (; left != 0; left--) {
        const simt_addr a      = base + SHPOOL_BITMAP_CONTROL + 4u * w;
        const uint32_t  low    = simt_peek(a);
        const uint32_t  next   = simt_peek(a + 4u);
        /* both words' halves beside each other */
        const uint32_t  used   = (low & 0xffffu) | (next << 16);
        const uint32_t  starts = (low >> 16) | (next & 0xffff0000u);

        if (simt_popc(~(used | starts) & (SHPOOL_BITMAP_USED * 0x10001u)) >= need) {
            spot = shpool_bitmap_spot_in(w, low, next, need, high);
            if (spot != SHPOOL_BITMAP_NOWHERE) {
                return spot;
            }
        }
        w = (w + 2u < words) ? w + 2u : 0u;
    }
    return SHPOOL_BITMAP_NOWHERE;
}

/* As shpool_bitmap_take_around.  Most of those who come here have lost a claim, and the next pairs
 * are other threads' homes: home's pair again, then the others.  After a claim that came too late
 * the search goes on where it was: the pairs before had no room. */
SIMT_FN simt_addr shpool_bitmap_take_shared(shpool_view view, uint32_t home, uint32_t need)
{
    uint32_t  spot = 32u * home;
    simt_addr addr = 0;
    uint32_t  turn;

    SIMT_UNROLLED
    for (turn = 0; turn < 3u; turn++) {
        if ((addr == 0) && (spot != SHPOOL_BITMAP_NOWHERE)) {
            spot = shpool_bitmap_spot(view.base, home & ~1u, need, 0u - (home & 1u));
            addr = (spot != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_take_at(view, spot, need) : 0u;
        }
    }
    if (addr != 0) {
        return addr;
    }
    spot = 32u * home;
    SIMT_UNROLLED
    for (turn = 0; turn < 5u; turn++) {
        spot = shpool_bitmap_seek_shared(view.base, view.word[0],
                                         ((spot / 32u) & ~1u) | ((view.rank ^ turn) & 1u), need);
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

#endif /* SHPOOL_ALLOCATORS_BITMAP_CROWD_H */
