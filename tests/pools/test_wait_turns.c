/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest waiter is served first: tickets of shpool_malloc_wait() and of groups that wait. */
#include "wait_trial.h"

#include <shpool/allocators/bitmap/bitmap.h>

#define MOST     64u
#define RARELY   200u /* accesses between switches: a sleep is longer than a malloc */

static trial    t;
static uint32_t order[MOST]; /* threads in order of service */
static uint32_t served;
static uint32_t done;

static void start(const shpool_allocator *allocator, const char *options, uint32_t threads,
                  uint32_t each)
{
    open_shared(&t, allocator, options, threads, each);
    served = done = 0;
}

static uint32_t is_done(void)
{
    return simt_global_add32(&done, 0);
}

static uint32_t tickets(shpool_heap heap) /* drawn */
{
    return word_of(heap, 0);
}

static void wait_for_tickets(shpool_heap heap, uint32_t drawn)
{
    while (tickets(heap) < drawn) {
        simt_pause(32);
    }
}

/* Wait until the request with that ticket was tried in vain at its turn, and threads that were
 * about to try have done so.  Not forever: it may have been served.  Few sleeps: all waiters run
 * out of patience after 64. */
static void wait_for_turn(shpool_heap heap, uint32_t ticket)
{
    for (uint32_t left = 30; (word_of(heap, 2) != ticket + 1u) && (left != 0); left--) {
        simt_pause(32);
    }
    for (uint32_t i = 0; i < 6u; i++) {
        simt_pause(32);
    }
}

/* Called by all threads: no thread waits any longer. */
static void expect_nobody(trial *p, shpool_heap heap, uint32_t drawn)
{
    simt_barrier();
    EXPECT(p, nobody_waits(heap));
    EXPECT(p, tickets(heap) == drawn);
    simt_barrier();
}

/* ---- the order ---- */

/* Thread 0 has it all; 1, 2, ... begin to wait one after another, each for all of it. */
static void order_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    rank = simt_thread_rank();
    uint32_t    last = simt_block_threads() - 1u;
    void       *all  = (rank == 0) ? shpool_malloc(heap, p->pool.largest) : NULL;

    simt_barrier();
    if (rank != 0) {
        wait_for_tickets(heap, rank - 1u);
        all = shpool_malloc_wait(heap, p->pool.largest, FOR_EVER);
        EXPECT(p, all != NULL);
        order[simt_global_add32(&served, 1)] = rank;
    } else {
        wait_for_tickets(heap, last);
    }
    if (rank != last) { /* until the next one has said that it waits */
        wait_for_turn(heap, rank);
    }
    EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    expect_nobody(p, heap, last);
    trial_expect_fresh(p, heap);
}

/* The same with tiles of 2 lanes; each draws one ticket. */
static void group_order_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    tile  = simt_thread_rank() / 2u;
    uint32_t    lanes = simt_mask(simt_lane() / 2u * 2u, 2);
    uint32_t    last  = simt_block_threads() / 2u - 1u;
    void       *all   = (tile == 0) ? shpool_malloc_lanes(heap, lanes, p->pool.largest) : NULL;

    simt_barrier();
    if (tile != 0) {
        wait_for_tickets(heap, tile - 1u);
        simt_warp_sync(lanes);
        all = shpool_malloc_wait_lanes(heap, lanes, p->pool.largest, FOR_EVER);
        EXPECT(p, all != NULL);
        if (simt_lane() == shpool_first_lane(lanes)) {
            order[simt_global_add32(&served, 1)] = tile;
        }
    } else {
        wait_for_tickets(heap, last);
    }
    if (tile != last) {
        wait_for_turn(heap, tile);
    }
    simt_warp_sync(lanes);
    shpool_free_lanes(heap, lanes, all);
    expect_nobody(p, heap, last);
    trial_expect_fresh(p, heap);
}

/* A thread that was about to ask may be quicker than the oldest, but seldom; of those that are
 * served together, which ask for longer, one run in six. */
static void run_order(simt_kernel kernel, uint32_t threads, uint32_t waiters)
{
    const uint32_t runs = heap_seeds(40u);

    FOR_EACH_SHARED(allocator) {
        uint32_t overtaken = 0;

        for (uint32_t seed = 0; seed < runs; seed++) {
            uint32_t in_order = 1;

            start(allocator, "", threads, 800);
            t.launch.seed          = seed;
            t.launch.switch_period = RARELY;
            trial_run(&t, kernel);
            assert_int_equal(served, waiters);
            for (uint32_t i = 0; i < waiters; i++) {
                in_order &= order[i] == i + 1u;
            }
            overtaken += !in_order;
            trial_close(&t);
        }
        if (overtaken * (is_batched(allocator) ? 4u : 8u) > runs) {
            fail_msg("%s: not in order in %u runs of %u", allocator->name, overtaken, runs);
        }
    }
}

