/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiles: pieces of shared memory that pass from the loader to the readers.
 *
 * The tiles of a block are numbered in the order of its instructions, and both sides count.  A tile
 * has a slot between its malloc and its free; slots are used round-robin:
 *
 *   full    an mbarrier: its phase ends when the tile's bytes have arrived
 *   read    an mbarrier: its phase ends when the readers have finished with the tile
 *   empty   an mbarrier: its phase ends when the tile is free, and the slot may be used again
 *   tile    its address; written before the loader arrives at `full`
 *
 * A parity distinguishes only two phases of `full`.  That is enough because a team waits for each
 * phase of a slot in an instruction: the teams process its tiles round-robin, and the number of
 * slots is a multiple of the number of teams.  At the end of an instruction all teams meet.
 *
 * The source of the memory is a policy: pool_memory, or page_memory for comparison. */
#ifndef SHPOOL_EXAMPLES_DECODE_TILES_H
#define SHPOOL_EXAMPLES_DECODE_TILES_H

#include "seam.h"

#define SLOTS        32u /* one for each lane of the releaser */
#define TILE_ALIGNED 128u
#define SLOT_BYTES   32u /* full 8, read 8, empty 8, tile 4 */

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
    MACHINE_METHOD simt_addr empty(uint32_t slot) const { return full(slot) + 16u; }
    MACHINE_METHOD simt_addr tile(uint32_t slot) const { return full(slot) + 24u; }

    /* Called by one thread, before a barrier.  readers: number of arrivals at `read`. */
    MACHINE_METHOD void init(uint32_t readers) const
    {
        SIMT_ROLLED
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            simt_mbar_init(full(slot), 1);
            simt_mbar_init(read(slot), readers);
            simt_mbar_init(empty(slot), 1);
        }
    }
};

/* A pool: each tile has its own size, and tiles are freed in any order. */
struct pool_memory {
    static constexpr bool FREES = true;

    shpool_pool pool;

    MACHINE_METHOD uint32_t    slots() const { return SLOTS; }
    MACHINE_METHOD shpool_heap open(simt_addr base) const
    {
        return shpool_init(&pool, simt_from_shared(base));
    }
    /* Called by the whole loader warp: memory for the next tile, in the order of the tiles. */
    MACHINE_METHOD simt_addr get(shpool_heap heap, uint32_t, uint32_t bytes) const
    {
        void *tile = NULL;

        SIMT_ROLLED
        while (tile == NULL) {
            tile = shpool_aligned_malloc_wait_warp(heap, TILE_ALIGNED, bytes, ~0u);
        }
        return simt_to_shared(tile);
    }
    /* Called by the whole releaser warp. */
    MACHINE_METHOD void put(shpool_heap heap, simt_addr tile) const
    {
        shpool_free_warp(heap, simt_from_shared(tile));
    }
    MACHINE_METHOD void close(shpool_heap heap) const { shpool_fini(heap); }
};

/* Fixed pages, used round-robin: slot and page are the same. */
struct page_memory {
    static constexpr bool FREES = false; /* a page is free as soon as it has been read */

    uint32_t pages; /* a multiple of TEAMS */
    uint32_t bytes; /* of a page */

    MACHINE_METHOD uint32_t    slots() const { return pages; }
    MACHINE_METHOD shpool_heap open(simt_addr base) const
    {
        shpool_heap heap = shpool_empty_heap();

        heap.view.base = base;
        simt_barrier();
        return heap;
    }
    MACHINE_METHOD simt_addr get(shpool_heap heap, uint32_t slot, uint32_t) const
    {
        return heap.view.base + slot * bytes;
    }
    MACHINE_METHOD void put(shpool_heap, simt_addr) const {}
    MACHINE_METHOD void close(shpool_heap) const { simt_barrier(); }
};

/* ---- the readers' side ---- */

/* Wait until the tile's bytes have arrived; returns its address. */
SIMT_FN simt_addr tile_wait(slot_table slots, cursor at)
{
    simt_mbar_wait(slots.full(at.slot), at.parity); /* pairs with the arrival in fetch() */
    return simt_load32(slots.tile(at.slot));
}

/* Called by a warp that has finished with the tile.  It counts as `shares` arrivals. */
SIMT_FN void tile_done(slot_table slots, cursor at, uint32_t shares)
{
    simt_warp_sync(SIMT_ALL_LANES); /* no lane reads any more */
    if (simt_lane() < shares) {
        simt_mbar_arrive(slots.read(at.slot));
    }
}

#endif /* SHPOOL_EXAMPLES_DECODE_TILES_H */
