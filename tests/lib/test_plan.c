/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool_plan: options, shapes, exact sizes. */
#include "plan_trial.h"

/* Included after internal.h: the compiler objects if the two disagree on SHPOOL_AREA_BYTES. */
#include <shpool/impl/report/instrument.h>

static void plan_fails(const char *spec, shpool_config want, shpool_status expected,
                       const char *detail)
{
    shpool_pool pool;

    memset(&pool, 0xff, sizeof(pool));
    assert_int_equal(shpool_plan(spec, &want, &pool), expected);
    assert_true(is_zeroed(&pool, sizeof(pool)));
    assert_detail(detail);
}

UNIT_TEST(test_null_arguments)
{
    shpool_config want = want_of(32, 1024);
    shpool_pool pool;

    memset(&pool, 0xff, sizeof(pool));
    assert_int_equal(shpool_plan("t_block", NULL, &pool), SHPOOL_ERR_INVALID);
    assert_true(is_zeroed(&pool, sizeof(pool)));
    assert_int_equal(shpool_plan("t_block", &want, NULL), SHPOOL_ERR_INVALID);
}

UNIT_TEST(test_null_spec_is_the_builds_default)
{
    assert_string_equal(plan_ok(NULL, want_of(32, 1024)).name, SHPOOL_DEFAULT_ALLOCATOR);
}

UNIT_TEST(test_environment_selects)
{
    shpool_pool pool;

    setenv("SHPOOL_ALLOCATOR", "t_group:threads_per_pool=8,stats=1", 1);
    shpool_config_reload();
    pool = plan_ok(NULL, want_of(64, 8192));
    assert_string_equal(pool.name, "t_group");
    assert_int_equal(pool.pools, 8);
    assert_int_equal(pool.flags & 3u, SHPOOL_FLAG_STATS);
    assert_string_equal(plan_ok("t_block", want_of(64, 8192)).name, "t_block");
}

UNIT_TEST(test_fields_of_one_pool)
{
    shpool_pool pool = plan_ok("t_block", want_of(96, 10000));

    assert_int_equal(pool.abi, SHPOOL_ABI);
    assert_int_equal(pool.bytes, sizeof(pool));
    assert_int_equal(pool.allocator, shpool_name_id("t_block"));
    assert_int_equal(pool.flags, SHPOOL_FLAG_SHARED | SHPOOL_FLAG_IN_BAND |
                                 (4u << SHPOOL_FLAG_ALIGN_SHIFT));
    assert_int_equal(pool.pool_bytes, 10000 + FAKE_OVERHEAD + SHPOOL_WAIT_BYTES);
    assert_int_equal(pool.shared_bytes, pool.pool_bytes);
    assert_int_equal(pool.area_bytes, 0);
    assert_int_equal(pool.pools, 1);
    assert_int_equal(pool.threads_per_pool, 96);
    assert_int_equal(pool.block_threads, 96);
    assert_int_equal(pool.alignment, 16);
    assert_int_equal(pool.largest, 10000);
    assert_int_equal(pool.scope, SHPOOL_SCOPE_BLOCK);
    assert_int_equal(pool.word[0], 10000 + FAKE_OVERHEAD);
    assert_int_equal(pool.word[1], 16);
    assert_null(pool.table);
    assert_null(pool.report);
    assert_true(is_zeroed(pool.reserved, sizeof(pool.reserved)));
}

UNIT_TEST(test_number_of_pools)
{
    shpool_config want = want_of(100, 50000);

    assert_int_equal(plan_ok("t_thread", want).pools, 100);
    assert_int_equal(plan_ok("t_thread", want).threads_per_pool, 1);
    assert_int_equal(plan_ok("t_block", want).pools, 1);
    assert_int_equal(plan_ok("t_group", want).pools, 4);
    assert_int_equal(plan_ok("t_group", want).threads_per_pool, 32);
    assert_int_equal(plan_ok("t_group:threads_per_pool=7", want).pools, 15);
    want.threads_per_pool = 50;
    assert_int_equal(plan_ok("t_group", want).pools, 2);
    assert_int_equal(plan_ok("t_group:threads_per_pool=0", want).threads_per_pool, 32);
    want.threads_per_pool = 1024;
    assert_int_equal(plan_ok("t_group", want).threads_per_pool, 100);
    assert_int_equal(plan_ok("t_group", want_of(5, 100)).threads_per_pool, 5);
}

