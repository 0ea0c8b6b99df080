/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/group.h
 * Requests made by several threads together: lanes of a warp, a whole warp, or a whole block.
 *
 * A group makes a single request: one allocation, whose address every member gets, and one entry in
 * statistics, checks and traces.  Any thread or group that the allocator's scope permits may free
 * it, with any of the functions.  If the allocator supports it (SHPOOL_CAP_GROUP), all lanes of a
 * warp search together, which is many times faster than a search by one lane for a large request.
 *
 * The suffix of a name says which threads make the request:
 *
 *   ..._lanes   the lanes named in a mask, as in simt.h and CUDA's __ballot_sync(): it includes the
 *               caller, is the same in all lanes, and names only threads of the block.  Examples
 *               are a tile of 8 lanes, the lanes that took a branch, one lane.
 *   ..._warp    all threads of the block in the caller's warp
 *   ..._block   all threads of the block; these have barriers
 *
 * Members pass the same arguments and call together, as for a vote or a barrier.  With check=1,
 * members that disagree and impossible masks are counted and reported like bad frees, with the
 * reason SHPOOL_FREE_GROUP.  If a mask names a lane that never arrives, the others wait for it, as
 * in any vote.  If each thread, or a few threads, have a pool of their own, a group's memory comes
 * from the pool of its first thread.
 *
 * All members' accesses happen before the free, and the malloc happens before all of them: the
 * group needs no barrier of its own around these calls.
 *
 * Included by shpool/heap.h: kernels need no other header; shpool/groups.cuh offers the same for
 * the groups of cooperative_groups.
 */
#include <shpool/heap.h> /* before the guard: it includes this file after what this file needs */
#ifndef SHPOOL_GROUP_H
#define SHPOOL_GROUP_H

/* ---- lanes ---- */

/* The lowest lane of a mask. */
SIMT_FN uint32_t shpool_first_lane(uint32_t lanes)
{
    return simt_ffs(lanes) - 1u;
}

/* The threads of the block in the caller's warp. */
SIMT_FN uint32_t shpool_warp_lanes(void)
{
    uint32_t first = simt_warp() * SIMT_WARP;
    uint32_t rest  = simt_block_threads() - first;

    return simt_mask(0, (rest < SIMT_WARP) ? rest : SIMT_WARP);
}

/* The heap for a request of `members` threads. */
SIMT_FN shpool_heap shpool_heap_of_group(shpool_heap heap, uint32_t members)
{
    if ((SHPOOL_COUNTED != 0) && /* unless a larger group calls through this one */
        ((heap.view.flags & (uint32_t)SHPOOL_FLAG_MEMBERS_MASK) == 0)) {
        heap.view.flags |= (members - 1u) << SHPOOL_FLAG_MEMBERS_SHIFT;
    }
    return heap;
}

/* Broadcast 64 bits from lane `from`. */
SIMT_FN unsigned long long shpool_shfl64(uint32_t lanes, unsigned long long v, uint32_t from)
{
    uint32_t low  = simt_shfl(lanes, (uint32_t)v, from);
    uint32_t high = simt_shfl(lanes, (uint32_t)(v >> 32), from);

    return ((unsigned long long)high << 32) | low;
}

#if SHPOOL_COUNTED
/* Whether every lane of the mask has the first one's value. */
SIMT_FN uint32_t shpool_lanes_agree(uint32_t lanes, unsigned long long v)
{
    return simt_all(lanes, shpool_shfl64(lanes, v, shpool_first_lane(lanes)) == v) != 0;
}

/* Whether the mask is plausible, judging by the lanes that are converged now. */
SIMT_FN uint32_t shpool_lanes_are_sound(uint32_t lanes)
{
    uint32_t here = simt_converged();
    uint32_t same = simt_match_any(here, lanes);

    return ((lanes >> simt_lane()) & 1u) && ((lanes & ~shpool_warp_lanes()) == 0) &&
           ((same & lanes) == (here & lanes));
}

/* check=1: the members of a group disagree.  The request of one that allocates fails. */
SIMT_FN void shpool_note_group(shpool_heap heap, const void *ptr, size_t bytes,
                               unsigned long long rest, uint32_t site)
{
    shpool_note_bad_free(heap.view, ptr, SHPOOL_FREE_GROUP, site);
    if (rest != 0) {
        (void)shpool_not_served(heap, bytes, (uint32_t)(rest - 1u), site, SHPOOL_REFUSED_GROUP);
    }
}
#endif

