/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap under every schedule with a bounded number of preemptions.
 *
 * Each scenario is a few short scripts over a pool of 1 to 4 words of 11 granules, or over the last
 * ones of 32.  After each schedule
 *   - no two allocations overlapped, and usable sizes are exact
 *   - the pool is sound; what the scripts have left in it is what the walk finds
 *   - every NULL is justified: some instant of the call had no room for the request, where memory
 *     counts as taken from the START of the malloc that returned it to the END of its free
 *   - the scenario's own condition holds (one winner of a double free, ...)
 * The program prints how many schedules each scenario has. */
#ifndef SHPOOL_INLINE /* pools.mk: planes */
#define SHPOOL_INLINE bitmap
#endif
#define GRANULES      352u
#include "explore_pool.h"

/* ---- scripts ---- */

static void get_put(shpool_heap heap, uint32_t first, uint32_t second)
{
    held a = get(heap, first);

    put(heap, &a);
    if (second != 0) {
        a = get(heap, second);
        put(heap, &a);
    }
}

static void short_runs(shpool_heap heap) { get_put(heap, 5, 9); }
static void long_runs(shpool_heap heap) { get_put(heap, 18, 24); }
static void mixed_runs(shpool_heap heap) { get_put(heap, 24, 7); }
static void one_short(shpool_heap heap) { get_put(heap, 9, 0); }
static void one_long(shpool_heap heap) { get_put(heap, 20, 0); }
static void one_word(shpool_heap heap) { get_put(heap, 11, 0); }
static void across(shpool_heap heap) { get_put(heap, 14, 6); }
static void one_across(shpool_heap heap) { get_put(heap, 14, 0); }

