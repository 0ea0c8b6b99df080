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

/* The attempt was counted as a request that failed: it is one that waits. */
SIMT_FN void shpool_note_wait(shpool_heap heap)
{
#if SHPOOL_HAS_AREA
    if (heap.view.area != 0) {
        (void)shpool_count(heap.view, SHPOOL_AREA_FAILURES, 0u - 1u);
        if ((heap.view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) {
            (void)shpool_count(heap.view, SHPOOL_AREA_MALLOCS, 0u - 1u);
            (void)shpool_count(heap.view, SHPOOL_AREA_WAITS, 1);
        }
    }
#else
    (void)heap;
#endif
}

/* The heap of requests that wait: they do not spill, unless there is no pool to wait for. */
SIMT_FN shpool_heap shpool_heap_to_wait(shpool_heap heap)
{
    return (heap.view.bytes != 0) ? shpool_heap_unspilled(heap) : heap;
}

/* Number of attempts: only one for a request that no other thread's free can serve, because it is
 * too large, or because no other thread uses the pool.  It would also block the queue meanwhile. */
SIMT_FN uint32_t shpool_wait_attempts(shpool_heap heap, size_t bytes, uint32_t attempts)
{
    unsigned long long most = ((heap.view.flags & SHPOOL_FLAG_SHARED) != 0) ? heap.largest : 0u;

    if (heap.view.bytes == 0) {
#if SHPOOL_SPILLS
        most = shpool_spill_most(heap.view);
#else
        most = 0;
#endif
    }
    return ((bytes > most) || (most == 0)) ? 1u : attempts;
}

/**
 * Allocate in shared memory, waiting for other threads' frees where there is no room.
 *
 * Scope: any thread, alone, as shpool_malloc().  Lanes of one warp may wait for each other: a lane
 * that got memory goes on while others of its warp still wait.
 *
 * Requests are tried in the order in which they began to wait; the others, and new ones, sleep
 * meanwhile.  While there is room the first four are tried together.  Once the oldest was tried in
 * vain, a younger one is tried only at its last attempt, or out of turn as said below, so that
 * small requests with many attempts do not overtake a large one for ever (doc/GROUPS.md, "Who is
 * served first").  shpool_malloc(), which never waits, does not stand in line.  A request that has
 * slept 65 times, about 65 microseconds, while nobody left the line is tried out of turn: the one
 * at the head may need memory that it holds.  At its turn a thread sleeps 32 ns between attempts at
 * first, twice as long each time up to 128 ns, and then 16 ns more each time up to 1 us; otherwise
 * it sleeps about 1 us.
 *
 * Never spills from a pool: with a spill option it returns NULL where shpool_malloc() spills.
 * `native`, which has no pool, tries CUDA's heap, or its slot, each time.  With scope cluster the
 * call borrows, as shpool_malloc() does.
 *
 * A request that no free can serve is tried once, past the line: one of more than `largest` bytes
 * of the plan, one of an alignment above the pool's, one in a pool that no other thread uses.  The
 * report then says why (shpool_report_data.refused), except for the last one.  An aligned request
 * of nearly `largest` bytes may use up its attempts.
 *
 * @param [in] bytes     as shpool_malloc()
 * @param [in] attempts  how often to try, or to sleep in place of a try; the last one is a try.  1,
 *                       and 0: one try, past the line.  If all threads that could free wait too,
 *                       the call ends with NULL after its attempts.
 * @return as shpool_malloc(): NULL if no attempt succeeded
 */
SIMT_FN void *shpool_malloc_wait(shpool_heap heap, size_t bytes, uint32_t attempts)
{
    void       *ptr = NULL;
    uint32_t    asked;
    shpool_turn turn;

    heap     = shpool_heap_to_wait(heap);
    attempts = shpool_wait_attempts(heap, bytes, attempts);
    asked    = (attempts <= 1u) || !shpool_turn_is_taken(heap.view);
    if (asked) {
        ptr = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, SHPOOL_SITE_WAIT);
    }
    if ((ptr != NULL) || (attempts <= 1u)) {
        return ptr;
    }
    turn = shpool_turn_draw(heap.view, 0);
    SIMT_ROLLED
    do {
        if (asked) {
            shpool_note_wait(heap);
            shpool_turn_insist(&turn);
        }
        asked = shpool_turn_sleep(&turn) || (attempts == 2u); /* the last attempt is a try */
        if (asked) {
            ptr = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, SHPOOL_SITE_WAIT);
        }
        attempts--;
    } while ((ptr == NULL) && (attempts > 1u));
    shpool_turn_end(&turn);
    return ptr;
}

