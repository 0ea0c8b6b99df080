/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels around the two passes, the same for all versions: they count the products of each row,
 * find rows that are too long for shared memory, and list rows by the size of their tables for the
 * versions without an allocator. */
#ifndef SHPOOL_EXAMPLES_SPARSE_PREPARE_H
#define SHPOOL_EXAMPLES_SPARSE_PREPARE_H

#include "rows.h"

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

#endif /* SHPOOL_EXAMPLES_SPARSE_PREPARE_H */
