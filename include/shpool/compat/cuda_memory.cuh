/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/cuda_memory.cuh
 * The calls of the cuda_memory project over libshpool's allocators, so that kernels written for it
 * compile unchanged.  C++17; include allocator.cuh, poolAlloc.cuh or poolAllocBST.cuh, which are
 * equivalent, with `pkg-config --variable=compat_cflags shpool`.  No library is linked.
 *
 *   namespace                       allocator                           pool of
 *   thread_pool                     thread_first_fit, thread_best_fit   one thread
 *   warp_pool                       warp_first_fit, warp_best_fit       threads_per_pool threads
 *   list_pool, pmalloc_freelist     freelist                            one thread
 *   bst_pool, pmalloc_bst           rbtree                              one thread
 *   native_pool                     CUDA's in-kernel malloc             (no pool)
 *   glob_pool                       a bitmap, impl/global_heap.h        one thread
 *
 * Each has pool_init, pmalloc and pfree, and pmalloc_best_fit, which may be mixed with pmalloc (and
 * is the same in list_pool, bst_pool and native_pool).  In pmalloc_freelist and pmalloc_bst the
 * names are init_gpu_buffer, cmalloc and cfree.
 * Under nvcc these are real calls, as in cuda_memory, which keeps kernels with many of them small
 * and quick to compile; -DSHPOOL_COMPAT_INLINE inlines each of them.
 * One of the defines USE_THREAD_LOCAL_BEST_FIT, USE_WARP_LOCAL_BEST_FIT, USE_THREAD_LOCAL,
 * USE_WARP_LOCAL, USE_FREELIST_ALLOCATOR, USE_BST_ALLOCATOR selects the meaning of the same names
 * without a namespace, of pool_type and of ALLOCATOR_NAME.  Without one they are native; in host
 * code they are malloc and free. cumem/blueprint.h defines them as macros, as in cuda_memory.  With
 * ALLOCATOR_DEBUG each free is looked up first, and a foreign, interior or double one has no
 * effect.
 *
 * glob_pool is in the caller's global memory and is described at its declaration below; the rest of
 * this comment is about the others.
 *
 * The pools are in the first `total_bytes` of the launch's dynamic shared memory, 32 of which are
 * for the calls' own data.  Only one kind exists at a time: a pool_init ends the previous pools,
 * and calls of another namespace then fail (NULL).
 *
 * Differences from cuda_memory: blocks may have any shape of up to 1,024 threads, and the memory is
 * divided among the existing threads; allocations are aligned to 16 bytes; pools have up to 512
 * KiB; first fit takes the first block, not the largest; the argument of init_gpu_buffer is the
 * bytes of all threads together, as in its code (its text says: of one). */
#ifndef SHPOOL_COMPAT_CUDA_MEMORY_CUH
#define SHPOOL_COMPAT_CUDA_MEMORY_CUH

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#if defined(__CUDACC__) || __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h> /* as in cuda_memory: kernels use threadIdx, hosts the runtime */
#endif

#include <shpool/impl/global_heap.h>
#include <shpool/module.h>

#if __has_include(<shpool/allocators/freelist/freelist.h>)
#include <shpool/allocators/freelist/freelist.h>
#endif
#if __has_include(<shpool/allocators/rbtree/rbtree.h>)
#include <shpool/allocators/rbtree/rbtree.h>
#endif
#include <shpool/impl/compat_alone.h>

/* A program's macros of these names, such as configure.h's, must not affect the following code. */
#pragma push_macro("pool_init")
#pragma push_macro("pmalloc")
#pragma push_macro("pfree")
#undef pool_init
#undef pmalloc
#undef pfree

/* Attribute of the functions that do the work.  Inlined, kernels with many calls of five allocators
 * took four times as long to compile. */
#if defined(__CUDACC__) && !defined(SHPOOL_COMPAT_INLINE)
#define SHPOOL_COMPAT_CALL static __device__ __noinline__
#else
#define SHPOOL_COMPAT_CALL SIMT_FN
#endif

