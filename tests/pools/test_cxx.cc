/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/shpool.hpp on the executor: who owns what, and when it is given back. */
#include "tests/test.h"

#include <string.h>

#include <shpool/executor.h>
#include <shpool/shpool.hpp>

namespace {

constexpr uint32_t THREADS = 64;

struct outcome {
    uint32_t wrong;
    uint32_t live; /* allocations when the scopes have ended */
};

struct job {
    const shpool_pool *pool;
    outcome           *out;
};

struct alignas(64) line {
    uint32_t word[16];
};

void expect(outcome *out, bool right)
{
    if (!right) {
        simt_global_add32(&out->wrong, 1);
    }
}

/* A function that hands an array on. */
shpool::array<uint32_t> numbers(shpool_heap heap, uint32_t count)
{
    shpool::array<uint32_t> made(heap, count);

    for (uint32_t i = 0; i < made.size(); i++) {
        made[i] = 3u * i + simt_thread_rank();
    }
    return made;
}

void owners(shpool_heap heap, outcome *out)
{
    const shpool::array<uint32_t>               own  = numbers(heap, 20);
    const shpool::array<uint64_t, shpool::warp> all(heap, 32);
    const uint32_t                              half = simt_mask(simt_lane() & 16u, 16);
    const shpool::array<line, shpool::lanes>    part(heap, 2, {half});
    shpool::array<char, shpool::block>          block(heap, THREADS);

    expect(out, own && (own.size() == 20) && (own.end() - own.begin() == 20));
    expect(out, all && part && block && (part.size() == 2));
    expect(out, reinterpret_cast<uintptr_t>(part.data()) % alignof(line) == 0);
    if (!own || !all || !part || !block) {
        return;
    }
    all[simt_lane()] = simt_thread_rank();
    block[simt_thread_rank()] = static_cast<char>(simt_thread_rank());
    simt_barrier();
    expect(out, own[19] == 57u + simt_thread_rank());
    expect(out, all[31u - simt_lane()] == (simt_thread_rank() ^ 31u));
    expect(out, block[THREADS - 1u - simt_thread_rank()] ==
                    static_cast<char>(THREADS - 1u - simt_thread_rank()));
}

void kernel(void *arg)
{
    const job  *what = static_cast<job *>(arg);
    shpool_heap heap = shpool_init(what->pool, simt_from_shared(simt_dynamic_base()));

    owners(heap, what->out);
    {
        shpool::array<char>  none(heap, size_t(1) << 40);
        shpool::array<line>  wraps(heap, (size_t(1) << 58) + 1);
        shpool::array<short> kept(heap, 4);
        short               *freed_by_hand = kept.release();

        expect(what->out, !none && (none.size() == 0) && !wraps && !kept);
        shpool_free(heap, freed_by_hand);
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        what->out->live = shpool_check(heap).live;
    }
    shpool_fini(heap);
}

void run(const shpool::pool &pool, simt_kernel what_to_do, outcome *out)
{
    simt_launch launch = {};
    simt_result end;
    job         what = {&pool.get(), out};

    launch.block[0]      = THREADS;
    launch.dynamic_bytes = pool.get().shared_bytes;
    launch.switch_period = 3;
    if (simt_run(&launch, what_to_do, &what, &end) != SHPOOL_OK) {
        fail_msg("%s", end.text);
    }
}

shpool_config wanted(void)
{
    shpool_config want = {};

    want.block_threads    = THREADS;
    want.threads_per_pool = THREADS;
    want.payload_bytes    = 32 * 1024;
    want.alignment        = 64;
    return want;
}

UNIT_TEST(test_arrays_are_freed_at_the_end_of_their_scope)
{
    shpool::pool             pool(wanted(), "bitmap:check=1");
    outcome                  out    = {};
    const shpool_report_data before = pool.report();

    run(pool, kernel, &out);
    assert_int_equal(out.wrong, 0);
    assert_int_equal(out.live, 0);
    assert_int_equal(before.mallocs, 0);
    assert_int_equal(pool.report().bad_frees, 0);
    assert_int_equal(pool.report().mallocs - pool.report().failures, pool.report().frees);
    assert_int_equal(pool.report().failures, 2 * THREADS);
    pool.close();
    pool.close(); /* of a closed one: nothing */
}

/* An element type needs more than the pool has: every owner's array is empty, and the report says
 * what would work. */
void overaligned_kernel(void *arg)
{
    const job  *what = static_cast<job *>(arg);
    shpool_heap heap = shpool_init(what->pool, simt_from_shared(simt_dynamic_base()));
    const bool  fits = what->pool->alignment >= alignof(line);

    expect(what->out, static_cast<bool>(shpool::array<line>(heap, 1)) == fits);
    expect(what->out, static_cast<bool>(shpool::array<line, shpool::warp>(heap, 1)) == fits);
    expect(what->out, static_cast<bool>(shpool::array<line, shpool::lanes>(
                          heap, 1, {shpool_warp_lanes()})) == fits);
    expect(what->out, static_cast<bool>(shpool::array<line, shpool::block>(heap, 1)) == fits);
    shpool_fini(heap);
}

UNIT_TEST(test_a_type_gets_its_alignment_or_a_reason)
{
    shpool_config want = wanted();

    for (want.alignment = 16; want.alignment <= 128; want.alignment *= 2) {
        shpool::pool   pool(want, "bitmap:stats=1");
        outcome        out     = {};
        const uint32_t refused = (want.alignment < alignof(line)) ? THREADS + 2u + 2u + 1u : 0u;

        run(pool, overaligned_kernel, &out);
        assert_int_equal(out.wrong, 0);
        const shpool_report_data report = pool.report();

        assert_int_equal(report.mallocs, THREADS + 2 + 2 + 1);
        assert_int_equal(report.failures, refused);
        assert_int_equal(report.refusals, refused);
        if (refused != 0) {
            assert_int_equal(report.status, SHPOOL_ERR_ALIGNMENT);
            assert_int_equal(report.refused.alignment, alignof(line));
            assert_non_null(strstr(shpool_last_error(), "open it with alignment=64"));
        }
    }
}

UNIT_TEST(test_a_pool_moves)
{
    shpool::pool first(wanted(), "bitmap");
    shpool::pool second(std::move(first));
    outcome      out = {};

    assert_int_equal(first.get().pools, 0);
    first = shpool::pool(wanted(), "freelist:stats=1");
    assert_string_equal(first.get().name, "freelist");
    second = std::move(first);
    assert_string_equal(second.get().name, "freelist");
    run(second, kernel, &out);
    assert_int_equal(out.wrong, 0);
}

UNIT_TEST(test_failures_are_exceptions_that_say_why)
{
    bool caught = false;

    try {
        shpool::pool pool(wanted(), "bitmpa");
    } catch (const shpool::error &error) {
        caught = true;
        assert_int_equal(error.status(), SHPOOL_ERR_NOT_FOUND);
        assert_non_null(strstr(error.what(), "bitmpa"));
    }
    assert_true(caught);
    try {
        caught = false;
        (void)shpool::pool(wanted(), "bitmap").report();
    } catch (const shpool::error &error) {
        caught = error.status() == SHPOOL_ERR_UNSUPPORTED;
    }
    assert_true(caught);
}

} // namespace
