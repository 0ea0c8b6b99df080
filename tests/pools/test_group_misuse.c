/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups that free what is not theirs to free, members that disagree, and what does not fit the
 * pool. */
#include "group_trial.h"

#include <shpool/wait.h>

static trial              t;
static const group_shape *shape;
static uint32_t           answers; /* of members */

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

static const group_shape tiles    = { "tiles of 8", 40, OF_LANES, 0, 8 };
static const group_shape full     = { "lanes of a warp", 40, OF_LANES, SIMT_ALL_LANES, 0 };
static const group_shape pairs    = { "every fourth lane", 40, OF_LANES, 0x11111111u, 0 };
static const group_shape of_warps = { "warps", 40, OF_WARPS, 0, 0 };
static const group_shape a_block  = { "block", 40, OF_BLOCK, 0, 0 };

static uint32_t each_of(const shpool_allocator *allocator)
{
    return 60000u / trial_pools(allocator, shape->threads);
}

/* ---- bad frees ---- */

/* All members have the same answer, and it is a refusal. */
static void refuse(trial *p, shpool_heap heap, group g, void *ptr, uint32_t reason)
{
    uint32_t got = group_free(heap, g, ptr);

    EXPECT(p, got != SHPOOL_FREE_OK);
    if (reason != 0) {
        EXPECT(p, got == reason);
    }
    if (g.member == 0) {
        simt_global_add32(&answers, 1);
    }
}

static void bad_frees_kernel(void *arg)
{
    static char  foreign[64];
    trial       *p     = (trial *)arg;
    shpool_heap  heap  = trial_init(p);
    group        g     = group_of(shape);
    uint32_t     knows = has_cap(p, SHPOOL_CAP_REFUSES) && has_cap(p, SHPOOL_CAP_OUT_OF_BAND);
    char        *live  = (char *)group_malloc(heap, g, 300, 16);
    char        *gone  = (char *)group_malloc(heap, g, 200, 16);

    EXPECT(p, (live != NULL) && (gone != NULL));
    group_fill(g, live, 300, g.id);
    simt_barrier(); /* no thread gets memory that another one has freed */
    EXPECT(p, group_free(heap, g, gone) == SHPOOL_FREE_OK);
    simt_barrier();
    refuse(p, heap, g, gone, knows ? SHPOOL_FREE_DOUBLE : 0u);
    refuse(p, heap, g, live + 16, knows ? SHPOOL_FREE_INTERIOR : 0u);
    refuse(p, heap, g, live + 4, 0);
    refuse(p, heap, g, foreign, SHPOOL_FREE_FOREIGN);
    refuse(p, heap, g, simt_from_shared(simt_dynamic_base() + p->pool.shared_bytes),
           SHPOOL_FREE_FOREIGN);
    EXPECT(p, group_free(heap, g, NULL) == SHPOOL_FREE_OK);
    EXPECT(p, group_realloc(heap, g, gone, 100) == NULL);
    group_sync(g);
    group_verify(p, g, live, 300, g.id);
    EXPECT(p, group_free(heap, g, live) == SHPOOL_FREE_OK);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_bad_frees_are_refused)
{
    const group_shape *const shapes[] = { &tiles, &full, &pairs };

    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; i < 6; i++) {
            if ((i % 2u == 0) && ((allocator->caps & SHPOOL_CAP_REFUSES) == 0)) {
                continue;
            }
            shape   = shapes[i / 2u];
            answers = 0;
            trial_open(&t, allocator, (i % 2u == 0) ? "" : ":check=1", shape->threads,
                       each_of(allocator), 16);
            t.launch.switch_period = (uint32_t)i;
            trial_run(&t, bad_frees_kernel);
            assert_true(answers > 0);
            if (t.pool.report != NULL) { /* once for each group; realloc's, too */
                assert_int_equal(t.report.bad_frees, answers / 5u * 6u);
                assert_int_equal(t.report.live_bytes, 0);
                assert_int_equal(t.report.leaks, 0);
            }
            trial_close(&t);
        }
    }
}

