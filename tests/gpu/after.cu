/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-overs of blocks that the copy engine still writes or reads: no byte of a copy may be in the
 * block of the next owner, and no byte of the next owner in the data that a copy has read.
 *
 * In each block of threads, the first threads of some warps are copiers.  They allocate, start a
 * bulk copy (in: into the block, out: out of it; small: cp.async into it), and pass the block to
 * free_after without waiting.  The threads of the other warps are owners: they allocate, write a
 * pattern, wait for a random time, and check whether it is still there.  Sources and destinations
 * are spread over much memory, so that copies take long.
 *
 *   gpu_after [--hand-overs N] [--free-at-once]
 *
 * N: of each kind [10,000,000].  --free-at-once plants the bug: blocks are freed without waiting,
 * and each kind must then find wrong bytes.
 * Exit code 0: all passed, 1: something failed, 77: no device of sm_90 or newer.
 */
#if !defined(SHPOOL_INLINE)
#define SHPOOL_INLINE warp_best_fit /* one pool a block: threads_per_pool */
#endif
#include <shpool/after.h>
#include <shpool/shpool.cuh>

#include <cstring>

#include "check.h"

namespace
{

constexpr unsigned WARPS        = 8;
constexpr unsigned COPIERS      = WARPS / 2;
constexpr unsigned THREADS      = WARPS * 32;
constexpr unsigned RECENT       = 8;         /* copies out that are looked at together */
constexpr unsigned MOST_BYTES   = 1024;      /* of a copied block */
constexpr unsigned POOL_BYTES   = 20 * 1024; /* the copiers could take 24 KiB, others 17 */
constexpr size_t   SOURCE_BYTES = size_t{256} << 20;
constexpr unsigned SOURCE_MARK  = 0xc0000000u; /* the upper bits of each word of the source */

enum copies { COPIES_IN, COPIES_OUT, COPIES_SMALL };

struct totals {
    unsigned long long hand_overs;
    unsigned long long pending;    /* of them, with the copy still in flight */
    unsigned long long owned;      /* patterns that were looked at */
    unsigned long long wrong_owner;
    unsigned long long wrong_copy;
    unsigned           first[4];   /* of the first wrong word: found, expected, block, thread */
};

#if SIMT_HAS_BULK

constexpr unsigned MBARS      = 4; /* of a copier */
constexpr unsigned SLOTS      = 6;
constexpr unsigned OUT_MARK   = 0x80000000u;
constexpr unsigned OWNER_MARK = 0x40000000u;

__device__ unsigned draw(unsigned &state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

__device__ void wrong(totals *t, unsigned long long *count, unsigned found, unsigned expected)
{
    if (atomicAdd(count, 1ull) == 0) {
        t->first[0] = found;
        t->first[1] = expected;
        t->first[2] = blockIdx.x;
        t->first[3] = threadIdx.x;
    }
}

/* Allocate, fill, wait, check: no other thread may have written the memory. */
__device__ __noinline__ void own(shpool_heap heap, unsigned &random, unsigned bytes,
                                 unsigned wait_ns, totals *t)
{
    void *ptr = shpool_malloc(heap, bytes);

    if (ptr == nullptr) {
        return;
    }
    const simt_addr at   = simt_to_shared(ptr);
    const unsigned  mark = OWNER_MARK | (draw(random) & 0xffff00u);

    for (unsigned i = 0; i < bytes / 4; i++) {
        simt_store32(at + 4 * i, mark + (i & 0xffu));
    }
    __nanosleep(wait_ns);
    for (unsigned i = 0; i < bytes / 4; i++) {
        const unsigned found = simt_load32(at + 4 * i);

        if (found != mark + (i & 0xffu)) {
            wrong(t, &t->wrong_owner, found, mark + (i & 0xffu));
        }
    }
    shpool_free(heap, ptr);
    atomicAdd(&t->owned, 1ull);
}

/* How to free an allocation: the tested function, or the bug. */
struct giver {
    shpool_after after;
    bool         at_once;
};

__device__ void copy_in(giver &g, unsigned *mbar_words, const unsigned char *source,
                        unsigned &random, unsigned count, totals *t)
{
    const simt_addr mbars          = simt_to_shared(mbar_words);
    unsigned        phases[MBARS]  = {};
    unsigned long long pending     = 0;

    for (unsigned n = 0; n < count;) {
#pragma unroll 1
        for (unsigned m = 0; m < MBARS; m++) {
            const simt_addr mbar  = mbars + 8 * m;
            const unsigned  bytes = 16 + (draw(random) & (MOST_BYTES - 16));
            const size_t    from  = (size_t{draw(random)} << 4) & (SOURCE_BYTES - 1);

            if (phases[m] > 0) { /* of this mbarrier, before its next phase */
                simt_mbar_wait(mbar, (phases[m] - 1) & 1u);
                (void)shpool_after_poll(&g.after);
            }
            void *ptr = shpool_after_malloc(&g.after, bytes);

            if (ptr == nullptr) {
                continue;
            }
            const simt_addr at = simt_to_shared(ptr);

            simt_mbar_arrive_expect(mbar, bytes);
            simt_copy_async(at, source + from, bytes, mbar);
            if ((draw(random) & 15u) == 0) { /* now and then the copied data is used */
                simt_mbar_wait(mbar, phases[m] & 1u);
                for (unsigned i = 0; i < bytes; i += 4) {
                    const unsigned expected =
                        SOURCE_MARK | (static_cast<unsigned>((from + i) / 4) & 0xffffffu);

                    if (simt_load32(at + i) != expected) {
                        wrong(t, &t->wrong_copy, simt_load32(at + i), expected);
                    }
                }
            } else {
                pending++;
            }
            if (g.at_once) {
                shpool_free(g.after.heap, ptr);
            } else {
                shpool_free_after(&g.after, ptr, mbar, phases[m] & 1u);
            }
            phases[m]++;
            n++;
            own(g.after.heap, random, bytes, draw(random) & 255u, t);
        }
    }
    for (unsigned m = 0; m < MBARS; m++) {
        if (phases[m] > 0) {
            simt_mbar_wait(mbars + 8 * m, (phases[m] - 1) & 1u);
        }
    }
    atomicAdd(&t->pending, pending);
}

/* cp.async, 16 bytes at a time. */
__device__ void copy_small(giver &g, const unsigned char *source, unsigned &random, unsigned count,
                           totals *t)
{
    unsigned long long pending = 0;

    for (unsigned n = 0; n < count;) {
        const unsigned bytes = 16 + (draw(random) & (MOST_BYTES - 16));
        const size_t   from  = (size_t{draw(random)} << 4) & (SOURCE_BYTES - 1);
        void          *ptr   = shpool_after_malloc(&g.after, bytes);

        if (ptr == nullptr) {
            continue;
        }
        const simt_addr at = simt_to_shared(ptr);

        for (unsigned i = 0; i < bytes; i += 16) {
            simt_copy16_async(at + i, source + from + i);
        }
        if ((draw(random) & 15u) == 0) { /* now and then the copied data is used */
            simt_copy16_commit();
            simt_copy16_wait(0);
            for (unsigned i = 0; i < bytes; i += 4) {
                const unsigned expected =
                    SOURCE_MARK | (static_cast<unsigned>((from + i) / 4) & 0xffffffu);

                if (simt_load32(at + i) != expected) {
                    wrong(t, &t->wrong_copy, simt_load32(at + i), expected);
                }
            }
        } else {
            pending++;
        }
        if (g.at_once) {
            simt_copy16_commit();
            shpool_free(g.after.heap, ptr);
        } else {
            shpool_free_after_copies(&g.after, ptr);
        }
        n++;
        own(g.after.heap, random, bytes, draw(random) & 255u, t);
    }
    simt_copy16_wait(0);
    atomicAdd(&t->pending, pending);
}

/* One place of `sink` for each recent copy; their results are checked together. */
__device__ void copy_out(giver &g, unsigned char *sink, unsigned &random, unsigned count, totals *t)
{
    for (unsigned n = 0; n < count;) {
        unsigned words[RECENT];
        unsigned mark[RECENT];

#pragma unroll 1
        for (unsigned k = 0; k < RECENT; k++) {
            const unsigned bytes = 16 + (draw(random) & (MOST_BYTES - 16));
            void          *ptr   = shpool_after_malloc(&g.after, bytes);

            words[k] = (ptr != nullptr) ? bytes / 4 : 0;
            mark[k]  = OUT_MARK | (draw(random) & 0xffff00u);
            if (ptr == nullptr) {
                continue;
            }
            for (unsigned i = 0; i < words[k]; i++) {
                simt_store32(simt_to_shared(ptr) + 4 * i, mark[k] + (i & 0xffu));
            }
            simt_fence_async();
            simt_copy_async_out(sink + k * MOST_BYTES, simt_to_shared(ptr), bytes);
            if (g.at_once) {
                simt_copy_commit();
                shpool_free(g.after.heap, ptr);
            } else {
                shpool_free_after_group(&g.after, ptr);
            }
            n++;
            own(g.after.heap, random, bytes, draw(random) & 63u, t);
        }
        simt_copy_wait(0);
#pragma unroll 1
        for (unsigned k = 0; k < RECENT; k++) {
            for (unsigned i = 0; i < words[k]; i++) {
                const unsigned found =
                    __ldcg(reinterpret_cast<const unsigned *>(sink + k * MOST_BYTES) + i);

                if (found != mark[k] + (i & 0xffu)) {
                    wrong(t, &t->wrong_copy, found, mark[k] + (i & 0xffu));
                }
            }
        }
    }
    atomicAdd(&t->pending, static_cast<unsigned long long>(count));
}

#endif

__global__ void __launch_bounds__(THREADS)
    hand_over(shpool_pool pool, const unsigned char *source, unsigned char *sink, copies kind,
              bool at_once, unsigned count, totals *t)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ __align__(8) unsigned mbars[COPIERS][MBARS][2];
    __shared__ unsigned busy;
    shpool_heap    heap   = shpool_init(&pool, smem);
    const unsigned warp   = threadIdx.x / 32;
    const unsigned copier = warp / 2;
    unsigned       random = (blockIdx.x * THREADS + threadIdx.x + 1) * 0x9e3779b9u;

    giver g = {shpool_after_init(heap, (threadIdx.x % 64 == 0) ? SLOTS : 0), at_once};

    if (threadIdx.x == 0) {
        busy = COPIERS;
        for (unsigned i = 0; i < COPIERS * MBARS; i++) {
            simt_mbar_init(simt_to_shared(&mbars[0][0][0]) + 8 * i, 1);
        }
    }
    __syncthreads();
    if (warp % 2 == 0) {
        if (threadIdx.x % 32 == 0) {
            if (kind == COPIES_SMALL) {
                copy_small(g, source, random, count, t);
            } else if (kind == COPIES_OUT) {
                copy_out(g, sink + (blockIdx.x * COPIERS + copier) * (RECENT * MOST_BYTES), random,
                         count, t);
            } else {
                copy_in(g, &mbars[copier][0][0], source, random, count, t);
            }
            shpool_after_fini(&g.after);
            atomicAdd(&t->hand_overs, static_cast<unsigned long long>(count));
            atomicSub(&busy, 1u);
        }
    } else if (threadIdx.x % 2 == 0) {
        while (*static_cast<volatile unsigned *>(&busy) != 0) {
            own(heap, random, 16 + (draw(random) & 240u), draw(random) & 511u, t);
        }
    }
    __syncthreads();
    shpool_fini(heap);
#endif
}

__global__ void fill_source(unsigned *source, size_t words)
{
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < words;
         i += size_t{gridDim.x} * blockDim.x) {
        source[i] = SOURCE_MARK | (static_cast<unsigned>(i) & 0xffffffu);
    }
}

