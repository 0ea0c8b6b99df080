/* SPDX-License-Identifier: BSD-3-Clause */
/* Warps that have met: they begin far apart, and claim rows of pairs that are wholly free
 * (explore_warp.h). */
#include "explore_warp.h"

static void warp_5(shpool_heap heap) { warp_gets(heap, 5); }
static void warp_60(shpool_heap heap) { warp_gets(heap, 60); }
static void warp_300(shpool_heap heap) { warp_gets(heap, 300); }
static void warp_690(shpool_heap heap) { warp_gets(heap, 690); }
static void thread_3(shpool_heap heap) { thread_gets(heap, 3); }
static void thread_14(shpool_heap heap) { thread_gets(heap, 14); }
static void thread_20(shpool_heap heap) { thread_gets(heap, 20); }
static void thread_320(shpool_heap heap) { thread_gets(heap, 320); }

#define WIDE 12u /* pairs: as far as warps spread in 44 pairs, less the 32 of a look */

/* Warp 0 begins with pair 0, warp 1 with pair 1: their rows overlap. */
static void let_them_have_met(shpool_heap heap)
{
    simt_store32(heap.view.base + SHPOOL_BITMAP_BEGIN, 1u);
}

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