namespace shpool_compat {

/* Data that pool_init stores at the start of the dynamic shared memory for the other calls, read by
 * one access: kind | bytes of a pool, a multiple of 16, and `sharing` | magic
 * (shpool_pool.pool_magic) | word[0] and, in the upper half, word[1] of the views. */
constexpr uint32_t ROOT_BYTES = 32;

/* Patterns that uninitialised memory is unlikely to contain; 0 means no pool. */
enum kind : uint32_t {
    KIND_THREAD = 0x9d3c7a51u, KIND_WARP = 0x9d3c7a52u, KIND_LIST = 0x9d3c7a53u,
    KIND_TREE = 0x9d3c7a54u
};

/* How a pool is shared: by 1 << sharing threads of one warp (0: by none), or in another way. */
constexpr uint32_t SHARED_BY_ANY = 15;

/* The calling thread's pool of that kind; empty if there is none. */
SIMT_FN shpool_view view_of(uint32_t kind, uint32_t *sharing_p = nullptr)
{
    shpool_view view = {0, 0, 0, 0, {0, 0}, 0};
    simt_addr   root = simt_dynamic_base();
    uint32_t    rank = simt_pin(simt_thread_rank()); /* now: it takes as long as the load */

    if (simt_dynamic_bytes() >= ROOT_BYTES) {
        simt_u128 pools = simt_load128(root);

        if (pools.x == kind) {
            uint32_t own = ((kind == KIND_WARP) && (pools.z != 0)) ? simt_mulhi(rank, pools.z)
                                                                   : rank;

            view.bytes   = pools.y & ~15u;
            view.base    = root + ROOT_BYTES + own * view.bytes;
            view.rank    = rank;
            view.flags   = (4u << SHPOOL_FLAG_ALIGN_SHIFT) |
                           (((pools.y & 15u) != 0) ? (uint32_t)SHPOOL_FLAG_SHARED : 0u);
            view.word[0] = pools.w & 0xffffu;
            view.word[1] = pools.w >> 16;
            if (sharing_p != nullptr) {
                *sharing_p = pools.y & 15u;
            }
        }
    }
    return view;
}

/* Called by one thread: `bytes` of the dynamic shared memory have pools of `each` bytes, or none
 * (0). */
SIMT_FN void set_root(uint32_t kind, uint32_t bytes, uint32_t each, uint32_t share,
                      shpool_layout layout)
{
    simt_addr root  = simt_dynamic_base();
    uint32_t  how   = ((share - 1u < SIMT_WARP) && (SIMT_WARP % share == 0)) ? simt_ffs(share) - 1u
                                                                         : SHARED_BY_ANY;
    simt_u128 pools = {kind, each | how, (share > 1u) ? 0xffffffffu / share + 1u : 0u,
                       layout.word[0] | (layout.word[1] << 16)};

    if (each != 0) {
        simt_store128(root, pools);
    } else if (bytes >= 4u) {
        simt_store32(root, 0); /* ends the pools that were here */
    }
}

/* Called by all threads of the block.  Pools for `share` threads each, at least 1; one pool for all
 * threads if `share` is larger than the block. */
template <shpool_layout_fn Layout, shpool_init_fn Init>
SHPOOL_COMPAT_CALL void open(uint32_t kind, std::size_t total_bytes, int share)
{
    shpool_layout layout  = {0, 0, {0, 0}};
    uint32_t      dynamic = simt_dynamic_bytes();
    uint32_t      bytes   = (total_bytes < dynamic) ? static_cast<uint32_t>(total_bytes) : dynamic;
    uint32_t      threads = simt_block_threads();
    uint32_t      each    = 0;
    uint32_t      group   = (static_cast<uint32_t>(share) < threads) ? static_cast<uint32_t>(share)
                                                                     : threads;

    /* more than the launch has is an error of the caller: no pool, not a smaller one */
    if ((share > 0) && (total_bytes <= dynamic) && (bytes > ROOT_BYTES)) {
        each   = ((bytes - ROOT_BYTES) / ((threads + group - 1u) / group)) & ~15u;
        layout = Layout(each, SHPOOL_MIN_ALIGNMENT);
    }
    simt_barrier(); /* threads may still use the pools that were here */
    if (simt_thread_rank() == 0) {
        set_root(kind, bytes, (layout.bytes != 0) ? each : 0u, group, layout);
    }
    simt_barrier();
    if (layout.bytes != 0) {
        shpool_view view  = view_of(kind);
        uint32_t    first = (view.base - simt_dynamic_base() - ROOT_BYTES) / each * group;

        Init(view, view.rank - first, (threads - first < group) ? threads - first : group);
    }
    simt_barrier();
}

/* Calls to pools that several threads share: functions of their own, and the allocator's calls once
 * more, so that a thread with its own pool runs no function that has a loop with a vote, and lanes
 * that take turns none that has a loop with an atomic access.  See take_turns(). */
template <shpool_malloc_fn Malloc>
SHPOOL_COMPAT_CALL simt_addr allocate_locked(shpool_view view, uint32_t want)
{
    return Malloc(view, want, SHPOOL_MIN_ALIGNMENT, 0);
}
template <shpool_malloc_fn Malloc, shpool_malloc_fn Alone>
SHPOOL_COMPAT_CALL simt_addr allocate_shared(shpool_view view, uint32_t sharing, uint32_t want)
{
    simt_addr addr = 0;

    return take_turns(view, sharing,
                      [&] { addr = Alone(view, want, SHPOOL_MIN_ALIGNMENT, 0); })
               ? addr
               : allocate_locked<Malloc>(view, want);
}
template <shpool_free_fn Free>
SHPOOL_COMPAT_CALL void release_locked(shpool_view view, simt_addr addr)
{
    (void)Free(view, addr, 0);
}
template <shpool_free_fn Free, shpool_free_fn Alone>
SHPOOL_COMPAT_CALL void release_shared(shpool_view view, uint32_t sharing, simt_addr addr)
{
    if (!take_turns(view, sharing, [&] { (void)Alone(view, addr, 0); })) {
        release_locked<Free>(view, addr);
    }
}

/* At least size bytes, aligned to 16; NULL if they do not fit.  Alone: for a thread's own pool, and
 * for one of a warp, with a lock that the caller has acquired. */
template <shpool_malloc_fn Malloc, shpool_malloc_fn Alone = Malloc>
SHPOOL_COMPAT_CALL void *allocate(uint32_t kind, std::size_t size)
{
    uint32_t    window  = simt_window();
    uint32_t    bytes   = (size < SHPOOL_MAX_REQUEST) ? static_cast<uint32_t>(size)
                                                      : static_cast<uint32_t>(SHPOOL_MAX_REQUEST);
    uint32_t    want    = simt_pin((bytes != 0) ? bytes : 1u); /* now, while the view is loaded */
    uint32_t    sharing = 0;
    shpool_view view    = view_of(kind, &sharing);
    simt_addr   addr    = 0;

    if (view.bytes != 0) {
        if constexpr (Malloc == Alone) {
            addr = Alone(view, want, SHPOOL_MIN_ALIGNMENT, 0);
        } else {
            addr = (sharing == 0) ? Alone(view, want, SHPOOL_MIN_ALIGNMENT, 0)
                                  : allocate_shared<Malloc, Alone>(view, sharing, want);
        }
    }
    return (addr != 0) ? simt_from_window(window, addr) : nullptr;
}

/* Free or Discard: the latter looks the allocation up first. */
template <shpool_free_fn Free, shpool_free_fn Alone = Free>
SHPOOL_COMPAT_CALL void release(uint32_t kind, void *ptr)
{
    uint32_t    sharing   = 0;
    shpool_view view      = view_of(kind, &sharing);
    bool        is_shared = simt_is_shared(ptr); /* while the view is loaded */

    if (is_shared & (ptr != nullptr) & (view.bytes != 0)) {
        if constexpr (Free == Alone) {
            (void)Alone(view, simt_to_shared(ptr), 0);
        } else if (sharing == 0) {
            (void)Alone(view, simt_to_shared(ptr), 0);
        } else {
            release_shared<Free, Alone>(view, sharing, simt_to_shared(ptr));
        }
    }
}

#if defined(__CUDACC__)
#define SHPOOL_COMPAT_HD __host__ __device__
#else
#define SHPOOL_COMPAT_HD
#endif

/* T, in a context that prevents its deduction. */
template <typename T> struct plain {
    using type = T;
};

} // namespace shpool_compat

