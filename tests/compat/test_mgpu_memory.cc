/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's device memory and its text under their own names, with a fake driver. */
#include "tests/test.h"

#include <cstring>
#include <thread>

#include "mgpu_capture.h"
#include "mgpu_programs.h"
#include "tests/device/runtime_fake.h"

using namespace mgpu;

namespace {

/* ---- memory: M1 to M10 ---- */

UNIT_TEST(test_copies_are_checked_and_offsets_are_bytes)
{
    ContextPtr       context = CreateCudaDevice(0);
    MGPU_MEM(int)    a       = context->FillAscending<int>(10, 0, 1);
    MGPU_MEM(int)    b       = context->Fill<int>(10, -1);
    std::vector<int> host;
    int              two[2] = {70, 80};

    assert_int_equal(a->Size(), 10);
    assert_int_equal(a->ToHost(8, 4, two), cudaSuccess); /* byte 8: element 2, not 8 (D25) */
    assert_int_equal(two[0], 2);
    two[0] = 70;
    assert_int_equal(b->FromHost(4, 8, two), cudaSuccess);
    assert_int_equal(b->ToHost(host, 3), cudaSuccess); /* count is heeded (D26) */
    assert_int_equal(host.size(), 3);
    assert_int_equal(host[0], -1);
    assert_int_equal(host[1], 70);
    assert_int_equal(host[2], 80);
    assert_int_equal(b->FromDevice(a->get(), 10), cudaSuccess);
    assert_int_equal(b->ToHost(host), cudaSuccess);
    assert_int_equal(host[9], 9);
    assert_int_equal(a->ToDevice(36, 4, b->get()), cudaSuccess);
    assert_int_equal(b->ToHost(two, 1), cudaSuccess);
    assert_int_equal(two[0], 9);
    assert_int_equal(a->ToDevice(b->get(), 10), cudaSuccess);

    /* outside */
    assert_int_equal(a->ToHost(host, 11), cudaErrorInvalidValue);
    assert_int_equal(a->ToHost(two, 11), cudaErrorInvalidValue);
    assert_int_equal(a->FromHost(40, 1, two), cudaErrorInvalidValue);
    assert_int_equal(a->FromHost(std::vector<int>(2), 3), cudaErrorInvalidValue);
    assert_int_equal(a->FromHost(std::vector<int>(11)), cudaErrorInvalidValue);
    assert_int_equal(a->FromDevice(b->get(), 11), cudaErrorInvalidValue);
    const std::size_t wraps = static_cast<std::size_t>(-1) / sizeof(int) + 2; /* to 4 bytes */
    assert_int_equal(a->FromDevice(b->get(), wraps), cudaErrorInvalidValue);
    assert_int_equal(a->ToDevice(b->get(), wraps), cudaErrorInvalidValue);
    assert_int_equal(a->ToHost(std::vector<int>().data(), 0), cudaSuccess);
    assert_int_equal(a->ToHost(host, 0), cudaSuccess);
    assert_int_equal(host.size(), 0);
}

UNIT_TEST(test_plain_pointers_are_copied)
{
    ContextPtr       context = CreateCudaDevice(0);
    MGPU_MEM(short)  a       = context->Malloc(std::vector<short>{5, 6, 7});
    MGPU_MEM(short)  b       = context->Malloc<short>(3);
    std::vector<short> host;
    MGPU_MEM(short)  c       = context->Malloc(std::vector<short>{8, 9}.data(), 2);

    assert_int_equal(c->ToHost(host), cudaSuccess);
    assert_int_equal(host[1], 9);
    assert_int_equal(copyDtoD(b->get(), (const short *)a->get(), 3), cudaSuccess);
    assert_int_equal(copyDtoH(host, (const short *)b->get(), 3), cudaSuccess);
    assert_int_equal(host[2], 7);
    b->FromHost(std::vector<short>(3));
    assert_int_equal(copyDtoD(b->get(), (const short *)a->get(), 3, context->Stream()),
                     cudaSuccess);
    assert_int_equal(copyDtoH(host, (const short *)b->get(), 3), cudaSuccess);
    assert_int_equal(host[2], 7);
    host[0] = 9;
    assert_int_equal(copyHtoD(a->get(), host), cudaSuccess);
    assert_int_equal(copyDtoH(host.data(), (const short *)a->get(), 1), cudaSuccess);
    assert_int_equal(host[0], 9);
}

struct pair {
    float x;
    char  y;
};

template <typename T> void check_random(ContextPtr context, T min, T max)
{
    std::vector<T> host;

    context->GenRandom<T>(300, min, max)->ToHost(host);
    for (T x : host) {
        assert_true((x >= min) && (x <= max));
    }
    context->SortRandom<T>(300, min, max)->ToHost(host);
    for (size_t i = 1; i < host.size(); i++) {
        assert_true(host[i - 1] <= host[i]);
    }
    assert_true(host[0] < host[299]);
}

UNIT_TEST(test_fills_of_every_type)
{
    ContextPtr       context = CreateCudaDevice(0);
    std::vector<int> squares;

    check_random<short>(context, -5, 5); /* short and char, too (D28) */
    check_random<char>(context, 'a', 'z');
    check_random<unsigned char>(context, 1, 255);
    check_random<int>(context, -1000000, 1000000);
    check_random<uint>(context, 0, ~0u);
    check_random<long>(context, -1, 1);
    check_random<int64>(context, -(1ll << 40), 1ll << 40);
    check_random<uint64>(context, 0, ~0ull);
    check_random<float>(context, -1.0f, 1.0f);
    check_random<double>(context, 0, 1e100);

    context->GenFunc<int>(20, [](int i) { return i * i; })->ToHost(squares);
    assert_int_equal(squares[19], 361);

    std::vector<pair> pairs;
    context->Fill<pair>(1000, pair{1.5f, 'x'})->ToHost(pairs);
    assert_true((pairs[999].x == 1.5f) && (pairs[999].y == 'x'));
    std::vector<double> doubles;
    context->FillAscending<double>(5, 0.5, 0.25)->ToHost(doubles);
    assert_true(doubles[4] == 1.5);

    /* exceptions of f are passed on */
    try {
        context->GenFunc<int>(3, [](int) -> int { throw std::runtime_error("f"); });
        fail();
    } catch (const std::runtime_error &e) {
        assert_string_equal(e.what(), "f");
    }
}

UNIT_TEST(test_rand)
{
    for (int i = 0; i < 100; i++) {
        assert_in_range(Rand(3, 5), 3, 5);
        assert_in_range(Rand(3, short(5)) + Rand(char(3), 5), 6, 10);
        assert_true(Rand(0.0, 1.0) < 1.0);
        assert_in_range(Rand<short>(1, 2), 1, 2);
    }
}

UNIT_TEST(test_the_generator_serves_threads_at_the_same_time)
{
    std::vector<std::thread> threads;

    for (int t = 0; t < 4; t++) {
        threads.emplace_back([] {
            for (int i = 0; i < 2000; i++) {
                (void)Rand(0, 9);
            }
        });
    }
    for (std::thread &t : threads) {
        t.join();
    }
}

/* ---- text ---- */

UNIT_TEST(test_arrays_as_text)
{
    const int        marks[] = {1, 2};
    std::vector<int> data    = {5, 6, (int)0x80000007u};
    ContextPtr       context = CreateCudaDevice(0);
    MGPU_MEM(int)    mem     = context->Malloc(data);

    assert_string_equal(FormatArray(data, "%3d", 2).c_str(),
                        "    0:    5   6 \n    2:  -2147483641 \n");
    assert_string_equal(FormatArrayOp(data, FormatOpMaskBit(), 3).c_str(),
                        "    0:   5  6 *7 \n");
    assert_string_equal(FormatArrayOp(data, FormatOpMarkArray("%c%u", marks, 2), 3).c_str(),
                        "    0:   5 *6 *2147483655 \n");
    assert_string_equal(FormatArrayOp(data, FormatOpPrintf("<%x>"), 3).c_str(),
                        "    0:  <5> <6> <80000007> \n");
    {
        capture out;
        PrintArray(*mem, 2, "%2d", 10);
        PrintArrayOp(*mem, 1, [](int i, int x) { return stringprintf("%d=%d", i, x); }, 10);
        PrintArrayOp(data, FormatOpPrintf("%d"), 1);
        PrintArray(data.data(), 1, "%d", 1);
        assert_string_equal(out.text().c_str(), "    0:   5  6 \n    0:  0=5 \n    0:  5 \n"
                                                "    1:  6 \n    2:  -2147483641 \n    0:  5 \n");
    }
    assert_string_equal(FormatInteger(999).c_str(), "   999");
    assert_string_equal(FormatInteger(12000).c_str(), "   12K");
    assert_string_equal(FormatInteger(1500000).c_str(), "  1.5M");
    assert_string_equal(FormatInteger(2000000000).c_str(), "    2B");
    assert_string_equal(TypeIdName<uint64>(), "uint64");
    assert_string_equal(TypeIdName<float>(), "float");
}

/* A format that vsnprintf would misread, and no columns (D29). */
UNIT_TEST(test_bad_formats_are_refused)
{
    ContextPtr    context = CreateCudaDevice(0);
    MGPU_MEM(int) mem     = context->Fill<int>(3, 1);

    for (const char *format : {"%s", "%n", "%f", "%d%d", "none"}) {
        throws(SHPOOL_ERR_INVALID, "", [&] { PrintArray(*mem, format, 10); });
    }
    for (int columns : {0, -1}) {
        throws(SHPOOL_ERR_INVALID, "columns", [&] { PrintArray(*mem, "%d", columns); });
    }
    throws(SHPOOL_ERR_INVALID, "%c", [] { (void)FormatOpMaskBit("%d")(0, 5); });
    for (const char *format : {"%d", "%s%s", "%s %d", "text", "%*s"}) {
        throws(SHPOOL_ERR_INVALID, "%s", [&] { (void)FormatOpPrintf(format)(0, "text"); });
    }
}

} // namespace

/* for all: MGPU's names keep devices and allocators until the process ends */
UNIT_GROUP(fake_runtime_setup, fake_runtime_is_in_order)
