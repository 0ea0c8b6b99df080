/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader: one warp that walks through the block's stream, gets memory for each tile in that
 * order, and starts the copies.  It also frees the tiles that have been read, in any order. */
#ifndef SHPOOL_EXAMPLES_DECODE_LOAD_H
#define SHPOOL_EXAMPLES_DECODE_LOAD_H

#include "attend.h"

template <class Memory>
struct loader {
    const model   &m;
    const program &p;
    const Memory  &memory;
    shpool_heap    heap;
    control        shared;
    moment         now;
    cursor         at;    /* the next tile */
    uint32_t       tiles; /* so far */
    slot_memory    has;

    unsigned long long once; /* the cache policy of weights */
    uint32_t           turn; /* earliest time of the next copy, in ns */

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
        memory.close(heap, shared.slots(), at, &has);
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
        const token_range range = tokens_of(in.first - in.each * m.split, now.share, now.position);
        const uint32_t    token = 2u * m.s.head_dim; /* bytes */

        return { (const unsigned char *)m.keys(in.layer, m.by_group.of(in.each)) +
                         (size_t)range.first * token,
                 range.cached * token, now.each * token };
    }

    /* A tile: `bytes` of weights, or of keys, followed by as many of values, which are `both` bytes
     * from the keys. */
    MACHINE_METHOD void load(const unsigned char *from, uint32_t bytes, size_t both)
    {
        const slot_table slots = shared.slots();
        const simt_addr  full  = slots.full(at.slot);
        const uint32_t   room  = (both != 0) ? 2u * bytes : bytes;
        const simt_addr  tile  = memory.get(heap, slots, at, tiles, room, &has);

        wait_turn(room);
        if (simt_lane() == 0) {
            simt_store32(slots.tile(at.slot), tile); /* the arrival releases it */
            seam_fence_shared(); /* orders the readers' accesses before the copies */
            simt_mbar_arrive_expect(full, room);
            if (both == 0) {
                seam_copy_once(tile, from, bytes, full, once);
            } else {
                simt_copy_async(tile, from, bytes, full);
                simt_copy_async(tile + bytes, from + both, bytes, full);
            }
        }
        at.next(memory.slots());
        tiles++;
    }
    /* Wait until the next tile, of so many bytes, may be read: a block gets its share of the
     * memory's bandwidth, and not more.  Otherwise all blocks load at the same time after a wait:
     * some get their tiles much later than others, and results get through only after the tiles. */
    MACHINE_METHOD void wait_turn(uint32_t bytes)
    {
        turn = seam_await_ns(turn) + (bytes * (p.pace >> 3) >> 12);
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_LOAD_H */
