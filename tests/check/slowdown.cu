/* SPDX-License-Identifier: BSD-3-Clause */
/* The five kernels of doc/CHECK.md's table: slowdown [KERNEL|all [LAUNCHES]] prints milliseconds a
 * launch, after one that does not count. */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <shpool/shpool.cuh>

#define N      (1 << 20) /* numbers */
#define SIDE   1024      /* of the stencil's square */
#define MATRIX 256       /* of the product's */

__global__ void reduction(const float *in, float *out)
{
    __shared__ float part[256];
    float            sum = 0;

    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned i = blockDim.x / 2; i > 0; i /= 2) {
        if (threadIdx.x < i) {
            part[threadIdx.x] += part[threadIdx.x + i];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(out, part[0]);
    }
}

__global__ void matmul(const float *a, const float *b, float *c)
{
    __shared__ float at[16][16], bt[16][16];
    const unsigned   x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float            sum = 0;

    for (unsigned k = 0; k < MATRIX; k += 16) {
        at[threadIdx.y][threadIdx.x] = a[y * MATRIX + k + threadIdx.x];
        bt[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * MATRIX + x];
        __syncthreads();
        for (unsigned i = 0; i < 16; i++) {
            sum += at[threadIdx.y][i] * bt[i][threadIdx.x];
        }
        __syncthreads();
    }
    c[y * MATRIX + x] = sum;
}

__global__ void stencil(const float *in, float *out)
{
    const unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    const float   *at = in + y * SIDE + x;

    if ((x > 0) && (y > 0) && (x < SIDE - 1) && (y < SIDE - 1)) {
        out[y * SIDE + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-SIDE] + at[SIDE]);
    }
}

__global__ void histogram(const unsigned char *in, unsigned *count)
{
    __shared__ unsigned own[256];

    own[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[in[i]], 1);
    }
    __syncthreads();
    atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}

__global__ void pool_kernel(shpool_pool pool, int n) /* README's */
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap   = shpool_init(&pool, smem);
    int         length = 1 + threadIdx.x % n;
    float      *row    = (float *)shpool_malloc(heap, length * sizeof *row);

    if (row) {
        row[length - 1] = 1.0f;
    }
    shpool_free(heap, row);
    shpool_fini(heap);
}

int main(int argc, char **argv)
{
    const char   *only     = (argc > 1) ? argv[1] : "all";
    const int     launches = (argc > 2) ? atoi(argv[2]) : 1;
    shpool_config want     = {};
    shpool_pool   pool;
    float        *a, *b;
    const auto    timed = [&](const char *name, auto launch) {
        if ((strcmp(only, "all") != 0) && (strcmp(only, name) != 0)) {
            return;
        }
        launch();
        cudaDeviceSynchronize();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < launches; i++) {
            launch();
        }
        const cudaError_t error = cudaDeviceSynchronize();
        const std::chrono::duration<double, std::milli> ms =
            std::chrono::steady_clock::now() - start;
        printf("%-10s %10.4f ms, %s\n", name, ms.count() / launches, cudaGetErrorString(error));
    };

    want.block_threads = 256;
    want.payload_bytes = 32768;
    if (shpool_open(NULL, &want, &pool) || shpool_allow_shared(pool_kernel, pool.shared_bytes)) {
        puts(shpool_last_error());
        return 1;
    }
    cudaMalloc(&a, N * sizeof(float));
    cudaMalloc(&b, N * sizeof(float));
    cudaMemset(a, 0, N * sizeof(float));
    cudaMemset(b, 0, N * sizeof(float));
    timed("reduction", [&] { reduction<<<64, 256>>>(a, b); });
    timed("matmul", [&] { matmul<<<dim3(16, 16), dim3(16, 16)>>>(a, a, b); });
    timed("stencil", [&] { stencil<<<dim3(64, 64), dim3(16, 16)>>>(a, b); });
    timed("histogram", [&] { histogram<<<64, 256>>>((unsigned char *)a, (unsigned *)b); });
    timed("pool", [&] { (void)shpool_launch(pool_kernel, 64, 256, NULL, &pool, 32); });
    cudaFree(a);
    cudaFree(b);
    return shpool_close(&pool);
}
