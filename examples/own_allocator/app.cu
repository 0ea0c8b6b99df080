/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with its own allocator: once it is registered, its name works like any other.
 *
 *   ./app                        uses own
 *   SHPOOL_ALLOCATOR=bitmap ./app
 *
 * Each thread builds a list of numbers, whose length is not known in advance, and adds it up.
 */
#include "../machine.h"

extern "C" const shpool_allocator shpool_allocator_own; /* host.c */

#define THREADS 64u
#define BLOCKS  4u

SIMT_HD uint32_t length_of(uint32_t thread) { return 1u + thread * 7u % 13u; }

struct sum_lists {
    shpool_pool pool;
    uint32_t   *sums;

    MACHINE_METHOD void operator()() const
    {
        const shpool_heap heap   = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
        const uint32_t    thread = simt_block_rank() * THREADS + simt_thread_rank();
        const uint32_t    length = length_of(thread);
        uint32_t         *list   = (uint32_t *)shpool_malloc(heap, length * sizeof(*list));
        uint32_t          sum    = 0;

        for (uint32_t i = 0; (list != nullptr) && (i < length); i++) {
            simt_store32(simt_to_shared(list + i), thread + i);
        }
        for (uint32_t i = 0; (list != nullptr) && (i < length); i++) {
            sum += simt_load32(simt_to_shared(list + i));
        }
        sums[thread] = sum;
        shpool_free(heap, list);
        shpool_fini(heap);
    }
};

int main()
{
    const char           *machine = machine_name("app");
    const char           *chosen  = std::getenv("SHPOOL_ALLOCATOR");
    shpool_config         want    = {};
    shpool_pool           pool;
    uint32_t              wrong = 0;

    if (machine == nullptr) { return 77; }
    machine_need(shpool_register(&shpool_allocator_own), "own");
    want.block_threads = THREADS;
    want.payload_bytes = THREADS * 80u;
    machine_need(machine_open((chosen != nullptr) ? nullptr : "own", &want, &pool), "pool");

    machine_array<uint32_t> out(BLOCKS * THREADS);

    machine_launch(BLOCKS, THREADS, pool.shared_bytes, sum_lists{ pool, out });

    const std::vector<uint32_t> sums = out.read();

    for (uint32_t thread = 0; thread < sums.size(); thread++) {
        const uint32_t n = length_of(thread);

        wrong += sums[thread] != n * thread + n * (n - 1u) / 2u;
    }
    std::printf("%s, %s: %u lists, %u wrong\n", machine, pool.name, BLOCKS * THREADS, wrong);
    machine_close(&pool);
    return wrong != 0;
}
