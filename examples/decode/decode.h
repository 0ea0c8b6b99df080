/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A decode step of a Llama-shaped model in one launch: a persistent kernel whose shared memory is a
 * pool.  doc/PERSISTENT.md explains it: why it is fast, what a tile, a result and a counter are,
 * and why there is no deadlock.
 *
 *   readers   READERS warps.  All of them process each tile: they wait for its bytes and multiply.
 *             When all rows of an instruction are summed, a thread for each row finishes it and
 *             posts the result.
 *   loader    one warp gets memory for the tiles, in the order of the instructions, starts the
 *             copies, and frees tiles that have been read, in any order.  It waits only for memory,
 *             and for its share of the machine's bandwidth.
 *   watcher   one thread waits for the counters, so that one thread of a block reads them instead
 *             of 500, and tells the readers through an mbarrier.
 *
 * All blocks must run at the same time; a cooperative launch ensures that.
 *
 * Memory order
 *   results each word is its own message, so no order between words is needed: relaxed stores and
 *           loads, in L2.  The end of a launch orders a step before the next one.
 *   tiles   shpool/stage.cuh: read by threads -> released -> fence.proxy.async by the lane that
 *           starts the next copy into this memory -> copy
 *   keys    and values of the newest token are results, too; copies read older ones, which an
 *           earlier launch has written
 */
#ifndef SHPOOL_EXAMPLES_DECODE_DECODE_H
#define SHPOOL_EXAMPLES_DECODE_DECODE_H

#include "attend.h"

#if SIMT_HAS_BULK

/* ---- the loader ---- */

template <class Memory>
struct loader {
    const model   &m;
    const program &p;
    moment         now;

    typename Memory::loader memory;
    unsigned long long      once; /* the cache policy of weights */
    uint32_t                turn; /* earliest time of the next copy, in ns */

    MACHINE_METHOD void run()
    {
        const uint32_t end  = p.begin[simt_block_rank() + 1u];
        uint32_t       i    = p.begin[simt_block_rank()];
        simt_u128      next = p.get(i, end);

        SIMT_ROLLED
        for (; i < end; i++) {
            const instruction in = unpack(next);

            next = p.get(i + 1u, end);

            const source all  = (in.op == OP_ATTEND) ? tokens_of_cache(in) : rows_of_matrix(in);
            const size_t both = (in.op == OP_ATTEND) ? (size_t)m.s.tokens * 2u * m.s.head_dim : 0;

            SIMT_ROLLED
            for (uint32_t at_byte = 0; at_byte < all.bytes; at_byte += all.each) {
                const uint32_t left = all.bytes - at_byte;

                load(all.from + at_byte, (left < all.each) ? left : all.each, both);
            }
        }
        memory.close();
    }

    /* What an instruction reads: bytes in all, and of a tile. */
    struct source {
        const unsigned char *from;
        uint32_t             bytes;
        uint32_t             each;
    };
    MACHINE_METHOD source rows_of_matrix(const instruction &in) const
    {
        const uint32_t row = 2u * m.columns(in.op); /* bytes */

        return { (const unsigned char *)m.matrix(in.op, in.layer) + (size_t)in.first * row,
                 in.count * row, in.each * row };
    }
    MACHINE_METHOD source tokens_of_cache(const instruction &in) const /* keys */
    {
        const token_range range = tokens_of(in.first - in.each * m.split, now);
        const uint32_t    token = 2u * m.s.head_dim; /* bytes */

        return { (const unsigned char *)m.keys(in.layer, m.by_group.of(in.each)) +
                         (size_t)range.first * token,
                 range.cached * token, now.each * token };
    }

    /* A tile: `bytes` of weights, or of keys, followed by as many of values, which are `both` bytes
     * from the keys. */
    MACHINE_METHOD void load(const unsigned char *from, uint32_t bytes, size_t both)
    {
        const uint32_t     room = (both != 0) ? 2u * bytes : bytes;
        const shpool_stage tile = memory.get(room);

        /* A block gets its share of the memory's bandwidth, and not more.  Otherwise all blocks
         * load at the same time after a wait: some get their tiles much later than others, and
         * results get through only after the tiles. */
        turn = seam_await_ns(turn) + (room * (p.pace >> 3) >> 12);
        if (simt_lane() == 0) {
            shpool_stage_expect(tile, room);
            if (both == 0) {
                seam_copy_once(tile.data, from, bytes, tile.full, once);
            } else {
                simt_copy_async(tile.data, from, bytes, tile.full);
                simt_copy_async(tile.data + bytes, from + both, bytes, tile.full);
            }
        }
    }
};

/* ---- a reader ---- */

struct reader {
    const model   &m;
    const program &p;
    control        shared;
    moment         now;
    shpool_stages  at;        /* the next tile */
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
            const shpool_stage tile = shpool_stage_wait(&at);

