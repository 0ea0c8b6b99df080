/* SPDX-License-Identifier: BSD-3-Clause */
/* simt.h for the CPU block executor.  Not for direct inclusion.
 *
 * The accesses are inline, in the translation unit that uses them, so that a program built with
 * -fsanitize=address or thread instruments them, however libshpool.so was built.  At each access
 * the engine may switch to another thread of the block. */
#ifndef SHPOOL_IMPL_SIMT_CPU_H
#define SHPOOL_IMPL_SIMT_CPU_H

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIMT_FN          static inline __attribute__((unused))
#define SIMT_ROLLED
#define SIMT_LIKELY(_x)  __builtin_expect((_x) != 0, 1)
#define SIMT_UNROLLED
#if defined(__cplusplus) /* not emitted if unused: a host may include it without linking */
#define SIMT_FN_NOINLINE static inline __attribute__((unused, noinline))
#else
#define SIMT_FN_NOINLINE static __attribute__((unused, noinline))
#endif
#define SIMT_HD          static inline __attribute__((unused))
#define SIMT_TABLE(_type, _name, _count) static const _type _name[_count]
#define SIMT_API         __attribute__((visibility("default")))

/** State of the running thread that the accesses need; owned by the engine. */
typedef struct simt_self_state {
    unsigned char *arena;    /**< where simt_addr 0 would be */
    uint32_t arena_begin;    /**< first valid simt_addr of the block */
    uint32_t arena_end;      /**< one past the last */
    uint32_t dynamic_base;
    uint32_t dynamic_bytes;
    uint32_t countdown;      /**< accesses until the engine is called; never 0 between accesses */
    uint32_t rank;           /**< of the thread in its block */
    uint32_t threads;        /**< of the block */
    uint32_t block;          /**< rank of the block in the grid */
    uint32_t blocks;         /**< of the grid */
    uint32_t thread_index[3];
    uint32_t block_index[3];
    unsigned long long launch; /**< a different number for each simt_run() and simt_explore() */
    uint32_t cluster_rank;   /**< of the block in its cluster */
    uint32_t cluster_blocks; /**< of the cluster */
} simt_self_state;

/** The running thread's state; NULL outside simt_run(). */
extern SIMT_API __thread simt_self_state *simt_self;

/** Kinds of warp-collective calls. */
typedef enum simt_collective {
    SIMT_OP_SYNC, SIMT_OP_BALLOT, SIMT_OP_ANY, SIMT_OP_ALL, SIMT_OP_SHFL, SIMT_OP_SHFL_XOR,
    SIMT_OP_SHFL_UP, SIMT_OP_SHFL_DOWN, SIMT_OP_MATCH, SIMT_OP_CONVERGED
} simt_collective;

/* Functions of the engine; file and line name the place in reports. */
SIMT_API void     simt_engine_switch(void);
SIMT_API void     simt_engine_fault(const char *what, simt_addr addr, uint32_t bytes);
SIMT_API void     simt_engine_remote(const char *what, simt_addr addr, uint32_t bytes);
SIMT_API void     simt_engine_barrier(const char *file, int line);
SIMT_API void     simt_engine_cluster_barrier(const char *file, int line);
SIMT_API unsigned long long simt_engine_broadcast(unsigned long long value, const char *file,
                                                  int line);
SIMT_API uint32_t simt_engine_collective(simt_collective op, uint32_t mask, uint32_t value,
                                         uint32_t arg, const char *file, int line);
SIMT_API void     simt_engine_wait(simt_addr addr, uint32_t seen, const char *file, int line);
SIMT_API uint32_t simt_engine_wait_briefly(simt_addr addr, uint32_t seen, const char *file,
                                           int line);
SIMT_API void     simt_engine_pause(uint32_t ns, const char *file, int line);
SIMT_API void    *simt_native_malloc(size_t bytes);
SIMT_API void     simt_native_free(void *ptr);

