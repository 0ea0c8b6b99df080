/* SPDX-License-Identifier: BSD-3-Clause */
/* What simt.h and machine.h do not provide: floats, tensor cores, words that other blocks write
 * during the same launch, and launches whose blocks all run at the same time. */
#ifndef SHPOOL_EXAMPLES_DECODE_SEAM_H
#define SHPOOL_EXAMPLES_DECODE_SEAM_H

/* The loader is a call of its own, and calls nothing: during a call its values would lie in local
 * memory, of which hardly any stays in L1 beside 227 KiB of shared memory. */
#if !defined(SHPOOL_CALLS)
#define SHPOOL_CALLS 0
#endif

#include "../machine.h"

#include <shpool/stage.cuh>

#include <cmath>

/* Two numbers of bf16, the upper halves of floats, in a word. */
SIMT_FN float seam_low(uint32_t pair) { return machine_float(pair << 16); }
SIMT_FN float seam_high(uint32_t pair) { return machine_float(pair & 0xffff0000u); }

struct seam_facts {
    bool     has_bulk; /* copies */
    uint32_t blocks;   /* that run at the same time, one for each multiprocessor */
    uint32_t shared;   /* most bytes of a block */
    uint32_t pace;     /* ns in which the memory gives each block 32 KiB */
};

SIMT_FN float seam_xor(float f, uint32_t lane)
{
    return machine_float(simt_shfl_xor(SIMT_ALL_LANES, machine_bits(f), lane));
}

/* seam_peek, seam_peek4, seam_post, seam_count: words that other blocks write, without any order
 * between them.  seam_release: counts 1, after what the block has written; pairs with seam_acquire.
 * seam_spin: between two looks.  seam_products: tensor cores multiply rows of bf16
 * by a matrix of eight columns, of which each row uses two.  Lane 4 r + t has 8 N numbers of row r
 * in w, and those of column r in x, in the same order except that in each 16 bytes of x the second
 * and the third word are exchanged.  Lanes with t = r % 4 get the sum of row r's products with
 * columns 2 t and 2 t + 1. */
#if defined(__CUDACC__)

#define SEAM_BOTH __host__ __device__ __forceinline__ /* a method */
#define SEAM_CALL __device__ __noinline__

SIMT_FN uint32_t seam_peek4(const void *p)
{
    uint32_t v;

    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
SIMT_FN simt_u128 seam_peek(const void *p)
{
    simt_u128 v;

    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
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
SIMT_FN uint32_t seam_acquire(const uint32_t *p)
{
    uint32_t v;

    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
SIMT_FN void seam_release(uint32_t *counter)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(counter) : "memory");
}
SIMT_FN void seam_max64(unsigned long long *p, unsigned long long v) { (void)atomicMax(p, v); }
SIMT_FN void seam_spin() {}
SIMT_FN void seam_fail(const char *, const char *) { __trap(); }

SIMT_FN uint32_t seam_ns()
{
    unsigned long long ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return (uint32_t)ns;
}

/* Wait until `turn`, in ns; returns the time then. */
SIMT_FN uint32_t seam_await_ns(uint32_t turn)
{
    uint32_t ns = seam_ns();

    SIMT_ROLLED
    while ((int)(ns - turn) < 0) {
        ns = seam_ns();
    }
    return ns;
}

#if SIMT_HAS_BULK
/* Bulk copies of weights, which are read once a step: they leave L2 before anything else. */
SIMT_FN void seam_copy_once(simt_addr to, const void *from, uint32_t bytes, simt_addr mbar)
{
    unsigned long long once;

    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                 "L2::cache_hint [%0], [%1], %2, [%3], %4;"
                 : : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(mbar), "l"(once)
                 : "memory");
}
#endif

/* To a few units in the last place, and without code for denormal numbers. */
SIMT_FN float seam_exp(float f) { return __expf(f); }
SIMT_FN float seam_divide(float a, float b) { return __fdividef(a, b); }
SIMT_FN float seam_reverse_root(float f) { return rsqrtf(f); }