void run(copies kind, bool at_once, unsigned long long hand_overs, const unsigned char *source,
         totals *t)
{
    const char    *name   = (kind == COPIES_OUT) ? "copies out"
                                                 : (kind == COPIES_IN) ? "copies in" : "cp.async";
    shpool_config  want   = {};
    shpool_pool    pool   = {};
    cudaEvent_t    from   = nullptr;
    cudaEvent_t    to     = nullptr;
    unsigned char *sink   = nullptr;
    int            sms    = 0;
    float          ms     = 0;

    (void)gpu_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "attribute");
    const unsigned blocks = static_cast<unsigned>(sms) * 4;
    const unsigned count  =
        static_cast<unsigned>((hand_overs + blocks * COPIERS - 1) / (blocks * COPIERS));

    want.block_threads    = THREADS;
    want.payload_bytes    = POOL_BYTES;
    want.threads_per_pool = THREADS;
    if (!gpu_check(shpool_open(SHPOOL_BOUND_NAME, &want, &pool) == SHPOOL_OK, "%s",
                   shpool_last_error()) ||
        !gpu_cuda(cudaMalloc(&sink, size_t{blocks} * COPIERS * RECENT * MOST_BYTES), "malloc")) {
        return;
    }
    std::memset(t, 0, sizeof(*t));
    (void)gpu_cuda(cudaEventCreate(&from), "event");
    (void)gpu_cuda(cudaEventCreate(&to), "event");
    (void)gpu_cuda(cudaEventRecord(from), "event");
    hand_over<<<blocks, THREADS, pool.shared_bytes>>>(pool, source, sink, kind, at_once, count, t);
    (void)gpu_cuda(cudaEventRecord(to), "event");
    gpu_wait(name);
    (void)gpu_cuda(cudaEventElapsedTime(&ms, from, to), "time");
    std::printf("%s: %llu hand-overs (%llu with the copy in flight), %llu other owners, %.0f ms; "
                "wrong words: owners %llu, copies %llu", name, t->hand_overs, t->pending, t->owned,
                ms, t->wrong_owner, t->wrong_copy);
    if (t->wrong_owner + t->wrong_copy != 0) {
        std::printf("; the first: 0x%x, not 0x%x, block %u thread %u", t->first[0], t->first[1],
                    t->first[2], t->first[3]);
    }
    std::printf("\n");
    (void)gpu_check(t->hand_overs >= hand_overs, "%s: too few hand-overs", name);
    (void)gpu_check(t->pending > hand_overs / 2, "%s: few copies were in flight", name);
    (void)gpu_check(t->wrong_owner == 0, "%s: bytes of a copy in a block of another owner", name);
    (void)gpu_check(t->wrong_copy == 0, "%s: other bytes than were to be copied", name);
    (void)gpu_cuda(cudaFree(sink), "cudaFree");
    (void)gpu_cuda(cudaEventDestroy(from), "event");
    (void)gpu_cuda(cudaEventDestroy(to), "event");
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "%s", shpool_last_error());
}

} // namespace

