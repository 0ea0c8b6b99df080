/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attention of one query head to a part of the tokens.
 *
 * A lane has 8 dimensions of some of the tokens.  It keeps the largest score so far and adds up
 * relative to it (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).  At the
 * end, the lanes' and then the warps' sums are added up; the parts are added up where they are
 * needed, in the next product's input.  Where heads of 80 leave lanes without dimensions, their
 * queries are 0, and they load what other lanes need. */
#ifndef SHPOOL_EXAMPLES_DECODE_ATTEND_H
#define SHPOOL_EXAMPLES_DECODE_ATTEND_H

#include "step.h"

#if SIMT_HAS_BULK

#define TOKENS      3u /* of a lane, whose loads are in flight together */
#define PARTS       3u /* of which all loads are in flight together */
#define BATCH       4u /* of warps */
#define LEAST_SCORE -1e30f

/* ---- sums of parts ---- */

/* Of a part of the tokens, in four dimensions of a query head. */
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

/* The result of attention in four columns of all heads, if they are wanted. */
SIMT_FN four merge_parts(const step &s, uint32_t layer, uint32_t column, uint32_t wanted)
{
    const uint32_t dims  = s.m.head_dim;
    const uint32_t head  = s.m.by_dim.of(column);
    const float   *from  = s.m.parts(layer) + head * s.m.split * dims + (column - head * dims);
    const float   *scale = s.m.scales(layer) + head * s.m.split * 4u;
    part_sums      all   = { {}, LEAST_SCORE, 0.0f };

    SIMT_ROLLED
    for (uint32_t p = 0; p < s.m.split; p += PARTS) {
        const uint32_t n = (s.m.split - p < PARTS) ? s.m.split - p : PARTS;
        part_sums      one[PARTS];
        four           v[2u * PARTS];

        await_fours<2u * PARTS>(s, wanted ? simt_mask(0, 2u * n) : 0u, v, [&](uint32_t i) {
            return (i % 2u == 0) ? from + (p + i / 2u) * dims : scale + (p + i / 2u) * 4u;
        });
        SIMT_UNROLLED
        for (uint32_t k = 0; k < PARTS; k++) {
            one[k] = { v[2u * k], (k < n) ? v[2u * k + 1u].x[0] : 2.0f * LEAST_SCORE,
                       v[2u * k + 1u].x[1] };
        }
        merge<PARTS>(&all, one);
    }
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        all.o.x[i] = wanted ? seam_divide(all.o.x[i], all.sum) : 0.0f;
    }
    return all.o;
}

/* ---- a lane ---- */

struct attention {
    float q[8]; /* of the query, divided by the root of head_dim */
    float o[8]; /* sum of the values */
    float top;  /* largest score; the same in all lanes of a token */
    float sum;  /* of the exponentials; also the same */
};

/* The lane's token, of those that the warp adds at a time, and its first dimension. */
SIMT_FN uint32_t token_lane(const step &s) { return simt_lane() >> s.m.lane_bits; }
SIMT_FN uint32_t warp_tokens(const step &s) { return SIMT_WARP >> s.m.lane_bits; }
SIMT_FN uint32_t lane_dim(const step &s)
{
    return 8u * (simt_lane() & ((1u << s.m.lane_bits) - 1u));
}

SIMT_FN void unpack(simt_u128 v, float *to)
{
    const uint32_t pair[4] = { v.x, v.y, v.z, v.w };

    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        to[i] = (i % 2u == 0) ? seam_low(pair[i / 2u]) : seam_high(pair[i / 2u]);
    }
}

/* Add TOKENS tokens in the lane's dimensions, those whose bits are set. */
SIMT_FN void attention_add(const step &s, attention *a, const simt_u128 *keys,
                           const simt_u128 *values, uint32_t present)
{
    float score[TOKENS] = {};
    float top           = a->top;
    float f[8];

    SIMT_UNROLLED
    for (uint32_t t = 0; t < TOKENS; t++) {
        unpack(keys[t], f);
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i++) {
            score[t] = fmaf(f[i], a->q[i], score[t]);
        }
    }
    SIMT_ROLLED
    for (uint32_t lane = (1u << s.m.lane_bits) / 2u; lane != 0; lane /= 2u) {
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

        unpack(values[t], f);
        a->sum += p;
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i++) {
            a->o[i] = fmaf(p, f[i], a->o[i]);
        }
    }
}

/* Eight numbers that were rounded to bf16 before they were posted. */
SIMT_FN simt_u128 pack_eight(const four *v)
{
    return { seam_pair(v[0].x[0], v[0].x[1]), seam_pair(v[0].x[2], v[0].x[3]),
             seam_pair(v[1].x[0], v[1].x[1]), seam_pair(v[1].x[2], v[1].x[3]) };
}

