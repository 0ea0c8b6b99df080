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
 * lane loads 16 bytes of weights at once, eight adjacent columns.  Rows are usually a multiple of
 * 128 bytes apart, in the same banks; so every other row begins with the other half of 128 bytes,
 * and so do the odd pairs.  Row r of the eight uses pair r % 4.
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
#ifndef SHPOOL_EXAMPLES_DECODE_ROWS_H
#define SHPOOL_EXAMPLES_DECODE_ROWS_H

#include "attend.h"

#if SIMT_HAS_BULK

#define LOADS 4u /* of a lane for EIGHT segments, 16 bytes each: SLICE columns */

/* What the calling lane has of the product.  Weights: row / segments, segment row % segments;
 * vector: a half of the numbers of pair % segments.  Four lanes have the same row, or column. */
SIMT_FN uint32_t lane_row() { return simt_lane() / 4u; }
SIMT_FN uint32_t lane_pair() { return simt_lane() / 8u; }

/* The first column of the lane's i-th load in the warp's slice; odd: of rows or pairs. */
SIMT_FN uint32_t load_column(uint32_t i, uint32_t odd)
{
    return (i ^ (odd & 1u)) * 32u + simt_lane() % 4u * 8u;
}
SIMT_FN uint32_t segment_of(const matrix &of, uint32_t i) { return i & ((1u << of.bits) - 1u); }

/* The lane's weights of EIGHT >> bits units at a time, which are known before a tile arrives. */
struct lane_rows {
    uint32_t bits; /* of a unit's segments */
    uint32_t unit, unit_bytes;
    uint32_t pair;      /* of the vector, that the weights belong to */
    uint32_t at[LOADS]; /* bytes from the beginning of a unit */

    MACHINE_METHOD lane_rows(const matrix &of, uint32_t cut)
        : bits(of.bits - cut), unit(lane_row() >> bits), unit_bytes(2u * of.columns >> cut),
          pair(lane_row() % 4u)
    {
        const uint32_t first = (lane_row() & ((1u << bits) - 1u)) * SEGMENT + simt_warp() * SLICE;

        SIMT_UNROLLED
        for (uint32_t i = 0; i < LOADS; i++) { /* the vector is 0 where there are no columns */
            const uint32_t column = first + load_column(i, lane_row());

            at[i] = (column < of.columns) ? 2u * column : 0u;
        }
    }

    /* After a tile of n units: the next one may begin within a row, with segments of later pairs;
     * if those are odd ones, the halves of 128 bytes change places. */
    MACHINE_METHOD void skip(uint32_t cut, uint32_t n)
    {
        const uint32_t later = n & ((1u << cut) - 1u);

        pair = (pair + later) % 4u;
        SIMT_UNROLLED
        for (uint32_t i = 0; i < LOADS; i++) {
            at[i] ^= (later & 1u) * 64u;
        }
    }
};

/* Multiply the warp's columns of a tile's units; v: the lane's part of the vector.  The sums are
 * stored from `sums` on, or added to what is there. */
SIMT_FN void multiply(simt_addr weights, const lane_rows &mine, uint32_t units,
                      const simt_u128 (&v)[LOADS], simt_addr sums, bool adds)
{
    sums += 4u * lane_row();
    SIMT_ROLLED
    for (uint32_t begin = 0; begin < units; begin += EIGHT >> mine.bits, sums += 4u * EIGHT) {
        const uint32_t unit = begin + mine.unit;
        const uint32_t at   = (unit < units) ? unit * mine.unit_bytes : 0u;
        simt_u128      w[LOADS];

        SIMT_UNROLLED
        for (uint32_t i = 0; i < LOADS; i++) {
            w[i] = simt_load128(weights + (at + mine.at[i]));
        }
        float sum = seam_products(w, v, mine.pair);

        if ((simt_lane() % 4u == mine.pair) && (unit < units)) {
            sum += adds ? machine_float(simt_load32(sums)) : 0.0f;
            simt_store32(sums, machine_bits(sum));
        }
    }
}

/* ---- the vector ---- */

/* The first of the four columns of a segment that the calling lane reads.  So each number is read
 * once in a block, by a lane of the warp that needs it. */
SIMT_FN uint32_t input_column(uint32_t segment)
{
    return segment * SEGMENT + simt_warp() * SLICE + simt_lane() * 4u;
}

SIMT_FN const uint16_t *embedding(const step &s) /* of the token that the last step has chosen */
{
    const uint32_t token = (s.number == 0) ? 1u : ~seam_peek4(s.m.best + s.number - 1u);

    return s.m.weights + (s.m.layers - 1u) * s.m.layer + s.m.of[OP_HEAD].at +
           (size_t)token * s.m.hidden;
}

/* The gains of the norm before a product.  They do not depend on the step, so those of the first
 * segment are read before the vector is complete. */
