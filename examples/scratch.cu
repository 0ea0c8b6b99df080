/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch memory for functions that call each other: each block equalises one tile of numbers with
 * a histogram and a scan.  The scan is a library function, and needs memory of its own.
 *
 *   nvcc -rdc=true scratch.cu -o scratch $(pkg-config --cflags --libs shpool)
 *
 * Without an arena, the code that launches the kernel must know how much memory every function in
 * it needs, and where that memory is.  Here each function allocates what it needs and releases it.
 */
#include "machine.h"

#define TILES   64u
#define THREADS 256u
#define WARPS   (THREADS / 32u)
#define COUNT   5000u /* of a tile */

static __host__ __device__ unsigned bins_of(unsigned tile) { return 64u + tile % 7u * 64u; }
static __host__ __device__ unsigned value_of(unsigned tile, unsigned i)
{
    unsigned hash = (tile * COUNT + i) * 2654435761u;

    return (hash >> 16) * (hash >> 16) % bins_of(tile); /* squares: an uneven distribution */
}

/* Inclusive scan in place; `parts` has a word for each warp.  Whole block. */
static __device__ void scan_with(unsigned *data, unsigned n, unsigned *parts)
{
    const unsigned lane = threadIdx.x % 32u;
    const unsigned warp = threadIdx.x / 32u;
    unsigned       before = 0;

    for (unsigned first = 0; first < n; first += THREADS) {
        const unsigned i   = first + threadIdx.x;
        unsigned       sum = (i < n) ? data[i] : 0u;

        for (unsigned d = 1; d < 32u; d *= 2u) {
            const unsigned other = __shfl_up_sync(~0u, sum, d);

            sum += (lane >= d) ? other : 0u;
        }
        if (lane == 31u) {
            parts[warp] = sum;
        }
        __syncthreads();
        for (unsigned w = 0; w < warp; w++) {
            sum += parts[w];
        }
        if (i < n) {
            data[i] = before + sum;
        }
        for (unsigned w = 0; w < WARPS; w++) {
            before += parts[w];
        }
        __syncthreads();
    }
}

static __device__ void scan(shpool_heap heap, unsigned *data, unsigned n)
{
    const uint32_t mark  = shpool_mark(heap);
    unsigned      *parts = static_cast<unsigned *>(shpool_malloc_block(heap, WARPS * 4u));

    if (parts != nullptr) {
        scan_with(data, n, parts);
    }
    __syncthreads(); /* no thread uses parts any more */
    if (threadIdx.x == 0) {
        (void)shpool_release(heap, mark);
    }
}

/* result[i] = how many numbers of the tile are less than or equal to its i-th one. */
static __global__ void equalise(shpool_pool pool, unsigned *result)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap = shpool_init(&pool, smem);
    const unsigned tile = blockIdx.x;
    const unsigned bins = bins_of(tile);
    unsigned      *histogram = static_cast<unsigned *>(shpool_malloc_block(heap, bins * 4u));

    if (histogram != nullptr) {
        for (unsigned b = threadIdx.x; b < bins; b += THREADS) {
            histogram[b] = 0;
        }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < COUNT; i += THREADS) {
            atomicAdd(&histogram[value_of(tile, i)], 1u);
        }
        __syncthreads();
        scan(heap, histogram, bins);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < COUNT; i += THREADS) {
            result[tile * COUNT + i] = histogram[value_of(tile, i)];
        }
    }
    shpool_fini(heap);
}

/* Compare with the host's; 1: a number is wrong. */
static int check(const machine_array<unsigned> &device)
{
    const std::vector<unsigned> result = device.read();
    unsigned                    wrong  = 0;

    for (unsigned tile = 0; tile < TILES; tile++) {
        std::vector<unsigned> sum(bins_of(tile), 0);

        for (unsigned i = 0; i < COUNT; i++) {
            sum[value_of(tile, i)]++;
        }
        for (unsigned b = 1; b < bins_of(tile); b++) {
            sum[b] += sum[b - 1];
        }
        for (unsigned i = 0; i < COUNT; i++) {
            wrong += result[tile * COUNT + i] != sum[value_of(tile, i)];
        }
    }
    std::printf("scratch: %u tiles, %u wrong numbers\n", TILES, wrong);
    return wrong != 0;
}

int main()
{
    shpool_config want = {};
    shpool_pool   pool = {};

    if (machine_name("scratch") == nullptr) {
        return 77;
    }
    machine_array<unsigned> result(TILES * COUNT);

    want.block_threads = THREADS;
    want.payload_bytes = 4096;
    machine_need(shpool_open("arena:threads_per_pool=256", &want, &pool), "open");
    equalise<<<TILES, THREADS, pool.shared_bytes>>>(pool, result);

    const int failed = check(result);

    machine_need(shpool_close(&pool), "close");
    return failed;
}
