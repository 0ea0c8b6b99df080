/* SPDX-License-Identifier: BSD-3-Clause */
/* The input of a product: the lane's numbers of the vector, in float. */
#ifndef SHPOOL_EXAMPLES_DECODE_VECTOR_H
#define SHPOOL_EXAMPLES_DECODE_VECTOR_H

#include "product.h"

/* The step that is being computed. */
struct moment {
    uint32_t number;   /* of the step since the counters were 0 */
    uint32_t position; /* tokens in the cache */
    uint32_t share;    /* tokens of a part of attention */
    uint32_t each;     /* and of a tile of it: the tiles of a part have the same size */
    uint32_t token;    /* the input */
};

/* The token that the step before has chosen, or the first one. */
SIMT_FN uint32_t token_of(const model &m, uint32_t number)
{
    return (number == 0) ? m.first_token : ~(uint32_t)m.best[number - 1u];
}

struct four {
    float x[4];
};

SIMT_FN four four_of(simt_u128 v)
{
    return {{seam_float(v.x), seam_float(v.y), seam_float(v.z), seam_float(v.w)}};
}
SIMT_FN simt_u128 bits_of(four v)
{
    return {seam_bits(v.x[0]), seam_bits(v.x[1]), seam_bits(v.x[2]), seam_bits(v.x[3])};
}
/* Four numbers in bf16. */
SIMT_FN four four_bf16(const uint16_t *from)
{
    const seam_u64 v = seam_fetch8(from);

    return {{seam_low(v.x), seam_high(v.x), seam_low(v.y), seam_high(v.y)}};
}

/* ---- results, which are messages between blocks ----
 *
 * The lowest bit of a result says in which step it was written: it alternates, and memory is 0
 * before step 0.  So each word says itself whether it is there, and no fence orders anything. */

SIMT_FN uint32_t tag_of(const moment &now) { return ~now.number & 1u; }

SIMT_FN void post(const moment &now, float *to, float result)
{
    seam_post(to, (seam_bits(result) & ~1u) | tag_of(now));
}

/* Wait for the result at `at`. */
SIMT_FN float await_one(const moment &now, const float *at)
{
    uint32_t v;

    SIMT_ROLLED
    while ((((v = seam_peek4(at)) ^ tag_of(now)) & 1u) != 0) {
        seam_spin();
    }
    return seam_float(v);
}

/* Wait for the i-th of N groups of four results, at at(i), for each bit i of `wanted`.  Other
 * groups have the tag as their bits, which is almost 0. */
template <uint32_t N, class At>
SIMT_FN void await_fours(const moment &now, uint32_t wanted, four *to, At at)
{
    const uint32_t tag = tag_of(now);
    simt_u128      v[N];
    uint32_t       missing;

    SIMT_ROLLED
    do {
        missing = 0;
        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) { /* all loads are in flight together */
            v[i] = ((wanted >> i & 1u) != 0) ? seam_peek(at(i)) : simt_u128{ tag, tag, tag, tag };
        }
        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) {
            missing |= (v[i].x ^ tag) | (v[i].y ^ tag) | (v[i].z ^ tag) | (v[i].w ^ tag);
        }
        missing &= 1u;
        if (missing != 0) {
            seam_spin();
        }
    } while (missing != 0);
    simt_warp_sync(SIMT_ALL_LANES);
    SIMT_UNROLLED
    for (uint32_t i = 0; i < N; i++) {
        to[i] = four_of(v[i]);
    }
}

SIMT_FN const uint16_t *embedding(const model &m, uint32_t token)
{
    return m.matrix(OP_HEAD, 0) + (size_t)token * m.s.hidden;
}

SIMT_FN uint32_t has_norm(uint32_t op) { return (op != OP_OUT) && (op != OP_DOWN); }

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

/* A product's input: the numbers of the lane's columns, and a part of the sum of squares. */
struct input {
    four  v[LANE / 4u];
    float square; /* before the gains */

    MACHINE_METHOD const float *x() const { return v[0].x; }
};

/* Rows that are longer than a segment: each lane reads its own columns.  Otherwise all teams have
 * the same columns, so each number is read once and exchanged in shared memory. */
SIMT_FN uint32_t reads_alone(uint32_t op, uint32_t columns)
{
    return (columns > SEGMENT) && (op != OP_OUT);
}
/* The first of the i-th four columns that the calling lane reads. */
SIMT_FN uint32_t input_column(uint32_t alone, uint32_t segment, uint32_t i)
{
    return segment * SEGMENT + (alone ? lane_column(i) : simt_thread_rank() * 4u);
}