/* One program serves all allocators: its wish for groups is not an error elsewhere. */
UNIT_TEST(test_threads_per_pool_outside_scope_group)
{
    shpool_config want = want_of(64, 16384);

    plan_fails("t_thread:threads_per_pool=2", want, SHPOOL_ERR_UNSUPPORTED, "each thread");
    plan_fails("t_block:threads_per_pool=8", want, SHPOOL_ERR_UNSUPPORTED, "each block");
    plan_ok("t_thread:threads_per_pool=1", want);
    plan_ok("t_block:threads_per_pool=64", want);
    want.threads_per_pool = 8;
    assert_int_equal(plan_ok("t_thread", want).threads_per_pool, 1);
    assert_int_equal(plan_ok("t_block", want).threads_per_pool, 64);
}

UNIT_TEST(test_spec_wins_over_want)
{
    shpool_config want = want_of(64, 1024);
    shpool_pool pool;

    want.flags = SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK;
    want.alignment = 512;
    pool = plan_ok("t_block:payload_bytes=2K,alignment=64,stats=0,check=0", want);
    assert_int_equal(pool.largest, 2048);
    assert_int_equal(pool.alignment, 64);
    assert_int_equal(pool.flags, SHPOOL_FLAG_SHARED | SHPOOL_FLAG_IN_BAND |
                                 (6u << SHPOOL_FLAG_ALIGN_SHIFT));
    pool = plan_ok("t_block:check=1", want_of(64, 1024));
    assert_int_equal(pool.flags & 3u, SHPOOL_FLAG_CHECK);
    assert_int_equal(plan_ok("t_block:alignment=1K", want).alignment, 1024);
    assert_int_equal(plan_ok("t_block:alignment=0", want).alignment, 16);
    want = want_of(64, 1024);
    assert_int_equal(plan_ok("t_block:binding=linked", want).binding, SHPOOL_BINDING_LINKED);
    assert_int_equal(plan_ok("t_block:binding=table", want).binding, SHPOOL_BINDING_TABLE);
    want.payload_bytes = 1u << 30; /* the last size counts, and the program's does not */
    assert_int_equal(plan_ok("t_block:total_bytes=1K,payload_bytes=2K", want).largest, 2048);
    assert_true(plan_ok("t_block:payload_bytes=1G,total_bytes=2K", want).shared_bytes <= 2048);
}

UNIT_TEST(test_bad_configurations)
{
#define OF(_field, ...) { offsetof(shpool_config, _field), __VA_ARGS__ }
    static const struct { size_t field; uint32_t value; const char *detail; } bad[] = {
        OF(block_threads, 0, "block_threads is 0"), OF(block_threads, 1025, "1..1024"),
        OF(block_threads, UINT32_MAX, "1..1024"), OF(threads_per_pool, 1025, "threads_per_pool"),
        OF(flags, SHPOOL_FLAG_SPILL, "flags is 4"), OF(binding, 3, "_LINKED (2)"),
        OF(spill, 4, "spill is 4"), OF(spill_blocks, 65537, "65536 blocks"),
        OF(total_bytes, 1, "leave one of them 0"), OF(reserved[0], 1, "reserved[0]"),
        OF(reserved[1], 1, "reserved[1]"), OF(reserved[2], 1, "reserved[2]"),
        OF(reserved[3], 1, "reserved[3]"),
    };
#undef OF

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(bad); i++) {
        shpool_config want = want_of(32, 1024);

        memcpy((char *)&want + bad[i].field, &bad[i].value, sizeof(bad[i].value));
        plan_fails("t_group", want, SHPOOL_ERR_INVALID, bad[i].detail);
    }
}

