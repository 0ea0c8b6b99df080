/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that a pool cannot serve: spill=fail, arena, native and arena+native, for every
 * allocator. */
#include "heap_trial.h"

#include <shpool/impl/report/spill.h>

static trial t;

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

/* ---- random scripts with pools that are too small by far ---- */

#define SLOTS 8u

static void script_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    state = (p->seed * 1025u + simt_thread_rank()) * 2654435769u;
    heap_slot   slot[SLOTS] = { { NULL, 0, 0 } };

    for (uint32_t step = 0; step < p->steps; step++) {
        heap_slot *s    = &slot[heap_random(&state) % SLOTS];
        uint32_t   size = heap_random(&state) % 700u;

        if (s->at == NULL) {
            uint32_t alignment = 16u << heap_random(&state) % 7u;

            if (trial_malloc(p, heap, s, size, (alignment > p->pool.alignment) ? 16u : alignment,
                             heap_random(&state))) {
                EXPECT(p, shpool_is_shared(s->at) || (p->number != SHPOOL_SPILL_FAIL));
            } else {
                EXPECT(p, (p->number & SHPOOL_SPILL_NATIVE) == 0); /* the host has memory */
            }
        } else if (heap_random(&state) % 3u != 0) {
            trial_free(p, heap, s);
        } else {
            (void)trial_realloc(p, heap, s, size, heap_random(&state));
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (slot[i].at != NULL) {
            trial_free(p, heap, &slot[i]);
        }
    }
    simt_barrier();
    if ((simt_thread_rank() == 0) && (p->pool.spill_bytes != 0)) { /* not a granule is lost */
        simt_addr area = heap.view.area;
        uint32_t  all  = shpool_granule_all(area);

        EXPECT(p, shpool_granule_next(shpool_granule_map(area), 0, all, 0) == all);
        EXPECT(p, shpool_granule_next(shpool_granule_map(area) + 4u * shpool_granule_words(area), 0,
                                      all, 0) == all);
    }
    shpool_fini(heap);
}

static void run_scripts(uint32_t policy, const char *options, simt_engine engine)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (((allocator->caps & SHPOOL_CAP_NONE) != 0) ||
            (((allocator->caps & SHPOOL_CAP_CHECK) == 0) && (strstr(options, "check") != NULL)) ||
            ((allocator->scope == SHPOOL_SCOPE_CLUSTER) && ((policy & SHPOOL_SPILL_ARENA) != 0))) {
            continue;
        }
        const uint32_t seeds = (engine == SIMT_THREADS) ? 1u : heap_long() ? 40u : 6u;

        for (uint32_t seed = 1; seed <= seeds; seed++) {
            trial_open(&t, allocator, options, (engine == SIMT_THREADS) ? 4u : 33u,
                       (allocator->scope == SHPOOL_SCOPE_THREAD) ? 200u : 900u, 16u << seed % 3u);
            t.number               = policy;
            t.seed                 = seed;
            t.steps                = 48;
            t.launch.seed          = seed;
            t.launch.engine        = engine;
            t.launch.grid[0]       = 3;
            t.launch.switch_period = seed % 4u;
            trial_run(&t, script_kernel);
            assert_true(t.report.spills > 0);
            assert_int_equal(t.report.blocks, 3);
            assert_int_equal(t.report.bad_frees, 0);
            if ((t.report.native_spills > 0) != ((policy & SHPOOL_SPILL_NATIVE) != 0)) {
                fail_msg("%s, seed %u: %llu of %llu spills are native", allocator->name, seed,
                         t.report.native_spills, t.report.spills);
            }
            if ((t.pool.flags & SHPOOL_FLAG_STATS) != 0) {
                assert_int_equal(t.report.mallocs, t.model.mallocs);
                assert_int_equal(t.report.frees, t.model.frees);
                assert_int_equal(t.report.failures, t.model.failures);
                assert_int_equal(t.report.live_bytes, 0);
            } else {
                assert_int_equal(t.report.failures, t.model.failures);
                assert_int_equal(t.report.mallocs, 0);
                assert_int_equal(t.report.largest_free, 0);
            }
            trial_close(&t);
        }
    }
}

