/* SPDX-License-Identifier: BSD-3-Clause */
/* simt.h for the GPU (nvcc, NVRTC).  Not for direct inclusion.
 *
 * Every access is inline PTX on a 32-bit shared address.  In C, a pointer that passed through a
 * function table becomes generic, and its accesses become LD/ST/ATOM instead of LDS/STS/ATOMS.
 * Each access clobbers memory: the caller's own accesses to a payload must not move across the
 * allocator's accesses to the same bytes (freed payloads contain links). */
#ifndef SHPOOL_IMPL_SIMT_CUDA_H
#define SHPOOL_IMPL_SIMT_CUDA_H

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 750)
#error "shpool needs sm_75 or newer: compile with -arch=sm_75 or above"
#endif

/* unused: clang as the host compiler warns of each function that a kernel does not call */
#define SIMT_FN          static __device__ __forceinline__ __attribute__((unused))
#define SIMT_ROLLED      _Pragma("unroll 1")
#define SIMT_UNROLLED    _Pragma("unroll")
#define SIMT_LIKELY(_x)  __builtin_expect((_x) != 0, 1)
/* Slow paths are calls, but not in code for an architecture with a letter: only such code may have
 * setmaxnreg, and ptxas fails on kernels with that and calls (C7600), or does not end.
 * -DSHPOOL_CALLS=1 keeps the calls: kernels without setmaxnreg then need fewer registers.
 * -DSHPOOL_CALLS=0 removes them elsewhere, too; shpool_open() sees it for kernels that it joins. */
#if !defined(SHPOOL_CALLS)
#if !defined(SHPOOL_TABLE_MODULE) && \
    (defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FAMILY_SPECIFIC__) || \
     defined(__CUDA_ARCH_FEAT_SM90_ALL))
#define SHPOOL_CALLS 0
#else
#define SHPOOL_CALLS 1
#endif
#endif
#if SHPOOL_CALLS
#define SIMT_FN_NOINLINE static __device__ __noinline__ __attribute__((unused))
#else
#define SIMT_FN_NOINLINE SIMT_FN
#endif
#define SIMT_HD          static __host__ __device__ __forceinline__ __attribute__((unused))
#define SIMT_TABLE(_type, _name, _count) static __device__ const _type _name[_count]

SIMT_FN uint32_t simt_keep(uint32_t v)
{
    asm("" : "+r"(v));
    return v;
}
SIMT_FN uint32_t simt_pin(uint32_t v)
{
    asm volatile("" : "+r"(v) : : "memory");
    return v;
}