/* A request that allocates, for `rest` below: not 0. */
SIMT_FN unsigned long long shpool_rest(uint32_t alignment, uint32_t attempts)
{
    return (((unsigned long long)attempts << 32) | alignment) + 1u;
}

/* check=1: whether the lanes agree about the request; reports it if they do not.  `rest`: of one
 * that allocates shpool_rest(), else 0. */
SIMT_FN uint32_t shpool_is_group(shpool_heap heap, uint32_t lanes, const void *ptr, size_t bytes,
                                 unsigned long long rest, uint32_t site)
{
#if SHPOOL_COUNTED
    if ((heap.view.flags & SHPOOL_FLAG_CHECK) != 0) {
        if (!shpool_lanes_are_sound(lanes)) {
            shpool_note_group(heap, ptr, bytes, rest, site);
            return 0;
        }
        if (!shpool_lanes_agree(lanes, (unsigned long long)(size_t)ptr) ||
            !shpool_lanes_agree(lanes, bytes) || !shpool_lanes_agree(lanes, rest)) {
            if (simt_lane() == shpool_first_lane(lanes)) {
                shpool_note_group(heap, ptr, bytes, rest, site);
            }
            return 0;
        }
    }
#else
    (void)heap;
    (void)lanes;
    (void)ptr;
    (void)bytes;
    (void)rest;
    (void)site;
#endif
    return 1;
}

/* Allocate for a group: all lanes call the allocator if it has functions for groups, else one. */
SIMT_FN simt_addr shpool_allocate_lanes(shpool_heap heap, uint32_t lanes, uint32_t bytes,
                                        uint32_t alignment, uint32_t site)
{
    simt_addr addr = 0;

    if (SHPOOL_GROUPED(heap)) {
        return SHPOOL_DO(heap, allocate_group, (heap.view, bytes, alignment, site, lanes));
    }
    simt_warp_sync(lanes);
    if (simt_lane() == shpool_first_lane(lanes)) {
        addr = SHPOOL_DO(heap, allocate, (heap.view, bytes, alignment, site));
    }
    simt_warp_sync(lanes); /* orders the others after what the first lane acquired */
    return simt_shfl(lanes, addr, shpool_first_lane(lanes));
}

/* The first lane whose pool contains the address; if there is none, the first lane. */
SIMT_FN uint32_t shpool_lane_with(shpool_heap heap, uint32_t lanes, const void *ptr)
{
    uint32_t mine = simt_is_within(heap.window, ptr) &&
                    (simt_to_shared(ptr) - heap.view.base < heap.view.bytes);
    uint32_t with = simt_ballot(lanes, mine != 0);

    return shpool_first_lane((with != 0) ? with : lanes);
}

/* If the mask is full, the two functions below are called with the constant SIMT_ALL_LANES: for a
 * constant full mask nvcc emits one instruction per __syncwarp, for any other mask about forty. */

