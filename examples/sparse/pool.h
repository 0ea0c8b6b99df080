/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel with a pool of the block: each row allocates the table that it needs.  Teams grow with
 * the memory they hold: a row with a long table is put on a board of the block.  Every warp that
 * would otherwise take a new row, or wait, processes a chunk of it first.  So the block's warps
 * finish the rows that hold most memory first.
 *
 * A row on the board has a slot.  LEFT counts the chunks of its current step that are not taken
 * yet.  A warp that takes a chunk may use the slot's other fields until it adds 1 to DONE: the
 * owner waits until all chunks are in DONE.  There are no other waits here.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_POOL_H
#define SHPOOL_EXAMPLES_SPARSE_POOL_H

#include "rows.h"

#define SLOTS       32u
#define SLOT_WORDS  8u
#define BOARD_BYTES (4u * (SLOTS * SLOT_WORDS + 4u)) /* what follows it is aligned to 16 */

enum slot_word { LEFT, DONE, JOB = 4 /* four words */ };

/* In shared memory; a slot for each of up to 32 warps, and one whose LEFT counts the warps that
 * have not taken their last row.  Called by whole warps. */
struct team_board {
    simt_addr base;

    MACHINE_METHOD simt_addr at(uint32_t slot, slot_word word) const
    {
        return base + 4u * (slot * SLOT_WORDS + word);
    }
    MACHINE_METHOD void add(uint32_t slot, slot_word word, uint32_t count, simt_order order) const
    {
        if (simt_lane() == 0) { (void)simt_atomic_add(at(slot, word), count, order); }
    }
    MACHINE_METHOD bool is(uint32_t slot, slot_word word, uint32_t count, simt_order order) const
    {
        return simt_all(SIMT_ALL_LANES, simt_atomic_load(at(slot, word), order) == count);
    }

    MACHINE_METHOD void init() const /* called by the whole block */
    {
        const uint32_t threads = simt_block_threads(), words = SLOTS * SLOT_WORDS;

        for (uint32_t i = simt_thread_rank(); i <= words; i += threads) {
            simt_store32(base + 4u * i, (i == words) ? threads / SIMT_WARP : 0u);
        }
        simt_barrier();
    }

    /* Put a step of `chunks` chunks into the caller's own slot. */
    MACHINE_METHOD void open(const row_job<shared_words> &job, uint32_t chunks) const
    {
        const uint32_t slot = simt_warp();

        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have finished the step before */
        if (simt_lane() == 0) {
            simt_store128(at(slot, JOB), { job.table.base, job.row, job.entries, job.step });
            simt_store32(at(slot, DONE), 0);
            /* release: a warp that takes a chunk sees the fields, and the steps before */
            simt_atomic_store(at(slot, LEFT), chunks, SIMT_RELEASE);
        }
        simt_warp_sync(SIMT_ALL_LANES); /* before the other lanes read DONE */
    }

    /* Take a chunk, from the caller's own slot if it has any left; false: there are none. */
    MACHINE_METHOD bool take(uint32_t *slot_p, uint32_t *chunk_p) const
    {
        const uint32_t own  = simt_warp();
        const uint32_t seen = simt_atomic_load(at(simt_lane(), LEFT), SIMT_RELAXED);
        const uint32_t open = simt_ballot(SIMT_ALL_LANES, (int32_t)seen > 0);
        const uint32_t next = open & ~simt_mask(0, own); /* warps begin at different slots */
        uint32_t       left = 0;

        if (open == 0) { return false; }
        *slot_p = simt_ffs((next != 0) ? next : open) - 1u;
        if (simt_lane() == 0) { /* acquire: the release in open() */
            left = simt_atomic_add(at(*slot_p, LEFT), ~0u, SIMT_ACQUIRE);
        }
        left     = simt_shfl(SIMT_ALL_LANES, left, 0);
        *chunk_p = left - 1u;
        simt_warp_sync(SIMT_ALL_LANES); /* orders all lanes after the first one's acquire */
        return (int32_t)left > 0;
    }
};

/* A warp: it makes a row, or needs memory for one.
 *
 * It holds one allocation, and requests the next one only after it has freed that one, so no warp
 * waits for ever.  A waiting warp helps other warps to finish and free theirs. */
