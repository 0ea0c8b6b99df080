// SPDX-License-Identifier: BSD-3-Clause
// shpool-bench memory: CUB's CachingDeviceAllocator as a base, with the bins that CUB's own
// documentation suggests for large blocks: growth 2, from 256 bytes to 256 MiB; no limit.  And a
// kernel that keeps a stream busy.
#include <cub/util_allocator.cuh>

#include "memory.h"

namespace {

struct cub_base {
    cub::CachingDeviceAllocator allocator{2, 8, 28, cub::CachingDeviceAllocator::INVALID_SIZE,
                                          true};
    int device{};
    size_t peak{}; // of the bytes that it holds from the runtime; guarded by the allocator's mutex
};

shpool_status cub_create(const shpool_device_setup *setup, void **self_p)
{
    cub_base *self = new cub_base;

    self->device = setup->device;
    *self_p = self;
    return SHPOOL_OK;
}

void cub_destroy(void *self)
{
    cub_base *cub = static_cast<cub_base *>(self);

    (void)cub->allocator.FreeAllCached();
    delete cub;
}

// The bytes that CUB holds, and their peak; CUB has the sums of its blocks.
size_t cub_held(cub_base *cub)
{
    std::lock_guard<std::mutex> guard(cub->allocator.mutex);
    const auto found = cub->allocator.cached_bytes.find(cub->device);
    const size_t held = (found == cub->allocator.cached_bytes.end())
                            ? 0 : found->second.free + found->second.live;

    cub->peak = (held > cub->peak) ? held : cub->peak;
    return held;
}

shpool_status cub_stats(void *self, shpool_device_stats *stats)
{
    cub_base *cub = static_cast<cub_base *>(self);

    stats->driver_bytes = cub_held(cub);
    stats->driver_bytes_peak = cub->peak;
    return SHPOOL_OK;
}

shpool_status cub_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    cub_base *cub = static_cast<cub_base *>(self);
    cudaError_t error = cub->allocator.DeviceAllocate(cub->device, ptr_p, bytes, stream);

    if (error != cudaSuccess) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "cub: %s", cudaGetErrorString(error));
    }
    if (bytes >= (1u << 20)) { // small ones hardly count, and a pair of theirs is timed
        (void)cub_held(cub);
    }
    return SHPOOL_OK;
}

shpool_status cub_free(void *self, void *ptr, shpool_stream stream)
{
    (void)stream; // CUB takes that of the allocation
    cub_base *cub = static_cast<cub_base *>(self);
    cudaError_t error = cub->allocator.DeviceFree(cub->device, ptr);

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
    provider.stats   = cub_stats;
    (void)shpool_device_register(&provider);
}
