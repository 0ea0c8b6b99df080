/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest waiter is served first: tickets of shpool_malloc_wait() and of groups that wait. */
#include "group_trial.h"

#include <shpool/allocators/bitmap/bitmap.h>

#define MOST     64u
#define RARELY   200u /* accesses between switches: a sleep is longer than a malloc */

static uint32_t order[MOST]; /* threads in order of service */
static uint32_t served;
static uint32_t done;

static void begin(void)
{
    served = done = 0;
}

#define TURNS(_test, _body, ...)                                                                   \
    SCENE(_test, _body, .takes = shares, .share = ALL, .tune = begin, __VA_ARGS__)

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
static void expect_nobody(shpool_heap heap, uint32_t drawn)
{
    simt_barrier();
    EXPECT(nobody_waits(heap));
    EXPECT(tickets(heap) == drawn);
    simt_barrier();
}

/* ---- the order ---- */

/* Thread 0 has it all; 1, 2, ... begin to wait one after another, each for all of it.  With
 * t.number the same is true of tiles of 2 lanes, and each draws one ticket. */
static void order_kernel(shpool_heap heap)
{
    const uint32_t width = 1u + (uint32_t)t.number;
    const uint32_t lanes = (width == 1u) ? 0u : simt_mask(simt_lane() / 2u * 2u, 2);
    const uint32_t rank  = simt_thread_rank() / width;
    const uint32_t last  = simt_block_threads() / width - 1u;
    void          *all   = NULL;

    if (rank == 0) {
        all = (lanes == 0) ? shpool_malloc(heap, t.pool.largest)
                           : shpool_malloc_lanes(heap, lanes, t.pool.largest);
    }
    simt_barrier();
    wait_for_tickets(heap, (rank != 0) ? rank - 1u : last);
    if (rank != 0) {
        simt_warp_sync((lanes != 0) ? lanes : 1u << simt_lane());
        all = wait_for(heap, lanes, t.pool.largest, FOR_EVER);
        EXPECT(all != NULL);
        if (is_first(lanes)) {
            order[simt_global_add32(&served, 1)] = rank;
        }
    }
    if (rank != last) { /* until the next one has said that it waits */
        wait_for_turn(heap, rank);
    }
    simt_warp_sync((lanes != 0) ? lanes : 1u << simt_lane());
    give(heap, lanes, all);
    expect_nobody(heap, last);
}

/* A thread that was about to ask may be quicker than the oldest, but seldom; of those that are
 * served together, which ask for longer, one run in six. */
static void expect_order(void)
{
    static uint32_t overtaken;
    const uint32_t  runs     = heap_seeds(now->seeds);
    const uint32_t  waiters  = t.launch.block[0] / (1u + (uint32_t)t.number) - 1u;
    uint32_t        in_order = 1;

    assert_int_equal(served, waiters);
    for (uint32_t i = 0; i < waiters; i++) {
        in_order &= order[i] == i + 1u;
    }
    overtaken = (t.seed == 0) ? !in_order : overtaken + !in_order;
    if ((t.seed == runs - 1u) && (overtaken * (is_batched(t.allocator) ? 4u : 8u) > runs)) {
        fail_msg("%s: not in order in %u runs of %u", TRIAL_NAME(&t), overtaken, runs);
    }
}

#define IN_ORDER .each = 800, .seeds = 40, .period = RARELY, .expect = expect_order

TURNS(test_who_waits_longest_is_served_first, order_kernel, .threads = { 5 }, IN_ORDER)
TURNS(test_groups_wait_in_line, order_kernel, .threads = { 8 }, .number = 1, IN_ORDER)

/* ---- newcomers ---- */

/* The last thread makes all searches of the warp's first attempt void, as long as it wants.  The
 * warp nevertheless draws a ticket soon. */
static void newcomer_kernel(shpool_heap heap)
{
    uint32_t last = simt_thread_rank() == SIMT_WARP;
    void    *all  = last ? shpool_malloc(heap, t.pool.largest) : NULL;

    simt_barrier();
    if (last) {
        for (uint32_t left = t.steps; (tickets(heap) == 0) && (left != 0); left--) {
            for (uint32_t i = 0; i < 8u; i++) { /* more often than a ticket is looked for */
                shpool_bitmap_released(heap.view);
            }
        }
        EXPECT(tickets(heap) == 1);
    } else {
        all = shpool_malloc_wait_warp(heap, t.pool.largest, FOR_EVER);
        EXPECT(all != NULL);
    }
    if (last || (simt_lane() == 0)) {
        EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    }
    expect_nobody(heap, 1);
}

static void switch_often(void)
{
    t.launch.switch_period = 1u + t.seed % 3u;
}

SCENE(test_a_newcomer_is_soon_in_line, newcomer_kernel, .only = "bitmap",
      .threads = { SIMT_WARP + 1u }, .each = 40, .steps = 2000, .seeds = 8, .tune = switch_often)

/* ---- a large request ---- */

