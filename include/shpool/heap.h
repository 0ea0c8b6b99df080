/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/heap.h
 * Functions that a kernel calls: init, malloc, free and their family, in a block's shared memory.
 *
 * Device functions under nvcc and NVRTC, functions of the CPU block executor under any other
 * compiler.  Kernels include shpool/shpool.cuh, which includes this file.
 *
 * Scope, unless a function says otherwise: any thread of the block, alone, no convergence needed,
 * between the block's shpool_init() and shpool_fini().  The allocator's scope (shpool-info show
 * NAME) decides which threads may free an allocation: the same thread, a thread of the same group,
 * or any thread of the block.
 * An allocation belongs to the block; its lifetime ends with shpool_fini() or with the kernel.
 *
 * With scope cluster (cluster_bitmap), read "cluster" for "block" throughout: the blocks of a
 * cluster pass the same base, as an offset, and call shpool_init() and shpool_fini() together.
 *
 * Synchronise when an allocation is passed to another thread, as with any shared memory: a barrier,
 * or a release and an acquire, between the last use here and the first use there.
 */
#if defined(SHPOOL_CHECKED) && defined(__CUDACC__) /* shpool-check's functions come first */
#include <shpool/shpool.cuh>
#endif
#ifndef SHPOOL_HEAP_H
#define SHPOOL_HEAP_H

#include <shpool/abi.h>
#include <shpool/impl/bind.h>
#include <shpool/impl/waiters.h>
#include <shpool/simt.h>
#ifndef SHPOOL_DID_WRITE /* shpool-check's: these stores are not instrumented */
#define SHPOOL_DID_WRITE(_to, _bytes) ((void)0)
#endif

/**
 * One thread's handle to its pool.  Pass it BY VALUE, also to your own functions: it then stays in
 * registers.  A zeroed heap is empty: every malloc returns NULL.
 */
typedef struct shpool_heap {
    shpool_view         view;
    uint32_t            window;   /**< simt_window(), or 0 for an empty heap */
    shpool_malloc_fn    allocate; /**< function table binding only; unused otherwise */
    shpool_free_fn      release;
    shpool_malloc_group_fn allocate_group; /**< NULL: one lane requests for its group */
    shpool_free_group_fn   release_group;
    const shpool_table *table;
    uint32_t            largest;  /**< largest single malloc of a fresh pool, bytes */
} shpool_heap;

/* ---- opening ---- */

/* Whether the block's shared memory has `bytes` bytes from `start` on, rounded up to the unit in
 * which the GPU allocates it.  The caller's own arrays may follow; their size is unknown. */
SIMT_FN int shpool_fits_block(const shpool_pool *pool, simt_addr start, uint32_t bytes)
{
    simt_addr end = simt_shared_end(pool->system_bytes);

    start = simt_addr_offset(start);
    return (start <= end) && (bytes <= end - start);
}

/* The first address from `start` on that has the pool's alignment. */
SIMT_FN simt_addr shpool_aligned_start(const shpool_pool *pool, simt_addr start)
{
    return (start + pool->alignment - 1u) & (0u - pool->alignment);
}

/* SHPOOL_OK, or the reason why this block's heaps must be empty; the same in all its threads. */
SIMT_FN shpool_status shpool_init_status(const shpool_pool *pool, const void *base)
{
    simt_addr start = simt_to_shared(base);

    if ((pool->abi != SHPOOL_ABI) || (pool->bytes != sizeof(shpool_pool))) {
        return SHPOOL_ERR_ABI;
    }
    if (!SHPOOL_BOUND(pool)) {
        return SHPOOL_ERR_BINDING;
    }
    if (simt_block_threads() > pool->block_threads) {
        return SHPOOL_ERR_LAUNCH;
    }
    if (pool->shared_bytes == 0) {
        return SHPOOL_OK; /* the pool uses no shared memory: any base is valid */
    }
    if (!simt_is_shared_base(base)) {
        return SHPOOL_ERR_INVALID;
    }
    if ((start & (SHPOOL_MIN_ALIGNMENT - 1u)) != 0) {
        return SHPOOL_ERR_ALIGNMENT;
    }
    return shpool_fits_block(pool, start, pool->shared_bytes) ? SHPOOL_OK : SHPOOL_ERR_LAUNCH;
}

