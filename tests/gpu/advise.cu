/* SPDX-License-Identifier: BSD-3-Clause */
/* What shpool-bench advise is compared with: doc/PLANNING.md, "Advise".  Not run by make check.
 *
 *   advise search KERNEL        its time with each allocator, threads_per_pool and number of blocks
 *                               on a multiprocessor (SM), in pools that fill the SM's memory
 *   advise record KERNEL FILE   record it with bitmap and a payload of 48 KiB
 *   advise costs                cycles of a malloc and its free, with 1 to 32 calls at a time
 *
 * Kernels:
 *   scratch   each thread allocates an array of 20 to 255 bytes, gathers and sorts, frees it
 *   tables    each warp waits for a table of 256 bytes to 12 KiB, counts into it, frees it; warps
 *             take items until there are none left
 *   mail      each thread allocates a message, which another warp reads and frees
 *
 * Exit: 0; 1: CUDA failed; 77: no GPU. */
#include <shpool/shpool.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

constexpr unsigned DATA     = 1u << 22; /* words that the kernels gather from */
constexpr unsigned PATIENCE = 4096;
constexpr unsigned MANY     = 64; /* failures, after which a kernel gives up */

struct work {
    const unsigned *data;
    unsigned       *sum;
    unsigned       *next;   /* item */
    unsigned       *failed; /* requests */
    unsigned        items;
};

__device__ __host__ unsigned hash(unsigned v)
{
    v ^= v >> 15;
    v *= 0x2c1b3c6du;
    v ^= v >> 12;
    return v * 0x297a2d39u ^ (v >> 15);
}

__device__ bool gives_up(const work &w)
{
    return *(volatile unsigned *)w.failed > MANY;
}

/* ---- the kernels ---- */

__device__ unsigned sort_some(const work &w, unsigned *a, unsigned words, unsigned item)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < words; i++) {
        a[i] = w.data[hash(item * 67u + i) % DATA];
    }
    for (unsigned i = 1; i < words && i < 12; i++) {
        const unsigned v = a[i];
        unsigned       j = i;

        for (; j > 0 && a[j - 1] > v; j--) {
            a[j] = a[j - 1];
        }
        a[j] = v;
    }
    for (unsigned i = 0; i < words; i += 3) {
        sum += a[i];
    }
    return sum;
}

__global__ void __launch_bounds__(256) scratch(shpool_pool pool, work w)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    unsigned    sum  = 0;

    for (unsigned k = 0; k < 8 && !gives_up(w); k++) {
        const unsigned item  = (blockIdx.x * 8 + k) * blockDim.x + threadIdx.x;
        const unsigned bytes = 20 + hash(item) % 236;
        unsigned      *a     = static_cast<unsigned *>(shpool_malloc(heap, bytes));

        if (a == nullptr) {
            atomicAdd(w.failed, 1);
            continue;
        }
        sum += sort_some(w, a, bytes / 4, item);
        shpool_free(heap, a);
    }
    atomicAdd(w.sum, sum);
    shpool_fini(heap);
}

__global__ void __launch_bounds__(128) tables(shpool_pool pool, work w)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap = shpool_init(&pool, smem);
    const unsigned lane = threadIdx.x % 32;
    unsigned       sum  = 0;

    while (!gives_up(w)) {
        const unsigned item = __shfl_sync(~0u, (lane == 0) ? atomicAdd(w.next, 1) : 0, 0);

        if (item >= w.items) {
            break;
        }
        const unsigned step  = hash(item) % 6;
        const unsigned bytes = (256u << step) + hash(item + 1) % (128u << step) / 16 * 16;
        unsigned *const table =
            static_cast<unsigned *>(shpool_malloc_wait_warp(heap, bytes, PATIENCE));

        if (table == nullptr) {
            if (lane == 0) {
                atomicAdd(w.failed, 1);
            }
            continue;
        }
        for (unsigned i = lane; i < bytes / 4; i += 32) {
            table[i] = 0;
        }
        __syncwarp();
        for (unsigned i = lane; i < bytes / 2; i += 32) {
            atomicAdd(&table[w.data[hash(item * 31u + i) % DATA] % (bytes / 4)], 1);
        }
        __syncwarp();
        for (unsigned i = lane; i < bytes / 4; i += 32) {
            sum += table[i] > 2;
        }
        shpool_free_warp(heap, table);
    }
    atomicAdd(w.sum, sum);
    shpool_fini(heap);
}

