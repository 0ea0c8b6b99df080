/* SPDX-License-Identifier: BSD-3-Clause */
/* after.h under every schedule with a bounded number of preemptions, where each copy lands at every
 * access that it may land at: a pool that holds one large block at a time, and two or three threads
 * that want it. */
#include "scene.h"

#include <shpool/after.h>

#define GRANULES 11u
#define BYTES    80u  /* of a block that is copied */
#define OTHER    128u /* of another one: both do not fit */

static uint32_t source[BYTES / 4u] __attribute__((aligned(16)));
static uint32_t sink[BYTES / 4u] __attribute__((aligned(16)));
static uint32_t copied;  /* the first thread had a block */
static uint32_t reused;  /* the second had one while the first was in its script, or after it */

static simt_addr mbar_of(uint32_t i)
{
    return simt_dynamic_base() + ((t.pool.shared_bytes + 7u) & ~7u) + 8u * i;
}

static void other_owner(shpool_heap heap)
{
    simt_addr at;
    void     *ptr = shpool_malloc(heap, OTHER);

    if (ptr == NULL) {
        return;
    }
    at = simt_to_shared(ptr);
    simt_store32(at, 77);
    simt_store32(at + OTHER - 4u, 78);
    EXPECT(simt_load32(at) == 77);
    EXPECT(simt_load32(at + OTHER - 4u) == 78);
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    reused = 1;
}

/* A copy into a block that is given up before it has landed. */
static void load_script(shpool_heap heap)
{
    shpool_after after = shpool_after_init(heap, 1);
    void        *ptr   = shpool_after_malloc(&after, BYTES);

    if (ptr != NULL) {
        simt_mbar_arrive_expect(mbar_of(0), BYTES);
        simt_copy_async(simt_to_shared(ptr), source, BYTES, mbar_of(0));
        shpool_free_after(&after, ptr, mbar_of(0), 0);
        copied = 1;
    }
    shpool_after_fini(&after);
    if (ptr != NULL) {
        simt_mbar_wait(mbar_of(0), 0); /* else a copy that was forgotten would be reported */
    }
}

static void store_script(shpool_heap heap)
{
    shpool_after after = shpool_after_init(heap, 1);
    void        *ptr   = shpool_after_malloc(&after, BYTES);

    if (ptr != NULL) {
        simt_store32(simt_to_shared(ptr), 5);
        simt_store32(simt_to_shared(ptr) + BYTES - 4u, 6);
        simt_fence_async();
        simt_copy_async_out(sink, simt_to_shared(ptr), BYTES);
        shpool_free_after_group(&after, ptr);
        copied = 1;
    }
    shpool_after_fini(&after);
}

static void load16_script(shpool_heap heap)
{
    shpool_after after = shpool_after_init(heap, 1);
    void        *ptr   = shpool_after_malloc(&after, BYTES);

    if (ptr != NULL) {
        simt_copy16_async(simt_to_shared(ptr), source); /* the other's may begin here, */
        simt_copy16_async(simt_to_shared(ptr) + 32u, source); /* or end with the pool: here */
        shpool_free_after_copies(&after, ptr);
        copied = 1;
    }
    shpool_after_fini(&after);
    simt_copy16_wait(0); /* else a copy that was forgotten would be reported */
}

/* Thread 1 reads what thread 0 made, and thread 2 wants the memory. */
static void tile_script(shpool_heap heap)
{
    simt_addr    box   = mbar_of(2);
    shpool_after after = shpool_after_init(heap, (simt_thread_rank() == 0) ? 1u : 0u);

    if (simt_thread_rank() == 0) {
        void *ptr = shpool_after_malloc(&after, BYTES);

        if (ptr != NULL) {
            simt_store32(simt_to_shared(ptr), 9);
        }
        simt_store32(box, (ptr != NULL) ? simt_to_shared(ptr) : 0u);
        simt_mbar_arrive(mbar_of(0));
        shpool_free_after(&after, ptr, mbar_of(1), 0);
        copied = 1;
    } else if (simt_thread_rank() == 1) {
        simt_addr at;

        simt_mbar_wait(mbar_of(0), 0);
        at = simt_load32(box);
        EXPECT((at == 0) || (simt_load32(at) == 9));
        simt_mbar_arrive(mbar_of(1));
    } else {
        other_owner(heap);
    }
    shpool_after_fini(&after);
}

/* ---- explorations ---- */

static void (*script)(shpool_heap heap); /* of thread 0, or of all three */
static uint32_t both; /* schedules in which the first and the second had a block */

static void script_kernel(shpool_heap heap)
{
    if (simt_thread_rank() == 0) {
        simt_mbar_init(mbar_of(0), 1);
        simt_mbar_init(mbar_of(1), 1);
    }
    simt_barrier();
    if ((script == tile_script) || (simt_thread_rank() == 0)) {
        script(heap);
    } else {
        other_owner(heap);
    }
}

static void add_mbars(void)
{
    t.launch.dynamic_bytes += 8u + 8u * 3u;
}

static void before(void)
{
    memset(sink, 0, sizeof(sink));
    copied = reused = 0;
}

static void after_each(void)
{
    if ((script == store_script) && copied) {
        EXPECT((sink[0] == 5) && (sink[BYTES / 4u - 1u] == 6));
    }
    both += copied && reused;
}

static void expect_both(void)
{
    assert_true(both > 10);
}

static void explore(uint32_t threads, uint32_t preemptions, void (*of)(shpool_heap heap))
{
    const scene s = { .body = script_kernel, .only = "bitmap", .threads = { threads },
                      .each = 16u * GRANULES, .tune = add_mbars, .before = before,
                      .after = after_each, .expect = expect_both };

    for (uint32_t i = 0; i < BYTES / 4u; i++) {
        source[i] = 0x51000000u + i;
    }
    script = of;
    both   = 0;
    explore_scene(&s, preemptions + (heap_long() != 0));
}

UNIT_TEST(test_copies_into_a_block_that_is_given_up) { explore(2, 3, load_script); }
UNIT_TEST(test_small_copies_into_a_block_that_is_given_up) { explore(2, 3, load16_script); }
UNIT_TEST(test_copies_out_of_a_block_that_is_given_up) { explore(2, 3, store_script); }
UNIT_TEST(test_a_reader_of_a_block_that_is_given_up) { explore(3, 1, tile_script); }
