/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses of impl/global_heap.h to global memory, on the GPU and on the executor; the scope of
 * atomics is the device.  C++17; not for direct inclusion. */
#ifndef SHPOOL_IMPL_GLOBAL_ACCESS_H
#define SHPOOL_IMPL_GLOBAL_ACCESS_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#if defined(__CUDACC__)

#define SHPOOL_GLOBAL_FN   __device__ __forceinline__
#define SHPOOL_GLOBAL_ROOT inline __device__

/* Attribute of the functions that do the work: real calls, as in cuda_memory. */
#if defined(SHPOOL_COMPAT_INLINE)
#define SHPOOL_GLOBAL_CALL SIMT_FN
#else
#define SHPOOL_GLOBAL_CALL SIMT_FN_NOINLINE
#endif

#define SHPOOL_GLOBAL_ROOT inline __device__

/* Only acquire loads, release stores, relaxed accesses, and an acquiring compare-and-swap are
 * needed.  The order is a constant, so one case survives. */
#define SHPOOL_GLOBAL_ATOMIC(_bits, _type, _constraint) \
    SIMT_FN _type shpool_global_atomic_load##_bits(const void *p, simt_order o) \
    { \
        _type v; \
        if (o == SIMT_RELAXED) { \
            asm volatile("ld.relaxed.gpu.global.u" #_bits " %0, [%1];" \
                         : "=" _constraint(v) : "l"(p) : "memory"); \
        } else { \
            asm volatile("ld.acquire.gpu.global.u" #_bits " %0, [%1];" \
                         : "=" _constraint(v) : "l"(p) : "memory"); \
        } \
        return v; \
    } \
    SIMT_FN void shpool_global_atomic_store##_bits(void *p, _type v, simt_order o) \
    { \
        if (o == SIMT_RELAXED) { \
            asm volatile("st.relaxed.gpu.global.u" #_bits " [%0], %1;" \
                         : : "l"(p), _constraint(v) : "memory"); \
        } else { \
            asm volatile("st.release.gpu.global.u" #_bits " [%0], %1;" \
                         : : "l"(p), _constraint(v) : "memory"); \
        } \
    } \
    SIMT_FN _type shpool_global_acquire##_bits(void *p, _type expected, _type desired) \
    { \
        _type old; \
        asm volatile("atom.acquire.gpu.global.cas.b" #_bits " %0, [%1], %2, %3;" \
                     : "=" _constraint(old) : "l"(p), _constraint(expected), _constraint(desired) \
                     : "memory"); \
        return old; \
    }

SIMT_FN void shpool_global_store64(void *p, unsigned long long v)
{
    asm volatile("st.global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

SIMT_FN void shpool_global_store32(void *p, uint32_t v)
{
    asm volatile("st.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

/* An ordinary load, although the third word is atomic: the old value of that is as good as the new
 * one, unless a barrier has ordered them.  With a relaxed load ptxas adds YIELD at the entry of
 * each call, where the lanes of a warp part.  Not all: the caller does not use the fourth word,
 * which others may be writing. */
SIMT_FN simt_u128 shpool_global_load128(const void *p, bool all)
{
    simt_u128 v;

    (void)all;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}

/* `given`, which becomes 0.  acquire: pairs with the release in shpool_global_release_or */
SIMT_FN uint32_t shpool_global_acquire_all(void *p)
{
    uint32_t old;

    asm volatile("atom.acquire.gpu.global.exch.b32 %0, [%1], 0;"
                 : "=r"(old) : "l"(p) : "memory");
    return old;
}
/* Set bits of it.  release: the payload's last use here; pairs with shpool_global_acquire_all */
SIMT_FN uint32_t shpool_global_release_or(void *p, uint32_t bits)
{
    uint32_t old;

    asm volatile("atom.release.gpu.global.or.b32 %0, [%1], %2;"
                 : "=r"(old) : "l"(p), "r"(bits) : "memory");
    return old;
}

SIMT_FN void shpool_global_wait(void) { __nanosleep(64); }

#else /* the executor: as in shared memory, threads may switch at each access */

#define SHPOOL_GLOBAL_CALL SIMT_FN
#define SHPOOL_GLOBAL_ROOT inline

SIMT_FN void shpool_global_point(void)
{
    if (--simt_self->countdown == 0) {
        simt_engine_switch();
    }
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

SIMT_FN void shpool_global_store64(void *p, unsigned long long v)
{
    shpool_global_point();
    *static_cast<simt_cpu_word64 *>(p) = v;
}
SIMT_FN void shpool_global_store32(void *p, uint32_t v)
{
    shpool_global_point();
    *static_cast<simt_cpu_word32 *>(p) = v;
}
SIMT_FN simt_u128 shpool_global_load128(const void *p, bool all)
{
    const simt_cpu_word32 *word = static_cast<const simt_cpu_word32 *>(p);

    shpool_global_point();
    return {word[0], word[1], __atomic_load_n(word + 2, __ATOMIC_RELAXED), all ? word[3] : 0u};
}
SIMT_FN uint32_t shpool_global_acquire_all(void *p)
{
    shpool_global_point();
    return __atomic_exchange_n(static_cast<simt_cpu_word32 *>(p), 0, __ATOMIC_ACQUIRE);
}
SIMT_FN uint32_t shpool_global_release_or(void *p, uint32_t bits)
{
    shpool_global_point();
    return __atomic_fetch_or(static_cast<simt_cpu_word32 *>(p), bits, __ATOMIC_RELEASE);
}

/* The engine can park a thread until a word of shared memory changes, but not for these words; it
 * may only switch to another thread.  Such schedules can be sampled, but not explored
 * exhaustively. */
SIMT_FN void shpool_global_wait(void) { simt_engine_switch(); }

#endif

SHPOOL_GLOBAL_ATOMIC(32, uint32_t, "r")
SHPOOL_GLOBAL_ATOMIC(64, unsigned long long, "l")
#undef SHPOOL_GLOBAL_ATOMIC

#endif /* SHPOOL_IMPL_GLOBAL_ACCESS_H */
