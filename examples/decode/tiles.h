/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiles: pieces of shared memory that pass from the loader to the readers.
 *
 * The tiles of a block are numbered in the order of its instructions, and both sides count.  A tile
 * has a slot between its malloc and its free; slots are used round-robin:
 *
 *   full    an mbarrier: its phase ends when the tile's bytes have arrived
 *   read    an mbarrier: its phase ends when the readers have finished with the tile
 *   tile    its address; written before the loader arrives at `full`
 *
 * A parity distinguishes only two phases of `full`.  That is enough because each reader waits for
 * each phase.
 *
 * The source of the memory is a policy: pool_memory, or page_memory for comparison. */
#ifndef SHPOOL_EXAMPLES_DECODE_TILES_H
#define SHPOOL_EXAMPLES_DECODE_TILES_H

#include "seam.h"

#define SLOTS        32u /* one for each lane of the loader */
#define TILE_ALIGNED 128u
#define SLOT_BYTES   32u /* full 8, read 8, tile 4 */

/* A place in the sequence of tiles: its slot, and the parity of the slot's phase. */
struct cursor {
    uint32_t slot   = 0;
    uint32_t parity = 0;

    MACHINE_METHOD void next(uint32_t slots)
    {
        slot++;
        if (slot == slots) {
            slot = 0;
            parity ^= 1u;
        }
    }
};

struct slot_table {
    simt_addr base;

    MACHINE_METHOD simt_addr full(uint32_t slot) const { return base + slot * SLOT_BYTES; }
    MACHINE_METHOD simt_addr read(uint32_t slot) const { return full(slot) + 8u; }
    MACHINE_METHOD simt_addr tile(uint32_t slot) const { return full(slot) + 16u; }

    /* Called by the lanes of one warp, before a barrier.  readers: number of arrivals at `read`. */
    MACHINE_METHOD void init(uint32_t readers) const
    {
        simt_mbar_init(full(simt_lane()), 1);
        simt_mbar_init(read(simt_lane()), readers);
    }
};

/* What the loader knows about slots: masks, and in lane n the memory of slot n. */
struct slot_memory {
    uint32_t  live    = 0; /* slots whose tile is not known to have been read */
    uint32_t  spare   = 0; /* slots whose tile has been read, and whose memory is not free */
    uint32_t  refused = ~0u; /* as many bytes were refused, and none have been freed since */
    uint32_t  parity  = 0; /* of the phase that ends when the lane's tile has been read */
    simt_addr tile    = 0;
    uint32_t  bytes   = 0;
};

/* A pool.  Called by the whole loader warp.
 *
 * A tile that has been read is spare.  The next tile takes over spare memory that is large enough,
 * and at most twice as large.  Other spare memory is freed; if none can be taken over, the tile
 * gets memory from the pool: `least` bytes, if it needs fewer.  The last tile of an instruction is
 * often a small one; with memory of its own size it would be freed after each, and a search of the
 * pool takes longer than the transfer of such a tile. */
#define MOST_ROOM(_bytes) (2u * (_bytes))

struct pool_memory {
    shpool_pool pool;
    uint32_t    least;

    MACHINE_METHOD uint32_t    slots() const { return SLOTS; }
    MACHINE_METHOD shpool_heap open(simt_addr base) const
    {
        return shpool_init(&pool, simt_from_shared(base));
    }

