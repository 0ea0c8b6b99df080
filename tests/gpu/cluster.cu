/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of scope cluster on a GPU: clusters of 1, 2, 4 and 8 blocks, patterns in every payload,
 * memory that is borrowed, and freed by other blocks than those that allocated it.
 * gpu_cluster quick: less of it, for sanitizers.  Exit: 0; 1: something failed; 77: no GPU. */
#include "trial.h"

#define SLOTS 4u

/* A block's word in a block of the cluster, by its own address. */
template <typename T> static __device__ T *in_block(T *own, uint32_t rank)
{
    /* not simt_from_shared(): nvcc then takes the pointer for one of this block, and uses LDS */
    return static_cast<T *>(
        simt_from_window(simt_window(), simt_map_cluster(simt_to_shared(own), rank)));
}

static __device__ uint32_t owner_of(const void *ptr)
{
    return simt_addr_rank(simt_to_shared(ptr));
}

/* simt.h's properties of addresses: the rank in the top byte, one window for all. */
static __global__ void seam(shpool_pool pool, counts *c)
{
    __shared__ uint32_t words[32];
    uint32_t  lane = simt_thread_rank() & 31u;
    uint32_t  own  = simt_cluster_rank();
    uint32_t  next = (own + 1u) % simt_cluster_blocks();
    uint32_t *far  = in_block(&words[lane], next);

    (void)pool;
    words[lane] = own;
    simt_cluster_barrier();
    note(c, E_WINDOW, simt_addr_rank(simt_to_shared(&words[lane])) != own);
    note(c, E_WINDOW, owner_of(far) != next);
    note(c, E_WINDOW, !simt_is_within(simt_window(), far));
    note(c, E_WINDOW, simt_from_window(simt_window(), simt_to_shared(far)) != far);
    note(c, E_WINDOW, simt_map_cluster(simt_to_shared(words), own) != simt_to_shared(words));
    note(c, E_WINDOW, (simt_is_shared(far) != 0) != (next == own));
    note(c, E_PATTERN, *far != next);
    note(c, E_PATTERN, simt_cluster_load32(simt_to_shared(far)) != next);
    simt_cluster_barrier();
    (void)simt_cluster_atomic_add(simt_to_shared(far), 1000u, SIMT_ACQ_REL);
    (void)simt_near_atomic_add(simt_to_shared(&words[lane]), 100000u, SIMT_ACQ_REL);
    simt_cluster_barrier();
    note(c, E_PATTERN, words[lane] != own + blockDim.x / 32u * 101000u);
    simt_cluster_barrier();
}

/* Random calls; every eighth round each thread passes an allocation to a thread of the next block.
 * Block 0 of each cluster wants most. */
