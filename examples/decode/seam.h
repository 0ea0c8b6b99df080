/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a persistent kernel that simt.h and machine.h do not provide: floats, global memory that
 * other blocks write during the same launch, and launches whose blocks all run at the same time. */
#ifndef SHPOOL_EXAMPLES_DECODE_SEAM_H
#define SHPOOL_EXAMPLES_DECODE_SEAM_H

#include "../machine.h"

#include <cmath>

struct seam_u64 {
    uint32_t x, y;
};

#if defined(__CUDACC__)

#define SEAM_BOTH __host__ __device__ __forceinline__ /* a method, for host and kernels */
#if defined(DECODE_TABLE) /* nvJitLink refuses a call that needs more registers than the kernel */
#define SEAM_CALL __device__ __forceinline__
#else
#define SEAM_CALL __device__ __noinline__ /* one that is called: -maxrregcount=96 */
#endif

/* 8 or 16 bytes that are not written during the launch. */
SIMT_FN simt_u128 seam_fetch(const void *p)
{
    const uint4 v = __ldcg((const uint4 *)p);

    return {v.x, v.y, v.z, v.w};
}
SIMT_FN seam_u64 seam_fetch8(const void *p)
{
    const uint2 v = __ldcg((const uint2 *)p);

    return {v.x, v.y};
}
/* Words that other blocks write during the launch: each by itself, without any order between words.
 * A word is a message: no fence delays it. */
SIMT_FN simt_u128 seam_peek(const void *p)
{
    simt_u128 v;

    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
SIMT_FN uint32_t seam_peek4(const void *p)
{
    uint32_t v;

    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
SIMT_FN void seam_post(void *p, uint32_t v)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}
SIMT_FN void seam_count(uint32_t *counter, uint32_t n)
{
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" : : "l"(counter), "r"(n) : "memory");
}
SIMT_FN void seam_spin() {} /* between two looks */
SIMT_FN void seam_fail(const char *, const char *) { __trap(); }
SIMT_FN uint32_t seam_ns()
{
    unsigned long long ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return (uint32_t)ns;
}
/* Wait until `turn`; returns the time then. */
SIMT_FN uint32_t seam_await_ns(uint32_t turn)
{
    uint32_t ns = seam_ns();

    SIMT_ROLLED
    while ((int)(ns - turn) < 0) {
        ns = seam_ns();
    }
    return ns;
}
SIMT_FN void seam_max64(unsigned long long *p, unsigned long long v) { (void)atomicMax(p, v); }

/* To a few units in the last place, and without code for denormal numbers. */
SIMT_FN float seam_exp(float f) { return __expf(f); }
SIMT_FN float seam_divide(float a, float b) { return __fdividef(a, b); }
SIMT_FN float seam_reverse_root(float f) { return rsqrtf(f); }

/* Two numbers rounded to bf16, the first one in the lower half. */
SIMT_FN uint32_t seam_pair(float low, float high)
{
    uint32_t pair;

#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    pair = 0;
#endif
    return pair;
}

/* Tensor cores: rows of bf16 times a matrix of eight columns, of which each row uses two.  Lane
 * 4 r + t has 8 N numbers of row r in w, and those of column r in x.  They correspond in their
 * order, except that in each 16 bytes of x the second and the third word are exchanged.  Lanes with
 * t = r % 4 get the sum of row r's products with columns 2 t and 2 t + 1. */
template <uint32_t N>
SIMT_FN float seam_products(const simt_u128 (&w)[N], const simt_u128 (&x)[N])
{
#if __CUDA_ARCH__ >= 800
    float sums[2][4] = {};

    /* The instruction has 16 rows: the lane's row is row r and row r + 8, of which one is used.  So
     * the operands are what a load of 16 bytes gives. */
    SIMT_UNROLLED
    for (uint32_t i = 0; i < 2u * N; i++) {
        float *const     sum = sums[i % 2u];
        const simt_u128 &a   = w[i / 2u];
        const uint32_t   u   = (i % 2u == 0) ? x[i / 2u].x : x[i / 2u].z;
        const uint32_t   v   = (i % 2u == 0) ? x[i / 2u].y : x[i / 2u].w;

        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(u), "r"(v));
    }
    return (sums[0][0] + sums[0][1]) + (sums[1][2] + sums[1][3]);
#else
    return 0.0f;
#endif
}