#if defined(ALLOCATOR_DEBUG)
#define SHPOOL_COMPAT_FREE(_name) shpool_##_name##_discard
#else
#define SHPOOL_COMPAT_FREE(_name) shpool_##_name##_free
#endif

/* ---- the namespaces; a library that was configured without an allocator lacks its own ---- */

#if __has_include(<shpool/allocators/thread_first_fit/thread_first_fit.h>) && \
    __has_include(<shpool/allocators/thread_best_fit/thread_best_fit.h>)
#include <shpool/allocators/thread_best_fit/thread_best_fit.h>
#include <shpool/allocators/thread_first_fit/thread_first_fit.h>
/** One pool per thread: only the owner frees. */
namespace thread_pool {
/** All threads of the block, converged; divides total_bytes among them.  If total_bytes is
 *  unsuitable (more than the launch's dynamic shared memory, or too small for the threads), every
 *  pmalloc is NULL. */
SIMT_FN void pool_init(std::size_t total_bytes)
{
    shpool_compat::open<shpool_thread_first_fit_layout, shpool_thread_first_fit_init>(
        shpool_compat::KIND_THREAD, total_bytes, 1);
}
/** At least size bytes, aligned to 16, from the first free block that is large enough; or NULL. */
SIMT_FN void *pmalloc(std::size_t size)
{
    return shpool_compat::allocate<shpool_compat::tags_malloc<false>>(shpool_compat::KIND_THREAD,
                                                                      size);
}
/** The same from the smallest free block that is large enough. */
SIMT_FN void *pmalloc_best_fit(std::size_t size)
{
    return shpool_compat::allocate<shpool_compat::tags_malloc<true>>(shpool_compat::KIND_THREAD,
                                                                     size);
}
/** Free memory from pmalloc or pmalloc_best_fit; NULL has no effect. */
SIMT_FN void pfree(void *p)
{
    shpool_compat::release<SHPOOL_COMPAT_FREE(thread_first_fit)>(shpool_compat::KIND_THREAD, p);
}
} // namespace thread_pool
#define SHPOOL_COMPAT_THREAD 1
#endif

