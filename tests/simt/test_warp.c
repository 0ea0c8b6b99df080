/* SPDX-License-Identifier: BSD-3-Clause */
/* The warp collectives of the CPU block executor, and the bits that masks are made of, against
 * simt.h. */
#include "trial.h"

/* ---- what announces order to ThreadSanitizer ---- */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif

/* The executor counts the threads that wait for each other only if these functions exist.  They
 * do nothing here, but an address sanitizer or the C library then notices a wrong count: the last
 * thread frees the counter. */
#if !defined(__SANITIZE_THREAD__) && !defined(HAS_TSAN)
void __tsan_acquire(void *address);
void __tsan_release(void *address);

void __tsan_acquire(void *address) { (void)address; }
void __tsan_release(void *address) { (void)address; }
#endif

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
    uint32_t rank = simt_thread_rank();
    uint32_t lane = simt_lane();
    uint32_t warp = rank - lane;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t mask = 0, yes = 0, equal = 0;
        uint32_t v = value_of(round, rank);
        uint32_t n = hash(round, rank, 3) % 32;
        uint32_t x = lane ^ n, u = lane - n, d = lane + n;

        for (uint32_t i = 0; (i < 32) && (warp + i < simt_block_threads()); i++) {
            if (color_of(round, warp + i) == color_of(round, rank)) {
                mask |= 1u << i;
                yes |= (uint32_t)(value_of(round, warp + i) != 0) << i;
                equal |= (uint32_t)(value_of(round, warp + i) == v) << i;
            }
        }
#define FROM(_i) (((_i) >= 32) ? v : (mask >> (_i) & 1u) ? value_of(round, warp + (_i)) : ~v)
        expect(simt_ballot(mask, v) == yes);
        expect(simt_any(mask, v) == (yes != 0));
        expect(simt_all(mask, v) == (yes == mask));
        expect(simt_match_any(mask, v) == equal);
        expect(simt_shfl(mask, v, n) == FROM(n));
        expect(simt_shfl_xor(mask, v, n) == FROM(x));
        expect(simt_shfl_up(mask, v, n) == FROM(u));
        expect(simt_shfl_down(mask, v, n) == FROM(d));
        simt_store32(simt_dynamic_base() + 4 * rank, round);
        simt_warp_sync(mask);
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
            expect(simt_load32(simt_dynamic_base() + 4 * (warp + simt_ffs(rest) - 1)) == round);
        }
        simt_warp_sync(mask);
        simt_global_add32(&state.count, 1);
    }
}

UNIT_TEST_WITH(test_collectives_answer_as_the_model_does, setup, NULL)
{
    static const uint32_t threads[] = { 1, 7, 32, 33, 64, 100, 1024 };

    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        for (uint32_t period = 0; period < 3; period++) {
            state.count = 0;
            fine(run(threads[i], SIMT_FIBERS, i, period, collectives_kernel));
            assert_int_equal(state.count, threads[i] * ROUNDS);
        }
    }
    fine(run(40, SIMT_THREADS, 0, 1, collectives_kernel));
}