/* ---- ranks ---- */
SIMT_FN uint32_t simt_thread_x(void) { return threadIdx.x; }
SIMT_FN uint32_t simt_thread_y(void) { return threadIdx.y; }
SIMT_FN uint32_t simt_thread_z(void) { return threadIdx.z; }
SIMT_FN uint32_t simt_block_x(void) { return blockIdx.x; }
SIMT_FN uint32_t simt_block_y(void) { return blockIdx.y; }
SIMT_FN uint32_t simt_block_z(void) { return blockIdx.z; }
SIMT_FN uint32_t simt_block_threads(void) { return blockDim.x * blockDim.y * blockDim.z; }
SIMT_FN uint32_t simt_grid_blocks(void) { return gridDim.x * gridDim.y * gridDim.z; }
SIMT_FN uint32_t simt_thread_rank(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
SIMT_FN uint32_t simt_block_rank(void)
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
SIMT_FN unsigned long long simt_launch_number(void)
{
    unsigned long long number;

    asm("mov.u64 %0, %%gridid;" : "=l"(number));
    return number;
}
SIMT_FN uint32_t simt_lane(void)
{
    uint32_t lane;

    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
SIMT_FN uint32_t simt_warp(void) { return simt_thread_rank() / SIMT_WARP; }

/* ---- addresses ---- */
SIMT_FN int simt_is_shared(const void *p) { return __isShared(p) != 0; }
SIMT_FN int simt_is_shared_base(const void *p) { return simt_is_shared(p); }
SIMT_FN simt_addr simt_to_shared(const void *p)
{
    return (simt_addr)__cvta_generic_to_shared(p);
}
SIMT_FN void *simt_from_shared(simt_addr a) { return __cvta_shared_to_generic((size_t)a); }
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
/* On the GPU each conversion reads a special register again.  Its value is the upper half of the
 * window's generic addresses; the lower half is the shared address. */
SIMT_FN uint32_t simt_window(void)
{
    return simt_keep((uint32_t)((size_t)simt_from_shared(0) >> 32));
}
SIMT_FN int simt_is_within(uint32_t w, const void *p) { return (uint32_t)((size_t)p >> 32) == w; }
SIMT_FN void *simt_from_window(uint32_t w, simt_addr a) { return (void *)(((size_t)w << 32) | a); }
#else
SIMT_FN uint32_t simt_window(void) { return 1; }
SIMT_FN int simt_is_within(uint32_t w, const void *p) { return (w != 0) && simt_is_shared(p); }
SIMT_FN void *simt_from_window(uint32_t w, simt_addr a)
{
    (void)w;
    return simt_from_shared(a);
}
#endif

/* sm_90: the top byte of a shared address, even in the own block, is the rank of its block in the
 * cluster, and generic addresses of all blocks of a cluster have the same upper half. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
SIMT_FN uint32_t simt_addr_rank(simt_addr a) { return a >> SIMT_RANK_SHIFT; }
SIMT_FN simt_addr simt_addr_offset(simt_addr a) { return a & SIMT_OFFSET; }
#else
SIMT_FN uint32_t simt_addr_rank(simt_addr a)
{
    (void)a;
    return 0;
}
SIMT_FN simt_addr simt_addr_offset(simt_addr a) { return a; }
#endif
SIMT_FN simt_addr simt_dynamic_base(void)
{
    extern __shared__ __align__(16) unsigned char shpool_dynamic_shared[];

    return simt_to_shared(shpool_dynamic_shared);
}
SIMT_FN uint32_t simt_dynamic_bytes(void)
{
    uint32_t bytes;

    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

SIMT_FN uint32_t simt_shared_bytes(void)
{
    uint32_t bytes;

    asm("mov.u32 %0, %%total_smem_size;" : "=r"(bytes));
    return bytes;
}

/* Code for sm_75 may run on a GPU that reserves some shared memory, but cannot query how much. */
SIMT_FN simt_addr simt_shared_end(uint32_t system_bytes)
{
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 800)
    asm("mov.u32 %0, %%reserved_smem_offset_cap;" : "=r"(system_bytes));
#endif
    return system_bytes + simt_shared_bytes();
}

/* ---- plain accesses ---- */
#define SIMT_CUDA_PLAIN(_bits, _type, _constraint) \
    SIMT_FN _type simt_load##_bits(simt_addr a) \
    { \
        _type v; \
        asm volatile("ld.shared.u" #_bits " %0, [%1];" : "=" _constraint(v) : "r"(a) : "memory"); \
        return v; \
    } \
    SIMT_FN void simt_store##_bits(simt_addr a, _type v) \
    { \
        asm volatile("st.shared.u" #_bits " [%0], %1;" : : "r"(a), _constraint(v) : "memory"); \
    }
SIMT_CUDA_PLAIN(16, uint16_t, "h")
SIMT_CUDA_PLAIN(32, uint32_t, "r")
SIMT_CUDA_PLAIN(64, unsigned long long, "l")
#undef SIMT_CUDA_PLAIN

/* PTX has no 8-bit registers. */
SIMT_FN uint8_t simt_load8(simt_addr a)
{
    uint32_t v;

    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    return (uint8_t)v;
}
SIMT_FN void simt_store8(simt_addr a, uint8_t v)
{
    asm volatile("st.shared.u8 [%0], %1;" : : "r"(a), "r"((uint32_t)v) : "memory");
}
SIMT_FN simt_u128 simt_load128(simt_addr a)
{
    simt_u128 v;

    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(a) : "memory");
    return v;
}
SIMT_FN void simt_store128(simt_addr a, simt_u128 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 : : "r"(a), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

/* ---- atomics: the order is a constant, so one case survives ---- */
SIMT_FN uint32_t simt_atomic_load(simt_addr a, simt_order o)
{
    uint32_t v;

    if (o == SIMT_RELAXED) {
        asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    } else {
        asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    }
    return v;
}
/* One access of 64 bits instead of a vector, whose elements PTX may read in any order. */
SIMT_FN simt_pair simt_atomic_load_pair(simt_addr a, simt_order o)
{
    unsigned long long both;

    if (o == SIMT_RELAXED) {
        asm volatile("ld.relaxed.cta.shared.b64 %0, [%1];" : "=l"(both) : "r"(a) : "memory");
    } else {
        asm volatile("ld.acquire.cta.shared.b64 %0, [%1];" : "=l"(both) : "r"(a) : "memory");
    }
    return {(uint32_t)both, (uint32_t)(both >> 32)};
}
/* Weak: a race of accesses of one size is defined (PTX ISA, "Data-races"). */
SIMT_FN uint32_t simt_peek(simt_addr a) { return simt_load32(a); }
SIMT_FN void simt_atomic_store(simt_addr a, uint32_t v, simt_order o)
{
    if ((o == SIMT_RELAXED) || (o == SIMT_FENCED)) {
        asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" : : "r"(a), "r"(v) : "memory");
    } else {
        asm volatile("st.release.cta.shared.u32 [%0], %1;" : : "r"(a), "r"(v) : "memory");
    }
}

SIMT_FN void simt_fence(void) { asm volatile("fence.sc.cta;" : : : "memory"); }

#define SIMT_CUDA_ORDERED(_o, _call) \
    switch (_o) { \
    case SIMT_RELAXED: \
    case SIMT_FENCED: _call("relaxed"); break; \
    case SIMT_ACQUIRE: _call("acquire"); break; \
    case SIMT_RELEASE: _call("release"); break; \
    default: _call("acq_rel"); break; \
    }
#define SIMT_CUDA_RMW(_name) \
    SIMT_FN uint32_t simt_atomic_##_name(simt_addr a, uint32_t v, simt_order o) \
    { \
        uint32_t old; \
        SIMT_CUDA_ORDERED(o, SIMT_CUDA_RMW_##_name) \
        return old; \
    }
#define SIMT_CUDA_RMW_PTX(_order, _op) \
    asm volatile("atom." _order ".cta.shared." _op " %0, [%1], %2;" \
                 : "=r"(old) : "r"(a), "r"(v) : "memory")
#define SIMT_CUDA_RMW_add(_order)      SIMT_CUDA_RMW_PTX(_order, "add.u32")
#define SIMT_CUDA_RMW_and(_order)      SIMT_CUDA_RMW_PTX(_order, "and.b32")
#define SIMT_CUDA_RMW_or(_order)       SIMT_CUDA_RMW_PTX(_order, "or.b32")
#define SIMT_CUDA_RMW_min(_order)      SIMT_CUDA_RMW_PTX(_order, "min.u32")
#define SIMT_CUDA_RMW_max(_order)      SIMT_CUDA_RMW_PTX(_order, "max.u32")
#define SIMT_CUDA_RMW_exchange(_order) SIMT_CUDA_RMW_PTX(_order, "exch.b32")
SIMT_CUDA_RMW(add)
SIMT_CUDA_RMW(and)
SIMT_CUDA_RMW(or)
SIMT_CUDA_RMW(min)
SIMT_CUDA_RMW(max)
SIMT_CUDA_RMW(exchange)
#undef SIMT_CUDA_RMW

#define SIMT_CUDA_CAS(_order) \
    asm volatile("atom." _order ".cta.shared.cas.b32 %0, [%1], %2, %3;" \
                 : "=r"(old) : "r"(a), "r"(expected), "r"(desired) : "memory")
SIMT_FN uint32_t simt_atomic_cas(simt_addr a, uint32_t expected, uint32_t desired, simt_order o)
{
    uint32_t old;

    SIMT_CUDA_ORDERED(o, SIMT_CUDA_CAS)
    return old;
}
/* One fence before them is cheaper than n ordered ones. */
SIMT_FN uint32_t simt_atomic_cas_run(simt_addr a, uint32_t expected, uint32_t desired, uint32_t n,
                                     simt_order o)
{
    uint32_t i = 0;

    if ((o == SIMT_RELEASE) || (o == SIMT_ACQ_REL)) {
        asm volatile("fence.acq_rel.cta;" : : : "memory");
    }
    SIMT_ROLLED
    while ((i < n) && (simt_atomic_cas(a + 4u * i, expected, desired, SIMT_ACQUIRE) == expected)) {
        i++;
    }
    return i;
}
#define SIMT_CUDA_CAS64(_order) \
    asm volatile("atom." _order ".cta.shared.cas.b64 %0, [%1], %2, %3;" \
                 : "=l"(old) : "r"(a), "l"(expected), "l"(desired) : "memory")
SIMT_FN unsigned long long simt_atomic_cas64(simt_addr a, unsigned long long expected,
                                             unsigned long long desired, simt_order o)
{
    unsigned long long old;

    SIMT_CUDA_ORDERED(o, SIMT_CUDA_CAS64)
    return old;
}

#define SIMT_CUDA_CAS_PAIR(_order) \
    asm volatile("{ .reg .b64 e, d; mov.b64 e, {%3, %4}; mov.b64 d, {%5, %6}; " \
                 "atom." _order ".cta.shared.cas.b64 d, [%2], e, d; mov.b64 {%0, %1}, d; }" \
                 : "=r"(old.x), "=r"(old.y) : "r"(a), "r"(expected.x), "r"(expected.y), \
                   "r"(desired.x), "r"(desired.y) : "memory")
SIMT_FN uint32_t simt_atomic_cas_pair(simt_addr a, simt_pair expected, simt_pair desired,
                                      simt_order o)
{
    simt_pair old;

    SIMT_CUDA_ORDERED(o, SIMT_CUDA_CAS_PAIR)
    return (old.x == expected.x) && (old.y == expected.y);
}

/* Weak, like simt_peek(). */
SIMT_FN simt_u128 simt_peek_quad(simt_addr a) { return simt_load128(a); }
SIMT_FN simt_pair simt_peek_pair(simt_addr a)
{
    const unsigned long long both = simt_load64(a);

    return {(uint32_t)both, (uint32_t)(both >> 32)};
}
SIMT_FN unsigned long long simt_cuda_both(simt_pair v)
{
    unsigned long long both = ((unsigned long long)v.y << 32) | v.x;

    asm volatile("" : "+l"(both));
    return both;
}
/* One fence before and one after all of them are cheaper than n ordered ones.  After one in vain,
 * each pair is swapped for itself: if the loop ended, or an atomic had a condition, ptxas would
 * insert a YIELD. */
SIMT_FN uint32_t simt_atomic_cas_pairs(simt_addr a, uint32_t n, simt_pair expected,
                                       simt_pair desired, simt_order o)
{
    const unsigned long long was = simt_cuda_both(expected);
    const unsigned long long set = simt_cuda_both(desired);
    const simt_addr          end = a + 8u * n;
    uint32_t                 yes = 1;

    n = 0;
    if ((o == SIMT_RELEASE) || (o == SIMT_ACQ_REL)) {
        asm volatile("fence.acq_rel.cta;" : : : "memory");
    }
    SIMT_ROLLED
    for (; a != end; a += 8u) {
        unsigned long long old;

        asm volatile("atom.relaxed.cta.shared.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(old) : "r"(a), "l"(was), "l"(yes ? set : was) : "memory");
        yes &= old == was;
        n += yes;
    }
    if ((o == SIMT_ACQUIRE) || (o == SIMT_ACQ_REL)) {
        asm volatile("fence.acq_rel.cta;" : : : "memory");
    }
    return n;
}
/* One fence before all of them. */
SIMT_FN void simt_atomic_and_pairs(const simt_addr *a, const simt_pair *v, uint32_t n,
                                   simt_order o)
{
    uint32_t i;

    if (o != SIMT_RELAXED) {
        asm volatile("fence.acq_rel.cta;" : : : "memory");
    }
    SIMT_UNROLLED
    for (i = 0; i < n; i++) {
        asm volatile("red.relaxed.cta.shared.and.b32 [%0], %1;"
                     : : "r"(a[i]), "r"(v[i].x) : "memory");
        asm volatile("red.relaxed.cta.shared.and.b32 [%0+4], %1;"
                     : : "r"(a[i]), "r"(v[i].y) : "memory");
    }
}
SIMT_FN uint32_t simt_cuda_differs(simt_pair v, simt_pair w)
{
    return (v.x ^ w.x) | (v.y ^ w.y);
}
/* Four at a time, as long as there are four.  They only peek: else ptxas would insert a YIELD into
 * the loops. */
SIMT_FN simt_addr simt_atomic_clear_run(simt_addr a, simt_addr last, simt_pair expected,
                                        simt_pair *next_p, simt_order o)
{
    if (o != SIMT_RELAXED) {
        asm volatile("fence.acq_rel.cta;" : : : "memory");
    }
    SIMT_ROLLED
    for (; a + 24u <= last; a += 32u) {
        const simt_pair v0 = simt_peek_pair(a);
        const simt_pair v1 = simt_peek_pair(a + 8u);
        const simt_pair v2 = simt_peek_pair(a + 16u);
        const simt_pair v3 = simt_peek_pair(a + 24u);

        if ((simt_cuda_differs(v0, expected) | simt_cuda_differs(v1, expected) |
             simt_cuda_differs(v2, expected) | simt_cuda_differs(v3, expected)) != 0) {
            break;
        }
        asm volatile("st.relaxed.cta.shared.b64 [%0], %1; st.relaxed.cta.shared.b64 [%0+8], %1; "
                     "st.relaxed.cta.shared.b64 [%0+16], %1; "
                     "st.relaxed.cta.shared.b64 [%0+24], %1;" : : "r"(a), "l"(0ull) : "memory");
    }
    SIMT_ROLLED
    for (; simt_cuda_differs(simt_peek_pair(a), expected) == 0; a += 8u) {
        asm volatile("st.relaxed.cta.shared.b64 [%0], %1;" : : "r"(a), "l"(0ull) : "memory");
    }
    *next_p = simt_atomic_load_pair(a, SIMT_RELAXED);
    return a;
}

/* ---- bits ---- */
SIMT_FN uint32_t simt_popc(uint32_t v) { return (uint32_t)__popc(v); }
SIMT_FN uint32_t simt_clz(uint32_t v) { return (uint32_t)__clz((int)v); }
SIMT_FN uint32_t simt_ffs(uint32_t v) { return (uint32_t)__ffs((int)v); }
/* __clz() is 31 minus this; ptxas does not undo the subtraction. */
SIMT_FN uint32_t simt_fls(uint32_t v)
{
    uint32_t highest; /* all ones for 0 */

    asm("bfind.u32 %0, %1;" : "=r"(highest) : "r"(v));
    return highest + 1u;
}
SIMT_FN uint32_t simt_reverse(uint32_t v) { return __brev(v); }
SIMT_FN uint32_t simt_mulhi(uint32_t a, uint32_t b) { return __umulhi(a, b); }
SIMT_FN uint32_t simt_mask(uint32_t first, uint32_t count)
{
    uint32_t mask;

    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(mask) : "r"(first), "r"(count));
    return mask;
}

/* ---- barriers and votes ---- */
SIMT_FN void simt_barrier(void) { __syncthreads(); }
SIMT_FN unsigned long long simt_broadcast(unsigned long long v)
{
    static __shared__ unsigned long long word;

    if (simt_thread_rank() == 0) {
        word = v;
    }
    __syncthreads();
    v = word;
    __syncthreads(); /* all have read it: the next one may follow */
    return v;
}
SIMT_FN void simt_warp_sync(uint32_t m) { __syncwarp(m); }
SIMT_FN uint32_t simt_ballot(uint32_t m, int p) { return __ballot_sync(m, p); }
SIMT_FN int simt_any(uint32_t m, int p) { return __any_sync(m, p); }
SIMT_FN int simt_all(uint32_t m, int p) { return __all_sync(m, p); }
SIMT_FN uint32_t simt_shfl(uint32_t m, uint32_t v, uint32_t lane)
{
    return __shfl_sync(m, v, (int)lane);
}
SIMT_FN uint32_t simt_shfl_xor(uint32_t m, uint32_t v, uint32_t n)
{
    return __shfl_xor_sync(m, v, (int)n);
}
SIMT_FN uint32_t simt_shfl_up(uint32_t m, uint32_t v, uint32_t n)
{
    return __shfl_up_sync(m, v, n);
}
SIMT_FN uint32_t simt_shfl_down(uint32_t m, uint32_t v, uint32_t n)
{
    return __shfl_down_sync(m, v, n);
}
SIMT_FN uint32_t simt_match_any(uint32_t m, uint32_t v) { return __match_any_sync(m, v); }
SIMT_FN uint32_t simt_converged(void) { return __activemask(); }

#include <shpool/impl/simt/cluster.h>

SIMT_FN uint32_t simt_clock(void) { return (uint32_t)clock(); }

/* The surrounding loop reads the word again; here only the issue slots matter.  Among sleeps of
 * about 32, 200 and 1,000 ns, the longest was best for pools of 96 to 1,024 threads, up to twice as
 * fast; for other pools there was no difference.
 *
 * Each thread sleeps for a different time.  The GPU ends a sleep at the next multiple of a power of
 * two (measured: of 1,000, 2,000 and 4,000 cycles from 256, 512 and 1,024 ns on), so threads with
 * equal sleeps wake together, always in the same order.  The first ones may then acquire a lock
 * every time, for requests that cannot be served, while the threads that would free never get
 * it. */
SIMT_FN void simt_wait(simt_addr a, uint32_t seen)
{
    (void)a;
    (void)seen;
    __nanosleep(256u + (simt_clock() * 2654435761u >> 22));
}

#define SIMT_PATIENCE 65536u /* about 50 ms */
SIMT_FN uint32_t simt_wait_briefly(simt_addr a, uint32_t seen)
{
    simt_wait(a, seen);
    return 1;
}

SIMT_FN void simt_pause(uint32_t ns) { __nanosleep(ns); }

/* ---- global memory ---- */
SIMT_FN void simt_global_store32(void *p, uint32_t v) { (void)atomicExch((unsigned *)p, v); }
SIMT_FN uint32_t simt_global_add32(void *p, uint32_t v) { return atomicAdd((unsigned *)p, v); }
SIMT_FN uint32_t simt_global_or32(void *p, uint32_t v)
{
    uint32_t old;

    asm volatile("atom.acquire.gpu.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}
SIMT_FN uint32_t simt_global_cas32(void *p, uint32_t expected, uint32_t desired)
{
    return atomicCAS((unsigned *)p, expected, desired);
}
SIMT_FN uint32_t simt_global_and32(void *p, uint32_t v)
{
    uint32_t old;

    asm volatile("atom.release.gpu.and.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}
SIMT_FN void simt_global_max32(void *p, uint32_t v) { (void)atomicMax((unsigned *)p, v); }
SIMT_FN void simt_global_min32(void *p, uint32_t v) { (void)atomicMin((unsigned *)p, v); }
SIMT_FN void simt_global_add64(void *p, unsigned long long v)
{
    (void)atomicAdd((unsigned long long *)p, v);
}
SIMT_FN void *simt_native_malloc(size_t bytes) { return malloc(bytes); }
SIMT_FN void simt_native_free(void *ptr) { free(ptr); }

#endif /* SHPOOL_IMPL_SIMT_CUDA_H */
