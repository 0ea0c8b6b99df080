/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_bitmap: a bitmap pool in each block of a cluster, from which all its blocks allocate.
 *
 * Each block has one pool, at the same offset of its shared memory; a malloc uses its own block's
 * pool and, if that is full, borrows from the next block's, then the one after it, and so on.
 * Blocks that run short therefore do not all use the same neighbour.  The top byte of an address
 * identifies its block: free returns the memory there.
 *
 * The algorithm is bitmap's, twice (bitmap_again.h): near_ for the own block's pool, with accesses
 * as fast as bitmap's but visible to the whole cluster, and far_ for any block's.  Both use the
 * same words at the same time.
 *
 * The difference from a single bitmap is when a request fails: it is not enough that each pool was
 * full at some instant, it must have been the same instant.  A full pool stays full until something
 * in it is freed, which bitmap counts.  If no pool's count changed between the first search and the
 * last, all were full at the last.  If other threads free all the time, the request fails after a
 * few rounds.
 *
 * Invariants (shpool_check walks the caller's own block's pool): bitmap's. */
#ifndef SHPOOL_ALLOCATORS_CLUSTER_BITMAP_H
#define SHPOOL_ALLOCATORS_CLUSTER_BITMAP_H

#include <shpool/module.h>

#define SHPOOL_BITMAP_AS(_name) shpool_near_bitmap_##_name
#define SHPOOL_BITMAP_BY(_name) simt_near_##_name
#include <shpool/allocators/bitmap/bitmap_again.h>

/* An exact search of a neighbour's pool takes long, and while many threads free it may never find a
 * pool unchanged.  After this number of searches, and of rounds of all pools, the request fails. */
#define SHPOOL_CLUSTER_BITMAP_ROUNDS 4u
#undef SHPOOL_BITMAP_AGAIN
#define SHPOOL_BITMAP_AGAIN(_count) ((_count) < 2u)
#define SHPOOL_BITMAP_AS(_name) shpool_far_bitmap_##_name
#define SHPOOL_BITMAP_BY(_name) simt_cluster_##_name
#include <shpool/allocators/bitmap/bitmap_again.h>
#undef SHPOOL_BITMAP_AGAIN

/* Pools of this allocator begin and end with the cluster's barrier (impl/bind.h). */
#define SHPOOL_CLUSTERS_cluster_bitmap 1

SIMT_HD shpool_layout shpool_cluster_bitmap_layout(uint32_t bytes, uint32_t alignment)
{
    return shpool_bitmap_layout(bytes, alignment);
}

SIMT_FN void shpool_cluster_bitmap_init(shpool_view view, uint32_t member, uint32_t members)
{
    shpool_near_bitmap_init(view, member, members);
}

/* The view of the pool in block `rank`. */
SIMT_FN shpool_view shpool_cluster_bitmap_in(shpool_view view, uint32_t rank)
{
    view.base = simt_map_cluster(view.base, rank);
    return view;
}

/* The view of the pool that addr is in; empty if there is no such block. */
SIMT_FN shpool_view shpool_cluster_bitmap_of(shpool_view view, simt_addr addr)
{
    uint32_t rank = simt_addr_rank(addr);

    if (rank >= simt_cluster_blocks()) {
        view.word[0] = 0;
    }
    return shpool_cluster_bitmap_in(view, rank);
}

/* The block that is `turn` blocks after `rank`. */
SIMT_FN uint32_t shpool_cluster_bitmap_next(uint32_t rank, uint32_t turn, uint32_t blocks)
{
    return (rank + turn < blocks) ? rank + turn : rank + turn - blocks;
}

/* ---- malloc ---- */

/* How often memory of any pool has become free. */
SIMT_FN uint32_t shpool_cluster_bitmap_releases(simt_addr base, uint32_t blocks)
{
    uint32_t sum = 0;
    uint32_t rank;

    SIMT_ROLLED
    for (rank = 0; rank < blocks; rank++) {
        sum += shpool_far_bitmap_releases(simt_map_cluster(base, rank));
    }
    return sum;
}

