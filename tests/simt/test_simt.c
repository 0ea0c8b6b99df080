/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU block executor against executor.h and simt.h: shapes, memory, schedules, barrier,
 * waiting, faults.  Warps are in simt/test_warp.c, explorations in simt/test_explore.c. */
#include "trial.h"

static void nothing(void *arg)
{
}

/* ---- shapes ---- */

static void shape_kernel(void *arg)
{
    uint32_t t = simt_thread_x() + 5u * (simt_thread_y() + 3u * simt_thread_z());
    uint32_t b = simt_block_x() + 2u * (simt_block_y() + 3u * simt_block_z());

    expect((t == simt_thread_rank()) && (simt_block_threads() == 60));
    expect((b == simt_block_rank()) && (simt_grid_blocks() == 12));
    expect((simt_lane() == t % 32) && (simt_warp() == t / 32));
    simt_global_add32(&state.seen[b * 60 + t], 1);
}

static void number_kernel(void *arg) { simt_global_add64(arg, simt_launch_number()); }

UNIT_TEST_WITH(test_a_launch_has_a_number_of_its_own, setup, NULL)
{
    unsigned long long sum[2] = { 0, 0 };

    for (int run = 0; run < 2; run++) {
        simt_launch launch = { .block = { 8, 1, 1 }, .grid = { 4, 1, 1 } };

        assert_int_equal(simt_run(&launch, number_kernel, &sum[run], &result), SHPOOL_OK);
        assert_int_equal(sum[run] % 32u, 0); /* the same in all threads */
    }
    assert_int_not_equal(sum[0], sum[1]);
}

UNIT_TEST_WITH(test_ranks_of_3d_blocks_in_a_3d_grid, setup, NULL)
{
    FOR_EACH_ENGINE(engine) {
        simt_launch launch = { .block = { 5, 3, 4 }, .grid = { 2, 3, 2 },
                               .engine = engine };

        setup(NULL);
        fine(simt_run(&launch, shape_kernel, &state, &result));
        for (uint32_t i = 0; i < 720; i++) {
            assert_int_equal(state.seen[i], 1);
        }
    }
}

static void memory_kernel(void *arg)
{
    simt_addr base = simt_dynamic_base();
    char     *ptr  = (char *)simt_from_shared(base);

    /* as nvlink places it: the next multiple of 16 after static memory */
    expect((base == 1024 + 112) && ((uintptr_t)ptr % 1024 == 112));
    expect(simt_dynamic_bytes() == 1000);
    expect(simt_is_shared(ptr + 999) && !simt_is_shared(ptr + 1000) && !simt_is_shared(&state));
    expect(simt_to_shared(ptr + 7) == base + 7);
    expect((simt_load8(1024) == state.x) && (simt_load8(base + 999) == state.x));
    simt_store8(base + 999, 1); /* the next block must not see it */
    simt_store32(base, 0x01020304u);
    simt_store32(base + 4, 0x05060708u);
    expect(simt_load64(base) == 0x0506070801020304ull);
    simt_store16(base + 2, 9);
    expect(simt_load128(base).x == 0x00090304u);
}

UNIT_TEST_WITH(test_each_block_has_fresh_filled_aligned_memory, setup, NULL)
{
    simt_launch launch = { .grid = { 3 }, .dynamic_bytes = 1000, .static_bytes = 100 };

    state.x = 0xA5;
    assert_int_equal(simt_run(&launch, memory_kernel, &state, &result), SHPOOL_OK);
    state.x     = 0x3C;
    launch.fill = 0x3C;
    fine(simt_run(&launch, memory_kernel, &state, NULL));
}

