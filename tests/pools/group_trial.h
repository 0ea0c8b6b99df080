/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of every scope over one set of calls, and what each member does with the memory: writes
 * its own words of it at once, and reads them last, without a barrier of its own.  The first member
 * keeps the model. */
#ifndef SHPOOL_TESTS_GROUP_TRIAL_H
#define SHPOOL_TESTS_GROUP_TRIAL_H

#include "scene.h"

#include <shpool/wait.h>

/* How a block is cut into groups. */
typedef struct group_shape {
    const char *name;
    uint32_t    threads;
    enum { OF_LANES, OF_WARPS, OF_BLOCK } kind;
    uint32_t    pattern; /* lanes: those of one group, the rest is another; 0: tiles of `tile` */
    uint32_t    tile;
} group_shape;

static const group_shape group_shapes[] = {
    { "full warps by lanes", 64, OF_LANES, SIMT_ALL_LANES, 0 },
    { "a partial last warp by lanes", 38, OF_LANES, SIMT_ALL_LANES, 0 },
    { "tiles of 1", 33, OF_LANES, 0, 1 },
    { "tiles of 2", 35, OF_LANES, 0, 2 },
    { "tiles of 4", 38, OF_LANES, 0, 4 },
    { "tiles of 8", 64, OF_LANES, 0, 8 },
    { "tiles of 16", 48, OF_LANES, 0, 16 },
    { "every other lane", 40, OF_LANES, 0x55555555u, 0 },
    { "scattered lanes", 64, OF_LANES, 0x92a1c044u, 0 },
    { "one lane and the rest", 33, OF_LANES, 0x00000100u, 0 },
    { "warps", 64, OF_WARPS, 0, 0 },
    { "a partial last warp", 37, OF_WARPS, 0, 0 },
    { "block", 64, OF_BLOCK, 0, 0 },
    { "block of a partial warp", 41, OF_BLOCK, 0, 0 },
    { "block of 5", 5, OF_BLOCK, 0, 0 },
};

#define GROUP_SHAPES (sizeof(group_shapes) / sizeof(group_shapes[0]))

/* The calling thread's group. */
typedef struct group {
    uint32_t kind;
    uint32_t lanes;   /* not of a block */
    uint32_t id;      /* the first member's rank: no other group has it */
    uint32_t member;  /* the caller is the so many-th */
    uint32_t members;
} group;

static inline group group_of(const group_shape *shape)
{
    group    g    = { shape->kind, 0, 0, simt_thread_rank(), simt_block_threads() };
    uint32_t lane = simt_lane();

    if (shape->kind == OF_BLOCK) {
        return g;
    }
    g.lanes = shpool_warp_lanes();
    if (shape->kind == OF_LANES) {
        if (shape->pattern == 0) {
            g.lanes &= simt_mask(lane / shape->tile * shape->tile, shape->tile);
        } else {
            g.lanes &= (((shape->pattern >> lane) & 1u) != 0) ? shape->pattern : ~shape->pattern;
        }
    }
    g.id      = simt_warp() * SIMT_WARP + shpool_first_lane(g.lanes);
    g.member  = simt_popc(g.lanes & simt_mask(0, lane));
    g.members = simt_popc(g.lanes);
    return g;
}

/* Whether the members' views are of one pool. */
static inline int group_shares(group g)
{
    uint32_t last = (g.kind == OF_BLOCK) ? g.members - 1u
                                         : g.id / SIMT_WARP * SIMT_WARP + 31u - simt_clz(g.lanes);

    return g.id / t.pool.threads_per_pool == last / t.pool.threads_per_pool;
}

/* The first `shared` members of a group are in the pool that its memory comes from. */
static inline uint32_t group_sharers(group g)
{
    return group_shares(g) ? g.members : 1u;
}

static inline void group_sync(group g)
{
    if (g.kind == OF_BLOCK) {
        simt_barrier();
    } else {
        simt_warp_sync(g.lanes);
    }
}

/* ---- the calls ---- */

