/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/scratch.h
 * Scratch memory: marks.
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

#endif /* SHPOOL_SCRATCH_H */
