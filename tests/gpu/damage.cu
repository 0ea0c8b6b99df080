/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stray stores of a known thread into a pool's own data, with check=1, on a GPU.
 *
 * strays: each block changes another word of its pools, then all threads go on.  No launch may
 * hang, no word after the pools may change, and no contents of a live allocation without a report.
 *
 * named: the lock, a word of the statistics area, a word of a spill slot, and a zone.  The next
 * call must refuse, and the report must have the invariant, the address, the thread and the site.
 *
 * Exit code 0: all passed, 1: something failed, 77: no device.  Arguments: allocators to test;
 * none: all.
 */
#include "trial.h"

#define THREADS 64u
#define BLOCKS  256u /* words that are changed in a launch */
#define CULPRIT 5u   /* rank of the thread that makes the stray store */
#define GUARD   256u /* bytes after the pools */
#define FILL    0x5a5a5a5au

struct outcome {
    uint32_t           spoilt;  /* contents that changed */
    uint32_t           seen;    /* calls that refused, pools that shpool_check() found broken */
    uint32_t           outside; /* words of the guard that changed */
    uint32_t           null;    /* allocations that gave NULL after the store */
    unsigned long long at;      /* where it was, a generic address */
};

static __device__ uint32_t *guard_of(const shpool_pool &pool, unsigned char *smem)
{
    return reinterpret_cast<uint32_t *>(smem + pool.shared_bytes);
}

/* Whether the word at `at` is in one of the payloads. */
static __device__ bool is_payload(const unsigned char *at, unsigned char *const *live)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        if ((live[i] != NULL) && (at + 4 > live[i]) && (at < live[i] + 40)) {
            return true;
        }
    }
    return false;
}

static __device__ uint32_t other_value(uint32_t held, uint32_t kind)
{
    switch (kind) {
    case 0: return 0;
    case 1: return ~0u;
    case 2: return held + 1u;
    case 3: return held ^ (1u << (simt_block_rank() & 31u));
    default: return simt_block_rank() * 2654435761u ^ held;
    }
}

static __global__ void __launch_bounds__(THREADS) strays(shpool_pool pool, uint32_t kind,
                                                         outcome *out)
{
    extern __shared__ __align__(64) unsigned char smem[];
    __shared__ unsigned char *live[THREADS];
    const uint32_t rank  = simt_thread_rank();
    outcome       *mine  = out + simt_block_rank();
    uint32_t      *guard = guard_of(pool, smem);
    void          *hole;
    void          *more;

    guard[rank % (GUARD / 4u)] = FILL;
    shpool_heap heap = shpool_init(&pool, smem);
    live[rank]       = static_cast<unsigned char *>(shpool_malloc_at(heap, 40, rank));
    hole             = shpool_malloc(heap, 56);
    if (live[rank] != NULL) {
        fill(live[rank], 40, rank);
    }
    shpool_free(heap, hole);
    __syncthreads();
    if (rank == CULPRIT) {
        unsigned char *at = smem + pool.area_bytes +
                            4u * simt_block_rank() % (pool.pools * pool.pool_bytes);
        uint32_t      *word = reinterpret_cast<uint32_t *>(at);

        if (!is_payload(at, live)) {
            *word = other_value(*word, kind);
        }
    }
    __syncthreads();
    more = shpool_malloc(heap, 40);
    if (more != NULL) {
        fill(more, 40, THREADS + rank);
    }
    atomicAdd(&mine->null, more == NULL);
    __syncthreads();
    if ((live[rank] != NULL) && (rank % 2u == 0)) {
        atomicAdd(&mine->spoilt, !holds(live[rank], 40, rank));
        atomicAdd(&mine->seen, shpool_free_at(heap, live[rank], 0) != SHPOOL_FREE_OK);
    } else if (live[rank] != NULL) {
        atomicAdd(&mine->spoilt, !holds(live[rank], 40, rank));
    }
    if (more != NULL) {
        atomicAdd(&mine->spoilt, !holds(more, 40, THREADS + rank));
        atomicAdd(&mine->seen, shpool_free_at(heap, more, 0) != SHPOOL_FREE_OK);
    }
    __syncthreads();
    if (is_leader(heap)) {
        atomicAdd(&mine->seen, shpool_check(heap).broken != 0);
    }
    shpool_fini(heap);
    __syncthreads();
    if (rank < GUARD / 4u) {
        atomicAdd(&mine->outside, guard[rank] != FILL);
    }
}