static void mask_kernel(void *arg)
{
    uint32_t lane = simt_lane();

    switch (state.x) {
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
    case 7: /* names a lane that has left long ago */
        for (uint32_t i = 0; (lane == 0) && (i < 1000u); i++) {
            simt_pause(1000);
        }
        if (lane == 0) {
            simt_any(0x41, 1);
        }
        break;
    case 8: /* thread 2 meets thread 0, and contradicts thread 1 */
        if (lane == 1) {
            simt_ballot(0x6, 1);
        } else if (lane < 3) {
            simt_warp_sync(0x7);
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

UNIT_TEST_WITH(test_masks_that_cannot_be_met_diverge, setup, NULL)
{
    static const char *const texts[] = {
        "does not name its caller, lane 3 (thread 3)",
        "names lanes beyond the block's 8 threads (the warp has 0xff)",
        "names thread 6, which has exited",
        "name each other in different calls",
        "name each other in different calls",
        "name each other in different calls",
        "simt_ballot(0x5) at",
        "names thread 6, which has exited",
        "name each other in different calls",
        "waiting for thread 2",
    };

    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (unsigned long long seed = 0; seed < 10; seed++) {
            state.x = i;
            assert_int_equal(run(8, SIMT_FIBERS, seed, 1, mask_kernel), SHPOOL_ERR_DIVERGENCE);
            assert_text(texts[i]);
            assert_text("test_warp.c");
        }
        assert_int_equal(run(8, SIMT_THREADS, 0, 1, mask_kernel), SHPOOL_ERR_DIVERGENCE);
        assert_text(texts[i]);
    }
}

static void converged_kernel(void *arg)
{
    uint32_t mask = simt_converged();

    expect((mask >> simt_lane()) & 1u);
    expect(simt_ballot(mask, 1) == mask); /* all of them have the same answer */
    simt_global_add32(&state.seen[simt_popc(mask)], 1);
    if (simt_popc(mask) == simt_block_threads()) {
        simt_global_add32(&state.x, 1);
    }
}

UNIT_TEST_WITH(test_converged_gives_subsets_from_one_lane_to_all, setup, NULL)
{
    uint32_t sizes = 0;

    for (unsigned long long seed = 0; seed < 200; seed++) {
        assert_int_equal(run(24, SIMT_FIBERS, seed, 1, converged_kernel), SHPOOL_OK);
    }
    assert_int_equal(state.wrong, 0);
    for (uint32_t i = 1; i <= 24; i++) {
        sizes += state.seen[i] != 0;
    }
    assert_true((state.seen[1] > 0) && (state.seen[24] > 0) && (sizes > 10));
    fine(run(24, SIMT_THREADS, 0, 1, converged_kernel));
}

/* Warp 0 says when it has been in simt_converged(); warp 1 asks again and again. */
static void polled_kernel(void *arg)
{
    const simt_addr flag = simt_dynamic_base();

    if (simt_thread_rank() == 0) {
        simt_store32(flag, 0);
    }
    simt_barrier();
    if (simt_warp() == 0) {
        expect(simt_converged() != 0);
        (void)simt_atomic_add(flag, 1u, SIMT_RELAXED);
    } else {
        while (simt_atomic_load(flag, SIMT_RELAXED) != SIMT_WARP) {
            simt_pause(100);
        }
    }
}

UNIT_TEST_WITH(test_converged_ends_while_others_poll, setup, NULL)
{
    for (unsigned long long seed = 0; seed < 20; seed++) {
        assert_int_equal(run(64, SIMT_FIBERS, seed, 3, polled_kernel), SHPOOL_OK);
    }
    fine(run(64, SIMT_THREADS, 0, 1, polled_kernel));
}

/* ---- bits ---- */

static uint32_t mask_of(uint32_t first, uint32_t count)
{
    uint32_t mask = 0;

    for (uint32_t bit = 0; bit < 32; bit++) {
        mask |= (uint32_t)((bit >= first) && (bit < first + count)) << bit;
    }
    return mask;
}

static void bits_kernel(void *arg)
{
    uint32_t first = simt_thread_rank();

    for (uint32_t count = 0; count <= 32; count++) {
        expect(simt_mask(first, count) == mask_of(first, count));
        simt_global_add32(&state.count, 1);
    }
}

UNIT_TEST_WITH(test_masks_of_every_first_and_count, setup, NULL)
{
    assert_int_equal(run(33, SIMT_FIBERS, 0, 0, bits_kernel), SHPOOL_OK);
    assert_int_equal(state.count, 33 * 33);
    assert_int_equal(state.wrong, 0);
}

static void keep_kernel(void *arg)
{
    uint32_t v = hash(simt_thread_rank(), 0, 4);

    expect((simt_keep(v) == v) && (simt_keep(~v) == ~v));
    expect((simt_keep(0) == 0) && (simt_keep(~0u) == ~0u));
}

UNIT_TEST_WITH(test_a_kept_value_is_the_value, setup, NULL)
{
    fine(run(64, SIMT_FIBERS, 0, 0, keep_kernel));
}
