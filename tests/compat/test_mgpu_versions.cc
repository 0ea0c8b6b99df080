/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences between programs for MGPU 1.0 and 1.1, and functions of both apart from contexts and
 * memory, with a fake driver. */
#include "tests/test.h"

#include <cstring>
#include <type_traits>

#include <mgpuenums.h> /* alone, as a program of 1.1 may include it */

static_assert(mgpu::MgpuJoinKindOuter == 3, "what the header says by itself");

#include "mgpu_capture.h"
#include "tests/device/runtime_fake.h"

#include <moderngpu.cuh>

using namespace mgpu;

namespace {

/* An allocator of 1.0: its device is a pointer. */
class AllocOfPointer : public CudaAlloc {
public:
    explicit AllocOfPointer(CudaDevice *device) : CudaAlloc(device), inner_(device), calls(0) {}
    virtual cudaError_t Malloc(std::size_t size, void **p)
    {
        calls += _device->Ordinal() == 0;
        return inner_.Malloc(size, p);
    }
    virtual bool Free(void *p) { return inner_.Free(p); }

private:
    CudaAllocSimple inner_;

public:
    int calls;
};

/* An allocator of 1.1: its device is a reference, and Clear is to be overridden. */
class AllocOfReference : public CudaAlloc {
public:
    explicit AllocOfReference(CudaDevice &device) : CudaAlloc(device), inner_(device), calls(0) {}
    virtual cudaError_t Malloc(std::size_t size, void **p)
    {
        CudaDevice &device = _device;

        calls += (_device.Ordinal() == 0) && (&device == &Device());
        return inner_.Malloc(size, p);
    }
    virtual bool Free(void *p) { return inner_.Free(p); }
    virtual void Clear() {}

private:
    CudaAllocBuckets inner_;

public:
    int calls;
};

template <typename Alloc> void check_own(Alloc *alloc, ContextPtr context)
{
    std::vector<int> host;

    context->SetAllocator(alloc);
    assert_ptr_equal(context->GetAllocator(), alloc);
    context->FillAscending<int>(3, 5, 2)->ToHost(host);
    assert_int_equal(host[2], 9);
    assert_int_equal(alloc->calls, 1);
}

UNIT_TEST(test_own_allocators_of_pointers_and_references)
{
    ContextPtr context = CreateCudaDevice(0);

    check_own(new AllocOfPointer(&context->Device()), context);
    check_own(new AllocOfReference(context->Device()), context);
    AllocPtr simple(new CudaAllocSimple(context->Device()));
    intrusive_ptr<CudaAllocBuckets> buckets(new CudaAllocBuckets(context->Device()));

    buckets->SetCapacity(1 << 20, 1 << 16);
    assert_int_equal(buckets->Capacity(), 1 << 20);
}

UNIT_TEST(test_contexts_of_devices)
{
    CudaDevice &device = CudaDevice::ByOrdinal(1);
    ContextPtr  one(new CudaContext(device, false, false));
    ContextPtr  two(new CudaContext(&device, true));
    ContextPtr  standard(new CudaContext(device, false, true));

    assert_int_equal(one->Device().Ordinal(), 1);
    assert_ptr_equal(one->Stream(), CreateCudaDevice(1)->Stream()); /* the default stream */
    assert_true(two->Stream() != one->Stream());
    assert_null(dynamic_cast<CudaAllocBuckets *>(standard->GetAllocator()));
    assert_non_null(dynamic_cast<CudaAllocBuckets *>(two->GetAllocator()));

    ContextPtr created  = device.CreateStream(true, nullptr);
    ContextPtr attached = device.AttachStream(two->Stream(), created->GetAllocator());

    assert_true(created->Stream() != one->Stream());
    assert_ptr_equal(attached->Stream(), two->Stream());
    assert_ptr_equal(attached->GetAllocator(), created->GetAllocator());
    assert_int_equal(attached->CompilerVersion(), attached->PTXVersion());
    assert_int_equal(device.CompilerVersion(), device.PTXVersion());
}

UNIT_TEST(test_a_context_changes_its_stream)
{
    ContextPtr       context = CreateCudaDevice(0);
    ContextPtr       other   = CreateCudaDeviceStream(0);
    MGPU_MEM(int)    before  = context->Fill<int>(4, 8);
    CudaAlloc       *alloc   = context->GetAllocator();
    std::vector<int> host;

    context->SetStream(other->Stream());
    assert_ptr_equal(context->Stream(), other->Stream());
    assert_ptr_equal(context->GetAllocator(), alloc);
    assert_non_null(static_cast<cudaEvent_t>(context->Event()));
    context->Start();
    assert_true(context->Split() >= 0);
    context->Fill<int>(2, 3)->ToHost(host);
    assert_int_equal(host[1], 3);
    before->ToHost(host);
    assert_int_equal(host[3], 8);
}

/* The base class, as functions take it that want memory only. */
int last_of(CudaMemSupport &memory)
{
    std::vector<int> host;

    memory.FillAscending<int>(10, 0, 1)->ToHost(host);
    return host[9];
}

UNIT_TEST(test_memory_without_the_rest_of_a_context)
{
    assert_int_equal(last_of(*CreateCudaDevice(0)), 9);
}

/* Derived as 1.1 permits: its constructor sets the allocator, by a plain pointer. */
class OnlyMemory : public CudaMemSupport {
public:
    explicit OnlyMemory(CudaAlloc *alloc) { _alloc.reset(alloc); }
    OnlyMemory() {}
};

UNIT_TEST(test_memory_of_a_class_derived_from_the_support)
{
    intrusive_ptr<CudaAllocSimple> simple(new CudaAllocSimple(CudaDevice::ByOrdinal(1)));
    intrusive_ptr<OnlyMemory>      memory(new OnlyMemory(simple));
    OnlyMemory                     later;
    CudaContext                   &standard = CudaContext::StandardContext(1);

    assert_int_equal(memory->Device().Ordinal(), 1);
    assert_int_equal(last_of(*memory), 9);
    assert_int_equal(shpool_context_device(memory->Handle()), 1);
    assert_ptr_equal(shpool_context_stream(memory->Handle()), standard.Stream());
    throws(SHPOOL_ERR_INVALID, "", [&] { later.Malloc<int>(1); }); /* it has no allocator yet */
    assert_int_equal(later.SetAllocator(simple), cudaSuccess);
    assert_int_equal(last_of(later), 9);
    assert_int_equal(later.SetAllocator(CudaContext::StandardContext(0).GetAllocator()),
                     cudaErrorInvalidValue);
    assert_ptr_equal(later.GetAllocator(), simple.get());
}

UNIT_TEST(test_an_allocator_of_another_device_is_refused)
{
    AllocPtr alloc(new CudaAllocSimple(CudaDevice::ByOrdinal(1)));

    throws(SHPOOL_ERR_INVALID, "",
           [&] { CudaDevice::ByOrdinal(0).CreateStream(true, alloc); });
}

UNIT_TEST(test_timers_of_ones_own)
{
    ContextPtr context = CreateCudaDevice(0);
    CudaTimer  timer, other, never;

    timer.Start();
    other.Start();
    assert_true(timer.Split() >= 0);
    assert_true(other.Split() >= 0);
    assert_true(other.Throughput(10, 2) >= 0);
    CudaTimer &borrowed = context->Timer();

    borrowed.Start();
    assert_true(borrowed.Split() >= 0);
}

UNIT_TEST(test_events)
{
    ContextPtr  context = CreateCudaDevice(0), other = CreateCudaDevice(0);
    CudaEvent  &event = context->Event();
    cudaEvent_t was = event, is = other->Event();

    assert_true(was != is);
    event.Swap(other->Event());
    assert_ptr_equal(static_cast<cudaEvent_t>(event), is);
    event.Swap(other->Event());
}

UNIT_TEST(test_exceptions_of_a_programs_own)
{
    try {
        throw CudaException(cudaErrorMemoryAllocation);
    } catch (const std::exception &e) {
        const CudaException &cuda = dynamic_cast<const CudaException &>(e);

        assert_int_equal(cuda.error, cudaErrorMemoryAllocation);
        assert_int_equal(cuda.status, SHPOOL_ERR_NO_MEMORY);
        assert_non_null(std::strstr(e.what(), "2"));
    }
    CudaException plain;

    plain.error = cudaErrorInvalidValue;
    assert_int_equal(plain.error, cudaErrorInvalidValue);
}

class Counted : public CudaBase {
public:
    Counted() : told(0) {}
    virtual long AddRef()
    {
        told++;
        return CudaBase::AddRef();
    }
    int told;
};

static_assert(!std::is_copy_constructible<noncopyable>::value &&
                  !std::is_copy_assignable<noncopyable>::value &&
                  !std::is_default_constructible<noncopyable>::value,
              "a base class only");
static_assert(!std::is_copy_constructible<Counted>::value &&
                  !std::is_copy_constructible<CudaContext>::value &&
                  !std::is_copy_constructible<CudaDeviceMem<int>>::value &&
                  !std::is_copy_constructible<CudaTimer>::value &&
                  !std::is_copy_constructible<CudaEvent>::value &&
                  !std::is_copy_constructible<CudaDevice>::value,
              "nothing counted or owned is copied");
static_assert(!std::is_default_constructible<CudaMemSupport>::value, "protected");
static_assert(!std::is_convertible<int *, intrusive_ptr<int>>::value,
              "explicit: a condition of a pointer and a plain one is plain");

UNIT_TEST(test_a_pointer_or_a_plain_one)
{
    intrusive_ptr<Counted> p(new Counted);
    Counted               *none = nullptr;
    Counted               *one  = p->told != 0 ? p : none;

    assert_ptr_equal(one, p.get());
}

UNIT_TEST(test_an_overridden_add_ref_is_called)
{
    intrusive_ptr<Counted>  p(new Counted);
    intrusive_ptr<CudaBase> base(p.get());

    assert_int_equal(p->told, 2);
    intrusive_ptr_add_ref(p.get());
    assert_int_equal(p->told, 3);
    base->Release();
}

UNIT_TEST(test_references_are_told)
{
    intrusive_ptr<Counted> p(new Counted);

    assert_int_equal(p->AddRef(), 2);
    assert_int_equal(intrusive_ptr_add_ref(p.get()), 3);
    intrusive_ptr_release(p.get());
    p->Release();
    assert_int_equal(p->AddRef(), 2);
    p->Release();
}

UNIT_TEST(test_marks_anywhere_in_the_text)
{
    const int           marks[] = {0, 2};
    const std::vector<int> data = {5, 6, 7};
    ContextPtr          context = CreateCudaDevice(0);
    MGPU_MEM(int)       mem     = context->Malloc(data);

    assert_string_equal(FormatArrayOp(data, FormatOpMarkArray(" %c%2d", marks, 2), 10).c_str(),
                        "    0:   * 5    6  * 7 \n");
    assert_string_equal(FormatArrayOp(*mem, FormatOpMarkArray("%%%c%d", marks, 2), 10).c_str(),
                        "    0:  %*5 % 6 %*7 \n");
    assert_string_equal(FormatArrayOp(*mem, 2, FormatOpPrintf("%d"), 10).c_str(),
                        "    0:  5 6 \n");
    const char     *words[] = {"a", "b"};
    FormatOpPrintf  word    = "%3s%%";
    FormatOpMaskBit bit;
    FormatOpMarkArray last("%c%d", marks, 2);

    assert_string_equal(FormatArrayOp(words, 2, word, 10).c_str(), "    0:    a%   b% \n");
    bit.format    = "%c%x"; /* public, as in MGPU */
    last.marks    = marks + 1;
    last.numMarks = 1;
    assert_string_equal(bit(0, 0x8000000au).c_str(), "*a");
    assert_string_equal(FormatArrayOp(data, last, 10).c_str(), "    0:   5  6 *7 \n");
    for (const char *format : {"%d %c", "%%c%d", "", "100%"}) {
        throws(SHPOOL_ERR_INVALID, "%c",
               [&] { (void)FormatOpMarkArray(format, marks, 2)(0, 5); });
    }
}

UNIT_TEST(test_small_things)
{
    assert_int_equal(MGPU_DIV_UP(7, 3), 3);
    assert_int_equal(MGPU_ROUND_UP(7, 3) + MGPU_ROUND_UP_POW2(5, 4), 17);
    assert_int_equal(std::list<int>(1, 5).front(), 5); /* by MGPU's headers alone */
    assert_int_equal(MGPU_MIN(2, 3) + MGPU_MAX(2, 3), 5);
    assert_int_equal(MGPU_MAX0(-2) + MGPU_ABS(-2), 2);
    assert_int_equal(MGPU_DIV_ROUND(7, 4) + MGPU_SHIFT_DIV_UP(9, 3), 4);
    assert_int_equal(MGPU_ROUND_DOWN_POW2(7, 4), 4);
    assert_true(MGPU_IS_POW_2(8) && !MGPU_IS_POW_2(6));
    assert_int_equal(MgpuBoundsUpper, 1);
    assert_int_equal(MgpuSearchTypeIndexMatch, 3);
    assert_string_equal(TypeIdString(typeid(short)), "short");
    assert_int_equal(MgpuScanTypeInc, 1);
    assert_int_equal(MgpuSetOpSymDiff, 3);
    assert_int_equal(sizeof(byte) + sizeof(int16) + sizeof(ushort) + sizeof(uint), 9);
    assert_int_equal(sizeof(int64) + sizeof(uint64), 16);
}

UNIT_TEST(test_a_device_by_its_pointer)
{
    DevicePtr device(&CudaDevice::ByOrdinal(0));

    assert_int_equal(device->Ordinal(), 0);
    assert_string_equal(device->DeviceString().c_str(),
                        CreateCudaDevice(0)->DeviceString().c_str());
    assert_int_not_equal(device->DeviceString().find("SMs enabled"), std::string::npos);
}

} // namespace

/* for all: MGPU's names keep devices and allocators until the process ends */
UNIT_GROUP(fake_runtime_setup, fake_runtime_is_in_order)
