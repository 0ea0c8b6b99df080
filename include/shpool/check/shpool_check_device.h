/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's names for kernels: indexes, barriers, warp functions, atomics, intrinsics.  Included by
 * cuda_runtime.h of this folder. */
#ifndef SHPOOL_CHECK_DEVICE_H
#define SHPOOL_CHECK_DEVICE_H

#pragma clang attribute push(__attribute__((no_sanitize("thread", "array-bounds"))), \
                             apply_to = function)

/* ---- indexes ---- */

extern "C" dim3 blockDim, gridDim; /* of the launch that runs */
inline uint3 shpool_check_index(const uint32_t *at) { return {at[0], at[1], at[2]}; }
inline uint3 shpool_check_thread() { return shpool_check_index(simt_self->thread_index); }
inline uint3 shpool_check_block() { return shpool_check_index(simt_self->block_index); }
#define threadIdx (::shpool_check_thread())
#define blockIdx  (::shpool_check_block())
constexpr int warpSize = 32;

/* ---- barriers and fences ---- */

SHPOOL_CHECK_CALL void __syncthreads(SHPOOL_CHECK_HERE) { shpool_check_barrier(file, line); }
inline void __syncwarp(unsigned mask = 0xffffffffu, SHPOOL_CHECK_HERE)
{
    (void)shpool_check_collective(SIMT_OP_SYNC, mask, 0, 0, file, line);
}
inline void __threadfence() { shpool_check_fence(); }
inline void __threadfence_block() { shpool_check_fence(); }
inline void __threadfence_system() { shpool_check_fence(); }
inline void __nanosleep(unsigned, SHPOOL_CHECK_HERE) { shpool_check_pause(file, line); }
inline void __trap(SHPOOL_CHECK_HERE) { shpool_check_trap("__trap()", file, line); }
inline void __brkpt() {}
inline long long clock64()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}
#define clock() clock64()

/* ---- warp ---- */

