/* SPDX-License-Identifier: BSD-3-Clause */
/* Every registered allocator against the contract of heap.h: what malloc and its family return. */
#include "script.h"

#define CALL_ENV                  trial
#define CALL_EXPECT(_env, _fine)  HEAP_EXPECT(&(_env)->model, _fine)
#include "calls.h"

/* ---- random scripts ---- */

static const uint32_t *shape; /* of the block */

static void tune_script(void)
{
    static const uint32_t periods[] = { 1, 3, 17, 0 };
    const uint32_t        threads   = t.launch.block[0];

    memcpy(t.launch.block, shape, sizeof(t.launch.block));
    t.steps                = (threads > 256) ? 8u : (threads > 64) ? 16u : 64u;
    t.launch.switch_period = (threads > 256) ? 97u : periods[t.seed % 4u];
    t.launch.grid[0]       = (threads > 64) ? 1u : 2u;
}

/* One block shape with `seeds` scripts and schedules, under one engine; between roomy and full all
 * the time. */
static void run_scripts(const char *options, const uint32_t of[3], uint32_t seeds,
                        simt_engine engine)
{
    const uint32_t threads = of[0] * of[1] * of[2];

    shape = of;
    for (uint32_t k = 0; k < 3; k += UNIT_STEP) {
        const scene s = { .body = script, .takes = (options[0] == '\0') ? serves : has_pool,
                          .options = { options }, .threads = { threads },
                          .alignments = { 64u >> k }, .each = 200, .per_thread = 20u << k,
                          .each_alone = (threads > 256) ? 60u : 700u,
                          .seeds = (seeds + UNIT_STEP - 1u) / UNIT_STEP, .engine = engine,
                          .tune = tune_script, .counts = 1,
                          .report = "live 0, corrupt 0, bad_frees 0" };

        run_scene(&s);
    }
}

/* The assertions of the script tests are in run_scene(). */
#define SCRIPT_TEST(_name, _options, _x, _y, _z, _seeds, _engine)                                  \
    UNIT_TEST(_name)                                                                               \
    {                                                                                              \
        run_scripts(_options, (const uint32_t[]){ _x, _y, _z }, _seeds, _engine);                  \
    }

SCRIPT_TEST(test_scripts_of_1_thread, "", 1, 1, 1, 14, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_31_threads, "", 31, 1, 1, 3, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_32_threads, "", 32, 1, 1, 3, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_33_threads, "", 33, 1, 1, 3, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_256_threads, "", 256, 1, 1, 2, SIMT_FIBERS)
#if !defined(__SANITIZE_THREAD__) /* which compares the clocks of all threads at each step */
SCRIPT_TEST(test_scripts_of_1024_threads, "", 1024, 1, 1, 1, SIMT_FIBERS)
#endif
SCRIPT_TEST(test_scripts_of_a_2d_block, "", 16, 3, 1, 2, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_a_3d_block, "", 4, 5, 3, 2, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_of_parallel_threads, "", 8, 1, 1, 2, SIMT_THREADS)
SCRIPT_TEST(test_scripts_in_checked_mode, ":check=1", 33, 1, 1, 3, SIMT_FIBERS)
SCRIPT_TEST(test_scripts_with_stats, ":stats=1", 33, 1, 1, 2, SIMT_FIBERS)

/* ---- sizes ---- */

static void full_kernel(shpool_heap heap)
{
    heap_slot slot[64];
    uint32_t  count = 0;

    if (trial_leads(heap)) {
        while ((count < 64) && get(heap, &slot[count], 40, count)) {
            count++;
        }
        EXPECT((count > 2) && (count < 64));
        for (uint32_t i = 0; i < count; i++) { /* any one of them makes room for one again */
            put(heap, &slot[i]);
            EXPECT(get(heap, &slot[i], 40, i + 100u));
            EXPECT(shpool_malloc(heap, 40) == NULL);
        }
        for (uint32_t i = 0; i < count; i++) { /* every other one first: then all must join again */
            put(heap, &slot[(i * 2u < count) ? i * 2u : (i * 2u - count) | 1u]);
        }
    }
}

