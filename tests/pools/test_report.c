/* SPDX-License-Identifier: BSD-3-Clause */
/* stats=1 and check=1 of every allocator: what the report says, which frees are refused. */
#include "heap_trial.h"

#include "calls.h"

static trial t;

/* ---- counters ---- */

static uint32_t largest_left; /* of the last block, over its pools */
static uint32_t smallest_left; /* over the blocks */

static void counters_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    state = simt_thread_rank() + 100u * simt_block_rank() + p->seed;
    heap_slot   slot[8] = { { NULL, 0, 0 } };
    uint32_t    most;

    if (simt_thread_rank() == 0) {
        p->model.held_bytes = 0; /* of this block; the peak is that of the worst one */
        memset(p->model.owner, 0, sizeof(p->model.owner));
        largest_left = 0;
    }
    simt_barrier();
    for (uint32_t i = 0; i < 60; i++) {
        heap_slot *s = &slot[heap_random(&state) % 8u];

        if (s->at == NULL) {
            (void)trial_malloc(p, heap, s, heap_random(&state) % 300u, 16, i);
        } else if ((heap_random(&state) % 4u == 0) && (p->launch.switch_period == 0)) {
            /* the model learns of a resize late, so its peak would be too high otherwise */
            (void)trial_realloc(p, heap, s, heap_random(&state) % 300u, i);
        } else {
            trial_free(p, heap, s);
        }
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
    for (uint32_t i = 0; i < 8; i++) {
        if (slot[i].at != NULL) {
            simt_global_add32(&p->steps, slot[i].bytes);
        }
    }
    shpool_fini(heap);
}

/* Without switches inside calls, so that the model's peak is the real one. */
UNIT_TEST(test_counters_match_the_model)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t seed = 1; seed < 20; seed++) {
            trial_open(&t, allocator, ":stats=1", 5,
                       (allocator->scope == SHPOOL_SCOPE_THREAD) ? 500 : 2000, 16);
            smallest_left    = UINT32_MAX;
            t.launch.grid[0] = 1u + seed % 3u;
            t.seed           = seed;
            trial_run(&t, counters_kernel);
            assert_int_equal(t.report.blocks, t.launch.grid[0]);
            assert_int_equal(t.report.mallocs, t.model.mallocs);
            assert_int_equal(t.report.frees, t.model.frees);
            assert_int_equal(t.report.failures, t.model.failures);
            assert_int_equal(t.report.live, t.model.held); /* these leak */
            assert_int_equal(t.report.live_bytes, t.steps);
            /* a group is served together, and the model asks each */
            if (allocator->scope == SHPOOL_SCOPE_GROUP) {
                assert_in_range(t.report.peak_bytes, t.report.live_bytes / t.launch.grid[0],
                                t.pool.shared_bytes);
            } else {
                assert_int_equal(t.report.peak_bytes, t.model.peak_bytes);
            }
            assert_int_equal(t.report.largest_free, smallest_left);
            assert_int_equal(t.report.bad_frees, 0);
            assert_int_equal(t.report.spills, 0);
            trial_close(&t);
        }
    }
}

/* Other threads in the middle of malloc and free: sums are exact, the peak is bounded. */
UNIT_TEST(test_counters_of_threads_that_interleave)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t seed = 1; seed < 10; seed++) {
            trial_open(&t, allocator, ":check=1", 9, 2000, 16);
            smallest_left          = UINT32_MAX;
            t.launch.switch_period = 1u + seed % 3u;
            t.launch.seed          = seed;
            t.seed                 = seed;
            trial_run(&t, counters_kernel);
            assert_int_equal(t.report.mallocs, t.model.mallocs);
            assert_int_equal(t.report.frees, t.model.frees);
            assert_int_equal(t.report.failures, t.model.failures);
            assert_int_equal(t.report.live, t.model.held);
            assert_int_equal(t.report.live_bytes, t.steps);
            assert_true(t.report.peak_bytes >= t.model.peak_bytes);
            assert_int_equal(t.report.largest_free, smallest_left);
            assert_int_equal(t.report.corrupt, 0);
            trial_close(&t);
        }
    }
}

/* ---- bad frees ---- */

#define BAD_FREES 6u

static unsigned long long bad_address[BAD_FREES];
static uint32_t           bad_reason[BAD_FREES];
static uint32_t           bad_count;

static void bad_free(trial *p, shpool_heap heap, void *ptr, uint32_t reason)
{
    uint32_t site = 40u + bad_count;

    bad_address[bad_count]  = (unsigned long long)(size_t)ptr;
    bad_reason[bad_count++] = reason;
    HEAP_EXPECT(&p->model, shpool_free_at(heap, ptr, site) == reason);
}

