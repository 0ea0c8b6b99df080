/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomics on several neighbouring pairs of words, for each kind of address: which pairs they
 * change, and that they report it. */
#include "trial.h"

#define PAIRS 34u /* that the kernels look at: more than the longest run of swaps */

static const simt_pair plain = { 1, 2 }, amid = { 3, 4 }, other = { 3, 5 };

static int is(simt_addr a, simt_pair v)
{
    return (simt_load32(a) == v.x) && (simt_load32(a + 4u) == v.y);
}

static void put(simt_addr a, simt_pair v)
{
    simt_store32(a, v.x);
    simt_store32(a + 4u, v.y);
}

static const simt_pair old = { 10, 11 }, set = { 20, 21 };

/* n pairs, of which pair `bad` differs in one word; n: none does. */
static void swap_pairs(probe *p, simt_addr a, uint32_t n, uint32_t bad)
{
    const simt_addr odd = a + 8u * bad + 4u * (n & 1u);

    for (uint32_t i = 0; i < PAIRS; i++) {
        put(a + 8u * i, (i < n) ? old : plain);
    }
    if (bad < n) {
        simt_store32(odd, 99);
    }
    expect(simt_atomic_cas_pairs(a, n, old, set, SIMT_ACQ_REL) == bad);
    if (bad < n) {
        expect(simt_load32(odd) == 99);
        simt_store32(odd, ((n & 1u) != 0) ? old.y : old.x);
    }
    for (uint32_t i = 0; i < PAIRS; i++) {
        expect(is(a + 8u * i, (i < bad) ? set : (i < n) ? old : plain));
    }
    p->count++;
}

#define PAIRS_KERNEL(_p) \
    /* n pairs that are equal, and then `next`; none is looked at after pair `last`. */ \
    static void _p##a_run(probe *p, simt_addr a, uint32_t n, uint32_t last, simt_pair next) \
    { \
        simt_pair      found; \
        simt_addr      at; \
        for (uint32_t i = 0; i < PAIRS; i++) { \
            put(a + 8u * i, (i < n) ? amid : (i == n) ? next : plain); \
        } \
        at = simt_##_p##atomic_clear_run(a, a + 8u * last, amid, &found, SIMT_RELEASE); \
        expect(at == a + 8u * n); \
        expect((found.x == simt_load32(at)) && (found.y == simt_load32(at + 4u))); \
        for (uint32_t i = 0; i < PAIRS; i++) { \
            const simt_pair none = { 0, 0 }; \
            expect(is(a + 8u * i, (i < n) ? none : (i == n) ? next : plain)); \
        } \
        p->count++; \
    } \
    static void _p##pairs_kernel(void *arg) \
    { \
        probe          *p    = (probe *)arg; \
        const simt_addr a    = simt_dynamic_base() + 1024u * simt_thread_rank(); \
        const simt_pair kept = { 0xf0u, 0x0fu }; \
        const simt_addr both[2] = { a, a + 16u }; \
        const simt_pair keep[2] = { kept, { 0x0fu, 0xf0u } }; \
        for (uint32_t n = 0; n < 12u; n++) { \
            _p##a_run(p, a, n, 30u, plain); \
            _p##a_run(p, a, n, 30u, other); \
            _p##a_run(p, a, n, n, other); \
        } \
        put(a, (simt_pair){ 0xffu, 0xffu }); \
        put(a + 8u, plain); \
        put(a + 16u, (simt_pair){ 0xffu, 0xffu }); \
        simt_##_p##atomic_and_pairs(both, keep, 2u, SIMT_RELEASE); \
        expect(is(a, kept) && is(a + 8u, plain) && is(a + 16u, (simt_pair){ 0x0fu, 0xf0u })); \
        expect((simt_##_p##peek_pair(a).x == 0xf0u) && (simt_##_p##peek_pair(a).y == 0x0fu)); \
    }
PAIRS_KERNEL()
PAIRS_KERNEL(near_)
PAIRS_KERNEL(cluster_)

static void swaps_kernel(void *arg)
{
    probe          *p = (probe *)arg;
    const simt_addr a = simt_dynamic_base();

    for (uint32_t n = 0; n <= 32u; n++) {
        for (uint32_t bad = 0; bad <= n; bad++) {
            swap_pairs(p, a, n, bad);
        }
    }
    put(a, old);
    expect(simt_atomic_cas_pair(a, old, set, SIMT_ACQUIRE) && is(a, set));
    expect(!simt_atomic_cas_pair(a, old, plain, SIMT_ACQUIRE) && is(a, set));
}

UNIT_TEST_WITH(test_pairs_of_words, setup, NULL)
{
    static const simt_kernel kernels[] = { pairs_kernel, near_pairs_kernel, cluster_pairs_kernel };

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        setup(NULL);
        assert_int_equal(run(1, SIMT_FIBERS, 1, 3, kernels[i]), SHPOOL_OK);
        assert_int_equal(state.wrong, 0);
        assert_int_equal(state.count, 36u);
    }
}

UNIT_TEST_WITH(test_swaps_of_pairs, setup, NULL)
{
    assert_int_equal(run(1, SIMT_FIBERS, 1, 3, swaps_kernel), SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
    assert_int_equal(state.count, 33u * 34u / 2u);
}

#define RIVALRY 4u /* pairs */

/* Two that swap the same pairs at the same time, one of them from the second pair on: each pair has
 * the value of the one that has swapped it and counts it, or the first value again. */
static void rivals_kernel(void *arg)
{
    probe          *p    = (probe *)arg;
    const uint32_t  rank = simt_thread_rank();
    const simt_addr a    = simt_dynamic_base();
    const simt_pair none = { 0, 0 };
    const simt_pair mine = { rank + 1u, 7 };

    if (rank == 0) {
        for (uint32_t i = 0; i < RIVALRY; i++) {
            put(a + 8u * i, none);
        }
    }
    simt_barrier();
    p->seen[rank] = simt_atomic_cas_pairs(a + 8u * rank, RIVALRY - rank, none, mine, SIMT_ACQ_REL);
    simt_barrier();
    for (uint32_t i = 0; i < RIVALRY; i++) {
        const uint32_t first  = i < p->seen[0];
        const uint32_t second = (i >= 1u) && (i - 1u < p->seen[1]);

        expect(!first || !second);
        expect(simt_load32(a + 8u * i) == (first ? 1u : second ? 2u : 0u));
        expect(simt_load32(a + 8u * i + 4u) == ((first || second) ? 7u : 0u));
    }
}

UNIT_TEST_WITH(test_every_schedule_of_two_swaps, setup, NULL)
{
    simt_launch launch = { .block = { 2 }, .dynamic_bytes = 64 };
    simt_bounds bounds = { .preemptions = 3 };

    assert_int_equal(simt_explore(&launch, &bounds, NULL, rivals_kernel, &state, &result),
                     SHPOOL_OK);
    assert_int_equal(state.wrong, 0);
}
