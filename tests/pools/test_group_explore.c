/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of two lanes, of which the first one asks, under every schedule with a bounded number of
 * preemptions, as in test_explore.c, and two groups against each other under many random ones.
 * What can go wrong is what the group adds: who uses the memory when, and who is told what.  Whole
 * warps, which serve a request by all lanes, are in test_warp_explore.c. */
#ifndef SHPOOL_INLINE /* pools.mk: planes */
#define SHPOOL_INLINE bitmap
#endif
#include "explore_pool.h"

#define PAIR       0x3u /* lanes of the first group */
#define OTHER_PAIR 0xcu /* and of the second */

/* ---- calls of a group that keep the journal of its first lane ---- */

static int leads(uint32_t lanes)
{
    return simt_lane() == shpool_first_lane(lanes);
}

static held get_group(shpool_heap heap, uint32_t lanes, uint32_t granules)
{
    journal *own  = &journals[simt_thread_rank()];
    uint32_t from = leads(lanes) ? tick() : 0u;
    held     h    = { { NULL, 0, 0 }, NULL };

    h.slot.at    = (unsigned char *)shpool_malloc_lanes(heap, lanes, 16u * granules);
    h.slot.bytes = 16u * granules;
    if (!leads(lanes)) {
        if (h.slot.at != NULL) { /* its own word, behind the last owner's */
            ((volatile uint32_t *)(void *)h.slot.at)[4u * granules - simt_lane()] = simt_lane();
        }
        return h;
    }
    if (h.slot.at == NULL) {
        own->refusal[own->refusals++] = (refusal){ granules, from, tick() };
        return h;
    }
    HEAP_EXPECT(&model, shpool_usable_size(heap, h.slot.at) == h.slot.bytes);
    h.slot.tag = from;
    heap_model_claim(&model, place_of(heap), &h.slot, 16u * granules, 16);
    ((volatile uint32_t *)(void *)h.slot.at)[0] = from;
    h.life  = &own->taken[own->takes++];
    *h.life = (taken){ granule_of(heap, h.slot.at), granules, from, UINT32_MAX };
    return h;
}

static void put_group(shpool_heap heap, uint32_t lanes, held *h)
{
    volatile uint32_t *words = (volatile uint32_t *)(void *)h->slot.at;
    uint32_t           reason;

    if (words == NULL) {
        return;
    }
    if (leads(lanes)) {
        heap_model_drop(&model, place_of(heap), &h->slot);
        HEAP_EXPECT(&model, words[0] == h->slot.tag);
        HEAP_EXPECT(&model, shpool_usable_size(heap, h->slot.at) == h->slot.bytes);
    } else {
        HEAP_EXPECT(&model, words[h->slot.bytes / 4u - simt_lane()] == simt_lane());
    }
    reason = shpool_free_lanes_as(heap, lanes, h->slot.at, 0);
    if (leads(lanes)) {
        HEAP_EXPECT(&model, reason == SHPOOL_FREE_OK);
        h->life->to = tick();
    }
}

static void group_get_put(shpool_heap heap, uint32_t granules)
{
    held a = get_group(heap, PAIR, granules);

    put_group(heap, PAIR, &a);
}

/* ---- scripts ---- */

static void group_5(shpool_heap heap) { group_get_put(heap, 5); }
static void group_14(shpool_heap heap) { group_get_put(heap, 14); }
static void group_20(shpool_heap heap) { group_get_put(heap, 20); }
static void group_35(shpool_heap heap) { group_get_put(heap, 35); }
static void group_50(shpool_heap heap) { group_get_put(heap, 50); }

static void other_get_put(shpool_heap heap, uint32_t granules)
{
    held a = get_group(heap, OTHER_PAIR, granules);

    put_group(heap, OTHER_PAIR, &a);
}

static void thread_get_put(shpool_heap heap, uint32_t granules)
{
    held a = get(heap, granules);

    put(heap, &a);
}

static void thread_5(shpool_heap heap) { thread_get_put(heap, 5); }
static void thread_14(shpool_heap heap) { thread_get_put(heap, 14); }
static void thread_20(shpool_heap heap) { thread_get_put(heap, 20); }

/* ---- kernel ---- */

static uint32_t ended;

