/* SPDX-License-Identifier: BSD-3-Clause */
/* What shpool-bench advise is compared with: doc/PLANNING.md, "Advise".  Not run by make check.
 *
 *   advise KERNEL <SPECS   KERNEL's time with each pool: SPEC, blocks on a multiprocessor (SM), ms,
 *                          failed requests.  bitmap:payload_bytes=48K,trace=FILE records it.
 *
 * Kernels:
 *   segments   each block allocates a segment of 512 bytes to 16 KiB, sorts it, frees it
 *   frontier   each warp makes a list of a vertex's neighbours, which grows to up to 4 KiB
 *   join       each lane adds four rows of 16 to 76 bytes to its warp's hash table; the lanes look
 *              rows up, and free those of all lanes
 *   tokens     each lane keeps its latest four texts of 16 to 124 bytes, and compares neighbours
 *
 * Exit: 0; 1: CUDA failed; 77: no GPU. */
#include <shpool/shpool.cuh>

#include "tools/bench/gpu.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace
{

constexpr unsigned DATA = 1u << 22; /* words that the kernels gather from */
constexpr unsigned MANY = 64;       /* failures, after which a kernel gives up */

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

__device__ unsigned gather(const work &w, unsigned i)
{
    return w.data[hash(i) % DATA];
}

/* The memory as words; a request that failed is counted. */
__device__ unsigned *words_of(const work &w, void *memory, bool counts = true)
{
    if (memory == nullptr && counts) {
        atomicAdd(w.failed, 1);
    }
    return static_cast<unsigned *>(memory);
}

/* The next item of a warp. */
__device__ bool take(const work &w, unsigned *item)
{
    *item = __shfl_sync(~0u, (threadIdx.x % 32 == 0) ? atomicAdd(w.next, 1) : 0, 0);
    return *item < w.items && !__any_sync(~0u, *(volatile unsigned *)w.failed > MANY);
}

/* ---- the kernels: what a block does ---- */

/* Bitonic sort of any number of words: the first step of each merge is mirrored. */
__device__ void sort_block(unsigned *a, unsigned words)
{
    for (unsigned run = 2; run < 2 * words; run *= 2) {
        for (unsigned span = run; span > 1; span /= 2) {
            for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
                const unsigned j = (span == run) ? i ^ (run - 1) : i ^ (span / 2);

                if (i < j && j < words && a[i] > a[j]) {
                    const unsigned v = a[i];

                    a[i] = a[j];
                    a[j] = v;
                }
            }
            __syncthreads();
        }
    }
}

__device__ unsigned segments(shpool_heap heap, const work &w)
{
    unsigned sum = 0;

    for (unsigned item = blockIdx.x; item < w.items; item += gridDim.x) {
        const unsigned most  = 128u << hash(item) % 5;
        unsigned       words = most + hash(item + 1) % most;
        unsigned      *a     = words_of(w, shpool_malloc_block(heap, 4 * words), threadIdx.x == 0);

        words = (a != nullptr) ? words : 0;
        for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
            a[i] = w.data[(item * 4096u + i) % DATA];
        }
        __syncthreads();
        sort_block(a, words);
        for (unsigned i = threadIdx.x + 1; i < words; i += blockDim.x) {
            sum += a[i] - a[i - 1] > 1000;
        }
        shpool_free_block(heap, a);
    }
    return sum;
}

__device__ unsigned frontier(shpool_heap heap, const work &w)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned       sum  = 0;
    unsigned       item;

    while (take(w, &item)) {
        const unsigned h      = hash(item);
        const unsigned degree = (32u << __popc(h & 31)) + (h >> 8) % 32;
        unsigned       room   = 32;
        unsigned       count  = 0;
        unsigned      *list   = words_of(w, shpool_malloc_warp(heap, 4 * room), lane == 0);

        for (unsigned i = lane; list != nullptr && i - lane < degree; i += 32) {
            const unsigned to   = gather(w, h + i);
            const unsigned mask = __ballot_sync(~0u, i < degree && (to & 3) != 0);

            if (count + __popc(mask) > room) {
                unsigned *more = words_of(w, shpool_realloc_warp(heap, list, 8 * room), lane == 0);

                if (more == nullptr) {
                    break;
                }
                list = more;
                room *= 2;
            }
            if ((mask >> lane & 1) != 0) {
                list[count + __popc(mask & ((1u << lane) - 1))] = to;
            }
            count += __popc(mask);
        }
        __syncwarp();
        for (unsigned i = lane; list != nullptr && i < count; i += 32) {
            sum += gather(w, list[i]) & 7;
        }
        shpool_free_warp(heap, list);
    }
    return sum;
}

struct row {
    row     *next;
    unsigned words, text[1];
};

__device__ unsigned join(shpool_heap heap, const work &w)
{
    __shared__ row *heads[4][64];
    row           **head = heads[threadIdx.x / 32];
    const unsigned  lane = threadIdx.x % 32;
    unsigned        sum  = 0;
    unsigned        item;

    while (take(w, &item)) {
        head[lane]      = nullptr;
        head[lane + 32] = nullptr;
        __syncwarp();
        for (unsigned k = 0; k < 4; k++) {
            const unsigned at    = (item * 32 + lane) * 4 + k;
            const unsigned words = 1 + hash(at) % 16;
            row *r = reinterpret_cast<row *>(words_of(w, shpool_malloc(heap, 12 + 4 * words)));

            for (unsigned i = 0; r != nullptr && i < words; i++) {
                r->text[i] = w.data[(at * 16 + i) % DATA];
            }
            if (r != nullptr) {
                r->words = words;
                r->next  = reinterpret_cast<row *>(
                    atomicExch(reinterpret_cast<unsigned long long *>(&head[r->text[0] % 64]),
                               reinterpret_cast<unsigned long long>(r)));
            }
        }
        __syncwarp();
        for (unsigned k = 0; k < 16; k++) {
            const unsigned key = gather(w, item * 512 + k * 32 + lane);

            for (const row *r = head[key % 64]; r != nullptr; r = r->next) {
                sum += (r->text[0] ^ key) < (1u << 24) ? r->text[r->words - 1] : r->words;
            }
        }
        __syncwarp();
        for (unsigned b = lane; b < 64; b += 32) {
            for (row *r = head[b], *next; r != nullptr; r = next) {
                next = r->next;
                shpool_free(heap, r);
            }
        }
        __syncwarp();
    }
    return sum;
}

