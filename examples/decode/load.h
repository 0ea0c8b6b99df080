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

    MACHINE_METHOD void run()
    {
        const uint32_t end  = p.begin[simt_block_rank() + 1u];
        uint32_t       i    = p.begin[simt_block_rank()];
        instruction    next = p.stream[(i < end) ? i : 0u];

        SIMT_ROLLED
        for (; i < end; i++) {
            const instruction in = next;

            next = p.stream[(i + 1u < end) ? i + 1u : i]; /* long before it is needed */
            if (in.op == OP_ATTEND) {
                load_tokens(in);
            } else {
                load_rows(in);
            }
        }
        memory.close(heap, shared.slots(), at, &has);
    }

    MACHINE_METHOD void load_rows(instruction in)
    {
        const uint32_t       row  = 2u * m.columns(in.op); /* bytes */
        const unsigned char *from = (const unsigned char *)m.matrix(in.op, in.layer) +
                                    (size_t)in.first * row;

        SIMT_ROLLED
        for (uint32_t left = in.count; left != 0;) {
            const uint32_t n = (left < in.each) ? left : in.each;

            load(from, n * row, NULL);
            from += n * row;
            left -= n;
        }
    }
    MACHINE_METHOD void load_tokens(instruction in)
    {
        const token_range    range  = tokens_of(in.first - in.head * m.split, now.share,
                                                now.position);
        const uint32_t       token  = 2u * m.s.head_dim; /* bytes */
        const unsigned char *keys   = (const unsigned char *)m.keys(in.layer,
                                                                    m.by_group.of(in.head)) +
                                    (size_t)range.first * token;

        SIMT_ROLLED
        for (uint32_t left = range.cached; left != 0;) {
            const uint32_t n = (left < now.each) ? left : now.each;

            load(keys, n * token, keys + (size_t)m.s.tokens * token);
            keys += n * token;
            left -= n;
        }
    }

    /* A tile: `bytes` of weights, or of keys, followed by as many of values. */
    MACHINE_METHOD void load(const unsigned char *from, uint32_t bytes, const unsigned char *values)
    {
        const slot_table slots = shared.slots();
        const simt_addr  full  = slots.full(at.slot);
        const uint32_t   room  = (values != NULL) ? 2u * bytes : bytes;
        const simt_addr  tile  = memory.get(heap, slots, at, tiles, room, &has);

        if (simt_lane() == 0) {
            simt_store32(slots.tile(at.slot), tile); /* the arrival releases it */
            simt_fence_async(); /* orders the readers' accesses before the copies */
            simt_mbar_arrive_expect(full, room);
            if (values == NULL) {
                seam_copy_once(tile, from, bytes, full, once);
            } else {
                simt_copy_async(tile, from, bytes, full);
                simt_copy_async(tile + bytes, values, bytes, full);
            }
        }
        at.next(memory.slots());
        tiles++;
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_LOAD_H */
