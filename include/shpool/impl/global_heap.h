/* SPDX-License-Identifier: BSD-3-Clause */
/* Locked boundary-tag pools in a caller's global memory.  C++17; not for direct inclusion.
 *
 * The algorithm is the same as in shared memory and comes from the same files.  They are included
 * once more, inside a class whose members simt_load32(), simt_atomic_cas() and so on access global
 * memory.  A name that is a member of the class hides the global one, so the pools in shared memory
 * are not affected.
 *
 * Terms
 *   heap    the memory that the caller passed to shpool_global_open(): 64 bytes that describe its
 *           division, then shares
 *   share   the part of one thread of a block; threads with the same rank in other blocks use the
 *           same share
 *   pool    a share or, if a share is larger than a pool can address, one of its parts, the last of
 *           which may be smaller; simt_addr 0 is its first byte
 *
 * Every pool has its own lock, which is visible to the whole device, so any thread of any block may
 * allocate and free.  No thread holds two locks. */
#ifndef SHPOOL_IMPL_GLOBAL_HEAP_H
#define SHPOOL_IMPL_GLOBAL_HEAP_H

#include <shpool/impl/heap/boundary_tags.h>
#include <shpool/impl/heap/group_lock.h>
#include <shpool/module.h>

/* ---- accesses: any generic address, the scope of atomics is the device ---- */

#if defined(__CUDACC__)

#define SHPOOL_GLOBAL_FN   __device__ __forceinline__
#define SHPOOL_GLOBAL_ROOT inline __device__

/* Inline PTX for the same reason as in impl/simt/cuda.h: a payload can have any type, and contains
 * links when it is free. */