UNIT_TEST(test_bad_specs)
{
    shpool_config want = want_of(32, 1024);

    plan_fails("", want, SHPOOL_ERR_SPEC, "column 1");
    plan_fails("t_block:", want, SHPOOL_ERR_SPEC, "a key");
    plan_fails("t_block:stats=1,", want, SHPOOL_ERR_SPEC, "a key");
    plan_fails("t_block:stats=1,stats=1", want, SHPOOL_ERR_SPEC, "twice");
    plan_fails("t_block|t_block", want, SHPOOL_ERR_SPEC, "block allocators take no layers");
    plan_fails("t_blok", want, SHPOOL_ERR_NOT_FOUND, "did you mean \"t_block\"?");
    plan_fails("none", want, SHPOOL_ERR_NOT_FOUND, "t_block");
    plan_fails("t_block:size=1", want, SHPOOL_ERR_SPEC,
               "known keys: payload_bytes, total_bytes, request_bytes, threads_per_pool");
    plan_fails("t_block:aligment=64", want, SHPOOL_ERR_SPEC, "did you mean \"alignment\"?");
    plan_fails("t_block:stats=yes", want, SHPOOL_ERR_SPEC, "0 or 1");
    plan_fails("t_block:check=2", want, SHPOOL_ERR_SPEC, "0 or 1");
    plan_fails("t_block:payload_bytes=-1", want, SHPOOL_ERR_SPEC, "payload_bytes=-1");
    plan_fails("t_block:payload_bytes=1e4", want, SHPOOL_ERR_SPEC, "K, M or G");
    plan_fails("t_block:payload_bytes=99999999999999999999", want, SHPOOL_ERR_SPEC, "payload");
    plan_fails("t_group:threads_per_pool=1025", want, SHPOOL_ERR_SPEC, "to 1024");
    plan_fails("t_group:threads_per_pool=1K", want, SHPOOL_ERR_SPEC, "to 1024");
    plan_fails("t_block:alignment=x", want, SHPOOL_ERR_SPEC, "power of two");
}

UNIT_TEST(test_alignment)
{
    static const uint32_t bad[] = { 1, 8, 15, 17, 24, 48, 1000, 1025, 2048, 0x80000000u,
                                    UINT32_MAX };
    shpool_config want = want_of(32, 1024);

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(bad); i++) {
        want.alignment = bad[i];
        plan_fails("t_block", want, SHPOOL_ERR_ALIGNMENT, "power of two");
    }
    plan_fails("t_block:alignment=5G", want_of(32, 1024), SHPOOL_ERR_ALIGNMENT, "power of two");
    want.alignment = 32;
    plan_fails("t_plain", want, SHPOOL_ERR_UNSUPPORTED, "aligns to 16 bytes");
    want.alignment = 16;
    plan_ok("t_plain", want);
}

UNIT_TEST(test_check_needs_the_capability)
{
    shpool_config want = want_of(32, 1024);

    plan_fails("t_plain:check=1", want, SHPOOL_ERR_UNSUPPORTED, "checked mode");
    want.flags = SHPOOL_FLAG_CHECK;
    plan_fails("t_plain", want, SHPOOL_ERR_UNSUPPORTED, "checked mode");
    plan_ok("t_plain:check=0,stats=1", want);
}

UNIT_TEST(test_sizes_out_of_range)
{
    shpool_config want = want_of(32, 0);
    const uint32_t most = SHPOOL_MAX_SHARED - FAKE_OVERHEAD - SHPOOL_WAIT_BYTES;

    plan_fails("t_block", want, SHPOOL_ERR_TOO_SMALL, "payload_bytes is 0");
    assert_int_equal(plan_ok("t_block", want_of(32, most)).shared_bytes, SHPOOL_MAX_SHARED);
    plan_fails("t_block", want_of(32, most + 1), SHPOOL_ERR_TOO_LARGE, "needs 232464 bytes");
    assert_detail("payload_bytes 232384 would fit");
    plan_fails("t_block", want_of(32, UINT32_MAX), SHPOOL_ERR_TOO_LARGE, "far more");
    plan_fails("t_block:payload_bytes=5G", want_of(32, 1), SHPOOL_ERR_TOO_LARGE, "would fit");
    plan_fails("t_thread", want_of(1024, UINT32_MAX), SHPOOL_ERR_TOO_LARGE, "1024 pools");
    plan_ok("t_thread", want_of(1024, 1024 * 160));
    plan_fails("t_thread:alignment=256", want_of(1024, 1024), SHPOOL_ERR_TOO_LARGE,
               "no payload fits");
}

