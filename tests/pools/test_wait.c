/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for room, and what the figures say of it. */
#include "heap_trial.h"

#include <shpool/wait.h>

static trial    t;
static uint32_t refused;
static uint32_t got;

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

/* ---- everybody wants most of the pool: they take turns ---- */

static void turns_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    rank = simt_thread_rank();

    for (uint32_t round = 0; round < p->steps; round++) {
        heap_slot slot;
        void     *ptr = shpool_malloc_wait(heap, p->number, p->seed);

        if (trial_got(p, heap, &slot, ptr, p->number, 16, rank + round * 64u)) {
            simt_global_add32(&got, 1);
            trial_free(p, heap, &slot);
        } else {
            simt_global_add32(&refused, 1);
        }
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static void run_turns(const char *options, simt_engine engine, uint32_t threads, uint32_t period)
{
    FOR_EACH_POOL(allocator) {
        char spec[64];

        (void)snprintf(spec, sizeof(spec), "%s%s%s", options,
                       (allocator->scope == SHPOOL_SCOPE_GROUP) ? ((options[0] != '\0') ? "," : ":")
                                                                : "",
                       (allocator->scope == SHPOOL_SCOPE_GROUP) ? "threads_per_pool=4" : "");
        trial_open(&t, allocator, spec, threads, 300, 16);
        t.number               = t.pool.largest * 2u / 3u; /* one of them at a time */
        t.steps                = 5;
        t.seed                 = 1000000;
        t.launch.engine        = engine;
        t.launch.switch_period = period;
        t.launch.seed          = period;
        refused = got = 0;
        trial_run(&t, turns_kernel);
        assert_int_equal(refused, 0);
        assert_int_equal(got, 5 * threads);
        if (t.pool.report != NULL) {
            assert_int_equal(t.report.failures, 0);
            assert_int_equal(t.report.mallocs, 5 * threads + t.pool.pools);
            assert_true((t.report.waits > 0) || (t.pool.threads_per_pool == 1));
        }
        trial_close(&t);
    }
}

UNIT_TEST(test_threads_that_wait_take_turns)
{
    for (uint32_t period = 0; period < 4; period++) {
        run_turns("", SIMT_FIBERS, 33, period);
    }
    run_turns(":stats=1", SIMT_FIBERS, 33, 2);
    run_turns("", SIMT_THREADS, 8, 1);
}

/* Where all memory of an allocator is: native has a slot, which can be full. */
#define FOR_EACH_THAT_SERVES(_allocator)                                                           \
    for (size_t i_ = 0; i_ < shpool_allocator_count(); i_++)                                       \
        for (const shpool_allocator *_allocator = shpool_allocator_get(i_);                        \
             (_allocator != NULL) && ((_allocator->caps & SHPOOL_CAP_NONE) == 0); _allocator = NULL)

#define SLOT ":spill=arena,spill_bytes=1K,spill_blocks=1"

static uint32_t most(const trial *p)
{
    return (p->pool.pool_bytes != 0) ? p->pool.largest : p->pool.spill_bytes;
}

/* ---- nobody frees ---- */

static void vain_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *all  = NULL;

    if ((heap.view.flags & SHPOOL_FLAG_LEADER) != 0) {
        all = shpool_malloc(heap, most(p));
        EXPECT(p, all != NULL);
    }
    simt_barrier();
    EXPECT(p, shpool_malloc_wait(heap, 16, 5) == NULL);
    EXPECT(p, shpool_malloc_wait(heap, 16, 0) == NULL); /* at least once */
    simt_barrier();
    shpool_free(heap, all);
    simt_barrier();
    EXPECT(p, shpool_malloc_wait(heap, (size_t)1 << 40, 2) == NULL);
    shpool_fini(heap);
}