/* Note in the report why this block's heaps are empty.  Called by one thread of the block. */
SIMT_FN void shpool_note_empty(const shpool_pool *pool, const void *base, shpool_status status)
{
    shpool_report_data *report = (shpool_report_data *)pool->report;
    simt_addr           start  = simt_addr_offset(simt_to_shared(base));
    simt_addr           end    = simt_shared_end(pool->system_bytes);

    simt_global_store32(&report->empty_threads, simt_block_threads());
    simt_global_store32(&report->empty_base, start);
    simt_global_store32(&report->empty_bytes, (start < end) ? end - start : 0u);
    simt_global_store32(&report->status, (uint32_t)status);
    (void)simt_global_add32(&report->empty, 1);
}

/* Reset the statistics area, SHPOOL_AREA_FRONT bytes after the block's base.  Called by one thread
 * of the block. */
SIMT_FN void shpool_area_init(const shpool_pool *pool, simt_addr area)
{
    const simt_addr start = area - SHPOOL_AREA_FRONT;
    uint32_t        i;

    SIMT_ROLLED
    for (i = 0; i < pool->area_bytes; i += 4u) {
        simt_store32(start + i, 0);
    }
    simt_store64(area + SHPOOL_AREA_REPORT, (unsigned long long)(size_t)pool->report);
    simt_store32(area + SHPOOL_AREA_FASTEST, ~0u);
    simt_store32(area + SHPOOL_AREA_CAPACITY, pool->largest * pool->pools);
    simt_store32(area + SHPOOL_AREA_SLOTS, pool->spill_slots);
    simt_store32(area + SHPOOL_AREA_SLOT_BYTES, pool->spill_bytes);
    simt_store32(area + SHPOOL_AREA_SHIFT, pool->spill_shift);
    if ((pool->flags & SHPOOL_FLAG_CHECK) != 0) {
        SIMT_ROLLED
        for (i = 0; i < SHPOOL_AREA_BYTES; i += 4u) {
            simt_store32(start + SHPOOL_AREA_SHADOW + i, ~simt_load32(start + i));
        }
        simt_store64(area + SHPOOL_AREA_COPY, (unsigned long long)(size_t)pool->report);
        simt_store32(area + SHPOOL_AREA_SEAL + 4u, ~0u); /* no bit is set in the maps */
    }
}

/* Initialise pools of pool_bytes each at `base`, and return the calling thread's heap. */
SIMT_FN shpool_heap shpool_init_pools(const shpool_pool *pool, simt_addr base, uint32_t pool_bytes,
                                      uint32_t word0, uint32_t word1, simt_addr area)
{
    shpool_heap heap;
    uint32_t    rank   = simt_thread_rank();
    uint32_t    own    = (pool->pool_magic != 0) ? simt_mulhi(rank, pool->pool_magic) : rank;
    uint32_t    member = rank - own * pool->threads_per_pool;
    uint32_t    here   = simt_block_threads() - own * pool->threads_per_pool;
    uint32_t    flags  = SHPOOL_HEAP_FLAGS(pool->flags);

    heap.view.base     = base + own * pool_bytes;
    heap.view.bytes    = pool_bytes;
    heap.view.rank     = rank;
    heap.view.flags    = (member == 0) ? flags | SHPOOL_FLAG_LEADER : flags;
    heap.view.word[0]  = word0;
    heap.view.word[1]  = word1;
    heap.view.area     = (SHPOOL_HAS_AREA != 0) ? area : 0u; /* a constant 0 costs nothing */
    heap.window        = simt_window();
    heap.allocate      = pool->allocate;
    heap.release       = pool->release;
    heap.allocate_group = pool->allocate_group;
    heap.release_group = pool->release_group;
    heap.table         = pool->table;
    heap.largest       = pool->largest;

    if (pool_bytes != 0) {
        if ((member == 0) && (shpool_waiters(heap.view) != 0)) {
            simt_store64(shpool_waiters(heap.view), SHPOOL_WAIT_NOBODY);
            simt_store64(shpool_waiters(heap.view) + 8u, SHPOOL_WAIT_NOBODY);
        }
        SHPOOL_DO(heap, init, (heap.view, member, (here < pool->threads_per_pool)
                                                      ? here : pool->threads_per_pool));
    }
    return heap;
}