#if __has_include(<shpool/allocators/warp_first_fit/warp_first_fit.h>) && \
    __has_include(<shpool/allocators/warp_best_fit/warp_best_fit.h>)
#include <shpool/allocators/warp_best_fit/warp_best_fit.h>
#include <shpool/allocators/warp_first_fit/warp_first_fit.h>
/** One pool for threads_per_pool neighbouring threads, any of which may free. */
namespace warp_pool {
/** As thread_pool::pool_init; threads_per_pool below 1: no pool, above the block's threads: one. */
SIMT_FN void pool_init(std::size_t total_bytes, int threads_per_pool = 1)
{
    shpool_compat::open<shpool_warp_first_fit_layout, shpool_warp_first_fit_init>(
        shpool_compat::KIND_WARP, total_bytes, threads_per_pool);
}
SIMT_FN void *pmalloc(std::size_t size)
{
    return shpool_compat::allocate<shpool_warp_first_fit_malloc, shpool_compat::tags_malloc<false>>(
        shpool_compat::KIND_WARP, size);
}
SIMT_FN void *pmalloc_best_fit(std::size_t size)
{
    return shpool_compat::allocate<shpool_warp_best_fit_malloc, shpool_compat::tags_malloc<true>>(
        shpool_compat::KIND_WARP, size);
}
SIMT_FN void pfree(void *p)
{
    shpool_compat::release<SHPOOL_COMPAT_FREE(warp_first_fit), shpool_compat::tags_free>(
        shpool_compat::KIND_WARP, p);
}
} // namespace warp_pool
#define SHPOOL_COMPAT_WARP 1
#endif

#include <shpool/impl/compat_print.h>

/* A namespace of plain names, and its older counterpart. */
#define SHPOOL_COMPAT_PLAIN(_pool, _older, _name, _kind) \
    namespace _pool { \
    SIMT_FN void pool_init(std::size_t total_bytes) \
    { \
        shpool_compat::open<shpool_##_name##_layout, shpool_##_name##_init>( \
            shpool_compat::_kind, total_bytes, 1); \
    } \
    SIMT_FN void *pmalloc(std::size_t size) \
    { \
        return shpool_compat::allocate<shpool_compat::_name##_malloc>(shpool_compat::_kind, size); \
    } \
    SIMT_FN void *pmalloc_best_fit(std::size_t size) { return pmalloc(size); } \
    SIMT_FN void pfree(void *p) \
    { \
        shpool_compat::release<shpool_compat::_name##_free>(shpool_compat::_kind, p); \
    } \
    SHPOOL_COMPAT_PRINT(_name, _kind) \
    } \
    namespace _older { \
    using _pool::debug_print_buffer; \
    using _pool::debug_print_free_list; \
    using _pool::debug_print_full_list; \
    SIMT_FN void  init_gpu_buffer(std::size_t total_bytes) { _pool::pool_init(total_bytes); } \
    SIMT_FN void *cmalloc(std::size_t size) { return _pool::pmalloc(size); } \
    SIMT_FN void  cfree(void *p) { _pool::pfree(p); } \
    }

