/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.cuh on the GPU.
 *
 * check   Two producer warps feed two consumer warps each, with stages of many sizes; consumers
 *         compare every word with what was copied, and keep every second stage for a while.
 * cycles  One producer feeds consumer warps with tiles of one size: by hand-written code for a ring
 *         of tiles, and by stages with a table of as many slots, in a pool with room for more:
 *         where a thread begins to search there may be a hole.  The producer is a thread or a warp,
 *         one of whose lanes copies.  Printed: cycles a stage, from when the pipeline is full: the
 *         first stages get their memory from the allocator.
 * bound   A stage that nobody can get is refused after about as many microseconds as attempts.
 *
 *   stage [--limit R]     R: cycles of stages divided by those of the ring that are too many [2]
 *
 * Exit code 0: all passed, 1: something failed, 77: no device of sm_90 or newer.
 */
#include <shpool/shpool.cuh>
#include <shpool/stage.cuh>

#include <cstring>

#include "check.h"

namespace
{

constexpr unsigned CONSUMERS    = 11; /* warps, at most */
constexpr unsigned STAGES       = 2000;
constexpr unsigned SOURCE_WORDS = 1u << 18;

/* Who feeds the consumers: all lanes of a warp, or one of its threads. */
enum producer { RING, RING_OF_WARP, POOL, POOL_OF_WARP };

__global__ void fill(unsigned *source)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < SOURCE_WORDS;
         i += gridDim.x * blockDim.x) {
        source[i] = i;
    }
}

#if SIMT_HAS_BULK

constexpr unsigned SLOTS = 8;
constexpr unsigned LATE  = 1000000;

__device__ unsigned hash(unsigned v)
{
    v ^= v >> 15;
    v *= 0x2c1b3c6du;
    v ^= v >> 12;
    return v * 0x297a2d39u ^ (v >> 15);
}

/* Stage k of a producer: its bytes, and where in the source it begins, in words. */
__device__ unsigned bytes_of(unsigned producer, unsigned k)
{
    return 16u + 16u * (hash(4u * k + producer) % 700u);
}

__device__ unsigned from_of(unsigned producer, unsigned k)
{
    return 4u * (hash(4u * k + 2u + producer) % (SOURCE_WORDS / 4u - 2800u));
}

__device__ void check_produce(shpool_heap heap, const void *table, const unsigned *source,
                              unsigned producer, unsigned long long *wrong)
{
    shpool_producer p = shpool_producer_init(heap, table, SLOTS, 0);

    for (unsigned k = 0; k < STAGES; k++) {
        const unsigned     alignment = 16u << (k % 4u);
        const shpool_stage stage = shpool_stage_malloc_warp(&p, alignment, bytes_of(producer, k),
                                                            LATE);

        if ((stage.data == 0) || (stage.data % alignment != 0)) {
            atomicAdd(wrong, 1ull << 32);
            __trap();
        }
        if (simt_lane() == k % 32u) {
            shpool_stage_copy(stage, source + from_of(producer, k), bytes_of(producer, k));
        }
    }
    shpool_producer_fini_warp(&p);
}

__device__ void check_stage(shpool_stage stage, unsigned producer, unsigned k,
                            unsigned long long *wrong)
{
    for (unsigned i = simt_lane(); i < bytes_of(producer, k) / 4u; i += 32u) {
        if (simt_load32(stage.data + 4u * i) != from_of(producer, k) + i) {
            atomicAdd(wrong, 1ull);
        }
    }
}

__device__ void check_consume(const void *table, unsigned producer, unsigned long long *wrong)
{
    shpool_stages stages = shpool_stages_of(table, SLOTS);
    shpool_stage  kept   = {0, 0};

    for (unsigned k = 0; k < STAGES; k++) {
        const shpool_stage stage = shpool_stage_wait(&stages);

        check_stage(stage, producer, k, wrong);
        if ((simt_warp() & 1u) && (k % 2u == 0)) {
            kept = stage;
            continue;
        }
        shpool_stage_release_warp(stage);
        if (kept.full != 0) {
            check_stage(kept, producer, k - 1u, wrong);
            shpool_stage_release_warp(kept);
            kept.full = 0;
        }
    }
}

/* ---- a ring, as kernels write it by hand ---- */

template <bool WARP>
__device__ unsigned ring_produce(unsigned base, unsigned bars, unsigned tiles, unsigned bytes,
                                 const unsigned *source)
{
    unsigned slot   = 0;
    unsigned parity = 0;
    unsigned begin  = 0;

    SIMT_ROLLED
    for (unsigned k = 0; k < STAGES; k++) {
        if (k == tiles) {
            begin = simt_clock();
        }
        if (k >= tiles) {
            simt_mbar_wait(bars + 16u * slot + 8u, parity ^ 1u);
        }
        if (!WARP || (simt_lane() == 0)) {
            simt_fence_async_shared();
            simt_mbar_arrive_expect(bars + 16u * slot, bytes);
            simt_copy_async(base + slot * bytes, source, bytes, bars + 16u * slot);
        }
        slot++;
        if (slot == tiles) {
            slot = 0;
            parity ^= 1u;
        }
    }
    return simt_clock() - begin;
}