SIMT_FN shpool_heap shpool_empty_heap(void)
{
    shpool_heap heap = {{0, 0, 0, 0, {0, 0}, 0}, 0, NULL, NULL, NULL, NULL, NULL, 0};

    heap.view.flags = SHPOOL_HEAP_FLAGS(0u); /* where all heaps have a flag, nothing asks for it */
    return heap;
}

/* Half of the report's address, the first one with which = 0, in the words of an empty heap. */
SIMT_FN uint32_t shpool_report_word(const shpool_pool *pool, uint32_t which)
{
#if SHPOOL_COUNTED
    return (uint32_t)((unsigned long long)(size_t)pool->report >> 32u * which);
#else
    (void)pool;
    (void)which;
    return 0;
#endif
}

/* An empty heap of an open pool of this image.  With stats and check its requests are counted, by
 * functions of that table, in the report: it has no statistics area. */
SIMT_FN shpool_heap shpool_heap_that_counts(const shpool_pool *pool, shpool_heap heap)
{
#if SHPOOL_COUNTED
    if (((SHPOOL_HEAP_FLAGS(pool->flags) & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) &&
        (pool->report != NULL)) {
        heap.view.flags |= (uint32_t)SHPOOL_REFUSED_EMPTY << SHPOOL_FLAG_REFUSED_SHIFT;
    }
#else
    (void)pool;
#endif
    return heap;
}

/**
 * Create the pools of this block, and return the calling thread's heap.
 *
 * Scope: all threads of the block, converged as for a barrier.  It has a barrier at either end
 * (with scope cluster, a barrier of the cluster for all threads of all its blocks).  It may be
 * called again on the same memory to start afresh, when no thread uses that memory any more; if the
 * pool has stats, check or a spill option, call shpool_fini() first.  If a thread has returned from
 * the kernel before, the block hangs.
 *
 * @param [in] pool  the kernel's parameter, from shpool_open(); the same in all threads
 * @param [in] base  pool->shared_bytes bytes of this block's shared memory, aligned to 16: the
 *                   dynamic shared memory, a part of it, or an array.  The pools have the alignment
 *                   of the plan whatever precedes them: shared_bytes includes the bytes that are
 *                   skipped, at most SHPOOL_SLACK_BYTES.
 * @return the heap.  It is empty if base is not in shared memory or not aligned to 16, if the
 *         launch reserved less than the pool needs or has more threads than planned, or if the pool
 *         has another ABI or binding.  The reason is in the report, if there is one.
 */
SIMT_FN shpool_heap shpool_init(const shpool_pool *pool, void *base)
{
    shpool_status status = shpool_init_status(pool, base);
    shpool_heap   heap;
    simt_addr     start  = shpool_aligned_start(pool, simt_to_shared(base));
    simt_addr     area   = simt_to_shared(base) + SHPOOL_AREA_FRONT; /* often a constant */
    uint32_t      fits   = (status == SHPOOL_OK);

    SHPOOL_BARRIER(pool->flags); /* other threads may still use a pool that was here before */
    if (status == SHPOOL_OK) {
        if (SHPOOL_HAS_AREA && (pool->area_bytes != 0) && (simt_thread_rank() == 0)) {
            shpool_area_init(pool, area);
        }
    } else if ((pool->abi == SHPOOL_ABI) && (pool->report != NULL) && (simt_thread_rank() == 0)) {
        shpool_note_empty(pool, base, status);
    }
    /* The empty heap has no branch of its own: fields that are equal in both cases are thus read
     * from the kernel's parameters when needed, and take no registers in between. */
    heap = shpool_init_pools(pool, start + pool->area_bytes, fits ? pool->pool_bytes : 0u,
                             fits ? pool->word[0] : shpool_report_word(pool, 0),
                             fits ? pool->word[1] : shpool_report_word(pool, 1),
                             (fits && (pool->area_bytes != 0)) ? area : 0u);
    if (!fits) {
        heap.view.flags &= (uint32_t)SHPOOL_FLAG_NAMED;
        if ((status != SHPOOL_ERR_ABI) && (status != SHPOOL_ERR_BINDING)) {
            heap = shpool_heap_that_counts(pool, heap);
        }
    }
    SHPOOL_BARRIER(pool->flags); /* every pool is ready, also for threads that did not make it */
    return heap;
}

/**
 * Create further pools in the kernel, with the same allocator and shape, from a base and a size.
 *
 * Scope: as shpool_init().  For sub-pools: the base comes from one thread's shpool_malloc() and is
 * passed to all threads (with scope cluster, all blocks pass the same offset and bytes).  Never
 * spills.  If the pool was opened with stats, check or a spill option, the heap is empty: its area
 * belongs to the region.  The report says so, and with stats and check counts the requests.
 *
 * @param [in] pool   gives the allocator, threads per pool and alignment
 * @param [in] base   shared memory; those of its bytes that have no place in an aligned pool are
 *                    skipped
 * @param [in] bytes  bytes at base; divided among pool->pools pools
 * @return the heap; empty if base or bytes are unsuitable (no pool would hold one allocation)
 */
SIMT_FN shpool_heap shpool_init_bytes(const shpool_pool *pool, void *base, uint32_t bytes)
{
    shpool_heap   heap  = shpool_empty_heap();
    shpool_layout layout = {0, 0, {0, 0}};
    simt_addr     start  = shpool_aligned_start(pool, simt_to_shared(base));
    uint32_t      skip   = start - simt_to_shared(base);
    uint32_t      each   = 0;

    SHPOOL_BARRIER(pool->flags);
    if ((pool->abi == SHPOOL_ABI) && SHPOOL_BOUND(pool) && simt_is_shared(base) &&
        (pool->area_bytes == 0) && shpool_fits_block(pool, simt_to_shared(base), bytes) &&
        (bytes >= skip) && (simt_block_threads() <= pool->block_threads)) {
        heap.table = pool->table;
        each       = ((bytes - skip) / pool->pools) & ~(pool->alignment - 1u);
        layout     = SHPOOL_DO(heap, layout, (each - shpool_wait_bytes(pool->flags, each),
                                              pool->alignment));
        heap       = shpool_empty_heap();
    } else if ((pool->abi == SHPOOL_ABI) && SHPOOL_BOUND(pool) && (pool->report != NULL)) {
        heap = shpool_heap_that_counts(pool, heap);
        heap.table        = pool->table;
        heap.view.word[0] = shpool_report_word(pool, 0);
        heap.view.word[1] = shpool_report_word(pool, 1);
        if (simt_thread_rank() == 0) {
            shpool_note_empty(pool, base, SHPOOL_ERR_UNSUPPORTED);
        }
    }
    if (layout.bytes != 0) {
        heap = shpool_init_pools(pool, start, each, layout.word[0], layout.word[1], 0);
        heap.view.flags &= (uint32_t)SHPOOL_FLAG_ALIGN_MASK | (uint32_t)SHPOOL_FLAG_LEADER |
                           (uint32_t)SHPOOL_FLAG_SHARED | (uint32_t)SHPOOL_FLAG_CLUSTER |
                           (uint32_t)SHPOOL_FLAG_NAMED;
        heap.largest = layout.largest;
    }
    SHPOOL_BARRIER(pool->flags);
    return heap;
}

/**
 * End the block's use of its pools, and close the statistics.
 *
 * Scope: all threads of the block, converged as for a barrier.  Costs nothing unless the pool was
 * opened with stats, check or a spill option; then it has barriers, returns the slot of
 * spill=arena, counts the allocations never freed and, with check, walks every pool and lists the
 * leaks (spilled ones are counted, not listed).  With scope cluster it always has a barrier of the
 * cluster: no block may exit while a neighbour uses its memory.  Nothing may be allocated, used or
 * freed afterwards.
 */
SIMT_FN void shpool_fini(shpool_heap heap)
{
    if (SHPOOL_IS_CLUSTER(heap.view.flags)) {
        simt_cluster_barrier();
    }
#if SHPOOL_HAS_AREA
    if (heap.view.area != 0) {
        SHPOOL_DO(heap, fini, (heap.view));
        if (SHPOOL_IS_CLUSTER(heap.view.flags)) {
            simt_cluster_barrier(); /* it has read the neighbours' pools */
        }
    }
#else
    (void)heap;
#endif
}

/* ---- malloc and free ---- */

/* Convert a module's address, not 0, to a pointer.  If the address can only be in the own block,
 * the conversion tells nvcc so, and the caller's accesses become LDS and STS. */
SIMT_FN void *shpool_pointer(shpool_heap heap, simt_addr addr)
{
#if SHPOOL_CLUSTERED
    return simt_from_window(heap.window, addr);
#else
    (void)heap;
    return simt_from_shared(addr);
#endif
}

/* The alignment to request from the allocator; 0: not possible. */
SIMT_FN uint32_t shpool_alignment(shpool_heap heap, uint32_t alignment)
{
    uint32_t most = 1u << ((heap.view.flags & (uint32_t)SHPOOL_FLAG_ALIGN_MASK) >>
                           SHPOOL_FLAG_ALIGN_SHIFT);

    if ((alignment & (alignment - 1u)) != 0) {
        return 0;
    }
    if (alignment - 1u < SHPOOL_MIN_ALIGNMENT) { /* in any pool */
        return SHPOOL_MIN_ALIGNMENT;
    }
    return (alignment <= most) ? alignment : 0u;
}

/* Clamp a size to 32 bits: no pool has that many. */
SIMT_FN uint32_t shpool_clamp(size_t size)
{
    return (size < ~0u) ? (uint32_t)size : ~0u;
}

/* The heap of a request that must not spill.  If only spills and failures are counted,
 * shpool_spill() still counts its failure. */
SIMT_FN shpool_heap shpool_heap_unspilled(shpool_heap heap)
{
    heap.view.flags &= ~(uint32_t)(SHPOOL_FLAG_SPILL_ARENA | SHPOOL_FLAG_SPILL_NATIVE);
    if ((heap.view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) {
        heap.view.flags &= ~(uint32_t)SHPOOL_FLAG_SPILL; /* the module has counted it */
    }
    return heap;
}

/* The pool has refused a request, or cannot be asked: it spills, or is counted as failed.  reason:
 * a shpool_refusal above SIZE, or 0. */
SIMT_FN void *shpool_not_served(shpool_heap heap, size_t bytes, uint32_t alignment, uint32_t site,
                                uint32_t reason)
{
#if SHPOOL_HAS_AREA
    if ((heap.view.flags & SHPOOL_FLAGS_SLOW) != 0) {
        bytes  = (bytes != 0) ? bytes : 1u;
        reason = ((reason == 0) && (bytes > heap.largest)) ? (uint32_t)SHPOOL_REFUSED_SIZE : reason;
        heap.view.flags |= reason << SHPOOL_FLAG_REFUSED_SHIFT; /* EMPTY, all bits, stays */
        heap.view.base = site; /* one argument less: one register less in each caller */
        return SHPOOL_DO(heap, spill, (heap.view, bytes, alignment));
    }
#else
    (void)heap;
    (void)bytes;
    (void)alignment;
    (void)site;
    (void)reason;
#endif
    return NULL;
}

/* alignment: as the caller requested it. */
SIMT_FN void *shpool_malloc_as(shpool_heap heap, size_t bytes, uint32_t alignment, uint32_t site)
{
    simt_addr addr = 0;
    uint32_t  want = (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;
    uint32_t  use  = shpool_alignment(heap, alignment);

    if ((heap.view.bytes != 0) && (use != 0)) {
        addr = SHPOOL_DO(heap, allocate, (heap.view, (want != 0) ? want : 1u, use, site));
    }
    if (addr != 0) {
        return shpool_pointer(heap, addr);
    }
    return shpool_not_served(heap, bytes, alignment, site,
                             (use != 0) ? 0u : (uint32_t)SHPOOL_REFUSED_ALIGNMENT);
}

/**
 * Allocate at least `bytes` bytes, aligned to 16, contents undefined.
 *
 * malloc(0) behaves like malloc(1).
 * @return the allocation; NULL if it did not fit at some instant of the call (also for sizes near
 *         SIZE_MAX), or if the heap is empty.  Other allocations count until their frees have
 *         returned.  Never traps.  With SHPOOL_CAP_SPILL it may be in global memory.
 */
SIMT_FN void *shpool_malloc(shpool_heap heap, size_t bytes)
{
    return shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, 0);
}

/** shpool_malloc() with a number that the caller gives to the call site: with check=1 the report
 *  names it for leaks, overruns and double frees of this allocation. */
SIMT_FN void *shpool_malloc_at(shpool_heap heap, size_t bytes, uint32_t site)
{
    return shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, site);
}

/**
 * Allocate only in this block's shared memory, so that the compiler can use LDS and STS.
 * @return as shpool_malloc(), but never in global memory nor, with scope cluster, in a neighbour's
 */
SIMT_FN void *shpool_malloc_shared(shpool_heap heap, size_t bytes)
{
    heap = shpool_heap_unspilled(heap);
    heap.view.flags &= ~(uint32_t)SHPOOL_FLAG_CLUSTER;
    return shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, 0);
}

