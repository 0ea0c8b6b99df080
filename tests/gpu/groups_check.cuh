/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/groups.cu's kernels for errors: bad frees by groups, and members that disagree. */
#ifndef SHPOOL_TESTS_GPU_GROUPS_CHECK_CUH
#define SHPOOL_TESTS_GPU_GROUPS_CHECK_CUH

#include "groups_kernel.cuh"

#define REFUSED_PER_TEAM 6u

/* By one team: each bad free is refused, for its reason if `exact`, and changes nothing. */
static __device__ void bad_frees_by(const shpool_heap &heap, const team &t, void *shared,
                                    bool exact, counts *c)
{
    char    *ptr = static_cast<char *>(shpool_malloc_lanes(heap, t.lanes, 64));
    uint32_t why;

    note(c, E_EXHAUSTED, ptr == NULL);
    if (ptr == NULL) {
        return;
    }
    stamp(ptr, 64, 3u, t.index, t.members);
    note(c, E_REFUSED, shpool_free_lanes_at(heap, t.lanes, NULL, 1) != SHPOOL_FREE_OK);
    for (uint32_t in : {4u, 16u, 32u}) {
        why = shpool_free_lanes_at(heap, t.lanes, ptr + in, 2);
        note(c, E_ACCEPTED, exact ? (why != SHPOOL_FREE_INTERIOR) : (why == SHPOOL_FREE_OK));
    }
    for (void *foreign : {shared, static_cast<void *>(c)}) {
        why = shpool_free_lanes_at(heap, t.lanes, foreign, 3);
        note(c, E_ACCEPTED, why != SHPOOL_FREE_FOREIGN);
    }
    __syncwarp(t.lanes);
    note(c, E_PATTERN, !is_stamped(ptr, 64, 3u, t.index, t.members));
    note(c, E_REFUSED, shpool_free_lanes_at(heap, t.lanes, ptr, 4) != SHPOOL_FREE_OK);
    why = shpool_free_lanes_at(heap, t.lanes, ptr, 5);
    note(c, E_ACCEPTED, exact ? (why != SHPOOL_FREE_DOUBLE) : (why == SHPOOL_FREE_OK));
}

/* The first warp of each block alone, one team at a time; two more bad frees by the block. */
static __global__ void refusals(shpool_pool pool, uint32_t exact, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_refusals[];
    __shared__ uint32_t unrelated[4];
    shpool_heap heap = shpool_init(&pool, smem_refusals);
    char       *ptr;

    for (uint32_t split : {static_cast<uint32_t>(SPLIT_WARP), static_cast<uint32_t>(SPLIT_8),
                           static_cast<uint32_t>(SPLIT_SCATTERED)}) {
        const team t = team_of(split, 0x0f5533a7u);

        if ((simt_warp() == 0) && (t.which == 0)) {
            bad_frees_by(heap, t, unrelated, exact != 0, c);
        }
        __syncwarp(shpool_warp_lanes());
    }
    ptr = static_cast<char *>(shpool_malloc_block(heap, 64));
    note(c, E_EXHAUSTED, ptr == NULL);
    shpool_free_block(heap, unrelated);
    shpool_free_block(heap, (ptr != NULL) ? ptr + 16 : NULL);
    __syncthreads();
    note(c, E_REFUSED, (simt_thread_rank() == 0) && (shpool_usable_size(heap, ptr) < 64u));
    shpool_free_block(heap, ptr);
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

#define DISAGREEMENTS 11u /* of each block; 7 of them are requests */
#define DISAGREE_THREADS 33u

/* check=1: members that disagree, one case after another. */
static __global__ void disagree(shpool_pool pool, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_disagree[];
    shpool_heap    heap  = shpool_init(&pool, smem_disagree);
    const uint32_t rank  = simt_thread_rank();
    const uint32_t lane  = simt_lane();
    const uint32_t tile  = 0xff00u;
    char          *ptr   = NULL;
    char          *block = NULL;

    if (simt_warp() == 0) {
        /* 1, 2: other bytes; another alignment */
        note(c, E_BEYOND, shpool_malloc_warp(heap, (lane == 31u) ? 32u : 48u) != NULL);
        note(c, E_BEYOND, shpool_aligned_malloc_warp(heap, (lane == 3u) ? 32u : 16u, 48) != NULL);
        /* 3 to 5: another alignment, one that cannot be had, and other attempts, in the queue */
        for (uint32_t other : {32u, 24u}) {
            note(c, E_BEYOND, shpool_aligned_malloc_wait_warp(heap, (lane == 3u) ? other : 16u, 48,
                                                              100) != NULL);
        }
        note(c, E_BEYOND, shpool_malloc_wait_warp(heap, 48, (lane == 31u) ? 1u : 100u) != NULL);
        ptr = static_cast<char *>(shpool_malloc_warp(heap, 64));
        note(c, E_EXHAUSTED, ptr == NULL);
        /* 6, 7: another pointer; other bytes of a tile's realloc */
        note(c, E_ACCEPTED, shpool_free_lanes_at(heap, shpool_warp_lanes(),
                                                 (lane == 20u) ? ptr + 16 : ptr, 7) !=
                                SHPOOL_FREE_GROUP);
        if ((tile >> lane & 1u) != 0) {
            note(c, E_BEYOND, shpool_realloc_lanes(heap, tile, ptr, (lane == 9u) ? 8u : 4u) !=
                                  NULL);
        }
        __syncwarp(shpool_warp_lanes());
        /* 8: a mask without the caller */
        if (lane == 7u) {
            note(c, E_BEYOND, shpool_malloc_lanes(heap, 1u << 8, 16) != NULL);
        }
        __syncwarp(shpool_warp_lanes());
        shpool_free_warp(heap, ptr);
    } else if (rank == 32u) { /* 9: a mask with lanes that the block's last warp does not have */
        note(c, E_BEYOND, shpool_malloc_lanes(heap, SIMT_ALL_LANES, 16) != NULL);
    }
    __syncthreads();
    /* 10, 11: a block's malloc and free; they use the first thread's arguments */
    block = static_cast<char *>(shpool_malloc_block(heap, (rank == 32u) ? 16u : 64u));
    note(c, E_EXHAUSTED, block == NULL);
    note(c, E_USABLE, (rank == 0) && (shpool_usable_size(heap, block) < 64u));
    shpool_free_block(heap, (rank == 32u) ? NULL : block);
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

#endif /* SHPOOL_TESTS_GPU_GROUPS_CHECK_CUH */
