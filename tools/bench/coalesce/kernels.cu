// SPDX-License-Identifier: BSD-3-Clause
// The kernels of tools/bench/coalesce/suite.h, as people write them: one thread, one record.
#include <stddef.h>
#include <stdint.h>

typedef uint32_t word;

__device__ __forceinline__ size_t thread_index()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

// ---- copies ----
#define COPY(NAME, S, RESTRICT)                                                                    \
    extern "C" __global__ void NAME(word *RESTRICT d, const word *RESTRICT s, size_t n)            \
    {                                                                                              \
        const size_t i = thread_index();                                                           \
        if (i < n) {                                                                               \
            _Pragma("unroll") for (int k = 0; k < S; k++) { d[S * i + k] = s[S * i + k]; }         \
        }                                                                                          \
    }
COPY(copy3, 3, )
COPY(copy4, 4, )
COPY(copy9, 9, )
COPY(copy12, 12, )
COPY(copy32, 32, )
COPY(copy3_restrict, 3, __restrict__)
COPY(copy6_restrict, 6, __restrict__)
COPY(copy9_restrict, 9, __restrict__)
COPY(copy32_restrict, 32, __restrict__)

// ---- records read and written; every word of the result depends on all of the record ----
template <int S>
__device__ __forceinline__ void mix(word *__restrict__ d, const word *__restrict__ s, size_t i)
{
    word e[S];
    word sum = 0;
#pragma unroll
    for (int k = 0; k < S; k++) {
        e[k] = s[S * i + k];
        sum += e[k];
    }
#pragma unroll
    for (int k = 0; k < S; k++) {
        d[S * i + k] = e[k] * 3u + sum + (word)k;
    }
}

#define MIX(NAME, S)                                                                               \
    extern "C" __global__ void NAME(word *__restrict__ d, const word *__restrict__ s, size_t n)    \
    {                                                                                              \
        const size_t i = thread_index();                                                           \
        if (i < n) {                                                                               \
            mix<S>(d, s, i);                                                                       \
        }                                                                                          \
    }
MIX(mix2, 2)
MIX(mix3, 3)
MIX(mix4, 4)
MIX(mix5, 5)
MIX(mix6, 6)
MIX(mix7, 7)
MIX(mix8, 8)
MIX(mix9, 9)
MIX(mix12, 12)
MIX(mix16, 16)
MIX(mix18, 18)
MIX(mix24, 24)
MIX(mix32, 32)

extern "C" __global__ void stride9(word *__restrict__ d, const word *__restrict__ s, size_t n)
{
    for (size_t i = thread_index(); i < n; i += (size_t)gridDim.x * blockDim.x) {
        mix<9>(d, s, i);
    }
}

// Every other thread: no warp is ever complete, the guards only cost.
extern "C" __global__ void half9(word *__restrict__ d, const word *__restrict__ s, size_t n)
{
    const size_t i = thread_index();
    if (i < n && (i & 1) != 0) {
        mix<9>(d, s, i);
    }
}

// ---- records read, one word written; and the other way round ----
#define GATHER(NAME, S)                                                                            \
    extern "C" __global__ void NAME(word *__restrict__ d, const word *__restrict__ s, size_t n)    \
    {                                                                                              \
        const size_t i = thread_index();                                                           \
        if (i < n) {                                                                               \
            word hash = 0;                                                                         \
            _Pragma("unroll") for (int k = 0; k < S; k++) { hash = hash * 5u + s[S * i + k]; }     \
            d[i] = hash;                                                                           \
        }                                                                                          \
    }
GATHER(gather3, 3)
GATHER(gather6, 6)
GATHER(gather9, 9)
GATHER(gather12, 12)
GATHER(gather32, 32)

#define EXPAND(NAME, S)                                                                            \
    extern "C" __global__ void NAME(word *__restrict__ d, const word *__restrict__ s, size_t n)    \
    {                                                                                              \
        const size_t i = thread_index();                                                           \
        if (i < n) {                                                                               \
            const word x = s[i];                                                                   \
            _Pragma("unroll") for (int k = 0; k < S; k++)                                          \
            {                                                                                      \
                d[S * i + k] = x * (word)(k + 1) + (word)k;                                        \
            }                                                                                      \
        }                                                                                          \
    }
