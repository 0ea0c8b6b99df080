/* SPDX-License-Identifier: BSD-3-Clause */
/* Clusters of blocks on the CPU block executor: ranks, memory, both barriers, faults, reports. */
#include "trial.h"

/* Two clusters of `blocks` blocks along x. */
static shpool_status run_clusters(uint32_t blocks, uint32_t threads, simt_engine engine,
                                  unsigned long long seed, simt_kernel kernel)
{
    simt_launch launch = { .block = { threads }, .grid = { 2 * blocks }, .cluster = { blocks },
                           .dynamic_bytes = 4096, .engine = engine, .seed = seed,
                           .switch_period = (uint32_t)(seed % 4u), .timeout_ms = timeout_ms };

    return simt_run(&launch, kernel, &state, &result);
}

static void rank_kernel(void *arg)
{
    uint32_t  rank = simt_cluster_rank();
    simt_addr base = simt_dynamic_base();

    /* a grid of 4 x 2 x 2 in clusters of 2 x 1 x 2 */
    expect(simt_cluster_blocks() == 4);
    expect(rank == simt_block_x() % 2u + 2u * (simt_block_z() % 2u));
    expect(simt_block_rank() == simt_block_x() + 4u * (simt_block_y() + 2u * simt_block_z()));
    expect((simt_thread_rank() < 3) && (simt_block_threads() == 3));
    expect((simt_addr_rank(base) == rank) && (simt_map_cluster(base, rank) == base));
    expect(simt_addr_offset(base) == simt_addr_offset(simt_map_cluster(base, rank ^ 1u)));
    expect(simt_shared_end(0) == simt_addr_offset(base) + 64u);
    simt_global_add32(&state.seen[simt_block_rank() * 3u + simt_thread_rank()], 1);
}

UNIT_TEST_WITH(test_ranks_of_3d_clusters, setup, NULL)
{
    simt_launch launch = { .block = { 3 }, .grid = { 4, 2, 2 }, .cluster = { 2, 1, 2 },
                           .dynamic_bytes = 64 };

    fine(simt_run(&launch, rank_kernel, &state, &result));
    for (uint32_t i = 0; i < 48; i++) {
        assert_int_equal(state.seen[i], 1);
    }
}

/* Each thread writes a word of the next block's memory, and reads the last block's word. */
static void ring_kernel(void *arg)
{
    uint32_t  n    = simt_cluster_blocks();
    uint32_t  rank = simt_cluster_rank();
    simt_addr own  = simt_dynamic_base() + 4u * simt_thread_rank();
    simt_addr far  = simt_map_cluster(own, (rank + 1u) % n);
    uint32_t *word = (uint32_t *)simt_from_shared(far);

    expect(simt_load32(own) == 0xa5a5a5a5u); /* fresh in every cluster */
    simt_cluster_barrier();
    simt_cluster_store32(far, rank);
    expect(simt_is_within(simt_window(), word) && (simt_to_shared(word) == far));
    expect(simt_is_shared(word) == (n == 1));
    simt_cluster_barrier();
    expect(simt_load32(own) == (rank + n - 1u) % n);
    expect(simt_cluster_load32(own) == simt_near_load32(own));
    simt_barrier(); /* only of the block; the next is for threads that have not read yet */
    simt_cluster_barrier();
    (void)simt_cluster_atomic_add(simt_map_cluster(simt_dynamic_base() + 256u, 0), 1, SIMT_RELAXED);
    (void)simt_cluster_atomic_add(far, 100, SIMT_RELAXED);
    simt_cluster_barrier();
    expect(simt_near_atomic_load(own, SIMT_RELAXED) == (rank + n - 1u) % n + 100u);
    if (rank == 0) {
        expect(simt_load32(simt_dynamic_base() + 256u) == 0xa5a5a5a5u + n * simt_block_threads());
    }
    simt_cluster_barrier();
    *word = 7; /* through the generic pointer */
    simt_cluster_barrier();
    expect(simt_load32(own) == 7);
    simt_cluster_barrier();
    simt_global_add32(&state.count, 1);
}

