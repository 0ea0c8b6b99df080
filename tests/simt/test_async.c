/* SPDX-License-Identifier: BSD-3-Clause */
/* mbarriers and asynchronous copies on the executor: arrival of copies, memory order, and reported
 * errors. */
#include "trial.h"

#define BYTES   256u
#define WORDS   (BYTES / 4u)
#define SEEDS   60u
#define TILES   6u

/* Global memory of the kernels. */
static uint32_t from[TILES][WORDS] __attribute__((aligned(16)));
static uint32_t to[TILES][WORDS] __attribute__((aligned(16)));

static int setup_memory(void **unused)
{
    for (uint32_t i = 0; i < TILES * WORDS; i++) {
        from[i / WORDS][i % WORDS] = 1000u + i;
        to[i / WORDS][i % WORDS]   = 7;
    }
    return setup(unused);
}

static simt_addr mbar(uint32_t i)
{
    return simt_dynamic_base() + 8u * i;
}

static simt_addr buffer(uint32_t i)
{
    return simt_dynamic_base() + 256u + BYTES * i;
}

static void open_mbars(uint32_t n, uint32_t count)
{
    for (uint32_t i = 0; (i < n) && (simt_thread_rank() == 0); i++) {
        simt_mbar_init(mbar(i), count);
    }
    simt_barrier();
}

/* Every engine, and schedules from "switch everywhere" to "switch only when no thread can
 * continue". */
static void run_all(uint32_t threads, simt_kernel kernel)
{
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        simt_engine engine = (seed % 6u == 5u) ? SIMT_THREADS : SIMT_FIBERS;

        (void)setup_memory(NULL);
        if (run(threads, engine, seed, seed % 4u, kernel) != SHPOOL_OK) {
            fail_msg("seed %u: %s", seed, result.text);
        }
        if (state.wrong != 0) {
            fail_msg("seed %u: %u wrong", seed, state.wrong);
        }
    }
}

/* ---- guarantees ---- */

static void load_kernel(void *arg)
{
    uint32_t rank = simt_thread_rank();

    open_mbars(1, 1);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        if (rank == 0) {
            simt_fence_async();
            simt_mbar_arrive_expect(mbar(0), BYTES);
            simt_copy_async(buffer(0), from[tile], BYTES, mbar(0));
        }
        simt_mbar_wait(mbar(0), tile & 1u);
        for (uint32_t i = rank; i < WORDS; i += simt_block_threads()) {
            expect(simt_load32(buffer(0) + 4u * i) == from[tile][i]);
        }
        simt_barrier();
    }
    if (rank == 0) {
        simt_mbar_inval(mbar(0));
    }
}

UNIT_TEST_WITH(test_what_was_copied_is_there_behind_the_wait, setup_memory, NULL)
{
    run_all(5, load_kernel);
    run_all(40, load_kernel);
}

static void store_kernel(void *arg)
{
    if (simt_thread_rank() != 0) {
        return;
    }
    for (uint32_t tile = 0; tile < TILES; tile++) { /* two buffers, alternating */
        if (tile >= 2) {
            simt_copy_wait_read(1);
        }
        for (uint32_t i = 0; i < WORDS; i++) {
            simt_store32(buffer(tile % 2u) + 4u * i, from[tile][i]);
        }
        simt_fence_async();
        simt_copy_async_out(to[tile], buffer(tile % 2u), BYTES);
        simt_copy_commit();
    }
    simt_copy_wait_read(0);
    for (uint32_t i = 0; i < WORDS; i++) {
        simt_store32(buffer(0) + 4u * i, 0);
        simt_store32(buffer(1) + 4u * i, 0);
    }
    simt_copy_wait(0);
    expect(memcmp(to, from, sizeof(to)) == 0);
}

UNIT_TEST_WITH(test_a_buffer_is_free_when_its_group_was_read, setup_memory, NULL)
{
    run_all(3, store_kernel);
}

static void small_kernel(void *arg)
{
    uint32_t rank = simt_thread_rank();

    for (uint32_t tile = 0; tile < 2; tile++) {
        for (uint32_t i = 4u * rank; i < WORDS; i += 4u * simt_block_threads()) {
            simt_copy16_async(buffer(tile) + 4u * i, &from[tile][i]);
        }
        simt_copy16_commit();
    }
    for (uint32_t tile = 0; tile < 2; tile++) {
        if (tile == 0) {
            simt_copy16_wait(1);
        } else {
            simt_copy16_wait(0);
        }
        simt_barrier();
        for (uint32_t i = 0; i < WORDS; i++) {
            expect(simt_load32(buffer(tile) + 4u * i) == from[tile][i]);
        }
    }
}

