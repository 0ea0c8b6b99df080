/* SPDX-License-Identifier: BSD-3-Clause */
/* Spill, waiting threads and marks on the GPU, through the function table; groups that request and
 * wait are in groups.cu. */
#include "conformance_kernels.cuh"

/* ---- kernels ---- */

/* Each request needs most of the pool: lanes of a warp, and warps, take turns. */
static __global__ void turns(shpool_pool pool, uint32_t bytes, uint32_t rounds, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_turns[];
    shpool_heap heap = shpool_init(&pool, smem_turns);

    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t tag = threadIdx.x * 977u + round;
        void    *ptr = shpool_malloc_wait(heap, bytes, 2000000u);

        note(c, E_EXHAUSTED, ptr == NULL);
        if (ptr != NULL) {
            fill(ptr, shpool_usable_size(heap, ptr), tag);
            note(c, E_PATTERN, !holds(ptr, shpool_usable_size(heap, ptr), tag));
            note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        }
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* Nested scopes of random depth; allocations below a scope must survive it. */
static __global__ void scopes(shpool_pool pool, uint32_t seed, counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_scopes[];
    shpool_heap heap  = shpool_init(&pool, smem_scopes);
    uint32_t    self  = seed * 7919u + blockIdx.x * 1024u + threadIdx.x;
    uint32_t    state = self * 2654435761u | 1u;

    for (uint32_t round = 0; round < 40; round++) {
        uint32_t mark[4];
        void    *ptr[4];
        size_t   bytes[4];
        uint32_t depth = 1u + random_next(&state) % 4u;

        for (uint32_t d = 0; d < depth; d++) {
            mark[d]  = shpool_mark(heap);
            ptr[d]   = shpool_malloc(heap, 1u + random_next(&state) % 60u);
            bytes[d] = (ptr[d] != NULL) ? shpool_usable_size(heap, ptr[d]) : 0u;
            fill(ptr[d], bytes[d], self + d * 64u);
            (void)shpool_malloc(heap, 16); /* freed only by the mark */
        }
        for (uint32_t d = depth; d-- > 0;) {
            note(c, E_PATTERN, !holds(ptr[d], bytes[d], self + d * 64u));
            note(c, E_REFUSED, shpool_release(heap, mark[d]) != 1u);
        }
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* What the refused requests of a launch took: nanoseconds of all, cycles of the slowest. */
struct refusals {
    unsigned long long count, nanoseconds, slowest;
    uint32_t           arrived; /* blocks, once for each time that all wait for all */
};

/* All blocks of the launch, which run at the same time. */
static __device__ void grid_barrier(refusals *sum, uint32_t times)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&sum->arrived, 1u);
        while (atomicAdd(&sum->arrived, 0u) < times * gridDim.x) {
        }
    }
    __syncthreads();
}

