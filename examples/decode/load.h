/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader: one warp that walks through the block's stream, allocates each tile in that order,
 * and starts the copies.  The releaser: one warp that frees tiles that have been read. */
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
    uint32_t       position; /* tokens in the cache */

    /* The contents of a tile: `bytes` from `from`, followed by `more` from `then`. */
    struct piece {
        const unsigned char *from; /* NULL: nothing is copied */
        uint32_t             bytes;
        const unsigned char *then;
        uint32_t             more;
    };
    /* A position in the stream: the instruction, and the position in it.  In attention, 0 is the
     * scratch memory, and n + 1 the n-th cached token. */
    struct walk {
        uint32_t i;
        uint32_t at;
    };

    MACHINE_METHOD void run() const
    {
        const uint32_t end   = p.begin[simt_block_rank() + 1u];
        walk           now   = { p.begin[simt_block_rank()], 0 };
        uint32_t       tiles = 0;
        cursor         at;

        for (; now.i < end; tiles++) {
            fetch(at, tiles >= memory.slots(), take(&now));
            at.next(memory.slots());
        }
        simt_atomic_store(shared.tiles(), tiles, SIMT_RELAXED);
    }

    /* The next tile of the stream. */
    MACHINE_METHOD piece take(walk *w) const
    {
        const instruction in = p.stream[w->i];

        return (in.op == OP_ATTEND) ? take_tokens(w, in) : take_rows(w, in);
    }
    MACHINE_METHOD piece take_rows(walk *w, instruction in) const
    {
        const uint32_t       each = tile_rows(p, m, in.op);
        const uint32_t       left = in.count - w->at;
        const uint32_t       row  = 2u * m.columns(in.op); /* bytes */
        const unsigned char *from = (const unsigned char *)m.matrix(in.op, in.layer) +
                                    (size_t)(in.first + w->at) * row;

        advance(w, (left < each) ? left : each, left);
        return { from, ((left < each) ? left : each) * row, NULL, 0 };
    }
    MACHINE_METHOD piece take_tokens(walk *w, instruction in) const
    {
        const token_range    range = tokens_of(m, in.first % m.split, position);
        const uint32_t       each  = tile_tokens(p, m);
        const uint32_t       left  = range.cached + 1u - w->at;
        const uint32_t       token = 2u * m.s.head_dim; /* bytes */
        const uint32_t       n     = (left < each) ? left : each;
        const unsigned char *keys  = (const unsigned char *)m.keys(in.layer, in.first / m.split) +
                                    (size_t)(range.first + w->at - 1u) * token;

        if (w->at == 0) {
            advance(w, 1u, left);
            return { NULL, attention_scratch(m), NULL, 0 };
        }
        advance(w, n, left);
        return { keys, n * token, keys + (size_t)m.s.tokens * token, n * token };
    }
    MACHINE_METHOD void advance(walk *w, uint32_t by, uint32_t left) const
    {
        w->at = (by < left) ? w->at + by : 0u;
        w->i += (by == left);
    }

    /* used: the slot has been used before. */
    MACHINE_METHOD void fetch(cursor at, bool used, piece what) const
    {
        const slot_table slots  = shared.slots();
        const simt_addr  landed = slots.full(at.slot);
        simt_addr        tile;

        if (used) {
            simt_mbar_wait(Memory::FREES ? slots.empty(at.slot) : slots.read(at.slot),
                           at.parity ^ 1u);
        }
        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have seen this phase before the next begins */
        tile = memory.get(heap, at.slot, what.bytes + what.more);
        if (simt_lane() != 0) {
            return;
        }
        simt_store32(slots.tile(at.slot), tile); /* the arrival releases it */
        if (what.from == NULL) {
            simt_mbar_arrive(landed);
            return;
        }
        simt_fence_async(); /* orders the readers' accesses before the copies */
        simt_mbar_arrive_expect(landed, what.bytes + what.more);
        simt_copy_async(tile, what.from, what.bytes, landed);
        if (what.more != 0) {
            simt_copy_async(tile + what.bytes, what.then, what.more, landed);
        }
    }
};

/* Lane n watches slot n, so a tile is freed as soon as it has been read, in any order. */
template <class Memory>
struct releaser {
    const Memory &memory;
    shpool_heap   heap;
    control       shared;

    MACHINE_METHOD void run() const
    {
        const slot_table slots = shared.slots();
        const uint32_t   slot  = simt_lane();
        uint32_t         uses  = 0; /* finished uses of the lane's slot */

        SIMT_ROLLED
        for (;;) {
            const bool      mine  = simt_mbar_test(slots.read(slot), uses & 1u) != 0;
            const simt_addr tile  = mine ? simt_load32(slots.tile(slot)) : 0u;
            const uint32_t  read  = simt_ballot(SIMT_ALL_LANES, mine);
            const uint32_t  tiles = simt_atomic_load(shared.tiles(), SIMT_RELAXED);

            give_back(slots, read, tile);
            uses += mine;
            if (simt_ballot(SIMT_ALL_LANES, uses * SLOTS + slot < tiles) == 0) {
                return;
            }
            simt_pause((read == 0) ? 20u : 0u);
        }
    }

    /* Free the tiles of the slots whose bits are set.  Lane n has slot n's address: it alone has
     * seen the end of the phase, and after the arrival at `empty` the loader writes the next
     * address. */
    MACHINE_METHOD void give_back(slot_table slots, uint32_t read, simt_addr tile) const
    {
        SIMT_ROLLED
        for (; read != 0; read &= read - 1u) {
            const uint32_t slot = simt_ffs(read) - 1u;

            memory.put(heap, simt_shfl(SIMT_ALL_LANES, tile, slot));
            if (simt_lane() == 0) {
                simt_mbar_arrive(slots.empty(slot));
            }
        }
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_LOAD_H */