UNIT_TEST(test_pools_do_not_share_banks)
{
    shpool_pool pool = plan_ok("t_thread", want_of(64, 64 * 80));

    assert_int_equal(FAKE_OVERHEAD + 80, 128); /* the smallest that fits, were it allowed */
    assert_int_equal(pool.pool_bytes, 144);
    assert_int_equal(pool.largest, 96);
}

UNIT_TEST(test_statistics_area)
{
    shpool_config want = want_of(64, 4096);
    shpool_pool pool;

    want.flags = SHPOOL_FLAG_STATS;
    pool = plan_ok("t_block", want);
    assert_int_equal(pool.area_bytes, (SHPOOL_AREA_BYTES + 15) / 16 * 16);
    want.flags = SHPOOL_FLAG_CHECK;
    assert_int_equal(plan_ok("t_block", want).area_bytes, SHPOOL_AREA_CHECKED);
    want.alignment = 1024;
    pool = plan_ok("t_block", want);
    assert_int_equal(pool.area_bytes % 1024, 0);
    assert_int_equal(pool.shared_bytes, 1024 - 16 + pool.area_bytes + pool.pool_bytes);
    assert_int_equal((pool.flags & SHPOOL_FLAG_ALIGN_MASK) >> SHPOOL_FLAG_ALIGN_SHIFT, 10);
}

UNIT_TEST(test_empty_pools)
{
    static const char *const names[] = { "t_native", "t_null" };

    for (size_t i = 0; i < 2; i++) {
        shpool_pool pool = plan_ok(names[i], want_of(64, 0));

        assert_int_equal(pool.pool_bytes, 0);
        assert_int_equal(pool.shared_bytes, 0);
        assert_int_equal(pool.largest, 0);
        plan_ok(names[i], want_of(1024, UINT32_MAX));
    }
    assert_true((plan_ok("t_native", want_of(64, 0)).flags & SHPOOL_FLAG_SPILL) != 0);
    assert_true((plan_ok("t_null", want_of(64, 0)).flags & SHPOOL_FLAG_SPILL) == 0);
    assert_true((plan_ok("t_spill", want_of(64, 64)).flags & SHPOOL_FLAG_SPILL) != 0);
    assert_int_equal(plan_ok("t_native:stats=1", want_of(64, 0)).shared_bytes,
                     (SHPOOL_AREA_BYTES + 15) / 16 * 16);
    plan_fails("t_spill", want_of(64, 0), SHPOOL_ERR_TOO_SMALL, "payload_bytes is 0");
    plan_fails("t_null:spill=native", want_of(64, 0), SHPOOL_ERR_UNSUPPORTED, "never allocates");
    plan_ok("t_native:request_bytes=1G", want_of(64, 0));
}

