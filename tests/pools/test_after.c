/* SPDX-License-Identifier: BSD-3-Clause */
/* after.h on the executor, where copies land late or early as the schedule says: no byte of a copy
 * in a block that has another owner, nothing lost, and everything freed. */
#include "scene.h"

#include <shpool/after.h>

#define MOST_THREADS 33u
#define MBARS        3u  /* of a thread */
#define STEPS        12u
#define MOST_WORDS   24u /* of a block that is copied */
#define SEEDS        24u

/* Global memory of the kernels. */
static uint32_t source[MOST_WORDS] __attribute__((aligned(16)));
static uint32_t sink[MOST_THREADS][STEPS][MOST_WORDS] __attribute__((aligned(16)));

/* The mbarriers are after the pools. */
static simt_addr mbar_of(uint32_t thread, uint32_t i)
{
    return simt_dynamic_base() + ((t.pool.shared_bytes + 7u) & ~7u) + 8u * (thread * MBARS + i);
}

static void prepare(void)
{
    for (uint32_t i = 0; i < MOST_WORDS; i++) {
        source[i] = 0x51000000u + i;
    }
    t.launch.dynamic_bytes += 8u + 8u * MBARS * t.launch.block[0];
    t.launch.engine = (t.seed % SEEDS == 7u) ? SIMT_THREADS : SIMT_FIBERS;
}

/* A block that is only there to find what others write into it. */
static void use_another(shpool_heap heap, uint32_t *random)
{
    heap_slot slot;

    if (get(heap, &slot, 16u + heap_random(random) % 80u, *random)) {
        (void)simt_load32(simt_to_shared(slot.at)); /* time passes */
        (void)simt_load32(simt_to_shared(slot.at));
        put(heap, &slot);
    }
}

/* ---- copies into blocks that are no longer needed ---- */

static void load_kernel(shpool_heap heap)
{
    uint32_t     rank          = simt_thread_rank();
    uint32_t     random        = (t.seed + 1u) * 1000u + rank;
    uint32_t     phases[MBARS] = { 0 };
    shpool_after after         = shpool_after_init(heap, rank % 4u); /* 0: waits in place */

    for (uint32_t i = 0; i < MBARS; i++) {
        simt_mbar_init(mbar_of(rank, i), 1);
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t  m     = step % MBARS;
        simt_addr mbar  = mbar_of(rank, m);
        uint32_t  bytes = 16u + 16u * (heap_random(&random) % (MOST_WORDS / 4u));
        void     *ptr;

        if (phases[m] > 0) { /* before its next phase */
            simt_mbar_wait(mbar, (phases[m] - 1u) & 1u);
            (void)shpool_after_poll(&after);
        }
        ptr = shpool_after_malloc(&after, bytes);
        if (ptr != NULL) {
            simt_mbar_arrive_expect(mbar, bytes);
            simt_copy_async(simt_to_shared(ptr), source, bytes, mbar);
            if (random & 64u) {
                simt_mbar_wait(mbar, phases[m] & 1u);
                EXPECT(memcmp(ptr, source, bytes) == 0);
            }
            shpool_free_after(&after, ptr, mbar, phases[m] & 1u);
            phases[m]++;
        }
        use_another(heap, &random);
    }
    shpool_after_fini(&after);
    for (uint32_t i = 0; i < MBARS; i++) {
        simt_mbar_inval(mbar_of(rank, i));
    }
}

SCENE(test_no_copy_lands_in_a_block_of_another_owner, load_kernel, .threads = { 4, 33 },
      .each = 512, .tune = prepare, .seeds = SEEDS, .periods = 4)

/* ---- copies out of blocks ---- */

static void store_kernel(shpool_heap heap)
{
    uint32_t     rank   = simt_thread_rank();
    uint32_t     random = (t.seed + 1u) * 1000u + rank;
    shpool_after after  = shpool_after_init(heap, rank % 5u * 3u);
    uint32_t     words[STEPS];

    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t n   = 4u + 4u * (heap_random(&random) % (MOST_WORDS / 4u));
        void    *ptr = shpool_after_malloc(&after, 4u * n);

        words[step] = (ptr != NULL) ? n : 0u;
        for (uint32_t i = 0; i < words[step]; i++) {
            simt_store32(simt_to_shared(ptr) + 4u * i, rank << 16 | step << 8 | i);
        }
        if (ptr != NULL) {
            simt_fence_async();
            simt_copy_async_out(sink[rank][step], simt_to_shared(ptr), 4u * n);
            if (random & 64u) { /* a group that the queue does not know of */
                simt_copy_commit();
            }
        }
        shpool_free_after_group(&after, ptr);
        use_another(heap, &random);
    }
    shpool_after_fini(&after);
    simt_copy_wait(0);
    for (uint32_t step = 0; step < STEPS; step++) {
        for (uint32_t i = 0; i < words[step]; i++) {
            EXPECT(sink[rank][step][i] == (rank << 16 | step << 8 | i));
        }
    }
}