/**
 * Allocate at a multiple of `alignment`.
 * @param [in] alignment  a power of two up to the pool's configured alignment; below 16: 16
 * @return as shpool_malloc(); also NULL for any other alignment, which the report then names
 */
SIMT_FN void *shpool_aligned_malloc(shpool_heap heap, size_t alignment, size_t bytes)
{
    return shpool_malloc_as(heap, bytes, shpool_clamp(alignment), 0);
}

/**
 * Free an allocation; NULL has no effect.
 *
 * The caller's accesses to it must happen before the call, which has no barrier.
 * @param [in] ptr   exactly what an allocating function of this pool returned
 * @param [in] site  the caller's number for this call site, for the report; 0: none
 * @return SHPOOL_FREE_OK, or why it was refused: a foreign, interior or double free.  Allocators
 *         with SHPOOL_CAP_REFUSES always refuse all of these; the others do so with check=1.
 */
SIMT_FN uint32_t shpool_free_at(shpool_heap heap, void *ptr, uint32_t site)
{
    /* tested before the pointer is truncated to 32 bits */
    if (simt_is_within(heap.window, ptr) && (heap.view.bytes != 0)) {
        return SHPOOL_DO(heap, release, (heap.view, simt_to_shared(ptr), site));
    }
    if (ptr == NULL) {
        return SHPOOL_FREE_OK;
    }
#if SHPOOL_HAS_AREA
    if ((heap.view.flags & SHPOOL_FLAGS_SLOW) != 0) {
        return SHPOOL_DO(heap, unspill, (heap.view, ptr, site));
    }
#endif
    return SHPOOL_FREE_FOREIGN;
}

