/* SPDX-License-Identifier: BSD-3-Clause */
/* Every registered allocator against the contract of heap.h: what malloc and its family return. */
#include "heap_trial.h"

#define CALL_ENV                  trial
#define CALL_EXPECT(_env, _fine)  HEAP_EXPECT(&(_env)->model, _fine)
#include "calls.h"

static trial t;

/* ---- random scripts ---- */

#define SLOTS 6u

static uint32_t random_size(trial *p, uint32_t *state)
{
    uint32_t roll = heap_random(state) % 16u;

    if (roll < 10) {
        return heap_random(state) % 80u;
    }
    if (roll < 15) {
        return heap_random(state) % 600u;
    }
    return heap_random(state) % (p->pool.largest + 64u);
}

static int script_calloc(trial *p, shpool_heap heap, heap_slot *slot, uint32_t bytes, uint32_t tag)
{
    void *ptr = shpool_calloc(heap, (bytes + 3u) / 4u, 4);
    int   got;

    for (uint32_t i = 0; (ptr != NULL) && (i < bytes); i++) {
        HEAP_EXPECT(&p->model, ((unsigned char *)ptr)[i] == 0);
    }
    got = trial_got(p, heap, slot, ptr, bytes, 16, tag);
    heap_model_count_malloc(&p->model, slot->bytes);
    return got;
}

static void script_allocate(trial *p, shpool_heap heap, heap_slot *slot, uint32_t *state)
{
    uint32_t bytes = random_size(p, state);
    uint32_t tag   = heap_random(state);
    size_t   most  = shpool_largest(heap);
    uint32_t alignment = 8;
    int      got;

    switch (heap_random(state) % 4u) {
    case 0:
        got = script_calloc(p, heap, slot, bytes, tag);
        break;
    case 1:
        do {
            alignment *= 2u;
        } while ((alignment < p->pool.alignment) && (heap_random(state) % 2u != 0));
        (void)trial_malloc(p, heap, slot, bytes, alignment, tag);
        return; /* largest does not speak of alignment */
    default:
        got = trial_malloc(p, heap, slot, bytes, 16, tag);
        break;
    }
    if (p->pool.scope == SHPOOL_SCOPE_THREAD) { /* no other thread uses the pool: exact */
        HEAP_EXPECT(&p->model, got == (((bytes != 0) ? bytes : 1u) <= most));
    }
}

/* Each thread passes one allocation to its neighbour, which owns it from then on. */
static void script_hand_over(trial *p, heap_slot *slot)
{
    uint32_t rank = simt_thread_rank();

    p->box[(rank + 1u) % simt_block_threads()] = *slot;
    simt_barrier();
    *slot = p->box[rank];
    simt_barrier();
}

