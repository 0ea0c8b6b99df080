/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU block executor against executor.h and simt.h.
 *
 * Kernels never assert: cmocka leaves a failed test by longjmp, and a kernel has another stack.
 * They count what is wrong in their argument, and the test looks afterwards.  The kernels do not
 * race, so that the whole program may run under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <shpool/executor.h>

typedef struct probe {
    uint32_t wrong;
    uint32_t count;
    uint32_t x, y;          /* what the kernel is told */
    uint32_t seen[1024];
    uint32_t order[4096];
} probe;

static simt_result result;
static probe       state;
static uint32_t    timeout_ms; /* 0: the default, for a busy machine is no deadlock */

static shpool_status run(uint32_t threads, simt_engine engine, unsigned long long seed,
                         uint32_t period, simt_kernel kernel)
{
    simt_launch launch = { .block = { threads }, .dynamic_bytes = 4096, .engine = engine,
                           .seed = seed, .switch_period = period, .timeout_ms = timeout_ms };

    return simt_run(&launch, kernel, &state, &result);
}

static int setup(void **unused)
{
    (void)unused;
    memset(&state, 0, sizeof(state));
    timeout_ms = 0;
    return 0;
}

static void assert_text(const char *part)
{
    if (strstr(result.text, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, result.text);
    }
}

static void expect(probe *p, int fine)
{
    if (!fine) {
        simt_global_add32(&p->wrong, 1);
    }
}

static void nothing(void *arg)
{
    (void)arg;
}

/* ---- shapes ---- */

static void shape_kernel(void *arg)
{
    probe   *p = (probe *)arg;
    uint32_t t = simt_thread_x() + 5u * (simt_thread_y() + 3u * simt_thread_z());
    uint32_t b = simt_block_x() + 2u * (simt_block_y() + 3u * simt_block_z());

    expect(p, (t == simt_thread_rank()) && (simt_block_threads() == 60));
    expect(p, (b == simt_block_rank()) && (simt_grid_blocks() == 12));
    expect(p, (simt_lane() == t % 32) && (simt_warp() == t / 32));
    simt_global_add32(&p->seen[b * 60 + t], 1);
}

static void test_ranks_of_3d_blocks_in_a_3d_grid(void **unused)
{
    (void)unused;
    for (int engine = SIMT_FIBERS; engine <= SIMT_THREADS; engine++) {
        simt_launch launch = { .block = { 5, 3, 4 }, .grid = { 2, 3, 2 },
                               .engine = (simt_engine)engine };

        setup(NULL);
        assert_int_equal(simt_run(&launch, shape_kernel, &state, &result), SHPOOL_OK);
        assert_int_equal(state.wrong, 0);
        for (uint32_t i = 0; i < 720; i++) {
            assert_int_equal(state.seen[i], 1);
        }
    }
}

static void memory_kernel(void *arg)
{
    probe    *p    = (probe *)arg;
    simt_addr base = simt_dynamic_base();
    char     *ptr  = (char *)simt_from_shared(base);

    expect(p, (base % 1024 == 0) && ((uintptr_t)ptr % 1024 == 0) && (base >= 1024 + 100));
    expect(p, simt_dynamic_bytes() == 1000);
    expect(p, simt_is_shared(ptr + 999) && !simt_is_shared(ptr + 1000) && !simt_is_shared(p));
    expect(p, simt_to_shared(ptr + 7) == base + 7);
    expect(p, (simt_load8(1024) == p->x) && (simt_load8(base + 999) == p->x));
    simt_store8(base + 999, 1); /* the next block must not see it */
    simt_store32(base, 0x01020304u);
    simt_store32(base + 4, 0x05060708u);
    expect(p, simt_load64(base) == 0x0506070801020304ull);
    simt_store16(base + 2, 9);
    expect(p, simt_load128(base).x == 0x00090304u);
}

