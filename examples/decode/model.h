/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model, its layout in global memory, and the instructions of a step.
 *
 * Weights are bf16: one matrix after another, row by row.  Rows that one thread needs together are
 * adjacent:
 *
 *   qkv       for each key-value head: its query heads, its key head, its value head.  The rotary
 *             embedding rotates the rows 2 i and 2 i + 1 of query and key heads together.
 *   gate_up   gate i, up i, gate i + 1, ...
 *
 * For each layer and key-value head, the cache has the keys and then the values, one token after
 * another, so a range of tokens is one bulk copy.  Activations are float.  Each layer has its own
 * results, so that every layer can be compared afterwards. */
#ifndef SHPOOL_EXAMPLES_DECODE_MODEL_H
#define SHPOOL_EXAMPLES_DECODE_MODEL_H

#include "seam.h"

struct shape {
    uint32_t layers, hidden;
    uint32_t heads, kv_heads, head_dim; /* heads: of queries */
    uint32_t ff, vocab;
    uint32_t tokens; /* capacity of the cache */

    SEAM_BOTH uint32_t group() const { return heads / kv_heads; } /* query heads of a key head */
    SEAM_BOTH uint32_t query() const { return heads * head_dim; }
    SEAM_BOTH uint32_t qkv() const { return kv_heads * ((group() + 2u) * head_dim); }

    /* Offsets in numbers from the start of a layer's weights. */
    SEAM_BOTH size_t at_qkv() const { return hidden; } /* after the first norm's gains */
    SEAM_BOTH size_t at_out() const { return at_qkv() + (size_t)qkv() * hidden; }
    SEAM_BOTH size_t at_norm() const { return at_out() + (size_t)hidden * query(); }
    SEAM_BOTH size_t at_gate_up() const { return at_norm() + hidden; }
    SEAM_BOTH size_t at_down() const { return at_gate_up() + (size_t)2u * ff * hidden; }
    SEAM_BOTH size_t layer() const { return at_down() + (size_t)hidden * ff; }
    /* After all layers: the last norm's gains, then the head, whose rows are the embeddings. */
    SEAM_BOTH size_t at_head() const { return layers * layer() + hidden; }
    SEAM_BOTH size_t weights() const { return at_head() + (size_t)vocab * hidden; }
    SEAM_BOTH size_t head_cache() const { return (size_t)2u * tokens * head_dim; }
    SEAM_BOTH size_t cache() const { return layers * kv_heads * head_cache(); }
};

/* The operations of a layer.  The head counts as the first operation of an additional layer.  In
 * brackets: number of inputs, number of outputs. */
enum op {
    OP_QKV,     /* norm, queries, keys and values, rotary, append         [hidden, qkv] */
    OP_ATTEND,  /* attention of one query head to a part of the tokens    [query, parts] */
    OP_OUT,     /* sum of the parts, output, residual                     [query, hidden] */
    OP_GATE_UP, /* norm, gate and up, SiLU                                [hidden, ff] */
    OP_DOWN,    /* down, residual                                         [ff, hidden] */
    OP_HEAD,    /* norm, head, argmax                                     [hidden, vocab] */
    OP_COUNT
};
#define OPS_OF_LAYER 5u
#define NORM_EPSILON 1e-5f
#define ROTARY_BASE  500000.0

/* Division by a number that the host knows, as a multiplication: exact below 65,536. */
struct divisor {
    uint32_t factor; /* 0: of 1 */

    MACHINE_METHOD uint32_t of(uint32_t n) const
    {
        return (factor != 0) ? simt_mulhi(n, factor) : n;
    }
};
static inline divisor divisor_by(uint32_t n) { return { (n > 1u) ? 0xffffffffu / n + 1u : 0u }; }

struct model {
    shape               s;
    const uint16_t     *weights;
    uint16_t           *cache;
    const float        *turns;  /* head_dim / 2 pairs of cosine and sine for each position */
    float              *stream; /* two of `hidden` for each layer: after attention, after down */
    float              *others; /* the other results of each layer */
    float              *logits;
    unsigned long long *best; /* for each step: the largest logit and its token; initially 0 */
    uint32_t            first_token;
    uint32_t            split;    /* parts of a query head's tokens */
    uint32_t            dim_bits; /* logarithm of head_dim */
    divisor             by_group; /* query heads of a key head */
    divisor             by_share; /* heads of a key head in OP_QKV */

