/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader: one of READERS warps that wait for tiles and compute. */
#ifndef SHPOOL_EXAMPLES_DECODE_READ_H
#define SHPOOL_EXAMPLES_DECODE_READ_H

#include "attend.h"

template <class Memory>
struct reader {
    const model   &m;
    const program &p;
    const Memory  &memory;
    control        shared;
    moment         now;
    cursor         at;        /* the next tile */
    uint32_t       count;     /* instructions so far */
    uint32_t       exchanges; /* of attention's sums */

    MACHINE_METHOD void run()
    {
        const uint32_t end  = p.begin[simt_block_rank() + 1u];
        uint32_t       i    = p.begin[simt_block_rank()];
        simt_u128      next = p.get(i, end);

        SIMT_ROLLED
        for (; i < end; i++, count++) {
            const instruction in = unpack(next);

            next = p.get(i + 1u, end);
            switch (in.op) {
            case OP_QKV: read_rows<OP_QKV>(in); break;
            case OP_ATTEND: read_tokens(in); break;
            case OP_OUT: read_rows<OP_OUT>(in); break;
            case OP_GATE_UP: read_rows<OP_GATE_UP>(in); break;
            case OP_DOWN: read_rows<OP_DOWN>(in); break;
            default: read_rows<OP_HEAD>(in);
            }
        }
    }

    /* Call work(tile, first, n) for the tiles of `all` rows or tokens, `each` of them a tile. */
    template <class Work>
    MACHINE_METHOD void for_tiles(uint32_t all, uint32_t each, Work work)
    {
        SIMT_ROLLED
        for (uint32_t first = 0; first < all; first += each) {
            work(tile_wait(shared.slots(), at), first, (all - first < each) ? all - first : each);
            tile_done(shared.slots(), at);
            at.next(memory.slots());
        }
    }

    /* A copy for each operation: between two operations each instruction counts. */
    template <uint32_t OP>
    MACHINE_METHOD void read_rows(instruction in)
    {
        in.op = OP;

        const results   to    = shared.result(count);
        const seam_u64  gains = read_gains(m, in, 0);
        const beside    with  = read_beside(m, now, in);
        const lane_rows mine(m.columns(in.op));

        simt_mbar_wait(shared.ready(), count & 1u);

        const input v = read_input(m, now, in, shared, gains);

        for_tiles(in.count, in.each, [&](simt_addr tile, uint32_t first, uint32_t rows) {
            multiply(shared_weights{ tile }, mine, rows, v.v, to, first);
        });
        leave_square(to, v.square);
        meet(shared.summed(), count);
        finish(m, now, in, to, with, p.done);
    }

    MACHINE_METHOD void read_tokens(instruction in)
    {
        const uint32_t    part  = in.first - in.each * m.split;
        const token_range range = tokens_of(part, now.share, now.position);
        const results     to    = shared.result(count);

        simt_mbar_wait(shared.ready(), count & 1u);

        attention a = attention_begin(m, now, in,
                                      (part + 1u == m.split) && (simt_warp() + 1u == READERS));

        /* two tiles, or more: half of the warps process every other one */
        const uint32_t halves = (range.cached > now.each) ? 2u : 1u;
        uint32_t       turn   = simt_warp();

        for_tiles(range.cached, now.each, [&](simt_addr tile, uint32_t, uint32_t n) {
            if (turn++ % halves == 0) {
                attention_tokens(m, &a, shared_weights{ tile },
                                 shared_weights{ tile + n * 2u * m.s.head_dim }, n,
                                 simt_warp() / halves, READERS / halves);
            }
        });
        attention_leave(m, a, to, shared.exchange());
        meet(shared.exchanged(), exchanges++);
        attention_finish(m, now, in, to, shared.exchange(), p.done);
        meet(shared.summed(), count); /* the exchange is used again */
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_READ_H */
