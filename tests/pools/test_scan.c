/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's search for up to 16 granules beyond home: that it finds the only hole of a pool, and
 * what it costs where the pool's lower part is full. */
#define SHPOOL_INLINE bitmap
#include "heap_model.h"

#include <shpool/executor.h>
#include <shpool/shpool.h>
#include <shpool/simt.h>

static uint32_t looks;      /* words and pairs in which a malloc has looked for a run */
static uint32_t pairs_read; /* pairs that it has peeked at */

static uint32_t  counted_starts(uint32_t unused, uint32_t need, uint32_t most);
static simt_pair counted_peek_pair(simt_addr a);

#include <shpool/impl/heap/run_word.h> /* before its function is replaced */
#define shpool_run_starts counted_starts
#define simt_peek_pair    counted_peek_pair
#include <shpool/heap.h>
#undef shpool_run_starts
#undef simt_peek_pair

#define PAIRS    644u /* 221 KiB; half of it is no multiple of the pairs that are read together */
#define GRANULES (PAIRS * SHPOOL_BITMAP_PAIR)
#define FULL     0x07ff07ffu /* a word whose granules are allocations of one granule each */

static shpool_pool pool;
static heap_model  model;

#define EXPECT(_what) HEAP_EXPECT(&model, _what)

static uint32_t counted_starts(uint32_t unused, uint32_t need, uint32_t most)
{
    looks++;
    return shpool_run_starts(unused, need, most);
}

static simt_pair counted_peek_pair(simt_addr a)
{
    pairs_read++;
    return simt_peek_pair(a);
}

/* ---- pools ---- */

/* Free the granules `free` of pair p, and use its others. */
static void set_pair(shpool_heap heap, uint32_t p, uint32_t free)
{
    const simt_addr a    = shpool_bitmap_word_at(heap.view, 2u * p);
    const uint32_t  low  = ~free & SHPOOL_BITMAP_USED;
    const uint32_t  high = (~free >> SHPOOL_BITMAP_SPAN) & SHPOOL_BITMAP_USED;

    simt_store32(a, low | (low << SHPOOL_BITMAP_STARTS));
    simt_store32(a + 4u, high | (high << SHPOOL_BITMAP_STARTS));
}

static void set_pairs(shpool_heap heap, uint32_t from, uint32_t end, uint32_t free)
{
    for (uint32_t p = from; p < end; p++) {
        set_pair(heap, p, free);
    }
}

/* The pair of an allocation, which is freed; PAIRS if there is none. */
static uint32_t pair_of(shpool_heap heap, void *ptr)
{
    const uint32_t first = (ptr != NULL)
                               ? shpool_bitmap_granule(heap.view, simt_to_shared(ptr)) : GRANULES;

    shpool_free(heap, ptr);
    return first / SHPOOL_BITMAP_PAIR;
}

/* ---- kernels ---- */

/* Everything is used except for one run, in pair p from its granule i on, and for `others` in each
 * other pair, which is too little. */
static void find_hole(shpool_heap heap, uint32_t rank, uint32_t p, uint32_t i, uint32_t need,
                      uint32_t others)
{
    uint32_t found;

    for (uint32_t q = (p > 3u) ? p - 3u : 0u; (q < PAIRS) && (q < p + 4u); q++) {
        set_pair(heap, q, (q == p) ? simt_mask(i, need) : others);
    }
    found = shpool_bitmap_seek(heap.view.base, GRANULES, rank, need, i % 6u);
    EXPECT(found / 64u == p);
    EXPECT(found / 32u % 2u * SHPOOL_BITMAP_SPAN + found % 32u == i);
    set_pair(heap, p, others);
    found = shpool_bitmap_seek(heap.view.base, GRANULES, rank, need, i % 6u);
    EXPECT(found == SHPOOL_BITMAP_NOWHERE);
}

