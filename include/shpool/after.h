/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/after.h
 * Frees that wait for an asynchronous copy: shpool_free_after().
 *
 * An allocation that a bulk copy (TMA) still writes or reads must not be freed: the copy would
 * overwrite the next owner's data, or read it.  A queue of pending frees remembers such allocations
 * and frees them when the copy has ended, so that the thread need not wait:
 *
 *     shpool_after after = shpool_after_init(heap, 8);      // one thread, room for 8 frees
 *     for (...) {
 *         void *tile = shpool_after_malloc(&after, bytes);  // as large as this tile needs
 *         ...                                               // fill it
 *         simt_fence_async();
 *         simt_copy_async_out(global, simt_to_shared(tile), bytes);
 *         shpool_free_after_group(&after, tile);            // it is read some time later
 *     }
 *     shpool_after_fini(&after);
 *
 * examples/pipeline.cu shows both directions; doc/AFTER.md explains when to use which.
 *
 * Scope.  A queue belongs to the thread that made it: a struct among its variables, passed by
 * address to these inlined functions, which leaves it in registers.  That thread frees the
 * allocation, so the pool's scope must permit it (shpool-info show NAME).  Any number of threads of
 * a block may have queues of their own.
 * Contents: allocations of the queue's heap, in shared memory or, if the heap spills, in global
 * memory.  Any other pointer is refused when its turn comes, as by shpool_free().
 * Order.  Everything the phase has acquired, and the copies of a group, happen before the free.
 *
 * Limits.  A queue does not wait for groups of other threads; use an mbarrier for that.  The parity
 * of an mbarrier distinguishes only two phases: call shpool_after_poll() at least once between the
 * end of a phase that the queue waits for and the end of the next phase of the same mbarrier.
 *
 * mbarriers and cp.async need sm_80 or newer, bulk copies sm_90 or newer; the functions are not
 * declared for older architectures.  Kernels that do not call them are unchanged.
 */
#ifndef SHPOOL_AFTER_H
#define SHPOOL_AFTER_H

#include <shpool/heap.h>

#if SIMT_HAS_MBARRIER

/** One thread's queue of pending frees.  Created by shpool_after_init(); do not copy it. */
typedef struct shpool_after {
    shpool_heap heap;
    simt_addr   entries; /**< 16 bytes each, oldest first: pointer, mbarrier, parity */
    uint32_t    slots;   /**< entries there is room for */
    uint32_t    count;   /**< entries in use */
    uint32_t    groups;  /**< of those, entries that wait for a group of bulk copies */
    uint32_t    copies;  /**< entries that wait for a group of cp.async */
} shpool_after;

/* Stored in place of an mbarrier's address, a multiple of 8: the entry waits for a group. */
#define SHPOOL_AFTER_GROUP  1u
#define SHPOOL_AFTER_COPIES 2u

/**
 * Create an empty queue with room for `slots` pending frees.
 *
 * Scope: the calling thread alone.
 * @param [in] heap   the heap of the allocations; its shared memory also provides 16 bytes per slot
 * @param [in] slots  any number; 0 creates a queue without memory
 * @return the queue.  If the slots do not fit in the heap, the queue has none: each call then waits
 *         for its copy immediately, which is slower but equally safe.
 */
SIMT_FN shpool_after shpool_after_init(shpool_heap heap, uint32_t slots)
{
    void *entries = (slots != 0) ? shpool_malloc_shared(heap, (size_t)slots * 16u) : NULL;
    shpool_after after;

    after.heap    = heap;
    after.entries = (entries != NULL) ? simt_to_shared(entries) : 0u;
    after.slots   = (entries != NULL) ? slots : 0u;
    after.count   = 0;
    after.groups  = 0;
    after.copies  = 0;
    return after;
}

SIMT_FN void *shpool_after_pointer(simt_u128 entry)
{
    return (void *)(size_t)(((unsigned long long)entry.y << 32) | entry.x);
}

/* Free the entries known to be done: the first `oldest` entries, the first `read` groups of bulk
 * copies, the first `landed` groups of cp.async, and all whose phase has ended.  The others move
 * up.  Returns the number freed. */