/* Plans that succeed: tests/pools/test_geometry.c. */
UNIT_TEST(test_requests_that_cannot_be_planned)
{
    static const struct {
        const char *spec;
        shpool_request request;
        uint32_t n, payload;
        shpool_status status;
        const char *detail;
    } rows[] = {
        { "arena", { 1, 4, 0, 0 }, 0, 0, SHPOOL_ERR_INVALID, "at least one is needed" },
        { "arena", { 0, 4, 0, 0 }, 1, 0, SHPOOL_ERR_INVALID, "requests[0] has count 0" },
        { "arena", { 1, 4, 0, 1 }, 1, 0, SHPOOL_ERR_INVALID, "reserved 1" },
        { "arena", { 1, 4, 24, 0 }, 1, 0, SHPOOL_ERR_ALIGNMENT, "alignment 24" },
        { "arena", { 1, 4, 64, 0 }, 1, 0, SHPOOL_ERR_ALIGNMENT, "the pool's alignment, 32" },
        { "arena", { 1, 4, 0, 0 }, 1, 64, SHPOOL_ERR_INVALID, "leave both 0" },
        { "arena:total_bytes=4K", { 1, 4, 0, 0 }, 1, 0, SHPOOL_ERR_INVALID, "leave both 0" },
        { "arena", { 9, 4096, 0, 0 }, 1, 0, SHPOOL_ERR_TOO_LARGE, "a larger threads_per_pool" },
        { "arena:threads_per_pool=32", { 9, 32768, 0, 0 }, 1, 0, SHPOOL_ERR_TOO_LARGE,
          "at the same time, or another allocator" },
        { "freelist", { 1u << 31, UINT32_MAX, 0, 0 }, 2, 0, SHPOOL_ERR_TOO_LARGE, "over 42949" },
        { "arena:what=1", { 1, 4, 0, 0 }, 1, 0, SHPOOL_ERR_SPEC, "what" },
        { "t_block", { 1, 4, 0, 0 }, 1, 0, SHPOOL_ERR_UNSUPPORTED, "SHPOOL_PACKS_t_block" },
        { "t_null", { 1, 4, 0, 0 }, 1, 0, SHPOOL_ERR_UNSUPPORTED, "serves no request" },
        { "t_native", { 9, 1u << 30, 16, 0 }, 1, 0, SHPOOL_OK, "" },
    };
    const shpool_allocator *found;
    shpool_config want = want_of(32, 0);
    shpool_pool pool;

    if ((shpool_allocator_find("arena", &found) != SHPOOL_OK) ||
        (shpool_allocator_find("freelist", &found) != SHPOOL_OK)) {
        skip();
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        const shpool_request both[2] = { rows[i].request, rows[i].request };

        memset(&pool, 0xff, sizeof(pool));
        want.alignment = (rows[i].spec[0] == 't') ? 16 : 32; /* the fakes align to 16 */
        want.payload_bytes = rows[i].payload;
        assert_int_equal(shpool_plan_requests(rows[i].spec, &want, both, rows[i].n, &pool),
                         rows[i].status);
        if (rows[i].status != SHPOOL_OK) {
            assert_detail(rows[i].detail);
            assert_true(is_zeroed(&pool, sizeof(pool)));
        }
    }
    assert_int_equal(shpool_plan_requests("arena", NULL, &rows[0].request, 1, &pool),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_plan_requests("arena", &want, NULL, 1, &pool), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_plan_requests("arena", &want, &rows[0].request, 1, NULL),
                     SHPOOL_ERR_INVALID);
}

UNIT_TEST(test_magic_divides_every_rank)
{
    assert_int_equal(shpool_plan_magic(1), 0);
    for (uint32_t divisor = 2; divisor <= SHPOOL_MAX_THREADS; divisor++) {
        uint64_t magic = shpool_plan_magic(divisor);

        for (uint32_t rank = 0; rank < SHPOOL_MAX_THREADS; rank++) {
            if ((rank * magic) >> 32 != rank / divisor) {
                fail_msg("%u / %u", rank, divisor);
            }
        }
    }
}

UNIT_TEST(test_another_geometry_does_not_fit)
{
    shpool_pool pool = plan_ok("t_block", want_of(32, 4096));

    assert_int_equal(shpool_same_geometry(fake_layout, &pool), SHPOOL_OK);
    assert_int_equal(shpool_same_geometry(growing_layout, &pool), SHPOOL_ERR_ABI);
    assert_detail("rebuild the program");
    pool.word[1]++;
    assert_int_equal(shpool_same_geometry(fake_layout, &pool), SHPOOL_ERR_ABI);
    assert_int_equal(shpool_same_geometry(NULL, &pool), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_same_geometry(fake_layout, NULL), SHPOOL_ERR_INVALID);
    pool = plan_ok("t_native", want_of(32, 4096));
    assert_int_equal(shpool_same_geometry(fake_layout, &pool), SHPOOL_OK);
}

UNIT_GROUP(register_fakes, NULL)
