/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of pools that a group shares: every schedule of few threads up to a number of
 * preemptions, and many seeds of whole warps. */
#include "scene.h"

static uint32_t refused; /* mallocs that got NULL in the running schedule */

/* Two allocations each; frees in the other order, so that neighbours merge across threads. */
static void pair_kernel(shpool_heap heap)
{
    uint32_t  rank = simt_thread_rank();
    heap_slot a, b;
    int       got_a, got_b;

    got_a = get(heap, &a, 20u + 20u * (rank % 8u), rank);
    got_b = get(heap, &b, 12, rank + 8u);
    simt_global_add32(&refused, (uint32_t)!got_a + (uint32_t)!got_b);
    if (got_a && (rank == 0)) {
        (void)resize(heap, &a, 50, rank + 16u);
    }
    if (got_a) {
        put(heap, &a);
    }
    if (got_b) {
        put(heap, &b);
    }
}

/* One allocation each, of one size: served together, or not. */
static void single_kernel(shpool_heap heap)
{
    heap_slot a;
    int       got = get(heap, &a, 20u, simt_thread_rank());

    simt_global_add32(&refused, (uint32_t)!got);
    if (got) {
        put(heap, &a);
    }
}

static void before(void)
{
    refused = 0;
}

static void after(void)
{
    EXPECT(refused == 0); /* there is room for all: a lock must not make anyone miss it */
}

static void explore(int served, void body(shpool_heap), uint32_t threads, uint32_t preemptions)
{
    const scene s = { .body = body, .takes = of_groups, .served = served, .share = threads,
                      .threads = { threads }, .each = 800, .before = before, .after = after,
                      .schedules = 100 };

    explore_scene(&s, heap_preemptions(preemptions));
}

UNIT_TEST(test_every_schedule_of_two_threads)
{
    explore(BATCHED, pair_kernel, 2, 1);
    explore(BATCHED, single_kernel, 2, 2);
    explore(ONE_BY_ONE, pair_kernel, 2, 2);
}

/* Three that are served together: not in a day; seeds below have whole warps. */
UNIT_TEST(test_every_schedule_of_three_threads)
{
    explore(ONE_BY_ONE, pair_kernel, 3, 1);
}

static void seed_by_number(void)
{
    t.launch.seed = t.number;
    refused       = 0;
}

static void expect_room(void)
{
    assert_int_equal(refused, 0);
    assert_int_equal(t.pool.pools, (70u + t.number - 1u) / t.number);
}

/* Groups of every size in a block of 70: also one that spans warps, and a short last one. */
UNIT_TEST(test_groups_of_every_size)
{
    for (uint32_t share = 1; share <= 70; share++) {
        const scene s = { .body = pair_kernel, .takes = of_groups, .share = share,
                          .threads = { 70 }, .each = share * 220u + 200u, .number = share,
                          .period = 1u + share % 9u, .tune = seed_by_number,
                          .expect = expect_room };

        run_scene(&s);
    }
}

/* Freed together, and once more together: each piece of what was given back as one is refused. */
static void twice_kernel(shpool_heap heap)
{
    void *a = shpool_malloc(heap, 20);

    EXPECT(a != NULL);
    simt_barrier();
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    simt_barrier();
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_DOUBLE);
}

SCENE(test_double_frees_of_a_batch, twice_kernel, .takes = of_groups, .served = BATCHED, .share = 8,
      .threads = { 24 }, .each = 800)

/* Everybody frees what the next thread of its group allocated. */
static void hand_over_kernel(shpool_heap heap)
{
    uint32_t rank  = simt_thread_rank();
    uint32_t share = t.pool.threads_per_pool;
    uint32_t first = rank - rank % share;
    uint32_t left  = simt_block_threads() - first;
    uint32_t size  = (left < share) ? left : share;
    uint32_t next  = first + (rank - first + 1u) % size;

    for (uint32_t round = 0; round < 3; round++) {
        if (!get(heap, &t.box[rank], 8u + 4u * (rank % 5u), rank)) {
            heap_model_fault(&t.model, "no room for thread %u", rank);
        }
        simt_barrier();
        put(heap, &t.box[next]);
        simt_barrier();
    }
}

UNIT_TEST(test_others_of_the_group_free)
{
    for (uint32_t i = 0; i < 60; i++) {
        const scene s = { .body = hand_over_kernel, .takes = of_groups, .share = 1u + i * 7u % 40u,
                          .options = { (i % 2u == 0) ? "" : ":check=1" }, .threads = { 40 },
                          .each = 400u * (1u + i * 7u % 40u), .number = i,
                          .period = 1u + i % 7u, .tune = seed_by_number };

        run_scene(&s);
    }
}

/* One OS thread per GPU thread: what ThreadSanitizer is for. */
SCENE(test_groups_of_os_threads, pair_kernel, .takes = of_groups, .share = 24, .threads = { 24 },
      .each = 4000, .engine = SIMT_THREADS, .seeds = 5)