/* ---- ranks ---- */
SIMT_FN uint32_t simt_thread_rank(void) { return simt_self->rank; }
SIMT_FN uint32_t simt_block_threads(void) { return simt_self->threads; }
SIMT_FN uint32_t simt_lane(void) { return simt_self->rank % SIMT_WARP; }
SIMT_FN uint32_t simt_warp(void) { return simt_self->rank / SIMT_WARP; }
SIMT_FN uint32_t simt_block_rank(void) { return simt_self->block; }
SIMT_FN uint32_t simt_grid_blocks(void) { return simt_self->blocks; }
SIMT_FN unsigned long long simt_launch_number(void) { return simt_self->launch; }
SIMT_FN uint32_t simt_thread_x(void) { return simt_self->thread_index[0]; }
SIMT_FN uint32_t simt_thread_y(void) { return simt_self->thread_index[1]; }
SIMT_FN uint32_t simt_thread_z(void) { return simt_self->thread_index[2]; }
SIMT_FN uint32_t simt_block_x(void) { return simt_self->block_index[0]; }
SIMT_FN uint32_t simt_block_y(void) { return simt_self->block_index[1]; }
SIMT_FN uint32_t simt_block_z(void) { return simt_self->block_index[2]; }

/* ---- addresses ---- */
SIMT_FN uint32_t simt_addr_rank(simt_addr a) { return a >> SIMT_RANK_SHIFT; }
SIMT_FN simt_addr simt_addr_offset(simt_addr a) { return a & SIMT_OFFSET; }
SIMT_FN simt_addr simt_map_cluster(simt_addr a, uint32_t rank)
{
    return simt_addr_offset(a) | (rank << SIMT_RANK_SHIFT);
}
SIMT_FN int simt_is_shared(const void *p)
{
    const unsigned char *c = (const unsigned char *)p;

    return (c >= simt_self->arena + simt_self->arena_begin) &&
           (c < simt_self->arena + simt_self->arena_end);
}
SIMT_FN int simt_is_shared_base(const void *p)
{
    return simt_is_shared(p) ||
           ((const unsigned char *)p == simt_self->arena + simt_self->arena_end);
}
SIMT_FN simt_addr simt_to_shared(const void *p)
{
    return (simt_addr)((const unsigned char *)p - simt_self->arena);
}
SIMT_FN void *simt_from_shared(simt_addr a) { return simt_self->arena + a; }
SIMT_FN uint32_t simt_window(void) { return 1; }
SIMT_FN int simt_is_within(uint32_t w, const void *p)
{
    size_t   at  = (size_t)p - (size_t)simt_self->arena;
    uint32_t end = simt_self->arena_end - simt_self->arena_begin; /* the same in each block */
    uint32_t off = simt_addr_offset((simt_addr)at) - simt_addr_offset(simt_self->arena_begin);

    return (w != 0) && (at >> SIMT_RANK_SHIFT < simt_self->cluster_blocks) && (off < end);
}
SIMT_FN void *simt_from_window(uint32_t w, simt_addr a)
{
    (void)w;
    return simt_from_shared(a);
}
SIMT_FN simt_addr simt_dynamic_base(void) { return simt_self->dynamic_base; }
SIMT_FN uint32_t simt_dynamic_bytes(void) { return simt_self->dynamic_bytes; }
SIMT_FN uint32_t simt_shared_bytes(void) { return simt_self->dynamic_bytes; }
SIMT_FN simt_addr simt_shared_end(uint32_t system_bytes)
{
    (void)system_bytes;
    return simt_addr_offset(simt_self->arena_end);
}

/* ---- clusters ---- */
SIMT_FN uint32_t simt_cluster_rank(void) { return simt_self->cluster_rank; }
SIMT_FN uint32_t simt_cluster_blocks(void) { return simt_self->cluster_blocks; }

/* ---- accesses ---- */

/* Calls the scheduler, then checks bounds and alignment, for which the hardware would fault. */
SIMT_FN void *simt_cpu_at(const char *what, simt_addr a, uint32_t bytes)
{
    simt_self_state *self = simt_self;

    if (--self->countdown == 0) {
        simt_engine_switch();
    }
    if ((a < self->arena_begin) || (a > self->arena_end - bytes) || ((a & (bytes - 1u)) != 0)) {
        simt_engine_fault(what, a, bytes);
    }
    return self->arena + a;
}

