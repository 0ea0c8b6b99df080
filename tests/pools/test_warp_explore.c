/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of two warps and a thread that meet, and frees behind a search; at the end, warps that
 * have met before (explore_warp.h). */
#include "explore_warp.h"

/* ---- scripts ---- */

static void warp_5(shpool_heap heap) { warp_gets(heap, 5); }
static void warp_14(shpool_heap heap) { warp_gets(heap, 14); }
static void warp_17(shpool_heap heap) { warp_gets(heap, 17); }
static void warp_20(shpool_heap heap) { warp_gets(heap, 20); }
static void warp_40(shpool_heap heap) { warp_gets(heap, 40); }
static void warp_44(shpool_heap heap) { warp_gets(heap, 44); }
static void warp_60(shpool_heap heap) { warp_gets(heap, 60); }
static void warp_66(shpool_heap heap) { warp_gets(heap, 66); }
static void warp_300(shpool_heap heap) { warp_gets(heap, 300); }
static void warp_380(shpool_heap heap) { warp_gets(heap, 380); }
static void warp_690(shpool_heap heap) { warp_gets(heap, 690); }
static void warp_716(shpool_heap heap) { warp_gets(heap, 716); }

static void warp_11_then_11(shpool_heap heap)
{
    held a = get_warp(heap, 11);
    held b = get_warp(heap, 11);

    put_warp(heap, &b);
    put_warp(heap, &a);
}

static void thread_3(shpool_heap heap) { thread_gets(heap, 3); }
static void thread_5(shpool_heap heap) { thread_gets(heap, 5); }
static void thread_14(shpool_heap heap) { thread_gets(heap, 14); }
static void thread_20(shpool_heap heap) { thread_gets(heap, 20); }
static void thread_300(shpool_heap heap) { thread_gets(heap, 300); }
static void thread_keeps_3(shpool_heap heap) { kept[simt_thread_rank()] = get(heap, 3); }

/* ---- malloc against malloc ---- */

WARPS(test_one_pair_for_one, 22, NULL, warp_14, warp_14, thread_5, NULL)
WARPS(test_one_pair_for_all, 22, NULL, warp_5, warp_5, thread_5, nobody_refused)
WARPS(test_long_runs_for_one, 88, NULL, warp_60, warp_60, thread_14, NULL)
WARPS(test_long_runs_for_all, 110, NULL, warp_44, warp_44, thread_14, NULL)
WARPS(test_long_run_and_short_ones, 44, NULL, warp_40, warp_5, thread_20, NULL)
WARPS(test_several_windows, LARGE, NULL, warp_716, warp_716, thread_3, NULL)
WARPS(test_first_looks_meet, LARGE, NULL, warp_690, warp_690, NULL, NULL)
WARPS(test_first_looks_for_all, LARGE, NULL, warp_300, warp_300, thread_3, NULL)
WARPS(test_first_look_and_several_windows, LARGE, NULL, warp_690, warp_716, thread_20, NULL)

/* ---- transient marks refuse no request ---- */

/* The thread has 3 granules in the second pair, to the end: either it comes last, or the claim of
 * the first warp is undone, and the second one finds room in the first pair. */
WARPS(test_claims_refuse_no_warp, 44, NULL, warp_40, warp_20, thread_keeps_3, NULL)

static void warp_keeps_3(shpool_heap heap) { kept[simt_thread_rank()] = get_warp(heap, 3); }

/* As above, but the thread is the one to be refused. */
WARPS(test_claims_refuse_no_thread, 44, NULL, warp_40, warp_keeps_3, thread_20, NULL)
WARPS(test_claims_refuse_no_two, 66, NULL, warp_60, warp_11_then_11, thread_keeps_3, NULL)

/* The same with runs so long that a claim takes several rounds. */
WARPS(test_long_claims_refuse_no_warp, LARGE, NULL, warp_716, warp_300, thread_keeps_3, NULL)

WARPS(test_long_claims_refuse_no_thread, LARGE, NULL, warp_716, warp_keeps_3, thread_300, NULL)

