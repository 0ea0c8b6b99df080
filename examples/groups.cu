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
#define SEGMENTS (BLOCKS * THREADS / 32u) /* one for each warp */
#define SHORTS   (BLOCKS * THREADS / 8u)  /* one for each tile */
#define MOST     900u                     /* most numbers of a segment */
#define FEW      40u                      /* most numbers of a short one */
#define ATTEMPTS 1000000u                 /* a tenth of a second, or more */

/* Segments are of very different lengths. */
static __host__ __device__ unsigned length_of(unsigned segment)
{
    unsigned part = (segment * 2654435761u) >> 22; /* below 1,024 */

    return 1u + part * part / 1024u * (MOST - 1u) / 1024u;
}
static __host__ __device__ unsigned short_length_of(unsigned segment)
{
    return 1u + (segment * 2246822519u >> 16) % FEW;
}
static __host__ __device__ unsigned number_of(unsigned segment, unsigned i)
{
    return ((segment * MOST + i) * 2654435761u) >> 12;
}

/* As many bins as there are numbers, so the size differs from warp to warp. */
static __host__ __device__ unsigned bin_of(unsigned segment, unsigned i)
{
    return number_of(segment, i) % length_of(segment);
}

/* The count of the most frequent bin; 0: the allocation failed.  Whole warp. */
static __device__ unsigned most_frequent(shpool_heap heap, unsigned segment)
{
    const unsigned bins = length_of(segment);
    const unsigned lane = threadIdx.x % 32u;
    unsigned       most = 0;

    /* if the pool is full, waits until other warps have freed */
    unsigned *histogram = static_cast<unsigned *>(
        shpool_malloc_wait_warp(heap, bins * sizeof(unsigned), ATTEMPTS));

    if (histogram == nullptr) {
        return 0; /* the same in all lanes */
    }
    for (unsigned b = lane; b < bins; b += 32u) {
        histogram[b] = 0;
    }
    __syncwarp();
    for (unsigned i = lane; i < bins; i += 32u) {
        atomicAdd(&histogram[bin_of(segment, i)], 1u);
    }
    __syncwarp();
    for (unsigned b = lane; b < bins; b += 32u) {
        most = max(most, histogram[b]);
    }
    for (unsigned d = 16; d > 0; d /= 2u) {
        most = max(most, __shfl_xor_sync(~0u, most, d));
    }
    shpool_free_warp(heap, histogram); /* after all lanes' last use, without a __syncwarp() */
    return most;
}

/* Rank sort: a number's place is the count of smaller ones.  The 8 lanes of the tile. */
static __device__ bool sort_short(shpool_heap heap, const cg::thread_block_tile<8> &tile,
                                  unsigned segment, unsigned *result)
{
    const unsigned n      = short_length_of(segment);
    unsigned      *number = static_cast<unsigned *>(
        shpool_malloc_wait(heap, tile, n * sizeof(unsigned), ATTEMPTS));

    if (number == nullptr) {
        return false;
    }
    for (unsigned i = tile.thread_rank(); i < n; i += tile.size()) {
        number[i] = number_of(segment, i);
    }
    tile.sync();
    for (unsigned i = tile.thread_rank(); i < n; i += tile.size()) {
        unsigned place = 0;

        for (unsigned k = 0; k < n; k++) {
            place += (number[k] < number[i]) || ((number[k] == number[i]) && (k < i));
        }
        result[segment * FEW + place] = number[i];
    }
    shpool_free(heap, tile, number);
    return true;
}

static __global__ void work(shpool_pool pool, unsigned *most, unsigned *sorted)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap   = shpool_init(&pool, smem);
    const unsigned thread = blockIdx.x * THREADS + threadIdx.x;
    auto           tile   = cg::tiled_partition<8>(cg::this_thread_block());
    const unsigned count  = most_frequent(heap, thread / 32u);

    if (threadIdx.x % 32u == 0) {
        most[thread / 32u] = count;
    }
    if (!sort_short(heap, tile, thread / 8u, sorted) && (tile.thread_rank() == 0)) {
        sorted[thread / 8u * FEW] = ~0u; /* not a number of the input: these are below 2^20 */
    }
    shpool_fini(heap);
}

static unsigned wrong_histograms(const std::vector<unsigned> &most)
{
    unsigned wrong = 0;

    for (unsigned segment = 0; segment < SEGMENTS; segment++) {
        std::vector<unsigned> histogram(length_of(segment), 0);

        for (unsigned i = 0; i < length_of(segment); i++) {
            histogram[bin_of(segment, i)]++;
        }
        wrong += most[segment] != *std::max_element(histogram.begin(), histogram.end());
    }
    return wrong;
}

static unsigned wrong_sorts(const std::vector<unsigned> &sorted)
{
    unsigned wrong = 0;

    for (unsigned segment = 0; segment < SHORTS; segment++) {
        std::vector<unsigned> number;

        for (unsigned i = 0; i < short_length_of(segment); i++) {
            number.push_back(number_of(segment, i));
        }
        std::sort(number.begin(), number.end());
        wrong += !std::equal(number.begin(), number.end(), &sorted[segment * FEW]);
    }
    return wrong;
}

int main()
{
    shpool_config want = {};
    shpool_pool   pool = {};

    if (machine_name("groups") == nullptr) {
        return 77;
    }
    machine_array<unsigned> most(SEGMENTS), sorted(SHORTS * FEW);

    /* in most blocks, the eight histograms together do not fit in the pool, so some warps wait */
    want.block_threads = THREADS;
    want.payload_bytes = 8 * 1024;
    machine_need(shpool_open("bitmap", &want, &pool), "open");
    work<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, most, sorted);

    const unsigned histograms = wrong_histograms(most.read());
    const unsigned sorts      = wrong_sorts(sorted.read());

    std::printf("groups: %u of %u histograms and %u of %u sorted segments are wrong (%s)\n",
                histograms, SEGMENTS, sorts, SHORTS, pool.name);
    machine_need(shpool_close(&pool), "close");
    return (histograms != 0) || (sorts != 0);
}
