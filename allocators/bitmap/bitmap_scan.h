/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's search for up to 16 granules where a thread's home has no room.  bitmap.h explains the
 * terms.
 *
 * The search of one lane is a chain of instructions, each of which waits for the one before: 34 of
 * them, 165 cycles, for a pair that is looked into.  So only the first STEPS pairs are looked into
 * one by one.  Threads that request all the time find room there, and need fewer instructions than
 * with several pairs at a time (doc/EXPERIMENTS.md).  After them SCAN pairs are tested together,
 * with one branch, and only a pair that passes is looked into. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_SCAN_H
#define SHPOOL_ALLOCATORS_BITMAP_SCAN_H

#define SHPOOL_BITMAP_STEPS 8u   /* pairs that are looked into one by one */
#define SHPOOL_BITMAP_SCAN  4u   /* pairs that are read together, so that no load waits for another;
                                    with more of them every kernel would need more registers */

/* A test of a pair for `need` free granules in a row, 1..PAIR: whether the last one, the first one
 * and one between them are free.  It is exact for up to three granules, and otherwise seldom wrong.
 * The factors shift: multiplications and logical operations use different pipes of a
 * multiprocessor. */
typedef struct shpool_bitmap_sieve {
    uint32_t first, mid; /* factors */
} shpool_bitmap_sieve;

SIMT_FN shpool_bitmap_sieve shpool_bitmap_sieve_of(uint32_t need)
{
    shpool_bitmap_sieve sieve;

    sieve.first = simt_pin(1u << (need - 1u)); /* pinned: else they become shifts again */
    sieve.mid   = simt_pin(1u << (need / 2u));
    return sieve;
}

/* Bits where the last one may lie, if the pair is large enough for the others.  A granule that is
 * still being freed counts as free. */
SIMT_FN uint32_t shpool_bitmap_lasts(simt_pair words, shpool_bitmap_sieve sieve)
{
    /* kept: else the shift becomes one of 64 bits */
    const uint32_t used = simt_keep(words.x & SHPOOL_BITMAP_USED) +
                          (words.y << SHPOOL_BITMAP_SPAN);

    return ~(used | (used * sieve.first) | (used * sieve.mid));
}

/* Those of them for which it is. */
SIMT_FN uint32_t shpool_bitmap_passes(uint32_t lasts, shpool_bitmap_sieve sieve)
{
    return lasts & (0u - sieve.first) & SHPOOL_BITMAP_FULL;
}

/* Pairs that are searched, from any of them on around to the one before. */
typedef struct shpool_bitmap_ring {
    uint32_t from; /* the first pair */
    uint32_t last; /* the first one of the last SCAN pairs */
    uint32_t p;    /* the next one */
    int      left; /* how many are still to be read; some are read twice at the ring's end */
} shpool_bitmap_ring;

/* The next pair of a ring that passes; NOWHERE if there is none. */
SIMT_FN uint32_t shpool_bitmap_scan(simt_addr base, shpool_bitmap_ring *ring,
                                    shpool_bitmap_sieve sieve)
{
    uint32_t lasts[SHPOOL_BITMAP_SCAN];
    uint32_t hit = SHPOOL_BITMAP_SCAN;
    uint32_t any;
    uint32_t p;
    uint32_t i;

    SIMT_ROLLED
    do {
        simt_addr a;

        p       = (ring->p < ring->last) ? ring->p : ring->last;
        a       = base + SHPOOL_BITMAP_CONTROL + 8u * p;
        ring->p = (p < ring->last) ? p + SHPOOL_BITMAP_SCAN : ring->from;
        ring->left -= (int)SHPOOL_BITMAP_SCAN;
        any = 0;
        SIMT_UNROLLED
        for (i = 0; i < SHPOOL_BITMAP_SCAN; i++) {
            lasts[i] = shpool_bitmap_lasts(simt_peek_pair(a + 8u * i), sieve);
            any |= lasts[i];
        }
        any = shpool_bitmap_passes(any, sieve);
    } while ((any == 0) & (ring->left > 0));
    if (any == 0) {
        return SHPOOL_BITMAP_NOWHERE;
    }
    SIMT_UNROLLED
    for (i = SHPOOL_BITMAP_SCAN; i-- != 0;) {
        hit = (shpool_bitmap_passes(lasts[i], sieve) != 0) ? i : hit;
    }
    ring->left = (int)(simt_keep((uint32_t)ring->left) + SHPOOL_BITMAP_SCAN - 1u - hit);
    p += hit;
    ring->p = (p + 1u <= ring->last) ? p + 1u : ring->from;
    return p;
}