UNIT_TEST(test_who_waits_longest_is_served_first)
{
    run_order(order_kernel, 5, 4);
}

UNIT_TEST(test_groups_wait_in_line)
{
    run_order(group_order_kernel, 8, 3);
}

/* ---- newcomers ---- */

/* The last thread makes all searches of the warp's first attempt void, as long as it wants.  The
 * warp nevertheless draws a ticket soon. */
static void newcomer_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    last = simt_thread_rank() == SIMT_WARP;
    void       *all  = last ? shpool_malloc(heap, p->pool.largest) : NULL;

    simt_barrier();
    if (last) {
        for (uint32_t left = p->steps; (tickets(heap) == 0) && (left != 0); left--) {
            for (uint32_t i = 0; i < 8u; i++) { /* more often than a ticket is looked for */
                shpool_bitmap_released(heap.view);
            }
        }
        EXPECT(p, tickets(heap) == 1);
    } else {
        all = shpool_malloc_wait_warp(heap, p->pool.largest, FOR_EVER);
        EXPECT(p, all != NULL);
    }
    if (last || (simt_lane() == 0)) {
        EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    }
    expect_nobody(p, heap, 1);
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_a_newcomer_is_soon_in_line)
{
    const shpool_allocator *bitmap;

    assert_int_equal(shpool_allocator_find("bitmap", &bitmap), SHPOOL_OK);
    for (uint32_t seed = 0; seed < 8u; seed++) {
        start(bitmap, "", SIMT_WARP + 1u, 40);
        t.steps                = 2000;
        t.launch.seed          = seed;
        t.launch.switch_period = 1u + seed % 3u;
        trial_run(&t, newcomer_kernel);
        trial_close(&t);
    }
}

/* ---- a large request ---- */

/* Thread 0 wants the whole pool; the others always hold some of it. */
static void stream_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *held = (simt_thread_rank() != 0) ? shpool_malloc(heap, 40) : NULL;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        void *all = shpool_malloc_wait(heap, p->pool.largest, FOR_EVER);

        EXPECT(p, all != NULL);
        simt_global_add32(&done, 1);
        EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    } else {
        wait_for_turn(heap, 0);
        for (uint32_t round = 0; (is_done() == 0) && (round < p->steps); round++) {
            shpool_free(heap, held);
            held = shpool_malloc_wait(heap, 40, FOR_EVER);
            EXPECT(p, held != NULL);
            if (is_done() == 0) {
                simt_global_add32(&served, 1);
            }
            simt_pause(100);
        }
        shpool_free(heap, held);
    }
    simt_barrier();
    EXPECT(p, nobody_waits(heap));
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_a_large_request_is_not_starved)
{
    FOR_EACH_SHARED(allocator) {
        for (uint32_t seed = 0; seed < (heap_long() ? 500u : 8u); seed++) {
            start(allocator, "", 9, 9 * 64);
            t.steps                = 5000;
            t.launch.seed          = seed;
            t.launch.switch_period = RARELY;
            trial_run(&t, stream_kernel);
            if (served > 2u * 8u) { /* each was about to ask, or has lost its patience */
                fail_msg("%s, seed %u: overtaken %u times", allocator->name, seed, served);
            }
            trial_close(&t);
        }
    }
}

/* ---- hold and wait ---- */

/* Thread 0, the oldest, needs memory of the others, which each need a little more and may not
 * try. */
static void hold_and_wait_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *held = (simt_thread_rank() != 0) ? shpool_malloc(heap, 40) : NULL;
    void       *more;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        held = shpool_malloc_wait(heap, p->pool.largest, FOR_EVER);
        EXPECT(p, (held != NULL) && (served == simt_block_threads() - 1u));
    } else {
        wait_for_turn(heap, 0);
        more = shpool_malloc_wait(heap, 40, FOR_EVER);
        EXPECT(p, (held != NULL) && (more != NULL));
        simt_global_add32(&served, 1);
        shpool_free(heap, more);
    }
    shpool_free(heap, held);
    simt_barrier();
    EXPECT(p, nobody_waits(heap));
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_patience_ends)
{
    FOR_EACH_SHARED(allocator) {
        for (uint32_t threads = 2; threads <= 5; threads++) {
            start(allocator, "", threads, 9 * 64);
            t.launch.seed          = threads;
            t.launch.switch_period = threads % 4u;
            t.launch.max_switches  = 5000000;
            trial_run(&t, hold_and_wait_kernel);
            trial_close(&t);
        }
    }
}

