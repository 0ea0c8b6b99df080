/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/groups.cuh
 * Requests by groups of cooperative_groups: shpool/group.h with a group instead of a mask.
 *
 *     namespace cg = cooperative_groups;
 *     auto  tile    = cg::tiled_partition<8>(cg::this_thread_block());
 *     void *scratch = shpool_malloc(heap, tile, 512);       the same address in 8 threads
 *     ...
 *     shpool_free(heap, tile, scratch);
 *
 * Groups
 *   thread_block_tile<N>   N up to 32, of a block or of another tile: N lanes of a warp
 *   coalesced_group        lanes of a warp: coalesced_threads(), tiled_partition(coalesced, n),
 *                          binary_partition(), labeled_partition()
 *   thread_block           all threads of the block: the _block functions, with their barriers
 *   cluster_group          all threads of the cluster (sm_90 and newer), see below
 * Other types, and tiles of more than 32 threads, do not compile.
 *
 * The group's members call together, with the same arguments, like group.sync().  group.h explains
 * what that means, and what check=1 detects.
 *
 * Clusters.  The first warp of the cluster's block of rank 0 makes the request, in a pool of scope
 * cluster (cluster_bitmap), which searches that block's pool first and then its neighbours'.  All
 * threads of all blocks of the cluster get the address, and each of them may use it; below sm_90 no
 * kernel has such a group.  In a pool of any other scope only the block of rank 0 could free the
 * allocation, so the result is NULL.  All blocks of the cluster pass the same arguments.  These
 * calls have barriers of the cluster, and use 8 bytes of static shared memory.
 *
 * Users include it in addition to shpool/shpool.cuh.  nvcc (C++17) and NVRTC, which needs the
 * folders of CUDA's headers for cooperative_groups (-I.../include -I.../include/cccl).
 */
#ifndef SHPOOL_GROUPS_CUH
#define SHPOOL_GROUPS_CUH

#include <shpool/shpool.cuh>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

/* ---- lanes ---- */

/* Functions for lanes of a warp. */
struct shpool_asks_lanes {
    uint32_t lanes;

    __device__ __forceinline__ void *allocate(shpool_heap heap, size_t bytes) const
    {
        return shpool_malloc_lanes(heap, lanes, bytes);
    }
    __device__ __forceinline__ void *allocate(shpool_heap heap, size_t alignment,
                                              size_t bytes) const
    {
        return shpool_aligned_malloc_lanes(heap, lanes, alignment, bytes);
    }
    __device__ __forceinline__ void *wait(shpool_heap heap, size_t bytes, uint32_t attempts) const
    {
        return shpool_malloc_wait_lanes(heap, lanes, bytes, attempts);
    }
    __device__ __forceinline__ void release(shpool_heap heap, void *ptr) const
    {
        shpool_free_lanes(heap, lanes, ptr);
    }
    __device__ __forceinline__ void *resize(shpool_heap heap, void *ptr, size_t bytes) const
    {
        return shpool_realloc_lanes(heap, lanes, ptr, bytes);
    }
};

/* A tile is N neighbouring lanes, without those that the block's last warp lacks. */
template <unsigned N, typename Parent>
SIMT_FN shpool_asks_lanes shpool_who_asks(const cooperative_groups::thread_block_tile<N, Parent> &)
{
    static_assert(N <= 32u, "shpool: a tile that asks for memory has up to 32 threads, as many as "
                            "a warp; for more let the thread_block ask");
    return {simt_mask(simt_lane() & ~(N - 1u), N) & shpool_warp_lanes()};
}

/* Every member knows its own lane; together they know the mask. */
SIMT_FN shpool_asks_lanes shpool_who_asks(const cooperative_groups::coalesced_group &group)
{
    return {cooperative_groups::reduce(group, 1u << simt_lane(),
                                       cooperative_groups::bit_or<uint32_t>())};
}

/* ---- block ---- */

/* Functions for all threads of a block. */
struct shpool_asks_block {
    __device__ __forceinline__ void *allocate(shpool_heap heap, size_t bytes) const
    {
        return shpool_malloc_block(heap, bytes);
    }
    __device__ __forceinline__ void *allocate(shpool_heap heap, size_t alignment,
                                              size_t bytes) const
    {
        return shpool_aligned_malloc_block(heap, alignment, bytes);
    }
    __device__ __forceinline__ void *wait(shpool_heap heap, size_t bytes, uint32_t attempts) const
    {
        return shpool_malloc_wait_block(heap, bytes, attempts);
    }
    __device__ __forceinline__ void release(shpool_heap heap, void *ptr) const
    {
        shpool_free_block(heap, ptr);
    }
    __device__ __forceinline__ void *resize(shpool_heap heap, void *ptr, size_t bytes) const
    {
        return shpool_realloc_block(heap, ptr, bytes);
    }
};