/* A whole search between two rounds of such a claim is rare.  What it relies on is not: a mark of
 * an earlier round is there and its pair is not CLAIMED, so the claim has ended and has all of its
 * marks. */
static void warp_keeps_716(shpool_heap heap) { kept[simt_thread_rank()] = get_warp(heap, 716); }

static void thread_watches_716(shpool_heap heap)
{
    for (uint32_t i = 0; i < 400u; i++) {
        simt_addr second = shpool_bitmap_word_at(heap.view, 1);
        simt_addr last   = shpool_bitmap_word_at(heap.view, shpool_bitmap_word_of(715));

        if ((simt_atomic_load(second, SIMT_ACQUIRE) == SHPOOL_BITMAP_THROUGH) &&
            ((simt_atomic_load(shpool_bitmap_word_at(heap.view, 0), SIMT_ACQUIRE) &
              SHPOOL_BITMAP_CLAIMED) == 0)) {
            HEAP_EXPECT(&model, (simt_atomic_load(last, SIMT_RELAXED) & 1u) != 0);
            return;
        }
    }
}

WARPS(test_a_long_claim_is_claimed, LARGE, NULL, warp_keeps_716, NULL, thread_watches_716, NULL)

/* Of warps that want the same long run at the same time, one gets it: if they undid their claims
 * because of each other, they could do so for ever. */
static void warp_waits_716(shpool_heap heap)
{
    kept[simt_thread_rank()] = request(heap, 716, 1);
}

static int somebody_has_it(void) { return journals[0].takes + journals[1].takes != 0; }

WARPS(test_one_of_two_gets_a_long_run, LARGE, NULL, warp_waits_716, warp_waits_716, NULL,
      somebody_has_it)

/* A claim that stands while others look: the last 17 granules of the only pair that is free. */
#define MARKS_X (SHPOOL_BITMAP_CLAIMED | SHPOOL_BITMAP_MORE | 0x2007e0u)
#define MARKS_Y SHPOOL_BITMAP_USED

static void let_a_claim_stand(shpool_heap heap)
{
    held hole;

    keep(heap, 0, 22);
    hole = get(heap, 22);
    if (now->granules > 44u) {
        keep(heap, 1, now->granules - 44u);
    }
    put(heap, &hole);
    HEAP_EXPECT(&model, simt_load32(shpool_bitmap_word_at(heap.view, 2)) == 0);
    simt_store32(shpool_bitmap_word_at(heap.view, 2), MARKS_X);
    simt_store32(shpool_bitmap_word_at(heap.view, 3), MARKS_Y);
}

static void undo_the_claim(shpool_heap heap)
{
    if (leads()) {
        simt_addr a = shpool_bitmap_word_at(heap.view, 2);

        HEAP_EXPECT(&model, (simt_atomic_load(a, SIMT_RELAXED) & MARKS_X) == MARKS_X);
        (void)simt_atomic_and(a + 4u, ~MARKS_Y, SIMT_RELEASE);
        (void)simt_atomic_and(a, ~MARKS_X, SIMT_RELEASE);
    }
}

/* The same as a claim of more than one look has it: the pool counts it as pending. */
static void let_a_long_claim_stand(shpool_heap heap)
{
    let_a_claim_stand(heap);
    simt_store32(shpool_bitmap_word_at(heap.view, 2), MARKS_X & ~SHPOOL_BITMAP_CLAIMED);
    shpool_bitmap_claiming(heap.view);
}

static void undo_the_long_claim(shpool_heap heap)
{
    if (leads()) {
        shpool_bitmap_clear(heap.view, 27, 17);
        shpool_bitmap_claimed(heap.view, 1u);
    }
}

/* A claim that stands in the middle of the only run, after the first window of a search. */
static void let_a_far_claim_stand(shpool_heap heap)
{
    keep(heap, 0, 22u * 36u);
    simt_store32(shpool_bitmap_word_at(heap.view, 74),
                 SHPOOL_BITMAP_THROUGH | SHPOOL_BITMAP_CLAIMED);
    simt_store32(shpool_bitmap_word_at(heap.view, 75), SHPOOL_BITMAP_THROUGH);
}

