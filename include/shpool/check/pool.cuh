/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/shpool.cuh for programs that shpool-check builds: kernels call the executor's functions of
 * each allocator through the function table, and each allocation has exact bounds.
 *
 * Not here: shpool_launch_kernel(), whose parameters have no types, clusters, and linking. */
#ifndef SHPOOL_CHECK_POOL_CUH
#define SHPOOL_CHECK_POOL_CUH

#include "cuda_runtime.h"

#if defined(SHPOOL_INLINE) || defined(SHPOOL_LINKED)
#error "shpool-check: the kernels use the function table: leave out SHPOOL_INLINE and SHPOOL_LINKED"
#endif

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#pragma clang attribute push(__attribute__((no_sanitize("thread", "array-bounds"))), \
                             apply_to = function)

#include <shpool/impl/bind.h>

/* The library's own stores to allocations are not instrumented. */
#define SHPOOL_DID_WRITE(_to, _bytes) shpool_check_wrote(_to, _bytes)

/* The table's functions, which also tell the checker. */
namespace shpool_checker {
struct allocate {
    shpool_malloc_fn function;

    simt_addr operator()(shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t site) const
    {
        const simt_addr addr = function(view, bytes, alignment, site);

        if (addr != 0) {
            shpool_check_pool_malloc(simt_from_shared(addr), (bytes != 0) ? bytes : 1u,
                                     SHPOOL_CHECK_PC);
        }
        return addr;
    }
};
struct allocate_group {
    shpool_malloc_group_fn function;

    simt_addr operator()(shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t site,
                         uint32_t lanes) const
    {
        const simt_addr addr = function(view, bytes, alignment, site, lanes);

        if (addr != 0) { /* each lane, because any may be the first to use it; none after a free */
            shpool_check_pool_malloc(simt_from_shared(addr), (bytes != 0) ? bytes : 1u,
                                     SHPOOL_CHECK_PC);
        }
        simt_warp_sync(lanes);
        return addr;
    }
};
struct release {
    shpool_free_fn function;

    uint32_t operator()(shpool_view view, simt_addr addr, uint32_t site) const
    {
        shpool_check_pool_free(simt_from_shared(addr), SHPOOL_CHECK_PC);
        return function(view, addr, site);
    }
};
struct release_group {
    shpool_free_group_fn function;

    uint32_t operator()(shpool_view view, simt_addr addr, uint32_t site, uint32_t lanes) const
    {
        simt_warp_sync(lanes); /* the group frees once, after the last use by any lane, */
        if (simt_lane() == (uint32_t)__builtin_ctz(lanes)) {
            shpool_check_pool_free(simt_from_shared(addr), SHPOOL_CHECK_PC);
        }
        simt_warp_sync(lanes); /* and before others may get the memory */
        return function(view, addr, site, lanes);
    }
};
struct resize {
    shpool_resize_fn function;

    uint32_t operator()(shpool_view view, simt_addr addr, uint32_t bytes) const
    {
        const uint32_t done = function(view, addr, bytes);

        if (done != 0) {
            shpool_check_pool_resize(simt_from_shared(addr), bytes);
        }
        return done;
    }
};
struct spill {
    decltype(shpool_table::spill) function;

    void *operator()(shpool_view view, unsigned long long bytes, uint32_t alignment) const
    {
        shpool_check_pool_spills();
        return function(view, bytes, alignment);
    }
};
struct rewind { /* frees by address: what it frees is not known here */
    shpool_rewind_fn function;

