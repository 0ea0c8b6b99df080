/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of bf16 weights times a vector of floats, by READERS warps: a row is divided into segments
 * of SEGMENT columns, and a warp multiplies SLICE columns of each segment of all rows.
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
 * The instruction has 16 rows, and expects a lane's four words to be of two rows, r and r + 8.
 * Here they are of one row, so two instructions multiply them: each gives the sum for two words, in
 * one of the two rows.
 *
 *   weights     columns            0 1       2 3       4 5       6 7
 *               row of the 16        r     r + 8         r     r + 8
 *   vector      word                 0         2         1         3
 *   products    first instruction  0 1                 4 5               of row r
 *               second                       2 3                 6 7     of row r + 8
 *
 * An instruction's two words of the vector are adjacent in a load if the vector is stored with the
 * columns 0 1, 4 5, 2 3, 6 7: the second and the third word are exchanged. */
#ifndef SHPOOL_EXAMPLES_DECODE_PRODUCT_H
#define SHPOOL_EXAMPLES_DECODE_PRODUCT_H

#include "model.h"
#include "tiles.h"

#if defined(__CUDACC__)
#define READERS 16u
#else /* a fiber for each thread */
#define READERS 4u
#endif
#define SLICE         128u /* columns of a warp, in each segment */
#define SEGMENT       (READERS * SLICE)
#define MOST_SEGMENTS 4u

/* Segments of a row: a power of two, at most MOST_SEGMENTS, and its logarithm.  A division by a
 * number that the compiler does not know takes 20 instructions. */
struct segment_count {
    uint32_t bits;

    SEAM_BOTH explicit segment_count(uint32_t columns)
        : bits((columns <= SEGMENT) ? 0u : (columns <= 2u * SEGMENT) ? 1u : 2u)
    {
    }
    SEAM_BOTH uint32_t count() const { return 1u << bits; }
    SEAM_BOTH uint32_t row(uint32_t i) const { return i >> bits; } /* i / count() */
    SEAM_BOTH uint32_t segment(uint32_t i) const { return i & (count() - 1u); }
};

/* What the readers store for the end of an instruction, in two copies, because the next instruction
 * begins while this one is still being added up: a sum for each warp, row and segment; for each
 * warp the squares of its numbers of the vector, for the norm.  In place of the sums, attention has
 * the largest score and the sum of the exponentials of each warp. */
#define MOST_SUMS     128u /* most rows of an instruction, times the segments of a row */
#define SUMS_BYTES    (READERS * MOST_SUMS * 4u)
#define RESULTS_BYTES (SUMS_BYTES + READERS * 4u)

struct results {
    simt_addr base;

    MACHINE_METHOD simt_addr sums(uint32_t warp) const { return base + warp * MOST_SUMS * 4u; }
    MACHINE_METHOD simt_addr square(uint32_t warp) const { return base + SUMS_BYTES + warp * 4u; }
    MACHINE_METHOD simt_addr scale(uint32_t warp) const { return base + warp * 8u; }
};

/* Before the pool: slots, results, three mbarriers, and memory in which the lanes of a warp
 * exchange a segment of the vector, or the warps their sums of attention.
 *
 *   ready      the watcher arrives when the next instruction's vector is complete
 *   exchanged  all readers arrive when they have stored what others need, and wait
 *   summed     the same for results */
#define CONTROL_BYTES (SHPOOL_STAGES_BYTES(SLOTS) + 2u * RESULTS_BYTES + 32u) /* and exchange */

SIMT_HD uint32_t exchange_bytes(uint32_t head_dim)
{
    return READERS * 4u * ((head_dim > SLICE) ? head_dim : SLICE);
}

struct control {
    simt_addr base;

    MACHINE_METHOD simt_addr  tiles() const { return base; } /* their slots */
    MACHINE_METHOD results    result(uint32_t number) const
    {
        return { base + SHPOOL_STAGES_BYTES(SLOTS) + (number & 1u) * RESULTS_BYTES };
    }
    MACHINE_METHOD simt_addr exchange() const { return base + CONTROL_BYTES; }
    /* A warp's numbers of a segment: 2 bytes of each, and then the other 2. */
    MACHINE_METHOD simt_addr halves(uint32_t warp) const { return exchange() + warp * SLICE * 4u; }
    MACHINE_METHOD simt_addr ready() const { return exchange() - 32u; }
    MACHINE_METHOD simt_addr exchanged() const { return exchange() - 24u; }
    MACHINE_METHOD simt_addr summed() const { return exchange() - 16u; }
    MACHINE_METHOD simt_addr pool(uint32_t head_dim) const
    {
        return (exchange() + exchange_bytes(head_dim) + TILE_ALIGNED - 1u) & ~(TILE_ALIGNED - 1u);
    }

    /* Called by the lanes of one warp, before a barrier. */
    MACHINE_METHOD void init() const
    {
#if SIMT_HAS_BULK
        /* a slot in each lane */
        shpool_stages_init(simt_from_shared(tiles() + SHPOOL_STAGES_BYTES(simt_lane())), 1,
                           READERS);
#endif
        if (simt_lane() == 0) {
            simt_mbar_init(ready(), 1);
            simt_mbar_init(exchanged(), READERS);
            simt_mbar_init(summed(), READERS);
        }
    }
};

/* Called by all readers: waits until all have called it for the number-th time. */
SIMT_FN void meet(simt_addr mbar, uint32_t number)
{
    simt_warp_sync(SIMT_ALL_LANES);
    if (simt_lane() == 0) {
        simt_mbar_arrive(mbar);
    }
    simt_mbar_wait(mbar, number & 1u);
}

/* ---- the product ---- */

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
SIMT_FN void multiply(simt_addr weights, const lane_rows &mine, uint32_t rows,
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
            w[i] = simt_load128(weights + (at + mine.at[i]));
        }
        const float sum = seam_products(w, v.x);

        if ((store != 0) && (row < rows)) {
            simt_store32(sums, machine_bits(sum));
        }
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_PRODUCT_H */
