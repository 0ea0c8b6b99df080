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
#define COUNT   5000u /* of a tile */

static __host__ __device__ unsigned bins_of(unsigned tile) { return 64u + tile % 7u * 64u; }
static __host__ __device__ unsigned value_of(unsigned tile, unsigned i)
{
    const unsigned hash = (tile * COUNT + i) * 2654435761u;

    return (hash >> 16) * (hash >> 16) % bins_of(tile); /* squares: an uneven distribution */
}

/* Inclusive scan in place: each step adds the sum `apart` places earlier.  Whole block. */
static __device__ void scan(shpool_heap heap, unsigned *data, unsigned n)
{
    const uint32_t mark   = shpool_mark(heap);
    unsigned      *before = static_cast<unsigned *>(shpool_malloc_block(heap, n * 4u));

    for (unsigned apart = 1; (before != nullptr) && (apart < n); apart *= 2u) {
        for (unsigned i = threadIdx.x; i < n; i += THREADS) { before[i] = data[i]; }
        __syncthreads();
        for (unsigned i = threadIdx.x + apart; i < n; i += THREADS) {
            data[i] += before[i - apart];
        }
        __syncthreads(); /* after the last one, no thread uses `before` any more */
    }
    if (threadIdx.x == 0) { (void)shpool_release(heap, mark); }
    __syncthreads();
}

/* result[i] = how many numbers of the tile are less than or equal to its i-th one. */
static __global__ void equalise(shpool_pool pool, unsigned *result)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap      = shpool_init(&pool, smem);
    const unsigned tile      = blockIdx.x;
    const unsigned bins      = bins_of(tile);
    unsigned      *histogram = static_cast<unsigned *>(shpool_malloc_block(heap, bins * 4u));

    if (histogram != nullptr) {
        for (unsigned b = threadIdx.x; b < bins; b += THREADS) { histogram[b] = 0; }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < COUNT; i += THREADS) {
            atomicAdd(&histogram[value_of(tile, i)], 1u);
        }
        __syncthreads();
        scan(heap, histogram, bins);
        for (unsigned i = threadIdx.x; i < COUNT; i += THREADS) {
            result[tile * COUNT + i] = histogram[value_of(tile, i)];
        }
    }
    shpool_fini(heap);
}

int main()
{
    std::vector<unsigned> right;
    shpool_config         want = {};
    shpool_pool           pool = {};

    if (machine_name("scratch") == nullptr) { return 77; }
    for (unsigned tile = 0; tile < TILES; tile++) {
        std::vector<unsigned> sum(bins_of(tile) + 1u, 0); /* of smaller values */

        for (unsigned i = 0; i < COUNT; i++) { sum[value_of(tile, i) + 1u]++; }
        std::partial_sum(sum.begin(), sum.end(), sum.begin());
        for (unsigned i = 0; i < COUNT; i++) { right.push_back(sum[value_of(tile, i) + 1u]); }
    }
    machine_array<unsigned> result(right.size());

    want.block_threads = THREADS;
    want.payload_bytes = 4096;
    machine_need(shpool_open("arena:threads_per_pool=256", &want, &pool), "open");
    result.zero();
    equalise<<<TILES, THREADS, pool.shared_bytes>>>(pool, result);

    const int wrong = machine_check("numbers", result, right);

    machine_need(shpool_close(&pool), "close");
    return wrong;
}
