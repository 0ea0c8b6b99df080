/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's searches, claims and frees of one thread for more than 16 granules: which bits they
 * change, for each place of a run in its pairs, that a claim in vain leaves none behind, and that a
 * hole is found. */
#define SHPOOL_INLINE bitmap
#include "tests/test.h"

#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>

static shpool_pool pool;
static uint32_t    wrong;
static uint32_t    cases; /* checks of all words */

/* Word w of a pool in which granules first..end-1 are an allocation, and granule `other` is one. */
static uint32_t word_of(uint32_t w, uint32_t first, uint32_t end, uint32_t other)
{
    const uint32_t from = SHPOOL_BITMAP_SPAN * w;
    uint32_t       word = 0;

    for (uint32_t g = from; g < from + SHPOOL_BITMAP_SPAN; g++) {
        if ((g == other) || (g >= pool.word[0])) {
            word |= 0x10001u << (g - from);
        } else if ((g >= first) && (g < end)) {
            word |= ((g == first) ? 0x10001u : 1u) << (g - from);
        }
    }
    if ((first < from + SHPOOL_BITMAP_SPAN) && (end > from + SHPOOL_BITMAP_SPAN)) {
        word |= (first < end) ? SHPOOL_BITMAP_MORE : 0u;
    }
    return word;
}

/* All words but those of the run are as word_of() says, and no claim is pending. */
static void expect_words(shpool_heap heap, uint32_t first, uint32_t end, uint32_t other)
{
    uint32_t different = simt_load32(heap.view.base) != 0;

    for (uint32_t w = 0; w < shpool_bitmap_words(heap.view); w++) {
        different += simt_load32(shpool_bitmap_word_at(heap.view, w)) !=
                     word_of(w, first, end, other);
    }
    wrong += different != 0;
    cases++;
}

/* Claim a run where everything else is free, and free it. */
static void try_run(shpool_heap heap, uint32_t first, uint32_t end)
{
    const simt_addr at = shpool_bitmap_payload(heap.view, first);

    wrong += shpool_bitmap_claim_run(heap.view.base, heap.view.word[1], first, end - first) != at;
    expect_words(heap, first, end, UINT32_MAX);
    wrong += shpool_bitmap_usable(heap.view, at) != 16u * (end - first);
    wrong += shpool_bitmap_free(heap.view, at, 0) != SHPOOL_FREE_OK;
    expect_words(heap, 0, 0, UINT32_MAX);
    wrong += shpool_bitmap_free(heap.view, at, 0) != SHPOOL_FREE_DOUBLE;
}

/* The same where granule `other` of the run is taken. */
static void try_in_vain(shpool_heap heap, uint32_t first, uint32_t end, uint32_t other)
{
    const uint32_t  w = other / SHPOOL_BITMAP_SPAN;
    const simt_addr a = shpool_bitmap_word_at(heap.view, w);

    simt_store32(a, word_of(w, 0, 0, other));
    wrong += shpool_bitmap_claim_run(heap.view.base, heap.view.word[1], first, end - first) !=
             SHPOOL_BITMAP_TURN + 2u * (first / SHPOOL_BITMAP_PAIR) + 1u;
    expect_words(heap, 0, 0, other);
    simt_store32(a, word_of(w, 0, 0, UINT32_MAX));
}

static void short_kernel(void *arg)
{
    shpool_heap heap = shpool_init(arg, simt_from_shared(simt_dynamic_base()));

    for (uint32_t first = 20; first < 20u + SHPOOL_BITMAP_PAIR; first++) {
        for (uint32_t need = 1; need < 75u; need++) {
            try_run(heap, first, first + need);
            for (uint32_t i = 0; i < need; i += 1u + need / 9u) {
                try_in_vain(heap, first, first + need, first + i);
            }
            try_in_vain(heap, first, first + need, first + need - 1u);
        }
    }
    (void)shpool_fini(heap);
}