UNIT_TEST(test_scripts_that_spill_to_slots)
{
    run_scripts(SHPOOL_SPILL_ARENA, ":spill=arena,spill_bytes=16K", SIMT_FIBERS);
    run_scripts(SHPOOL_SPILL_ARENA, ":spill=arena,spill_bytes=5K,stats=1", SIMT_FIBERS);
}

UNIT_TEST(test_scripts_that_spill_to_the_native_heap)
{
    run_scripts(SHPOOL_SPILL_NATIVE, ":spill=native", SIMT_FIBERS);
    run_scripts(SHPOOL_SPILL_NATIVE, ":spill=native,stats=1", SIMT_FIBERS);
}

UNIT_TEST(test_scripts_that_fill_their_slot_first)
{
    run_scripts(SHPOOL_SPILL_ARENA | SHPOOL_SPILL_NATIVE, ":spill=arena+native,spill_bytes=1K",
                SIMT_FIBERS);
    run_scripts(SHPOOL_SPILL_ARENA | SHPOOL_SPILL_NATIVE,
                ":spill=arena+native,spill_bytes=1K,check=1,stats=1", SIMT_FIBERS);
}

UNIT_TEST(test_scripts_of_parallel_threads)
{
    run_scripts(SHPOOL_SPILL_ARENA | SHPOOL_SPILL_NATIVE, ":spill=arena+native,spill_bytes=2K",
                SIMT_THREADS);
}

/* ---- one slot, filled to the last granule ---- */