/* Eight loads are in flight, as in code that is unrolled for one size. */
__device__ unsigned work(unsigned data, unsigned bytes)
{
    const unsigned threads = blockDim.x - 32u;
    unsigned       sum     = 0;

    SIMT_ROLLED
    for (unsigned i = threadIdx.x; i < bytes / 16u; i += 8u * threads) {
        simt_u128 v[8] = {};

#pragma unroll
        for (unsigned j = 0; j < 8u; j++) {
            if (i + j * threads < bytes / 16u) {
                v[j] = simt_load128(data + 16u * (i + j * threads));
            }
        }
#pragma unroll
        for (unsigned j = 0; j < 8u; j++) {
            sum += v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
        }
    }
    return sum;
}

__device__ unsigned ring_consume(unsigned base, unsigned bars, unsigned tiles, unsigned bytes)
{
    unsigned slot   = 0;
    unsigned parity = 0;
    unsigned sum    = 0;

    SIMT_ROLLED
    for (unsigned k = 0; k < STAGES; k++) {
        simt_mbar_wait(bars + 16u * slot, parity);
        sum += work(base + slot * bytes, bytes);
        __syncwarp();
        if (simt_lane() == 0) {
            simt_mbar_arrive(bars + 16u * slot + 8u);
        }
        slot++;
        if (slot == tiles) {
            slot = 0;
            parity ^= 1u;
        }
    }
    return sum;
}

template <bool WARP>
__device__ unsigned stage_produce(shpool_heap heap, const void *table, unsigned tiles,
                                  unsigned bytes, const unsigned *source)
{
    shpool_producer p     = shpool_producer_init(heap, table, tiles, 0);
    unsigned        begin = 0;
    unsigned        cycles;
    shpool_stage    stage;

    SIMT_ROLLED
    for (unsigned k = 0; k < STAGES; k++) {
        if (k == tiles) {
            begin = simt_clock();
        }
        stage = WARP ? shpool_stage_malloc_warp(&p, 128, bytes, LATE)
                     : shpool_stage_malloc(&p, 128, bytes, LATE);
        if (stage.data == 0) {
            __trap();
        }
        if (!WARP || (simt_lane() == 0)) {
            shpool_stage_copy(stage, source, bytes);
        }
    }
    cycles = simt_clock() - begin;
    if (WARP) {
        shpool_producer_fini_warp(&p);
    } else {
        shpool_producer_fini(&p);
    }
    return cycles;
}

__device__ unsigned stage_consume(const void *table, unsigned tiles, unsigned bytes)
{
    shpool_stages stages = shpool_stages_of(table, tiles);
    unsigned      sum    = 0;

    SIMT_ROLLED
    for (unsigned k = 0; k < STAGES; k++) {
        const shpool_stage stage = shpool_stage_wait(&stages);

        sum += work(stage.data, bytes);
        shpool_stage_release_warp(stage);
    }
    return sum;
}
#endif /* SIMT_HAS_BULK */

__global__ void __launch_bounds__(192) check(shpool_pool pool, const unsigned *source,
                                             unsigned long long *wrong)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(16) unsigned char         table[2][SHPOOL_STAGES_BYTES(SLOTS)];
    shpool_heap                                    heap = shpool_init(&pool, smem);

    if (threadIdx.x == 0) {
        shpool_stages_init(table[0], SLOTS, 2);
        shpool_stages_init(table[1], SLOTS, 2);
    }
    __syncthreads();
    if (simt_warp() < 2) {
        check_produce(heap, table[simt_warp()], source, simt_warp(), wrong);
    } else {
        check_consume(table[simt_warp() / 2u - 1u], simt_warp() / 2u - 1u, wrong);
    }
    shpool_fini(heap);
#endif
}

#if SIMT_HAS_BULK
__device__ unsigned ring(unsigned base, unsigned bars, bool warp, unsigned tiles, unsigned bytes,
                         const unsigned *source, unsigned *cycles)
{
    if (simt_warp() != blockDim.x / 32u - 1u) {
        return ring_consume(base, bars, tiles, bytes);
    }
    if (warp) {
        *cycles = ring_produce<true>(base, bars, tiles, bytes, source); /* any lane's */
    } else if (simt_lane() == 0) {
        *cycles = ring_produce<false>(base, bars, tiles, bytes, source);
    }
    return 0;
}