/* The window is read once, but simt_is_shared() queries for each pointer, so the two must agree. */
static void window_kernel(void *arg)
{
    uint32_t  w    = simt_window();
    simt_addr base = simt_dynamic_base();
    char     *ptr  = (char *)simt_from_shared(base);
    int       end  = (int)simt_dynamic_bytes();
    char      local;

    expect(w != 0);
    for (int i = -8; i < end + 8; i++) {
        expect(!simt_is_within(w, ptr + i) == !simt_is_shared(ptr + i));
        expect(!simt_is_within(0, ptr + i));
        expect(simt_from_window(w, base + (simt_addr)i) == ptr + i);
    }
    expect(simt_is_within(w, ptr + end - 1) && !simt_is_within(w, ptr + end));
    expect(simt_is_within(w, simt_from_window(w, 1024))); /* static memory comes first */
    expect(!simt_is_within(w, simt_from_window(w, 1023)));
    expect(!simt_is_within(w, &state) && !simt_is_within(w, &local) && !simt_is_within(w, NULL));
    expect(!simt_is_within(0, &state) && !simt_is_within(0, &local) && !simt_is_within(0, NULL));
    simt_store8(base + simt_thread_rank(), (uint8_t)simt_thread_rank());
    expect(*(uint8_t *)simt_from_window(w, base + simt_thread_rank()) == simt_thread_rank());
    simt_global_add32(&state.count, 1);
}

UNIT_TEST_WITH(test_the_window_holds_shared_memory_and_nothing_else, setup, NULL)
{
    FOR_EACH_ENGINE(engine) {
        simt_launch launch = { .block = { 16 }, .grid = { 2 }, .dynamic_bytes = 1000,
                               .static_bytes = 100, .engine = engine };

        setup(NULL);
        assert_int_equal(simt_run(&launch, window_kernel, &state, &result), SHPOOL_OK);
        assert_int_equal(state.count, 32);
        assert_int_equal(state.wrong, 0);
    }
}

UNIT_TEST_WITH(test_launches_outside_the_limits_run_nothing, setup, NULL)
{
    const simt_launch bad[] = {
        { .block = { 1025 } },
        { .block = { 32, 33 } },
        { .block = { 65536, 65536, 1 } },
        { .grid = { 65536, 65536 } },
        { .grid = { 2048, 2048, 2048 } },
        { .arena = &result, .dynamic_bytes = 16, .grid = { 2 }, .cluster = { 2 } },
        { .dynamic_bytes = 1024 * 1024 + 1 },
        { .static_bytes = 0xffffffffu },
        { .block = { 65 }, .engine = SIMT_THREADS },
        { .engine = (simt_engine)7 },
        { .from_zero = 1, .dynamic_bytes = 8 },
        { .from_zero = 1, .dynamic_bytes = 64, .grid = { 2 }, .cluster = { 2 } },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(simt_run(&bad[i], nothing, NULL, &result), SHPOOL_ERR_INVALID);
        assert_int_equal(result.status, SHPOOL_ERR_INVALID);
        assert_true(result.text[0] != '\0');
    }
    assert_int_equal(simt_run(NULL, nothing, NULL, &result), SHPOOL_ERR_INVALID);
    assert_int_equal(simt_run(&bad[0], NULL, NULL, NULL), SHPOOL_ERR_INVALID);
}

static void nested_kernel(void *arg)
{
    simt_launch launch = { 0 };

    expect(simt_run(&launch, nothing, NULL, NULL) == SHPOOL_ERR_INVALID);
}

UNIT_TEST_WITH(test_a_kernel_may_not_start_another, setup, NULL)
{
    fine(run(2, SIMT_FIBERS, 0, 0, nested_kernel));
}

/* ---- schedules ---- */

static void order_kernel(void *arg)
{
    simt_addr a = simt_dynamic_base();

    for (uint32_t i = 0; i < 4; i++) {
        simt_atomic_add(a, 1, SIMT_RELAXED);
        state.order[simt_global_add32(&state.count, 1)] = simt_thread_rank();
    }
}

UNIT_TEST_WITH(test_the_seed_decides_the_order, setup, NULL)
{
    static uint32_t first[4096];
    uint32_t        different = 0;

    for (unsigned long long seed = 0; seed < 20; seed++) {
        setup(NULL);
        assert_int_equal(run(16, SIMT_FIBERS, seed, 3, order_kernel), SHPOOL_OK);
        assert_int_equal(state.count, 64);
        if (seed > 0) {
            different += memcmp(first, state.order, sizeof(first)) != 0;
        }
        memcpy(first, state.order, sizeof(first));
        setup(NULL);
        run(16, SIMT_FIBERS, seed, 3, order_kernel);
        assert_memory_equal(first, state.order, sizeof(first));
    }
    assert_int_equal(different, 19);
}