enum place { LOCK, AREA, SLOT, ZONE, PLACES };
static const char *const place_name[PLACES] = {"lock", "area", "slot", "zone"};

/* The word of a place, from thread CULPRIT's view. */
static __device__ uint32_t *word_at(const shpool_heap &heap, place where, uint32_t lock, void *ptr)
{
    switch (where) {
    case LOCK: return static_cast<uint32_t *>(simt_from_shared(heap.view.base + lock));
    case AREA:
        return static_cast<uint32_t *>(simt_from_shared(heap.view.area + SHPOOL_AREA_MALLOCS));
    case SLOT:
        return static_cast<uint32_t *>(simt_from_shared(heap.view.area + SHPOOL_AREA_SLOT_BYTES));
    default: return static_cast<uint32_t *>(ptr) + 10; /* after 40 bytes */
    }
}

static __global__ void __launch_bounds__(THREADS) named(shpool_pool pool, place where,
                                                        uint32_t lock, outcome *out)
{
    extern __shared__ __align__(64) unsigned char smem[];
    shpool_heap    heap = shpool_init(&pool, smem);
    const uint32_t rank = simt_thread_rank();
    void          *ptr  = (rank == CULPRIT) ? shpool_malloc_at(heap, 40, 1000) : NULL;
    void          *far  = (rank == CULPRIT) ? shpool_malloc_at(heap, 40000, 1001) : NULL;

    __syncthreads();
    if (rank == CULPRIT) {
        uint32_t *word = word_at(heap, where, lock, ptr);

        out->at = (unsigned long long)word;
        *word ^= 0x10u;
        __threadfence_block();
        if (where != AREA) {
            void *next = shpool_malloc(heap, (where == SLOT) ? 40000 : 40);

            out->null = (next == NULL);
            out->seen = shpool_free_at(heap, (where == SLOT) ? far : ptr, 2000);
        }
    }
    __syncthreads();
    shpool_fini(heap);
}

/* ---- host ---- */

static outcome  results[BLOCKS];
static outcome *device_results;

/* Launches a kernel with parameters; false: a reason has been printed. */
template <typename... Parameters, typename... Arguments>
static bool go(const shpool_pool &pool, const char *what, uint32_t blocks,
               void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};

    if (!gpu_cuda(cudaMemset(device_results, 0, sizeof(results)), "cudaMemset")) {
        return false;
    }
    config.gridDim          = blocks;
    config.blockDim         = THREADS;
    config.dynamicSmemBytes = pool.shared_bytes + GUARD;
    if (launch<Parameters...>(pool, kernel, config, pool, arguments..., device_results) !=
        SHPOOL_OK) {
        return gpu_check(false, "%s %s: %s", pool.name, what, shpool_last_error());
    }
    gpu_wait(what);
    return gpu_cuda(cudaMemcpy(results, device_results, sizeof(results), cudaMemcpyDeviceToHost),
                    "cudaMemcpy");
}

static void test_strays(const char *spec)
{
    uint32_t seen = 0;

    for (uint32_t kind = 0; kind < 5; kind++) {
        shpool_report_data report = {};
        shpool_pool        pool   = {};

        if (!gpu_check(open_within(spec, THREADS, 40u * 1024u, 0, &pool), "%s: no pool", spec)) {
            return;
        }
        if (go(pool, "strays", BLOCKS, strays, kind) &&
            gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "%s: %s", spec,
                      shpool_last_error())) {
            (void)gpu_check(report.blocks == BLOCKS, "%s: %u blocks ended", spec, report.blocks);
            for (uint32_t i = 0; i < BLOCKS; i++) {
                const outcome &o = results[i];

                (void)gpu_check((o.outside == 0) && ((o.spoilt == 0) || (o.seen != 0)),
                                "%s, word %u, kind %u: %u contents changed, %u reports, %u words "
                                "outside, %u NULL", spec, i, kind, o.spoilt, o.seen, o.outside,
                                o.null);
                seen += (o.seen != 0);
            }
        }
        (void)shpool_close(&pool);
    }
    std::printf("%s: %u words changed, %u blocks reported it before fini\n", spec, 5u * BLOCKS,
                seen);
}

