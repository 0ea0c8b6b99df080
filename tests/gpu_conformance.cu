/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of every registered allocator, on a GPU, through the function table.
 *
 * Kernels count what went wrong by kind; the host checks that every count is 0.  Exit code 0: all
 * passed, 1: something failed, 77: no device.  Arguments: allocators to test; none: all.
 */
#include <climits>
#include <cstring>

#include <shpool/shpool.cuh>

#include "gpu_check.h"

/* ---- what a kernel can find wrong ---- */

#define ERRORS(_) \
    _(PATTERN, "an allocation's contents changed: it overlaps another")             \
    _(MISALIGNED, "an allocation is not aligned")                                   \
    _(USABLE, "usable_size is less than what was asked for")                        \
    _(DIRTY, "calloc gave memory that is not zero")                                 \
    _(LOST, "realloc lost contents")                                                \
    _(REFUSED, "a proper free was refused")                                         \
    _(ACCEPTED, "a bad free was not refused for its reason")                        \
    _(BROKEN, "check found the structure broken")                                   \
    _(LIVE, "check found allocations after everything was freed")                   \
    _(LARGEST, "a pool at rest does not give pool.largest")                         \
    _(BEYOND, "a request that cannot fit succeeded")                                \
    _(ZERO, "malloc(0) failed in a fresh pool")                                     \
    _(ALIGNED, "aligned_malloc failed in a fresh pool, or took a bad alignment")    \
    _(LAYOUT, "the device's geometry is not the host's")                            \
    _(NOT_EMPTY, "a heap that must be empty gave memory, or took some")             \
    _(EXHAUSTED, "malloc failed though the pool has room for all")

enum error_kind {
#define ERROR_NAME(_name, _text) E_##_name,
    ERRORS(ERROR_NAME)
#undef ERROR_NAME
    E_COUNT
};

static const char *const error_text[E_COUNT] = {
#define ERROR_TEXT(_name, _text) _text,
    ERRORS(ERROR_TEXT)
#undef ERROR_TEXT
};

/* What the kernels count beside errors, for comparison with the report. */
enum tally_kind { T_MALLOCS, T_NULLS, T_FREES, T_LEAKS, T_LEAK_BYTES, T_COUNT };

struct counts {
    uint32_t           error[E_COUNT];
    uint32_t           reserved[E_COUNT % 2];
    unsigned long long tally[T_COUNT];
};

/* ---- device helpers ---- */

static __device__ void note(counts *c, error_kind kind, bool wrong = true)
{
    if (wrong) {
        atomicAdd(&c->error[kind], 1u);
    }
}

static __device__ void tally(counts *c, tally_kind kind, unsigned long long n)
{
    atomicAdd(&c->tally[kind], n);
}