SCENE(test_copies_out_take_what_was_in_the_block, store_kernel, .threads = { 5, 33 },
      .each = 640, .tune = prepare, .seeds = SEEDS, .periods = 4)

/* ---- cp.async into blocks that are no longer needed, among other copies ---- */

static void load16_kernel(shpool_heap heap)
{
    uint32_t     rank   = simt_thread_rank();
    uint32_t     random = (t.seed + 1u) * 1000u + rank;
    shpool_after after  = shpool_after_init(heap, rank % 5u * 3u);

    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t bytes = 16u + 16u * (heap_random(&random) % (MOST_WORDS / 4u));
        void    *ptr   = shpool_after_malloc(&after, bytes);

        for (uint32_t i = 0; (ptr != NULL) && (i < bytes); i += 16u) {
            simt_copy16_async(simt_to_shared(ptr) + i, &source[i / 4u]);
        }
        if ((ptr != NULL) && (random & 64u)) { /* a group that the queue does not know of */
            simt_copy16_commit();
        }
        if ((ptr != NULL) && (random & 128u)) {
            simt_copy16_commit();
            simt_copy16_wait(0);
            EXPECT(memcmp(ptr, source, bytes) == 0);
        }
        shpool_free_after_copies(&after, ptr);
        ptr = (random & 256u) ? shpool_after_malloc(&after, 32) : NULL;
        if (ptr != NULL) {
            simt_copy_async_out(sink[rank][step], simt_to_shared(ptr), 32);
        }
        shpool_free_after_group(&after, ptr);
        use_another(heap, &random);
    }
    shpool_after_fini(&after);
    simt_copy16_wait(0);
}

SCENE(test_small_copies_land_before_the_next_owner, load16_kernel, .threads = { 5, 33 },
      .each = 640, .tune = prepare, .seeds = SEEDS, .periods = 4)

/* ---- blocks that other threads read ---- */

#define STAGES 2u

/* Thread 0 makes tiles; the others read them, and say so at the stage's second mbarrier. */
static void tile_kernel(shpool_heap heap)
{
    uint32_t     rank  = simt_thread_rank();
    shpool_after after = shpool_after_init(heap, (rank == 0) ? t.seed % 3u : 0u);

    for (uint32_t k = 0; (k < STAGES) && (rank == 0); k++) {
        simt_mbar_init(mbar_of(k, 0), 1);
        simt_mbar_init(mbar_of(k, 1), simt_block_threads() - 1u);
    }
    simt_barrier();
    for (uint32_t n = 0; n < STEPS; n++) {
        simt_addr full   = mbar_of(n % STAGES, 0);
        simt_addr empty  = mbar_of(n % STAGES, 1);
        simt_addr box    = mbar_of(n % STAGES, 2);
        uint32_t  parity = n / STAGES & 1u;
        uint32_t  words  = 4u + 4u * (n % 5u);

        if (rank == 0) {
            void *tile;

            simt_mbar_wait(empty, parity ^ 1u);
            (void)shpool_after_poll(&after);
            tile = shpool_after_malloc(&after, 4u * words);
            EXPECT(tile != NULL);
            for (uint32_t i = 0; (tile != NULL) && (i < words); i++) {
                simt_store32(simt_to_shared(tile) + 4u * i, n * 100u + i);
            }
            simt_store32(box, (tile != NULL) ? simt_to_shared(tile) : 0u);
            simt_mbar_arrive(full);
            shpool_free_after(&after, tile, empty, parity);
        } else {
            simt_addr tile;

            simt_mbar_wait(full, parity);
            tile = simt_load32(box);
            for (uint32_t i = 0; (tile != 0) && (i < words); i++) {
                EXPECT(simt_load32(tile + 4u * i) == n * 100u + i);
            }
            simt_mbar_arrive(empty);
        }
    }
    shpool_after_fini(&after);
}

