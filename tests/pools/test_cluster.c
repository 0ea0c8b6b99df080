/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of scope cluster on the executor: which block's memory is used, and which threads may free
 * it; and pools of other scopes in launches with clusters.  test_conformance tests the properties
 * shared with other pools, test_cluster_explore tests schedules. */
#include "script.h"

#define CLUSTER(_blocks) .only = "cluster_bitmap", .cluster = _blocks, .blocks = _blocks

static void tune_script(void)
{
    static const uint32_t periods[] = { 1, 3, 17, 0 };

    borrowed               = 0;
    t.steps                = (t.launch.block[0] > 8) ? 16 : 64;
    t.launch.grid[0]       = 2 * t.launch.cluster[0];
    t.launch.switch_period = periods[t.seed % 4u];
    t.launch.static_bytes  = 8u * t.seed;
}

static void expect_borrowed(void)
{
    assert_true((borrowed > 0) == (t.launch.cluster[0] > 1));
}

static void run_scripts(const char *options, simt_engine engine, uint32_t blocks, uint32_t threads,
                        uint32_t seeds)
{
    for (uint32_t k = 0; k < 3; k += UNIT_STEP) {
        scene s = { .body = script, CLUSTER(blocks), .options = { options },
                    .threads = { threads }, .each = 200, .per_thread = 60u << k,
                    .seeds = seeds, .engine = engine, .tune = tune_script,
                    .counts = 1, .report = "live_bytes 0, bad_frees 0, corrupt 0, leaks 0",
                    .expect = expect_borrowed };

        run_scene(&s);
    }
}

UNIT_TEST(test_scripts_of_any_cluster)
{
    for (uint32_t blocks = 1; blocks <= 8; blocks *= 2) {
        run_scripts("", SIMT_FIBERS, blocks, 1, 4);
        run_scripts("", SIMT_FIBERS, blocks, 5, 4);
        run_scripts("", SIMT_FIBERS, blocks, 33, 1);
    }
    run_scripts("", SIMT_FIBERS, 3, 40, 1);
    run_scripts(":alignment=128", SIMT_FIBERS, 3, 5, 2);
}

UNIT_TEST(test_scripts_with_stats_and_check)
{
    for (uint32_t blocks = 1; blocks <= 8; blocks *= 2) {
        run_scripts(":stats=1", SIMT_FIBERS, blocks, 5, 1);
        run_scripts(":check=1", SIMT_FIBERS, blocks, 5, 2);
    }
    run_scripts(":check=1", SIMT_THREADS, 2, 4, 1);
}

UNIT_TEST(test_scripts_of_parallel_threads)
{
    run_scripts("", SIMT_THREADS, 2, 4, 2);
    run_scripts("", SIMT_THREADS, 4, 2, 1);
}

/* Reports of check=1 about borrowed memory: an overrun, a double free, a leak. */
static void checked_kernel(shpool_heap heap)
{
    if (simt_cluster_rank() == 0) {
        void          *own = shpool_malloc_shared(heap, t.pool.largest);
        unsigned char *far = (unsigned char *)shpool_malloc_at(heap, 20, 55);
        void          *wall;

        EXPECT((far != NULL) && (owner_of(far) == 1));
        far[20] ^= 1u;
        EXPECT(shpool_free_at(heap, far, 1) == SHPOOL_FREE_CORRUPT);
        far[20] ^= 1u;
        EXPECT(shpool_free_at(heap, far, 2) == SHPOOL_FREE_OK);
        EXPECT(shpool_free_at(heap, far, 3) == SHPOOL_FREE_DOUBLE);
        far  = (unsigned char *)shpool_malloc_at(heap, 24, 77);
        wall = shpool_malloc(heap, 16);
        EXPECT((wall != NULL) && (owner_of(wall) == 1));
        EXPECT(shpool_realloc(heap, far, 100) != far); /* never freed */
        EXPECT(shpool_free_at(heap, wall, 0) == SHPOOL_FREE_OK);
        EXPECT(shpool_free_at(heap, own, 0) == SHPOOL_FREE_OK);
    }
}

static void expect_neighbours(void)
{
    assert_int_equal(t.report.bad_free[0].malloc_site, 55);
    assert_int_equal(t.report.bad_free[1].reason, SHPOOL_FREE_DOUBLE);
    assert_int_equal(t.report.leak[0].block, 1); /* whose memory it is */
    assert_int_equal(t.report.leak[0].site, 77); /* it has moved */
    assert_int_equal(t.report.leak[0].usable, 100);
}

SCENE(test_check_sees_a_neighbours_memory, checked_kernel, CLUSTER(2), .options = { ":check=1" },
      .each = 400, .leaves = 1, .report = "bad_frees 2, live 1, leaks 1",
      .expect = expect_neighbours)

/* ---- whose memory ---- */

