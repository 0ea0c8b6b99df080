/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for room, and what the figures say of it. */
#include "scene.h"

#include <shpool/wait.h>

static uint32_t refused;
static uint32_t got;

/* ---- everybody wants most of the pool: they take turns ---- */

static void turns_kernel(shpool_heap heap)
{
    uint32_t rank = simt_thread_rank();

    for (uint32_t round = 0; round < t.steps; round++) {
        heap_slot slot;
        void     *ptr = shpool_malloc_wait(heap, t.number, 1000000);

        if (trial_got(&t, heap, &slot, ptr, t.number, 16, rank + round * 64u)) {
            simt_global_add32(&got, 1);
            put(heap, &slot);
        } else {
            simt_global_add32(&refused, 1);
        }
    }
}

static void begin(void)
{
    refused = got = 0;
    t.number = t.pool.largest * 2u / 3u; /* one of them at a time */
}

static void expect_served(void)
{
    assert_int_equal(refused, 0);
    assert_int_equal(got, 5 * t.launch.block[0]);
    assert_true((t.pool.report == NULL) || (t.report.waits > 0) || (t.launch.switch_period == 0) ||
                (t.pool.threads_per_pool == 1));
}

UNIT_TEST(test_threads_that_wait_take_turns)
{
    scene s = { .body = turns_kernel, .options = { "", ":stats=1" }, .share = 4,
                .threads = { 33 }, .each = 1200, .each_alone = 300, .steps = 5, .seeds = 4,
                .periods = 4, .tune = begin, .report = "failures 0, mallocs 5t+1p",
                .expect = expect_served };

    run_scene(&s);
    s.engine     = SIMT_THREADS;
    s.options[1] = NULL;
    s.threads[0] = 8;
    run_scene(&s);
}

static int serves_without_pools(const shpool_allocator *allocator)
{
    return serves(allocator) && !has_pool(allocator);
}

/* Where all memory of an allocator is: native has a slot, which can be full. */
#define SLOT ":spill=arena,spill_bytes=1K,spill_blocks=1"

static uint32_t most(void)
{
    return (t.pool.pool_bytes != 0) ? t.pool.largest : t.pool.spill_bytes;
}

/* ---- nobody frees ---- */

static void vain_kernel(shpool_heap heap)
{
    void *all = NULL;

    if ((heap.view.flags & SHPOOL_FLAG_LEADER) != 0) {
        all = shpool_malloc(heap, most());
        EXPECT(all != NULL);
    }
    simt_barrier();
    EXPECT(shpool_malloc_wait(heap, 16, 5) == NULL);
    EXPECT(shpool_malloc_wait(heap, 16, 0) == NULL); /* at least once */
    simt_barrier();
    shpool_free(heap, all);
    simt_barrier();
    EXPECT(shpool_malloc_wait(heap, (size_t)1 << 40, 2) == NULL);
}

/* A call fails once, however often it tried: 4, 0 and 0 times more; less if it lets others go
 * first, and once if it shares its pool with nobody. */
static void expect_vain(void)
{
    const uint32_t threads = t.launch.block[0];

    if ((trial_pools(t.allocator, threads) == threads) && has_pool(t.allocator) &&
        (t.allocator->scope != SHPOOL_SCOPE_CLUSTER)) {
        assert_int_equal(t.report.waits, 0);
    } else {
        assert_in_range(t.report.waits, 4, 4 * threads);
    }
    assert_int_equal(t.report.mallocs, 3 * threads + trial_pools(t.allocator, threads));
}

UNIT_TEST(test_who_waits_in_vain_gives_up)
{
    scene s = { .body = vain_kernel, .options = { ":stats=1" }, .threads = { 1, 3 }, .each = 300,
                .leaves = 1, .report = "failures 3t, refusals 1t" /* of 2^40 bytes */,
                .expect = expect_vain };

    run_scene(&s);
    s.takes      = serves_without_pools;
    s.options[0] = SLOT ",stats=1";
    run_scene(&s);
}

/* ---- every schedule: no wake-up is lost ---- */

/* The consumer frees what the producer needs; the producer gets it, or has tried three times. */
static void hand_kernel(shpool_heap heap)
{
    heap_slot slot;

    if (simt_thread_rank() == 0) {
        t.box[0].at = (unsigned char *)shpool_malloc(heap, most());
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(shpool_free_at(heap, t.box[0].at, 0) == SHPOOL_FREE_OK);
        return;
    }
    if (trial_got(&t, heap, &slot, shpool_malloc_wait(heap, 40, 3), 40, 16, 7)) {
        put(heap, &slot);
        simt_global_add32(&got, 1);
    } else {
        simt_global_add32(&refused, 1);
    }
}

static void expect_both_ends(void)
{
    assert_true((got > 10) && (refused > 0));
    refused = got = 0;
}

UNIT_TEST(test_every_schedule_of_a_hand_over)
{
    scene s = { .body = hand_kernel, .takes = shares, .share = 2, .threads = { 2 }, .each = 100,
                .expect = expect_both_ends };

    refused = got = 0;
    explore_scene(&s, heap_long() ? 3u : 2u);
    s.takes      = serves_without_pools;
    s.options[0] = SLOT;
    explore_scene(&s, heap_long() ? 3u : 2u);
}

