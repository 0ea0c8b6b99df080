/* SPDX-License-Identifier: BSD-3-Clause */
/* Explorations by the CPU block executor, and data that OS threads share, against executor.h and
 * simt.h. */
#include "trial.h"

/* ---- exploration ---- */

static void two_stores_kernel(void *arg)
{
    simt_store32(simt_dynamic_base() + 8 * simt_thread_rank(), 1);
    simt_store32(simt_dynamic_base() + 8 * simt_thread_rank() + 4, 1);
}

/* 2 threads of n = 2 accesses.  Bound 0: either thread may be first, 2.  Bound 1: for each of
 * these, no preemption or one before each of the first's n accesses, 2(n+1).  Bound 2: after a
 * preemption at one of n points, the other may be preempted at any of its n or not at all,
 * 2(1 + n(n+1)). */
UNIT_TEST_WITH(test_exploration_runs_each_schedule_once, setup, NULL)
{
    static const unsigned long long schedules[] = { 2, 6, 14 };

    for (uint32_t bound = 0; bound < 3; bound++) {
        assert_int_equal(explore(2, bound, NULL, two_stores_kernel), SHPOOL_OK);
        assert_int_equal(result.schedules, schedules[bound]);
        assert_int_equal(result.complete, 1);
    }
    assert_int_equal(explore(3, 0, NULL, two_stores_kernel), SHPOOL_OK);
    assert_int_equal(result.schedules, 6);
}

static void lost_kernel(void *arg)
{
    simt_addr a = simt_dynamic_base();

    simt_atomic_store(a, simt_atomic_load(a, SIMT_RELAXED) + 1, SIMT_RELAXED);
    simt_global_store32(&state.count, simt_atomic_load(a, SIMT_RELAXED) & 0xff);
}

static int lost_after(void *arg)
{
    state.x++;
    return state.count != 3;
}

static void lost_before(void *arg)
{
    state.y++;
}

UNIT_TEST_WITH(test_exploration_finds_a_lost_update_with_one_preemption, setup, NULL)
{
    const simt_hooks hooks  = { lost_before, lost_after };
    simt_launch      launch = { .block = { 2 }, .dynamic_bytes = 64, .fill = 0x101 };
    simt_bounds      bounds = { .preemptions = 0 };

    assert_int_equal(simt_explore(&launch, &bounds, &hooks, lost_kernel, &state, &result),
                     SHPOOL_OK); /* memory starts at 0x01010101 */
    assert_int_equal(result.complete, 1);
    assert_int_equal(state.x, 2);
    assert_int_equal(state.y, 2);
    bounds.preemptions = 1;
    assert_int_equal(simt_explore(&launch, &bounds, &hooks, lost_kernel, &state, &result),
                     SHPOOL_ERR_CORRUPT);
    assert_text("schedule (thread*accesses) 0*1 1*3 0");
    assert_int_equal(result.complete, 0);
}

static void lock(simt_addr a)
{
    while (simt_atomic_exchange(a, 1, SIMT_ACQUIRE) == 1) {
        simt_wait(a, 1);
    }
}

static void locks_kernel(void *arg)
{
    simt_addr a = simt_dynamic_base() + 4 * simt_thread_rank();
    simt_addr b = simt_dynamic_base() + 4 * (1 - simt_thread_rank());

    if (state.x) { /* the cure: one order for both */
        a = simt_dynamic_base();
        b = a + 4;
    }
    lock(a);
    lock(b);
    simt_atomic_store(b, 0, SIMT_RELEASE);
    simt_atomic_store(a, 0, SIMT_RELEASE);
}

UNIT_TEST_WITH(test_exploration_finds_a_deadlock_of_two_locks, setup, NULL)
{
    assert_int_equal(explore(2, 0, NULL, locks_kernel), SHPOOL_OK);
    assert_int_equal(explore(2, 1, NULL, locks_kernel), SHPOOL_ERR_DEADLOCK);
    assert_text("thread 0: wait on word 0x404 (holds 1, seen 1) at");
    assert_text("thread 1: wait on word 0x400");
    assert_text("; schedule (thread*accesses) 0*1 1*");
    state.x = 1;
    assert_int_equal(explore(2, 3, NULL, locks_kernel), SHPOOL_OK);
    assert_int_equal(result.complete, 1);
}

