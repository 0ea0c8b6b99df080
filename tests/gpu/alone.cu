/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of one request without other requests: cycles of a malloc and of a free, by a whole warp
 * and by one of its lanes, for several pools, sizes, alignments, and fills.  A filled pool is full
 * from its start on.  With OBJECT it is filled by lane 0, with objects of that many bytes, and the
 * requests are lane 0's.  THREADS: of the block; the first warp requests.  A dash: the request did
 * not fit.
 *
 *   nvcc -O3 -std=c++17 -arch=sm_90 -DSHPOOL_INLINE=bitmap alone.cu \
 *       $(pkg-config --cflags --libs shpool) -o alone
 *   ./alone [THREADS [OBJECT]]
 *
 * More than 640 THREADS may need -maxrregcount=64. */
#include <shpool/shpool.cuh>

#include <cstdio>
#include <cstdlib>

#define NAME(x)  NAME2(x)
#define NAME2(x) #x

constexpr int WARM_UP = 8;
constexpr int TIMED   = 16;
constexpr int PARTS   = 64; /* that a pool is filled by */

struct trial {
    unsigned bytes;
    unsigned alignment;
    unsigned fill; /* percent */
    unsigned object; /* bytes; 0: parts of the pool */
    bool     lane; /* one lane requests, else the warp */
};
struct cost {
    unsigned malloc, free, failures;
};

static __device__ void *request(shpool_heap heap, const trial &t)
{
    unsigned long long ptr = 0;

    if (!t.lane) {
        return (t.alignment > 16u) ? shpool_aligned_malloc_warp(heap, t.alignment, t.bytes)
                                   : shpool_malloc_warp(heap, t.bytes);
    }
    if (threadIdx.x == 0) {
        ptr = (unsigned long long)((t.alignment > 16u)
                                       ? shpool_aligned_malloc(heap, t.alignment, t.bytes)
                                       : shpool_malloc(heap, t.bytes));
    }
    return (void *)__shfl_sync(~0u, ptr, 0);
}

static __device__ void give_back(shpool_heap heap, const trial &t, void *ptr)
{
    if (!t.lane) {
        shpool_free_warp(heap, ptr);
    } else {
        if (threadIdx.x == 0) {
            shpool_free(heap, ptr);
        }
        __syncwarp();
    }
}

/* By lane 0: allocate objects, and free them.  Each points to the one before. */
static __device__ void **fill_by_objects(shpool_heap heap, const trial &t, unsigned largest)
{
    void **kept = nullptr;

    for (unsigned used = 0; used * 100ull < (unsigned long long)t.fill * largest;
         used += t.object) {
        void **const object = (void **)shpool_malloc(heap, t.object);

        if (object == nullptr) {
            break;
        }
        *object = kept;
        kept    = object;
    }
    return kept;
}

static __device__ void free_objects(shpool_heap heap, void **kept)
{
    while (kept != nullptr) {
        void **const before = (void **)*kept;

        shpool_free(heap, kept);
        kept = before;
    }
}

static __device__ void measure_warp(shpool_heap heap, const shpool_pool &pool, const trial &t,
                                    cost *out)
{
    const unsigned part = pool.largest / PARTS & ~15u;
    void    *kept[PARTS];
    void   **objects = nullptr;
    int      count   = 0;
    cost     sum     = {};

    for (; (t.object == 0) && (count * 100u < t.fill * PARTS); count++) {
        kept[count] = shpool_malloc_warp(heap, part);
    }
    if ((t.object != 0) && (threadIdx.x == 0)) {
        objects = fill_by_objects(heap, t, pool.largest);
    }
    __syncwarp();
    for (int i = -WARM_UP; i < TIMED; i++) {
        const unsigned begin = clock();
        void *const    ptr   = request(heap, t);
        const unsigned got   = clock();

        sum.failures += ptr == nullptr;
        __syncwarp();

        const unsigned back = clock();

        give_back(heap, t, ptr);
        sum.malloc += (i < 0) ? 0 : (got - begin) / TIMED;
        sum.free += (i < 0) ? 0 : (clock() - back) / TIMED;
    }
    while (count != 0) {
        shpool_free_warp(heap, kept[--count]);
    }
    free_objects(heap, objects);
    if (threadIdx.x == 0) {
        *out = sum;
    }
}

__global__ void measure(shpool_pool pool, trial t, cost *out)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    if (threadIdx.x < 32) {
        measure_warp(heap, pool, t, out);
    }
    shpool_fini(heap);
}

static int row(const shpool_pool &pool, unsigned threads, trial t, cost *out)
{
    for (unsigned bytes : {64u, 256u, 2700u, 8192u, 16384u, 32768u, 65536u}) {
        cost c;

        t.bytes = bytes;
        measure<<<1, threads, pool.shared_bytes>>>(pool, t, out);
        cudaError_t error = cudaGetLastError();

        if (error == cudaSuccess) {
            error = cudaMemcpy(&c, out, sizeof(c), cudaMemcpyDeviceToHost);
        }
        if (error != cudaSuccess) {
            std::puts(cudaGetErrorString(error));
            return 1;
        }
        if (c.failures != 0) {
            std::printf("  %u: -", bytes);
        } else {
            std::printf("  %u: %u/%u", bytes, c.malloc, c.free);
        }
    }
    std::puts("");
    return 0;
}

int main(int argc, char **argv)
{
    const unsigned threads = (argc > 1) ? std::atoi(argv[1]) : 32;
    const unsigned object  = (argc > 2) ? std::atoi(argv[2]) : 0;

    cost *out = nullptr;
    int   bad = cudaMalloc(&out, sizeof(*out)) != cudaSuccess;

    for (unsigned kib : {16u, 96u, 220u}) {
        for (unsigned alignment : {16u, 128u, 1024u}) {
            shpool_config want = {};
            shpool_pool   pool;

            want.block_threads    = threads;
            want.threads_per_pool = threads;
            want.payload_bytes    = kib << 10;
            want.alignment        = alignment;
            if (bad || shpool_open(NAME(SHPOOL_INLINE), &want, &pool) ||
                shpool_allow_shared(measure, pool.shared_bytes)) {
                std::puts(shpool_last_error());
                return 1;
            }
            for (unsigned fill : {0u, 50u, 90u}) {
                for (bool lane : {false, true}) {
                    if (!lane && (object != 0)) {
                        continue;
                    }
                    std::printf("%3u KiB, %4u, %2u %% full, %s:", kib, alignment, fill,
                                lane ? "lane" : "warp");
                    bad |= row(pool, threads, {0, alignment, fill, object, lane}, out);
                }
            }
            bad |= shpool_close(&pool) != SHPOOL_OK;
        }
    }
    return bad;
}
