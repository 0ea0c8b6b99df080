/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model, its layout in global memory, and the instructions of a step.
 *
 * Weights are bf16: for each layer the gains of a norm, qkv (the rows of query heads, key heads and
 * value heads), out, the gains of the other norm, gate_up (gate i, up i, gate i + 1, ...), down.
 * After all layers: the last norm's gains, and the head, whose rows are the embeddings.  A matrix
 * is stored row by row.  If a row is longer than the readers' registers hold, the matrix is cut
 * into panels of equal width, one after another, each of them row by row.
 *
 * The rotary embedding rotates the rows 2 i and 2 i + 1 of query and key heads together.  For each
 * layer and key head, the cache has the keys and then the values, one token after another, so a
 * range of tokens is one bulk copy.  Activations are float; each layer has its own. */
#ifndef SHPOOL_EXAMPLES_DECODE_MODEL_H
#define SHPOOL_EXAMPLES_DECODE_MODEL_H

#include "seam.h"

#if defined(__CUDACC__)
#define READERS 16u /* warps */
#else /* a fiber for each thread */
#define READERS 4u
#endif
#define SLICE         128u /* columns of a warp, in each segment of a row */
#define SEGMENT       (READERS * SLICE)
#define MOST_SEGMENTS 4u
#define EIGHT         8u   /* segments that a warp multiplies at a time */
#define MOST_SUMS     128u /* most rows of an instruction, times the segments of a row */
#define TILE_ALIGNED  128u
#define NORM_EPSILON  1e-5f
#define ROTARY_BASE   500000.0

/* The operations of a layer; the head follows the last one's. */
enum op {
    OP_QKV,     /* norm, queries, keys and values, rotary, append */
    OP_ATTEND,  /* attention of one query head to a part of the tokens */
    OP_OUT,     /* sum of the parts, output, residual */
    OP_GATE_UP, /* norm, gate and up, SiLU */
    OP_DOWN,    /* down, residual */
    OP_HEAD,    /* norm, head, argmax */
    OP_COUNT
};
#define OPS_OF_LAYER 5u
SIMT_HD constexpr bool has_norm(uint32_t op) { return (op != OP_OUT) && (op != OP_DOWN); }
/* Whole rows of `down` would leave much of a tile unused, so its tiles may end within a row. */
SIMT_HD constexpr bool is_cut(uint32_t op) { return op == OP_DOWN; }

/* Division by a number that the host knows, as a multiplication: exact below 65,536. */
struct divisor {
    uint32_t factor; /* 0: of 1 */

    MACHINE_METHOD uint32_t of(uint32_t n) const
    {
        return (factor != 0) ? simt_mulhi(n, factor) : n;
    }
};
static inline divisor divisor_by(uint32_t n) { return { (n > 1u) ? 0xffffffffu / n + 1u : 0u }; }

struct matrix {
    uint32_t rows, columns, panels; /* columns: of a panel */
    uint32_t bits; /* of a panel's segments: a power of two, at most MOST_SEGMENTS */
    uint32_t cut;  /* bits of a row's units: tiles have whole units, which are segments or rows */
    uint32_t each; /* units of a tile */
    size_t   gains, at; /* of layer 0; the head's: of the last layer */
};

struct model {
#if defined(__CUDACC__)
    uint32_t layers = 16, hidden = 2048, ff = 8192, vocab = 128256;
    uint32_t heads = 32, kv_heads = 8, head_dim = 64; /* heads: of queries */
#else
    uint32_t layers = 3, hidden = 64, ff = 576, vocab = 200;
    uint32_t heads = 4, kv_heads = 2, head_dim = 16;
#endif
    uint32_t split     = 0; /* parts of a query head's tokens */
    uint32_t panel     = MOST_SEGMENTS * SEGMENT; /* most columns of a panel */
    uint32_t context;   /* tokens in the cache before step 0 */
    uint32_t tokens;    /* capacity of the cache */
    uint32_t most;      /* tokens of a tile */
    uint32_t lane_bits; /* of the lanes of a token, 8 dimensions each */
    divisor  by_dim, by_group, by_split, by_most;
    matrix   of[OP_COUNT]; /* OP_ATTEND: `rows` only */
    size_t   layer;        /* numbers of a layer's weights */