UNIT_TEST_WITH(test_blocks_reach_each_others_memory, setup, NULL)
{
    static const uint32_t sizes[] = { 1, 2, 3, 4, 8, 16 };

    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t seed = 0; seed < 8; seed++) {
            setup(NULL);
            fine(run_clusters(sizes[i], (seed < 6) ? 3 : 40, SIMT_FIBERS, seed, ring_kernel));
            assert_int_equal(state.count, 2u * sizes[i] * ((seed < 6) ? 3u : 40u));
        }
    }
    for (uint32_t seed = 0; seed < 4; seed++) {
        setup(NULL);
        fine(run_clusters(4, 3, SIMT_THREADS, seed, ring_kernel));
        assert_int_equal(state.count, 24);
    }
}

static void flag_kernel(void *arg)
{
    simt_addr flag = simt_map_cluster(simt_dynamic_base(), 0);

    simt_store32(simt_dynamic_base(), 0);
    simt_store32(simt_dynamic_base() + 4u, 0);
    simt_cluster_barrier();
    if (simt_cluster_rank() == 1) { /* waits for a word of the neighbour */
        while (simt_cluster_atomic_load(flag, SIMT_ACQUIRE) == 0) {
            simt_wait(flag, 0);
        }
        expect(simt_cluster_load32(flag + 4u) == 17);
    } else {
        simt_store32(flag + 4u, 17);
        simt_near_atomic_store(flag, 1, SIMT_RELEASE);
    }
    simt_cluster_barrier();
}

UNIT_TEST_WITH(test_every_schedule_of_a_flag, setup, NULL)
{
    simt_launch launch = { .block = { 1 }, .cluster = { 2 }, .dynamic_bytes = 64 };
    simt_bounds bounds = { .preemptions = 3 };

    fine(simt_explore(&launch, &bounds, NULL, flag_kernel, &state, &result));
    assert_true(result.complete);
    assert_true(result.schedules > 50);
    fine(run_clusters(2, 1, SIMT_THREADS, 1, flag_kernel));
}

/* ---- errors ---- */

static void wrong_kernel(void *arg)
{
    simt_addr base = simt_dynamic_base();
    simt_addr far  = simt_map_cluster(base, simt_cluster_rank() ^ 1u);

    if (state.x == 0) { /* the neighbour may not have started */
        (void)simt_cluster_load32(far);
        return;
    }
    simt_cluster_barrier();
    if (simt_cluster_rank() == 1) {
        return;
    }
    switch (state.x) {
    case 1: /* and it may have exited */
        simt_wait(base, 0xa5a5a5a5u);
        break;
    case 2:
        (void)simt_load32(far); /* no access for another block's memory */
        break;
    case 3:
        (void)simt_cluster_load32(far + 2u);
        break;
    case 4:
        simt_cluster_store32(far + 4096u, 1);
        break;
    case 5:
        (void)simt_cluster_load32(simt_map_cluster(base, 2));
        break;
    case 6:
        simt_cluster_barrier();
        break;
    default:
        simt_barrier();
        (void)simt_cluster_load32(far);
        break;
    }
}

UNIT_TEST_WITH(test_wrong_accesses_are_named, setup, NULL)
{
    static const struct {
        shpool_status status;
        const char   *text;
    } wrong[] = {
        { SHPOOL_ERR_INVALID, "which has not begun" },
        { SHPOOL_ERR_DEADLOCK, "thread 0:0: wait on word" },
        { SHPOOL_ERR_INVALID, "fault: load of 4 bytes at 0x1000400 outside 0x400" },
        { SHPOOL_ERR_INVALID, "fault: load of 4 bytes at 0x1000402 is not aligned" },
        { SHPOOL_ERR_INVALID, "fault: store of 4 bytes at 0x1001400 outside" },
        { SHPOOL_ERR_INVALID, "fault: load of 4 bytes at 0x2000400 outside" },
        { SHPOOL_ERR_DIVERGENCE, "waiting for thread 1:0" },
    };

    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setup(NULL);
        state.x = i;
        assert_int_equal(run_clusters(2, 1, SIMT_FIBERS, 4, wrong_kernel), wrong[i].status);
        assert_text(wrong[i].text);
    }
}