UNIT_TEST_WITH(test_small_copies_land_with_their_group, setup_memory, NULL)
{
    run_all(3, small_kernel);
}

/* Thread 0 writes, the others read, by two mbarriers: full, and empty. */
static void hand_over_kernel(void *arg)
{
    uint32_t rank    = simt_thread_rank();
    uint32_t readers = simt_block_threads() - 1u;

    if (rank == 0) {
        simt_mbar_init(mbar(0), 1);
        simt_mbar_init(mbar(1), readers);
    }
    simt_barrier();
    for (uint32_t n = 0; n < 20; n++) {
        if (rank == 0) {
            simt_mbar_wait(mbar(1), (n & 1u) ^ 1u); /* the phase before the first has ended */
            simt_store32(buffer(0), 500u + n);
            simt_mbar_arrive(mbar(0));
        } else {
            while (!simt_mbar_test(mbar(0), n & 1u)) {
                simt_mbar_wait(mbar(0), n & 1u);
            }
            expect(simt_load32(buffer(0)) == 500u + n);
            simt_mbar_arrive(mbar(1));
        }
    }
}

UNIT_TEST_WITH(test_phases_hand_plain_memory_over, setup_memory, NULL)
{
    run_all(4, hand_over_kernel);
}

static void poll_kernel(void *arg)
{
    open_mbars(1, 1);
    if (simt_thread_rank() == 0) {
        simt_mbar_arrive_expect(mbar(0), BYTES);
        simt_copy_async(buffer(0), from[1], BYTES, mbar(0));
        while (!simt_mbar_test(mbar(0), 0)) {
        }
        expect(simt_load32(buffer(0)) == from[1][0]);
    }
}

UNIT_TEST_WITH(test_who_only_tests_sees_the_copy_land, setup_memory, NULL)
{
    run_all(2, poll_kernel);
}

/* Thread 1 pauses until thread 0, which waits for the copy, says that it has landed. */
static void pausing_kernel(void *arg)
{
    simt_addr done = mbar(1);

    open_mbars(1, 1);
    if (simt_thread_rank() == 0) {
        simt_atomic_store(done, 0, SIMT_RELEASE);
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        simt_fence_async();
        simt_mbar_arrive_expect(mbar(0), BYTES);
        simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
        simt_mbar_wait(mbar(0), 0);
        simt_atomic_store(done, 1, SIMT_RELEASE); /* pairs with the acquire below */
    } else {
        while (simt_atomic_load(done, SIMT_ACQUIRE) == 0) {
            simt_pause(100);
        }
    }
}

UNIT_TEST_WITH(test_a_thread_that_pauses_does_not_hold_copies_up, setup_memory, NULL)
{
    run_all(2, pausing_kernel);
}

/* ---- accesses that come too early are found ---- */

static void no_wait_kernel(void *arg)
{
    open_mbars(1, 1);
    if (simt_thread_rank() == 0) {
        simt_mbar_arrive_expect(mbar(0), BYTES);
        simt_copy_async(buffer(0), from[1], BYTES, mbar(0));
    }
    simt_barrier();
    expect(simt_load32(buffer(0)) == from[1][0]);
}

UNIT_TEST_WITH(test_a_forgotten_wait_is_found_by_every_seed, setup_memory, NULL)
{
    uint32_t wrong = 0;

    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        state.wrong = 0;
        assert_int_equal(run(2, SIMT_FIBERS, seed, 1, no_wait_kernel), SHPOOL_ERR_INVALID);
        assert_non_null(strstr(result.text, "fault: the block ends"));
        wrong += (state.wrong != 0);
    }
    assert_true(wrong > SEEDS / 5u); /* some see rubbish, too */
}

static void early_reuse_kernel(void *arg)
{
    simt_store32(buffer(0), 1);
    simt_fence_async();
    simt_copy_async_out(to[0], buffer(0), 16);
    simt_copy_commit();
    simt_store32(buffer(0), 2);
    simt_copy_wait(0);
}

static void early_look_kernel(void *arg)
{
    simt_store32(buffer(0), 1);
    simt_fence_async();
    simt_copy_async_out(to[0], buffer(0), 16);
    simt_copy_commit();
    simt_copy_wait_read(0); /* read, but perhaps not written */
    *(uint32_t *)arg = to[0][0];
}

