/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast pools of scope cluster are: bench_cluster [rounds].  Not run by make check.
 *
 * Workloads, all multiprocessors busy; an operation is one malloc or one free
 *   own      each thread allocates four times from its own block's pool, and frees
 *   remote   the same, but each hands all four to a thread of the next block, which frees them
 *   borrow   the pools of the even blocks are full: their threads allocate from the odd ones, whose
 *            threads only wait, and free
 *   one      as borrow, by one warp of each cluster: cycles of a malloc and of a free
 *
 * The allocating thread writes each payload and the freeing thread checks it.  Medians of seven,
 * after a warm-up of the clocks.  Exit: 0; 1: a payload was changed, a malloc failed or CUDA did;
 * 77: no GPU with clusters. */
#define SHPOOL_INLINE cluster_bitmap
#include <shpool/shpool.cuh>

#include <algorithm>
#include <cstdio>

#define EACH  4u  /* allocations of a thread at a time */
#define BYTES 32u /* of each */
#define RUNS  7

struct outcome {
    unsigned long long failed;   /* mallocs */
    unsigned long long wrong;    /* payloads and frees */
    unsigned long long borrowed; /* mallocs */
    unsigned long long cycles[2]; /* one: of malloc, of free, summed over the warps' first lanes */
};

static __device__ void add(unsigned long long *sum, uint32_t n)
{
    if (n != 0) {
        atomicAdd(sum, n);
    }
}

static __device__ uint32_t rank_of(const void *ptr)
{
    return simt_addr_rank(simt_to_shared(ptr));
}

static __device__ uint32_t *take(shpool_heap heap, uint32_t word, uint32_t *failed)
{
    uint32_t *ptr = static_cast<uint32_t *>(shpool_malloc(heap, BYTES));

    *failed += ptr == NULL;
    if (ptr != NULL) {
        *ptr = word;
    }
    return ptr;
}

static __device__ void give(shpool_heap heap, uint32_t *ptr, uint32_t word, uint32_t *wrong)
{
    if (ptr != NULL) {
        *wrong += *ptr != word;
        *wrong += shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK;
    }
}

static __global__ void own_kernel(shpool_pool pool, uint32_t rounds, outcome *o)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    uint32_t    self = simt_block_rank() * 1024u + simt_thread_rank();
    uint32_t    failed = 0;
    uint32_t    wrong = 0;
    uint32_t    borrowed = 0;
    uint32_t   *ptr[EACH];

    for (uint32_t round = 0; round < rounds; round++) {
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            ptr[i] = take(heap, self + i, &failed);
            borrowed += rank_of(ptr[i]) != simt_cluster_rank();
        }
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            give(heap, ptr[i], self + i, &wrong);
        }
    }
    add(&o->failed, failed);
    add(&o->wrong, wrong);
    add(&o->borrowed, borrowed);
    shpool_fini(heap);
}

static __global__ void remote_kernel(shpool_pool pool, uint32_t rounds, outcome *o)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ uint32_t *box[EACH][SHPOOL_MAX_THREADS];
    shpool_heap heap   = shpool_init(&pool, smem);
    uint32_t    rank   = simt_thread_rank();
    uint32_t    self   = simt_cluster_rank() * 1024u + rank;
    uint32_t    next   = (simt_cluster_rank() + 1u) % simt_cluster_blocks();
    uint32_t    last   = (simt_cluster_rank() + simt_cluster_blocks() - 1u) % simt_cluster_blocks();
    uint32_t ***theirs = static_cast<uint32_t ***>(
        simt_from_window(simt_window(), /* not simt_from_shared(): that would be LDS */
                         simt_map_cluster(simt_to_shared(&box[0][rank]), next)));
    uint32_t    failed = 0;
    uint32_t    wrong = 0;
    uint32_t    borrowed = 0;

    for (uint32_t round = 0; round < rounds; round++) {
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            uint32_t *ptr = take(heap, self + i, &failed);

            borrowed += rank_of(ptr) != simt_cluster_rank();
            *reinterpret_cast<uint32_t **>(theirs + i * SHPOOL_MAX_THREADS) = ptr;
        }
        simt_cluster_barrier();
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            give(heap, box[i][rank], last * 1024u + rank + i, &wrong);
        }
        simt_cluster_barrier();
    }
    add(&o->failed, failed);
    add(&o->wrong, wrong);
    add(&o->borrowed, borrowed);
    shpool_fini(heap);
}