/** shpool_free_at() without a site and without a return value. */
SIMT_FN void shpool_free(shpool_heap heap, void *ptr)
{
    (void)shpool_free_at(heap, ptr, 0);
}

/* ---- sizes, calloc, realloc, and checks of a pool ---- */

/** Usable bytes of a live allocation, at least the requested ones; 0 for NULL. */
SIMT_FN size_t shpool_usable_size(shpool_heap heap, const void *ptr)
{
    if (ptr == NULL) {
        return 0;
    }
    if (!simt_is_within(heap.window, ptr)) {
#if SHPOOL_SPILLS
        if ((heap.view.flags & SHPOOL_FLAG_SPILL) != 0) {
            return (size_t)SHPOOL_DO(heap, spilled, (heap.view, ptr));
        }
#endif
        return 0;
    }
    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, usable, (heap.view, simt_to_shared(ptr))) : 0u;
}

/* Word by word, because every usable size is a multiple of 4. */
SIMT_FN void shpool_zero_words(void *to, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i += 4u) {
        if (simt_is_shared(to)) {
            simt_store32(simt_to_shared(to) + (uint32_t)i, 0);
        } else {
            *(uint32_t *)(void *)((char *)to + i) = 0;
        }
    }
    SHPOOL_DID_WRITE(to, bytes);
}

