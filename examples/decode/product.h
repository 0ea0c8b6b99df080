/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of bf16 weights times a vector of floats, with tensor cores.
 *
 * A tensor core multiplies eight rows of weights by a matrix of eight columns.  The vector fills
 * these columns as follows.  Each number is the sum of two numbers in bf16, which keep 16 bits of
 * it: a column for each.  Four such pairs of columns are for different segments of a row: eight
 * rows of one segment, four of two, or two of four are multiplied at a time.  A pair's products of
 * another segment's weights are not used.
 *
 * The order of columns in a product is free, as long as weights and vector have the same.  So a
 * lane loads 16 bytes of weights at once, eight adjacent columns.  Rows are a multiple of 128 bytes
 * apart, in the same banks; so every other row begins with the other half of 128 bytes, and so do
 * the odd pairs.  Row r of the eight uses pair r % 4.
 *
 * An example: the eight columns of one load of a lane, two in each word.  The instruction has 16
 * rows, and expects a lane's four words to be of two rows, r and r + 8.  Here they are of one row,
 * so two instructions multiply them: each gives the sum for two words, in one of the two rows.  The
 * sum in its other row is not used.
 *
 *   weights     columns            0 1       2 3       4 5       6 7
 *               word                 0         1         2         3
 *               row of the 16        r     r + 8         r     r + 8
 *   vector      word                 0         2         1         3
 *   products    first instruction  0 1                 4 5               of row r
 *               second                       2 3                 6 7     of row r + 8
 *
 * An instruction's two words of the vector are adjacent in a load if the vector is stored with the
 * columns 0 1, 4 5, 2 3, 6 7: the second and the third word are exchanged.
 *
 * The warps' sums are added up when all rows are done (finish.h). */
#ifndef SHPOOL_EXAMPLES_DECODE_PRODUCT_H
#define SHPOOL_EXAMPLES_DECODE_PRODUCT_H

#include "program.h"

#define ROWS  8u /* of a warp, at a time, times the segments of a row */
#define LOADS 4u /* of a lane and these rows, 16 bytes each: SLICE columns */

/* What the calling lane has of the product.  Weights: row / segments, segment row % segments;
 * vector: a half of the numbers of pair % segments.  Four lanes have the same row, or column. */
SIMT_FN uint32_t lane_row() { return simt_lane() / 4u; }
SIMT_FN uint32_t lane_pair() { return simt_lane() / 8u; }
SIMT_FN uint32_t lane_half() { return simt_lane() / 4u % 2u; }

/* The first column of the lane's i-th load in the warp's slice; odd: of rows or pairs. */
SIMT_FN uint32_t load_column(uint32_t i, uint32_t odd)
{
    return (i ^ (odd & 1u)) * 32u + simt_lane() % 4u * 8u;
}

/* The calling lane's part of a vector. */
struct lane_vector {
    simt_u128 x[LOADS];
};

/* Weights in shared memory. */
struct shared_weights {
    simt_addr base;

    MACHINE_METHOD simt_u128 get(uint32_t byte) const { return simt_load128(base + byte); }
};

/* The lane's weights of ROWS / n.count() rows at a time: known before a tile arrives. */
struct lane_rows {
    segment_count n;   /* of a row */
    uint32_t      row; /* of those */
    uint32_t      row_bytes;
    uint32_t      at[LOADS]; /* bytes from the beginning of a row */

    MACHINE_METHOD explicit lane_rows(uint32_t columns)
        : n(columns), row(n.row(lane_row())), row_bytes(2u * columns)
    {
        const uint32_t first = n.segment(lane_row()) * SEGMENT + simt_warp() * SLICE;

        SIMT_UNROLLED
        for (uint32_t i = 0; i < LOADS; i++) { /* the vector is 0 where there are no columns */
            const uint32_t column = first + load_column(i, lane_row());

            at[i] = (column < columns) ? 2u * column : 0u;
        }
    }
};

/* Multiply the warp's columns of a tile's rows.  The sums are stored in `to`, from the tile's first
 * row on. */
SIMT_FN void multiply(shared_weights weights, const lane_rows &mine, uint32_t rows,
                      const lane_vector &v, results to, uint32_t first)
{
    const uint32_t store = simt_lane() % 4u == lane_row() % 4u;
    simt_addr      sums  = to.sums(simt_warp()) + 4u * ((first << mine.n.bits) + lane_row());

    SIMT_ROLLED
    for (uint32_t begin = 0; begin < rows; begin += mine.n.row(ROWS), sums += 4u * ROWS) {
        const uint32_t row = begin + mine.row;
        const uint32_t at  = (row < rows) ? row * mine.row_bytes : 0u;
        simt_u128      w[LOADS];

        SIMT_UNROLLED
        for (uint32_t i = 0; i < LOADS; i++) {
            w[i] = weights.get(at + mine.at[i]);
        }
        const float sum = seam_products(w, v.x);

        if ((store != 0) && (row < rows)) {
            simt_store32(sums, seam_bits(sum));
        }
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_PRODUCT_H */
