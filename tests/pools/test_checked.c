/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1 of every allocator: red zones, poison, sites of allocation, leaks. */
#include "heap_trial.h"

static trial t;

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

/* For each allocator with a checked mode, `threads` threads; payload and alignment of a pool. */
static void run_checked(uint32_t threads, uint32_t each, uint32_t alignment, size_t number,
                        simt_kernel kernel, void (*expect)(void))
{
    uint32_t ran = 0;

    FOR_EACH_POOL(allocator) {
        if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
            continue;
        }
        if ((alignment > 16) && ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0)) {
            continue;
        }
        trial_open(&t, allocator, ":check=1", threads, each, alignment);
        t.number = number;
        trial_run(&t, kernel);
        expect();
        trial_close(&t);
        ran++;
    }
    assert_true(ran > 0);
}

/* ---- red zones ---- */

enum { BEHIND, BEHIND_FREED, IN_FRONT, FAR_IN_FRONT, PLACES };

/* Writes one word outside an allocation that has another one beside it. */
static void overrun_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t   *a    = (uint32_t *)shpool_malloc_at(heap, 27, 71);
    uint32_t   *b    = (uint32_t *)shpool_malloc_at(heap, 27, 71);
    uint32_t   *low  = (a < b) ? a : b;
    uint32_t   *high = (a < b) ? b : a;
    uint32_t   *at   = NULL;

    EXPECT(p, (a != NULL) && (b != NULL));
    EXPECT(p, shpool_usable_size(heap, low) == 28);
    if (p->number == BEHIND_FREED) {
        EXPECT(p, shpool_free_at(heap, high, 0) == SHPOOL_FREE_OK);
    }
    switch (p->number) {
    case IN_FRONT:     at = &high[-1]; break;
    case FAR_IN_FRONT: at = &high[-4]; break;
    default:           at = &low[7]; break;
    }
    EXPECT(p, shpool_check(heap).broken == 0);
    *at ^= 0x00010000u;
    EXPECT(p, shpool_check(heap).broken != 0);
    EXPECT(p, shpool_check(heap).where != 0);
    EXPECT(p, shpool_free_at(heap, (at >= &high[-4]) ? high : low, 5) == SHPOOL_FREE_CORRUPT);
    /* the same bytes again: nothing was changed by the refusal */
    *at ^= 0x00010000u;
    EXPECT(p, shpool_check(heap).broken == 0);
    EXPECT(p, shpool_free_at(heap, low, 0) == SHPOOL_FREE_OK);
    if (p->number != BEHIND_FREED) {
        EXPECT(p, shpool_free_at(heap, high, 0) == SHPOOL_FREE_OK);
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static void expect_one_corrupt(void)
{
    assert_int_equal(t.report.bad_frees, 1);
    assert_int_equal(t.report.bad_free[0].reason, SHPOOL_FREE_CORRUPT);
    assert_int_equal(t.report.bad_free[0].site, 5);
    if ((t.number == BEHIND) || (t.number == BEHIND_FREED)) { /* else its record may be hit */
        assert_int_equal(t.report.bad_free[0].malloc_site, 71);
    }
    assert_int_equal(t.report.corrupt, 0);
    assert_int_equal(t.report.leaks, 0);
}

UNIT_TEST(test_a_word_outside_is_refused_as_corrupt)
{
    for (size_t place = 0; place < PLACES; place++) {
        run_checked(1, 600, 16, place, overrun_kernel, expect_one_corrupt);
    }
    run_checked(1, 2000, 128, BEHIND, overrun_kernel, expect_one_corrupt);
    run_checked(1, 2000, 128, IN_FRONT, overrun_kernel, expect_one_corrupt);
}

/* Every word of both zones, one after another; the damage stays until the end. */
static void each_word_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    front = p->pool.alignment / 4u;
    uint32_t   *a    = (uint32_t *)shpool_aligned_malloc(heap, p->pool.alignment, 40);

    EXPECT(p, (a != NULL) && (((size_t)a & (p->pool.alignment - 1u)) == 0));
    for (uint32_t i = 0; i <= front; i++) {
        uint32_t *word = (i == front) ? &a[10] : a - front + i;

        for (uint32_t bit = 0; bit < 32; bit++) {
            *word ^= 1u << bit;
            EXPECT(p, shpool_check(heap).broken == SHPOOL_BROKEN_ZONE);
            EXPECT(p, shpool_check(heap).where == simt_to_shared(a));
            *word ^= 1u << bit;
        }
        *word ^= 1u;
        EXPECT(p, shpool_realloc(heap, a, 4) == NULL);
        *word ^= 1u;
        EXPECT(p, shpool_check(heap).broken == 0);
    }
    a[-1] ^= 0x80000000u;
    shpool_fini(heap);
}