/* Thread 0 of one block after the other allocates everything; the last block frees it. */
static void order_kernel(shpool_heap heap)
{
    static heap_slot all[1024];
    static uint32_t  count;
    uint32_t         blocks = simt_cluster_blocks();
    uint32_t         each   = t.pool.largest / 16u;

    for (uint32_t me = 0; me < blocks; me++) {
        if ((simt_cluster_rank() == me) && (simt_thread_rank() == 0)) {
            for (count = 0; get(heap, &all[count], 16, count); count++) {
                EXPECT(owner_of(all[count].at) == (me + count / each) % blocks);
                if (count == each - 1u) { /* the own is full, the neighbours' are not */
                    EXPECT(shpool_malloc_shared(heap, 16) == NULL);
                    EXPECT(shpool_largest(heap) == ((blocks > 1) ? t.pool.largest : 0u));
                }
            }
            EXPECT(count == blocks * each);
            EXPECT(shpool_largest(heap) == 0);
            if (count > 0) { /* any one of them makes room for one again */
                put(heap, &all[count / 2u]);
                EXPECT(get(heap, &all[count / 2u], 16, 7));
            }
        }
        simt_cluster_barrier();
        if ((simt_cluster_rank() == blocks - 1u) && (simt_thread_rank() == 1)) {
            for (uint32_t i = 0; i < count; i++) {
                put(heap, &all[(i * 5u) % count]);
            }
        }
        simt_cluster_barrier();
    }
}

UNIT_TEST(test_who_borrows_from_whom)
{
    for (uint32_t blocks = 1; blocks <= 8; blocks *= 2) {
        const scene s = { .body = order_kernel, CLUSTER(blocks), .threads = { 2 },
                          .each = 16 * 23 }; /* 23 granules: no multiple of 5 */

        run_scene(&s);
        assert_int_equal(t.model.failures, blocks);
    }
}

static void bad_kernel(shpool_heap heap)
{
    static void *theirs;

    if (simt_cluster_rank() == 1) {
        theirs = shpool_malloc_shared(heap, 64);
    }
    simt_cluster_barrier();
    if (simt_cluster_rank() == 0) {
        simt_addr at = simt_to_shared(theirs);

        EXPECT(owner_of(theirs) == 1);
        EXPECT(shpool_free_at(heap, simt_from_shared(at + 16u), 0) == SHPOOL_FREE_INTERIOR);
        EXPECT(shpool_free_at(heap, simt_from_shared(at + 4u), 0) == SHPOOL_FREE_INTERIOR);
        EXPECT(shpool_free_at(heap, simt_from_shared(at + 64u), 0) == SHPOOL_FREE_DOUBLE);
        EXPECT(shpool_free_at(heap, simt_from_shared(simt_map_cluster(at, 0)), 0) ==
               SHPOOL_FREE_DOUBLE); /* the same place here was never given */
        EXPECT(shpool_free_at(heap, simt_from_shared(simt_map_cluster(at, 2)), 0) ==
               SHPOOL_FREE_FOREIGN); /* no such block */
        EXPECT(heap.release(heap.view, simt_map_cluster(at, 2), 0) == SHPOOL_FREE_FOREIGN);
        EXPECT(shpool_free_at(heap, simt_from_shared(simt_map_cluster(heap.view.base, 1)), 0) ==
               SHPOOL_FREE_FOREIGN);
        EXPECT(shpool_free_at(heap, &t, 0) == SHPOOL_FREE_FOREIGN);
        EXPECT(shpool_free_at(heap, theirs, 0) == SHPOOL_FREE_OK);
        EXPECT(shpool_free_at(heap, theirs, 0) == SHPOOL_FREE_DOUBLE);
    }
}

SCENE(test_bad_frees_of_a_neighbours_memory_are_refused, bad_kernel, CLUSTER(2), .each = 400)

static void far_kernel(shpool_heap heap)
{
    heap_slot theirs;

    if (simt_cluster_rank() == 1) { /* the neighbour's memory is not all one piece */
        EXPECT(get(heap, &theirs, 16, 1) && (owner_of(theirs.at) == 1));
    }
    simt_cluster_barrier();
    if (simt_cluster_rank() == 0) {
        void     *own = shpool_malloc_shared(heap, t.pool.largest);
        uint32_t *far = (uint32_t *)shpool_malloc(heap, 32);

        EXPECT((far != NULL) && (owner_of(far) == 1) && !shpool_is_shared(far));
        for (uint32_t i = 0; i < 8; i++) {
            far[i] = i;
        }
        EXPECT(shpool_realloc(heap, far, 64) == far); /* in place, there */
        EXPECT(shpool_usable_size(heap, far) == 64);
        EXPECT(shpool_free_at(heap, own, 0) == SHPOOL_FREE_OK);
        far = (uint32_t *)shpool_realloc(heap, far, t.pool.largest); /* there is no room for it */
        EXPECT((far != NULL) && (owner_of(far) == 0));
        for (uint32_t i = 0; (far != NULL) && (i < 8); i++) {
            EXPECT(far[i] == i);
        }
        shpool_free(heap, far);
    }
    simt_cluster_barrier();
    if (simt_cluster_rank() == 1) {
        put(heap, &theirs);
    }
}

