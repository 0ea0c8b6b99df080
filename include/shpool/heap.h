/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/heap.h
 * What a kernel calls: init, malloc, free and their family, in a block's shared memory.
 *
 * Device functions under nvcc and NVRTC, functions of the CPU block executor under any other
 * compiler.  Kernels include shpool/shpool.cuh, which includes this file.
 *
 * Scope, unless a function says otherwise: any thread of the block, alone, no convergence needed,
 * between the block's shpool_init() and shpool_fini().  Who may free what is the allocator's scope
 * (shpool-info show NAME): the same thread, a thread of the same group, or any of the block.
 * An allocation belongs to the block; it ends with shpool_fini() or with the kernel.
 *
 * With scope cluster (cluster_bitmap) read "cluster" for "block" in all of this: the blocks of a
 * cluster give the same base, as an offset, and call shpool_init() and shpool_fini() together.
 *
 * Handing an allocation to another thread is the caller's affair, as with any shared memory: a
 * barrier, or a release and an acquire, between the last use here and the first there.
 */
#ifndef SHPOOL_HEAP_H
#define SHPOOL_HEAP_H

#include <shpool/abi.h>
#include <shpool/impl/bind.h>
#include <shpool/impl/waiters.h>
#include <shpool/simt.h>

/**
 * One thread's handle on its pool.  Pass it BY VALUE, also to your own functions: it then stays in
 * registers.  A zeroed heap is empty: every malloc returns NULL.
 */
typedef struct shpool_heap {
    shpool_view         view;
    uint32_t            window;   /**< simt_window(), or 0 for an empty heap */
    shpool_malloc_fn    allocate; /**< function table binding only, else unused */
    shpool_free_fn      release;
    shpool_malloc_group_fn allocate_group; /**< NULL: one lane of a group asks */
    shpool_free_group_fn   release_group;
    const shpool_table *table;
} shpool_heap;

/* ---- opening ---- */

/* Whether the block's shared memory holds `bytes` from `start` on, to the unit that the GPU hands
 * it out in.  What lies behind them is not asked: the caller's own arrays have no known size. */
SIMT_FN int shpool_fits_block(const shpool_pool *pool, simt_addr start, uint32_t bytes)
{
    simt_addr end = simt_shared_end(pool->system_bytes);

    start = simt_addr_offset(start);
    return (start <= end) && (bytes <= end - start);
}

/* SHPOOL_OK, or why this block's heaps must be empty.  The same in all threads of the block. */
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
        return SHPOOL_OK; /* nothing lies in shared memory: any base will do */
    }
    if (!simt_is_shared(base)) {
        return SHPOOL_ERR_INVALID;
    }
    if ((start & (pool->alignment - 1u)) != 0) {
        return SHPOOL_ERR_ALIGNMENT;
    }
    return shpool_fits_block(pool, start, pool->shared_bytes) ? SHPOOL_OK : SHPOOL_ERR_LAUNCH;
}

/* Reset the statistics area, which is SHPOOL_AREA_FRONT behind the block's base; one thread of the
 * block. */
SIMT_FN void shpool_area_init(const shpool_pool *pool, simt_addr area)
{
    uint32_t i;

    SIMT_ROLLED
    for (i = 0; i < pool->area_bytes; i += 4u) {
        simt_store32(area - SHPOOL_AREA_FRONT + i, 0);
    }
    simt_store64(area + SHPOOL_AREA_REPORT, (unsigned long long)(size_t)pool->report);
    simt_store32(area + SHPOOL_AREA_FASTEST, ~0u);
    simt_store32(area + SHPOOL_AREA_CAPACITY, pool->largest * pool->pools);
    simt_store32(area + SHPOOL_AREA_SLOTS, pool->spill_slots);
    simt_store32(area + SHPOOL_AREA_SLOT_BYTES, pool->spill_bytes);
    simt_store32(area + SHPOOL_AREA_SHIFT, pool->spill_shift);
}

/* The heap of the calling thread over pools of pool_bytes each at `base`, initialised. */
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
    heap.view.area     = (SHPOOL_HAS_AREA != 0) ? area : 0u; /* a constant 0 leaves no trace */
    heap.window        = simt_window();
    heap.allocate      = pool->allocate;
    heap.release       = pool->release;
    heap.allocate_group = pool->allocate_group;
    heap.release_group = pool->release_group;
    heap.table         = pool->table;

    if (pool_bytes != 0) {
        if ((member == 0) && (shpool_waiters(heap.view) != 0)) {
            simt_store64(shpool_waiters(heap.view), SHPOOL_WAIT_NOBODY);
        }
        SHPOOL_DO(heap, init, (heap.view, member, (here < pool->threads_per_pool)
                                                      ? here : pool->threads_per_pool));
    }
    return heap;
}

SIMT_FN shpool_heap shpool_empty_heap(void)
{
    shpool_heap heap = {{0, 0, 0, 0, {0, 0}, 0}, 0, NULL, NULL, NULL, NULL, NULL};

    heap.view.flags = SHPOOL_HEAP_FLAGS(0u); /* where all heaps have a flag, nothing asks for it */
    return heap;
}