UNIT_TEST(test_who_waits_in_vain_gives_up)
{
    FOR_EACH_THAT_SERVES(allocator) {
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            trial_once(&t, allocator, has_pool(allocator) ? ":stats=1" : SLOT ",stats=1", threads,
                       300, vain_kernel);
            assert_int_equal(t.report.failures, 3 * threads); /* a call fails once, */
            /* however often it tried: 4, 0 and 0 times more; less if it lets others go first, and
             * once if it shares its pool with nobody */
            if ((trial_pools(allocator, threads) == threads) && has_pool(allocator) &&
                (allocator->scope != SHPOOL_SCOPE_CLUSTER)) {
                assert_int_equal(t.report.waits, 0);
            } else {
                assert_in_range(t.report.waits, 4, 4 * threads);
            }
            assert_int_equal(t.report.refusals, threads); /* of 2^40 bytes */
            assert_int_equal(t.report.mallocs, 3 * threads + trial_pools(allocator, threads));
        }
    }
}

/* ---- every schedule: no wake-up is lost ---- */

/* The consumer frees what the producer needs; the producer gets it, or has tried `seed` times. */
static void hand_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot;

    if (simt_thread_rank() == 0) {
        p->box[0].at = (unsigned char *)shpool_malloc(heap, most(p));
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(p, shpool_free_at(heap, p->box[0].at, 0) == SHPOOL_FREE_OK);
    } else {
        void *ptr = shpool_malloc_wait(heap, 40, p->seed);

        if (trial_got(p, heap, &slot, ptr, 40, 16, 7)) {
            trial_free(p, heap, &slot);
            simt_global_add32(&got, 1);
        } else {
            simt_global_add32(&refused, 1);
        }
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static void before(void *arg)
{
    (void)arg;
    heap_model_reset(&t.model);
}

static int after(void *arg)
{
    (void)arg;
    return t.model.faults != 0;
}

UNIT_TEST(test_every_schedule_of_a_hand_over)
{
    simt_bounds bounds = { .preemptions = heap_long() ? 3u : 2u };
    simt_hooks  hooks  = { before, after };

    FOR_EACH_THAT_SERVES(allocator) {
        if (allocator->scope == SHPOOL_SCOPE_THREAD) {
            continue; /* nobody else can free */
        }
        trial_open(&t, allocator, !has_pool(allocator) ? SLOT
                   : (allocator->scope == SHPOOL_SCOPE_GROUP) ? ":threads_per_pool=2" : "", 2, 100,
                   16);
        t.seed  = 3;
        refused = got = 0;
        if (simt_explore(&t.launch, &bounds, &hooks, hand_kernel, &t, &t.result) != SHPOOL_OK) {
            fail_msg("%s: %s; %s", allocator->name, t.model.text, t.result.text);
        }
        assert_true(t.result.complete);
        assert_true((got > 10) && (refused > 0)); /* both ends were seen */
        trial_close(&t);
    }
}

/* ---- figures ---- */

static void figures_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc(heap, 1000);
    void       *b    = shpool_malloc(heap, 500);

    EXPECT(p, (a != NULL) && (b != NULL));
    shpool_free(heap, a);
    if (p->number != 0) { /* fails with 1,000 free */
        EXPECT(p, shpool_malloc(heap, 3000) == NULL);
    }
    (void)shpool_malloc(heap, 16); /* leaks */
    shpool_fini(heap);
}