/* The barriers of shpool_init() are choices, too, of who comes first: thread 0 makes the pool, and
 * one barrier is left. */
static shpool_heap start(void)
{
    shpool_heap heap = shpool_empty_heap();

    heap.window       = simt_window();
    heap.view.base    = simt_dynamic_base();
    heap.view.bytes   = pool.pool_bytes - SHPOOL_WAIT_BYTES;
    heap.view.rank    = simt_thread_rank();
    heap.view.flags   = pool.flags;
    heap.view.word[0] = pool.word[0];
    heap.view.word[1] = pool.word[1];
    if (simt_thread_rank() == 0) {
        SHPOOL_INLINE_(shpool_, _init)(heap.view, 0, 1);
        if (now->setup != NULL) {
            now->setup(heap);
        }
    }
    simt_barrier();
    return heap;
}

static void group_kernel(void *arg)
{
    shpool_heap heap = start();

    now->script[simt_thread_rank()](heap);
    if (simt_global_add32(&ended, 1) % now->threads == now->threads - 1u) { /* the last one */
        end = shpool_check(heap);
    }
}

#define EXPLORE(_test, ...)                                                                        \
    UNIT_TEST(_test)                                                                               \
    {                                                                                              \
        static const scenario s = { #_test, __VA_ARGS__ };                                         \
        ended = 0;                                                                                 \
        explore_kernel(&s, group_kernel);                                                          \
    }

EXPLORE(test_short_runs, 11, 3, 2, NULL, { group_5, group_5, thread_5 }, NULL)
EXPLORE(test_two_words, 22, 3, 1, NULL, { group_14, group_14, thread_14 }, NULL)
EXPLORE(test_long_runs, 44, 3, 1, NULL, { group_35, group_35, thread_20 }, NULL)
EXPLORE(test_runs_with_a_whole_pair, 64, 3, 1, NULL, { group_50, group_50, thread_20 }, NULL)

/* ---- freeing ---- */

/* The first lane keeps the model. */
static void group_frees(shpool_heap heap, uint32_t lanes)
{
    heap_slot slot = { (unsigned char *)gift[0], 16u * gift_taken[0].count, gift_taken[0].from };
    uint32_t  reason;

    if (leads(lanes)) {
        heap_model_drop(&model, place_of(heap), &slot);
        heap_verify(&model, slot.at, slot.bytes, slot.tag);
    }
    reason = shpool_free_lanes_as(heap, lanes, gift[0], 0);
    if (leads(lanes)) {
        HEAP_EXPECT(&model, reason == SHPOOL_FREE_OK);
        gift_taken[0].to = tick();
    }
}

static void pair_frees(shpool_heap heap) { group_frees(heap, PAIR); }

static void keep_a_long_one(shpool_heap heap)
{
    held front = get(heap, 3);

    keep(heap, 0, 27);
    put(heap, &front);
}

static void thread_frees(shpool_heap heap) { (void)put_gift(heap, 0); }

static void thread_8_and_20(shpool_heap heap)
{
    held a = get(heap, 8);
    held b = get(heap, 20);

    put(heap, &a);
    put(heap, &b);
}

EXPLORE(test_reuse_while_a_group_frees, 32, 3, 1, keep_a_long_one,
        { pair_frees, pair_frees, thread_8_and_20 }, NULL)
EXPLORE(test_a_group_reuses_what_a_thread_frees, 32, 3, 1, keep_a_long_one,
        { group_20, group_20, thread_frees }, NULL)

/* Both ways to lose say so. */
static void race_to_free(shpool_heap heap, uint32_t lanes)
{
    uint32_t reason = (lanes != 0) ? shpool_free_lanes_at(heap, lanes, gift[0], 0)
                                   : shpool_free_at(heap, gift[0], 0);

    HEAP_EXPECT(&model, (reason == SHPOOL_FREE_OK) || (reason == SHPOOL_FREE_DOUBLE));
    if ((reason == SHPOOL_FREE_OK) && ((lanes == 0) || leads(lanes))) {
        gift_taken[0].to = tick();
        simt_global_add32(&wins, 1);
    }
}

static void pair_races(shpool_heap heap) { race_to_free(heap, PAIR); }
static void other_pair_races(shpool_heap heap) { race_to_free(heap, OTHER_PAIR); }
static void thread_races(shpool_heap heap) { race_to_free(heap, 0); }
static int  one_wins(void) { return wins == 1; }
static void keep_a_short_one(shpool_heap heap) { keep(heap, 0, 9); }

EXPLORE(test_double_free_by_a_group_and_a_thread, 32, 3, 2, keep_a_long_one,
        { pair_races, pair_races, thread_races }, one_wins)
EXPLORE(test_double_free_of_a_short_run, 22, 3, 2, keep_a_short_one,
        { pair_races, pair_races, thread_races }, one_wins)

/* ---- resize ---- */

/* Grows in place or moves; the contents stay. */
static void pair_grows(shpool_heap heap)
{
    held      a    = get_group(heap, PAIR, 5);
    uint32_t *more;

    if (a.slot.at == NULL) {
        return;
    }
    if (leads(PAIR)) {
        heap_model_drop(&model, place_of(heap), &a.slot);
    }
    more = (uint32_t *)shpool_realloc_lanes(heap, PAIR, a.slot.at, 16u * 14u);
    if (leads(PAIR)) {
        a.slot.at    = (more != NULL) ? (unsigned char *)more : a.slot.at;
        a.slot.bytes = (more != NULL) ? 16u * 14u : a.slot.bytes;
        a.life->to   = tick();
        HEAP_EXPECT(&model, ((volatile uint32_t *)(void *)a.slot.at)[0] == a.slot.tag);
        heap_model_claim(&model, place_of(heap), &a.slot, 0, 16);
        heap_model_drop(&model, place_of(heap), &a.slot);
    } else if (more != NULL) {
        a.slot.at = (unsigned char *)more;
    }
    shpool_free_lanes(heap, PAIR, a.slot.at);
}

EXPLORE(test_a_group_grows_beside_a_thread, 33, 3, 1, NULL, { pair_grows, pair_grows, thread_5 },
        NULL)

/* ---- two groups ---- */

static void other_5(shpool_heap heap) { other_get_put(heap, 5); }
static void other_20(shpool_heap heap) { other_get_put(heap, 20); }
static void other_50(shpool_heap heap) { other_get_put(heap, 50); }
static void other_frees(shpool_heap heap) { group_frees(heap, OTHER_PAIR); }

/* Too many schedules: random ones. */
static void seeds(const scenario *s)
{
    simt_launch launch = { .block = { s->threads } };
    uint32_t    rounds = heap_long() ? 200000u : 3000u;

    start_scenario(s, &launch);
    for (uint32_t seed = 1; seed <= rounds; seed++) {
        simt_result result;

        ended                = 0;
        launch.seed          = seed;
        launch.switch_period = 1u + seed % 4u;
        before(NULL);
        if (simt_run(&launch, group_kernel, NULL, &result) != SHPOOL_OK) {
            fail_msg("%s, seed %u: %s", s->name, seed, result.text);
        }
        if (after(NULL)) {
            fail_msg("%s, seed %u: %s", s->name, seed, model.text);
        }
    }
}

#define SEEDS(_test, ...)                                                                          \
    UNIT_TEST(_test)                                                                               \
    {                                                                                              \
        static const scenario s = { #_test, __VA_ARGS__ };                                         \
        seeds(&s);                                                                                 \
    }

SEEDS(test_two_groups_of_short_runs, 11, 4, 0, NULL, { group_5, group_5, other_5, other_5 }, NULL)
SEEDS(test_double_free_by_two_groups, 32, 4, 0, keep_a_long_one,
      { pair_races, pair_races, other_pair_races, other_pair_races }, one_wins)
SEEDS(test_two_groups_of_long_runs, 44, 4, 0, NULL, { group_35, group_35, other_20, other_20 },
      NULL)
SEEDS(test_two_groups_with_a_whole_pair, 64, 4, 0, NULL,
      { group_50, group_50, other_50, other_50 }, NULL)
SEEDS(test_a_group_reuses_what_another_frees, 32, 4, 0, keep_a_long_one,
      { group_20, group_20, other_frees, other_frees }, NULL)

UNIT_NEEDS(SHPOOL_BOUND_NAME)
