/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of gpu/conformance.cu, for run() of gpu/trial.h: the first parameter is the pool, the
 * last one counts errors. */
#ifndef SHPOOL_TESTS_CONFORMANCE_KERNELS_CUH
#define SHPOOL_TESTS_CONFORMANCE_KERNELS_CUH

#include <shpool/groups.cuh>

#include "trial.h"

/* The calls of groups.cuh, beside those of tests/pools/calls.h. */
#define CALLS_OF_GROUPS(_) \
    _(malloc_tile, CALL_WARP, 0, shpool_malloc(heap, call_tile(), bytes)) \
    _(aligned_malloc_tile, CALL_WARP, CALL_ALIGNS, \
      shpool_aligned_malloc(heap, call_tile(), alignment, bytes)) \
    _(realloc_tile, CALL_WARP, CALL_MOVES, shpool_realloc(heap, call_tile(), ptr, bytes)) \
    _(malloc_wait_tile, CALL_WARP, CALL_WAITS, \
      shpool_malloc_wait(heap, call_tile(), bytes, attempts)) \
    _(malloc_threads, CALL_BLOCK, 0, shpool_malloc(heap, call_threads(), bytes)) \
    _(aligned_malloc_threads, CALL_BLOCK, CALL_ALIGNS, \
      shpool_aligned_malloc(heap, call_threads(), alignment, bytes)) \
    _(realloc_threads, CALL_BLOCK, CALL_MOVES, \
      shpool_realloc(heap, call_threads(), ptr, bytes)) \
    _(malloc_wait_threads, CALL_BLOCK, CALL_WAITS, \
      shpool_malloc_wait(heap, call_threads(), bytes, attempts)) \
    _(malloc_cluster, CALL_CLUSTER, 0, CALL_BY_CLUSTER(shpool_malloc(heap, cluster, bytes))) \
    _(aligned_malloc_cluster, CALL_CLUSTER, CALL_ALIGNS, \
      CALL_BY_CLUSTER(shpool_aligned_malloc(heap, cluster, alignment, bytes))) \
    _(realloc_cluster, CALL_CLUSTER, CALL_MOVES, \
      CALL_BY_CLUSTER(shpool_realloc(heap, cluster, ptr, bytes))) \
    _(malloc_wait_cluster, CALL_CLUSTER, CALL_WAITS, \
      CALL_BY_CLUSTER(shpool_malloc_wait(heap, cluster, bytes, attempts)))
#define FREES_OF_GROUPS(_) \
    _(free_tile, CALL_WARP, shpool_free(heap, call_tile(), ptr)) \
    _(free_threads, CALL_BLOCK, shpool_free(heap, call_threads(), ptr)) \
    _(free_cluster, CALL_CLUSTER, CALL_FREE_CLUSTER)

SIMT_FN cooperative_groups::thread_block call_threads(void)
{
    return cooperative_groups::this_thread_block();
}

SIMT_FN cooperative_groups::thread_block_tile<32, cooperative_groups::thread_block> call_tile(void)
{
    return cooperative_groups::tiled_partition<32>(call_threads());
}

#if defined(_CG_HAS_CLUSTER_GROUP)
#define CALL_BY_CLUSTER(_call) \
    [&](const cooperative_groups::cluster_group &cluster) { \
        return _call; \
    }(cooperative_groups::this_cluster())
#define CALL_FREE_CLUSTER shpool_free(heap, cooperative_groups::this_cluster(), ptr)
#else
#define CALL_BY_CLUSTER(_call) NULL
#define CALL_FREE_CLUSTER
#endif

#define CALL_ENV                 counts
#define CALL_EXPECT(_env, _fine) note((_env), E_CALL, !(_fine))
#include "../pools/calls.h"

/* Blocks have up to 1,024 threads, also where the allocator is inlined. */
#define KERNEL static __global__ void __launch_bounds__(1024)

