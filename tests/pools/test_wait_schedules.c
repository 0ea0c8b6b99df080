/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and groups that wait without end are all served.
 *
 * Pauses are replaced in two ways.
 *   Every schedule within a bound of preemptions: a pause ends at any time after an event that may
 *   let a request succeed, a free or the end of a ticket, and not before.  The search is finite
 *   then, although the attempts are not limited.  If the queue stands still, all its threads sleep,
 *   and the executor reports a deadlock.  On a GPU patience or a later look would end it: the queue
 *   needs neither.
 *   Random schedules: pauses are equal, longer for each warp, or random.  A limit of switches tells
 *   a stall. */
#include <shpool/simt.h>

/* A pause of the executor, which has no clock: other threads may run. */
static void let_others_run(uint32_t ns)
{
    simt_pause(ns);
}

static void rest(uint32_t ns);

#undef simt_pause
#define simt_pause rest
#include <shpool/impl/waiters.h>
#undef simt_pause

static void end_turn(const shpool_turn *turn);

#define shpool_turn_end end_turn
#include "group_trial.h"
#undef shpool_turn_end

static uint32_t served;
static uint32_t given_up;
static uint32_t ended; /* threads */

/* ---- pauses ---- */

typedef enum pauses {
    UNTIL_AN_EVENT,
    EQUAL,
    BY_WARP,
    AT_RANDOM
} pauses;

static pauses   kind;
static uint32_t false_events; /* pauses end although no memory was freed */
static uint32_t group_of_rank[SHPOOL_MAX_THREADS]; /* lanes that wait together; 0: a thread */
static uint32_t seen[SHPOOL_MAX_THREADS]; /* events, when the thread's last pause ended */
static uint32_t random_of[SHPOOL_MAX_THREADS];

/* The word that counts events lies after the pool.  All accesses are relaxed: nothing here may
 * order what the allocator has to order. */
static uint32_t events(void)
{
    return simt_atomic_load(simt_dynamic_base() + t.pool.shared_bytes, SIMT_RELAXED);
}

static void note_event(void)
{
    if (kind == UNTIL_AN_EVENT) {
        (void)simt_atomic_add(simt_dynamic_base() + t.pool.shared_bytes, 1u, SIMT_RELAXED);
    }
}

/* Sleep until there was an event after the thread's last pause.  One during the attempt since then
 * counts, because the attempt may have missed it.  For a group its first lane sleeps. */
static void rest_until_an_event(uint32_t lanes)
{
    const uint32_t rank = simt_thread_rank();

    if (is_first(lanes)) {
        simt_wait(simt_dynamic_base() + t.pool.shared_bytes, seen[rank]);
        seen[rank] = events();
    }
    if (lanes != 0) {
        simt_warp_sync(lanes);
    }
}

static void rest(uint32_t ns)
{
    const uint32_t rank  = simt_thread_rank();
    uint32_t       turns = 1; /* of others */

    if (kind == UNTIL_AN_EVENT) {
        rest_until_an_event(group_of_rank[rank]);
        return;
    }
    if (kind == BY_WARP) {
        turns += 3u * simt_warp();
    } else if (kind == AT_RANDOM) { /* mostly short */
        turns = 1u << (heap_random(&random_of[rank]) % 6u);
        turns = heap_random(&random_of[rank]) % turns;
    }
    for (uint32_t i = 0; i < turns; i++) {
        let_others_run(ns);
    }
}

static void end_turn(const shpool_turn *turn)
{
    shpool_turn_end(turn);
    if (shpool_turn_leads(turn)) {
        note_event();
    }
}

/* ---- who waits ---- */

/* Wait for `bytes` as a group, or as a thread if lanes is 0; use them, and free them. */
static void ask(shpool_heap heap, uint32_t lanes, size_t bytes, uint32_t attempts)
{
    const uint32_t     rank = simt_thread_rank();
    const uint32_t     i    = (lanes == 0) ? 0u : simt_popc(lanes & simt_mask(0, simt_lane()));
    const uint32_t     last = (uint32_t)bytes / 4u - 1u - i;
    volatile uint32_t *words;

    group_of_rank[rank] = lanes;
    seen[rank]          = (kind == UNTIL_AN_EVENT) ? events() : 0u;
    words               = (volatile uint32_t *)wait_for(heap, lanes, bytes, attempts);
    EXPECT((words != NULL) || (attempts != FOR_EVER));
    if (words != NULL) {
        words[i]    = rank;
        words[last] = rank;
        if ((false_events != 0) && is_first(lanes)) {
            note_event();
        }
        let_others_run(32);
        EXPECT((words[i] == rank) && (words[last] == rank));
        give(heap, lanes, (void *)words);
    }
    if (is_first(lanes)) {
        simt_global_add32((words != NULL) ? &served : &given_up, 1);
        note_event();
    }
}

/* ---- every schedule within a bound of preemptions ---- */

typedef struct asker {
    uint32_t lanes;    /* 0: a thread */
    uint32_t tenths;   /* of the pool */
    uint32_t attempts;
} asker;

static const asker *askers; /* one for each thread */

