/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a row whose table is in global memory in the order of its columns, for --sort 1.  The
 * place of a column in its row is the number of bits before its own, in a bitmap of all columns of
 * C.  The bitmap is cleared and counted for each row: this costs little beside a long table, but
 * more than the row itself if C has far more columns than the row.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_RANK_H
#define SHPOOL_EXAMPLES_SPARSE_RANK_H

#include "rows.h"

/* In global memory: the bitmap; for each of its words, the number of bits before; a sum for each
 * warp.  In whole groups of four, so that the next block's table is aligned. */
#define BITMAP_WORDS(_columns) ((_columns) / 32u + 1u)
#define RANK_WORDS(_columns)   ((2u * BITMAP_WORDS(_columns) + SIMT_WARP + 3u) & ~3u)

/* Store for each word of the bitmap the number of bits before it; each thread for some words in a
 * row.  `sums` has a word for each warp. */
SIMT_FN void count_bits(global_words bits, global_words before, global_words sums, uint32_t words,
                        whole_block block)
{
    const uint32_t share = (words + block.size() - 1u) / block.size();
    const uint32_t first = block.rank() * share;
    uint32_t       mine  = 0;
    uint32_t       below;

    for (uint32_t w = first; (w < first + share) && (w < words); w++) {
        mine += simt_popc(bits.get(w));
    }
    below = sum_below(mine);
    if (simt_lane() == SIMT_WARP - 1u) {
        sums.set(block.warp(), below + mine);
    }
    block.sync();
    for (uint32_t warp = 0; warp < block.warp(); warp++) {
        below += sums.get(warp);
    }
    for (uint32_t w = first; (w < first + share) && (w < words); w++) {
        before.set(w, below);
        below += simt_popc(bits.get(w));
    }
    block.sync();
}

/* Called by the whole block, after the products have been inserted; `bits` has RANK_WORDS. */
SIMT_FN void write_by_rank(const product &p, const row_job<global_words> &job, global_words bits,
                           whole_block block)
{
    const uint32_t     words  = BITMAP_WORDS(p.columns);
    const global_words before = bits.from(words);

    for (uint32_t w = block.rank(); w < words; w += block.size()) {
        bits.set(w, 0);
    }
    block.sync();
    for (uint32_t i = block.rank(); i < job.entries; i += block.size()) {
        const uint32_t column = job.table.get(i);

        if (column != VACANT) {
            bits.set_bits(column / 32u, 1u << (column % 32u));
        }
    }
    block.sync();
    count_bits(bits, before, before.from(words), words, block);
    for (uint32_t i = block.rank(); i < job.entries; i += block.size()) {
        const uint32_t column = job.table.get(i);

        if (column != VACANT) {
            const uint32_t lower = bits.get(column / 32u) & simt_mask(0, column % 32u);
            const uint32_t to    = p.begin[job.row] + before.get(column / 32u) + simt_popc(lower);

            p.column[to] = column;
            p.value[to]  = value_of(job.table.get(job.entries + i));
        }
    }
    block.sync(); /* the memory may be used again */
}

#endif /* SHPOOL_EXAMPLES_SPARSE_RANK_H */