/* ---- members that disagree ---- */

enum { BYTES, ALIGNMENT, NO_ALIGNMENT, POINTER, RESIZED, WAITING, WAITING_ATTEMPTS,
       WAITING_ALIGNMENT, WAITING_NO_ALIGNMENT, WITHOUT_ITSELF, BEYOND, MASKS };

/* A lane that returns at once must not leave the others alone in the queue. */
static void disagree_waiting(trial *p, shpool_heap heap, uint32_t lanes, uint32_t odd)
{
    const uint32_t attempts = ((p->number == WAITING_ATTEMPTS) && odd) ? 1u : 100u;
    const uint32_t bytes    = ((p->number == WAITING) && odd) ? 64u : 80u;

    if (p->number < WAITING_ALIGNMENT) {
        EXPECT(p, shpool_malloc_wait_lanes(heap, lanes, bytes, attempts) == NULL);
    } else {
        const uint32_t other = (p->number == WAITING_ALIGNMENT) ? 32u : 24u;

        EXPECT(p, shpool_aligned_malloc_wait_lanes(heap, lanes, odd ? other : 16u, bytes,
                                                   attempts) == NULL);
    }
}

static void disagree_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    group       g     = group_of(shape);
    uint32_t    odd   = (g.member == g.members - 1u) && (g.members > 1u);
    char       *live  = (char *)group_malloc(heap, g, 100, 16);
    uint32_t    lanes = g.lanes;

    EXPECT(p, live != NULL);
    group_fill(g, live, 100, g.id);
    switch (p->number) {
    case BYTES:
        EXPECT(p, shpool_malloc_lanes(heap, lanes, 64u + odd) == NULL);
        break;
    case ALIGNMENT:
        EXPECT(p, shpool_aligned_malloc_lanes(heap, lanes, odd ? 32u : 16u, 64) == NULL);
        break;
    case NO_ALIGNMENT:
        EXPECT(p, shpool_aligned_malloc_lanes(heap, lanes, odd ? 24u : 16u, 64) == NULL);
        break;
    case POINTER:
        EXPECT(p, shpool_free_lanes_at(heap, lanes, odd ? live + 16 : live, 0) ==
                      SHPOOL_FREE_GROUP);
        break;
    case RESIZED:
        EXPECT(p, shpool_realloc_lanes(heap, lanes, live, odd ? 64u : 80u) == NULL);
        break;
    case WAITING:
    case WAITING_ATTEMPTS:
    case WAITING_ALIGNMENT:
    case WAITING_NO_ALIGNMENT:
        disagree_waiting(p, heap, lanes, odd);
        break;
    case WITHOUT_ITSELF: /* the others are a group without it */
        lanes = g.lanes & ~(1u << (g.id % SIMT_WARP + g.members - 1u));
        live  = NULL;
        if (odd) {
            EXPECT(p, shpool_malloc_lanes(heap, lanes, 64) == NULL);
            EXPECT(p, shpool_free_lanes_at(heap, lanes, NULL, 0) == SHPOOL_FREE_GROUP);
        }
        break;
    case BEYOND:
        if (lanes != SIMT_ALL_LANES) {
            EXPECT(p, shpool_malloc_lanes(heap, SIMT_ALL_LANES, 64) == NULL);
            EXPECT(p, shpool_malloc_wait_lanes(heap, SIMT_ALL_LANES, 64, 4) == NULL);
        }
        break;
    default:
        EXPECT(p, shpool_malloc_lanes(heap, odd ? lanes & ~(1u << shpool_first_lane(lanes)) : lanes,
                                      64) == NULL);
        break;
    }
    simt_global_add32(&answers, 1);
    shpool_fini(heap);
}