/* Thread 1 of block 1 makes invalid frees; no allocation is damaged. */
static void bad_free_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   mine;
    heap_slot   next;
    static int  on_the_host;

    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &mine, 100, 16, 5));
    p->box[simt_thread_rank()] = mine;
    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &next, 60, 16, 6));
    simt_barrier();
    if ((simt_block_rank() == 1) && (simt_thread_rank() == 1)) {
        heap_slot other;

        bad_count = 0;
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &other, 40, 16, 7));
        trial_free(p, heap, &other);
        bad_free(p, heap, &on_the_host, SHPOOL_FREE_FOREIGN);
        bad_free(p, heap, simt_from_shared(simt_dynamic_base()), SHPOOL_FREE_FOREIGN);
        bad_free(p, heap, mine.at + 16, SHPOOL_FREE_INTERIOR);
        bad_free(p, heap, mine.at + 5, SHPOOL_FREE_INTERIOR);
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &other, 40, 16, 8));
        void *freed = other.at;
        trial_free(p, heap, &other);
        bad_free(p, heap, freed, SHPOOL_FREE_DOUBLE);
        if (p->pool.scope == SHPOOL_SCOPE_THREAD) {
            bad_free(p, heap, p->box[2].at, SHPOOL_FREE_FOREIGN);
        }
    }
    simt_barrier();
    trial_free(p, heap, &mine);
    trial_free(p, heap, &next);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_bad_frees_are_refused_and_described)
{
    FOR_EACH_POOL(allocator) {
        if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
            continue;
        }
        trial_open(&t, allocator, ":check=1", 3, 1000, 16);
        t.launch.grid[0] = 2;
        trial_run(&t, bad_free_kernel);
        assert_true(bad_count >= 5);
        assert_int_equal(t.report.bad_frees, bad_count);
        for (uint32_t i = 0; i < bad_count; i++) {
            assert_int_equal(t.report.bad_free[i].block, 1);
            assert_int_equal(t.report.bad_free[i].thread, 1);
            assert_int_equal(t.report.bad_free[i].reason, bad_reason[i]);
            assert_int_equal(t.report.bad_free[i].site, 40 + i);
            assert_int_equal(t.report.bad_free[i].address, bad_address[i]);
        }
        assert_int_equal(t.report.live, 0);
        assert_int_equal(t.report.corrupt, 0);
        trial_close(&t);
    }
}

UNIT_TEST(test_bad_frees_are_refused_without_check_where_the_caps_say_so)
{
    FOR_EACH_POOL(allocator) {
        if ((allocator->caps & SHPOOL_CAP_REFUSES) != 0) {
            trial_open(&t, allocator, "", 3, 1000, 16);
            t.launch.grid[0] = 2;
            trial_run(&t, bad_free_kernel);
            assert_int_equal(t.model.faults, 0);
            assert_true(bad_count >= 5);
            trial_close(&t);
        }
    }
}

static void many_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    for (uint32_t i = 0; i < 5; i++) {
        (void)shpool_free_at(heap, simt_from_shared(simt_dynamic_base()), simt_thread_rank());
    }
    shpool_fini(heap);
}

UNIT_TEST(test_bad_frees_beyond_the_slots_are_counted)
{
    FOR_EACH_POOL(allocator) {
        trial_once(&t, allocator, ":check=1", 10, 400, many_kernel);
        assert_int_equal(t.report.bad_frees, 50);
        for (uint32_t i = 0; i < SHPOOL_BAD_FREE_SLOTS; i++) {
            assert_int_equal(t.report.bad_free[i].reason, SHPOOL_FREE_FOREIGN);
            assert_int_equal(t.report.bad_free[i].site, t.report.bad_free[i].thread);
        }
    }
}

/* Words of a payload that look like metadata must not make it a block. */
static void forged_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t   *a    = (uint32_t *)shpool_malloc(heap, 240);

    HEAP_EXPECT(&p->model, a != NULL);
    for (uint32_t size = 1; (a != NULL) && (size < 8); size++) {
        for (uint32_t i = 0; i < 60; i++) {
            a[i] = 0x80000000u | (size << 15) | size;
        }
        for (uint32_t i = 4; i < 60; i += 4) {
            HEAP_EXPECT(&p->model, shpool_free_at(heap, &a[i], 0) == SHPOOL_FREE_INTERIOR);
        }
    }
    HEAP_EXPECT(&p->model, shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_interior_pointers_are_found_whatever_the_payload_holds)
{
    FOR_EACH_POOL(allocator) {
        trial_once(&t, allocator, ":check=1", 1, 600, forged_kernel);
        assert_int_equal(t.report.bad_frees, 7 * 14);
    }
}

/* A realloc of memory that is not live must not take granules from their current owner. */
static void stale_realloc_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    heap_slot   slot;
    heap_slot   again;

    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, 200, 16, 1));
    (void)shpool_realloc(heap, slot.at + 32, 1); /* interior: would be a shrink */
    HEAP_EXPECT(&p->model, shpool_check(heap).broken == 0);
    HEAP_EXPECT(&p->model, shpool_usable_size(heap, slot.at) == slot.bytes);
    if (trial_malloc(p, heap, &again, 100, 16, 2)) { /* the model looks for an overlap */
        trial_free(p, heap, &again);
    }
    trial_free(p, heap, &slot);
    shpool_fini(heap);
}