SCENE(test_sizes_of_borrowed_memory_change, far_kernel, CLUSTER(2), .each = 1000, .seeds = 8,
      .periods = 4)

/* ---- the search for a long run, in accesses to shared memory ---- */

#define LONG_PAIRS 40u /* of a pool's 582 */
#define LONG_BYTES (16u * 22u * LONG_PAIRS)

/* How many accesses an allocation of LONG_BYTES takes; no other thread runs. */
static uint32_t cost_of_long(shpool_heap heap, heap_slot *slot, uint32_t owner)
{
    uint32_t from = simt_self->countdown; /* falls with each access */
    void    *ptr  = (owner == 0) ? shpool_malloc_shared(heap, LONG_BYTES)
                                 : shpool_malloc(heap, LONG_BYTES);
    uint32_t cost = from - simt_self->countdown;

    EXPECT(trial_got(&t, heap, slot, ptr, LONG_BYTES, 16, owner) && (owner_of(ptr) == owner));
    return cost;
}

/* A run at the end of block `owner`'s pool costs little more than one at its beginning: the pairs
 * before it are skipped, and the exact search begins at the run.  It fills that pool. */
static void expect_skips(shpool_heap heap, heap_slot slot[2], uint32_t owner)
{
    uint32_t pairs = t.pool.largest / (16u * 22u);
    uint32_t at_beginning, at_end;

    at_beginning = cost_of_long(heap, &slot[0], owner);
    put(heap, &slot[0]);
    EXPECT(get(heap, &slot[0], t.pool.largest - LONG_BYTES, 2) && (owner_of(slot[0].at) == owner));
    at_end = cost_of_long(heap, &slot[1], owner);
    EXPECT(slot[1].at > slot[0].at);
    EXPECT(at_end > at_beginning);
    EXPECT(at_end - at_beginning < pairs / 4u);
}

static void long_kernel(shpool_heap heap)
{
    heap_slot slot[4];

    if (simt_cluster_rank() == 0) {
        expect_skips(heap, &slot[0], 0);
        expect_skips(heap, &slot[2], 1); /* the own pool is full */
        for (uint32_t i = 0; i < 4; i++) {
            put(heap, &slot[i]);
        }
    }
}

SCENE(test_long_runs_are_not_searched_pair_by_pair, long_kernel, CLUSTER(2), .each = 200u * 1024u)

static void forget_borrowed(void)
{
    borrowed = 0;
}

static void expect_none_borrowed(void)
{
    assert_int_equal(borrowed, 0);
}

SCENE(test_a_launch_without_clusters_has_block_pools, script, .only = "cluster_bitmap",
      .threads = { 7 }, .blocks = 2, .each = 600, .steps = 64, .tune = forget_borrowed,
      .expect = expect_none_borrowed)

/* ---- pools of other scopes: a neighbour's memory is foreign to them ---- */

static void block_kernel(shpool_heap heap)
{
    static void *theirs[TRIAL_BLOCKS];
    void        *ptr = shpool_malloc(heap, 40);

    EXPECT((ptr != NULL) && simt_is_shared(ptr));
    if (simt_thread_rank() == 0) {
        theirs[simt_cluster_rank()] = ptr;
    }
    simt_cluster_barrier();
    EXPECT(shpool_free_at(heap, theirs[simt_cluster_rank() ^ 1u], 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(shpool_usable_size(heap, theirs[simt_cluster_rank() ^ 1u]) == 0);
    EXPECT(shpool_realloc(heap, theirs[simt_cluster_rank() ^ 1u], 8) == NULL);
    simt_cluster_barrier();
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
}

static int is_of_one_block(const shpool_allocator *allocator)
{
    return has_pool(allocator) && (allocator->scope != SHPOOL_SCOPE_CLUSTER);
}

UNIT_TEST(test_block_pools_are_what_they_were_in_clusters)
{
    scene s = { .body = block_kernel, .takes = is_of_one_block, .options = { ":check=1" },
                .threads = { 3 }, .blocks = 4, .cluster = 4, .each = 600 };

    run_scene(&s);
    s.options[0] = "";
    s.caps       = SHPOOL_CAP_REFUSES;
    run_scene(&s);
}

/* What spills has no pool; but a neighbour's shared memory is not of CUDA's heap. */
static void native_kernel(shpool_heap heap)
{
    static void *theirs;

    if (simt_cluster_rank() == 1) {
        theirs = simt_from_shared(simt_dynamic_base() + 64u);
    }
    simt_cluster_barrier();
    if (simt_cluster_rank() == 0) {
        EXPECT(shpool_free_at(heap, theirs, 0) == SHPOOL_FREE_FOREIGN);
        EXPECT(shpool_usable_size(heap, theirs) == 0);
        EXPECT(shpool_realloc(heap, theirs, 8) == NULL);
    }
    simt_cluster_barrier();
}

static void add_memory(void)
{
    t.launch.dynamic_bytes = 256;
}

SCENE(test_the_native_heap_gets_no_shared_memory, native_kernel, .only = "native", .blocks = 2,
      .cluster = 2, .each = 400, .tune = add_memory)
