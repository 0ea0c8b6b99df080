/* SPDX-License-Identifier: BSD-3-Clause */
/* A third party's allocator on the CPU block executor: registered, found by name, run. */
#include "tests/unit.h"

#include <shpool/executor.h>
#include <shpool/heap.h>

#include "examples/plugin/own.h"

SHPOOL_HOST_MODULE(own, "a test's own: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, NULL);

#define THREADS 33u

typedef struct own_run {
    shpool_pool pool;
    uint32_t overlaps;
    uint32_t failures;
    uint32_t refused;
    uint32_t left;
    uint32_t empty;
} own_run;

static void own_kernel(void *arg)
{
    own_run *run = arg;
    shpool_heap heap = shpool_init(&run->pool, simt_from_shared(simt_dynamic_base()));
    uint32_t rank = simt_thread_rank();

    if ((rank == 0) && (heap.view.bytes == 0)) {
        run->empty++;
    }
    for (uint32_t round = 0; round < 3; round++) {
        void *ptr = shpool_malloc(heap, 1 + rank);
        size_t words = shpool_usable_size(heap, ptr) / 4;

        if (ptr == NULL) {
            (void)simt_global_add32(&run->failures, 1);
        }
        for (size_t i = 0; i < words; i++) {
            simt_store32(simt_to_shared(ptr) + (uint32_t)i * 4, rank * 64 + round);
        }
        simt_barrier();
        for (size_t i = 0; i < words; i++) {
            if (simt_load32(simt_to_shared(ptr) + (uint32_t)i * 4) != rank * 64 + round) {
                (void)simt_global_add32(&run->overlaps, 1);
            }
        }
        if (shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK) {
            (void)simt_global_add32(&run->refused, 1);
        }
        simt_barrier();
    }
    if (rank == 0) {
        shpool_walk walk = shpool_check(heap);

        run->left += walk.broken + walk.live + (shpool_largest(heap) != run->pool.largest);
    }
    shpool_fini(heap);
}

static void run_own(const char *spec, own_run *run)
{
    const shpool_config want = { .block_threads = THREADS, .payload_bytes = 4096 };
    simt_launch launch = { .grid = { 5 }, .block = { THREADS }, .switch_period = 3, .seed = 1 };
    simt_result result;

    memset(run, 0, sizeof(*run));
    assert_int_equal(shpool_simt_open(spec, &want, &run->pool), SHPOOL_OK);
    launch.dynamic_bytes = run->pool.shared_bytes;
    if (simt_run(&launch, own_kernel, run, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    assert_int_equal(run->empty, 0);
    assert_int_equal(run->failures, 0);
    assert_int_equal(run->overlaps, 0);
    assert_int_equal(run->refused, 0);
    assert_int_equal(run->left, 0);
}

static int register_own(void **state)
{
    (void)clear_environment(state);
    return -(shpool_register(&shpool_allocator_own) != SHPOOL_OK);
}

UNIT_TEST(test_own_allocator_is_opened_by_name_and_runs)
{
    own_run run;

    run_own("own", &run);
    shpool_simt_close(&run.pool);
}

UNIT_TEST(test_own_allocator_has_statistics_for_nothing)
{
    shpool_report_data report;
    own_run run;

    run_own("own:stats=1", &run);
    assert_int_equal(shpool_simt_report(&run.pool, &report), SHPOOL_OK);
    assert_int_equal(report.blocks, 5);
    assert_int_equal(report.mallocs, 5 * 3 * THREADS);
    assert_int_equal(report.frees, 5 * 3 * THREADS);
    assert_int_equal(report.failures, 0);
    assert_int_equal(report.live, 0);
    assert_int_equal(report.largest_free, run.pool.largest);
    shpool_simt_close(&run.pool);
}

UNIT_TEST(test_own_allocator_refuses_what_it_did_not_declare)
{
    const shpool_config want = { .block_threads = THREADS, .payload_bytes = 4096 };
    shpool_pool pool;

    assert_int_equal(shpool_simt_open("own:check=1", &want, &pool), SHPOOL_ERR_UNSUPPORTED);
    assert_int_equal(shpool_simt_open("own:alignment=64", &want, &pool), SHPOOL_ERR_UNSUPPORTED);
}

/* No functions, none that count, and some that a program has changed since. */
UNIT_TEST(test_functions_that_are_missing_are_an_error_of_open)
{
    const shpool_config want = { .block_threads = THREADS, .payload_bytes = 4096 };
    static shpool_allocator bare, plain;
    static shpool_table table;
    shpool_pool pool;

    bare = fake_allocator("bare", SHPOOL_SCOPE_BLOCK, 0);
    plain = shpool_allocator_own;
    plain.name = "plain";
    table = *plain.simt[0];
    plain.simt[0] = &table;
    plain.simt[1] = NULL;
    assert_int_equal(shpool_register(&bare), SHPOOL_OK);
    assert_int_equal(shpool_register(&plain), SHPOOL_OK);
    assert_int_equal(shpool_simt_open("bare", &want, &pool), SHPOOL_ERR_UNSUPPORTED);
    assert_detail("\"bare\" has no functions for the CPU executor");
    assert_int_equal(shpool_simt_open("plain:stats=1", &want, &pool), SHPOOL_ERR_UNSUPPORTED);
    assert_detail("with stats or check: leave these out");
    assert_int_equal(shpool_simt_open("plain", &want, &pool), SHPOOL_OK);
    shpool_simt_close(&pool);
    table.abi++;
    assert_int_equal(shpool_simt_open("plain", &want, &pool), SHPOOL_ERR_ABI);
    assert_detail("rebuild them");
}

UNIT_GROUP(register_own, NULL)