    const uint16_t     *weights;
    uint16_t           *cache;
    const float        *turns;   /* head_dim / 2 pairs of cosine and sine for each position */
    float              *results; /* of all layers */
    float              *logits;
    unsigned long long *best; /* for each step: the largest logit and its token; initially 0 */

    /* The residual stream after attention of layer i / 2, or after all of it (i is odd). */
    SEAM_BOTH float *stream(uint32_t i) const { return results + (size_t)i * hidden; }
    /* Other results: queries, keys and values; the numbers between up and down; for each part of
     * each query head the sum of the values, and the largest score and the sum of the
     * exponentials, as four numbers. */
    SEAM_BOTH uint32_t qkv_rows() const { return (heads + 2u * kv_heads) * head_dim; }
    SEAM_BOTH uint32_t others() const { return qkv_rows() + ff + split * heads * (head_dim + 4u); }
    SEAM_BOTH float   *qkv(uint32_t l) const
    {
        return stream(2u * layers) + (size_t)l * others();
    }
    SEAM_BOTH float *act(uint32_t l) const { return qkv(l) + qkv_rows(); }
    SEAM_BOTH float *parts(uint32_t l) const { return act(l) + ff; }
    SEAM_BOTH float *scales(uint32_t l) const { return parts(l) + split * heads * head_dim; }
    SEAM_BOTH size_t head_cache() const { return (size_t)2u * tokens * head_dim; }
    SEAM_BOTH size_t keys(uint32_t l, uint32_t head) const /* in the cache */
    {
        return ((size_t)l * kv_heads + head) * head_cache();
    }
};

/* Rows of a matrix, or (OP_ATTEND) a part of a query head's tokens.  Each block has its own list of
 * instructions, in the order of the operations. */
struct alignas(8) instruction {
    uint32_t what;  /* not bit fields, of which each would be kept in a register */
    uint32_t first; /* row; OP_ATTEND: the query head */

    SEAM_BOTH uint32_t op() const { return what & 15u; }
    SEAM_BOTH uint32_t count() const { return what >> 4 & 0xfffu; } /* rows; OP_ATTEND: the part */
    SEAM_BOTH uint32_t layer() const { return what >> 16; }         /* the head's: the last one */
};

struct program {
    const instruction *list;
    const uint32_t    *begin; /* block b has list[begin[b]] and so on, up to one of OP_COUNT */
    uint32_t          *done;  /* for each layer's operations: finished rows of all steps */
    uint32_t          *ended; /* how often a block has finished a step */
    uint32_t           blocks; /* that have instructions */
    uint32_t           number; /* the launch's first step */
    uint32_t           steps;  /* of the launch */
    uint32_t           pace;   /* least time for 32 KiB of a block, in ns */

    /* Call work(instruction) for those of the block; each is read long before it is needed. */
    template <class Work>
    MACHINE_METHOD void run(Work work) const
    {
        uint32_t    i    = begin[simt_block_rank()];
        instruction next = list[i];

        SIMT_ROLLED
        while (next.op() != OP_COUNT) {
            const instruction in = next;

            next = list[++i];
            work(in);
        }
    }
};
SIMT_FN uint32_t counter_of(instruction in) { return in.layer() * OPS_OF_LAYER + in.op(); }

/* ---- what the host prepares ---- */

static inline uint32_t pieces(uint32_t whole, uint32_t each) { return (whole + each - 1u) / each; }

static inline matrix matrix_of(uint32_t op, uint32_t rows, uint32_t columns, uint32_t tile,
                               uint32_t panel)
{
    uint32_t n = pieces(columns, panel);

    while (columns % (8u * n) != 0) { /* a panel's rows are multiples of 16 bytes */
        n++;
    }
    columns /= n;

    const uint32_t bits = (columns <= SEGMENT) ? 0u : (columns <= 2u * SEGMENT) ? 1u : 2u;
    const uint32_t cut  = (is_cut(op) && (columns == SEGMENT << bits)) ? bits : 0u;

    return { rows, columns, n, bits, cut,
             std::min(std::max(tile / (2u * columns >> cut), 1u), MOST_SUMS), 0, 0 };
}

/* Sizes and places of everything.  tile: most bytes of a tile, unless one unit needs more.  Returns
 * the number of weights. */