template <uint32_t OP>
SIMT_FN four_bf16 read_gains(const step &s, uint32_t layer, uint32_t segment)
{
    const uint32_t column = input_column(segment);

    return (has_norm(OP) && (column < s.m.hidden))
               ? load_bf16(s.m.weights + layer * s.m.layer + s.m.of[OP].gains + column)
               : four_bf16{};
}

/* Store the halves of a lane's four numbers of a segment, in the order of seam_products(). */
SIMT_FN void store_halves(simt_addr to, const four &v)
{
    const simt_addr at   = to + simt_lane() / 2u * 16u + simt_lane() % 2u * 4u;
    const uint32_t  low  = seam_pair(v.x[0], v.x[1]);
    const uint32_t  high = seam_pair(v.x[2], v.x[3]);

    simt_store32(at, low);
    simt_store32(at + 8u, high);
    simt_store32(at + SLICE * 2u, seam_pair(v.x[0] - seam_low(low), v.x[1] - seam_high(low)));
    simt_store32(at + SLICE * 2u + 8u,
                 seam_pair(v.x[2] - seam_low(high), v.x[3] - seam_high(high)));
}

/* Read the lane's part of an operation's input, N segments at the same time, and exchange it within
 * the warp.  *square: the sum of the squares, for the norm, whose factor the sums are multiplied by
 * afterwards.  gains: of the first segment. */
template <uint32_t OP>
SIMT_FN void read_input(const step &s, instruction in, uint32_t panel, four_bf16 gains,
                        simt_addr halves, simt_u128 (&v)[LOADS], float *square)
{
    constexpr uint32_t N    = (OP == OP_DOWN) ? MOST_SEGMENTS : 1u;
    const matrix      &of   = s.m.of[OP];
    const float *const from = (OP == OP_DOWN) ? s.m.act(in.layer()) + panel * of.columns
                              : s.m.stream(2u * in.layer() + (OP == OP_HEAD) - (OP == OP_QKV));

    SIMT_ROLLED
    for (uint32_t first = 0; first < 1u << of.bits; first += N) {
        uint32_t wanted = 0;
        four     x[N];

        SIMT_UNROLLED
        for (uint32_t k = 0; k < N; k++) {
            wanted |= (input_column(first + k) < of.columns) << k;
        }
        if (OP == OP_OUT) {
            x[0] = merge_parts(s, in.layer(), panel * of.columns + input_column(first), wanted);
        } else if ((OP == OP_QKV) && (in.layer() == 0)) {
            x[0] = (wanted != 0) ? load_bf16(embedding(s) + input_column(first)).floats() : four{};
        } else {
            await_fours<N>(s, wanted, x,
                           [&](uint32_t k) { return from + input_column(first + k); });
        }
        if (has_norm(OP)) {
            const four g = ((first == 0) ? gains : read_gains<OP>(s, in.layer(), first)).floats();

            SIMT_UNROLLED
            for (uint32_t i = 0; i < 4u; i++) {
                *square = fmaf(x[0].x[i], x[0].x[i], *square);
                x[0].x[i] *= g.x[i];
            }
        }
        SIMT_UNROLLED
        for (uint32_t k = 0; k < N; k++) {
            store_halves(halves, x[k]);
            simt_warp_sync(SIMT_ALL_LANES);
            SIMT_UNROLLED
            for (uint32_t i = 0; (i < LOADS) && (segment_of(of, lane_pair()) == first + k); i++) {
                v[i] = simt_load128(halves + simt_lane() / 4u % 2u * SLICE * 2u +
                                    2u * load_column(i, lane_pair()));
            }
            simt_warp_sync(SIMT_ALL_LANES);
        }
    }
}

/* ---- the end of an instruction: a thread for each segment of a row ---- */

/* Further inputs of a thread besides its row's sum; they are read before the sums are complete.
 * Some are results of an earlier operation than the previous one, which the block may not have
 * awaited yet. */
struct beside {
    float a; /* OP_QKV: cosine, else the number to which the row is added */
    float b; /* OP_QKV: sine */
};

template <uint32_t OP>
SIMT_FN beside read_beside(const step &s, instruction in)
{
    const uint32_t rank = simt_thread_rank() >> s.m.of[OP].bits;
    const uint32_t row  = in.first + rank;
    beside         at   = {};

    if (rank >= in.count()) {
        return at;
    }
    if (OP == OP_QKV) {
        const uint32_t dim  = row - s.m.by_dim.of(row) * s.m.head_dim;
        const float   *turn = s.m.turns + (size_t)s.position() * s.m.head_dim + (dim & ~1u);

        at = { turn[0], turn[1] };
    } else if ((OP == OP_OUT) && (in.layer() == 0)) {
        at.a = seam_low(embedding(s)[row]);
    } else if ((OP == OP_OUT) || (OP == OP_DOWN)) {
        at.a = await_one(s, s.m.stream(2u * in.layer() - (OP == OP_OUT)) + row);
    }
    return at;
}

