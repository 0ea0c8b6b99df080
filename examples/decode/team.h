/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers: READERS warps in TEAMS teams.  All of them read each tile: a team multiplies a
 * segment, SEGMENT columns, of some of its rows.  If rows are longer than a segment, the teams
 * share them.  Also the layout of the block's shared memory before the pool. */
#ifndef SHPOOL_EXAMPLES_DECODE_TEAM_H
#define SHPOOL_EXAMPLES_DECODE_TEAM_H

#include "model.h"
#include "tiles.h"

#if defined(__CUDACC__)
#define READERS 16u
#else /* a fiber for each thread */
#define READERS 4u
#endif
#define TEAMS   4u
#define TEAM    (READERS / TEAMS)
#define LANE    16u /* columns of a lane: 8, and 8 more 256 columns further on */
#define SEGMENT (TEAM * SIMT_WARP * LANE)

SIMT_FN uint32_t team_of_warp() { return simt_warp() / TEAM; }
SIMT_FN uint32_t team_rank() { return simt_warp() % TEAM; }

/* Segments of a row: a power of two, at most TEAMS. */
SIMT_HD uint32_t segments(uint32_t columns)
{
    return (columns <= SEGMENT) ? 1u : (columns <= 2u * SEGMENT) ? 2u : TEAMS;
}

/* A team's share of the rows: `first`, first + step, ... and of each row one segment. */
struct team_share {
    uint32_t first;
    uint32_t step;
    uint32_t segment;
};
SIMT_FN team_share share_of_team(uint32_t columns)
{
    const uint32_t n = segments(columns);

    return {team_of_warp() / n, TEAMS / n, team_of_warp() % n};
}

/* Results that the readers store for the end of an instruction, in two copies, because the next
 * instruction begins while the results of the one before are still being added up.
 *
 *   sums      for each row, segment and warp of a team
 *   squares   for each warp: sum of squares of its numbers of the vector, for the norm
 *
 * Attention uses the memory of the sums for the largest score and the sum of the exponentials of
 * each warp. */
#define MOST_SUMS     128u /* most rows of an instruction, times the segments of a row */
#define SUMS_BYTES    (MOST_SUMS * TEAM * 4u)
#define RESULTS_BYTES (SUMS_BYTES + READERS * 4u)

struct results {
    simt_addr base;

    MACHINE_METHOD simt_addr sums(uint32_t row) const { return base + row * TEAM * 4u; }
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
    MACHINE_METHOD simt_addr ready() const { return exchange() - 32u; }
    MACHINE_METHOD simt_addr exchanged() const { return exchange() - 24u; }
    MACHINE_METHOD simt_addr summed() const { return exchange() - 16u; }
    MACHINE_METHOD simt_addr pool() const
    {
        return (base + CONTROL_BYTES + TILE_ALIGNED - 1u) & ~(TILE_ALIGNED - 1u);
    }

    /* Called by one thread, before a barrier. */
    MACHINE_METHOD void init() const
    {
        slots().init(READERS);
        simt_mbar_init(ready(), 1);
        simt_mbar_init(exchanged(), READERS);
        simt_mbar_init(summed(), READERS);
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