static void test_each_block_has_fresh_filled_aligned_memory(void **unused)
{
    simt_launch launch = { .grid = { 3 }, .dynamic_bytes = 1000, .static_bytes = 100 };

    (void)unused;
    state.x = 0xA5;
    assert_int_equal(simt_run(&launch, memory_kernel, &state, &result), SHPOOL_OK);
    state.x     = 0x3C;
    launch.fill = 0x3C;
    assert_int_equal(simt_run(&launch, memory_kernel, &state, NULL), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

static void test_launches_outside_the_limits_run_nothing(void **unused)
{
    const simt_launch bad[] = {
        { .block = { 1025 } },
        { .block = { 32, 33 } },
        { .block = { 65536, 65536, 1 } },
        { .grid = { 65536 } },
        { .grid = { 256, 256, 256 } },
        { .dynamic_bytes = 1024 * 1024 + 1 },
        { .static_bytes = 0xffffffffu },
        { .block = { 65 }, .engine = SIMT_THREADS },
        { .engine = (simt_engine)7 },
    };

    (void)unused;
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
    probe      *p      = (probe *)arg;
    simt_launch launch = { 0 };

    expect(p, simt_run(&launch, nothing, NULL, NULL) == SHPOOL_ERR_INVALID);
}

static void test_a_kernel_may_not_start_another(void **unused)
{
    (void)unused;
    assert_int_equal(run(2, SIMT_FIBERS, 0, 0, nested_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

/* ---- schedules ---- */

static void order_kernel(void *arg)
{
    probe    *p = (probe *)arg;
    simt_addr a = simt_dynamic_base();

    for (uint32_t i = 0; i < 4; i++) {
        simt_atomic_add(a, 1, SIMT_RELAXED);
        p->order[simt_global_add32(&p->count, 1)] = simt_thread_rank();
    }
}

static void test_the_seed_decides_the_order(void **unused)
{
    static uint32_t first[4096];
    uint32_t        different = 0;

    (void)unused;
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

static void test_period_0_switches_only_where_a_thread_ends(void **unused)
{
    (void)unused;
    assert_int_equal(run(16, SIMT_FIBERS, 5, 0, order_kernel), SHPOOL_OK);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(state.order[i], state.order[i / 4 * 4]);
    }
    assert_int_equal(result.switches, 15);
}

static void spin_kernel(void *arg)
{
    (void)arg;
    while (simt_atomic_load(simt_dynamic_base(), SIMT_RELAXED) != 1) {
    }
}

static void test_max_switches_stops_a_livelock(void **unused)
{
    simt_launch launch = { .block = { 3 }, .dynamic_bytes = 16, .switch_period = 2,
                           .max_switches = 10000 };

    (void)unused;
    assert_int_equal(simt_run(&launch, spin_kernel, NULL, &result), SHPOOL_ERR_BUDGET);
    assert_text("10000");
    assert_text("threads 0-2: running");
}

/* ---- barrier ---- */

static void barrier_kernel(void *arg)
{
    probe    *p    = (probe *)arg;
    uint32_t  rank = simt_thread_rank();
    uint32_t  n    = simt_block_threads();
    simt_addr a    = simt_dynamic_base();

    for (uint32_t round = 1; round < 6; round++) {
        simt_store32(a + 4 * rank, round * 2000 + rank);
        simt_barrier();
        expect(p, simt_load32(a + 4 * ((rank + 1) % n)) == round * 2000 + (rank + 1) % n);
        expect(p, simt_load32(a + 4 * ((rank + n / 2) % n)) == round * 2000 + (rank + n / 2) % n);
        simt_barrier();
    }
}

static void test_a_barrier_holds_all_threads(void **unused)
{
    static const uint32_t threads[] = { 1, 2, 31, 32, 33, 256, 1024 };

    (void)unused;
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        for (uint32_t period = 0; period < 4; period++) {
            assert_int_equal(run(threads[i], SIMT_FIBERS, i, period, barrier_kernel), SHPOOL_OK);
        }
    }
    assert_int_equal(run(16, SIMT_THREADS, 1, 2, barrier_kernel), SHPOOL_OK);
    assert_int_equal(run(64, SIMT_THREADS, 1, 0, barrier_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

static void two_barriers_kernel(void *arg)
{
    (void)arg;
    if (simt_thread_rank() < 7) {
        simt_barrier();
    } else {
        simt_barrier();
    }
}

static void exits_early_kernel(void *arg)
{
    (void)arg;
    if (simt_thread_rank() % 16 != 5) {
        simt_barrier();
    }
}

static void test_threads_at_different_barriers_diverge(void **unused)
{
    (void)unused;
    for (int engine = SIMT_FIBERS; engine <= SIMT_THREADS; engine++) {
        assert_int_equal(run(10, (simt_engine)engine, 1, 1, two_barriers_kernel),
                         SHPOOL_ERR_DIVERGENCE);
        assert_text("threads 0-6: barrier at");
        assert_text("threads 7-9: barrier at");
        assert_text("test_simt.c:");
    }
}

static void test_a_barrier_that_exited_threads_miss_diverges(void **unused)
{
    (void)unused;
    for (int engine = SIMT_FIBERS; engine <= SIMT_THREADS; engine++) {
        assert_int_equal(run(32, (simt_engine)engine, 1, 1, exits_early_kernel),
                         SHPOOL_ERR_DIVERGENCE);
        assert_text("threads 0-4,6-20,22-31: barrier at");
        assert_text("waiting for threads 5,21");
        assert_text("threads 5,21: exited");
    }
}

/* ---- waiting ---- */

static void chain_kernel(void *arg)
{
    probe    *p    = (probe *)arg;
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
    p->order[p->count++] = rank;
    simt_atomic_store(a, rank + 1, SIMT_RELEASE);
}

static void test_waiting_threads_wake_when_the_word_changes(void **unused)
{
    (void)unused;
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
    (void)arg;
    if (simt_thread_rank() == 31) {
        simt_atomic_store(simt_dynamic_base(), 1, SIMT_RELAXED);
        while (simt_atomic_load(simt_dynamic_base(), SIMT_RELAXED) == 1) {
            simt_wait(simt_dynamic_base(), 1);
        }
    }
    simt_barrier();
}

static void test_a_deadlock_names_threads_places_and_words(void **unused)
{
    (void)unused;
    for (int engine = SIMT_FIBERS; engine <= SIMT_THREADS; engine++) {
        assert_int_equal(run(32, (simt_engine)engine, 1, 1, deadlock_kernel),
                         SHPOOL_ERR_DEADLOCK);
        assert_text("threads 0-30: barrier at");
        assert_text("waiting for thread 31");
        assert_text("thread 31: wait on word 0x400 (holds 1, seen 1) at");
        assert_text("test_simt.c:");
    }
}

static void test_no_progress_for_too_long_is_a_deadlock_of_os_threads(void **unused)
{
    (void)unused;
    timeout_ms = 300;
    assert_int_equal(run(4, SIMT_THREADS, 0, 0, spin_kernel), SHPOOL_ERR_DEADLOCK);
    assert_text("300 ms");
    assert_text("threads 0-3: running");
}

/* ---- faults ---- */

static void fault_kernel(void *arg)
{
    probe *p = (probe *)arg;

    if (simt_thread_rank() == 2) {
        if (p->y == 16) {
            simt_load128(p->x);
        } else if (p->y == 1) {
            simt_store8(p->x, 0);
        } else if (p->y == 0) {
            simt_wait(p->x, 0);
        } else {
            simt_load32(p->x);
        }
        p->wrong++;
    }
    simt_barrier();
}

static void test_a_shared_access_outside_or_misaligned_faults(void **unused)
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

    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int engine = SIMT_FIBERS; engine <= SIMT_THREADS; engine++) {
            state.x = cases[i].addr;
            state.y = cases[i].bytes;
            assert_int_equal(run(4, (simt_engine)engine, i, 1, fault_kernel), SHPOOL_ERR_INVALID);
            assert_text(cases[i].text);
            assert_int_equal(state.wrong, 0);
        }
    }
}

/* ---- warp collectives against a model ---- */

#define ROUNDS 40u

static uint32_t hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = (a * 0x9e3779b1u) ^ (b * 0x85ebca77u) ^ (c * 0xc2b2ae3du);

    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    return h ^ (h >> 15);
}

static uint32_t value_of(uint32_t round, uint32_t rank) { return hash(round, rank, 1) % 3; }
static uint32_t color_of(uint32_t round, uint32_t rank)
{
    return hash(round, rank, 2) % (1 + round % 4);
}

static void collectives_kernel(void *arg)
{
    probe   *p    = (probe *)arg;
    uint32_t rank = simt_thread_rank();
    uint32_t lane = simt_lane();
    uint32_t warp = rank - lane;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t mask = 0, yes = 0, equal = 0;
        uint32_t v = value_of(round, rank);
        uint32_t n = hash(round, rank, 3) % 40;
        uint32_t s = n % 32, x = lane ^ n, u = lane - n, d = lane + n;

        for (uint32_t i = 0; (i < 32) && (warp + i < simt_block_threads()); i++) {
            if (color_of(round, warp + i) == color_of(round, rank)) {
                mask |= 1u << i;
                yes |= (uint32_t)(value_of(round, warp + i) != 0) << i;
                equal |= (uint32_t)(value_of(round, warp + i) == v) << i;
            }
        }
#define FROM(_i) ((((_i) < 32) && (mask >> ((_i) % 32) & 1u)) ? value_of(round, warp + (_i)) : v)
        expect(p, simt_ballot(mask, v) == yes);
        expect(p, simt_any(mask, v) == (yes != 0));
        expect(p, simt_all(mask, v) == (yes == mask));
        expect(p, simt_match_any(mask, v) == equal);
        expect(p, simt_shfl(mask, v, n) == FROM(s));
        expect(p, simt_shfl_xor(mask, v, n) == FROM(x));
        expect(p, simt_shfl_up(mask, v, n) == FROM(u));
        expect(p, simt_shfl_down(mask, v, n) == FROM(d));
        simt_store32(simt_dynamic_base() + 4 * rank, round);
        simt_warp_sync(mask);
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
            expect(p, simt_load32(simt_dynamic_base() + 4 * (warp + simt_ffs(rest) - 1)) == round);
        }
        simt_warp_sync(mask);
        simt_global_add32(&p->count, 1);
    }
}

static void test_collectives_answer_as_the_model_does(void **unused)
{
    static const uint32_t threads[] = { 1, 7, 32, 33, 64, 100, 1024 };

    (void)unused;
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        for (uint32_t period = 0; period < 3; period++) {
            state.count = 0;
            assert_int_equal(run(threads[i], SIMT_FIBERS, i, period, collectives_kernel),
                             SHPOOL_OK);
            assert_int_equal(state.wrong, 0);
            assert_int_equal(state.count, threads[i] * ROUNDS);
        }
    }
    assert_int_equal(run(40, SIMT_THREADS, 0, 1, collectives_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

static void mask_kernel(void *arg)
{
    probe   *p    = (probe *)arg;
    uint32_t lane = simt_lane();

    switch (p->x) {
    case 0: /* names the wrong lane */
        simt_ballot((lane == 3) ? 1u << 4 : 1u << lane, 1);
        break;
    case 1: /* names a lane that does not exist */
        simt_any(SIMT_ALL_LANES, 1);
        break;
    case 2: /* names a lane that leaves */
        if (lane != 6) {
            simt_all(0xff, 1);
        }
        break;
    case 3: /* two lanes, two masks */
        simt_ballot((lane == 1) ? 0x7fu : 0xffu, 1);
        break;
    case 4: /* two lanes, two places */
        if (lane == 0) {
            simt_warp_sync(0xff);
        } else {
            simt_warp_sync(0xff);
        }
        break;
    case 5: /* two lanes, two operations */
        (lane == 0) ? simt_any(0xff, 1) : simt_all(0xff, 1);
        break;
    case 6: /* a ring of three: no two name each other */
        if (lane < 3) {
            simt_ballot((1u << lane) | (1u << ((lane + 1) % 3)), 1);
        }
        break;
    default: /* a vote and a barrier */
        if (lane == 2) {
            simt_barrier();
        } else {
            simt_ballot(0xff, 1);
        }
        break;
    }
}

static void test_masks_that_cannot_be_met_diverge(void **unused)
{
    static const char *const texts[] = {
        "does not name its caller, lane 3 (thread 3)",
        "names lanes beyond the block's 8 threads (the warp has 0xff)",
        "names thread 6, which has exited",
        "name each other in different calls",
        "name each other in different calls",
        "name each other in different calls",
        "simt_ballot(0x5) at",
        "waiting for thread 2",
    };

    (void)unused;
    for (uint32_t i = 0; i < 8; i++) {
        for (unsigned long long seed = 0; seed < 10; seed++) {
            state.x = i;
            assert_int_equal(run(8, SIMT_FIBERS, seed, 1, mask_kernel), SHPOOL_ERR_DIVERGENCE);
            assert_text(texts[i]);
            assert_text("test_simt.c");
        }
        assert_int_equal(run(8, SIMT_THREADS, 0, 1, mask_kernel), SHPOOL_ERR_DIVERGENCE);
        assert_text(texts[i]);
    }
}

static void converged_kernel(void *arg)
{
    probe   *p    = (probe *)arg;
    uint32_t mask = simt_converged();

    expect(p, (mask >> simt_lane()) & 1u);
    expect(p, simt_ballot(mask, 1) == mask); /* all of them have the same answer */
    simt_global_add32(&p->seen[simt_popc(mask)], 1);
    if (simt_popc(mask) == simt_block_threads()) {
        simt_global_add32(&p->x, 1);
    }
}

static void test_converged_gives_subsets_from_one_lane_to_all(void **unused)
{
    uint32_t sizes = 0;

    (void)unused;
    for (unsigned long long seed = 0; seed < 200; seed++) {
        assert_int_equal(run(24, SIMT_FIBERS, seed, 1, converged_kernel), SHPOOL_OK);
    }
    assert_int_equal(state.wrong, 0);
    for (uint32_t i = 1; i <= 24; i++) {
        sizes += state.seen[i] != 0;
    }
    assert_true((state.seen[1] > 0) && (state.seen[24] > 0) && (sizes > 10));
    assert_int_equal(run(24, SIMT_THREADS, 0, 1, converged_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

/* ---- exploration ---- */

static shpool_status explore(uint32_t threads, uint32_t bound, const simt_hooks *hooks,
                             simt_kernel kernel)
{
    simt_launch launch = { .block = { threads }, .dynamic_bytes = 64, .max_switches = 100000 };
    simt_bounds bounds = { .preemptions = bound };

    return simt_explore(&launch, &bounds, hooks, kernel, &state, &result);
}

static void two_stores_kernel(void *arg)
{
    (void)arg;
    simt_store32(simt_dynamic_base() + 8 * simt_thread_rank(), 1);
    simt_store32(simt_dynamic_base() + 8 * simt_thread_rank() + 4, 1);
}

/* 2 threads of n = 2 accesses.  Bound 0: who is first, 2.  Bound 1: for each of these, no
 * preemption or one before each of the first's n accesses, 2(n+1).  Bound 2: having been preempted at one of n
 * points, the other may be at any of its n or not at all, 2(1 + n(n+1)). */
static void test_exploration_runs_each_schedule_once(void **unused)
{
    static const unsigned long long schedules[] = { 2, 6, 14 };

    (void)unused;
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
    simt_global_store32(&((probe *)arg)->count, simt_atomic_load(a, SIMT_RELAXED) & 0xff);
}

static int lost_after(void *arg)
{
    probe *p = (probe *)arg;

    p->x++;
    return p->count != 3;
}

static void lost_before(void *arg)
{
    ((probe *)arg)->y++;
}

static void test_exploration_finds_a_lost_update_with_one_preemption(void **unused)
{
    const simt_hooks hooks = { lost_before, lost_after };
    simt_launch      launch = { .block = { 2 }, .dynamic_bytes = 64, .fill = 0x101 };
    simt_bounds      bounds = { .preemptions = 0 };

    (void)unused;
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
    probe    *p = (probe *)arg;
    simt_addr a = simt_dynamic_base() + 4 * simt_thread_rank();
    simt_addr b = simt_dynamic_base() + 4 * (1 - simt_thread_rank());

    if (p->x) { /* the cure: one order for both */
        a = simt_dynamic_base();
        b = a + 4;
    }
    lock(a);
    lock(b);
    simt_atomic_store(b, 0, SIMT_RELEASE);
    simt_atomic_store(a, 0, SIMT_RELEASE);
}

static void test_exploration_finds_a_deadlock_of_two_locks(void **unused)
{
    (void)unused;
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
    simt_global_store32(&((probe *)arg)->seen[simt_converged()], 1);
}

static void test_exploration_gives_every_converged_group(void **unused)
{
    (void)unused;
    assert_int_equal(explore(3, 1, NULL, masks_kernel), SHPOOL_OK);
    for (uint32_t mask = 1; mask < 8; mask++) {
        assert_int_equal(state.seen[mask], 1);
    }
    assert_int_equal(result.complete, 1);
}

static void stray_kernel(void *arg)
{
    if (simt_global_add32(&((probe *)arg)->count, 1) == 0) {
        simt_load32(simt_dynamic_base());
    }
}

static void test_exploration_stops_where_it_is_told_to(void **unused)
{
    simt_launch launch = { .block = { 3 }, .dynamic_bytes = 64 };
    simt_bounds bounds = { .preemptions = 2, .max_schedules = 5 };

    (void)unused;
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
    probe    *p = (probe *)arg;
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
    expect(p, simt_load32(a) == 100 + 500 * simt_block_threads());
    expect(p, (simt_load32(a + 4) == 51) && (simt_load32(a + 8) == 599));
    expect(p, simt_load64(a + 16) == 500ull * simt_block_threads());
}

static void test_atomics_lose_nothing(void **unused)
{
    (void)unused;
    assert_int_equal(run(100, SIMT_FIBERS, 3, 2, counter_kernel), SHPOOL_OK);
    assert_int_equal(run(8, SIMT_THREADS, 3, 5, counter_kernel), SHPOOL_OK);
    assert_int_equal(run(64, SIMT_THREADS, 3, 0, counter_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

static void native_kernel(void *arg)
{
    void *ptr = simt_native_malloc(100);

    expect((probe *)arg, (ptr != NULL) && ((uintptr_t)ptr % 16 == 0) && !simt_is_shared(ptr));
    simt_native_free(ptr);
    simt_native_free(NULL);
}

static void test_native_malloc_gives_aligned_host_memory(void **unused)
{
    (void)unused;
    assert_int_equal(run(40, SIMT_FIBERS, 0, 1, native_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ranks_of_3d_blocks_in_a_3d_grid, setup),
        cmocka_unit_test_setup(test_each_block_has_fresh_filled_aligned_memory, setup),
        cmocka_unit_test_setup(test_launches_outside_the_limits_run_nothing, setup),
        cmocka_unit_test_setup(test_a_kernel_may_not_start_another, setup),
        cmocka_unit_test_setup(test_the_seed_decides_the_order, setup),
        cmocka_unit_test_setup(test_period_0_switches_only_where_a_thread_ends, setup),
        cmocka_unit_test_setup(test_max_switches_stops_a_livelock, setup),
        cmocka_unit_test_setup(test_a_barrier_holds_all_threads, setup),
        cmocka_unit_test_setup(test_threads_at_different_barriers_diverge, setup),
        cmocka_unit_test_setup(test_a_barrier_that_exited_threads_miss_diverges, setup),
        cmocka_unit_test_setup(test_waiting_threads_wake_when_the_word_changes, setup),
        cmocka_unit_test_setup(test_a_deadlock_names_threads_places_and_words, setup),
        cmocka_unit_test_setup(test_no_progress_for_too_long_is_a_deadlock_of_os_threads, setup),
        cmocka_unit_test_setup(test_a_shared_access_outside_or_misaligned_faults, setup),
        cmocka_unit_test_setup(test_collectives_answer_as_the_model_does, setup),
        cmocka_unit_test_setup(test_masks_that_cannot_be_met_diverge, setup),
        cmocka_unit_test_setup(test_converged_gives_subsets_from_one_lane_to_all, setup),
        cmocka_unit_test_setup(test_exploration_runs_each_schedule_once, setup),
        cmocka_unit_test_setup(test_exploration_finds_a_lost_update_with_one_preemption, setup),
        cmocka_unit_test_setup(test_exploration_finds_a_deadlock_of_two_locks, setup),
        cmocka_unit_test_setup(test_exploration_gives_every_converged_group, setup),
        cmocka_unit_test_setup(test_exploration_stops_where_it_is_told_to, setup),
        cmocka_unit_test_setup(test_atomics_lose_nothing, setup),
        cmocka_unit_test_setup(test_native_malloc_gives_aligned_host_memory, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