/* What the report says of a bad free: who made it, where, and whose allocation it was. */
static void check_free(const char *spec, place where, const shpool_report_data &report)
{
    const shpool_bad_free &bad = report.bad_free[0];

    (void)gpu_check((report.bad_frees == 1) && (bad.reason == SHPOOL_FREE_CORRUPT) &&
                        (bad.thread == CULPRIT) && (bad.site == 2000u) && (bad.block == 0),
                    "%s, %s: %u bad frees, of thread %u, reason %u, site %u", spec,
                    place_name[where], report.bad_frees, bad.thread, bad.reason, bad.site);
    if (where == ZONE) {
        (void)gpu_check((bad.malloc_site == 1000u) && (bad.malloc_thread == CULPRIT),
                        "%s, zone: allocated at site %u by thread %u", spec, bad.malloc_site,
                        bad.malloc_thread);
    }
}

static void test_named(const char *spec, place where, uint32_t lock)
{
    static const uint32_t broken[PLACES] = {SHPOOL_BROKEN_LOCK, SHPOOL_BROKEN_AREA,
                                            SHPOOL_BROKEN_AREA, SHPOOL_BROKEN_ZONE};
    shpool_report_data report = {};
    shpool_pool        pool   = {};

    if (!gpu_check(open_within(spec, THREADS, 24u * 1024u, 0, &pool), "%s: no pool", spec)) {
        return;
    }
    if (go(pool, place_name[where], 1, named, where, lock) &&
        gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "%s: %s", spec,
                  shpool_last_error())) {
        (void)gpu_check((report.broken == broken[where]) && (report.corrupt >= 1) &&
                            (report.blocks == 1),
                        "%s, %s: broken %u, corrupt %u", spec, place_name[where], report.broken,
                        report.corrupt);
        /* a zone is that of an allocation, 40 bytes before */
        (void)gpu_check(report.broken_at == results[0].at - ((where == ZONE) ? 40u : 0u),
                        "%s, %s: at %llx, not %llx", spec, place_name[where], report.broken_at,
                        results[0].at);
        if (where != AREA) {
            (void)gpu_check((results[0].seen == SHPOOL_FREE_CORRUPT) &&
                                ((where == ZONE) || (results[0].null == 1)),
                            "%s, %s: the next calls: NULL %u, free %u", spec, place_name[where],
                            results[0].null, results[0].seen);
            check_free(spec, where, report);
        }
    }
    (void)shpool_close(&pool);
}

static void test(const shpool_allocator *allocator)
{
    const uint32_t lock = (strcmp(allocator->name, "arena") == 0) ? 8u : 4u;
    char           spec[96];

    spec_of(allocator, "check=1", spec);
    test_strays(spec);
    test_named(spec, AREA, 0);
    test_named(spec, ZONE, 0);
    if (allocator->scope == SHPOOL_SCOPE_GROUP) {
        spec_of(allocator, "check=1,threads_per_pool=8", spec);
        test_named(spec, LOCK, lock);
        test_strays(spec);
    }
    if (allocator->scope != SHPOOL_SCOPE_CLUSTER) { /* a slot belongs to one block */
        spec_of(allocator, "check=1,spill=arena,spill_bytes=256K,spill_blocks=1", spec);
        test_named(spec, SLOT, 0);
    }
    std::fflush(stdout);
}

int main(int argc, char **argv)
{
    gpu_need_device();
    if (!gpu_cuda(cudaMalloc(&device_results, sizeof(results)), "cudaMalloc")) {
        return gpu_summary();
    }
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (trial_is_chosen(allocator->name, argc, argv) &&
            ((allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) == 0)) {
            test(allocator);
        }
    }
    (void)gpu_cuda(cudaFree(device_results), "cudaFree");
    return gpu_summary();
}