static void slot_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    char       *ptr[64];
    char       *all;
    uint32_t    count = 0;

    EXPECT(p, shpool_malloc_shared(heap, 100000) == NULL);
    all = (char *)shpool_malloc(heap, p->pool.spill_bytes); /* more than any pool here */
    EXPECT(p, (all != NULL) && !shpool_is_shared(all));
    EXPECT(p, shpool_usable_size(heap, all) == p->pool.spill_bytes);
    EXPECT(p, shpool_malloc(heap, p->pool.largest + 1u) == NULL);
    EXPECT(p, shpool_free_at(heap, all + 64, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(p, shpool_free_at(heap, all + 3, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(p, shpool_free_at(heap, all + p->pool.spill_bytes, 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(p, shpool_malloc(heap, p->pool.spill_bytes + 1u) == NULL);
    EXPECT(p, shpool_malloc(heap, ~(size_t)0) == NULL);
    while ((count < 64) &&
           ((ptr[count] = (char *)shpool_malloc(heap, p->pool.largest + 1u)) != NULL)) {
        EXPECT(p, (count == 0) || (ptr[count] > ptr[count - 1u]));
        count++;
    }
    EXPECT(p, (count > 2) && (count < 64));
    EXPECT(p, shpool_free_at(heap, ptr[1], 0) == SHPOOL_FREE_OK); /* first fit */
    EXPECT(p, shpool_malloc(heap, p->pool.largest + 1u) == ptr[1]);
    for (uint32_t i = 0; i < count; i++) {
        EXPECT(p, shpool_free_at(heap, ptr[i], 0) == SHPOOL_FREE_OK);
    }
    all = (char *)shpool_aligned_malloc(heap, 1024, p->pool.spill_bytes);
    EXPECT(p, (all != NULL) && ((size_t)all % 1024u == 0));
    all = (char *)shpool_realloc(heap, all, 8); /* now it fits the pool */
    EXPECT(p, shpool_is_shared(all));
    shpool_free(heap, all);
    shpool_fini(heap);
}

UNIT_TEST(test_a_slot_is_used_to_its_last_granule)
{
    static const uint32_t kib[] = { 1, 2, 7, 64, 65, 100, 3000 };
    char options[64];

    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; (i < sizeof(kib) / sizeof(kib[0])) &&
                           (allocator->scope != SHPOOL_SCOPE_CLUSTER); i++) {
            (void)snprintf(options, sizeof(options), ":spill=arena,spill_bytes=%uK", kib[i]);
            trial_open(&t, allocator, options, 1, 60u + kib[i] * 24u, 1024);
            assert_in_range(t.pool.spill_bytes, kib[i] * 1024u, kib[i] * 1024u * 101u / 100u);
            trial_run(&t, slot_kernel);
            assert_int_equal(t.report.bad_frees, 4);
            assert_true(t.report.failures >= 4);
            trial_close(&t);
        }
    }
}

/* ---- what a slot has refused: no search, no lock, and no longer than it is true ---- */

#define REFUSED_SLOTS 12u

/* What is requested without an alignment fails exactly if the maps have no room for it; as often
 * as it is repeated, a refusal waits for no lock. */
static void refused_kernel(void *arg)
{
    trial          *p     = (trial *)arg;
    shpool_heap     heap  = trial_init(p);
    const simt_addr area  = heap.view.area;
    uint32_t        state = p->seed * 2654435769u;
    uint32_t        again = 0;
    void           *ptr[REFUSED_SLOTS] = { NULL };

    for (uint32_t step = 0; step < 400; step++) {
        void   **at    = &ptr[heap_random(&state) % REFUSED_SLOTS];
        uint32_t bytes = 1u + heap_random(&state) % (64u << heap_random(&state) % 6u);
        uint32_t align = ((heap_random(&state) & 3u) == 0) ? 1024u : 16u;
        uint32_t need  = (bytes + (1u << p->pool.spill_shift) - 1u) >> p->pool.spill_shift;
        uint32_t all   = shpool_granule_all(area);
        uint32_t fits;

        shpool_free(heap, *at);
        fits = shpool_granule_find(shpool_granule_map(area), all, need,
                                   align >> p->pool.spill_shift) != all;
        *at  = shpool_aligned_malloc(heap, align, bytes);
        EXPECT(p, (*at != NULL) || !fits);
        if (*at == NULL) {
            if (align == 16u) {
                simt_store32(area + SHPOOL_AREA_SPILL_LOCK, 1); /* as if a thread were at work */
                EXPECT(p, shpool_malloc(heap, bytes) == NULL);
                EXPECT(p, shpool_malloc(heap, bytes + 640u) == NULL);
                simt_store32(area + SHPOOL_AREA_SPILL_LOCK, 0);
                again++;
            }
            EXPECT(p, shpool_granule_find(shpool_granule_map(area), all, need,
                                          align >> p->pool.spill_shift) == all);
        }
    }
    EXPECT(p, again > 10);
    shpool_fini(heap);
}

UNIT_TEST(test_a_refusal_is_quick_until_a_free)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t seed = 1; (seed <= 8) && (allocator->scope != SHPOOL_SCOPE_CLUSTER); seed++) {
            trial_open(&t, allocator,
                       (seed & 1u) ? ":spill=arena,spill_bytes=1K" : ":spill=arena,spill_bytes=3K",
                       1, 64, 1024);
            t.seed = seed;
            trial_run(&t, refused_kernel);
            trial_close(&t);
        }
    }
}

/* ---- the slot is full, and CUDA's heap has not so much ---- */