static __device__ unsigned long long nanoseconds()
{
    unsigned long long now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

/* One thread of each block fills everything; then all threads request, in vain. */
static __global__ void refuse(shpool_pool pool, uint32_t bytes, uint32_t rounds, refusals *sum,
                              counts *c)
{
    extern __shared__ __align__(16) unsigned char smem_refuse[];
    shpool_heap        heap = shpool_init(&pool, smem_refuse);
    void             **last = NULL; /* each allocation has the address of the one before */
    unsigned long long start;
    unsigned long long slowest = 0;

    for (void **ptr = NULL; threadIdx.x == 0; last = ptr) {
        ptr = static_cast<void **>(shpool_malloc(heap, bytes));
        if (ptr == NULL) {
            break;
        }
        *ptr = last;
    }
    grid_barrier(sum, 1);
    start = nanoseconds();
    for (uint32_t round = 0; round < rounds; round++) {
        const long long from = clock64();

        note(c, E_BEYOND, shpool_malloc(heap, bytes) != NULL);
        slowest = max(slowest, static_cast<unsigned long long>(clock64() - from));
    }
    atomicAdd(&sum->nanoseconds, nanoseconds() - start);
    atomicAdd(&sum->count, rounds);
    atomicMax(&sum->slowest, slowest);
    grid_barrier(sum, 2);
    while (last != NULL) {
        void *ptr = last;

        last = static_cast<void **>(*last);
        note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        if (last == NULL) { /* a refusal ends when memory is freed */
            ptr = shpool_malloc(heap, bytes);
            note(c, E_EXHAUSTED, ptr == NULL);
            shpool_free(heap, ptr);
        }
    }
    shpool_fini(heap);
}

/* ---- host ---- */

static bool open(const char *name, const char *options, uint32_t threads, uint32_t payload,
                 shpool_pool *pool)
{
    shpool_config want = {};
    char          spec[128];

    want.block_threads = threads;
    want.payload_bytes = payload;
    (void)std::snprintf(spec, sizeof(spec), "%s%s", name, options);
    return gpu_check(shpool_open(spec, &want, pool) == SHPOOL_OK, "open \"%s\": %s", spec,
                     shpool_last_error());
}

static void close(shpool_pool *pool)
{
    (void)gpu_check(shpool_close(pool) == SHPOOL_OK, "close: %s", shpool_last_error());
}

/* Pools far too small: the rest goes to slots, to CUDA's heap, or to both; all is looked at. */
static void test_spill(const shpool_allocator *allocator)
{
    static const struct {
        const char *options;
        bool        slots, native;
    } policies[] = {
        {":spill=arena,spill_bytes=64K", true, false},
        {":spill=arena,spill_bytes=5K,stats=1", true, false},
        {":spill=native", false, true},
        {":spill=arena+native,spill_bytes=4K", true, true},
        {":spill=arena+native,spill_bytes=4K,stats=1", true, true},
        {":spill=arena,spill_bytes=64K,spill_blocks=7", true, false}, /* for most blocks none */
        {":spill=arena,spill_bytes=64K,spill_blocks=9,alignment=1024", true, false},
    };

    for (const auto &policy : policies) {
        for (uint32_t threads : {32u, 100u, 256u}) {
            shpool_pool        pool   = {};
            shpool_report_data report = {};
            const uint32_t     grid   = policy.native ? 60u : 600u; /* CUDA's heap is slow */

            /* a pool for each thread, aligned like that, is more than there is */
            if ((policy.slots && (allocator->scope == SHPOOL_SCOPE_CLUSTER)) ||
                ((std::strstr(policy.options, "alignment") != nullptr) &&
                 (allocator->scope != SHPOOL_SCOPE_BLOCK)) ||
                !open(allocator->name, policy.options, threads, threads * 64u, &pool)) {
                continue;
            }
            run("stress (spill)", pool, stress, grid, threads, pool.shared_bytes, NULL, threads,
                40u, 700u);
            if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s",
                          shpool_last_error())) {
                (void)gpu_check(report.spills > 500, "%s%s: only %llu spills", allocator->name,
                                policy.options, report.spills);
                (void)gpu_check((report.native_spills > 0) == policy.native,
                                "%s%s: %llu native spills", allocator->name, policy.options,
                                report.native_spills);
                (void)gpu_check((report.spills > report.native_spills) == policy.slots,
                                "%s%s: no slots were used", allocator->name, policy.options);
                /* the largest request is one byte more than the pool has, and may exceed a slot */
                (void)gpu_check((report.blocks == grid) &&
                                    (report.status == ((report.refusals == 0)
                                                           ? SHPOOL_OK : SHPOOL_ERR_TOO_LARGE)) &&
                                    (report.bad_frees == 0) && (report.live == 0),
                                "%s%s: blocks %u, status %d, bad frees %u, live %llu",
                                allocator->name, policy.options, report.blocks, report.status,
                                report.bad_frees, report.live);
                if ((pool.flags & SHPOOL_FLAG_STATS) != 0) {
                    shpool_stats_data stats;
                    shpool_status     status = shpool_stats(&pool, &stats);

                    (void)gpu_check((status == SHPOOL_OK) && (stats.mean_cycles > 10) &&
                                        (stats.contention <= 100) &&
                                        (stats.slowest_cycles >= stats.mean_cycles),
                                    "stats: mean %u, slowest %u, contention %u", stats.mean_cycles,
                                    stats.slowest_cycles, stats.contention);
                }
            }
            close(&pool);
        }
    }
}

static void test_waiting(const shpool_allocator *allocator)
{
    for (uint32_t threads : {32u, 256u}) {
        shpool_pool pool = {};
        char        options[32];

        (void)std::snprintf(options, sizeof(options), "%s%s",
                            (allocator->scope == SHPOOL_SCOPE_GROUP) ? ":threads_per_pool=" : "",
                            (allocator->scope == SHPOOL_SCOPE_GROUP) ? "32" : "");
        if (open(allocator->name, options, threads, threads * 64u, &pool)) {
            run("turns", pool, turns, 264, threads, pool.shared_bytes, NULL, pool.largest / 3u,
                20u);
            run("turns", pool, turns, 264, threads, pool.shared_bytes, NULL, pool.largest, 5u);
            close(&pool);
        }
    }
}