static void exit_kernel(void *arg)
{
    simt_cluster_barrier();
    if (simt_cluster_rank() == 0) {
        for (uint32_t i = 0; i < 100; i++) {
            (void)simt_cluster_load32(simt_map_cluster(simt_dynamic_base(), 1));
        }
    }
}

UNIT_TEST_WITH(test_a_neighbour_that_exits_too_early_is_found, setup, NULL)
{
    simt_launch launch = { .block = { 1 }, .cluster = { 2 }, .dynamic_bytes = 64 };
    simt_bounds bounds = { .preemptions = 1 };

    assert_int_equal(simt_explore(&launch, &bounds, NULL, exit_kernel, &state, &result),
                     SHPOOL_ERR_INVALID);
    assert_text("which has exited");
    assert_text("schedule (thread*accesses) 0:0");
}

static void apart_kernel(void *arg)
{
    if (state.x == 0) { /* one block at its own barrier, the other at the cluster's */
        if (simt_cluster_rank() == 0) {
            simt_cluster_barrier();
        } else if (simt_thread_rank() == 0) {
            simt_barrier();
        } else {
            simt_cluster_barrier();
        }
    } else if (simt_cluster_rank() == 0) { /* two places of the cluster's barrier */
        simt_cluster_barrier();
    } else {
        simt_cluster_barrier();
    }
}

UNIT_TEST_WITH(test_threads_at_different_barriers_are_named, setup, NULL)
{
    FOR_EACH_ENGINE(engine) {
        setup(NULL);
        assert_int_equal(run_clusters(2, 2, engine, 4, apart_kernel), SHPOOL_ERR_DIVERGENCE);
        assert_text("cluster of block 0, threads as block:thread");
        assert_text("thread 1:0: barrier at");
        assert_text("cluster barrier at");
        state.x = 1;
        assert_int_equal(run_clusters(2, 2, engine, 4, apart_kernel), SHPOOL_ERR_DIVERGENCE);
        assert_text("threads 0:0-1: cluster barrier at");
    }
}

static void one_block_kernel(void *arg)
{
    if (simt_cluster_rank() == 1) {
        simt_barrier(); /* the others need not come, or may have exited */
        simt_global_add32(&state.count, 1);
    }
}

UNIT_TEST_WITH(test_a_block_barrier_is_for_one_block, setup, NULL)
{
    assert_int_equal(run_clusters(4, 33, SIMT_FIBERS, 3, one_block_kernel), SHPOOL_OK);
    assert_int_equal(state.count, 66);
}

static void vote_kernel(void *arg)
{
    uint32_t rank = simt_cluster_rank();
    uint32_t all  = simt_ballot(0x1ffu, simt_thread_rank() >= rank); /* a warp of 9 lanes a block */

    expect(all == ((0x1ffu << rank) & 0x1ffu));
    expect((simt_converged() & ~0x1ffu) == 0);
    expect(simt_shfl(0x1ffu, rank, 8) == rank);
}

UNIT_TEST_WITH(test_warps_end_with_their_block, setup, NULL)
{
    for (uint32_t seed = 0; seed < 12; seed++) {
        setup(NULL);
        fine(run_clusters(8, 9, SIMT_FIBERS, seed, vote_kernel));
    }
}

UNIT_TEST_WITH(test_shapes_that_are_none, setup, NULL)
{
    static const struct {
        uint32_t    grid, block, cluster;
        simt_engine engine;
        const char *text;
    } wrong[] = {
        { 17, 1, 17, SIMT_FIBERS, "a cluster of 17x" },
        { 6, 1, 4, SIMT_FIBERS, "is not whole clusters" },
        { 8, 129, 8, SIMT_FIBERS, "at most 1024 threads" },
        { 8, 9, 8, SIMT_THREADS, "at most 64 threads" },
    };

    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        simt_launch launch = { .grid = { wrong[i].grid }, .block = { wrong[i].block },
                               .cluster = { wrong[i].cluster }, .engine = wrong[i].engine };

        assert_int_equal(simt_run(&launch, one_block_kernel, &state, &result), SHPOOL_ERR_INVALID);
        assert_text(wrong[i].text);
        assert_int_equal(state.count, 0);
    }
}