/* The spot for a request in pair p, or NOWHERE; both: `need`, and 32 if it is the highest one. */
SIMT_FN uint32_t shpool_bitmap_spot_at(simt_addr base, uint32_t p, uint32_t both)
{
    const simt_pair words = simt_peek_pair(base + SHPOOL_BITMAP_CONTROL + 8u * p);

    return shpool_bitmap_spot_in(2u * p, words.x, words.y, both % 32u, 0u - both / 32u);
}

/* Where `need` granules (1..16) seem to be free: in the neighbourhood, else in any words.  Lanes
 * and turns begin at different words, so that repeated conflicts are rarer; after a full
 * neighbourhood all continue alike.  Returns the spot, or NOWHERE.  A call, because it is long; it
 * only peeks, so nothing splits the warp (see the top of bitmap.h). */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_seek(simt_addr base, uint32_t granules, uint32_t rank,
                                             uint32_t need, uint32_t turn)
{
    shpool_view         view  = {base, 0, rank, 0, {granules, 0}, 0};
    shpool_bitmap_place at    = shpool_bitmap_where(view);
    uint32_t            high  = shpool_bitmap_high(at) ^ (0u - (turn & 1u));
    uint32_t            w     = (at.home & ~1u) + ((high != 0) ? 10u : 2u) + ((rank >> turn) & 6u);
    uint32_t            spot  = SHPOOL_BITMAP_NOWHERE;
    uint32_t            steps = SHPOOL_BITMAP_STEPS;
    shpool_bitmap_ring  ring  = {at.from / 2u, at.end / 2u - SHPOOL_BITMAP_SCAN, 0,
                                 (int)(at.end - at.from) / 2};
    shpool_bitmap_sieve sieve;

    w = (w < at.end) ? w : at.from;
    SIMT_ROLLED
    for (; (steps != 0) && (ring.left != 0) && (spot == SHPOOL_BITMAP_NOWHERE); ring.left--) {
        spot = shpool_bitmap_spot(base, w, need, high);
        w    = (w + 2u < at.end) ? w + 2u : at.from;
        steps--;
    }
    if (spot != SHPOOL_BITMAP_NOWHERE) {
        return spot;
    }
    ring.p = w / 2u;
    ring.left += (ring.left != 0) ? (int)SHPOOL_BITMAP_SCAN - 1 : 0;
    sieve = shpool_bitmap_sieve_of(need);
    need |= high & 32u; /* one register for both; pinned below: else its parts would be kept */
    SIMT_ROLLED
    while (spot == SHPOOL_BITMAP_NOWHERE) {
        if (ring.left > 0) {
            const uint32_t p = shpool_bitmap_scan(base, &ring, sieve);

            if (p != SHPOOL_BITMAP_NOWHERE) {
                spot = shpool_bitmap_spot_at(simt_pin(base), p, simt_pin(need));
            }
        } else if (at.shared) { /* these were all */
            return spot;
        } else {
            at.shared = 1u;
            ring.from = 0;
            ring.last = shpool_bitmap_words_of(simt_pin(granules)) / 2u - SHPOOL_BITMAP_SCAN;
            ring.left = (int)ring.last + 2 * (int)SHPOOL_BITMAP_SCAN - 1;
        }
    }
    return spot;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_SCAN_H */
