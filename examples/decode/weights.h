/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synthetic weights: each number is computed from the matrix's name, its row and its column alone,
 * so a reference needs neither the packed weights nor a file (tests/gpu/python/decode.py does the
 * same).
 *
 * A number is an odd integer from -255 to 255 times a power of two, which bf16 represents exactly.
 * The power is chosen so that a product has about the size of its input. */
#ifndef SHPOOL_EXAMPLES_DECODE_WEIGHTS_H
#define SHPOOL_EXAMPLES_DECODE_WEIGHTS_H

#include "model.h"

/* Matrices as in files of models: rows are outputs, heads are in order and not rotated. */
enum name {
    NAME_NORM_1, NAME_Q, NAME_K, NAME_V, NAME_OUT, NAME_NORM_2, NAME_GATE, NAME_UP, NAME_DOWN,
    NAME_NORM, NAME_HEAD, NAME_KEYS, NAME_VALUES
};

struct natural { /* a row of a matrix */
    uint32_t name;
    uint32_t row;
};

SIMT_HD uint32_t made_up_hash(uint32_t name, uint32_t layer, uint32_t row, uint32_t column)
{
    uint32_t x = ((name + 16u * layer) * 0x9e3779b1u + row) * 0x85ebca6bu + column;

    x = (x ^ x >> 16) * 0x21f0aaadu;
    x = (x ^ x >> 15) * 0x735a2d97u;
    return x >> 24;
}

/* bf16 of an integer of up to 8 bits, not 0, times 2 to the power of -shift. */
SIMT_HD uint16_t scaled_bf16(int value, uint32_t shift)
{
    const uint32_t sign  = (value < 0) ? 0x8000u : 0u;
    uint32_t       size  = (uint32_t)((value < 0) ? -value : value);
    uint32_t       power = 127u + 7u - shift;

    while (size < 128u) {
        size *= 2u;
        power--;
    }
    return (uint16_t)(sign | power << 7 | (size & 0x7fu));
}

/* columns: of the matrix. */
SIMT_HD uint16_t made_up(uint32_t name, uint32_t layer, uint32_t row, uint32_t column,
                         uint32_t columns)
{
    const uint32_t hash = made_up_hash(name, layer, row, column);
    uint32_t       bits = 0;

    if ((name == NAME_NORM_1) || (name == NAME_NORM_2) || (name == NAME_NORM)) {
        return scaled_bf16((int)(128u + hash % 32u), 7u);
    }
    if ((name == NAME_KEYS) || (name == NAME_VALUES)) {
        return scaled_bf16((int)(2u * hash) - 255, 8u);
    }
    while (columns >> bits > 1u) {
        bits++;
    }
    return scaled_bf16((int)(2u * hash) - 255, 7u + (bits + 1u) / 2u);
}

/* The natural index of a packed one (model.h). */
SIMT_HD uint32_t natural_dim(uint32_t i, uint32_t head_dim)
{
    return i / 2u + (i & 1u) * (head_dim / 2u);
}
SIMT_HD natural natural_row(const shape &s, uint32_t op, uint32_t row)
{
    const uint32_t key_head = row / s.share();
    const uint32_t head     = row % s.share() / s.head_dim;
    const uint32_t i        = row % s.head_dim;

    switch (op) {
    case OP_QKV:
        if (head < s.group()) {
            return { NAME_Q, (key_head * s.group() + head) * s.head_dim +
                             natural_dim(i, s.head_dim) };
        }
        return (head == s.group())
                   ? natural{ NAME_K, key_head * s.head_dim + natural_dim(i, s.head_dim) }
                   : natural{ NAME_V, key_head * s.head_dim + i };
    case OP_OUT: return { NAME_OUT, row };
    case OP_GATE_UP: return { (row & 1u) ? (uint32_t)NAME_UP : (uint32_t)NAME_GATE, row / 2u };
    case OP_DOWN: return { NAME_DOWN, row };
    default: return { NAME_HEAD, row };
    }
}
/* Columns of the output matrix are the dimensions of attention's heads.  Values are not rotated, so
 * the columns are those of the file. */

/* Kernel: fill an operation's matrix, or, with op == OP_COUNT, the gains and the cache. */
struct make_up {
    static constexpr uint32_t THREADS = 256;

    model     m;
    uint16_t *weights; /* m.weights */
    uint32_t  op;
    uint32_t  layer;
    uint32_t  context; /* tokens of the cache */

    /* `columns` numbers, and where they are; keys are in packed order. */
    struct line {
        uint16_t *to;
        uint32_t  name, layer, row, columns;
    };

    MACHINE_METHOD void operator()() const
    {
        const uint32_t rows = (op == OP_COUNT) ? 2u * m.s.kv_heads * context + 3u : m.rows(op);

        for (uint32_t row = simt_block_rank(); row < rows; row += simt_grid_blocks()) {
            const line l = (op != OP_COUNT) ? matrix_line(row)
                           : (row < 3u)     ? gains_line(row)
                                            : cache_line(row - 3u);

            for (uint32_t c = simt_thread_rank(); c < l.columns; c += THREADS) {
                l.to[c] = made_up(l.name, l.layer, l.row,
                                  (l.name == NAME_KEYS) ? natural_dim(c, l.columns) : c,
                                  l.columns);
            }
        }
    }
    MACHINE_METHOD line matrix_line(uint32_t row) const
    {
        const uint32_t columns = m.columns(op);
        const natural  from    = natural_row(m.s, op, row);

        return { weights + (m.matrix(op, layer) - m.weights) + (size_t)row * columns, from.name,
                 (op == OP_HEAD) ? 0u : layer, from.row, columns };
    }
    MACHINE_METHOD line gains_line(uint32_t which) const /* of the norms; the last is the model's */
    {
        const uint32_t is_last = which == 2u;
        const uint32_t op_of   = (which == 0) ? OP_QKV : (which == 1u) ? OP_GATE_UP : OP_HEAD;

        return { weights + (m.gains(op_of, is_last ? m.s.layers : layer) - m.weights),
                 (uint32_t)((which == 0) ? NAME_NORM_1 : is_last ? NAME_NORM : NAME_NORM_2),
                 is_last ? 0u : layer, 0, m.s.hidden };
    }
    MACHINE_METHOD line cache_line(uint32_t row) const /* keys and values of each head and token */
    {
        const uint32_t token    = row % context;
        const uint32_t key_head = row / context / 2u;
        const uint32_t is_value = row / context % 2u;

        return { m.cache + (m.keys(layer, key_head) - m.cache) +
                     ((size_t)is_value * m.s.tokens + token) * m.s.head_dim,
                 (uint32_t)(is_value ? NAME_VALUES : NAME_KEYS), layer, key_head * 65536u + token,
                 m.s.head_dim };
    }
};

/* Fill all weights of a model, and the first `context` tokens of its cache. */
static void make_up_model(const model &m, uint16_t *weights, uint32_t context, uint32_t blocks)
{
    for (uint32_t l = 0; l < m.s.layers; l++) {
        for (uint32_t op : { OP_QKV, OP_OUT, OP_GATE_UP, OP_DOWN, OP_COUNT }) {
            machine_launch(blocks, make_up::THREADS, 0, make_up{ m, weights, op, l, context });
        }
    }
    machine_launch(blocks, make_up::THREADS, 0, make_up{ m, weights, OP_HEAD, 0, context });
    machine_wait();
}

#endif /* SHPOOL_EXAMPLES_DECODE_WEIGHTS_H */
