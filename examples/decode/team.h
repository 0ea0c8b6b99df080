/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers: READERS warps in TEAMS teams.  Tiles are assigned to the teams round-robin; the
 * warps of a team share a tile's columns.  Also the layout of the block's shared memory before the
 * pool. */
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
#define MOST_SPANS 4u /* most spans that a lane's registers hold */
#define SPAN       (TEAM * 256u) /* columns of all lanes of a team, 8 each */

SIMT_FN uint32_t team_of_warp() { return simt_warp() / TEAM; }
SIMT_FN uint32_t team_rank() { return simt_warp() % TEAM; }

/* Results that the readers store for the end of an instruction, in two copies, because the next
 * instruction begins while the results of the one before are still being added up.
 *
 *   sums      for each warp of a team and each row
 *   squares   for each of these warps: sum of squares of the vector, for the norm
 *
 * Attention uses the memory of the sums for the largest score and the sum of the exponentials of
 * each warp and query head. */
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

/* Before the pool: slots, results, two mbarriers and a number.
 *
 *   ready   the watcher arrives when the next instruction's vector is complete
 *   summed  all readers arrive when they have stored their results, and wait
 *   tiles   number of tiles in the whole stream; all ones until the loader knows it */
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

    /* Called by one thread, before a barrier. */
    MACHINE_METHOD void init() const
    {
        slots().init(READERS);
        simt_mbar_init(ready(), 1);
        simt_mbar_init(summed(), READERS);
        simt_store32(tiles(), ~0u);
    }
    /* Called by all readers when their results are stored. */
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
