/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decode steps of a Llama-shaped model in one launch: a persistent kernel whose shared memory is a
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
 *           loads, in L2
 *   steps   a block's readers meet -> one of them counts the step's end (release) -> the watchers
 *           and loaders of all blocks see the count (acquire) -> the watcher's mbarrier -> readers,
 *           or fence.proxy.async -> copies
 *   tiles   shpool/stage.cuh: read by threads -> released -> fence.proxy.async by the lane that
 *           starts the next copy into this memory -> copy
 *   keys    and values of the newest token are results, too; copies read older ones, which an
 *           earlier step has written
 */
#ifndef SHPOOL_EXAMPLES_DECODE_DECODE_H
#define SHPOOL_EXAMPLES_DECODE_DECODE_H

#include "rows.h"

#define PATIENCE 10000000u /* about 10 s: no reader keeps a tile for so long */
#define LATE     100u      /* ns: three ticks of the timer */

/* Where tiles are: in a pool, or, for comparison, in fixed pages that are used round-robin.  In a
 * pool each usually gets the memory of the largest, because an instruction often ends with a small
 * one, whose memory would not pass on to the next tile. */
struct memory {
    shpool_pool pool;
    uint32_t    bytes; /* of a page, or of a pool's largest tile */
    uint32_t    room;  /* of the memory of a pool's tile, at least */
    uint32_t    slots; /* pages, or tiles that fit: one more would be a search in vain */
};

#if SIMT_HAS_BULK /* an older GPU compiles the kernel, but main() does not launch it */

/* ---- the loader: each tile is a stage of shpool/stage.cuh ---- */

template <bool POOL>
struct loader {
    step            s;
    shpool_producer from; /* without a pool, its next slot is the next page's */
    uint32_t        turn; /* earliest time of the next copy, in ns */
    uint32_t        pace; /* ns for 4 KiB; a load for each tile would delay its copy */
    uint32_t        seen; /* the step whose keys and values may be copied */

    MACHINE_METHOD void run()
    {
        s.run([&] {
            s.p.run([&](instruction in) {
                const matrix &m = s.m.of[in.op()];

                SIMT_ROLLED
                for (uint32_t panel = 0; panel < m.panels; panel++) {
                    load((in.op() == OP_ATTEND) ? tokens(in) : rows(in, m, panel));
                }
            });
        });
        if (POOL && (from.heap.view.area != 0)) { /* only checks and statistics see leaks */
            shpool_producer_fini_warp(&from);
        }
    }

    /* What an instruction reads: numbers in all, and of a tile.  apart: 0, or the distance of as
     * many numbers that are read together with them. */
    struct source {
        const uint16_t *from;
        uint32_t        all, each, apart;
    };
    MACHINE_METHOD source rows(instruction in, const matrix &m, uint32_t panel) const
    {
        return { s.m.weights + in.layer() * s.m.layer + m.at +
                     ((size_t)panel * m.rows + in.first) * m.columns,
                 in.count() * m.columns, m.each * (m.columns >> m.cut), 0 };
    }
    MACHINE_METHOD source tokens(instruction in) /* keys and values */
    {
        const uint32_t dims = s.m.head_dim;

        if (seen != s.number) { /* the newest ones are another block's */
            await_steps(s);
            simt_warp_sync(SIMT_ALL_LANES);
            simt_fence_async();
            seen = s.number;
        }
        return { s.m.cache + s.m.keys(in.layer(), s.m.by_group.of(in.first)) +
                     (size_t)in.count() * s.share() * dims,
                 tokens_of(s, in) * dims, s.each() * dims, s.m.tokens * dims };
    }