int main(int argc, char **argv)
{
    unsigned long long hand_overs = 10000000;
    bool               at_once    = false;
    int                major      = 0;
    unsigned          *source     = nullptr;
    totals            *t          = nullptr;

    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--free-at-once") == 0) {
            at_once = true;
        } else if ((std::strcmp(argv[i], "--hand-overs") == 0) && (i + 1 < argc)) {
            hand_overs = std::strtoull(argv[++i], nullptr, 10);
        } else {
            std::fprintf(stderr, "usage: gpu_after [--hand-overs N] [--free-at-once]\n");
            return 1;
        }
    }
    gpu_need_device();
    (void)gpu_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
                   "attribute");
    if (major < 9) {
        std::printf("skipped: bulk copies need sm_90 or newer\n");
        return 77;
    }
    if (gpu_cuda(cudaMalloc(&source, SOURCE_BYTES + MOST_BYTES), "cudaMalloc") &&
        gpu_cuda(cudaMallocManaged(&t, sizeof(*t)), "cudaMallocManaged")) {
        fill_source<<<1024, 256>>>(source, (SOURCE_BYTES + MOST_BYTES) / 4);
        gpu_wait("fill_source");
        for (copies kind : {COPIES_IN, COPIES_OUT, COPIES_SMALL}) {
            run(kind, at_once, hand_overs, reinterpret_cast<unsigned char *>(source), t);
        }
    }
    return gpu_summary();
}