/* Whether bitmap's quick searches serve a request. */
SIMT_FN uint32_t shpool_cluster_bitmap_is_small(uint32_t granules, uint32_t need,
                                                uint32_t alignment)
{
    return (need <= 16u) && (need <= granules) && (alignment <= 16u);
}

/* A small request from another block's pool: at the thread's home there, then around it.  A call:
 * inlined, it would cost every kernel registers. */
SIMT_FN_NOINLINE simt_addr shpool_cluster_bitmap_malloc_try(simt_addr base, uint32_t granules,
                                                            uint32_t offset, uint32_t rank,
                                                            uint32_t need)
{
    shpool_view             view = {base, 0, rank, 0, {granules, offset}, 0};
    shpool_far_bitmap_place at   = shpool_far_bitmap_where(view);
    simt_addr               addr = 0;

    if (need <= SHPOOL_BITMAP_SPAN) {
        addr = shpool_far_bitmap_take(view, at.home, need, shpool_far_bitmap_high(at));
    }
    return (addr != 0) ? addr : shpool_far_bitmap_take_around(view, at, need);
}

/* Where a quick search of the own pool, at base, found nothing: quick ones of the others, then
 * exact ones of all, which decide that nothing fits anywhere.  Arguments as for
 * shpool_bitmap_malloc_any. */
SIMT_FN_NOINLINE simt_addr shpool_cluster_bitmap_malloc_borrow(simt_addr base,
                                                               uint32_t granules,
                                                               uint32_t offset, uint32_t rank,
                                                               uint32_t need,
                                                               uint32_t alignment)
{
    uint32_t  blocks = simt_cluster_blocks();
    uint32_t  own    = simt_addr_rank(base);
    uint32_t  again  = 0;
    uint32_t  before = 0;
    simt_addr addr   = 0;
    uint32_t  turn;

    if (shpool_cluster_bitmap_is_small(granules, need, alignment)) {
        SIMT_ROLLED
        for (turn = 1; turn < blocks; turn++) {
            addr = shpool_cluster_bitmap_malloc_try(
                simt_map_cluster(base, shpool_cluster_bitmap_next(own, turn, blocks)), granules,
                offset, rank, need);
            if (addr != 0) {
                return addr;
            }
        }
    }
    if ((blocks == 1) || (need > granules)) {
        return shpool_near_bitmap_malloc_any(base, granules, offset, rank, need, alignment);
    }
    for (;; again++) {
        SIMT_ROLLED
        for (turn = 0; turn < blocks; turn++) {
            addr = shpool_far_bitmap_malloc_any(
                simt_map_cluster(base, shpool_cluster_bitmap_next(own, turn, blocks)), granules,
                offset, rank, need, alignment);
            if (addr != 0) {
                return addr;
            }
        }
        turn = shpool_cluster_bitmap_releases(base, blocks);
        if (((again != 0) && (turn == before)) || (again == SHPOOL_CLUSTER_BITMAP_ROUNDS)) {
            return 0; /* nothing was freed since the last round, so all were full at the same time;
                         or others free so often that this could continue forever */
        }
        before = turn;
    }
}

/* If home had no room: the rest of the own pool, then the others'.  One call, like bitmap's: a
 * table function has few registers to keep across two.  `who`: the thread's rank, and 1,024 more if
 * it may borrow. */
SHPOOL_BITMAP_AWAY simt_addr shpool_cluster_bitmap_malloc_away(simt_addr base, uint32_t granules,
                                                               uint32_t offset, uint32_t who,
                                                               uint32_t need, uint32_t alignment)
{
    uint32_t    rank = who % SHPOOL_MAX_THREADS;
    shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};
    simt_addr   addr = 0;

    if (shpool_cluster_bitmap_is_small(granules, need, alignment)) {
        addr = shpool_near_bitmap_take_around(view, shpool_near_bitmap_where(view), need);
    }
    if (addr != 0) {
        return addr;
    }
    return (who == rank) ? shpool_near_bitmap_malloc_any(base, granules, offset, rank, need,
                                                         alignment)
                         : shpool_cluster_bitmap_malloc_borrow(base, granules, offset, rank, need,
                                                               alignment);
}