    MACHINE_METHOD void load(source now)
    {
        SIMT_ROLLED
        for (uint32_t at = 0; at < now.all; at += now.each) {
            const uint32_t     bytes = 2u * ((now.all - at < now.each) ? now.all - at : now.each);
            const uint32_t     room  = (now.apart != 0) ? 2u * bytes : bytes;
            const shpool_stage tile  = get(room);

            /* A block gets its share of the memory's bandwidth, and not more.  Otherwise all blocks
             * load at the same time after a wait: some get their tiles much later than others, and
             * results get through only after the tiles.  The timer's ticks do not add up: only a
             * tile that is late by more delays the next one. */
            const uint32_t ns = seam_await_ns(turn);

            turn = ((ns - turn < LATE) ? turn : ns) + (room * pace >> 12);
            if (simt_lane() == 0) {
                shpool_stage_expect(tile, room);
                if (now.apart == 0) {
                    seam_copy_once(tile.data, now.from + at, bytes, tile.full);
                } else {
                    simt_copy_async(tile.data, now.from + at, bytes, tile.full);
                    simt_copy_async(tile.data + bytes, now.from + at + now.apart, bytes, tile.full);
                }
            }
        }
    }
    MACHINE_METHOD shpool_stage get(uint32_t bytes)
    {
        if (POOL) {
            const shpool_stage tile =
                shpool_stage_malloc_warp(&from, TILE_ALIGNED, bytes, PATIENCE);

            if (tile.data == 0) {
                seam_fail("tile", "the pool has no room");
            }
            return tile;
        }
        const simt_addr at = from.next.at;

        simt_mbar_wait(at + SHPOOL_STAGE_RELEASED, from.next.parity ^ 1u);
        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have seen this phase */
        shpool_stages_next(&from.next);
        return { simt_load32(at + SHPOOL_STAGE_MEMORY), at };
    }
};

/* ---- a reader ---- */

struct reader {
    step          s;
    control       shared;
    shpool_stages at;        /* the next tile */
    uint32_t      exchanges; /* of attention's sums */

    MACHINE_METHOD void run()
    {
        s.run([&] {
            uint32_t begins = 1;

            s.p.run([&](instruction in) {
                if (begins) { /* otherwise a result could be that of the step before the last */
                    simt_mbar_wait(shared.ready(), shared.count & 1u);
                    begins = 0;
                }
                switch (in.op()) {
                case OP_QKV: read_rows<OP_QKV>(in); break;
                case OP_ATTEND: read_tokens(in); break;
                case OP_OUT: read_rows<OP_OUT>(in); break;
                case OP_GATE_UP: read_rows<OP_GATE_UP>(in); break;
                case OP_DOWN: read_rows<OP_DOWN>(in); break;
                default: read_rows<OP_HEAD>(in);
                }
                shared.count++;
            });
            meet(shared.exchanged(), exchanges++);
            if ((simt_thread_rank() == 0) && !begins) {
                seam_release(s.p.ended);
            }
        });
    }

    /* Call work(tile, first, n) for the tiles of `all` units or tokens, `each` of them a tile. */
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
        const matrix   &m      = s.m.of[OP];
        const four_bf16 gains  = read_gains<OP>(s, in.layer(), 0);
        const beside    with   = read_beside<OP>(s, in);
        const uint32_t  cut    = is_cut(OP) ? m.cut : 0u;
        lane_rows       mine(m, cut);
        const uint32_t  panels = has_norm(OP) ? 1u : m.panels;
        float           square = 0.0f;

        simt_mbar_wait(shared.ready(), shared.count & 1u);
        SIMT_ROLLED
        for (uint32_t panel = 0; panel < panels; panel++) {
            simt_u128 v[LOADS] = {};

            read_input<OP>(s, in, panel, gains, shared.exchange() + simt_warp() * SLICE * 4u, v,
                           &square);
            for_tiles(in.count() << cut, m.each, [&](simt_addr tile, uint32_t first, uint32_t n) {
                multiply(tile, mine, n, v, shared.sums(simt_warp()) + 4u * (first << mine.bits),
                         panel != 0);
                mine.skip(cut, n);
            });
        }
        if (has_norm(OP)) {
            leave_square(shared, square);
        }
        meet(shared.summed(), shared.count);
        finish<OP>(s, in, shared, with);
    }

    MACHINE_METHOD void read_tokens(instruction in)
    {
        const uint32_t cached = tokens_of(s, in);
        const uint32_t each   = s.each();
        /* two tiles, or more: half of the warps process every other one */
        const uint32_t halves = (cached > each) ? 2u : 1u;
        uint32_t       turn   = simt_warp();

        simt_mbar_wait(shared.ready(), shared.count & 1u);

        attention a = attention_begin(s, in, (in.count() + 1u == s.m.split) &&
                                                 (simt_warp() + 1u == READERS));

        for_tiles(cached, each, [&](simt_addr tile, uint32_t, uint32_t n) {
            if (turn++ % halves == 0) {
                attention_tokens(s, &a, tile, n, simt_warp() / halves, READERS / halves);
            }
        });
        attention_leave(s, a, shared);
        meet(shared.exchanged(), exchanges++);
        attention_finish(s, in, shared);
        meet(shared.summed(), shared.count); /* the exchange is used again */
    }
};

