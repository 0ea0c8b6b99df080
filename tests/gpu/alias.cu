/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that compute between load and store, with and without __restrict__.  nvcc compiles them,
 * and so does shpool-coalesce nvcc, whose code asks at run time whether the pointers overlap.  The
 * program prints GB/s, counts wrong words, and prints sums of arrays that overlap; both programs
 * must print the same sums:
 *
 *   nvcc -O3 -std=c++17 -arch=sm_90 alias.cu -o plain
 *   shpool-coalesce nvcc -- -O3 -std=c++17 -arch=sm_90 alias.cu -o rewritten
 *   ./plain; ./rewritten */
#include <cstdio>
#include <cstdint>
#include <cstdlib>
typedef uint32_t word;

#define SIZES(X) X(3) X(6) X(7) X(8) X(9) X(12) X(16) X(24) X(32)

#define KERNEL(S)                                                                                  \
    extern "C" __global__ void turns##S(word *d, const word *s, long n)                            \
    {                                                                                              \
        long t = blockIdx.x * (long)blockDim.x + threadIdx.x;                                      \
        if (t < n) {                                                                               \
            _Pragma("unroll") for (int k = 0; k < S; k++) {                                        \
                d[S * t + k] = s[S * t + k] * 7u + (word)k;                                        \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    extern "C" __global__ void apart##S(word *__restrict__ d, const word *__restrict__ s, long n)  \
    {                                                                                              \
        long t = blockIdx.x * (long)blockDim.x + threadIdx.x;                                      \
        if (t < n) {                                                                               \
            _Pragma("unroll") for (int k = 0; k < S; k++) {                                        \
                d[S * t + k] = s[S * t + k] * 7u + (word)k;                                        \
            }                                                                                      \
        }                                                                                          \
    }
SIZES(KERNEL)

__global__ void fill(word *s, long words)
{
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < words;
         i += (long)gridDim.x * blockDim.x) {
        s[i] = (word)(i * 2654435761u ^ (i >> 7));
    }
}

__global__ void check(const word *d, long words, int record, unsigned long long *wrong)
{
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < words;
         i += (long)gridDim.x * blockDim.x) {
        word s = (word)(i * 2654435761u ^ (i >> 7));
        if (d[i] != s * 7u + (word)(i % record)) { atomicAdd(wrong, 1ull); }
    }
}

typedef void kernel(word *, const word *, long);

static void must(cudaError_t e)
{
    if (e != cudaSuccess) { printf("FAIL %s\n", cudaGetErrorString(e)); exit(1); }
}

static long bytes = 1l << 30;
static word *s, *d;
static unsigned long long *wrong;
static int failed;

static void run(const char *name, kernel *k, int record)
{
    long n = bytes / 4 / record, words = n * record;
    unsigned blocks = (unsigned)((n + 255) / 256);
    cudaEvent_t a, b;
    float best = 1e9f;
    must(cudaEventCreate(&a));
    must(cudaEventCreate(&b));
    fill<<<1024, 256>>>(s, words);
    must(cudaMemset(d, 0, bytes));
    for (int i = 0; i < 12; i++) {
        float ms;
        must(cudaEventRecord(a));
        k<<<blocks, 256>>>(d, s, n);
        must(cudaEventRecord(b));
        must(cudaEventSynchronize(b));
        must(cudaEventElapsedTime(&ms, a, b));
        best = (i > 1 && ms < best) ? ms : best;
    }
    *wrong = 0;
    check<<<1024, 256>>>(d, words, record, wrong);
    must(cudaDeviceSynchronize());
    unsigned long long apart = *wrong;
    /* in place: the original branch */
    k<<<blocks, 256>>>(s, s, n);
    *wrong = 0;
    must(cudaDeviceSynchronize());
    check<<<1024, 256>>>(s, words, record, wrong);
    must(cudaDeviceSynchronize());
    printf("%-10s %2d words %8.0f GB/s  wrong words: %llu apart, %llu in place\n", name, record,
           2.0 * 4.0 * words / best / 1e6, apart, *wrong);
    failed |= (apart != 0) || (*wrong != 0);
}

/* One warp, d = s + shift words, in lockstep, so the result is unique; printed for comparison. */
static void overlap(const char *name, kernel *k, int record)
{
    for (int shift = -2 * record; shift <= 2 * record; shift += record / 3 + 1) {
        word sum = 0, *base = s + 100000;
        static word host[8192];
        fill<<<1024, 256>>>(s, 200000);
        k<<<1, 32>>>(base + shift, base, 32);
        must(cudaMemcpy(host, base - 2000, sizeof(host), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 8192; i++) { sum = sum * 31 + host[i]; }
        printf("overlap %s %d: %08x\n", name, shift, sum);
    }
}

int main()
{
    must(cudaMalloc(&s, bytes));
    must(cudaMalloc(&d, bytes));
    must(cudaMallocManaged(&wrong, sizeof(*wrong)));
#define RUN(S) run("turns", turns##S, S); run("restrict", apart##S, S);
    SIZES(RUN)
#define OVERLAP(S) overlap("turns" #S, turns##S, S);
    SIZES(OVERLAP)
    return failed;
}
