/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/scratch.h
 * Scratch memory: marks, and allocations that a whole block or warp makes as one.
 *
 * With an allocator that has marks (SHPOOL_CAP_MARK: arena) a function takes what it needs and
 * leaves nothing behind, whatever the functions that it calls do in between:
 *
 *     static __device__ void step(shpool_heap heap, ...)
 *     {
 *         uint32_t mark = shpool_mark(heap);
 *         float   *tile = (float *)shpool_malloc(heap, n * sizeof *tile);
 *         ...
 *         shpool_release(heap, mark);            // tile, and all else since the mark
 *     }
 *
 * Included by shpool/heap.h: kernels need no other header.
 */
#ifndef SHPOOL_SCRATCH_H
#define SHPOOL_SCRATCH_H

#include <shpool/heap.h>

/* ---- marks ---- */

/**
 * Remember where the calling thread's pool stands.
 *
 * Scope: any thread, alone.  A mark is a number: copy it, keep several, in any order of nesting.
 * @return for shpool_release(); SHPOOL_NO_MARK if the allocator has no marks, if the heap is empty
 *         or, with check=1, if the pool is damaged
 */
SIMT_FN uint32_t shpool_mark(shpool_heap heap)
{
    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, rewind, (heap.view, SHPOOL_NO_MARK))
                                  : SHPOOL_NO_MARK;
}

/**
 * Free all that was allocated from the calling thread's pool since a mark.
 *
 * Scope: one thread of those that share the pool, while none of them works in it (with
 *        threads_per_pool=1: any time).  Whoever used what is released comes before, by a barrier.
 * What was allocated before the mark stays.  Do not free it before the mark is released: what then
 * takes its place counts as older than the mark.  Spilled allocations are not released:
 * free them.  Marks that were taken since are void.
 * @param [in] mark  from shpool_mark() of a thread with the same pool; SHPOOL_NO_MARK has no effect
 * @return 1; 0, and nothing is released, if the allocator has no marks, if the pool has gone below
 *         the mark since (by frees or an older mark), or, with check=1, if the pool is damaged
 */
SIMT_FN uint32_t shpool_release(shpool_heap heap, uint32_t mark)
{
    return ((heap.view.bytes != 0) && (mark != SHPOOL_NO_MARK))
               ? SHPOOL_DO(heap, rewind, (heap.view, mark)) : 0u;
}

/**
 * Free all that the calling thread's pool holds.  Scope and answer: as shpool_release().
 */
SIMT_FN uint32_t shpool_reset(shpool_heap heap)
{
    return shpool_release(heap, 0);
}

/* ---- one request, every thread gets the pointer ---- */

/**
 * Allocate for the whole block: one malloc, by the block's first thread from its pool.
 *
 * Scope: all threads of the block, converged as for a barrier, with the same bytes; has barriers,
 *        so that all that the block did before is ordered in front of what it does with the memory.
 *        Uses 8 bytes of static shared memory, whatever the number of calls.
 * @return the same in all threads: as shpool_malloc().  Give it back with shpool_free_block(), or,
 *         as any allocation, by a thread that may free what the first one allocated.
 */
SIMT_FN void *shpool_malloc_block(shpool_heap heap, size_t bytes)
{
    void *ptr = NULL;

    if (simt_thread_rank() == 0) {
        ptr = shpool_malloc(heap, bytes);
    }
    return (void *)(size_t)simt_broadcast((unsigned long long)(size_t)ptr);
}

/**
 * Give back what shpool_malloc_block() returned.
 *
 * Scope: all threads of the block, converged as for a barrier: it has one, behind which the first
 *        thread frees.
 * @param [in] ptr  the same in all threads; NULL: a barrier and nothing else
 */
SIMT_FN void shpool_free_block(shpool_heap heap, void *ptr)
{
    simt_barrier();
    if (simt_thread_rank() == 0) {
        shpool_free(heap, ptr);
    }
}

/* The calling thread's warp, as far as the block has threads for it. */
SIMT_FN uint32_t shpool_warp_lanes(void)
{
    uint32_t first = simt_warp() * SIMT_WARP;
    uint32_t rest  = simt_block_threads() - first;

    return simt_mask(0, (rest < SIMT_WARP) ? rest : SIMT_WARP);
}

/**
 * Allocate for the whole warp: one malloc, by its first lane from its pool.
 *
 * Scope: all threads of the warp that the block has, converged, with the same bytes.
 * @return the same in all of them: as shpool_malloc_block()
 */
SIMT_FN void *shpool_malloc_warp(shpool_heap heap, size_t bytes)
{
    const uint32_t     lanes = shpool_warp_lanes();
    unsigned long long at    = 0;
    uint32_t           high;
    uint32_t           low;

    simt_warp_sync(lanes);
    if (simt_lane() == 0) {
        at = (unsigned long long)(size_t)shpool_malloc(heap, bytes);
    }
    low  = simt_shfl(lanes, (uint32_t)at, 0);
    high = simt_shfl(lanes, (uint32_t)(at >> 32), 0);
    simt_warp_sync(lanes); /* the others come behind what the first lane acquired */
    return (void *)(size_t)(((unsigned long long)high << 32) | low);
}

/**
 * Give back what shpool_malloc_warp() returned.  Scope: as shpool_malloc_warp(); the first lane
 * frees when all have come.
 */
SIMT_FN void shpool_free_warp(shpool_heap heap, void *ptr)
{
    simt_warp_sync(shpool_warp_lanes());
    if (simt_lane() == 0) {
        shpool_free(heap, ptr);
    }
}

#endif /* SHPOOL_SCRATCH_H */