static void undo_the_far_claim(shpool_heap heap)
{
    if (leads()) {
        (void)simt_atomic_and(shpool_bitmap_word_at(heap.view, 75), 0, SIMT_RELEASE);
        (void)simt_atomic_and(shpool_bitmap_word_at(heap.view, 74), 0, SIMT_RELEASE);
    }
}

WARPS(test_a_claim_is_left_alone, 44, let_a_claim_stand, warp_5, NULL, undo_the_claim,
      nobody_refused)
WARPS(test_a_claim_is_left_alone_at_the_first_look, LARGE, let_a_claim_stand, warp_5, warp_5,
      undo_the_claim, nobody_refused)
WARPS(test_a_claim_refuses_no_warp, 44, let_a_claim_stand, warp_20, NULL, undo_the_claim, NULL)
WARPS(test_a_long_claim_refuses_no_warp, 44, let_a_long_claim_stand, warp_20, NULL,
      undo_the_long_claim, NULL)
WARPS(test_a_far_claim_refuses_no_warp, 22u * 39u, let_a_far_claim_stand, warp_66, NULL,
      undo_the_far_claim, nobody_refused)
WARPS(test_a_claim_refuses_no_thread, 44, let_a_claim_stand, undo_the_claim, NULL, thread_20, NULL)

/* ---- memory that becomes free behind the search ---- */

/* The last 17 granules of a gift come and go; its life speaks for those in front. */
static taken *more_of_gift(uint32_t i)
{
    journal *own  = &journals[AGENT];
    taken   *more = &own->taken[own->takes++];

    *more = (taken){ gift_taken[i].first + gift_taken[i].count, 17, tick(), UINT32_MAX };
    return more;
}

static void shrink_gift(shpool_heap heap, uint32_t i, taken *more)
{
    HEAP_EXPECT(&model, shpool_bitmap_resize(heap.view, simt_to_shared(gift[i]),
                                             16u * gift_taken[i].count) != 0);
    more->to = tick();
}

static void grow_gift(shpool_heap heap, uint32_t i)
{
    taken *more = more_of_gift(i); /* taken from here on */

    if (!shpool_bitmap_resize(heap.view, simt_to_shared(gift[i]),
                              16u * (gift_taken[i].count + 17u))) {
        more->to = more->from - 1u; /* the other one was quicker */
    }
}

static taken *gift_more[2];

/* The model knows of the first 5 granules only. */
static taken *shrinking_gift(shpool_heap heap, uint32_t i)
{
    heap_slot slot = { (unsigned char *)gift[i], 16u * 22u, gift_taken[i].from };

    heap_model_drop(&model, place_of(heap), &slot);
    slot.bytes = 16u * 5u;
    heap_model_claim(&model, place_of(heap), &slot, 0, 16);
    gift_taken[i].count = 5;
    return more_of_gift(i);
}

/* Two pairs are taken, in the third one is room for 17. */
static void leave_17_in_pair_2(shpool_heap heap)
{
    keep(heap, 0, 22);
    keep(heap, 1, 22);
    keep(heap, 2, 3);
    gift_more[0] = shrinking_gift(heap, 0);
    gift_more[1] = shrinking_gift(heap, 1);
}

/* The room moves to pair 1 and then to pair 0, each time before a search from below. */
static void move_17_down_twice(shpool_heap heap)
{
    shrink_gift(heap, 1, gift_more[1]);
    grow_gift(heap, 2);
    shrink_gift(heap, 0, gift_more[0]);
    grow_gift(heap, 1);
}

WARPS(test_memory_freed_behind_the_search_is_found, 64, leave_17_in_pair_2, warp_17, NULL,
      move_17_down_twice, NULL)

/* ---- freeing ---- */

static void warp_frees_gift(shpool_heap heap, uint32_t i)
{
    heap_slot slot = { (unsigned char *)gift[i], 16u * gift_taken[i].count, gift_taken[i].from };
    uint32_t  reason;

    if (leads()) {
        heap_model_drop(&model, place_of(heap), &slot);
        heap_verify(&model, slot.at, slot.bytes, slot.tag);
    }
    reason = shpool_free_lanes_as(heap, ALL, gift[i], 0);
    if (leads()) {
        HEAP_EXPECT(&model, reason == SHPOOL_FREE_OK);
        gift_taken[i].to = tick();
    }
}

