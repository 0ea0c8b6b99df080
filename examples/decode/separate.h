/* SPDX-License-Identifier: BSD-3-Clause */
/* The same operations with a kernel for each, in a CUDA graph, for comparison with the persistent
 * kernel.  Weights are read from global memory, once, 16 bytes a lane. */
#ifndef SHPOOL_EXAMPLES_DECODE_SEPARATE_H
#define SHPOOL_EXAMPLES_DECODE_SEPARATE_H

#include "attend.h"

/* An operation; block b has `each` rows from b * each on, or part b of attention. */
template <uint32_t OP>
struct separate_step {
    static constexpr uint32_t THREADS = READERS * SIMT_WARP;
    static constexpr uint32_t BLOCKS  = (OP == OP_ATTEND) ? 1 : 2; /* of a multiprocessor */

    model           m;
    uint32_t        layer;
    uint32_t        each;
    const uint32_t *now; /* number of the step, and position; the graph is made only once */

    MACHINE_METHOD void operator()() const
    {
        const control shared = { simt_dynamic_base() };
        const moment  at     = { now[0], now[1], pieces(now[1], m.split), 0, token_of(m, now[0]) };

        if (simt_thread_rank() == 0) {
            simt_mbar_init(shared.exchanged(), READERS);
            simt_mbar_init(shared.summed(), READERS);
        }
        simt_barrier();
        if constexpr (OP == OP_ATTEND) {
            attend(shared, at);
        } else {
            rows(shared, at);
        }
    }

    MACHINE_METHOD void rows(control shared, const moment &at) const
    {
        const uint32_t       first = simt_block_rank() * each;
        const uint32_t       left  = m.rows(OP) - first;
        const instruction    in    = { OP, layer, first, (left < each) ? left : each, 0 };
        const uint32_t       columns = m.columns(OP);
        const unsigned char *from  = (const unsigned char *)m.matrix(OP, layer) +
                                    (size_t)first * columns * 2u;
        const results        to    = shared.result(0);
        const beside         with  = read_beside(m, at, in);
        const input          v     = read_input(m, at, in, shared, read_gains(m, in, 0));

        multiply(global_weights{ from }, lane_rows(columns), in.count, v.v, to, 0);
        leave_square(to, v.square);
        meet(shared.summed(), 0);
        finish(m, at, in, to, with, NULL);
    }

    MACHINE_METHOD void attend(control shared, const moment &at) const
    {
        const uint32_t       head  = simt_block_rank() / m.split; /* of queries */
        const uint32_t       part  = simt_block_rank() % m.split;
        const instruction    in    = { OP, layer, simt_block_rank(), 1u, head };
        const token_range    range = tokens_of(part, at.share, at.position);
        const unsigned char *keys  = (const unsigned char *)(m.keys(layer, m.by_group.of(head)) +
                                                            (size_t)range.first * m.s.head_dim);
        const results        to    = shared.result(0);
        attention            a     = attention_begin(m, at, in, (part + 1u == m.split) &&
                                                                    (simt_warp() + 1u == READERS));

        attention_tokens(m, &a, global_weights{ keys },
                         global_weights{ keys + (size_t)2u * m.s.tokens * m.s.head_dim },
                         range.cached, simt_warp(), READERS);
        attention_leave(m, a, to, shared.exchange());
        meet(shared.exchanged(), 0);
        attention_finish(m, at, in, to, shared.exchange(), NULL);
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

template <uint32_t OP, class Stream>
static void launch_operation(const model &m, uint32_t *now, uint32_t layer, uint32_t each,
                             Stream stream)
{
    const uint32_t blocks = (OP == OP_ATTEND) ? m.s.heads * m.split : pieces(m.rows(OP), each);

    seam_launch(blocks, CONTROL_BYTES, separate_step<OP>{ m, layer, each, now }, stream);
}

/* All operations of a step, one after another. */
template <class Stream>
static void launch_separate(const model &m, uint32_t *now, uint32_t each, Stream stream)
{
    for (uint32_t l = 0; l < m.s.layers; l++) {
        launch_operation<OP_QKV>(m, now, l, each, stream);
        launch_operation<OP_ATTEND>(m, now, l, each, stream);
        launch_operation<OP_OUT>(m, now, l, each, stream);
        launch_operation<OP_GATE_UP>(m, now, l, each, stream);
        launch_operation<OP_DOWN>(m, now, l, each, stream);
    }
    launch_operation<OP_HEAD>(m, now, m.s.layers, each, stream);
    seam_launch(1, 0, advance_step{ now }, stream);
}

#endif /* SHPOOL_EXAMPLES_DECODE_SEPARATE_H */
