/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attention of one query head to a part of the tokens.
 *
 * A lane has 8 dimensions of some of the tokens.  It keeps the largest score so far and adds up
 * relative to it (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).  At the
 * end, the lanes' and then the warps' sums are added up; the parts are added up where they are
 * needed, in the next product's input (vector.h). */
#ifndef SHPOOL_EXAMPLES_DECODE_ATTEND_H
#define SHPOOL_EXAMPLES_DECODE_ATTEND_H

#include "finish.h"

#define TOKENS 3u /* of a lane, whose loads are in flight together */

/* The state of a lane. */
struct attention {
    float q[8]; /* of the query, divided by the root of head_dim */
    float o[8]; /* sum of the values */
    float top;  /* largest score; the same in all lanes of a token */
    float sum;  /* of the exponentials; also the same */
};

/* Lanes of a token, 8 dimensions each; tokens of a warp at a time; the lane's token and first
 * dimension. */
SIMT_FN uint32_t token_lanes(const model &m) { return m.s.head_dim / 8u; }
SIMT_FN uint32_t token_lane(const model &m) { return simt_lane() >> (m.dim_bits - 3u); }
SIMT_FN uint32_t warp_tokens(const model &m) { return (8u * SIMT_WARP) >> m.dim_bits; }
SIMT_FN uint32_t lane_dim(const model &m)
{
    return (simt_lane() * 8u) & (m.s.head_dim - 1u);
}

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

/* Add TOKENS tokens in the lane's dimensions, those whose bits are set. */
SIMT_FN void attention_add(const model &m, attention *a, const simt_u128 *keys,
                           const simt_u128 *values, uint32_t present)
{
    float score[TOKENS];
    float top = a->top;

    SIMT_UNROLLED
    for (uint32_t t = 0; t < TOKENS; t++) {
        score[t] = dot(keys[t], a->q, 0.0f);
    }
    SIMT_ROLLED
    for (uint32_t lane = token_lanes(m) / 2u; lane != 0; lane /= 2u) {
        SIMT_UNROLLED
        for (uint32_t t = 0; t < TOKENS; t++) {
            score[t] += seam_xor(score[t], lane);
        }
    }
    SIMT_UNROLLED
    for (uint32_t t = 0; t < TOKENS; t++) {
        score[t] = ((present >> t & 1u) != 0) ? score[t] : LEAST_SCORE;
        top      = fmaxf(top, score[t]);
    }

    const float before = seam_exp(a->top - top);

    a->top = top;
    a->sum *= before;
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        a->o[i] *= before;
    }
    SIMT_UNROLLED
    for (uint32_t t = 0; t < TOKENS; t++) {
        const float p = ((present >> t & 1u) != 0) ? seam_exp(score[t] - top) : 0.0f;
        float       v[8];

        seam_unpack(values[t], v);
        a->sum += p;
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i++) {
            a->o[i] = fmaf(p, v[i], a->o[i]);
        }
    }
}

/* Eight numbers that were rounded to bf16 before they were posted. */
SIMT_FN simt_u128 pack_eight(const four *v)
{
    uint32_t pair[4];

    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        pair[i] = machine_bits(v[i / 2u].x[i % 2u * 2u]) >> 16 |
                  (machine_bits(v[i / 2u].x[i % 2u * 2u + 1u]) & 0xffff0000u);
    }
    return {pair[0], pair[1], pair[2], pair[3]};
}

/* Wait for the query.  newest: the warp also adds the token that is being computed. */
SIMT_FN attention attention_begin(const model &m, const moment &now, instruction in,
                                  uint32_t newest)
{
    const uint32_t key_head = m.by_group.of(in.each);
    const float    root     = seam_reverse_root((float)m.s.head_dim);
    const float   *query    = m.qkv(in.layer) + ((in.each + 2u * key_head) << m.dim_bits) +
                         lane_dim(m);
    const float   *key      = m.qkv(in.layer) +
                       ((key_head * (m.s.group() + 2u) + m.s.group()) << m.dim_bits) + lane_dim(m);
    four           v[6]; /* query, key, value */
    attention      a;

    await_fours<6>(now, newest ? 0x3fu : 3u, v, [&](uint32_t i) {
        return ((i < 2u) ? query : key + (i / 2u - 1u) * m.s.head_dim) + 4u * (i % 2u);
    });
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        a.q[i] = v[i / 4u].x[i % 4u] * root;
        a.o[i] = 0.0f;
    }
    a.top = LEAST_SCORE;
    a.sum = 0.0f;
    if (newest) {
        const simt_u128 keys[TOKENS]   = {pack_eight(v + 2), {}};
        const simt_u128 values[TOKENS] = {pack_eight(v + 4), {}};

        attention_add(m, &a, keys, values, token_lane(m) == 0);
    }
    return a;
}