/* alignment: as the caller requested it. */
SIMT_FN void *shpool_malloc_wait_lanes_as(shpool_heap heap, uint32_t lanes, uint32_t alignment,
                                          size_t bytes, uint32_t attempts)
{
    const uint32_t first = shpool_first_lane(lanes);
    const uint32_t leads = simt_lane() == first;
    void          *ptr   = NULL;
    uint32_t       asked;
    shpool_turn    turn;

    if (!shpool_is_group(heap, lanes, NULL, bytes, shpool_rest(alignment, attempts), 0)) {
        return NULL;
    }
    heap     = shpool_heap_to_wait(heap);
    attempts = (shpool_alignment(heap, alignment) != 0)
                   ? shpool_wait_attempts(heap, bytes, attempts) : 1u;
    asked = (attempts <= 1u) || !leads || !shpool_turn_is_taken(heap.view);
    asked = simt_shfl(lanes, asked, first);
    if (asked != 0) {
        ptr = shpool_malloc_lanes_as(heap, lanes, bytes, alignment,
                                     (attempts > 1u) ? SHPOOL_SITE_TRY : SHPOOL_SITE_WAIT);
    }
    if ((ptr != NULL) || (attempts <= 1u)) {
        return ptr;
    }
    turn = shpool_turn_draw(heap.view, lanes);
    SIMT_ROLLED
    do {
        if (leads && (asked != 0)) {
            shpool_note_wait(heap);
        }
        if (asked != 0) {
            shpool_turn_insist(&turn);
        }
        asked = shpool_turn_sleep(&turn) || (attempts == 2u); /* the last attempt is a try */
        if (asked != 0) {
            ptr = shpool_malloc_lanes_as(heap, lanes, bytes, alignment, SHPOOL_SITE_WAIT);
        }
        attempts--;
    } while ((ptr == NULL) && (attempts > 1u));
    shpool_turn_end(&turn);
    return ptr;
}

/**
 * shpool_malloc_wait() for a group of lanes, which waits as one.
 *
 * Scope: the lanes of the mask, together (group.h).
 * @return the same in all of them: as shpool_malloc_wait()
 */
SIMT_FN void *shpool_malloc_wait_lanes(shpool_heap heap, uint32_t lanes, size_t bytes,
                                       uint32_t attempts)
{
    return shpool_malloc_wait_lanes_as(heap, lanes, SHPOOL_MIN_ALIGNMENT, bytes, attempts);
}

/** shpool_malloc_wait_lanes() at a multiple of `alignment`, as shpool_aligned_malloc(): one that
 *  cannot be had is refused at once. */
SIMT_FN void *shpool_aligned_malloc_wait_lanes(shpool_heap heap, uint32_t lanes, size_t alignment,
                                               size_t bytes, uint32_t attempts)
{
    return shpool_malloc_wait_lanes_as(heap, lanes, shpool_clamp(alignment), bytes, attempts);
}

/** shpool_malloc_wait_lanes() for all threads that the block has in the caller's warp. */
SIMT_FN void *shpool_malloc_wait_warp(shpool_heap heap, size_t bytes, uint32_t attempts)
{
    return shpool_malloc_wait_lanes(heap, shpool_warp_lanes(), bytes, attempts);
}

/** shpool_aligned_malloc_wait_lanes() for the warp. */
SIMT_FN void *shpool_aligned_malloc_wait_warp(shpool_heap heap, size_t alignment, size_t bytes,
                                              uint32_t attempts)
{
    return shpool_aligned_malloc_wait_lanes(heap, shpool_warp_lanes(), alignment, bytes, attempts);
}

/**
 * shpool_malloc_wait() for the whole block: its first warp waits, the others at a barrier; scope as
 * shpool_malloc_block().  What other threads of the block would have to free does not come while
 * they stand there: it is for memory that copies (after.h) or neighbours in a cluster free.
 */
SIMT_FN void *shpool_malloc_wait_block(shpool_heap heap, size_t bytes, uint32_t attempts)
{
    void *ptr = NULL;

    bytes = shpool_bytes_of_block(heap, bytes);
    heap  = shpool_heap_of_group(heap, simt_block_threads());
    if (simt_warp() == 0) {
        ptr = shpool_malloc_wait_warp(heap, bytes, attempts);
    }
    return shpool_ptr_of_block(ptr);
}

#endif /* SHPOOL_WAIT_H */