SIMT_FN uint32_t shpool_get_word(const void *from)
{
    return simt_is_shared(from) ? simt_load32(simt_to_shared(from)) : *(const uint32_t *)from;
}

/* The share of one of `members` threads, 0..members-1. */
SIMT_FN void shpool_copy_words(void *to, const void *from, size_t bytes, uint32_t member,
                               uint32_t members)
{
    size_t i;

    for (i = 4u * (size_t)member; i < bytes; i += 4u * (size_t)members) {
        uint32_t word = shpool_get_word((const char *)from + i);

        if (simt_is_shared(to)) {
            simt_store32(simt_to_shared(to) + (uint32_t)i, word);
        } else {
            *(uint32_t *)(void *)((char *)to + i) = word;
        }
        SHPOOL_DID_WRITE((char *)to + i, 4u);
    }
}

/** Allocate count * each zeroed bytes.  A product that overflows is a request for SIZE_MAX. */
SIMT_FN void *shpool_calloc(shpool_heap heap, size_t count, size_t each)
{
    size_t bytes = count * each;
    void  *ptr;

    /* the product of two numbers below 2^32 fits; only larger ones need the division */
    if ((((count | each) >> 32) != 0) && (each != 0) && (bytes / each != count)) {
        bytes = ~(size_t)0;
    }
    ptr = shpool_malloc(heap, bytes);
    if (ptr != NULL) {
        shpool_zero_words(ptr, bytes);
    }
    return ptr;
}

