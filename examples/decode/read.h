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
    cursor         at;    /* the next tile */
    uint32_t       count; /* instructions so far */

    MACHINE_METHOD void run()
    {
        const uint32_t end = p.begin[simt_block_rank() + 1u];

        SIMT_ROLLED
        for (uint32_t i = p.begin[simt_block_rank()]; i < end; i++, count++) {
            const instruction in = p.stream[i];

            if (in.op == OP_ATTEND) {
                read_tokens(in);
            } else {
                read_rows(in);
            }
        }
    }

    /* Call work(tile, first row, rows) for the tiles of `all` rows, `each` rows a tile: for the
     * team's tiles, skipping those of other teams, or for all tiles, which all readers share. */
    template <uint32_t TAKERS, class Work> /* TEAMS, or 1 */
    MACHINE_METHOD void for_tiles(uint32_t all, uint32_t each, Work work)
    {
        uint32_t taker = 0;

        SIMT_ROLLED
        for (uint32_t first = 0; first < all; first += each) {
            if ((TAKERS == 1u) || (taker == team_of_warp())) {
                work(tile_wait(shared.slots(), at), first,
                     (all - first < each) ? all - first : each);
                tile_done(shared.slots(), at, TAKERS);
            }
            taker = (taker + 1u == TAKERS) ? 0u : taker + 1u;
            at.next(memory.slots());
        }
    }

    MACHINE_METHOD void read_rows(instruction in)
    {
        const uint32_t           columns = m.columns(in.op);
        const results            to      = shared.result(count);
        const lane_gains<MOST_SPANS> gains   = read_gains<MOST_SPANS>(m, in.op, in.layer);

        simt_mbar_wait(shared.ready(), count & 1u);

        const beside        with = read_beside(m, now, in);
        const input<MOST_SPANS>    v    = read_input<MOST_SPANS>(m, now, in.op, in.layer, gains);

        for_tiles<TEAMS>(in.count, tile_rows(p, m, in.op),
                         [&](simt_addr tile, uint32_t first, uint32_t rows) {
                             const simt_addr sums = to.sums(team_rank()) + 4u * first;

                             if (columns <= SPAN) {
                                 multiply<1, 8>(shared_weights{ tile }, rows, columns, v.v.x, sums);
                             } else {
                                 multiply<MOST_SPANS, 2>(shared_weights{ tile }, rows, columns,
                                                         v.v.x, sums);
                             }
                         });
        leave_square(to, v.square);
        shared.meet(count);
        finish(m, now, in, to, with, p.done);
    }

    MACHINE_METHOD void read_tokens(instruction in)
    {
        const uint32_t    head    = in.first / m.split;
        const uint32_t    part    = in.first % m.split;
        const token_range range   = tokens_of(m, part, now.position);
        const results     to      = shared.result(count);
        const cursor      first   = at;
        const simt_addr   scratch = tile_wait(shared.slots(), first);

        at.next(memory.slots());
        simt_mbar_wait(shared.ready(), count & 1u);

        attention a = attention_begin(m, head);

        if ((part + 1u == m.split) && (simt_warp() + 1u == READERS)) {
            attention_newest(m, now, &a, in.layer, head);
        }
        for_tiles<1>(range.cached, tile_tokens(p, m),
                     [&](simt_addr tile, uint32_t, uint32_t n) {
                         const simt_addr values = tile + n * 2u * m.s.head_dim;

                         attention_tokens(m, &a, shared_weights{ tile }, shared_weights{ values },
                                          simt_warp(), READERS, n);
                     });
        attention_leave(m, a, to, scratch);
        shared.meet(count);
        attention_finish(m, now, in, to, scratch, p.done);
        tile_done(shared.slots(), first, 1u);
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_READ_H */
