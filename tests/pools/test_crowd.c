/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap with more threads than its words suffice for: where they begin, and what a claim that
 * comes too late costs.
 *
 * Claims of another thread are made in the middle of a call, by functions that stand before those
 * of simt.h. */
#define SHPOOL_INLINE bitmap
#include "heap_model.h"

#include <stdio.h>
#include <string.h>

#include <shpool/executor.h>
#include <shpool/shpool.h>
#include <shpool/simt.h>

static uint32_t late;      /* claims that still come too late */
static uint32_t reads;     /* pairs that a search has read */
static uint32_t last_read; /* the pair at whose reading another thread takes its first granule */
static uint32_t claims;    /* changes of the number of claims in progress */
static uint32_t pool_base; /* the pool's first word, which counts them */

static uint32_t late_cas(simt_addr a, uint32_t expected, uint32_t desired, simt_order o);
static uint32_t late_cas_pair(simt_addr a, simt_pair expected, simt_pair desired, simt_order o);
static simt_pair counted_load_pair(simt_addr a, simt_order o);
static uint32_t counted_add(simt_addr a, uint32_t v, simt_order o);

#define simt_atomic_cas       late_cas
#define simt_atomic_cas_pair  late_cas_pair
#define simt_atomic_load_pair counted_load_pair
#define simt_atomic_add       counted_add
#include <shpool/heap.h>
#undef simt_atomic_cas
#undef simt_atomic_cas_pair
#undef simt_atomic_load_pair
#undef simt_atomic_add

#define THREADS  640u
#define GRANULES 2944u /* 46 KiB */
#define NOWHERE  0xffffffffu

static shpool_pool pool;
static heap_model  model;
static uint32_t    home[THREADS]; /* words */
static uint32_t    word_count;

#define EXPECT(_what) HEAP_EXPECT(&model, _what)

/* ---- another thread ---- */

/* It allocates the lowest granule that the claim wants. */
static void take_lowest(simt_addr a, uint32_t wanted)
{
    uint32_t lowest = wanted & (0u - wanted) & SHPOOL_BITMAP_USED;

    if ((late != 0) && (lowest != 0)) {
        late--;
        (void)simt_atomic_or(a, lowest | (lowest << SHPOOL_BITMAP_STARTS), SIMT_RELAXED);
    }
}

static uint32_t late_cas(simt_addr a, uint32_t expected, uint32_t desired, simt_order o)
{
    take_lowest(a, desired & ~expected);
    return simt_atomic_cas(a, expected, desired, o);
}

static uint32_t late_cas_pair(simt_addr a, simt_pair expected, simt_pair desired, simt_order o)
{
    take_lowest(a, desired.x & ~expected.x);
    return simt_atomic_cas_pair(a, expected, desired, o);
}

static simt_pair counted_load_pair(simt_addr a, simt_order o)
{
    simt_pair words = simt_atomic_load_pair(a, o);

    reads++;
    if ((last_read != NOWHERE) && (a == last_read)) { /* after the search has seen it free */
        last_read = NOWHERE;
        reads     = 0;
        (void)simt_atomic_or(a, 0x10001u, SIMT_RELAXED);
    }
    return words;
}

static uint32_t counted_add(simt_addr a, uint32_t v, simt_order o)
{
    claims += (a == pool_base);
    return simt_atomic_add(a, v, o);
}

/* ---- kernels ---- */

static uint32_t granule_of(shpool_heap heap, const void *ptr)
{
    return (ptr != NULL) ? shpool_bitmap_granule(heap.view, simt_to_shared(ptr)) : NOWHERE;
}

static void homes_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    home[simt_thread_rank()] = shpool_bitmap_where(heap.view).home;
    shpool_fini(heap);
}

/* Each thread in turn: others are quicker in home's pair, five times. */
static void late_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    rank;

    (void)arg;
    for (rank = 0; rank < THREADS; rank += 37u) {
        simt_barrier();
        if (simt_thread_rank() == rank) {
            uint32_t pair = shpool_bitmap_where(heap.view).home / 2u;

            late = 5;
            EXPECT(granule_of(heap, shpool_malloc(heap, 16)) / SHPOOL_BITMAP_PAIR == pair);
            EXPECT(late == 0);
        }
    }
    simt_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* Every granule of the pool an allocation, except `count` ones from `first` on. */