            work(tile.data, first, (all - first < each) ? all - first : each);
            shpool_stage_release_warp(tile);
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

        const input v = read_input(m, now, in, shared, to, gains);

        for_tiles(in.count, in.each, [&](simt_addr tile, uint32_t first, uint32_t rows) {
            multiply(tile, mine, rows, v.v, to, first);
        });
        leave_square(to, v.square);
        meet(shared.summed(), count);
        finish(m, now, in, to, with, p.done);
    }

    MACHINE_METHOD void read_tokens(instruction in)
    {
        const uint32_t    part  = in.first - in.each * m.split;
        const token_range range = tokens_of(part, now);
        const results     to    = shared.result(count);

        simt_mbar_wait(shared.ready(), count & 1u);

        attention a = attention_begin(m, now, in,
                                      (part + 1u == m.split) && (simt_warp() + 1u == READERS));

        /* two tiles, or more: half of the warps process every other one */
        const uint32_t halves = (range.cached > now.each) ? 2u : 1u;
        uint32_t       turn   = simt_warp();

        for_tiles(range.cached, now.each, [&](simt_addr tile, uint32_t, uint32_t n) {
            if (turn++ % halves == 0) {
                attention_tokens(m, &a, tile, tile + n * 2u * m.s.head_dim, n,
                                 simt_warp() / halves, READERS / halves);
            }
        });
        attention_leave(m, a, to, shared.exchange());
        meet(shared.exchanged(), exchanges++);
        attention_finish(m, now, in, to, shared.exchange(), p.done);
        meet(shared.summed(), count); /* the exchange is used again */
    }
};

#endif /* SIMT_HAS_BULK: an older GPU compiles the kernel, but main() does not launch it */

/* ---- the kernel ---- */

template <class Memory>
struct decode_step {
    static constexpr uint32_t THREADS = (READERS + 2u) * SIMT_WARP;
    static constexpr uint32_t BLOCKS  = 1; /* of a multiprocessor */

    model    m;
    program  p;
    Memory   memory;
    uint32_t number;   /* of the step: 0, 1, ... since the counters were 0 */
    uint32_t position; /* the other fields of `moment` */
    uint32_t share;
    uint32_t each;

    MACHINE_METHOD void operator()() const
    {
        const control     shared = { simt_dynamic_base() };
        const uint32_t    warp   = simt_warp();
        const shpool_heap heap   = open(shared);
        const moment      now    = { number, position, share, each, token_of(m, number) };

#if SIMT_HAS_BULK
        const void *tiles = simt_from_shared(shared.tiles());

        if (warp < READERS) {
            reader{ m, p, shared, now, shpool_stages_of(tiles, memory.slots()), 0, 0 }.run();
        } else if (warp == READERS) {
            load(m, p, memory, now, heap, shared.tiles());
        } else if (simt_lane() == 0) {
            watch(shared);
        }
#endif
        memory.end(heap);
    }

    MACHINE_METHOD shpool_heap open(control shared) const
    {
        if (simt_warp() == 0) {
            shared.init();
        }
        return memory.open(shared.pool(m.s.head_dim)); /* has a barrier */
    }

#if SIMT_HAS_BULK
    /* A call, so that the allocator takes no registers from the readers. */
    static SEAM_CALL void load(const model &m, const program &p, const Memory &memory, moment now,
                                 shpool_heap heap, simt_addr tiles)
    {
        loader<Memory>{ m, p, now, { memory, heap, tiles }, seam_once(), seam_ns() }.run();
    }
#endif

    /* The watcher: one thread. */
    MACHINE_METHOD void watch(control shared) const
    {

        const uint32_t end  = p.begin[simt_block_rank() + 1u];
        uint32_t       i    = p.begin[simt_block_rank()];
        simt_u128      next = p.get(i, end);

        SIMT_ROLLED
        for (uint32_t k = 0; i < end; i++, k++) {
            const instruction in = unpack(next);

            next = p.get(i + 1u, end);

            const uint32_t counter = counter_of(in.op, in.layer);

            if ((counter != 0) && (in.op != OP_ATTEND)) {
                const uint32_t all = finished(m, op_before(in.op));

                await(p.done + counter - 1u, all * number + all / 2u); /* of the one before */
            }
            if (k != 0) { /* the readers have seen the phase before */
                simt_mbar_wait(shared.summed(), (k - 1u) & 1u);
            }
            simt_mbar_arrive(shared.ready());
        }
    }
    MACHINE_METHOD void await(const uint32_t *counter, uint32_t least) const
    {
        SIMT_ROLLED
        while ((int)(seam_peek4(counter) - least) < 0) {
            seam_spin();
        }
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_DECODE_H */