/* Result of an attempt to change an allocation's size in place. */
typedef struct shpool_regrow {
    uint32_t done; /* the size was changed in place */
    size_t   old;  /* otherwise the usable bytes; 0: not an allocation of this heap */
} shpool_regrow;

/* ptr: not NULL. */
SIMT_FN shpool_regrow shpool_realloc_in_place(shpool_heap heap, void *ptr, size_t bytes)
{
    shpool_regrow now = {0, 0};

    if (simt_is_within(heap.window, ptr) && (bytes <= SHPOOL_MAX_REQUEST) &&
        (heap.view.bytes != 0)) {
        now.done = SHPOOL_DO(heap, resize, (heap.view, simt_to_shared(ptr),
                                            (bytes != 0) ? (uint32_t)bytes : 1u));
    }
    if (now.done == 0) {
        now.old = shpool_usable_size(heap, ptr);
    }
    return now;
}

/* The site of an allocation that moves. */
SIMT_FN uint32_t shpool_moving_site(shpool_heap heap, const void *ptr)
{
    return (SHPOOL_COUNTED != 0) ? shpool_zone_site(heap.view, ptr) : 0u;
}

/**
 * Change an allocation's size, in place where the allocator can.
 *
 * realloc(NULL, n) is malloc(n); realloc(p, 0) is realloc(p, 1).
 * @return the allocation, moved or not, with its contents up to the smaller size; NULL: as
 *         shpool_malloc(), and ptr is still allocated and unchanged
 */
