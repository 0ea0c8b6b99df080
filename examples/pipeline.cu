/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline of bulk copies (TMA) over rows of different lengths: each warp fetches rows ahead,
 * processes them in shared memory, and starts copies that write them back.  No thread waits for a
 * copy before it has to.  One version has a static ring for each warp, as kernels usually do; the
 * other one has memory from a heap and shpool_free_after_group().
 *
 *   nvcc -arch=sm_90 -rdc=true pipeline.cu -o pipeline $(pkg-config --cflags --libs shpool)
 *   ./pipeline [rows]
 *
 * A slot of the ring has room for the longest row, so a block of 8 warps takes 128 KiB for 4 rows a
 * warp, most of it empty.  From the heap, a row allocates only its own length.
 */
#define SHPOOL_INLINE warp_best_fit /* a pool for each warp: no waiting for locks */
#include "machine.h"

#include <shpool/after.h>

#define WARPS     8u
#define AHEAD     4u           /* rows of a warp that are in flight or being processed */
#define MOST      4096u        /* bytes of the longest row; one in 16 is that long */
#define HEAP      (40u * 1024u)
#define RING      (WARPS * AHEAD * MOST)

/* Row r is data[begin[r]] .. data[begin[r + 1] - 1]; rows are multiples of 16 bytes. */
struct rows {
    const float    *data;
    float          *result;
    const unsigned *begin;
    unsigned        count;
};

#if SIMT_HAS_BULK
/* The processing of a row, by all lanes, in place. */
static __device__ void work(float *row, unsigned bytes)
{
    for (unsigned i = threadIdx.x % 32; i < bytes / sizeof(float); i += 32) {
        row[i] = 2.0f * row[i] + 1.0f;
    }
}

static __device__ unsigned bytes_of(const rows &r, unsigned row)
{
    return (r.begin[row + 1] - r.begin[row]) * static_cast<unsigned>(sizeof(float));
}
#endif

/* ---- before: a ring of AHEAD slots a warp, each as long as the longest row ---- */

static __global__ void by_ring(rows r)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(8) unsigned long long full[WARPS][AHEAD];
    const unsigned warp  = threadIdx.x / 32;
    const unsigned first = blockIdx.x * WARPS + warp;
    const unsigned step  = gridDim.x * WARPS;
    const unsigned mine  = (first < r.count) ? (r.count - first + step - 1) / step : 0;
    const bool     leads = threadIdx.x % 32 == 0;
    unsigned char *ring  = smem + warp * AHEAD * MOST;

    if (leads) {
        for (unsigned k = 0; k < AHEAD; k++) {
            simt_mbar_init(simt_to_shared(&full[warp][k]), 1);
        }
    }
    __syncwarp();
    for (unsigned n = 0, started = 0; n < mine; n++) {
        /* one slot stays empty, so that the copy of the last written row has time to end */
        for (; leads && (started < mine) && (started + 1 < n + AHEAD); started++) {
            const unsigned  row  = first + started * step;
            const simt_addr mbar = simt_to_shared(&full[warp][started % AHEAD]);

            simt_copy_wait_read(1);
            simt_fence_async();
            simt_mbar_arrive_expect(mbar, bytes_of(r, row));
            simt_copy_async(simt_to_shared(ring + started % AHEAD * MOST), r.data + r.begin[row],
                            bytes_of(r, row), mbar);
        }
        __syncwarp();
        const unsigned row  = first + n * step;
        float         *slot = reinterpret_cast<float *>(ring + n % AHEAD * MOST);

        simt_mbar_wait(simt_to_shared(&full[warp][n % AHEAD]), n / AHEAD & 1u);
        work(slot, bytes_of(r, row));
        simt_fence_async();
        __syncwarp();
        if (leads) {
            simt_copy_async_out(r.result + r.begin[row], simt_to_shared(slot), bytes_of(r, row));
            simt_copy_commit();
        }
    }
    if (leads) {
        simt_copy_wait_read(0);
    }
#endif
}

/* ---- after: an allocation of its own length for each row ---- */

