/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/groups.cu's first kernel, one text for all bindings, and its launch.  The including
 * translation unit defines GROUPS_KERNEL, the kernel's name, and SHPOOL_INLINE or SHPOOL_LINKED or
 * neither.
 *
 * In each round the lanes of each warp form teams: threads, tiles, scattered lanes, the whole
 * warp.  Each team allocates, writes all of the memory, and posts it in a letter box.  A round
 * later, other teams of another warp check the contents and free it. */
#ifndef SHPOOL_TESTS_GPU_GROUPS_KERNEL_CUH
#define SHPOOL_TESTS_GPU_GROUPS_KERNEL_CUH

#include "trial.h"

/* How a warp's lanes form teams: tiles of 1 << split, except for the last. */
enum { SPLIT_1, SPLIT_2, SPLIT_4, SPLIT_8, SPLIT_16, SPLIT_WARP, SPLIT_SCATTERED, SPLIT_COUNT };

/* Whether the kernel fills the pool at its end. */
enum exactness { EXACT_NOT, EXACT_NULL, EXACT_BYTES };

/* The lanes that make a request together. */
struct team {
    uint32_t lanes;
    uint32_t first;   /* of them */
    uint32_t index;   /* of the caller */
    uint32_t members;
    uint32_t which;   /* of the warp's teams */
    uint32_t teams;
};

struct letter {
    void    *ptr; /* NULL: none */
    uint32_t bytes;
    uint32_t tag;
};

/* All lanes of the warp. */
static __device__ team team_of(uint32_t split, uint32_t random)
{
    const uint32_t here  = shpool_warp_lanes();
    const uint32_t lane  = simt_lane();
    uint32_t       color = lane >> split;
    uint32_t       leaders;
    team           t;

    if (split == SPLIT_SCATTERED) {
        color = (random >> lane & 1u) + 2u * ((random * 2654435761u) >> lane & 1u);
    }
    t.lanes   = __match_any_sync(here, color);
    t.first   = shpool_first_lane(t.lanes);
    t.index   = simt_popc(t.lanes & simt_mask(0, lane));
    t.members = simt_popc(t.lanes);
    leaders   = __ballot_sync(here, lane == t.first);
    t.which   = simt_popc(leaders & simt_mask(0, t.first));
    t.teams   = simt_popc(leaders);
    return t;
}

static __device__ bool leads(const team &t)
{
    return t.index == 0;
}

static __device__ uint32_t team_random(const team &t, uint32_t *state)
{
    return __shfl_sync(t.lanes, random_next(state), static_cast<int>(t.first));
}

/* Member `index` of `members` writes its words. */
static __device__ void stamp(void *ptr, size_t bytes, uint32_t tag, uint32_t index,
                             uint32_t members)
{
    for (uint32_t i = index; i < bytes / 4u; i += members) {
        static_cast<uint32_t *>(ptr)[i] = word_of(tag, i);
    }
}

/* Member `index` looks at another member's words. */
static __device__ bool is_stamped(const void *ptr, size_t bytes, uint32_t tag, uint32_t index,
                                  uint32_t members)
{
    for (uint32_t i = members - 1u - index; i < bytes / 4u; i += members) {
        if (static_cast<const uint32_t *>(ptr)[i] != word_of(tag, i)) {
            return false;
        }
    }
    return true;
}

static __device__ bool is_same(const team &t, const void *ptr)
{
    unsigned long long v = reinterpret_cast<unsigned long long>(ptr);

    return __shfl_sync(t.lanes, v, static_cast<int>(t.first)) == v;
}

/* With pools of single threads only the first lane can say. */
static __device__ uint32_t team_usable(const shpool_heap &heap, const team &t, const void *ptr)
{
    uint32_t bytes = 0;

    if (leads(t)) {
        bytes = static_cast<uint32_t>(shpool_usable_size(heap, ptr));
    }
    return __shfl_sync(t.lanes, bytes, static_cast<int>(t.first));
}

/* Request size for `members` threads: sometimes up to the whole pool. */
static __device__ size_t size_for(const shpool_pool &pool, uint32_t share, uint32_t members,
                                  uint32_t r, uint32_t random)
{
    uint32_t most  = share * members;
    uint32_t third = pool.largest / 3u + 1u;

    most = ((pool.largest != 0) && (most > third)) ? third : most;
    most = ((pool.largest != 0) && ((r & 31u) == 0)) ? pool.largest : most;
    return 1u + random % most;
}

/* Count a realloc, for comparison with the report. */
static __device__ void tally_realloc(counts *c, const void *before, const void *after)
{
    tally(c, T_MALLOCS, after != before);
    tally(c, T_NULLS, after == NULL);
    tally(c, T_FREES, (after != NULL) && (after != before));
}

