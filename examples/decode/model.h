/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model: its shape, and where everything lies in global memory.
 *
 * Weights are bf16, one matrix after another, rows of one matrix after each other; a row has one
 * number for each number that goes in.  Rows that one thread needs together are neighbours:
 *
 *   qkv   for each key-value head: its query heads, its key head, its value head.  In query and key
 *         heads the two numbers that rotary embedding turns together (i and i + head_dim / 2) are
 *         rows 2 i and 2 i + 1, and so they stay in the cache.
 *   gate_up   gate i, up i, gate i + 1, ...
 *
 * The cache has, for each layer and key-value head, the keys and then the values, a token after
 * another: a range of tokens is one bulk copy.  Activations are float; each layer has its own
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
    uint32_t tokens   = 0; /* the cache has room for */

    SEAM_BOTH uint32_t group() const { return heads / kv_heads; } /* query heads of a key head */
    SEAM_BOTH uint32_t query() const { return heads * head_dim; }
    SEAM_BOTH uint32_t share() const { return (group() + 2u) * head_dim; } /* rows of a key head */
    SEAM_BOTH uint32_t qkv() const { return kv_heads * share(); }

    /* In numbers, from the begin of a layer's weights. */
    SEAM_BOTH size_t at_qkv() const { return hidden; } /* behind the first norm's gains */
    SEAM_BOTH size_t at_out() const { return at_qkv() + (size_t)qkv() * hidden; }
    SEAM_BOTH size_t at_norm() const { return at_out() + (size_t)hidden * query(); }
    SEAM_BOTH size_t at_gate_up() const { return at_norm() + hidden; }
    SEAM_BOTH size_t at_down() const { return at_gate_up() + (size_t)2u * ff * hidden; }
    SEAM_BOTH size_t layer() const { return at_down() + (size_t)hidden * ff; }
    /* Behind all layers: the last norm's gains, then the head, whose rows are the embeddings. */
    SEAM_BOTH size_t at_head() const { return layers * layer() + hidden; }
    SEAM_BOTH size_t weights() const { return at_head() + (size_t)vocab * hidden; }
    SEAM_BOTH size_t head_cache() const { return (size_t)2u * tokens * head_dim; }
    SEAM_BOTH size_t cache() const { return layers * kv_heads * head_cache(); }
};

/* The operations of a layer, and the head in place of the first one of a layer that there is not.
 * In brackets: numbers in, numbers out. */
enum op {
    OP_QKV,     /* norm, queries, keys and values, rotary, append         [hidden, qkv] */
    OP_ATTEND,  /* attention of one key head to a part of the tokens      [query, parts] */
    OP_OUT,     /* sum of the parts, output, residual                     [query, hidden] */
    OP_GATE_UP, /* norm, gate and up, SiLU                                [hidden, ff] */
    OP_DOWN,    /* down, residual                                         [ff, hidden] */
    OP_HEAD,    /* norm, head, argmax                                     [hidden, vocab] */
    OP_COUNT
};
#define OPS_OF_LAYER 5u

struct model {
    shape               s;
    const uint16_t     *weights;
    uint16_t           *cache;
    const float        *turns;  /* for each position head_dim / 2 pairs of cosine and sine */
    float              *stream; /* for each layer two of `hidden`: after attention, after down */
    float              *query;
    float              *parts;  /* of attention: PART_ROWS rows for each part of each key head */
    uint32_t           *merged; /* for each key head and warp: parts of all layers and steps */
    float              *attended; /* what attention has found, for each query head */
    float              *act;    /* ff */
    float              *logits;
    unsigned long long *best;   /* for each step: the largest logit and its token, 0 before */
    uint32_t            first_token;
    uint32_t            split;  /* parts of a key head's tokens */

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

    /* Rows and columns of an operation's matrix, and where it lies. */
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
    /* The gains of the norm in front of it. */
    SEAM_BOTH const uint16_t *gains(uint32_t op, uint32_t l) const
    {
        return (op == OP_GATE_UP) ? layer(l) + s.at_norm() : layer(l); /* the head's likewise */
    }
};

/* A part's sums, a row of group * head_dim for each: of the values, the largest score, and of the
 * exponentials.  The last two are the same for all dimensions of a head; so a thread merges its
 * dimension without the others. */
#define PART_ROWS 3u

#define NORM_EPSILON 1e-5f
#define ROTARY_BASE  500000.0

/* A logit and its token as one number: the larger logit wins, of equal ones the smaller token. */
SIMT_FN unsigned long long choice_of(float logit, uint32_t token)
{
    const uint32_t bits  = seam_bits(logit);
    const uint32_t order = (bits >> 31) ? ~bits : bits | 0x80000000u;

    return (unsigned long long)order << 32 | (uint32_t)~token;
}

#endif /* SHPOOL_EXAMPLES_DECODE_MODEL_H */