static void long_kernel(void *arg)
{
    shpool_heap    heap = shpool_init(arg, simt_from_shared(simt_dynamic_base()));
    const uint32_t end  = heap.view.word[0];

    for (uint32_t first = 0; first + 500u < end; first += 229u) {
        try_run(heap, first, end);
        for (uint32_t other = first; other < end; other += 21u) {
            try_in_vain(heap, first, end, other);
        }
        try_in_vain(heap, first, end, end - 1u);
    }
    (void)shpool_fini(heap);
}

/* A pool in which only granules first..end-1 are free: a run of that length is found there, and a
 * longer one nowhere. */
static void search_kernel(void *arg)
{
    shpool_heap       heap = shpool_init(arg, simt_from_shared(simt_dynamic_base()));
    const shpool_view view = heap.view;

    for (uint32_t first = 0; first < 2u * SHPOOL_BITMAP_PAIR; first++) {
        for (uint32_t need = 17; need < 130u; need++) {
            for (uint32_t w = 0; w < shpool_bitmap_words(view); w++) {
                uint32_t word = SHPOOL_BITMAP_USED | (SHPOOL_BITMAP_USED << SHPOOL_BITMAP_STARTS);

                for (uint32_t i = 0; i < SHPOOL_BITMAP_SPAN; i++) {
                    const uint32_t g = SHPOOL_BITMAP_SPAN * w + i;

                    word &= ((g >= first) && (g < first + need)) ? ~(0x10001u << i) : ~0u;
                }
                simt_store32(shpool_bitmap_word_at(view, w), word);
            }
            wrong += shpool_bitmap_seek_far(view.base, view.word[0], 1u, need, 0) != first;
            wrong += shpool_bitmap_seek_far(view.base, view.word[0], 1u, need + 1u, 0) !=
                     SHPOOL_BITMAP_NOWHERE;
            cases++;
        }
    }
    for (uint32_t w = 0; w < shpool_bitmap_words(view); w++) {
        simt_store32(shpool_bitmap_word_at(view, w), word_of(w, 0, 0, UINT32_MAX));
    }
    (void)shpool_fini(heap);
}

static void run(uint32_t bytes, simt_kernel kernel)
{
    shpool_config want   = { .block_threads = 1, .threads_per_pool = 1, .payload_bytes = bytes };
    simt_launch   launch = { .block = { 1 } };
    simt_result   result;

    wrong = 0;
    cases = 0;
    assert_int_equal(shpool_plan("bitmap", &want, &pool), SHPOOL_OK);
    launch.dynamic_bytes = pool.shared_bytes;
    assert_int_equal(simt_run(&launch, kernel, &pool, &result), SHPOOL_OK);
    assert_int_equal(wrong, 0);
    assert_true(cases > 500);
}

UNIT_TEST(test_runs_at_each_place_of_a_pair)
{
    run(4000, short_kernel);
}

UNIT_TEST(test_runs_of_many_pairs)
{
    run(40000, long_kernel);
}

UNIT_TEST(test_the_only_hole_is_found)
{
    run(4000, search_kernel);
}

/* A warp allocates, and one of its lanes frees alone as soon as it has the address: other lanes may
 * not yet have ended the warp's claim. */
static void warp_kernel(void *arg)
{
    shpool_heap heap = shpool_init(arg, simt_from_shared(simt_dynamic_base()));
    void       *ptr  = shpool_malloc_warp(heap, 16u * 100u);

    if (simt_thread_rank() == 0) {
        wrong += shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK;
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        expect_words(heap, 0, 0, UINT32_MAX);
    }
    (void)shpool_fini(heap);
}

UNIT_TEST(test_a_lane_frees_for_its_warp)
{
    shpool_config want   = { .block_threads = 32, .payload_bytes = 16000 };
    simt_launch   launch = { .block = { 32 } };
    simt_result   result;

    wrong = 0;
    assert_int_equal(shpool_plan("bitmap", &want, &pool), SHPOOL_OK);
    launch.dynamic_bytes = pool.shared_bytes;
    for (launch.seed = 1; launch.seed <= 200u; launch.seed++) {
        assert_int_equal(simt_run(&launch, warp_kernel, &pool, &result), SHPOOL_OK);
        assert_int_equal(wrong, 0);
    }
}

UNIT_NEEDS("bitmap")
