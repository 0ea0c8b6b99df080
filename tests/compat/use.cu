/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of cuda_memory's time under one of its USE_* defines (tests/compat/compat.sh), by nvcc
 * for a GPU and by a C++ compiler for the executor.  POOL, MALLOC and NAME give the meaning of the
 * define.  Exit code 77: no GPU. */
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

/* A pool with a hole of 608 bytes before one of 208, and the result of a request for 160. */
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

    /* qualified calls do not depend on the define */
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

/* ---- glob_pool: one heap in global memory, for a grid ---- */

#if defined(OWN_MACROS) /* they replace qualified names, too */
#undef pool_init
#undef pmalloc
#undef pfree
#endif

struct glob_arguments {
    arguments   a;       /* bytes: of the heap */
    std::byte  *heap;
    std::size_t share;   /* bytes of payload in a thread's share */
    int         join;    /* no pool_init: the heap is as the launch before left it */
    void       *left;    /* an allocation that each launch passes to the next */
};

SIMT_FN bool holds(const void *p, std::size_t words, uint32_t mark)
{
    for (std::size_t i = 0; i < words; i++) {
        if (static_cast<const uint32_t *>(p)[i] != mark + i) {
            return false;
        }
    }
    return true;
}

/* Random sizes and lifetimes; all lanes of a warp come to the same locks at the same time. */
KERNEL glob_kernel(void *argument)
{
    constexpr uint32_t SLOTS = 4;
    glob_arguments    *g     = static_cast<glob_arguments *>(argument);
    uint32_t           self  = simt_block_rank() * simt_block_threads() + simt_thread_rank();
    uint32_t           dice  = self * 2654435761u + 12345u;
    uint32_t          *slot[SLOTS]  = {};
    std::size_t        words[SLOTS] = {};

    if (!g->join) {
        glob_pool::pool_init(g->heap, g->a.bytes);
    }
    for (uint32_t step = 0; step < 40u; step++) {
        dice               = dice * 1664525u + 1013904223u;
        const uint32_t at  = (dice >> 9) % SLOTS;
        const uint32_t tag = self * 64u + at;

        if (slot[at] != nullptr) {
            expect(&g->a, holds(slot[at], words[at], tag));
            glob_pool::pfree(slot[at]);
            slot[at] = nullptr;
        } else {
            words[at] = (dice >> 16) % 25u;
            slot[at]  = static_cast<uint32_t *>(((dice & 256u) != 0)
                                                    ? glob_pool::pmalloc(words[at] * 4u)
                                                    : glob_pool::pmalloc_best_fit(words[at] * 4u));
            for (uint32_t w = 0; (slot[at] != nullptr) && (w < words[at]); w++) {
                slot[at][w] = tag + w;
            }
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (slot[i] != nullptr) {
            expect(&g->a, holds(slot[i], words[i], self * 64u + i));
            glob_pool::pfree(slot[i]);
        }
    }
    simt_global_add32(&g->a.done, 1);
}

/* One thread allocates all of its share in one piece: nothing else is allocated in it, and free
 * pieces are merged.  The thread does not free it. */
KERNEL glob_rest_kernel(void *argument)
{
    glob_arguments *g = static_cast<glob_arguments *>(argument);

    if (!g->join) {
        glob_pool::pool_init(g->heap, g->a.bytes);
    }
    if ((simt_block_rank() == 0) && (simt_thread_rank() == 0)) {
        if (g->join) {
            glob_pool::pfree(g->left);
        }
        std::size_t all = 0;
        for (std::size_t more = 1u << 25; more > 0; more /= 2u) {
            void *p = glob_pool::pmalloc(all + more);

            all += (p != nullptr) ? more : 0;
            glob_pool::pfree(p);
        }
        expect(&g->a, all == g->share);
        g->left = glob_pool::pmalloc(all);
        expect(&g->a, g->left != nullptr);
        glob_pool::pfree(static_cast<char *>(g->left) + 8);
        glob_pool::pfree(g);
        glob_pool::pfree(g->heap);
        glob_pool::pfree(nullptr);
        expect(&g->a, glob_pool::pmalloc(1) == nullptr);
    }
    simt_global_add32(&g->a.done, 1);
}

static constexpr uint32_t    THREADS = 32;
static constexpr std::size_t BYTES   = 48 * 1024;

using glob_function = void (*)(void *);
static bool glob_launch(glob_function function, uint32_t blocks, uint32_t threads,
                        glob_arguments *g, int join);

/* g and g->heap are there, with HEAP bytes. */
static constexpr std::size_t CELLS = 1000 * THREADS + 4, HEAP = 3 + 13 + 16 * CELLS;

/* Bytes of payload in each of `shares`: of 33 cells of 16 bytes, one is for the map. */
static constexpr std::size_t payload(std::size_t shares)
{
    return (CELLS / shares - (CELLS / shares + 32) / 33) * 16;
}

static bool glob_all(glob_arguments *g, uint32_t blocks)
{
    bool right = true;

    g->heap += 3; /* begins 13 bytes on */
    g->a.bytes = HEAP - 3;
    for (int round = 0; round < 5; round++) { /* each round starts again */
        g->share = payload(THREADS);
        right    = glob_launch(glob_kernel, blocks, THREADS, g, 0) && right;
        right    = glob_launch(glob_rest_kernel, blocks, THREADS, g, 0) && right;
        right    = glob_launch(glob_rest_kernel, blocks, THREADS, g, 1) && right;
        right    = glob_launch(glob_rest_kernel, 1, THREADS, g, 0) && right;

        /* one share, one lock, for all threads of the grid */
        g->share = payload(1);
        g->left  = nullptr;
        right    = glob_launch(glob_kernel, 1, 1, g, 0) && right;
        right    = glob_launch(glob_kernel, 4, 2 * THREADS, g, 1) && right;
        right    = glob_launch(glob_rest_kernel, blocks, THREADS, g, 1) && right;
    }
    return right;
}

/* Check the counts of a launch. */
static bool glob_counted(glob_arguments *g, uint32_t threads)
{
    bool right = (g->a.wrong == 0) && (g->a.done == threads);

    if (!right) {
        std::printf("glob_pool, join %d: %u wrong, %u of %u threads done\n", g->join, g->a.wrong,
                    g->a.done, threads);
    }
    g->a.wrong = 0;
    g->a.done  = 0;
    return right;
}

#if defined(__CUDACC__)

static bool glob_launch(glob_function function, uint32_t blocks, uint32_t threads,
                        glob_arguments *g, int join)
{
    g->join = join;
    function<<<blocks, threads>>>(g);
    (void)cudaDeviceSynchronize();
    return glob_counted(g, blocks * threads);
}

static bool glob_ran()
{
    glob_arguments *g    = nullptr;
    std::byte      *heap = nullptr;
    bool            right;

    if ((cudaMallocManaged(&g, sizeof(*g)) != cudaSuccess) ||
        (cudaMalloc(&heap, HEAP) != cudaSuccess)) {
        return false;
    }
    (void)cudaMemset(heap, 0x5a, HEAP);
    *g      = glob_arguments();
    g->heap = heap;
    right   = glob_all(g, 64);
    (void)cudaFree(heap);
    (void)cudaFree(g);
    std::printf("glob_pool: %s\n", cudaGetErrorString(cudaGetLastError()));
    return right;
}

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

static bool glob_launch(glob_function function, uint32_t blocks, uint32_t threads,
                        glob_arguments *g, int join)
{
    simt_launch launch = {};
    simt_result result;

    g->join              = join;
    launch.grid[0]       = blocks;
    launch.block[0]      = threads;
    launch.switch_period = 5;
    if (simt_run(&launch, function, g, &result) != SHPOOL_OK) {
        std::printf("%s\n", result.text);
        return false;
    }
    return glob_counted(g, blocks * threads);
}

static bool glob_ran()
{
    alignas(16) static std::byte heap[HEAP];
    glob_arguments   g = {};

    std::memset(heap, 0x5a, HEAP);
    g.heap = heap;
    return glob_all(&g, 3);
}

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

    if (!ran(&a) || !glob_ran() || (a.wrong != 0) || (a.done != 2 * THREADS) ||
        (std::strcmp(ALLOCATOR_NAME, NAME) != 0)) {
        std::printf("%s (not %s): %u wrong, %u threads done\n", ALLOCATOR_NAME, NAME, a.wrong,
                    a.done);
        return 1;
    }
    return 0;
}
