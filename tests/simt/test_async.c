/* SPDX-License-Identifier: BSD-3-Clause */
/* mbarriers and asynchronous copies on the executor: arrival of copies, memory order, and reported
 * errors, among them what the hardware leaves undefined. */
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
 * continue", with each number of threads. */
static void run_all(simt_kernel kernel, const uint32_t *threads)
{
    for (uint32_t i = 0; (i < 2u) && (threads[i] != 0); i++) {
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            (void)setup_memory(NULL);
            fine(run(threads[i], (seed % 6u == 5u) ? SIMT_THREADS : SIMT_FIBERS, seed, seed % 4u,
                     kernel));
        }
    }
}

#define EVERYWHERE(_test, _kernel, ...)                                                            \
    UNIT_TEST_WITH(_test, setup_memory, NULL)                                                      \
    {                                                                                              \
        run_all(_kernel, (const uint32_t[2]){ __VA_ARGS__ });                                      \
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

EVERYWHERE(test_what_was_copied_is_there_behind_the_wait, load_kernel, 5, 40)

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

EVERYWHERE(test_a_buffer_is_free_when_its_group_was_read, store_kernel, 3)

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

EVERYWHERE(test_small_copies_land_with_their_group, small_kernel, 3)

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

EVERYWHERE(test_phases_hand_plain_memory_over, hand_over_kernel, 4)

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

EVERYWHERE(test_who_only_tests_sees_the_copy_land, poll_kernel, 2)

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

EVERYWHERE(test_a_thread_that_pauses_does_not_hold_copies_up, pausing_kernel, 2)

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

/* ---- what hardware leaves undefined ---- */

typedef struct misuse {
    const char   *text;
    shpool_status status;
    void        (*body)(void); /* of thread 0; mbarrier 0 is open, with a count of 1 */
} misuse;

static const misuse *wrong_use;

static void misuse_kernel(void *arg)
{
    if (simt_thread_rank() == 0) {
        simt_mbar_init(mbar(0), 1);
        wrong_use->body();
    }
}

static void without_init(void) { simt_mbar_arrive(mbar(1)); }
static void init_twice(void) { simt_mbar_init(mbar(0), 2); }
static void init_none(void) { simt_mbar_init(mbar(1), 0); }
static void init_skew(void) { simt_mbar_init(mbar(0) + 12u, 1); }
static void init_outside(void) { simt_mbar_init(simt_dynamic_base() + 4096u, 1); }
static void use_after(void)
{
    simt_mbar_inval(mbar(0));
    (void)simt_mbar_test(mbar(0), 0);
}
static void written_over(void)
{
    simt_store32(mbar(0) + 4u, 0);
    simt_mbar_wait(mbar(0), 0);
}
static void too_many(void)
{
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_mbar_arrive(mbar(0));
}
static void too_much(void) { simt_mbar_arrive_expect(mbar(0), 1u << 20); }
static void odd_parity(void) { (void)simt_mbar_test(mbar(0), 2); }
static void nobody_arrives(void) { simt_mbar_wait(mbar(0), 0); }
static void too_few_copied(void)
{
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_copy_async(buffer(0), from[0], BYTES - 16u, mbar(0));
    simt_mbar_wait(mbar(0), 0);
}
static void too_few_expected(void)
{
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
    simt_copy_async(buffer(1), from[0], BYTES, mbar(0));
    simt_mbar_arrive(mbar(0));
}
static void to_no_mbar(void) { simt_copy_async(buffer(0), from[0], BYTES, mbar(1)); }
static void skew_shared(void) { simt_copy_async(buffer(0) + 8u, from[0], BYTES, mbar(0)); }
static void skew_global(void) { simt_copy_async(buffer(0), &from[0][2], BYTES, mbar(0)); }
static void skew_bytes(void) { simt_copy_async(buffer(0), from[0], BYTES + 4u, mbar(0)); }
static void beyond(void) { simt_copy_async_out(to[0], simt_dynamic_base() + 4096u - 16u, 32); }
static void overlap(void)
{
    simt_mbar_arrive_expect(mbar(0), 2u * BYTES);
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
    simt_copy_async(buffer(0) + BYTES - 16u, from[1], BYTES, mbar(0));
}
static void no_fence_out(void)
{
    simt_store32(buffer(0) + 32u, 1);
    simt_fence_async();
    simt_store32(buffer(0) + 64u, 1);
    simt_copy_async_out(to[0], buffer(0), BYTES);
}
static void no_fence_in(void)
{
    simt_store32(buffer(0) + 32u, 1);
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
}
static void no_group(void) { simt_copy_async_out(to[0], buffer(0), BYTES); }
static void no_small_wait(void)
{
    simt_copy16_async(buffer(0), from[0]);
    simt_copy16_commit();
    simt_copy16_async(buffer(1), from[0]);
    simt_copy16_commit();
    simt_copy16_wait(1);
}
static void inval_too_early(void)
{
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
    simt_mbar_inval(mbar(0));
}

UNIT_TEST_WITH(test_what_hardware_leaves_undefined_is_reported, setup_memory, NULL)
{
    static const misuse all[] = {
        { "no mbarrier was initialised at 0x408", SHPOOL_ERR_INVALID, without_init },
        { "the mbarrier at 0x400 is in use", SHPOOL_ERR_INVALID, init_twice },
        { "the count is 0, it must be from 1 to 1048575", SHPOOL_ERR_INVALID, init_none },
        { "fault: mbarrier of 8 bytes at 0x40c is not aligned", SHPOOL_ERR_INVALID, init_skew },
        { "fault: mbarrier of 8 bytes at 0x1400 outside", SHPOOL_ERR_INVALID, init_outside },
        { "no mbarrier was initialised at 0x400", SHPOOL_ERR_INVALID, use_after },
        { "the mbarrier at 0x400 was written over", SHPOOL_ERR_INVALID, written_over },
        { "all 1 arrivals of phase 0 of", SHPOOL_ERR_INVALID, too_many },
        { "1048576 bytes; a phase has at most 1048575", SHPOOL_ERR_INVALID, too_much },
        { "parity 2 of the mbarrier at 0x400", SHPOOL_ERR_INVALID, odd_parity },
        { "thread 0: wait on mbarrier 0x400 (phase 0 needs 1 arrivals of 1 and 0 bytes) at",
          SHPOOL_ERR_DEADLOCK, nobody_arrives },
        { "wait on mbarrier 0x400 (phase 0 needs 0 arrivals of 1 and 16 bytes)",
          SHPOOL_ERR_DEADLOCK, too_few_copied },
        { "fewer bytes were expected than are copied", SHPOOL_ERR_INVALID, too_few_expected },
        { "simt_copy_async at", SHPOOL_ERR_INVALID, to_no_mbar },
        { "fault: async copy of 256 bytes at 0x508 is not aligned", SHPOOL_ERR_INVALID,
          skew_shared },
        { "both must be multiples of 16", SHPOOL_ERR_INVALID, skew_global },
        { "of 260 bytes, global", SHPOOL_ERR_INVALID, skew_bytes },
        { "fault: async copy of 32 bytes at 0x13f0 outside", SHPOOL_ERR_INVALID, beyond },
        { "overlap those of a copy in flight, 256 bytes at 0x500, started at", SHPOOL_ERR_INVALID,
          overlap },
        { "256 bytes at 0x500 were written to after the last simt_fence_async",
          SHPOOL_ERR_INVALID, no_fence_out },
        { "256 bytes at 0x500 were written to after the last simt_fence_async",
          SHPOOL_ERR_INVALID, no_fence_in },
        { "thread 0 exits and has not waited for its copy", SHPOOL_ERR_INVALID, no_group },
        { "thread 0 exits and has not waited for its copy", SHPOOL_ERR_INVALID, no_small_wait },
        { "no thread has waited for copies to the mbarrier at 0x400", SHPOOL_ERR_INVALID,
          inval_too_early },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        wrong_use = &all[i];
        assert_int_equal(run(2, SIMT_FIBERS, 1, 0, misuse_kernel), all[i].status);
        assert_text(all[i].text);
        assert_int_equal(run(2, SIMT_THREADS, 1, 0, misuse_kernel), all[i].status);
        assert_text(all[i].text);
    }
}