static __global__ void stress(shpool_pool pool, uint32_t seed, uint32_t rounds, uint32_t share,
                              counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    __shared__ void    *box[SHPOOL_MAX_THREADS];
    __shared__ uint32_t box_tag[SHPOOL_MAX_THREADS];
    shpool_heap heap   = shpool_init(&pool, smem);
    uint32_t    rank   = simt_thread_rank();
    uint32_t    blocks = simt_cluster_blocks();
    uint32_t    next   = (simt_cluster_rank() + 1u) % blocks;
    uint32_t    self   = simt_block_rank() * 1024u + rank;
    uint32_t    state  = (seed * 7919u + self) * 2654435761u;
    uint32_t    tag    = state | 1u;
    void       *ptr[SLOTS]  = {};
    uint32_t    tags[SLOTS] = {};

    state |= 1u;
    share = (simt_cluster_rank() == 0) ? 2u * share * blocks : share;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t r = random_next(&state);
        uint32_t s = r % SLOTS;
        size_t   n = 1u + random_next(&state) % share;
        void    *got = NULL;

        if (ptr[s] == NULL) {
            got = ((r & 0x30u) == 0) ? shpool_calloc(heap, (n + 3u) / 4u, 4u)
                                     : shpool_malloc(heap, n);
            for (size_t i = 0; ((r & 0x30u) == 0) && (got != NULL) && (i < (n + 3u) / 4u); i++) {
                note(c, E_DIRTY, static_cast<uint32_t *>(got)[i] != 0);
            }
        } else if ((r & 0x70u) == 0) {
            size_t old  = shpool_usable_size(heap, ptr[s]);

            got = shpool_realloc(heap, ptr[s], n);
            note(c, E_LOST, (got != NULL) && !holds(got, (old < n) ? old : n, tags[s]));
            if (got == NULL) {
                got = ptr[s];
                n   = 0;
            }
        } else {
            note(c, E_PATTERN, !holds(ptr[s], shpool_usable_size(heap, ptr[s]), tags[s]));
            note(c, E_REFUSED, shpool_free_at(heap, ptr[s], 0) != SHPOOL_FREE_OK);
        }
        ptr[s] = got;
        if (got != NULL) {
            tags[s] = ++tag;
            note(c, E_MISALIGNED, !is_aligned(got, 16));
            note(c, E_USABLE, shpool_usable_size(heap, got) < n);
            note(c, E_WINDOW, owner_of(got) >= blocks);
            fill(got, shpool_usable_size(heap, got), tags[s]);
            tally(c, T_MALLOCS, 1);
            tally(c, T_LEAKS, owner_of(got) != simt_cluster_rank()); /* borrowed */
        } else {
            tally(c, T_NULLS, 1);
        }
        if (round % 8u == 7u) {
            s = round / 8u % SLOTS;
            *in_block(&box[rank], next)     = ptr[s];
            *in_block(&box_tag[rank], next) = tags[s];
            simt_cluster_barrier();
            ptr[s]  = box[rank];
            tags[s] = box_tag[rank];
            simt_cluster_barrier();
        }
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        if (ptr[s] != NULL) {
            note(c, E_PATTERN, !holds(ptr[s], shpool_usable_size(heap, ptr[s]), tags[s]));
            note(c, E_REFUSED, shpool_free_at(heap, ptr[s], 0) != SHPOOL_FREE_OK);
        }
    }
    simt_cluster_barrier();
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* One thread allocates all memory of the cluster, in order; the last block frees it. */
static __global__ void order(shpool_pool pool, uint32_t bytes, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    __shared__ uint32_t *head;
    shpool_heap heap   = shpool_init(&pool, smem);
    uint32_t    blocks = simt_cluster_blocks();
    uint32_t    each   = pool.largest / bytes;

    for (uint32_t me = 0; me < blocks; me++) {
        if ((simt_cluster_rank() == me) && (simt_thread_rank() == 0)) {
            uint32_t *list  = NULL;
            uint32_t  count = 0;
            uint32_t *got;

            while ((got = static_cast<uint32_t *>(shpool_malloc(heap, bytes))) != NULL) {
                note(c, E_EXHAUSTED, owner_of(got) != (me + count / each) % blocks);
                *reinterpret_cast<uint32_t **>(got) = list; /* a chain through all of them */
                list = got;
                count++;
            }
            note(c, E_EXHAUSTED, count != blocks * each);
            note(c, E_BEYOND, shpool_malloc_shared(heap, bytes) != NULL);
            *in_block(&head, blocks - 1u) = list;
        }
        simt_cluster_barrier();
        if ((simt_cluster_rank() == blocks - 1u) && (simt_thread_rank() == blockDim.x - 1u)) {
            uint32_t *list = head;

            while (list != NULL) {
                uint32_t *next = *reinterpret_cast<uint32_t **>(list);

                note(c, E_REFUSED, shpool_free_at(heap, list, 0) != SHPOOL_FREE_OK);
                note(c, E_ACCEPTED, shpool_free_at(heap, list, 0) != SHPOOL_FREE_DOUBLE);
                list = next;
            }
        }
        simt_cluster_barrier();
    }
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* All threads of the cluster fight for less than they want; each looks for its pattern. */
static __global__ void rush(shpool_pool pool, uint32_t rounds, uint32_t bytes, counts *c)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    uint32_t    self = simt_block_rank() * 1024u + simt_thread_rank();

    for (uint32_t round = 0; round < rounds; round++) {
        size_t n   = 16u + (self * 7u + round * 16u) % bytes;
        void  *ptr = shpool_malloc(heap, n);

        if (ptr == NULL) {
            continue;
        }
        fill(ptr, n & ~static_cast<size_t>(3), self + round);
        note(c, E_PATTERN, !holds(ptr, n & ~static_cast<size_t>(3), self + round));
        note(c, E_REFUSED, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        tally(c, T_MALLOCS, 1);
        tally(c, T_LEAKS, owner_of(ptr) != simt_cluster_rank());
    }
    simt_cluster_barrier();
    at_rest(pool, heap, c);
    shpool_fini(heap);
}

/* ---- host ---- */

static unsigned long long tallies[T_COUNT];

template <typename... Parameters, typename... Arguments>
static void launch(const char *what, const shpool_pool &pool, void (*kernel)(Parameters...),
                   unsigned blocks, unsigned clusters, unsigned threads, Arguments... arguments)
{
    counts        zero = {};
    counts        c    = {};
    shpool_status status;

    if (!gpu_cuda(cudaMemcpy(device_counts, &zero, sizeof(zero), cudaMemcpyHostToDevice),
                  "cudaMemcpy (counts)")) {
        return;
    }
    status = shpool_launch_cluster(kernel, dim3(blocks * clusters), dim3(blocks), dim3(threads),
                                   pool.shared_bytes, 0, pool, arguments..., device_counts);
    if (!gpu_check(status == SHPOOL_OK, "%s, clusters of %u: %s", what, blocks,
                   shpool_last_error())) {
        return;
    }
    gpu_wait(what);
    if (!gpu_cuda(cudaMemcpy(&c, device_counts, sizeof(c), cudaMemcpyDeviceToHost),
                  "cudaMemcpy (counts)")) {
        return;
    }
    for (int kind = 0; kind < E_COUNT; kind++) {
        (void)gpu_check(c.error[kind] == 0, "%s: %s (%u times; clusters of %u, %u threads, %u B)",
                        what, error_text[kind], c.error[kind], blocks, threads, pool.shared_bytes);
    }
    memcpy(tallies, c.tally, sizeof(tallies));
}

/* In clusters blocks have pools of their own as ever. */
static void test_block_pools(unsigned blocks)
{
    shpool_config want = {};
    shpool_pool   pool = {};

    want.block_threads = 128;
    want.payload_bytes = 20000;
    if (gpu_check(shpool_open("bitmap", &want, &pool) == SHPOOL_OK, "open: %s",
                  shpool_last_error())) {
        launch("bitmap's rush", pool, rush, blocks, 16, 128, 100u, 100u);
        (void)gpu_check((tallies[T_MALLOCS] == 100ull * 128u * 16u * blocks) &&
                            (tallies[T_LEAKS] == 0),
                        "bitmap in clusters of %u: %llu mallocs, %llu of them elsewhere", blocks,
                        tallies[T_MALLOCS], tallies[T_LEAKS]);
        (void)shpool_close(&pool);
    }
}

/* Zones around borrowed memory, too; nothing is left at the end. */
static void test_checked(unsigned blocks)
{
    shpool_config      want   = {};
    shpool_pool        pool   = {};
    shpool_report_data report = {};

    want.block_threads = 256;
    want.payload_bytes = 30000;
    if (!gpu_check(shpool_open("cluster_bitmap:check=1", &want, &pool) == SHPOOL_OK, "open: %s",
                   shpool_last_error())) {
        return;
    }
    launch("stress (check=1)", pool, stress, blocks, 16, 256, 5u, 100u, 60u);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "%s", shpool_last_error())) {
        (void)gpu_check((report.live == 0) && (report.live_bytes == 0) && (report.leaks == 0),
                        "clusters of %u: %llu live, %u leaks", blocks, report.live, report.leaks);
        (void)gpu_check((report.bad_frees == 0) && (report.corrupt == 0),
                        "clusters of %u: %u bad frees, %u pools damaged", blocks,
                        report.bad_frees, report.corrupt);
        (void)gpu_check((report.mallocs == report.frees + report.failures) &&
                            (report.frees > 0) && (report.blocks == 16u * blocks),
                        "clusters of %u: %llu mallocs, %llu frees, %llu failures, %u blocks",
                        blocks, report.mallocs, report.frees, report.failures, report.blocks);
    }
    (void)shpool_close(&pool);
}