UNIT_TEST_WITH(test_period_0_switches_only_where_a_thread_ends, setup, NULL)
{
    assert_int_equal(run(16, SIMT_FIBERS, 5, 0, order_kernel), SHPOOL_OK);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(state.order[i], state.order[i / 4 * 4]);
    }
    assert_int_equal(result.switches, 15);
}

UNIT_TEST_WITH(test_max_switches_stops_a_livelock, setup, NULL)
{
    simt_launch launch = { .block = { 3 }, .dynamic_bytes = 16, .switch_period = 2,
                           .max_switches = 10000 };

    assert_int_equal(simt_run(&launch, spin_kernel, NULL, &result), SHPOOL_ERR_BUDGET);
    assert_text("10000");
    assert_text("threads 0-2: running");
}

/* ---- barrier ---- */

static void barrier_kernel(void *arg)
{
    uint32_t  rank = simt_thread_rank();
    uint32_t  n    = simt_block_threads();
    simt_addr a    = simt_dynamic_base();

    for (uint32_t round = 1; round < 6; round++) {
        simt_store32(a + 4 * rank, round * 2000 + rank);
        simt_barrier();
        expect(simt_load32(a + 4 * ((rank + 1) % n)) == round * 2000 + (rank + 1) % n);
        expect(simt_load32(a + 4 * ((rank + n / 2) % n)) == round * 2000 + (rank + n / 2) % n);
        simt_barrier();
    }
}

UNIT_TEST_WITH(test_a_barrier_holds_all_threads, setup, NULL)
{
    static const uint32_t threads[] = { 1, 2, 31, 32, 33, 256, 1024 };

    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        for (uint32_t period = 0; period < 4; period++) {
            assert_int_equal(run(threads[i], SIMT_FIBERS, i, period, barrier_kernel), SHPOOL_OK);
        }
    }
    assert_int_equal(run(16, SIMT_THREADS, 1, 2, barrier_kernel), SHPOOL_OK);
    fine(run(64, SIMT_THREADS, 1, 0, barrier_kernel));
}

static void two_barriers_kernel(void *arg)
{
    if (simt_thread_rank() < 7) {
        simt_barrier();
    } else {
        simt_barrier();
    }
}

static void exits_early_kernel(void *arg)
{
    if (simt_thread_rank() % 16 != 5) {
        simt_barrier();
    }
}

/* ---- waiting ---- */

static void chain_kernel(void *arg)
{
    simt_addr a    = simt_dynamic_base();
    uint32_t  rank = simt_thread_rank();
    uint32_t  v;

    if (rank == 0) {
        simt_atomic_store(a, 0, SIMT_RELAXED);
    }
    simt_barrier();
    while ((v = simt_atomic_load(a, SIMT_ACQUIRE)) != rank) {
        simt_wait(a, v);
    }
    state.order[state.count++] = rank;
    simt_atomic_store(a, rank + 1, SIMT_RELEASE);
}

UNIT_TEST_WITH(test_waiting_threads_wake_when_the_word_changes, setup, NULL)
{
    for (uint32_t period = 0; period < 3; period++) {
        setup(NULL);
        assert_int_equal(run(200, SIMT_FIBERS, period, period, chain_kernel), SHPOOL_OK);
        for (uint32_t i = 0; i < 200; i++) {
            assert_int_equal(state.order[i], i);
        }
    }
    setup(NULL);
    assert_int_equal(run(16, SIMT_THREADS, 0, 1, chain_kernel), SHPOOL_OK);
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(state.order[i], i);
    }
}

static void deadlock_kernel(void *arg)
{
    if (simt_thread_rank() == 31) {
        simt_atomic_store(simt_dynamic_base(), 1, SIMT_RELAXED);
        while (simt_atomic_load(simt_dynamic_base(), SIMT_RELAXED) == 1) {
            simt_wait(simt_dynamic_base(), 1);
        }
    }
    simt_barrier();
}