static void warp_frees(shpool_heap heap) { warp_frees_gift(heap, 0); }
static void thread_frees(shpool_heap heap) { (void)put_gift(heap, 0); }

static void leave_17_in_pair_1(shpool_heap heap)
{
    keep(heap, 0, 22);
    keep(heap, 1, 5);
}

/* By its free and a resize. */
static void warp_moves_17_down(shpool_heap heap)
{
    warp_frees(heap);
    if (leads()) {
        grow_gift(heap, 1);
    }
}

static void thread_17(shpool_heap heap) { thread_gets(heap, 17); }

/* Warp 0 begins with pair 0, warp 1 with pair 1: their rows overlap. */
static void let_them_have_met(shpool_heap heap)
{
    simt_store32(heap.view.base + SHPOOL_BITMAP_BEGIN, 1u);
}

/* From the first window of a search to the second.  A warp that has met no other finds it before
 * that. */
static void leave_17_in_pair_32(shpool_heap heap)
{
    let_them_have_met(heap);
    keep(heap, 0, 22);
    keep(heap, 2, 22u * 31u);
    keep(heap, 1, 5);
    HEAP_EXPECT(&model, gift_taken[1].first == 22u * 32u);
}

WARPS(test_memory_that_a_warp_frees_is_found, 22u * 33u, leave_17_in_pair_32, warp_17,
      warp_moves_17_down, NULL, NULL)

static void thread_moves_17_down(shpool_heap heap)
{
    thread_frees(heap);
    grow_gift(heap, 1);
}

WARPS(test_memory_that_a_thread_frees_is_found, 22u * 33u, leave_17_in_pair_32, warp_17, NULL,
      thread_moves_17_down, NULL)
WARPS(test_memory_that_a_warp_frees_is_found_by_a_thread, 44, leave_17_in_pair_1, NULL,
      warp_moves_17_down, thread_17, NULL)

/* A short one in front, as long as `granules` are taken. */
static void keep_behind_3(shpool_heap heap, uint32_t granules)
{
    held front = get(heap, 3);

    keep(heap, 0, granules);
    put(heap, &front);
}

static void keep_27(shpool_heap heap) { keep_behind_3(heap, 27); }
static void keep_400(shpool_heap heap) { keep_behind_3(heap, 400); }
static void keep_727(shpool_heap heap) { keep_behind_3(heap, 727); }

static void thread_8_and_20(shpool_heap heap)
{
    held a = get(heap, 8);
    held b = get(heap, 20);

    put(heap, &a);
    put(heap, &b);
}

WARPS(test_reuse_while_a_warp_frees, 32, keep_27, warp_frees, warp_20, thread_8_and_20, NULL)
WARPS(test_reuse_while_a_thread_frees, 32, keep_27, warp_20, warp_5, thread_frees, NULL)
WARPS(test_reuse_of_many_words, 403, keep_400, warp_frees, warp_380, thread_5, NULL)
WARPS(test_reuse_at_the_first_look, LARGE, keep_727, warp_frees, warp_690, NULL, NULL)
/* The thread's home is after the words that the warp clears in one step. */
WARPS(test_reuse_behind_the_first_words, LARGE, keep_727, warp_frees, NULL, thread_5, NULL)
WARPS(test_reuse_of_what_a_thread_frees, LARGE, keep_727, NULL, warp_690, thread_frees, NULL)

/* Both ways to lose say so. */
static void race_to_free(shpool_heap heap, int warp)
{
    uint32_t reason = warp ? shpool_free_lanes_at(heap, ALL, gift[0], 0)
                           : shpool_free_at(heap, gift[0], 0);

    HEAP_EXPECT(&model, (reason == SHPOOL_FREE_OK) || (reason == SHPOOL_FREE_DOUBLE));
    if ((reason == SHPOOL_FREE_OK) && leads()) {
        gift_taken[0].to = tick();
        simt_global_add32(&wins, 1);
    }
}

