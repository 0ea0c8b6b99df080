/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work of each block in a step: its instructions, which the host makes once.
 *
 * An instruction is a range of rows of one operation.  Each block has its own stream, in the order
 * of the operations, so the loader knows which weights are needed next long before they may be
 * used.  A row is assigned to the block with the fewest bytes so far, so all blocks read the same
 * number of bytes in a step.  Long ranges become several instructions. */
#ifndef SHPOOL_EXAMPLES_DECODE_PROGRAM_H
#define SHPOOL_EXAMPLES_DECODE_PROGRAM_H

#include "team.h"

#include <algorithm>
#include <numeric>

struct instruction {
    uint32_t op;
    uint32_t layer;
    uint32_t first; /* row; in OP_ATTEND query head * split + part */
    uint32_t count; /* rows */
    uint32_t each;  /* rows of a tile; in OP_ATTEND the query head (a tile's tokens: `moment`) */
};

/* In memory, and in the registers of a warp that reads an instruction before it needs it: operation
 * and layer, first, count and each. */
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

/* The tokens of a part: `share` of them, which is a split-th, as far as there are any.  The last
 * part also has the token that is being computed. */
struct token_range {
    uint32_t first;
    uint32_t cached; /* number of cached tokens */
};
SIMT_HD token_range tokens_of(uint32_t part, uint32_t share, uint32_t position)
{
    const uint32_t first = part * share;
    const uint32_t left  = (position > first) ? position - first : 0u;

    return {first, (left < share) ? left : share};
}

SIMT_HD uint32_t pieces(uint32_t whole, uint32_t each) { return (whole + each - 1u) / each; }

/* ---- counters ---- */

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

/* ---- the host's side ---- */

struct schedule {
    std::vector<simt_u128> stream;
    std::vector<uint32_t>  begin;
};

class scheduler {
public:
    /* tile: most bytes of a tile, unless one row needs more */
    scheduler(const model &m, uint32_t blocks, uint32_t tile)
        : m_(m), tile_(tile), load_(blocks, 0), own_(blocks)
    {
    }

    schedule run()
    {
        for (uint32_t l = 0; l < m_.s.layers; l++) {
            for (uint32_t op = OP_QKV; op <= OP_DOWN; op++) {
                share_out(op, l);
            }
        }
        share_out(OP_HEAD, m_.s.layers);

        schedule all;

        for (const std::vector<simt_u128> &own : own_) {
            all.begin.push_back(static_cast<uint32_t>(all.stream.size()));
            all.stream.insert(all.stream.end(), own.begin(), own.end());
        }
        all.begin.push_back(static_cast<uint32_t>(all.stream.size()));
        return all;
    }

private:
    /* Distribute units of one or two rows: all blocks get an even share, and those with the fewest
     * bytes get one more. */
    void share_out(uint32_t op, uint32_t layer)
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

    model                                 m_;
    uint32_t                              tile_;
    std::vector<size_t>                   load_;
    std::vector<std::vector<simt_u128>>   own_;
};

#endif /* SHPOOL_EXAMPLES_DECODE_PROGRAM_H */
