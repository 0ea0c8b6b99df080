/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups that free what is not theirs to free, members that disagree, and what does not fit the
 * pool. */
#include "group_trial.h"

#include "calls.h"

static const group_shape *shape;
static uint32_t           answers; /* of members */

static const group_shape tiles    = { "tiles of 8", 40, OF_LANES, 0, 8 };
static const group_shape full     = { "lanes of a warp", 40, OF_LANES, SIMT_ALL_LANES, 0 };
static const group_shape pairs    = { "every fourth lane", 40, OF_LANES, 0x11111111u, 0 };
static const group_shape of_warps = { "warps", 40, OF_WARPS, 0, 0 };
static const group_shape a_block  = { "block", 40, OF_BLOCK, 0, 0 };

static const group_shape *const shapes[] = { &tiles, &full, &pairs, &of_warps, &a_block };

static void choose_shape(void)
{
    shape   = shapes[t.number];
    answers = 0;
}

#define CHECKED .options = { ":check=1" }, .threads = { 40 }

/* ---- bad frees ---- */

/* All members have the same answer, and it is a refusal. */
static void refuse(shpool_heap heap, group g, void *ptr, uint32_t reason)
{
    uint32_t got = group_free(heap, g, ptr);

    EXPECT(got != SHPOOL_FREE_OK);
    if (reason != 0) {
        EXPECT(got == reason);
    }
    if (g.member == 0) {
        simt_global_add32(&answers, 1);
    }
}

static void bad_frees_kernel(shpool_heap heap)
{
    static char foreign[64];
    group       g     = group_of(shape);
    uint32_t    knows = has_cap(&t, SHPOOL_CAP_REFUSES) && has_cap(&t, SHPOOL_CAP_OUT_OF_BAND);
    char       *live  = (char *)group_malloc(heap, g, 300, 16);
    char       *gone  = (char *)group_malloc(heap, g, 200, 16);

    EXPECT((live != NULL) && (gone != NULL));
    group_fill(g, live, 300, g.id);
    simt_barrier(); /* no thread gets memory that another one has freed */
    EXPECT(group_free(heap, g, gone) == SHPOOL_FREE_OK);
    simt_barrier();
    refuse(heap, g, gone, knows ? SHPOOL_FREE_DOUBLE : 0u);
    refuse(heap, g, live + 16, knows ? SHPOOL_FREE_INTERIOR : 0u);
    refuse(heap, g, live + 4, 0);
    refuse(heap, g, foreign, SHPOOL_FREE_FOREIGN);
    refuse(heap, g, simt_from_shared(simt_dynamic_base() + t.pool.shared_bytes),
           SHPOOL_FREE_FOREIGN);
    EXPECT(group_free(heap, g, NULL) == SHPOOL_FREE_OK);
    EXPECT(group_realloc(heap, g, gone, 100) == NULL);
    group_sync(g);
    group_verify(g, live, 300, g.id);
    EXPECT(group_free(heap, g, live) == SHPOOL_FREE_OK);
}

/* Once for each group; that of realloc, too. */
static void expect_refusals(void)
{
    assert_true(answers > 0);
    assert_true((t.pool.report == NULL) || (t.report.bad_frees == answers / 5u * 6u));
}

UNIT_TEST(test_bad_frees_are_refused)
{
    scene s = { .body = bad_frees_kernel, CHECKED, .per_thread = 1500, .numbers = 3, .seeds = 4,
                .periods = 4, .tune = choose_shape, .report = "live_bytes 0, leaks 0",
                .expect = expect_refusals };

    run_scene(&s);
    s.options[0] = "";
    s.caps       = SHPOOL_CAP_REFUSES;
    run_scene(&s);
}

/* ---- members that disagree ---- */

/* A call of lanes: what all members but the last one give it, and the last.  A lane that returns
 * at once must not leave the others alone in the queue. */
