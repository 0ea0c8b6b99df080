// SPDX-License-Identifier: BSD-3-Clause
// The kernels of tests/coalesce/defects.h.
#include <stddef.h>
#include <stdint.h>

typedef uint32_t word;

#define KERNEL(NAME) extern "C" __global__ void NAME(word *d, const word *s, size_t n)
#define RESTRICTED(NAME)                                                                           \
    extern "C" __global__ void NAME(word *__restrict__ d, const word *__restrict__ s, size_t n)

template <int S> __device__ __forceinline__ void mix(word *d, const word *s, long long t)
{
    word e[S], sum = 0;
#pragma unroll
    for (int k = 0; k < S; k++) {
        e[k] = s[S * t + k];
        sum += e[k];
    }
#pragma unroll
    for (int k = 0; k < S; k++) {
        d[S * t + k] = e[k] * 3u + sum;
    }
}

#define MIXED(NAME, INDEX)                                                                         \
    KERNEL(NAME)                                                                                   \
    {                                                                                              \
        int t = INDEX;                                                                             \
        if (t < n) { mix<9>(d, s, t); }                                                            \
    }
MIXED(two_a, blockIdx.x * blockDim.x + threadIdx.x)
MIXED(two_b, blockIdx.x * blockDim.x + threadIdx.x)
MIXED(reversed_sum, threadIdx.x + blockIdx.x * blockDim.x)

KERNEL(guarded)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 3; k++) { d[3 * t + k] = s[3 * t + k]; }
    }
}

RESTRICTED(pitch)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, p = 9 + (n & 3);
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[p * t + k] = s[p * t + k] + 1; }
    }
}

MIXED(two_dimensions, (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)

RESTRICTED(shifted)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        t = t + 64;
        mix<9>(d, s, t);
    }
}

RESTRICTED(descending)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, last = (int)n - 1;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * last - 9 * t + k] = s[9 * last - 9 * t + k] * 2; }
    }
}

KERNEL(own_shared)
{
    __shared__ word a[9 * 64];
    int t = blockIdx.x * 64 + threadIdx.x, l = threadIdx.x;
    for (int k = 0; k < 9; k++) { a[9 * l + k] = s[9 * t + k]; }
    for (int k = 0; k < 9; k++) { d[9 * t + k] = a[9 * l + 8 - k]; }
}

extern "C" __global__ void fields(word *__restrict__ dw, const word *__restrict__ sw, size_t n)
{
    struct record { unsigned a, b, c; float x, y, z; int i, j, k; };
    record *d = (record *)dw;
    const record *s = (const record *)sw;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        record r = s[t];
        r.a += r.b;
        r.i = r.j - r.k;
        r.j = (int)r.c;
        d[t] = r;
    }
}

RESTRICTED(further)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        mix<9>(d, s, t);
        d[9 * n + 3 * t] = s[9 * n + 3 * t] + d[9 * t];
    }
}

extern "C" __global__ void volatiles(volatile word *d, const volatile word *s, size_t n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k]; }
    }
}

KERNEL(computed)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k] * 5 + 1; }
    }
}

KERNEL(index_again)
{
    __shared__ word a[64];
    int t = blockIdx.x * 64 + threadIdx.x;
    a[63 - threadIdx.x] = s[9 * t];
    mix<9>(d, s, t);
    __syncthreads();
    d[9 * t + 4] = a[threadIdx.x] + threadIdx.x;
}

KERNEL(barrier_between)
{
    __shared__ word a[9 * 64];
    int t = blockIdx.x * 64 + threadIdx.x, l = threadIdx.x;
    for (int k = 0; k < 9; k++) {
        a[9 * l + k] = s[9 * t + k];
        __syncthreads();
        d[9 * t + k] = a[9 * (63 - l) + k];
        __syncthreads();
    }
}

RESTRICTED(quadratic)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        int q = (int)(((long long)t * t) % n);
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * q + k]; }
    }
}

KERNEL(through_locals)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        word e[9];
        for (int k = 0; k < 9; k++) { e[(k * 2) % 9] = s[9 * t + k]; }
        for (int k = 0; k < 9; k++) { d[9 * t + k] = e[k]; }
    }
}

KERNEL(interleaved)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k]; }
    }
}

RESTRICTED(loop_around)
{
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < n; t += gridDim.x * blockDim.x / 2) {
        mix<9>(d, s, t);
    }
}

KERNEL(loop_beside)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    word sum = 0;
    for (int k = 0; k < (t & 7); k++) { sum = sum * 3 + k; }
    if (t < n) {
        mix<9>(d, s, t);
        d[9 * t] += sum;
    }
}

KERNEL(read_back)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        mix<9>(d, s, t);
        __threadfence_block();
        word sum = 0;
#pragma unroll
        for (int k = 0; k < 9; k++) { sum += d[9 * t + k] * (k + 1); }
        d[9 * n + t] = sum;
    }
}

KERNEL(neighbour_after)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        mix<9>(d, s, t);
        __threadfence_block();
        word next = d[9 * (t + 1)];
        d[9 * t + 4] = next;
    }
}

RESTRICTED(partial_store)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        word e[12];
#pragma unroll
        for (int k = 0; k < 12; k++) { e[k] = s[12 * t + k]; }
#pragma unroll
        for (int k = 0; k < 12; k++) {
            if (k % 4 != 1) { d[12 * t + k] = e[11 - k]; }
        }
    }
}

RESTRICTED(partial_load)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        word sum = 0;
#pragma unroll
        for (int k = 0; k < 11; k++) { sum = 7 * sum + s[12 * t + k]; }
        d[t] = sum;
    }
}

RESTRICTED(holes_loaded)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        word sum = 0;
#pragma unroll
        for (int k = 0; k < 12; k++) {
            if (k % 5 != 2) { sum = 7 * sum + s[12 * t + k]; }
        }
