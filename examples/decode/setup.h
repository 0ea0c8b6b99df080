/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host prepares: a made-up model, and each block's instructions. */
#ifndef SHPOOL_EXAMPLES_DECODE_SETUP_H
#define SHPOOL_EXAMPLES_DECODE_SETUP_H

#include "vector.h"

#include <numeric>

SIMT_HD uint32_t pieces(uint32_t whole, uint32_t each) { return (whole + each - 1u) / each; }

/* Kernel: fill numbers first..first+count-1 of an array: base plus an odd number of -most..most
 * times scale, which bf16 represents exactly.  It depends on the number's place alone, so a
 * reference makes the same weights: tests/examples/decode.py, tests/gpu/python/decode.py. */
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

            x     = (x ^ x >> 16) * 0x21f0aaadu;
            x     = (x ^ x >> 15) * 0x735a2d97u;
            to[i] = seam_bf16(base + scale * (float)(int)(2u * (x >> 24 & most) - most));
        }
    }
};

/* All weights, and the whole cache, of which a step reads the tokens before its own.  A matrix is
 * scaled so that a product has about the size of its input. */
static inline void make_up_model(const model &m, uint16_t *weights, uint32_t blocks)
{
    const auto make = [&](uint16_t *to, size_t first, size_t count, uint32_t seed, uint32_t most,
                          float base, float scale) {
        machine_launch(blocks, 256, 0, make_up{ to, first, count, seed, most, base, scale });
    };
    for (uint32_t l = 0; l <= m.s.layers; l++) {
        for (uint32_t op : { OP_QKV, OP_OUT, OP_GATE_UP, OP_DOWN }) {
            const uint32_t which = (l == m.s.layers) ? (uint32_t)OP_HEAD : op;
            const uint32_t bits  = (uint32_t)std::log2(m.columns(which));
            const float    scale = std::ldexp(1.0f, -(int)(7u + (bits + 1u) / 2u));

            if (has_norm(which)) {
                make(weights, m.gains(which, l) - weights, m.s.hidden, 0, 31, 1.0f, 1.0f / 128.0f);
            }
            make(weights, m.matrix(which, l) - weights,
                 (size_t)m.rows(which) * m.columns(which), 0, 255, 0.0f, scale);
            if (which == OP_HEAD) {
                break;
            }
        }
    }
    make(m.cache, 0, m.s.cache(), 1, 255, 0.0f, 1.0f / 256.0f);
    machine_wait();
}

static inline std::vector<float> rotary_table(const shape &s)
{
    std::vector<float> turns;

    for (uint32_t position = 0; position < s.tokens; position++) {
        for (uint32_t i = 0; i < s.head_dim / 2u; i++) {
            const double angle = position * std::pow(ROTARY_BASE, -2.0 * i / s.head_dim);

            turns.push_back(static_cast<float>(std::cos(angle)));
            turns.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    return turns;
}

/* An instruction is a range of rows of one operation.  All blocks get an even share of an
 * operation's rows, and those with the fewest bytes so far get one more.  So all blocks read the
 * same number of bytes in a step. */
class scheduler {
public:
    std::vector<simt_u128> stream; /* the blocks' instructions, one block after another */
    std::vector<uint32_t>  begin;

    /* tile: most bytes of a tile, unless one row needs more */
    scheduler(const model &m, uint32_t blocks, uint32_t tile)
        : m_(m), tile_(tile), load_(blocks, 0), own_(blocks)
    {
        for (uint32_t l = 0; l < m.s.layers; l++) {
            for (uint32_t op = OP_QKV; op <= OP_DOWN; op++) {
                share_out(op, l);
            }
        }
        share_out(OP_HEAD, m.s.layers);
        begin.push_back(0);
        for (const std::vector<simt_u128> &own : own_) {
            stream.insert(stream.end(), own.begin(), own.end());
            begin.push_back(static_cast<uint32_t>(stream.size()));
        }
    }

private:
    void share_out(uint32_t op, uint32_t layer) /* in units of one or two rows */
    {
        const uint32_t        blocks = static_cast<uint32_t>(load_.size());
        const uint32_t        width  = ((op == OP_QKV) || (op == OP_GATE_UP)) ? 2u : 1u;
        const uint32_t        units  = (op == OP_ATTEND) ? m_.s.heads * m_.split
                                                         : m_.rows(op) / width;
        const size_t          bytes  = (op == OP_ATTEND)
                                           ? size_t{ 2 } * m_.s.tokens * m_.s.head_dim / m_.split
                                           : size_t{ width } * m_.columns(op);
        std::vector<uint32_t> order(blocks);
        std::vector<uint32_t> count(blocks, units / blocks);
        uint32_t              first = 0;

        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return load_[a] < load_[b]; });
        for (uint32_t i = 0; i < units % blocks; i++) {
            count[order[i]]++;
        }
        for (uint32_t b = 0; b < blocks; b++) {
            add(b, op, layer, first * width, count[b] * width);
            first += count[b];
            load_[b] += count[b] * bytes;
        }
    }
    void add(uint32_t block, uint32_t op, uint32_t layer, uint32_t first, uint32_t count)
    {
        const uint32_t most = (op == OP_ATTEND) ? 1u
                                                : segment_count(m_.columns(op)).row(MOST_SUMS);
        const uint32_t each = std::min(std::max(tile_ / (2u * m_.columns(op)), 1u), MOST_SUMS);

        for (uint32_t at = 0; at < count; at += most) {
            own_[block].push_back(pack({ op, layer, first + at, std::min(most, count - at),
                                         (op == OP_ATTEND) ? (first + at) / m_.split : each }));
        }
    }

    const model                        &m_;
    uint32_t                            tile_;
    std::vector<size_t>                 load_;
    std::vector<std::vector<simt_u128>> own_;
};

#endif /* SHPOOL_EXAMPLES_DECODE_SETUP_H */
