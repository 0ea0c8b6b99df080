/* SPDX-License-Identifier: BSD-3-Clause */
/* The input of a product. */
#ifndef SHPOOL_EXAMPLES_DECODE_VECTOR_H
#define SHPOOL_EXAMPLES_DECODE_VECTOR_H

#include "product.h"

struct four {
    float x[4];
};

SIMT_FN four four_of(simt_u128 v)
{
    return {{machine_float(v.x), machine_float(v.y), machine_float(v.z), machine_float(v.w)}};
}
/* Four numbers in bf16. */
SIMT_FN four four_bf16(seam_u64 v)
{
    return {{seam_low(v.x), seam_high(v.x), seam_low(v.y), seam_high(v.y)}};
}

/* ---- results, which are messages between blocks ----
 *
 * The lowest bit of a result says in which step it was written: it alternates, and memory is 0
 * before step 0.  So each word says itself whether it is there, and no fence orders anything. */

SIMT_FN uint32_t tag_of(const moment &now) { return ~now.number & 1u; }

SIMT_FN void post(const moment &now, float *to, float result)
{
    seam_post(to, (machine_bits(result) & ~1u) | tag_of(now));
}

/* Wait for the result at `at`. */
SIMT_FN float await_one(const moment &now, const float *at)
{
    uint32_t v;

    SIMT_ROLLED
    while ((((v = seam_peek4(at)) ^ tag_of(now)) & 1u) != 0) {
        seam_spin();
    }
    return machine_float(v);
}

/* Wait for the i-th of N groups of four results, at at(i), for each bit i of `wanted`; other groups
 * are 0.  Only missing groups are read again: what a block reads while it waits delays the weights
 * of the blocks that it waits for. */
template <uint32_t N, class At>
SIMT_FN void await_words(const moment &now, uint32_t wanted, simt_u128 *v, At at)
{
    const uint32_t tag = tag_of(now);

    SIMT_UNROLLED
    for (uint32_t i = 0; i < N; i++) {
        v[i] = {};
    }
    SIMT_ROLLED
    while (wanted != 0) {
        uint32_t missing = 0;

        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) { /* all loads are in flight together */
            if ((wanted >> i & 1u) != 0) {
                v[i] = seam_peek(at(i));
            }
        }
        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) {
            const simt_u128 &x = v[i];

            missing |= (((x.x ^ tag) | (x.y ^ tag) | (x.z ^ tag) | (x.w ^ tag)) & 1u) << i;
        }
        wanted &= missing;
        if (wanted != 0) {
            seam_spin();
        }
    }
    simt_warp_sync(SIMT_ALL_LANES);
}
template <uint32_t N, class At>
SIMT_FN void await_fours(const moment &now, uint32_t wanted, four *to, At at)
{
    simt_u128 v[N];

    await_words<N>(now, wanted, v, at);
    SIMT_UNROLLED
    for (uint32_t i = 0; i < N; i++) {
        to[i] = four_of(v[i]);
    }
}

SIMT_FN const uint16_t *embedding(const model &m, uint32_t token)
{
    return m.matrix(OP_HEAD, 0) + (size_t)token * m.s.hidden;
}

SIMT_HD uint32_t has_norm(uint32_t op) { return (op != OP_OUT) && (op != OP_DOWN); }

/* ---- attention's parts, which are added up where they are needed ---- */

#define BATCH       4u /* of tokens, or of parts, whose loads are in flight together */
#define LEAST_SCORE -1e30f

/* Sums of a part of the tokens, in four dimensions of a query head. */
struct part_sums {
    four  o;
    float top; /* largest score */
    float sum; /* of the exponentials */
};