static void ask_kernel(shpool_heap heap)
{
    const asker *own = &askers[simt_thread_rank()];

    ask(heap, own->lanes, t.pool.largest * own->tenths / 10u, own->attempts);
    if (simt_global_add32(&ended, 1) == simt_block_threads() - 1u) {
        EXPECT(nobody_waits(heap));
    }
}

static void add_events(void)
{
    t.launch.dynamic_bytes += 16u;
    served = given_up = 0;
}

static void before(void)
{
    ended = 0;
}

static void expect_served(void)
{
    assert_true((served > 0) && ((given_up > 0) == (false_events != 0)));
}

/* No barriers after the first: orders of arrival would multiply the schedules. */
static void explore(const asker *of, uint32_t threads, uint32_t preemptions, int how)
{
    const scene s = { .body = ask_kernel, .takes = shares, .served = how, .share = ALL,
                      .threads = { threads }, .each = 100, .tune = add_events, .leaves = 1,
                      .before = before, .expect = expect_served };

    kind   = UNTIL_AN_EVENT;
    askers = of;
    explore_scene(&s, preemptions);
}

/* Where each further preemption multiplies the schedules by a hundred: none under sanitizers. */
static uint32_t one(void)
{
    return heap_preemptions(2) - 1u;
}

UNIT_TEST(test_two_who_wait_are_served)
{
    static const asker two[] = { { 0, 7, FOR_EVER }, { 0, 7, FOR_EVER } };

    explore(two, 2, heap_preemptions(3), ONE_BY_ONE);
    explore(two, 2, heap_preemptions(2), BATCHED);
}

UNIT_TEST(test_three_who_wait_are_served)
{
    static const asker three[] = { { 0, 7, FOR_EVER }, { 0, 7, FOR_EVER }, { 0, 7, FOR_EVER } };
    static const asker mixed[] = { { 0, 10, FOR_EVER }, { 0, 4, FOR_EVER }, { 0, 4, FOR_EVER } };

    explore(mixed, 3, one(), ONE_BY_ONE);
    explore(mixed, 3, 0, BATCHED);
    explore(three, 3, one(), ONE_BY_ONE);
}

UNIT_TEST(test_one_gives_up_and_the_others_are_served)
{
    static const asker thread[] = { { 0, 10, 2 }, { 0, 4, FOR_EVER }, { 0, 10, FOR_EVER } };
    static const asker tile[]   = { { 3, 10, 2 }, { 3, 10, 2 }, { 0, 10, FOR_EVER } };

    false_events = 1;
    explore(thread, 3, one(), ONE_BY_ONE);
    explore(thread, 3, 0, BATCHED);
    explore(tile, 3, 0, EACH_WAY);
    false_events = 0;
}

UNIT_TEST(test_groups_that_wait_are_served)
{
    static const asker tile[] = { { 3, 7, FOR_EVER }, { 3, 7, FOR_EVER }, { 0, 7, FOR_EVER } };

    explore(tile, 3, one(), ONE_BY_ONE);
    explore(tile, 3, 0, BATCHED);
}

/* ---- random schedules ---- */

/* Three warps, two tiles of 16 lanes, and four threads, with six requests each. */
#define CROWD   132u
#define ROUNDS  6u
#define ASKERS  (3u + 2u + 4u)
#define BUDGET  2000000u /* switches: more than ten times those of the slowest run */

static void crowd_kernel(shpool_heap heap)
{
    static const uint32_t most[] = { 31500, 12000, 6000 }; /* bytes: of a warp, a tile, a thread */
    const uint32_t        rank   = simt_thread_rank();
    const uint32_t        who    = (simt_warp() < 3u) ? 0u : (simt_warp() == 3u) ? 1u : 2u;
    const uint32_t        lanes  = (who == 0) ? SIMT_ALL_LANES
                                   : (who == 1) ? simt_mask(simt_lane() / 16u * 16u, 16) : 0u;
    uint32_t state = t.seed * 64u + rank / ((who == 0) ? 32u : (who == 1) ? 16u : 1u) + 1u;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        ask(heap, lanes, 256u + heap_random(&state) % (most[who] - 255u), FOR_EVER);
    }
    simt_barrier();
    EXPECT(nobody_waits(heap));
}

static void begin(void)
{
    kind   = (pauses)(EQUAL + t.seed / 3u % 3u);
    served = given_up = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        random_of[i] = t.seed * CROWD + i + 1u;
    }
    t.launch.switch_period = 1u << (t.seed / 9u % 8u);
}

static void expect_all(void)
{
    assert_int_equal(served, ASKERS * ROUNDS);
    assert_int_equal(given_up, 0);
}

UNIT_TEST(test_a_crowd_that_waits_is_served)
{
    for (uint32_t kib = 33; kib <= 43; kib += 5) {
        scene s = { .body = crowd_kernel, .takes = shares, .share = ALL, .threads = { CROWD },
                    .each = kib * 1024u, .seeds = 12, .tune = begin, .most_switches = BUDGET,
                    .expect = expect_all };

        run_scene(&s);
        s.only  = "bitmap";
        s.seeds = 72;
        run_scene(&s);
    }
}