#if __has_include(<shpool/allocators/freelist/freelist.h>)
SHPOOL_COMPAT_PLAIN(list_pool, pmalloc_freelist, freelist, KIND_LIST)
#define SHPOOL_COMPAT_LIST 1
#endif

#if __has_include(<shpool/allocators/rbtree/rbtree.h>)
SHPOOL_COMPAT_PLAIN(bst_pool, pmalloc_bst, rbtree, KIND_TREE)
#define SHPOOL_COMPAT_TREE 1
#endif

/* For kernels and hosts; forced inline, because a host has no pools to link with. */
#if defined(__CUDACC__)
#define SHPOOL_COMPAT_BOTH static __host__ __device__ __forceinline__
#else
#define SHPOOL_COMPAT_BOTH SIMT_FN
#endif

/** CUDA's in-kernel malloc: global memory, from the heap whose size cudaLimitMallocHeapSize sets.
 *  In host code the host's malloc. */
namespace native_pool {
/** Has no effect; accepts the arguments of every other pool_init. */
template <typename... Arguments> SHPOOL_COMPAT_BOTH void pool_init(Arguments...) {}
SHPOOL_COMPAT_BOTH void *pmalloc(std::size_t size) { return malloc(size); }
SHPOOL_COMPAT_BOTH void *pmalloc_best_fit(std::size_t size) { return malloc(size); }
SHPOOL_COMPAT_BOTH void  pfree(void *p) { free(p); }
} // namespace native_pool

/**
 * Pools in global memory that the caller provides, for blocks of any shape and grids of any size.
 *
 * The heap is divided into as many shares as the blocks of the launch have threads: thread i of
 * every block allocates from share i, and only from it.  So in a grid of one block each thread has
 * its own share; threads of several blocks, or of a later launch with more threads (modulo), use
 * the same share.  Any thread may allocate, and may free any thread's allocation, in any block and
 * also in a later kernel.  The caller must order accesses to the payload, as for any memory passed
 * between threads.
 *
 * Who shares: a launch of one block that has called pool_init has the heap to itself; each of its
 * threads uses its own share without a lock, and leaves frees of others' allocations to their
 * owners.  In all other launches each share has a lock that is visible to the whole device.
 *
 * A heap may have any size (of one above 64 GiB the rest is not used), an allocation that of its
 * share.  Overhead: 16 bytes for 512 of a share; allocations are rounded up to 16.
 *
 * One heap at a time: a single variable of the program (of the file, without -rdc=true) has its
 * address, as in cuda_memory.  Kernels that use glob_pool at the same time use the same heap.
 */
namespace glob_pool {
/**
 * All threads of the block, converged; has barriers.  Any base and size are valid; if no share
 * could hold an allocation, nothing is written, and every pmalloc is NULL.
 *
 * In a grid of one block, each call starts the heap afresh.  In a larger grid, the first block that
 * calls divides the heap for this launch, and the others wait for that and join; later calls join,
 * too.  All blocks pass the same heap and have the same shape.  A block that does not call may
 * allocate once it knows, for example by grid.sync(), that another one has called.  A kernel that
 * does not call at all continues with the heap, and the allocations, of the previous one.
 *
 * No other kernel may use the heap until this one has ended.  The caller owns the memory, which
 * must outlive its last use here; its initial contents do not matter.
 *
 * @param [in] heap_base    global or managed memory; the heap begins at the next multiple of 16
 * @param [in] total_bytes  size of that memory
 */
SIMT_FN void pool_init(void *heap_base, std::size_t total_bytes)
{
    shpool_global_open(heap_base, total_bytes);
}
/** At least size bytes, aligned to 16, from the first free block that is large enough; or NULL if
 *  this thread's share has none. */
SIMT_FN void *pmalloc(std::size_t size)
{
    return shpool_global_malloc<false>(size);
}
/** The same from the smallest free block that is large enough. */
SIMT_FN void *pmalloc_best_fit(std::size_t size)
{
    return shpool_global_malloc<true>(size);
}
/** Free memory that pmalloc or pmalloc_best_fit returned to any thread.  NULL and pointers at which
 *  no allocation begins (any more) have no effect. */
SIMT_FN void pfree(void *p)
{
    (void)shpool_global_free(p);
}
} // namespace glob_pool