static void script_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    state = (p->seed * 1025u + simt_block_rank() * 7919u + simt_thread_rank()) *
                     2654435769u;
    heap_slot   slot[SLOTS] = { { NULL, 0, 0 } };

    for (uint32_t step = 0; step < p->steps; step++) {
        heap_slot *s = &slot[heap_random(&state) % SLOTS];

        if (s->at == NULL) {
            script_allocate(p, heap, s, &state);
        } else if (heap_random(&state) % 3u != 0) {
            trial_free(p, heap, s);
        } else {
            (void)trial_realloc(p, heap, s, random_size(p, &state), heap_random(&state));
        }
        if ((p->pool.scope >= SHPOOL_SCOPE_BLOCK) && (step % 8u == 7u)) {
            script_hand_over(p, &slot[step / 8u % SLOTS]);
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (slot[i].at != NULL) {
            trial_free(p, heap, &slot[i]);
        }
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

/* One block shape with `seeds` scripts and schedules, under one engine. */
static void run_scripts(const char *options, uint32_t x, uint32_t y, uint32_t z, uint32_t seeds,
                        simt_engine engine)
{
    static const uint32_t periods[] = { 1, 3, 17, 0 };
    uint32_t threads = x * y * z;
    uint32_t most    = heap_seeds(seeds);

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        uint32_t per_thread = (threads > 256) ? 60u : 700u;

        if (((allocator->caps & SHPOOL_CAP_NONE) != 0) ||
            ((options[0] != '\0') && !has_pool(allocator))) {
            continue;
        }
        for (uint32_t seed = 1; seed <= most; seed++) {
            /* between roomy and full all the time */
            uint32_t share = threads / trial_pools(allocator, threads); /* threads of a pool */
            uint32_t each  = (share <= 1u) ? per_thread : 200u + share * (20u << seed % 3u);

            trial_open(&t, allocator, options, threads, each, 64u >> seed % 3u);
            memcpy(t.launch.block, (uint32_t[]){ x, y, z }, sizeof(t.launch.block));
            t.seed                 = seed;
            t.steps                = (threads > 256) ? 8u : (threads > 64) ? 16u : 64u;
            t.launch.seed          = seed;
            t.launch.engine        = engine;
            t.launch.switch_period = (threads > 256) ? 97u : periods[seed % 4u];
            t.launch.grid[0]       = (threads > 64) ? 1u : 2u;
            trial_run(&t, script_kernel);
            if (t.pool.report != NULL) {
                assert_int_equal(t.report.mallocs, t.model.mallocs + t.launch.grid[0] *
                                                       t.pool.pools);
                assert_int_equal(t.report.live, 0);
                assert_int_equal(t.report.corrupt, 0);
                assert_int_equal(t.report.bad_frees, 0);
            }
            trial_close(&t);
        }
    }
}

/* The assertions of the script tests are in run_scripts and trial_run. */
#define SCRIPT_TEST(_name, _options, _x, _y, _z, _seeds, _engine)                                  \
    UNIT_TEST(_name)                                                                               \
    {                                                                                              \
        run_scripts(_options, _x, _y, _z, _seeds, _engine);                                        \
    }

SCRIPT_TEST(test_scripts_of_1_thread, "", 1, 1, 1, 40, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_31_threads, "", 31, 1, 1, 8, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_32_threads, "", 32, 1, 1, 8, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_33_threads, "", 33, 1, 1, 8, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_256_threads, "", 256, 1, 1, 4, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_1024_threads, "", 1024, 1, 1, 1, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_a_2d_block, "", 16, 3, 1, 4, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_a_3d_block, "", 4, 5, 3, 4, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_parallel_threads, "", 8, 1, 1, 6, SIMT_THREADS)
SCRIPT_TEST(test_scripts_in_checked_mode, ":check=1", 33, 1, 1, 8, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_with_stats, ":stats=1", 33, 1, 1, 4, SIMT_FIBERS)

/* ---- sizes ---- */

static void largest_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    if (trial_leads(heap)) {
        heap_slot slot;

        HEAP_EXPECT(&p->model, shpool_largest(heap) == p->pool.largest);
        HEAP_EXPECT(&p->model, shpool_malloc(heap, p->pool.largest + 1u) == NULL);
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, p->pool.largest, 16, 1));
        HEAP_EXPECT(&p->model, shpool_largest(heap) == 0);
        HEAP_EXPECT(&p->model, shpool_malloc(heap, 1) == NULL);
        trial_free(p, heap, &slot);
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_largest_is_exact)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t each = 1; each < 6000; each += 1u + each / 4u) {
            trial_open(&t, allocator, "", 3, each, 16);
            assert_true(t.pool.largest >= each);
            trial_run(&t, largest_kernel);
            trial_close(&t);
        }
    }
}

UNIT_TEST(test_largest_is_exact_at_every_alignment)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t alignment = 16; alignment <= 1024; alignment *= 2) {
            trial_open(&t, allocator, "", 2, 2000, alignment);
            assert_int_equal(t.pool.alignment, alignment);
            trial_run(&t, largest_kernel);
            trial_close(&t);
        }
    }
}