static void warp_races(shpool_heap heap) { race_to_free(heap, 1); }
static void thread_races(shpool_heap heap) { race_to_free(heap, 0); }
static int  one_wins(void) { return wins == 1; }

/* Gift 0 between two neighbours. */
static void keep_three(shpool_heap heap, uint32_t granules)
{
    keep(heap, 1, 20);
    keep(heap, 0, granules);
    keep(heap, 2, 20);
}

static void keep_9_between(shpool_heap heap) { keep_three(heap, 9); }
static void keep_27_between(shpool_heap heap) { keep_three(heap, 27); }
static void keep_400_between(shpool_heap heap) { keep_three(heap, 400); }

static void thread_frees_the_others(shpool_heap heap)
{
    HEAP_EXPECT(&model, put_gift(heap, 1) == SHPOOL_FREE_OK);
    HEAP_EXPECT(&model, put_gift(heap, 2) == SHPOOL_FREE_OK);
}

WARPS(test_double_free_of_a_short_one, 66, keep_9_between, warp_races, warp_races,
      thread_frees_the_others, one_wins)
WARPS(test_double_free_of_a_long_one, 67, keep_27_between, warp_races, warp_races,
      thread_frees_the_others, one_wins)
WARPS(test_double_free_of_many_words, 440, keep_400_between, warp_races, warp_races,
      thread_frees_the_others, one_wins)

static void keep_27_alone(shpool_heap heap) { keep(heap, 0, 27); }

WARPS(test_double_free_by_a_warp_and_a_thread, 66, keep_27_alone, warp_races, NULL, thread_races,
      one_wins)

/* ---- resize ---- */

/* Ten granules grow into what warps want, or not. */
static void thread_grows(shpool_heap heap)
{
    held a = get(heap, 10);

    if (a.slot.at == NULL) {
        return;
    }
    heap_model_drop(&model, place_of(heap), &a.slot);
    if (shpool_bitmap_resize(heap.view, simt_to_shared(a.slot.at), 16u * 29u)) {
        a.slot.bytes  = 16u * 29u;
        a.life->count = 29; /* from the start of the malloc: more than is so, which is allowed */
        heap_fill(&a.slot);
    }
    heap_model_claim(&model, place_of(heap), &a.slot, 0, 16);
    HEAP_EXPECT(&model, shpool_usable_size(heap, a.slot.at) == a.slot.bytes);
    put(heap, &a);
}

WARPS(test_a_thread_grows_beside_warps, 66, NULL, warp_40, warp_5, thread_grows, NULL)

/* Grows in place or moves; the contents stay. */
static void warp_grows(shpool_heap heap)
{
    held     a = get_warp(heap, 5);
    uint32_t asked;
    void    *more;

    if (a.slot.at == NULL) {
        return;
    }
    if (leads()) {
        heap_model_drop(&model, place_of(heap), &a.slot);
    }
    asked = a.slot.bytes;
    more  = shpool_realloc_warp(heap, a.slot.at, 16u * 34u);
    if (more != NULL) {
        a.slot.at = (unsigned char *)more;
    }
    HEAP_EXPECT(&model, has_its_word(&a));
    if (leads()) {
        a.slot.bytes = (more != NULL) ? 16u * 34u : asked;
        heap_model_claim(&model, place_of(heap), &a.slot, 0, 16);
        HEAP_EXPECT(&model, shpool_usable_size(heap, a.slot.at) == a.slot.bytes);
        heap_model_drop(&model, place_of(heap), &a.slot);
    }
    shpool_free_warp(heap, a.slot.at);
    if (leads()) {
        /* its place meanwhile is unknown: the whole pool */
        *a.life = (taken){ 0, now->granules, a.life->from, tick() };
    }
}

WARPS(test_a_warp_grows_beside_another, 66, NULL, warp_grows, warp_40, thread_5, NULL)

/* ---- warps that have met begin far apart, and claim rows of pairs that are wholly free ---- */