#define SHPOOL_GLOBAL_PLAIN(_bits, _type, _constraint) \
    SIMT_FN _type shpool_global_load##_bits(const void *p) \
    { \
        _type v; \
        asm volatile("ld.u" #_bits " %0, [%1];" : "=" _constraint(v) : "l"(p) : "memory"); \
        return v; \
    } \
    SIMT_FN void shpool_global_store##_bits(void *p, _type v) \
    { \
        asm volatile("st.u" #_bits " [%0], %1;" : : "l"(p), _constraint(v) : "memory"); \
    }

/* Only acquire loads, release stores, relaxed accesses and an acquiring compare-and-swap are
 * needed.  The order is a constant, so one case survives. */
#define SHPOOL_GLOBAL_ATOMIC(_bits, _type, _constraint) \
    SIMT_FN _type shpool_global_atomic_load##_bits(const void *p, simt_order o) \
    { \
        _type v; \
        if (o == SIMT_RELAXED) { \
            asm volatile("ld.relaxed.gpu.u" #_bits " %0, [%1];" \
                         : "=" _constraint(v) : "l"(p) : "memory"); \
        } else { \
            asm volatile("ld.acquire.gpu.u" #_bits " %0, [%1];" \
                         : "=" _constraint(v) : "l"(p) : "memory"); \
        } \
        return v; \
    } \
    SIMT_FN void shpool_global_atomic_store##_bits(void *p, _type v, simt_order o) \
    { \
        if (o == SIMT_RELAXED) { \
            asm volatile("st.relaxed.gpu.u" #_bits " [%0], %1;" \
                         : : "l"(p), _constraint(v) : "memory"); \
        } else { \
            asm volatile("st.release.gpu.u" #_bits " [%0], %1;" \
                         : : "l"(p), _constraint(v) : "memory"); \
        } \
    } \
    SIMT_FN _type shpool_global_acquire##_bits(void *p, _type expected, _type desired) \
    { \
        _type old; \
        asm volatile("atom.acquire.gpu.cas.b" #_bits " %0, [%1], %2, %3;" \
                     : "=" _constraint(old) : "l"(p), _constraint(expected), _constraint(desired) \
                     : "memory"); \
        return old; \
    }

SIMT_FN void shpool_global_wait(void) { __nanosleep(64); }

#else /* the executor: as in shared memory, threads may switch at each access */

#define SHPOOL_GLOBAL_FN   inline
#define SHPOOL_GLOBAL_ROOT inline

SIMT_FN void shpool_global_point(void)
{
    if (--simt_self->countdown == 0) {
        simt_engine_switch();
    }
}

#define SHPOOL_GLOBAL_PLAIN(_bits, _type, _constraint) \
    SIMT_FN _type shpool_global_load##_bits(const void *p) \
    { \
        shpool_global_point(); \
        return *static_cast<const simt_cpu_word##_bits *>(p); \
    } \
    SIMT_FN void shpool_global_store##_bits(void *p, _type v) \
    { \
        shpool_global_point(); \
        *static_cast<simt_cpu_word##_bits *>(p) = v; \
    }
#define SHPOOL_GLOBAL_ATOMIC(_bits, _type, _constraint) \
    SIMT_FN _type shpool_global_atomic_load##_bits(const void *p, simt_order o) \
    { \
        const simt_cpu_word##_bits *word = static_cast<const simt_cpu_word##_bits *>(p); \
        shpool_global_point(); \
        return (o == SIMT_RELAXED) ? __atomic_load_n(word, __ATOMIC_RELAXED) \
                                   : __atomic_load_n(word, __ATOMIC_ACQUIRE); \
    } \
    SIMT_FN void shpool_global_atomic_store##_bits(void *p, _type v, simt_order o) \
    { \
        simt_cpu_word##_bits *word = static_cast<simt_cpu_word##_bits *>(p); \
        shpool_global_point(); \
        if (o == SIMT_RELAXED) { \
            __atomic_store_n(word, v, __ATOMIC_RELAXED); \
        } else { \
            __atomic_store_n(word, v, __ATOMIC_RELEASE); \
        } \
    } \
    SIMT_FN _type shpool_global_acquire##_bits(void *p, _type expected, _type desired) \
    { \
        shpool_global_point(); \
        (void)__atomic_compare_exchange_n(static_cast<simt_cpu_word##_bits *>(p), &expected, \
                                          desired, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); \
        return expected; \
    }

/* The engine can park a thread until a word of shared memory changes, but not for these words; it
 * may only switch to another thread.  Such schedules can be sampled, but not explored
 * exhaustively. */
SIMT_FN void shpool_global_wait(void) { simt_engine_switch(); }

#endif

SHPOOL_GLOBAL_PLAIN(16, uint16_t, "h")
SHPOOL_GLOBAL_PLAIN(32, uint32_t, "r")
SHPOOL_GLOBAL_PLAIN(64, unsigned long long, "l")
SHPOOL_GLOBAL_ATOMIC(32, uint32_t, "r")
SHPOOL_GLOBAL_ATOMIC(64, unsigned long long, "l")
#undef SHPOOL_GLOBAL_PLAIN
#undef SHPOOL_GLOBAL_ATOMIC

/* ---- a pool ---- */

/* The following must be members of the class, not static functions.  On the executor, where
 * simt_wait() is a macro, a member has that name. */
#pragma push_macro("SIMT_FN")
#pragma push_macro("SIMT_HD")
#pragma push_macro("simt_wait")
#undef SIMT_FN
#undef SIMT_HD
#undef simt_wait
#define SIMT_FN SHPOOL_GLOBAL_FN
#define SIMT_HD SHPOOL_GLOBAL_FN
#undef SHPOOL_IMPL_BOUNDARY_TAGS_H
#undef SHPOOL_IMPL_GROUP_LOCK_H
#undef SHPOOL_IMPL_TAGS_BLOCKS_H

struct shpool_global_pool {
    unsigned char *memory; /* byte 0 of the pool, aligned to 16 */

    SIMT_FN uint16_t simt_load16(simt_addr a) { return shpool_global_load16(memory + a); }
    SIMT_FN uint32_t simt_load32(simt_addr a) { return shpool_global_load32(memory + a); }
    SIMT_FN void simt_store16(simt_addr a, uint16_t v) { shpool_global_store16(memory + a, v); }
    SIMT_FN void simt_store32(simt_addr a, uint32_t v) { shpool_global_store32(memory + a, v); }
    SIMT_FN uint32_t simt_atomic_load(simt_addr a, simt_order o)
    {
        return shpool_global_atomic_load32(memory + a, o);
    }
    SIMT_FN void simt_atomic_store(simt_addr a, uint32_t v, simt_order o)
    {
        shpool_global_atomic_store32(memory + a, v, o);
    }
    /* only for the lock, which acquires */
    SIMT_FN uint32_t simt_atomic_cas(simt_addr a, uint32_t expected, uint32_t desired, simt_order)
    {
        return shpool_global_acquire32(memory + a, expected, desired);
    }
    SIMT_FN void simt_wait(simt_addr, uint32_t) { shpool_global_wait(); }

    /* Not implemented, so that no call can reach the block's shared memory; add those needed
     * above. */
    template <typename... A> void simt_load8(A...) = delete;
    template <typename... A> void simt_load64(A...) = delete;
    template <typename... A> void simt_load128(A...) = delete;
    template <typename... A> void simt_store8(A...) = delete;
    template <typename... A> void simt_store64(A...) = delete;
    template <typename... A> void simt_store128(A...) = delete;
    template <typename... A> void simt_peek(A...) = delete;
    template <typename... A> void simt_atomic_add(A...) = delete;
    template <typename... A> void simt_atomic_exchange(A...) = delete;
    template <typename... A> void simt_atomic_and(A...) = delete;
    template <typename... A> void simt_atomic_or(A...) = delete;
    template <typename... A> void simt_atomic_min(A...) = delete;
    template <typename... A> void simt_atomic_max(A...) = delete;
    template <typename... A> void simt_atomic_cas64(A...) = delete;

#include <shpool/impl/heap/boundary_tags.h>
#include <shpool/impl/heap/group_lock.h>

    SIMT_FN simt_addr shpool_first_fit_search(shpool_view view, uint32_t want)
    {
        return shpool_tags_malloc(view, want, 0);
    }
    SIMT_FN simt_addr shpool_best_fit_search(shpool_view view, uint32_t want)
    {
        return shpool_tags_malloc(view, want, 1);
    }
    SHPOOL_LOCKED_MODULE(first_fit, shpool_tags, shpool_first_fit_search,
                         shpool_tags_want(bytes, alignment))
    SHPOOL_LOCKED_MODULE(best_fit, shpool_tags, shpool_best_fit_search,
                         shpool_tags_want(bytes, alignment))
};

#pragma pop_macro("simt_wait")
#pragma pop_macro("SIMT_HD")
#pragma pop_macro("SIMT_FN")

/* The view for every call: its other fields are stored in the pool. */
SIMT_FN shpool_view shpool_global_view(void)
{
    shpool_view view = {0, 1, 0, SHPOOL_FLAG_SHARED, {1, 0}, 0};

    return view;
}

/* ---- the heap ---- */

#define SHPOOL_GLOBAL_HEAD 64u /* bytes before the shares */
#define SHPOOL_GLOBAL_MOST (SHPOOL_TAGS_GRANULES << 4) /* bytes of the largest pool */
#define SHPOOL_GLOBAL_LEAST 32u /* bytes of the smallest that can hold an allocation */

/* The heap's head.  One thread writes it in open; meanwhile others read only `claim`. */
struct shpool_global_heap {
    unsigned long long claim;  /* the launch that divided the heap, and whether it has finished */
    unsigned long long share;  /* bytes of a share, a multiple of 16 */
    uint32_t           shares; /* threads per block of that launch */
    uint32_t           pools;  /* pools of one share */
};

/* The program's heap: 0 or a shpool_global_heap.  With -rdc=true all its files share one. */
SHPOOL_GLOBAL_ROOT unsigned long long *shpool_global_root(void)
{
    static unsigned long long root;

    return &root;
}

/* The heap of the program, or NULL. */
SIMT_FN shpool_global_heap *shpool_global_find(void)
{
    /* relaxed: a barrier or the end of a kernel lies in between */
    return reinterpret_cast<shpool_global_heap *>(
        static_cast<size_t>(shpool_global_atomic_load64(shpool_global_root(), SIMT_RELAXED)));
}

/* The value of `claim` while this launch divides the heap (0) and afterwards (1).  It identifies
 * the launch, and uninitialised memory is unlikely to contain it. */
SIMT_FN unsigned long long shpool_global_claim(uint32_t done)
{
    return (2u * simt_launch_number() + done + 0x5bd1e995u) * 0x9e3779b97f4a7c15ull;
}

/* Called by one thread of the block: whether the heap has been divided for this launch.  Waits if
 * another block is dividing it.  If the result is 0, this block must divide it, and `claim` says
 * so. */
SIMT_FN uint32_t shpool_global_divided(shpool_global_heap *heap)
{
    unsigned long long busy = shpool_global_claim(0);
    unsigned long long done = shpool_global_claim(1);

    if (simt_grid_blocks() == 1u) { /* no other block: divide it each time */
        shpool_global_atomic_store64(&heap->claim, busy, SIMT_RELAXED);
        return 0;
    }
    for (;;) {
        /* acquire: pairs with the release in shpool_global_open, of another block */
        unsigned long long seen = shpool_global_atomic_load64(&heap->claim, SIMT_ACQUIRE);

        if (seen == done) {
            return 1;
        }
        if (seen == busy) {
            shpool_global_wait();
        } else if (shpool_global_acquire64(&heap->claim, seen, busy) == seen) {
            return 0;
        }
    }
}

/* The pool that begins at byte `at` after the head. */
SIMT_FN shpool_global_pool shpool_global_pool_at(shpool_global_heap *heap, size_t at)
{
    shpool_global_pool pool;

    pool.memory = reinterpret_cast<unsigned char *>(heap) + SHPOOL_GLOBAL_HEAD + at;
    return pool;
}

/* Called by one thread: initialise a share's pools, from byte `at` on. */
SIMT_FN void shpool_global_share_init(shpool_global_heap *heap, size_t at, size_t bytes)
{
    while (bytes != 0) {
        uint32_t      each   = (bytes < SHPOOL_GLOBAL_MOST) ? static_cast<uint32_t>(bytes)
                                                            : SHPOOL_GLOBAL_MOST;
        shpool_layout layout = shpool_tags_layout(each, SHPOOL_MIN_ALIGNMENT);
        shpool_view   view   = shpool_global_view();

        view.word[0] = layout.word[0]; /* 0: the rest is too small, an empty pool */
        view.word[1] = layout.word[1];
        shpool_global_pool_at(heap, at).shpool_first_fit_init(view, 0, 1);
        at += each;
        bytes -= each;
    }
}

/* All threads of the block, converged; see glob_pool::pool_init. */
SIMT_FN void shpool_global_open(void *memory, size_t bytes)
{
    size_t              first  = reinterpret_cast<size_t>(memory);
    size_t              spare  = (0u - first) & 15u;
    shpool_global_heap *heap   = reinterpret_cast<shpool_global_heap *>(first + spare);
    uint32_t            rank   = simt_thread_rank();
    uint32_t            shares = simt_block_threads();
    size_t              share  = 0;

    if ((memory != nullptr) && (bytes > spare + SHPOOL_GLOBAL_HEAD) && (first + bytes > first)) {
        share = ((bytes - spare - SHPOOL_GLOBAL_HEAD) / shares) & ~static_cast<size_t>(15);
    }
    if (share < SHPOOL_GLOBAL_LEAST) {
        share = 0;
    }
    simt_barrier(); /* threads may still use the pools that were here */
    if (rank == 0) {
        unsigned long long root = (share != 0) ? reinterpret_cast<size_t>(heap) : 0u;

        if ((share != 0) && !shpool_global_divided(heap)) {
            heap->share  = share;
            heap->shares = shares;
            heap->pools  = static_cast<uint32_t>((share - 1u) / SHPOOL_GLOBAL_MOST) + 1u;
        }
        /* relaxed: readers are ordered by the barrier, or by other means */
        shpool_global_atomic_store64(shpool_global_root(), root, SIMT_RELAXED);
    }
    simt_barrier();
    /* relaxed: as the thread above left it; the same result in the whole block */
    if ((share != 0) && (shpool_global_atomic_load64(&heap->claim, SIMT_RELAXED) ==
                         shpool_global_claim(0))) {
        shpool_global_share_init(heap, rank * share, share);
        simt_barrier(); /* every pool is ready */
        if (rank == 0) {
            /* release: pairs with the acquire in shpool_global_divided */
            shpool_global_atomic_store64(&heap->claim, shpool_global_claim(1), SIMT_RELEASE);
        }
    }
}

/* Allocate at least size bytes from the caller's share; Malloc: the pool's function for the
 * policy. */
template <simt_addr (shpool_global_pool::*Malloc)(shpool_view, uint32_t, uint32_t, uint32_t)>
SIMT_FN void *shpool_global_malloc(size_t size)
{
    shpool_global_heap *heap = shpool_global_find();
    uint32_t            want = static_cast<uint32_t>(size);
    uint32_t            pools;
    uint32_t            turn;
    size_t              at;

    if ((heap == nullptr) || (size >= SHPOOL_GLOBAL_MOST)) {
        return nullptr;
    }
    pools = heap->pools;
    turn  = simt_block_rank() % pools; /* so that blocks start with different pools */
    at    = simt_thread_rank() % heap->shares * static_cast<size_t>(heap->share);
    for (uint32_t i = 0; i < pools; i++) {
        shpool_global_pool pool = shpool_global_pool_at(
            heap, at + static_cast<size_t>(turn) * SHPOOL_GLOBAL_MOST);
        simt_addr addr = (pool.*Malloc)(shpool_global_view(), (want != 0) ? want : 1u,
                                        SHPOOL_MIN_ALIGNMENT, 0);

        if (addr != 0) {
            return pool.memory + addr;
        }
        turn = (turn + 1u < pools) ? turn + 1u : 0u;
    }
    return nullptr;
}

/* Free; returns 0, or why it was refused.  Free: the pool's free or discard. */
template <uint32_t (shpool_global_pool::*Free)(shpool_view, simt_addr, uint32_t)>
SIMT_FN uint32_t shpool_global_free(void *ptr)
{
    shpool_global_heap *heap = shpool_global_find();
    size_t              from;
    size_t              share;
    size_t              index;
    uint32_t            offset;

    if (ptr == nullptr) {
        return SHPOOL_FREE_OK;
    }
    if (heap == nullptr) {
        return SHPOOL_FREE_FOREIGN;
    }
    from  = reinterpret_cast<size_t>(ptr) - reinterpret_cast<size_t>(heap) - SHPOOL_GLOBAL_HEAD;
    share = static_cast<size_t>(heap->share);
    index = from / share;
    if (index >= heap->shares) { /* addresses below the heap wrap to far above it */
        return SHPOOL_FREE_FOREIGN;
    }
    offset = static_cast<uint32_t>((from - index * share) % SHPOOL_GLOBAL_MOST);
    return (shpool_global_pool_at(heap, from - offset).*Free)(shpool_global_view(), offset, 0);
}

#endif /* SHPOOL_IMPL_GLOBAL_HEAP_H */
