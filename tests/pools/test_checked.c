/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1 of every allocator: red zones, poison, sites of allocation, leaks. */
#include "scene.h"

/* ---- red zones ---- */

enum { BEHIND, BEHIND_FREED, IN_FRONT, FAR_IN_FRONT, PLACES };

/* Writes one word outside an allocation that has another one beside it. */
static void overrun_kernel(shpool_heap heap)
{
    uint32_t *a    = (uint32_t *)shpool_malloc_at(heap, 27, 71);
    uint32_t *b    = (uint32_t *)shpool_malloc_at(heap, 27, 71);
    uint32_t *low  = (a < b) ? a : b;
    uint32_t *high = (a < b) ? b : a;
    uint32_t *at   = NULL;

    EXPECT((a != NULL) && (b != NULL));
    EXPECT(shpool_usable_size(heap, low) == 28);
    if (t.number == BEHIND_FREED) {
        EXPECT(shpool_free_at(heap, high, 0) == SHPOOL_FREE_OK);
    }
    switch (t.number) {
    case IN_FRONT:     at = &high[-1]; break;
    case FAR_IN_FRONT: at = &high[-4]; break;
    default:           at = &low[7]; break;
    }
    EXPECT(shpool_check(heap).broken == 0);
    *at ^= 0x00010000u;
    EXPECT(shpool_check(heap).broken != 0);
    EXPECT(shpool_check(heap).where != 0);
    EXPECT(shpool_free_at(heap, (at >= &high[-4]) ? high : low, 5) == SHPOOL_FREE_CORRUPT);
    /* the same bytes again: nothing was changed by the refusal */
    *at ^= 0x00010000u;
    EXPECT(shpool_check(heap).broken == 0);
    EXPECT(shpool_free_at(heap, low, 0) == SHPOOL_FREE_OK);
    if (t.number != BEHIND_FREED) {
        EXPECT(shpool_free_at(heap, high, 0) == SHPOOL_FREE_OK);
    }
}

static void expect_one_corrupt(void)
{
    assert_int_equal(t.report.bad_free[0].reason, SHPOOL_FREE_CORRUPT);
    assert_int_equal(t.report.bad_free[0].site, 5);
    if ((t.number == BEHIND) || (t.number == BEHIND_FREED)) { /* else its record may be hit */
        assert_int_equal(t.report.bad_free[0].malloc_site, 71);
    }
}

UNIT_TEST(test_a_word_outside_is_refused_as_corrupt)
{
    scene s = { .body = overrun_kernel, .options = { ":check=1" }, .each = 600, .numbers = PLACES,
                .report = "bad_frees 1, corrupt 0, leaks 0", .expect = expect_one_corrupt };

    run_scene(&s);
    s.caps           = SHPOOL_CAP_ALIGNED;
    s.alignments[0]  = 128;
    s.each           = 2000;
    run_scene(&s);
}

/* Every word of both zones, one after another; the damage stays until the end. */
static void each_word_kernel(shpool_heap heap)
{
    uint32_t  front = t.pool.alignment / 4u;
    uint32_t *a     = (uint32_t *)shpool_aligned_malloc(heap, t.pool.alignment, 40);

    EXPECT((a != NULL) && (((size_t)a & (t.pool.alignment - 1u)) == 0));
    for (uint32_t i = 0; i <= front; i++) {
        uint32_t *word = (i == front) ? &a[10] : a - front + i;

        for (uint32_t bit = 0; bit < 32; bit++) {
            *word ^= 1u << bit;
            EXPECT(shpool_check(heap).broken == SHPOOL_BROKEN_ZONE);
            EXPECT(shpool_check(heap).where == simt_to_shared(a));
            *word ^= 1u << bit;
        }
        *word ^= 1u;
        EXPECT(shpool_realloc(heap, a, 4) == NULL);
        *word ^= 1u;
        EXPECT(shpool_check(heap).broken == 0);
    }
    a[-1] ^= 0x80000000u;
}

static void expect_one_damaged_pool(void)
{
    assert_int_equal(t.report.bad_frees, t.pool.alignment / 4u + 1u); /* the reallocs */
    assert_int_equal(t.report.leak[0].usable, 0);                     /* not known any more */
}

