/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for groups of threads: each warp counts the values of a segment in a histogram whose size
 * is known only in the kernel, and each tile of 8 lanes sorts a short segment in scratch memory.
 *
 *   nvcc -rdc=true groups.cu -o groups $(pkg-config --cflags --libs shpool)
 *
 * One request serves all threads of the group, and all of them get the address.  The kernel does
 * not elect a leader, shuffle a pointer, or need an array for the longest segment.
 */
#include "machine.h"

#include <shpool/groups.cuh>

namespace cg = cooperative_groups;

#define BLOCKS   132u
#define THREADS  256u
#define MOST     900u     /* most numbers of a warp's segment */
#define FEW      40u      /* most numbers of a tile's */
#define ATTEMPTS 1000000u /* a tenth of a second, or more */

/* Segments are of very different lengths. */
static __host__ __device__ unsigned length_of(unsigned segment, unsigned most)
{
    return 1u + (segment * 2654435761u >> 16) * most / 65536u;
}
static __host__ __device__ unsigned number_of(unsigned segment, unsigned i)
{
    return ((segment * MOST + i) * 2654435761u) >> 12;
}

/* The lane's bins' squares, added up; ~0: no memory.  As many bins as numbers.  Whole warp. */
static __device__ unsigned histogram(shpool_heap heap, unsigned segment)
{
    const unsigned bins = length_of(segment, MOST);
    const unsigned lane = threadIdx.x % 32u;
    unsigned       sum  = 0;

    /* if the pool is full, waits until other warps have freed */
    unsigned *count = static_cast<unsigned *>(
        shpool_malloc_wait_warp(heap, bins * sizeof(unsigned), ATTEMPTS));

    if (count == nullptr) { return ~0u; } /* the same in all lanes */
    for (unsigned b = lane; b < bins; b += 32u) { count[b] = 0; }
    __syncwarp();
    for (unsigned i = lane; i < bins; i += 32u) {
        atomicAdd(&count[number_of(segment, i) % bins], 1u);
    }
    __syncwarp();
    for (unsigned b = lane; b < bins; b += 32u) { sum += count[b] * count[b]; }
    shpool_free_warp(heap, count); /* after all lanes' last use, without a __syncwarp() */
    return sum;
}

/* Rank sort: a number's place is the count of smaller ones.  The 8 lanes of the tile. */
static __device__ void sort(shpool_heap heap, const cg::thread_block_tile<8> &tile,
                            unsigned segment, unsigned *result)
{
    const unsigned n      = length_of(segment, FEW);
    unsigned      *number = static_cast<unsigned *>(
        shpool_malloc_wait(heap, tile, n * sizeof(unsigned), ATTEMPTS));

    if (number == nullptr) { return; }
    for (unsigned i = tile.thread_rank(); i < n; i += 8u) { number[i] = number_of(segment, i); }
    tile.sync();
    for (unsigned i = tile.thread_rank(); i < n; i += 8u) {
        unsigned place = 0;

        for (unsigned k = 0; k < n; k++) {
            place += (number[k] < number[i]) || ((number[k] == number[i]) && (k < i));
        }
        result[segment * FEW + place] = number[i];
    }
    shpool_free(heap, tile, number);
}

static __global__ void work(shpool_pool pool, unsigned *sums, unsigned *sorted)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap   = shpool_init(&pool, smem);
    const unsigned thread = blockIdx.x * THREADS + threadIdx.x;

    atomicAdd(&sums[thread / 32u], histogram(heap, thread / 32u));
    sort(heap, cg::tiled_partition<8>(cg::this_thread_block()), thread / 8u, sorted);
    shpool_fini(heap);
}

int main()
{
    shpool_config         want = {};
    shpool_pool           pool = {};
    std::vector<unsigned> sums, sorted(BLOCKS * THREADS / 8u * FEW);

    if (machine_name("groups") == nullptr) { return 77; }
    for (unsigned segment = 0; segment < BLOCKS * THREADS / 32u; segment++) {
        std::vector<unsigned> count(length_of(segment, MOST));
        unsigned              sum = 0;

        for (unsigned i = 0; i < count.size(); i++) { /* (n + 1)^2 - n^2 */
            sum += 2u * count[number_of(segment, i) % count.size()]++ + 1u;
        }
        sums.push_back(sum);
    }
    for (unsigned segment = 0; segment < BLOCKS * THREADS / 8u; segment++) {
        const auto begin = sorted.begin() + segment * FEW;
        const auto end   = begin + length_of(segment, FEW);

        std::generate(begin, end, [&, i = 0u]() mutable { return number_of(segment, i++); });
        std::sort(begin, end);
    }
    machine_array<unsigned> got_sums(sums.size()), got_sorted(sorted.size());

    got_sums.zero();
    got_sorted.zero();
    /* in most blocks, the eight histograms together do not fit in the pool, so some warps wait */
    want.block_threads = THREADS;
    want.payload_bytes = 8 * 1024;
    machine_need(shpool_open("bitmap", &want, &pool), "open");
    work<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, got_sums, got_sorted);
    const int wrong = machine_check("histograms", got_sums, sums) |
                      machine_check("sorted segments", got_sorted, sorted);

    machine_need(shpool_close(&pool), "close");
    return wrong;
}