/* Add a share of `tokens`, whose keys and values are contiguous: that of the rank-th of `warps`
 * warps. */
SIMT_FN void attention_tokens(const model &m, attention *a, simt_addr keys, simt_addr values,
                              uint32_t tokens, uint32_t rank, uint32_t warps)
{
    const uint32_t mine = rank * warp_tokens(m);
    const uint32_t step = warps * warp_tokens(m);

    SIMT_ROLLED
    for (uint32_t first = mine; first < tokens; first += TOKENS * step) {
        uint32_t  present = 0;
        simt_u128 k[TOKENS];
        simt_u128 v[TOKENS];

        SIMT_UNROLLED
        for (uint32_t t = 0; t < TOKENS; t++) {
            const uint32_t token = first + token_lane(m) + t * step;
            const uint32_t is_in = token < tokens;
            const uint32_t at    = 2u * (((is_in ? token : 0u) << m.dim_bits) + lane_dim(m));

            k[t] = simt_load128(keys + at);
            v[t] = simt_load128(values + at);
            present |= is_in << t;
        }
        attention_add(m, a, k, v, present);
    }
}

/* Add up the warp's lanes, and store the sums where all warps find them. */
SIMT_FN void attention_leave(const model &m, attention a, results to, simt_addr exchange)
{
    const simt_addr sums = exchange + 4u * ((simt_warp() << m.dim_bits) + lane_dim(m));

    SIMT_ROLLED
    for (uint32_t lane = token_lanes(m); lane < SIMT_WARP; lane *= 2u) {
        const float top    = fmaxf(a.top, seam_xor(a.top, lane));
        const float factor = seam_exp(a.top - top);

        a.top = top;
        a.sum *= factor;
        a.sum += seam_xor(a.sum, lane);
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i++) {
            a.o[i] *= factor;
            a.o[i] += seam_xor(a.o[i], lane);
        }
    }
    if (token_lane(m) == 0) {
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i += 4u) {
            simt_store128(sums + 4u * i, {machine_bits(a.o[i]), machine_bits(a.o[i + 1u]),
                                          machine_bits(a.o[i + 2u]), machine_bits(a.o[i + 3u])});
        }
    }
    if (simt_lane() == 0) { /* in the other lanes they are the same */
        simt_store32(to.scale(simt_warp()), machine_bits(a.top));
        simt_store32(to.scale(simt_warp()) + 4u, machine_bits(a.sum));
    }
}

/* Called after all readers have left their sums, by a thread for each four dimensions: adds up the
 * warps, and posts the part's sums. */
SIMT_FN void attention_finish(const model &m, const moment &now, instruction in, results from,
                              simt_addr exchange, uint32_t *done)
{
    const uint32_t begin = simt_warp() * SIMT_WARP * 4u;
    const uint32_t dim   = simt_thread_rank() * 4u;
    part_sums      all   = { {}, LEAST_SCORE, 0.0f };

    if (begin >= m.s.head_dim) {
        return;
    }
    if (dim < m.s.head_dim) {
        SIMT_ROLLED
        for (uint32_t w = 0; w < READERS; w += BATCH) {
            part_sums one[BATCH];

            SIMT_UNROLLED
            for (uint32_t k = 0; k < BATCH; k++) {
                const simt_addr sums = exchange + 4u * (((w + k) << m.dim_bits) + dim);

                one[k] = { four_of(simt_load128(sums)),
                           machine_float(simt_load32(from.scale(w + k))),
                           machine_float(simt_load32(from.scale(w + k) + 4u)) };
            }
            merge<BATCH>(&all, one);
        }

        float *const to    = m.parts(in.layer) + (in.first << m.dim_bits) + dim;
        float *const scale = m.scales(in.layer) + in.first * 4u;

        SIMT_UNROLLED
        for (uint32_t i = 0; i < 4u; i++) {
            post(now, to + i, all.o.x[i]);
        }
        if (dim == 0) { /* four words, so that they are read like results */
            post(now, scale, all.top);
            post(now, scale + 1u, all.sum);
            post(now, scale + 2u, 0.0f);
            post(now, scale + 3u, 0.0f);
        }
    }
    arrive(done, in, (m.s.head_dim - begin < SIMT_WARP * 4u) ? m.s.head_dim - begin
                                                             : SIMT_WARP * 4u);
}

#endif /* SHPOOL_EXAMPLES_DECODE_ATTEND_H */