/* Shared memory has no type: two stored words may be loaded as one of 64 bits. */
typedef uint8_t            __attribute__((may_alias)) simt_cpu_word8;
typedef uint16_t           __attribute__((may_alias)) simt_cpu_word16;
typedef uint32_t           __attribute__((may_alias)) simt_cpu_word32;
typedef unsigned long long __attribute__((may_alias)) simt_cpu_word64;
#define SIMT_CPU_PLAIN(_p, _bits, _type, _at) \
    SIMT_FN _type simt_##_p##load##_bits(simt_addr a) \
    { \
        return *(const simt_cpu_word##_bits *)_at("load", a, sizeof(_type)); \
    } \
    SIMT_FN void simt_##_p##store##_bits(simt_addr a, _type v) \
    { \
        *(simt_cpu_word##_bits *)_at("store", a, sizeof(_type)) = v; \
    }
SIMT_CPU_PLAIN(, 8, uint8_t, simt_cpu_at)
SIMT_CPU_PLAIN(, 16, uint16_t, simt_cpu_at)
SIMT_CPU_PLAIN(, 32, uint32_t, simt_cpu_at)
SIMT_CPU_PLAIN(, 64, unsigned long long, simt_cpu_at)
SIMT_FN simt_u128 simt_load128(simt_addr a)
{
    const simt_cpu_word32 *p = (const simt_cpu_word32 *)simt_cpu_at("load", a, 16);
    simt_u128              v;

    v.x = p[0];
    v.y = p[1];
    v.z = p[2];
    v.w = p[3];
    return v;
}
SIMT_FN void simt_store128(simt_addr a, simt_u128 v)
{
    simt_cpu_word32 *p = (simt_cpu_word32 *)simt_cpu_at("store", a, 16);

    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
    p[3] = v.w;
}

/* The threads of a block are fibers of one. */
SIMT_FN void simt_fence(void) { __asm__ volatile("" : : : "memory"); }

/* A constant order folds to one case; only unoptimised builds need the default. */
#define SIMT_CPU_ORDERED(_o, _call) \
    switch (_o) { \
    case SIMT_RELAXED: return _call(__ATOMIC_RELAXED); \
    case SIMT_ACQUIRE: return _call(__ATOMIC_ACQUIRE); \
    case SIMT_RELEASE: \
    case SIMT_FENCED: return _call(__ATOMIC_RELEASE); \
    default: return _call(__ATOMIC_ACQ_REL); \
    }

#define SIMT_CPU_RMW_CALL_add(_m) __atomic_fetch_add(p, v, _m)
#define SIMT_CPU_RMW_CALL_and(_m) __atomic_fetch_and(p, v, _m)
#define SIMT_CPU_RMW_CALL_or(_m)  __atomic_fetch_or(p, v, _m)
#define SIMT_CPU_RMW_CALL_exchange(_m) __atomic_exchange_n(p, v, _m)
#define SIMT_CPU_RMW(_name, _op, _at) \
    SIMT_FN uint32_t _name(simt_addr a, uint32_t v, simt_order o) \
    { \
        simt_cpu_word32 *p = (simt_cpu_word32 *)_at("atomic " #_op, a, 4); \
        SIMT_CPU_ORDERED(o, SIMT_CPU_RMW_CALL_##_op) \
    }

/* Both orders of a compare-and-swap: a failed one stores nothing, so it releases nothing. */
#define SIMT_CPU_CAS_BODY(_p, _old, _new, _o) \
    ((_o) == SIMT_RELAXED ? __atomic_compare_exchange_n((_p), &(_old), (_new), 0, \
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) \
     : (_o) == SIMT_ACQUIRE ? __atomic_compare_exchange_n((_p), &(_old), (_new), 0, \
                                                          __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE) \
     : (_o) == SIMT_RELEASE ? __atomic_compare_exchange_n((_p), &(_old), (_new), 0, \
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED) \
                            : __atomic_compare_exchange_n((_p), &(_old), (_new), 0, \
                                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))

#define SIMT_CPU_CAS(_name, _type, _word, _at) \
    SIMT_FN _type _name(simt_addr a, _type expected, _type desired, simt_order o) \
    { \
        _word *p   = (_word *)_at("atomic cas", a, sizeof(_type)); \
        _word  old = expected; \
        (void)SIMT_CPU_CAS_BODY(p, old, desired, o); \
        return old; \
    }

/* ThreadSanitizer tracks each word by its address, so it must be told about the second one. */
extern void __tsan_acquire(void *addr) __attribute__((weak));
extern void __tsan_release(void *addr) __attribute__((weak));

/* Atomics for bitmaps, once for each kind of address; _p follows simt_. */
#define SIMT_CPU_ATOMICS(_p, _at) \
    SIMT_FN uint32_t simt_##_p##atomic_load(simt_addr a, simt_order o) \
    { \
        const simt_cpu_word32 *p = (const simt_cpu_word32 *)_at("atomic load", a, 4); \
        return (o == SIMT_RELAXED) ? __atomic_load_n(p, __ATOMIC_RELAXED) \
                                   : __atomic_load_n(p, __ATOMIC_ACQUIRE); \
    } \
    SIMT_FN simt_pair simt_##_p##atomic_load_pair(simt_addr a, simt_order o) \
    { \
        simt_cpu_word64   *p    = (simt_cpu_word64 *)_at("atomic load", a, 8); \
        unsigned long long both = (o == SIMT_RELAXED) ? __atomic_load_n(p, __ATOMIC_RELAXED) \
                                                      : __atomic_load_n(p, __ATOMIC_ACQUIRE); \
        simt_pair          v    = { (uint32_t)both, (uint32_t)(both >> 32) }; \
        if ((o != SIMT_RELAXED) && (__tsan_acquire != NULL)) { \
            __tsan_acquire((char *)p + 4); \
        } \
        return v; \
    } \
    SIMT_FN uint32_t simt_##_p##peek(simt_addr a) \
    { \
        return simt_##_p##atomic_load(a, SIMT_RELAXED); \
    } \
    SIMT_FN void simt_##_p##atomic_store(simt_addr a, uint32_t v, simt_order o) \
    { \
        simt_cpu_word32 *p = (simt_cpu_word32 *)_at("atomic store", a, 4); \
        if (o == SIMT_RELAXED) { \
            __atomic_store_n(p, v, __ATOMIC_RELAXED); \
        } else { \
            __atomic_store_n(p, v, __ATOMIC_RELEASE); \
        } \
    } \
    SIMT_CPU_RMW(simt_##_p##atomic_add, add, _at) \
    SIMT_CPU_RMW(simt_##_p##atomic_and, and, _at) \
    SIMT_CPU_RMW(simt_##_p##atomic_or, or, _at) \
    SIMT_CPU_CAS(simt_##_p##atomic_cas, uint32_t, simt_cpu_word32, _at) \
    SIMT_FN uint32_t simt_##_p##atomic_cas_run(simt_addr a, uint32_t expected, uint32_t desired, \
                                               uint32_t n, simt_order o) \
    { \
        uint32_t i = 0; \
        while ((i < n) && \
               (simt_##_p##atomic_cas(a + 4u * i, expected, desired, o) == expected)) { \
            i++; \
        } \
        return i; \
    } \
    SIMT_FN simt_pair simt_##_p##peek_pair(simt_addr a) \
    { \
        return simt_##_p##atomic_load_pair(a, SIMT_RELAXED); \
    } \
    SIMT_FN void simt_##_p##atomic_and_pairs(const simt_addr *a, const simt_pair *v, uint32_t n, \
                                             simt_order o) \
    { \
        uint32_t i; \
        for (i = 0; i < n; i++) { \
            (void)simt_##_p##atomic_and(a[i], v[i].x, o); \
            (void)simt_##_p##atomic_and(a[i] + 4u, v[i].y, o); \
        } \
    } \
    SIMT_FN simt_addr simt_##_p##atomic_clear_run(simt_addr a, simt_addr last, \
                                                  simt_pair expected, simt_pair *next_p, \
                                                  simt_order o) \
    { \
        for (;; a += 8u) { \
            simt_cpu_word64 *p; \
            *next_p = simt_##_p##atomic_load_pair(a, SIMT_RELAXED); \
            if ((a == last) || (next_p->x != expected.x) || (next_p->y != expected.y)) { \
                return a; \
            } \
            p = (simt_cpu_word64 *)_at("atomic store", a, 8); \
            if (o == SIMT_RELAXED) { \
                __atomic_store_n(p, 0, __ATOMIC_RELAXED); \
            } else { \
                if (__tsan_release != NULL) { \
                    __tsan_release((char *)p + 4); \
                } \
                __atomic_store_n(p, 0, __ATOMIC_RELEASE); \
            } \
        } \
    }
SIMT_CPU_ATOMICS(, simt_cpu_at)

SIMT_FN simt_u128 simt_peek_quad(simt_addr a)
{
    simt_u128 v;

    v.x = simt_peek(a);
    v.y = simt_peek(a + 4u);
    v.z = simt_peek(a + 8u);
    v.w = simt_peek(a + 12u);
    return v;
}

SIMT_CPU_RMW(simt_atomic_exchange, exchange, simt_cpu_at)
SIMT_CPU_CAS(simt_atomic_cas64, unsigned long long, simt_cpu_word64, simt_cpu_at)

SIMT_FN uint32_t simt_atomic_cas_pair(simt_addr a, simt_pair expected, simt_pair desired,
                                      simt_order o)
{
    simt_cpu_word64   *p   = (simt_cpu_word64 *)simt_cpu_at("atomic cas", a, 8);
    unsigned long long old = ((unsigned long long)expected.y << 32) | expected.x;
    uint32_t           done;

    if (((o == SIMT_RELEASE) || (o == SIMT_ACQ_REL)) && (__tsan_release != NULL)) {
        __tsan_release((char *)p + 4);
    }
    done = SIMT_CPU_CAS_BODY(p, old, ((unsigned long long)desired.y << 32) | desired.x, o) != 0;
    if (((o == SIMT_ACQUIRE) || (o == SIMT_ACQ_REL)) && (__tsan_acquire != NULL)) {
        __tsan_acquire((char *)p + 4);
    }
    return done;
}

SIMT_FN uint32_t simt_atomic_cas_pairs(simt_addr a, uint32_t n, simt_pair expected,
                                       simt_pair desired, simt_order o)
{
    uint32_t i = 0;

    while ((i < n) && simt_atomic_cas_pair(a + 8u * i, expected, desired, o)) {
        i++;
    }
    return i;
}

/* C11 has no atomic minimum: a loop, one switch point like every other atomic.  Like the GPU's, it
 * always stores: a release that changes nothing is still a release. */
#define SIMT_CPU_EXTREME(_name, _better) \
    SIMT_FN uint32_t simt_atomic_##_name(simt_addr a, uint32_t v, simt_order o) \
    { \
        simt_cpu_word32 *p   = (simt_cpu_word32 *)simt_cpu_at("atomic " #_name, a, 4); \
        simt_cpu_word32  old = __atomic_load_n(p, __ATOMIC_RELAXED); \
        while (!SIMT_CPU_CAS_BODY(p, old, (v _better old) ? v : old, o)) { \
        } \
        return old; \
    }
SIMT_CPU_EXTREME(min, <)
SIMT_CPU_EXTREME(max, >)
#undef SIMT_CPU_EXTREME

/* ---- in a cluster: the same, except for the valid addresses ---- */

SIMT_FN void *simt_cpu_cluster_at(const char *what, simt_addr a, uint32_t bytes)
{
    simt_self_state *self = simt_self;

    if (--self->countdown == 0) {
        simt_engine_switch();
    }
    if ((a < self->arena_begin) || (a > self->arena_end - bytes) || ((a & (bytes - 1u)) != 0)) {
        simt_engine_remote(what, a, bytes);
    }
    return self->arena + a;
}
SIMT_CPU_ATOMICS(near_, simt_cpu_at)
SIMT_CPU_ATOMICS(cluster_, simt_cpu_cluster_at)
SIMT_CPU_PLAIN(near_, 32, uint32_t, simt_cpu_at)
SIMT_CPU_PLAIN(cluster_, 32, uint32_t, simt_cpu_cluster_at)
#undef SIMT_CPU_PLAIN
#undef SIMT_CPU_ATOMICS
#undef SIMT_CPU_RMW
#undef SIMT_CPU_CAS

/* ---- bits ---- */
SIMT_HD uint32_t simt_popc(uint32_t v) { return (uint32_t)__builtin_popcount(v); }
SIMT_HD uint32_t simt_clz(uint32_t v) { return (v == 0) ? 32u : (uint32_t)__builtin_clz(v); }
SIMT_HD uint32_t simt_fls(uint32_t v) { return (v != 0) ? 32u - (uint32_t)__builtin_clz(v) : 0u; }
SIMT_HD uint32_t simt_ffs(uint32_t v) { return (uint32_t)__builtin_ffs((int)v); }
SIMT_HD uint32_t simt_mulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)(((unsigned long long)a * b) >> 32);
}
SIMT_HD uint32_t simt_keep(uint32_t v) { return v; }
SIMT_HD uint32_t simt_pin(uint32_t v) { return v; }
SIMT_HD uint32_t simt_mask(uint32_t first, uint32_t count)
{
    uint32_t ones = (count < 32u) ? (1u << count) - 1u : ~0u;

    return (first < 32u) ? ones << first : 0u;
}
SIMT_HD uint32_t simt_reverse(uint32_t v)
{
    v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
    v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
    return __builtin_bswap32(v);
}

SIMT_FN uint32_t simt_clock(void) { return 0; }

/* ---- barriers, votes, waiting: macros, so that reports can name the place ---- */
#define simt_barrier()            simt_engine_barrier(__FILE__, __LINE__)
#define simt_cluster_barrier()    simt_engine_cluster_barrier(__FILE__, __LINE__)
#define simt_broadcast(_v)        simt_engine_broadcast((_v), __FILE__, __LINE__)
#define simt_pause(_ns)           simt_engine_pause((_ns), __FILE__, __LINE__)
#define simt_wait(_a, _seen)      simt_engine_wait((_a), (_seen), __FILE__, __LINE__)
#define SIMT_PATIENCE             2u
#define simt_wait_briefly(_a, _seen) simt_engine_wait_briefly((_a), (_seen), __FILE__, __LINE__)
#define SIMT_CPU_OP(_op, _m, _v, _n) \
    simt_engine_collective(SIMT_OP_##_op, (_m), (uint32_t)(_v), (uint32_t)(_n), __FILE__, __LINE__)
#define simt_warp_sync(_m)        ((void)SIMT_CPU_OP(SYNC, _m, 0, 0))
#define simt_ballot(_m, _p)       SIMT_CPU_OP(BALLOT, _m, (_p) != 0, 0)
#define simt_any(_m, _p)          SIMT_CPU_OP(ANY, _m, (_p) != 0, 0)
#define simt_all(_m, _p)          SIMT_CPU_OP(ALL, _m, (_p) != 0, 0)
#define simt_shfl(_m, _v, _n)     SIMT_CPU_OP(SHFL, _m, _v, _n)
#define simt_shfl_xor(_m, _v, _n) SIMT_CPU_OP(SHFL_XOR, _m, _v, _n)
#define simt_shfl_up(_m, _v, _n)  SIMT_CPU_OP(SHFL_UP, _m, _v, _n)
#define simt_shfl_down(_m, _v, _n) SIMT_CPU_OP(SHFL_DOWN, _m, _v, _n)
#define simt_match_any(_m, _v)    SIMT_CPU_OP(MATCH, _m, _v, 0)
#define simt_converged()          SIMT_CPU_OP(CONVERGED, 0, 0, 0)

/* ---- global memory ---- */
SIMT_FN void simt_global_store32(void *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELAXED);
}
SIMT_FN uint32_t simt_global_add32(void *p, uint32_t v)
{
    return __atomic_fetch_add((uint32_t *)p, v, __ATOMIC_RELAXED);
}
SIMT_FN void simt_global_add64(void *p, unsigned long long v)
{
    __atomic_fetch_add((unsigned long long *)p, v, __ATOMIC_RELAXED);
}
SIMT_FN uint32_t simt_global_or32(void *p, uint32_t v)
{
    return __atomic_fetch_or((uint32_t *)p, v, __ATOMIC_ACQUIRE);
}
SIMT_FN uint32_t simt_global_cas32(void *p, uint32_t expected, uint32_t desired)
{
    (void)__atomic_compare_exchange_n((uint32_t *)p, &expected, desired, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
    return expected;
}
SIMT_FN uint32_t simt_global_and32(void *p, uint32_t v)
{
    return __atomic_fetch_and((uint32_t *)p, v, __ATOMIC_RELEASE);
}
SIMT_FN void simt_global_max32(void *p, uint32_t v)
{
    uint32_t old = __atomic_load_n((uint32_t *)p, __ATOMIC_RELAXED);

    while ((v > old) && !__atomic_compare_exchange_n((uint32_t *)p, &old, v, 0, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
    }
}
SIMT_FN void simt_global_min32(void *p, uint32_t v)
{
    uint32_t old = __atomic_load_n((uint32_t *)p, __ATOMIC_RELAXED);

    while ((v < old) && !__atomic_compare_exchange_n((uint32_t *)p, &old, v, 0, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
    }
}

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_IMPL_SIMT_CPU_H */
