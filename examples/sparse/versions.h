/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels that prepare a pass, and those that make rows in static arrays or global memory. */
#ifndef SHPOOL_EXAMPLES_SPARSE_VERSIONS_H
#define SHPOOL_EXAMPLES_SPARSE_VERSIONS_H

#include "rows.h"

/* A warp for each row of A. */
struct count_products {
    product p;

    MACHINE_METHOD void operator()() const
    {
        const uint32_t warps = grid_threads() / SIMT_WARP;

        for (uint32_t row = grid_rank() / SIMT_WARP; row < p.rows; row += warps) {
            const uint32_t last = p.a_begin[row + 1u];
            uint32_t       sum  = 0;

            for (uint32_t first = p.a_begin[row]; first < last; first += SIMT_WARP) {
                const uint32_t  i      = first + simt_lane();
                const uint32_t *length = p.a_begin + ((i < last) ? p.a_column[i] : 0u);
                const uint32_t  mine   = (i < last) ? length[1] - length[0] : 0u;
                const uint32_t  below  = sum + sum_below(mine);

                if (i < last) { p.before[i] = below; }
                sum = simt_shfl(SIMT_ALL_LANES, below + mine, SIMT_WARP - 1u);
            }
            if (simt_lane() == 0) {
                p.products[row] = sum;
                p.begin[row]    = 0;
            }
        }
    }
};

/* Put each row whose bin is at least `first` on the list of its bin. */
template <pass Pass>
struct list_rows {
    product  p;
    uint32_t first;

    MACHINE_METHOD void operator()() const
    {
        for (uint32_t row = grid_rank(); row - simt_lane() < p.rows; row += grid_threads()) {
            const uint32_t entries = (row < p.rows) ? row_entries(p, Pass, row) : 0u;
            const uint32_t words   = table_words(Pass, entries);
            const uint32_t array   = (4u * words > p.least) ? 4u * words : p.least;
            const uint32_t bin     = (4u * words > p.most) ? LARGE : 24u - simt_clz(array - 1u);
            const bool     listed  = (entries != 0) && (bin >= first);
            const uint32_t same    = simt_match_any(SIMT_ALL_LANES, listed ? bin : ~0u);
            const uint32_t below   = simt_popc(same & simt_mask(0, simt_lane()));
            uint32_t       at      = 0;

            if (listed && (below == 0)) {
                at = simt_global_add32(&p.sum->in_bin[bin], simt_popc(same));
            }
            at = simt_shfl(SIMT_ALL_LANES, at, simt_ffs(same) - 1u) + below;
            if (listed) { p.bins[(size_t)bin * p.rows + at] = row; }
            if (listed && (bin == LARGE)) { simt_global_max32(&p.sum->longest, words); }
        }
    }
};

/* Where a group's table of `bytes` is: in shared memory, after the word of the block's turns. */
struct in_shared {
    MACHINE_METHOD shared_words table(uint32_t bytes, uint32_t number) const
    {
        return { simt_dynamic_base() + TURN_BYTES + number * bytes };
    }
};
struct in_global {
    uint32_t *tables;

    MACHINE_METHOD global_words table(uint32_t bytes, uint32_t) const
    {
        return { tables + (size_t)simt_block_rank() * (bytes / 4u) };
    }
};

/* The rows of a bin, by groups that take a turn of TURN at a time, or of one in global memory. */
template <pass Pass, class Group, class Place>
struct rows_by {
    product  p;
    Place    place;
    uint32_t bin, bytes, count;

    MACHINE_METHOD void operator()() const
    {
        const uint32_t *const list = p.bins + (size_t)bin * p.rows;
        const uint32_t        turn = (bin == LARGE) ? 1u : TURN;
        const Group           group;
        uint32_t              first;

        while ((first = turn * group.take(&p.sum->next[bin], simt_dynamic_base())) < count) {
            for (uint32_t i = first; (i < first + turn) && (i < count); i++) {
                make_row<Pass>(p, place.table(bytes, group.number()), list[i], group);
            }
        }
    }
};

#endif /* SHPOOL_EXAMPLES_SPARSE_VERSIONS_H */
