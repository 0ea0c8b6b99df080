/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/scratch.h
 * Scratch memory: marks.
 *
 * With an allocator that has marks (SHPOOL_CAP_MARK: arena), a function can allocate what it needs
 * and release all of it at the end, whatever the functions that it calls have allocated:
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

/**
 * Free everything in the calling thread's pool.  Scope and return value: as shpool_release().
 */
SIMT_FN uint32_t shpool_reset(shpool_heap heap)
{
    return shpool_release(heap, 0);
}

#endif /* SHPOOL_SCRATCH_H */