/* alignment: as the caller requested it. */
SIMT_FN void *shpool_malloc_for(shpool_heap heap, uint32_t lanes, size_t bytes,
                                uint32_t alignment, uint32_t site)
{
    simt_addr addr = 0;
    uint32_t  want = (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;
    uint32_t  use  = shpool_alignment(heap, alignment);

    if (!shpool_is_group(heap, lanes, NULL, bytes, shpool_rest(alignment, 0), site)) {
        return NULL;
    }
    heap = shpool_heap_of_group(heap, simt_popc(lanes));
    if ((heap.view.bytes != 0) && (use != 0)) {
        addr = shpool_allocate_lanes(heap, lanes, (want != 0) ? want : 1u, use, site);
    }
    if (addr != 0) {
        return shpool_pointer(heap, addr);
    }
#if SHPOOL_HAS_AREA
    if ((heap.view.flags & SHPOOL_FLAGS_SLOW) != 0) {
        unsigned long long at = 0;

        if (simt_lane() == shpool_first_lane(lanes)) {
            at = (unsigned long long)(size_t)shpool_not_served(
                heap, bytes, alignment, site,
                (use != 0) ? 0u : (uint32_t)SHPOOL_REFUSED_ALIGNMENT);
        }
        simt_warp_sync(lanes); /* as above */
        return (void *)(size_t)shpool_shfl64(lanes, at, shpool_first_lane(lanes));
    }
#endif
    return NULL;
}

/* Returns in one lane why it was refused, in the others that or SHPOOL_FREE_OK. */
SIMT_FN uint32_t shpool_free_for(shpool_heap heap, uint32_t lanes, void *ptr, uint32_t site)
{
    uint32_t reason = SHPOOL_FREE_OK;

    if (!shpool_is_group(heap, lanes, ptr, 0, 0, site)) {
        return SHPOOL_FREE_GROUP;
    }
    heap = shpool_heap_of_group(heap, simt_popc(lanes));
    simt_warp_sync(lanes); /* the members' last use */
    if (SHPOOL_GROUPED(heap) && simt_is_within(heap.window, ptr) && (heap.view.bytes != 0)) {
        return SHPOOL_DO(heap, release_group, (heap.view, simt_to_shared(ptr), site, lanes));
    }
    if (simt_lane() == shpool_lane_with(heap, lanes, ptr)) {
        reason = shpool_free_at(heap, ptr, site);
    }
    simt_warp_sync(lanes); /* the memory is free when any of them returns */
    return reason;
}

SIMT_FN void *shpool_malloc_lanes_as(shpool_heap heap, uint32_t lanes, size_t bytes,
                                     uint32_t alignment, uint32_t site)
{
    return SIMT_LIKELY(lanes == SIMT_ALL_LANES)
               ? shpool_malloc_for(heap, SIMT_ALL_LANES, bytes, alignment, site)
               : shpool_malloc_for(heap, lanes, bytes, alignment, site);
}

SIMT_FN uint32_t shpool_free_lanes_as(shpool_heap heap, uint32_t lanes, void *ptr, uint32_t site)
{
    return SIMT_LIKELY(lanes == SIMT_ALL_LANES)
               ? shpool_free_for(heap, SIMT_ALL_LANES, ptr, site)
               : shpool_free_for(heap, lanes, ptr, site);
}

/**
 * Allocate for a group of lanes: one allocation.
 *
 * Scope: the lanes of the mask, together.
 * @param [in] lanes  bit i: lane i of the caller's warp is a member
 * @param [in] bytes  as shpool_malloc()
 * @return the same in all lanes: as shpool_malloc(); also NULL, with check=1, if they disagree
 */
SIMT_FN void *shpool_malloc_lanes(shpool_heap heap, uint32_t lanes, size_t bytes)
{
    return shpool_malloc_lanes_as(heap, lanes, bytes, SHPOOL_MIN_ALIGNMENT, 0);
}

/** shpool_malloc_lanes() with a site number, as shpool_malloc_at(). */
SIMT_FN void *shpool_malloc_lanes_at(shpool_heap heap, uint32_t lanes, size_t bytes, uint32_t site)
{
    return shpool_malloc_lanes_as(heap, lanes, bytes, SHPOOL_MIN_ALIGNMENT, site);
}

/**
 * Allocate for a group of lanes at a multiple of `alignment`.
 *
 * Scope: as shpool_malloc_lanes().
 * @param [in] alignment  as shpool_aligned_malloc()
 * @return as shpool_malloc_lanes(); also NULL for any other alignment
 */
SIMT_FN void *shpool_aligned_malloc_lanes(shpool_heap heap, uint32_t lanes, size_t alignment,
                                          size_t bytes)
{
    return shpool_malloc_lanes_as(heap, lanes, bytes, shpool_clamp(alignment), 0);
}

/**
 * Free an allocation by a group of lanes; NULL has no effect.
 *
 * Scope: the lanes of the mask, together; their uses of the memory happen before the free.
 * @param [in] ptr  as shpool_free(), whichever threads allocated it
 */
SIMT_FN void shpool_free_lanes(shpool_heap heap, uint32_t lanes, void *ptr)
{
    (void)shpool_free_lanes_as(heap, lanes, ptr, 0);
}

/**
 * shpool_free_lanes() with a site and a return value, as shpool_free_at().
 * @return the same in all lanes: as shpool_free_at(); with check=1, SHPOOL_FREE_GROUP if they
 *         disagree, and nothing is freed
 */
SIMT_FN uint32_t shpool_free_lanes_at(shpool_heap heap, uint32_t lanes, void *ptr, uint32_t site)
{
    uint32_t reason = shpool_free_lanes_as(heap, lanes, ptr, site);
    uint32_t refused;

    if (reason == SHPOOL_FREE_GROUP) {
        return reason; /* no vote, because they do not form a group */
    }
    refused = simt_ballot(lanes, reason != SHPOOL_FREE_OK);
    return (refused != 0) ? simt_shfl(lanes, reason, shpool_first_lane(refused)) : reason;
}

/**
 * Change the size of an allocation by a group of lanes, in place if the allocator can.  If the
 * allocation moves, all lanes share the copy.
 *
 * Scope: as shpool_malloc_lanes().  ptr NULL and 0 bytes: as shpool_realloc().
 * @return the same in all lanes: as shpool_realloc(); also NULL, with check=1, if they disagree
 */
SIMT_FN void *shpool_realloc_lanes(shpool_heap heap, uint32_t lanes, void *ptr, size_t bytes)
{
    shpool_regrow now = {0, 0};
    uint32_t      owner;
    void         *moved;

    if (!shpool_is_group(heap, lanes, ptr, bytes, 0, 0)) {
        return NULL; /* checked first: lanes that disagree about NULL would diverge */
    }
    if (ptr == NULL) {
        return shpool_malloc_lanes(heap, lanes, bytes);
    }
    simt_warp_sync(lanes); /* what the members wrote is copied */
    owner = shpool_lane_with(heap, lanes, ptr);
    if (simt_lane() == owner) {
        now = shpool_realloc_in_place(shpool_heap_of_group(heap, simt_popc(lanes)), ptr, bytes);
    }
    simt_warp_sync(lanes);
    if (simt_shfl(lanes, now.done, owner) != 0) {
        return ptr;
    }
    now.old = (size_t)shpool_shfl64(lanes, now.old, owner);
    if (now.old == 0) {
        return NULL;
    }
    moved = shpool_malloc_lanes_as(heap, lanes, bytes, SHPOOL_MIN_ALIGNMENT,
                                   shpool_moving_site(heap, ptr));
    if (moved != NULL) {
        shpool_copy_words(moved, ptr, (bytes < now.old) ? bytes : now.old,
                          simt_popc(lanes & simt_mask(0, simt_lane())), simt_popc(lanes));
        shpool_free_lanes(heap, lanes, ptr);
        simt_warp_sync(lanes); /* orders the others' copies before the return */
    }
    return moved;
}

/* ---- warp ---- */

/** shpool_malloc_lanes() for all threads of the block in the caller's warp. */
SIMT_FN void *shpool_malloc_warp(shpool_heap heap, size_t bytes)
{
    return shpool_malloc_lanes(heap, shpool_warp_lanes(), bytes);
}

/** shpool_aligned_malloc_lanes() for the warp. */
SIMT_FN void *shpool_aligned_malloc_warp(shpool_heap heap, size_t alignment, size_t bytes)
{
    return shpool_aligned_malloc_lanes(heap, shpool_warp_lanes(), alignment, bytes);
}

/** shpool_free_lanes() for the warp. */
SIMT_FN void shpool_free_warp(shpool_heap heap, void *ptr)
{
    shpool_free_lanes(heap, shpool_warp_lanes(), ptr);
}

/** shpool_realloc_lanes() for the warp. */
SIMT_FN void *shpool_realloc_warp(shpool_heap heap, void *ptr, size_t bytes)
{
    return shpool_realloc_lanes(heap, shpool_warp_lanes(), ptr, bytes);
}

/* ---- block ---- */

/* check=1: report each thread whose value differs from the first thread's.  Returns the first
 * thread's value, and has two barriers; without check=1 it returns the caller's and has none. */
SIMT_FN unsigned long long shpool_look_at_block(shpool_heap heap, const void *ptr,
                                                unsigned long long v)
{
#if SHPOOL_COUNTED
    if ((heap.view.flags & SHPOOL_FLAG_CHECK) != 0) {
        unsigned long long first = simt_broadcast(v);

        if (first != v) {
            shpool_note_bad_free(heap.view, ptr, SHPOOL_FREE_GROUP, 0);
        }
        return first;
    }
#else
    (void)heap;
    (void)ptr;
#endif
    return v;
}

SIMT_FN size_t shpool_bytes_of_block(shpool_heap heap, size_t bytes)
{
    return (size_t)shpool_look_at_block(heap, NULL, bytes);
}

/* Broadcast the pointer that the block's first warp got. */
SIMT_FN void *shpool_ptr_of_block(const void *ptr)
{
    return (void *)(size_t)simt_broadcast((unsigned long long)(size_t)ptr);
}

SIMT_FN void *shpool_malloc_block_as(shpool_heap heap, size_t bytes, uint32_t alignment,
                                     uint32_t site)
{
    void *ptr = NULL;

    bytes = shpool_bytes_of_block(heap, bytes);
    heap  = shpool_heap_of_group(heap, simt_block_threads());
    if (simt_warp() == 0) {
        ptr = shpool_malloc_lanes_as(heap, shpool_warp_lanes(), bytes, alignment, site);
    }
    return shpool_ptr_of_block(ptr);
}

/**
 * Allocate for the whole block: one allocation, by the block's first warp.
 *
 * Scope: all threads of the block, converged as for a barrier, with the same bytes.  Has two
 *        barriers, with check=1 four: everything the block did before happens before its uses of
 *        the memory.  Uses 8 bytes of static shared memory, whatever the number of calls.
 * @return the same in all threads: as shpool_malloc().  With check=1, threads whose bytes differ
 *         from the first thread's are reported; the first thread's are used.
 */
SIMT_FN void *shpool_malloc_block(shpool_heap heap, size_t bytes)
{
    return shpool_malloc_block_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, 0);
}