SCENE(test_each_word_of_the_zones_counts, each_word_kernel, .options = { ":check=1" },
      .caps = SHPOOL_CAP_ALIGNED, .alignments = { 16, 256 }, .each = 4000, .leaves = 1,
      .report = "corrupt 1, leaks 1", .expect = expect_one_damaged_pool)

/* In place or moved, zones go with the payload. */
static void realloc_kernel(shpool_heap heap)
{
    uint32_t *a = (uint32_t *)shpool_malloc_at(heap, 100, 9);

    for (uint32_t i = 0; (a != NULL) && (i < 25); i++) {
        a[i] = i;
    }
    for (uint32_t bytes = 100; (a != NULL) && (bytes > 4); bytes = (bytes * 7u) / 8u) {
        a = (uint32_t *)shpool_realloc(heap, a, bytes);
        EXPECT((a != NULL) && (shpool_usable_size(heap, a) == ((bytes + 3u) & ~3u)));
        for (uint32_t i = 0; (a != NULL) && (i < bytes / 4u); i++) {
            EXPECT(a[i] == i);
        }
        EXPECT(shpool_check(heap).broken == 0);
        EXPECT(shpool_check(heap).used == ((bytes + 3u) & ~3u));
    }
    a = (uint32_t *)shpool_realloc(heap, a, 300);
    EXPECT((a != NULL) && (shpool_usable_size(heap, a) == 300) && (a[0] == 0));
    EXPECT(shpool_check(heap).broken == 0);
    a[75] ^= 1u;
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_CORRUPT);
    a[75] ^= 1u;
    shpool_free(heap, a);
}

static void expect_the_first_site(void)
{
    assert_int_equal(t.report.bad_free[0].malloc_site, 9);
}

SCENE(test_zones_go_with_a_realloc, realloc_kernel, .options = { ":check=1" }, .each = 800,
      .report = "bad_frees 1, corrupt 0, leaks 0", .expect = expect_the_first_site)

/* ---- poison ---- */

/* An allocator may write links into a freed block's first words; none needs more than 32 bytes. */
static void poison_kernel(shpool_heap heap)
{
    const uint32_t *a = (const uint32_t *)shpool_malloc(heap, 200);
    const uint32_t *b = (const uint32_t *)shpool_malloc(heap, 64);

    EXPECT((a != NULL) && (b != NULL));
    shpool_zero_words((void *)(size_t)a, 200);
    EXPECT(shpool_free_at(heap, (void *)(size_t)a, 0) == SHPOOL_FREE_OK);
    for (uint32_t i = 8; i < 50; i++) {
        EXPECT(a[i] == 0xddddddddu);
    }
    EXPECT(shpool_free_at(heap, (void *)(size_t)b, 0) == SHPOOL_FREE_OK);
}

SCENE(test_what_was_freed_is_poisoned, poison_kernel, .options = { ":check=1" }, .each = 600,
      .report = "bad_frees 0, corrupt 0, leaks 0, live_bytes 0")

/* ---- who allocated it ---- */

static void twice_kernel(shpool_heap heap)
{
    void *a = shpool_malloc_at(heap, 64, 33);
    void *b = shpool_malloc_at(heap, 64, 34); /* keeps what is freed apart */

    EXPECT((a != NULL) && (b != NULL));
    simt_barrier();
    if (simt_thread_rank() == 2) {
        EXPECT(shpool_free_at(heap, a, 35) == SHPOOL_FREE_OK);
        EXPECT(shpool_free_at(heap, a, 36) == SHPOOL_FREE_DOUBLE);
    }
    simt_barrier();
    if (simt_thread_rank() != 2) {
        EXPECT(shpool_free_at(heap, a, 35) == SHPOOL_FREE_OK);
    }
    EXPECT(shpool_free_at(heap, b, 35) == SHPOOL_FREE_OK);
}