/* Thread 0 wants the whole pool; the others always hold some of it. */
static void stream_kernel(shpool_heap heap)
{
    void *held = (simt_thread_rank() != 0) ? shpool_malloc(heap, 40) : NULL;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        void *all = shpool_malloc_wait(heap, t.pool.largest, FOR_EVER);

        EXPECT(all != NULL);
        simt_global_add32(&done, 1);
        EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    } else {
        wait_for_turn(heap, 0);
        for (uint32_t round = 0; (is_done() == 0) && (round < t.steps); round++) {
            shpool_free(heap, held);
            held = shpool_malloc_wait(heap, 40, FOR_EVER);
            EXPECT(held != NULL);
            if (is_done() == 0) {
                simt_global_add32(&served, 1);
            }
            simt_pause(100);
        }
        shpool_free(heap, held);
    }
    simt_barrier();
    EXPECT(nobody_waits(heap));
}

static void expect_not_starved(void)
{
    if (served > 2u * 8u) { /* each was about to ask, or has lost its patience */
        fail_msg("%s, seed %u: overtaken %u times", TRIAL_NAME(&t), t.seed, served);
    }
}

TURNS(test_a_large_request_is_not_starved, stream_kernel, .threads = { 9 }, .each = 9 * 64,
      .steps = 5000, .seeds = 8, .period = RARELY, .expect = expect_not_starved)

/* ---- hold and wait ---- */

/* Thread 0, the oldest, needs memory of the others, which each need a little more and may not
 * try. */
static void hold_and_wait_kernel(shpool_heap heap)
{
    void *held = (simt_thread_rank() != 0) ? shpool_malloc(heap, 40) : NULL;
    void *more;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        held = shpool_malloc_wait(heap, t.pool.largest, FOR_EVER);
        EXPECT((held != NULL) && (served == simt_block_threads() - 1u));
    } else {
        wait_for_turn(heap, 0);
        more = shpool_malloc_wait(heap, 40, FOR_EVER);
        EXPECT((held != NULL) && (more != NULL));
        simt_global_add32(&served, 1);
        shpool_free(heap, more);
    }
    shpool_free(heap, held);
    simt_barrier();
    EXPECT(nobody_waits(heap));
}

TURNS(test_patience_ends, hold_and_wait_kernel, .threads = { 2, 3, 4, 5 }, .each = 9 * 64,
      .seeds = 4, .periods = 4, .most_switches = 5000000)

/* ---- sleeps ---- */

/* It is thread 0's turn, and it is tried in vain: at first it looks again soon. */
static void sleeps_kernel(shpool_heap heap)
{
    if (simt_thread_rank() == 0) {
        shpool_turn turn = shpool_turn_draw(heap.view, 0);

        EXPECT(turn.pause == SHPOOL_PAUSE_LEAST);
        for (uint32_t n = 1; n <= 80u; n++) {
            EXPECT(shpool_turn_sleep(&turn) == 1u);
            EXPECT((n > 10u) || (turn.pause <= 2u * SHPOOL_PAUSE_TURN));
            EXPECT(turn.pause <= SHPOOL_PAUSE_MOST);
        }
        EXPECT(turn.pause == SHPOOL_PAUSE_MOST);
        shpool_turn_end(&turn);
    }
    simt_barrier();
    EXPECT(nobody_waits(heap));
}

TURNS(test_sleeps_at_ones_turn_become_longer, sleeps_kernel, .threads = { 2 }, .each = 9 * 64)

/* ---- attempts ---- */

/* Thread 0 waits for what never comes; there is room for others. */
static void attempts_kernel(shpool_heap heap)
{
    void *held = (simt_thread_rank() == 1) ? shpool_malloc(heap, 40) : NULL;
    void *ptr;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(shpool_malloc_wait(heap, t.pool.largest, 300) == NULL);
        done = 1;
    } else {
        wait_for_turn(heap, 0);
        ptr = shpool_malloc_wait(heap, 40, 1); /* tries once, even if others wait */
        EXPECT(ptr != NULL);
        shpool_free(heap, ptr);
        EXPECT(tickets(heap) == 1);
        ptr = shpool_malloc_wait(heap, 40, 2); /* sleeps in place of one, and tries */
        EXPECT(ptr != NULL);
        shpool_free(heap, ptr);
        EXPECT(shpool_malloc_wait(heap, t.pool.largest, 3) == NULL);
        EXPECT(tickets(heap) == 3);
    }
    simt_barrier();
    EXPECT((done == 1) && (nobody_waits(heap)));
    shpool_free(heap, held);
}

static void expect_waits(void)
{
    assert_in_range(t.report.waits, 299, 301);
}

TURNS(test_attempts_are_counted, attempts_kernel, .options = { ":stats=1" }, .threads = { 2 },
      .each = 9 * 64, .report = "failures 2, mallocs 6", .expect = expect_waits)

/* ---- what never fits ---- */