static const struct disagreement {
    uint32_t call; /* of calls.h */
    uint32_t bytes[2], alignment[2], attempts[2];
} disagreements[] = {
    { CALL_malloc_lanes, { 64, 65 }, { 16, 16 }, { 100, 100 } },
    { CALL_aligned_malloc_lanes, { 64, 64 }, { 16, 32 }, { 100, 100 } },
    { CALL_aligned_malloc_lanes, { 64, 64 }, { 16, 24 }, { 100, 100 } },
    { CALL_realloc_lanes, { 80, 64 }, { 16, 16 }, { 100, 100 } },
    { CALL_malloc_wait_lanes, { 80, 64 }, { 16, 16 }, { 100, 100 } },
    { CALL_malloc_wait_lanes, { 80, 80 }, { 16, 16 }, { 100, 1 } },
    { CALL_aligned_malloc_wait_lanes, { 80, 80 }, { 16, 32 }, { 100, 100 } },
    { CALL_aligned_malloc_wait_lanes, { 80, 80 }, { 16, 24 }, { 100, 100 } },
};

/* And what is not a call with other arguments. */
enum { POINTER = sizeof(disagreements) / sizeof(disagreements[0]), WITHOUT_ITSELF, BEYOND, MASKS };

static void disagree_kernel(shpool_heap heap)
{
    group    g     = group_of(shape);
    uint32_t odd   = (g.member == g.members - 1u) && (g.members > 1u);
    char    *live  = (char *)group_malloc(heap, g, 100, 16);
    uint32_t lanes = g.lanes;

    EXPECT(live != NULL);
    group_fill(g, live, 100, g.id);
    if (t.number < POINTER) {
        const struct disagreement *d = &disagreements[t.number];

        EXPECT(call_make(d->call, heap, lanes, live, d->alignment[odd], d->bytes[odd],
                         d->attempts[odd]) == NULL);
    } else if (t.number == POINTER) {
        EXPECT(shpool_free_lanes_at(heap, lanes, odd ? live + 16 : live, 0) == SHPOOL_FREE_GROUP);
    } else if ((t.number == WITHOUT_ITSELF) && odd) { /* the others are a group without it */
        lanes &= ~(1u << (g.id % SIMT_WARP + g.members - 1u));
        EXPECT(shpool_malloc_lanes(heap, lanes, 64) == NULL);
        EXPECT(shpool_free_lanes_at(heap, lanes, NULL, 0) == SHPOOL_FREE_GROUP);
    } else if ((t.number == BEYOND) && (lanes != SIMT_ALL_LANES)) {
        EXPECT(shpool_malloc_lanes(heap, SIMT_ALL_LANES, 64) == NULL);
        EXPECT(shpool_malloc_wait_lanes(heap, SIMT_ALL_LANES, 64, 4) == NULL);
    } else if (t.number == MASKS) {
        lanes &= odd ? ~(1u << shpool_first_lane(lanes)) : ~0u;
        EXPECT(shpool_malloc_lanes(heap, lanes, 64) == NULL);
    }
    simt_global_add32(&answers, 1);
}

static uint32_t flags_of_call(void)
{
    return (t.number < POINTER) ? call_rows[disagreements[t.number].call].flags : 0u;
}

static void choose_case(void)
{
    if (((flags_of_call() & CALL_ALIGNS) != 0) && !has_cap(&t, SHPOOL_CAP_ALIGNED)) {
        t.number = 0;
    }
    shape                  = (t.number < WITHOUT_ITSELF) ? &tiles : &full;
    t.launch.switch_period = 1u + (uint32_t)t.number;
}

/* Every group with more than one member is reported once; if it asked for memory, as a failure. */
static void expect_reports(void)
{
    const size_t   what    = t.number;
    const uint32_t groups  = (shape == &tiles) ? 5u : 2u;
    const uint32_t reports = (what == BEYOND) ? 16u : (what == WITHOUT_ITSELF) ? 2u * groups
                                                                                  : groups;
    const uint32_t of_live = (what == POINTER) || ((flags_of_call() & CALL_MOVES) != 0);
    const uint32_t failed  = of_live ? 0u : (what == WITHOUT_ITSELF) ? groups : reports;

    if (t.report.bad_frees != reports) {
        fail_msg("%s, case %zu: %u reports, not %u", TRIAL_NAME(&t), what, t.report.bad_frees,
                 reports);
    }
    for (uint32_t i = 0; (i < reports) && (i < SHPOOL_BAD_FREE_SLOTS); i++) {
        assert_int_equal(t.report.bad_free[i].reason, SHPOOL_FREE_GROUP);
        assert_int_equal(t.report.bad_free[i].site, 0);
        if (!of_live) {
            assert_int_equal(t.report.bad_free[i].address, 0);
        }
    }
    assert_int_equal(t.report.failures, failed);
    assert_int_equal(t.report.refusals, failed);
    assert_int_equal(t.report.refused.reason, (failed != 0) ? SHPOOL_REFUSED_GROUP : 0);
    assert_int_equal(t.report.mallocs, groups + failed); /* one before they disagreed */
    assert_int_equal(t.report.leaks, groups);
}