/* Wait for the query.  newest: the warp also adds the token that is being computed. */
SIMT_FN attention attention_begin(const step &s, instruction in, bool newest)
{
    const uint32_t dims  = s.m.head_dim;
    const float   *query = s.m.qkv(in.layer()) + in.first * dims + lane_dim(s);
    const float   *key   = s.m.qkv(in.layer()) + (s.m.heads + s.m.by_group.of(in.first)) * dims +
                       lane_dim(s);
    const float    root  = seam_reverse_root((float)dims);
    four           v[6]; /* query, key, value */
    attention      a     = {};

    await_fours<6>(s, (lane_dim(s) >= dims) ? 0u : newest ? 0x3fu : 3u, v, [&](uint32_t i) {
        return ((i < 2u) ? query : key + (i / 2u - 1u) * s.m.kv_heads * dims) + 4u * (i % 2u);
    });
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        a.q[i] = v[i / 4u].x[i % 4u] * root;
    }
    a.top = LEAST_SCORE;
    if (newest) {
        const simt_u128 keys[TOKENS]   = { pack_eight(v + 2), {} };
        const simt_u128 values[TOKENS] = { pack_eight(v + 4), {} };

        attention_add(s, &a, keys, values, token_lane(s) == 0);
    }
    return a;
}

/* Add a share of `tokens`, whose keys and values are contiguous: that of the rank-th of `warps`
 * warps. */
SIMT_FN void attention_tokens(const step &s, attention *a, simt_addr keys, uint32_t tokens,
                              uint32_t rank, uint32_t warps)
{
    const uint32_t dims   = s.m.head_dim;
    const uint32_t apart  = warps * warp_tokens(s);
    const uint32_t dim    = (lane_dim(s) < dims) ? lane_dim(s) : 0u;
    const uint32_t values = 2u * tokens * dims;

    SIMT_ROLLED
    for (uint32_t first = rank * warp_tokens(s); first < tokens; first += TOKENS * apart) {
        uint32_t  present = 0;
        simt_u128 k[TOKENS];
        simt_u128 v[TOKENS];

        SIMT_UNROLLED
        for (uint32_t t = 0; t < TOKENS; t++) {
            const uint32_t token = first + token_lane(s) + t * apart;
            const uint32_t is_in = token < tokens;
            const uint32_t at    = 2u * ((is_in ? token : 0u) * dims + dim);

            k[t] = simt_load128(keys + at);
            v[t] = simt_load128(keys + values + at);
            present |= is_in << t;
        }
        attention_add(s, a, k, v, present);
    }
}

/* Add up the warp's lanes, and store the sums where all warps find them. */
SIMT_FN void attention_leave(const step &s, attention a, control to)
{
    const simt_addr sums = to.exchange() + 4u * (simt_warp() * s.m.head_dim + lane_dim(s));

    SIMT_ROLLED
    for (uint32_t lane = 1u << s.m.lane_bits; lane < SIMT_WARP; lane *= 2u) {
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
    if ((token_lane(s) == 0) && (lane_dim(s) < s.m.head_dim)) {
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i += 4u) {
            simt_store128(sums + 4u * i, { machine_bits(a.o[i]), machine_bits(a.o[i + 1u]),
                                           machine_bits(a.o[i + 2u]), machine_bits(a.o[i + 3u]) });
        }
    }
    if (simt_lane() == 0) { /* in the other lanes they are the same */
        simt_store32(to.scale(simt_warp()), machine_bits(a.top));
        simt_store32(to.scale(simt_warp()) + 4u, machine_bits(a.sum));
    }
}

/* Called after all readers have left their sums, by a thread for each four dimensions: adds up the
 * warps, and posts the part's sums. */
SIMT_FN void attention_finish(const step &s, instruction in, control from)
{
    const uint32_t part = in.first * s.m.split + in.count();
    const uint32_t dim  = simt_thread_rank() * 4u;
    part_sums      all  = { {}, LEAST_SCORE, 0.0f };

    if (dim >= s.m.head_dim) {
        return;
    }
    SIMT_ROLLED
    for (uint32_t w = 0; w < READERS; w += BATCH) {
        part_sums one[BATCH];

        SIMT_UNROLLED
        for (uint32_t k = 0; k < BATCH; k++) {
            one[k] = { four_of(simt_load128(from.exchange() +
                                            4u * ((w + k) * s.m.head_dim + dim))),
                       machine_float(simt_load32(from.scale(w + k))),
                       machine_float(simt_load32(from.scale(w + k) + 4u)) };
        }
        merge<BATCH>(&all, one);
    }
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        post(s, s.m.parts(in.layer()) + part * s.m.head_dim + dim + i, all.o.x[i]);
    }
    if (dim < 16u) { /* four words, so that they are read like results */
        post(s, s.m.scales(in.layer()) + part * 4u + dim / 4u,
             (dim == 0) ? all.top : (dim == 4u) ? all.sum : 0.0f);
    }
    count_results(s, in, 1);
}

#endif /* SIMT_HAS_BULK */

#endif /* SHPOOL_EXAMPLES_DECODE_ATTEND_H */