#pragma unroll
        for (int k = 0; k < 12; k++) { d[12 * t + k] = sum + k; }
    }
}

RESTRICTED(constant_base)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + 300 + k] = s[9 * t + k] ^ 5; }
    }
}

KERNEL(early_return)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n || (s[9 * t] & 7) == 0) { return; }
    mix<9>(d, s, t);
}

KERNEL(divergent)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        if ((t / 5) & 1) {
            mix<9>(d, s, t);
        } else {
#pragma unroll
            for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k] + 7; }
        }
    }
}

RESTRICTED(wrapping)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (unsigned k = 0; k < 9; k++) { d[9u * t + k] = s[9u * t + k] + 1; }
    }
}

RESTRICTED(two_records)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        mix<9>(d, s, 2 * t);
        mix<9>(d, s, 2 * t + 1);
    }
}

extern "C" __global__ void mixed_sizes(short *__restrict__ d, const short *s, size_t n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 18; k++) { d[18 * t + k] = s[18 * t + 17 - k]; }
    }
}

KERNEL(atomics_between)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        word e[9];
#pragma unroll
        for (int k = 0; k < 9; k++) { e[k] = s[9 * t + k]; }
#pragma unroll
        for (int k = 0; k < 4; k++) { d[9 * t + k] = e[8 - k]; }
        __threadfence();
#pragma unroll
        for (int k = 4; k < 9; k++) { d[9 * t + k] = e[8 - k]; }
    }
}

RESTRICTED(shuffled)
{
    int t = blockIdx.x * 64 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        d[9 * t + k] = __shfl_sync(~0u, s[9 * t + k], (threadIdx.x + k) & 31);
    }
}

RESTRICTED(crossing)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) {
            d[9 * t + k]       = s[9 * t + k] + 1;
            d[9 * (n + t) + k] = s[9 * t + k] + d[9 * t + (k + 4) % 9];
        }
    }
}

KERNEL(overwritten)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        mix<9>(d, s, t);
        __threadfence_block();
        d[9 * t + 2] = 17;
    }
}

RESTRICTED(constants)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        float *f = (float *)d;
#pragma unroll
        for (int k = 0; k < 8; k++) { f[9 * t + k] = (float)k * 0.25f; }
        d[9 * t + 8] = s[t];
    }
}

extern "C" __global__ void pixel_gray(unsigned char *d, const unsigned char *s, size_t n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        int r = s[3 * t], g = s[3 * t + 1], b = s[3 * t + 2], m = (r + g + b) / 3;
        d[3 * t]     = (unsigned char)m;
        d[3 * t + 1] = (unsigned char)(m + g);
        d[3 * t + 2] = (unsigned char)(m - b);
    }
}

extern "C" __global__ void pixel_signed(signed char *__restrict__ d, const signed char *s, size_t n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        int a = s[3 * t], b = s[3 * t + 1], c = s[3 * t + 2];
        d[3 * t]     = (signed char)((a * b) >> 3);
        d[3 * t + 1] = (signed char)((b * c) >> 2);
        d[3 * t + 2] = (signed char)(a < c);
    }
}

RESTRICTED(clamped)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, r = min(t, (int)n - 1);
    word e[9], sum = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        e[k] = s[9 * r + k];
        sum += e[k];
    }
#pragma unroll
    for (int k = 0; k < 9; k++) { d[9 * t + k] = e[k] ^ sum; }
}

MIXED(two_rows, (blockIdx.x * blockDim.y + threadIdx.y) * 20 + threadIdx.x)

KERNEL(copied_rows)
{
    int t = (blockIdx.x * blockDim.y + threadIdx.y) * 20 + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k]; }
    }
}

RESTRICTED(wraps_inside)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long r = (t * 477218589u) / 477218589u; /* t, unless it wraps: from 9 on */
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * r + k]; }
    }
}

KERNEL(copied_onto)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, r = min(t, (int)n - 5);
#pragma unroll
    for (int k = 0; k < 12; k++) { d[12 * r + k] = s[12 * t + k]; }
}

KERNEL(handed_over)
{
    int t = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x >= 32) {
        for (int k = 0; k < 4; k++) { d[9 * t + k] = t + k; }
        asm volatile("bar.sync 0;" ::: "memory");
        for (int k = 4; k < 9; k++) { d[9 * t + k] = t * k; }
    } else {
        asm volatile("bar.sync 0;" ::: "memory");
        for (int k = 0; k < 4; k++) { d[9 * t + k] = d[9 * (t + 32) + k]; }
    }
}

KERNEL(in_turns)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k] * 7 + k; }
    }
}

KERNEL(two_sources)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        d[9 * n + t] = s[9 * t];
#pragma unroll
        for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + k] - s[9 * (n + t) + 8 - k]; }
    }
}

KERNEL(address_changes)
{
    size_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        word first = s[9 * t];
        word *to = d + 9 * (first == 77 ? t + 0 : t);
        to[0] = first + 1;
#pragma unroll
        for (int k = 1; k < 9; k++) { to[k] = s[9 * t + k] ^ first; }
    }
}

KERNEL(cannot_ask)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        if (n & 1) {
            word first = s[9 * t];
            word *to = d + 9 * t + (first == 77 ? n >> 40 : 0); /* 0, but that is not known */
            to[0] = first;
#pragma unroll
            for (int k = 1; k < 9; k++) { to[k] = s[9 * t + k] + 1; }
        } else {
#pragma unroll
            for (int k = 0; k < 9; k++) { d[9 * t + k] = s[9 * t + 8 - k] * 7; }
        }
    }
}

RESTRICTED(opted_out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("// shpool-coalesce: off");
    if (t < n) { mix<9>(d, s, t); }
}