    /* Memory for the tile at `at`.  When the pool is full, it is the memory of the oldest live
     * tile, if that fits. */
    MACHINE_METHOD simt_addr get(shpool_heap heap, slot_table slots, cursor at, uint32_t,
                                 uint32_t tile_bytes, slot_memory *has) const
    {
        const uint32_t bytes = (tile_bytes > least) ? tile_bytes : least;
        uint32_t       room  = bytes;
        simt_addr      tile  = 0;

        SIMT_ROLLED
        for (;;) {
            if ((has->spare != 0) || (bytes < has->refused)) {
                tile = choose(heap, slots, at, bytes, has, &room);
            }
            if (tile != 0) {
                break;
            }
            const uint32_t slot = wait(slots, at, has);

            tile = take_over(has, bytes, slot, &room);
            if (tile != 0) {
                break;
            }
        }
        has->live |= 1u << at.slot;
        has->tile  = (simt_lane() == at.slot) ? tile : has->tile;
        has->bytes = (simt_lane() == at.slot) ? room : has->bytes;
        return tile;
    }
    /* Look at all slots: free spare memory that does not fit, and take over memory that does, or
     * allocate it.  0: there is none. */
    MACHINE_METHOD simt_addr choose(shpool_heap heap, slot_table slots, cursor at, uint32_t bytes,
                                    slot_memory *has, uint32_t *room) const
    {
        look(slots, has);

        const uint32_t fits = simt_ballot(SIMT_ALL_LANES,
                                          ((has->spare >> simt_lane() & 1u) != 0) &&
                                              (has->bytes >= bytes) &&
                                              (has->bytes <= MOST_ROOM(bytes)));

        free_spare(heap, has->spare & ~fits, has);
        if ((has->live >> at.slot & 1u) != 0) {
            return 0; /* the slot is in use */
        }
        if (fits == 0) {
            return allocate(heap, bytes, has);
        }
        /* of slot `at` if it is one of them, because its lane is needed */
        return take_over(has, bytes, ((fits >> at.slot & 1u) != 0) ? at.slot : simt_ffs(fits) - 1u,
                         room);
    }
    /* Wait until the oldest live tile has been read: the first one that will be.  Its memory is
     * spare then; returns its slot.  Slots are used round-robin, so it is the first live one from
     * `at` on.  Younger tiles need not be live: a lane of look() that is late may see one that has
     * been read after the oldest.  If none is live, the empty pool has refused the tile. */
    MACHINE_METHOD uint32_t wait(slot_table slots, cursor at, slot_memory *has) const
    {
        if (has->live == 0) {
            seam_fail("tile", "refused by an empty pool");
        }
        const uint32_t turned = has->live >> at.slot | has->live << 1u << (31u - at.slot);
        const uint32_t oldest = (at.slot + simt_ffs(turned) - 1u) % SLOTS;

        simt_mbar_wait(slots.read(oldest), simt_shfl(SIMT_ALL_LANES, has->parity, oldest));
        simt_warp_sync(SIMT_ALL_LANES);
        has->parity ^= (simt_lane() == oldest);
        has->live &= ~(1u << oldest);
        has->spare |= 1u << oldest;
        return oldest;
    }
    /* All lanes look whether the tiles of their slots have been read. */
    MACHINE_METHOD void look(slot_table slots, slot_memory *has) const
    {
        const uint32_t mine = ((has->live >> simt_lane() & 1u) != 0) &&
                              (simt_mbar_test(slots.read(simt_lane()), has->parity) != 0);
        const uint32_t read = simt_ballot(SIMT_ALL_LANES, mine);

        /* A ballot does not order memory.  Lane 0 starts the next copy into a tile's memory, after
         * another lane has seen that the tile has been read. */
        simt_warp_sync(SIMT_ALL_LANES);
        has->parity ^= mine;
        has->live &= ~read;
        has->spare |= read;
    }
    /* A spare slot's memory; 0: it does not fit. */
    MACHINE_METHOD simt_addr take_over(slot_memory *has, uint32_t bytes, uint32_t slot,
                                       uint32_t *room) const
    {
        const uint32_t holds = simt_shfl(SIMT_ALL_LANES, has->bytes, slot);

        if ((holds < bytes) || (holds > MOST_ROOM(bytes))) {
            return 0;
        }
        has->spare &= ~(1u << slot);
        *room = holds;
        return simt_shfl(SIMT_ALL_LANES, has->tile, slot);
    }
    /* A request that was refused is not repeated before something has been freed.  It is one
     * attempt of a wait, which never spills, and whose refusal a trace does not call a failure. */
    MACHINE_METHOD simt_addr allocate(shpool_heap heap, uint32_t bytes, slot_memory *has) const
    {
        void *tile = NULL;

        if (bytes < has->refused) {
            tile = shpool_aligned_malloc_wait_lanes(heap, SIMT_ALL_LANES, TILE_ALIGNED, bytes, 1);
            has->refused = (tile == NULL) ? bytes : has->refused;
        }
        return (tile != NULL) ? simt_to_shared(tile) : 0u;
    }
    MACHINE_METHOD void free_spare(shpool_heap heap, uint32_t which, slot_memory *has) const
    {
        SIMT_ROLLED
        for (; which != 0; which &= which - 1u) {
            const uint32_t slot = simt_ffs(which) - 1u;

            shpool_free_lanes(heap, SIMT_ALL_LANES,
                              simt_from_shared(simt_shfl(SIMT_ALL_LANES, has->tile, slot)));
            has->spare &= ~(1u << slot);
            has->refused = ~0u;
        }
    }
    /* After the last tile.  at: the slot after it. */
    MACHINE_METHOD void close(shpool_heap heap, slot_table slots, cursor at,
                              slot_memory *has) const
    {
        SIMT_ROLLED
        while (has->live != 0) {
            (void)wait(slots, at, has);
        }
        free_spare(heap, has->spare, has);
    }
    MACHINE_METHOD void end(shpool_heap heap) const { shpool_fini(heap); }
};

/* Fixed pages, used round-robin: slot and page are the same. */
struct page_memory {
    uint32_t pages;
    uint32_t bytes; /* of a page */

    MACHINE_METHOD uint32_t    slots() const { return pages; }
    MACHINE_METHOD shpool_heap open(simt_addr base) const
    {
        shpool_heap heap = shpool_empty_heap();

        heap.view.base = base;
        simt_barrier();
        return heap;
    }
    MACHINE_METHOD simt_addr get(shpool_heap heap, slot_table slots, cursor at, uint32_t tiles,
                                 uint32_t, slot_memory *) const
    {
        if (tiles >= pages) { /* the page has been used before */
            simt_mbar_wait(slots.read(at.slot), at.parity ^ 1u);
        }
        simt_warp_sync(SIMT_ALL_LANES); /* all lanes have seen this phase before the next begins */
        return heap.view.base + at.slot * bytes;
    }
    MACHINE_METHOD void close(shpool_heap, slot_table, cursor, slot_memory *) const {}
    MACHINE_METHOD void end(shpool_heap) const { simt_barrier(); }
};

/* ---- the readers' side ---- */

/* Wait until the tile's bytes have arrived; returns its address. */
SIMT_FN simt_addr tile_wait(slot_table slots, cursor at)
{
    simt_mbar_wait(slots.full(at.slot), at.parity); /* pairs with the arrival in load() */
    return simt_load32(slots.tile(at.slot));
}

/* Called by a warp that has finished with the tile. */
SIMT_FN void tile_done(slot_table slots, cursor at)
{
    simt_warp_sync(SIMT_ALL_LANES); /* no lane reads any more */
    if (simt_lane() == 0) {
        simt_mbar_arrive(slots.read(at.slot));
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_TILES_H */
