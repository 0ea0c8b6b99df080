/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of heap.h and its family that allocates or frees, each in one line, and one body that
 * tries them: for the executor and for the GPU. */
#ifndef SHPOOL_TESTS_CALLS_H
#define SHPOOL_TESTS_CALLS_H

#include <shpool/after.h>
#include <shpool/heap.h>

enum { CALL_THREAD, CALL_LANES, CALL_WARP, CALL_BLOCK, CALL_CLUSTER }; /* who calls together */

enum {
    CALL_STAYS  = 1, /* only in shared memory */
    CALL_WAITS  = 2, /* never spills from a pool */
    CALL_MOVES  = 4, /* makes `ptr` larger */
    CALL_ALIGNS = 8,
    CALL_SITE   = 16 /* has the site CALL_SITE_NUMBER */
};

#define CALL_SITE_NUMBER 77u

#define CALLS(_) \
    _(malloc, CALL_THREAD, 0, shpool_malloc(heap, bytes)) \
    _(malloc_at, CALL_THREAD, CALL_SITE, shpool_malloc_at(heap, bytes, CALL_SITE_NUMBER)) \
    _(malloc_shared, CALL_THREAD, CALL_STAYS, shpool_malloc_shared(heap, bytes)) \
    _(calloc, CALL_THREAD, 0, shpool_calloc(heap, 1, bytes)) \
    _(aligned_malloc, CALL_THREAD, CALL_ALIGNS, shpool_aligned_malloc(heap, alignment, bytes)) \
    _(realloc, CALL_THREAD, CALL_MOVES, shpool_realloc(heap, ptr, bytes)) \
    _(malloc_wait, CALL_THREAD, CALL_WAITS, shpool_malloc_wait(heap, bytes, attempts)) \
    _(after_malloc, CALL_THREAD, CALL_STAYS, call_after_malloc(heap, bytes)) \
    _(malloc_lanes, CALL_LANES, 0, shpool_malloc_lanes(heap, lanes, bytes)) \
    _(malloc_lanes_at, CALL_LANES, CALL_SITE, \
      shpool_malloc_lanes_at(heap, lanes, bytes, CALL_SITE_NUMBER)) \
    _(aligned_malloc_lanes, CALL_LANES, CALL_ALIGNS, \
      shpool_aligned_malloc_lanes(heap, lanes, alignment, bytes)) \
    _(realloc_lanes, CALL_LANES, CALL_MOVES, shpool_realloc_lanes(heap, lanes, ptr, bytes)) \
    _(malloc_wait_lanes, CALL_LANES, CALL_WAITS, \
      shpool_malloc_wait_lanes(heap, lanes, bytes, attempts)) \
    _(aligned_malloc_wait_lanes, CALL_LANES, CALL_WAITS | CALL_ALIGNS, \
      shpool_aligned_malloc_wait_lanes(heap, lanes, alignment, bytes, attempts)) \
    _(malloc_warp, CALL_WARP, 0, shpool_malloc_warp(heap, bytes)) \
    _(aligned_malloc_warp, CALL_WARP, CALL_ALIGNS, \
      shpool_aligned_malloc_warp(heap, alignment, bytes)) \
    _(realloc_warp, CALL_WARP, CALL_MOVES, shpool_realloc_warp(heap, ptr, bytes)) \
    _(malloc_wait_warp, CALL_WARP, CALL_WAITS, shpool_malloc_wait_warp(heap, bytes, attempts)) \
    _(aligned_malloc_wait_warp, CALL_WARP, CALL_WAITS | CALL_ALIGNS, \
      shpool_aligned_malloc_wait_warp(heap, alignment, bytes, attempts)) \
    _(malloc_block, CALL_BLOCK, 0, shpool_malloc_block(heap, bytes)) \
    _(aligned_malloc_block, CALL_BLOCK, CALL_ALIGNS, \
      shpool_aligned_malloc_block(heap, alignment, bytes)) \
    _(realloc_block, CALL_BLOCK, CALL_MOVES, shpool_realloc_block(heap, ptr, bytes)) \
    _(malloc_wait_block, CALL_BLOCK, CALL_WAITS, shpool_malloc_wait_block(heap, bytes, attempts)) \
    CALLS_OF_GROUPS(_)