static void masks_kernel(void *arg)
{
    simt_global_store32(&state.seen[simt_converged()], 1);
}

UNIT_TEST_WITH(test_exploration_gives_every_converged_group, setup, NULL)
{
    assert_int_equal(explore(3, 1, NULL, masks_kernel), SHPOOL_OK);
    for (uint32_t mask = 1; mask < 8; mask++) {
        assert_int_equal(state.seen[mask], 1);
    }
    assert_int_equal(result.complete, 1);
}

static void stray_kernel(void *arg)
{
    if (simt_global_add32(&state.count, 1) == 0) {
        simt_load32(simt_dynamic_base());
    }
}

UNIT_TEST_WITH(test_exploration_stops_where_it_is_told_to, setup, NULL)
{
    simt_launch launch = { .block = { 3 }, .dynamic_bytes = 64 };
    simt_bounds bounds = { .preemptions = 2, .max_schedules = 5 };

    assert_int_equal(simt_explore(&launch, &bounds, NULL, two_stores_kernel, NULL, &result),
                     SHPOOL_OK);
    assert_int_equal(result.schedules, 5);
    assert_int_equal(result.complete, 0);
    bounds = (simt_bounds){ .preemptions = 2, .max_switches = 20 };
    assert_int_equal(simt_explore(&launch, &bounds, NULL, two_stores_kernel, NULL, &result),
                     SHPOOL_OK);
    assert_true((result.switches >= 20) && (result.switches < 26));
    assert_int_equal(explore(2, 1, NULL, spin_kernel), SHPOOL_ERR_BUDGET);
    assert_text("schedule");
    assert_int_equal(explore(2, 1, NULL, stray_kernel), SHPOOL_ERR_INVALID);
    assert_text("does not repeat");
}

/* ---- OS threads ---- */

static void counter_kernel(void *arg)
{
    simt_addr a = simt_dynamic_base();

    if (simt_thread_rank() == 0) {
        for (uint32_t i = 0; i < 16; i += 4) {
            simt_store32(a + i, 100);
        }
        simt_store64(a + 16, 0);
    }
    simt_barrier();
    for (uint32_t i = 0; i < 500; i++) {
        unsigned long long old = 0, found;

        simt_atomic_add(a, 1, SIMT_RELAXED);
        simt_atomic_min(a + 4, 100 - i % 50, SIMT_RELAXED);
        simt_atomic_max(a + 8, 100 + i, SIMT_ACQ_REL);
        while ((found = simt_atomic_cas64(a + 16, old, old + 1, SIMT_RELAXED)) != old) {
            old = found;
        }
    }
    simt_barrier();
    expect(simt_load32(a) == 100 + 500 * simt_block_threads());
    expect((simt_load32(a + 4) == 51) && (simt_load32(a + 8) == 599));
    expect(simt_load64(a + 16) == 500ull * simt_block_threads());
}

UNIT_TEST_WITH(test_atomics_lose_nothing, setup, NULL)
{
    assert_int_equal(run(100, SIMT_FIBERS, 3, 2, counter_kernel), SHPOOL_OK);
    assert_int_equal(run(8, SIMT_THREADS, 3, 5, counter_kernel), SHPOOL_OK);
    fine(run(64, SIMT_THREADS, 3, 0, counter_kernel));
}

static void native_kernel(void *arg)
{
    void *ptr = simt_native_malloc(100);

    expect((ptr != NULL) && ((uintptr_t)ptr % 16 == 0) && !simt_is_shared(ptr));
    simt_native_free(ptr);
    simt_native_free(NULL);
}

UNIT_TEST_WITH(test_native_malloc_gives_aligned_host_memory, setup, NULL)
{
    fine(run(40, SIMT_FIBERS, 0, 1, native_kernel));
}