static __device__ uint32_t random_next(uint32_t *state)
{
    uint32_t x = *state; /* xorshift (Marsaglia, 2003) */

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

static __device__ uint32_t word_of(uint32_t tag, uint32_t i)
{
    return tag * 2654435761u + i * 40503u + 1u;
}

static __device__ void fill(void *ptr, size_t bytes, uint32_t tag)
{
    uint32_t *words = static_cast<uint32_t *>(ptr);

    for (uint32_t i = 0; i < bytes / 4u; i++) {
        words[i] = word_of(tag, i);
    }
}

static __device__ bool holds(const void *ptr, size_t bytes, uint32_t tag)
{
    const uint32_t *words = static_cast<const uint32_t *>(ptr);

    for (uint32_t i = 0; i < bytes / 4u; i++) {
        if (words[i] != word_of(tag, i)) {
            return false;
        }
    }
    return true;
}

static __device__ bool is_aligned(const void *ptr, size_t alignment)
{
    return (reinterpret_cast<size_t>(ptr) & (alignment - 1u)) == 0;
}

static __device__ bool is_leader(const shpool_heap &heap)
{
    return (heap.view.flags & SHPOOL_FLAG_LEADER) != 0;
}

/* Whole block: every pool must be as new, but for what its geometry says. */
static __device__ void at_rest(const shpool_pool &pool, shpool_heap heap, counts *c)
{
    __syncthreads();
    if (is_leader(heap)) {
        shpool_walk walk = shpool_check(heap);

        note(c, E_BROKEN, walk.broken != 0);
        note(c, E_LIVE, (walk.live != 0) || (walk.used != 0));
        note(c, E_LARGEST, shpool_largest(heap) != pool.largest);
    }
    __syncthreads();
}

/* ---- kernels ---- */

/* Random malloc, calloc, aligned_malloc, realloc and free of four allocations a thread. */
static __global__ void stress(shpool_pool pool, uint32_t seed, uint32_t rounds, uint32_t share,
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
static __global__ void exchange(shpool_pool pool, uint32_t rounds, uint32_t share, counts *c)
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

/* The first thread of each pool asks for what just fits, and for what never does. */
static __global__ void limits(shpool_pool pool, uint32_t serves, counts *c)
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

/* The device's layout function is the host's: same sums over a sweep of sizes, same geometry. */
static __global__ void layouts(shpool_pool pool, uint32_t *sums, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_layout layout = pool.table->layout(pool.pool_bytes, pool.alignment);
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
static __global__ void counted(shpool_pool pool, counts *c)
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

static __host__ __device__ uint32_t bad_kind(uint32_t block, uint32_t thread, uint32_t scope)
{
    /* what another thread of the block allocated may be freed where the pool is the block's */
    return (block * BAD_INJECT + thread) % ((scope == SHPOOL_SCOPE_BLOCK) ? BAD_OTHERS : BAD_KINDS);
}

static __host__ __device__ uint32_t bad_reason(uint32_t kind)
{
    switch (kind) {
    case BAD_DOUBLE:     return SHPOOL_FREE_DOUBLE;
    case BAD_WORD_IN:
    case BAD_GRANULE_IN: return SHPOOL_FREE_INTERIOR;
    default:             return SHPOOL_FREE_FOREIGN;
    }
}

static __global__ void bad_frees(shpool_pool pool, unsigned long long *addresses, counts *c)
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
    __syncthreads(); /* nobody allocates from here on */
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

/* A base or a launch that does not fit: no memory, no trap, the reason in the report. */
static __global__ void unfit(shpool_pool pool, uint32_t shift, uint32_t global, counts *c)
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

/* ---- host ---- */

static counts   *device_counts;
static uint32_t *device_sums;
static int       most_shared;

struct shape {
    dim3 block;
    const char *text;
};

static const shape shapes[] = {
    {dim3(1), "1"},       {dim3(31), "31"},     {dim3(32), "32"},      {dim3(33), "33"},
    {dim3(256), "256"},   {dim3(1024), "1024"}, {dim3(16, 3), "16x3"}, {dim3(4, 5, 3), "4x5x3"},
};

static uint32_t threads_of(dim3 block)
{
    return block.x * block.y * block.z;
}

static bool serves(const shpool_allocator *allocator)
{
    return (allocator->caps & SHPOOL_CAP_NONE) == 0;
}

/* Launch, wait, and judge the counts; `tallies` receives the others. */
template <typename... Parameters, typename... Arguments>
static void run(const char *what, const shpool_pool &pool, void (*kernel)(Parameters...), dim3 grid,
                dim3 block, size_t shared, unsigned long long *tallies, Arguments... arguments)
{
    counts zero = {};
    counts c    = {};

    if (shpool_allow_shared(kernel, shared) != SHPOOL_OK) {
        (void)gpu_check(false, "%s %s: %s", pool.name, what, shpool_last_error());
        return;
    }
    if (!gpu_cuda(cudaMemcpy(device_counts, &zero, sizeof(zero), cudaMemcpyHostToDevice),
                  "cudaMemcpy (counts)")) {
        return;
    }
    kernel<<<grid, block, shared>>>(pool, arguments..., device_counts);
    gpu_wait(what);
    if (!gpu_cuda(cudaMemcpy(&c, device_counts, sizeof(c), cudaMemcpyDeviceToHost),
                  "cudaMemcpy (counts)")) {
        return;
    }
    for (int kind = 0; kind < E_COUNT; kind++) {
        (void)gpu_check(c.error[kind] == 0, "%s %s: %s (%u times; grid %u, block %ux%ux%u, %zu B)",
                        pool.name, what, error_text[kind], c.error[kind], grid.x, block.x, block.y,
                        block.z, shared);
    }
    if (tallies != NULL) {
        memcpy(tallies, c.tally, sizeof(c.tally));
    }
}

/* Open the largest pool that takes at most `most` bytes; false: there is none. */
static bool open_within(const char *spec, uint32_t threads, uint32_t most, uint32_t alignment,
                        shpool_pool *pool)
{
    shpool_config want = {};
    shpool_pool   plan = {};
    uint32_t      low  = 0; /* fits */
    uint32_t      high = most + 1u;

    want.block_threads = threads;
    want.alignment     = alignment;
    while (high - low > 1u) {
        want.payload_bytes = low + (high - low) / 2u;
        if ((shpool_plan(spec, &want, &plan) == SHPOOL_OK) && (plan.shared_bytes <= most)) {
            low = want.payload_bytes;
        } else {
            high = want.payload_bytes;
        }
    }
    want.payload_bytes = low;
    return (low != 0) && gpu_check(shpool_open(spec, &want, pool) == SHPOOL_OK, "open \"%s\": %s",
                                   spec, shpool_last_error());
}

/* What a thread may hold so that several of each thread fit most of the time. */
static uint32_t share_of(const shpool_pool &pool, uint32_t parts)
{
    uint32_t share = (pool.largest == 0) ? 96u : pool.largest / pool.threads_per_pool / parts;

    return (share < 1u) ? 1u : share;
}

static void test_shapes(const shpool_allocator *allocator)
{
    for (const shape &s : shapes) {
        const uint32_t threads = threads_of(s.block);
        shpool_pool    pool    = {};
        uint32_t       seed    = threads;

        if (!open_within(allocator->name, threads, 47u * 1024u, 0, &pool) &&
            !open_within(allocator->name, threads, static_cast<uint32_t>(most_shared), 0, &pool)) {
            std::printf("note %s: no pool for %s threads in %d B\n", allocator->name, s.text,
                        most_shared);
            continue;
        }
        for (uint32_t grid : {1u, 300u}) {
            run("stress", pool, stress, grid, s.block, pool.shared_bytes, NULL, seed++,
                (grid == 1) ? 400u : 60u, share_of(pool, 3));
            run("limits", pool, limits, grid, s.block, pool.shared_bytes, NULL,
                static_cast<uint32_t>(serves(allocator)));
            if (pool.shared_bytes + 8u * 1024u <= static_cast<uint32_t>(most_shared)) {
                /* not where rounding and headers alone could exhaust the pool */
                if ((pool.largest == 0) || (share_of(pool, 1) >= 64u)) {
                    run("exchange", pool, exchange, grid, s.block, pool.shared_bytes, NULL, 8u,
                        share_of(pool, 3));
                }
            }
        }
        (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close: %s", shpool_last_error());
    }
}

static void test_whole_block_memory(const shpool_allocator *allocator)
{
    for (uint32_t threads : {1u, 256u}) {
        shpool_pool pool = {};

        if (!gpu_check(open_within(allocator->name, threads, static_cast<uint32_t>(most_shared), 0,
                                   &pool),
                       "%s: no pool of %u threads in %d B", allocator->name, threads,
                       most_shared)) {
            continue;
        }
        if ((allocator->scope == SHPOOL_SCOPE_BLOCK) && (pool.largest != 0)) {
            (void)gpu_check(pool.shared_bytes + 64u > static_cast<uint32_t>(most_shared),
                            "%s: one pool of the whole %d B is only %u B", pool.name, most_shared,
                            pool.shared_bytes);
        }
        run("stress (all memory)", pool, stress, 4, threads, pool.shared_bytes, NULL, 77u, 200u,
            share_of(pool, 3));
        run("limits (all memory)", pool, limits, 4, threads, pool.shared_bytes, NULL,
            static_cast<uint32_t>(serves(allocator)));
        (void)shpool_close(&pool);
    }
}

static void test_alignments(const shpool_allocator *allocator)
{
    if ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0) {
        return;
    }
    for (uint32_t alignment = 16; alignment <= SHPOOL_MAX_ALIGNMENT; alignment *= 2u) {
        shpool_pool pool = {};

        if (!gpu_check(open_within(allocator->name, 32, static_cast<uint32_t>(most_shared),
                                   alignment, &pool), "%s: no pool with alignment %u",
                       allocator->name, alignment)) {
            continue;
        }
        run("stress (aligned)", pool, stress, 8, 32, pool.shared_bytes, NULL, alignment, 200u,
            share_of(pool, 3));
        run("limits (aligned)", pool, limits, 2, 32, pool.shared_bytes, NULL,
            static_cast<uint32_t>(serves(allocator)));
        (void)shpool_close(&pool);
    }
}

static void test_overhead(const shpool_allocator *allocator)
{
    static uint32_t sums[4096];

    for (uint32_t alignment : {16u, 128u}) {
        shpool_pool pool  = {};
        uint32_t    wrong = 0;

        if (((alignment > 16u) && ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0)) ||
            !open_within(allocator->name, 64, static_cast<uint32_t>(most_shared), alignment,
                         &pool)) {
            continue;
        }
        run("layouts", pool, layouts, 1, 64, pool.shared_bytes, NULL, device_sums);
        if (gpu_cuda(cudaMemcpy(sums, device_sums, sizeof(sums), cudaMemcpyDeviceToHost),
                     "cudaMemcpy (sums)")) {
            for (uint32_t i = 0; i < 4096u; i++) {
                shpool_layout l = allocator->layout(i * 16u, alignment);

                wrong += sums[i] != l.bytes * 3u + l.largest * 5u + l.word[0] * 7u +
                                        l.word[1] * 11u;
            }
            (void)gpu_check(wrong == 0, "%s: %u of 4096 layouts differ on host and device",
                            pool.name, wrong);
        }
        (void)shpool_close(&pool);
    }
}

static void spec_of(const shpool_allocator *allocator, const char *options, char *spec)
{
    std::snprintf(spec, 96, "%s:%s", allocator->name, options);
}

static void test_statistics(const shpool_allocator *allocator)
{
    unsigned long long t[T_COUNT] = {};
    shpool_report_data report     = {};
    shpool_pool        pool       = {};
    char               spec[96];

    spec_of(allocator, "stats=1", spec);
    if (!gpu_check(open_within(spec, 128, 47u * 1024u, 0, &pool), "%s: no pool", spec)) {
        return;
    }
    run("counted", pool, counted, 20, 128, pool.shared_bytes, t);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error())) {
        (void)gpu_check((report.status == SHPOOL_OK) && (report.empty == 0) &&
                            (report.blocks == 20),
                        "%s: status %d, empty %u, blocks %u", spec, report.status, report.empty,
                        report.blocks);
        (void)gpu_check(report.mallocs == t[T_MALLOCS], "%s: %llu mallocs, not %llu", spec,
                        report.mallocs, t[T_MALLOCS]);
        (void)gpu_check(report.failures == t[T_NULLS], "%s: %llu failures, not %llu", spec,
                        report.failures, t[T_NULLS]);
        (void)gpu_check(report.frees == t[T_FREES], "%s: %llu frees, not %llu", spec, report.frees,
                        t[T_FREES]);
        (void)gpu_check((report.live == t[T_LEAKS]) && (report.live_bytes == t[T_LEAK_BYTES]),
                        "%s: %llu leaks of %llu B, not %llu of %llu B", spec, report.live,
                        report.live_bytes, t[T_LEAKS], t[T_LEAK_BYTES]);
        (void)gpu_check((t[T_LEAKS] != 0) == serves(allocator), "%s: %llu leaks", spec, t[T_LEAKS]);
        (void)gpu_check(report.spills == (((pool.flags & SHPOOL_FLAG_SPILL) != 0)
                                              ? t[T_MALLOCS] - t[T_NULLS] : 0u),
                        "%s: %llu spills", spec, report.spills);
        (void)gpu_check(report.peak_bytes * 20ull >= report.live_bytes, "%s: peak %u", spec,
                        report.peak_bytes);
        (void)gpu_check((report.largest_free <= pool.largest) && (report.bad_frees == 0) &&
                            (report.corrupt == 0),
                        "%s: largest free %u, bad frees %u, corrupt %u", spec, report.largest_free,
                        report.bad_frees, report.corrupt);
    }
    (void)shpool_close(&pool);
}