/** shpool_malloc_block() at a multiple of `alignment`, as shpool_aligned_malloc(). */
SIMT_FN void *shpool_aligned_malloc_block(shpool_heap heap, size_t alignment, size_t bytes)
{
    return shpool_malloc_block_as(heap, bytes, shpool_clamp(alignment), 0);
}

/**
 * Free an allocation by the whole block; NULL has no effect except for the barrier.
 *
 * Scope: all threads of the block, converged as for a barrier: it has one (with check=1 three),
 *        after which the first warp frees.  The other warps do not wait for the free.  If another
 *        warp needs the memory immediately, put a barrier after the call.
 * @param [in] ptr  the same in all threads; with check=1, threads that differ from the first one
 *                  are reported, and the first one's is used.  If the block has several pools, it
 *                  must belong to one of the first warp's, as a block's allocations do
 */
SIMT_FN void shpool_free_block(shpool_heap heap, void *ptr)
{
    ptr = (void *)(size_t)shpool_look_at_block(heap, ptr, (unsigned long long)(size_t)ptr);
    simt_barrier();
    if (simt_warp() == 0) {
        shpool_free_warp(shpool_heap_of_group(heap, simt_block_threads()), ptr);
    }
}

/**
 * Change the size of the block's allocation; if it moves, all threads share the copy.
 *
 * Scope: as shpool_malloc_block(); has up to six barriers, with check=1 more.  ptr NULL and 0
 *        bytes: as shpool_realloc().  If the block has several pools, ptr must belong to the first
 *        thread's, as a block's allocations do.
 * @return the same in all threads: as shpool_realloc()
 */
