/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/groups.cu's kernels of shpool/groups.cuh: every type of group, in blocks and clusters. */
#ifndef SHPOOL_TESTS_GPU_GROUPS_CG_CUH
#define SHPOOL_TESTS_GPU_GROUPS_CG_CUH

#include <shpool/groups.cuh>

#include "groups_kernel.cuh"

namespace cg = cooperative_groups;

/* Threads that a group has, and a barrier of them.  A tile may have fewer than its type says, in
 * the block's last warp. */
template <unsigned N, typename Parent>
static __device__ uint32_t members_of(const cg::thread_block_tile<N, Parent> &group)
{
    return min(N, simt_block_threads() - (simt_thread_rank() - group.thread_rank()));
}
static __device__ uint32_t members_of(const cg::coalesced_group &group)
{
    return group.size();
}
static __device__ uint32_t members_of(const cg::thread_block &group)
{
    return group.size();
}

template <typename Group> static __device__ void meet(const Group &group)
{
    group.sync();
}

#if defined(_CG_HAS_CLUSTER_GROUP)
static __device__ uint32_t members_of(const cg::cluster_group &group)
{
    return group.num_threads();
}
static __device__ void meet(const cg::cluster_group &)
{
    simt_cluster_barrier(); /* lanes of a warp need not be converged for it */
}
#endif

/* All five calls by one group; members write and look at each other's words, so that members with
 * different addresses are found as well. */
template <typename Group>
static __device__ void use_group(const shpool_heap &heap, const Group &group, uint32_t bytes,
                                 uint32_t alignment, uint32_t tag, counts *c)
{
    const uint32_t members = members_of(group);
    const uint32_t index   = group.thread_rank();
    void          *ptr     = shpool_malloc(heap, group, bytes);
    void          *more;

    note(c, E_EXHAUSTED, ptr == NULL);
    if (ptr == NULL) {
        return;
    }
    stamp(ptr, bytes, tag, index, members);
    meet(group);
    note(c, E_PATTERN, !is_stamped(ptr, bytes, tag, index, members));
    more = shpool_realloc(heap, group, ptr, 2u * bytes);
    note(c, E_EXHAUSTED, more == NULL);
    if (more != NULL) {
        ptr = more;
        note(c, E_LOST, !is_stamped(ptr, bytes, tag, index, members));
    }
    meet(group);
    stamp(ptr, (more != NULL) ? 2u * bytes : bytes, tag + 1u, index, members);
    meet(group);
    note(c, E_PATTERN, !is_stamped(ptr, (more != NULL) ? 2u * bytes : bytes, tag + 1u, index,
                                   members));
    shpool_free(heap, group, ptr);

    ptr = shpool_aligned_malloc(heap, group, alignment, bytes);
    note(c, E_ALIGNED, ptr == NULL);
    note(c, E_MISALIGNED, !is_aligned(ptr, alignment));
    note(c, E_ALIGNED, shpool_aligned_malloc(heap, group, 24, bytes) != NULL);
    more = shpool_malloc_wait(heap, group, bytes, 10000u);
    note(c, E_STARVED, more == NULL);
    if ((ptr != NULL) && (more != NULL)) {
        stamp(ptr, bytes, tag + 2u, index, members);
        stamp(more, bytes, tag + 3u, index, members);
        meet(group);
        note(c, E_PATTERN, !is_stamped(ptr, bytes, tag + 2u, index, members));
        note(c, E_PATTERN, !is_stamped(more, bytes, tag + 3u, index, members));
    }
    shpool_free(heap, group, ptr);
    shpool_free(heap, group, more);
    shpool_free(heap, group, NULL);
}

/* Groups of each type that a block has. */
static __global__ void types(shpool_pool pool, uint32_t rounds, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_types[];
    shpool_heap    heap  = shpool_init(&pool, smem_types);
    const uint32_t tag   = simt_thread_rank() & ~31u; /* the same in every group of a warp */
    const uint32_t lane  = simt_lane();
    auto           block = cg::this_thread_block();
    auto           warp  = cg::tiled_partition<32>(block);

    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t bytes = 4u + 4u * ((round * 7u) % 12u);
        const uint32_t random = (round + 1u) * 2654435761u;

        use_group(heap, cg::this_thread(), bytes, 16, tag + lane, c);
        use_group(heap, cg::tiled_partition<1>(block), bytes, 16, tag + round, c);
        use_group(heap, cg::tiled_partition<2>(block), bytes, 16, tag + round, c);
        use_group(heap, cg::tiled_partition<4>(cg::tiled_partition<16>(block)), bytes, 16,
                  tag + round, c);
        use_group(heap, cg::tiled_partition<8>(warp), bytes, 16, tag + round, c);
        use_group(heap, cg::tiled_partition<16>(block), bytes, 16, tag + round, c);
        use_group(heap, warp, bytes, 16, tag + round, c);
        if ((random >> lane & 1u) != 0) {
            cg::coalesced_group some = cg::coalesced_threads();

            use_group(heap, some, bytes, 16, tag + round, c);
            use_group(heap, cg::tiled_partition(some, 4), bytes, 16, tag + round, c);
        } else if (lane % 3u == 0) {
            use_group(heap, cg::coalesced_threads(), bytes, 16, tag + round, c);
        }
        __syncwarp(shpool_warp_lanes());
        use_group(heap, block, 4u * bytes, 16, round, c);
        __syncthreads();
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* The whole cluster's requests; with a pool of another scope all three of a round get NULL, else
 * two, the first because of its alignment. */
static __global__ void clusters(shpool_pool pool, uint32_t rounds, counts *c)
{
#if defined(_CG_HAS_CLUSTER_GROUP)
    extern __shared__ __align__(16) unsigned char smem_clusters[];
    shpool_heap    heap    = shpool_init(&pool, smem_clusters);
    auto           cluster = cg::this_cluster();
    void          *ptr;

    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t bytes = 4u + 4u * (round * 2654435761u % (pool.largest / 16u));

        if (pool.scope != SHPOOL_SCOPE_CLUSTER) {
            note(c, E_BEYOND, shpool_malloc(heap, cluster, bytes) != NULL);
            note(c, E_BEYOND, shpool_malloc_wait(heap, cluster, bytes, 100u) != NULL);
            note(c, E_BEYOND, shpool_realloc(heap, cluster, NULL, bytes) != NULL);
            shpool_free(heap, cluster, NULL);
            continue;
        }
        use_group(heap, cluster, bytes, pool.alignment, round, c);
        simt_cluster_barrier(); /* after the free */
        ptr = shpool_malloc(heap, cluster, pool.largest);
        note(c, E_LARGEST, ptr == NULL);
        note(c, E_BEYOND, shpool_malloc(heap, cluster, pool.largest + 1u) != NULL);
        if (simt_cluster_rank() == round % simt_cluster_blocks()) { /* any block may free */
            shpool_free_block(heap, ptr);
        }
        simt_cluster_barrier();
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
#else
    (void)pool;
    (void)rounds;
    (void)c;
#endif
}

#endif /* SHPOOL_TESTS_GPU_GROUPS_CG_CUH */