static void test_clusters_of(unsigned blocks, bool quick)
{
    static const uint32_t sizes[]   = {2000, 20000, 60000};
    static const uint32_t threads[] = {1, 33, 128, 256, 1024};

    for (uint32_t bytes : sizes) {
        for (uint32_t count : threads) {
            shpool_config want = {};
            shpool_pool   pool = {};

            if (quick && ((bytes == 60000) || ((count != 33) && (count != 256)))) {
                continue;
            }
            want.block_threads = count;
            want.payload_bytes = bytes;
            if (!gpu_check(shpool_open("cluster_bitmap", &want, &pool) == SHPOOL_OK, "open: %s",
                           shpool_last_error())) {
                continue;
            }
            launch("stress", pool, stress, blocks, 16, count, 1u + count, 200u,
                   bytes / count / 3u + 16u);
            (void)gpu_check((blocks == 1) == (tallies[T_LEAKS] == 0),
                            "stress: clusters of %u, %u threads, %u B: %llu of %llu borrowed",
                            blocks, count, bytes, tallies[T_LEAKS], tallies[T_MALLOCS]);
            launch("rush", pool, rush, blocks, 16, count, 100u, bytes * 2u / count + 16u);
            if (bytes == sizes[0]) { /* each malloc looks at all that is taken */
                launch("order", pool, order, blocks, 4, count, 16u);
            }
            (void)shpool_close(&pool);
        }
    }
}