    uint32_t operator()(shpool_view view, uint32_t to) const
    {
        shpool_check_pool_forget(simt_from_shared(view.base), view.bytes);
        return function(view, to);
    }
};
}
#undef SHPOOL_DO_allocate
#undef SHPOOL_DO_allocate_group
#undef SHPOOL_DO_release
#undef SHPOOL_DO_release_group
#undef SHPOOL_DO_resize
#undef SHPOOL_DO_rewind
#undef SHPOOL_DO_spill
#define SHPOOL_DO_allocate(_heap)       shpool_checker::allocate{(_heap).allocate}
#define SHPOOL_DO_allocate_group(_heap) shpool_checker::allocate_group{(_heap).allocate_group}
#define SHPOOL_DO_release(_heap)        shpool_checker::release{(_heap).release}
#define SHPOOL_DO_release_group(_heap)  shpool_checker::release_group{(_heap).release_group}
#define SHPOOL_DO_resize(_heap)         shpool_checker::resize{(_heap).table->resize}
#define SHPOOL_DO_rewind(_heap)         shpool_checker::rewind{shpool_table_rewind((_heap).table)}
#define SHPOOL_DO_spill(_heap)          shpool_checker::spill{(_heap).table->spill}

#include <shpool/after.h>
#include <shpool/group.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>
#include <shpool/trace.h>
#include <shpool/wait.h>

/* All bytes of a pool are its own, until it allocates them. */
SIMT_FN shpool_heap shpool_check_init(const shpool_pool *pool, void *base)
{
    if (simt_thread_rank() == 0) {
        shpool_check_pool(base, pool->shared_bytes);
    }
    return shpool_init(pool, base);
}
#define shpool_init shpool_check_init

/* ---- the host's calls: shpool/shpool.cuh and launch.cuh describe them ---- */

static inline shpool_status shpool_open(const char *spec, const shpool_config *want,
                                        shpool_pool *pool_p)
{
    return shpool_simt_open(spec, want, pool_p);
}
static inline shpool_status shpool_report(const shpool_pool *pool, shpool_report_data *report_p)
{
    return shpool_simt_report(pool, report_p);
}
static inline shpool_status shpool_stats(const shpool_pool *pool, shpool_stats_data *stats_p)
{
    shpool_report_data  report;
    const shpool_status status = shpool_simt_report(pool, &report);

    return (status == SHPOOL_OK) ? shpool_stats_read(pool, &report, stats_p) : status;
}
static inline shpool_status shpool_close(shpool_pool *pool) { return shpool_simt_close(pool); }
template <typename Kernel>
static inline shpool_status shpool_allow_shared(Kernel *kernel, size_t bytes)
{
    return (shpool_check_allow((const void *)kernel, bytes) == 0)
               ? SHPOOL_OK
               : shpool_error(SHPOOL_ERR_TOO_LARGE, "%zu bytes of dynamic shared memory were "
                              "requested; a block has at most 227 KiB", bytes);
}
static inline shpool_status shpool_occupancy(const void *kernel, const shpool_pool *pool,
                                             unsigned threads, size_t bytes, int *blocks_p)
{
    (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks_p, kernel, (int)threads,
                                                        bytes + pool->shared_bytes);
    return SHPOOL_OK;
}
template <typename Type> struct shpool_parameter {
    typedef Type type;
};
template <typename... Parameters>
static inline shpool_status shpool_check_launch_of(const char *name, const char *file, int line,
                                                   void (*kernel)(shpool_pool, Parameters...),
                                                   dim3 grid, dim3 block, cudaStream_t stream,
                                                   const shpool_pool *pool,
                                                   typename shpool_parameter<Parameters>::type... v)
{
    const shpool_status status = shpool_allow_shared(kernel, pool->shared_bytes);

    if (status != SHPOOL_OK) {
        return status;
    }
    (void)shpool_checker::launch(name, grid, block, pool->shared_bytes, stream, file, line)
        .with(kernel, kernel)(*pool, v...);
    return (cudaPeekAtLastError() == cudaSuccess)
               ? SHPOOL_OK : shpool_error(SHPOOL_ERR_CUDA, "the kernel failed: %s",
                                          cudaGetErrorString(cudaGetLastError()));
}
#define shpool_launch(_kernel, ...) \
    shpool_check_launch_of(#_kernel, __FILE__, __LINE__, _kernel, __VA_ARGS__)

#pragma clang attribute pop
#pragma pop_macro("__CUDACC__")

#endif /* SHPOOL_CHECK_POOL_CUH */
