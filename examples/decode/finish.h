/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of an instruction: the partial sums of each row are added up, and a thread for each row
 * performs the rest of the operation.  Then the counter is increased by these rows. */
#ifndef SHPOOL_EXAMPLES_DECODE_FINISH_H
#define SHPOOL_EXAMPLES_DECODE_FINISH_H

#include "vector.h"

/* Further inputs of a thread besides its row's sum; they are read before the sums are complete.
 * Some are results of an earlier operation than the previous one.  The block may not have awaited
 * them yet: it has not read their vector if it has no rows of the operation that does. */
struct beside {
    float a; /* OP_QKV: cosine, else the number to which the row is added */
    float b; /* OP_QKV: sine */
};

SIMT_FN beside read_beside(const model &m, const moment &now, instruction in)
{
    const segment_count n(m.columns(in.op));
    const uint32_t      row = in.first + n.row(simt_thread_rank());
    beside              at  = {0.0f, 0.0f};

    if (n.row(simt_thread_rank()) >= in.count) {
        return at;
    }
    if (in.op == OP_QKV) {
        const uint32_t pair = (row & (m.s.head_dim - 1u)) / 2u;
        const float   *turn = m.turns + (size_t)now.position * m.s.head_dim + 2u * pair;

        at.a = turn[0];
        at.b = turn[1];
    } else if ((in.op == OP_OUT) && (in.layer == 0)) {
        at.a = seam_low(embedding(m, now.token)[row]);
    } else if (in.op == OP_OUT) {
        at.a = await_one(now, m.after_layer(in.layer - 1u) + row);
    } else if (in.op == OP_DOWN) {
        at.a = await_one(now, m.after_attention(in.layer) + row);
    }
    return at;
}

/* Apply the rotary embedding, and store the result in the query, the keys or the values.  other:
 * the sum of the row that is rotated together with this one. */
SIMT_FN void finish_qkv(const model &m, const moment &now, instruction in, uint32_t row, float sum,
                        float other, beside at)
{
    const uint32_t group    = m.s.group();
    const uint32_t any      = row >> m.dim_bits; /* heads: queries, key, value of each key head */
    const uint32_t key_head = m.by_share.of(any);
    const uint32_t head     = any - key_head * (group + 2u);
    const uint32_t i        = row & (m.s.head_dim - 1u);
    const float    turned   = fmaf(sum, at.a, other * ((i & 1u) ? at.b : -at.b));
    uint16_t      *key      = m.cache + (m.keys(in.layer, key_head) - m.cache) +
                    (size_t)now.position * m.s.head_dim + i;
    float          result   = (head <= group) ? turned : sum;

    if (head >= group) {
        const uint16_t rounded = seam_bf16(result);

        key[(head == group) ? 0u : (size_t)m.s.tokens * m.s.head_dim] = rounded;
        result = seam_low(rounded);
    }
    post(now, m.qkv(in.layer) + row, result);
}

/* A logit and its token as one number: the larger logit wins; if equal, the smaller token. */
SIMT_FN unsigned long long choice_of(float logit, uint32_t token)
{
    const uint32_t bits  = machine_bits(logit);
    const uint32_t order = (bits >> 31) ? ~bits : bits | 0x80000000u;

    return (unsigned long long)order << 32 | (uint32_t)~token;
}

/* Called by a whole warp: finds its best logit. */
SIMT_FN void choose(const model &m, const moment &now, uint32_t row, uint32_t is_row, float logit)
{
    unsigned long long best = (is_row != 0) ? choice_of(logit, row) : 0;

    for (uint32_t lane = SIMT_WARP / 2u; lane != 0; lane /= 2u) {
        const uint32_t     high  = simt_shfl_xor(SIMT_ALL_LANES, (uint32_t)(best >> 32), lane);
        const uint32_t     low   = simt_shfl_xor(SIMT_ALL_LANES, (uint32_t)best, lane);
        unsigned long long other = (unsigned long long)high << 32 | low;

        best = (other > best) ? other : best;
    }
    if (simt_lane() == 0) {
        seam_max64(m.best + now.number, best);
    }
}

/* Count the warp's results, which have been posted: when all are counted, it is worth while to look
 * at them.  They may arrive later than their number. */
SIMT_FN void arrive(uint32_t *done, instruction in, uint32_t count)
{
    simt_warp_sync(SIMT_ALL_LANES);
    if ((simt_lane() == 0) && (done != NULL)) {
        seam_count(done + counter_of(in.op, in.layer), count);
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

/* Called by readers after they have met, by a thread for each segment of a row; those without a row
 * return immediately.  done: the counters, or NULL. */
SIMT_FN void finish(const model &m, const moment &now, instruction in, results sums, beside at,
                    uint32_t *done)
{
    const segment_count n(m.columns(in.op));
    const uint32_t      begin  = n.row(simt_warp() * SIMT_WARP);
    const uint32_t      rank   = n.row(simt_thread_rank());
    const uint32_t      row    = in.first + rank;
    const uint32_t      is_row = (rank < in.count) && (n.segment(simt_thread_rank()) == 0);
    float               square = 1.0f;

    if (begin >= in.count) {
        return;
    }
    if (has_norm(in.op)) {
        square = add_warps(sums.square(0), 4u);
    }
    float sum = add_warps(sums.sums(0) + 4u * simt_thread_rank(), sums.sums(1) - sums.sums(0));

    SIMT_ROLLED
    for (uint32_t k = 1; k < n.count(); k *= 2u) {
        sum += seam_xor(sum, k);
    }
    if (has_norm(in.op)) { /* the factor of the norm before it */
        sum *= seam_reverse_root(seam_divide(square, (float)m.s.hidden) + NORM_EPSILON);
    }

    const float other = seam_xor(sum, n.count()); /* of the adjacent row: pairs are adjacent */

    if (in.op == OP_HEAD) {
        choose(m, now, row, is_row, sum);
    }
    if (is_row != 0) {
        switch (in.op) {
        case OP_QKV: finish_qkv(m, now, in, row, sum, other, at); break;
        case OP_OUT: post(now, m.after_attention(in.layer) + row, at.a + sum); break;
        case OP_DOWN: post(now, m.after_layer(in.layer) + row, at.a + sum); break;
        case OP_HEAD: m.logits[row] = sum; break;
        default: /* gate here, up in the next row */
            if ((rank & 1u) == 0) {
                post(now, m.act(in.layer) + row / 2u,
                     seam_divide(sum, 1.0f + seam_exp(-sum)) * other);
            }
        }
    }
    const uint32_t most = n.row(SIMT_WARP);

    arrive(done, in, (in.count - begin < most) ? in.count - begin : most);
}

/* Store the warp's share of the vector's sum of squares, for finish(). */
SIMT_FN void leave_square(results to, float square)
{
    SIMT_UNROLLED
    for (uint32_t lane = SIMT_WARP / 2u; lane != 0; lane /= 2u) {
        square += seam_xor(square, lane);
    }
    if (simt_lane() == 0) {
        simt_store32(to.square(simt_warp()), machine_bits(square));
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_FINISH_H */
