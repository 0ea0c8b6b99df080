/* SPDX-License-Identifier: BSD-3-Clause */
/* Around the two passes, the same for all versions: how many products a row has, where the rows of
 * C begin, which rows are too long for shared memory, and lists of rows by the size of their tables
 * for those who have no allocator. */
#ifndef SHPOOL_EXAMPLES_SPARSE_PREPARE_H
#define SHPOOL_EXAMPLES_SPARSE_PREPARE_H

#include "rows.h"

#define SCAN_THREADS 1024u

/* Put a row on the list of rows_by_block if its table is too long for the others. */
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
        const uint32_t warps = simt_block_threads() / SIMT_WARP;
        const uint32_t step  = simt_grid_blocks() * warps;

        for (uint32_t row = simt_block_rank() * warps + simt_warp(); row < p.a.rows; row += step) {
            uint32_t sum = 0;

            for (uint32_t i = p.a.begin[row] + simt_lane(); i < p.a.begin[row + 1u];
                 i += SIMT_WARP) {
                sum += p.b.begin[p.a.column[i] + 1u] - p.b.begin[p.a.column[i]];
            }
            for (uint32_t lane = SIMT_WARP / 2u; lane != 0; lane /= 2u) {
                sum += simt_shfl_xor(SIMT_ALL_LANES, sum, lane);
            }
            if (simt_lane() == 0) {
                p.products[row] = sum;
                p.begin[row]    = 0;
                simt_global_add64(&p.sum->products, sum);
                if (sum != 0) {
                    list_if_large(p, row, table_words(COUNT, table_entries(p, COUNT, row, 0)));
                }
            }
        }
    }
};

/* One block: lengths of rows become their beginnings.  Dynamic shared memory: a word a thread. */
struct sum_lengths {
    product p;

    MACHINE_METHOD void operator()() const
    {
        const uint32_t  threads = simt_block_threads();
        const uint32_t  rank    = simt_thread_rank();
        const uint32_t  share   = (p.a.rows + threads - 1u) / threads;
        const uint32_t  first   = (rank * share < p.a.rows) ? rank * share : p.a.rows;
        const uint32_t  last    = (p.a.rows - first < share) ? p.a.rows : first + share;
        const simt_addr sums    = simt_dynamic_base();
        uint32_t        sum     = 0;

        for (uint32_t row = first; row < last; row++) {
            sum += p.begin[row];
        }
        simt_store32(sums + 4u * rank, sum);
        simt_barrier();
        for (uint32_t distance = 1; distance < threads; distance *= 2u) {
            const uint32_t before = (rank >= distance) ? simt_load32(sums + 4u * (rank - distance))
                                                       : 0u;

            simt_barrier();
            simt_store32(sums + 4u * rank, simt_load32(sums + 4u * rank) + before);
            simt_barrier();
        }
        sum = simt_load32(sums + 4u * rank) - sum;
        for (uint32_t row = first; row < last; row++) {
            const uint32_t length = p.begin[row];

            p.begin[row] = sum;
            sum += length;
            if (length != 0) {
                list_if_large(p, row, table_words(FILL, table_entries(p, FILL, row, length)));
            }
        }
        if (rank == threads - 1u) {
            p.begin[p.a.rows] = sum;
        }
    }
};

/* Each row whose table fits goes to the list of its bin.  Full warps; rows up to a multiple of 32.
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
