/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of cuda_memory's time under one of its USE_* defines (tests/compat.sh), by nvcc for a
 * GPU and by a C++ compiler for the executor.  POOL, MALLOC and NAME say what the define means.
 * Exit code 77: no GPU. */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocator.cuh"
#include <cumem/cuda/poolAlloc.cuh>
#include "poolAllocBST.cuh"

#if defined(OWN_MACROS) /* such programs may bring the block themselves */
#define ALLOCATOR_NAME "Thread Local (Best Fit)"
#define pool_type thread_pool
#define pool_init(size) thread_pool::pool_init(size)
#define pmalloc(size) thread_pool::pmalloc_best_fit(size)
#define pfree(ptr) thread_pool::pfree(ptr)
#endif

#if defined(__CUDACC__)
#define KERNEL static __global__ void
#else
#include <shpool/executor.h>
#define KERNEL static void
#endif

#if !defined(OWN_MACROS)
struct member { /* names of its own */
    int held;
    SHPOOL_COMPAT_HD void *pmalloc(int n) { return held == n ? this : nullptr; }
    SHPOOL_COMPAT_HD void  pfree(void *p) { held += p == this; }
};
#endif

/* A pool with a hole of 608 bytes in front of one of 208, and what a request of 160 then gets. */
template <typename Malloc, typename Free> SIMT_FN void *third(Malloc get, Free put)
{
    void *small = get(200);
    void *wall  = get(16);
    void *large = get(600);
    void *front = get(16);

    while (get(16) != nullptr) {
    }
    put(small);
    put(large);
    return (wall != nullptr && front != nullptr) ? get(160) : nullptr;
}

struct arguments {
    std::size_t bytes;
    uint32_t    wrong;
    uint32_t    done;
};

SIMT_FN void expect(arguments *a, bool right)
{
    if (!right) {
        simt_global_add32(&a->wrong, 1);
    }
}

KERNEL kernel(void *argument)
{
    arguments *a = static_cast<arguments *>(argument);

    pool_init(a->bytes);
    int *data = (int *)pmalloc(4 * sizeof(int));

    if (data == nullptr) {
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        data[i] = static_cast<int>(simt_thread_rank() * 100 + i);
    }
    for (unsigned i = 0; i < 4; i++) {
        expect(a, data[i] == static_cast<int>(simt_thread_rank() * 100 + i));
    }
    expect(a, simt_is_shared(data) == IS_SHARED);
    pfree(data);
    pfree(nullptr);

#if !defined(OWN_MACROS)
    /* the same as the namespace that the define stands for */
    if (IS_SHARED) {
        pool_init(a->bytes);
        void *one = third([](std::size_t n) { return pmalloc(n); }, [](void *p) { pfree(p); });

        POOL::pool_init(a->bytes);
        void *two = third([](std::size_t n) { return MALLOC(n); }, [](void *p) { POOL::pfree(p); });

        expect(a, (one != nullptr) && (one == two));
        pool_type::pool_init(a->bytes);
        expect(a, pool_type::pmalloc(16) != nullptr);
    }

    /* qualified calls mean what they say, whatever the define */
    thread_pool::pool_init(a->bytes);
    void *p = thread_pool::pmalloc(64);

    expect(a, (p != nullptr) && simt_is_shared(p));
    thread_pool::pfree(p);
    expect(a, thread_pool::pmalloc_best_fit(64) == p);
    thread_pool::pool_init(a->bytes);
    p = third([](std::size_t n) { return thread_pool::pmalloc(n); },
              [](void *q) { thread_pool::pfree(q); });
    thread_pool::pool_init(a->bytes);
    expect(a, p != third([](std::size_t n) { return thread_pool::pmalloc_best_fit(n); },
                         [](void *q) { thread_pool::pfree(q); }));
    warp_pool::pool_init(a->bytes, 4);
    p = warp_pool::pmalloc(64);
    expect(a, (p != nullptr) && simt_is_shared(p));
    warp_pool::pfree(p);
    pmalloc_freelist::init_gpu_buffer(a->bytes);
    p = pmalloc_freelist::cmalloc(64);
    expect(a, (p != nullptr) && simt_is_shared(p));
    pmalloc_freelist::cfree(p);
    pmalloc_bst::init_gpu_buffer(a->bytes);
    p = pmalloc_bst::cmalloc(64);
    expect(a, (p != nullptr) && simt_is_shared(p));
    pmalloc_bst::cfree(p);

    member own = {5};

    own.pfree(own.pmalloc(5));
    expect(a, own.held == 6);
#endif
    simt_global_add32(&a->done, 1);
}

static constexpr uint32_t    THREADS = 32;
static constexpr std::size_t BYTES   = 48 * 1024;

#if defined(__CUDACC__)

static bool ran(arguments *a)
{
    arguments  *there  = nullptr;
    cudaError_t status = cudaMalloc(&there, sizeof(*a));

    if ((status == cudaErrorNoDevice) || (status == cudaErrorInsufficientDriver)) {
        std::printf("no GPU\n");
        std::exit(77);
    }
    (void)cudaMemcpy(there, a, sizeof(*a), cudaMemcpyHostToDevice);
    kernel<<<2, THREADS, BYTES>>>(there);
    (void)cudaMemcpy(a, there, sizeof(*a), cudaMemcpyDeviceToHost);
    (void)cudaFree(there);
    status = cudaGetLastError(); /* of any of them */
    std::printf("%s\n", cudaGetErrorString(status));
    return status == cudaSuccess;
}

#else

static bool ran(arguments *a)
{
    simt_launch launch = {};
    simt_result result;

    launch.grid[0]       = 2;
    launch.block[0]      = THREADS;
    launch.dynamic_bytes = BYTES;
    if (simt_run(&launch, kernel, a, &result) != SHPOOL_OK) {
        std::printf("%s\n", result.text);
        return false;
    }
    return true;
}

#endif

int main()
{
    arguments a = {BYTES, 0, 0};

    if (!ran(&a) || (a.wrong != 0) || (a.done != 2 * THREADS) ||
        (std::strcmp(ALLOCATOR_NAME, NAME) != 0)) {
        std::printf("%s (not %s): %u wrong, %u threads done\n", ALLOCATOR_NAME, NAME, a.wrong,
                    a.done);
        return 1;
    }
    return 0;
}
