/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/groups.cu: groups that wait for memory, and how fair that is. */
#ifndef SHPOOL_TESTS_GPU_GROUPS_WAIT_CUH
#define SHPOOL_TESTS_GPU_GROUPS_WAIT_CUH

#include <algorithm>
#include <vector>

#include "groups_kernel.cuh"

#define WAIT_ATTEMPTS 500000u /* up to half a second, and the searches */
#define WAIT_BLOCKS   16u
#define WAIT_THREADS  1024u

/* One request that waited, in its block. */
struct served {
    uint32_t arrived; /* order of arrival */
    uint32_t got;     /* order of service */
    uint32_t cycles;  /* that it waited; 0: the entry is unused */
    uint32_t large;
};

/* One team's turn: wait, write, hold for a while, look, free.  false: it starved. */
static __device__ bool take_turn(const shpool_heap &heap, const team &t, uint32_t bytes,
                                 uint32_t hold, uint32_t tag, counts *c)
{
    void *ptr = shpool_malloc_wait_lanes(heap, t.lanes, bytes, WAIT_ATTEMPTS);

    note(c, E_SAME, !is_same(t, ptr));
    note(c, E_STARVED, (ptr == NULL) && leads(t));
    if (ptr == NULL) {
        return false;
    }
    stamp(ptr, bytes, tag, t.index, t.members);
    if (hold != 0) {
        __nanosleep(hold);
    }
    __syncwarp(t.lanes);
    note(c, E_PATTERN, !is_stamped(ptr, bytes, tag, t.index, t.members));
    note(c, E_REFUSED, shpool_free_lanes_at(heap, t.lanes, ptr, 0) != SHPOOL_FREE_OK);
    return true;
}

/* Every warp repeatedly requests `bytes`, the first one `first_bytes`. */
static __global__ void __launch_bounds__(WAIT_THREADS)
queue(shpool_pool pool, uint32_t bytes, uint32_t first_bytes, uint32_t rounds, uint32_t hold,
      served *log, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_queue[];
    __shared__ uint32_t arrivals;
    __shared__ uint32_t serves;
    shpool_heap    heap  = shpool_init(&pool, smem_queue);
    const team     t     = team_of(SPLIT_WARP, 0);
    const uint32_t want  = (simt_warp() == 0) ? first_bytes : bytes;
    const uint32_t warps = simt_block_threads() / 32u;

    if (simt_thread_rank() == 0) {
        arrivals = 0;
        serves   = 0;
    }
    __syncthreads();
    for (uint32_t round = 0; round < rounds; round++) {
        served   *s   = &log[(simt_block_rank() * warps + simt_warp()) * rounds + round];
        uint32_t  tag = simt_warp() * 4096u + round;
        long long start;
        void     *ptr;

        if (leads(t)) {
            s->arrived = atomicAdd(&arrivals, 1u);
            s->large   = (first_bytes != bytes) && (simt_warp() == 0);
        }
        __syncwarp(t.lanes);
        start = clock64();
        ptr   = shpool_malloc_wait_warp(heap, want, WAIT_ATTEMPTS);
        if (leads(t)) {
            s->cycles = 1u + static_cast<uint32_t>(clock64() - start);
            s->got    = atomicAdd(&serves, 1u);
        }
        note(c, E_STARVED, (ptr == NULL) && leads(t));
        if (ptr == NULL) {
            break;
        }
        stamp(ptr, want, tag, t.index, t.members);
        __nanosleep(hold);
        __syncwarp(t.lanes);
        note(c, E_PATTERN, !is_stamped(ptr, want, tag, t.index, t.members));
        shpool_free_warp(heap, ptr);
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* Warps, tiles of 16 and 8 lanes and scattered lanes want memory of very different sizes, and there
 * is never enough for all.  Tiles of one warp wait for each other. */
static __global__ void crowd_of_groups(shpool_pool pool, uint32_t most, uint32_t rounds, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_crowd_of_groups[];
    shpool_heap heap  = shpool_init(&pool, smem_crowd_of_groups);
    uint32_t    state = (simt_block_rank() * 32u + simt_warp()) * 2654435761u | 1u;
    bool        goes  = true;

    for (uint32_t round = 0; (round < rounds) && goes; round++) {
        const uint32_t r      = random_next(&state); /* the same in all of the warp */
        const uint32_t kind   = r >> 4 & 3u;
        const team     t      = team_of((kind == 3u) ? static_cast<uint32_t>(SPLIT_SCATTERED)
                                                     : SPLIT_WARP - kind, r);
        const uint32_t halves = (r >> 8) % 4u;
        const uint32_t words  = 1u + (r >> 10) % (most / 4u >> halves);

        goes = take_turn(heap, t, 4u * words, 0, r + t.which, c);
        goes = __all_sync(shpool_warp_lanes(), goes) != 0;
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* ---- host ---- */

/* How many requests came later than this one and were served before it. */
static inline uint32_t overtakings(const served *block, size_t n, const served &me)
{
    uint32_t over = 0;

    for (size_t i = 0; i < n; i++) {
        over += (block[i].cycles != 0) && (block[i].arrived > me.arrived) &&
                (block[i].got < me.got);
    }
    return over;
}

/* Clocks are printed and not judged. */
static inline void print_fairness(const char *name, const char *what,
                                  const std::vector<served> &log, size_t each)
{
    std::vector<uint32_t> cycles;
    uint32_t              most       = 0;
    uint32_t              most_large = 0;

    for (size_t i = 0; i < log.size(); i++) {
        if (log[i].cycles != 0) {
            uint32_t over = overtakings(&log[i / each * each], each, log[i]);

            most       = std::max(most, over);
            most_large = (log[i].large != 0) ? std::max(most_large, over) : most_large;
            cycles.push_back(log[i].cycles);
        }
    }
    if (cycles.empty()) {
        return;
    }
    std::sort(cycles.begin(), cycles.end());
    const uint32_t median = cycles[cycles.size() / 2u];
    const uint32_t p99    = cycles[cycles.size() * 99u / 100u];

    std::printf("  %-16s %-24s median %u, p99 %u (%.1f x), maximum %u cycles; overtaken %u times "
                "at most", name, what, median, p99, static_cast<double>(p99) / median,
                cycles.back(), most);
    if (log[0].large != 0) {
        std::printf(", a large request %u times", most_large);
    }
    std::printf("%s\n", ((p99 <= 8u * median) && (most <= 64u)) ? "" : "; MISSES its target");
}

/* 32 warps and a pool for eight of their objects. */
static inline void test_queue(const shpool_pool &pool, const char *what, uint32_t bytes,
                              uint32_t first_bytes, uint32_t rounds, uint32_t hold)
{
    const size_t        each = WAIT_THREADS / 32u * rounds;
    std::vector<served> log(each * WAIT_BLOCKS);
    const size_t        room   = log.size() * sizeof(served);
    served             *device = NULL;

    if (gpu_cuda(cudaMalloc(&device, room), "cudaMalloc") &&
        gpu_cuda(cudaMemset(device, 0, room), "cudaMemset")) {
        run(what, pool, queue, WAIT_BLOCKS, WAIT_THREADS, pool.shared_bytes, NULL, bytes,
            first_bytes, rounds, hold, device);
        if (gpu_cuda(cudaMemcpy(log.data(), device, room, cudaMemcpyDeviceToHost), "cudaMemcpy")) {
            print_fairness(pool.name, what, log, each);
        }
    }
    (void)gpu_cuda(cudaFree(device), "cudaFree");
}

#endif /* SHPOOL_TESTS_GPU_GROUPS_WAIT_CUH */