/* ---- figures ---- */

static void figures_kernel(shpool_heap heap)
{
    void *a = shpool_malloc(heap, 1000);
    void *b = shpool_malloc(heap, 500);

    EXPECT((a != NULL) && (b != NULL));
    shpool_free(heap, a);
    if (t.number != 0) { /* fails with 1,000 free */
        EXPECT(shpool_malloc(heap, 3000) == NULL);
    }
    (void)shpool_malloc(heap, 16); /* leaks */
}

static void expect_figures(void)
{
    const size_t      failing = t.number;
    const uint32_t    largest = t.pool.largest;
    shpool_stats_data stats;
    shpool_advice     advice;
    shpool_arch       arch;
    shpool_pool       pool;

    assert_int_equal(shpool_arch_find("90", &arch), SHPOOL_OK);
    assert_int_equal(shpool_stats_read(&t.pool, &t.report, &stats), SHPOOL_OK);
    assert_int_equal(stats.mallocs, 3 + failing);
    assert_int_equal(stats.frees, 1);
    assert_int_equal(stats.live, 2);
    assert_int_equal(stats.live_bytes, 512 + 16);
    assert_int_equal(stats.failures, failing);
    assert_int_equal(stats.peak_bytes, 1008 + 512);
    assert_int_equal(stats.capacity_bytes, largest);
    assert_int_equal(stats.fragmentation,
                     failing * ((largest - 512) * 100 + largest / 2) / largest);

    assert_int_equal(shpool_advise(&t.pool, &t.report, &arch, 0, &advice), SHPOOL_OK);
    assert_int_equal(advice.payload_bytes, 1520);
    assert_in_range(advice.least_bytes, 1520, 1700);
    assert_int_equal(advice.enough_bytes, failing ? 0u : t.pool.shared_bytes - t.pool.area_bytes);
    assert_true(advice.blocks_least >= advice.blocks_now);
    assert_int_equal(shpool_advise(&t.pool, &t.report, &arch, 100 * 1024, &advice), SHPOOL_OK);
    assert_int_equal(advice.blocks_now, 2);

    assert_int_equal(shpool_advise(&t.pool, &t.report, NULL, 0, &advice), SHPOOL_ERR_INVALID);
    assert_int_equal(advice.least_bytes, 0);
    t.report.peak_bytes = 300000; /* spilled, of course */
    assert_int_equal(shpool_advise(&t.pool, &t.report, &arch, 0, &advice), SHPOOL_ERR_TOO_LARGE);
    t.report.blocks = 0;
    assert_int_equal(shpool_stats_read(&t.pool, &t.report, &stats), SHPOOL_ERR_INVALID);
    assert_non_null(strstr(shpool_last_error(), "shpool_fini"));
    pool       = t.pool;
    pool.flags = 0;
    assert_int_equal(shpool_stats_read(&pool, &t.report, &stats), SHPOOL_ERR_UNSUPPORTED);
    assert_non_null(strstr(shpool_last_error(), "bitmap:stats=1"));
    assert_int_equal(stats.mallocs, 0);
    assert_int_equal(shpool_stats_read(&t.pool, NULL, &stats), SHPOOL_ERR_INVALID);
}

SCENE(test_figures_and_advice, figures_kernel, .only = "bitmap", .options = { ":stats=1" },
      .each = 2000, .numbers = 2, .leaves = 1, .expect = expect_figures)

/* The executor has no clock: calls that took long are noted by hand. */
#define NOTED  40u
#define CYCLES 0xffffff00u

static void timed_kernel(shpool_heap heap)
{
    void    *a    = shpool_malloc(heap, 16);
    uint32_t mark = shpool_mark(heap);
    void    *out;

    EXPECT((a != NULL) && (shpool_malloc(heap, 16) != NULL));
    EXPECT((shpool_malloc(heap, 16) != NULL) && (shpool_release(heap, mark) == 1));
    out = shpool_malloc(heap, 100000);
    EXPECT((out != NULL) && !shpool_is_shared(out));
    shpool_free(heap, out);
    shpool_free(heap, a);
    for (uint32_t i = 0; i < NOTED; i++) {
        shpool_note_cycles(heap.view, 0u - CYCLES);
    }
}

static void expect_cycles(void)
{
    shpool_stats_data stats;

    assert_int_equal(t.report.mallocs + t.report.frees, 8);
    assert_int_equal(t.report.timed, 5 + NOTED); /* 4 mallocs, 1 free */
    assert_int_equal(t.report.cycles, 1ull * NOTED * CYCLES); /* 2^36 are the block's counter */
    assert_int_equal(t.report.slowest, CYCLES);
    assert_int_equal(shpool_stats_read(&t.pool, &t.report, &stats), SHPOOL_OK);
    assert_int_equal(stats.mean_cycles, 1ull * NOTED * CYCLES / (5 + NOTED));
    assert_int_equal(stats.slowest_cycles, CYCLES);
}

SCENE(test_cycles_are_of_calls_of_the_pool, timed_kernel, .only = "arena",
      .options = { ":stats=1,spill=native" }, .each = 500, .leaves = 1, .expect = expect_cycles)