static int is_of_alignment(uint32_t what)
{
    return (what == ALIGNMENT) || (what == NO_ALIGNMENT) || (what == WAITING_ALIGNMENT) ||
           (what == WAITING_NO_ALIGNMENT);
}

static shpool_status disagree(const shpool_allocator *allocator, uint32_t what)
{
    shpool_status status;

    answers = 0;
    trial_open(&t, allocator, ":check=1", shape->threads, each_of(allocator),
               ((allocator->caps & SHPOOL_CAP_ALIGNED) != 0) ? 32 : 16);
    t.number               = what;
    t.launch.switch_period = 1u + what;
    status                 = simt_run(&t.launch, disagree_kernel, &t, &t.result);
    if ((status != SHPOOL_OK) && (what != MASKS)) {
        fail_msg("%s, case %u: %s", allocator->name, what, t.result.text);
    }
    assert_model(&t.model);
    assert_int_equal(shpool_simt_report(&t.pool, &t.report), SHPOOL_OK);
    return status;
}

/* Every group with more than one member is reported once; if it asked for memory, as a failure. */
static void expect_reports(const shpool_allocator *allocator, uint32_t what, uint32_t groups)
{
    uint32_t reports = (what == WITHOUT_ITSELF) ? 2u * groups : (what == BEYOND) ? 16u : groups;
    uint32_t failed  = ((what == POINTER) || (what == RESIZED)) ? 0u
                       : (what == WITHOUT_ITSELF) ? groups : reports;

    if (t.report.bad_frees != reports) {
        fail_msg("%s, case %u: %u reports, not %u", allocator->name, what, t.report.bad_frees,
                 reports);
    }
    for (uint32_t i = 0; (i < reports) && (i < SHPOOL_BAD_FREE_SLOTS); i++) {
        assert_int_equal(t.report.bad_free[i].reason, SHPOOL_FREE_GROUP);
        assert_int_equal(t.report.bad_free[i].site, 0);
        if (what != POINTER && what != RESIZED) {
            assert_int_equal(t.report.bad_free[i].address, 0);
        }
    }
    assert_int_equal(t.report.failures, failed);
    assert_int_equal(t.report.refusals, failed);
    assert_int_equal(t.report.refused.reason, (failed != 0) ? SHPOOL_REFUSED_GROUP : 0);
    assert_int_equal(t.report.waits, 0);
    assert_int_equal(t.report.frees, 0);
    assert_int_equal(t.report.mallocs, groups + failed); /* one before they disagreed */
    assert_int_equal(t.report.leaks, groups);
}

UNIT_TEST(test_members_that_disagree_are_reported)
{
    FOR_EACH_POOL(allocator) {
        if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
            continue;
        }
        for (uint32_t what = BYTES; what < MASKS; what++) {
            if (is_of_alignment(what) && ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0)) {
                continue;
            }
            shape = (what < WITHOUT_ITSELF) ? &tiles : &full;
            assert_int_equal(disagree(allocator, what), SHPOOL_OK);
            expect_reports(allocator, what, (shape == &tiles) ? 5u : 2u);
            trial_close(&t);
        }
    }
}

/* The lanes that come together see it, or they wait for each other and the executor says so. */
UNIT_TEST(test_masks_that_differ)
{
    FOR_EACH_POOL(allocator) {
        shpool_status status;

        if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
            continue;
        }
        shape  = &tiles;
        status = disagree(allocator, MASKS);
        assert_true((status == SHPOOL_OK) || (status == SHPOOL_ERR_DIVERGENCE) ||
                    (status == SHPOOL_ERR_DEADLOCK));
        assert_true((status != SHPOOL_OK) || (t.report.bad_frees > 0));
        trial_close(&t);
    }
}

/* ---- a block that disagrees ---- */

