/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 10^8 operations of each allocator in pools that stay full, on a GPU, through the function table.
 *
 * Sizes are random, and each allocation is freed by another thread, as far as the scope allows: it
 * is put into a random place of its pool, and the previous one there is freed.  Contents are
 * checked completely.  Exit code 0: all passed, 1: something failed, 77: no device.  Arguments:
 * allocators to test; none: all.
 */
#include "trial.h"

#define THREADS    256u
#define BLOCKS     528u         /* four for each multiprocessor of an H200 */
#define OPERATIONS 100000000ull /* malloc and free, of all threads */
#define SPILLED    100000ull    /* the same, where every request spills to CUDA's malloc */
#define MOST       2048u        /* bytes of a request */

/* The contents of an allocation identify its tag, so that the freeing thread can check them. */
static __device__ void fill_tagged(void *ptr, size_t bytes, uint32_t tag)
{
    fill(ptr, bytes, tag);
    *static_cast<uint32_t *>(ptr) = tag;
}

static __device__ bool holds_tagged(void *ptr, size_t bytes)
{
    uint32_t *words = static_cast<uint32_t *>(ptr);
    uint32_t  tag   = words[0];

    words[0] = word_of(tag, 0);
    return holds(ptr, bytes, tag);
}

static __device__ void give_back(shpool_heap heap, void *ptr, counts *c)
{
    if (ptr != NULL) {
        note(c, E_PATTERN, !holds_tagged(ptr, shpool_usable_size(heap, ptr)));
        note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
    }
}

/* Put an allocation, or NULL, into a place; returns the previous one.  Fences order contents. */
static __device__ void *put(unsigned long long *place, void *ptr)
{
    unsigned long long before;

    __threadfence_block();
    before = atomicExch(place, reinterpret_cast<unsigned long long>(ptr));
    __threadfence_block();
    return reinterpret_cast<void *>(before);
}

static __global__ void __launch_bounds__(THREADS) soak(shpool_pool pool, uint32_t rounds,
                                                       uint32_t most, counts *c)
{
    extern __shared__ __align__(16) unsigned char behind_places[];
    __shared__ unsigned long long places[THREADS];
    shpool_heap heap  = shpool_init(&pool, behind_places);
    uint32_t    rank  = simt_thread_rank();
    uint32_t    first = rank / pool.threads_per_pool * pool.threads_per_pool;
    uint32_t    group = min(pool.threads_per_pool, THREADS - first);
    uint32_t    state = ((simt_block_rank() * THREADS + rank) * 2654435761u) | 1u;
    uint32_t    nulls = 0;

    places[rank] = 0;
    __syncthreads();
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t r     = random_next(&state);
        uint32_t place = first + (r >> 2) % group;
        uint32_t share = max(most >> (r & 3u), 1u);
        void    *ptr   = shpool_malloc(heap, 1u + (r >> 12) % share);

        if (ptr != NULL) {
            note(c, E_MISALIGNED, !is_aligned(ptr, 16));
            fill_tagged(ptr, shpool_usable_size(heap, ptr), r);
        }
        nulls += (ptr == NULL);
        give_back(heap, put(&places[place], ptr), c);
    }
    __syncthreads(); /* no thread fills a place any more */
    give_back(heap, put(&places[rank], NULL), c);
    tally(c, T_NULLS, nulls);
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

static void test(const char *name)
{
    shpool_pool        pool       = {};
    unsigned long long t[T_COUNT] = {};
    const unsigned     before     = gpu_failed;

    if (!open_within(name, THREADS, 47u * 1024u, 0, &pool)) {
        std::printf("note %s: no pool for %u threads in 47 KiB\n", name, THREADS);
        return;
    }
    const bool               spills     = (pool.largest == 0);
    const unsigned long long operations = spills ? SPILLED : OPERATIONS;
    const unsigned           blocks     = spills ? 2u : BLOCKS;
    const uint32_t           rounds     =
        static_cast<uint32_t>(operations / (2ull * blocks * THREADS)) + 1u;

    run("soak", pool, soak, blocks, THREADS, pool.shared_bytes, t, rounds,
        (spills || (pool.largest > MOST)) ? MOST : pool.largest);
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close: %s", shpool_last_error());
    std::printf("%s: %llu mallocs, %llu gave NULL: %s\n", name,
                static_cast<unsigned long long>(rounds) * blocks * THREADS, t[T_NULLS],
                (gpu_failed == before) ? "passed" : "FAILED");
    std::fflush(stdout);
}

int main(int argc, char **argv)
{
    gpu_need_device();
    if (!gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc")) {
        return gpu_summary();
    }
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (trial_is_chosen(allocator->name, argc, argv) &&
            ((allocator->caps & SHPOOL_CAP_NONE) == 0)) {
            test(allocator->name);
        }
    }
    (void)gpu_cuda(cudaFree(device_counts), "cudaFree");
    return gpu_summary();
}