static void expect_double_of_thread_2(void)
{
    const shpool_bad_free *bad = &t.report.bad_free[0];

    assert_int_equal(bad->reason, SHPOOL_FREE_DOUBLE);
    assert_int_equal(bad->site, 36);
    assert_int_equal(bad->thread, 2);
    if ((strcmp(TRIAL_NAME(&t), "freelist") == 0) || (strcmp(TRIAL_NAME(&t), "rbtree") == 0)) {
        /* their links may lie where it was; never a wrong one */
        assert_true(((bad->malloc_site == 33) && (bad->malloc_thread == 2)) ||
                    ((bad->malloc_site == 0) && (bad->malloc_thread == 0)));
    } else {
        assert_int_equal(bad->malloc_site, 33);
        assert_int_equal(bad->malloc_thread, 2);
    }
}

SCENE(test_a_double_free_names_the_site_of_the_malloc, twice_kernel, .options = { ":check=1" },
      .threads = { 4 }, .each = 1200, .report = "bad_frees 1", .expect = expect_double_of_thread_2)

/* ---- leaks ---- */

#define LEAKERS 3u

static unsigned long long leaked[LEAKERS];

static void leak_kernel(shpool_heap heap)
{
    uint32_t rank = simt_thread_rank();
    void    *kept = NULL;
    void    *gone = shpool_malloc_at(heap, 50, 1);

    if ((simt_block_rank() == 1) && (rank < LEAKERS)) {
        kept         = shpool_malloc_at(heap, 30u + 10u * rank, 60u + rank);
        leaked[rank] = (unsigned long long)(size_t)kept;
        EXPECT(kept != NULL);
    }
    shpool_free(heap, gone);
}

static void expect_the_leaks(void)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < LEAKERS; i++) {
        const shpool_leak *leak = &t.report.leak[i];

        assert_in_range(leak->thread, 0, LEAKERS - 1);
        assert_int_equal(leak->block, 1);
        assert_int_equal(leak->site, 60 + leak->thread);
        assert_int_equal(leak->usable, (30 + 10 * leak->thread + 3) & ~3u);
        assert_int_equal(leak->address, leaked[leak->thread]);
        seen |= 1u << leak->thread;
    }
    assert_int_equal(seen, (1u << LEAKERS) - 1);
}

SCENE(test_leaks_are_listed, leak_kernel, .options = { ":check=1" }, .threads = { 5 },
      .blocks = 2, .each = 1000, .leaves = 1, .report = "leaks 3, live 3, corrupt 0",
      .expect = expect_the_leaks)

static void many_leaks_kernel(shpool_heap heap)
{
    EXPECT(shpool_malloc_at(heap, 20, 7) != NULL);
}

static void expect_counted_leaks(void)
{
    for (uint32_t i = 0; i < SHPOOL_LEAK_SLOTS; i++) {
        assert_int_equal(t.report.leak[i].site, 7);
    }
}

SCENE(test_leaks_beyond_the_slots_are_counted, many_leaks_kernel, .options = { ":check=1" },
      .threads = { 40 }, .each = 3000, .leaves = 1, .report = "leaks 40",
      .expect = expect_counted_leaks)

/* Several frees of one allocation at the same time: one is right.  ThreadSanitizer is right, too:
 * such a program has a race, and those that lose look at what may be another's by then. */
#if !defined(__SANITIZE_THREAD__)
static void rivals_kernel(shpool_heap heap)
{
    uint32_t rank = simt_thread_rank();

    if (rank == 0) {
        t.box[0].at = (unsigned char *)shpool_malloc(heap, 64);
    }
    simt_barrier();
    if (rank == 3) { /* at work meanwhile, in sizes that do not take the same place */
        for (uint32_t i = 0; i < 6; i++) {
            void *other = shpool_malloc(heap, 200);

            EXPECT((other != NULL) && (shpool_free_at(heap, other, 0) == SHPOOL_FREE_OK));
        }
    } else if (shpool_free_at(heap, t.box[0].at, 0) == SHPOOL_FREE_OK) {
        simt_global_add32(&t.steps, 1);
    }
}

static void expect_one_free(void)
{
    assert_int_equal(t.steps, 1);
}

SCENE(test_of_several_frees_at_once_one_is_right, rivals_kernel, .takes = shares,
      .options = { ":check=1" }, .threads = { 4 }, .each = 1000, .seeds = 40, .periods = 40,
      .report = "frees 7+1p, bad_frees 2, live_bytes 0, corrupt 0", .expect = expect_one_free)

#endif