static void exhausted_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *all  = shpool_malloc(heap, p->pool.spill_bytes);
    char       *out  = (char *)shpool_aligned_malloc(heap, 1024, 5000); /* the slot is full */

    EXPECT(p, (all != NULL) && (out != NULL) && !shpool_is_shared(all) && !shpool_is_shared(out));
    EXPECT(p, (size_t)out % 1024u == 0);
    memset(out, 7, 5000);
    EXPECT(p, shpool_malloc(heap, ~(size_t)0) == NULL);
    EXPECT(p, shpool_malloc(heap, ~(size_t)0 - 16u) == NULL);
    EXPECT(p, shpool_aligned_malloc(heap, 1024, ~(size_t)0 - 1024u) == NULL);
    EXPECT(p, shpool_calloc(heap, ~(size_t)0 / 2u, 3) == NULL);
    EXPECT(p, shpool_realloc(heap, out, ~(size_t)0) == NULL);
    EXPECT(p, (out[0] == 7) && (out[4999] == 7));
    EXPECT(p, shpool_free_at(heap, out, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    shpool_fini(heap);
}

UNIT_TEST(test_both_levels_exhausted)
{
    FOR_EACH_POOL(allocator) {
        if (allocator->scope == SHPOOL_SCOPE_CLUSTER) {
            continue;
        }
        trial_open(&t, allocator, ":spill=arena+native,spill_bytes=4K,stats=1", 1, 200, 1024);
        trial_run(&t, exhausted_kernel);
        assert_int_equal(t.report.failures, 5);
        assert_int_equal(t.report.refusals, 5);
        assert_int_equal(t.report.spills, 2);
        assert_int_equal(t.report.native_spills, 1);
        assert_int_equal(t.report.live + t.report.live_bytes, 0);
        assert_int_equal(t.report.peak_bytes, 4096 + 5000);
        trial_close(&t);
    }
}

/* ---- check=1: bad frees of what was spilled, the neighbour's slot among them ---- */

static void bad_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    char       *ptr  = (char *)shpool_malloc(heap, 5000);
    size_t      slot = p->pool.spill_bytes;

    EXPECT(p, (ptr != NULL) && !shpool_is_shared(ptr));
    EXPECT(p, shpool_free_at(heap, ptr + 64, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(p, shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(p, shpool_usable_size(heap, ptr) == 0);
    EXPECT(p, shpool_free_at(heap, ptr + slot, 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(p, shpool_usable_size(heap, ptr + slot) == 0);
    shpool_fini(heap);
}

UNIT_TEST(test_bad_frees_of_spilled_memory_are_refused)
{
    static const char *const options[] = { ":spill=arena,check=1", ":spill=arena+native,check=1",
                                           ":spill=arena+native" };

    FOR_EACH_POOL(allocator) {
        for (size_t o = 0; (o < 3) && (allocator->scope != SHPOOL_SCOPE_CLUSTER); o++) {
            trial_open(&t, allocator, options[o], 1, 400, 16);
            trial_run(&t, bad_kernel);
            assert_int_equal(t.report.bad_frees, 3);
            assert_int_equal(t.report.live_bytes, 0);
            trial_close(&t);
        }
    }
}

/* ---- more blocks than slots ---- */

static void greedy_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *ptr  = shpool_malloc(heap, 3000);

    if (ptr != NULL) {
        EXPECT(p, !shpool_is_shared(ptr));
        memset(ptr, 1, 3000);
        simt_global_add32(&p->steps, 1);
    }
    if (simt_block_rank() % 3u != 2u) { /* every third block forgets */
        shpool_fini(heap);
    }
}

UNIT_TEST(test_slots_come_back_in_fini)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    trial_open(&t, bitmap, ":spill=arena,spill_bytes=4K,spill_blocks=40", 1, 100, 16);
    t.launch.grid[0] = 120; /* one after another: 40 keep a slot */
    trial_run(&t, greedy_kernel);
    assert_int_equal(t.steps, 120);
    trial_close(&t);

    trial_open(&t, bitmap, ":spill=arena,spill_bytes=4K,spill_blocks=39", 1, 100, 16);
    t.launch.grid[0] = 120;
    trial_run(&t, greedy_kernel);
    assert_int_equal(t.steps, 117); /* the 39th slot is kept by block 116 */
    assert_int_equal(t.report.failures, 2); /* block 119 does not tell */
    trial_close(&t);
}

/* ---- where shared memory begins at address 0 (sm_75), and a pool, or its area, lies there ---- */

static void low_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   in, out;
    void       *ptr;

    EXPECT(p, simt_dynamic_base() == 0);
    EXPECT(p, trial_malloc(p, heap, &in, 100, 16, 1) && shpool_is_shared(in.at));
    if (p->pool.area_bytes == 0) {
        EXPECT(p, shpool_malloc(heap, 5000) == NULL);
        trial_free(p, heap, &in);
        trial_expect_fresh(p, heap);
        return;
    }
    EXPECT(p, trial_malloc(p, heap, &out, 5000, 16, 2) && !shpool_is_shared(out.at));
    ptr = in.at;
    trial_free(p, heap, &in);
    EXPECT(p, shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_DOUBLE);
    ptr = out.at;
    trial_free(p, heap, &out);
    EXPECT(p, shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_DOUBLE);
    shpool_fini(heap);
}

UNIT_TEST(test_a_pool_at_address_0_is_like_any_other)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, "", 1, 400, 16);
        t.launch.from_zero = 1;
        trial_run(&t, low_kernel);
        trial_close(&t);
        if (allocator->scope == SHPOOL_SCOPE_CLUSTER) {
            continue; /* no spill=arena */
        }
        trial_open(&t, allocator, ":check=1,spill=arena", 1, 400, 16);
        t.launch.from_zero = 1;
        trial_run(&t, low_kernel);
        assert_int_equal(t.report.blocks, 1);
        assert_int_equal(t.report.mallocs, 2);
        assert_int_equal(t.report.frees, 2);
        assert_int_equal(t.report.spills, 1);
        assert_int_equal(t.report.bad_frees, 2);
        trial_close(&t);
    }
}