#if SIMT_HAS_BULK
SIMT_FN uint32_t seam_pair(float low, float high)
{
    uint32_t pair;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* The instruction has 16 rows: a lane's row is row r and row r + 8, of which one is used.  So the
 * operands are what a load of 16 bytes gives. */
template <uint32_t N>
SIMT_FN float seam_products(const simt_u128 (&w)[N], const simt_u128 (&x)[N], uint32_t)
{
    float sums[2][4] = {};

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
}
#endif

static inline seam_facts seam_machine()
{
    const uint32_t blocks       = machine_attribute(cudaDevAttrMultiProcessorCount);
    /* two transfers a clock, of which 96 % are reached */
    const double   bytes_per_ns = 0.96 * 2e-6 * machine_attribute(cudaDevAttrMemoryClockRate) *
                                  machine_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;

    return { machine_attribute(cudaDevAttrComputeCapabilityMajor) >= 9, blocks,
             machine_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
             (bytes_per_ns > 1.0) ? static_cast<uint32_t>(32768.0 * blocks / bytes_per_ns) : 0u };
}

template <class Kernel>
static __global__ void __launch_bounds__(Kernel::THREADS, 1)
    seam_kernel(const __grid_constant__ Kernel kernel)
{
    kernel();
}

/* pool: of the kernel, in its shared memory after `bytes`, or NULL. */
template <class Kernel>
static void seam_launch_together(uint32_t blocks, uint32_t bytes, const shpool_pool *pool,
                                 Kernel kernel)
{
    const void         *entry     = (const void *)seam_kernel<Kernel>;
    void               *args[]    = { &kernel };
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

SIMT_FN uint32_t seam_peek4(const void *p)
{
    return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
}
SIMT_FN simt_u128 seam_peek(const void *p)
{
    const uint32_t *w = (const uint32_t *)p;

    return { seam_peek4(w), seam_peek4(w + 1), seam_peek4(w + 2), seam_peek4(w + 3) };
}
SIMT_FN void seam_post(void *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELAXED);
}
SIMT_FN void seam_count(uint32_t *counter, uint32_t n)
{
    (void)__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}
SIMT_FN uint32_t seam_acquire(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
SIMT_FN void     seam_release(uint32_t *counter)
{
    (void)__atomic_fetch_add(counter, 1u, __ATOMIC_RELEASE);
}
SIMT_FN void seam_max64(unsigned long long *p, unsigned long long v)
{
    unsigned long long old = __atomic_load_n(p, __ATOMIC_RELAXED);

    while ((old < v) &&
           !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
SIMT_FN void     seam_spin() { simt_pause(100); } /* lets the other fibers run */
SIMT_FN void     seam_fail(const char *what, const char *why) { machine_fail(what, why); }
SIMT_FN uint32_t seam_ns() { return 0; } /* there is no timer */
SIMT_FN uint32_t seam_await_ns(uint32_t turn) { return turn; }
#define seam_copy_once simt_copy_async
SIMT_FN float    seam_exp(float f) { return expf(f); }
SIMT_FN float    seam_divide(float a, float b) { return a / b; }
SIMT_FN float    seam_reverse_root(float f) { return 1.0f / sqrtf(f); }
SIMT_FN uint32_t seam_pair(float low, float high)
{
    const auto rounded = [](float f) {
        return machine_bits(f) + 0x7fffu + (machine_bits(f) >> 16 & 1u);
    };

    return rounded(low) >> 16 | (rounded(high) & 0xffff0000u);
}

SIMT_FN float seam_products_of(uint32_t w, uint32_t x, uint32_t pair, float sum)
{
    for (uint32_t i = 0; i < 2u; i++) { /* the columns */
        const uint32_t lane = pair * 8u + i * 4u + simt_lane() % 4u;
        const uint32_t v    = simt_shfl(SIMT_ALL_LANES, x, lane);

        sum = fmaf(seam_high(w), seam_high(v), fmaf(seam_low(w), seam_low(v), sum));
    }
    return sum;
}
template <uint32_t N>
SIMT_FN float seam_products(const simt_u128 (&w)[N], const simt_u128 (&x)[N], uint32_t pair)
{
    float sum = 0.0f;

    for (uint32_t i = 0; i < N; i++) {
        if (simt_ballot(SIMT_ALL_LANES, (x[i].x | x[i].y | x[i].z | x[i].w) != 0) != 0) {
            sum = seam_products_of(w[i].x, x[i].x, pair, sum);
            sum = seam_products_of(w[i].z, x[i].y, pair, sum);
            sum = seam_products_of(w[i].y, x[i].z, pair, sum);
            sum = seam_products_of(w[i].w, x[i].w, pair, sum);
        }
    }
    sum += seam_xor(sum, 1);
    return sum + seam_xor(sum, 2);
}

static inline seam_facts seam_machine() { return { true, 3, 64u * 1024u, 0 }; }

/* On the executor, only the blocks of a cluster run at the same time. */
template <class Kernel>
static void seam_launch_together(uint32_t blocks, uint32_t bytes, const shpool_pool *pool,
                                 Kernel kernel)
{
    simt_launch launch = {};
    simt_result result;

    launch.grid[0] = launch.cluster[0] = blocks;
    launch.block[0]                    = Kernel::THREADS;
    launch.dynamic_bytes               = bytes + ((pool != nullptr) ? pool->shared_bytes : 0u);
    launch.switch_period               = 16;
    if (simt_run(&launch, machine_thread<Kernel>, &kernel, &result) != SHPOOL_OK) {
        machine_fail("kernel", result.text);
    }
}

#endif

#endif /* SHPOOL_EXAMPLES_DECODE_SEAM_H */
