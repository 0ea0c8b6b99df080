/* SPDX-License-Identifier: BSD-3-Clause */
/* The input of a product: the lane's numbers of the vector, in float. */
#ifndef SHPOOL_EXAMPLES_DECODE_VECTOR_H
#define SHPOOL_EXAMPLES_DECODE_VECTOR_H

#include "product.h"

/* The step that is being computed. */
struct moment {
    uint32_t number;   /* of the step since the counters were 0 */
    uint32_t position; /* tokens in the cache */
    uint32_t token;    /* the input */
};

/* The token that the step before has chosen, or the first one. */
SIMT_FN uint32_t token_of(const model &m, uint32_t number)
{
    return (number == 0) ? m.first_token : ~(uint32_t)m.best[number - 1u];
}

/* The gains of the norm before a product, for the lane's columns.  They do not depend on the step,
 * so they are read before the vector is complete. */
template <uint32_t SPANS>
struct lane_gains {
    simt_u128 g[SPANS];
};

template <uint32_t SPANS>
SIMT_FN lane_gains<SPANS> read_gains(const model &m, uint32_t op, uint32_t layer)
{
    lane_gains<SPANS> gains = {};

    if ((op != OP_OUT) && (op != OP_DOWN)) {
        SIMT_UNROLLED
        for (uint32_t c = 0; c < SPANS; c++) {
            const uint32_t column = lane_column() + c * SPAN;

            if (column < m.s.hidden) {
                gains.g[c] = seam_fetch(m.gains(op, layer) + column);
            }
        }
    }
    return gains;
}

/* A product's input: the numbers of the lane's columns, and their sum of squares. */
template <uint32_t SPANS>
struct input {
    lane_vector<SPANS> v;
    float               square; /* of the lane's numbers before the gains, for the norm */
};

SIMT_FN void fetch_floats(const float *from, float *to)
{
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i += 4u) {
        const simt_u128 v = seam_fetch(from + i);

        to[i]      = seam_float(v.x);
        to[i + 1u] = seam_float(v.y);
        to[i + 2u] = seam_float(v.z);
        to[i + 3u] = seam_float(v.w);
    }
}

SIMT_FN const uint16_t *embedding(const model &m, uint32_t token)
{
    return m.matrix(OP_HEAD, 0) + (size_t)token * m.s.hidden;
}

/* The residual stream before a norm, times the norm's gains.  The norm's factor is the same for all
 * numbers, so the sums are multiplied by it afterwards (finish.h). */
SIMT_FN void normed_numbers(const model &m, const moment &now, uint32_t op, uint32_t layer,
                            simt_u128 gains, uint32_t column, float *x, float *square)
{
    float gain[8];

    seam_unpack(gains, gain);
    if ((op == OP_QKV) && (layer == 0)) {
        seam_unpack(seam_fetch(embedding(m, now.token) + column), x);
    } else {
        fetch_floats(((op == OP_GATE_UP) ? m.after_attention(layer) : m.after_layer(layer - 1u)) +
                         column, x);
    }
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 8u; i++) {
        *square = fmaf(x[i], x[i], *square);
        x[i] *= gain[i];
    }
}

/* The calling lane's share of an operation's input. */
template <uint32_t SPANS>
SIMT_FN input<SPANS> read_input(const model &m, const moment &now, uint32_t op, uint32_t layer,
                                 const lane_gains<SPANS> &gains)
{
    input<SPANS> in;

    in.square = 0.0f;
    SIMT_UNROLLED
    for (uint32_t c = 0; c < SPANS; c++) {
        const uint32_t column = lane_column() + c * SPAN;
        float         *x      = in.v.x[c];

        if (column >= m.columns(op)) {
            SIMT_UNROLLED
            for (uint32_t i = 0; i < 8u; i++) {
                x[i] = 0.0f;
            }
        } else if ((op == OP_OUT) || (op == OP_DOWN)) {
            fetch_floats(((op == OP_OUT) ? m.attended : m.act) + column, x);
        } else {
            normed_numbers(m, now, op, layer, gains.g[c], column, x, &in.square);
        }
    }
    return in;
}

#endif /* SHPOOL_EXAMPLES_DECODE_VECTOR_H */
