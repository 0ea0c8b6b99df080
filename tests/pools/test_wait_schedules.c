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
#include "wait_trial.h"

static trial    t;
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

    if ((lanes == 0) || (simt_lane() == shpool_first_lane(lanes))) {
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
static void ask(trial *p, shpool_heap heap, uint32_t lanes, size_t bytes, uint32_t attempts)
{
    const uint32_t rank  = simt_thread_rank();
    const uint32_t leads = (lanes == 0) || (simt_lane() == shpool_first_lane(lanes));
    const uint32_t i     = (lanes == 0) ? 0u : simt_popc(lanes & simt_mask(0, simt_lane()));
    const uint32_t last  = (uint32_t)bytes / 4u - 1u - i;
    volatile uint32_t *words;

    group_of_rank[rank] = lanes;
    seen[rank]          = (kind == UNTIL_AN_EVENT) ? events() : 0u;
    words = (volatile uint32_t *)((lanes == 0)
                                      ? shpool_malloc_wait(heap, bytes, attempts)
                                      : shpool_malloc_wait_lanes(heap, lanes, bytes, attempts));
    EXPECT(p, (words != NULL) || (attempts != FOR_EVER));
    if (words != NULL) {
        words[i]    = rank;
        words[last] = rank;
        if ((false_events != 0) && leads) {
            note_event();
        }
        let_others_run(32);
        EXPECT(p, (words[i] == rank) && (words[last] == rank));
        if (lanes == 0) {
            shpool_free(heap, (void *)words);
        } else {
            shpool_free_lanes(heap, lanes, (void *)words);
        }
    }
    if (leads) {
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

typedef struct scene {
    const char *name;
    uint32_t    threads;
    asker       of[4];
} scene;

static const scene *now;

/* No barriers after the first: orders of arrival would multiply the schedules. */
static void scene_kernel(void *arg)
{
    trial       *p    = (trial *)arg;
    shpool_heap  heap = trial_init(p);
    const asker *own  = &now->of[simt_thread_rank()];

    ask(p, heap, own->lanes, p->pool.largest * own->tenths / 10u, own->attempts);
    if (simt_global_add32(&ended, 1) == simt_block_threads() - 1u) {
        EXPECT(p, nobody_waits(heap));
    }
}

static void before(void *arg)
{
    (void)arg;
    heap_model_reset(&t.model);
    ended = 0;
}

static int after(void *arg)
{
    (void)arg;
    return t.model.faults != 0;
}

static void explore_with(const shpool_allocator *allocator, const scene *s, uint32_t preemptions)
{
    simt_bounds bounds = { .preemptions = preemptions };
    simt_hooks  hooks  = { before, after };

    kind = UNTIL_AN_EVENT;
    now  = s;
    open_shared(&t, allocator, "", s->threads, 100);
    served = given_up = 0;
    if (simt_explore(&t.launch, &bounds, &hooks, scene_kernel, &t, &t.result) != SHPOOL_OK) {
        fail_msg("%s, %s: %s; %s", s->name, allocator->name, t.model.text, t.result.text);
    }
    print_message("             %s, %s, %u preemptions: %llu schedules, %u served, %u not\n",
                  s->name, allocator->name, preemptions, t.result.schedules, served, given_up);
    assert_true(t.result.complete);
    assert_true((served > 0) && ((given_up > 0) == (false_events != 0)));
    trial_close(&t);
}

static void explore(const scene *s, uint32_t preemptions, uint32_t of_batched)
{
    FOR_EACH_SHARED(allocator) {
        explore_with(allocator, s, is_batched(allocator) ? of_batched : preemptions);
    }
}

/* Preemptions where each further one multiplies the schedules by a hundred: none under
 * ThreadSanitizer. */
static uint32_t one(void)
{
    return heap_preemptions(2) - 1u;
}

UNIT_TEST(test_two_who_wait_are_served)
{
    static const scene two = { "two", 2, { { 0, 7, FOR_EVER }, { 0, 7, FOR_EVER } } };

    explore(&two, heap_preemptions(3), heap_preemptions(2));
}

UNIT_TEST(test_three_who_wait_are_served)
{
    static const scene three = { "three", 3, { { 0, 7, FOR_EVER }, { 0, 7, FOR_EVER },
                                               { 0, 7, FOR_EVER } } };
    static const scene mixed = { "mixed", 3, { { 0, 10, FOR_EVER }, { 0, 4, FOR_EVER },
                                               { 0, 4, FOR_EVER } } };

    explore(&mixed, one(), 0);
    FOR_EACH_SHARED(allocator) {
        if (!is_batched(allocator)) {
            explore_with(allocator, &three, one());
        }
    }
}

UNIT_TEST(test_one_gives_up_and_the_others_are_served)
{
    static const scene thread = { "thread gives up", 3, { { 0, 10, 2 }, { 0, 4, FOR_EVER },
                                                          { 0, 10, FOR_EVER } } };
    static const scene tile   = { "group gives up", 3, { { 3, 10, 2 }, { 3, 10, 2 },
                                                         { 0, 10, FOR_EVER } } };

    false_events = 1;
    explore(&thread, one(), 0);
    explore(&tile, 0, 0);
    false_events = 0;
}

UNIT_TEST(test_groups_that_wait_are_served)
{
    static const scene tile = { "group", 3, { { 3, 7, FOR_EVER }, { 3, 7, FOR_EVER },
                                              { 0, 7, FOR_EVER } } };

    explore(&tile, one(), 0);
}

/* ---- random schedules ---- */

/* Three warps, two tiles of 16 lanes, and four threads, with six requests each. */
#define CROWD   132u
#define ROUNDS  6u
#define ASKERS  (3u + 2u + 4u)
#define BUDGET  2000000u /* switches: more than ten times those of the slowest run */

static void crowd_kernel(void *arg)
{
    static const uint32_t most[] = { 31500, 12000, 6000 }; /* bytes: of a warp, a tile, a thread */
    trial         *p     = (trial *)arg;
    shpool_heap    heap  = trial_init(p);
    const uint32_t rank  = simt_thread_rank();
    const uint32_t who   = (simt_warp() < 3u) ? 0u : (simt_warp() == 3u) ? 1u : 2u;
    const uint32_t lanes = (who == 0) ? SIMT_ALL_LANES
                           : (who == 1) ? simt_mask(simt_lane() / 16u * 16u, 16) : 0u;
    uint32_t state = p->seed * 64u + rank / ((who == 0) ? 32u : (who == 1) ? 16u : 1u) + 1u;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        ask(p, heap, lanes, 256u + heap_random(&state) % (most[who] - 255u), FOR_EVER);
    }
    simt_barrier();
    EXPECT(p, nobody_waits(heap));
    trial_expect_fresh(p, heap);
}

static void run_crowd(const shpool_allocator *allocator, uint32_t seeds)
{
    unsigned long long most = 0;

    for (uint32_t seed = 0; seed < seeds; seed++) {
        open_shared(&t, allocator, "", CROWD, (33u + 5u * (seed % 3u)) * 1024u);
        kind   = (pauses)(EQUAL + seed / 3u % 3u);
        served = given_up = 0;
        for (uint32_t i = 0; i < CROWD; i++) {
            random_of[i] = seed * CROWD + i + 1u;
        }
        t.seed                 = seed;
        t.launch.seed          = seed;
        t.launch.switch_period = 1u << (seed / 9u % 8u);
        t.launch.max_switches  = BUDGET;
        trial_run(&t, crowd_kernel);
        assert_int_equal(served, ASKERS * ROUNDS);
        assert_int_equal(given_up, 0);
        most = (t.result.switches > most) ? t.result.switches : most;
        trial_close(&t);
    }
    print_message("             %s: %u schedules, at most %llu switches\n", allocator->name, seeds,
                  most);
}

UNIT_TEST(test_a_crowd_that_waits_is_served)
{
    FOR_EACH_SHARED(allocator) {
        run_crowd(allocator, heap_seeds((strcmp(allocator->name, "bitmap") == 0) ? 300u : 36u));
    }
}