/* a tile or two */
SCENE(test_a_tile_lives_until_its_last_reader_is_done, tile_kernel, .threads = { 4 },
      .each = 192, .tune = prepare, .seeds = SEEDS, .periods = 4)

/* ---- the queue ---- */

static void queue_kernel(shpool_heap heap)
{
    simt_addr    mbar  = mbar_of(0, 0);
    simt_addr    late  = mbar_of(0, 1);
    shpool_after after = shpool_after_init(heap, 3);
    void        *ptr[4];

    simt_mbar_init(mbar, 1);
    simt_mbar_init(late, 1);
    for (uint32_t i = 0; i < 4; i++) {
        ptr[i] = shpool_malloc(heap, 48);
    }
    shpool_free_after(&after, NULL, late, 0);
    shpool_free_after_group(&after, NULL);
    EXPECT((after.slots == 3) && (after.count == 0));
    EXPECT((shpool_after_poll(&after) == 0) && (shpool_after_wait(&after) == 0));

    shpool_free_after(&after, ptr[0], late, 0);
    shpool_free_after(&after, ptr[1], mbar, 0);
    shpool_free_after_group(&after, ptr[2]);
    EXPECT((after.count == 3) && (after.groups == 1));
    EXPECT(shpool_after_poll(&after) == 0);
    simt_mbar_arrive(mbar);
    shpool_free_after(&after, ptr[3], late, 0); /* full, except for due entries */
    EXPECT((after.count == 3) && (after.groups == 1));
    EXPECT(shpool_free_at(heap, ptr[1], 0) != SHPOOL_FREE_OK); /* it is free */
    simt_mbar_arrive(late);
    EXPECT(shpool_after_poll(&after) == 2);
    EXPECT((after.count == 1) && (after.groups == 1)); /* its progress is not known */
    EXPECT(shpool_after_wait(&after) == 1);
    ptr[0] = shpool_malloc(heap, 48);
    shpool_free_after(&after, ptr[0], late, 0); /* the phase has ended: freed immediately */
    EXPECT(after.count == 0);
    shpool_after_fini(&after);
}

SCENE(test_the_queue_frees_what_is_due, queue_kernel, .caps = SHPOOL_CAP_REFUSES, .each = 512,
      .tune = prepare)

/* A pool with room for one block at a time: each but the first waits for the one before. */
static void waits_kernel(shpool_heap heap)
{
    shpool_after after = shpool_after_init(heap, 2);

    for (uint32_t i = 0; i < 4; i++) {
        void *ptr = shpool_after_malloc(&after, t.pool.largest / 2u);

        EXPECT(ptr != NULL);
        if (ptr != NULL) {
            simt_copy_async_out(sink, simt_to_shared(ptr), 64);
            shpool_free_after_group(&after, ptr);
        }
    }
    EXPECT((after.slots == 2) && (after.count == 1) && (after.groups == 1));
    shpool_after_fini(&after);
    EXPECT(shpool_after_malloc(&after, t.pool.largest + 1u) == NULL);
}

/* the queue's malloc, and 5 requests of which one fails */
SCENE(test_who_waits_for_a_copy_has_not_failed, waits_kernel, .options = { ":stats=1" },
      .each = 512, .leaves = 1, .report = "mallocs 6, failures 1, waits 3")

/* An empty heap, and allocations that lie in global memory. */
static void native_kernel(shpool_heap heap)
{
    simt_addr    mbar  = mbar_of(0, 0);
    shpool_after after = shpool_after_init(heap, 4);
    void        *ptr   = shpool_malloc(heap, 64);

    simt_mbar_init(mbar, 1);
    EXPECT((ptr != NULL) && !simt_is_shared(ptr) && (after.slots == 0));
    EXPECT(shpool_after_malloc(&after, 64) == NULL);
    simt_mbar_arrive(mbar);
    shpool_free_after(&after, ptr, mbar, 0);
    shpool_free_after_group(&after, shpool_malloc(heap, 64));
    shpool_after_fini(&after);
}

SCENE(test_blocks_in_global_memory_are_freed_too, native_kernel, .only = "native", .each = 64,
      .tune = prepare)