#define SHPOOL_CHECK_VOTE(_name, _op) \
    inline unsigned _name(unsigned mask, int yes, SHPOOL_CHECK_HERE) \
    { \
        return shpool_check_collective(SIMT_OP_##_op, mask, yes != 0, 0, file, line); \
    }
SHPOOL_CHECK_VOTE(__ballot_sync, BALLOT)
SHPOOL_CHECK_VOTE(__any_sync, ANY)
SHPOOL_CHECK_VOTE(__all_sync, ALL)
#undef SHPOOL_CHECK_VOTE
inline unsigned __activemask(SHPOOL_CHECK_HERE)
{
    return shpool_check_collective(SIMT_OP_CONVERGED, 0, 0, 0, file, line);
}

/* A value of any size travels as words. */
template <typename T>
inline T shpool_check_shuffle_words(unsigned mask, T value, unsigned source, const char *file,
                                    int line, unsigned shift = 32)
{
    constexpr size_t words = (sizeof(T) + 3) / 4;
    uint32_t         word[words] = {};

    memcpy(word, &value, sizeof(T));
    for (size_t i = 0; i < words; i++) {
        word[i] = shpool_check_shuffle(mask, word[i], source, shift, file, line);
    }
    memcpy(&value, word, sizeof(T));
    return value;
}
#define SHPOOL_CHECK_SHUFFLE(_name, _type, _shift, _source) \
    template <typename T> \
    inline T _name(unsigned mask, T value, _type n, int width = 32, SHPOOL_CHECK_HERE) \
    { \
        const int lane = (int)simt_lane(); \
        const int low  = lane & ~(width - 1); \
        const int end  = low + width; \
        (void)end; \
        return shpool_check_shuffle_words(mask, value, (unsigned)(_source), file, line, _shift); \
    }
SHPOOL_CHECK_SHUFFLE(__shfl_sync, int, 32u, low + (n & (width - 1)))
SHPOOL_CHECK_SHUFFLE(__shfl_up_sync, unsigned, n, (lane - (int)n < low) ? lane : lane - (int)n)
SHPOOL_CHECK_SHUFFLE(__shfl_down_sync, unsigned, n,
                     (lane + (int)n >= end) ? lane : lane + (int)n)
SHPOOL_CHECK_SHUFFLE(__shfl_xor_sync, int, 32u, ((lane ^ n) >= end) ? lane : lane ^ n)
#undef SHPOOL_CHECK_SHUFFLE

template <typename T> inline unsigned __match_any_sync(unsigned mask, T value, SHPOOL_CHECK_HERE)
{
    uint32_t word[2] = {};
    unsigned same;

    memcpy(word, &value, sizeof(T));
    same = shpool_check_collective(SIMT_OP_MATCH, mask, word[0], 0, file, line);
    if (sizeof(T) > 4) {
        same &= shpool_check_collective(SIMT_OP_MATCH, mask, word[1], 0, file, line);
    }
    return same;
}
template <typename T>
inline unsigned __match_all_sync(unsigned mask, T value, int *all_p, SHPOOL_CHECK_HERE)
{
    const int same = __match_any_sync(mask, value, file, line) == mask;

    *all_p = (int)shpool_check_collective(SIMT_OP_ALL, mask, (uint32_t)same, 0, file, line);
    return *all_p ? mask : 0;
}
template <typename T, typename F>
inline T shpool_check_reduce(unsigned mask, T value, F combine, const char *file, int line)
{
    T        sum  = value;
    unsigned here = shpool_check_collective(SIMT_OP_BALLOT, mask, 1, 0, file, line);

    for (unsigned rest = here, first = 1; rest != 0; rest &= rest - 1, first = 0) {
        T other = shpool_check_shuffle_words(mask, value, (unsigned)__builtin_ctz(rest), file,
                                             line);

        sum = first ? other : combine(sum, other);
    }
    return sum;
}
#define SHPOOL_CHECK_REDUCE(_name, _combined) \
    template <typename T> inline T _name(unsigned mask, T value, SHPOOL_CHECK_HERE) \
    { \
        return shpool_check_reduce( \
            mask, value, [](T a, T b) { return (T)(_combined); }, file, line); \
    }
SHPOOL_CHECK_REDUCE(__reduce_add_sync, a + b)
SHPOOL_CHECK_REDUCE(__reduce_min_sync, (a < b) ? a : b)
SHPOOL_CHECK_REDUCE(__reduce_max_sync, (a > b) ? a : b)
SHPOOL_CHECK_REDUCE(__reduce_and_sync, a & b)
SHPOOL_CHECK_REDUCE(__reduce_or_sync, a | b)
SHPOOL_CHECK_REDUCE(__reduce_xor_sync, a ^ b)
#undef SHPOOL_CHECK_REDUCE

inline int __syncthreads_count(int yes, SHPOOL_CHECK_HERE)
{
    static int count; /* the threads of one block at a time */

    if (simt_thread_rank() == 0) {
        count = 0;
    }
    shpool_check_barrier(file, line);
    count += yes != 0;
    shpool_check_barrier(file, line);
    yes = count;
    shpool_check_barrier(file, line);
    return yes;
}
inline int __syncthreads_or(int yes, SHPOOL_CHECK_HERE)
{
    return __syncthreads_count(yes, file, line) != 0;
}
inline int __syncthreads_and(int yes, SHPOOL_CHECK_HERE)
{
    return __syncthreads_count(yes == 0, file, line) == 0;
}

/* ---- atomics: relaxed, as CUDA's; a fence before one makes it a release ---- */

template <typename T> struct shpool_check_same { typedef T type; };

#define SHPOOL_CHECK_RMW (SHPOOL_CHECK_WRITE | SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_ACQUIRE)
#define SHPOOL_CHECK_ATOMIC_FN(_name, _new, _how) \
    template <typename P> \
    SHPOOL_CHECK_CALL std::remove_volatile_t<P> _name( \
        P *at, typename shpool_check_same<std::remove_volatile_t<P>>::type v) \
    { \
        typedef std::remove_volatile_t<P> T; \
        shpool_check_access((const void *)at, sizeof(T), SHPOOL_CHECK_RMW | (_how), \
                            SHPOOL_CHECK_PC); \
        T old = *(T *)at; \
        *(T *)at = (T)(_new); \
        return old; \
    }
#define SHPOOL_CHECK_ATOMICS_AS(_name, _new, _how) \
    SHPOOL_CHECK_ATOMIC_FN(_name, _new, _how) \
    SHPOOL_CHECK_ATOMIC_FN(_name##_block, _new, _how) \
    SHPOOL_CHECK_ATOMIC_FN(_name##_system, _new, _how)
#define SHPOOL_CHECK_ATOMICS(_name, _new) SHPOOL_CHECK_ATOMICS_AS(_name, _new, 0u)
SHPOOL_CHECK_ATOMICS(atomicAdd, old + v)
SHPOOL_CHECK_ATOMICS(atomicSub, old - v)
SHPOOL_CHECK_ATOMICS(atomicExch, v)
SHPOOL_CHECK_ATOMICS_AS(atomicMin, (v < old) ? v : old, SHPOOL_CHECK_COMPARE)
SHPOOL_CHECK_ATOMICS_AS(atomicMax, (v > old) ? v : old, SHPOOL_CHECK_COMPARE)
SHPOOL_CHECK_ATOMICS(atomicAnd, old & v)
SHPOOL_CHECK_ATOMICS(atomicOr, old | v)
SHPOOL_CHECK_ATOMICS(atomicXor, old ^ v)
SHPOOL_CHECK_ATOMICS(atomicInc, (old >= v) ? 0 : old + 1)
SHPOOL_CHECK_ATOMICS(atomicDec, ((old == 0) || (old > v)) ? v : old - 1)
#undef SHPOOL_CHECK_ATOMICS
#undef SHPOOL_CHECK_ATOMICS_AS
#undef SHPOOL_CHECK_ATOMIC_FN

#define SHPOOL_CHECK_CAS(_name) \
    template <typename P> \
    SHPOOL_CHECK_CALL std::remove_volatile_t<P> _name( \
        P *at, typename shpool_check_same<std::remove_volatile_t<P>>::type expected, \
        typename shpool_check_same<std::remove_volatile_t<P>>::type desired) \
    { \
        typedef std::remove_volatile_t<P> T; \
        shpool_check_access((const void *)at, sizeof(T), SHPOOL_CHECK_RMW | SHPOOL_CHECK_COMPARE, \
                            SHPOOL_CHECK_PC); \
        T old = *(T *)at; \
        if (memcmp(&old, &expected, sizeof(T)) == 0) { \
            *(T *)at = desired; \
        } \
        return old; \
    }
SHPOOL_CHECK_CAS(atomicCAS)
SHPOOL_CHECK_CAS(atomicCAS_block)
SHPOOL_CHECK_CAS(atomicCAS_system)
#undef SHPOOL_CHECK_CAS

/* nvcc's own atomics, with an order and a scope; the scope is always the system here. */
enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE,
       __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_SEQ_CST };
enum { __NV_THREAD_SCOPE_THREAD, __NV_THREAD_SCOPE_BLOCK, __NV_THREAD_SCOPE_DEVICE,
       __NV_THREAD_SCOPE_SYSTEM, __NV_THREAD_SCOPE_CLUSTER };
inline unsigned shpool_check_order(int order)
{
    return SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_ACQUIRE |
           ((order >= __NV_ATOMIC_RELEASE) ? SHPOOL_CHECK_RELEASE : 0u);
}
template <typename T>
SHPOOL_CHECK_CALL T __nv_atomic_load_n(const T *at, int order, int = __NV_THREAD_SCOPE_SYSTEM)
{
    shpool_check_access((const void *)at, sizeof(T),
                        shpool_check_order(order) & ~(unsigned)SHPOOL_CHECK_RELEASE,
                        SHPOOL_CHECK_PC);
    return *at;
}
template <typename T>
SHPOOL_CHECK_CALL void __nv_atomic_store_n(T *at, typename shpool_check_same<T>::type v, int order,
                                           int = __NV_THREAD_SCOPE_SYSTEM)
{
    shpool_check_access((const void *)at, sizeof(T),
                        (shpool_check_order(order) & ~(unsigned)SHPOOL_CHECK_ACQUIRE) |
                            SHPOOL_CHECK_WRITE, SHPOOL_CHECK_PC);
    *at = v;
}
#define SHPOOL_CHECK_NV(_name, _new) \
    template <typename T> \
    SHPOOL_CHECK_CALL T _name(T *at, typename shpool_check_same<T>::type v, int order, \
                              int = __NV_THREAD_SCOPE_SYSTEM) \
    { \
        shpool_check_access((const void *)at, sizeof(T), \
                            shpool_check_order(order) | SHPOOL_CHECK_WRITE, SHPOOL_CHECK_PC); \
        T old = *at; \
        *at = (T)(_new); \
        return old; \
    }
SHPOOL_CHECK_NV(__nv_atomic_exchange_n, v)
SHPOOL_CHECK_NV(__nv_atomic_fetch_add, old + v)
SHPOOL_CHECK_NV(__nv_atomic_fetch_sub, old - v)
SHPOOL_CHECK_NV(__nv_atomic_fetch_and, old & v)
SHPOOL_CHECK_NV(__nv_atomic_fetch_or, old | v)
SHPOOL_CHECK_NV(__nv_atomic_fetch_xor, old ^ v)
SHPOOL_CHECK_NV(__nv_atomic_fetch_min, (v < old) ? v : old)
SHPOOL_CHECK_NV(__nv_atomic_fetch_max, (v > old) ? v : old)
#undef SHPOOL_CHECK_NV
template <typename T>
SHPOOL_CHECK_CALL bool __nv_atomic_compare_exchange_n(T *at, T *expected,
                                                      typename shpool_check_same<T>::type desired,
                                                      bool, int order, int,
                                                      int = __NV_THREAD_SCOPE_SYSTEM)
{
    shpool_check_access((const void *)at, sizeof(T),
                        shpool_check_order(order) | SHPOOL_CHECK_WRITE | SHPOOL_CHECK_COMPARE,
                        SHPOOL_CHECK_PC);
    T old = *at;
    if (memcmp(&old, expected, sizeof(T)) == 0) {
        *at = desired;
        return true;
    }
    *expected = old;
    return false;
}

/* Loads and stores with a cache hint are plain ones. */
#define SHPOOL_CHECK_LOAD(_name) \
    template <typename T> SHPOOL_CHECK_CALL T _name(const T *at) \
    { \
        shpool_check_access(at, sizeof(T), 0, SHPOOL_CHECK_PC); \
        return *at; \
    }
#define SHPOOL_CHECK_STORE(_name) \
    template <typename T> \
    SHPOOL_CHECK_CALL void _name(T *at, typename shpool_check_same<T>::type v) \
    { \
        shpool_check_access(at, sizeof(T), SHPOOL_CHECK_WRITE, SHPOOL_CHECK_PC); \
        *at = v; \
    }
SHPOOL_CHECK_LOAD(__ldg)
SHPOOL_CHECK_LOAD(__ldca)
SHPOOL_CHECK_LOAD(__ldcg)
SHPOOL_CHECK_LOAD(__ldcs)
SHPOOL_CHECK_LOAD(__ldlu)
SHPOOL_CHECK_LOAD(__ldcv)
SHPOOL_CHECK_STORE(__stwb)
SHPOOL_CHECK_STORE(__stcg)
SHPOOL_CHECK_STORE(__stcs)
SHPOOL_CHECK_STORE(__stwt)
#undef SHPOOL_CHECK_LOAD
#undef SHPOOL_CHECK_STORE

/* ---- integer intrinsics ---- */

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return (v == 0) ? 32 : __builtin_clz((unsigned)v); }
inline int __clzll(long long v) { return (v == 0) ? 64 : __builtin_clzll((unsigned long long)v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) { return simt_reverse(v); }
inline unsigned long long __brevll(unsigned long long v)
{
    return ((unsigned long long)__brev((unsigned)v) << 32) | __brev((unsigned)(v >> 32));
}
inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return simt_mulhi(a, b); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline long long __mul64hi(long long a, long long b)
{
    return (long long)(((__int128)a * b) >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) { return c + (unsigned)((a > b) ? a - b : b - a); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + ((a > b) ? a - b : b - a); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    const unsigned long long both = ((unsigned long long)b << 32) | a;
    unsigned                 v    = 0;

    for (unsigned i = 0; i < 4; i++) {
        const unsigned byte = (unsigned)(both >> (8 * ((s >> (4 * i)) & 7))) & 0xffu;

        v |= (((s >> (4 * i)) & 8) ? ((byte & 0x80u) ? 0xffu : 0u) : byte) << (8 * i);
    }
    return v;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n)
{
    return (unsigned)(((((unsigned long long)high << 32) | low) << (n & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n)
{
    return (unsigned)((((unsigned long long)high << 32) | low) >> (n & 31));
}
template <typename A, typename B, typename C> inline C shpool_check_dp4a(A a, B b, C c)
{
    for (int i = 0; i < 4; i++) {
        const int x = std::is_signed_v<A> ? (int8_t)(a >> (8 * i)) : (uint8_t)(a >> (8 * i));
        const int y = std::is_signed_v<B> ? (int8_t)(b >> (8 * i)) : (uint8_t)(b >> (8 * i));

        c += (C)(x * y);
    }
    return c;
}
inline int __dp4a(int a, int b, int c) { return shpool_check_dp4a(a, b, c); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return shpool_check_dp4a(a, b, c); }

/* ---- floating point ---- */

template <typename To, typename From> inline To shpool_check_bits(From v)
{
    To to;

    static_assert(sizeof(To) == sizeof(From));
    memcpy(&to, &v, sizeof(to));
    return to;
}
inline int __float_as_int(float v) { return shpool_check_bits<int>(v); }
inline unsigned __float_as_uint(float v) { return shpool_check_bits<unsigned>(v); }
inline float __int_as_float(int v) { return shpool_check_bits<float>(v); }
inline float __uint_as_float(unsigned v) { return shpool_check_bits<float>(v); }
inline long long __double_as_longlong(double v) { return shpool_check_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return shpool_check_bits<double>(v); }
inline int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return (int)__double_as_longlong(v); }
inline double __hiloint2double(int high, int low)
{
    return __longlong_as_double(((long long)high << 32) | (unsigned)low);
}
#define SHPOOL_CHECK_ROUND(_from, _name, _to, _type) \
    inline _type __##_name##2##_to##_rn(_from v) { return (_type)nearbyint(v); } \
    inline _type __##_name##2##_to##_rd(_from v) { return (_type)floor(v); } \
    inline _type __##_name##2##_to##_ru(_from v) { return (_type)ceil(v); } \
    inline _type __##_name##2##_to##_rz(_from v) { return (_type)v; }
SHPOOL_CHECK_ROUND(float, float, int, int)
SHPOOL_CHECK_ROUND(float, float, uint, unsigned)
SHPOOL_CHECK_ROUND(float, float, ll, long long)
SHPOOL_CHECK_ROUND(double, double, int, int)
SHPOOL_CHECK_ROUND(double, double, uint, unsigned)
SHPOOL_CHECK_ROUND(double, double, ll, long long)
#undef SHPOOL_CHECK_ROUND
#define SHPOOL_CHECK_ARITHMETIC(_letter, _type) \
    inline _type __##_letter##add_rn(_type a, _type b) { return a + b; } \
    inline _type __##_letter##sub_rn(_type a, _type b) { return a - b; } \
    inline _type __##_letter##mul_rn(_type a, _type b) { return a * b; } \
    inline _type __##_letter##div_rn(_type a, _type b) { return a / b; } \
    inline _type __##_letter##rcp_rn(_type a) { return 1 / a; } \
    inline _type __##_letter##sqrt_rn(_type a) { return std::sqrt(a); }
SHPOOL_CHECK_ARITHMETIC(f, float)
SHPOOL_CHECK_ARITHMETIC(d, double)
#undef SHPOOL_CHECK_ARITHMETIC
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __int2float_rn(int v) { return (float)v; }
inline float __uint2float_rn(unsigned v) { return (float)v; }
inline double __int2double_rn(int v) { return v; }
inline float __double2float_rn(double v) { return (float)v; }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __saturatef(float v) { return (v >= 0) ? ((v > 1) ? 1 : v) : 0; }
inline float rsqrtf(float v) { return 1 / sqrtf(v); }
inline double rsqrt(double v) { return 1 / std::sqrt(v); }
inline float rsqrt(float v) { return rsqrtf(v); }
inline float __frsqrt_rn(float v) { return rsqrtf(v); }
inline float rcbrtf(float v) { return 1 / cbrtf(v); }
inline double rcbrt(double v) { return 1 / cbrt(v); }
inline float sinpif(float v) { return (float)sin(M_PI * v); }
inline float cospif(float v) { return (float)cos(M_PI * v); }
inline double sinpi(double v) { return sin(M_PI * v); }
inline double cospi(double v) { return cos(M_PI * v); }
inline float normcdff(float v) { return 0.5f * erfcf(-v * (float)M_SQRT1_2); }
inline double normcdf(double v) { return 0.5 * erfc(-v * M_SQRT1_2); }
inline float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
inline double norm3d(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }
/* glibc declares some of these names for itself: macros */
#define __expf    expf
#define __exp10f  exp10f
#define __logf    logf
#define __log2f   log2f
#define __log10f  log10f
#define __sinf    sinf
#define __cosf    cosf
#define __tanf    tanf
#define __powf    powf
#define __sincosf sincosf

/* min and max of two types, as CUDA has them */
#define SHPOOL_CHECK_EXTREME(_name, _compare) \
    template <typename A, typename B, \
              typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>> \
    constexpr std::common_type_t<A, B> _name(A a, B b) \
    { \
        typedef std::common_type_t<A, B> T; \
        return ((T)a _compare (T)b) ? (T)a : (T)b; \
    }
SHPOOL_CHECK_EXTREME(min, <)
SHPOOL_CHECK_EXTREME(max, >)
#undef SHPOOL_CHECK_EXTREME
using std::isfinite;
using std::isinf;
using std::isnan;

#pragma clang attribute pop

#endif /* SHPOOL_CHECK_DEVICE_H */