/* The gains of the norm before a product do not depend on the step, so they are read before the
 * vector is complete. */
struct lane_gains {
    four g[LANE / 4u];
};
SIMT_FN lane_gains read_gains(const model &m, instruction in)
{
    const uint32_t columns = m.columns(in.op);
    const uint32_t alone   = reads_alone(in.op, columns);
    const uint32_t segment = alone ? share_of_team(columns).segment : 0u;
    lane_gains     gains   = {};

    SIMT_UNROLLED
    for (uint32_t i = 0; i < LANE / 4u; i++) {
        const uint32_t column = input_column(alone, segment, i);

        if (has_norm(in.op) && (column < columns) && (alone || (i == 0))) {
            gains.g[i] = four_bf16(m.gains(in.op, in.layer) + column);
        }
    }
    return gains;
}

/* N groups of four numbers of the residual stream before a norm, times the gains; or of the vector
 * of another operation.  The norm's factor is the same for all numbers, so the sums are multiplied
 * by it afterwards (finish.h). */
template <uint32_t N>
SIMT_FN void read_fours(const model &m, const moment &now, instruction in, uint32_t alone,
                        uint32_t segment, const lane_gains &gains, four *to, float *square)
{
    const float *from    = (in.op == OP_DOWN)      ? m.act(in.layer)
                           : (in.op == OP_GATE_UP) ? m.after_attention(in.layer)
                                                   : m.after_layer(in.layer - 1u);
    uint32_t     wanted  = 0;

    SIMT_UNROLLED
    for (uint32_t i = 0; i < N; i++) {
        wanted |= (input_column(alone, segment, i) < m.columns(in.op)) << i;
    }
    if ((in.op == OP_QKV) && (in.layer == 0)) {
        SIMT_UNROLLED
        for (uint32_t i = 0; i < N; i++) {
            if ((wanted >> i & 1u) != 0) {
                to[i] = four_bf16(embedding(m, now.token) + input_column(alone, segment, i));
            }
        }
    } else {
        await_fours<N>(now, wanted, to, [&](uint32_t i) {
            return from + input_column(alone, segment, i);
        });
    }
    if (in.op != OP_DOWN) {
        SIMT_UNROLLED
        for (uint32_t i = 0; i < 4u * N; i++) {
            float *x = &to[i / 4u].x[i % 4u];

            *square = fmaf(*x, *x, *square);
            *x *= gains.g[i / 4u].x[i % 4u];
        }
    }
}

/* A segment in shared memory, for lanes that need it. */
SIMT_FN void exchange_segment(control shared, uint32_t *exchanges, four mine, uint32_t needed,
                              input *in)
{
    simt_store128(shared.exchange() + 16u * simt_thread_rank(), bits_of(mine));
    meet(shared.exchanged(), (*exchanges)++);
    SIMT_UNROLLED
    for (uint32_t i = 0; i < LANE / 4u; i++) {
        if (needed) {
            in->v[i] = four_of(simt_load128(shared.exchange() + 4u * lane_column(i)));
        }
    }
}

/* The calling lane's share of an operation's input. */
SIMT_FN input read_input(const model &m, const moment &now, instruction what, control shared,
                         uint32_t *exchanges, const lane_gains &gains)
{
    const uint32_t   columns = m.columns(what.op);
    const team_share share   = share_of_team(columns);
    input            in      = {};

    if (reads_alone(what.op, columns)) {
        read_fours<LANE / 4u>(m, now, what, 1u, share.segment, gains, in.v, &in.square);
        in.square = (share.first == 0) ? in.square : 0.0f; /* other teams have the same columns */
    } else if (what.op != OP_OUT) {
        four mine = {};

        read_fours<1>(m, now, what, 0, 0, gains, &mine, &in.square);
        exchange_segment(shared, exchanges, mine, 1u, &in);
    } else {
        SIMT_ROLLED
        for (uint32_t s = 0; s * SEGMENT < columns; s++) {
            const uint32_t column = input_column(0, s, 0);

            if (s != 0) { /* all have read the segment before */
                meet(shared.exchanged(), (*exchanges)++);
            }
            exchange_segment(shared, exchanges,
                             merge_parts(m, now, what.layer, column, column < columns),
                             s == share.segment, &in);
        }
    }
    return in;
}

#endif /* SHPOOL_EXAMPLES_DECODE_VECTOR_H */