/* ---- sleeps ---- */

/* It is thread 0's turn, and it is tried in vain: at first it looks again soon. */
static void sleeps_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    if (simt_thread_rank() == 0) {
        shpool_turn turn = shpool_turn_draw(heap.view, 0);

        EXPECT(p, turn.pause == SHPOOL_PAUSE_LEAST);
        for (uint32_t n = 1; n <= 80u; n++) {
            EXPECT(p, shpool_turn_sleep(&turn) == 1u);
            EXPECT(p, (n > 10u) || (turn.pause <= 2u * SHPOOL_PAUSE_TURN));
            EXPECT(p, turn.pause <= SHPOOL_PAUSE_MOST);
        }
        EXPECT(p, turn.pause == SHPOOL_PAUSE_MOST);
        shpool_turn_end(&turn);
    }
    simt_barrier();
    EXPECT(p, nobody_waits(heap));
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_sleeps_at_ones_turn_become_longer)
{
    FOR_EACH_SHARED(allocator) {
        start(allocator, "", 2, 9 * 64);
        trial_run(&t, sleeps_kernel);
        trial_close(&t);
    }
}

/* ---- attempts ---- */

/* Thread 0 waits for what never comes; there is room for others. */
static void attempts_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *held = (simt_thread_rank() == 1) ? shpool_malloc(heap, 40) : NULL;
    void       *ptr;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(p, shpool_malloc_wait(heap, p->pool.largest, 300) == NULL);
        done = 1;
    } else {
        wait_for_turn(heap, 0);
        ptr = shpool_malloc_wait(heap, 40, 1); /* tries once, even if others wait */
        EXPECT(p, ptr != NULL);
        shpool_free(heap, ptr);
        EXPECT(p, tickets(heap) == 1);
        ptr = shpool_malloc_wait(heap, 40, 2); /* sleeps in place of one, and tries */
        EXPECT(p, ptr != NULL);
        shpool_free(heap, ptr);
        EXPECT(p, shpool_malloc_wait(heap, p->pool.largest, 3) == NULL);
        EXPECT(p, tickets(heap) == 3);
    }
    simt_barrier();
    EXPECT(p, (done == 1) && (nobody_waits(heap)));
    shpool_free(heap, held);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_attempts_are_counted)
{
    FOR_EACH_SHARED(allocator) {
        start(allocator, ":stats=1", 2, 9 * 64);
        trial_run(&t, attempts_kernel);
        assert_int_equal(t.report.failures, 2);
        assert_in_range(t.report.waits, 299, 301);
        assert_int_equal(t.report.mallocs, 1 + 4 + 1);
        trial_close(&t);
    }
}

/* ---- what never fits ---- */

/* Thread 0 wants more than there is, alone and as a group, while thread 1 waits at the head. */
static void never_fits_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *all  = (simt_thread_rank() == 0) ? shpool_malloc(heap, p->pool.largest) : NULL;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        wait_for_tickets(heap, 1);
        for (uint32_t i = 0; i < 2; i++) {
            const size_t bytes = (i == 0) ? heap.view.bytes + 1u : SIZE_MAX;

            EXPECT(p, shpool_malloc_wait(heap, bytes, 300) == NULL);
            EXPECT(p, shpool_malloc_wait_lanes(heap, 1u, bytes, 300) == NULL);
        }
        EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    } else {
        all = shpool_malloc_wait(heap, p->pool.largest, FOR_EVER);
        EXPECT(p, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    }
    expect_nobody(p, heap, 1);
    EXPECT(p, shpool_malloc_wait_block(heap, heap.view.bytes + 1u, 300) == NULL);
    expect_nobody(p, heap, 1);
    shpool_fini(heap);
}

UNIT_TEST(test_what_never_fits_does_not_wait)
{
    FOR_EACH_SHARED(allocator) {
        start(allocator, ":stats=1", 2, 9 * 64);
        trial_run(&t, never_fits_kernel);
        assert_int_equal(t.report.failures, 5);
        trial_close(&t);
    }
}

/* ---- a ticket is withdrawn ---- */

