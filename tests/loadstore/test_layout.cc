/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocked layout of records: the maps and the host functions of layout.h, and layout.cuh's
 * block functions on the executor, against the formula. */
#include "tests/test.h"

#include <cstdlib>

#include <shpool/executor.h>
#include <shpool/layout.cuh>

#include "layout_trial.h"

namespace
{

bool is_long()
{
    return std::getenv("LIBSHPOOL_TEST_LONG") != nullptr;
}

/* ---- the maps ---- */

UNIT_TEST(test_the_headers_example)
{
    assert_int_equal(shpool_layout_groups(70, 32), 3);
    assert_int_equal(shpool_layout_elements(70, 3, 32), 288);
    assert_int_equal(shpool_layout_index(69, 1, 3, 32), 229);
    assert_int_equal(shpool_layout_record(229, 3, 32), 69);
    assert_int_equal(shpool_layout_element(229, 3, 32), 1);
}

UNIT_TEST(test_index_is_the_formula_both_ways)
{
    draw random = {1};

    for (int round = 0; round < 200; round++) {
        const shape s     = any_shape(random, 20000);
        const auto  total = shpool_layout_elements(s.n, s.m, s.bd);

        assert_int_equal(total, (s.n + s.bd - 1) / s.bd * s.bd * s.m);
        for (unsigned long long record = 0; record < s.n; record++) {
            for (uint32_t i = 0; i < s.m; i++) {
                const auto bx = record / s.bd;
                const auto tx = record % s.bd;
                const auto at = shpool_layout_index(record, i, s.m, s.bd);

                assert_true((at == s.m * s.bd * bx + i * s.bd + tx) && (at < total));
                assert_true(shpool_layout_record(at, s.m, s.bd) == record);
                assert_true(shpool_layout_element(at, s.m, s.bd) == i);
            }
        }
    }
}

UNIT_TEST(test_indexes_have_64_bits)
{
    const unsigned long long record = 0x300000005ull; /* place 5 of its group */
    const unsigned long long at     = shpool_layout_index(record, 2, 3, 1024);

    assert_true(at == 3 * 0x300000000ull + 2 * 1024 + 5);
    assert_true(shpool_layout_record(at, 3, 1024) == record);
    assert_true(shpool_layout_element(at, 3, 1024) == 2);
}

UNIT_TEST(test_sizes_that_overflow_are_0)
{
    assert_true(shpool_layout_elements(~0ull, 1, 32) == 0); /* its padding does not fit */
    assert_true(shpool_layout_elements(~0ull - 31, 1, 32) == ~0ull - 31);
    assert_true(shpool_layout_elements(1ull << 62, 4, 32) == 0);
    assert_true(shpool_layout_elements(1ull << 62, 5, 32) == 0); /* 2^62 in 64 bits */
    assert_true(shpool_layout_elements((1ull << 62) - 32, 4, 32) == 0xffffffffffffff80ull);
    assert_true(shpool_layout_elements(1, 0xffffffffu, 0xffffffffu) == 0xfffffffe00000001ull);
    assert_true(shpool_layout_elements(0, 4, 32) == 0);
}

UNIT_TEST(test_m_and_bd_of_0_give_0)
{
    assert_true(shpool_layout_groups(5, 0) == 0);
    assert_true(shpool_layout_elements(5, 0, 32) == 0);
    assert_true(shpool_layout_elements(5, 4, 0) == 0);
    assert_true(shpool_layout_index(5, 1, 4, 0) == 0);
    assert_true(shpool_layout_record(5, 0, 32) == 0);
    assert_true(shpool_layout_record(5, 4, 0) == 0);
    assert_true(shpool_layout_element(5, 0, 32) == 0);
    assert_true(shpool_layout_element(5, 4, 0) == 0);
}

/* ---- host ---- */

UNIT_TEST(test_host_pack_and_unpack)
{
    draw random = {2};

    for (int round = 0; round < (is_long() ? 5000 : 300); round++) {
        const shape    s     = any_shape(random, 30000);
        const uint32_t bytes = 1u << random(5);
        const size_t   total = shpool_layout_elements(s.n, s.m, s.bd) * bytes;
        guarded        records(s.n * s.m * bytes, random(16)); /* they need no alignment */
        guarded        blocked(total, random(16));
        guarded        back(s.n * s.m * bytes, random(16));

        fill_records(records.data(), s, bytes);
        const auto expected = blocked_of(records.data(), s, bytes);
        assert_int_equal(
            shpool_layout_pack(records.data(), s.n, s.m, s.bd, bytes, blocked.data()), SHPOOL_OK);
        assert_memory_equal(blocked.data(), expected.data(), total);
        assert_int_equal(
            shpool_layout_unpack(blocked.data(), s.n, s.m, s.bd, bytes, back.data()), SHPOOL_OK);
        assert_memory_equal(back.data(), records.data(), s.n * s.m * bytes);
        assert_true(records.is_intact() && blocked.is_intact() && back.is_intact());
    }
}

void expect_refused(unsigned long long n, uint32_t m, uint32_t bd, uint32_t bytes,
                    shpool_status status, const char *word)
{
    unsigned char from[64] = {};
    guarded       to(0);

    assert_int_equal(shpool_layout_check(n, m, bd, bytes), status);
    assert_non_null(std::strstr(shpool_last_error(), word));
    assert_int_equal(shpool_layout_pack(from, n, m, bd, bytes, to.data()), status);
    assert_int_equal(shpool_layout_unpack(from, n, m, bd, bytes, to.data()), status);
    assert_true(to.is_intact());
}

UNIT_TEST(test_bad_input_is_refused_and_nothing_written)
{
    unsigned char byte = POISON;

    expect_refused(5, 0, 32, 4, SHPOOL_ERR_INVALID, "m is 0");
    expect_refused(5, 3, 0, 4, SHPOOL_ERR_INVALID, "bd is 0");
    expect_refused(5, 3, 33, 4, SHPOOL_ERR_INVALID, "bd is 33");
    expect_refused(5, 3, 1056, 4, SHPOOL_ERR_INVALID, "bd is 1056");
    for (uint32_t bytes : {0u, 3u, 12u, 32u, 0x80000000u}) {
        expect_refused(5, 3, 32, bytes, SHPOOL_ERR_INVALID, "1, 2, 4, 8 or 16");
    }
    expect_refused(~0ull, 3, 32, 4, SHPOOL_ERR_TOO_LARGE, "address");
    expect_refused(1ull << 62, 1, 32, 4, SHPOOL_ERR_TOO_LARGE, "address");
    expect_refused(1ull << 62, 5, 32, 1, SHPOOL_ERR_TOO_LARGE, "address");
    expect_refused(1ull << 59, 1, 32, 16, SHPOOL_ERR_TOO_LARGE, "address");
    assert_int_equal(shpool_layout_check((1ull << 59) - 32, 1, 32, 16), SHPOOL_OK);

    assert_int_equal(shpool_layout_pack(nullptr, 5, 3, 32, 4, &byte), SHPOOL_ERR_INVALID);
    assert_non_null(std::strstr(shpool_last_error(), "read is NULL"));
    assert_int_equal(shpool_layout_pack(&byte, 5, 3, 32, 4, nullptr), SHPOOL_ERR_INVALID);
    assert_non_null(std::strstr(shpool_last_error(), "write is NULL"));
    assert_int_equal(shpool_layout_unpack(nullptr, 5, 3, 32, 4, &byte), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_layout_unpack(&byte, 5, 3, 32, 4, nullptr), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_layout_pack(nullptr, 0, 3, 32, 4, nullptr), SHPOOL_OK);
    assert_int_equal(shpool_layout_unpack(nullptr, 0, 3, 32, 4, nullptr), SHPOOL_OK);
    assert_int_equal(byte, POISON);
}

/* ---- plans ---- */

template <typename T> void expect_plan(const shape &s, uint32_t stage_bytes)
{
    shpool::layout_plan plan;
    unsigned long long  places = 0;

    assert_int_equal(shpool::layout_plan_of<T>(s.n, s.m, s.bd, stage_bytes, &plan), SHPOOL_OK);
    assert_true((plan.stage_bytes <= stage_bytes) && (plan.stage_bytes <= 65536));
    assert_int_equal(plan.tile_records % 32, 0);
    assert_true((plan.tile_records % s.bd == 0) || (s.bd % plan.tile_records == 0));
    assert_true((plan.tile_words == s.m) || (plan.tile_records <= s.bd));
    for (unsigned long long tile = 0; tile < plan.tiles + 2; tile++) {
        const auto part = shpool::impl::layout_part_of(plan, tile);

        places += part.places;
        assert_true((part.places != 0) == (tile < plan.tiles));
        assert_true(shpool::impl::layout_stage_bytes<T>(plan.tile_records, part.words) <=
                    plan.stage_bytes);
    }
    assert_true(places == shpool_layout_elements(s.n, s.m, s.bd));
}

UNIT_TEST(test_a_plan_covers_the_array_and_fits_the_stage)
{
    draw random = {3};

    for (int round = 0; round < 2000; round++) {
        const shape    s     = any_shape(random, 100000);
        const uint32_t stage = static_cast<uint32_t>(1024 + random(70000));

        switch (random(5)) {
        case 0:
            expect_plan<uint8_t>(s, stage);
            break;
        case 1:
            expect_plan<uint16_t>(s, stage);
            break;
        case 2:
            expect_plan<float>(s, stage);
            break;
        case 3:
            expect_plan<double>(s, stage);
            break;
        default:
            expect_plan<element16>(s, stage);
            break;
        }
    }
}

UNIT_TEST(test_plans_that_cannot_be_are_zeroed)
{
    const shpool::layout_plan none = {};
    shpool::layout_plan       plan;

#define EXPECT_NO_PLAN(_n, _m, _bd, _stage, _status)                                               \
    std::memset(static_cast<void *>(&plan), 0xff, sizeof(plan));                                   \
    assert_int_equal(shpool::layout_plan_of<float>(_n, _m, _bd, _stage, &plan), _status);          \
    assert_memory_equal(&plan, &none, sizeof(plan));
    EXPECT_NO_PLAN(5, 0, 32, 4096, SHPOOL_ERR_INVALID)
    EXPECT_NO_PLAN(5, 1, 0, 4096, SHPOOL_ERR_INVALID)
    EXPECT_NO_PLAN(5, 1, 48, 4096, SHPOOL_ERR_INVALID)
    EXPECT_NO_PLAN(5, 1, 2048, 4096, SHPOOL_ERR_INVALID)
    EXPECT_NO_PLAN(~0ull, 1, 32, 4096, SHPOOL_ERR_TOO_LARGE)
    EXPECT_NO_PLAN(5, 1, 32, 127, SHPOOL_ERR_TOO_SMALL)
    EXPECT_NO_PLAN(5, 3, 32, 0, SHPOOL_ERR_TOO_SMALL)
#undef EXPECT_NO_PLAN
    assert_int_equal(shpool::layout_plan_of<float>(5, 1, 32, 128, &plan), SHPOOL_OK);
    assert_int_equal(shpool::layout_plan_of<float>(0, 1, 32, 128, &plan), SHPOOL_OK);
    assert_true(plan.tiles == 0);

    /* the header's example */
    assert_int_equal(shpool::layout_plan_of<float>(100000, 3, 256, 16384, &plan), SHPOOL_OK);
    assert_int_equal(plan.tile_records, 1280);
    assert_int_equal(plan.tile_words, 3);
    assert_true(plan.tiles == 79);
}

UNIT_TEST(test_division_by_multiplication)
{
    draw random = {4};

    for (int round = 0; round < 200000; round++) {
        const uint32_t by = static_cast<uint32_t>(1 + random((round % 2) ? 65536 : 64));
        const uint32_t x  = static_cast<uint32_t>((round % 3) ? random(65536) : 65535);

        assert_int_equal(shpool::impl::layout_divide(x, by, shpool::impl::layout_inverse(by)),
                         x / by);
    }
}

/* ---- banks ---- */

/* The most lanes that want different words of one bank at a time, over the whole tile. */
template <typename T, typename Side> uint32_t conflicts(const Side &side)
{
    const uint32_t k     = shpool::impl::layout_unit_elements<T>();
    const uint32_t lanes = (sizeof(T) <= 4) ? 32u : 128u / static_cast<uint32_t>(sizeof(T));
    uint32_t       worst = 0;

    for (uint32_t e = 0; e < side.places; e += lanes * k) {
        for (uint32_t part = 0; part < k; part++) {
            uint32_t words[32][32];
            uint32_t count[32] = {0}; // of each bank

            for (uint32_t lane = 0; (lane < lanes) && (e + lane * k < side.places); lane++) {
                const uint32_t at = shpool::impl::layout_at(side, e + lane * k + part);

                for (uint32_t b = 0; b < sizeof(T); b += 4) {
                    const uint32_t word = (at * static_cast<uint32_t>(sizeof(T)) + b) / 4;
                    const uint32_t bank = word % 32;
                    uint32_t       i    = 0;

                    while ((i < count[bank]) && (words[bank][i] != word)) {
                        i++;
                    }
                    words[bank][i] = word;
                    count[bank] += (i == count[bank]);
                    worst = (count[bank] > worst) ? count[bank] : worst;
                }
            }
        }
    }
    return worst;
}

template <typename T> void expect_no_conflicts(uint32_t m, uint32_t bd)
{
    shpool::layout_plan plan;

    assert_int_equal(shpool::layout_plan_of<T>(3 * bd, m, bd, 16384, &plan), SHPOOL_OK);
    for (unsigned long long tile = 0; tile < plan.tiles; tile += (plan.tiles > 1) ? plan.tiles - 1
                                                                                  : 1) {
        const auto     part    = shpool::impl::layout_part_of(plan, tile);
        const uint32_t records = conflicts<T>(shpool::impl::layout_records_of<T>(plan, part));
        const uint32_t blocked = conflicts<T>(shpool::impl::layout_blocked_of<T>(plan, part));
        const uint32_t row     = (plan.tile_records < bd) ? plan.tile_records : bd;
        const bool     whole   = row % (32u * shpool::impl::layout_unit_elements<T>()) == 0;

        if ((records > 1) || (blocked > (whole ? 1u : 3u))) {
            fail_msg("%u-byte words, m %u, bd %u: %u-way on the records' side, %u-way on the other",
                     static_cast<unsigned>(sizeof(T)), m, bd, records, blocked);
        }
    }
}

UNIT_TEST(test_no_bank_conflicts)
{
    for (uint32_t m = 1; m <= 70; m++) {
        for (uint32_t bd : {32u, 64u, 96u, 128u, 160u, 256u, 992u, 1024u}) {
            expect_no_conflicts<uint8_t>(m, bd);
            expect_no_conflicts<uint16_t>(m, bd);
            expect_no_conflicts<float>(m, bd);
            expect_no_conflicts<double>(m, bd);
            expect_no_conflicts<element16>(m, bd);
        }
    }
    expect_no_conflicts<uint8_t>(4096, 128);
    expect_no_conflicts<float>(700, 128);
    expect_no_conflicts<element16>(333, 64);
}

/* ---- the block functions ---- */

template <typename T> struct job {
    shpool::layout_plan plan;
    const T            *from;
    T                  *to;
    bool                unpack;
    uint32_t            wrong;
};

template <typename T> void job_kernel(void *arg)
{
    job<T>        *j     = static_cast<job<T> *>(arg);
    const uint32_t step  = simt_block_threads();
    simt_addr      base  = simt_dynamic_base();
    simt_addr      end   = base + simt_dynamic_bytes();
    simt_addr      after = base + j->plan.stage_bytes;
    void          *stage = simt_from_shared(base);

    for (simt_addr a = after + simt_thread_rank(); a < end; a += step) {
        simt_store8(a, POISON);
    }
    for (unsigned long long tile = simt_block_rank(); tile < j->plan.tiles;
         tile += simt_grid_blocks()) {
        if (j->unpack) {
            shpool::layout_unpack_tile(j->plan, tile, j->from, j->to, stage);
        } else {
            shpool::layout_pack_tile(j->plan, tile, j->from, j->to, stage);
        }
        simt_barrier();
    }
    for (simt_addr a = after + simt_thread_rank(); a < end; a += step) {
        if (simt_load8(a) != POISON) {
            simt_global_add32(&j->wrong, 1);
        }
    }
}

template <typename T>
void run_job(const shpool::layout_plan &plan, draw &random, bool unpack, const void *from, void *to)
{
    simt_launch launch = {};
    simt_result result;
    job<T>      j = {plan, static_cast<const T *>(from), static_cast<T *>(to), unpack, 0};

    launch.grid[0]       = static_cast<uint32_t>(1 + random(5));
    launch.block[0]      = static_cast<uint32_t>((random(2) == 0) ? 32 * (1 + random(4))
                                                                  : 1 + random(100));
    launch.dynamic_bytes = plan.stage_bytes + 64;
    launch.seed          = random(1000);
    launch.switch_period = static_cast<uint32_t>(random(3) * 10);
    if (random(16) == 0) {
        launch.engine   = SIMT_THREADS;
        launch.block[0] = static_cast<uint32_t>(1 + random(16));
    }
    if (simt_run(&launch, job_kernel<T>, &j, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    assert_int_equal(j.wrong, 0);
}

template <typename T> void pack_and_unpack()
{
    draw random = {100 + sizeof(T)};

    for (int round = 0; round < (is_long() ? 3000 : 60); round++) {
        const shape    s     = any_shape(random, 20000);
        const uint32_t stage = static_cast<uint32_t>(1024 + random(3) * random(32768));
        const size_t   bytes = s.n * s.m * sizeof(T);
        const size_t   total = shpool_layout_elements(s.n, s.m, s.bd) * sizeof(T);
        /* by elements: 1- and 2-byte types also where no 4 bytes can be moved at a time */
        guarded records(bytes, random(4) * sizeof(T));
        guarded blocked(total, random(4) * sizeof(T));
        guarded back(bytes, random(4) * sizeof(T));
        shpool::layout_plan plan;

        fill_records(records.data(), s, sizeof(T));
        auto expected = blocked_of(records.data(), s, sizeof(T));
        assert_int_equal(shpool::layout_plan_of<T>(s.n, s.m, s.bd, stage, &plan), SHPOOL_OK);
        run_job<T>(plan, random, false, records.data(), blocked.data());
        assert_memory_equal(blocked.data(), expected.data(), total);
        assert_true(records.is_intact() && blocked.is_intact());

        for (size_t at = 0; at < total / sizeof(T); at++) { /* the padding must not matter */
            if (shpool_layout_record(at, s.m, s.bd) >= s.n) {
                std::memset(blocked.data() + at * sizeof(T), 0x5c, sizeof(T));
            }
        }
        run_job<T>(plan, random, true, blocked.data(), back.data());
        assert_memory_equal(back.data(), records.data(), bytes);
        assert_true(blocked.is_intact() && back.is_intact());
    }
}

#define PACK_TEST(_type) \
    UNIT_TEST(test_pack_and_unpack_of_##_type) { pack_and_unpack<_type>(); }
PACK_TEST(uint8_t)
PACK_TEST(uint16_t)
PACK_TEST(float)
PACK_TEST(double)
PACK_TEST(element16)

} // namespace