static __device__ void team_realloc(const shpool_pool &pool, const shpool_heap &heap, const team &t,
                                    size_t n, letter *l, counts *c)
{
    void *got = (t.lanes == shpool_warp_lanes()) ? shpool_realloc_warp(heap, l->ptr, n)
                                                 : shpool_realloc_lanes(heap, t.lanes, l->ptr, n);

    (void)pool;
    note(c, E_SAME, !is_same(t, got));
    if (leads(t)) {
        tally_realloc(c, l->ptr, got);
    }
    if (got != NULL) {
        note(c, E_LOST, !is_stamped(got, (l->bytes < n) ? l->bytes : n, l->tag, t.index,
                                    t.members));
        __syncwarp(t.lanes); /* looked at by all */
        l->ptr   = got;
        l->bytes = team_usable(heap, t, got);
        note(c, E_USABLE, l->bytes < n);
    }
}

/* One request of a team: the memory is written by all of them. */
static __device__ letter team_asks(const shpool_pool &pool, const shpool_heap &heap, const team &t,
                                   uint32_t share, uint32_t *state, counts *c)
{
    const uint32_t r    = team_random(t, state);
    const size_t   n    = size_for(pool, share, t.members, r, team_random(t, state));
    size_t         want = 16;
    letter         l    = {NULL, 0, r | 1u};

    if ((r >> 5 & 3u) == 0) {
        want  = static_cast<size_t>(16u) << (r >> 7) % 7u;
        want  = (want > pool.alignment) ? pool.alignment : want;
        l.ptr = shpool_aligned_malloc_lanes(heap, t.lanes, want, n);
    } else if (t.lanes == shpool_warp_lanes()) {
        l.ptr = shpool_malloc_warp(heap, n);
    } else {
        l.ptr = shpool_malloc_lanes(heap, t.lanes, n);
    }
    note(c, E_SAME, !is_same(t, l.ptr));
    if (leads(t)) {
        tally(c, T_MALLOCS, 1);
        tally(c, T_NULLS, l.ptr == NULL);
    }
    if (l.ptr != NULL) {
        l.bytes = team_usable(heap, t, l.ptr);
        note(c, E_USABLE, l.bytes < n);
        note(c, E_MISALIGNED, !is_aligned(l.ptr, want));
        stamp(l.ptr, l.bytes, l.tag, t.index, t.members);
        if ((r >> 12 & 7u) == 0) {
            team_realloc(pool, heap, t, size_for(pool, share, t.members, 1u, r >> 16), &l, c);
            stamp(l.ptr, l.bytes, l.tag, t.index, t.members);
        }
    }
    return l;
}

/* By a team, or by one of its lanes: the `owner`, which may free it whatever the scope. */
static __device__ void team_frees(const shpool_heap &heap, const team &t, const letter &l,
                                  uint32_t owner, bool alone, counts *c)
{
    uint32_t reason = SHPOOL_FREE_OK;

    note(c, E_PATTERN, !is_stamped(l.ptr, l.bytes, l.tag, t.index, t.members));
    if (!alone) {
        reason = shpool_free_lanes_at(heap, t.lanes, l.ptr, 0);
    } else {
        __syncwarp(t.lanes);
        if (simt_lane() == owner) {
            reason = shpool_free_at(heap, l.ptr, 0);
        }
    }
    note(c, E_REFUSED, reason != SHPOOL_FREE_OK);
    if (leads(t)) {
        tally(c, T_FREES, 1);
    }
}

/* Open the letters of warp `from`.  `any`: any thread may free; else the team must have the thread
 * that allocated. */
static __device__ void open_letters(const shpool_heap &heap, const team &t, const letter *box,
                                    uint32_t from, bool any, uint32_t r, counts *c)
{
    for (uint32_t j = 0; j < 32u; j++) {
        const uint32_t at   = from * 32u + j;
        const bool     mine = any ? (j % t.teams == t.which) : ((t.lanes >> j & 1u) != 0);

        if (mine && (at < simt_block_threads()) && (box[at].ptr != NULL)) {
            team_frees(heap, t, box[at], any ? t.first : j, (r >> j & 1u) != 0, c);
        }
    }
}