static void expect_one_damaged_pool(void)
{
    assert_int_equal(t.report.bad_frees, t.pool.alignment / 4u + 1u); /* the reallocs */
    assert_int_equal(t.report.corrupt, 1);
    assert_int_equal(t.report.leaks, 1);
    assert_int_equal(t.report.leak[0].usable, 0); /* not known any more */
}

UNIT_TEST(test_each_word_of_the_zones_counts)
{
    run_checked(1, 1000, 16, 0, each_word_kernel, expect_one_damaged_pool);
    run_checked(1, 4000, 256, 0, each_word_kernel, expect_one_damaged_pool);
}

/* In place or moved, zones go with the payload. */
static void realloc_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t   *a    = (uint32_t *)shpool_malloc_at(heap, 100, 9);

    for (uint32_t i = 0; (a != NULL) && (i < 25); i++) {
        a[i] = i;
    }
    for (uint32_t bytes = 100; (a != NULL) && (bytes > 4); bytes = (bytes * 7u) / 8u) {
        a = (uint32_t *)shpool_realloc(heap, a, bytes);
        EXPECT(p, (a != NULL) && (shpool_usable_size(heap, a) == ((bytes + 3u) & ~3u)));
        for (uint32_t i = 0; (a != NULL) && (i < bytes / 4u); i++) {
            EXPECT(p, a[i] == i);
        }
        EXPECT(p, shpool_check(heap).broken == 0);
        EXPECT(p, shpool_check(heap).used == ((bytes + 3u) & ~3u));
    }
    a = (uint32_t *)shpool_realloc(heap, a, 300);
    EXPECT(p, (a != NULL) && (shpool_usable_size(heap, a) == 300) && (a[0] == 0));
    EXPECT(p, shpool_check(heap).broken == 0);
    a[75] ^= 1u;
    EXPECT(p, shpool_free_at(heap, a, 0) == SHPOOL_FREE_CORRUPT);
    a[75] ^= 1u;
    shpool_free(heap, a);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static void expect_the_first_site(void)
{
    assert_int_equal(t.report.bad_frees, 1);
    assert_int_equal(t.report.bad_free[0].malloc_site, 9);
    assert_int_equal(t.report.corrupt, 0);
    assert_int_equal(t.report.leaks, 0);
}

static void expect_nothing(void)
{
    assert_int_equal(t.report.bad_frees, 0);
    assert_int_equal(t.report.corrupt, 0);
    assert_int_equal(t.report.leaks, 0);
    assert_int_equal(t.report.live_bytes, 0);
}

UNIT_TEST(test_zones_go_with_a_realloc)
{
    run_checked(1, 800, 16, 0, realloc_kernel, expect_the_first_site);
}

/* ---- poison ---- */

/* An allocator may write links into a freed block's first words; none needs more than 32 bytes. */
static void poison_kernel(void *arg)
{
    trial          *p    = (trial *)arg;
    shpool_heap     heap = trial_init(p);
    const uint32_t *a    = (const uint32_t *)shpool_malloc(heap, 200);
    const uint32_t *b    = (const uint32_t *)shpool_malloc(heap, 64);

    EXPECT(p, (a != NULL) && (b != NULL));
    shpool_zero_words((void *)(size_t)a, 200);
    EXPECT(p, shpool_free_at(heap, (void *)(size_t)a, 0) == SHPOOL_FREE_OK);
    for (uint32_t i = 8; i < 50; i++) {
        EXPECT(p, a[i] == 0xddddddddu);
    }
    EXPECT(p, shpool_free_at(heap, (void *)(size_t)b, 0) == SHPOOL_FREE_OK);
    shpool_fini(heap);
}

UNIT_TEST(test_what_was_freed_is_poisoned)
{
    run_checked(1, 600, 16, 0, poison_kernel, expect_nothing);
}

/* ---- who allocated it ---- */

