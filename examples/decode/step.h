/* SPDX-License-Identifier: BSD-3-Clause */
/* A step as its threads see it: a block's shared memory, and results, which are messages between
 * blocks. */
#ifndef SHPOOL_EXAMPLES_DECODE_STEP_H
#define SHPOOL_EXAMPLES_DECODE_STEP_H

#include "model.h"

#define SLOTS         32u /* most tiles */
#define RESULTS_BYTES (READERS * (MOST_SUMS + 1u) * 4u)
#define CONTROL_BYTES (SHPOOL_STAGES_BYTES(SLOTS) + 2u * RESULTS_BYTES + 32u) /* and exchange */

struct step {
    const model   &m;
    const program &p;
    uint32_t       number; /* 0, 1, ... since the counters were 0 */

    MACHINE_METHOD step(const model &of, const program &in) : m(of), p(in), number(in.number) {}

    /* tokens in the cache; of a part of attention; of a tile of it: a part's tiles have one size */
    MACHINE_METHOD uint32_t position() const { return m.context + number; }
    MACHINE_METHOD uint32_t share() const
    {
        const uint32_t even = m.by_split.of(position() + m.split - 1u);

        return (even != 0) ? even : 1u;
    }
    MACHINE_METHOD uint32_t each() const
    {
        const uint32_t tiles = m.by_most.of(share() + m.most - 1u);

        return (share() + tiles - 1u) / tiles;
    }

    /* Call work() for each step of the launch. */
    template <class Work>
    MACHINE_METHOD void run(Work work)
    {
        SIMT_ROLLED
        for (; number != p.number + p.steps; number++) {
            work();
        }
    }
};

/* Bytes before the pool in which the lanes of a warp exchange a segment of the vector, or the warps
 * their sums of attention. */
SIMT_HD uint32_t exchange_bytes(uint32_t head_dim)
{
    return READERS * 4u * ((head_dim > SLICE) ? head_dim : SLICE);
}

/* Shared memory before the pool: slots of tiles; what the readers store for the end of an
 * instruction, in two copies, because the next instruction begins while this one is still being
 * added up; three mbarriers; exchange.
 *
 *   sums, square  for each warp, row and segment; for each warp, of its numbers of the vector.
 *                 Attention: the largest score and the sum of the exponentials of each warp
 *   ready         the watcher arrives when the next instruction's vector is complete
 *   exchanged     all readers arrive when they have stored what others need, and wait
 *   summed        the same for sums */
struct control {
    simt_addr base;
    uint32_t  count; /* instructions so far */

    MACHINE_METHOD simt_addr sums(uint32_t warp) const
    {
        return base + SHPOOL_STAGES_BYTES(SLOTS) + (count & 1u) * RESULTS_BYTES +
               warp * MOST_SUMS * 4u;
    }
    MACHINE_METHOD simt_addr square(uint32_t warp) const { return sums(READERS) + warp * 4u; }
    MACHINE_METHOD simt_addr scale(uint32_t warp) const { return sums(0) + warp * 8u; }
    MACHINE_METHOD simt_addr exchange() const { return base + CONTROL_BYTES; }
    MACHINE_METHOD simt_addr ready() const { return exchange() - 32u; }
    MACHINE_METHOD simt_addr exchanged() const { return exchange() - 24u; }
    MACHINE_METHOD simt_addr summed() const { return exchange() - 16u; }
    MACHINE_METHOD simt_addr pool(uint32_t head_dim) const
    {
        return (exchange() + exchange_bytes(head_dim) + TILE_ALIGNED - 1u) & ~(TILE_ALIGNED - 1u);
    }
};

#if SIMT_HAS_BULK
/* Wait until all blocks have finished the steps before this one.  What they have written is then
 * visible, and what they have read may be written again. */
SIMT_FN void await_steps(const step &s)
{
    SIMT_ROLLED
    while ((int)(seam_peek4(s.p.ended) - s.p.blocks * s.number) < 0) {
        seam_spin();
    }
    (void)seam_acquire(s.p.ended); /* once: it empties L1 */
}
#endif

/* The number of cached tokens of a part: `share` of them, as far as there are any.  The last part
 * also has the token that is being computed. */
SIMT_FN uint32_t tokens_of(const step &s, instruction in)
{
    const uint32_t first = in.count() * s.share();
    const uint32_t left  = (s.position() > first) ? s.position() - first : 0u;

    return (left < s.share()) ? left : s.share();
}

#if SIMT_HAS_BULK

/* Called by all readers: waits until all have called it for the number-th time. */
SIMT_FN void meet(simt_addr mbar, uint32_t number)
{
    simt_warp_sync(SIMT_ALL_LANES);
    if (simt_lane() == 0) {
        simt_mbar_arrive(mbar);
    }
    simt_mbar_wait(mbar, number & 1u);
}

struct four {
    float x[4];
};
SIMT_FN four four_of(simt_u128 v)
{
    return { { machine_float(v.x), machine_float(v.y), machine_float(v.z), machine_float(v.w) } };
}

/* Four numbers of bf16 in one load. */
struct alignas(8) four_bf16 {
    uint32_t low, high;

    MACHINE_METHOD four floats() const
    {
        return { { seam_low(low), seam_high(low), seam_low(high), seam_high(high) } };
    }
};
SIMT_FN four_bf16 load_bf16(const uint16_t *from) { return *(const four_bf16 *)from; }

/* The lowest bit of a result says in which step it was written: it alternates, and memory is 0
 * before step 0.  So each word says itself whether it is there, and no fence orders anything. */
SIMT_FN uint32_t tag_of(const step &s) { return ~s.number & 1u; }

SIMT_FN void post(const step &s, float *to, float result)
{
    seam_post(to, (machine_bits(result) & ~1u) | tag_of(s));
}

/* Count results, which have been posted: when half of an operation's are counted, it is worth while
 * to look at them.  They may arrive later than their number. */
SIMT_FN void count_results(const step &s, instruction in, uint32_t n)
{
    if (simt_thread_rank() == 0) {
        seam_count(s.p.done + counter_of(in), n);
    }
}

SIMT_FN float await_one(const step &s, const float *at)
{
    uint32_t v;

    SIMT_ROLLED
    while ((((v = seam_peek4(at)) ^ tag_of(s)) & 1u) != 0) {
        seam_spin();
    }
    return machine_float(v);
}

/* Wait for the i-th of N groups of four results, at at(i), for each bit i of `wanted`; other groups
 * are 0.  Only missing groups are read again: what a block reads while it waits delays the weights
 * of the blocks that it waits for. */
template <uint32_t N, class At>
SIMT_FN void await_fours(const step &s, uint32_t wanted, four *to, At at)
{
    const uint32_t tag  = tag_of(s);
    simt_u128      v[N] = {};

    SIMT_ROLLED
    while (wanted != 0) {
        uint32_t missing = 0;

        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) { /* all loads are in flight together */
            if ((wanted >> i & 1u) != 0) {
                v[i] = seam_peek(at(i));
            }
        }
        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) {
            const simt_u128 &x = v[i];

            missing |= (((x.x ^ tag) | (x.y ^ tag) | (x.z ^ tag) | (x.w ^ tag)) & 1u) << i;
        }
        wanted &= missing;
        if (wanted != 0) {
            seam_spin();
        }
    }
    simt_warp_sync(SIMT_ALL_LANES);
    SIMT_UNROLLED
    for (uint32_t i = 0; i < N; i++) {
        to[i] = four_of(v[i]);
    }
}

#endif /* SIMT_HAS_BULK */

#endif /* SHPOOL_EXAMPLES_DECODE_STEP_H */