static inline size_t lay_out(model &m, uint32_t tile)
{
    m.of[OP_QKV]     = matrix_of(OP_QKV, m.qkv_rows(), m.hidden, tile, m.hidden);
    m.of[OP_ATTEND]  = { m.heads * m.split, 0, 1, 0, 0, 0, 0, 0 };
    m.of[OP_OUT]     = matrix_of(OP_OUT, m.hidden, m.heads * m.head_dim, tile, m.panel);
    m.of[OP_GATE_UP] = matrix_of(OP_GATE_UP, 2u * m.ff, m.hidden, tile, m.hidden);
    m.of[OP_DOWN]    = matrix_of(OP_DOWN, m.hidden, m.ff, tile, m.panel);
    m.of[OP_HEAD]    = matrix_of(OP_HEAD, m.vocab, m.hidden, tile, m.hidden);
    m.layer          = 0;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        matrix &of = m.of[op];

        of.gains = m.layer;
        of.at    = m.layer + (((op != OP_ATTEND) && has_norm(op)) ? m.hidden : 0u);
        if (op != OP_HEAD) {
            m.layer = of.at + (size_t)of.rows * of.columns * of.panels;
        }
    }
    for (m.lane_bits = 1; (8u << m.lane_bits) < m.head_dim;) {
        m.lane_bits++;
    }
    m.most     = std::max(tile / (4u * m.head_dim), 1u);
    m.by_dim   = divisor_by(m.head_dim);
    m.by_group = divisor_by(m.heads / m.kv_heads);
    m.by_split = divisor_by(m.split);
    m.by_most  = divisor_by(m.most);
    return m.layers * m.layer + m.hidden + (size_t)m.vocab * m.hidden;
}

/* Bytes of the longest unit, or token, which a tile must hold. */
static inline uint32_t least_tile(const model &m)
{
    uint32_t least = 4u * m.head_dim;

    for (const matrix &of : m.of) {
        least = std::max(least, 2u * of.columns >> of.cut);
    }
    return least;
}

/* What a tile of at most `tile` bytes is worth: bytes of weights, on average.  Readers multiply
 * EIGHT segments at a time, so a quarter of those that a tile lacks is subtracted. */
static inline double worth_of_tile(model m, uint32_t tile)
{
    double bytes = 0, tiles = 0;

    (void)lay_out(m, tile);
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        const matrix  &of    = m.of[op];
        const double   units = ((op == OP_HEAD) ? 1.0 : m.layers) * of.rows * of.panels *
                               (1u << of.cut);
        const uint32_t group = EIGHT >> (of.bits - of.cut);

        if (op != OP_ATTEND) {
            const double lacks = pieces(of.each, group) * group - of.each;

            bytes += units * (1.0 - 0.25 * lacks / of.each) * (2u * of.columns >> of.cut);
            tiles += units / of.each;
        }
    }
    return bytes / tiles;
}

/* Bytes of the tiles of a pool that has room for `largest` bytes: `tile`, or, if fewer of these fit
 * than pages, those of which the pool's worth is most. */
static inline uint32_t fitting_tile(const model &m, uint32_t tile, uint32_t pages, uint32_t largest)
{
    uint32_t best = tile;
    double   most = largest / tile * worth_of_tile(m, tile);

    if (largest / tile >= pages) {
        return best;
    }
    for (uint32_t n = pages - 1u; n <= pages + 1u; n++) { /* 2 or more: two of `tile` fit */
        const uint32_t other = largest / n & ~(TILE_ALIGNED - 1u);
        const double   worth = n * worth_of_tile(m, other);

        if ((other >= least_tile(m)) && (worth > most)) {
            most = worth;
            best = other;
        }
    }
    return best;
}

/* Kernel: fill numbers first..first+count-1 of an array: base plus an odd number of -most..most
 * times scale, which bf16 represents exactly.  It depends on the number's place alone, so a
 * reference makes the same weights: tests/examples/decode.py. */
struct make_up {
    uint16_t *to;
    size_t    first, count;
    uint32_t  seed, most; /* most: a power of two, minus 1 */
    float     base, scale;