/* Apply the rotary embedding, and append keys and values.  other: the sum of the row that is
 * rotated together with this one. */
SIMT_FN void finish_qkv(const step &s, instruction in, uint32_t row, float sum, float other,
                        beside at)
{
    const uint32_t head   = s.m.by_dim.of(row);
    const uint32_t dim    = row - head * s.m.head_dim;
    const uint32_t keys   = s.m.heads + s.m.kv_heads; /* the first value head */
    float          result = (head < keys) ? fmaf(sum, at.a, other * ((dim & 1u) ? at.b : -at.b))
                                          : sum;

    if (head >= s.m.heads) {
        const uint32_t key_head = head - ((head < keys) ? s.m.heads : keys);
        uint16_t      *key      = s.m.cache + s.m.keys(in.layer(), key_head) +
                        (size_t)s.position() * s.m.head_dim + dim;
        const uint32_t rounded  = seam_pair(result, 0.0f);

        key[(head < keys) ? 0u : (size_t)s.m.tokens * s.m.head_dim] = (uint16_t)rounded;
        result = seam_low(rounded);
    }
    post(s, s.m.qkv(in.layer()) + row, result);
}

/* Called by a whole warp: a logit and its token as one number.  The largest logit wins; if equal,
 * the smaller token. */
SIMT_FN void choose(const step &s, uint32_t row, bool is_row, float logit)
{
    const uint32_t     bits  = machine_bits(logit);
    const uint32_t     order = (bits >> 31) ? ~bits : bits | 0x80000000u;
    unsigned long long best  = is_row ? (unsigned long long)order << 32 | (uint32_t)~row : 0;

    for (uint32_t lane = SIMT_WARP / 2u; lane != 0; lane /= 2u) {
        const uint32_t high = simt_shfl_xor(SIMT_ALL_LANES, (uint32_t)(best >> 32), lane);
        const uint32_t low  = simt_shfl_xor(SIMT_ALL_LANES, (uint32_t)best, lane);

        const unsigned long long other = (unsigned long long)high << 32 | low;

        best = (other > best) ? other : best;
    }
    if (simt_lane() == 0) {
        seam_max64(s.m.best + s.number, best);
    }
}

/* The sum of the warps' numbers, `apart` bytes apart: short chains of additions. */
SIMT_FN float add_warps(simt_addr from, uint32_t apart)
{
    float sum[4] = {};

    SIMT_UNROLLED
    for (uint32_t w = 0; w < READERS; w++) {
        sum[w % 4u] += machine_float(simt_load32(from + w * apart));
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Called by readers after they have met. */
template <uint32_t OP>
SIMT_FN void finish(const step &s, instruction in, control from, beside at)
{
    const matrix  &of     = s.m.of[OP];
    const uint32_t rank   = simt_thread_rank() >> of.bits;
    const uint32_t row    = in.first + rank;
    const bool     is_row = (rank < in.count()) && (segment_of(of, simt_thread_rank()) == 0);

    if (simt_warp() * SIMT_WARP >> of.bits >= in.count()) {
        return;
    }
    float sum = add_warps(from.sums(0) + 4u * simt_thread_rank(), MOST_SUMS * 4u);

    SIMT_ROLLED
    for (uint32_t k = 1; k < 1u << of.bits; k *= 2u) {
        sum += seam_xor(sum, k);
    }
    if (has_norm(OP)) {
        sum *= seam_reverse_root(seam_divide(add_warps(from.square(0), 4u), (float)s.m.hidden) +
                                 NORM_EPSILON);
    }

    const float other = seam_xor(sum, 1u << of.bits); /* of the adjacent row */

    if (OP == OP_HEAD) {
        choose(s, row, is_row, sum);
    }
    if (is_row) {
        switch (OP) {
        case OP_QKV: finish_qkv(s, in, row, sum, other, at); break;
        case OP_OUT: post(s, s.m.stream(2u * in.layer()) + row, at.a + sum); break;
        case OP_DOWN: post(s, s.m.stream(2u * in.layer() + 1u) + row, at.a + sum); break;
        case OP_HEAD: s.m.logits[row] = sum; break;
        default: /* gate here, up in the next row */
            if ((rank & 1u) == 0) {
                post(s, s.m.act(in.layer()) + row / 2u,
                     seam_divide(sum, 1.0f + seam_exp(-sum)) * other);
            }
        }
    }
    count_results(s, in, in.count());
}

/* Store the warp's share of the vector's sum of squares, for finish(). */
SIMT_FN void leave_square(control to, float square)
{
    SIMT_UNROLLED
    for (uint32_t lane = SIMT_WARP / 2u; lane != 0; lane /= 2u) {
        square += seam_xor(square, lane);
    }
    if (simt_lane() == 0) {
        simt_store32(to.square(simt_warp()), machine_bits(square));
    }
}

#endif /* SIMT_HAS_BULK */

#endif /* SHPOOL_EXAMPLES_DECODE_ROWS_H */
