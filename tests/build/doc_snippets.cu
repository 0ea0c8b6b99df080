/* SPDX-License-Identifier: BSD-3-Clause */
/* The examples of documents and manual pages that need nvcc: tests/build/snippets.sh finds their
 * lines here, and compiles them. */
#include <stdio.h>

#include <shpool/after.h>
#include <shpool/compat/cuda_memory.cuh>
#include <shpool/device.h>
#include <shpool/groups.cuh>
#include <shpool/layout.cuh>
#include <shpool/loadstore.cuh>
#include <shpool/shpool.cuh>
#include <shpool/shpool.hpp>

/* ---- README.md, shpool(7), shpool_launch(3), shpool_malloc(3) ---- */

#include "readme.cu" /* README.md's blocks, by snippets.sh */

/* ---- shpool_open(3) ---- */

int ordinary(void)
{
    shpool_pool pool;
    shpool_config want = {256, 32 * 1024};
    if (shpool_open(NULL, &want, &pool) || shpool_allow_shared(kernel, pool.shared_bytes)) {
        puts(shpool_last_error());
        return 1;
    }
    kernel<<<132, 256, pool.shared_bytes>>>(pool, 10);
    return 0;
}

/* ---- README.md, shpool_loadstore(3) ---- */

__global__ void tiles(ptrdiff_t count, const float *data, float *out)
{
    __shared__ float shared[128 * 7];
    const int        tid = (int)threadIdx.x;
    float            reg[7];

    shpool::global_to_shared<128, 7>(count, data, tid, shared);      // coalesced, and a barrier
    shpool::shared_to_thread<7>(shared, tid, reg);                   // each thread: 7 neighbours
    shpool::thread_to_global<128, 7>(count, reg, tid, out);          // no shared memory needed
}

/* ---- doc/CPP.md ---- */

__global__ void sums(shpool_pool pool, const unsigned *lengths, float *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    {
        shpool::array<float> row(heap, lengths[threadIdx.x]);   // of this thread
        for (float &x : row) x = 1.0f;                          // no elements, if there was no room
        out[threadIdx.x] = row ? row[0] : 0.0f;
    }                                                           // freed here
    shpool_fini(heap);
}

void run(const unsigned *lengths, float *out)
{
    shpool::pool pool({256, 32 * 1024});                        // threads and payload of a block
    pool.launch(sums, 132, 256, nullptr, lengths, out);         // throws shpool::error
}

__device__ void part_of(shpool_heap heap, unsigned n, unsigned mask)
{
    shpool::array<int, shpool::lanes> part(heap, n, {mask});
}

/* ---- doc/GROUPS.md, shpool_malloc_lanes(3) ---- */

__device__ void count(unsigned *histogram, int bins);
template <typename Tile> __device__ void sort(float *scratch, int n, const Tile &tile);

__device__ void groups(shpool_heap heap, int bins, int n)
{
    unsigned *histogram = (unsigned *)shpool_malloc_warp(heap, bins * sizeof *histogram);
    if (histogram) count(histogram, bins);
    shpool_free_warp(heap, histogram);

    auto tile = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
    float *scratch = (float *)shpool_malloc(heap, tile, n * sizeof *scratch);
    if (scratch) sort(scratch, n, tile);
    shpool_free(heap, tile, scratch);
}

/* ---- README.md, doc/DEVICE-MEMORY.md ---- */

__global__ void kernel(void *ptr);

void device(shpool_device_allocator *allocator, size_t bytes, dim3 grid, dim3 block,
            cudaStream_t stream)
{
    void *ptr;

    shpool_device_malloc(allocator, bytes, stream, &ptr);   /* no driver call once warm */
    kernel<<<grid, block, 0, stream>>>(ptr);
    shpool_device_free(allocator, ptr, stream);             /* nobody waits */
}

void contexts(int argc, char **argv, size_t bytes, dim3 grid, dim3 block)
{
    shpool_context *context;
    void           *ptr;

    shpool_context_create_args(argc, argv, SHPOOL_CONTEXT_NEW_STREAM, &context);
    shpool_device_malloc(shpool_context_allocator(context), bytes, shpool_context_stream(context),
                         &ptr);
    kernel<<<grid, block, 0, shpool_context_stream(context)>>>(ptr);
    shpool_device_free(shpool_context_allocator(context), ptr, shpool_context_stream(context));
}

/* ---- doc/CHECKED-MODE.md ---- */

void report_of(const shpool_pool &pool)
{
    shpool_report_data report;
    char text[SHPOOL_REPORT_TEXT];
    if (shpool_report(&pool, &report) == SHPOOL_OK &&
        shpool_report_text(&pool, &report, text, sizeof text) == SHPOOL_OK) {
        puts(text);
    }
}

/* ---- doc/SPILL.md ---- */

void what_a_run_needed(void (*kernel)(shpool_pool, int), const shpool_config &want, dim3 grid)
{
    shpool_pool        pool;
    shpool_stats_data  stats;
    shpool_report_data report;
    shpool_arch        arch;
    shpool_advice      advice;

    shpool_open("bitmap:stats=1,spill=native", &want, &pool);
    shpool_allow_shared(kernel, pool.shared_bytes);
    kernel<<<grid, want.block_threads, pool.shared_bytes>>>(pool, 10);
    shpool_stats(&pool, &stats);     /* peak, failures, spills, waits, fragmentation, contention */
    shpool_report(&pool, &report);
    shpool_arch_find("90", &arch);
    shpool_advise(&pool, &report, &arch, 0, &advice);
}

/* ---- doc/AFTER.md ---- */

#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900)
__global__ void pipeline(shpool_pool pool, const float *rows, uint32_t bytes, simt_addr mbar)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    if (threadIdx.x == 0) {
        shpool_after after = shpool_after_init(heap, 8);   // one thread; room for 8 pending frees
        float *piece = static_cast<float *>(shpool_after_malloc(&after, bytes));
        simt_copy_async(simt_to_shared(piece), rows, bytes, mbar);
        shpool_free_after_group(&after, piece);      // it is read some time later
        shpool_after_fini(&after);
    }
    shpool_fini(heap);
}
#endif

/* ---- doc/COMPAT.md ---- */

__global__ void global_pools(void *heap, size_t bytes, size_t n)
{
    glob_pool::pool_init(heap, bytes);    // all threads of the block; heap from cudaMalloc
    void *p = glob_pool::pmalloc(n);      // or pmalloc_best_fit(n)
    glob_pool::pfree(p);
}

/* ---- doc/COALESCE.md ---- */

__global__ void as_it_is(void)
{
    asm volatile("// shpool-coalesce: off");       // or SHPOOL_COALESCE_OFF(); of shpool/coalesce.h
}