/**
 * Make the pools of this block, and get the calling thread's heap.
 *
 * Scope: all threads of the block, converged as for a barrier; has a barrier at either end (with
 * scope cluster the cluster's, all threads of all its blocks), so calling it again on the same
 * memory, when everybody is done with it, starts afresh (after shpool_fini(), if the pool has
 * stats, check or a spill option).  A thread that returned from the kernel before makes the block
 * hang.
 *
 * @param [in] pool  the kernel's parameter, from shpool_open(); the same in all threads
 * @param [in] base  pool->shared_bytes bytes of this block's shared memory, aligned to
 *                   pool->alignment: the dynamic shared memory, a part of it, or an array
 *                   (nvlink, with -rdc=true, does not honour an alignment above 16 of an extern
 *                   array behind static ones: align such a base yourself)
 * @return the heap.  It is empty where base is not shared memory or not aligned, where the launch
 *         reserved less than the pool needs or has more threads than it was planned for, or where
 *         the pool is of another ABI or binding; the reason is in the report, if there is one.
 */
SIMT_FN shpool_heap shpool_init(const shpool_pool *pool, void *base)
{
    shpool_status status = shpool_init_status(pool, base);
    shpool_heap   heap;
    simt_addr     start  = simt_to_shared(base);
    uint32_t      fits   = (status == SHPOOL_OK);

    SHPOOL_BARRIER(pool->flags); /* whoever still works in a pool that was here before */
    if (status == SHPOOL_OK) {
        if (SHPOOL_HAS_AREA && (pool->area_bytes != 0) && (simt_thread_rank() == 0)) {
            shpool_area_init(pool, start + SHPOOL_AREA_FRONT);
        }
    } else if ((pool->abi == SHPOOL_ABI) && (pool->report != NULL) && (simt_thread_rank() == 0)) {
        shpool_report_data *report = (shpool_report_data *)pool->report;

        simt_global_store32(&report->status, (uint32_t)status);
        (void)simt_global_add32(&report->empty, 1);
    }
    /* Not an empty heap in another branch: what is the same in both is then read from the kernel's
     * parameters where it is needed, and takes no registers in between. */
    heap = shpool_init_pools(pool, start + pool->area_bytes, fits ? pool->pool_bytes : 0u,
                             fits ? pool->word[0] : 0u, fits ? pool->word[1] : 0u,
                             (fits && (pool->area_bytes != 0)) ? start + SHPOOL_AREA_FRONT : 0u);
    if (!fits) {
        heap.view.flags &= (uint32_t)SHPOOL_FLAG_NAMED;
    }
    SHPOOL_BARRIER(pool->flags); /* every pool is ready, also for threads that did not make it */
    return heap;
}

/**
 * Make further pools in the kernel, of the same allocator and shape, from a base and a size.
 *
 * Scope: as shpool_init().  For sub-pools: a base that shpool_malloc() gave to one thread, handed
 * to all (with scope cluster all blocks give the same offset and bytes).  Never spills.  Pools
 * opened with stats, check or a spill option give empty heaps here: their area belongs to the
 * region.
 *
 * @param [in] pool   which allocator, threads per pool and alignment
 * @param [in] base   shared memory, aligned to pool->alignment
 * @param [in] bytes  of it; divided among pool->pools pools
 * @return the heap; empty where base or bytes do not do (no pool would hold one allocation)
 */
SIMT_FN shpool_heap shpool_init_bytes(const shpool_pool *pool, void *base, uint32_t bytes)
{
    shpool_heap   heap  = shpool_empty_heap();
    shpool_layout layout = {0, 0, {0, 0}};
    uint32_t      each   = 0;

    SHPOOL_BARRIER(pool->flags);
    if ((pool->abi == SHPOOL_ABI) && SHPOOL_BOUND(pool) && simt_is_shared(base) &&
        (pool->area_bytes == 0) && shpool_fits_block(pool, simt_to_shared(base), bytes) &&
        ((simt_to_shared(base) & (pool->alignment - 1u)) == 0) &&
        (simt_block_threads() <= pool->block_threads)) {
        heap.table = pool->table;
        each       = (bytes / pool->pools) & ~(pool->alignment - 1u);
        layout     = SHPOOL_DO(heap, layout, (each - shpool_wait_bytes(pool->flags, each),
                                              pool->alignment));
        heap       = shpool_empty_heap();
    }
    if (layout.bytes != 0) {
        heap = shpool_init_pools(pool, simt_to_shared(base), each, layout.word[0], layout.word[1],
                                 0);
        heap.view.flags &= (uint32_t)SHPOOL_FLAG_ALIGN_MASK | (uint32_t)SHPOOL_FLAG_LEADER |
                           (uint32_t)SHPOOL_FLAG_SHARED | (uint32_t)SHPOOL_FLAG_CLUSTER |
                           (uint32_t)SHPOOL_FLAG_NAMED;
    }
    SHPOOL_BARRIER(pool->flags);
    return heap;
}