static void give_up_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *all  = (simt_thread_rank() == 0) ? shpool_malloc(heap, p->pool.largest) : NULL;
    uint32_t    lane = 1u << simt_lane();

    simt_barrier();
    if (simt_thread_rank() != 0) {
        EXPECT(p, shpool_malloc_wait(heap, 16, 2u + simt_thread_rank()) == NULL);
        EXPECT(p, shpool_malloc_wait_lanes(heap, lane, 16, 2) == NULL);
    }
    expect_nobody(p, heap, 2u * (simt_block_threads() - 1u));
    shpool_free(heap, all);
    expect_nobody(p, heap, 2u * (simt_block_threads() - 1u));
    all = shpool_malloc_wait(heap, 16, FOR_EVER);
    EXPECT(p, all != NULL);
    expect_nobody(p, heap, 2u * (simt_block_threads() - 1u)); /* no thread had to wait */
    shpool_free(heap, all);
    EXPECT(p, shpool_malloc_wait_warp(heap, p->pool.largest, 2) != NULL);
    simt_barrier();
    EXPECT(p, shpool_malloc_wait_block(heap, 16, 3) == NULL);
    expect_nobody(p, heap, 2u * (simt_block_threads() - 1u) + 1u);
}

UNIT_TEST(test_who_gives_up_holds_up_nobody)
{
    FOR_EACH_SHARED(allocator) {
        for (uint32_t seed = 0; seed < 8u; seed++) {
            start(allocator, "", 5, 400);
            t.launch.seed          = seed;
            t.launch.switch_period = seed % 4u;
            trial_run(&t, give_up_kernel);
            trial_close(&t);
        }
    }
}

/* Thread 0 holds everything until the others wait; one lane, then the warp. */
static void aligned_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *all  = (simt_thread_rank() == 0) ? shpool_malloc(heap, p->pool.largest) : NULL;
    void       *ptr;

    simt_barrier();
    if (simt_thread_rank() == 1) {
        ptr = shpool_aligned_malloc_wait_lanes(heap, 2u, 128, 40, FOR_EVER);
        EXPECT(p, (ptr != NULL) && (simt_to_shared(ptr) % 128u == 0));
        EXPECT(p, shpool_aligned_malloc_wait_lanes(heap, 2u, 256, 40, FOR_EVER) == NULL);
        EXPECT(p, shpool_aligned_malloc_wait_lanes(heap, 2u, 48, 40, FOR_EVER) == NULL);
        shpool_free(heap, ptr);
    }
    if (simt_thread_rank() == 0) {
        shpool_free(heap, all);
        all = shpool_malloc(heap, 16); /* what is behind it is not aligned */
    }
    simt_barrier();
    ptr = shpool_aligned_malloc_wait_warp(heap, 128, 200, FOR_EVER);
    EXPECT(p, (ptr != NULL) && (simt_to_shared(ptr) % 128u == 0));
    shpool_free_warp(heap, ptr);
    simt_barrier();
    EXPECT(p, nobody_waits(heap));
}

UNIT_TEST(test_a_group_waits_for_aligned_memory)
{
    FOR_EACH_SHARED(allocator) {
        for (uint32_t seed = 0; seed < 8u; seed++) {
            start(allocator, ":alignment=128", 5, 400);
            t.launch.seed          = seed;
            t.launch.switch_period = seed % 4u;
            trial_run(&t, aligned_kernel);
            trial_close(&t);
        }
    }
}

/* ---- what it costs ---- */

static void cost_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    from, plain, waiting;
    void       *ptr;

    if (simt_thread_rank() == 0) {
        from    = simt_self->countdown; /* falls with each access */
        ptr     = shpool_malloc(heap, 40);
        plain   = from - simt_self->countdown;
        shpool_free(heap, ptr);
        from    = simt_self->countdown;
        ptr     = shpool_malloc_wait(heap, 40, 100);
        waiting = from - simt_self->countdown;
        shpool_free(heap, ptr);
        EXPECT(p, waiting == plain + ((simt_block_threads() > 1u) ? 1u : 0u));
    }
    simt_barrier();
}

UNIT_TEST(test_one_load_if_nobody_waits)
{
    FOR_EACH_SHARED(allocator) {
        if (allocator->scope != SHPOOL_SCOPE_CLUSTER) { /* is shared by other blocks in any case */
            for (uint32_t threads = 1; threads <= 2; threads++) {
                start(allocator, "", threads, 400);
                trial_run(&t, cost_kernel);
                trial_close(&t);
            }
        }
    }
}