/* Bulk copies of weights, which are read once a step: they leave L2 before anything else. */
SIMT_FN unsigned long long seam_once()
{
    unsigned long long policy = 0;

#if SIMT_HAS_BULK
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}
SIMT_FN void seam_copy_once(simt_addr to, const void *from, uint32_t bytes, simt_addr mbar,
                            unsigned long long once)
{
#if SIMT_HAS_BULK
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                 "L2::cache_hint [%0], [%1], %2, [%3], %4;"
                 : : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(mbar), "l"(once)
                 : "memory");
#endif
}

#if !SIMT_HAS_MBARRIER /* an older GPU: the kernel compiles, but main() does not launch it */
SIMT_FN void simt_mbar_init(simt_addr, uint32_t) {}
SIMT_FN void simt_mbar_arrive(simt_addr) {}
SIMT_FN void simt_mbar_wait(simt_addr, uint32_t) {}
#endif

/* Whether the machine has bulk copies; its blocks, one for each multiprocessor, which all run at
 * the same time; the most dynamic shared memory of a block. */
static inline bool seam_has_bulk()
{
    return machine_attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
}
static inline uint32_t seam_blocks()
{
    return machine_attribute(cudaDevAttrMultiProcessorCount);
}
static inline uint32_t seam_shared()
{
    return machine_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}
/* The time in ns in which the memory can give each block 32 KiB: two transfers a clock. */
static inline uint32_t seam_pace(uint32_t blocks)
{
    const double bytes_per_ns = 2e-6 * machine_attribute(cudaDevAttrMemoryClockRate) *
                                machine_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;

    return (bytes_per_ns > 1.0) ? static_cast<uint32_t>(32768.0 * blocks / bytes_per_ns) : 0u;
}

template <class Kernel>
static __global__ void __launch_bounds__(Kernel::THREADS, Kernel::BLOCKS)
    seam_kernel(const __grid_constant__ Kernel kernel)
{
    kernel();
}

/* pool: of the kernel, in its shared memory after `bytes`; NULL: it has none.  Its allocator may
 * have been joined with the kernel at run time (doc/LINKING.md). */
template <class Kernel>
static void seam_launch_together(uint32_t blocks, uint32_t bytes, const shpool_pool *pool,
                                 const Kernel &kernel)
{
    const void         *entry     = (const void *)seam_kernel<Kernel>;
    Kernel              copy      = kernel;
    void               *args[]    = { &copy };
    cudaLaunchConfig_t  config    = {};
    cudaLaunchAttribute attribute = {};

    attribute.id              = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim            = blocks;
    config.blockDim           = Kernel::THREADS;
    config.dynamicSmemBytes   = bytes;
    config.attrs              = &attribute;
    config.numAttrs           = 1;
    if (pool != nullptr) {
        machine_need(shpool_launch_kernel(&config, entry, args, pool), "launch");
    } else {
        machine_need(shpool_allow_shared(entry, bytes), "shared memory");
        machine_cuda(cudaLaunchKernelExC(&config, entry, args), "launch");
    }
}

#else

#define SEAM_BOTH inline
#define SEAM_CALL inline

SIMT_FN simt_u128 seam_fetch(const void *p) { return *(const simt_u128 *)p; }
SIMT_FN seam_u64  seam_fetch8(const void *p) { return *(const seam_u64 *)p; }
SIMT_FN uint32_t seam_peek4(const void *p)
{
    return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
}
SIMT_FN simt_u128 seam_peek(const void *p)
{
    const uint32_t *w = (const uint32_t *)p;

    return {seam_peek4(w), seam_peek4(w + 1), seam_peek4(w + 2), seam_peek4(w + 3)};
}
SIMT_FN void seam_post(void *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELAXED);
}
SIMT_FN void seam_count(uint32_t *counter, uint32_t n)
{
    (void)__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}
