/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Most blocks need little memory, a few need much: each block groups its records by key, in chained
 * chunks, and one block in 32 has 20 times as many records as the others.
 *
 *   nvcc -rdc=true spill.cu -o spill $(pkg-config --cflags --libs shpool)
 *
 * by_worst_case: every block has shared memory for the largest block, so few run at the same time.
 * by_pool: every block has shared memory for a typical block; requests that do not fit are served
 * from global memory (spill=arena).  The size of the pool is then no longer a limit.  The program
 * prints the size that the run would have needed.
 */
#include <cstdio>
#include <vector>

#include <shpool/shpool.cuh>

#define BLOCKS  4096u
#define THREADS 128u
#define KEYS    32u
#define FEW     320u
#define MANY    (20u * FEW)
#define CHUNK   7u /* records; 64 bytes with the link */

struct chunk {
    chunk   *next;
    unsigned used;
    unsigned value[CHUNK];
    unsigned unused[6];
};

static __host__ __device__ unsigned records_of(unsigned block)
{
    return (block % 32u == 0) ? MANY : FEW;
}
static __host__ __device__ unsigned record_of(unsigned block, unsigned i)
{
    return (block * MANY + i) * 2654435761u;
}

/* A lane for each key: chains the records with its key, then adds them up from the chain. */
template <typename Get, typename Put>
static __device__ unsigned group(unsigned block, unsigned key, Get get, Put put)
{
    chunk   *first = nullptr;
    unsigned sum   = 0;

    for (unsigned i = 0; i < records_of(block); i++) {
        const unsigned record = record_of(block, i);

        if (record >> 27 == key) {
            if ((first == nullptr) || (first->used == CHUNK)) {
                chunk *fresh = get();

                if (fresh == nullptr) {
                    return ~0u;
                }
                fresh->next = first;
                fresh->used = 0;
                first       = fresh;
            }
            first->value[first->used++] = record;
        }
    }
    while (first != nullptr) {
        chunk *next = first->next;

        for (unsigned i = 0; i < first->used; i++) {
            sum += first->value[i] ^ key;
        }
        put(first);
        first = next;
    }
    return sum;
}

/* ---- before ---- */

static __global__ void by_worst_case(unsigned *result, unsigned most)
{
    extern __shared__ __align__(16) chunk chunks[];
    __shared__ unsigned taken;

    if (threadIdx.x == 0) {
        taken = 0;
    }
    __syncthreads();
    if (threadIdx.x < KEYS) {
        result[blockIdx.x * KEYS + threadIdx.x] = group(
            blockIdx.x, threadIdx.x,
            [&] {
                const unsigned n = atomicAdd(&taken, 1u);

                return (n < most) ? &chunks[n] : nullptr;
            },
            [](chunk *) {});
    }
}

/* ---- after ---- */

static __global__ void by_pool(shpool_pool pool, unsigned *result)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    if (threadIdx.x < KEYS) {
        result[blockIdx.x * KEYS + threadIdx.x] =
            group(blockIdx.x, threadIdx.x,
                  [&] { return static_cast<chunk *>(shpool_malloc(heap, sizeof(chunk))); },
                  [&](chunk *done) { shpool_free(heap, done); });
    }
    shpool_fini(heap);
}

/* ---- the host's side ---- */

static int failed(const char *what, const char *why)
{
    std::fprintf(stderr, "spill: %s: %s\n", what, why);
    return 1;
}

/* Time a launch, and compare its result. */
template <typename Launch>
static int run(const char *name, const void *kernel, unsigned bytes, unsigned *device,
               Launch launch)
{
    std::vector<unsigned> result(BLOCKS * KEYS);
    cudaEvent_t           from   = nullptr;
    cudaEvent_t           to     = nullptr;
    float                 ms     = 0;
    int                   blocks = 0;
    cudaError_t           error;

    (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, THREADS, bytes);
    (void)cudaEventCreate(&from);
    (void)cudaEventCreate(&to);
    launch(); /* warm-up */
    (void)cudaEventRecord(from);
    launch();
    (void)cudaEventRecord(to);
    error = cudaMemcpy(result.data(), device, result.size() * sizeof(unsigned),
                       cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        return failed(name, cudaGetErrorString(error));
    }
    (void)cudaEventElapsedTime(&ms, from, to);
    (void)cudaEventDestroy(from);
    (void)cudaEventDestroy(to);
    for (unsigned block = 0; block < BLOCKS; block++) {
        unsigned sum[KEYS] = {};

        for (unsigned i = 0; i < records_of(block); i++) {
            const unsigned record = record_of(block, i);

            sum[record >> 27] += record ^ record >> 27;
        }
        for (unsigned key = 0; key < KEYS; key++) {
            if (result[block * KEYS + key] != sum[key]) {
                std::fprintf(stderr, "spill: %s: block %u, key %u: %u\n", name, block, key,
                             result[block * KEYS + key]);
                return 1;
            }
        }
    }
    std::printf("%-14s %6u bytes a block, %2d blocks an SM: %.3f ms\n", name, bytes, blocks, ms);
    return 0;
}

int main()
{
    const unsigned    most   = MANY / CHUNK + 2u * KEYS;
    shpool_config     want   = {};
    shpool_pool       pool   = {};
    shpool_stats_data stats  = {};
    unsigned         *result = nullptr;
    int               count  = 0;

    if ((cudaGetDeviceCount(&count) != cudaSuccess) || (count == 0)) {
        std::printf("spill: skipped: no CUDA device\n");
        return 77;
    }
    if (cudaMalloc(&result, BLOCKS * KEYS * sizeof(unsigned)) != cudaSuccess) {
        return failed("cudaMalloc", cudaGetErrorString(cudaGetLastError()));
    }
    if (shpool_allow_shared(by_worst_case, most * sizeof(chunk)) != SHPOOL_OK) {
        std::printf("by_worst_case: %s\n", shpool_last_error()); /* the message names the limit */
    } else if (run("by worst case", reinterpret_cast<const void *>(by_worst_case),
                   most * sizeof(chunk), result, [&] {
                       by_worst_case<<<BLOCKS, THREADS, most * sizeof(chunk)>>>(result, most);
                   }) != 0) {
        return 1;
    }
    want.block_threads = THREADS;
    want.payload_bytes = 8 * 1024;
    for (const char *spec : {"bitmap:spill=arena,spill_bytes=128K",
                             "bitmap:spill=arena,spill_bytes=128K,stats=1"}) {
        if ((shpool_open(spec, &want, &pool) != SHPOOL_OK) ||
            (shpool_allow_shared(by_pool, pool.shared_bytes) != SHPOOL_OK)) {
            return failed(spec, shpool_last_error());
        }
        if (run((pool.flags & SHPOOL_FLAG_STATS) ? "by pool, stats" : "by pool",
                reinterpret_cast<const void *>(by_pool), pool.shared_bytes, result,
                [&] { by_pool<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, result); }) != 0) {
            return 1;
        }
        if (((pool.flags & SHPOOL_FLAG_STATS) != 0) &&
            (shpool_stats(&pool, &stats) == SHPOOL_OK)) {
            std::printf("%llu of %llu requests were spilled; the largest block had %u bytes live\n",
                        stats.spills, stats.mallocs, stats.peak_bytes);
        }
        if (shpool_close(&pool) != SHPOOL_OK) {
            return failed("close", shpool_last_error());
        }
    }
    (void)cudaFree(result);
    return 0;
}