template <pass Pass>
struct pool_warp {
    const product        &p;
    const team_board      board;
    shpool_heap           heap;
    row_job<shared_words> job    = {}; /* its step is NO_STEP: no memory is held */
    uint32_t              chunks = 0;  /* of the step */
    uint32_t              chunk  = 0;  /* the next one, of a row that the warp makes alone */
    uint32_t              bytes  = 0;  /* of the table; 0: no row */
    uint32_t              row    = 0;  /* the next one of the turn */

    MACHINE_METHOD void run()
    {
        bool left = false;

        for (job.step = NO_STEP; !left || !board.is(SLOTS, LEFT, 0, SIMT_RELAXED);) {
            if (work()) { continue; }
            if (job.step != NO_STEP) {
                go_on();
            } else if (!left && find_row()) {
                /* one attempt: while the warp waited in the pool's queue, it could not help other
                 * warps, whose memory it waits for */
                void *memory = shpool_malloc_wait_warp(heap, bytes, 1u);

                job.table = { simt_to_shared(memory) };
                (memory != nullptr) ? open(INIT) : simt_pause(100);
            } else {
                if (!left) { board.add(SLOTS, LEFT, ~0u, SIMT_RELAXED); }
                left = true;
                simt_pause(100);
            }
        }
    }

    /* Process one chunk: of the row that the warp makes alone, or of any row on the board. */
    MACHINE_METHOD bool work()
    {
        const bool            alone = (job.step != NO_STEP) && (bytes <= TEAM_BYTES);
        row_job<shared_words> next  = job;
        uint32_t              at    = chunk++;
        uint32_t              slot  = 0;

        if (alone ? at >= chunks : !board.take(&slot, &at)) { return false; }
        if (!alone) {
            const simt_u128 word = simt_load128(board.at(slot, JOB));
            next                 = { { word.x }, word.y, word.z, word.w };
        }
        do_chunk<Pass>(p, next, at);
        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have finished */
        if (!alone) { board.add(slot, DONE, 1u, SIMT_RELEASE); } /* go_on() acquires */
        return true;
    }

    MACHINE_METHOD void open(uint32_t step)
    {
        job.step = step;
        chunk    = 0;
        chunks   = chunks_of<Pass>(p, job);
        if (bytes > TEAM_BYTES) { board.open(job, chunks); }
    }

    /* Begin the next step if all chunks are done; after the last step, free the memory. */
    MACHINE_METHOD void go_on()
    {
        /* acquire: all writes of the helpers; in all lanes, which continue together */
        if ((bytes > TEAM_BYTES) && !board.is(simt_warp(), DONE, chunks, SIMT_ACQUIRE)) {
            simt_pause(100);
        } else if (job.step + 1u != STEPS(Pass)) {
            open(job.step + 1u);
        } else {
            if ((Pass == COUNT) && (simt_lane() == 0)) { p.begin[job.row] = job.length(); }
            shpool_free_warp(heap, simt_from_shared(job.table.base));
            job.step = NO_STEP;
            bytes    = 0;
        }
    }

    /* Find a row that needs memory; false: all rows have been taken. */
    MACHINE_METHOD bool find_row()
    {
        while (bytes == 0) {
            if (row % TURN == 0) { row = TURN * whole_warp{}.take(&p.sum->next[0]); }
            if (row >= p.rows) { return false; }
            job.row     = row++;
            job.entries = row_entries(p, Pass, job.row);
            bytes       = 4u * table_words(Pass, job.entries);
            if ((job.entries == 0) || (bytes > p.most)) { bytes = 0; }
        }
        return true;
    }
};

template <pass Pass>
struct rows_by_pool { /* the board comes first, then the pool */
    product p;

    MACHINE_METHOD void operator()(const shpool_pool &pool) const
    {
        const team_board board = { simt_dynamic_base() };
        shpool_heap heap = shpool_init(&pool, simt_from_shared(board.base + BOARD_BYTES));

        board.init();
        pool_warp<Pass>{ p, board, heap }.run();
        shpool_fini(heap);
    }
};

#endif /* SHPOOL_EXAMPLES_SPARSE_POOL_H */