SCENE(test_members_that_disagree_are_reported, disagree_kernel, CHECKED, .alignments = { 32 },
      .per_thread = 1500, .numbers = MASKS, .tune = choose_case, .leaves = 1,
      .report = "waits 0, frees 0", .expect = expect_reports)

/* The lanes that come together see it, or they wait for each other and the executor says so. */
static void run_masks(const shpool_allocator *allocator, const char *options)
{
    shpool_status status;

    open_scene(allocator, options, 40, 32);
    shape                  = &tiles;
    t.number               = MASKS;
    t.launch.switch_period = 1u + MASKS;
    status                 = simt_run(&t.launch, scene_kernel, &t, &t.result);
    assert_model(&t.model);
    assert_int_equal(shpool_simt_report(&t.pool, &t.report), SHPOOL_OK);
    assert_true((status == SHPOOL_OK) || (status == SHPOOL_ERR_DIVERGENCE) ||
                (status == SHPOOL_ERR_DEADLOCK));
    assert_true((status != SHPOOL_OK) || (t.report.bad_frees > 0));
    trial_close(&t);
}

UNIT_TEST(test_masks_that_differ)
{
    static const scene s = { .body = disagree_kernel, CHECKED, .per_thread = 1500, .leaves = 1 };

    for_each_pool(&s, run_masks);
}

/* ---- a block that disagrees ---- */

static void block_kernel(shpool_heap heap)
{
    group    g   = group_of(&a_block);
    uint32_t odd = simt_thread_rank() == t.number;
    char    *a   = (char *)shpool_malloc_block(heap, odd ? 4000u : 60u); /* the first one's */
    char    *b;

    EXPECT((a != NULL) && ((simt_thread_rank() != 0) || (shpool_usable_size(heap, a) == 60)));
    group_fill(g, a, 60, 5);
    b = (char *)shpool_realloc_block(heap, a, odd ? 3000u : 600u);
    EXPECT((b != NULL) && ((simt_thread_rank() != 0) || (shpool_usable_size(heap, b) == 600)));
    group_verify(g, b, 60, 5);
    a = (char *)shpool_realloc_block(heap, odd ? NULL : b, 800);
    EXPECT((a != NULL) && ((simt_thread_rank() != 0) || (shpool_usable_size(heap, a) == 800)));
    group_verify(g, a, 60, 5);
    shpool_free_block(heap, odd ? NULL : a);
}

static void choose_odd(void)
{
    static const uint32_t odd[] = { 5, 31, 32, 39 };

    t.launch.switch_period = (uint32_t)t.number;
    t.number               = odd[t.number];
}

static void expect_the_odd_one(void)
{
    assert_true(t.report.bad_frees >= 4);
    for (uint32_t k = 0; k < t.report.bad_frees; k++) {
        assert_int_equal(t.report.bad_free[k].reason, SHPOOL_FREE_GROUP);
        assert_int_equal(t.report.bad_free[k].thread, t.number);
    }
}

SCENE(test_a_block_that_disagrees_does_as_its_first_thread, block_kernel, CHECKED, .each = 2000,
      .numbers = 4, .tune = choose_odd, .report = "leaks 0", .expect = expect_the_odd_one)

/* The first warp makes the block's request: its lanes must agree about the rest, too. */
static void first_warp_kernel(shpool_heap heap)
{
    uint32_t odd = simt_thread_rank() == t.number;

    if (has_cap(&t, SHPOOL_CAP_ALIGNED)) {
        EXPECT(shpool_aligned_malloc_block(heap, odd ? 32u : 16u, 64) == NULL);
        EXPECT(shpool_aligned_malloc_block(heap, odd ? 24u : 16u, 64) == NULL);
    }
    EXPECT(shpool_malloc_wait_block(heap, 64, odd ? 1u : 100u) == NULL);
}

static void choose_first_or_last(void)
{
    t.launch.switch_period = 31u * (uint32_t)t.number;
    t.number              *= 31u;
}