SCENE(test_full_pool_gives_null_until_something_is_freed, full_kernel, .caps = SHPOOL_CAP_FREE,
      .threads = { 2 }, .each = 600)

static void zero_kernel(shpool_heap heap)
{
    heap_slot one;
    heap_slot two;

    EXPECT(get(heap, &one, 0, 1));
    EXPECT(get(heap, &two, 0, 2));
    EXPECT((one.at != two.at) && (one.bytes >= 1) && (two.bytes >= 1));
    put(heap, &one);
    put(heap, &two);
    EXPECT(shpool_free_at(heap, NULL, 7) == SHPOOL_FREE_OK);
    shpool_free(heap, NULL);
    EXPECT(shpool_usable_size(heap, NULL) == 0);
}

SCENE(test_malloc_0_is_malloc_1_and_free_null_is_nothing, zero_kernel, .takes = serves,
      .threads = { 5 }, .each = 400)

static const size_t huge_sizes[] = {
    0x7ffffff0u, 0x7ffffffcu, 0x7fffffffu, 0x80000000u, 0x80000001u, 0xfffffff0u, 0xffffffffu,
    (size_t)1 << 32, ((size_t)1 << 32) + 16, (size_t)1 << 63, SIZE_MAX / 2, SIZE_MAX - 4096,
    SIZE_MAX - 32, SIZE_MAX - 16, SIZE_MAX - 15, SIZE_MAX - 4, SIZE_MAX - 3, SIZE_MAX - 1, SIZE_MAX,
};

static void huge_kernel(shpool_heap heap)
{
    heap_slot slot;

    EXPECT(get(heap, &slot, 50, 3));
    for (size_t i = t.number; i < sizeof(huge_sizes) / sizeof(huge_sizes[0]); i++) {
        EXPECT(shpool_malloc(heap, huge_sizes[i]) == NULL);
        EXPECT(shpool_malloc_shared(heap, huge_sizes[i]) == NULL);
        EXPECT(shpool_calloc(heap, 1, huge_sizes[i]) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 16, huge_sizes[i]) == NULL);
        EXPECT(!resize(heap, &slot, huge_sizes[i], 4));
    }
    EXPECT(shpool_calloc(heap, SIZE_MAX / 2 + 1, 2) == NULL);
    EXPECT(shpool_calloc(heap, (size_t)1 << 32, (size_t)1 << 32) == NULL);
    EXPECT(shpool_calloc(heap, SIZE_MAX / 16 + 2, 16) == NULL);
    EXPECT(shpool_calloc(heap, 3, SIZE_MAX / 3 + 6) == NULL);
    put(heap, &slot);
}

SCENE(test_sizes_that_no_pool_has_give_null, huge_kernel, .threads = { 2 }, .each = 400)

/* SIZE_MAX - 15 and up; what is below is the host's own business */
SCENE(test_sizes_that_overflow_the_spill_header_give_null, huge_kernel, .takes = every,
      .caps = SHPOOL_CAP_SPILL, .threads = { 2 }, .each = 400, .number = 14)

/* ---- alignment ---- */

static void alignment_kernel(shpool_heap heap)
{
    heap_slot slot[8];
    uint32_t  count = 0;

    if (trial_leads(heap)) {
        heap_slot odd;

        EXPECT(get(heap, &odd, 1, 9)); /* so that others are odd */
        for (uint32_t alignment = 16; alignment <= t.pool.alignment; alignment *= 2) {
            EXPECT(get_aligned(heap, &slot[count], 24, alignment, count));
            count++;
        }
        for (size_t alignment = 1; alignment < 16; alignment *= 2) { /* below 16: 16 */
            void *ptr = shpool_aligned_malloc(heap, alignment, 8);

            EXPECT((ptr != NULL) && ((uintptr_t)ptr % 16u == 0));
            EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
        }
        EXPECT(shpool_aligned_malloc(heap, 2u * t.pool.alignment, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, (size_t)1 << 32, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, ((size_t)1 << 32) + 16, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 0, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 3, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 24, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, SIZE_MAX, 16) == NULL);
        while (count > 0) {
            put(heap, &slot[--count]);
        }
        put(heap, &odd);
    }
}

