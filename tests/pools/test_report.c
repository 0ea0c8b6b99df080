/* SPDX-License-Identifier: BSD-3-Clause */
/* stats=1 and check=1 of every allocator: what the report says, which frees are refused. */
#include "script.h"

#include "calls.h"

/* ---- counters ---- */

static uint32_t largest_left; /* of the last block, over its pools */
static uint32_t smallest_left; /* over the blocks */

static void counters_kernel(shpool_heap heap)
{
    actor    a     = new_actor(heap);
    uint32_t state = simt_thread_rank() + 100u * simt_block_rank() + t.seed;
    uint32_t most;

    if (simt_thread_rank() == 0) {
        t.model.held_bytes = 0; /* of this block; the peak is that of the worst one */
        memset(t.model.owner, 0, sizeof(t.model.owner));
        largest_left = 0;
    }
    simt_barrier();
    for (uint32_t i = 0; i < 60; i++) {
        op o = random_op(&a, &state);

        if ((o.what == 'r') && (t.launch.switch_period != 0)) {
            o.what = 'f'; /* the model learns of a resize late, so its peak would be too high */
        }
        do_own(&a, &o);
    }
    simt_barrier();
    most = (uint32_t)shpool_largest(heap);
    if (trial_leads(heap)) {
        simt_global_max32(&largest_left, most);
    }
    simt_barrier();
    if ((simt_thread_rank() == 0) && (largest_left < smallest_left)) {
        smallest_left = largest_left;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        simt_global_add32(&t.steps, (a.slot[i].at != NULL) ? a.slot[i].bytes : 0u);
    }
}

static void begin(void)
{
    smallest_left    = UINT32_MAX;
    t.launch.grid[0] = (t.launch.switch_period == 0) ? 1u + t.seed % 3u : 1u;
}

/* The peak is exact without switches inside calls.  A group is served together, and the model asks
 * each of its threads. */
static void expect_bytes(void)
{
    assert_int_equal(t.report.blocks, t.launch.grid[0]);
    assert_int_equal(t.report.live_bytes, t.steps); /* these leak, so that native takes no part */
    assert_int_equal(t.report.largest_free, smallest_left);
    assert_int_equal(t.report.spills, 0);
    if (t.launch.switch_period != 0) {
        assert_true(t.report.peak_bytes >= t.model.peak_bytes);
    } else if (t.allocator->scope == SHPOOL_SCOPE_GROUP) {
        assert_in_range(t.report.peak_bytes, t.report.live_bytes / t.launch.grid[0],
                        t.pool.shared_bytes);
    } else {
        assert_int_equal(t.report.peak_bytes, t.model.peak_bytes);
    }
}

/* The model's peak is the real one. */
SCENE(test_counters_match_the_model, counters_kernel, .options = { ":stats=1" }, .threads = { 5 },
      .each = 2000, .each_alone = 500, .seeds = 20, .tune = begin, .leaves = 1, .counts = 1,
      .report = "bad_frees 0", .expect = expect_bytes)

/* Other threads in the middle of malloc and free: sums are exact, the peak is bounded. */
SCENE(test_counters_of_threads_that_interleave, counters_kernel, .options = { ":check=1" },
      .threads = { 9 }, .each = 2000, .seeds = 10, .periods = 4, .tune = begin, .leaves = 1,
      .counts = 1, .report = "bad_frees 0, corrupt 0", .expect = expect_bytes)

/* ---- bad frees ---- */

#define BAD_FREES 6u

static unsigned long long bad_address[BAD_FREES];
static uint32_t           bad_reason[BAD_FREES];
static uint32_t           bad_count;

static void bad_free(shpool_heap heap, void *ptr, uint32_t reason)
{
    uint32_t site = 40u + bad_count;

    bad_address[bad_count]  = (unsigned long long)(size_t)ptr;
    bad_reason[bad_count++] = reason;
    EXPECT(shpool_free_at(heap, ptr, site) == reason);
}

/* Thread 1 of block 1 makes invalid frees; no allocation is damaged. */
static void bad_free_kernel(shpool_heap heap)
{
    heap_slot  mine;
    heap_slot  next;
    static int on_the_host;

    EXPECT(get(heap, &mine, 100, 5));
    t.box[simt_thread_rank()] = mine;
    EXPECT(get(heap, &next, 60, 6));
    simt_barrier();
    if ((simt_block_rank() == 1) && (simt_thread_rank() == 1)) {
        heap_slot other;

        bad_count = 0;
        EXPECT(get(heap, &other, 40, 7));
        put(heap, &other);
        bad_free(heap, &on_the_host, SHPOOL_FREE_FOREIGN);
        bad_free(heap, simt_from_shared(simt_dynamic_base()), SHPOOL_FREE_FOREIGN);
        bad_free(heap, mine.at + 16, SHPOOL_FREE_INTERIOR);
        bad_free(heap, mine.at + 5, SHPOOL_FREE_INTERIOR);
        EXPECT(get(heap, &other, 40, 8));
        void *freed = other.at;
        put(heap, &other);
        bad_free(heap, freed, SHPOOL_FREE_DOUBLE);
        if (t.pool.scope == SHPOOL_SCOPE_THREAD) {
            bad_free(heap, t.box[2].at, SHPOOL_FREE_FOREIGN);
        }
    }
    simt_barrier();
    put(heap, &mine);
    put(heap, &next);
}