int main(int argc, char **argv)
{
    static const unsigned clusters[] = {1, 2, 4, 8};
    int                   device     = 0;
    uint32_t              major      = 0;
    shpool_config         want       = {};
    shpool_pool           pool       = {};

    if ((cudaGetDeviceCount(&device) != cudaSuccess) || (device == 0)) {
        std::printf("no GPU\n");
        return 77;
    }
    unsetenv("SHPOOL_ALLOCATOR");
    if (!gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc") ||
        (shpool_device_get(cudaDevAttrComputeCapabilityMajor, "cudaDeviceGetAttribute", &major) !=
         SHPOOL_OK)) {
        return 1;
    }
    want.block_threads = 256;
    want.payload_bytes = 1000;
    (void)gpu_check(shpool_open("cluster_bitmap", &want, &pool) == SHPOOL_OK, "open: %s",
                    shpool_last_error());
    for (unsigned blocks : clusters) {
        if ((blocks > 1) && (major < 9)) { /* says so instead of launching */
            (void)gpu_check(shpool_launch_cluster(seam, dim3(blocks), dim3(blocks), dim3(256), 0, 0,
                                                  pool, device_counts) == SHPOOL_ERR_UNSUPPORTED,
                            "clusters of %u below sm_90", blocks);
            continue;
        }
        launch("seam", pool, seam, blocks, 8, 256);
        test_block_pools(blocks);
        test_checked(blocks);
        test_clusters_of(blocks, (argc > 1) && (strcmp(argv[1], "quick") == 0));
    }
    (void)shpool_close(&pool);
    (void)cudaFree(device_counts);
    std::printf("%u checks passed, %u failed\n", gpu_passed, gpu_failed);
    return (gpu_failed == 0) ? 0 : 1;
}