/**
 * End the block's use of its pools: closes the statistics.
 *
 * Scope: all threads of the block, converged as for a barrier.  Costs nothing unless the pool was
 * opened with stats, check or a spill option; then it has barriers, gives the slot of spill=arena
 * back, counts what was never freed and, with check, walks every pool and lists the leaks (what was
 * spilled is counted, not listed).  With scope cluster it always has the cluster's barrier:
 * no block may exit while a neighbour uses its memory.  Nothing may be allocated, used or freed
 * afterwards.
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
            simt_cluster_barrier(); /* it looked at the neighbours' pools */
        }
    }
#else
    (void)heap;
#endif
}

/* ---- malloc and free ---- */

/* A module's address, not 0, as a pointer.  Where it can only be the own block's the conversion
 * tells nvcc so, and the caller's accesses become LDS and STS. */
SIMT_FN void *shpool_pointer(shpool_heap heap, simt_addr addr)
{
#if SHPOOL_CLUSTERED
    return simt_from_window(heap.window, addr);
#else
    (void)heap;
    return simt_from_shared(addr);
#endif
}

/* alignment: a power of two, 16 up to the configured one. */
SIMT_FN void *shpool_malloc_as(shpool_heap heap, size_t bytes, uint32_t alignment, uint32_t site)
{
    simt_addr addr = 0;
    uint32_t  want = (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;

    if (heap.view.bytes != 0) {
        addr = SHPOOL_DO(heap, allocate, (heap.view, (want != 0) ? want : 1u, alignment, site));
    }
    if (addr != 0) {
        return shpool_pointer(heap, addr);
    }
#if SHPOOL_HAS_AREA
    if ((heap.view.flags & SHPOOL_FLAGS_SLOW) != 0) {
        return SHPOOL_DO(heap, spill, (heap.view, (bytes != 0) ? bytes : 1u, alignment));
    }
#endif
    return NULL;
}

/**
 * Allocate at least `bytes` bytes, aligned to 16, contents undefined.
 *
 * malloc(0) behaves like malloc(1).
 * @return the allocation; NULL if it did not fit at some instant of the call (also for sizes near
 *         SIZE_MAX), where other allocations count until their frees have returned, or the heap is
 *         empty; never traps.  With SHPOOL_CAP_SPILL it may lie in global memory.
 */
SIMT_FN void *shpool_malloc(shpool_heap heap, size_t bytes)
{
    return shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, 0);
}

/** shpool_malloc() for a call site of the caller's numbering: with check=1 the report names it
 *  beside leaks, overruns and double frees of this allocation. */
SIMT_FN void *shpool_malloc_at(shpool_heap heap, size_t bytes, uint32_t site)
{
    return shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, site);
}

/**
 * Allocate in this block's shared memory or not at all, so that the compiler reaches it with LDS
 * and STS.
 * @return as shpool_malloc(), never global memory nor, with scope cluster, a neighbour's
 */
SIMT_FN void *shpool_malloc_shared(shpool_heap heap, size_t bytes)
{
    heap.view.flags &= ~(uint32_t)(SHPOOL_FLAG_SPILL | SHPOOL_FLAG_CLUSTER);
    return shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, 0);
}

/* The alignment to ask the allocator for; 0: it cannot be had. */
SIMT_FN uint32_t shpool_alignment(shpool_heap heap, size_t alignment)
{
    uint32_t most = 1u << ((heap.view.flags & (uint32_t)SHPOOL_FLAG_ALIGN_MASK) >>
                           SHPOOL_FLAG_ALIGN_SHIFT);

    if ((alignment == 0) || (alignment > most) || ((alignment & (alignment - 1u)) != 0)) {
        return 0;
    }
    return (alignment < SHPOOL_MIN_ALIGNMENT) ? SHPOOL_MIN_ALIGNMENT : (uint32_t)alignment;
}

/**
 * Allocate at a multiple of `alignment`.
 * @param [in] alignment  a power of two up to the pool's configured alignment; below 16: 16
 * @return as shpool_malloc(); NULL also for any other alignment
 */
SIMT_FN void *shpool_aligned_malloc(shpool_heap heap, size_t alignment, size_t bytes)
{
    uint32_t use = shpool_alignment(heap, alignment);

    return (use != 0) ? shpool_malloc_as(heap, bytes, use, 0) : NULL;
}

/**
 * Give an allocation back; NULL has no effect.
 *
 * The caller's accesses to it come before; no barrier inside.
 * @param [in] ptr   exactly what an allocating function of this pool returned
 * @param [in] site  the caller's number for this call site, for the report; 0: none
 * @return SHPOOL_FREE_OK, or why it was refused: a foreign, interior or double free.  Allocators
 *         with SHPOOL_CAP_REFUSES refuse all of them always, the others with check=1.
 */
SIMT_FN uint32_t shpool_free_at(shpool_heap heap, void *ptr, uint32_t site)
{
    /* before the pointer loses its top half */
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

/** shpool_free_at() without a site and without an answer. */
SIMT_FN void shpool_free(shpool_heap heap, void *ptr)
{
    (void)shpool_free_at(heap, ptr, 0);
}

#include <shpool/family.h> /* what builds on these */
#include <shpool/scratch.h>
#include <shpool/group.h>
#include <shpool/wait.h>

#endif /* SHPOOL_HEAP_H */