/* Add up N parts, none of which waits for another one's exponential. */
template <uint32_t N>
SIMT_FN void merge(part_sums *all, const part_sums *one)
{
    const float before = all->top;

    SIMT_UNROLLED
    for (uint32_t k = 0; k < N; k++) {
        all->top = fmaxf(all->top, one[k].top);
    }
    const float scale = seam_exp(before - all->top);

    all->sum *= scale;
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        all->o.x[i] *= scale;
    }
    SIMT_UNROLLED
    for (uint32_t k = 0; k < N; k++) {
        const float factor = seam_exp(one[k].top - all->top);

        all->sum = fmaf(one[k].sum, factor, all->sum);
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 4u; i++) {
            all->o.x[i] = fmaf(one[k].o.x[i], factor, all->o.x[i]);
        }
    }
}

/* The result of attention in four columns: a part's scale is a group of four, too. */
SIMT_FN four merge_parts(const model &m, const moment &now, uint32_t layer, uint32_t column,
                         uint32_t is_column)
{
    const uint32_t head  = column >> m.dim_bits;
    const float   *from  = m.parts(layer) + ((head * m.split) << m.dim_bits) +
                        (column & (m.s.head_dim - 1u));
    const float   *scale = m.scales(layer) + head * m.split * 4u;
    part_sums      all   = { {}, LEAST_SCORE, 0.0f };

    SIMT_ROLLED
    for (uint32_t p = 0; p < m.split; p += BATCH) {
        const uint32_t n = (m.split - p < BATCH) ? m.split - p : BATCH;
        part_sums      one[BATCH];
        four           v[2u * BATCH];

        await_fours<2u * BATCH>(now, is_column ? simt_mask(0, 2u * n) : 0u, v, [&](uint32_t i) {
            return (i % 2u == 0) ? from + ((p + i / 2u) << m.dim_bits) : scale + (p + i / 2u) * 4u;
        });
        SIMT_UNROLLED
        for (uint32_t k = 0; k < BATCH; k++) {
            one[k] = { v[2u * k], (k < n) ? v[2u * k + 1u].x[0] : 2.0f * LEAST_SCORE,
                       v[2u * k + 1u].x[1] };
        }
        merge<BATCH>(&all, one);
    }
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        all.o.x[i] = is_column ? seam_divide(all.o.x[i], all.sum) : 0.0f;
    }
    return all.o;
}

/* ---- input ---- */

/* A product's input: the lane's part of the vector, and of the sum of squares. */
struct input {
    lane_vector v;
    float       square; /* before the gains */
};

/* The first of the four columns of a segment that the calling lane reads.  So each number is read
 * once in a block, by a lane of the warp that needs it. */
SIMT_FN uint32_t input_column(uint32_t segment)
{
    return segment * SEGMENT + simt_warp() * SLICE + simt_lane() * 4u;
}

/* The gains of the norm before a product, in bf16.  They do not depend on the step, so those of the
 * first segment are read before the vector is complete. */
SIMT_FN seam_u64 read_gains(const model &m, instruction in, uint32_t segment)
{
    const uint32_t column = input_column(segment);

    return (has_norm(in.op) && (column < m.columns(in.op)))
               ? seam_fetch8(m.gains(in.op, in.layer) + column)
               : seam_u64{ 0, 0 };
}

/* The lane's numbers of a segment of the residual stream, times the gains.  The norm's factor is
 * the same for all numbers, so the sums are multiplied by it afterwards (finish.h). */
SIMT_FN four read_stream(const model &m, const moment &now, instruction in, uint32_t segment,
                         seam_u64 gains, float *square)
{
    const float   *from   = (in.op == OP_GATE_UP) ? m.after_attention(in.layer)
                                                  : m.after_layer(in.layer - 1u);
    const uint32_t column = input_column(segment);
    four           x      = {};

    if ((in.op != OP_QKV) || (in.layer != 0)) {
        await_fours<1>(now, column < m.s.hidden, &x, [&](uint32_t) { return from + column; });
    } else if (column < m.s.hidden) {
        x = four_bf16(seam_fetch8(embedding(m, now.token) + column));
    }
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        *square = fmaf(x.x[i], x.x[i], *square);
        x.x[i] *= four_bf16(gains).x[i];
    }
    return x;
}