SIMT_FN shpool_asks_block shpool_who_asks(const cooperative_groups::thread_block &)
{
    return {};
}

/* ---- cluster ---- */

#if defined(_CG_HAS_CLUSTER_GROUP) /* cooperative_groups has the type: sm_90, and the host pass */

/* Broadcast v from thread 0 of the cluster's block of rank 0 to all threads of the cluster. */
SIMT_FN unsigned long long shpool_cluster_broadcast(unsigned long long v)
{
    static __shared__ unsigned long long word;
    simt_addr                            first = simt_map_cluster(simt_to_shared(&word), 0);

    if ((simt_cluster_rank() == 0) && (simt_thread_rank() == 0)) {
        word = v;
    }
    simt_cluster_barrier();
    v = ((unsigned long long)simt_cluster_load32(first + 4u) << 32) | simt_cluster_load32(first);
    simt_cluster_barrier(); /* all have read it: another may follow, or the block may end */
    return v;
}

/* Functions for all threads of a cluster. */
struct shpool_asks_cluster {
    /* Whether the caller belongs to the requesting warp. */
    __device__ __forceinline__ bool leads() const
    {
        return (simt_cluster_rank() == 0) && (simt_warp() == 0);
    }
    __device__ __forceinline__ uint32_t members() const
    {
        return simt_block_threads() * simt_cluster_blocks();
    }
    /* A trace's record can count at most a block's threads. */
    __device__ __forceinline__ shpool_heap grouped(shpool_heap heap) const
    {
        return shpool_heap_of_group(heap, (members() < SHPOOL_MAX_THREADS) ? members()
                                                                           : SHPOOL_MAX_THREADS);
    }
    __device__ __forceinline__ void *hand_out(const void *ptr) const
    {
        return (void *)(size_t)shpool_cluster_broadcast((unsigned long long)(size_t)ptr);
    }
    /* As shpool_look_at_block(), compared with the cluster's first thread. */
    __device__ __forceinline__ unsigned long long look(shpool_heap heap, const void *ptr,
                                                       unsigned long long v) const
    {
#if SHPOOL_COUNTED
        if ((heap.view.flags & SHPOOL_FLAG_CHECK) != 0) {
            const unsigned long long first = shpool_cluster_broadcast(v);

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
    /* attempts 0: a request that does not wait */
    __device__ __forceinline__ void *request(shpool_heap heap, size_t alignment, size_t bytes,
                                             uint32_t attempts) const
    {
        void *ptr = NULL;

        bytes = (size_t)look(heap, NULL, bytes);
        if (leads() && !SHPOOL_IS_CLUSTER(heap.view.flags)) {
            if (simt_thread_rank() == 0) {
                ptr = shpool_not_served(grouped(heap), bytes, shpool_clamp(alignment), 0,
                                        SHPOOL_REFUSED_SCOPE);
            }
        } else if (leads()) {
            ptr = (attempts != 0) ? shpool_malloc_wait_warp(grouped(heap), bytes, attempts)
                                  : shpool_aligned_malloc_warp(grouped(heap), alignment, bytes);
        }
        return hand_out(ptr);
    }
    __device__ __forceinline__ void *allocate(shpool_heap heap, size_t bytes) const
    {
        return request(heap, SHPOOL_MIN_ALIGNMENT, bytes, 0);
    }
    __device__ __forceinline__ void *allocate(shpool_heap heap, size_t alignment,
                                              size_t bytes) const
    {
        return request(heap, alignment, bytes, 0);
    }
    __device__ __forceinline__ void *wait(shpool_heap heap, size_t bytes, uint32_t attempts) const
    {
        return request(heap, SHPOOL_MIN_ALIGNMENT, bytes, (attempts != 0) ? attempts : 1u);
    }
    __device__ __forceinline__ void release(shpool_heap heap, void *ptr) const
    {
        ptr = (void *)(size_t)look(heap, ptr, (unsigned long long)(size_t)ptr);
        simt_cluster_barrier(); /* orders every member's last use before the free */
        if (leads()) {
            shpool_free_warp(grouped(heap), ptr);
        }
    }
    /* As shpool_realloc_block(). */
    __device__ __forceinline__ void *resize(shpool_heap heap, void *ptr, size_t bytes) const
    {
        shpool_regrow now = {0, 0};
        void         *moved;

        ptr   = (void *)(size_t)look(heap, ptr, (unsigned long long)(size_t)ptr);
        bytes = (size_t)look(heap, NULL, bytes);
        if (ptr == NULL) {
            return allocate(heap, bytes);
        }
        simt_cluster_barrier(); /* orders the members' writes before the copy */
        if ((simt_cluster_rank() == 0) && (simt_thread_rank() == 0)) {
            now     = shpool_realloc_in_place(grouped(heap), ptr, bytes);
            now.old = (now.done != 0) ? ~(size_t)0 : now.old; /* no allocation has that size */
        }
        now.old = (size_t)shpool_cluster_broadcast(now.old);
        if ((now.old == ~(size_t)0) || (now.old == 0)) {
            return (now.old != 0) ? ptr : NULL;
        }
        moved = allocate(heap, bytes);
        if (moved != NULL) {
            shpool_copy_words(moved, ptr, (bytes < now.old) ? bytes : now.old,
                              simt_cluster_rank() * simt_block_threads() + simt_thread_rank(),
                              members());
            release(heap, ptr);
        }
        return moved;
    }
};

SIMT_FN shpool_asks_cluster shpool_who_asks(const cooperative_groups::cluster_group &)
{
    return {};
}

#endif

/* ---- any other type ---- */

template <typename Group> struct shpool_is_known_group {
    static constexpr bool value = false;
};

template <typename Group> SIMT_FN shpool_asks_lanes shpool_who_asks(const Group &)
{
    static_assert(shpool_is_known_group<Group>::value,
                  "shpool: the groups that ask for memory are thread_block_tile<N>, "
                  "coalesced_group, thread_block and, from sm_90 on, cluster_group");
    return {0};
}

/* ---- the calls ---- */

/**
 * Allocate for a group: one allocation, whose address all members get.
 *
 * Scope: all members of the group, together.  A thread_block and a cluster_group have barriers:
 *        the members' earlier accesses happen before their uses of the memory.
 * @param [in] group  see the file comment
 * @param [in] bytes  the same in all members; as shpool_malloc()
 * @return the same in all members, owned by the block or the cluster, not by the group: as
 *         shpool_malloc_lanes() and shpool_malloc_block().  cluster_group: also NULL from pools of
 *         any scope except cluster.
 */
template <typename Group>
SIMT_FN void *shpool_malloc(shpool_heap heap, const Group &group, size_t bytes)
{
    return shpool_who_asks(group).allocate(heap, bytes);
}

/**
 * shpool_malloc() for a group at a multiple of `alignment`.
 *
 * @param [in] alignment  the same in all members; as shpool_aligned_malloc()
 * @return as shpool_malloc() for a group; also NULL for any other alignment
 */
template <typename Group>
SIMT_FN void *shpool_aligned_malloc(shpool_heap heap, const Group &group, size_t alignment,
                                    size_t bytes)
{
    return shpool_who_asks(group).allocate(heap, alignment, bytes);
}

/**
 * shpool_malloc() for a group that waits as a whole for other threads' frees.
 *
 * Scope: as shpool_malloc() for a group.  All threads of a block or a cluster are at a barrier
 *        while they wait, so they cannot free.  Only copies (after.h) and, for a block in a
 *        cluster, neighbours can.
 * @param [in] attempts  as shpool_malloc_wait()
 * @return the same in all members: as shpool_malloc_wait(); never spilled
 */
template <typename Group>
SIMT_FN void *shpool_malloc_wait(shpool_heap heap, const Group &group, size_t bytes,
                                 uint32_t attempts)
{
    return shpool_who_asks(group).wait(heap, bytes, attempts);
}

/**
 * Free an allocation by a group; NULL has no effect except for the barriers.
 *
 * Scope: as shpool_malloc() for a group.  Each member's uses of the memory happen before the free.
 *        A thread_block and a cluster_group have a barrier before the free, but none after it.
 * @param [in] ptr  the same in all members; as shpool_free(): any thread or group that the
 *                  allocator's scope permits may have allocated it
 */
template <typename Group>
SIMT_FN void shpool_free(shpool_heap heap, const Group &group, void *ptr)
{
    shpool_who_asks(group).release(heap, ptr);
}

/**
 * Change the size of an allocation by a group.  If it moves, the members share the copy.
 *
 * Scope: as shpool_malloc() for a group.  ptr NULL and 0 bytes: as shpool_realloc().
 * @return the same in all members: as shpool_realloc(); NULL: ptr is still allocated and unchanged
 */
template <typename Group>
SIMT_FN void *shpool_realloc(shpool_heap heap, const Group &group, void *ptr, size_t bytes)
{
    return shpool_who_asks(group).resize(heap, ptr, bytes);
}

#endif /* SHPOOL_GROUPS_CUH */