/* One request of the whole block, which is freed again by the block, by a warp or by a thread. */
static __device__ void block_turn(const shpool_pool &pool, const shpool_heap &heap, uint32_t random,
                                  uint32_t share, counts *c)
{
    const uint32_t threads = simt_block_threads();
    const uint32_t rank    = simt_thread_rank();
    const size_t   n       = size_for(pool, share, threads, random, random >> 8);
    const size_t   more    = size_for(pool, share, threads, random >> 4, random >> 12);
    const size_t   want    = ((random & 0x40u) != 0) ? pool.alignment : 16u;
    void          *ptr     = (want == 16u) ? shpool_malloc_block(heap, n)
                                           : shpool_aligned_malloc_block(heap, want, n);
    void          *got;

    note(c, E_SAME, simt_broadcast(reinterpret_cast<unsigned long long>(ptr)) !=
                        reinterpret_cast<unsigned long long>(ptr));
    if (rank == 0) {
        tally(c, T_MALLOCS, 1);
        tally(c, T_NULLS, ptr == NULL);
    }
    if (ptr == NULL) {
        return; /* the same in all threads */
    }
    note(c, E_MISALIGNED, !is_aligned(ptr, want));
    stamp(ptr, n & ~static_cast<size_t>(3), random, rank, threads);
    __syncthreads();
    note(c, E_PATTERN, !is_stamped(ptr, n & ~static_cast<size_t>(3), random, rank, threads));
    got = shpool_realloc_block(heap, ptr, more);
    if (rank == 0) {
        tally_realloc(c, ptr, got);
        tally(c, T_FREES, 1);
    }
    if (got != NULL) {
        ptr = got;
        note(c, E_LOST, !is_stamped(ptr, ((more < n) ? more : n) & ~static_cast<size_t>(3), random,
                                    rank, threads));
    }
    if (random % 3u == 0) {
        shpool_free_block(heap, ptr);
        return;
    }
    __syncthreads();
    if (random % 3u == 1u) {
        if (simt_warp() == 0) {
            note(c, E_REFUSED, shpool_free_lanes_at(heap, shpool_warp_lanes(), ptr, 0) !=
                                   SHPOOL_FREE_OK);
        }
    } else if (rank == 0) {
        note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
    }
}

/* One team fills an idle pool to its last granule; then only freed memory can be allocated. */
static __device__ void to_the_last(const shpool_pool &pool, const shpool_heap &heap, const team &t,
                                   exactness exact, counts *c)
{
    size_t   size  = (pool.largest / 13u > 8u) ? pool.largest / 13u : 8u;
    void    *one   = shpool_malloc_lanes(heap, t.lanes, size);
    uint32_t had   = (one != NULL) ? team_usable(heap, t, one) : 0u;
    uint32_t sum   = had;
    void    *chain = NULL;

    note(c, E_EXHAUSTED, one == NULL);
    for (uint32_t guard = 0; (one != NULL) && (guard < 20000u); guard++) {
        void *ptr = shpool_malloc_lanes(heap, t.lanes, size);

        if (ptr != NULL) {
            sum += team_usable(heap, t, ptr);
            if (leads(t)) {
                *static_cast<void **>(ptr) = chain;
            }
            chain = ptr;
        } else if (size > 8u) {
            size = (size > 32u) ? size / 4u : 8u;
        } else {
            break;
        }
    }
    if (exact == EXACT_BYTES) {
        note(c, E_EXHAUSTED, sum != pool.largest);
    }
    for (uint32_t round = 0; (one != NULL) && (round < 3u); round++) {
        note(c, E_REFUSED, shpool_free_lanes_at(heap, t.lanes, one, 0) != SHPOOL_FREE_OK);
        one = shpool_malloc_lanes(heap, t.lanes, had);
        note(c, E_EXHAUSTED, one == NULL);
        note(c, E_BEYOND, shpool_malloc_lanes(heap, t.lanes, 8) != NULL);
    }
    note(c, E_REFUSED, shpool_free_lanes_at(heap, t.lanes, one, 0) != SHPOOL_FREE_OK);
    while (chain != NULL) {
        void *ptr = chain;

        __syncwarp(t.lanes);
        chain = *static_cast<void **>(ptr);
        note(c, E_REFUSED, shpool_free_lanes_at(heap, t.lanes, ptr, 0) != SHPOOL_FREE_OK);
    }
    one = shpool_malloc_lanes(heap, t.lanes, pool.largest);
    note(c, E_LARGEST, one == NULL);
    note(c, E_BEYOND, (exact == EXACT_BYTES) && (shpool_malloc_lanes(heap, t.lanes, 1) != NULL));
    shpool_free_lanes(heap, t.lanes, one);
    note(c, E_BEYOND, shpool_malloc_lanes(heap, t.lanes, static_cast<size_t>(pool.largest) + 1u) !=
                          NULL);
    note(c, E_BEYOND, shpool_malloc_lanes(heap, t.lanes, ~static_cast<size_t>(0)) != NULL);
}

/* The whole warp 0; a pool's other threads wait. */
static __device__ void fill_pools(const shpool_pool &pool, const shpool_heap &heap, exactness exact,
                                  counts *c)
{
    for (uint32_t split : {static_cast<uint32_t>(SPLIT_WARP), static_cast<uint32_t>(SPLIT_4),
                           static_cast<uint32_t>(SPLIT_SCATTERED)}) {
        const team t = team_of(split, 0x5a3c96e1u);

        if (t.which == 0) {
            to_the_last(pool, heap, t, exact, c);
        }
        __syncwarp(shpool_warp_lanes());
    }
}

