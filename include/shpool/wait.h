/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/wait.h
 * Waiting for room: the producer's side of a pipeline whose consumers free.
 *
 * Included by shpool/heap.h: kernels need no other header.
 */
#ifndef SHPOOL_WAIT_H
#define SHPOOL_WAIT_H

#include <shpool/heap.h>

#define SHPOOL_PAUSE_LEAST 32u   /* nanoseconds; doubled with each attempt */
#define SHPOOL_PAUSE_MOST  1000u

/* The attempt was counted as a request that failed: it is one that waits. */
SIMT_FN void shpool_note_wait(shpool_heap heap)
{
#if SHPOOL_COUNTED
    if ((heap.view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) {
        shpool_count(heap.view, SHPOOL_AREA_MALLOCS, 0u - 1u);
        shpool_count(heap.view, SHPOOL_AREA_FAILURES, 0u - 1u);
        shpool_count(heap.view, SHPOOL_AREA_WAITS, 1);
    }
#else
    (void)heap;
#endif
}

/**
 * Allocate in shared memory, waiting for other threads' frees where there is no room.
 *
 * Scope: any thread, alone, as shpool_malloc().  Lanes of one warp may wait for each other: a lane
 * that got memory goes on while others of its warp still wait.  Between attempts a thread sleeps,
 * about 32 ns at first, twice as long each time, about 1 us at most.
 * Never spills: a pool with a spill option answers with NULL, and shpool_malloc() spills.  With
 * scope cluster it borrows, as shpool_malloc() does.  A request that no free could make room for
 * uses up all its attempts.
 *
 * @param [in] bytes     as shpool_malloc()
 * @param [in] attempts  how often to try, at least once; what all who could free wait for as well
 *                       ends that way, so no number makes a deadlock
 * @return as shpool_malloc(): NULL if no attempt succeeded
 */
SIMT_FN void *shpool_malloc_wait(shpool_heap heap, size_t bytes, uint32_t attempts)
{
    uint32_t pause = SHPOOL_PAUSE_LEAST;
    void    *ptr;

    heap.view.flags &= ~(uint32_t)SHPOOL_FLAG_SPILL;
    ptr = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, SHPOOL_SITE_WAIT);

    SIMT_ROLLED
    while ((ptr == NULL) && (attempts > 1u) && (heap.view.bytes != 0)) {
        shpool_note_wait(heap);
        simt_pause(pause);
        pause = (pause < SHPOOL_PAUSE_MOST / 2u) ? pause * 2u : SHPOOL_PAUSE_MOST;
        attempts--;
        ptr = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, SHPOOL_SITE_WAIT);
    }
    return ptr;
}

#endif /* SHPOOL_WAIT_H */