/* ---- the watcher ---- */

SIMT_FN void watch(step s, control shared)
{
    s.run([&] {
        await_steps(s);
        s.p.run([&](instruction in) {
            const uint32_t i = counter_of(in);

            if ((in.op() != OP_ATTEND) && (i != 0)) { /* half of the operation before */
                const uint32_t all =
                    s.m.of[(in.op() == OP_QKV) ? (uint32_t)OP_DOWN : in.op() - 1u].rows;

                SIMT_ROLLED
                while ((int)(seam_peek4(s.p.done + i - 1u) - (all * s.number + all / 2u)) < 0) {
                    seam_spin();
                }
            }
            if (shared.count != 0) { /* the readers have seen the phase before */
                simt_mbar_wait(shared.summed(), (shared.count - 1u) & 1u);
            }
            simt_mbar_arrive(shared.ready());
            shared.count++;
        });
    });
}

#endif

/* ---- the kernel ---- */

template <bool POOL>
struct decode_step;
#if SIMT_HAS_BULK
template <bool POOL>
static SEAM_CALL void load(const decode_step<POOL> &all, shpool_heap heap, simt_addr table);
#endif

template <bool POOL>
struct decode_step {
    static constexpr uint32_t THREADS = (READERS + 2u) * SIMT_WARP;

    model   m;
    program p;
    memory  of;

    MACHINE_METHOD void operator()() const
    {
#if SIMT_HAS_BULK
        const control  shared = { simt_dynamic_base(), 0 };
        const uint32_t warp   = simt_warp();
        shpool_heap    heap   = shpool_empty_heap();

        if (warp == READERS) {
            init(shared);
        }
        if (POOL) {
            heap = shpool_init(&of.pool, simt_from_shared(shared.pool(m.head_dim)));
        }
        simt_barrier();

        if (warp < READERS) {
            reader{ { m, p }, shared,
                    shpool_stages_of(simt_from_shared(shared.base), of.slots), 0 }.run();
        } else if (warp == READERS) {
            load<POOL>(*this, heap, shared.base);
        } else if (simt_lane() == 0) {
            watch({ m, p }, shared);
        }
        if (POOL) {
            shpool_fini(heap);
        }
#endif
    }

#if SIMT_HAS_BULK
    /* Called by a warp, a slot in each lane. */
    MACHINE_METHOD void init(control shared) const
    {
        const simt_addr slot = shared.base + SHPOOL_STAGES_BYTES(simt_lane());

        shpool_stages_init(simt_from_shared(slot), 1, READERS);
        if (!POOL) {
            simt_store32(slot + SHPOOL_STAGE_MEMORY,
                         shared.pool(m.head_dim) + simt_lane() * of.bytes);
        }
        if (simt_lane() == 0) {
            simt_mbar_init(shared.ready(), 1);
            simt_mbar_init(shared.exchanged(), READERS);
            simt_mbar_init(shared.summed(), READERS);
        }
    }
#endif
};

#if SIMT_HAS_BULK
/* A call, so that the allocator takes no registers from the readers.  Static: so ptxas gives it as
 * many registers as the launch bounds of the kernel leave, also when it is joined at run time. */
template <bool POOL>
static SEAM_CALL void load(const decode_step<POOL> &all, shpool_heap heap, simt_addr table)
{
    loader<POOL>{ { all.m, all.p },
                  shpool_producer_init(heap, simt_from_shared(table), all.of.slots, all.of.room),
                  seam_ns(), all.p.pace >> 3, all.p.number }.run();
}
#endif

#endif /* SHPOOL_EXAMPLES_DECODE_DECODE_H */
