/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attention of the query heads of one key head to a part of the tokens.
 *
 * A warp processes some of the tokens for all query heads: a lane has 8 dimensions of one head.  It
 * keeps the largest score so far and adds up relative to it (Milakov and Gimelshein, Online
 * normalizer calculation for softmax, 2018).  At the end, the warps' sums are added up in scratch
 * memory, and the block whose part is finished last adds up the parts' sums. */
#ifndef SHPOOL_EXAMPLES_DECODE_ATTEND_H
#define SHPOOL_EXAMPLES_DECODE_ATTEND_H

#include "finish.h"

#define BATCH       4u /* of tokens, or of parts, whose loads are in flight together */
#define LEAST_SCORE -1e30f

/* The state of a warp, spread over its lanes. */
struct attention {
    float q[8]; /* of the query, divided by the root of head_dim */
    float o[8]; /* sum of the values */
    float top;  /* largest score; the same in all lanes of a head */
    float sum;  /* of the exponentials; also the same in all lanes of a head */
};

/* The first of a lane's dimensions among the group's; surplus lanes repeat the first head. */
SIMT_FN uint32_t attention_place(const model &m)
{
    const uint32_t at = simt_lane() * 8u;

    return (at < m.s.group() * m.s.head_dim) ? at : at % m.s.head_dim;
}

SIMT_FN attention attention_begin(const model &m, uint32_t key_head)
{
    const float root = 1.0f / sqrtf((float)m.s.head_dim);
    attention   a;

    fetch_floats(m.query + key_head * m.s.group() * m.s.head_dim + attention_place(m), a.q);
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        a.q[i] *= root;
        a.o[i] = 0.0f;
    }
    a.top = LEAST_SCORE;
    a.sum = 0.0f;
    return a;
}

/* Add the first `count` tokens of a batch, at least one, in the lane's dimensions. */
SIMT_FN void attention_add(attention *a, const simt_u128 *keys, const simt_u128 *values,
                           uint32_t count, uint32_t head_dim)
{
    float score[BATCH];
    float top = a->top;

    SIMT_UNROLLED
    for (uint32_t t = 0; t < BATCH; t++) {
        score[t] = dot(keys[t], a->q, 0.0f);
        for (uint32_t lane = head_dim / 16u; lane != 0; lane /= 2u) {
            score[t] += seam_xor(score[t], lane);
        }
        score[t] = (t < count) ? score[t] : LEAST_SCORE;
        top      = fmaxf(top, score[t]);
    }

    const float before = expf(a->top - top);

    a->top = top;
    a->sum *= before;
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        a->o[i] *= before;
    }
    SIMT_UNROLLED
    for (uint32_t t = 0; t < BATCH; t++) {
        const float p = expf(score[t] - top);
        float       v[8];

        seam_unpack(values[t], v);
        a->sum += p;
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i++) {
            a->o[i] = fmaf(p, v[i], a->o[i]);
        }
    }
}

/* Add tokens first, first + step, ... of `tokens`, whose keys and values are contiguous. */
template <class Memory>
SIMT_FN void attention_tokens(const model &m, attention *a, Memory keys, Memory values,
                              uint32_t first, uint32_t step, uint32_t tokens)
{
    const uint32_t place = attention_place(m) % m.s.head_dim;

    SIMT_ROLLED
    for (uint32_t token = first; token < tokens; token += BATCH * step) {
        const uint32_t left = (tokens - token + step - 1u) / step;
        simt_u128      k[BATCH];
        simt_u128      v[BATCH];

        SIMT_UNROLLED
        for (uint32_t t = 0; t < BATCH; t++) {
            const uint32_t at = 2u * ((token + ((t < left) ? t : 0u) * step) * m.s.head_dim +
                                      place);

            k[t] = keys.get(at);
            v[t] = values.get(at);
        }
        attention_add(a, k, v, left, m.s.head_dim);
    }
}

/* Called by one warp: adds the token that is being computed, whose key and value are in L2. */
SIMT_FN void attention_newest(const model &m, const moment &now, attention *a, uint32_t layer,
                              uint32_t key_head)
{
    const uint16_t *key = m.keys(layer, key_head) + (size_t)now.position * m.s.head_dim +
                          attention_place(m) % m.s.head_dim;
    const simt_u128 k   = seam_fetch(key);
    const simt_u128 v   = seam_fetch(key + (size_t)m.s.tokens * m.s.head_dim);
    const simt_u128 ks[BATCH] = {k, k, k, k};
    const simt_u128 vs[BATCH] = {v, v, v, v};

    attention_add(a, ks, vs, 1u, m.s.head_dim);
}

/* Bytes of scratch memory. */
SIMT_HD uint32_t attention_scratch(const model &m)
{
    return READERS * m.s.group() * m.s.head_dim * 4u;
}