__global__ void __launch_bounds__(128) mail(shpool_pool pool, work w)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ unsigned *box[128];
    shpool_heap heap = shpool_init(&pool, smem);
    unsigned    sum  = 0;

    for (unsigned k = 0; k < 8; k++) {
        const unsigned item  = (blockIdx.x * 8 + k) * blockDim.x + threadIdx.x;
        const unsigned from  = (threadIdx.x + 37 + k) % 128;
        const unsigned words = 8 + hash(item) % 96;
        unsigned      *a     = static_cast<unsigned *>(shpool_malloc(heap, 4 * words));

        if (a == nullptr) {
            atomicAdd(w.failed, 1);
        } else {
            a[0] = words;
            for (unsigned i = 1; i < words; i++) {
                a[i] = w.data[(item * 64u + i) % DATA];
            }
        }
        box[threadIdx.x] = a;
        __syncthreads();
        a = box[from];
        for (unsigned i = 1; a != nullptr && i < a[0]; i++) {
            sum += a[i];
        }
        shpool_free(heap, a);
        if (__syncthreads_or(gives_up(w))) {
            break;
        }
    }
    atomicAdd(w.sum, sum);
    shpool_fini(heap);
}

/* Cycles of a malloc and a free, by each lane or by each warp; those of all callers, added up. */
__global__ void __launch_bounds__(256)
    cost(shpool_pool pool, unsigned warps, unsigned lanes, unsigned by_warp,
         unsigned long long *cycles, unsigned *failed)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap = shpool_init(&pool, smem);
    const unsigned lane = threadIdx.x % 32;

    if (threadIdx.x / 32 < warps && (by_warp || lane < lanes)) {
        long long spent = 0;

        for (unsigned k = 0; k < 100; k++) {
            const unsigned  id    = by_warp ? threadIdx.x / 32 : threadIdx.x;
            const unsigned  bytes = by_warp ? 256 + hash(id + 997 * k) % 3840
                                            : 16 + hash(id + 997 * k) % 240;
            const long long from  = clock64();
            void *const     a     = by_warp ? shpool_malloc_warp(heap, bytes)
                                            : shpool_malloc(heap, bytes);
            const long long had   = clock64();

            if (a != nullptr) {
                *static_cast<volatile unsigned *>(a) = bytes;
            } else if (!by_warp || lane == 0) {
                atomicAdd(failed, 1);
            }
            const long long back = clock64();

            if (by_warp) {
                shpool_free_warp(heap, a);
            } else {
                shpool_free(heap, a);
            }
            spent += clock64() - back + had - from;
        }
        if (!by_warp || lane == 0) {
            atomicAdd(cycles, static_cast<unsigned long long>(spent));
        }
    }
    shpool_fini(heap);
}

/* ---- host ---- */

