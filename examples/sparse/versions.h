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

#include "rows.h"

/* ---- around the two passes, the same for all versions ---- */

/* Put a row on the list of rows_by_global if its table is too long for the others. */
SIMT_FN void list_if_large(const product &p, uint32_t row, uint32_t words)
{
    if (4u * words > p.most) {
        p.large[simt_global_add32(&p.sum->large, 1)] = row;
        simt_global_max32(&p.sum->longest, words);
    }
}

/* A warp for each row of A. */
struct count_products {
    product p;

    MACHINE_METHOD void operator()() const
    {
        const uint32_t     warps = simt_block_threads() / SIMT_WARP;
        const uint32_t     step  = simt_grid_blocks() * warps;
        unsigned long long all   = 0;

        for (uint32_t row = simt_block_rank() * warps + simt_warp(); row < p.a.rows; row += step) {
            const uint32_t last = p.a.begin[row + 1u];
            uint32_t       sum  = 0;

            for (uint32_t first = p.a.begin[row]; first < last; first += SIMT_WARP) {
                sum += measure(first + simt_lane(), last, sum);
            }
            all += sum;
            if (simt_lane() == 0) {
                p.products[row] = sum;
                p.begin[row]    = 0;
                if (sum != 0) {
                    list_if_large(p, row, table_words(COUNT, table_entries(p, COUNT, row, 0)));
                }
            }
        }
        if ((simt_lane() == 0) && (all != 0)) {
            simt_global_add64(&p.sum->products, all);
        }
    }

    /* One entry a lane, up to the last of its row; returns the products of these 32. */
    MACHINE_METHOD uint32_t measure(uint32_t i, uint32_t last, uint32_t before) const
    {
        const uint32_t column = (i < last) ? p.a.column[i] : 0u;
        const uint32_t mine   = (i < last) ? p.b.begin[column + 1u] - p.b.begin[column] : 0u;
        const uint32_t below  = sum_below(mine);

        if (i < last) {
            p.before[i] = before + below;
        }
        return simt_shfl(SIMT_ALL_LANES, below + mine, SIMT_WARP - 1u);
    }
};

/* A thread for each row, after the prefix sums of the lengths are computed. */
struct list_large {
    product p;

    MACHINE_METHOD void operator()() const
    {
        const uint32_t step = simt_grid_blocks() * simt_block_threads();

        for (uint32_t row = simt_block_rank() * simt_block_threads() + simt_thread_rank();
             row < p.a.rows; row += step) {
            if (p.products[row] != 0) {
                list_if_large(p, row, table_words(FILL, row_entries(p, FILL, row)));
            }
        }
    }
};

/* Put each row whose table fits on the list of its bin.  Full warps; rows up to a multiple of 32.
 */
template <pass Pass>
struct sort_rows {
    product p;

    MACHINE_METHOD void operator()() const
    {
        const uint32_t step = simt_grid_blocks() * simt_block_threads();

        for (uint32_t row = simt_block_rank() * simt_block_threads() + simt_thread_rank();
             row - simt_lane() < p.a.rows; row += step) {
            const uint32_t entries = (row < p.a.rows) ? row_entries(p, Pass, row) : 0u;
            const uint32_t bytes   = 4u * table_words(Pass, entries);
            const uint32_t bin     = (bytes <= 256u) ? 0u : 24u - simt_clz(bytes - 1u);
            const bool     listed  = (entries != 0) && (bytes <= p.most);

            for (uint32_t b = 0; b < BINS; b++) {
                const uint32_t mine = simt_ballot(SIMT_ALL_LANES, listed && (bin == b));
                uint32_t       at   = 0;

                if ((mine != 0) && (simt_lane() == 0)) {
                    at = simt_global_add32(&p.sum->in_bin[b], simt_popc(mine));
                }
                at = simt_shfl(SIMT_ALL_LANES, at, 0);
                if (listed && (bin == b)) {
                    at += simt_popc(mine & simt_mask(0, simt_lane()));
                    p.bins[static_cast<size_t>(b) * p.a.rows + at] = row;
                }
            }
        }
    }
};

/* ---- the pool ---- */

/*
 * Teams that grow with the memory they hold: a row with a long table is put on a board of the
 * block.  Every warp that would otherwise take a new row, or wait, processes a chunk of it first.
 * So the block's warps finish the rows that hold most memory first.
 *
 * A row on the board has a slot.  `left` counts the chunks of its current step that are not taken
 * yet.  A warp that takes one may use the slot's other fields until it adds 1 to `done`, because
 * the owner waits for that before it continues.  There are no other waits here.
 */
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

/* ---- static arrays, and global memory ---- */

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