static void test_bad_frees(const shpool_allocator *allocator)
{
    static unsigned long long addresses[BAD_BLOCKS * BAD_INJECT];
    static bool               seen[BAD_BLOCKS * BAD_INJECT];
    unsigned long long       *device_addresses = NULL;
    shpool_report_data        report = {};
    shpool_pool               pool   = {};
    char                      spec[96];

    if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
        return;
    }
    memset(seen, 0, sizeof(seen));
    spec_of(allocator, "check=1", spec);
    if (!gpu_check(open_within(spec, BAD_THREADS, 47u * 1024u - 2048u, 0, &pool), "%s: no pool",
                   spec) ||
        !gpu_cuda(cudaMalloc(&device_addresses, sizeof(addresses)), "cudaMalloc")) {
        return;
    }
    run("bad_frees", pool, bad_frees, BAD_BLOCKS, BAD_THREADS, pool.shared_bytes, NULL,
        device_addresses);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error()) &&
        gpu_cuda(cudaMemcpy(addresses, device_addresses, sizeof(addresses), cudaMemcpyDeviceToHost),
                 "cudaMemcpy (addresses)")) {
        (void)gpu_check(report.bad_frees == BAD_BLOCKS * BAD_INJECT, "%s: %u bad frees, not %u",
                        spec, report.bad_frees, BAD_BLOCKS * BAD_INJECT);
        (void)gpu_check((report.live == 0) && (report.corrupt == 0), "%s: live %llu, corrupt %u",
                        spec, report.live, report.corrupt);
        (void)gpu_check(report.frees == BAD_BLOCKS * BAD_THREADS, "%s: %llu proper frees, not %u",
                        spec, report.frees, BAD_BLOCKS * BAD_THREADS);
        for (const shpool_bad_free &bad : report.bad_free) {
            uint32_t kind = bad_kind(bad.block, bad.thread, pool.scope);
            uint32_t i    = bad.block * BAD_INJECT + bad.thread;
            bool     who  = (bad.block < BAD_BLOCKS) && (bad.thread < BAD_INJECT) && !seen[i];

            if (gpu_check(who, "%s: block %u, thread %u did no bad free, or is listed twice", spec,
                          bad.block, bad.thread)) {
                seen[i] = true;
                (void)gpu_check((bad.reason == bad_reason(kind)) && (bad.site == 1000u + kind) &&
                                    (bad.address == addresses[i]),
                                "%s: kind %u has reason %u, site %u, address %llx (not %llx)", spec,
                                kind, bad.reason, bad.site, bad.address, addresses[i]);
            }
        }
    }
    (void)gpu_cuda(cudaFree(device_addresses), "cudaFree");
    (void)shpool_close(&pool);

    /* the same work as without, in checked mode: nothing is reported that is in order */
    if (open_within(spec, 128, 47u * 1024u, 0, &pool)) {
        run("stress (check=1)", pool, stress, 20, 128, pool.shared_bytes, NULL, 3u, 100u,
            share_of(pool, 3));
        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) && (report.bad_frees == 0) &&
                            (report.corrupt == 0) && (report.live == 0),
                        "%s: after sound work: bad frees %u, corrupt %u, live %llu", spec,
                        report.bad_frees, report.corrupt, report.live);
        (void)shpool_close(&pool);
    }
}

