/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, mappings and threads that the machine refuses: each request of a run fails in turn, alone
 * or with all later ones.  The run then reports it, keeps nothing, and works again. */
#include "tests/faults.h"

#include "trial.h"

/* ---- runs ---- */

/* Atomics, votes, barriers: threads wait for each other in every way. */
static void kernel(void *arg)
{
    simt_addr at = simt_dynamic_base();

    if (simt_thread_rank() == 0) {
        simt_store32(at, 0);
    }
    simt_barrier();
    (void)simt_atomic_add(at, 1u, SIMT_RELAXED);
    (void)simt_any(simt_mask(0, simt_block_threads()), simt_lane() == 1);
    simt_barrier();
    if (simt_load32(at) != simt_block_threads()) {
        state.wrong++;
    }
}

static shpool_status run_fibers(void)
{
    return run(5, SIMT_FIBERS, 7, 2, kernel);
}

static shpool_status run_threads(void)
{
    return run(5, SIMT_THREADS, 0, 0, kernel);
}

static shpool_status run_cluster(void)
{
    simt_launch launch = { .block = { 3 }, .grid = { 4 }, .cluster = { 2 }, .dynamic_bytes = 256,
                           .seed = 3, .switch_period = 3 };

    return simt_run(&launch, kernel, &state, &result);
}

static shpool_status run_explore(void)
{
    simt_launch launch = { .block = { 2 }, .dynamic_bytes = 256 };
    simt_bounds bounds = { .preemptions = 1, .max_schedules = 40 };

    return simt_explore(&launch, &bounds, NULL, kernel, &state, &result);
}

/* A run that fails keeps nothing, and the next one works. */
static void check(shpool_status launch(void))
{
    shpool_status status;

    memset(&state, 0, sizeof(state));
    status = launch();
    if (!fault_fine(status)) {
        assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_SYSTEM));
        assert_int_equal(result.status, status);
    }
    assert_int_equal(state.wrong, 0);
    fault.armed = 0;
    assert_int_equal(launch(), SHPOOL_OK);
}

#define RUN(_how)                                                                                  \
    static void check_##_how(void)                                                                 \
    {                                                                                              \
        check(run_##_how);                                                                         \
    }
RUN(fibers)
RUN(threads)
RUN(cluster)
RUN(explore)

static void nothing(void)
{
}

static void test_runs(void **unused)
{
    static const fault_scene scenes[] = {
#define SCENE(_act) { #_act, "", 4, 0, nothing, check_##_act, nothing }
        SCENE(fibers), SCENE(threads), SCENE(cluster), SCENE(explore),
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(scenes); i++) {
        fault_sweep(&scenes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
    };

#if defined(__SANITIZE_THREAD__)
    return 77; /* it has its own mmap() and pthread_create() */
#endif
    timeout_ms = 600000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