UNIT_TEST_WITH(test_what_threads_wait_for_in_vain_is_named, setup, NULL)
{
    static const struct {
        simt_kernel   kernel;
        uint32_t      threads;
        shpool_status status;
        const char   *texts[4];
    } reports[] = {
        { two_barriers_kernel, 10, SHPOOL_ERR_DIVERGENCE,
          { "threads 0-6: barrier at", "threads 7-9: barrier at", "test_simt.c:", "" } },
        { exits_early_kernel, 32, SHPOOL_ERR_DIVERGENCE,
          { "threads 0-4,6-20,22-31: barrier at", "waiting for threads 5,21",
            "threads 5,21: exited", "" } },
        { deadlock_kernel, 32, SHPOOL_ERR_DEADLOCK,
          { "threads 0-30: barrier at", "waiting for thread 31",
            "thread 31: wait on word 0x400 (holds 1, seen 1) at", "test_simt.c:" } },
    };

    FOR_EACH_ENGINE(engine) {
        for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
            assert_int_equal(run(reports[i].threads, engine, 1, 1, reports[i].kernel),
                             reports[i].status);
            for (size_t k = 0; k < 4; k++) {
                assert_text(reports[i].texts[k]);
            }
        }
    }
}

/* Thread 0 waits for a word that thread 1 changes, and then for one that no thread changes. */
static void brief_kernel(void *arg)
{
    simt_addr a = simt_dynamic_base();

    if (simt_thread_rank() == 0) {
        while (simt_atomic_load(a, SIMT_ACQUIRE) == 0xA5A5A5A5u) {
            state.wrong += simt_wait_briefly(a, 0xA5A5A5A5u);
        }
        state.wrong += simt_wait_briefly(a, 1) == 0;
        state.wrong += simt_wait_briefly(a, 1) == 0;
        state.wrong += simt_wait_briefly(a, 2) != 0; /* it does not hold that */
    } else if (simt_thread_rank() == 1) {
        simt_atomic_store(a, 1, SIMT_RELEASE);
    }
    simt_barrier();
}

UNIT_TEST_WITH(test_a_brief_wait_ends_when_nobody_else_can_go_on, setup, NULL)
{
    FOR_EACH_ENGINE(engine) {
        for (uint32_t period = 0; period < 3; period++) {
            setup(NULL);
            fine(run(32, engine, period, period, brief_kernel));
        }
    }
}

UNIT_TEST_WITH(test_no_progress_for_too_long_is_a_deadlock_of_os_threads, setup, NULL)
{
    timeout_ms = 300;
    assert_int_equal(run(4, SIMT_THREADS, 0, 0, spin_kernel), SHPOOL_ERR_DEADLOCK);
    assert_text("300 ms");
    assert_text("threads 0-3: running");
}

/* ---- faults ---- */

static void fault_kernel(void *arg)
{
    if (simt_thread_rank() == 2) {
        if (state.y == 16) {
            simt_load128(state.x);
        } else if (state.y == 1) {
            simt_store8(state.x, 0);
        } else if (state.y == 0) {
            simt_wait(state.x, 0);
        } else {
            simt_load32(state.x);
        }
        state.wrong++;
    }
    simt_barrier();
}

UNIT_TEST_WITH(test_a_shared_access_outside_or_misaligned_faults, setup, NULL)
{
    static const struct {
        uint32_t    addr, bytes;
        const char *text;
    } cases[] = {
        { 0x1400, 4, "fault: load of 4 bytes at 0x1400 outside 0x400..0x1400, "
          "thread 2 of block 0" },
        { 0x3fc, 4, "fault: load of 4 bytes at 0x3fc outside" },
        { 0xfffffffc, 4, "fault: load of 4 bytes at 0xfffffffc outside" },
        { 0, 4, "fault: load of 4 bytes at 0x0 outside" },
        { 0x402, 4, "fault: load of 4 bytes at 0x402 is not aligned, thread 2" },
        { 0x408, 16, "fault: load of 16 bytes at 0x408 is not aligned" },
        { 0x1400, 1, "fault: store of 1 bytes at 0x1400 outside" },
        { 0x401, 0, "fault: wait of 4 bytes at 0x401 is not aligned" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FOR_EACH_ENGINE(engine) {
            state.x = cases[i].addr;
            state.y = cases[i].bytes;
            assert_int_equal(run(4, engine, i, 1, fault_kernel), SHPOOL_ERR_INVALID);
            assert_text(cases[i].text);
            assert_int_equal(state.wrong, 0);
        }
    }
}
