/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of sparse and repeats share: groups of threads that work together on one row or
 * document, words of shared memory, and a pool for all warps of a block. */
#ifndef SHPOOL_EXAMPLES_GROUP_H
#define SHPOOL_EXAMPLES_GROUP_H

#include "machine.h"

SIMT_FN uint32_t grid_threads() { return simt_grid_blocks() * simt_block_threads(); }
SIMT_FN uint32_t grid_rank()
{
    return simt_block_rank() * simt_block_threads() + simt_thread_rank();
}

/* Called by all lanes: the sum of the lower lanes' numbers. */
SIMT_FN uint32_t sum_below(uint32_t mine)
{
    uint32_t sum = mine;

    SIMT_UNROLLED
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint32_t below = simt_shfl_up(SIMT_ALL_LANES, sum, step);

        sum += (simt_lane() >= step) ? below : 0u;
    }
    return sum - mine;
}

/* ---- groups of threads; all members call the functions, converged ---- */

#define TURN_BYTES 16u /* shared memory of a block's take(); a multiple of 16, to align the rest */

struct whole_warp {
    MACHINE_METHOD uint32_t size() const { return SIMT_WARP; }
    MACHINE_METHOD uint32_t rank() const { return simt_lane(); }
    MACHINE_METHOD uint32_t warps() const { return 1; }
    MACHINE_METHOD uint32_t warp() const { return 0; }
    MACHINE_METHOD uint32_t number() const { return simt_warp(); } /* in the block */
    MACHINE_METHOD void     sync() const { simt_warp_sync(SIMT_ALL_LANES); }

    /* Take the next turn from the counter *next; all threads get the same one. */
    MACHINE_METHOD uint32_t take(uint32_t *next, simt_addr = 0) const
    {
        const uint32_t turn = (simt_lane() == 0) ? simt_global_add32(next, 1) : 0u;

        return simt_shfl(SIMT_ALL_LANES, turn, 0);
    }
};

struct whole_block {
    MACHINE_METHOD uint32_t size() const { return simt_block_threads(); }
    MACHINE_METHOD uint32_t rank() const { return simt_thread_rank(); }
    MACHINE_METHOD uint32_t warps() const { return simt_block_threads() / SIMT_WARP; }
    MACHINE_METHOD uint32_t warp() const { return simt_warp(); }
    MACHINE_METHOD uint32_t number() const { return 0; }
    MACHINE_METHOD void     sync() const { simt_barrier(); }

    MACHINE_METHOD uint32_t take(uint32_t *next, simt_addr word) const /* which passes the turn */
    {
        simt_barrier(); /* all threads have read the turn before */
        if (simt_thread_rank() == 0) { simt_store32(word, simt_global_add32(next, 1)); }
        simt_barrier();
        return simt_load32(word);
    }
};

/* ---- words of shared memory, by its own instructions ---- */

struct shared_words {
    simt_addr base;

    MACHINE_METHOD uint32_t get(uint32_t i) const { return simt_load32(base + 4u * i); }
    MACHINE_METHOD uint32_t glance(uint32_t i) const { return machine_glance(base + 4u * i); }
    MACHINE_METHOD void     post(uint32_t i, uint32_t v) const { machine_post(base + 4u * i, v); }
    MACHINE_METHOD uint32_t cas(uint32_t i, uint32_t expected, uint32_t desired) const
    {
        return simt_atomic_cas(base + 4u * i, expected, desired, SIMT_RELAXED);
    }
    MACHINE_METHOD uint32_t add(uint32_t i, uint32_t v) const
    {
        return simt_atomic_add(base + 4u * i, v, SIMT_RELAXED);
    }
    MACHINE_METHOD void set_bits(uint32_t i, uint32_t bits) const
    {
        (void)simt_atomic_or(base + 4u * i, bits, SIMT_RELAXED);
    }
    /* words i to i + 3; i is a multiple of 4, and base a multiple of 16 */
    MACHINE_METHOD void set4(uint32_t i, uint32_t v) const
    {
        simt_store128(base + 4u * i, { v, v, v, v });
    }
    MACHINE_METHOD shared_words from(uint32_t i) const { return { base + 4u * i }; }
};

struct global_words { /* the same in global memory */
    uint32_t *base;

    MACHINE_METHOD uint32_t get(uint32_t i) const { return base[i]; }
    MACHINE_METHOD uint32_t glance(uint32_t i) const { return machine_glance(base + i); }
    MACHINE_METHOD uint32_t cas(uint32_t i, uint32_t expected, uint32_t desired) const
    {
        return simt_global_cas32(base + i, expected, desired);
    }
    MACHINE_METHOD uint32_t add(uint32_t i, uint32_t v) const
    {
        return simt_global_add32(base + i, v);
    }
    MACHINE_METHOD void set4(uint32_t i, uint32_t v) const
    {
        base[i] = base[i + 1u] = base[i + 2u] = base[i + 3u] = v;
    }
};

/* Open one pool for the whole block, in which each warp holds one allocation of up to `most` bytes
 * at a time.  The allocator is $SHPOOL_ALLOCATOR's, or the default. */
static inline shpool_pool open_block_pool(uint32_t threads, uint32_t bytes, uint32_t most)
{
    shpool_config want = {};
    shpool_pool   pool = {};

    want.block_threads    = threads;
    want.payload_bytes    = bytes;
    want.threads_per_pool = threads; /* for scope group, unless the spec sets it */
    machine_need(machine_open(nullptr, &want, &pool), "pool");
    if (pool.largest < most) {
        machine_fail(pool.name, "holds " + std::to_string(pool.largest) +
                                    " bytes at most, and " + std::to_string(most) +
                                    " are needed: more --pool, less --most, or an allocator "
                                    "whose pools are a block's (warp_best_fit, bitmap, ...)");
    }
    return pool;
}

#endif /* SHPOOL_EXAMPLES_GROUP_H */