void need(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::printf("%s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

const struct kind {
    const char *name;
    void (*run)(shpool_pool, work);
    unsigned threads, own; /* shared memory besides the pool's */
    unsigned items;        /* for each SM, or blocks if each block has its own */
    bool     shared;       /* persistent blocks take items */
    unsigned least;        /* threads_per_pool with which it can run */
} kinds[] = {
    { "scratch", scratch, 256, 0, 32, false, 1 },
    { "tables", tables, 128, 0, 400, true, 32 },
    { "mail", mail, 128, 1024, 96, false, 128 },
};

work make_work()
{
    work      w = {};
    unsigned *words;
    unsigned *data = static_cast<unsigned *>(std::malloc(DATA * 4));

    for (unsigned i = 0; i < DATA; i++) {
        data[i] = hash(i);
    }
    need(cudaMalloc(&words, (DATA + 4) * 4ul), "cudaMalloc");
    need(cudaMemcpy(words, data, DATA * 4ul, cudaMemcpyHostToDevice), "data");
    std::free(data);
    w.data   = words;
    w.sum    = words + DATA;
    w.next   = words + DATA + 1;
    w.failed = words + DATA + 2;
    return w;
}

int sms()
{
    int n = 0;

    need(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0), "device");
    return n;
}

struct timing {
    float    ms;
    unsigned failed;
    int      blocks; /* on an SM */
};

timing run(const kind &k, work w, shpool_pool *pool, int repeats)
{
    static cudaEvent_t event[2];
    const void        *kernel = (const void *)k.run;
    timing             t      = {};
    float              ms[8];
    cudaLaunchConfig_t config      = {};
    void              *arguments[] = { pool, &w };

    if (shpool_occupancy(kernel, pool, k.threads, 0, &t.blocks) != SHPOOL_OK || t.blocks == 0) {
        return t;
    }
    if (event[0] == nullptr) {
        need(cudaEventCreate(&event[0]), "event");
        need(cudaEventCreate(&event[1]), "event");
    }
    w.items         = k.items * static_cast<unsigned>(sms());
    config.gridDim  = k.shared ? dim3(static_cast<unsigned>(t.blocks * sms())) : dim3(w.items);
    config.blockDim = dim3(k.threads);
    for (int i = 0; i <= repeats; i++) {
        need(cudaMemset(w.sum, 0, 12), "reset");
        need(cudaEventRecord(event[0]), "event");
        if (shpool_launch_kernel(&config, kernel, arguments, pool) != SHPOOL_OK) {
            std::printf("%s\n", shpool_last_error());
            std::exit(1);
        }
        need(cudaEventRecord(event[1]), "event");
        need(cudaEventSynchronize(event[1]), k.name);
        need(cudaEventElapsedTime(&ms[i], event[0], event[1]), "event");
        if (i == 0 && ms[0] > 15) { /* one is enough to see that */
            t.ms = ms[0];
            break;
        }
        t.ms = (i < 2 || ms[i] < t.ms) ? ms[i] : t.ms;
    }
    need(cudaMemcpy(&t.failed, w.failed, 4, cudaMemcpyDeviceToHost), "failed");
    return t;
}

/* Call use(spec, threads_per_pool) for each allocator and number of threads. */
template <class Use> void for_each_allocator(unsigned threads, unsigned least, Use use)
{
    const shpool_allocator *a;

    for (size_t i = 0; (a = shpool_allocator_get(i)) != nullptr; i++) {
        if ((a->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) != 0 ||
            a->scope == SHPOOL_SCOPE_CLUSTER || (a->scope == SHPOOL_SCOPE_THREAD && least > 1)) {
            continue;
        }
        if (a->scope != SHPOOL_SCOPE_GROUP) {
            use(a->name, a->scope == SHPOOL_SCOPE_THREAD ? 1u : threads);
            continue;
        }
        for (unsigned n = std::max(least, 8u); n <= threads; n *= 2) {
            use(a->name, n);
        }
    }
}

/* Shared memory of a pool with which `blocks` fit on an SM of sm_90. */
unsigned total_of(unsigned blocks, unsigned own)
{
    const unsigned all = (228u * 1024u / blocks - 1024u) & ~127u;

    return std::min(all, 227u * 1024u) - own;
}

void search(const kind &k)
{
    const work w = make_work();

    for_each_allocator(k.threads, k.least, [&](const char *name, unsigned share) {
        for (unsigned blocks = 1; blocks <= 2048 / k.threads; blocks++) {
            const unsigned total = total_of(blocks, k.own);
            shpool_config  want  = {};
            shpool_pool    pool;
            char           spec[128];

            std::snprintf(spec, sizeof(spec), "%s:total_bytes=%u,threads_per_pool=%u", name, total,
                          share);
            want.block_threads = k.threads;
            if (shpool_open(spec, &want, &pool) != SHPOOL_OK) {
                break; /* too small: so are the rest */
            }
            const timing t = run(k, w, &pool, 3);

            std::printf("search %s %s %u %u %u %d %.4f %u\n", k.name, name, share, blocks, total,
                        t.blocks, t.ms, t.failed);
            std::fflush(stdout);
            (void)shpool_close(&pool);
        }
    });
}

int record(const kind &k, const char *file)
{
    shpool_config want = {};
    shpool_pool   pool;
    char          spec[300];

    std::snprintf(spec, sizeof(spec), "bitmap:trace=%s", file);
    want.block_threads = k.threads;
    want.payload_bytes = 48 * 1024;
    if (shpool_open(spec, &want, &pool) != SHPOOL_OK) {
        std::printf("%s\n", shpool_last_error());
        return 1;
    }
    (void)run(k, make_work(), &pool, 1);
    return shpool_close(&pool) != SHPOOL_OK;
}

void costs()
{
    static const struct { unsigned warps, lanes, by_warp; } callers[] = {
        { 1, 1, 0 }, { 1, 32, 0 }, { 8, 1, 0 }, { 8, 32, 0 }, { 1, 32, 1 }, { 8, 32, 1 },
    };
    unsigned long long *sums;

    need(cudaMalloc(&sums, 16), "cudaMalloc");
    for_each_allocator(256, 1, [&](const char *name, unsigned share) {
        for (const auto &c : callers) {
            unsigned long long got[2];
            shpool_config      want = {};
            shpool_pool        pool;
            char               spec[128];
            const unsigned     callers = c.by_warp ? c.warps : c.warps * c.lanes;

            std::snprintf(spec, sizeof(spec), "%s:threads_per_pool=%u,payload_bytes=200K", name,
                          share);
            want.block_threads = 256;
            if (shpool_open(spec, &want, &pool) != SHPOOL_OK) {
                std::printf("costs %s %u: %s\n", name, share, shpool_last_error());
                break;
            }
            for (int i = 0; i < 2; i++) {
                void *arguments[] = { &pool, (void *)&c.warps, (void *)&c.lanes,
                                      (void *)&c.by_warp, &sums, nullptr };
                unsigned *failed   = reinterpret_cast<unsigned *>(sums + 1);
                cudaLaunchConfig_t config = {};

                arguments[5]    = &failed;
                config.gridDim  = dim3(1);
                config.blockDim = dim3(256);
                need(cudaMemset(sums, 0, 16), "reset");
                if (shpool_launch_kernel(&config, (const void *)cost, arguments, &pool) !=
                    SHPOOL_OK) {
                    std::printf("%s\n", shpool_last_error());
                    std::exit(1);
                }
                need(cudaMemcpy(got, sums, 16, cudaMemcpyDeviceToHost), "costs");
            }
            std::printf("costs %s %u %s %u %u %.0f %u\n", name, share,
                        c.by_warp ? "warp" : "lane", c.warps, c.by_warp ? 1u : c.lanes,
                        static_cast<double>(got[0]) / (100.0 * callers),
                        static_cast<unsigned>(got[1]));
            std::fflush(stdout);
            (void)shpool_close(&pool);
        }
    });
}

} /* namespace */

int main(int argc, char **argv)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::printf("advise: skipped, no GPU\n");
        return 77;
    }
    if (argc == 2 && std::strcmp(argv[1], "costs") == 0) {
        costs();
        return 0;
    }
    for (const kind &k : kinds) {
        if (argc == 3 && std::strcmp(argv[1], "search") == 0 && std::strcmp(argv[2], k.name) == 0) {
            search(k);
            return 0;
        }
        if (argc == 4 && std::strcmp(argv[1], "record") == 0 && std::strcmp(argv[2], k.name) == 0) {
            return record(k, argv[3]);
        }
    }
    std::fputs("usage: advise search KERNEL | record KERNEL FILE | costs\n", stderr);
    return 2;
}