static void block_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    group       g    = group_of(&a_block);
    uint32_t    odd  = simt_thread_rank() == p->number;
    char       *a    = (char *)shpool_malloc_block(heap, odd ? 4000u : 60u); /* the first one's */
    char       *b;

    EXPECT(p, (a != NULL) && ((simt_thread_rank() != 0) || (shpool_usable_size(heap, a) == 60)));
    group_fill(g, a, 60, 5);
    b = (char *)shpool_realloc_block(heap, a, odd ? 3000u : 600u);
    EXPECT(p, (b != NULL) && ((simt_thread_rank() != 0) || (shpool_usable_size(heap, b) == 600)));
    group_verify(p, g, b, 60, 5);
    a = (char *)shpool_realloc_block(heap, odd ? NULL : b, 800);
    EXPECT(p, (a != NULL) && ((simt_thread_rank() != 0) || (shpool_usable_size(heap, a) == 800)));
    group_verify(p, g, a, 60, 5);
    shpool_free_block(heap, odd ? NULL : a);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_a_block_that_disagrees_does_as_its_first_thread)
{
    static const uint32_t odd[] = { 5, 31, 32, 39 };

    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; (i < 4) && ((allocator->caps & SHPOOL_CAP_CHECK) != 0); i++) {
            trial_open(&t, allocator, ":check=1", 40, 2000, 16);
            t.number               = odd[i];
            t.launch.switch_period = (uint32_t)i;
            trial_run(&t, block_kernel);
            assert_true(t.report.bad_frees >= 4);
            for (uint32_t k = 0; k < t.report.bad_frees; k++) {
                assert_int_equal(t.report.bad_free[k].reason, SHPOOL_FREE_GROUP);
                assert_int_equal(t.report.bad_free[k].thread, odd[i]);
            }
            assert_int_equal(t.report.leaks, 0);
            trial_close(&t);
        }
    }
}

/* The first warp makes the block's request: its lanes must agree about the rest, too. */
static void first_warp_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    odd  = simt_thread_rank() == p->number;

    if (has_cap(p, SHPOOL_CAP_ALIGNED)) {
        EXPECT(p, shpool_aligned_malloc_block(heap, odd ? 32u : 16u, 64) == NULL);
        EXPECT(p, shpool_aligned_malloc_block(heap, odd ? 24u : 16u, 64) == NULL);
    }
    EXPECT(p, shpool_malloc_wait_block(heap, 64, odd ? 1u : 100u) == NULL);
    shpool_fini(heap);
}

UNIT_TEST(test_a_first_warp_that_disagrees_gets_nothing)
{
    FOR_EACH_POOL(allocator) {
        const uint32_t aligned = (allocator->caps & SHPOOL_CAP_ALIGNED) != 0;

        for (uint32_t odd = 0; (odd < 32u) && ((allocator->caps & SHPOOL_CAP_CHECK) != 0);
             odd += 31u) {
            trial_open(&t, allocator, ":check=1", 40, 2000, aligned ? 32 : 16);
            t.number               = odd;
            t.launch.switch_period = odd;
            trial_run(&t, first_warp_kernel);
            assert_int_equal(t.report.bad_frees, aligned ? 3 : 1);
            assert_int_equal(t.report.mallocs, t.report.bad_frees);
            assert_int_equal(t.report.failures, t.report.bad_frees);
            assert_int_equal(t.report.waits, 0);
            trial_close(&t);
        }
    }
}

/* ---- without a barrier ---- */

/* The last member asks for the size, and frees, as the first thing that it does. */
static void at_once_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    group       g    = group_of(shape);

    for (uint32_t i = 0; i < 4u; i++) {
        uint32_t *at = (uint32_t *)group_malloc(heap, g, 60u + 200u * i, 16);

        EXPECT(p, at != NULL);
        if ((g.member == g.members - 1u) && (at != NULL)) {
            at[0] = i;
            EXPECT(p, shpool_usable_size(heap, at) >= 60u + 200u * i);
            EXPECT(p, shpool_free_at(heap, at, 0) == SHPOOL_FREE_OK);
        }
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_another_member_frees_at_once)
{
    const group_shape *const shapes[] = { &tiles, &full, &of_warps, &a_block };

    FOR_EACH_POOL(allocator) {
        for (uint32_t i = 0; (i < 32) && (allocator->scope >= SHPOOL_SCOPE_BLOCK); i++) {
            shape = shapes[i / 2u % 4u];
            trial_open(&t, allocator, (i % 2u == 0) ? "" : ":check=1", shape->threads, 30000, 16);
            t.launch.switch_period = 1u + i % 8u;
            t.launch.seed          = i / 8u;
            trial_run(&t, at_once_kernel);
            trial_close(&t);
        }
    }
}

