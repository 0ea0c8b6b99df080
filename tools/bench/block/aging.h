/* SPDX-License-Identifier: BSD-3-Clause */
/* The workload aging; part of bench/block/workload.h.
 *
 * How much of a pool can be used when objects of very different sizes come and go?  The warps take
 * turns: one requests an object of lognormal size and frees another one, chosen at random, a little
 * less often, until the first refusal.  The live bytes at that time are the utilisation; one
 * refusal says little, so there are several.  The live objects themselves form the list of them, a
 * ring. */
#ifndef SHPOOL_BENCH_AGING_H
#define SHPOOL_BENCH_AGING_H

#define BENCH_AGING_MEDIAN  512u /* bytes; three sigma lie between 16 B and 16 KB */
#define BENCH_AGING_SIGMA   1.155
#define BENCH_AGING_LARGEST 16384u
#define BENCH_LIVES         16u /* of a block; their mean counts */

/* The words of a live object. */
enum {
    BENCH_NEXT  = 0, /* addresses of the next and the previous object */
    BENCH_FRONT = 4,
    BENCH_BYTES = 8
};

/* Called by one lane: link object p after `at` (0: the ring is empty). */
SIMT_FN void bench_ring_link(simt_addr at, simt_addr p, uint32_t bytes)
{
    simt_addr next = (at != 0) ? simt_load32(at + BENCH_NEXT) : p;

    at = (at != 0) ? at : p;
    simt_store32(p + BENCH_NEXT, next);
    simt_store32(p + BENCH_FRONT, at);
    simt_store32(p + BENCH_BYTES, bytes);
    simt_store32(next + BENCH_FRONT, p);
    simt_store32(at + BENCH_NEXT, p);
}

/* Called by one lane: unlink object p; returns the previous one, or 0 if it was alone. */
SIMT_FN simt_addr bench_ring_unlink(simt_addr p)
{
    simt_addr next  = simt_load32(p + BENCH_NEXT);
    simt_addr front = simt_load32(p + BENCH_FRONT);

    simt_store32(front + BENCH_NEXT, next);
    simt_store32(next + BENCH_FRONT, front);
    return (front != p) ? front : 0u;
}

/* Called by the lanes of a warp: free the object some steps after `at`; returns the ring's
 * position. */
SIMT_FN simt_addr bench_age(shpool_heap heap, simt_addr at, uint32_t steps, uint32_t lanes)
{
    simt_addr p = at;

    for (; steps != 0; steps--) {
        p = simt_load32(p + BENCH_NEXT);
    }
    simt_warp_sync(lanes); /* all have seen it */
    if (simt_lane() == 0) {
        at = bench_ring_unlink(p);
    }
    at = simt_shfl(lanes, at, 0);
    shpool_free_warp(heap, simt_from_shared(p));
    return at;
}

SIMT_FN uint32_t bench_aging_bytes(const uint32_t *sizes, uint32_t r)
{
    return sizes[(r >> 8) % BENCH_SIZES];
}

/* Called by the lanes of a warp: a malloc and, 15 times of 16, a free, but never of the last
 * object.  Returns the ring's position; 0: the malloc was refused, and the ring is unchanged. */
SIMT_FN simt_addr bench_turn(shpool_heap heap, simt_addr at, const uint32_t *sizes, uint32_t r)
{
    const uint32_t lanes = shpool_warp_lanes();
    const uint32_t bytes = bench_aging_bytes(sizes, r);
    const uint32_t frees = (at != 0) && ((r >> 28) != 0);
    void          *p     = shpool_malloc_warp(heap, bytes);

    if (p == NULL) {
        return 0;
    }
    if (simt_lane() == 0) {
        bench_ring_link(at, simt_to_shared(p), bytes);
    }
    simt_warp_sync(lanes); /* the ring is whole */
    at = simt_to_shared(p);
    return frees ? bench_age(heap, at, (r >> 16) & 63u, lanes) : at;
}

/* Called by one warp: free all; returns the bytes that were live. */
SIMT_FN uint32_t bench_end(shpool_heap heap, simt_addr at)
{
    uint32_t held = 0;

    while (at != 0) {
        held += simt_load32(at + BENCH_BYTES);
        at = bench_age(heap, at, 0, shpool_warp_lanes());
    }
    return held;
}

/* Called by all threads: one life, at the end of which all is freed; thread 0 gets the bytes that
 * were live. */
SIMT_FN uint32_t bench_life(shpool_heap heap, const bench_args *args, uint32_t r, int verify,
                            bench_tally *tally)
{
    const uint32_t warps = (simt_block_threads() + SIMT_WARP - 1u) / SIMT_WARP;
    simt_addr      next  = 0;
    simt_addr      at;
    uint32_t       held;

    do {
        const simt_addr box = simt_dynamic_base() + args->box + 4u * ((uint32_t)tally->ops & 1u);

        at = next;
        r  = bench_next(r);
        if (verify) {
            bench_did(tally, bench_aging_bytes(args->sizes, r));
        }
        if (simt_warp() == (uint32_t)tally->ops % warps) {
            next = bench_turn(heap, at, args->sizes, r);
            if (simt_lane() == 0) {
                simt_store32(box, next);
            }
        }
        simt_barrier(); /* one barrier is enough: the next turn uses the other box */
        next = simt_load32(box);
        tally->ops++;
    } while (next != 0);
    held = (simt_warp() == 0) ? bench_end(heap, at) : 0u;
    simt_barrier(); /* the next life begins in an empty pool */
    return held;
}

/* The number of lives is fixed; `iterations` has no effect. */
SIMT_FN void bench_run_aging(shpool_heap heap, const bench_args *args, int verify,
                             bench_tally *tally)
{
    unsigned long long held = 0;
    uint32_t           life;

    BENCH_ROLLED
    for (life = 0; life < BENCH_LIVES; life++) {
        uint32_t seed = (args->seed * 2246822519u + simt_block_rank()) * BENCH_LIVES + life;

        held += bench_life(heap, args, seed * 2654435761u, verify, tally);
    }
    if (simt_thread_rank() == 0) {
        tally->payload  = held / BENCH_LIVES;
        tally->failures = BENCH_LIVES;
    } else { /* all counted thread 0's */
        tally->ops    = 0;
        tally->digest = 0;
    }
}

#endif /* SHPOOL_BENCH_AGING_H */