static __global__ void borrow_kernel(shpool_pool pool, uint32_t rounds, outcome *o)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    uint32_t    self = simt_block_rank() * 1024u + simt_thread_rank();
    bool        poor = simt_cluster_rank() % 2u == 0;
    uint32_t    failed = 0;
    uint32_t    wrong = 0;
    uint32_t    borrowed = 0;
    uint32_t   *ptr[EACH];

    if (poor && (simt_thread_rank() == 0)) {
        add(&o->failed, shpool_malloc_shared(heap, pool.largest) == NULL);
    }
    simt_cluster_barrier();
    for (uint32_t round = 0; poor && (round < rounds); round++) {
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            ptr[i] = take(heap, self + i, &failed);
            borrowed += rank_of(ptr[i]) != simt_cluster_rank();
        }
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            give(heap, ptr[i], self + i, &wrong);
        }
    }
    add(&o->failed, failed);
    add(&o->wrong, wrong);
    add(&o->borrowed, borrowed);
    shpool_fini(heap);
}

static __global__ void one_kernel(shpool_pool pool, uint32_t rounds, outcome *o)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    uint32_t    failed = 0;
    uint32_t    wrong = 0;
    long long   cycles[2] = {0, 0};

    if ((simt_cluster_rank() == 0) && (simt_thread_rank() == 0) && (simt_cluster_blocks() > 1)) {
        add(&o->failed, shpool_malloc_shared(heap, pool.largest) == NULL);
    }
    simt_cluster_barrier();
    for (uint32_t round = 0; (simt_cluster_rank() == 0) && (simt_warp() == 0) && (round < rounds);
         round++) {
        long long begin = clock64();
        uint32_t *ptr   = take(heap, round, &failed);
        long long got   = clock64();

        give(heap, ptr, round, &wrong);
        cycles[0] += got - begin;
        cycles[1] += clock64() - got;
    }
    add(&o->failed, failed);
    add(&o->wrong, wrong);
    if ((simt_cluster_rank() == 0) && (simt_thread_rank() == 0)) {
        atomicAdd(&o->cycles[0], static_cast<unsigned long long>(cycles[0]));
        atomicAdd(&o->cycles[1], static_cast<unsigned long long>(cycles[1]));
    }
    shpool_fini(heap);
}

/* ---- host ---- */

typedef void (*kernel_fn)(shpool_pool, uint32_t, outcome *);

static outcome *device_outcome;

static bool fine(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::printf("FAIL %s\n", cudaGetErrorString(error));
    }
    return error == cudaSuccess;
}

/* Clusters that the device holds at the same time. */
static int clusters_at_once(kernel_fn kernel, unsigned blocks, unsigned threads, size_t bytes)
{
    cudaLaunchConfig_t  config    = {};
    cudaLaunchAttribute attribute = {};
    int                 count     = 0;

    config.gridDim             = dim3(blocks);
    config.blockDim            = dim3(threads);
    config.dynamicSmemBytes    = bytes;
    attribute.id               = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    config.attrs               = &attribute;
    config.numAttrs            = 1;
    return ((shpool_allow_shared(kernel, bytes) == SHPOOL_OK) &&
            fine(cudaOccupancyMaxActiveClusters(&count, kernel, &config))) ? count : 0;
}