UNIT_TEST_WITH(test_the_source_is_read_and_the_destination_written_late, setup_memory, NULL)
{
    uint32_t seen[3]   = { 0 };
    uint32_t looked[8] = { 0 };
    uint32_t look      = 0;

    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        simt_launch launch = { .dynamic_bytes = 4096, .seed = seed, .switch_period = 1 };

        assert_int_equal(run(1, SIMT_FIBERS, seed, 1, early_reuse_kernel), SHPOOL_OK);
        seen[to[0][0]]++;
        to[0][0] = 7;
        assert_int_equal(simt_run(&launch, early_look_kernel, &look, &result), SHPOOL_OK);
        looked[look]++;
        assert_int_equal(to[0][0], 1); /* in the end it is there */
    }
    assert_true((seen[1] > 0) && (seen[2] > 0) && (looked[1] + looked[7] == SEEDS));
    assert_true(looked[7] > 0);
}

/* ---- exploration ---- */

static void one_copy_kernel(void *arg)
{
    simt_mbar_init(mbar(0), 1);
    simt_mbar_arrive_expect(mbar(0), 16);
    simt_copy_async(buffer(0), from[0], 16, mbar(0));
    simt_store32(mbar(1), 0);
    simt_store32(mbar(1), 0);
    simt_mbar_wait(mbar(0), 0);
}

/* One thread; with the price of a preemption the copy lands before either store or the wait. */
UNIT_TEST_WITH(test_landing_is_a_point_of_choice, setup_memory, NULL)
{
    assert_int_equal(explore(1, 0, NULL, one_copy_kernel), SHPOOL_OK);
    assert_int_equal(result.schedules, 1);
    assert_int_equal(explore(1, 1, NULL, one_copy_kernel), SHPOOL_OK);
    assert_int_equal(result.schedules, 4);
    assert_int_equal(explore(1, 2, NULL, one_copy_kernel), SHPOOL_OK);
    assert_int_equal(result.schedules, 4); /* there is no second copy */
    assert_int_equal(result.complete, 1);
}

/* A premature read finds neither the old nor the new contents. */
static void rubbish_kernel(void *arg)
{
    simt_mbar_init(mbar(0), 1);
    simt_store32(buffer(0), 5);
    simt_fence_async();
    simt_mbar_arrive_expect(mbar(0), 16);
    simt_copy_async(buffer(0), from[0], 16, mbar(0));
    expect(simt_load32(buffer(0)) == 0xeeeeeeeeu);
    simt_mbar_wait(mbar(0), 0);
}

/* Believes that a copy takes long. */
static void hasty_kernel(void *arg)
{
    simt_mbar_init(mbar(0), 1);
    simt_mbar_arrive_expect(mbar(0), 16);
    simt_copy_async(buffer(0), from[0], 16, mbar(0));
    simt_store32(mbar(1), 0);
    expect(simt_load32(buffer(0)) != from[0][0]);
    simt_mbar_wait(mbar(0), 0);
}

static int wrong_after(void *arg)
{
    return state.wrong != 0;
}

static int wrote_two(void *arg)
{
    return to[0][0] == 2;
}

UNIT_TEST_WITH(test_exploration_lands_early_and_late, setup_memory, NULL)
{
    const simt_hooks early = { NULL, wrong_after };
    const simt_hooks late  = { NULL, wrote_two };

    assert_int_equal(explore(1, 0, &early, rubbish_kernel), SHPOOL_OK);
    assert_int_equal(explore(1, 0, &early, hasty_kernel), SHPOOL_OK);
    assert_int_equal(explore(1, 1, &early, hasty_kernel), SHPOOL_ERR_CORRUPT);
    assert_text(" copy 0");
    assert_int_equal(explore(1, 0, &late, early_reuse_kernel), SHPOOL_ERR_CORRUPT);
}

static void explored_kernel(void *arg)
{
    open_mbars(1, 2);
    if (simt_thread_rank() == 0) {
        simt_mbar_arrive_expect(mbar(0), 32);
        simt_copy_async(buffer(0), from[0], 16, mbar(0));
        simt_copy_async(buffer(1), from[1], 16, mbar(0));
    } else {
        simt_store32(buffer(2), 3);
        simt_mbar_arrive(mbar(0));
    }
    while (!simt_mbar_test(mbar(0), 0)) {
        simt_mbar_wait(mbar(0), 0);
    }
    expect(simt_load32(buffer(0)) == from[0][0]);
    expect(simt_load32(buffer(1)) == from[1][0]);
    expect(simt_load32(buffer(2)) == 3);
}

UNIT_TEST_WITH(test_every_order_of_copies_and_threads, setup_memory, NULL)
{
    const simt_hooks hooks = { NULL, wrong_after };

    assert_int_equal(explore(2, 3, &hooks, explored_kernel), SHPOOL_OK);
    assert_int_equal(result.complete, 1);
    assert_true(result.schedules > 1000);
}