/* ---- the choice: what the names without a namespace do ----
 *
 * pool_init, pmalloc and pfree are functions, not macros: thread_pool::pmalloc, a member pfree and
 * a program's own macros of these names mean what they say.  ALLOCATOR_NAME and pool_type are
 * macros with the texts that programs of that time define themselves: no redefinition then. */

#if defined(USE_THREAD_LOCAL_BEST_FIT)
#if !defined(SHPOOL_COMPAT_THREAD)
#error "USE_THREAD_LOCAL_BEST_FIT: no thread_first_fit or thread_best_fit in this build"
#endif
#define ALLOCATOR_NAME "Thread Local (Best Fit)"
#define pool_type thread_pool
#define SHPOOL_COMPAT_MALLOC thread_pool::pmalloc_best_fit
#elif defined(USE_WARP_LOCAL_BEST_FIT)
#if !defined(SHPOOL_COMPAT_WARP)
#error "USE_WARP_LOCAL_BEST_FIT: no warp_first_fit or warp_best_fit in this build"
#endif
#define ALLOCATOR_NAME "Warp Local (Best Fit)"
#define pool_type warp_pool
#define SHPOOL_COMPAT_MALLOC warp_pool::pmalloc_best_fit
#elif defined(USE_THREAD_LOCAL)
#if !defined(SHPOOL_COMPAT_THREAD)
#error "USE_THREAD_LOCAL: no thread_first_fit or thread_best_fit in this build"
#endif
#define ALLOCATOR_NAME "Thread Local (First Fit)"
#define pool_type thread_pool
#elif defined(USE_WARP_LOCAL)
#if !defined(SHPOOL_COMPAT_WARP)
#error "USE_WARP_LOCAL: no warp_first_fit or warp_best_fit in this build"
#endif
#define ALLOCATOR_NAME "Warp Local (First Fit)"
#define pool_type warp_pool
#elif defined(USE_FREELIST_ALLOCATOR)
#if !defined(SHPOOL_COMPAT_LIST)
#error "USE_FREELIST_ALLOCATOR: no freelist in this build"
#endif
#define ALLOCATOR_NAME "Julian (Standard Freelist)"
#define pool_type list_pool
#elif defined(USE_BST_ALLOCATOR)
#if !defined(SHPOOL_COMPAT_TREE)
#error "USE_BST_ALLOCATOR: no rbtree in this build"
#endif
#define ALLOCATOR_NAME "Julian (BST)"
#define pool_type bst_pool
#else
#define ALLOCATOR_NAME "Native Device Malloc"
#define pool_type native_pool
#define SHPOOL_COMPAT_NATIVE 1
#endif
#if !defined(SHPOOL_COMPAT_MALLOC)
#define SHPOOL_COMPAT_MALLOC pool_type::pmalloc
#endif
#if defined(SHPOOL_COMPAT_NATIVE)
#define SHPOOL_COMPAT_CHOSEN SHPOOL_COMPAT_BOTH
#else
#define SHPOOL_COMPAT_CHOSEN SIMT_FN
#endif

/* Templates whose argument is always the default: arguments are converted, and pointers to the
 * functions have the same types as in cuda_memory, but any other matching function, for example by
 * `using namespace thread_pool`, is preferred. */

/** pool_type::pool_init, with the arguments that one takes. */
template <typename Size = std::size_t, typename... More>
SHPOOL_COMPAT_CHOSEN void pool_init(typename shpool_compat::plain<Size>::type total_bytes,
                                    More... more)
{
    pool_type::pool_init(total_bytes, more...);
}
/** The chosen namespace's pmalloc or pmalloc_best_fit. */
template <typename Size = std::size_t>
SHPOOL_COMPAT_CHOSEN void *pmalloc(typename shpool_compat::plain<Size>::type size)
{
    return SHPOOL_COMPAT_MALLOC(size);
}
/** pool_type::pfree. */
template <typename Pointer = void *>
SHPOOL_COMPAT_CHOSEN void pfree(typename shpool_compat::plain<Pointer>::type p)
{
    pool_type::pfree(p);
}

#pragma pop_macro("pool_init")
#pragma pop_macro("pmalloc")
#pragma pop_macro("pfree")

#endif /* SHPOOL_COMPAT_CUDA_MEMORY_CUH */