struct unfit_case {
    const char *text;
    uint32_t    shift;
    uint32_t    global;
    uint32_t    more_threads;
    uint32_t    less_bytes;
    int32_t     status;
};

static void test_unfit(const shpool_allocator *allocator)
{
    static const unfit_case cases[] = {
        {"misaligned base", 8, 0, 0, 0, SHPOOL_ERR_ALIGNMENT},
        {"base in global memory", 0, 1, 0, 0, SHPOOL_ERR_INVALID},
        {"base too far up", 16, 0, 0, 0, SHPOOL_ERR_LAUNCH},
        {"too many threads", 0, 0, 1, 0, SHPOOL_ERR_LAUNCH},
        {"too little memory", 0, 0, 0, 16, SHPOOL_ERR_LAUNCH},
    };
    char spec[96];

    spec_of(allocator, "stats=1", spec);
    for (const unfit_case &u : cases) {
        shpool_report_data report = {};
        shpool_pool        pool   = {};

        if (!gpu_check(open_within(spec, 63, 40u * 1024u, 0, &pool), "%s: no pool", spec)) {
            return;
        }
        run(u.text, pool, unfit, 7, 63u + u.more_threads, pool.shared_bytes - u.less_bytes, NULL,
            u.shift, u.global);
        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) &&
                            (report.status == u.status) && (report.empty == 7) &&
                            (report.blocks == 0) && (report.mallocs == 0),
                        "%s, %s: status %d (not %d), empty %u, blocks %u, mallocs %llu", spec,
                        u.text, report.status, u.status, report.empty, report.blocks,
                        report.mallocs);
        (void)shpool_close(&pool);
    }
}

