/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that a pool cannot serve: spill=fail, arena, native and arena+native, for every
 * allocator. */
#include "script.h"

#include <shpool/impl/report/spill.h>

/* ---- random scripts with pools that are too small by far ---- */

static void script_kernel(shpool_heap heap)
{
    script(heap);
    simt_barrier();
    if ((simt_thread_rank() == 0) && (t.pool.spill_bytes != 0)) { /* not a granule is lost */
        const simt_addr area = heap.view.area;
        const simt_addr map  = shpool_granule_map(area);
        const uint32_t  all  = shpool_granule_all(area);

        EXPECT(shpool_granule_next(map, 0, all, 0) == all);
        EXPECT(shpool_granule_next(map + 4u * shpool_granule_words(area), 0, all, 0) == all);
    }
}

static void expect_spills(void)
{
    assert_true(t.report.spills > 0);
    assert_true((t.report.native_spills > 0) == ((t.pool.flags & SHPOOL_FLAG_SPILL_NATIVE) != 0));
    assert_true((t.report.largest_free == 0) || ((t.pool.flags & SHPOOL_FLAG_STATS) != 0));
}

#define SCRIPTS(_test, _threads, _engine, _seeds, ...)                                             \
    SCENE(_test, script_kernel, .takes = serves, .options = { __VA_ARGS__ },                       \
          .threads = { _threads }, .blocks = 3, .alignments = { 16, 32, 64 }, .each = 100,         \
          .per_thread = 25, .each_alone = 200, .steps = 48, .seeds = _seeds, .periods = 4,         \
          .engine = _engine, .leaves = 1, .counts = 1,                                             \
          .report = "blocks 3, bad_frees 0, live_bytes 0", .expect = expect_spills)

SCRIPTS(test_scripts_that_spill_to_slots, 33, SIMT_FIBERS, 2, ":spill=arena,spill_bytes=16K",
        ":spill=arena,spill_bytes=5K,stats=1")
SCRIPTS(test_scripts_that_spill_to_the_native_heap, 33, SIMT_FIBERS, 2, ":spill=native",
        ":spill=native,stats=1")
SCRIPTS(test_scripts_that_fill_their_slot_first, 33, SIMT_FIBERS, 2,
        ":spill=arena+native,spill_bytes=1K", ":spill=arena+native,spill_bytes=1K,check=1,stats=1")
SCRIPTS(test_scripts_of_parallel_threads, 4, SIMT_THREADS, 1, ":spill=arena+native,spill_bytes=1K")

/* ---- one slot, filled to the last granule ---- */