static void full_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot[64];
    uint32_t    count = 0;

    if (trial_leads(heap)) {
        while ((count < 64) && trial_malloc(p, heap, &slot[count], 40, 16, count)) {
            count++;
        }
        HEAP_EXPECT(&p->model, (count > 2) && (count < 64));
        for (uint32_t i = 0; i < count; i++) { /* any one of them makes room for one again */
            trial_free(p, heap, &slot[i]);
            HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot[i], 40, 16, i + 100u));
            HEAP_EXPECT(&p->model, shpool_malloc(heap, 40) == NULL);
        }
        for (uint32_t i = 0; i < count; i++) { /* every other one first: then all must join again */
            trial_free(p, heap, &slot[(i * 2u < count) ? i * 2u : (i * 2u - count) | 1u]);
        }
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_full_pool_gives_null_until_something_is_freed)
{
    FOR_EACH_POOL(allocator) {
        if ((allocator->caps & SHPOOL_CAP_FREE) != 0) {
            trial_once(&t, allocator, "", 2, 600, full_kernel);
            assert_int_equal(t.model.live, 0);
        }
    }
}

static void zero_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   one;
    heap_slot   two;

    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &one, 0, 16, 1));
    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &two, 0, 16, 2));
    HEAP_EXPECT(&p->model, (one.at != two.at) && (one.bytes >= 1) && (two.bytes >= 1));
    trial_free(p, heap, &one);
    trial_free(p, heap, &two);
    HEAP_EXPECT(&p->model, shpool_free_at(heap, NULL, 7) == SHPOOL_FREE_OK);
    shpool_free(heap, NULL);
    HEAP_EXPECT(&p->model, shpool_usable_size(heap, NULL) == 0);
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_malloc_0_is_malloc_1_and_free_null_is_nothing)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        if ((shpool_allocator_get(i)->caps & SHPOOL_CAP_NONE) == 0) {
            trial_once(&t, shpool_allocator_get(i), "", 5, 400, zero_kernel);
            assert_int_equal(t.model.live, 0);
        }
    }
}

static const size_t huge_sizes[] = {
    0x7ffffff0u, 0x7ffffffcu, 0x7fffffffu, 0x80000000u, 0x80000001u, 0xfffffff0u, 0xffffffffu,
    (size_t)1 << 32, ((size_t)1 << 32) + 16, (size_t)1 << 63, SIZE_MAX / 2, SIZE_MAX - 4096,
    SIZE_MAX - 32, SIZE_MAX - 16, SIZE_MAX - 15, SIZE_MAX - 4, SIZE_MAX - 3, SIZE_MAX - 1, SIZE_MAX,
};

static void huge_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot;

    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, 50, 16, 3));
    for (size_t i = p->number; i < sizeof(huge_sizes) / sizeof(huge_sizes[0]); i++) {
        HEAP_EXPECT(&p->model, shpool_malloc(heap, huge_sizes[i]) == NULL);
        HEAP_EXPECT(&p->model, shpool_malloc_shared(heap, huge_sizes[i]) == NULL);
        HEAP_EXPECT(&p->model, shpool_calloc(heap, 1, huge_sizes[i]) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, 16, huge_sizes[i]) == NULL);
        HEAP_EXPECT(&p->model, !trial_realloc(p, heap, &slot, huge_sizes[i], 4));
    }
    HEAP_EXPECT(&p->model, shpool_calloc(heap, SIZE_MAX / 2 + 1, 2) == NULL);
    HEAP_EXPECT(&p->model, shpool_calloc(heap, (size_t)1 << 32, (size_t)1 << 32) == NULL);
    HEAP_EXPECT(&p->model, shpool_calloc(heap, SIZE_MAX / 16 + 2, 16) == NULL);
    HEAP_EXPECT(&p->model, shpool_calloc(heap, 3, SIZE_MAX / 3 + 6) == NULL);
    trial_free(p, heap, &slot);
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_sizes_that_no_pool_has_give_null)
{
    FOR_EACH_POOL(allocator) {
        trial_once(&t, allocator, "", 2, 400, huge_kernel);
        assert_int_equal(t.model.live, 0);
    }
}

UNIT_TEST(test_sizes_that_overflow_the_spill_header_give_null)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        if ((shpool_allocator_get(i)->caps & SHPOOL_CAP_SPILL) != 0) {
            trial_open(&t, shpool_allocator_get(i), "", 2, 400, 16);
            t.number = 14; /* SIZE_MAX - 15 and up; what is below is the host's own business */
            trial_run(&t, huge_kernel);
            assert_int_equal(t.model.live, 0);
            trial_close(&t);
        }
    }
}