SIMT_FN void *shpool_realloc_block(shpool_heap heap, void *ptr, size_t bytes)
{
    shpool_regrow now = {0, 0};
    uint32_t      threads = simt_block_threads();
    void         *moved;

    ptr   = (void *)(size_t)shpool_look_at_block(heap, ptr, (unsigned long long)(size_t)ptr);
    bytes = shpool_bytes_of_block(heap, bytes);
    if (ptr == NULL) {
        return shpool_malloc_block(heap, bytes);
    }
    simt_barrier(); /* what the members wrote is copied */
    if (simt_thread_rank() == 0) {
        now = shpool_realloc_in_place(shpool_heap_of_group(heap, threads), ptr, bytes);
        now.old = (now.done != 0) ? ~(size_t)0 : now.old; /* no allocation has that size */
    }
    now.old = (size_t)simt_broadcast(now.old);
    if ((now.old == ~(size_t)0) || (now.old == 0)) {
        return (now.old != 0) ? ptr : NULL;
    }
    moved = shpool_malloc_block_as(heap, bytes, SHPOOL_MIN_ALIGNMENT,
                                   shpool_moving_site(heap, ptr));
    if (moved != NULL) {
        shpool_copy_words(moved, ptr, (bytes < now.old) ? bytes : now.old, simt_thread_rank(),
                          threads);
        shpool_free_block(heap, ptr);
    }
    return moved;
}

#endif /* SHPOOL_GROUP_H */