static void holes_kernel(void *arg)
{
    static const uint32_t needs[] = { 1, 2, 3, 4, 5, 11, 16 };
    shpool_heap           heap    = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    if (simt_thread_rank() == 0) {
        for (uint32_t n = 0; n < 7u; n++) {
            /* one granule less than needed, and the same number with a gap */
            const uint32_t less = simt_mask(7u % needs[n], needs[n] - 1u);

            set_pairs(heap, 0, PAIRS, less);
            for (uint32_t p = 0; p < PAIRS;
                 p += (needs[n] == 4u) || (p < 12u) || (p + 12u > PAIRS) ? 1u : 57u) {
                const uint32_t most = SHPOOL_BITMAP_PAIR - needs[n];

                find_hole(heap, 0, p, 0, needs[n], less);
                find_hole(heap, simt_block_threads() / 2u, p, most, needs[n], less);
                find_hole(heap, simt_block_threads() - 1u, p, most / 2u, needs[n], less);
            }
        }
        set_pairs(heap, 0, PAIRS, SHPOOL_BITMAP_FULL);
    }
    simt_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* Four granules, of which the third one is used, pass the test of a pair: the search goes on after
 * them. */
static void gaps_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    set_pairs(heap, 0, PAIRS, 0x0b0b0bu);
    for (uint32_t p = 0; p < PAIRS; p++) {
        uint32_t found;

        set_pair(heap, p, 0xf0u);
        found = shpool_bitmap_seek(heap.view.base, GRANULES, 0, 4, 0);
        /* after a gap in the last pairs this search ends, and the exact one goes on */
        EXPECT((found / 64u == p) || (p > PAIRS - SHPOOL_BITMAP_SCAN));
        EXPECT(pair_of(heap, shpool_malloc(heap, 64)) == p);
        set_pair(heap, p, 0x0b0b0bu);
    }
    EXPECT(shpool_malloc(heap, 64) == NULL);
    set_pairs(heap, 0, PAIRS, SHPOOL_BITMAP_FULL);
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* One thread, and a pool whose first `used` pairs have too little room. */
static void cost_of(shpool_heap heap, uint32_t used, uint32_t free)
{
    set_pairs(heap, 0, used, free);
    set_pairs(heap, used, PAIRS, SHPOOL_BITMAP_FULL);
    looks      = 0;
    pairs_read = 0;
    EXPECT(pair_of(heap, shpool_malloc(heap, 64)) == used);
    EXPECT(looks <= SHPOOL_BITMAP_STEPS + 3u); /* home's word, its pair, and the one found */
    EXPECT(pairs_read <= used + 2u * SHPOOL_BITMAP_SCAN);
    set_pairs(heap, 0, PAIRS, SHPOOL_BITMAP_FULL);
}

static void cost_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    cost_of(heap, PAIRS / 2u, 0);
    cost_of(heap, PAIRS / 2u, 0x300u);
    cost_of(heap, PAIRS / 10u * 9u, 0);
    cost_of(heap, PAIRS - 1u, 0x381c0u);
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* ---- tests ---- */

static void run(simt_kernel kernel, uint32_t threads)
{
    shpool_config want   = { .block_threads = threads, .payload_bytes = 16u * GRANULES };
    simt_launch   launch = { .block = { threads } };
    simt_result   result;

    heap_model_reset(&model);
    assert_int_equal(shpool_plan("bitmap", &want, &pool), SHPOOL_OK);
    assert_int_equal(pool.word[0], GRANULES);
    launch.dynamic_bytes = pool.shared_bytes;
    if (simt_run(&launch, kernel, NULL, &result) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    assert_model(&model);
}

UNIT_TEST(test_the_only_hole_is_found)
{
    run(holes_kernel, 1);
    run(holes_kernel, 64);
    run(holes_kernel, 256);
}

UNIT_TEST(test_gaps_are_passed)
{
    run(gaps_kernel, 1);
}

UNIT_TEST(test_a_full_part_costs_little)
{
    run(cost_kernel, 1);
}

UNIT_NEEDS("bitmap")