/* ---- every call ---- */

#define CALL_THREADS 40u

static call_case asked;

static void call_kernel(void *arg)
{
    trial *p = (trial *)arg;

    call_body(&p->pool, simt_from_shared(simt_dynamic_base()), asked, p);
}

static void expect_call(const char *options)
{
    const call_row *row     = &call_rows[asked.call];
    const uint32_t  waiting = ((row->flags & CALL_WAITS) != 0) && (asked.full == 0) &&
                             (t.pool.pool_bytes != 0) &&
                             ((t.pool.flags & SHPOOL_FLAG_SHARED) != 0);
    const char     *form   = free_rows[asked.form - FREE_FIRST].name;
    const uint32_t  counts = (t.pool.flags & SHPOOL_FLAG_STATS) != 0;
    shpool_status   status;

    t.launch.dynamic_bytes = asked.mbars + 8u * CALL_THREADS;
    status = simt_run(&t.launch, call_kernel, &t, &t.result);
    if ((status != SHPOOL_OK) || (t.model.faults != 0)) {
        fail_msg("%s%s, %s and %s: %s %s", TRIAL_NAME(&t), options, row->name, form,
                 t.result.text, t.model.text);
    }
    if (t.pool.report == NULL) {
        return;
    }
    assert_int_equal(shpool_simt_report(&t.pool, &t.report), SHPOOL_OK);
    if ((t.report.failures != call_failures(&asked, CALL_THREADS)) ||
        (t.report.refusals != call_refusals(&asked, CALL_THREADS)) ||
        (counts && ((t.report.waits != 0) != waiting)) || (t.report.live != 0) ||
        (t.report.live_bytes != 0) || (t.report.bad_frees != 0) || (t.report.corrupt != 0)) {
        fail_msg("%s%s, %s and %s: failures %llu, not %u; refusals %llu, not %u; waits %llu, live "
                 "%llu, bad frees %u", TRIAL_NAME(&t), options, row->name, form,
                 t.report.failures, call_failures(&asked, CALL_THREADS), t.report.refusals,
                 call_refusals(&asked, CALL_THREADS), t.report.waits, t.report.live,
                 t.report.bad_frees);
    }
    assert_int_equal(t.report.refused.reason, SHPOOL_REFUSED_SIZE);
}

/* Served, or refused for a reason that the capabilities, the options or the report declare. */
UNIT_TEST(test_every_call_of_every_allocator)
{
    static const char *const options[7] = { "", ":stats=1", ":check=1,stats=1", ":spill=native",
                                           ":spill=arena,spill_bytes=8K", ":spill=native,stats=1",
                                           ":spill=arena,spill_bytes=8K,stats=1" };
    const uint32_t pairs = CALL_COUNT * FREE_COUNT;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        const uint32_t share = CALL_THREADS / trial_pools(allocator, CALL_THREADS);

        for (uint32_t k = 0; k < pairs * 7u; k++) {
            const char *option = options[k / pairs];
            uint32_t    call   = k % pairs / FREE_COUNT;
            uint32_t    form   = k % FREE_COUNT;

            if ((call_rows[call].who != free_rows[form].who) ||
                ((strstr(option, "check") != NULL) &&
                 ((allocator->caps & SHPOOL_CAP_CHECK) == 0)) ||
                ((strstr(option, "spill") != NULL) &&
                 ((allocator->caps & SHPOOL_CAP_NONE) != 0)) ||
                ((strstr(option, "arena") != NULL) &&
                 (allocator->scope == SHPOOL_SCOPE_CLUSTER))) {
                continue; /* the plan refuses these: test_plan.c */
            }
            trial_open(&t, allocator, option, CALL_THREADS, share * 700u, 64);
            asked         = call_case_of(&t.pool, call, form);
            t.launch.seed = k;
            expect_call(option);
            trial_close(&t);
        }
    }
}