static inline void *group_malloc(shpool_heap heap, group g, size_t bytes, uint32_t alignment)
{
    switch (g.kind) {
    case OF_LANES:
        return (alignment == 16) ? shpool_malloc_lanes(heap, g.lanes, bytes)
                                 : shpool_aligned_malloc_lanes(heap, g.lanes, alignment, bytes);
    case OF_WARPS:
        return (alignment == 16) ? shpool_malloc_warp(heap, bytes)
                                 : shpool_aligned_malloc_warp(heap, alignment, bytes);
    default:
        return (alignment == 16) ? shpool_malloc_block(heap, bytes)
                                 : shpool_aligned_malloc_block(heap, alignment, bytes);
    }
}

static inline void *group_realloc(shpool_heap heap, group g, void *ptr, size_t bytes)
{
    return (g.kind == OF_LANES)   ? shpool_realloc_lanes(heap, g.lanes, ptr, bytes)
           : (g.kind == OF_WARPS) ? shpool_realloc_warp(heap, ptr, bytes)
                                  : shpool_realloc_block(heap, ptr, bytes);
}

/* Only lanes get an answer. */
static inline uint32_t group_free(shpool_heap heap, group g, void *ptr)
{
    switch (g.kind) {
    case OF_LANES:
        return shpool_free_lanes_at(heap, g.lanes, ptr, 0);
    case OF_WARPS:
        shpool_free_warp(heap, ptr);
        break;
    default:
        shpool_free_block(heap, ptr);
        break;
    }
    return SHPOOL_FREE_OK;
}

/* ---- who waits ---- */

#define FOR_EVER 10000000u /* attempts */

/* As a group, or as a thread if lanes is 0. */
static inline void *wait_for(shpool_heap heap, uint32_t lanes, size_t bytes, uint32_t attempts)
{
    return (lanes == 0) ? shpool_malloc_wait(heap, bytes, attempts)
                        : shpool_malloc_wait_lanes(heap, lanes, bytes, attempts);
}

static inline void give(shpool_heap heap, uint32_t lanes, void *ptr)
{
    if (lanes == 0) {
        EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    } else {
        shpool_free_lanes(heap, lanes, ptr);
    }
}

static inline uint32_t is_first(uint32_t lanes)
{
    return (lanes == 0) || (simt_lane() == shpool_first_lane(lanes));
}

/* Word i of the queue: tickets drawn, tickets ended, and the ticket that was tried in vain. */
static inline uint32_t word_of(shpool_heap heap, uint32_t i)
{
    return simt_atomic_load(shpool_waiters(heap.view) + 4u * i, SIMT_RELAXED);
}

static inline uint32_t nobody_waits(shpool_heap heap)
{
    return (word_of(heap, 0) == word_of(heap, 1)) && (word_of(heap, 2) == 0);
}

/* ---- what members do with the memory ---- */

static inline uint32_t group_word(uint32_t tag, uint32_t i)
{
    return (tag + 1u) * 2654435761u + i;
}

/* The caller's share of the first `bytes` bytes. */
static inline void group_fill(group g, void *at, size_t bytes, uint32_t tag)
{
    for (uint32_t i = g.member; 4u * i + 4u <= bytes; i += g.members) {
        ((volatile uint32_t *)at)[i] = group_word(tag, i);
    }
}

static inline void group_verify(group g, const void *at, size_t bytes, uint32_t tag)
{
    for (uint32_t i = g.member; 4u * i + 4u <= bytes; i += g.members) {
        uint32_t word = ((const volatile uint32_t *)at)[i];

        if (word != group_word(tag, i)) {
            heap_model_fault(&t.model, "word %u of %p is 0x%x, not 0x%x (member %u of %u)", i, at,
                             word, group_word(tag, i), g.member, g.members);
            return;
        }
    }
}

/* The first member's: the allocation is live, or about to end. */
static inline void group_claim(shpool_heap heap, group g, heap_slot *slot, void *ptr,
                               size_t asked, uint32_t alignment)
{
    if (g.member == 0) {
        slot->at    = (unsigned char *)ptr;
        slot->bytes = (uint32_t)shpool_usable_size(heap, ptr);
        heap_model_claim(&t.model, trial_place(heap, slot->at), slot, asked, alignment);
    }
}

static inline void group_drop(shpool_heap heap, group g, heap_slot *slot)
{
    if (g.member == 0) {
        heap_model_drop(&t.model, trial_place(heap, slot->at), slot);
    }
}

#endif /* SHPOOL_TESTS_GROUP_TRIAL_H */