static void thread_320(shpool_heap heap) { thread_gets(heap, 320); }

#define WIDE 12u /* pairs: as far as warps spread in 44 pairs, less the 32 of a look */

WARPS(test_rows_for_all, LARGE, let_them_have_met, warp_300, warp_300, thread_3, nobody_refused)
WARPS(test_rows_for_one, LARGE, let_them_have_met, warp_690, warp_690, thread_20, NULL)
WARPS(test_a_row_and_a_small_one, LARGE, let_them_have_met, warp_60, warp_5, thread_14,
      nobody_refused)

/* One of two warps gets 400 granules, and the rest has room for the thread: marks that will be
 * undone refuse no request. */
static void warp_keeps_400(shpool_heap heap) { kept[simt_thread_rank()] = get_warp(heap, 400); }

WARPS(test_rows_refuse_no_thread, LARGE, let_them_have_met, warp_keeps_400, warp_keeps_400,
      thread_320, NULL)

/* What that relies on: if a marked pair is not CLAIMED, the row has all of its marks. */
static void warp_keeps_300(shpool_heap heap) { kept[simt_thread_rank()] = get_warp(heap, 300); }

static void thread_watches_300(shpool_heap heap)
{
    const simt_addr second = shpool_bitmap_word_at(heap.view, 2);
    const simt_addr last   = shpool_bitmap_word_at(heap.view, shpool_bitmap_word_of(299));

    for (uint32_t i = 0; i < 400u; i++) {
        uint32_t word = simt_atomic_load(second, SIMT_ACQUIRE);

        if (((word & SHPOOL_BITMAP_USED) != 0) && ((word & SHPOOL_BITMAP_CLAIMED) == 0)) {
            HEAP_EXPECT(&model, (simt_atomic_load(last, SIMT_RELAXED) & SHPOOL_BITMAP_USED) != 0);
            return;
        }
    }
}

WARPS(test_a_row_is_claimed, LARGE, let_them_have_met, warp_keeps_300, NULL, thread_watches_300,
      NULL)

/* A request that waits has a look of its own after each one in vain. */
static void warp_waits_300(shpool_heap heap)
{
    held a = request(heap, 300, 3);

    put_warp(heap, &a);
}

WARPS(test_rows_of_warps_that_wait, LARGE, let_them_have_met, warp_waits_300, warp_waits_300,
      thread_3, NULL)

/* Payload follows the pool's words: at the pool's end, lanes that have no part in a row must not
 * touch it. */
static void take_the_lower_pairs(shpool_heap heap)
{
    keep(heap, 0, 22u * 22u);
    simt_store32(heap.view.base + SHPOOL_BITMAP_BEGIN, WIDE);
}

static void owner_writes(shpool_heap heap)
{
    heap_slot slot = { (unsigned char *)gift[0], 16u * gift_taken[0].count, gift_taken[0].from };

    (void)heap;
    heap_fill(&slot);
}

WARPS(test_a_row_leaves_payload_alone, GRANULES, take_the_lower_pairs, warp_300, warp_300,
      owner_writes, NULL)

/* A search in vain, which a release then makes void, moves the places of warps together. */
static uint32_t gathered; /* how often */

static void leave_them_wide(shpool_heap heap)
{
    keep(heap, 0, 22);
    simt_store32(heap.view.base + SHPOOL_BITMAP_BEGIN, WIDE);
}

static void warp_960(shpool_heap heap)
{
    warp_gets(heap, 960);
    if (leads()) {
        gathered += simt_load32(heap.view.base + SHPOOL_BITMAP_BEGIN) == WIDE - 1u;
    }
}

static void thread_frees_22(shpool_heap heap) { (void)put_gift(heap, 0); }

UNIT_TEST(test_a_search_in_vain_gathers)
{
    static const scenario s = { "test_a_search_in_vain_gathers", GRANULES, 65, 0, leave_them_wide,
                                { warp_960, NULL, thread_frees_22 }, NULL };

    gathered = 0;
    seeds(&s);
    assert_true(gathered > 0);
}

UNIT_NEEDS("bitmap")