SIMT_FN void *shpool_realloc(shpool_heap heap, void *ptr, size_t bytes)
{
    shpool_regrow now;
    void         *moved;

    if (ptr == NULL) {
        return shpool_malloc(heap, bytes);
    }
    now = shpool_realloc_in_place(heap, ptr, bytes);
    if (now.done != 0) {
        return ptr;
    }
    if (now.old == 0) {
        return NULL;
    }
    moved = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, shpool_moving_site(heap, ptr));
    if (moved != NULL) {
        shpool_copy_words(moved, ptr, (bytes < now.old) ? bytes : now.old, 0, 1);
        shpool_free(heap, ptr);
    }
    return moved;
}

/** Nonzero if ptr lies in this block's shared memory; 0 if it was spilled, or borrowed from another
 *  block of the cluster. */
SIMT_FN int shpool_is_shared(const void *ptr)
{
    return simt_is_shared(ptr);
}

/**
 * Check every invariant of the calling thread's own pool.
 *
 * Scope: one thread of each pool, while no other thread uses that pool (put barriers around the
 * call).
 * @return .broken 0, or the number of the first invariant that does not hold (the allocator's
 *         README), SHPOOL_BROKEN_LOCK (scope group: the pool's first words were overwritten), or
 *         SHPOOL_BROKEN_ZONE (check=1: bytes around an allocation were overwritten); .where has the
 *         address
 */
SIMT_FN shpool_walk shpool_check(shpool_heap heap)
{
    shpool_walk sound = {0, 0, 0, 0};

    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, walk, (heap.view)) : sound;
}

/** Largest malloc that would succeed now in the caller's pool; exact while no thread uses the
 *  pool. */
SIMT_FN size_t shpool_largest(shpool_heap heap)
{
    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, largest, (heap.view)) : 0u;
}

/* ---- scratch memory: an allocator with marks (SHPOOL_CAP_MARK: arena) frees all since one ---- */

/**
 * Remember the current state of the calling thread's pool.
 *
 * Scope: any thread, alone.  A mark is a number: it can be copied, and several can be nested.
 * @return the mark for shpool_release(); SHPOOL_NO_MARK if the allocator has no marks, if the heap
 *         is empty or, with check=1, if the pool is damaged
 */
SIMT_FN uint32_t shpool_mark(shpool_heap heap)
{
    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, rewind, (heap.view, SHPOOL_NO_MARK))
                                  : SHPOOL_NO_MARK;
}

/**
 * Free everything that was allocated from the calling thread's pool since a mark.
 *
 * Scope: one of the threads that share the pool, while none of them calls the allocator (with
 * threads_per_pool=1: at any time).  A barrier orders all uses of the released memory before the
 * call.  Allocations older than the mark stay.  Do not free them before the mark is released:
 * memory that is then allocated in their place counts as older than the mark.  Spilled allocations
 * are not released: free them.  Marks taken since become invalid.
 * @param [in] mark  from shpool_mark() of a thread with the same pool; SHPOOL_NO_MARK has no effect
 * @return 1; 0, and nothing is released, if the allocator has no marks, if the pool has gone below
 *         the mark since (by frees or an older mark), or, with check=1, if the pool is damaged
 */
SIMT_FN uint32_t shpool_release(shpool_heap heap, uint32_t mark)
{
    return ((heap.view.bytes != 0) && (mark != SHPOOL_NO_MARK))
               ? SHPOOL_DO(heap, rewind, (heap.view, mark)) : 0u;
}

/** Free everything in the calling thread's pool.  Scope and return value: as shpool_release(). */
SIMT_FN uint32_t shpool_reset(shpool_heap heap)
{
    return shpool_release(heap, 0);
}

#include <shpool/group.h> /* needs the functions above */
#include <shpool/wait.h>

#endif /* SHPOOL_HEAP_H */
