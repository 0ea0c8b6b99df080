/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/cuda_memory.cuh
 * The calls of the cuda_memory project over libshpool's allocators, so that kernels written for it
 * compile unchanged.  C++17; include allocator.cuh, poolAlloc.cuh or poolAllocBST.cuh, which is all
 * the same, with `pkg-config --variable=compat_cflags shpool`.  Nothing is linked.
 *
 *   namespace                       allocator                           pool of
 *   thread_pool                     thread_first_fit, thread_best_fit   one thread
 *   warp_pool                       warp_first_fit, warp_best_fit       threads_per_pool threads
 *   list_pool, pmalloc_freelist     freelist                            one thread
 *   bst_pool, pmalloc_bst           rbtree                              one thread
 *   native_pool                     CUDA's in-kernel malloc             (no pool)
 *   glob_pool                       warp_first_fit, warp_best_fit       one thread
 *
 * Each has pool_init, pmalloc and pfree; the first two and the last also pmalloc_best_fit, which
 * may be mixed with pmalloc; pmalloc_freelist and pmalloc_bst say init_gpu_buffer, cmalloc and
 * cfree.
 * Under nvcc these are real calls, as in cuda_memory, which keeps kernels with many of them small
 * and quick to compile; -DSHPOOL_COMPAT_INLINE makes each of them part of its caller.
 * One of the defines USE_THREAD_LOCAL_BEST_FIT, USE_WARP_LOCAL_BEST_FIT, USE_THREAD_LOCAL,
 * USE_WARP_LOCAL, USE_FREELIST_ALLOCATOR, USE_BST_ALLOCATOR says what the same names without a
 * namespace do, what pool_type is, and ALLOCATOR_NAME; without one they are native, also
 * in host code: malloc and free.  cumem/blueprint.h makes macros of them, as there.  With
 * ALLOCATOR_DEBUG each free is looked up first, and a foreign, interior or double one does nothing.
 *
 * glob_pool lies in the caller's global memory: it is described where it is declared, below; what
 * follows is about the others.
 *
 * The pools lie in the first `total_bytes` of the launch's dynamic shared memory, 32 of which hold
 * what the calls need to know.  One kind at a time: a pool_init ends the pools that were there, and
 * the calls of another namespace then find nothing (NULL).
 *
 * Otherwise than cuda_memory: blocks of any shape up to 1,024 threads, the memory divided among the
 * threads that there are; allocations aligned to 16 bytes; pools of up to 512 KiB; first fit takes
 * the first block, not the largest; the argument of init_gpu_buffer is the bytes of all threads
 * together, as its code has it (its text says: of one). */
#ifndef SHPOOL_COMPAT_CUDA_MEMORY_CUH
#define SHPOOL_COMPAT_CUDA_MEMORY_CUH

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#if defined(__CUDACC__) || __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h> /* as theirs did: kernels use threadIdx, hosts the runtime */
#endif

#include <shpool/impl/global_heap.h>
#include <shpool/module.h>

/* A program's macros of these names, configure.h's for example, are not for what follows. */
#pragma push_macro("pool_init")
#pragma push_macro("pmalloc")
#pragma push_macro("pfree")
#undef pool_init
#undef pmalloc
#undef pfree

/* The functions that do the work.  Inline, kernels with many calls of five allocators took four
 * times as long to compile. */
#if defined(__CUDACC__) && !defined(SHPOOL_COMPAT_INLINE)
#define SHPOOL_COMPAT_CALL static __device__ __noinline__
#else
#define SHPOOL_COMPAT_CALL SIMT_FN
#endif

namespace shpool_compat {

/* What pool_init leaves at the start of the dynamic shared memory for the other calls:
 * kind | bytes of a pool | threads of a pool | magic (shpool_pool.pool_magic) | word[0], word[1] of
 * the views | 0 | 0. */
constexpr uint32_t ROOT_BYTES = 32;

/* No pattern that memory is likely to hold by itself; 0 is no pool. */
enum kind : uint32_t {
    KIND_THREAD = 0x9d3c7a51u, KIND_WARP = 0x9d3c7a52u, KIND_LIST = 0x9d3c7a53u,
    KIND_TREE = 0x9d3c7a54u
};

/* The calling thread's pool of that kind; empty if there is none. */
SIMT_FN shpool_view view_of(uint32_t kind)
{
    shpool_view view = {0, 0, 0, 0, {0, 0}, 0};
    simt_addr   root = simt_dynamic_base();

    if (simt_dynamic_bytes() >= ROOT_BYTES) {
        simt_u128 pools = simt_load128(root);

        if (pools.x == kind) {
            simt_u128 words = simt_load128(root + 16u);
            uint32_t  rank  = simt_thread_rank();
            uint32_t  own   = (pools.w != 0) ? simt_mulhi(rank, pools.w) : rank;

            view.base    = root + ROOT_BYTES + own * pools.y;
            view.bytes   = pools.y;
            view.rank    = rank;
            view.flags   = (4u << SHPOOL_FLAG_ALIGN_SHIFT) |
                           ((pools.z > 1u) ? (uint32_t)SHPOOL_FLAG_SHARED : 0u);
            view.word[0] = words.x;
            view.word[1] = words.y;
        }
    }
    return view;
}

/* By one thread: `bytes` of the dynamic shared memory hold pools of `each` bytes, or none (0). */
SIMT_FN void set_root(uint32_t kind, uint32_t bytes, uint32_t each, uint32_t share,
                      shpool_layout layout)
{
    simt_addr root  = simt_dynamic_base();
    simt_u128 pools = {kind, each, share, (share > 1u) ? 0xffffffffu / share + 1u : 0u};
    simt_u128 words = {layout.word[0], layout.word[1], 0, 0};

    if (each != 0) {
        simt_store128(root, pools);
        simt_store128(root + 16u, words);
    } else if (bytes >= 4u) {
        simt_store32(root, 0); /* pools that were here are no more */
    }
}

/* All threads of the block.  Pools for `share` threads each, from 1; more than there are: all. */
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