SIMT_FN uint32_t shpool_after_sweep(shpool_after *after, uint32_t oldest, uint32_t read,
                                    uint32_t landed)
{
    uint32_t count = after->count;
    uint32_t kept  = 0;
    uint32_t i;

    SIMT_ROLLED
    for (i = 0; i < count; i++) {
        simt_u128 entry = simt_load128(after->entries + 16u * i);
        int       is_done;

        if (entry.z == SHPOOL_AFTER_GROUP) {
            is_done = (read != 0);
            read   -= (is_done != 0);
            after->groups -= (is_done != 0);
        } else if (entry.z == SHPOOL_AFTER_COPIES) {
            is_done = (landed != 0);
            landed -= (is_done != 0);
            after->copies -= (is_done != 0);
        } else {
            is_done = (i < oldest) || simt_mbar_test(entry.z, entry.w);
        }
        if (is_done) {
            shpool_free(after->heap, shpool_after_pointer(entry));
        } else {
            simt_store128(after->entries + 16u * kept, entry);
            kept++;
        }
    }
    after->count = kept;
    return count - kept;
}

/**
 * Free the entries whose phases have ended; does not wait.
 *
 * The hardware cannot report whether a group has been read, except by waiting for it.  Entries that
 * wait for groups therefore stay until a call waits (a full queue, shpool_after_malloc(),
 * shpool_after_fini()).
 * @return the number of blocks freed
 */
SIMT_FN uint32_t shpool_after_poll(shpool_after *after)
{
    return shpool_after_sweep(after, 0, 0, 0);
}

#if SIMT_HAS_BULK
/* Wait for the oldest of `pending` groups, and for as few more as the instruction's constants
 * allow.  Returns the number waited for.  Groups that the queue does not know of are younger than
 * the oldest, so they make the wait longer, never shorter. */
SIMT_FN uint32_t shpool_after_wait_groups(uint32_t pending)
{
    if (pending > 7u) {
        simt_copy_wait_read(7);
        return pending - 7u;
    }
    if (pending > 3u) {
        simt_copy_wait_read(3);
        return pending - 3u;
    }
    if (pending > 1u) {
        simt_copy_wait_read(1);
        return pending - 1u;
    }
    simt_copy_wait_read(0);
    return pending;
}
#endif

/* The same for groups of cp.async. */
SIMT_FN uint32_t shpool_after_wait_copies(uint32_t pending)
{
    if (pending > 2u) {
        simt_copy16_wait(2);
        return pending - 2u;
    }
    simt_copy16_wait(0);
    return pending;
}

/**
 * Wait for the oldest pending free, then perform it and all others that are due.
 *
 * The phase that it waits for must not depend on the calling thread.
 * @return the number of allocations freed; 0: nothing was pending
 */
SIMT_FN uint32_t shpool_after_wait(shpool_after *after)
{
    simt_u128 oldest;

    if (after->count == 0) {
        return 0;
    }
    oldest = simt_load128(after->entries);
#if SIMT_HAS_BULK
    if (oldest.z == SHPOOL_AFTER_GROUP) {
        return shpool_after_sweep(after, 0, shpool_after_wait_groups(after->groups), 0);
    }
#endif
    if (oldest.z == SHPOOL_AFTER_COPIES) {
        return shpool_after_sweep(after, 0, 0, shpool_after_wait_copies(after->copies));
    }
    simt_mbar_wait(oldest.z, oldest.w);
    return shpool_after_sweep(after, 1, 0, 0);
}

/* Nonzero: the allocation is queued, after making room if necessary; 0: the queue has no memory. */
SIMT_FN int shpool_after_put(shpool_after *after, void *ptr, simt_addr mbar, uint32_t parity)
{
    unsigned long long bits = (unsigned long long)(size_t)ptr;
    simt_u128          entry;

    if (after->slots == 0) {
        return 0;
    }
    if ((after->count == after->slots) && (shpool_after_poll(after) == 0)) {
        (void)shpool_after_wait(after);
    }
    entry.x = (uint32_t)bits;
    entry.y = (uint32_t)(bits >> 32);
    entry.z = mbar;
    entry.w = parity;
    simt_store128(after->entries + 16u * after->count, entry);
    after->count++;
    after->groups += (mbar == SHPOOL_AFTER_GROUP);
    after->copies += (mbar == SHPOOL_AFTER_COPIES);
    return 1;
}