static __global__ void by_heap(rows r, shpool_pool pool)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(8) unsigned long long full[WARPS][AHEAD];
    __shared__ float *tile[WARPS][AHEAD];
    shpool_heap    heap  = shpool_init(&pool, smem);
    const unsigned warp  = threadIdx.x / 32;
    const unsigned first = blockIdx.x * WARPS + warp;
    const unsigned step  = gridDim.x * WARPS;
    const unsigned mine  = (first < r.count) ? (r.count - first + step - 1) / step : 0;
    const bool     leads = threadIdx.x % 32 == 0;
    shpool_after   after = shpool_after_init(heap, leads ? AHEAD : 0);

    if (leads) {
        for (unsigned k = 0; k < AHEAD; k++) {
            simt_mbar_init(simt_to_shared(&full[warp][k]), 1);
        }
    }
    __syncwarp();
    for (unsigned n = 0, started = 0; n < mine; n++) {
        while (leads && (started < mine) && (started < n + AHEAD)) {
            const unsigned  row  = first + started * step;
            const simt_addr mbar = simt_to_shared(&full[warp][started % AHEAD]);
            float *block = static_cast<float *>(shpool_after_malloc(&after, bytes_of(r, row)));

            if (block != NULL) {
                tile[warp][started % AHEAD] = block;
                simt_mbar_arrive_expect(mbar, bytes_of(r, row));
                simt_copy_async(simt_to_shared(block), r.data + r.begin[row], bytes_of(r, row),
                                mbar);
                started++;
            } else if (started > n) {
                break; /* other warps have the memory: first process the rows that are here */
            }
        }
        __syncwarp();
        const unsigned row = first + n * step;

        simt_mbar_wait(simt_to_shared(&full[warp][n % AHEAD]), n / AHEAD & 1u);
        work(tile[warp][n % AHEAD], bytes_of(r, row));
        simt_fence_async();
        __syncwarp();
        if (leads) {
            float *block = tile[warp][n % AHEAD];

            simt_copy_async_out(r.result + r.begin[row], simt_to_shared(block), bytes_of(r, row));
            shpool_free_after_group(&after, block);
        }
    }
    shpool_after_fini(&after);
    shpool_fini(heap);
#endif
}

int main(int argc, char **argv)
{
    const unsigned        count = (argc > 1) ? std::strtoul(argv[1], NULL, 10) : 200000u;
    std::vector<unsigned> begin(count + 1, 0);
    shpool_config         want  = {};
    shpool_pool           pool  = {};

    if (machine_name("pipeline") == nullptr) {
        return 77;
    }
    if (machine_attribute(cudaDevAttrComputeCapabilityMajor) < 9) {
        std::printf("pipeline: skipped: no CUDA device of sm_90 or newer\n");
        return 77;
    }
    for (unsigned i = 0; i < count; i++) { /* 16 to 1,024 bytes, and some of MOST */
        const unsigned hash  = i * 2654435761u;
        const unsigned bytes = (hash >> 28 == 7) ? MOST : 16u + (hash >> 8 & 63u) * 16u;

        begin[i + 1] = begin[i] + bytes / sizeof(float);
    }
    std::vector<float> data(begin[count]), right(begin[count]);

    for (size_t i = 0; i < data.size(); i++) {
        data[i]  = static_cast<float>(i % 1000);
        right[i] = 2.0f * data[i] + 1.0f;
    }
    want.block_threads    = WARPS * 32;
    want.payload_bytes    = HEAP;
    want.threads_per_pool = 32;
    machine_need(shpool_open("warp_best_fit", &want, &pool), "pool");

    machine_array<float>    from(data), result(data.size());
    machine_array<unsigned> begins(begin);
    const rows              r     = { from, result, begins, count };
    const double            moved = 2.0 * static_cast<double>(data.size() * sizeof(float));
    const unsigned          rings = machine_blocks_of(by_ring, WARPS * 32, RING);
    const unsigned          heaps = machine_blocks_of(by_heap, WARPS * 32, pool.shared_bytes);

    int failed = machine_run("ring", RING, result, right,
                             [&] { by_ring<<<rings, WARPS * 32, RING>>>(r); }, moved);
    failed |= machine_run("heap", pool.shared_bytes, result, right, [&] {
        by_heap<<<heaps, WARPS * 32, pool.shared_bytes>>>(r, pool);
    }, moved);
    machine_need(shpool_close(&pool), "close");
    return failed;
}