/* One row; share: of the blocks that have operations. */
static bool measure(const char *name, kernel_fn kernel, unsigned blocks, unsigned threads,
                    uint32_t rounds, double share)
{
    shpool_config want = {};
    shpool_pool   pool = {};
    cudaEvent_t   from;
    cudaEvent_t   to;
    outcome       zero = {};
    outcome       o    = {};
    float         ms[RUNS];
    int           clusters;
    double        mallocs;

    want.block_threads = threads;
    want.payload_bytes = threads * EACH * BYTES * 5u / 4u;
    want.payload_bytes = std::max(want.payload_bytes, threads * 176u);
    if (shpool_open(NULL, &want, &pool) != SHPOOL_OK) {
        std::printf("FAIL %s\n", shpool_last_error());
        return false;
    }
    clusters = clusters_at_once(kernel, blocks, threads, pool.shared_bytes);
    if (clusters == 0) {
        std::printf("%-7s %2u %5u: does not fit\n", name, blocks, threads);
        return true;
    }
    if (!fine(cudaEventCreate(&from)) || !fine(cudaEventCreate(&to))) {
        return false;
    }
    for (int run = -3; run < RUNS; run++) { /* the first ones wake the clocks */
        if (!fine(cudaMemcpy(device_outcome, &zero, sizeof(zero), cudaMemcpyHostToDevice)) ||
            !fine(cudaEventRecord(from))) {
            return false;
        }
        if (shpool_launch_cluster(kernel, dim3(blocks * clusters), dim3(blocks), dim3(threads),
                                  pool.shared_bytes, 0, pool, rounds, device_outcome) !=
            SHPOOL_OK) {
            std::printf("FAIL %s\n", shpool_last_error());
            return false;
        }
        if (!fine(cudaEventRecord(to)) || !fine(cudaEventSynchronize(to)) ||
            !fine(cudaEventElapsedTime(&ms[std::max(run, 0)], from, to))) {
            return false;
        }
    }
    if (!fine(cudaMemcpy(&o, device_outcome, sizeof(o), cudaMemcpyDeviceToHost))) {
        return false;
    }
    std::sort(ms, ms + RUNS);
    if (kernel == one_kernel) {
        std::printf("%-7s %2u %5u %6d blocks  malloc %.0f cycles, free %.0f\n", name, blocks,
                    threads, clusters * static_cast<int>(blocks),
                    static_cast<double>(o.cycles[0]) / clusters / rounds,
                    static_cast<double>(o.cycles[1]) / clusters / rounds);
    } else {
        mallocs = share * blocks * clusters * threads * rounds * static_cast<double>(EACH);
        std::printf("%-7s %2u %5u %6d blocks %8.2f Gop/s  %5.1f %% borrowed\n", name, blocks,
                    threads, clusters * static_cast<int>(blocks),
                    2.0 * mallocs / ms[RUNS / 2] / 1e6,
                    100.0 * static_cast<double>(o.borrowed) / mallocs);
    }
    if ((o.failed != 0) || (o.wrong != 0)) {
        std::printf("FAIL %llu mallocs failed, %llu payloads or frees wrong\n", o.failed, o.wrong);
    }
    (void)cudaEventDestroy(from);
    (void)cudaEventDestroy(to);
    return (o.failed == 0) && (o.wrong == 0) && (shpool_close(&pool) == SHPOOL_OK);
}

int main(int argc, char **argv)
{
    static const unsigned threads[] = {128, 256, 512, 1024};
    uint32_t              rounds    = (argc > 1) ? static_cast<uint32_t>(atoi(argv[1])) : 500u;
    cudaDeviceProp        device    = {};
    bool                  ok        = true;

    if ((cudaGetDeviceProperties(&device, 0) != cudaSuccess) || (device.major < 9)) {
        std::printf("no GPU with clusters\n");
        return 77;
    }
    unsetenv("SHPOOL_ALLOCATOR");
    std::printf("%s, %d multiprocessors, %u rounds of %u mallocs of %u bytes and their frees\n",
                device.name, device.multiProcessorCount, rounds, EACH, BYTES);
    std::printf("workload, blocks of a cluster, threads of a block\n");
    if (!fine(cudaMalloc(&device_outcome, sizeof(outcome)))) {
        return 1;
    }
    for (unsigned blocks = 1; blocks <= 8; blocks *= 2) {
        for (unsigned count : threads) {
            ok = measure("own", own_kernel, blocks, count, rounds, 1.0) && ok;
            ok = measure("remote", remote_kernel, blocks, count, rounds, 1.0) && ok;
            if (blocks > 1) {
                ok = measure("borrow", borrow_kernel, blocks, count, rounds, 0.5) && ok;
            }
        }
        ok = measure("one", one_kernel, blocks, 32, rounds, 1.0) && ok;
    }
    (void)cudaFree(device_outcome);
    return ok ? 0 : 1;
}
