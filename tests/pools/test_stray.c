/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1, and one random word of a pool changes in mid-run: nothing may hang, touch memory outside
 * the pool, or reuse memory of a live allocation without a report.
 *
 *     test_stray [RUNS [ALLOCATOR [FIRST]]]   runs of each allocator, the seed of the first one
 *
 * RUNS is 150 unless it is given; with LIBSHPOOL_TEST_LONG it is 1,000,000.
 *
 * Then every word of a pool gets every value of a list before every call, in pools of every shape:
 * RUNS random ones for each shape; with LIBSHPOOL_TEST_LONG all of them. */
#include "stray_trial.h"

#define RUNS_LONG 1000000u /* of each allocator */

static void test_one_word_changes(void **state)
{
    uint32_t bad = 0;

    FOR_EACH_POOL(allocator) {
        tally sum = { 0 };

        if (!takes_part_here(allocator)) {
            continue;
        }
        for (uint32_t shape = 0; shape < SHAPES; shape++) {
            stray_open(allocator, shape, THREADS, "");
            for (uint32_t i = shape; i < wanted.runs; i += SHAPES) {
                run_once(wanted.first + i, &sum);
            }
            shpool_simt_close(&s.pool);
        }
        bad += bad_runs("", allocator, &sum);
    }
    assert_int_equal(bad, 0);
}

/* ---- every word, value, call, and state of the pool ---- */

#define CALLS 12u

/* Whether ptr, if the call succeeds, is not the caller's any more. */
static int call_owns(uint32_t call) { return (call >= 5u) && (call <= 7u); }

/* What got(), which does not know about groups, may record; else NULL. */
static void *make_call(uint32_t call, shpool_heap heap, void *ptr)
{
    switch (call) {
    case 0:  return (void)shpool_check(heap), NULL;
    case 1:  return shpool_malloc(heap, 40);
    case 2:  return shpool_calloc(heap, 5, 8);
    case 3:  return shpool_aligned_malloc(heap, s.pool.alignment, 40);
    case 4:  return shpool_malloc_wait(heap, 40, 3);
    case 5:  return shpool_realloc(heap, ptr, 200);
    case 6:  return shpool_realloc(heap, ptr, 4);
    case 7:  return shpool_free(heap, ptr), NULL;
    case 8:  return (void)shpool_usable_size(heap, ptr), NULL;
    case 9:  return (void)shpool_largest(heap), NULL;
    case 10: return (void)shpool_release(heap, shpool_mark(heap)), NULL;
    default: return (void)shpool_malloc_warp(heap, 40), NULL;
    }
}

#define STATES 4u  /* which neighbours of the last call's argument are free */
#define VALUES 16u

static struct {
    uint32_t call, state, value;
} each;

/* Values that mislead: extreme ones, sizes of this pool in bytes and granules, and neighbours. */
static uint32_t value_of(uint32_t held, uint32_t number)
{
    const uint32_t bytes  = s.pool.pool_bytes;
    const uint32_t values[VALUES] = {
        0, 1, 2, 0x10, ~0u, 0x80000000u, 0xffff, 0x10000, 0xfdfdfdfdu, bytes, bytes / 16,
        bytes - 16, bytes / 16 * 0x10001u, held + 1u, held - 1u, held ^ 0x00040000u,
    };

    return values[number];
}

static void change_word(shpool_heap heap)
{
    simt_addr at = changed_part(heap) + s.word;

    s.before = s.after = simt_load32(at);
    if (!is_payload((unsigned char *)simt_from_shared(at))) {
        s.after = value_of(s.before, each.value);
        simt_store32(at, s.after);
    }
}