static void expect_described(void)
{
    assert_true(bad_count >= 5);
    for (uint32_t i = 0; (t.pool.report != NULL) && (i < bad_count); i++) {
        assert_int_equal(t.report.bad_frees, bad_count);
        assert_int_equal(t.report.bad_free[i].block, 1);
        assert_int_equal(t.report.bad_free[i].thread, 1);
        assert_int_equal(t.report.bad_free[i].reason, bad_reason[i]);
        assert_int_equal(t.report.bad_free[i].site, 40 + i);
        assert_int_equal(t.report.bad_free[i].address, bad_address[i]);
    }
}

SCENE(test_bad_frees_are_refused_and_described, bad_free_kernel, .options = { ":check=1" },
      .threads = { 3 }, .blocks = 2, .each = 1000, .report = "live 0, corrupt 0",
      .expect = expect_described)

SCENE(test_bad_frees_are_refused_without_check_where_the_caps_say_so, bad_free_kernel,
      .caps = SHPOOL_CAP_REFUSES, .threads = { 3 }, .blocks = 2, .each = 1000,
      .expect = expect_described)

static void many_kernel(shpool_heap heap)
{
    for (uint32_t i = 0; i < 5; i++) {
        (void)shpool_free_at(heap, simt_from_shared(simt_dynamic_base()), simt_thread_rank());
    }
}

static void expect_the_first(void)
{
    for (uint32_t i = 0; i < SHPOOL_BAD_FREE_SLOTS; i++) {
        assert_int_equal(t.report.bad_free[i].reason, SHPOOL_FREE_FOREIGN);
        assert_int_equal(t.report.bad_free[i].site, t.report.bad_free[i].thread);
    }
}

SCENE(test_bad_frees_beyond_the_slots_are_counted, many_kernel, .options = { ":check=1" },
      .threads = { 10 }, .each = 400, .report = "bad_frees 50", .expect = expect_the_first)

/* Words of a payload that look like metadata must not make it a block. */
static void forged_kernel(shpool_heap heap)
{
    uint32_t *a = (uint32_t *)shpool_malloc(heap, 240);

    EXPECT(a != NULL);
    for (uint32_t size = 1; (a != NULL) && (size < 8); size++) {
        for (uint32_t i = 0; i < 60; i++) {
            a[i] = 0x80000000u | (size << 15) | size;
        }
        for (uint32_t i = 4; i < 60; i += 4) {
            EXPECT(shpool_free_at(heap, &a[i], 0) == SHPOOL_FREE_INTERIOR);
        }
    }
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
}

SCENE(test_interior_pointers_are_found_whatever_the_payload_holds, forged_kernel,
      .options = { ":check=1" }, .each = 600, .report = "bad_frees 98" /* 7 * 14 */)

/* A realloc of memory that is not live must not take granules from their current owner. */
static void stale_realloc_kernel(shpool_heap heap)
{
    heap_slot slot;
    heap_slot again;

    EXPECT(get(heap, &slot, 200, 1));
    (void)shpool_realloc(heap, slot.at + 32, 1); /* interior: would be a shrink */
    EXPECT(shpool_check(heap).broken == 0);
    EXPECT(shpool_usable_size(heap, slot.at) == slot.bytes);
    if (get(heap, &again, 100, 2)) { /* the model looks for an overlap */
        put(heap, &again);
    }
    put(heap, &slot);
}

static void expect_interior(void)
{
    assert_int_equal(t.report.bad_free[0].reason, SHPOOL_FREE_INTERIOR);
}

SCENE(test_realloc_of_an_interior_pointer_harms_nobody_in_checked_mode, stale_realloc_kernel,
      .options = { ":check=1" }, .each = 600, .report = "bad_frees 1", .expect = expect_interior)

/* ---- every call, and every reason to fail ---- */

static void *live; /* of the block, or NULL: what the reallocs make larger */

/* Why a request fails; bytes 0: one more than `largest`. */
typedef struct cause {
    uint32_t    reason;
    size_t      alignment;
    size_t      bytes;
    const char *text; /* of shpool_last_error() */
} cause;