__device__ unsigned stages(shpool_heap heap, const void *table, bool warp, unsigned tiles,
                           unsigned bytes, const unsigned *source, unsigned *cycles)
{
    if (simt_warp() != blockDim.x / 32u - 1u) {
        return stage_consume(table, tiles, bytes);
    }
    if (warp) {
        *cycles = stage_produce<true>(heap, table, tiles, bytes, source); /* any lane's */
    } else if (simt_lane() == 0) {
        *cycles = stage_produce<false>(heap, table, tiles, bytes, source);
    }
    return 0;
}
#endif

__global__ void __launch_bounds__((1 + CONSUMERS) * 32)
    pipeline(shpool_pool pool, producer who, unsigned tiles, unsigned bytes, const unsigned *source,
             unsigned *cycles, unsigned *sums)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(16) unsigned char         table[SHPOOL_STAGES_BYTES(SLOTS)];
    const unsigned                                 bars = simt_to_shared(table);
    const bool                                     pooled = who >= POOL;
    shpool_heap                                    heap = shpool_empty_heap();

    if (pooled) {
        heap = shpool_init(&pool, smem);
    }
    if (threadIdx.x == 0) {
        if (pooled) {
            shpool_stages_init(table, tiles, blockDim.x / 32u - 1u);
        }
        for (unsigned i = 0; !pooled && (i < tiles); i++) {
            simt_mbar_init(bars + 16u * i, 1);
            simt_mbar_init(bars + 16u * i + 8u, blockDim.x / 32u - 1u);
        }
    }
    __syncthreads();
    sums[blockIdx.x * blockDim.x + threadIdx.x] =
        pooled ? stages(heap, table, who == POOL_OF_WARP, tiles, bytes, source,
                        cycles + blockIdx.x)
               : ring(simt_to_shared(smem), bars, who == RING_OF_WARP, tiles, bytes, source,
                      cycles + blockIdx.x);
    if (pooled) {
        shpool_fini(heap);
    }
#endif
}

/* The table is full, and nobody releases. */
__global__ void wait_in_vain(shpool_pool pool, unsigned attempts, unsigned *cycles)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(16) unsigned char         table[SHPOOL_STAGES_BYTES(2)];
    shpool_heap                                    heap = shpool_init(&pool, smem);

    if (threadIdx.x == 0) {
        shpool_stages_init(table, 2, 1);

        shpool_producer    p     = shpool_producer_init(heap, table, 2, 0);
        const shpool_stage one   = shpool_stage_malloc(&p, 16, 1024, 1);
        const shpool_stage two   = shpool_stage_malloc(&p, 16, 1024, 1);
        const unsigned     begin = simt_clock();
        const shpool_stage none  = shpool_stage_malloc(&p, 16, 1024, attempts);

        *cycles = ((none.data == 0) && (none.full == SHPOOL_REFUSED_NONE)) ? simt_clock() - begin
                                                                           : 0;
        shpool_stage_release(one);
        shpool_stage_release(two);
        shpool_producer_fini(&p);
    }
    shpool_fini(heap);
#endif
}

struct memory {
    unsigned           *source;
    unsigned           *cycles;
    unsigned           *sums;
    unsigned long long *wrong;
};

shpool_pool open_pool(unsigned threads, unsigned bytes)
{
    shpool_config want = {};
    shpool_pool   pool = {};

    want.block_threads    = threads;
    want.payload_bytes    = bytes;
    want.alignment        = 128;
    want.threads_per_pool = threads;
    (void)gpu_check(shpool_open(nullptr, &want, &pool) == SHPOOL_OK, "open: %s",
                    shpool_last_error());
    return pool;
}

void run_check(const memory &m)
{
    shpool_pool pool  = open_pool(192, 96 * 1024);
    unsigned    wrong[2] = { 0, 0 };

    (void)cudaMemset(m.wrong, 0, sizeof(*m.wrong));
    (void)gpu_check(shpool_launch(check, 264, 192, nullptr, &pool,
                                  static_cast<const unsigned *>(m.source), m.wrong) == SHPOOL_OK,
                    "launch: %s", shpool_last_error());
    gpu_wait("check");
    (void)cudaMemcpy(wrong, m.wrong, sizeof(wrong), cudaMemcpyDeviceToHost);
    (void)gpu_check(wrong[0] == 0, "%u words differ from what was copied", wrong[0]);
    (void)shpool_close(&pool);
}