static void slot_kernel(shpool_heap heap)
{
    char    *ptr[64];
    char    *all;
    uint32_t count = 0;

    EXPECT(shpool_malloc_shared(heap, 100000) == NULL);
    all = (char *)shpool_malloc(heap, t.pool.spill_bytes); /* more than any pool here */
    EXPECT((all != NULL) && !shpool_is_shared(all));
    EXPECT(shpool_usable_size(heap, all) == t.pool.spill_bytes);
    EXPECT(shpool_malloc(heap, t.pool.largest + 1u) == NULL);
    EXPECT(shpool_free_at(heap, all + 64, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(shpool_free_at(heap, all + 3, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(shpool_free_at(heap, all + t.pool.spill_bytes, 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(shpool_malloc(heap, t.pool.spill_bytes + 1u) == NULL);
    EXPECT(shpool_malloc(heap, ~(size_t)0) == NULL);
    while ((count < 64) &&
           ((ptr[count] = (char *)shpool_malloc(heap, t.pool.largest + 1u)) != NULL)) {
        EXPECT((count == 0) || (ptr[count] > ptr[count - 1u]));
        count++;
    }
    EXPECT((count > 2) && (count < 64));
    EXPECT(shpool_free_at(heap, ptr[1], 0) == SHPOOL_FREE_OK); /* first fit */
    EXPECT(shpool_malloc(heap, t.pool.largest + 1u) == ptr[1]);
    for (uint32_t i = 0; i < count; i++) {
        EXPECT(shpool_free_at(heap, ptr[i], 0) == SHPOOL_FREE_OK);
    }
    all = (char *)shpool_aligned_malloc(heap, 1024, t.pool.spill_bytes);
    EXPECT((all != NULL) && ((size_t)all % 1024u == 0));
    all = (char *)shpool_realloc(heap, all, 8); /* now it fits the pool */
    EXPECT(shpool_is_shared(all));
    shpool_free(heap, all);
}

static void expect_slot(void)
{
    assert_in_range(t.pool.spill_bytes, t.number * 1024u, t.number * 1024u * 101u / 100u);
    assert_true(t.report.failures >= 4);
}

UNIT_TEST(test_a_slot_is_used_to_its_last_granule)
{
    static const uint32_t kib[] = { 1, 2, 7, 64, 65, 100, 3000 };
    char                  options[64];

    for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
        const scene s = { .body = slot_kernel, .options = { options }, .alignments = { 1024 },
                          .each = 60u + kib[i] * 24u, .number = kib[i], .leaves = 1,
                          .report = "bad_frees 4", .expect = expect_slot };

        (void)snprintf(options, sizeof(options), ":spill=arena,spill_bytes=%uK", kib[i]);
        run_scene(&s);
    }
}

/* ---- what a slot has refused: no search, no lock, and no longer than it is true ---- */

#define REFUSED_SLOTS 12u

/* What is requested without an alignment fails exactly if the maps have no room for it; as often
 * as it is repeated, a refusal waits for no lock. */
static void refused_kernel(shpool_heap heap)
{
    const simt_addr area               = heap.view.area;
    uint32_t        state              = t.seed * 2654435769u;
    uint32_t        again              = 0;
    void           *ptr[REFUSED_SLOTS] = { NULL };

    for (uint32_t step = 0; step < 400; step++) {
        void   **at    = &ptr[heap_random(&state) % REFUSED_SLOTS];
        uint32_t bytes = 1u + heap_random(&state) % (64u << heap_random(&state) % 6u);
        uint32_t align = ((heap_random(&state) & 3u) == 0) ? 1024u : 16u;
        uint32_t need  = (bytes + (1u << t.pool.spill_shift) - 1u) >> t.pool.spill_shift;
        uint32_t all   = shpool_granule_all(area);
        uint32_t fits;

        shpool_free(heap, *at);
        fits = shpool_granule_find(shpool_granule_map(area), all, need,
                                   align >> t.pool.spill_shift) != all;
        *at  = shpool_aligned_malloc(heap, align, bytes);
        EXPECT((*at != NULL) || !fits);
        if (*at == NULL) {
            if (align == 16u) {
                simt_store32(area + SHPOOL_AREA_SPILL_LOCK, 1); /* as if a thread were at work */
                EXPECT(shpool_malloc(heap, bytes) == NULL);
                EXPECT(shpool_malloc(heap, bytes + 640u) == NULL);
                simt_store32(area + SHPOOL_AREA_SPILL_LOCK, 0);
                again++;
            }
            EXPECT(shpool_granule_find(shpool_granule_map(area), all, need,
                                       align >> t.pool.spill_shift) == all);
        }
    }
    EXPECT(again > 10);
}

SCENE(test_a_refusal_is_quick_until_a_free, refused_kernel,
      .options = { ":spill=arena,spill_bytes=1K", ":spill=arena,spill_bytes=3K" }, .each = 64,
      .alignments = { 1024 }, .seeds = 4, .leaves = 1)

/* ---- the slot is full, and CUDA's heap has not so much ---- */

static void exhausted_kernel(shpool_heap heap)
{
    void *all = shpool_malloc(heap, t.pool.spill_bytes);
    char *out = (char *)shpool_aligned_malloc(heap, 1024, 5000); /* the slot is full */

    EXPECT((all != NULL) && (out != NULL) && !shpool_is_shared(all) && !shpool_is_shared(out));
    EXPECT((size_t)out % 1024u == 0);
    memset(out, 7, 5000);
    EXPECT(shpool_malloc(heap, ~(size_t)0) == NULL);
    EXPECT(shpool_malloc(heap, ~(size_t)0 - 16u) == NULL);
    EXPECT(shpool_aligned_malloc(heap, 1024, ~(size_t)0 - 1024u) == NULL);
    EXPECT(shpool_calloc(heap, ~(size_t)0 / 2u, 3) == NULL);
    EXPECT(shpool_realloc(heap, out, ~(size_t)0) == NULL);
    EXPECT((out[0] == 7) && (out[4999] == 7));
    EXPECT(shpool_free_at(heap, out, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
}

SCENE(test_both_levels_exhausted, exhausted_kernel,
      .options = { ":spill=arena+native,spill_bytes=4K,stats=1" }, .each = 200,
      .alignments = { 1024 }, .leaves = 1, .report = "failures 5, refusals 5, spills 2, "
      "native_spills 1, live 0, live_bytes 0, peak_bytes 9096" /* 4096 + 5000 */)

/* ---- check=1: bad frees of what was spilled, the neighbour's slot among them ---- */

static void bad_kernel(shpool_heap heap)
{
    char  *ptr  = (char *)shpool_malloc(heap, 5000);
    size_t slot = t.pool.spill_bytes;

    EXPECT((ptr != NULL) && !shpool_is_shared(ptr));
    EXPECT(shpool_free_at(heap, ptr + 64, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(shpool_usable_size(heap, ptr) == 0);
    EXPECT(shpool_free_at(heap, ptr + slot, 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(shpool_usable_size(heap, ptr + slot) == 0);
}

SCENE(test_bad_frees_of_spilled_memory_are_refused, bad_kernel, .options = {
      ":spill=arena,check=1", ":spill=arena+native,check=1", ":spill=arena+native" }, .each = 400,
      .leaves = 1, .report = "bad_frees 3, live_bytes 0")

/* ---- more blocks than slots ---- */

static void greedy_kernel(void *arg)
{
    shpool_heap heap = trial_init((trial *)arg);
    void       *ptr  = shpool_malloc(heap, 3000);

    if (ptr != NULL) {
        EXPECT(!shpool_is_shared(ptr));
        memset(ptr, 1, 3000);
        simt_global_add32(&t.steps, 1);
    }
    if (simt_block_rank() % 3u != 2u) { /* every third block forgets */
        shpool_fini(heap);
    }
}

static void expect_served(void)
{
    assert_int_equal(t.steps, (t.number == 40) ? 120 : 117); /* block 116 keeps the 39th slot */
    assert_int_equal(t.report.failures, (t.number == 40) ? 0 : 2); /* block 119 does not tell */
}

/* Blocks come one after another: 40 keep a slot. */
UNIT_TEST(test_slots_come_back_in_fini)
{
    scene s = { .kernel = greedy_kernel, .only = "bitmap", .blocks = 120, .each = 100,
                .options = { ":spill=arena,spill_bytes=4K,spill_blocks=40" }, .number = 40,
                .expect = expect_served };

    run_scene(&s);
    s.options[0] = ":spill=arena,spill_bytes=4K,spill_blocks=39";
    s.number     = 39;
    run_scene(&s);
}

/* ---- where shared memory begins at address 0 (sm_75), and a pool, or its area, lies there ---- */

static void low_kernel(shpool_heap heap)
{
    heap_slot in, out;
    void     *ptr;

    EXPECT(simt_dynamic_base() == 0);
    EXPECT(get(heap, &in, 100, 1) && shpool_is_shared(in.at));
    if (t.pool.area_bytes == 0) {
        EXPECT(shpool_malloc(heap, 5000) == NULL);
        put(heap, &in);
        trial_expect_fresh(&t, heap);
        return;
    }
    EXPECT(get(heap, &out, 5000, 2) && !shpool_is_shared(out.at));
    ptr = in.at;
    put(heap, &in);
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_DOUBLE);
    ptr = out.at;
    put(heap, &out);
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_DOUBLE);
}

static void begin_at_0(void)
{
    t.launch.from_zero = 1;
}

SCENE(test_a_pool_at_address_0_is_like_any_other, low_kernel,
      .options = { "", ":check=1,spill=arena" }, .each = 400, .tune = begin_at_0, .leaves = 1,
      .report = "blocks 1, mallocs 2, frees 2, spills 1, bad_frees 2")

/* ---- the plan ---- */

UNIT_TEST(test_the_plan_tells_what_a_spill_option_needs)
{
    static const struct {
        const char   *options;
        uint32_t      spill_bytes, spill_shift, area_bytes;
        shpool_status status;
        const char   *text;
    } plans[] = {
        { "", 0, 0, 0, SHPOOL_OK, NULL },
        { ":spill=fail", 0, 0, 0, SHPOOL_OK, NULL },
        { ":spill=arena", 65536, 6, SHPOOL_AREA_CHECKED + 2 * 1024 / 8, SHPOOL_OK, NULL },
        { ":spill=native,spill_bytes=1G", 0, 0, SHPOOL_AREA_BYTES, SHPOOL_OK, NULL },
        { ":spill=arena,spill_bytes=2G", 0, 0, 0, SHPOOL_ERR_TOO_LARGE, "1073741824" },
        { ":spill=disk", 0, 0, 0, SHPOOL_ERR_SPEC, "arena+native" },
        { ":spill_bytes=0", 0, 0, 0, SHPOOL_ERR_SPEC, "" },
        { ":spill_blocks=many", 0, 0, 0, SHPOOL_ERR_SPEC, "" },
    };
    const shpool_config want = { .block_threads = 64, .payload_bytes = 4096 };
    shpool_pool         none, pool;

    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        char spec[96];

        (void)snprintf(spec, sizeof(spec), "%s%s", shpool_allocator_get(0)->name, plans[i].options);
        assert_int_equal(shpool_plan(spec, &want, &pool), plans[i].status);
        assert_int_equal(pool.spill_bytes, plans[i].spill_bytes);
        assert_int_equal(pool.spill_shift, plans[i].spill_shift);
        assert_int_equal(pool.area_bytes, plans[i].area_bytes);
        none = (i == 0) ? pool : none;
        assert_int_equal(pool.pool_bytes, (plans[i].text == NULL) ? none.pool_bytes : 0u);
        if (plans[i].text != NULL) {
            assert_non_null(strstr(shpool_last_error(), plans[i].text));
        } else if (plans[i].area_bytes == 0) {
            assert_memory_equal(&pool, &none, sizeof(pool));
        }
    }
}

UNIT_TEST(test_a_policy_that_is_none)
{
    shpool_config want = { .block_threads = 1, .payload_bytes = 64, .spill = 4 };
    shpool_pool   pool;

    assert_int_equal(shpool_plan(NULL, &want, &pool), SHPOOL_ERR_INVALID);
    assert_non_null(strstr(shpool_last_error(), "spill is 4"));
}
