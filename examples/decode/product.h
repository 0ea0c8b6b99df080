/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of bf16 weights times a vector of floats.
 *
 * The warps of a team share the columns of a segment: a lane has the same LANE of them for all
 * rows, and its numbers of the vector stay in registers.  So each weight is read once.  A warp
 * processes several rows at a time, so that all their loads are in flight together.  The partial
 * sums of warps and segments are added up when all rows are done (finish.h). */
#ifndef SHPOOL_EXAMPLES_DECODE_PRODUCT_H
#define SHPOOL_EXAMPLES_DECODE_PRODUCT_H

#include "program.h"

#define ROWS 2u /* of a warp, at a time */

/* The calling lane's i-th group of four columns of LANE, in its team's segment. */
SIMT_FN uint32_t lane_column(uint32_t i)
{
    return team_rank() * (SIMT_WARP * LANE) + i / 2u * (SIMT_WARP * 8u) + simt_lane() * 8u +
           i % 2u * 4u;
}

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

/* Multiply the team's share of a tile's rows by the lane's numbers x of the vector.  The warp's sum
 * for each row is stored in `to`, which begins with the tile's first row. */
template <class Weights>
SIMT_FN void multiply(Weights weights, team_share share, uint32_t rows, uint32_t columns,
                      const float *x, results to, uint32_t first)
{
    const uint32_t lanes = SIMT_WARP / ROWS; /* lanes with the same row's sum */
    const uint32_t here  = share.segment * SEGMENT + lane_column(0);
    const uint32_t there = (here + SIMT_WARP * 8u < columns) ? SIMT_WARP * 16u : 0u; /* bytes */
    const uint32_t n     = segments(columns);

    SIMT_ROLLED
    for (uint32_t row = share.first; row < rows; row += ROWS * share.step) {
        simt_u128 w[ROWS][2];
        float     sums[ROWS];

        SIMT_UNROLLED
        for (uint32_t r = 0; r < ROWS; r++) {
            const uint32_t want = row + r * share.step;
            const uint32_t at   = 2u * (((want < rows) ? want : row) * columns +
                                      ((here < columns) ? here : 0u));

            w[r][0] = weights.get(at); /* x is 0 where there are no columns */
            w[r][1] = weights.get(at + there);
        }
        SIMT_UNROLLED
        for (uint32_t r = 0; r < ROWS; r++) {
            sums[r] = dot(w[r][1], x + 8, dot(w[r][0], x, 0.0f));
        }
        const uint32_t mine = row + simt_lane() / lanes * share.step;
        const float    sum  = sum_rows(sums);

        if ((simt_lane() % lanes == 0) && (mine < rows)) {
            simt_store32(to.sums((first + mine) * n + share.segment) + 4u * team_rank(),
                         seam_bits(sum));
        }
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_PRODUCT_H */