void run_bound(const memory &m)
{
    constexpr unsigned attempts = 1000;
    shpool_pool        pool     = open_pool(32, 8 * 1024);
    unsigned           cycles   = 0;

    (void)gpu_check(shpool_launch(wait_in_vain, 1, 32, nullptr, &pool, attempts, m.cycles) ==
                    SHPOOL_OK, "launch: %s", shpool_last_error());
    gpu_wait("a wait in vain");
    (void)cudaMemcpy(&cycles, m.cycles, sizeof(cycles), cudaMemcpyDeviceToHost);
    (void)gpu_check((cycles >= attempts * 1000u) && (cycles <= attempts * 4000u),
                    "%u attempts take %u cycles", attempts, cycles);
    (void)shpool_close(&pool);
}

/* A pipeline's shape. */
struct shape {
    unsigned blocks;
    unsigned consumers; /* warps */
    unsigned tiles;     /* in flight */
    unsigned bytes;     /* of each */
};

/* Cycles a stage, the blocks' mean; the best of five runs. */
double run_pipeline(const memory &m, const shpool_pool *pool, const shape &now, producer who)
{
    unsigned cycles[1024] = {};
    double   best         = 1e30;

    for (int i = 0; i < 5; i++) {
        double sum = 0;

        (void)gpu_check(shpool_launch(pipeline, now.blocks, (1 + now.consumers) * 32, nullptr, pool,
                                      who, now.tiles, now.bytes,
                                      static_cast<const unsigned *>(m.source), m.cycles,
                                      m.sums) == SHPOOL_OK,
                        "launch: %s", shpool_last_error());
        gpu_wait("pipeline");
        (void)cudaMemcpy(cycles, m.cycles, now.blocks * sizeof(*cycles), cudaMemcpyDeviceToHost);
        for (unsigned b = 0; b < now.blocks; b++) {
            sum += static_cast<double>(cycles[b]) / (STAGES - now.tiles) / now.blocks;
        }
        best = (sum < best) ? sum : best;
    }
    return best;
}

void compare(const memory &m, const shape &now, double limit)
{
    shpool_pool pool      = open_pool((1 + now.consumers) * 32, (now.tiles + 1u) * now.bytes);
    double      cycles[4] = {};

    for (unsigned i = 0; i < 4u; i++) {
        cycles[i] = run_pipeline(m, &pool, now, static_cast<producer>(i));
    }
    std::printf("%-8s %5u bytes, %u tiles, %2u consumers, %3u blocks: ring %6.1f cycles, stages "
                "%6.1f, ratio %.3f; of a warp: ring %6.1f, stages %6.1f, ratio %.3f\n", pool.name,
                now.bytes, now.tiles, now.consumers, now.blocks, cycles[RING], cycles[POOL],
                cycles[POOL] / cycles[RING], cycles[RING_OF_WARP], cycles[POOL_OF_WARP],
                cycles[POOL_OF_WARP] / cycles[RING_OF_WARP]);
    (void)gpu_check((cycles[POOL] <= limit * cycles[RING]) &&
                    (cycles[POOL_OF_WARP] <= limit * cycles[RING_OF_WARP]),
                    "%u bytes: more than %g times the ring", now.bytes, limit);
    (void)shpool_close(&pool);
}

void compare_all(const memory &m, double limit)
{
    static const unsigned sizes[]     = { 1024, 4096, 8192, 16384, 32768 };
    static const unsigned tiles[]     = { 2, 3, 5, SLOTS };
    static const unsigned consumers[] = { 1, 3, 4, 8, CONSUMERS };

    for (unsigned bytes : sizes) {
        for (unsigned n : tiles) {
            for (unsigned warps : consumers) {
                for (unsigned blocks = 1; (blocks <= 132) && (n * bytes <= 160 * 1024);
                     blocks += 131) {
                    compare(m, { blocks, warps, n, bytes }, limit);
                }
            }
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    const double limit = ((argc == 3) && (std::strcmp(argv[1], "--limit") == 0))
                             ? std::atof(argv[2]) : 2.0;
    cudaDeviceProp device;
    memory         m = {};

    if ((cudaGetDeviceProperties(&device, 0) != cudaSuccess) || (device.major < 9)) {
        std::printf("stage: skipped: no CUDA device of sm_90 or newer\n");
        return 77;
    }
    (void)gpu_cuda(cudaMalloc(&m.source, SOURCE_WORDS * sizeof(*m.source)), "memory");
    (void)gpu_cuda(cudaMalloc(&m.cycles, 4096), "memory");
    (void)gpu_cuda(cudaMalloc(&m.sums, 132 * (1 + CONSUMERS) * 32 * sizeof(*m.sums)), "memory");
    (void)gpu_cuda(cudaMalloc(&m.wrong, sizeof(*m.wrong)), "memory");
    fill<<<264, 256>>>(m.source);
    gpu_wait("fill");
    run_check(m);
    run_bound(m);
    compare_all(m, limit);
    std::printf("stage: %u checks passed, %u failed\n", gpu_passed, gpu_failed);
    return (gpu_failed == 0) ? 0 : 1;
}