static void each_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&s.pool, simt_from_shared(simt_dynamic_base()));
    object      was;
    void       *ptr;

    for (uint32_t i = 0; i < SLOTS; i++) {
        got(mine(i), (i == 4) ? make_call(3, heap, NULL) : shpool_malloc(heap, 30u + 7u * i), 30,
            i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if ((((each.state >> i) & 1u) != 0) && (mine(1u + 2u * i)->at != NULL)) {
            drop(heap, mine(1u + 2u * i));
        }
    }
    stray_barrier();
    if ((simt_thread_rank() == 0) && (simt_cluster_rank() == 0)) {
        change_word(heap);
    }
    stray_barrier();
    was = *mine(2);
    ptr = make_call(each.call, heap, was.at);
    if (call_owns(each.call)) {
        mine(2)->at = NULL;
    }
    if (ptr != NULL) {
        got(mine(2), ptr, 4, 2);
    }
    shpool_fini(heap);
}

/* Run number `i` of a word of the last pool, after which nothing comes. */
static void run_each(uint32_t word, uint32_t i, tally *sum)
{
    each.value = i % VALUES;
    each.state = i / VALUES % STATES;
    each.call  = i / VALUES / STATES % CALLS;
    s.word     = word;
    s.pool_of  = s.pool.pools - 1u;
    run_kernel(each_kernel, i, sum);
}

static void run_all(tally *sum)
{
    for (uint32_t word = 0; word < s.pool.pool_bytes; word += 4u) {
        for (uint32_t i = 0; i < VALUES * STATES * CALLS; i++) {
            run_each(word, i, sum);
        }
    }
}

static void test_each_word_and_call(void **state)
{
    uint32_t bad = 0;

    FOR_EACH_POOL(allocator) {
        tally    sum    = { 0 };
        uint32_t random = wanted.first;

        for (uint32_t shape = 0; shape < 2u * SHAPES; shape++) {
            if (!takes_part_here(allocator) ||
                (((shape & 4u) != 0) && (allocator->scope != SHPOOL_SCOPE_GROUP))) {
                continue;
            }
            stray_open(allocator, shape, (shape < SHAPES) ? 1u : 2u, "");
            if (heap_long()) {
                run_all(&sum);
            }
            for (uint32_t i = 0; i < wanted.runs; i++) {
                run_each(choose_word(&random), heap_random(&random) >> 4, &sum);
            }
            shpool_simt_close(&s.pool);
        }
        bad += bad_runs("each word", allocator, &sum);
    }
    assert_int_equal(bad, 0);
}

/* Runs that once went wrong, and are too rare for a short test to meet. */
static void test_runs_that_went_wrong(void **state)
{
    static const struct {
        const char *name;
        uint32_t    seed, shape;
    } met[] = {
        { "arena", 97, 0 }, { "arena", 409, 0 }, { "bitmap", 859, 2 }, { "bitmap", 953, 0 },
        { "bitmap", 1905, 0 }, { "bitmap", 2982, 5 }, { "cluster_bitmap", 738, 1 },
        { "cluster_bitmap", 859, 2 }, { "freelist", 312, 7 }, { "freelist", 364, 11 },
        { "freelist", 1408, 15 }, { "freelist", 1739, 2 }, { "freelist", 2756, 3 },
        { "rbtree", 758, 5 }, { "rbtree", 1801, 0 }, { "rbtree", 41443, 2 },
        { "rbtree", 188307, 3 }, { "rbtree", 521806, 6 }, { "thread_bitmap", 256, 7 },
        { "thread_bitmap", 1049, 0 }, { "warp_best_fit", 24, 7 }, { "warp_first_fit", 758, 5 },
    };
    const shpool_allocator *allocator;
    tally                   sum = { 0 };

    for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++) {
        if (shpool_allocator_find(met[i].name, &allocator) == SHPOOL_OK) {
            stray_open(allocator, met[i].shape, THREADS, "");
            run_once(met[i].seed, &sum);
            shpool_simt_close(&s.pool);
        }
    }
    assert_int_equal(sum.hung + sum.outside + sum.twice + sum.spoilt + sum.wrong, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_word_changes),
        cmocka_unit_test(test_each_word_and_call),
        cmocka_unit_test(test_runs_that_went_wrong),
    };

    s.act = act_alone;
    return stray_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]), RUNS_LONG);
}
