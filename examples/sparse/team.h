/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams that grow with the memory they hold: a row with a long table is put on a board of the
 * block.  Every warp that would otherwise take a new row, or wait, processes a chunk of it first.
 * So the block's warps finish the rows that hold most memory first.
 *
 * A row on the board has a slot.  `left` counts the chunks of its current step that are not taken
 * yet.  A warp that takes one may use the slot's other fields until it adds 1 to `done`, because
 * the owner waits for that before it continues.  There are no other waits here.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_TEAM_H
#define SHPOOL_EXAMPLES_SPARSE_TEAM_H

#include "rows.h"

#define SLOTS       32u
#define SLOT_WORDS  8u
#define BOARD_BYTES (4u * (SLOTS * SLOT_WORDS + 4u)) /* what follows it is aligned to 16 */
#define NONE        ~0u

enum slot_word { LEFT, DONE, STEP, ROW, ENTRIES, TABLE };

/* In shared memory; a slot for each of up to 32 warps.  Called by whole warps. */
struct team_board {
    simt_addr base;

    MACHINE_METHOD simt_addr at(uint32_t slot, slot_word word) const
    {
        return base + 4u * (slot * SLOT_WORDS + word);
    }
    MACHINE_METHOD simt_addr running() const { return base + 4u * SLOTS * SLOT_WORDS; }

    /* Called by all threads of the block, before a barrier. */
    MACHINE_METHOD void init() const
    {
        for (uint32_t i = simt_thread_rank(); i < SLOTS * SLOT_WORDS; i += simt_block_threads()) {
            simt_store32(base + 4u * i, 0);
        }
        if (simt_thread_rank() == 0) {
            simt_store32(running(), simt_block_threads() / SIMT_WARP);
        }
    }

    /* Put a step of `chunks` chunks into the caller's own slot. */
    MACHINE_METHOD void open(const row_job<shared_words> &job, uint32_t which,
                             uint32_t chunks) const
    {
        const uint32_t slot = simt_warp();

        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have finished the step before */
        if (simt_lane() == 0) {
            simt_store32(at(slot, STEP), which);
            simt_store32(at(slot, ROW), job.row);
            simt_store32(at(slot, ENTRIES), job.entries);
            simt_store32(at(slot, TABLE), job.table.base);
            simt_store32(at(slot, DONE), 0);
            /* release: a warp that takes a chunk sees the fields, and the steps before */
            simt_atomic_store(at(slot, LEFT), chunks, SIMT_RELEASE);
        }
        simt_warp_sync(SIMT_ALL_LANES); /* before the other lanes read DONE */
    }

    /* All chunks of the caller's own step are done. */
    MACHINE_METHOD bool is_done(uint32_t chunks) const
    {
        /* acquire: all writes of the helpers; in all lanes, which continue together */
        return simt_all(SIMT_ALL_LANES,
                        simt_atomic_load(at(simt_warp(), DONE), SIMT_ACQUIRE) == chunks);
    }

    /* Take a chunk, from the caller's own slot if it has any left; NONE: there are none. */
    MACHINE_METHOD uint32_t take(uint32_t *slot_p) const
    {
        const uint32_t own  = simt_warp();
        const uint32_t seen = simt_atomic_load(at(simt_lane(), LEFT), SIMT_RELAXED);
        const uint32_t open = simt_ballot(SIMT_ALL_LANES, static_cast<int32_t>(seen) > 0);
        const uint32_t next = open & ~simt_mask(0, own); /* warps begin at different slots */
        uint32_t       left = 0;

        if (open == 0) {
            return NONE;
        }
        *slot_p = simt_ffs((next != 0) ? next : open) - 1u;
        if (simt_lane() == 0) { /* acquire: the release in open() */
            left = simt_atomic_add(at(*slot_p, LEFT), ~0u, SIMT_ACQUIRE);
        }
        left = simt_shfl(SIMT_ALL_LANES, left, 0);
        simt_warp_sync(SIMT_ALL_LANES); /* orders all lanes after the first one's acquire */
        return (static_cast<int32_t>(left) > 0) ? left - 1u : NONE;
    }
    MACHINE_METHOD row_job<shared_words> job_of(uint32_t slot) const
    {
        return { { simt_load32(at(slot, TABLE)) },
                 simt_load32(at(slot, ROW)),
                 simt_load32(at(slot, ENTRIES)) };
    }
    MACHINE_METHOD void finish(uint32_t slot) const
    {
        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have finished */
        if (simt_lane() == 0) {         /* release: the acquire in is_done() */
            (void)simt_atomic_add(at(slot, DONE), 1u, SIMT_RELEASE);
        }
    }

    /* After a warp's last row. */
    MACHINE_METHOD void leave() const
    {
        if (simt_lane() == 0) {
            (void)simt_atomic_add(running(), ~0u, SIMT_RELAXED);
        }
    }
    MACHINE_METHOD bool is_empty() const /* all warps have left */
    {
        return simt_all(SIMT_ALL_LANES, simt_atomic_load(running(), SIMT_RELAXED) == 0);
    }
};

#endif /* SHPOOL_EXAMPLES_SPARSE_TEAM_H */