/* ---- spill ---- */

/* One group of each block: too large for the pool, then into it, and out again. */
static void spill_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    group       g    = group_of(shape);
    uint32_t    big  = p->pool.largest + 400u;
    char       *at;

    if (g.id == 0) {
        at = (char *)group_malloc(heap, g, big, 16);
        EXPECT(p, (at != NULL) && !shpool_is_shared(at));
        group_fill(g, at, big, 1);
        at = (char *)group_realloc(heap, g, at, 60);
        EXPECT(p, (at != NULL) && ((p->pool.pool_bytes == 0) == !shpool_is_shared(at)));
        group_verify(p, g, at, 60, 1);
        at = (char *)group_realloc(heap, g, at, big + 80u);
        EXPECT(p, (at != NULL) && !shpool_is_shared(at));
        group_verify(p, g, at, 60, 1);
        group_fill(g, at, big + 80u, 2);
        EXPECT(p, group_malloc(heap, g, SIZE_MAX, 16) == NULL);
        group_verify(p, g, at, big + 80u, 2);
        if (g.kind == OF_LANES) {
            void *more = shpool_malloc_wait_lanes(heap, g.lanes, big, 3);

            EXPECT(p, (more == NULL) == (p->pool.pool_bytes != 0)); /* from a pool: never spills */
            EXPECT(p, group_free(heap, g, more) == SHPOOL_FREE_OK);
        }
        EXPECT(p, group_free(heap, g, at) == SHPOOL_FREE_OK);
        at = (char *)group_malloc(heap, g, big, 16);
        group_sync(g);
        if (g.member == 0) {
            EXPECT(p, shpool_free_at(heap, at, 0) == SHPOOL_FREE_OK);
        }
    }
    simt_barrier();
    shpool_fini(heap);
}

UNIT_TEST(test_groups_spill)
{
    static const char *const options[] = { ":spill=native", ":spill=arena,spill_blocks=4",
                                           ":spill=native,stats=1",
                                           ":spill=arena,spill_blocks=4,check=1" };
    const group_shape *const shapes[] = { &tiles, &full, &of_warps, &a_block };

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        for (uint32_t k = 0; (k < 16) && ((allocator->caps & SHPOOL_CAP_NONE) == 0); k++) {
            if (((strstr(options[k % 4u], "check") != NULL) &&
                 ((allocator->caps & SHPOOL_CAP_CHECK) == 0)) ||
                ((strstr(options[k % 4u], "arena") != NULL) &&
                 (allocator->scope == SHPOOL_SCOPE_CLUSTER))) {
                continue;
            }
            shape = shapes[k / 4u];
            trial_open(&t, allocator, options[k % 4u], shape->threads, 500, 16);
            t.launch.switch_period = k % 5u;
            trial_run(&t, spill_kernel);
            if ((k % 4u >= 2u) && has_pool(allocator)) { /* each of the group's requests once */
                assert_int_equal(t.report.spills, 3);
                assert_int_equal(t.report.mallocs, 5u + (shape->kind == OF_LANES));
                assert_int_equal(t.report.failures, 1u + (shape->kind == OF_LANES));
                assert_int_equal(t.report.frees, 4);
                assert_int_equal(t.report.live_bytes, 0);
            }
            trial_close(&t);
        }
    }
}