static bool is_zero(const shpool_pool &pool)
{
    const shpool_pool none = {};

    return memcmp(&pool, &none, sizeof(pool)) == 0;
}

static void expect_open(const char *spec, const shpool_config &want, shpool_status expected,
                        const char *word)
{
    shpool_pool   pool   = {};
    shpool_status status = SHPOOL_OK;

    memset(&pool, 0xff, sizeof(pool));
    status = shpool_open(spec, &want, &pool);
    (void)gpu_check((status == expected) && is_zero(pool) &&
                        (strstr(shpool_last_error(), word) != NULL),
                    "open \"%s\" gave %d (not %d), \"%s\" (without \"%s\"?)", spec, status,
                    expected, shpool_last_error(), word);
}

static void test_errors(const shpool_allocator *any)
{
    shpool_report_data report = {};
    shpool_config      want   = {};
    shpool_pool        pool   = {};
    char               spec[96];

    want.block_threads = 32;
    want.payload_bytes = 8192;
    expect_open("no_such_allocator", want, SHPOOL_ERR_NOT_FOUND, any->name);
    spec_of(any, "colour=1", spec);
    expect_open(spec, want, SHPOOL_ERR_SPEC, "alignment");
    spec_of(any, "stats=maybe", spec);
    expect_open(spec, want, SHPOOL_ERR_SPEC, "stats");
    spec_of(any, "alignment=48", spec);
    expect_open(spec, want, SHPOOL_ERR_ALIGNMENT, "48");
    want.block_threads = 0;
    expect_open(any->name, want, SHPOOL_ERR_INVALID, "block_threads");
    want.block_threads = 32;

    (void)gpu_check(shpool_allow_shared(stress, static_cast<size_t>(most_shared) + 1u) ==
                        SHPOOL_ERR_TOO_LARGE, "allow_shared beyond the device: %s",
                    shpool_last_error());
    (void)gpu_check(shpool_allow_shared(stress, static_cast<size_t>(most_shared)) == SHPOOL_OK,
                    "allow_shared of all the device has: %s", shpool_last_error());
    (void)gpu_check(shpool_allow_shared(exchange, static_cast<size_t>(most_shared)) ==
                        SHPOOL_ERR_TOO_LARGE, "allow_shared beside the kernel's own arrays");
    (void)gpu_check(shpool_allow_shared(stress, 0) == SHPOOL_OK, "allow_shared of nothing");
    if (gpu_check(shpool_open(any->name, &want, &pool) == SHPOOL_OK, "open: %s",
                  shpool_last_error())) {
        (void)gpu_check(shpool_report(&pool, &report) == SHPOOL_ERR_UNSUPPORTED,
                        "a report without stats");
    }
    (void)gpu_check((shpool_close(&pool) == SHPOOL_OK) && is_zero(pool), "close zeroes the pool");
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close of a zeroed pool");
    (void)gpu_check(shpool_close(NULL) == SHPOOL_OK, "close of NULL");

    run("unfit (zeroed pool)", pool, unfit, 3, 33, 64, NULL, 0u, 0u);
}

static bool is_chosen(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc < 2;
}

int main(int argc, char **argv)
{
    int device = 0;

    gpu_need_device();
    if (!gpu_cuda(cudaGetDevice(&device), "cudaGetDevice") ||
        !gpu_cuda(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                         device), "cudaDeviceGetAttribute") ||
        !gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc") ||
        !gpu_cuda(cudaMalloc(&device_sums, 4096u * sizeof(uint32_t)), "cudaMalloc")) {
        return gpu_summary();
    }
    test_errors(shpool_allocator_get(0));
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        unsigned                before    = gpu_failed;

        if (!is_chosen(allocator->name, argc, argv)) {
            continue;
        }
        test_overhead(allocator);
        test_shapes(allocator);
        test_whole_block_memory(allocator);
        test_alignments(allocator);
        test_statistics(allocator);
        test_bad_frees(allocator);
        test_unfit(allocator);
        std::printf("%s: %s\n", allocator->name, (gpu_failed == before) ? "passed" : "FAILED");
        std::fflush(stdout);
    }
    (void)gpu_cuda(cudaFree(device_sums), "cudaFree");
    (void)gpu_cuda(cudaFree(device_counts), "cudaFree");
    return gpu_summary();
}