    MACHINE_METHOD void operator()() const
    {
        const size_t step = (size_t)simt_grid_blocks() * simt_block_threads();

        for (size_t i = first + simt_block_rank() * simt_block_threads() + simt_thread_rank();
             i < first + count; i += step) {
            uint32_t x = (uint32_t)i * 0x9e3779b1u + seed;

            x = (x ^ x >> 16) * 0x21f0aaadu;
            x = (x ^ x >> 15) * 0x735a2d97u;

            const int odd = (int)(2u * (x >> 24 & most) - most);

            to[i] = (uint16_t)(machine_bits(base + scale * (float)odd) >> 16);
        }
    }
};

/* All weights, and the whole cache, of which a step reads the tokens before its own.  A matrix is
 * scaled so that a product has about the size of its input. */
static inline void make_up_model(const model &m, uint16_t *weights, uint32_t blocks)
{
    for (uint32_t l = 0; l < m.layers; l++) {
        for (uint32_t op = 0; op < OP_COUNT; op++) {
            const matrix  &of      = m.of[op];
            const uint32_t columns = of.columns * of.panels;
            const size_t   at      = l * m.layer;

            if ((op == OP_ATTEND) || ((op == OP_HEAD) && (l + 1u != m.layers))) {
                continue;
            }
            if (has_norm(op)) {
                machine_launch(blocks, 256, 0, make_up{ weights, at + of.gains, m.hidden, 0, 31,
                                                        1.0f, 1.0f / 128.0f });
            }
            machine_launch(blocks, 256, 0,
                           make_up{ weights, at + of.at, (size_t)of.rows * columns, 0, 255, 0.0f,
                                    std::ldexp(1.0f, -7 - ((int)std::log2(columns) + 1) / 2) });
        }
    }
    machine_launch(blocks, 256, 0, make_up{ m.cache, 0, m.keys(m.layers, 0), 1, 255, 0.0f,
                                            1.0f / 256.0f });
}

static inline std::vector<float> rotary_table(const model &m)
{
    std::vector<float> turns;

    for (uint32_t position = 0; position < m.tokens; position++) {
        for (uint32_t i = 0; i < m.head_dim; i += 2u) {
            const double angle = position * std::pow(ROTARY_BASE, -1.0 * i / m.head_dim);

            turns.push_back(static_cast<float>(std::cos(angle)));
            turns.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    return turns;
}

/* All blocks get an even share of an operation's rows, in units of one or two, and those with the
 * fewest bytes so far get one more.  So all blocks read the same number of bytes in a step.
 * Returns the blocks' lists, and for each block where its list begins. */
static inline std::vector<instruction> schedule(const model &m, uint32_t blocks,
                                                std::vector<uint32_t> *begin)
{
    std::vector<std::vector<instruction>> own(blocks);
    std::vector<instruction>              all;
    std::vector<size_t>                   load(blocks, 0);
    std::vector<uint32_t>                 order(blocks);

    for (uint32_t i = 0; i < m.layers * OPS_OF_LAYER + 1u; i++) {
        const uint32_t layer = std::min(i / OPS_OF_LAYER, m.layers - 1u);
        const uint32_t op    = i - layer * OPS_OF_LAYER;
        const matrix  &of    = m.of[op];
        const uint32_t width = ((op == OP_QKV) || (op == OP_GATE_UP)) ? 2u : 1u;
        const uint32_t most  = (op == OP_ATTEND) ? 1u : MOST_SUMS >> of.bits;
        const size_t   bytes = (op == OP_ATTEND) ? m.head_cache() / m.split
                                                 : size_t{ width } * of.columns * of.panels;
        const uint32_t what  = op | layer << 16;
        uint32_t       first = 0;

        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return load[a] < load[b]; });
        for (uint32_t k = 0; k < blocks; k++) {
            const uint32_t b   = order[k];
            const uint32_t n   = of.rows / width / blocks + (k < of.rows / width % blocks);
            const uint32_t end = first + n * width;

            load[b] += n * bytes;
            for (; first < end; first += std::min(most, end - first)) {
                const uint32_t rows = std::min(most, end - first);

                own[b].push_back((op == OP_ATTEND)
                                     ? instruction{ what | first % m.split << 4, first / m.split }
                                     : instruction{ what | rows << 4, first });
            }
        }
    }
    for (const std::vector<instruction> &list : own) {
        begin->push_back(static_cast<uint32_t>(all.size()));
        all.insert(all.end(), list.begin(), list.end());
        all.push_back({ OP_COUNT, 0 });
    }
    return all;
}

#endif /* SHPOOL_EXAMPLES_DECODE_MODEL_H */