__device__ unsigned tokens(shpool_heap heap, const work &w)
{
    unsigned *ring[4] = {};
    unsigned  sum = 0;

    for (unsigned k = 0; k < 16; k += 4) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const unsigned  item  = (blockIdx.x * 16 + k + i) * blockDim.x + threadIdx.x;
            const unsigned  words = 4 + hash(item) % 28;
            const unsigned *last  = ring[(i + 3) % 4];

            shpool_free(heap, ring[i]);
            ring[i] = words_of(w, shpool_malloc(heap, 4 * words));
            for (unsigned j = 0; ring[i] != nullptr && j < words; j++) {
                ring[i][j] = (j == 0) ? words : gather(w, item * 61u + j);
                sum += last != nullptr && j < last[0] && last[j] < ring[i][j];
            }
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        shpool_free(heap, ring[i]);
    }
    return sum;
}

/* X(kernel, threads of a block, items for each SM, whether as many blocks as fit share them) */
#define KERNELS(X) \
    X(segments, 256, 60, true) X(frontier, 128, 800, true) X(join, 128, 200, true) \
    X(tokens, 128, 64, false)

#define DEFINE(_name, _threads, _items, _share)                                                    \
    __global__ void __launch_bounds__(_threads) _name##_kernel(shpool_pool pool, work w)           \
    {                                                                                              \
        extern __shared__ __align__(16) unsigned char smem[];                                      \
        shpool_heap heap = shpool_init(&pool, smem);                                               \
                                                                                                   \
        atomicAdd(w.sum, _name(heap, w));                                                          \
        shpool_fini(heap);                                                                         \
    }
KERNELS(DEFINE)

/* ---- host ---- */

const struct kind {
    const char *name;
    const void *kernel;
    unsigned threads, items;
    bool     share;
} kinds[] = {
#define ROW(_name, _threads, _items, _share)                                                       \
    { #_name, (const void *)_name##_kernel, _threads, _items, _share },
    KERNELS(ROW)
};

void need(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::printf("%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

/* Three launches after one that does not count; a slow one is enough. */
void run(const kind &k, work w, shpool_pool *pool, const char *spec)
{
    void              *arguments[] = { pool, &w };
    cudaLaunchConfig_t config      = {};
    int                blocks = 0, sms = 0;
    float              ms = 0, best = 0;
    unsigned           failed = 0;

    if (shpool_occupancy(k.kernel, pool, k.threads, 0, &blocks) != SHPOOL_OK || blocks == 0) {
        return;
    }
    need(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    w.items         = k.items * static_cast<unsigned>(sms);
    config.gridDim  = dim3(k.share ? static_cast<unsigned>(blocks * sms) : w.items);
    config.blockDim = dim3(k.threads);
    for (int i = 0; i < 4 && (i != 1 || ms < 15); i++) {
        need(cudaMemset(w.sum, 0, 12));
        need(bench_timed([&]() {
            return (shpool_launch_kernel(&config, k.kernel, arguments, pool) == SHPOOL_OK)
                       ? cudaSuccess : cudaErrorLaunchFailure;
        }, &ms));
        best = (i < 2) ? ms : std::min(ms, best);
    }
    need(cudaMemcpy(&failed, w.failed, 4, cudaMemcpyDeviceToHost));
    std::printf("%s %s %d %.4f %u\n", k.name, spec, blocks, best, failed);
    std::fflush(stdout);
}

} /* namespace */

int main(int argc, char **argv)
{
    const kind           *k     = kinds;
    int                   count = 0;
    unsigned             *words;
    std::vector<unsigned> data(DATA);
    char                  spec[300];

    while (k != std::end(kinds) && (argc != 2 || std::strcmp(argv[1], k->name) != 0)) {
        k++;
    }
    if (k == std::end(kinds)) {
        std::fputs("usage: advise segments|frontier|join|tokens <SPECS\n", stderr);
        return 2;
    }
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::printf("advise: skipped, no GPU\n");
        return 77;
    }
    for (unsigned i = 0; i < DATA; i++) {
        data[i] = hash(i);
    }
    need(cudaMalloc(&words, (DATA + 3) * 4ul));
    need(cudaMemcpy(words, data.data(), DATA * 4ul, cudaMemcpyHostToDevice));
    while (std::scanf("%299s", spec) == 1) {
        shpool_config want = {};
        shpool_pool   pool;

        want.block_threads = k->threads;
        if (shpool_open(spec, &want, &pool) != SHPOOL_OK) {
            std::printf("%s %s: %s\n", k->name, spec, shpool_last_error());
            continue;
        }
        run(*k, { words, words + DATA, words + DATA + 1, words + DATA + 2, 0 }, &pool, spec);
        (void)shpool_close(&pool);
    }
    return 0;
}