/* Store the warp's sums in scratch memory and in `to`. */
SIMT_FN void attention_leave(const model &m, const attention &a, results to, simt_addr scratch)
{
    const uint32_t width = m.s.group() * m.s.head_dim;
    const uint32_t at    = simt_lane() * 8u;

    if (at < width) {
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 8u; i++) {
            simt_store32(scratch + 4u * (simt_warp() * width + at + i), seam_bits(a.o[i]));
        }
        if (at % m.s.head_dim == 0) {
            const simt_addr scale = to.scale(simt_warp(), at / m.s.head_dim);

            simt_store32(scale, seam_bits(a.top));
            simt_store32(scale + 4u, seam_bits(a.sum));
        }
    }
}

/* A part's numbers of one dimension. */
struct part_sums {
    float o;
    float top;
    float sum;
};

SIMT_FN void merge(part_sums *all, part_sums one)
{
    const float top    = fmaxf(all->top, one.top);
    const float before = expf(all->top - top);
    const float factor = expf(one.top - top);

    all->o   = all->o * before + one.o * factor;
    all->sum = all->sum * before + one.sum * factor;
    all->top = top;
}

/* Add up the key head's parts in dimension i of group * head_dim. */
SIMT_FN part_sums merge_parts(const model &m, uint32_t key_head, uint32_t i)
{
    const uint32_t width = m.s.group() * m.s.head_dim;
    const float   *from  = m.parts + (size_t)key_head * m.split * PART_ROWS * width + i;
    part_sums      all   = { 0.0f, LEAST_SCORE, 0.0f };

    SIMT_ROLLED
    for (uint32_t p = 0; p < m.split; p += BATCH) {
        part_sums one[BATCH];

        SIMT_UNROLLED
        for (uint32_t k = 0; k < BATCH; k++) {
            const float *of = from + ((p + k < m.split) ? p + k : p) * PART_ROWS * width;

            one[k] = { seam_fetch1(of), seam_fetch1(of + width), seam_fetch1(of + 2u * width) };
        }
        SIMT_UNROLLED
        for (uint32_t k = 0; k < BATCH; k++) {
            if (p + k < m.split) {
                merge(&all, one[k]);
            }
        }
    }
    return all;
}

/* Add up the block's warps in dimension i of the group's. */
SIMT_FN part_sums merge_warps(const model &m, results from, simt_addr scratch, uint32_t i)
{
    const uint32_t width = m.s.group() * m.s.head_dim;
    const uint32_t head  = i / m.s.head_dim;
    part_sums      all   = { 0.0f, LEAST_SCORE, 0.0f };

    SIMT_ROLLED
    for (uint32_t w = 0; w < READERS; w++) {
        const simt_addr scale = from.scale(w, head);

        merge(&all, { seam_float(simt_load32(scratch + 4u * (w * width + i))),
                      seam_float(simt_load32(scale)), seam_float(simt_load32(scale + 4u)) });
    }
    return all;
}

/* Called by a warp that has written its dimensions of a part; nonzero: all parts have them now. */
SIMT_FN uint32_t is_last_part(const model &m, const moment &now, uint32_t layer, uint32_t key_head)
{
    const uint32_t before_this = now.number * m.s.layers + layer; /* attentions */
    uint32_t       before      = 0;

    simt_warp_sync(SIMT_ALL_LANES); /* orders all lanes' writes before */
    if (simt_lane() == 0) {
        before = seam_count(m.merged + key_head * READERS + simt_warp());
    }
    before = simt_shfl(SIMT_ALL_LANES, before, 0);
    simt_warp_sync(SIMT_ALL_LANES); /* orders all lanes' reads after lane 0's acquire */
    return before + 1u == m.split * (before_this + 1u);
}

/* Called after control.meet(), by a thread for each dimension: stores the part's sums; the last
 * part's warp also stores the result of attention.  in.first: the part. */
SIMT_FN void attention_finish(const model &m, const moment &now, instruction in, results from,
                              simt_addr scratch, uint32_t *done)
{
    const uint32_t width    = m.s.group() * m.s.head_dim;
    const uint32_t begin    = simt_warp() * SIMT_WARP;
    const uint32_t i        = simt_thread_rank();
    const uint32_t key_head = in.first / m.split;
    part_sums      all      = { 0.0f, 0.0f, 1.0f };

    if (begin >= width) {
        return;
    }
    if (i < width) {
        float *to = m.parts + (size_t)in.first * PART_ROWS * width + i;

        all            = merge_warps(m, from, scratch, i);
        to[0]          = all.o;
        to[width]      = all.top;
        to[2u * width] = all.sum;
    }
    if (!is_last_part(m, now, in.layer, key_head)) {
        return;
    }
    if (i < width) {
        all = merge_parts(m, key_head, i);
        m.attended[key_head * width + i] = all.o / all.sum;
    }
    arrive(done, in, (width - begin < SIMT_WARP) ? width - begin : SIMT_WARP);
}

#endif /* SHPOOL_EXAMPLES_DECODE_ATTEND_H */
