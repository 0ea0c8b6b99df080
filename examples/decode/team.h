/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers: READERS warps.  All of them read each tile: a row is divided into segments of
 * SEGMENT columns, and a warp multiplies SLICE columns of each segment of all rows.  Also the
 * layout of the block's shared memory before the pool. */
#ifndef SHPOOL_EXAMPLES_DECODE_TEAM_H
#define SHPOOL_EXAMPLES_DECODE_TEAM_H

#include "model.h"
#include "tiles.h"

#if defined(__CUDACC__)
#define READERS 16u
#else /* a fiber for each thread */
#define READERS 4u
#endif
#define SLICE         128u /* columns of a warp, in each segment */
#define SEGMENT       (READERS * SLICE)
#define MOST_SEGMENTS 4u

/* Segments of a row: a power of two, at most MOST_SEGMENTS, and its logarithm.  A division by a
 * number that the compiler does not know takes 20 instructions. */
struct segment_count {
    uint32_t bits;

    SEAM_BOTH explicit segment_count(uint32_t columns)
        : bits((columns <= SEGMENT) ? 0u : (columns <= 2u * SEGMENT) ? 1u : 2u)
    {
    }
    SEAM_BOTH uint32_t count() const { return 1u << bits; }
    SEAM_BOTH uint32_t row(uint32_t i) const { return i >> bits; } /* i / count() */
    SEAM_BOTH uint32_t segment(uint32_t i) const { return i & (count() - 1u); }
};

/* Results that the readers store for the end of an instruction, in two copies, because the next
 * instruction begins while the results of the one before are still being added up.
 *
 *   sums      for each warp, row and segment
 *   squares   for each warp: sum of squares of its numbers of the vector, for the norm
 *
 * Attention uses the memory of the sums for the largest score and the sum of the exponentials of
 * each warp. */
#define MOST_SUMS     128u /* most rows of an instruction, times the segments of a row */
#define SUMS_BYTES    (READERS * MOST_SUMS * 4u)
#define RESULTS_BYTES (SUMS_BYTES + READERS * 4u)

struct results {
    simt_addr base;

    MACHINE_METHOD simt_addr sums(uint32_t warp) const { return base + warp * MOST_SUMS * 4u; }
    MACHINE_METHOD simt_addr square(uint32_t warp) const { return base + SUMS_BYTES + warp * 4u; }
    MACHINE_METHOD simt_addr scale(uint32_t warp) const { return base + warp * 8u; }
};

/* Before the pool: slots, results, three mbarriers, and memory in which the readers
 * exchange what each of them needs: a segment of the vector, or the warps' sums of attention.
 *
 *   ready      the watcher arrives when the next instruction's vector is complete
 *   exchanged  all readers arrive when they have stored what others need, and wait
 *   summed     the same for results */
#define MOST_DIM       256u /* dimensions of a head */
#define EXCHANGE_BYTES (READERS * MOST_DIM * 4u)
#define CONTROL_BYTES  (SLOTS * SLOT_BYTES + 2u * RESULTS_BYTES + 32u + EXCHANGE_BYTES)

struct control {
    simt_addr base;

    MACHINE_METHOD slot_table slots() const { return { base }; }
    MACHINE_METHOD results    result(uint32_t number) const
    {
        return { base + SLOTS * SLOT_BYTES + (number & 1u) * RESULTS_BYTES };
    }
    MACHINE_METHOD simt_addr exchange() const { return base + CONTROL_BYTES - EXCHANGE_BYTES; }
    /* A warp's numbers of a segment: 2 bytes of each, and then the other 2. */
    MACHINE_METHOD simt_addr halves(uint32_t warp, uint32_t segment) const
    {
        return exchange() + (2u * warp + segment) * SLICE * 4u;
    }
    MACHINE_METHOD simt_addr ready() const { return exchange() - 32u; }
    MACHINE_METHOD simt_addr exchanged() const { return exchange() - 24u; }
    MACHINE_METHOD simt_addr summed() const { return exchange() - 16u; }
    MACHINE_METHOD simt_addr pool() const
    {
        return (base + CONTROL_BYTES + TILE_ALIGNED - 1u) & ~(TILE_ALIGNED - 1u);
    }

    /* Called by the lanes of one warp, before a barrier. */
    MACHINE_METHOD void init() const
    {
        slots().init(READERS);
        if (simt_lane() == 0) {
            simt_mbar_init(ready(), 1);
            simt_mbar_init(exchanged(), READERS);
            simt_mbar_init(summed(), READERS);
        }
    }
};

/* Called by all readers: waits until all have called it for the number-th time. */
SIMT_FN void meet(simt_addr mbar, uint32_t number)
{
    simt_warp_sync(SIMT_ALL_LANES);
    if (simt_lane() == 0) {
        simt_mbar_arrive(mbar);
    }
    simt_mbar_wait(mbar, number & 1u);
}

#endif /* SHPOOL_EXAMPLES_DECODE_TEAM_H */
