/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's malloc near home in a pool that has fewer than 32 words for each warp.  All threads
 * share all of its words, and it may be nearly full. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_CROWD_H
#define SHPOOL_ALLOCATORS_BITMAP_CROWD_H

#define SHPOOL_BITMAP_RETRIES  5u /* of a claim in the home word */
#define SHPOOL_BITMAP_SEARCHES 5u /* each of an equal part of the pool */
#define SHPOOL_BITMAP_NO_ROOM  1u /* no address: all are multiples of 16 */

/* Find `need` (1..16) granules that seem free, pair by pair, in `pairs` pairs from that of word w
 * around the pool; if w is odd, at a pair's upper end.  Returns the spot, or NOWHERE.  Most pairs
 * have too few free granules, and a warp often waits for one searching lane, so skipping a pair
 * takes few instructions: a granule that is still being freed may count as free.  As
 * shpool_bitmap_seek, this is a call that only peeks. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_seek_shared(simt_addr base, uint32_t granules, uint32_t w,
                                                    uint32_t need, uint32_t pairs)
{
    const uint32_t words = shpool_bitmap_words_of(granules);
    const uint32_t high  = 0u - (w & 1u);
    const uint32_t most  = SHPOOL_BITMAP_PAIR - need; /* used granules */
    uint32_t       spot;

    w &= ~1u;
    SIMT_ROLLED
    for (; pairs != 0; pairs--) {
        const simt_addr a    = base + SHPOOL_BITMAP_CONTROL + 4u * w;
        const uint32_t  low  = simt_peek(a);
        const uint32_t  next = simt_peek(a + 4u);

        if (simt_popc((low & SHPOOL_BITMAP_USED) | (next << 16)) <= most) {
            spot = shpool_bitmap_spot_in(w, low, next, need, high);
            if (spot != SHPOOL_BITMAP_NOWHERE) {
                return spot;
            }
        }
        w = (w + 2u < words) ? w + 2u : 0u;
    }
    return SHPOOL_BITMAP_NOWHERE;
}

/* Claim `need` granules in the home word again, where another thread was quicker; with `waits` also
 * where there was no room.  A try takes less than half the instructions of one in the pair, and a
 * lane that searches keeps its warp waiting. */
SIMT_FN simt_addr shpool_bitmap_retake(shpool_view view, uint32_t home, uint32_t need,
                                       uint32_t waits)
{
    simt_addr addr = 0;
    uint32_t  turn;

    SIMT_UNROLLED
    for (turn = 0; turn < SHPOOL_BITMAP_RETRIES; turn++) {
        if (addr == 0) {
            addr = shpool_bitmap_take_or(view, home, need, 0u - (home & 1u),
                                         waits ? 0u : SHPOOL_BITMAP_NO_ROOM);
        }
    }
    return (addr != SHPOOL_BITMAP_NO_ROOM) ? addr : 0u;
}

/* As shpool_bitmap_take_around: the home word, its pair, then all pairs from there on.  Where more
 * than two threads share a word, one of them is likely to free soon: it pays to wait for room.  A
 * request of more granules than a word has does not wait: its first try ends the others.  (To omit
 * that one would take a register more than the function of the table has.)  A search ends after a
 * part of the pool, because lanes that have found a spot wait for those that have not, and a spot
 * does not stay free for long.  After a claim that came too late the search goes on where it was:
 * the pairs before had no room. */
SIMT_FN simt_addr shpool_bitmap_take_shared(shpool_view view, uint32_t home, uint32_t need)
{
    /* pinned: a caller's loop would keep what is computed from them in registers */
    const uint32_t words = shpool_bitmap_words_of(simt_pin(view.word[0]));
    const uint32_t waits = (need <= SHPOOL_BITMAP_SPAN) && (simt_block_threads() > 2u * words);
    const uint32_t part  = words / (2u * SHPOOL_BITMAP_SEARCHES) + 1u; /* pairs */
    uint32_t       w     = simt_pin(home) & ~1u;
    simt_addr      addr  = shpool_bitmap_retake(view, home, need, waits);
    uint32_t       spot;
    uint32_t       turn;

    if (addr == 0) {
        spot = shpool_bitmap_spot(view.base, w, need, 0u - (home & 1u));
        addr = (spot != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_take_at(view, spot, need) : 0u;
    }
    if (addr != 0) {
        return addr;
    }
    SIMT_UNROLLED
    for (turn = 0; turn < SHPOOL_BITMAP_SEARCHES; turn++) {
        spot = shpool_bitmap_seek_shared(view.base, view.word[0], w | ((view.rank ^ turn) & 1u),
                                         need, part);
        if (spot != SHPOOL_BITMAP_NOWHERE) {
            addr = shpool_bitmap_take_at(view, spot, need);
            if (addr != 0) {
                return addr;
            }
            w = (spot / 32u) & ~1u;
        } else {
            w += 2u * part;
            w -= (w >= words) ? words : 0u;
        }
    }
    return 0;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_CROWD_H */
