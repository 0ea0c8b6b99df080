/* SPDX-License-Identifier: BSD-3-Clause */
/* The same operations with a kernel for each, in a CUDA graph, for comparison with the persistent
 * kernel.  Weights are read from global memory, once, 16 bytes a lane. */
#ifndef SHPOOL_EXAMPLES_DECODE_SEPARATE_H
#define SHPOOL_EXAMPLES_DECODE_SEPARATE_H

#include "attend.h"

/* An operation; block b has `each` rows from b * each on, or part b of attention. */
template <uint32_t SPANS, uint32_t ROWS> /* of lane_vector and multiply(); 0: attention */
struct separate_step {
    static constexpr uint32_t THREADS = READERS * SIMT_WARP;
    static constexpr uint32_t BLOCKS  = (SPANS == 0) ? 1 : 2; /* of a multiprocessor, at least */

    model           m;
    uint32_t        op;
    uint32_t        layer;
    uint32_t        each;
    const uint32_t *now; /* number of the step, and position; the graph is made only once */

    MACHINE_METHOD void operator()() const
    {
        const control shared = { simt_dynamic_base() };
        const moment  at     = { now[0], now[1], token_of(m, now[0]) };

        if (simt_thread_rank() == 0) {
            simt_mbar_init(shared.summed(), READERS);
        }
        simt_barrier();
        if constexpr (SPANS == 0) {
            attend(shared, at);
        } else {
            rows(shared, at);
        }
    }

    MACHINE_METHOD void rows(control shared, const moment &at) const
    {
        const uint32_t       first = simt_block_rank() * each;
        const uint32_t       left  = m.rows(op) - first;
        const instruction    in    = { op, layer, first, (left < each) ? left : each };
        const uint32_t       row   = 2u * m.columns(op); /* bytes */
        const unsigned char *from  = (const unsigned char *)m.matrix(op, layer) +
                                    (size_t)first * row;
        const results        to    = shared.result(0);
        const beside         with  = read_beside(m, at, in);
        const input<SPANS>  v     = read_input<SPANS>(m, at, op, layer,
                                                       read_gains<SPANS>(m, op, layer));

        for (uint32_t r = ROWS * team_of_warp(); r < in.count; r += ROWS * TEAMS) {
            const uint32_t n = (in.count - r < ROWS) ? in.count - r : ROWS;

            multiply<SPANS, ROWS>(global_weights{ from + (size_t)r * row }, n, m.columns(op), v.v.x,
                                   to.sums(team_rank()) + 4u * r);
        }
        leave_square(to, v.square);
        shared.meet(0);
        finish(m, at, in, to, with, NULL);
    }

    MACHINE_METHOD void attend(control shared, const moment &at) const
    {
        const instruction    in    = { op, layer, simt_block_rank(), 1u };
        const uint32_t       head  = in.first / m.split;
        const uint32_t       part  = in.first % m.split;
        const token_range    range = tokens_of(m, part, at.position);
        const unsigned char *keys  = (const unsigned char *)(m.keys(layer, head) +
                                                            (size_t)range.first * m.s.head_dim);
        const results        to    = shared.result(0);
        const simt_addr      scratch = shared.pool();
        attention            a     = attention_begin(m, head);

        attention_tokens(m, &a, global_weights{ keys },
                         global_weights{ keys + (size_t)2u * m.s.tokens * m.s.head_dim },
                         simt_warp(), READERS, range.cached);
        if ((part + 1u == m.split) && (simt_warp() + 1u == READERS)) {
            attention_newest(m, at, &a, layer, head);
        }
        attention_leave(m, a, to, scratch);
        shared.meet(0);
        attention_finish(m, at, in, to, scratch, NULL);
    }
};

/* At the end: advance to the next step's number and position. */
struct advance_step {
    static constexpr uint32_t THREADS = SIMT_WARP;
    static constexpr uint32_t BLOCKS  = 1;

    uint32_t *now;

    MACHINE_METHOD void operator()() const
    {
        if (simt_thread_rank() < 2u) {
            now[simt_thread_rank()]++;
        }
    }
};

/* Dynamic shared memory of such a kernel. */
static inline uint32_t separate_shared(const model &m, uint32_t op)
{
    return CONTROL_BYTES + TILE_ALIGNED + ((op == OP_ATTEND) ? attention_scratch(m) : 0u);
}

/* All operations of a step, one after another. */
template <class Stream>
static void launch_separate(const model &m, uint32_t *now, uint32_t each, Stream stream)
{
    const uint32_t last = m.s.layers * OPS_OF_LAYER;

    for (uint32_t i = 0; i <= last; i++) {
        const uint32_t op     = (i == last) ? (uint32_t)OP_HEAD : i % OPS_OF_LAYER;
        const uint32_t blocks = (op == OP_ATTEND) ? m.s.kv_heads * m.split
                                                  : pieces(m.rows(op), each);

        const uint32_t layer  = i / OPS_OF_LAYER;
        const uint32_t bytes  = separate_shared(m, op);

        if (op == OP_ATTEND) {
            seam_launch(blocks, bytes, separate_step<0, 0>{ m, op, layer, each, now }, stream);
        } else if (m.columns(op) <= SPAN) {
            seam_launch(blocks, bytes, separate_step<1, 8>{ m, op, layer, each, now }, stream);
        } else {
            seam_launch(blocks, bytes, separate_step<MOST_SPANS, 1>{ m, op, layer, each, now },
                        stream);
        }
    }
    seam_launch(1, 0, advance_step{ now }, stream);
}

#endif /* SHPOOL_EXAMPLES_DECODE_SEPARATE_H */