#if defined(GROUPS_KERNEL)
extern "C" __global__ void __launch_bounds__(1024) /* so that it has the registers for that */
GROUPS_KERNEL(shpool_pool pool, uint32_t seed, uint32_t rounds, uint32_t share, exactness exact,
              counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_word[]; /* of simt_broadcast() */
    const uint32_t threads = simt_block_threads();
    const uint32_t rank    = simt_thread_rank();
    const uint32_t warp    = simt_warp();
    const uint32_t warps   = (threads + 31u) / 32u;
    const bool     any     = pool.threads_per_pool >= threads;
    letter        *boxes   = reinterpret_cast<letter *>(behind_word + pool.shared_bytes);
    shpool_heap    heap    = shpool_init(&pool, behind_word);
    uint32_t       state   = (seed * 7919u + simt_block_rank() * 1024u + rank) * 2654435761u | 1u;

    boxes[rank]           = letter();
    boxes[threads + rank] = letter();
    __syncthreads();
    for (uint32_t round = 0; round < rounds; round++) {
        const letter  *in   = boxes + (round + 1u) % 2u * threads;
        const uint32_t r    = __shfl_sync(shpool_warp_lanes(), random_next(&state), 0);
        const team     asks  = team_of((r >> 8) % SPLIT_COUNT, r);
        const team     frees = team_of((r >> 16) % SPLIT_COUNT, r ^ 0x9e3779b9u);
        const uint32_t from  = any ? (warp + 1u + round) % warps : warp;
        letter         l;

        if ((r & 1u) != 0) {
            open_letters(heap, frees, in, from, any, r, c);
        }
        __syncwarp(shpool_warp_lanes());
        l = team_asks(pool, heap, asks, share, &state, c);
        boxes[round % 2u * threads + rank] = leads(asks) ? l : letter();
        __syncwarp(shpool_warp_lanes());
        if ((r & 1u) == 0) {
            open_letters(heap, frees, in, from, any, r, c);
        }
        __syncthreads();
        if (round % 8u == 7u) {
            block_turn(pool, heap, (seed + simt_block_rank() + round) * 2654435761u, share, c);
        }
    }
    open_letters(heap, team_of(SPLIT_8, 0), boxes + (rounds + 1u) % 2u * threads, warp, any, 0, c);
    at_rest(pool, heap, c);
    if ((exact != EXACT_NOT) && (warp == 0)) {
        fill_pools(pool, heap, exact, c);
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}
#endif

/* ---- host ---- */

struct groups_shape {
    uint32_t  grid;
    uint32_t  threads;
    uint32_t  rounds;
    exactness exact;
};

/* Run a kernel that fits this translation unit's pools; false: it was said. */
static inline bool groups_launch(const char *what, const void *kernel, const shpool_pool &pool,
                                 const groups_shape &shape, counts *counts_p)
{
    const size_t shared = pool.shared_bytes + 2u * shape.threads * sizeof(letter);
    shpool_pool  copy   = pool;
    uint32_t     seed   = shape.threads;
    uint32_t     rounds = shape.rounds;
    uint32_t     share  = share_of(pool, 3);
    exactness    exact  = shape.exact;
    counts      *device = NULL;
    void        *arguments[] = {&copy, &seed, &rounds, &share, &exact, &device};
    bool         right;

    right = gpu_check(shpool_allow_shared(kernel, shared) == SHPOOL_OK, "%s: %s", what,
                      shpool_last_error()) &&
            gpu_cuda(cudaMalloc(&device, sizeof(*device)), "cudaMalloc") &&
            gpu_cuda(cudaMemset(device, 0, sizeof(*device)), "cudaMemset") &&
            gpu_cuda(cudaLaunchKernel(kernel, dim3(shape.grid), dim3(shape.threads), arguments,
                                      shared, NULL), "cudaLaunchKernel");
    if (right) {
        gpu_wait(what);
        right = gpu_cuda(cudaMemcpy(counts_p, device, sizeof(*counts_p), cudaMemcpyDeviceToHost),
                         "cudaMemcpy");
    }
    (void)cudaFree(device);
    return right;
}

/* One for each binding of bitmap; false: it was said; *skipped_p: this build or machine cannot. */
extern "C" bool groups_run_inline(const groups_shape *shape, counts *counts_p);
extern "C" bool groups_run_linked(const char *allocator, const groups_shape *shape,
                                  counts *counts_p, bool *skipped_p);

#endif /* SHPOOL_TESTS_GPU_GROUPS_KERNEL_CUH */
