/* SPDX-License-Identifier: BSD-3-Clause */
/* A tile that is larger than the pool, for larger.sh: the loader must end with a message, not wait
 * for a tile that is never read. */
#include "examples/decode/tiles.h"

struct too_large {
    pool_memory memory;

    void operator()() const
    {
        const slot_table slots = { simt_dynamic_base() };
        slot_memory      has;

        slots.init(1);

        const shpool_heap heap = memory.open(slots.base + SLOTS * SLOT_BYTES);

        (void)memory.get(heap, slots, cursor(), 0, 2u * memory.pool.shared_bytes, &has);
        memory.end(heap);
    }
};

int main()
{
    shpool_config want = {};
    shpool_pool   pool = {};

    want.block_threads    = SIMT_WARP;
    want.threads_per_pool = SIMT_WARP;
    want.total_bytes      = 4096;
    want.alignment        = TILE_ALIGNED;
    machine_need(machine_open("bitmap", &want, &pool), "pool");
    machine_launch(1, SIMT_WARP, SLOTS * SLOT_BYTES + pool.shared_bytes,
                   too_large{ pool_memory{ pool, 0 } });
    machine_close(&pool);
    return 0;
}
