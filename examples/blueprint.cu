/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of every kernel that uses a pool: init, malloc, use, free, fini.
 *
 * Each thread sorts a few numbers in scratch memory whose size is known only at run time, and
 * writes their median.  Compile it twice to see two bindings of the same source:
 *
 *   nvcc -rdc=true blueprint.cu $(pkg-config --cflags --libs shpool)            function table
 *   nvcc -DSHPOOL_INLINE=bitmap blueprint.cu $(pkg-config --cflags --libs shpool)    compile time
 */
#include <cstdio>
#include <vector>

#include <shpool/shpool.cuh>

#define BLOCKS  8u
#define THREADS 128u

static __host__ __device__ float sample(unsigned thread, unsigned i)
{
    return static_cast<float>((thread * 7919u + i * 104729u) % 1009u);
}

static __host__ __device__ float median(float *v, unsigned n)
{
    for (unsigned i = 1; i < n; i++) { /* insertion sort: n is small */
        const float x = v[i];
        unsigned    j = i;

        for (; (j > 0) && (v[j - 1] > x); j--) {
            v[j] = v[j - 1];
        }
        v[j] = x;
    }
    return v[n / 2];
}

static __global__ void medians(shpool_pool pool, unsigned n, float *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    shpool_heap    heap   = shpool_init(&pool, smem); /* whole block */
    const unsigned count  = n + threadIdx.x % 4u;
    float         *v      = static_cast<float *>(shpool_malloc(heap, count * sizeof(*v)));

    if (v == NULL) {
        out[thread] = -1.0f; /* exhausted: NULL, never a trap */
    } else {
        for (unsigned i = 0; i < count; i++) {
            v[i] = sample(thread, i);
        }
        out[thread] = median(v, count);
    }
    shpool_free(heap, v);
    shpool_fini(heap); /* whole block: no thread may return earlier */
}

static int failed(const char *what, const char *why)
{
    std::fprintf(stderr, "blueprint: %s: %s\n", what, why);
    return 1;
}

int main()
{
    const unsigned     n       = 9;
    shpool_config      want    = {};
    shpool_pool        pool    = {};
    float             *out     = NULL;
    unsigned           wrong   = 0;
    int                devices = 0;
    cudaError_t        error   = cudaGetDeviceCount(&devices);
    std::vector<float> got(BLOCKS * THREADS), v(n + 4);
    const size_t       bytes = got.size() * sizeof(float);

    if (error != cudaSuccess) {
        std::printf("blueprint: skipped, no CUDA device: %s\n", cudaGetErrorString(error));
        return 77;
    }
    want.block_threads = THREADS;
    want.payload_bytes = THREADS * (n + 3) * sizeof(float) * 2; /* twice: room for rounding */
    if ((shpool_open(NULL, &want, &pool) != SHPOOL_OK) || /* NULL: $SHPOOL_ALLOCATOR */
        (shpool_allow_shared(medians, pool.shared_bytes) != SHPOOL_OK)) {
        return failed("pool", shpool_last_error());
    }
    error = cudaMalloc(&out, bytes);
    if (error == cudaSuccess) {
        medians<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, n, out);
        error = cudaMemcpy(got.data(), out, bytes, cudaMemcpyDeviceToHost); /* after the kernel */
    }
    if (error != cudaSuccess) {
        return failed("CUDA", cudaGetErrorString(error));
    }
    for (unsigned thread = 0; thread < got.size(); thread++) { /* compare with the CPU */
        const unsigned count = n + thread % THREADS % 4u;

        for (unsigned i = 0; i < count; i++) {
            v[i] = sample(thread, i);
        }
        wrong += got[thread] != median(v.data(), count);
    }
    std::printf("%s: %u bytes of shared memory a block, %u medians, %u wrong\n", pool.name,
                pool.shared_bytes, BLOCKS * THREADS, wrong);
    (void)cudaFree(out);
    if (shpool_close(&pool) != SHPOOL_OK) {
        return failed("close", shpool_last_error());
    }
    return (wrong == 0) ? 0 : 1;
}