    /* more than the launch has is a mistake of the caller's: no pool, not a smaller one */
    if ((share > 0) && (total_bytes <= dynamic) && (bytes > ROOT_BYTES)) {
        each   = ((bytes - ROOT_BYTES) / ((threads + group - 1u) / group)) & ~15u;
        layout = Layout(each, SHPOOL_MIN_ALIGNMENT);
    }
    simt_barrier(); /* whoever still works in the pools that were here */
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

/* At least size bytes, aligned to 16; NULL if they do not fit. */
template <shpool_malloc_fn Malloc>
SHPOOL_COMPAT_CALL void *allocate(uint32_t kind, std::size_t size)
{
    shpool_view view = view_of(kind);
    simt_addr   addr = 0;
    uint32_t    want = SHPOOL_MAX_REQUEST;

    if (size < want) {
        want = static_cast<uint32_t>(size);
    }
    if (view.bytes != 0) {
        addr = Malloc(view, (want != 0) ? want : 1u, SHPOOL_MIN_ALIGNMENT, 0);
    }
    return (addr != 0) ? simt_from_shared(addr) : nullptr;
}

/* Free or Discard: the latter looks the allocation up first. */
template <shpool_free_fn Free> SHPOOL_COMPAT_CALL void release(uint32_t kind, void *ptr)
{
    if ((ptr != nullptr) && simt_is_shared(ptr)) {
        shpool_view view = view_of(kind);

        if (view.bytes != 0) {
            (void)Free(view, simt_to_shared(ptr), 0);
        }
    }
}

#if defined(__CUDACC__)
#define SHPOOL_COMPAT_HD __host__ __device__
#else
#define SHPOOL_COMPAT_HD
#endif

/* T, but nothing that a template argument is deduced from. */
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
/** All threads of the block, converged; divides total_bytes among them.  Where they do not do
 * (more than the launch's dynamic shared memory, too few for the threads) every pmalloc is NULL. */
SIMT_FN void pool_init(std::size_t total_bytes)
{
    shpool_compat::open<shpool_thread_first_fit_layout, shpool_thread_first_fit_init>(
        shpool_compat::KIND_THREAD, total_bytes, 1);
}
/** At least size bytes, aligned to 16, from the first free block that is large enough; or NULL. */
SIMT_FN void *pmalloc(std::size_t size)
{
    return shpool_compat::allocate<shpool_thread_first_fit_malloc>(shpool_compat::KIND_THREAD,
                                                                   size);
}
/** The same from the smallest free block that is large enough. */
SIMT_FN void *pmalloc_best_fit(std::size_t size)
{
    return shpool_compat::allocate<shpool_thread_best_fit_malloc>(shpool_compat::KIND_THREAD, size);
}
/** Give back what pmalloc or pmalloc_best_fit returned; NULL has no effect. */
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
/** One pool for threads_per_pool neighbouring threads, any of which frees. */
namespace warp_pool {
/** As thread_pool::pool_init; threads_per_pool below 1: no pool, above the block's threads: one. */
SIMT_FN void pool_init(std::size_t total_bytes, int threads_per_pool = 1)
{
    shpool_compat::open<shpool_warp_first_fit_layout, shpool_warp_first_fit_init>(
        shpool_compat::KIND_WARP, total_bytes, threads_per_pool);
}
SIMT_FN void *pmalloc(std::size_t size)
{
    return shpool_compat::allocate<shpool_warp_first_fit_malloc>(shpool_compat::KIND_WARP, size);
}
SIMT_FN void *pmalloc_best_fit(std::size_t size)
{
    return shpool_compat::allocate<shpool_warp_best_fit_malloc>(shpool_compat::KIND_WARP, size);
}
SIMT_FN void pfree(void *p)
{
    shpool_compat::release<SHPOOL_COMPAT_FREE(warp_first_fit)>(shpool_compat::KIND_WARP, p);
}
} // namespace warp_pool
#define SHPOOL_COMPAT_WARP 1
#endif

#if __has_include(<shpool/allocators/freelist/freelist.h>)
#include <shpool/allocators/freelist/freelist.h>
#endif
#if __has_include(<shpool/allocators/rbtree/rbtree.h>)
#include <shpool/allocators/rbtree/rbtree.h>
#endif
#include <shpool/impl/compat_print.h>

/* A namespace of plain names, and its older one. */
#define SHPOOL_COMPAT_PLAIN(_pool, _older, _name, _kind) \
    namespace _pool { \
    SIMT_FN void pool_init(std::size_t total_bytes) \
    { \
        shpool_compat::open<shpool_##_name##_layout, shpool_##_name##_init>( \
            shpool_compat::_kind, total_bytes, 1); \
    } \
    SIMT_FN void *pmalloc(std::size_t size) \
    { \
        return shpool_compat::allocate<shpool_##_name##_malloc>(shpool_compat::_kind, size); \
    } \
    SIMT_FN void pfree(void *p) \
    { \
        shpool_compat::release<SHPOOL_COMPAT_FREE(_name)>(shpool_compat::_kind, p); \
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

/* For kernels and hosts alike; forced inline, because a host has no pools to link with. */
#if defined(__CUDACC__)
#define SHPOOL_COMPAT_BOTH static __host__ __device__ __forceinline__
#else
#define SHPOOL_COMPAT_BOTH SIMT_FN
#endif

/** CUDA's in-kernel malloc: global memory, from the heap that cudaLimitMallocHeapSize sizes.  In
 * host code the host's. */
namespace native_pool {
/** Nothing to do; takes whatever the other pool_init take. */
template <typename... Arguments> SHPOOL_COMPAT_BOTH void pool_init(Arguments...) {}
SHPOOL_COMPAT_BOTH void *pmalloc(std::size_t size) { return malloc(size); }
SHPOOL_COMPAT_BOTH void  pfree(void *p) { free(p); }
} // namespace native_pool

/**
 * Pools in global memory that the caller brings, for blocks of any shape and grids of any size.
 *
 * The heap is divided into as many shares as the blocks of the launch have threads: thread i of
 * every block allocates from share i, and only from it.  So in a grid of one block a thread's share
 * is its own; threads of several blocks, or of a later launch with more threads (modulo), meet in
 * the same share.  Each pool has a lock that the whole device sees, so any thread may allocate, and
 * free what any other allocated, in any block and also in a later kernel.  What the payload holds
 * is ordered by the caller, as with any memory that threads hand on.
 *
 * A heap may have any size; an allocation at most 524,252 bytes, because pools have 15-bit sizes in
 * units of 16 bytes.  A share above that is several pools, which are tried in turn.  64 bytes are
 * the heap's, 20 each pool's, 4 each allocation's (rounded up to 16).
 *
 * One heap at a time: where the heap is, is one variable of the program (of the file, without
 * -rdc=true), as in cuda_memory.  Kernels that use glob_pool at the same time use the same heap.
 */
namespace glob_pool {
/**
 * All threads of the block, converged; has barriers.  Any base and size do; if no share could hold
 * an allocation, nothing is written, and every pmalloc is NULL.
 *
 * In a grid of one block: the heap starts afresh, each time.  In a larger one: the first block that
 * comes divides the heap for this launch, others wait for that and join; whoever calls again joins,
 * too.  All blocks name the same heap and have the same shape.  A block that does not call may
 * allocate once it knows, by grid.sync() for example, that another one has; a kernel that does not
 * call at all goes on with the heap, and the allocations, of the one before.
 *
 * No other kernel may be at work in the heap.  The memory stays the caller's: it is to outlive its
 * last use here, and what it holds before does not matter.
 *
 * @param [in] heap_base    global or managed memory; the heap begins at the next multiple of 16
 * @param [in] total_bytes  of it
 */
SIMT_FN void pool_init(void *heap_base, std::size_t total_bytes)
{
    shpool_global_open(heap_base, total_bytes);
}
/** At least size bytes, aligned to 16, from the first free block that is large enough; or NULL:
 * this thread's share has none. */
SIMT_FN void *pmalloc(std::size_t size)
{
    return shpool_global_malloc<&shpool_global_pool::shpool_first_fit_malloc>(size);
}
/** The same from the smallest free block of a pool that is large enough. */
SIMT_FN void *pmalloc_best_fit(std::size_t size)
{
    return shpool_global_malloc<&shpool_global_pool::shpool_best_fit_malloc>(size);
}
/** Give back what pmalloc or pmalloc_best_fit returned, to any thread; NULL has no effect, nor have
 * pointers that no block can begin at and most double frees (all bad ones with ALLOCATOR_DEBUG). */
SIMT_FN void pfree(void *p)
{
    (void)shpool_global_free<&shpool_global_pool::SHPOOL_COMPAT_FREE(first_fit)>(p);
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

/* Templates whose argument is always the default: arguments convert, and pointers to the functions
 * have the types that they had there, but any other function that fits, by `using namespace
 * thread_pool` for example, is preferred. */

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
