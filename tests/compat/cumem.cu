/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses of pmalloc and pfree in programs of cuda_memory other than calls with a size and a pointer
 * (tests/compat/compat.sh), compiled by nvcc for a GPU and by a C++ compiler for the executor.
 * BLUEPRINT: the names are the macros of cumem/blueprint.h.  PRINTS: the pools of the define print
 * themselves. */
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#if defined(BLUEPRINT)
#include <cumem/blueprint.h>
#else
#include "allocator.cuh"
#include "poolAlloc.cuh"
#include "poolAllocBST.cuh"
#endif
#include "typeDefs.cuh"
#include <cumem/cuda/typeDefs.cuh>

#if defined(__CUDACC__)
#define KERNEL static __global__ void
#define DEVICE __device__
#else
#include <shpool/executor.h>
#define KERNEL static void
#define DEVICE
#endif

static_assert(sizeof(BlockHeader) == 8 && sizeof(RBTreeBlockHeader) == 8, "four 16-bit fields");

struct amount { /* arguments that convert */
    std::size_t n;
    DEVICE operator std::size_t() const { return n; }
};
struct handle {
    int *p;
    DEVICE operator int *() const { return p; }
};

struct outcome {
    std::size_t bytes;
    uint32_t    wrong;
    uint32_t    done;
};

/* A function that is handed an allocator. */
DEVICE int *filled(void *(*get)(std::size_t), int value)
{
    int *p = static_cast<int *>(get(4 * sizeof(int)));

    for (int i = 0; (p != nullptr) && (i < 4); i++) {
        p[i] = value + i;
    }
    return p;
}

KERNEL kernel(void *argument)
{
    outcome *o = static_cast<outcome *>(argument);

    pool_init(amount{o->bytes});
    void *(*get)(std::size_t) = pmalloc;
    void (*put)(void *)       = &pfree;
    int   *mine               = filled(pmalloc, static_cast<int>(simt_thread_rank()));
    handle other              = {static_cast<int *>(pmalloc(amount{24}))};
    void  *third              = get(sizeof(BlockHeader));
    void  *best               = pool_type::pmalloc_best_fit(24); /* every kind of pool has it */
    bool   right = (mine != nullptr) && (other.p != nullptr) && (third != nullptr) &&
                   (best != nullptr) && (mine[3] == static_cast<int>(simt_thread_rank()) + 3);

#if defined(BLUEPRINT) /* a macro for the function's own name */
    auto same = &pmalloc;

    put(same(8));
#endif
#if defined(PRINTS)
    if (simt_thread_rank() == 1) {
        pool_type::debug_print_buffer();
        pool_type::debug_print_free_list();
        pool_type::debug_print_full_list();
    }
#endif
    put(mine);
    pfree(other);
    pfree(third);
    pfree(best);
    simt_global_add32(right ? &o->done : &o->wrong, 1);
}

#if defined(BLUEPRINT) && defined(NATIVE) /* a host that shares code with kernels */
static int on_host()
{
    int *p = static_cast<int *>(pmalloc(16));

    pool_init(16);
    *p = 7;
    p  = static_cast<int *>(realloc(p, 32)); /* the C library's own */
    int kept = *p;
    pfree(p);
    return kept;
}
#else
static int on_host() { return 7; }
#endif

static constexpr std::size_t BYTES = 32 * 1024;

#if defined(__CUDACC__)
static int ran(outcome *o)
{
    outcome *there = nullptr;

    if (cudaMallocManaged(&there, sizeof(*there)) != cudaSuccess) {
        return 77;
    }
    *there = *o;
    kernel<<<1, 32, BYTES>>>(there);
    int status = (cudaDeviceSynchronize() == cudaSuccess) ? 0 : 1;

    *o = *there;
    (void)cudaFree(there);
    return status;
}
#else
static int ran(outcome *o)
{
    simt_launch launch = {};
    simt_result result;

    launch.block[0]      = 32;
    launch.dynamic_bytes = BYTES;
    return (simt_run(&launch, kernel, o, &result) == SHPOOL_OK) ? 0 : 1;
}
#endif

int main()
{
    outcome o      = {BYTES, 0, 0};
    int     status = ran(&o);

    if ((status == 0) && ((o.wrong != 0) || (o.done != 32) || (on_host() != 7))) {
        std::printf("%s: %u wrong, %u done\n", ALLOCATOR_NAME, o.wrong, o.done);
        status = 1;
    }
    return status;
}