#define EXPLORE(_test, ...)                                                                        \
    UNIT_TEST(_test)                                                                               \
    {                                                                                              \
        static const scenario s = { #_test, __VA_ARGS__ };                                         \
        explore(&s);                                                                               \
    }

EXPLORE(test_short_runs_of_2_threads, 22, 2, 3, NULL, { short_runs, short_runs }, NULL)
EXPLORE(test_short_runs_in_one_word, 11, 2, 3, NULL, { short_runs, short_runs }, NULL)
EXPLORE(test_short_runs_of_3_threads, 11, 3, 1, NULL, { one_short, one_short, one_short }, NULL)
EXPLORE(test_runs_across_2_words_of_2_threads, 22, 2, 3, NULL, { across, across }, NULL)
EXPLORE(test_runs_across_2_words_of_3_threads, 22, 3, 1, NULL, { one_across, across, one_short },
        NULL)
EXPLORE(test_long_runs_of_2_threads, 40, 2, 3, NULL, { long_runs, long_runs }, NULL)
EXPLORE(test_long_runs_of_3_threads, 48, 3, 1, NULL, { one_long, mixed_runs, one_long }, NULL)
EXPLORE(test_long_and_short_runs, 40, 2, 3, NULL, { mixed_runs, short_runs }, NULL)
EXPLORE(test_long_and_short_runs_of_3_threads, 32, 3, 1, NULL, { one_long, one_short, one_word },
        NULL)

static void runs_in_a_pair(shpool_heap heap) { get_put(heap, 18, 20); }

EXPLORE(test_long_runs_in_one_pair, 22, 2, 3, NULL, { runs_in_a_pair, runs_in_a_pair }, NULL)

/* Memory of a run that another thread frees in two steps. */
static void keep_3_pairs(shpool_heap heap)
{
    keep(heap, 0, 44);
    keep(heap, 1, 22);
}

static void want_3_pairs(shpool_heap heap) { get_put(heap, 66, 0); }

static void free_the_end_first(shpool_heap heap)
{
    HEAP_EXPECT(&model, put_gift(heap, 1) == SHPOOL_FREE_OK);
    HEAP_EXPECT(&model, put_gift(heap, 0) == SHPOOL_FREE_OK);
}

static void free_the_front_first(shpool_heap heap)
{
    HEAP_EXPECT(&model, put_gift(heap, 0) == SHPOOL_FREE_OK);
    HEAP_EXPECT(&model, put_gift(heap, 1) == SHPOOL_FREE_OK);
}

EXPLORE(test_each_pair_of_a_run_is_acquired, 66, 2, 2, keep_3_pairs,
        { want_3_pairs, free_the_end_first }, NULL)
EXPLORE(test_the_last_pair_of_a_run_is_acquired, 66, 2, 2, keep_3_pairs,
        { want_3_pairs, free_the_front_first }, NULL)

/* ---- a warp has its own words from 32 on: below that, all threads share all words ---- */

static void leave_3_words(shpool_heap heap) { keep(heap, 0, 319); }
static void leave_4_words(shpool_heap heap) { keep(heap, 0, 308); }

/* Both threads search, and find room in the same pair first: one claim is lost. */
EXPLORE(test_searches_meet_in_a_word, 352, 2, 2, leave_3_words, { one_short, one_short }, NULL)
EXPLORE(test_searches_meet_across_words, 352, 2, 2, leave_4_words, { one_across, one_across }, NULL)

/* ---- a transient mark is not a reason to refuse ---- */

/* Three granules at granule `first`, in front of which all is free. */
static void take_3_at(shpool_heap heap, uint32_t first)
{
    held a = get(heap, first);
    held b = get(heap, 3);

    put(heap, &a);
    gift[0]       = b.slot.at;
    gift_taken[0] = *b.life;
    b.life->to    = 0; /* the gift speaks for it */
}

/* In word 2, so that no 11 fit in there. */
static void take_the_middle_of_word_2(shpool_heap heap) { take_3_at(heap, 27); }

/* One swap claims words 0 and 1, if word 1 is not taken. */
static void claim_words_0_and_1(shpool_heap heap) { get_put(heap, 18, 0); }

/* Word 1 first, and then all looks full if thread 0 has claimed. */
static void take_11_twice(shpool_heap heap)
{
    held a = get(heap, 11);
    held b = get(heap, 11);

    put(heap, &b);
    put(heap, &a);
}

EXPLORE(test_mark_that_is_rolled_back_refuses_nobody, 33, 2, 3, take_the_middle_of_word_2,
        { claim_words_0_and_1, take_11_twice }, NULL)
EXPLORE(test_marks_of_3_threads_refuse_nobody, 33, 3, 1, take_the_middle_of_word_2,
        { claim_words_0_and_1, take_11_twice, one_word }, NULL)

/* The same for a run that is claimed pair by pair. */
static void take_the_last_3(shpool_heap heap) { take_3_at(heap, 85); }

/* Marks pairs 1, 2 and 0, and finds the last one taken. */
static void claim_4_pairs(shpool_heap heap) { get_put(heap, 80, 0); }

EXPLORE(test_marks_of_pairs_refuse_nobody, 88, 2, 2, take_the_last_3,
        { claim_4_pairs, take_11_twice }, NULL)

/* ---- memory that becomes free behind the search ---- */

static void take_word_0(shpool_heap heap)
{
    keep(heap, 0, 11);
}

static void want_17(shpool_heap heap)
{
    get_put(heap, 17, 0);
}

/* Room for 17 moves from words 1..3 to words 0..1. */
static void move_the_hole(shpool_heap heap)
{
    held a;

    HEAP_EXPECT(&model, put_gift(heap, 0) == SHPOOL_FREE_OK);
    a = get(heap, 11); /* thread 1's home is word 2 of 4 */
    put(heap, &a);
}

EXPLORE(test_memory_freed_behind_the_search_is_found, 44, 2, 3, take_word_0,
        { want_17, move_the_hole }, NULL)
EXPLORE(test_memory_freed_behind_the_search_is_found_by_3, 44, 3, 1, take_word_0,
        { want_17, move_the_hole, one_short }, NULL)

/* ---- freeing ---- */

static void keep_a_long_one(shpool_heap heap)
{
    keep(heap, 0, 27); /* not at a word's start: 3 granules before it */
}

static void keep_behind_three(shpool_heap heap)
{
    held front = get(heap, 3);

    keep(heap, 0, 27);
    put(heap, &front);
}

/* In two words. */
static void keep_two_words(shpool_heap heap)
{
    held front = get(heap, 3);

    keep(heap, 0, 14);
    put(heap, &front);
}

static void free_the_gift(shpool_heap heap)
{
    HEAP_EXPECT(&model, put_gift(heap, 0) == SHPOOL_FREE_OK);
}

/* Bypasses the model, which would call the second free a fault. */
static void race_to_free(shpool_heap heap)
{
    uint32_t reason = shpool_free_at(heap, gift[0], 0);

    HEAP_EXPECT(&model, (reason == SHPOOL_FREE_OK) || (reason == SHPOOL_FREE_DOUBLE));
    if (reason == SHPOOL_FREE_OK) {
        gift_taken[0].to = tick();
        simt_global_add32(&wins, 1);
    }
}

static int one_wins(void) { return wins == 1; }

static void keep_a_short_one(shpool_heap heap) { keep(heap, 0, 9); }

EXPLORE(test_double_free_of_a_short_run_has_one_winner, 32, 3, 2, keep_a_short_one,
        { race_to_free, race_to_free, race_to_free }, one_wins)
EXPLORE(test_double_free_of_a_long_run_has_one_winner, 32, 2, 3, keep_a_long_one,
        { race_to_free, race_to_free }, one_wins)
EXPLORE(test_double_free_of_two_words_has_one_winner, 22, 3, 2, keep_two_words,
        { race_to_free, race_to_free, race_to_free }, one_wins)
EXPLORE(test_double_free_of_3_threads_has_one_winner, 32, 3, 2, keep_behind_three,
        { race_to_free, race_to_free, race_to_free }, one_wins)

/* Memory reused during a long free has exact sizes and keeps its bits. */
static void reuse(shpool_heap heap)
{
    held a = get(heap, 8);
    held b = get(heap, 8);

    put(heap, &a);
    put(heap, &b);
}

static void reuse_the_front(shpool_heap heap) { get_put(heap, 4, 4); }

static void reuse_long(shpool_heap heap) { get_put(heap, 20, 8); }

EXPLORE(test_reuse_while_a_long_run_is_freed, 32, 2, 3, keep_behind_three,
        { free_the_gift, reuse }, NULL)
EXPLORE(test_reuse_while_two_words_are_freed, 22, 2, 3, keep_two_words,
        { free_the_gift, reuse }, NULL)
EXPLORE(test_reuse_of_the_front_while_a_long_run_is_freed, 32, 2, 3, keep_behind_three,
        { free_the_gift, reuse_the_front }, NULL)
EXPLORE(test_long_reuse_while_a_long_run_is_freed, 32, 2, 3, keep_a_long_one,
        { free_the_gift, reuse_long }, NULL)
EXPLORE(test_free_by_another_thread_while_2_allocate, 32, 3, 1, keep_behind_three,
        { one_short, free_the_gift, reuse }, NULL)

/* ---- resize ---- */

/* Grow in place or not at all; then the allocation is as before. */
static void resize(shpool_heap heap, held *h, uint32_t granules)
{
    journal *own  = &journals[simt_thread_rank()];
    uint32_t from = tick();
    uint32_t old  = h->life->count;

    if (granules > old) { /* its new part is taken from the start of the call, if it works */
        if (SHPOOL_INLINE_(shpool_, _resize)(heap.view, simt_to_shared(h->slot.at),
                                             16u * granules)) {
            taken *more = &own->taken[own->takes++];

            HEAP_EXPECT(&model, shpool_usable_size(heap, h->slot.at) == 16u * granules);
            heap_verify(&model, h->slot.at, h->slot.bytes, h->slot.tag);
            heap_model_drop(&model, place_of(heap), &h->slot);
            h->slot.bytes = 16u * granules;
            heap_fill(&h->slot);
            heap_model_claim(&model, place_of(heap), &h->slot, 0, 16);
            *more         = *h->life; /* a new life from here; the old one ends, without a gap */
            more->from    = from;
            more->count   = granules;
            h->life->to   = tick();
            h->life       = more;
        }
        return;
    }
    heap_verify(&model, h->slot.at, h->slot.bytes, h->slot.tag);
    heap_model_drop(&model, place_of(heap), &h->slot);
    h->slot.bytes = 16u * granules; /* before others may have the rest */
    heap_model_claim(&model, place_of(heap), &h->slot, 0, 16);
    HEAP_EXPECT(&model, SHPOOL_INLINE_(shpool_, _resize)(heap.view, simt_to_shared(h->slot.at),
                                                         16u * granules));
    HEAP_EXPECT(&model, shpool_usable_size(heap, h->slot.at) == 16u * granules);
    taken *less   = &own->taken[own->takes++];
    *less         = *h->life;
    less->from    = from;
    less->count   = granules;
    h->life->to   = tick();
    h->life       = less;
}

static void grow_then_shrink(shpool_heap heap)
{
    held a = get(heap, 10);

    if (a.slot.at != NULL) {
        resize(heap, &a, 29);
        resize(heap, &a, (a.slot.bytes > 112u) ? 7 : 5);
        put(heap, &a);
    }
}

static void shrink_a_long_one(shpool_heap heap)
{
    held a = get(heap, 30);

    if (a.slot.at != NULL) {
        resize(heap, &a, 3);
        put(heap, &a);
    }
}

/* To the end of a word and from there on: bit 31 of its word follows. */
static void shrink_to_a_word_then_grow(shpool_heap heap)
{
    held a = get(heap, 30);

    if (a.slot.at != NULL) {
        resize(heap, &a, 11);
        resize(heap, &a, 16);
        resize(heap, &a, 11);
        put(heap, &a);
    }
}

EXPLORE(test_resize_to_the_end_of_a_word, 33, 2, 2, NULL,
        { shrink_to_a_word_then_grow, one_across }, NULL)
EXPLORE(test_resize_while_another_allocates, 32, 2, 3, NULL, { grow_then_shrink, one_long }, NULL)
EXPLORE(test_resize_while_another_takes_what_lies_behind, 32, 2, 3, NULL,
        { grow_then_shrink, one_short }, NULL)
EXPLORE(test_two_that_resize, 32, 2, 3, NULL, { grow_then_shrink, grow_then_shrink }, NULL)
EXPLORE(test_shrinking_while_another_allocates, 32, 2, 3, NULL, { shrink_a_long_one, reuse }, NULL)

#if defined(SHPOOL_PLANES_PROVED)
/* ---- a proof that nothing fits ---- */

static const shpool_planes_wish four = { 4, 0 };

/* Leaves a hole of 4 granules where thread 1's home is, and as many in gift 0, before it. */
static void leave_4_of_32(shpool_heap heap)
{
    held hole, rest;

    keep(heap, 0, 4);
    rest = get(heap, 12);
    rest = get(heap, 16);
    hole = get(heap, 4);
    rest = get(heap, 12);
    rest = get(heap, 16);
    (void)rest;
    put(heap, &hole);
}

static void keep_all_64(shpool_heap heap)
{
    keep(heap, 0, 4);
    keep(heap, 1, 60);
}

static void proved(uint32_t from)
{
    journal *own = &journals[AGENT];

    own->refusal[own->refusals++] = (refusal){ four.need, from, tick() };
}

static void prove_4(shpool_heap heap)
{
    const uint32_t     from = tick();
    shpool_planes_vain vain = shpool_planes_begin(heap.view.base);

    if (shpool_planes_prove(heap.view.base, heap.view.word[0], four, &vain, 0) ==
        SHPOOL_PLANES_PROVED) {
        proved(from);
    }
}

/* There is always a hole: it moves behind the proof. */
static void free_4_take_4(shpool_heap heap)
{
    HEAP_EXPECT(&model, put_gift(heap, 0) == SHPOOL_FREE_OK);
    (void)get(heap, 4);
}

/* A proof that was made before this hole must not serve a request that begins after it. */
static void free_4_trust_a_proof(shpool_heap heap)
{
    uint32_t           from;
    shpool_planes_vain vain;

    HEAP_EXPECT(&model, put_gift(heap, 0) == SHPOOL_FREE_OK);
    from = tick();
    vain = shpool_planes_begin(heap.view.base);
    if (shpool_planes_is_proved(heap.view.base, four.need, vain.since)) {
        proved(from);
    }
}

/* Frees that void each proof do not keep a request waiting for ever. */
static void void_all_proofs(shpool_heap heap)
{
    shpool_planes_vain vain  = shpool_planes_begin(heap.view.base);
    uint32_t           voids = 1;

    while ((voids < 1000u) && !shpool_planes_pause(heap.view.base, &vain, 1)) {
        voids++;
    }
    wins = (voids > SHPOOL_PLANES_LONGEST) &&
           (voids <= SHPOOL_PLANES_LONGEST + SHPOOL_PLANES_VOIDS + 1u);
}

EXPLORE(test_void_proofs_end, 64, 1, 1, NULL, { void_all_proofs }, one_wins)
EXPLORE(test_a_hole_that_moves_is_not_proved_away, 64, 2, 2, leave_4_of_32,
        { prove_4, free_4_take_4 }, NULL)
EXPLORE(test_a_proof_serves_no_later_request, 64, 2, 2, keep_all_64,
        { prove_4, free_4_trust_a_proof }, NULL)
#endif

UNIT_NEEDS(SHPOOL_BOUND_NAME)