/* ---- the plan ---- */

static shpool_status plan(const char *spec, shpool_pool *pool)
{
    shpool_config want = { .block_threads = 64, .payload_bytes = 4096 };

    return shpool_plan(spec, &want, pool);
}

UNIT_TEST(test_the_plan_tells_what_a_spill_option_needs)
{
    shpool_pool none, pool;
    const char *name = shpool_allocator_get(0)->name;
    char        spec[96];

    assert_int_equal(plan(name, &none), SHPOOL_OK);
    assert_int_equal(none.area_bytes, 0);
    assert_int_equal(none.spill_bytes, 0);

    (void)snprintf(spec, sizeof(spec), "%s:spill=fail", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_OK);
    assert_memory_equal(&pool, &none, sizeof(pool));

    (void)snprintf(spec, sizeof(spec), "%s:spill=arena", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_OK);
    assert_int_equal(pool.spill_bytes, 65536);
    assert_int_equal(pool.spill_shift, 6);
    assert_int_equal(pool.area_bytes, SHPOOL_AREA_CHECKED + 2 * 1024 / 8);
    assert_int_equal(pool.pool_bytes, none.pool_bytes);

    (void)snprintf(spec, sizeof(spec), "%s:spill=native,spill_bytes=1G", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_OK);
    assert_int_equal(pool.spill_bytes, 0);
    assert_int_equal(pool.area_bytes, SHPOOL_AREA_BYTES);

    (void)snprintf(spec, sizeof(spec), "%s:spill=arena,spill_bytes=2G", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_ERR_TOO_LARGE);
    assert_non_null(strstr(shpool_last_error(), "1073741824"));

    (void)snprintf(spec, sizeof(spec), "%s:spill=disk", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_ERR_SPEC);
    assert_non_null(strstr(shpool_last_error(), "arena+native"));

    (void)snprintf(spec, sizeof(spec), "%s:spill_bytes=0", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_ERR_SPEC);
    (void)snprintf(spec, sizeof(spec), "%s:spill_blocks=many", name);
    assert_int_equal(plan(spec, &pool), SHPOOL_ERR_SPEC);
}

UNIT_TEST(test_a_policy_that_is_none)
{
    shpool_config want = { .block_threads = 1, .payload_bytes = 64, .spill = 4 };
    shpool_pool   pool;

    assert_int_equal(shpool_plan(NULL, &want, &pool), SHPOOL_ERR_INVALID);
    assert_non_null(strstr(shpool_last_error(), "spill is 4"));
}
