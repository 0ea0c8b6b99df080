/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's contexts and allocators under their own names, with a fake driver; the numbers are
 * those of the features that are kept (doc/COMPAT.md). */
#include "tests/test.h"

#include <cstring>
#include <thread>

#include "mgpu_capture.h"
#include "mgpu_programs.h"
#include "tests/device/page_arrays.h"
#include "tests/device/runtime_fake.h"

using namespace mgpu;

namespace {

std::string printed(int (*program)(int, char **), int argc, const char *ordinal = "0")
{
    char  name[]  = "program";
    char  digit[] = "0";
    char *argv[]  = {name, digit, nullptr};
    int   result;

    digit[0] = ordinal[0];
    capture     out;
    result           = program(argc, argv);
    std::string text = out.text();
    assert_int_equal(result, 0);
    return text;
}

/* ---- the page ---- */

UNIT_TEST(test_the_pages_arrays)
{
    std::string       text = printed(programs::arrays, 1);
    std::vector<char> squeezed(text.begin(), text.end());

    squeezed.push_back('\0');
    page_squeeze(squeezed.data());
    /* the process's generator: B and C are its first hundred draws, so this test comes first */
    assert_string_equal(squeezed.data(), (std::string("A:\n") + page_a + "B:\n" + page_b +
                                          "C:\n" + page_c).c_str());
}

UNIT_TEST(test_the_pages_other_programs)
{
    const std::string info = printed(programs::info, 2, "1");

    /* the fake driver has the page's clocks and widths */
    assert_non_null(std::strstr(info.c_str(), " : 1401.000 Mhz   (Ordinal 1)\n15 SMs enabled. "
                                              "Compute Capability sm_"));
    assert_non_null(std::strstr(info.c_str(), "\nMem Clock: 1848.000 Mhz x 384 bits   "));
    assert_non_null(std::strstr(info.c_str(), "\nECC Disabled\n"));
    assert_string_equal(printed(programs::simple, 1).c_str(),
                        printed(programs::capacity, 1).c_str());
    assert_string_equal(printed(programs::derived, 1).c_str(), "");
}

/* ---- contexts: C1 to C17 ---- */

UNIT_TEST(test_forms_of_creation)
{
    char  name[]   = "program";
    char  one[]    = "1";
    char  bad[]    = "1abc";
    char  empty[]  = "";
    char *argv[]   = {name, one, nullptr};
    char *argv_b[] = {name, bad, nullptr};
    char *argv_e[] = {name, empty, nullptr};

    /* by number it stays the program's affair which device is current, by argv it does not */
    CudaDevice::ByOrdinal(0).SetActive();
    assert_int_equal(CreateCudaDevice(1)->Device().Ordinal(), 1);
    assert_int_equal(CudaDevice::Selected().Ordinal(), 0);
    assert_int_equal(CreateCudaDevice(2, argv)->Device().Ordinal(), 1);
    assert_int_equal(CudaDevice::Selected().Ordinal(), 1);
    assert_int_equal(CreateCudaDevice(1, argv)->Device().Ordinal(), 0);
    assert_int_equal(CudaDevice::Selected().Ordinal(), 0);
    assert_int_equal(CreateCudaDeviceStream(2, argv)->Device().Ordinal(), 1);

    ContextPtr plain = CreateCudaDevice(0);
    ContextPtr own   = CreateCudaDeviceStream(0);
    ContextPtr other = CreateCudaDeviceStream(0);
    assert_true(own->Stream() != plain->Stream());
    assert_true(own->Stream() != other->Stream());
    ContextPtr attached = CreateCudaDeviceAttachStream(0, own->Stream());
    assert_true(attached->Stream() == own->Stream());
    assert_true(CreateCudaDeviceAttachStream(own->Stream())->Stream() == own->Stream());

    /* a number followed by other text, or no number, is refused (D7) */
    for (char **wrong : {argv_b, argv_e}) {
        throws(SHPOOL_ERR_SPEC, "", [&] { CreateCudaDevice(2, wrong); });
    }
    /* errors do not end the process (D4) */
    throws(SHPOOL_ERR_NOT_FOUND, "77", [] { CreateCudaDevice(77); });
}

UNIT_TEST(test_what_a_context_has)
{
    ContextPtr context = CreateCudaDeviceStream(0);

    assert_true(context->AuxStream() != context->Stream());
    assert_true(context->AuxStream() == context->AuxStream());
    assert_non_null(static_cast<cudaEvent_t>(context->Event()));
    context->PageLocked()[1023] = 7; /* 4,096 bytes */
    assert_int_equal(context->NumSMs(), context->Device().NumSMs());
    assert_int_equal(context->ArchVersion() % 10, 0);
    assert_true(context->PTXVersion() >= 750);
    assert_true(&context->Device() == &CudaDevice::ByOrdinal(0));
    assert_true(CudaDevice::DeviceCount() >= 2);
    CudaDevice::ByOrdinal(1).SetActive();
    assert_int_equal(CudaDevice::Selected().Ordinal(), 1);
    CudaDevice::ByOrdinal(0).SetActive();
    assert_int_equal(CudaDevice::Selected().Ordinal(), 0);

    context->Start();
    assert_true(context->Split() >= 0);
    context->Timer().Start();
    assert_true(context->Timer().Throughput(3000000000u, 10) > 0); /* 64-bit counts */
}

UNIT_TEST(test_the_standard_context_is_one_for_a_device)
{
    CudaContext &zero = CudaContext::StandardContext(0);

    assert_true(&zero == &CudaContext::StandardContext(0));
    assert_true(&zero == &CudaContext::StandardContext());
    assert_true(&zero != &CudaContext::StandardContext(1));
    CudaContext::StandardContext(0); /* current again */
    assert_non_null(dynamic_cast<CudaAllocSimple *>(zero.GetAllocator()));
    {
        ContextPtr borrowed(&zero); /* and is not deleted */
    }
    assert_int_equal(zero.Device().Ordinal(), 0);
}

/* ---- allocators: A1 to A14 ---- */

UNIT_TEST(test_contexts_of_a_device_share_their_buckets)
{
    ContextPtr a = CreateCudaDevice(0);
    ContextPtr b = CreateCudaDeviceStream(0);
    ContextPtr c = CreateCudaDevice(1);

    assert_true(a->GetAllocator() == b->GetAllocator());
    assert_true(a->GetAllocator() != c->GetAllocator());
    assert_non_null(dynamic_cast<CudaAllocBuckets *>(a->GetAllocator()));
    assert_int_equal(a->SetAllocator(AllocPtr(c->GetAllocator())), cudaErrorInvalidValue);
    assert_int_equal(a->SetAllocator(AllocPtr()), cudaErrorInvalidValue);
    assert_true(a->GetAllocator() == b->GetAllocator());
}

UNIT_TEST(test_buckets_count_what_is_live_and_idle)
{
    ContextPtr        context = CreateCudaDevice(0);
    CudaAllocBuckets *buckets = new CudaAllocBuckets(&context->Device());
    AllocPtr          alloc(buckets);

    assert_int_equal(context->SetAllocator(alloc), cudaSuccess);
    assert_int_equal(buckets->Capacity(), 128u << 20);
    {
        MGPU_MEM(char) mem = context->Malloc<char>(1000);

        assert_true(mem->get() != nullptr);
        assert_int_equal(buckets->Committed(), 1024);
        assert_true(buckets->SanityCheck());
    }
    assert_int_equal(buckets->Committed(), 0);
    assert_int_equal(buckets->Allocated(), 1024);
    {
        MGPU_MEM(char) none  = context->Malloc<char>(0); /* poisons nothing (D16) */
        MGPU_MEM(char) again = context->Malloc<char>(100);

        assert_null(none->get());
        assert_int_equal(none->Size(), 0);
        assert_non_null(again->get());
    }
    buckets->Clear(); /* clears (D17) */
    assert_int_equal(buckets->Allocated(), 0);
    assert_true(buckets->SanityCheck());
}

UNIT_TEST(test_simple_takes_and_gives_at_once)
{
    CudaAllocSimple alloc(&CudaDevice::ByOrdinal(0));
    void           *p = &alloc;

    assert_int_equal(alloc.Malloc(0, &p), cudaSuccess);
    assert_null(p);
    assert_true(alloc.Free(nullptr));
    assert_int_equal(alloc.Malloc(100, &p), cudaSuccess);
    assert_true(alloc.Free(p));
    assert_false(alloc.Free(p)); /* is not forwarded to the driver (D20) */
    assert_false(alloc.Free(&p)); /* nor is a pointer that it never allocated */
}

UNIT_TEST(test_no_memory_is_an_exception_and_nothing_ends)
{
    ContextPtr context = CreateCudaDevice(0);

    try {
        context->Malloc<double>((size_t)1 << 50);
        fail();
    } catch (const CudaException &e) {
        assert_int_equal(e.error, cudaErrorMemoryAllocation);
    }
    /* sizeof(T) * count wraps (D26) */
    throws(SHPOOL_ERR_TOO_LARGE, "", [&] { context->Malloc<double>(((size_t)1 << 61) + 1); });
    assert_non_null(context->Malloc<int>(10)->get());
}

UNIT_TEST(test_memory_outlives_its_context_and_allocator)
{
    programs::CountingAlloc *counting;
    MGPU_MEM(int) mem;
    std::vector<int> host;

    {
        ContextPtr context = CreateCudaDeviceStream(0);

        counting = new programs::CountingAlloc(&context->Device());
        AllocPtr alloc(counting);
        context->SetAllocator(alloc);
        mem = context->FillAscending<int>(10, 1, 1);
    }
    assert_int_equal(mem->ToHost(host), cudaSuccess);
    assert_int_equal(host[9], 10);
    assert_int_equal(counting->live.size(), 1); /* mem keeps it */
    mem.reset();
}

/* ---- reference counting: C15 ---- */

UNIT_TEST(test_counts_are_safe_between_threads)
{
    ContextPtr               context = CreateCudaDevice(0);
    MGPU_MEM(int)            mem     = context->Fill<int>(3, 1);
    std::vector<std::thread> threads;

    for (int t = 0; t < 4; t++) {
        threads.emplace_back([mem, context] {
            for (int i = 0; i < 5000; i++) {
                MGPU_MEM(int) copy = mem;
                ContextPtr    same = context;
            }
        });
    }
    for (std::thread &t : threads) {
        t.join();
    }
    assert_int_equal(mem->Size(), 3);
}

} // namespace

/* for all: MGPU's names keep devices and allocators until the process ends */
UNIT_GROUP(fake_runtime_setup, fake_runtime_is_in_order)