static void twice_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc_at(heap, 64, 33);
    void       *b    = shpool_malloc_at(heap, 64, 34); /* keeps what is freed apart */

    EXPECT(p, (a != NULL) && (b != NULL));
    simt_barrier();
    if (simt_thread_rank() == 2) {
        EXPECT(p, shpool_free_at(heap, a, 35) == SHPOOL_FREE_OK);
        EXPECT(p, shpool_free_at(heap, a, 36) == SHPOOL_FREE_DOUBLE);
    }
    simt_barrier();
    if (simt_thread_rank() != 2) {
        EXPECT(p, shpool_free_at(heap, a, 35) == SHPOOL_FREE_OK);
    }
    EXPECT(p, shpool_free_at(heap, b, 35) == SHPOOL_FREE_OK);
    shpool_fini(heap);
}

static void expect_double_of_thread_2(void)
{
    const shpool_bad_free *bad = &t.report.bad_free[0];

    assert_int_equal(t.report.bad_frees, 1);
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

UNIT_TEST(test_a_double_free_names_the_site_of_the_malloc)
{
    run_checked(4, 1200, 16, 0, twice_kernel, expect_double_of_thread_2);
}

/* ---- leaks ---- */

#define LEAKERS 3u

static unsigned long long leaked[LEAKERS];

static void leak_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    rank = simt_thread_rank();
    void       *kept = NULL;
    void       *gone = shpool_malloc_at(heap, 50, 1);

    if ((simt_block_rank() == 1) && (rank < LEAKERS)) {
        kept         = shpool_malloc_at(heap, 30u + 10u * rank, 60u + rank);
        leaked[rank] = (unsigned long long)(size_t)kept;
        EXPECT(p, kept != NULL);
    }
    shpool_free(heap, gone);
    shpool_fini(heap);
}

static void expect_the_leaks(void)
{
    uint32_t seen = 0;

    assert_int_equal(t.report.leaks, LEAKERS);
    assert_int_equal(t.report.live, LEAKERS);
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
    assert_int_equal(t.report.corrupt, 0);
}

UNIT_TEST(test_leaks_are_listed)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":check=1", 5, 1000, 16);
        t.launch.grid[0] = 2;
        trial_run(&t, leak_kernel);
        expect_the_leaks();
        trial_close(&t);
    }
}

static void many_leaks_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    EXPECT(p, shpool_malloc_at(heap, 20, 7) != NULL);
    shpool_fini(heap);
}

static void expect_counted_leaks(void)
{
    assert_int_equal(t.report.leaks, 40);
    for (uint32_t i = 0; i < SHPOOL_LEAK_SLOTS; i++) {
        assert_int_equal(t.report.leak[i].site, 7);
    }
}

UNIT_TEST(test_leaks_beyond_the_slots_are_counted)
{
    run_checked(40, 3000, 16, 0, many_leaks_kernel, expect_counted_leaks);
}

/* Several frees of one allocation at the same time: one is right.  ThreadSanitizer is right, too:
 * such a program has a race, and those that lose look at what may be another's by then. */
#if !defined(__SANITIZE_THREAD__)
static void rivals_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    rank = simt_thread_rank();

    if (rank == 0) {
        p->box[0].at = (unsigned char *)shpool_malloc(heap, 64);
    }
    simt_barrier();
    if (rank == 3) { /* at work meanwhile, in sizes that do not take the same place */
        for (uint32_t i = 0; i < 6; i++) {
            void *other = shpool_malloc(heap, 200);

            EXPECT(p, (other != NULL) && (shpool_free_at(heap, other, 0) == SHPOOL_FREE_OK));
        }
    } else if (shpool_free_at(heap, p->box[0].at, 0) == SHPOOL_FREE_OK) {
        simt_global_add32(&p->steps, 1);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_of_several_frees_at_once_one_is_right)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t period = 1; (allocator->scope != SHPOOL_SCOPE_THREAD) && (period < 40);
             period++) {
            trial_open(&t, allocator, ":check=1", 4, 1000, 16);
            t.launch.switch_period = period;
            t.launch.seed          = period;
            trial_run(&t, rivals_kernel);
            assert_int_equal(t.steps, 1);
            assert_int_equal(t.report.frees, 7);
            assert_int_equal(t.report.bad_frees, 2);
            assert_int_equal(t.report.live_bytes, 0);
            assert_int_equal(t.report.corrupt, 0);
            trial_close(&t);
        }
    }
}

#endif