static void fill_except(shpool_heap heap, uint32_t first, uint32_t count)
{
    for (uint32_t g = 0; g < pool.word[0]; g++) {
        uint32_t  w = g / SHPOOL_BITMAP_SPAN;
        simt_addr a = shpool_bitmap_word_at(heap.view, w);

        if ((g < first) || (g >= first + count)) {
            simt_store32(a, simt_load32(a) | (0x10001u << (g - SHPOOL_BITMAP_SPAN * w)));
        }
    }
}

/* One thread: where it has seen a run from pair 28 on, another one takes the first granule. */
static void goes_on_kernel(void *arg)
{
    shpool_heap heap  = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    first = 28u * SHPOOL_BITMAP_PAIR;
    void       *ptr;

    (void)arg;
    fill_except(heap, first, 2u * SHPOOL_BITMAP_PAIR);
    last_read = shpool_bitmap_word_at(heap.view, 56);
    ptr       = shpool_malloc(heap, 16u * 17u);
    EXPECT(last_read == NOWHERE);
    EXPECT(granule_of(heap, ptr) == first + 1u);
    EXPECT(reads <= 2u); /* not all pairs again */
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* One thread, and room only across the words of a pair. */
static void across_kernel(void *arg)
{
    shpool_heap heap  = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    first = 4u * SHPOOL_BITMAP_PAIR + 8u;
    void       *ptr;

    (void)arg;
    pool_base = heap.view.base;
    fill_except(heap, first, 6);
    claims = 0;
    ptr    = shpool_malloc(heap, 96);
    EXPECT(granule_of(heap, ptr) == first);
    EXPECT(claims == 0); /* nobody has to wait for it */
    EXPECT(shpool_check(heap).broken == 0);
    EXPECT(shpool_usable_size(heap, ptr) == 96u);
    EXPECT(shpool_malloc(heap, 16) == NULL);
    shpool_free(heap, ptr);
    EXPECT(shpool_largest(heap) == 96u);
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* ---- tests ---- */

static void run(simt_kernel kernel, uint32_t threads, uint32_t granules)
{
    shpool_config want   = { .block_threads = threads, .payload_bytes = 16u * granules };
    simt_launch   launch = { .block = { threads } };
    simt_result   result;

    heap_model_reset(&model);
    late      = 0;
    last_read = NOWHERE;
    pool_base = NOWHERE;
    assert_int_equal(shpool_plan("bitmap", &want, &pool), SHPOOL_OK);
    assert_int_equal(pool.word[0], granules);
    word_count           = shpool_bitmap_words_of(granules);
    launch.dynamic_bytes = pool.shared_bytes;
    if (simt_run(&launch, kernel, NULL, &result) != SHPOOL_OK) {
        fail_msg("%u threads, %u granules: %s", threads, granules, result.text);
    }
    assert_model(&model);
}

/* A pair has room for five allocations of 64 bytes. */
static void test_homes_are_spread_evenly(void **state)
{
    uint32_t of_pair[(GRANULES + 21u) / 22u] = { 0 };
    uint32_t crowded = 0;

    (void)state;
    run(homes_kernel, THREADS, GRANULES);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_true(home[i] < word_count);
        of_pair[home[i] / 2u]++;
        for (uint32_t lane = i / 32u * 32u; lane < i; lane++) {
            assert_int_not_equal(home[lane], home[i]); /* or its lanes would conflict */
        }
    }
    for (uint32_t p = 0; p < word_count / 2u; p++) {
        assert_in_range(of_pair[p], 4, 6);
        crowded += (of_pair[p] > 5u);
    }
    assert_in_range(crowded, 0, 4);
}

static void test_a_late_claim_is_tried_at_home_again(void **state)
{
    (void)state;
    run(late_kernel, THREADS, GRANULES);
}

static void test_a_search_goes_on_where_it_came_too_late(void **state)
{
    (void)state;
    run(goes_on_kernel, 1, 30u * SHPOOL_BITMAP_PAIR);
}

static void test_a_run_across_words_is_claimed_at_once(void **state)
{
    (void)state;
    run(across_kernel, 1, 30u * SHPOOL_BITMAP_PAIR);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_homes_are_spread_evenly),
        cmocka_unit_test(test_a_late_claim_is_tried_at_home_again),
        cmocka_unit_test(test_a_search_goes_on_where_it_came_too_late),
        cmocka_unit_test(test_a_run_across_words_is_claimed_at_once),
    };
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        puts("skipped: --enable-allocators left bitmap out");
        return 77;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
