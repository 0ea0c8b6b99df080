/* SPDX-License-Identifier: BSD-3-Clause */
/* Building blocks of the larger examples' kernels: groups of threads that work together on one row
 * or document, and the words of memory that they use. */
#ifndef SHPOOL_EXAMPLES_GROUP_H
#define SHPOOL_EXAMPLES_GROUP_H

#include "machine.h"

#include <string>

/* ---- groups of threads; all members call the functions, converged ---- */

struct whole_warp {
    MACHINE_METHOD uint32_t size() const { return SIMT_WARP; }
    MACHINE_METHOD uint32_t rank() const { return simt_lane(); }
    MACHINE_METHOD uint32_t warps() const { return 1; }
    MACHINE_METHOD uint32_t warp() const { return 0; }
    MACHINE_METHOD void     sync() const { simt_warp_sync(SIMT_ALL_LANES); }

    /* Take the next turn from the counter *next; all lanes get the same one. */
    MACHINE_METHOD uint32_t take(uint32_t *next) const
    {
        uint32_t turn = 0;

        if (simt_lane() == 0) {
            turn = simt_global_add32(next, 1);
        }
        return simt_shfl(SIMT_ALL_LANES, turn, 0);
    }
};

#define TURN_BYTES 16u /* shared memory of a block's take(); a multiple of 16, to align the rest */

struct whole_block {
    MACHINE_METHOD uint32_t size() const { return simt_block_threads(); }
    MACHINE_METHOD uint32_t rank() const { return simt_thread_rank(); }
    MACHINE_METHOD uint32_t warps() const { return simt_block_threads() / SIMT_WARP; }
    MACHINE_METHOD uint32_t warp() const { return simt_warp(); }
    MACHINE_METHOD void     sync() const { simt_barrier(); }

    /* The same for a block; a word of shared memory passes the turn to all threads. */
    MACHINE_METHOD uint32_t take(uint32_t *next, simt_addr word) const
    {
        simt_barrier(); /* all threads have read the turn before */
        if (simt_thread_rank() == 0) {
            simt_store32(word, simt_global_add32(next, 1));
        }
        simt_barrier();
        return simt_load32(word);
    }
};

/* ---- words of shared memory, with its own instructions, and of global memory ---- */

struct shared_words {
    simt_addr base;

    MACHINE_METHOD uint32_t get(uint32_t i) const { return simt_load32(base + 4u * i); }
    MACHINE_METHOD void     set(uint32_t i, uint32_t v) const { simt_store32(base + 4u * i, v); }
    MACHINE_METHOD uint32_t glance(uint32_t i) const { return machine_glance(base + 4u * i); }
    MACHINE_METHOD uint32_t cas(uint32_t i, uint32_t expected, uint32_t desired) const
    {
        return simt_atomic_cas(base + 4u * i, expected, desired, SIMT_RELAXED);
    }
    MACHINE_METHOD uint32_t add(uint32_t i, uint32_t v) const
    {
        return simt_atomic_add(base + 4u * i, v, SIMT_RELAXED);
    }
    MACHINE_METHOD void post(uint32_t i, uint32_t v) const { machine_post(base + 4u * i, v); }
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

struct global_words {
    uint32_t *base;

    MACHINE_METHOD uint32_t get(uint32_t i) const { return base[i]; }
    MACHINE_METHOD void     set(uint32_t i, uint32_t v) const { base[i] = v; }
    MACHINE_METHOD uint32_t glance(uint32_t i) const { return machine_glance(base + i); }
    MACHINE_METHOD uint32_t cas(uint32_t i, uint32_t expected, uint32_t desired) const
    {
        return simt_global_cas32(base + i, expected, desired);
    }
    MACHINE_METHOD uint32_t add(uint32_t i, uint32_t v) const
    {
        return simt_global_add32(base + i, v);
    }
    MACHINE_METHOD void set_bits(uint32_t i, uint32_t bits) const
    {
        machine_set_bits(base + i, bits);
    }
    MACHINE_METHOD void set4(uint32_t i, uint32_t v) const
    {
        for (uint32_t k = 0; k < 4u; k++) {
            base[i + k] = v;
        }
    }
    MACHINE_METHOD global_words from(uint32_t i) const { return { base + i }; }
};

/* ---- memory of a pool that the warps of a block share ---- */

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
                                    " bytes at most, and --most is " + std::to_string(most) +
                                    ": more --pool, less --most, or an allocator whose pools are "
                                    "a block's (warp_best_fit, bitmap, ...)");
    }
    return pool;
}

#endif /* SHPOOL_EXAMPLES_GROUP_H */