static void test_scopes(const shpool_allocator *allocator)
{
    for (const char *options : {":threads_per_pool=1", ":threads_per_pool=1,check=1"}) {
        shpool_pool pool = {};

        if (((allocator->caps & SHPOOL_CAP_MARK) != 0) &&
            open(allocator->name, options, 64, 64 * 500, &pool)) {
            run("scopes", pool, scopes, 500, 64, pool.shared_bytes, NULL, 1u);
            close(&pool);
        }
    }
}

/* Once the slot is full, spilling adds little to what the pool's own refusal takes:
 * doc/SPILL.md. */
static void test_refusals()
{
    static const struct {
        const char *name, *options;
        uint32_t    bytes;
        int         own; /* the row of this pool without a slot; -1: nothing is expected */
    } pools[] = {
        {"bitmap", ":stats=1", 64, -1},
        {"bitmap", ":spill=arena", 64, 0},
        {"bitmap", ":spill=arena,stats=1", 500, 0},
        {"arena", ":stats=1", 64, -1},
        {"arena", ":spill=arena", 64, 3},
        {"bitmap", ":spill=native", 65536, -1},
        {"native", "", 65536, -1},
    };
    double         mean[8]    = {}; /* microseconds of each row */
    refusals      *device_sum = NULL;
    cudaDeviceProp device     = {};

    if (!gpu_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties") ||
        !gpu_cuda(cudaMalloc(&device_sum, sizeof(refusals)), "cudaMalloc")) {
        return;
    }
    for (uint32_t n = 0; n < 6; n++) {
        const uint32_t threads = (n < 2) ? 1u : (n < 4) ? 32u : 1024u;
        const uint32_t grid    = (n % 2 == 0)
                                     ? 1u : static_cast<uint32_t>(device.multiProcessorCount);

        for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
            const auto &p    = pools[i];
            shpool_pool pool = {};
            refusals    sum  = {};

            if (!open(p.name, p.options, threads, threads * 32u, &pool)) {
                continue;
            }
            (void)cudaMemset(device_sum, 0, sizeof(refusals));
            run("refuse", pool, refuse, grid, threads, pool.shared_bytes, NULL, p.bytes,
                (p.bytes < 1000u) ? 100u : 4u, device_sum);
            (void)cudaMemcpy(&sum, device_sum, sizeof(sum), cudaMemcpyDeviceToHost);
            mean[i] = 1e-3 * static_cast<double>(sum.nanoseconds) /
                      static_cast<double>(sum.count + (sum.count == 0));
            std::printf("%s%s: %u blocks of %u threads: a refusal of %u bytes takes %.2f us, at "
                        "most %llu cycles\n", p.name, p.options, grid, threads, p.bytes, mean[i],
                        sum.slowest);
            (void)gpu_check((p.own < 0) || (mean[i] <= 20.0 + 1.5 * mean[p.own]),
                            "%s%s: a refusal takes %.1f us, without a slot %.1f", p.name,
                            p.options, mean[i], mean[(p.own < 0) ? 0 : p.own]);
            close(&pool);
        }
    }
    (void)cudaFree(device_sum);
}

int main(int argc, char **argv)
{
    int device = 0;

    gpu_need_device();
    if (!gpu_cuda(cudaGetDevice(&device), "cudaGetDevice") ||
        !gpu_cuda(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256u << 20), "malloc heap") ||
        !gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc")) {
        return gpu_summary();
    }
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        unsigned                before    = gpu_failed;

        if (((allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) != 0) ||
            ((argc > 1) && (strcmp(argv[1], allocator->name) != 0))) {
            continue;
        }
        test_spill(allocator);
        test_waiting(allocator);
        test_scopes(allocator);
        std::printf("%s: %s\n", allocator->name, (gpu_failed == before) ? "passed" : "FAILED");
        std::fflush(stdout);
    }
    if ((argc <= 1) || (strcmp(argv[1], "refusals") == 0)) {
        test_refusals();
    }
    (void)gpu_cuda(cudaFree(device_counts), "cudaFree");
    return gpu_summary();
}