/* refused is what the form returns, or SHPOOL_FREE_OK */
#define FREES(_) \
    _(free, CALL_THREAD, shpool_free(heap, ptr)) \
    _(free_at, CALL_THREAD, refused = shpool_free_at(heap, ptr, 0)) \
    _(free_after, CALL_THREAD, call_free_after(heap, ptr, mbar)) \
    _(free_after_copies, CALL_THREAD, call_free_after(heap, ptr, 1)) \
    _(free_after_group, CALL_THREAD, call_free_after(heap, ptr, 2)) \
    _(free_lanes, CALL_LANES, shpool_free_lanes(heap, lanes, ptr)) \
    _(free_lanes_at, CALL_LANES, refused = shpool_free_lanes_at(heap, lanes, ptr, 0)) \
    _(free_warp, CALL_WARP, shpool_free_warp(heap, ptr)) \
    _(free_block, CALL_BLOCK, shpool_free_block(heap, ptr)) \
    FREES_OF_GROUPS(_)

#if !defined(CALLS_OF_GROUPS) /* those of groups.cuh, which only nvcc compiles */
#define CALLS_OF_GROUPS(_)
#define FREES_OF_GROUPS(_)
#endif

typedef struct call_row {
    const char *name;
    uint32_t    who;
    uint32_t    flags;
} call_row;

#define CALL_ROW(_name, _who, _flags, _call) { #_name, _who, _flags },
static const call_row call_rows[] = { CALLS(CALL_ROW) };
#define CALL_COUNT (sizeof(call_rows) / sizeof(call_rows[0]))

enum {
#define CALL_NUMBER(_name, _who, _flags, _call) CALL_##_name,
    CALLS(CALL_NUMBER)
#define FREE_NUMBER(_name, _who, _call) FREE_##_name,
    FREE_FIRST, FREE_BEFORE = FREE_FIRST - 1,
    FREES(FREE_NUMBER)
};

SIMT_FN void *call_after_malloc(shpool_heap heap, size_t bytes)
{
#if SIMT_HAS_BULK
    shpool_after after = shpool_after_init(heap, 0);

    return shpool_after_malloc(&after, bytes);
#else
    return shpool_malloc_shared(heap, bytes);
#endif
}

SIMT_FN_NOINLINE void *call_make(uint32_t call, shpool_heap heap, uint32_t lanes, void *ptr,
                                 size_t alignment, size_t bytes, uint32_t attempts)
{
    switch (call) {
#define CALL_CASE(_name, _who, _flags, _call) \
    case CALL_##_name: \
        return _call;
        CALLS(CALL_CASE)
    default:
        return NULL;
    }
}

/* ---- one call and one form of free, in a fresh pool and in a full one ---- */

#define CALL_BYTES    40u
#define CALL_VAIN     2u /* requests that never fit; one more where `most` is known */
#define CALL_ATTEMPTS 3u /* in the full pool */

typedef struct call_case {
    uint32_t call, form, who, flags;
    uint32_t alignment;
    uint32_t fresh;  /* it is served in a fresh pool */
    uint32_t shared; /* in shared memory */
    uint32_t full;   /* it is served in a full one */
    uint32_t most;   /* the largest request that it ever serves; ~0: CUDA's heap decides */
    uint32_t mbars;  /* offset of 8 bytes for each thread */
} call_case;

#if defined(CALL_ENV) /* and CALL_EXPECT(env, fine) */

#define FREE_ROW(_name, _who, _call) { #_name, _who, 0 },
static const call_row free_rows[] = { FREES(FREE_ROW) };
#define FREE_COUNT (sizeof(free_rows) / sizeof(free_rows[0]))