UNIT_TEST(test_realloc_of_an_interior_pointer_harms_nobody_in_checked_mode)
{
    FOR_EACH_POOL(allocator) {
        trial_once(&t, allocator, ":check=1", 1, 600, stale_realloc_kernel);
        assert_int_equal(t.report.bad_frees, 1);
        assert_int_equal(t.report.bad_free[0].reason, SHPOOL_FREE_INTERIOR);
    }
}

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
static void fail_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    turn  = (simt_block_rank() == 1) &&
                        ((call_rows[asked].who == CALL_BLOCK) ||
                         ((call_rows[asked].who == CALL_THREAD) ? (simt_thread_rank() == 0)
                                                                : (simt_warp() == 0)));
    void       *mine  = NULL;

    if ((simt_block_rank() == 1) && trial_leads(heap)) {
        mine = shpool_malloc(heap, (why->reason == SHPOOL_REFUSED_NONE) ? p->pool.largest : 8);
        HEAP_EXPECT(&p->model, mine != NULL);
        if ((simt_thread_rank() == 0) && (why->reason != SHPOOL_REFUSED_NONE)) {
            live = mine;
        }
    }
    simt_barrier();
    if (turn) {
        HEAP_EXPECT(&p->model, call_make(asked, heap, SIMT_ALL_LANES, live, why->alignment,
                                        asked_bytes, 3) == NULL);
    }
    simt_barrier();
    if (mine != NULL) {
        HEAP_EXPECT(&p->model, shpool_free_at(heap, mine, 0) == SHPOOL_FREE_OK);
    }
    shpool_fini(heap);
}

static void expect_refused(const shpool_allocator *allocator, const char *options)
{
    const uint32_t is_empty = (why->reason == SHPOOL_REFUSED_EMPTY);
    const uint32_t refused  = (why->reason != SHPOOL_REFUSED_NONE);
    const uint32_t taken    = is_empty ? 0u : t.pool.pools;
    const uint32_t flags    = call_rows[asked].flags;

    if ((t.report.mallocs != taken + 1u) || (t.report.failures != 1u) ||
        (t.report.frees != taken) || (t.report.bad_frees != 0) ||
        (t.report.refusals != refused) || (t.report.refused.reason != why->reason)) {
        fail_msg("%s%s, %s of %zu bytes aligned to %zu: mallocs %llu, failures %llu, refusals "
                 "%llu, reason %u", allocator->name, options, call_rows[asked].name, asked_bytes,
                 why->alignment,
                 t.report.mallocs, t.report.failures, t.report.refusals, t.report.refused.reason);
    }
    if (refused) {
        assert_int_equal(t.report.refused.block, 1);
        assert_int_equal(t.report.refused.thread, 0);
        assert_int_equal(t.report.refused.site, ((flags & CALL_SITE) != 0) ? CALL_SITE_NUMBER : 0);
        assert_true(t.report.refused.bytes == asked_bytes);
        assert_int_equal(t.report.refused.alignment,
                         ((flags & CALL_ALIGNS) == 0) ? 16 :
                         (why->alignment < ~0u) ? why->alignment : ~0u);
        if ((strstr(why->text, "aligned to 1") == NULL) || ((flags & CALL_ALIGNS) != 0)) {
            assert_non_null(strstr(shpool_last_error(), why->text));
        }
    }
    assert_int_equal(t.report.status, is_empty ? SHPOOL_ERR_LAUNCH :
                     (why->reason == SHPOOL_REFUSED_SIZE) ? SHPOOL_ERR_TOO_LARGE :
                     refused ? SHPOOL_ERR_ALIGNMENT : SHPOOL_OK);
}

UNIT_TEST(test_every_failed_request_is_counted_and_has_a_reason)
{
    static const char *const options[] = { ":stats=1", ":check=1" };
    const size_t             n         = CALL_COUNT;

    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; i < 2u * n * (sizeof(causes) / sizeof(causes[0])); i++) {
            asked = (uint32_t)(i / 2u % n);
            why   = &causes[i / 2u / n];
            if (((call_rows[asked].flags & CALL_ALIGNS) == 0) &&
                (why->reason == SHPOOL_REFUSED_ALIGNMENT)) {
                continue;
            }
            live = NULL;
            trial_open(&t, allocator, options[i % 2u], 40, 300, 32);
            asked_bytes      = (why->bytes != 0) ? why->bytes : t.pool.largest + 1u;
            t.launch.grid[0] = 2;
            if (why->reason == SHPOOL_REFUSED_EMPTY) {
                t.launch.dynamic_bytes = 16;
            }
            trial_run(&t, fail_kernel);
            expect_refused(allocator, options[i % 2u]);
            trial_close(&t);
        }
    }
}