    /* Results of a layer: queries, keys and values; for each part of each query head the sum of the
     * values, and the largest score and the sum of the exponentials; numbers between up and down */
    SEAM_BOTH uint32_t results() const
    {
        return s.qkv() + split * (s.query() + 4u * s.heads) + s.ff;
    }
    SEAM_BOTH float *qkv(uint32_t l) const { return others + (size_t)l * results(); }
    SEAM_BOTH float *parts(uint32_t l) const { return qkv(l) + s.qkv(); }
    SEAM_BOTH float *scales(uint32_t l) const { return parts(l) + split * s.query(); }
    SEAM_BOTH float *act(uint32_t l) const { return scales(l) + split * 4u * s.heads; }
    SEAM_BOTH float *after_attention(uint32_t l) const
    {
        return stream + (size_t)2u * l * s.hidden;
    }
    SEAM_BOTH float *after_layer(uint32_t l) const { return after_attention(l) + s.hidden; }

    SEAM_BOTH const uint16_t *layer(uint32_t l) const { return weights + l * s.layer(); }
    SEAM_BOTH const uint16_t *keys(uint32_t l, uint32_t head) const
    {
        return cache + ((size_t)l * s.kv_heads + head) * s.head_cache();
    }
    /* Rows and columns of an operation's matrix, its address, and the gains of the norm before. */
    SEAM_BOTH uint32_t rows(uint32_t op) const
    {
        return (op == OP_QKV) ? s.qkv() : (op == OP_GATE_UP) ? 2u * s.ff
               : (op == OP_HEAD) ? s.vocab : s.hidden;
    }
    SEAM_BOTH uint32_t columns(uint32_t op) const
    {
        return (op == OP_OUT) ? s.query() : (op == OP_DOWN) ? s.ff : s.hidden;
    }
    SEAM_BOTH const uint16_t *matrix(uint32_t op, uint32_t l) const
    {
        return (op == OP_HEAD)      ? weights + s.at_head()
               : (op == OP_QKV)     ? layer(l) + s.at_qkv()
               : (op == OP_OUT)     ? layer(l) + s.at_out()
               : (op == OP_GATE_UP) ? layer(l) + s.at_gate_up()
                                    : layer(l) + s.at_down();
    }
    SEAM_BOTH const uint16_t *gains(uint32_t op, uint32_t l) const
    {
        return (op == OP_GATE_UP) ? layer(l) + s.at_norm() : layer(l); /* the head's, too */
    }
};

/* ---- instructions: each block has its own stream, in the order of the operations ---- */

struct instruction {
    uint32_t op;
    uint32_t layer;
    uint32_t first; /* row; in OP_ATTEND query head * split + part */
    uint32_t count; /* rows */
    uint32_t each;  /* rows of a tile; in OP_ATTEND the query head (a tile's tokens: `moment`) */
};

/* In memory, and in the registers of a warp that reads an instruction before it needs it. */
static inline simt_u128 pack(const instruction &in)
{
    return {in.op | in.layer << 16, in.first, in.count | in.each << 16, 0};
}
SIMT_FN instruction unpack(simt_u128 v)
{
    return {v.x & 0xffffu, v.x >> 16, v.y, v.z & 0xffffu, v.z >> 16};
}

struct program {
    const simt_u128 *stream;
    const uint32_t  *begin; /* block b has stream[begin[b]] to stream[begin[b + 1] - 1] */
    uint32_t        *done;  /* counters, for each operation: finished rows of all steps */
    uint32_t         pace;  /* least time for 32 KiB of a block, in ns */

    /* The i-th instruction, long before it is needed; any one, if it is not below `end`. */
    MACHINE_METHOD simt_u128 get(uint32_t i, uint32_t end) const
    {
        return seam_fetch(stream + ((i < end) ? i : 0u));
    }
};

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

/* The tokens of a part: `share` of them, as far as there are any.  The last part also has the token
 * that is being computed. */
struct token_range {
    uint32_t first;
    uint32_t cached; /* number of cached tokens */
};
SIMT_FN token_range tokens_of(uint32_t part, const moment &now)
{
    const uint32_t first = part * now.share;
    const uint32_t left  = (now.position > first) ? now.position - first : 0u;

    return {first, (left < now.share) ? left : now.share};
}

SIMT_HD uint32_t counter_of(uint32_t op, uint32_t layer)
{
    return layer * OPS_OF_LAYER + ((op == OP_HEAD) ? 0u : op);
}
/* The amount by which an operation's counter increases in a step. */
SIMT_HD uint32_t finished(const model &m, uint32_t op)
{
    return (op == OP_ATTEND) ? m.s.query() * m.split : m.rows(op);
}
/* The previous operation, whose results are this one's input. */
SIMT_HD uint32_t op_before(uint32_t op)
{
    return (op % OPS_OF_LAYER == 0) ? (uint32_t)OP_DOWN : op - 1u;
}

#endif /* SHPOOL_EXAMPLES_DECODE_MODEL_H */