/* mbar: 1 and 2 stand for the groups of copies. */
SIMT_FN void call_free_after(shpool_heap heap, void *ptr, simt_addr mbar)
{
#if SIMT_HAS_BULK
    shpool_after after = shpool_after_init(heap, 0);

    if (mbar == 1u) {
        shpool_free_after_copies(&after, ptr);
    } else if (mbar == 2u) {
        shpool_free_after_group(&after, ptr);
    } else {
        simt_mbar_init(mbar, 1);
        simt_mbar_arrive(mbar);
        shpool_free_after(&after, ptr, mbar, 0);
        simt_mbar_inval(mbar);
    }
    shpool_after_fini(&after);
#else
    (void)mbar;
    shpool_free(heap, ptr);
#endif
}

SIMT_FN_NOINLINE uint32_t call_free(uint32_t form, shpool_heap heap, uint32_t lanes, void *ptr,
                                    simt_addr mbar)
{
    uint32_t refused = SHPOOL_FREE_OK;

    switch (form) {
#define FREE_CASE(_name, _who, _call) \
    case FREE_##_name: \
        _call; \
        break;
        FREES(FREE_CASE)
    default:
        break;
    }
    return refused;
}

SIMT_FN void call_sync(uint32_t who, uint32_t lanes)
{
    if (who >= CALL_BLOCK) {
        simt_barrier();
    } else if (who != CALL_THREAD) {
        simt_warp_sync(lanes);
    }
}

/* The first member's words: another address in any member would show. */
SIMT_FN void call_verify(const void *ptr, uint32_t first, CALL_ENV *env)
{
    const volatile uint32_t *words = (const volatile uint32_t *)ptr;

    for (uint32_t i = 0; (ptr != NULL) && (i < CALL_BYTES / 4u); i++) {
        CALL_EXPECT(env, words[i] == first * 64u + i + 1u);
    }
}

