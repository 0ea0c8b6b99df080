/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of scope cluster on the executor: which block's memory is used, and which threads may free
 * it; and pools of other scopes in launches with clusters.  test_conformance tests the properties
 * shared with other pools, test_cluster_explore tests schedules. */
#include "cluster_trial.h"

static void resize(shpool_heap heap, heap_slot *slot, size_t bytes, uint32_t tag)
{
    heap_slot old  = *slot;
    uint32_t  keep = (bytes < old.bytes) ? (uint32_t)bytes & ~3u : old.bytes;
    void     *ptr;

    heap_model_drop(model_of(&old), place_of(heap, &old), &old);
    heap_verify(&t.model[0], old.at, old.bytes, old.tag);
    ptr = shpool_realloc(heap, old.at, bytes);
    if (ptr == NULL) {
        heap_model_claim(model_of(&old), place_of(heap, &old), &old, 0, 16);
        return;
    }
    heap_verify(&t.model[0], (unsigned char *)ptr, keep, old.tag);
    (void)got(heap, slot, ptr, bytes, tag);
}

/* All is freed: each pool sound, and not a byte lost.  All threads of the cluster. */
static void expect_fresh(shpool_heap heap)
{
    uint32_t leads = simt_thread_rank() == 0;
    void    *all   = NULL;

    simt_cluster_barrier();
    if (leads) {
        shpool_walk walk = shpool_check(heap);

        EXPECT((walk.broken == 0) && (walk.live == 0) && (walk.used == 0));
        EXPECT(shpool_largest(heap) == t.pool.largest);
    }
    simt_cluster_barrier();
    if (leads) {
        all = shpool_malloc_shared(heap, t.pool.largest);
        EXPECT((all != NULL) && simt_is_shared(all));
    }
    simt_cluster_barrier(); /* everybody's own is full */
    if (leads) {
        EXPECT((shpool_malloc(heap, 1) == NULL) && (shpool_largest(heap) == 0));
    }
    simt_cluster_barrier();
    EXPECT(shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
}

/* ---- random scripts ---- */

#define SLOTS 6u

/* Each thread passes one allocation to a thread of the next block, which owns it from then on. */
static void hand_over(heap_slot *slot)
{
    uint32_t threads = simt_block_threads();
    uint32_t all     = threads * simt_cluster_blocks();
    uint32_t self    = simt_cluster_rank() * threads + simt_thread_rank();

    t.box[(self + threads) % all] = *slot;
    simt_cluster_barrier();
    *slot = t.box[self];
    simt_cluster_barrier();
}

static void script_kernel(void *arg)
{
    shpool_heap heap  = init_cluster();
    uint32_t    state = (t.seed * 1025u + simt_block_rank() * 7919u + simt_thread_rank() + 1u) *
                     2654435769u;
    heap_slot   slot[SLOTS] = { { NULL, 0, 0 } };
    /* the first block of a cluster needs most of what there is */
    uint32_t    most  = (simt_cluster_rank() == 0) ? 500u : 60u;

    (void)arg;
    for (uint32_t step = 0; step < t.steps; step++) {
        heap_slot *s     = &slot[heap_random(&state) % SLOTS];
        uint32_t   bytes = heap_random(&state) % most;
        uint32_t   tag   = heap_random(&state);

        if ((s->at == NULL) && (tag % 4u == 0)) {
            unsigned char *ptr = (unsigned char *)shpool_calloc(heap, bytes / 4u + 1u, 4);

            for (uint32_t i = 0; (ptr != NULL) && (i < bytes / 4u + 1u); i++) {
                EXPECT(((uint32_t *)(void *)ptr)[i] == 0);
            }
            (void)got(heap, s, ptr, bytes / 4u + 1u, tag);
        } else if (s->at == NULL) {
            (void)get(heap, s, bytes, tag);
        } else if (tag % 3u != 0) {
            put(heap, s);
        } else {
            resize(heap, s, bytes, tag);
        }
        if (step % 8u == 7u) {
            hand_over(&slot[step / 8u % SLOTS]);
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (slot[i].at != NULL) {
            put(heap, &slot[i]);
        }
    }
    expect_fresh(heap);
    shpool_fini(heap);
}

static void run_scripts(const char *spec, simt_engine engine, uint32_t blocks, uint32_t threads,
                        uint32_t seeds)
{
    static const uint32_t periods[] = { 1, 3, 17, 0 };
    uint32_t              most      = heap_long() ? seeds * 20u : seeds;

    for (uint32_t seed = 1; seed <= most; seed++) {
        open_cluster_of(spec, blocks, threads, 200u + threads * (60u << seed % 3u));
        t.seed                 = seed;
        t.steps                = (threads > 8) ? 16 : 64;
        t.launch.seed          = seed;
        t.launch.engine        = engine;
        t.launch.switch_period = periods[seed % 4u];
        t.launch.static_bytes  = 8u * seed;
        run_cluster(script_kernel);
        if (blocks > 1) {
            assert_true(t.borrowed > 0);
        }
        assert_int_equal(t.report.live + t.report.live_bytes, 0);
        assert_int_equal(t.report.bad_frees + t.report.corrupt + t.report.leaks, 0);
        assert_true((t.pool.report == NULL) || (t.report.mallocs > t.report.frees));
    }
}

UNIT_TEST(test_scripts_of_any_cluster)
{
    for (uint32_t blocks = 1; blocks <= 8; blocks *= 2) {
        run_scripts("cluster_bitmap", SIMT_FIBERS, blocks, 1, 8);
        run_scripts("cluster_bitmap", SIMT_FIBERS, blocks, 5, 8);
        run_scripts("cluster_bitmap", SIMT_FIBERS, blocks, 33, 4);
    }
    run_scripts("cluster_bitmap", SIMT_FIBERS, 3, 40, 4);
    run_scripts("cluster_bitmap:alignment=128", SIMT_FIBERS, 3, 5, 8);
}

UNIT_TEST(test_scripts_with_stats_and_check)
{
    for (uint32_t blocks = 1; blocks <= 8; blocks *= 2) {
        run_scripts("cluster_bitmap:stats=1", SIMT_FIBERS, blocks, 5, 4);
        run_scripts("cluster_bitmap:check=1", SIMT_FIBERS, blocks, 5, 8);
    }
    run_scripts("cluster_bitmap:check=1", SIMT_THREADS, 2, 4, 4);
}

UNIT_TEST(test_scripts_of_parallel_threads)
{
    run_scripts("cluster_bitmap", SIMT_THREADS, 2, 4, 8);
    run_scripts("cluster_bitmap", SIMT_THREADS, 4, 2, 4);
}

/* Reports of check=1 about borrowed memory: an overrun, a double free, a leak. */
static void checked_kernel(void *arg)
{
    shpool_heap heap = init_cluster();

    (void)arg;
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
    shpool_fini(heap);
}

UNIT_TEST(test_check_sees_a_neighbours_memory)
{
    open_cluster_of("cluster_bitmap:check=1", 2, 1, 400);
    t.launch.grid[0] = 2;
    run_cluster(checked_kernel);
    assert_int_equal(t.report.bad_frees, 2);
    assert_int_equal(t.report.bad_free[0].malloc_site, 55);
    assert_int_equal(t.report.bad_free[1].reason, SHPOOL_FREE_DOUBLE);
    assert_int_equal(t.report.live, 1);
    assert_int_equal(t.report.leaks, 1);
    assert_int_equal(t.report.leak[0].block, 1); /* whose memory it is */
    assert_int_equal(t.report.leak[0].site, 77); /* it has moved */
    assert_int_equal(t.report.leak[0].usable, 100);
}

/* ---- whose memory ---- */

/* Thread 0 of one block after the other allocates everything; the last block frees it. */
static void order_kernel(void *arg)
{
    static heap_slot all[1024];
    static uint32_t  count;
    shpool_heap heap   = init_cluster();
    uint32_t    blocks = simt_cluster_blocks();
    uint32_t    each   = t.pool.largest / 16u;

    (void)arg;
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
    expect_fresh(heap);
    shpool_fini(heap);
}

UNIT_TEST(test_who_borrows_from_whom)
{
    for (uint32_t blocks = 1; blocks <= 8; blocks *= 2) {
        open_cluster(blocks, 2, 16 * 23); /* 23 granules: no multiple of 5 */
        t.launch.grid[0] = blocks;        /* the kernel's static memory is for one cluster */
        run_cluster(order_kernel);
        assert_int_equal(t.refused, blocks);
    }
}

static void bad_kernel(void *arg)
{
    static void *theirs;
    shpool_heap  heap = init_cluster();

    (void)arg;
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
    expect_fresh(heap);
    shpool_fini(heap);
}

UNIT_TEST(test_bad_frees_of_a_neighbours_memory_are_refused)
{
    open_cluster(2, 1, 400);
    t.launch.grid[0] = 2;
    run_cluster(bad_kernel);
}

static void far_kernel(void *arg)
{
    shpool_heap heap = init_cluster();
    heap_slot   theirs;

    (void)arg;
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
    expect_fresh(heap);
    shpool_fini(heap);
}

UNIT_TEST(test_sizes_of_borrowed_memory_change)
{
    for (uint32_t seed = 0; seed < 8; seed++) {
        open_cluster(2, 1, 1000);
        t.launch.seed          = seed;
        t.launch.switch_period = seed % 4u;
        run_cluster(far_kernel);
    }
}

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

    EXPECT(got(heap, slot, ptr, LONG_BYTES, owner) && (owner_of(ptr) == owner));
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

static void long_kernel(void *arg)
{
    shpool_heap heap = init_cluster();
    heap_slot   slot[4];

    (void)arg;
    if (simt_cluster_rank() == 0) {
        expect_skips(heap, &slot[0], 0);
        expect_skips(heap, &slot[2], 1); /* the own pool is full */
        for (uint32_t i = 0; i < 4; i++) {
            put(heap, &slot[i]);
        }
    }
    expect_fresh(heap);
    shpool_fini(heap);
}

UNIT_TEST(test_long_runs_are_not_searched_pair_by_pair)
{
    open_cluster(2, 1, 200u * 1024u);
    t.launch.grid[0] = 2;
    run_cluster(long_kernel);
}

UNIT_TEST(test_a_launch_without_clusters_has_block_pools)
{
    open_cluster(1, 7, 600);
    memset(t.launch.cluster, 0, sizeof(t.launch.cluster));
    t.steps = 64;
    run_cluster(script_kernel);
    assert_int_equal(t.borrowed, 0);
}

/* ---- pools of other scopes: a neighbour's memory is foreign to them ---- */

static void block_kernel(void *arg)
{
    static void *theirs[BLOCKS];
    shpool_heap  heap = init_cluster();
    void        *ptr  = shpool_malloc(heap, 40);

    (void)arg;
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
    shpool_fini(heap);
}

UNIT_TEST(test_block_pools_are_what_they_were_in_clusters)
{
    FOR_EACH_POOL(allocator) {
        for (int check = 0; (check < 2) && (allocator->scope != SHPOOL_SCOPE_CLUSTER); check++) {
            char spec[64];

            if ((check == 0) && ((allocator->caps & SHPOOL_CAP_REFUSES) == 0)) {
                continue;
            }
            (void)snprintf(spec, sizeof(spec), "%s%s", allocator->name, check ? ":check=1" : "");
            open_cluster_of(spec, 4, 3, 600);
            t.launch.grid[0] = 4;
            run_cluster(block_kernel);
        }
    }
}

/* What spills has no pool; but a neighbour's shared memory is not of CUDA's heap. */
static void native_kernel(void *arg)
{
    static void *theirs;
    shpool_heap  heap = init_cluster();

    (void)arg;
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
    shpool_fini(heap);
}

UNIT_TEST(test_the_native_heap_gets_no_shared_memory)
{
    const shpool_allocator *native;

    if (shpool_allocator_find("native", &native) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    open_cluster_of("native", 2, 1, 400);
    t.launch.grid[0]       = 2;
    t.launch.dynamic_bytes = 256;
    run_cluster(native_kernel);
}