UNIT_TEST(test_figures_and_advice)
{
    const shpool_allocator *bitmap;
    shpool_stats_data stats;
    shpool_advice     advice;
    shpool_arch       arch;
    shpool_pool       pool;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    assert_int_equal(shpool_arch_find("90", &arch), SHPOOL_OK);
    for (size_t failing = 0; failing < 2; failing++) {
        trial_open(&t, bitmap, ":stats=1", 1, 2000, 16);
        t.number = failing;
        trial_run(&t, figures_kernel);
        assert_int_equal(shpool_stats_read(&t.pool, &t.report, &stats), SHPOOL_OK);
        assert_int_equal(stats.mallocs, 3 + failing);
        assert_int_equal(stats.frees, 1);
        assert_int_equal(stats.live, 2);
        assert_int_equal(stats.live_bytes, 512 + 16);
        assert_int_equal(stats.failures, failing);
        assert_int_equal(stats.peak_bytes, 1008 + 512);
        assert_int_equal(stats.capacity_bytes, t.pool.largest);
        assert_int_equal(stats.fragmentation,
                         failing * ((t.pool.largest - 512) * 100 + t.pool.largest / 2) /
                             t.pool.largest);

        assert_int_equal(shpool_advise(&t.pool, &t.report, &arch, 0, &advice), SHPOOL_OK);
        assert_int_equal(advice.payload_bytes, 1520);
        assert_in_range(advice.least_bytes, 1520, 1700);
        assert_int_equal(advice.enough_bytes,
                         failing ? 0u : t.pool.shared_bytes - t.pool.area_bytes);
        assert_true(advice.blocks_least >= advice.blocks_now);
        assert_int_equal(shpool_advise(&t.pool, &t.report, &arch, 100 * 1024, &advice), SHPOOL_OK);
        assert_int_equal(advice.blocks_now, 2);

        assert_int_equal(shpool_advise(&t.pool, &t.report, NULL, 0, &advice), SHPOOL_ERR_INVALID);
        assert_int_equal(advice.least_bytes, 0);
        t.report.peak_bytes = 300000; /* spilled, of course */
        assert_int_equal(shpool_advise(&t.pool, &t.report, &arch, 0, &advice),
                         SHPOOL_ERR_TOO_LARGE);
        t.report.blocks = 0;
        assert_int_equal(shpool_stats_read(&t.pool, &t.report, &stats), SHPOOL_ERR_INVALID);
        assert_non_null(strstr(shpool_last_error(), "shpool_fini"));
        pool       = t.pool;
        pool.flags = 0;
        assert_int_equal(shpool_stats_read(&pool, &t.report, &stats), SHPOOL_ERR_UNSUPPORTED);
        assert_non_null(strstr(shpool_last_error(), "bitmap:stats=1"));
        assert_int_equal(stats.mallocs, 0);
        assert_int_equal(shpool_stats_read(&t.pool, NULL, &stats), SHPOOL_ERR_INVALID);
        trial_close(&t);
    }
}

/* The executor has no clock: calls that took long are noted by hand. */
#define NOTED  40u
#define CYCLES 0xffffff00u

static void timed_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc(heap, 16);
    uint32_t    mark = shpool_mark(heap);
    void       *out;

    EXPECT(p, (a != NULL) && (shpool_malloc(heap, 16) != NULL));
    EXPECT(p, (shpool_malloc(heap, 16) != NULL) && (shpool_release(heap, mark) == 1));
    out = shpool_malloc(heap, 100000);
    EXPECT(p, (out != NULL) && !shpool_is_shared(out));
    shpool_free(heap, out);
    shpool_free(heap, a);
    for (uint32_t i = 0; i < NOTED; i++) {
        shpool_note_cycles(heap.view, 0u - CYCLES);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_cycles_are_of_calls_of_the_pool)
{
    const shpool_allocator *arena;
    shpool_stats_data stats;

    if (shpool_allocator_find("arena", &arena) != SHPOOL_OK) {
        skip();
    }
    trial_once(&t, arena, ":stats=1,spill=native", 1, 500, timed_kernel);
    assert_int_equal(t.report.mallocs + t.report.frees, 8);
    assert_int_equal(t.report.timed, 5 + NOTED); /* 4 mallocs, 1 free */
    assert_int_equal(t.report.cycles, 1ull * NOTED * CYCLES); /* 2^36 are the block's counter */
    assert_int_equal(t.report.slowest, CYCLES);
    t.pool.flags = SHPOOL_FLAG_STATS; /* closed, but the report is here */
    assert_int_equal(shpool_stats_read(&t.pool, &t.report, &stats), SHPOOL_OK);
    assert_int_equal(stats.mean_cycles, 1ull * NOTED * CYCLES / (5 + NOTED));
    assert_int_equal(stats.slowest_cycles, CYCLES);
}