EXPAND(expand3, 3)
EXPAND(expand4, 4)
EXPAND(expand6, 6)
EXPAND(expand9, 9)
EXPAND(expand12, 12)
EXPAND(expand32, 32)

// ---- gather, compute, scatter through shared memory: COALDA's kernel, with two barriers ----
template <int S> __device__ __forceinline__ void gcs(word *d, const word *s, word *a, word *b)
{
    const size_t g = thread_index();
    const int    l = threadIdx.x;
#pragma unroll
    for (int k = 0; k < S; k++) {
        a[S * l + k] = s[S * g + k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < S; k++) {
        b[S * l + k] = min(255u, a[S * l + k] & 1023u);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < S; k++) {
        d[S * g + k] = b[S * l + k];
    }
}

extern "C" __global__ void gcs3(word *d, const word *s, size_t)
{
    __shared__ word a[3 * 256], b[3 * 256];
    gcs<3>(d, s, a, b);
}

extern "C" __global__ void gcs9(word *d, const word *s, size_t)
{
    __shared__ word a[9 * 256], b[9 * 256];
    gcs<9>(d, s, a, b);
}

// ---- pixels of 3 bytes ----
extern "C" __global__ void pixels(unsigned char *__restrict__ d,
                                  const unsigned char *__restrict__ s, size_t n)
{
    const size_t i = thread_index();
    if (i < n) {
        const int r = s[3 * i], g = s[3 * i + 1], b = s[3 * i + 2];
        const int m = (r + g + b) / 3;

        d[3 * i]     = (unsigned char)((r + m) >> 1);
        d[3 * i + 1] = (unsigned char)((g + m) >> 1);
        d[3 * i + 2] = (unsigned char)((b + m) >> 1);
    }
}

extern "C" __global__ void pixels_copy(unsigned char *d, const unsigned char *s, size_t n)
{
    const size_t i = thread_index();
    if (i < n) {
        d[3 * i]     = s[3 * i];
        d[3 * i + 1] = s[3 * i + 1];
        d[3 * i + 2] = s[3 * i + 2];
    }
}

// ---- other types ----
extern "C" __global__ void doubles9(uint64_t *__restrict__ d, const uint64_t *__restrict__ s,
                                    size_t n)
{
    const size_t i = thread_index();
    if (i < n) {
        uint64_t e[9], sum = 0;
#pragma unroll
        for (int k = 0; k < 9; k++) {
            e[k] = s[9 * i + k];
            sum += e[k];
        }
#pragma unroll
        for (int k = 0; k < 9; k++) {
            d[9 * i + k] = e[k] ^ sum;
        }
    }
}

struct body {
    float x, y, z, m;
};

extern "C" __global__ void bodies(body *__restrict__ d, const body *__restrict__ s, size_t n)
{
    const size_t i = thread_index();
    if (i < n) {
        body b = s[i];
        b.x += b.m;
        b.y -= b.m;
        b.z *= 0.5f;
        d[i] = b;
    }
}

// ---- accesses that are not rewritten in PTX ----
template <int M>
__device__ __forceinline__ void rows(word *__restrict__ d, const word *__restrict__ s, size_t n)
{
    const size_t i = thread_index();
    if (i < n) {
        word hash = 0;
        for (int j = 0; j < M; j++) {
            hash = hash * 3u + s[i * M + j];
        }
        d[i] = hash;
    }
}

extern "C" __global__ void rows64(word *__restrict__ d, const word *__restrict__ s, size_t n)
{
    rows<64>(d, s, n);
}

extern "C" __global__ void rows256(word *__restrict__ d, const word *__restrict__ s, size_t n)
{
    rows<256>(d, s, n);
}

extern "C" __global__ void transposed(word *__restrict__ d, const word *__restrict__ s, size_t n)
{
    const size_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < n && y < n) {
        d[x * n + y] = s[y * n + x];
    }
}