/* The seam's own computations; needs 33 threads, one for each first bit of a mask. */
KERNEL seam(shpool_pool pool, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_words[];
    __shared__ uint32_t words[33];
    const uint32_t  w     = simt_window();
    const uint32_t  first = simt_thread_rank();
    const simt_addr at    = simt_to_shared(&words[first]);
    uint32_t        local = word_of(first, 0);

    (void)pool;
    for (uint32_t count = 0; count <= 32u; count++) {
        uint32_t mask = 0;

        for (uint32_t bit = 0; bit < 32u; bit++) {
            mask |= static_cast<uint32_t>((bit >= first) && (bit < first + count)) << bit;
        }
        note(c, E_MASK, simt_mask(first, count) != mask);
        note(c, E_KEEP, simt_keep(mask) != mask);
    }
    note(c, E_KEEP, simt_keep(local) != local);

    note(c, E_WINDOW, w == 0);
    note(c, E_WINDOW, !simt_is_within(w, &words[first]) || !simt_is_within(w, behind_words));
    note(c, E_WINDOW, !simt_is_within(w, behind_words + simt_dynamic_bytes() - 1u));
    note(c, E_WINDOW, simt_is_within(w, c) || simt_is_within(w, &local) || simt_is_within(w, NULL));
    /* not of NULL, whose upper half is 0 as well */
    note(c, E_WINDOW, simt_is_within(0, &words[first]) || simt_is_within(0, behind_words) ||
                          simt_is_within(0, c) || simt_is_within(0, &local));
    note(c, E_WINDOW, simt_from_window(w, simt_dynamic_base()) != behind_words);
    note(c, E_WINDOW, simt_from_window(w, at) != &words[first]);
    *static_cast<uint32_t *>(simt_from_window(w, at)) = local;
    __syncthreads();
    note(c, E_WINDOW, words[32u - first] != word_of(32u - first, 0));
}

