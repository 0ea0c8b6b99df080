/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline of bulk copies (TMA) over rows of different lengths: each warp fetches rows ahead,
 * processes them in shared memory, and starts copies that write them back.  No thread waits for a
 * copy before it has to.
 *
 *   nvcc -arch=sm_90 -rdc=true pipeline.cu -o pipeline $(pkg-config --cflags --libs shpool)
 *   ./pipeline [rows]
 *
 * By ring: a slot has room for the longest row, so a block of 8 warps takes 128 KiB for 4 rows a
 * warp, most of it empty.  By heap: a row allocates only its own length, and the copy's end frees
 * it (shpool_free_after_group).
 */
#define SHPOOL_INLINE warp_best_fit /* a pool for each warp: no waiting for locks */
#include "machine.h"

#include <shpool/after.h>

#define WARPS 8u
#define AHEAD 4u    /* rows of a warp that are in flight or being processed */
#define MOST  4096u /* bytes of the longest row; one in 16 is that long */
#define RING  (WARPS * AHEAD * MOST)

/* Row r is data[begin[r]] .. data[begin[r + 1] - 1]; rows are multiples of 16 bytes. */
struct rows {
    const float    *data;
    float          *result;
    const unsigned *begin;
    unsigned        count;
};

template <bool Heap>
static __global__ void process(rows r, shpool_pool pool)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(8) unsigned long long full[WARPS][AHEAD];
    __shared__ float *tiles[WARPS][AHEAD];
    const unsigned warp  = threadIdx.x / 32;
    const unsigned first = blockIdx.x * WARPS + warp;
    const unsigned step  = gridDim.x * WARPS;
    const unsigned mine  = (first < r.count) ? (r.count - first + step - 1) / step : 0;
    const bool     leads = threadIdx.x % 32 == 0;
    float        **tile  = tiles[warp];
    shpool_heap    heap  = Heap ? shpool_init(&pool, smem) : shpool_heap{};
    shpool_after   after = Heap ? shpool_after_init(heap, leads ? AHEAD : 0) : shpool_after{};

    for (unsigned k = 0; leads && (k < AHEAD); k++) {
        simt_mbar_init(simt_to_shared(&full[warp][k]), 1);
        tile[k] = reinterpret_cast<float *>(smem + (warp * AHEAD + k) * MOST); /* by ring */
    }
    __syncwarp();
    for (unsigned n = 0, started = 0; n < mine; n++) {
        /* in a ring, one slot stays empty, so that the copy of the last written row can end */
        while (leads && (started < mine) && (started + !Heap < n + AHEAD)) {
            const float    *from  = r.data + r.begin[first + started * step];
            const unsigned  bytes = 4u * (r.begin[first + started * step + 1] -
                                          r.begin[first + started * step]);
            const unsigned  k     = started % AHEAD;
            const simt_addr mbar  = simt_to_shared(&full[warp][k]);

            if (Heap) {
                float *block = static_cast<float *>(shpool_after_malloc(&after, bytes));

                if ((block == NULL) && (started > n)) {
                    break; /* other warps have the memory: first process the rows that are here */
                }
                if (block == NULL) { continue; }
                tile[k] = block;
            } else {
                simt_copy_wait_read(1);
                simt_fence_async();
            }
            simt_mbar_arrive_expect(mbar, bytes);
            simt_copy_async(simt_to_shared(tile[k]), from, bytes, mbar);
            started++;
        }
        __syncwarp();
        const unsigned begin = r.begin[first + n * step];
        const unsigned count = r.begin[first + n * step + 1] - begin;
        float *const   row   = tile[n % AHEAD];

        simt_mbar_wait(simt_to_shared(&full[warp][n % AHEAD]), n / AHEAD & 1u);
        for (unsigned i = threadIdx.x % 32; i < count; i += 32) { row[i] = 2.0f * row[i] + 1.0f; }
        simt_fence_async();
        __syncwarp();
        if (leads) {
            simt_copy_async_out(r.result + begin, simt_to_shared(row), 4u * count);
            if (Heap) {
                shpool_free_after_group(&after, row);
            } else {
                simt_copy_commit();
            }
        }
    }
    if (Heap) {
        shpool_after_fini(&after);
        shpool_fini(heap);
    } else if (leads) {
        simt_copy_wait_read(0);
    }
#endif
}

int main(int argc, char **argv)
{
    const unsigned        count = (argc > 1) ? std::strtoul(argv[1], NULL, 10) : 200000u;
    std::vector<unsigned> begin(count + 1, 0);
    shpool_config         want  = {};
    shpool_pool           pool  = {};

    if (machine_name("pipeline") == nullptr) { return 77; }
    if (machine_attribute(cudaDevAttrComputeCapabilityMajor) < 9) {
        std::printf("pipeline: skipped: no CUDA device of sm_90 or newer\n");
        return 77;
    }
    for (unsigned i = 0; i < count; i++) { /* 16 to 1,024 bytes, and some of MOST */
        const unsigned hash = i * 2654435761u;

        begin[i + 1] = begin[i] + ((hash >> 28 == 7) ? MOST / 4u : 4u + (hash >> 8 & 63u) * 4u);
    }
    std::vector<float> data(begin[count]), right(begin[count]);

    for (size_t i = 0; i < data.size(); i++) {
        data[i]  = static_cast<float>(i % 1000);
        right[i] = 2.0f * data[i] + 1.0f;
    }
    want.block_threads    = WARPS * 32;
    want.payload_bytes    = 40 * 1024;
    want.threads_per_pool = 32;
    machine_need(shpool_open("warp_best_fit", &want, &pool), "pool");

    machine_array<float>    from(data), result(data.size());
    machine_array<unsigned> begins(begin);
    const rows              r     = { from, result, begins, count };
    const double            moved = 2.0 * static_cast<double>(data.size() * sizeof(float));
    const unsigned rings = machine_blocks_of(process<false>, WARPS * 32, RING);
    const unsigned heaps = machine_blocks_of(process<true>, WARPS * 32, pool.shared_bytes);

    int failed = machine_run("ring", RING, result, right, [&] {
        process<false><<<rings, WARPS * 32, RING>>>(r, pool);
    }, moved);
    failed |= machine_run("heap", pool.shared_bytes, result, right, [&] {
        process<true><<<heaps, WARPS * 32, pool.shared_bytes>>>(r, pool);
    }, moved);
    machine_need(shpool_close(&pool), "close");
    return failed;
}
