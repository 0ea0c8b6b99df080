/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model: its shape, and its layout in global memory.
 *
 * Weights are bf16: one matrix after another, and within a matrix one row after another.  A row has
 * one number for each input.  Rows that one thread needs together are adjacent:
 *
 *   qkv   for each key-value head: its query heads, its key head, its value head.  In query and key
 *         heads the two numbers that rotary embedding rotates together (i and i + head_dim / 2) are
 *         rows 2 i and 2 i + 1.  They have the same order in the cache.
 *   gate_up   gate i, up i, gate i + 1, ...
 *
 * For each layer and key-value head, the cache has the keys and then the values, one token after
 * another, so a range of tokens is one bulk copy.  Activations are float.  Each layer has its own
 * residual streams, so that every layer can be checked afterwards. */
#ifndef SHPOOL_EXAMPLES_DECODE_MODEL_H
#define SHPOOL_EXAMPLES_DECODE_MODEL_H

#include "seam.h"

struct shape {
    uint32_t layers   = 0;
    uint32_t hidden   = 0;
    uint32_t heads    = 0; /* query heads */
    uint32_t kv_heads = 0;
    uint32_t head_dim = 0;
    uint32_t ff       = 0;
    uint32_t vocab    = 0;
    uint32_t tokens   = 0; /* capacity of the cache */

    SEAM_BOTH uint32_t group() const { return heads / kv_heads; } /* query heads of a key head */
    SEAM_BOTH uint32_t query() const { return heads * head_dim; }
    SEAM_BOTH uint32_t share() const { return (group() + 2u) * head_dim; } /* rows of a key head */
    SEAM_BOTH uint32_t qkv() const { return kv_heads * share(); }

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

/* Division by a number that the host knows, as a multiplication: exact below 65,536. */
struct divisor {
    uint32_t factor = 0; /* 0: of 1 */

    SEAM_BOTH explicit divisor(uint32_t by) : factor((by > 1u) ? 0xffffffffu / by + 1u : 0u) {}
    MACHINE_METHOD uint32_t of(uint32_t n) const
    {
        return (factor != 0) ? simt_mulhi(n, factor) : n;
    }
};

struct model {
    shape               s;
    const uint16_t     *weights;
    uint16_t           *cache;
    const float        *turns;  /* head_dim / 2 pairs of cosine and sine for each position */
    float              *stream; /* two of `hidden` for each layer: after attention, after down */
    float              *others; /* the other results of each layer */
    float              *logits;
    unsigned long long *best;   /* for each step: the largest logit and its token; initially 0 */
    uint32_t            first_token;
    uint32_t            split;  /* parts of a query head's tokens */
    uint32_t            dim_bits; /* logarithm of head_dim */
    divisor             by_group;   /* query heads of a key head */
    divisor             by_share;   /* heads of a key head in OP_QKV */

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

    SEAM_BOTH const uint16_t *layer(uint32_t l) const { return weights + l * s.layer(); }
    SEAM_BOTH const uint16_t *keys(uint32_t l, uint32_t head) const
    {
        return cache + ((size_t)l * s.kv_heads + head) * s.head_cache();
    }
    SEAM_BOTH float *after_attention(uint32_t l) const
    {
        return stream + (size_t)2u * l * s.hidden;
    }
    SEAM_BOTH float *after_layer(uint32_t l) const { return after_attention(l) + s.hidden; }

    /* Rows and columns of an operation's matrix, and its address. */
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
    /* The gains of the norm before it. */
    SEAM_BOTH const uint16_t *gains(uint32_t op, uint32_t l) const
    {
        return (op == OP_GATE_UP) ? layer(l) + s.at_norm() : layer(l); /* the head's, too */
    }
};

#define NORM_EPSILON 1e-5f
#define ROTARY_BASE  500000.0

/* A logit and its token as one number: the larger logit wins; if equal, the smaller token. */
SIMT_FN unsigned long long choice_of(float logit, uint32_t token)
{
    const uint32_t bits  = seam_bits(logit);
    const uint32_t order = (bits >> 31) ? ~bits : bits | 0x80000000u;

    return (unsigned long long)order << 32 | (uint32_t)~token;
}

#endif /* SHPOOL_EXAMPLES_DECODE_MODEL_H */