/* As shpool_bitmap_malloc, except where it continues. */
SIMT_FN simt_addr shpool_cluster_bitmap_malloc(shpool_view view, uint32_t bytes,
                                               uint32_t alignment, uint32_t site)
{
    uint32_t                 need = (bytes + 15u) >> 4;
    shpool_near_bitmap_place at   = shpool_near_bitmap_where(view);
    simt_addr                addr = 0;
    uint32_t                 who;

    (void)site;
    if ((need <= SHPOOL_BITMAP_SPAN) && (view.word[0] != 0) && (alignment <= 16u)) {
        addr = shpool_near_bitmap_take(view, at.home, need, shpool_near_bitmap_high(at));
    }
    if (addr != 0) {
        return addr;
    }
    who = view.rank +
          (((view.flags & SHPOOL_FLAG_CLUSTER) != 0) ? SHPOOL_MAX_THREADS : 0u);
    return shpool_cluster_bitmap_malloc_away(view.base, view.word[0], view.word[1], who,
                                             simt_pin(need), alignment);
}

/* ---- free, and the rest: by whose the address is ---- */

/* A free of what is not the own block's. */
SIMT_FN_NOINLINE uint32_t shpool_cluster_bitmap_free_away(simt_addr base, uint32_t granules,
                                                          uint32_t offset, uint32_t rank,
                                                          simt_addr addr)
{
    shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};

    return shpool_far_bitmap_free(shpool_cluster_bitmap_of(view, addr), addr, 0);
}

SIMT_FN uint32_t shpool_cluster_bitmap_free(shpool_view view, simt_addr addr, uint32_t site)
{
    if (simt_addr_rank(addr) == simt_addr_rank(view.base)) {
        return shpool_near_bitmap_free(view, addr, site);
    }
    return shpool_cluster_bitmap_free_away(view.base, view.word[0], view.word[1], view.rank, addr);
}

SIMT_FN uint32_t shpool_cluster_bitmap_owns(shpool_view view, simt_addr addr)
{
    return shpool_far_bitmap_owns(shpool_cluster_bitmap_of(view, addr), addr);
}
SHPOOL_DISCARD(cluster_bitmap)

SIMT_FN uint32_t shpool_cluster_bitmap_usable(shpool_view view, simt_addr addr)
{
    return shpool_far_bitmap_usable(shpool_cluster_bitmap_of(view, addr), addr);
}

SIMT_FN uint32_t shpool_cluster_bitmap_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    return shpool_far_bitmap_resize(shpool_cluster_bitmap_of(view, addr), addr, bytes);
}

SIMT_FN uint32_t shpool_cluster_bitmap_largest(shpool_view view)
{
    uint32_t blocks = simt_cluster_blocks();
    uint32_t best   = 0;
    uint32_t rank;

    for (rank = 0; rank < blocks; rank++) {
        uint32_t here = shpool_far_bitmap_largest(shpool_cluster_bitmap_in(view, rank));

        best = (here > best) ? here : best;
    }
    return best;
}

/* A request may go to any block's pool. */
#define SHPOOL_GUARDS_cluster_bitmap ~, 1
#define SHPOOL_CLEAN_cluster_bitmap  ~, 1
#define SHPOOL_PACKS_cluster_bitmap  ~, SHPOOL_PACKING(SHPOOL_PACK_ANY, 0u, 0u, 0u)
SIMT_FN shpool_walk shpool_cluster_bitmap_guard(shpool_view view)
{
    uint32_t    blocks = simt_cluster_blocks();
    shpool_walk walk   = {0, 0, 0, 0};
    uint32_t    rank;

    for (rank = 0; (rank < blocks) && (walk.broken == 0); rank++) {
        walk = shpool_far_bitmap_guard(shpool_cluster_bitmap_in(view, rank));
    }
    return walk;
}

SIMT_FN shpool_walk shpool_cluster_bitmap_walk(shpool_view view)
{
    return shpool_near_bitmap_walk(view);
}

#endif /* SHPOOL_ALLOCATORS_CLUSTER_BITMAP_H */