SIMT_FN void call_body(const shpool_pool *pool, void *base, call_case c, CALL_ENV *env)
{
    const size_t    huge[] = {~(size_t)0, ~(size_t)0 - 15u, (size_t)c.most + 1u};
    const uint32_t  vain   = (c.most == ~0u) ? CALL_VAIN : CALL_VAIN + 1u;
    const uint32_t  rank   = simt_thread_rank();
    const simt_addr mbar   = simt_to_shared(base) + c.mbars + 8u * rank;
    shpool_heap     heap   = shpool_init(pool, base);
    uint32_t        leads  = (heap.view.bytes != 0) && (heap.view.flags & SHPOOL_FLAG_LEADER);
    uint32_t        lanes  = shpool_warp_lanes();
    uint32_t        first  = 0;
    void           *all    = NULL;
    void           *ptr;

    lanes &= (c.who == CALL_LANES) ? 0x55555555u << (simt_lane() & 1u) : ~0u;
    first = (c.who == CALL_THREAD)  ? rank
            : (c.who >= CALL_BLOCK) ? 0u : simt_warp() * SIMT_WARP + shpool_first_lane(lanes);

    ptr = call_make(c.call, heap, lanes, NULL, c.alignment, (c.fresh != 0) ? CALL_BYTES : 0u,
                    1u << 30);
    CALL_EXPECT(env, (ptr != NULL) == (c.fresh != 0));
    if (ptr != NULL) {
        CALL_EXPECT(env, (rank != first) || (shpool_usable_size(heap, ptr) >= CALL_BYTES));
        CALL_EXPECT(env, ((size_t)ptr & (c.alignment - 1u)) == 0);
        CALL_EXPECT(env, (shpool_is_shared(ptr) != 0) == (c.shared != 0));
        for (uint32_t i = 0; (rank == first) && (i < CALL_BYTES / 4u); i++) {
            ((volatile uint32_t *)ptr)[i] = first * 64u + i + 1u;
        }
    }
    call_sync(c.who, lanes);
    call_verify(ptr, first, env);
    call_sync(c.who, lanes);
    if (((c.flags & CALL_MOVES) != 0) && (ptr != NULL)) {
        ptr = call_make(c.call, heap, lanes, ptr, c.alignment, 4u * CALL_BYTES, 1);
        call_sync(c.who, lanes);
        CALL_EXPECT(env, ptr != NULL);
        call_verify(ptr, first, env);
    }
    for (uint32_t i = 0; i < vain; i++) { /* at once, however many attempts */
        void *none = call_make(c.call, heap, lanes, ((c.flags & CALL_MOVES) != 0) ? ptr : NULL,
                               c.alignment, huge[i], 1u << 30);

        CALL_EXPECT(env, none == NULL);
    }
    if ((c.flags & CALL_ALIGNS) != 0) {
        CALL_EXPECT(env, call_make(c.call, heap, lanes, NULL, 2u * c.alignment, 1, 1u << 30) ==
                             NULL);
    }
    call_verify(ptr, first, env);
    CALL_EXPECT(env, call_free(c.form, heap, lanes, ptr, mbar) == SHPOOL_FREE_OK);
    simt_barrier();

    if (leads) {
        all = shpool_malloc_shared(heap, pool->largest);
        CALL_EXPECT(env, all != NULL);
    }
    simt_barrier();
    ptr = call_make(c.call, heap, lanes, NULL, c.alignment, CALL_BYTES, CALL_ATTEMPTS);
    CALL_EXPECT(env, (ptr != NULL) == (c.full != 0));
    CALL_EXPECT(env, call_free(c.form, heap, lanes, ptr, mbar) == SHPOOL_FREE_OK);
    simt_barrier();
    if (leads) {
        CALL_EXPECT(env, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
        CALL_EXPECT(env, shpool_check(heap).live == 0);
        CALL_EXPECT(env, shpool_largest(heap) == pool->largest);
    }
    shpool_fini(heap);
}

/* ---- host: what the allocator and the pool make of it ---- */

static inline call_case call_case_of(const shpool_pool *pool, uint32_t call, uint32_t form)
{
    const call_row *row     = &call_rows[call];
    const uint32_t  is_pool = (pool->pool_bytes != 0);
    const uint32_t  spills  = ((pool->flags & SHPOOL_FLAG_SPILL) != 0) &&
                             ((row->flags & CALL_STAYS) == 0) &&
                             (!is_pool || ((row->flags & CALL_WAITS) == 0));
    const uint32_t  reaches = (row->who != CALL_CLUSTER) || (pool->scope == SHPOOL_SCOPE_CLUSTER);
    call_case       c;

    c.call      = call;
    c.form      = (uint32_t)FREE_FIRST + form;
    c.who       = row->who;
    c.flags     = row->flags;
    c.alignment = ((row->flags & CALL_ALIGNS) != 0) ? pool->alignment : 16u;
    c.fresh     = reaches && (is_pool || spills);
    c.shared    = is_pool;
    c.full      = reaches && spills;
    c.most      = pool->largest;
    if (spills && (pool->spill_bytes > c.most)) {
        c.most = pool->spill_bytes;
    }
    if (spills && ((pool->flags & SHPOOL_FLAG_SPILL_NATIVE) != 0)) {
        c.most = ~0u;
    }
    c.mbars = (pool->shared_bytes + 15u) & ~15u;
    return c;
}

/* Number of groups that a block of `threads` is cut into. */
static inline uint32_t call_groups(uint32_t who, uint32_t threads)
{
    const uint32_t warps = (threads + 31u) / 32u;

    return (who == CALL_THREAD)  ? threads
           : (who == CALL_LANES) ? 2u * warps - (threads % 32u == 1u)
           : (who == CALL_WARP)  ? warps : 1u;
}

/* Failures that the report must have. */
static inline uint32_t call_failures(const call_case *c, uint32_t threads)
{
    return call_groups(c->who, threads) * (((c->most == ~0u) ? CALL_VAIN : CALL_VAIN + 1u) +
                                           ((c->flags & CALL_ALIGNS) != 0) + (c->fresh == 0) +
                                           (c->full == 0));
}

/* Of those, requests that no free could have made succeed. */
static inline uint32_t call_refusals(const call_case *c, uint32_t threads)
{
    return call_failures(c, threads) -
           (((c->fresh != 0) && (c->full == 0)) ? call_groups(c->who, threads) : 0u);
}

#endif /* CALL_ENV */

#endif /* SHPOOL_TESTS_CALLS_H */