/* Thread 0 wants more than there is, alone and as a group, while thread 1 waits at the head. */
static void never_fits_kernel(shpool_heap heap)
{
    void *all = (simt_thread_rank() == 0) ? shpool_malloc(heap, t.pool.largest) : NULL;

    simt_barrier();
    if (simt_thread_rank() == 0) {
        wait_for_tickets(heap, 1);
        for (uint32_t i = 0; i < 2; i++) {
            const size_t bytes = (i == 0) ? heap.view.bytes + 1u : SIZE_MAX;

            EXPECT(shpool_malloc_wait(heap, bytes, 300) == NULL);
            EXPECT(shpool_malloc_wait_lanes(heap, 1u, bytes, 300) == NULL);
        }
        EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    } else {
        all = shpool_malloc_wait(heap, t.pool.largest, FOR_EVER);
        EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    }
    expect_nobody(heap, 1);
    EXPECT(shpool_malloc_wait_block(heap, heap.view.bytes + 1u, 300) == NULL);
    expect_nobody(heap, 1);
}

TURNS(test_what_never_fits_does_not_wait, never_fits_kernel, .options = { ":stats=1" },
      .threads = { 2 }, .each = 9 * 64, .leaves = 1, .report = "failures 5")

/* ---- a ticket is withdrawn ---- */

static void give_up_kernel(shpool_heap heap)
{
    void    *all  = (simt_thread_rank() == 0) ? shpool_malloc(heap, t.pool.largest) : NULL;
    uint32_t lane = 1u << simt_lane();

    simt_barrier();
    if (simt_thread_rank() != 0) {
        EXPECT(shpool_malloc_wait(heap, 16, 2u + simt_thread_rank()) == NULL);
        EXPECT(shpool_malloc_wait_lanes(heap, lane, 16, 2) == NULL);
    }
    expect_nobody(heap, 2u * (simt_block_threads() - 1u));
    shpool_free(heap, all);
    expect_nobody(heap, 2u * (simt_block_threads() - 1u));
    all = shpool_malloc_wait(heap, 16, FOR_EVER);
    EXPECT(all != NULL);
    expect_nobody(heap, 2u * (simt_block_threads() - 1u)); /* no thread had to wait */
    shpool_free(heap, all);
    EXPECT(shpool_malloc_wait_warp(heap, t.pool.largest, 2) != NULL);
    simt_barrier();
    EXPECT(shpool_malloc_wait_block(heap, 16, 3) == NULL);
    expect_nobody(heap, 2u * (simt_block_threads() - 1u) + 1u);
}

TURNS(test_who_gives_up_holds_up_nobody, give_up_kernel, .threads = { 5 }, .each = 400, .seeds = 8,
      .periods = 4, .leaves = 1)

/* Thread 0 holds everything until the others wait; one lane, then the warp. */
static void aligned_kernel(shpool_heap heap)
{
    void *all = (simt_thread_rank() == 0) ? shpool_malloc(heap, t.pool.largest) : NULL;
    void *ptr;

    simt_barrier();
    if (simt_thread_rank() == 1) {
        ptr = shpool_aligned_malloc_wait_lanes(heap, 2u, 128, 40, FOR_EVER);
        EXPECT((ptr != NULL) && (simt_to_shared(ptr) % 128u == 0));
        EXPECT(shpool_aligned_malloc_wait_lanes(heap, 2u, 256, 40, FOR_EVER) == NULL);
        EXPECT(shpool_aligned_malloc_wait_lanes(heap, 2u, 48, 40, FOR_EVER) == NULL);
        shpool_free(heap, ptr);
    }
    if (simt_thread_rank() == 0) {
        shpool_free(heap, all);
        all = shpool_malloc(heap, 16); /* what is behind it is not aligned */
    }
    simt_barrier();
    ptr = shpool_aligned_malloc_wait_warp(heap, 128, 200, FOR_EVER);
    EXPECT((ptr != NULL) && (simt_to_shared(ptr) % 128u == 0));
    shpool_free_warp(heap, ptr);
    simt_barrier();
    EXPECT(nobody_waits(heap));
}

TURNS(test_a_group_waits_for_aligned_memory, aligned_kernel, .threads = { 5 }, .each = 400,
      .alignments = { 128 }, .seeds = 8, .periods = 4, .leaves = 1)

/* ---- what it costs ---- */

static void cost_kernel(shpool_heap heap)
{
    uint32_t from, plain, waiting;
    void    *ptr;

    if (simt_thread_rank() == 0) {
        from    = simt_self->countdown; /* falls with each access */
        ptr     = shpool_malloc(heap, 40);
        plain   = from - simt_self->countdown;
        shpool_free(heap, ptr);
        from    = simt_self->countdown;
        ptr     = shpool_malloc_wait(heap, 40, 100);
        waiting = from - simt_self->countdown;
        shpool_free(heap, ptr);
        EXPECT(waiting == plain + ((simt_block_threads() > 1u) ? 1u : 0u));
    }
    simt_barrier();
}

static int shares_with_the_block(const shpool_allocator *allocator)
{
    return shares(allocator) && (allocator->scope != SHPOOL_SCOPE_CLUSTER); /* other blocks, too */
}

SCENE(test_one_load_if_nobody_waits, cost_kernel, .takes = shares_with_the_block, .share = ALL,
      .threads = { 1, 2 }, .each = 400, .leaves = 1)