static void expect_nothing(void)
{
    assert_int_equal(t.report.bad_frees, has_cap(&t, SHPOOL_CAP_ALIGNED) ? 3 : 1);
    assert_int_equal(t.report.mallocs, t.report.bad_frees);
    assert_int_equal(t.report.failures, t.report.bad_frees);
}

SCENE(test_a_first_warp_that_disagrees_gets_nothing, first_warp_kernel, CHECKED, .each = 2000,
      .alignments = { 32 }, .numbers = 2, .tune = choose_first_or_last, .leaves = 1,
      .report = "waits 0", .expect = expect_nothing)

/* ---- without a barrier ---- */

/* The last member asks for the size, and frees, as the first thing that it does. */
static void at_once_kernel(shpool_heap heap)
{
    group g = group_of(shape);

    for (uint32_t i = 0; i < 4u; i++) {
        uint32_t *at = (uint32_t *)group_malloc(heap, g, 60u + 200u * i, 16);

        EXPECT(at != NULL);
        if ((g.member == g.members - 1u) && (at != NULL)) {
            at[0] = i;
            EXPECT(shpool_usable_size(heap, at) >= 60u + 200u * i);
            EXPECT(shpool_free_at(heap, at, 0) == SHPOOL_FREE_OK);
        }
    }
}

static int is_of_blocks(const shpool_allocator *allocator)
{
    return has_pool(allocator) && (allocator->scope >= SHPOOL_SCOPE_BLOCK);
}

SCENE(test_another_member_frees_at_once, at_once_kernel, .takes = is_of_blocks,
      .options = { "", ":check=1" }, .threads = { 40 }, .each = 30000, .numbers = 5, .seeds = 9,
      .periods = 9, .tune = choose_shape)

/* ---- spill ---- */

/* One group of each block: too large for the pool, then into it, and out again. */
static void spill_kernel(shpool_heap heap)
{
    group    g   = group_of(shape);
    uint32_t big = t.pool.largest + 400u;
    char    *at;

    if (g.id == 0) {
        at = (char *)group_malloc(heap, g, big, 16);
        EXPECT((at != NULL) && !shpool_is_shared(at));
        group_fill(g, at, big, 1);
        at = (char *)group_realloc(heap, g, at, 60);
        EXPECT((at != NULL) && ((t.pool.pool_bytes == 0) == !shpool_is_shared(at)));
        group_verify(g, at, 60, 1);
        at = (char *)group_realloc(heap, g, at, big + 80u);
        EXPECT((at != NULL) && !shpool_is_shared(at));
        group_verify(g, at, 60, 1);
        group_fill(g, at, big + 80u, 2);
        EXPECT(group_malloc(heap, g, SIZE_MAX, 16) == NULL);
        group_verify(g, at, big + 80u, 2);
        if (g.kind == OF_LANES) {
            void *more = shpool_malloc_wait_lanes(heap, g.lanes, big, 3);

            EXPECT((more == NULL) == (t.pool.pool_bytes != 0)); /* from a pool: never spills */
            EXPECT(group_free(heap, g, more) == SHPOOL_FREE_OK);
        }
        EXPECT(group_free(heap, g, at) == SHPOOL_FREE_OK);
        at = (char *)group_malloc(heap, g, big, 16);
        group_sync(g);
        if (g.member == 0) {
            EXPECT(shpool_free_at(heap, at, 0) == SHPOOL_FREE_OK);
        }
    }
    simt_barrier();
}

/* Each of the group's requests once. */
static void expect_spills(void)
{
    const uint32_t waits = (shape->kind == OF_LANES);

    if (((t.pool.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) && has_pool(t.allocator)) {
        expect_report("spills 3, frees 4, live_bytes 0", "");
        assert_int_equal(t.report.mallocs, 5u + waits);
        assert_int_equal(t.report.failures, 1u + waits);
    }
}

SCENE(test_groups_spill, spill_kernel, .takes = serves, .options = { ":spill=native",
      ":spill=arena,spill_blocks=4", ":spill=native,stats=1",
      ":spill=arena,spill_blocks=4,check=1" }, .threads = { 40 }, .each = 500, .numbers = 5,
      .seeds = 4, .periods = 4, .tune = choose_shape, .leaves = 1, .expect = expect_spills)