/* Random malloc, calloc, aligned_malloc, realloc and free of four allocations a thread. */
KERNEL stress(shpool_pool pool, uint32_t seed, uint32_t rounds, uint32_t share,
                              counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap heap  = shpool_init(&pool, smem);
    uint32_t    self  = simt_block_rank() * 1024u + simt_thread_rank();
    uint32_t    state = (seed * 7919u + self) * 2654435761u;
    uint32_t    tag   = state | 1u;
    void       *ptr[4]   = {NULL, NULL, NULL, NULL};
    size_t      bytes[4] = {0, 0, 0, 0};
    uint32_t    tags[4]  = {0, 0, 0, 0};

    state |= 1u;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t r    = random_next(&state);
        uint32_t s    = r & 3u;
        uint32_t what = (r >> 2) & 7u;
        uint32_t most = (((r >> 5) & 15u) == 0) ? pool.largest : share;
        size_t   n    = (((r >> 9) & 15u) == 0) ? 0u : 1u + random_next(&state) % (most + 1u);
        size_t   want = 16;
        void    *got;

        if (ptr[s] == NULL) {
            if (what == 0) {
                want = static_cast<size_t>(16u) << ((r >> 16) % 7u);
                want = (want > pool.alignment) ? pool.alignment : want;
                got  = shpool_aligned_malloc(heap, want, n);
            } else if (what == 1) {
                got = shpool_calloc(heap, (n + 3u) / 4u, 4u);
                for (size_t i = 0; (got != NULL) && (i < (n + 3u) / 4u); i++) {
                    note(c, E_DIRTY, static_cast<uint32_t *>(got)[i] != 0);
                }
            } else if (what == 2) {
                got = shpool_realloc(heap, NULL, n);
            } else {
                got = shpool_malloc(heap, n);
            }
        } else if (what < 2) {
            size_t kept = (bytes[s] < n) ? bytes[s] : n;

            got = shpool_realloc(heap, ptr[s], n);
            if (got == NULL) {
                continue; /* the old one is still there, and will be looked at */
            }
            note(c, E_LOST, !holds(got, kept, tags[s]));
        } else {
            note(c, E_PATTERN, !holds(ptr[s], bytes[s], tags[s]));
            note(c, E_REFUSED, shpool_free_at(heap, ptr[s], 0) != SHPOOL_FREE_OK);
            ptr[s] = NULL;
            continue;
        }
        ptr[s] = got;
        if (got != NULL) {
            bytes[s] = shpool_usable_size(heap, got);
            tags[s]  = ++tag;
            note(c, E_MISALIGNED, !is_aligned(got, want));
            note(c, E_USABLE, (bytes[s] < n) || (bytes[s] == 0));
            fill(got, bytes[s], tags[s]);
        }
    }
    for (uint32_t s = 0; s < 4u; s++) {
        if (ptr[s] != NULL) {
            note(c, E_PATTERN, !holds(ptr[s], bytes[s], tags[s]));
            note(c, E_REFUSED, shpool_free_at(heap, ptr[s], 0) != SHPOOL_FREE_OK);
        }
    }
    shpool_free(heap, NULL);
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* Whatever the scope allows: each allocation is freed by another thread of the same pool. */
KERNEL exchange(shpool_pool pool, uint32_t rounds, uint32_t share, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_box[];
    __shared__ void *box[SHPOOL_MAX_THREADS];
    shpool_heap heap  = shpool_init(&pool, behind_box);
    uint32_t    rank  = simt_thread_rank();
    uint32_t    first = rank / pool.threads_per_pool * pool.threads_per_pool;
    uint32_t    group = min(pool.threads_per_pool, simt_block_threads() - first);

    for (uint32_t round = 0; round < rounds; round++) {
        size_t   n       = 1u + (rank * 7u + round * 13u) % share;
        uint32_t partner = first + (rank - first + round + 1u) % group;
        void    *ptr     = shpool_malloc(heap, n);

        note(c, E_EXHAUSTED, (ptr == NULL) && (pool.largest != 0));
        if (ptr != NULL) {
            fill(ptr, shpool_usable_size(heap, ptr), rank + round * 1024u);
        }
        box[rank] = ptr;
        __syncthreads();
        ptr = box[partner];
        if (ptr != NULL) {
            note(c, E_PATTERN, !holds(ptr, shpool_usable_size(heap, ptr), partner + round * 1024u));
            note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        }
        __syncthreads();
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* The first thread of each pool requests a size that just fits, and one that never fits. */
KERNEL limits(shpool_pool pool, uint32_t serves, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    const size_t none  = ~static_cast<size_t>(0);
    shpool_heap  heap  = shpool_init(&pool, smem);
    const bool   spill = (pool.flags & SHPOOL_FLAG_SPILL) != 0;

    if (is_leader(heap)) {
        const size_t huge[] = {none, none - 7u, static_cast<size_t>(1) << 31,
                               (static_cast<size_t>(1) << 32) + 8u};
        void *ptr = shpool_malloc(heap, pool.largest);

        note(c, E_LARGEST, (ptr == NULL) && (serves != 0));
        if ((ptr != NULL) && !spill) {
            note(c, E_BEYOND, shpool_usable_size(heap, ptr) < pool.largest);
            fill(ptr, pool.largest, 5u);
            note(c, E_PATTERN, !holds(ptr, pool.largest, 5u));
            note(c, E_BROKEN, shpool_check(heap).broken != 0);
        }
        note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        ptr = spill ? NULL : shpool_malloc(heap, static_cast<size_t>(pool.largest) + 1u);
        note(c, E_BEYOND, ptr != NULL);
        for (size_t n : huge) {
            note(c, E_BEYOND, shpool_malloc(heap, n) != NULL);
            note(c, E_BEYOND, shpool_aligned_malloc(heap, 16, n) != NULL);
            note(c, E_BEYOND, shpool_calloc(heap, 1, n) != NULL);
        }
        note(c, E_BEYOND, shpool_calloc(heap, none / 2u, 3) != NULL);
        note(c, E_BEYOND, shpool_calloc(heap, static_cast<size_t>(1) << 32,
                                        static_cast<size_t>(1) << 32) != NULL);

        ptr = shpool_malloc(heap, 0);
        note(c, E_ZERO, (ptr == NULL) && (serves != 0));
        note(c, E_BEYOND, (ptr != NULL) && (shpool_realloc(heap, ptr, none - 7u) != NULL));
        note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);

        for (uint32_t alignment = 1; alignment <= pool.alignment; alignment *= 2u) {
            ptr = shpool_aligned_malloc(heap, alignment, spill ? 64u : pool.largest);
            note(c, E_ALIGNED, (ptr == NULL) && (serves != 0));
            note(c, E_MISALIGNED, !is_aligned(ptr, alignment));
            note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        }
        note(c, E_ALIGNED, shpool_aligned_malloc(heap, 0, 16) != NULL);
        note(c, E_ALIGNED, shpool_aligned_malloc(heap, 24, 16) != NULL);
        note(c, E_ALIGNED, shpool_aligned_malloc(heap, pool.alignment * 2u, 16) != NULL);
        note(c, E_ALIGNED, shpool_aligned_malloc(heap, (static_cast<size_t>(1) << 32) + 16u, 16) !=
                               NULL);
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* One row of calls.h. */
KERNEL calls(shpool_pool pool, call_case row, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_calls[];

    call_body(&pool, behind_calls, row, c);
}

#define HEAP_CHUNK 65536u

/* One thread uses up CUDA's heap and frees it later; one of another warp waits for that. */
KERNEL wait_for_heap(shpool_pool pool, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_full[];
    __shared__ uint32_t full;
    shpool_heap heap  = shpool_init(&pool, behind_full);
    void      **chain = NULL;
    void      **next  = NULL;

    if (simt_thread_rank() == 0) {
        full = 0;
    }
    __syncthreads();
    if (simt_thread_rank() == 0) {
        while ((next = static_cast<void **>(shpool_malloc(heap, HEAP_CHUNK))) != NULL) {
            *next = chain;
            chain = next;
        }
        note(c, E_EXHAUSTED, chain == NULL);
        atomicExch(&full, 1u);
        __nanosleep(100000);
        for (; chain != NULL; chain = next) {
            next = static_cast<void **>(*chain);
            shpool_free(heap, chain);
        }
    } else if (simt_thread_rank() == 32u) {
        while (atomicAdd(&full, 0u) == 0) {
        }
        next = static_cast<void **>(shpool_malloc_wait(heap, HEAP_CHUNK, 1000000u));
        note(c, E_STARVED, next == NULL);
        shpool_free(heap, next);
    }
    shpool_fini(heap);
}

/* The device's layout function is the host's: same sums over a sweep of sizes, same geometry. */
KERNEL layouts(shpool_pool pool, uint32_t *sums, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_layout layout = pool.table->layout(pool.pool_bytes -
                                                 shpool_wait_bytes(pool.flags, pool.pool_bytes),
                                             pool.alignment);
    shpool_heap   heap;

    note(c, E_LAYOUT, (pool.pool_bytes != 0) &&
                          ((layout.largest != pool.largest) || (layout.word[0] != pool.word[0]) ||
                           (layout.word[1] != pool.word[1]) || (layout.bytes > pool.pool_bytes)));
    for (uint32_t i = simt_thread_rank(); i < 4096u; i += simt_block_threads()) {
        layout  = pool.table->layout(i * 16u, pool.alignment);
        sums[i] = layout.bytes * 3u + layout.largest * 5u + layout.word[0] * 7u +
                  layout.word[1] * 11u;
    }
    if ((pool.pool_bytes & (pool.alignment - 1u)) != 0) {
        return; /* a single pool need not be a multiple of its alignment, those of init_bytes are */
    }
    heap = shpool_init_bytes(&pool, smem, pool.shared_bytes);
    note(c, E_LAYOUT, (heap.view.bytes != pool.pool_bytes) ||
                          ((pool.pool_bytes != 0) && ((heap.view.word[0] != pool.word[0]) ||
                                                      (heap.view.word[1] != pool.word[1]))));
    if (heap.view.bytes != 0) {
        at_rest(pool, heap, c);
    }
}

/* stats: every call is counted here as well; one thread in four forgets an allocation. */
KERNEL counted(shpool_pool pool, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    for (uint32_t round = 0; round < 4u; round++) {
        void *ptr = shpool_malloc(heap, 1u + (simt_thread_rank() + round) % 32u);

        tally(c, T_MALLOCS, 1);
        tally(c, T_NULLS, ptr == NULL);
        if ((ptr != NULL) && (round == 3u) && ((simt_thread_rank() & 3u) == 0)) {
            tally(c, T_LEAKS, 1);
            tally(c, T_LEAK_BYTES, shpool_usable_size(heap, ptr));
        } else if (ptr != NULL) {
            note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
            tally(c, T_FREES, 1);
        }
    }
    if (simt_thread_rank() == 0) { /* cannot fit anywhere: a failure more */
        note(c, E_BEYOND, shpool_malloc(heap, ~static_cast<size_t>(0) - 7u) != NULL);
        tally(c, T_MALLOCS, 1);
        tally(c, T_NULLS, 1);
    }
    shpool_fini(heap);
}

/* check: the bad frees that a thread makes, by its number. */
enum { BAD_DOUBLE, BAD_STATIC, BAD_GLOBAL, BAD_WORD_IN, BAD_GRANULE_IN, BAD_OTHERS, BAD_KINDS };

#define BAD_BLOCKS   10u
#define BAD_THREADS  128u
#define BAD_INJECT   100u /* threads of a block that do it */

[[maybe_unused]] static __host__ __device__ uint32_t bad_kind(uint32_t block, uint32_t thread,
                                                              uint32_t scope)
{
    /* in a pool of scope block, memory of another thread of the block may be freed */
    return (block * BAD_INJECT + thread) % ((scope >= SHPOOL_SCOPE_BLOCK) ? BAD_OTHERS : BAD_KINDS);
}

[[maybe_unused]] static __host__ __device__ uint32_t bad_reason(uint32_t kind)
{
    switch (kind) {
    case BAD_DOUBLE:     return SHPOOL_FREE_DOUBLE;
    case BAD_WORD_IN:
    case BAD_GRANULE_IN: return SHPOOL_FREE_INTERIOR;
    default:             return SHPOOL_FREE_FOREIGN;
    }
}

KERNEL bad_frees(shpool_pool pool, unsigned long long *addresses, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_box[];
    __shared__ void    *box[BAD_THREADS];
    __shared__ uint32_t unrelated[4];
    shpool_heap heap   = shpool_init(&pool, behind_box);
    uint32_t    rank   = simt_thread_rank();
    uint32_t    block  = simt_block_rank();
    uint32_t    kind   = bad_kind(block, rank, pool.scope);
    const bool  inject = rank < BAD_INJECT;
    char       *mine   = static_cast<char *>(shpool_malloc(heap, 44));
    void       *bad    = mine;

    note(c, E_EXHAUSTED, mine == NULL);
    fill(mine, (mine != NULL) ? 44u : 0u, rank);
    box[rank] = mine;
    __syncthreads();
    if (inject && (kind == BAD_DOUBLE)) {
        note(c, E_REFUSED, shpool_free_at(heap, mine, 0) != SHPOOL_FREE_OK);
    }
    __syncthreads(); /* no thread allocates from here on */
    switch (kind) {
    case BAD_STATIC:     bad = unrelated; break;
    case BAD_GLOBAL:     bad = c; break;
    case BAD_WORD_IN:    bad = mine + 4; break;
    case BAD_GRANULE_IN: bad = mine + 16; break;
    case BAD_OTHERS:     bad = box[(rank + pool.threads_per_pool) % simt_block_threads()]; break;
    default:             break;
    }
    if (inject && (mine != NULL)) {
        addresses[block * BAD_INJECT + rank] = reinterpret_cast<unsigned long long>(bad);
        note(c, E_ACCEPTED, shpool_free_at(heap, bad, 1000u + kind) != bad_reason(kind));
    }
    __syncthreads();
    if (!inject || (kind != BAD_DOUBLE)) {
        note(c, E_PATTERN, (mine != NULL) && !holds(mine, 44, rank));
        note(c, E_REFUSED, shpool_free_at(heap, mine, 0) != SHPOOL_FREE_OK);
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* The same threads write a word after or before their allocations, free them, and restore the
 * word. */
KERNEL overruns(shpool_pool pool, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_box[];
    shpool_heap heap   = shpool_init(&pool, behind_box);
    uint32_t    rank   = simt_thread_rank();
    const bool  inject = rank < BAD_INJECT;
    uint32_t   *mine   = static_cast<uint32_t *>(shpool_malloc_at(heap, 44, 7u));
    uint32_t   *at     = (rank % 2u == 0) ? mine + 11 : mine - 1 - rank % 4u;

    note(c, E_EXHAUSTED, mine == NULL);
    __syncthreads();
    if (inject && (mine != NULL)) {
        *at ^= 1u << (rank % 32u);
    }
    __syncthreads();
    if (inject && (mine != NULL)) {
        note(c, E_ACCEPTED, shpool_free_at(heap, mine, 2000u) != SHPOOL_FREE_CORRUPT);
        *at ^= 1u << (rank % 32u);
    }
    __syncthreads();
    note(c, E_REFUSED, shpool_free_at(heap, mine, 0) != SHPOOL_FREE_OK);
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* A base or a launch that does not fit: no memory, no trap, the reason in the report. */
KERNEL unfit(shpool_pool pool, uint32_t shift, uint32_t global, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, global ? static_cast<void *>(c) : smem + shift);

    note(c, E_NOT_EMPTY, shpool_malloc(heap, 1) != NULL);
    note(c, E_NOT_EMPTY, shpool_aligned_malloc(heap, 16, 16) != NULL);
    note(c, E_NOT_EMPTY, shpool_free_at(heap, smem, 0) == SHPOOL_FREE_OK);
    note(c, E_NOT_EMPTY, shpool_free_at(heap, c, 0) == SHPOOL_FREE_OK);
    note(c, E_NOT_EMPTY, shpool_usable_size(heap, smem) != 0);
    note(c, E_NOT_EMPTY, shpool_largest(heap) != 0);
    note(c, E_BROKEN, shpool_check(heap).broken != 0);
    shpool_fini(heap);
}

#endif /* SHPOOL_TESTS_CONFORMANCE_KERNELS_CUH */
