/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that make rows.  They differ in where a row's table comes from:
 *
 *   rows_by_pool    a pool that all warps of the block share; each row gets the size it needs, and
 *                   all idle warps help with long rows
 *   rows_by_warps   a static array for each warp
 *   rows_by_blocks  a static array for each block, whose warps make a row together
 *   rows_by_global  global memory, for rows with longer tables; by the whole block, in all versions
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_VERSIONS_H
#define SHPOOL_EXAMPLES_SPARSE_VERSIONS_H

#include "team.h"

/* The board comes first, then the pool.
 *
 * Each warp holds one allocation, and requests the next one only after it has freed that one, so no
 * warp waits for ever.  A waiting warp helps other warps to finish and free theirs. */
template <pass Pass>
struct rows_by_pool {
    product p;

    /* The state of a warp: a row with its memory, or a row that needs some. */
    struct state {
        row_job<shared_words> job;
        uint32_t              which;  /* step; STEPS: no memory is held */
        uint32_t              chunks; /* of the step */
        uint32_t              chunk;  /* the next one, of a row that the warp makes alone */
        uint32_t              bytes;  /* 0: no row */
        uint32_t              row, end; /* of the turn: rows that have not begun */
    };

    MACHINE_METHOD void operator()(const shpool_pool &pool) const
    {
        const team_board board = { simt_dynamic_base() };
        shpool_heap heap = shpool_init(&pool, simt_from_shared(board.base + BOARD_BYTES));
        state       now  = {};
        bool        left = false;

        now.which = STEPS;
        board.init();
        simt_barrier();
        while (!left || !board.is_empty()) {
            if (work(board, now)) {
                continue;
            }
            if (now.which != STEPS) {
                go_on(heap, board, now);
            } else if (left || !find_row(now)) {
                if (!left) {
                    board.leave();
                }
                left = true;
                simt_pause(100);
            } else {
                begin(heap, board, now);
            }
        }
        shpool_fini(heap);
    }

    /* Process one chunk: of the row that the warp makes alone, or of any row on the board. */
    MACHINE_METHOD bool work(const team_board &board, state &now) const
    {
        const bool            alone = (now.which != STEPS) && (now.bytes <= TEAM_BYTES);
        row_job<shared_words> job   = now.job;
        uint32_t              which = now.which;
        uint32_t              chunk = now.chunk;
        uint32_t              slot  = 0;

        if (alone) {
            if (now.chunk == now.chunks) {
                return false;
            }
            now.chunk++;
        } else {
            chunk = board.take(&slot);
            if (chunk == NONE) {
                return false;
            }
            job   = board.job_of(slot);
            which = simt_load32(board.at(slot, STEP));
        }
        do_chunk<Pass>(p, job, which, chunk);
        if (alone) {
            simt_warp_sync(SIMT_ALL_LANES);
        } else {
            board.finish(slot);
        }
        return true;
    }

    MACHINE_METHOD void open(const team_board &board, state &now, uint32_t which) const
    {
        now.which  = which;
        now.chunk  = 0;
        now.chunks = chunks_of<Pass>(p, now.job, which);
        if (now.bytes > TEAM_BYTES) {
            board.open(now.job, which, now.chunks);
        }
    }

    /* Begin the next step if all chunks are done; after the last step, free the memory. */
    MACHINE_METHOD void go_on(shpool_heap heap, const team_board &board, state &now) const
    {
        const uint32_t next = step_after(now.job, now.which);

        if ((now.bytes > TEAM_BYTES) && !board.is_done(now.chunks)) {
            simt_pause(100);
        } else if (next != STEPS) {
            open(board, now, next);
        } else {
            if (simt_lane() == 0) {
                finish_row<Pass>(p, now.job);
            }
            shpool_free_warp(heap, simt_from_shared(now.job.table.base));
            now.which = STEPS;
            now.bytes = 0;
        }
    }

    /* Find a row that needs memory; false: all rows have been taken. */
    MACHINE_METHOD bool find_row(state &now) const
    {
        while (now.bytes == 0) {
            if (now.row == now.end) {
                now.row = TURN * whole_warp{}.take(&p.sum->next);
                if (now.row >= p.a.rows) {
                    now.end = now.row;
                    return false;
                }
                now.end = (p.a.rows - now.row < TURN) ? p.a.rows : now.row + TURN;
            }
            now.job.row     = now.row++;
            now.job.entries = row_entries(p, Pass, now.job.row);
            if (now.job.entries != 0) {
                now.bytes = 4u * table_words(Pass, now.job.entries);
                now.bytes = (now.bytes <= p.most) ? now.bytes : 0u;
            }
        }
        return true;
    }

    /* One attempt: while the warp waited in the pool's queue, it could not help other warps, whose
     * memory it waits for. */
    MACHINE_METHOD void begin(shpool_heap heap, const team_board &board, state &now) const
    {
        void *memory = shpool_malloc_wait_warp(heap, now.bytes, 1u);

        if (memory != nullptr) {
            now.job.table = { simt_to_shared(memory) };
            open(board, now, INIT);
        } else {
            simt_pause(100);
        }
    }
};

/* Rows of a list, or all rows if there is none.  Rows whose tables do not fit are skipped: another
 * kernel makes them. */
struct rows_taken {
    const uint32_t *list;
    uint32_t        count;
    uint32_t        bytes; /* of each array */

    template <pass Pass, class Group>
    MACHINE_METHOD void make(const product &p, uint32_t turn, simt_addr table, Group group) const
    {
        for (uint32_t i = TURN * turn; (i < TURN * turn + TURN) && (i < count); i++) {
            const uint32_t row     = (list != nullptr) ? list[i] : i;
            const uint32_t entries = row_entries(p, Pass, row);

            if ((entries != 0) && (4u * table_words(Pass, entries) <= bytes)) {
                make_row<Pass>(p, row_job<shared_words>{ { table }, row, entries }, group);
            }
        }
    }
};

template <pass Pass>
struct rows_by_warps {
    product    p;
    rows_taken rows;
    uint32_t  *next;

    MACHINE_METHOD void operator()() const
    {
        const whole_warp warp;
        const simt_addr  table = simt_dynamic_base() + simt_warp() * rows.bytes;
        uint32_t         turn;

        while (TURN * (turn = warp.take(next)) < rows.count) {
            rows.template make<Pass>(p, turn, table, warp);
        }
    }
};

template <pass Pass>
struct rows_by_blocks { /* the array comes after the turn */
    product    p;
    rows_taken rows;
    uint32_t  *next;

    MACHINE_METHOD void operator()() const
    {
        const whole_block block;
        const simt_addr   word = simt_dynamic_base();
        uint32_t          turn;

        while (TURN * (turn = block.take(next, word)) < rows.count) {
            rows.template make<Pass>(p, turn, word + TURN_BYTES, block);
        }
    }
};

template <pass Pass>
struct rows_by_global {
    product   p;
    uint32_t *tables;
    uint32_t  longest; /* words of a table */

    MACHINE_METHOD void operator()() const
    {
        const global_words table = { tables + static_cast<size_t>(simt_block_rank()) * longest };
        const whole_block  block;

        for (uint32_t i = simt_block_rank(); i < p.sum->large; i += simt_grid_blocks()) {
            const uint32_t              row = p.large[i];
            const row_job<global_words> job = { table, row, row_entries(p, Pass, row) };

            make_row<Pass>(p, job, block);
        }
    }
};

#endif /* SHPOOL_EXAMPLES_SPARSE_VERSIONS_H */