/**
 * Free an allocation when a phase of an mbarrier has ended.
 *
 * For allocations that a copy writes (the mbarrier that it completes on), and for allocations that
 * other threads still read (an mbarrier at which they arrive when they are done).  Frees at once if
 * the phase has ended.  A full queue frees the entries that are due.  If none is due, it waits for
 * its oldest entry, whose phase must not depend on the calling thread.
 * @param [in] ptr     from the queue's heap; NULL has no effect.  The caller must not use it
 *                     afterwards.
 * @param [in] mbar    outlives the pending free; must not be part of the allocation
 * @param [in] parity  of the phase, 0 or 1, as for simt_mbar_wait()
 */
SIMT_FN void shpool_free_after(shpool_after *after, void *ptr, simt_addr mbar, uint32_t parity)
{
    if (ptr == NULL) {
        return;
    }
    if (simt_mbar_test(mbar, parity)) {
        shpool_free(after->heap, ptr);
    } else if (!shpool_after_put(after, ptr, mbar, parity)) {
        simt_mbar_wait(mbar, parity);
        shpool_free(after->heap, ptr);
    }
}

/**
 * Free an allocation when the calling thread's cp.async copies have landed in it.
 *
 * Ends the thread's group of copies (simt_copy16_commit()), and frees the allocation some time
 * after that group has landed.
 * @param [in] ptr  from the queue's heap, destination of copies since the last commit or before;
 *                  NULL: only the group is ended
 */
SIMT_FN void shpool_free_after_copies(shpool_after *after, void *ptr)
{
    simt_copy16_commit();
    if ((ptr != NULL) && !shpool_after_put(after, ptr, SHPOOL_AFTER_COPIES, 0)) {
        simt_copy16_wait(0);
        shpool_free(after->heap, ptr);
    }
}

#if SIMT_HAS_BULK

/**
 * Free an allocation when the calling thread's copies out of shared memory have read it.
 *
 * Ends the thread's group of copies (simt_copy_commit()), and frees the allocation some time after
 * that group has been read.  It does not wait until the bytes have arrived in global memory: call
 * simt_copy_wait(0) if the same kernel needs that; later kernels need nothing.
 * @param [in] ptr  from the queue's heap, source of copies since the last commit or before; NULL:
 *                  only the group is ended
 */
SIMT_FN void shpool_free_after_group(shpool_after *after, void *ptr)
{
    simt_copy_commit();
    if ((ptr != NULL) && !shpool_after_put(after, ptr, SHPOOL_AFTER_GROUP, 0)) {
        simt_copy_wait_read(0);
        shpool_free(after->heap, ptr);
    }
}

/**
 * Allocate shared memory for copies: shpool_malloc_shared() that, if necessary, performs pending
 * frees first and waits for them, oldest first, like shpool_after_wait().
 *
 * Issues the simt_fence_async() that a copy into memory written by other threads requires.  For an
 * alignment above 16, call shpool_aligned_malloc(), shpool_after_wait() while that fails, and the
 * fence.  With stats=1, attempts that are followed by another one count as `waits`.
 * @return the allocation, aligned to 16; NULL if it does not fit although nothing is pending any
 *         more.  Entries of other threads' queues are not waited for
 */
SIMT_FN void *shpool_after_malloc(shpool_after *after, size_t bytes)
{
    shpool_heap heap = shpool_heap_unspilled(after->heap);
    void       *ptr;

    heap.view.flags &= ~(uint32_t)SHPOOL_FLAG_CLUSTER;
    ptr = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, SHPOOL_SITE_WAIT);

    SIMT_ROLLED
    while ((ptr == NULL) && (after->count != 0)) {
        shpool_note_wait(heap); /* not a failure: with stats=1 it counts as one of `waits` */
        if (shpool_after_poll(after) == 0) {
            (void)shpool_after_wait(after);
        }
        ptr = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, SHPOOL_SITE_WAIT);
    }
    simt_fence_async();
    return ptr;
}

#endif /* SIMT_HAS_BULK */

/** Wait for all pending frees, perform them, and free the queue's own memory. */
SIMT_FN void shpool_after_fini(shpool_after *after)
{
    SIMT_ROLLED
    while (after->count != 0) {
        (void)shpool_after_wait(after);
    }
    if (after->slots != 0) {
        shpool_free(after->heap, simt_from_shared(after->entries));
        after->slots = 0;
    }
}

#endif /* SIMT_HAS_MBARRIER */

#endif /* SHPOOL_AFTER_H */
