// SPDX-License-Identifier: BSD-3-Clause
// shpool-bench memory: CUB's CachingDeviceAllocator as a base, with the bins that CUB's own
// documentation suggests for large blocks: growth 2, from 256 bytes to 256 MiB; no limit.  And a
// kernel that keeps a stream busy.
#include <cub/util_allocator.cuh>

#include "memory.h"

namespace {

shpool_status cub_create(const shpool_device_setup *setup, void **self_p)
{
    (void)setup;
    *self_p = new cub::CachingDeviceAllocator(2, 8, 28,
                                              cub::CachingDeviceAllocator::INVALID_SIZE, true);
    return SHPOOL_OK;
}

void cub_destroy(void *self)
{
    cub::CachingDeviceAllocator *cub = static_cast<cub::CachingDeviceAllocator *>(self);

    (void)cub->FreeAllCached();
    delete cub;
}

shpool_status cub_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    cudaError_t error = static_cast<cub::CachingDeviceAllocator *>(self)->DeviceAllocate(
        ptr_p, bytes, stream);

    return (error == cudaSuccess)
               ? SHPOOL_OK
               : shpool_error(SHPOOL_ERR_NO_MEMORY, "cub: %s", cudaGetErrorString(error));
}

shpool_status cub_free(void *self, void *ptr, shpool_stream stream)
{
    (void)stream; // CUB takes that of the allocation
    cudaError_t error = static_cast<cub::CachingDeviceAllocator *>(self)->DeviceFree(ptr);

    return (error == cudaSuccess)
               ? SHPOOL_OK : shpool_error(SHPOOL_ERR_CUDA, "cub: %s", cudaGetErrorString(error));
}

// One thread that reads the clock; volatile, or nothing would be left of it.
__global__ void spin(long long nanoseconds)
{
    long long start;
    long long now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}

} // namespace

void bench_memory_spin(int device, shpool_stream stream, unsigned microseconds)
{
    (void)cudaSetDevice(device);
    spin<<<1, 1, 0, stream>>>(1000ll * microseconds);
}

void bench_memory_add_cub(void)
{
    static shpool_device_provider provider;

    provider.abi     = SHPOOL_DEVICE_ABI;
    provider.bytes   = sizeof(provider);
    provider.flags   = SHPOOL_DEVICE_THREAD_SAFE;
    provider.name    = "cub";
    provider.summary = "CUB's CachingDeviceAllocator";
    provider.create  = cub_create;
    provider.destroy = cub_destroy;
    provider.malloc  = cub_malloc;
    provider.free    = cub_free;
    (void)shpool_device_register(&provider);
}
