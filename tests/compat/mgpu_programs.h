/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs of MGPU's page, each main() as a function: tests/compat/test_mgpu.cc runs them with
 * a fake driver, tests/gpu/buffers.cu on a GPU.  Parts that the page omits (ends of programs, the
 * argument of the cast, the three words before each array) are filled in. */
#ifndef SHPOOL_TESTS_MGPU_PROGRAMS_H
#define SHPOOL_TESTS_MGPU_PROGRAMS_H

#include "moderngpu.cuh"

#include <map>

namespace programs {

using namespace mgpu;

/* "You can pass true for printInfo to print device attributes" */
inline int info(int argc, char **argv)
{
    ContextPtr context = CreateCudaDevice(argc, argv, true);
    return 0;
}

inline int arrays(int argc, char **argv)
{
    ContextPtr context = CreateCudaDevice(argc, argv);

    MGPU_MEM(uint) data = context->Malloc<uint>(1000);

    MGPU_MEM(int) a = context->FillAscending<int>(50, 0, 5);
    MGPU_MEM(float) b = context->GenRandom<float>(50, 0.0f, 10.0f);
    MGPU_MEM(double) c = context->SortRandom<double>(50, 0.0, 20.0);

    printf("A:\n");
    PrintArray(*a, "%6d", 10);
    printf("B:\n");
    PrintArray(*b, "%6.2lf", 10);
    printf("C:\n");
    PrintArray(*c, "%6.2lf", 10);
    return 0;
}

/* "Instantiate your allocator and associate it with the device context" */
inline int simple(int argc, char **argv)
{
    ContextPtr context = CreateCudaDevice(argc, argv, true);

    AllocPtr standardAlloc(new CudaAllocSimple(&context->Device()));
    context->SetAllocator(standardAlloc);

    return (context->GetAllocator() == standardAlloc.get()) ? 0 : 1;
}

/* "You can set the capacity of the LRU cache dynamically" */
inline int capacity(int argc, char **argv)
{
    ContextPtr context = CreateCudaDevice(argc, argv, true);

    // Cast CudaAlloc* to CudaAllocBuckets*
    CudaAllocBuckets *buckets = dynamic_cast<CudaAllocBuckets *>(context->GetAllocator());

    // Set the capacity of the LRU cache to 500MB.
    buckets->SetCapacity(500 << 20);

    return (buckets->Capacity() == (size_t)500 << 20) ? 0 : 1;
}

/* "Users can opt-out of the default caching allocator by deriving CudaAlloc": here one that counts
 * over another. */
class CountingAlloc : public CudaAlloc {
public:
    explicit CountingAlloc(CudaDevice *device) : CudaAlloc(device), inner_(device) {}
    virtual ~CountingAlloc() {}

    virtual cudaError_t Malloc(size_t size, void **p)
    {
        cudaError_t error = inner_.Malloc(size, p);
        if (cudaSuccess == error) live[*p] = size;
        return error;
    }
    virtual bool Free(void *p) { return live.erase(p) && inner_.Free(p); }

    std::map<void *, size_t> live;

private:
    CudaAllocSimple inner_;
};

inline int derived(int argc, char **argv)
{
    ContextPtr context = CreateCudaDeviceStream(argc, argv);
    CountingAlloc *counting = new CountingAlloc(&context->Device());
    AllocPtr alloc(counting);
    context->SetAllocator(alloc);

    {
        MGPU_MEM(int) a = context->FillAscending<int>(1000, 7, 1);
        MGPU_MEM(int) b = a;
        if (counting->live.size() != 1 || counting->live[a->get()] != 4000) return 1;
    }
    return counting->live.empty() ? 0 : 2;
}

} // namespace programs

#endif /* SHPOOL_TESTS_MGPU_PROGRAMS_H */
