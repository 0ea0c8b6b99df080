/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shpool/memory_resource.hpp on a GPU: kernels on several streams write to its memory and read it
 * back; tests/device/test_resource.cc has the tests without a GPU.
 *
 * RMM's containers are tested too where its headers are found:
 *   make tests/gpu/resource CPPFLAGS="-I$RMM/include/rapids -I$RMM/include" \
 *       shpool_nvcc_more="-L$RMM/lib64 -lrmm -lrapids_logger"
 */
#include <vector>

#include <shpool/memory_resource.hpp>

#if __has_include(<rmm/device_uvector.hpp>)
#define HAVE_RMM 1
#include <rmm/device_uvector.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#endif

#include "check.h"

#define STREAMS 4u
#define ROUNDS  400u

static __global__ void fill(unsigned *out, unsigned count, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        out[i] = value + i;
    }
}

static __global__ void compare(const unsigned *in, unsigned count, unsigned value,
                               unsigned *wrong)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        if (in[i] != value + i) {
            atomicAdd(wrong, 1u);
        }
    }
}

/* Each round fills two buffers of one stream and frees them before the comparison has run. */
template <class Take, class Give> static unsigned rounds(Take take, Give give)
{
    cudaStream_t stream[STREAMS];
    unsigned    *wrong = nullptr;
    unsigned     found = 0;

    (void)gpu_cuda(cudaMallocManaged(&wrong, sizeof(*wrong)), "cudaMallocManaged");
    *wrong = 0;
    for (cudaStream_t &one : stream) {
        (void)gpu_cuda(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), "stream");
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        const cudaStream_t on    = stream[i % STREAMS];
        const unsigned     count = 1000u + (i * 7919u) % 300000u;
        unsigned *const    a     = static_cast<unsigned *>(take(on, count * 4u));
        unsigned *const    b     = static_cast<unsigned *>(take(on, count * 4u));

        fill<<<32, 256, 0, on>>>(a, count, i);
        fill<<<32, 256, 0, on>>>(b, count, ~i);
        compare<<<32, 256, 0, on>>>(a, count, i, wrong);
        compare<<<32, 256, 0, on>>>(b, count, ~i, wrong);
        give(on, a, count * 4u);
        give(on, b, count * 4u);
    }
    for (cudaStream_t &one : stream) {
        (void)gpu_cuda(cudaStreamSynchronize(one), "rounds");
        (void)cudaStreamDestroy(one);
    }
    found = *wrong;
    (void)cudaFree(wrong);
    return found;
}

static uint64_t live(const shpool::memory_resource &resource)
{
    shpool_device_stats stats = {};

    (void)shpool_device_get_stats(resource.get(), &stats);
    return stats.live_bytes;
}

static void as_a_resource(const char *spec)
{
    shpool::memory_resource resource(spec);
    unsigned                wrong;

    wrong = rounds([&](cudaStream_t on, size_t bytes) { return resource.allocate(on, bytes); },
                   [&](cudaStream_t on, void *ptr, size_t bytes) {
                       resource.deallocate(on, ptr, bytes);
                   });
    (void)gpu_check(wrong == 0, "%s: %u wrong numbers", spec, wrong);
    (void)gpu_check(live(resource) == 0, "%s: memory is live", spec);
}

static void as_an_allocator(const char *spec)
{
    shpool_device_allocator *allocator;
    unsigned                 wrong;

    shpool::check(shpool_device_allocator_open(spec, -1, &allocator));
    wrong = rounds(
        [&](cudaStream_t on, size_t bytes) {
            void *ptr;

            shpool::check(shpool_device_malloc(allocator, bytes, on, &ptr));
            return ptr;
        },
        [&](cudaStream_t on, void *ptr, size_t) {
            shpool::check(shpool_device_free(allocator, ptr, on));
        });
    (void)gpu_check(wrong == 0, "%s: %u wrong numbers", spec, wrong);
    shpool_device_allocator_unref(allocator);
}

#if defined(HAVE_RMM)
static void rmm_s_containers_use_it(void)
{
    shpool::memory_resource resource("stats|bins");
    auto                    before = rmm::mr::set_current_device_resource(resource);
    cudaStream_t            stream;

    (void)gpu_cuda(cudaStreamCreate(&stream), "stream");
    {
        rmm::device_uvector<unsigned> numbers(100000, cuda::stream_ref(stream));
        std::vector<unsigned>         host(150000);

        (void)gpu_check(live(resource) >= 400000, "RMM allocates elsewhere");
        fill<<<32, 256, 0, stream>>>(numbers.data(), 100000u, 3u);
        numbers.resize(150000, cuda::stream_ref(stream)); /* copies, and frees the old one */
        rmm::device_uvector<unsigned> copy(numbers, cuda::stream_ref(stream));

        (void)gpu_cuda(cudaMemcpyAsync(host.data(), copy.data(), 400000, cudaMemcpyDefault, stream),
                       "copy");
        (void)gpu_cuda(cudaStreamSynchronize(stream), "copy");
        (void)gpu_check((host[0] == 3u) && (host[99999] == 100002u), "RMM: wrong numbers");
        try {
            rmm::device_uvector<char> large(size_t(1) << 50, cuda::stream_ref(stream));

            (void)gpu_check(false, "a pebibyte was allocated");
        } catch (const std::bad_alloc &) {
            (void)gpu_check(true, "refused");
        }
    }
    (void)gpu_check(live(resource) == 0, "RMM: memory is live");
    (void)rmm::mr::set_current_device_resource(before);
    (void)cudaStreamDestroy(stream);
}
#endif

int main(void)
{
    gpu_need_device();
    try {
        as_a_resource("bins");
        as_a_resource("bins:memory=driver");
        as_a_resource("async");
        as_a_resource("stats|guard|simple");
        shpool::provide("ours", shpool::memory_resource("bins"));
        as_an_allocator("stats|ours");
#if defined(HAVE_RMM)
        rmm_s_containers_use_it();
        shpool::provide("rmm_async", rmm::mr::cuda_async_memory_resource());
        as_an_allocator("stats|rmm_async");
        shpool::provide("rmm_pool", rmm::mr::pool_memory_resource(
                                        shpool::memory_resource("bins"), size_t(64) << 20));
        as_an_allocator("rmm_pool");
#endif
    } catch (const std::exception &failure) {
        (void)gpu_check(false, "%s", failure.what());
    }
    return gpu_summary();
}
