/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who reads: READERS warps in TEAMS teams.  Tile after tile goes to the teams in turn; the warps of
 * a team share its columns.  And the block's shared memory in front of the pool. */
#ifndef SHPOOL_EXAMPLES_DECODE_TEAM_H
#define SHPOOL_EXAMPLES_DECODE_TEAM_H

#include "program.h"
#include "tiles.h"

#if defined(__CUDACC__)
#define READERS 16u
#define TEAMS   2u
#else /* a fiber for each thread */
#define READERS 4u
#define TEAMS   2u
#endif
#define TEAM       (READERS / TEAMS)
#define MOST_SPANS 4u /* spans that a lane's registers hold, at most */
#define SPAN       (TEAM * 256u) /* columns that a team's lanes have together, 8 each */

SIMT_FN uint32_t team_of_warp() { return simt_warp() / TEAM; }
SIMT_FN uint32_t team_rank() { return simt_warp() % TEAM; }

/* What readers leave for the end of an instruction, in two copies: the next instruction begins
 * while the results of the one before are still being added up.
 *
 *   sums      for each warp of a team and each row
 *   squares   for each of these warps: of the vector, for the norm
 *
 * Attention uses the sums' place for the largest score and the sum of the exponentials of each
 * warp and query head. */
#define SUMS_BYTES    (TEAM * MOST_ROWS * 4u)
#define RESULTS_BYTES (SUMS_BYTES + TEAM * 4u + (16u - TEAM * 4u % 16u) % 16u)
#define MOST_GROUP    (SUMS_BYTES / (READERS * 8u)) /* query heads of a key head */

struct results {
    simt_addr base;

    MACHINE_METHOD simt_addr sums(uint32_t rank) const { return base + rank * MOST_ROWS * 4u; }
    MACHINE_METHOD simt_addr square(uint32_t rank) const { return base + SUMS_BYTES + rank * 4u; }
    MACHINE_METHOD simt_addr scale(uint32_t warp, uint32_t head) const
    {
        return base + (warp * MOST_GROUP + head) * 8u;
    }
};

/* In front of the pool: slots, results, two mbarriers and a number.
 *
 *   ready   the next instruction's vector is there: the watcher arrives
 *   summed  all readers have left their results: they arrive, and wait
 *   tiles   how many there are in the whole stream; all ones until the loader knows */
#define CONTROL_BYTES (SLOTS * SLOT_BYTES + 2u * RESULTS_BYTES + 32u)

struct control {
    simt_addr base;

    MACHINE_METHOD slot_table slots() const { return { base }; }
    MACHINE_METHOD results    result(uint32_t number) const
    {
        return { base + SLOTS * SLOT_BYTES + (number & 1u) * RESULTS_BYTES };
    }
    MACHINE_METHOD simt_addr ready() const { return base + CONTROL_BYTES - 32u; }
    MACHINE_METHOD simt_addr summed() const { return base + CONTROL_BYTES - 24u; }
    MACHINE_METHOD simt_addr tiles() const { return base + CONTROL_BYTES - 16u; }
    MACHINE_METHOD simt_addr pool() const
    {
        return (base + CONTROL_BYTES + TILE_ALIGNED - 1u) & ~(TILE_ALIGNED - 1u);
    }

    /* By one thread, with a barrier behind it. */
    MACHINE_METHOD void init() const
    {
        slots().init(READERS);
        simt_mbar_init(ready(), 1);
        simt_mbar_init(summed(), READERS);
        simt_store32(tiles(), ~0u);
    }
    /* By all readers: their results are there. */
    MACHINE_METHOD void meet(uint32_t number) const
    {
        simt_warp_sync(SIMT_ALL_LANES);
        if (simt_lane() == 0) {
            simt_mbar_arrive(summed());
        }
        simt_mbar_wait(summed(), number & 1u);
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_TEAM_H */