/* Store the halves (product.h) of a lane's four numbers of a segment, in the order of
 * seam_products(). */
SIMT_FN void store_halves(simt_addr to, const float *x)
{
    const simt_addr at   = to + simt_lane() / 2u * 16u + simt_lane() % 2u * 4u;
    const uint32_t  low  = seam_pair(x[0], x[1]);
    const uint32_t  high = seam_pair(x[2], x[3]);

    simt_store32(at, low);
    simt_store32(at + 8u, high);
    simt_store32(at + SLICE * 2u, seam_pair(x[0] - seam_low(low), x[1] - seam_high(low)));
    simt_store32(at + SLICE * 2u + 8u, seam_pair(x[2] - seam_low(high), x[3] - seam_high(high)));
}
/* Load what the calling lane needs. */
SIMT_FN void load_halves(simt_addr from, lane_vector *to)
{
    SIMT_UNROLLED
    for (uint32_t i = 0; i < LOADS; i++) {
        to->x[i] = simt_load128(from + lane_half() * SLICE * 2u +
                                2u * load_column(i, lane_pair()));
    }
}

/* The numbers between gate and up, and down: the longest vector.  All segments are read at the same
 * time, and exchanged within the warp, two at a time: the second one where the warp's sums of
 * `then` will be. */
SIMT_FN void read_act(const model &m, const moment &now, uint32_t layer, control shared,
                      results then, lane_vector *to)
{
    const uint32_t  mine   = segment_count(m.s.ff).segment(lane_pair());
    const simt_addr first  = shared.halves(simt_warp());
    const simt_addr second = then.sums(simt_warp());
    uint32_t        wanted = 0;
    four            x[MOST_SEGMENTS];

    static_assert(SLICE <= MOST_SUMS, "halves fit into a warp's sums");
    SIMT_UNROLLED
    for (uint32_t s = 0; s < MOST_SEGMENTS; s++) {
        wanted |= (input_column(s) < m.s.ff) << s;
    }
    await_fours<MOST_SEGMENTS>(now, wanted, x, [&](uint32_t s) {
        return m.act(layer) + input_column(s);
    });
    SIMT_UNROLLED
    for (uint32_t s = 0; s < MOST_SEGMENTS; s += 2u) {
        store_halves(first, x[s].x);
        store_halves(second, x[s + 1u].x);
        simt_warp_sync(SIMT_ALL_LANES);
        if (mine / 2u == s / 2u) {
            load_halves((mine % 2u != 0) ? second : first, to);
        }
        simt_warp_sync(SIMT_ALL_LANES);
    }
}

/* The calling lane's part of an operation's input.  gains: of the first segment; then: where its
 * sums will be stored. */
SIMT_FN input read_input(const model &m, const moment &now, instruction what, control shared,
                         results then, seam_u64 gains)
{
    const segment_count n(m.columns(what.op));
    input               in = {};

    if (what.op == OP_DOWN) {
        read_act(m, now, what.layer, shared, then, &in.v);
        return in;
    }
    SIMT_ROLLED
    for (uint32_t s = 0; s < n.count(); s++) {
        const uint32_t column = input_column(s);
        const four     x = (what.op == OP_OUT)
                               ? merge_parts(m, now, what.layer, column, column < m.s.query())
                               : read_stream(m, now, what, s,
                                             (s == 0) ? gains : read_gains(m, what, s), &in.square);

        store_halves(shared.halves(simt_warp()), x.x);
        simt_warp_sync(SIMT_ALL_LANES);
        if (n.segment(lane_pair()) == s) {
            load_halves(shared.halves(simt_warp()), &in.v);
        }
        simt_warp_sync(SIMT_ALL_LANES);
    }
    return in;
}

#endif /* SHPOOL_EXAMPLES_DECODE_VECTOR_H */