SIMT_FN void seam_spin() { simt_pause(100); } /* lets the other fibers run */
SIMT_FN void seam_fail(const char *what, const char *why) { machine_fail(what, why); }
/* The executor has no timer: a wait lets other threads run once, and ends at its turn. */
SIMT_FN uint32_t seam_ns() { return 0; }
SIMT_FN uint32_t seam_await_ns(uint32_t turn)
{
    if (turn != 0) { /* with a pace */
        seam_spin();
    }
    return turn;
}
SIMT_FN void seam_max64(unsigned long long *p, unsigned long long v)
{
    unsigned long long old = __atomic_load_n(p, __ATOMIC_RELAXED);

    while ((old < v) &&
           !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
SIMT_FN float seam_exp(float f) { return expf(f); }
SIMT_FN float seam_divide(float a, float b) { return a / b; }
SIMT_FN float seam_reverse_root(float f) { return 1.0f / sqrtf(f); }
SIMT_FN unsigned long long seam_once() { return 0; }
#define seam_copy_once(_to, _from, _bytes, _mbar, _once) \
    ((void)(_once), simt_copy_async((_to), (_from), (_bytes), (_mbar)))

static inline bool     seam_has_bulk() { return true; }
static inline uint32_t seam_blocks() { return 3; }
static inline uint32_t seam_pace(uint32_t) { return 0; }
static inline uint32_t seam_shared() { return 64u * 1024u; }

/* On the executor, only the blocks of a cluster run at the same time. */
template <class Kernel>
static void seam_launch_together(uint32_t blocks, uint32_t bytes, const shpool_pool *pool,
                                 const Kernel &kernel)
{
    simt_launch launch = {};
    simt_result result;
    Kernel      copy = kernel;

    launch.grid[0] = launch.cluster[0] = blocks;
    launch.block[0]                    = Kernel::THREADS;
    launch.dynamic_bytes               = bytes + ((pool != nullptr) ? pool->shared_bytes : 0u);
    launch.switch_period               = 16;
    if (simt_run(&launch, machine_thread<Kernel>, &copy, &result) != SHPOOL_OK) {
        machine_fail("kernel", result.text);
    }
}

#endif

/* ---- bf16: the upper half of a float ---- */

SIMT_FN float seam_low(uint32_t pair) { return machine_float(pair << 16); }
SIMT_FN float seam_high(uint32_t pair) { return machine_float(pair & 0xffff0000u); }

/* Round to the nearest, ties to even. */
SIMT_HD uint16_t seam_bf16(float f)
{
    const uint32_t bits = machine_bits(f);

    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Unpack the eight numbers of one load. */
SIMT_FN void seam_unpack(simt_u128 v, float *to)
{
    const uint32_t pair[4] = { v.x, v.y, v.z, v.w };

    SIMT_UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        to[2u * i]      = seam_low(pair[i]);
        to[2u * i + 1u] = seam_high(pair[i]);
    }
}

SIMT_FN float seam_xor(float f, uint32_t lane)
{
    return machine_float(simt_shfl_xor(SIMT_ALL_LANES, machine_bits(f), lane));
}

#if !defined(__CUDACC__)
SIMT_FN uint32_t seam_pair(float low, float high)
{
    return seam_bf16(low) | (uint32_t)seam_bf16(high) << 16;
}
SIMT_FN float seam_products_of(uint32_t w, uint32_t x, float sum)
{
    for (uint32_t i = 0; i < 2u; i++) { /* the columns */
        const uint32_t lane = simt_lane() / 4u % 4u * 8u + i * 4u + simt_lane() % 4u;
        const uint32_t v    = simt_shfl(SIMT_ALL_LANES, x, lane);

        sum = fmaf(seam_high(w), seam_high(v), fmaf(seam_low(w), seam_low(v), sum));
    }
    return sum;
}
template <uint32_t N>
SIMT_FN float seam_products(const simt_u128 (&w)[N], const simt_u128 (&x)[N])
{
    float sum = 0.0f;

    for (uint32_t i = 0; i < N; i++) {
        if (simt_ballot(SIMT_ALL_LANES, (x[i].x | x[i].y | x[i].z | x[i].w) != 0) != 0) {
            sum = seam_products_of(w[i].x, x[i].x, sum);
            sum = seam_products_of(w[i].z, x[i].y, sum);
            sum = seam_products_of(w[i].y, x[i].z, sum);
            sum = seam_products_of(w[i].w, x[i].w, sum);
        }
    }
    sum += seam_xor(sum, 1);
    return sum + seam_xor(sum, 2);
}
#endif

#endif /* SHPOOL_EXAMPLES_DECODE_SEAM_H */