static const cause causes[] = {
    { SHPOOL_REFUSED_NONE, 16, 16, NULL },
    { SHPOOL_REFUSED_SIZE, 16, 0, "with payload_bytes=" },
    { SHPOOL_REFUSED_SIZE, 32, ~(size_t)0, "no block has more than 227 KiB" },
    { SHPOOL_REFUSED_SIZE, 1, 1ull << 32, "for 4294967296 bytes aligned to 1" },
    { SHPOOL_REFUSED_ALIGNMENT, 64, 16, "aligned to 32; open it with alignment=64" },
    { SHPOOL_REFUSED_ALIGNMENT, 24, 16, "a power of two up to 1024" },
    { SHPOOL_REFUSED_ALIGNMENT, 0, 16, "a power of two up to 1024" },
    { SHPOOL_REFUSED_ALIGNMENT, 2048, 16, "no pool is aligned to more than 1024" },
    { SHPOOL_REFUSED_ALIGNMENT, 1ull << 36, 0, "aligned to 4294967295" },
    { SHPOOL_REFUSED_EMPTY, 16, 16, "has 16 bytes of shared memory from the pool's base on" },
};

static uint32_t     asked; /* of call_rows */
static const cause *why;
static size_t       asked_bytes;

/* Block 1 asks once.  Before, the pools are filled if memory is to be in use, or what a realloc is
 * to make larger is allocated. */
static void fail_kernel(shpool_heap heap)
{
    uint32_t turn = (simt_block_rank() == 1) &&
                    ((call_rows[asked].who == CALL_BLOCK) ||
                     ((call_rows[asked].who == CALL_THREAD) ? (simt_thread_rank() == 0)
                                                            : (simt_warp() == 0)));
    void *mine = NULL;

    if ((simt_block_rank() == 1) && trial_leads(heap)) {
        mine = shpool_malloc(heap, (why->reason == SHPOOL_REFUSED_NONE) ? t.pool.largest : 8);
        EXPECT(mine != NULL);
        if ((simt_thread_rank() == 0) && (why->reason != SHPOOL_REFUSED_NONE)) {
            live = mine;
        }
    }
    simt_barrier();
    if (turn) {
        EXPECT(call_make(asked, heap, SIMT_ALL_LANES, live, why->alignment,
                         asked_bytes, 3) == NULL);
    }
    simt_barrier();
    if (mine != NULL) {
        EXPECT(shpool_free_at(heap, mine, 0) == SHPOOL_FREE_OK);
    }
}

static void expect_refusal(void)
{
    const uint32_t is_empty = (why->reason == SHPOOL_REFUSED_EMPTY);
    const uint32_t refused  = (why->reason != SHPOOL_REFUSED_NONE);
    const uint32_t taken    = is_empty ? 0u : t.pool.pools;
    const uint32_t flags    = call_rows[asked].flags;

    if ((t.report.mallocs != taken + 1u) || (t.report.failures != 1u) ||
        (t.report.frees != taken) || (t.report.bad_frees != 0) ||
        (t.report.refusals != refused) || (t.report.refused.reason != why->reason)) {
        fail_msg("%s, %s of %zu bytes aligned to %zu: mallocs %llu, failures %llu, refusals "
                 "%llu, reason %u", TRIAL_NAME(&t), call_rows[asked].name, asked_bytes,
                 why->alignment,
                 t.report.mallocs, t.report.failures, t.report.refusals, t.report.refused.reason);
    }
    if (refused) {
        assert_int_equal(t.report.refused.block, 1);
        assert_int_equal(t.report.refused.thread, 0);
        assert_int_equal(t.report.refused.site, ((flags & CALL_SITE) != 0) ? CALL_SITE_NUMBER : 0);
        assert_true(t.report.refused.bytes == asked_bytes);
        assert_int_equal(t.report.refused.alignment, ((flags & CALL_ALIGNS) == 0) ? 16 :
                         (why->alignment < ~0u) ? why->alignment : ~0u);
        if ((strstr(why->text, "aligned to 1") == NULL) || ((flags & CALL_ALIGNS) != 0)) {
            assert_non_null(strstr(shpool_last_error(), why->text));
        }
    }
    assert_int_equal(t.report.status, is_empty ? SHPOOL_ERR_LAUNCH :
                     (why->reason == SHPOOL_REFUSED_SIZE) ? SHPOOL_ERR_TOO_LARGE :
                     refused ? SHPOOL_ERR_ALIGNMENT : SHPOOL_OK);
}

static void ask(void)
{
    asked = (uint32_t)(t.number % CALL_COUNT);
    why   = &causes[t.number / CALL_COUNT];
    if ((why->reason == SHPOOL_REFUSED_ALIGNMENT) &&
        ((call_rows[asked].flags & CALL_ALIGNS) == 0)) {
        why = &causes[0];
    }
    asked_bytes = (why->bytes != 0) ? why->bytes : t.pool.largest + 1u;
    live        = NULL;
    if (why->reason == SHPOOL_REFUSED_EMPTY) {
        t.launch.dynamic_bytes = 16;
    }
}

SCENE(test_every_failed_request_is_counted_and_has_a_reason, fail_kernel,
      .options = { ":stats=1", ":check=1" }, .threads = { 40 }, .blocks = 2, .each = 300,
      .alignments = { 32 }, .numbers = CALL_COUNT * sizeof(causes) / sizeof(causes[0]),
      .tune = ask, .leaves = 1, .expect = expect_refusal)
