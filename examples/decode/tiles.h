/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiles: stages (shpool/stage.cuh) of which one warp, the loader, is the producer, and all readers
 * are consumers.
 *
 * The source of their memory is a policy: pool_memory, or page_memory for comparison.  Its `loader`
 * makes the next tile.  The readers' side is the same for both. */
#ifndef SHPOOL_EXAMPLES_DECODE_TILES_H
#define SHPOOL_EXAMPLES_DECODE_TILES_H

#include "seam.h"

#include <shpool/stage.cuh>

#define SLOTS        32u
#define TILE_ALIGNED 128u
#define PATIENCE     10000000u /* about 10 s: no reader keeps a tile for so long */

/* A pool.  Each tile gets memory of at least `least` bytes: the last tile of an instruction is
 * often a small one, whose memory would not pass on to the next tile. */
struct pool_memory {
    shpool_pool pool;
    uint32_t    least;
    uint32_t    tiles; /* that fit: a request for one more would be a search in vain */

    const shpool_pool *of_pool() const { return &pool; }
    uint32_t           own_bytes() const { return 0; } /* of shared memory, besides the pool's */

    MACHINE_METHOD uint32_t    slots() const { return tiles; }
    MACHINE_METHOD shpool_heap open(simt_addr base) const
    {
        return shpool_init(&pool, simt_from_shared(base));
    }
    MACHINE_METHOD void end(shpool_heap heap) const { shpool_fini(heap); }

#if SIMT_HAS_BULK
    struct loader {
        shpool_producer from;

        MACHINE_METHOD loader(const pool_memory &m, shpool_heap heap, simt_addr table)
            : from(shpool_producer_init(heap, simt_from_shared(table), m.tiles, m.least))
        {
        }
        MACHINE_METHOD shpool_stage get(uint32_t bytes)
        {
            const shpool_stage tile = shpool_stage_malloc_warp(&from, TILE_ALIGNED, bytes,
                                                               PATIENCE);

            if (tile.data == 0) {
                seam_fail("tile", "the pool has no room");
            }
            return tile;
        }
        MACHINE_METHOD void close() { shpool_producer_fini_warp(&from); }
    };
#endif
};

/* Fixed pages, used round-robin: slot and page are the same. */
struct page_memory {
    uint32_t pages;
    uint32_t bytes; /* of a page */

    const shpool_pool *of_pool() const { return nullptr; }
    uint32_t           own_bytes() const { return pages * bytes; }

    MACHINE_METHOD uint32_t    slots() const { return pages; }
    MACHINE_METHOD shpool_heap open(simt_addr base) const
    {
        shpool_heap heap = shpool_empty_heap();

        heap.view.base = base;
        simt_barrier();
        return heap;
    }
    MACHINE_METHOD void end(shpool_heap) const { simt_barrier(); }

#if SIMT_HAS_BULK
    struct loader {
        shpool_stages next;
        simt_addr     base;
        uint32_t      bytes;
        uint32_t      page; /* the next one */
        uint32_t      used; /* all pages have been used before */

        MACHINE_METHOD loader(const page_memory &m, shpool_heap heap, simt_addr table)
            : next(shpool_stages_of(simt_from_shared(table), m.pages)), base(heap.view.base),
              bytes(m.bytes), page(0), used(0)
        {
        }
        MACHINE_METHOD shpool_stage get(uint32_t)
        {
            const shpool_stage tile = { base + page * bytes, next.at };

            if (used != 0) {
                simt_mbar_wait(tile.full + SHPOOL_STAGE_RELEASED, next.parity ^ 1u);
            }
            simt_warp_sync(SIMT_ALL_LANES); /* all lanes have seen this phase */
            if (simt_lane() == 0) {
                simt_store32(tile.full + SHPOOL_STAGE_MEMORY, tile.data);
            }
            shpool_stages_next(&next);
            used |= next.at == next.begin;
            page = (next.at == next.begin) ? 0u : page + 1u;
            return tile;
        }
        MACHINE_METHOD void close() {}
    };
#endif
};

#endif /* SHPOOL_EXAMPLES_DECODE_TILES_H */