SCENE(test_every_alignment_up_to_the_configured_one_and_no_other, alignment_kernel,
      .caps = SHPOOL_CAP_ALIGNED, .threads = { 3 }, .each = 8000,
      .alignments = { 16, 64, 256, 1024 })

/* ---- realloc ---- */

static void realloc_kernel(shpool_heap heap)
{
    heap_slot a;
    heap_slot b;

    if (trial_leads(heap)) {
        unsigned char *at;
        size_t         most = t.pool.largest;
        void          *ptr  = shpool_realloc(heap, NULL, 100);

        heap_model_count_malloc(&t.model, (ptr != NULL) ? 1u : 0u);
        EXPECT(trial_got(&t, heap, &a, ptr, 100, 16, 1));
        EXPECT(resize(heap, &a, 0, 2) && (a.bytes >= 1)); /* as 1 */
        for (uint32_t bytes = 1; bytes < most / 3u; bytes += bytes / 2u + 7u) { /* both fit */
            EXPECT(resize(heap, &a, bytes, bytes));
        }
        EXPECT(resize(heap, &a, most / 3u, 3));
        at = a.at;
        EXPECT(resize(heap, &a, 20, 4)); /* the next block is free now */
        EXPECT(resize(heap, &a, most / 3u, 5));
        EXPECT(resize(heap, &a, 20, 6));
        EXPECT(!has_cap(&t, SHPOOL_CAP_RESIZE) || (a.at == at));
        EXPECT(!resize(heap, &a, most + 1u, 6)); /* old one unharmed */
        put(heap, &a);

        /* Shrinking makes room for others; growing into them is impossible, so it moves. */
        EXPECT(get(heap, &a, 60, 7));
        EXPECT(get(heap, &b, 60, 8));
        EXPECT(resize(heap, &a, 130, 9));
        EXPECT(resize(heap, &b, 130, 10));
        EXPECT(resize(heap, &a, 10, 11));
        EXPECT(!resize(heap, &b, most, 12));
        put(heap, &a);
        put(heap, &b);
    }
}

SCENE(test_realloc_keeps_contents_moved_or_not_or_refused, realloc_kernel,
      .options = { "", ":stats=1" }, .threads = { 1, 2 }, .each = 1500, .counts = 1)

/* ---- every call ---- */

#define CALL_THREADS 40u

static call_case asked;

static void call_kernel(void *arg)
{
    call_body(&t.pool, simt_from_shared(simt_dynamic_base()), asked, (trial *)arg);
}

static void expect_call(const char *options)
{
    const call_row *row     = &call_rows[asked.call];
    const uint32_t  waiting = ((row->flags & CALL_WAITS) != 0) && (asked.full == 0) &&
                             (t.pool.pool_bytes != 0) &&
                             ((t.pool.flags & SHPOOL_FLAG_SHARED) != 0);
    const char    *form   = free_rows[asked.form - FREE_FIRST].name;
    const uint32_t counts = (t.pool.flags & SHPOOL_FLAG_STATS) != 0;
    shpool_status  status;

    t.launch.dynamic_bytes = asked.mbars + 8u * CALL_THREADS;
    t.launch.max_switches  = 2000000;
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

        for (uint32_t k = 0; k < pairs * 7u; k += UNIT_STEP) {
            const char *option = options[k / pairs];
            uint32_t    call   = k % pairs / FREE_COUNT;
            uint32_t    form   = k % FREE_COUNT;

            if ((call_rows[call].who != free_rows[form].who) || !allows(allocator, option)) {
                continue;
            }
            trial_open(&t, allocator, option, CALL_THREADS, share * 700u, 64);
            asked         = call_case_of(&t.pool, call, form);
            t.launch.seed = k;
            expect_call(option);
            trial_close(&t);
        }
    }
}
