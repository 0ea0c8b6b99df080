/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of bf16 weights times a vector of floats.
 *
 * The warps of a team share the columns: a lane has the same 8 of each SPAN columns for all rows,
 * and its numbers of the vector stay in registers.  So each number of the vector is read once per
 * team, and each weight only once.  A warp processes several rows at a time, so that all their
 * loads are in flight together.  The partial sums of a team's warps are added up when all rows are
 * done (finish.h). */
#ifndef SHPOOL_EXAMPLES_DECODE_PRODUCT_H
#define SHPOOL_EXAMPLES_DECODE_PRODUCT_H

#include "program.h"
#include "team.h"

/* A lane's numbers of the vector: columns lane_column() + c * SPAN and the next 7. */
template <uint32_t SPANS>
struct lane_vector {
    float x[SPANS][8];
};

/* The first of the calling lane's columns. */
SIMT_FN uint32_t lane_column() { return team_rank() * 256u + simt_lane() * 8u; }

/* The location of weights: shared memory, or, for separate kernels, global memory. */
struct shared_weights {
    simt_addr base;

    MACHINE_METHOD simt_u128 get(uint32_t byte) const { return simt_load128(base + byte); }
};
struct global_weights {
    const unsigned char *base;

    MACHINE_METHOD simt_u128 get(uint32_t byte) const { return seam_stream(base + byte); }
};

SIMT_FN float dot(simt_u128 w, const float *x, float sum)
{
    float f[8];

    seam_unpack(w, f);
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        sum = fmaf(f[i], x[i], sum);
    }
    return sum;
}

/* Add up ROWS rows over the warp; each lane gets the sum of row lane / (32 / ROWS).  While there is
 * more than one row, a lane keeps half of its rows and exchanges the other half with a lane that
 * keeps those. */
template <uint32_t ROWS>
SIMT_FN float sum_rows(float (&sum)[ROWS])
{
    uint32_t lane = SIMT_WARP / 2u;

    SIMT_UNROLLED
    for (uint32_t half = ROWS / 2u; half != 0; half /= 2u, lane /= 2u) {
        const bool high = (simt_lane() & lane) != 0;

        SIMT_UNROLLED
        for (uint32_t r = 0; r < half; r++) {
            const float give = high ? sum[r] : sum[r + half];

            sum[r] = (high ? sum[r + half] : sum[r]) + seam_xor(give, lane);
        }
    }
    SIMT_UNROLLED
    for (; lane != 0; lane /= 2u) {
        sum[0] += seam_xor(sum[0], lane);
    }
    return sum[0];
}

/* Multiply all rows of a tile.  Their sums over the warp's columns are stored in `to`, a float for
 * each row.  x: the lane's numbers of the vector. */
template <uint32_t SPANS, uint32_t ROWS, class Weights>
SIMT_FN void multiply(Weights weights, uint32_t rows, uint32_t columns,
                      const float (*x)[8], simt_addr to)
{
    SIMT_ROLLED
    for (uint32_t row = 0; row < rows; row += ROWS) {
        simt_u128 w[ROWS][SPANS];
        float     sums[ROWS];

        SIMT_UNROLLED
        for (uint32_t r = 0; r < ROWS; r++) {
            const uint32_t last = rows - 1u;
            const uint32_t at   = (row + r < last) ? row + r : last;

            SIMT_UNROLLED
            for (uint32_t c = 0; c < SPANS; c++) { /* x is 0 where there are no columns */
                const uint32_t column = lane_column() + c * SPAN;

                w[r][c] = weights.get(2u * (at * columns + ((column < columns) ? column : 0u)));
            }
        }
        SIMT_UNROLLED
        for (uint32_t r = 0; r < ROWS; r++) {
            sums[r] = 0.0f;
            SIMT_UNROLLED
            for (uint32_t c = 0; c < SPANS; c++) {
                sums[r] = dot(w[r][c], x[c], sums[r]);
            }
        }
        const uint32_t lanes = SIMT_WARP / ROWS; /* lanes with the same row's sum */
        const uint32_t mine  = row + simt_lane() / lanes;
        const float    sum   = sum_rows(sums);

        if ((simt_lane() % lanes == 0) && (mine < rows)) {
            simt_store32(to + 4u * mine, seam_bits(sum));
        }
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_PRODUCT_H */
