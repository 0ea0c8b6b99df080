/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Most blocks need little memory, a few need much: each block groups its records by key, in chained
 * chunks, and one block in 32 has 20 times as many records as the others.
 *
 *   nvcc -rdc=true spill.cu -o spill $(pkg-config --cflags --libs shpool)
 *
 * By worst case: every block has shared memory for the largest block, so few run at the same time.
 * By pool: every block has shared memory for a typical block; requests that do not fit are served
 * from global memory (spill=arena).  The size of the pool is then no longer a limit.  The program
 * prints the size that the run would have needed.
 */
#include "machine.h"

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

                if (fresh == nullptr) { return ~0u; }
                fresh->next = first;
                fresh->used = 0;
                first       = fresh;
            }
            first->value[first->used++] = record;
        }
    }
    while (first != nullptr) {
        chunk *next = first->next;

        for (unsigned i = 0; i < first->used; i++) { sum += first->value[i] ^ key; }
        put(first);
        first = next;
    }
    return sum;
}

static __global__ void by_worst_case(unsigned *result, unsigned most)
{
    extern __shared__ __align__(16) chunk chunks[];
    __shared__ unsigned taken;

    if (threadIdx.x == 0) { taken = 0; }
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

int main()
{
    const unsigned        most  = MANY / CHUNK + 2u * KEYS;
    const unsigned        bytes = most * sizeof(chunk);
    std::vector<unsigned> sum(BLOCKS * KEYS);
    shpool_config         want = {};
    shpool_pool           pool = {};
    shpool_report_data    seen = {};
    int                   failed = 0;

    if (machine_name("spill") == nullptr) { return 77; }
    for (unsigned block = 0; block < BLOCKS; block++) {
        for (unsigned i = 0; i < records_of(block); i++) {
            const unsigned record = record_of(block, i);

            sum[block * KEYS + (record >> 27)] += record ^ record >> 27;
        }
    }
    machine_array<unsigned> result(BLOCKS * KEYS);

    if (shpool_allow_shared(by_worst_case, bytes) != SHPOOL_OK) {
        std::printf("by worst case: %s\n", shpool_last_error()); /* it names the limit */
    } else {
        failed = machine_run("by worst case", bytes, result, sum, [&] {
            by_worst_case<<<BLOCKS, THREADS, bytes>>>(result, most);
        });
    }
    want.block_threads = THREADS;
    want.payload_bytes = 8 * 1024;
    for (const char *spec : { "bitmap:spill=arena,spill_bytes=128K",
                              "bitmap:spill=arena,spill_bytes=128K,stats=1" }) {
        machine_need(shpool_open(spec, &want, &pool), spec);
        failed |= machine_run((pool.flags & SHPOOL_FLAG_STATS) ? "by pool, stats" : "by pool",
                              pool.shared_bytes, result, sum, [&] {
            by_pool<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, result);
        });
        machine_need(shpool_report(&pool, &seen), "report");
        machine_need(shpool_close(&pool), "close");
    }
    std::printf("%llu of %llu requests were spilled; the largest block had %u bytes live\n",
                seen.spills, seen.mallocs, seen.peak_bytes);
    return failed;
}
