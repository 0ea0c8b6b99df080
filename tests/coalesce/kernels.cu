// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the tests of the rewrite in clang: each is compiled plain and rewritten, and the warp
// emulator compares the two byte by byte.  tools/bench/coalesce/kernels.cu is timed.
//
// All have one signature, to = destination, from = source, n = number of records, m = columns:
//     kernel(T *to, const T *from, int n, int m)
// suite.h lists them.  Needs no CUDA header: clang compiles it with cuda.h alone.
typedef unsigned int word;
typedef unsigned char byte;

#define KERNEL extern "C" __global__ void
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

template <int W> struct record {
    word w[W];
};

// ---- copies, field by field; __restrict__ or not ----
#define COPY(_w) \
    KERNEL copy##_w(word *to, const word *from, int n, int) { \
        int i = THREAD; \
        if (i < n) { \
            _Pragma("unroll") for (int k = 0; k < _w; k++) to[_w * i + k] = from[_w * i + k]; \
        } \
    } \
    KERNEL copy_restrict##_w(word *__restrict__ to, const word *__restrict__ from, int n, int) { \
        int i = THREAD; \
        if (i < n) { \
            _Pragma("unroll") for (int k = 0; k < _w; k++) to[_w * i + k] = from[_w * i + k]; \
        } \
    }
COPY(3)
COPY(4)
COPY(9)
COPY(12)
COPY(32)

// struct assignment: one memcpy to the compiler
KERNEL assign12(record<12> *to, const record<12> *from, int n, int) {
    int i = THREAD;
    if (i < n) to[i] = from[i];
}

// ---- a record is read, every word depends on every other, a record is written ----
#define MIX(_w) \
    KERNEL mix##_w(record<_w> *__restrict__ to, const record<_w> *__restrict__ from, int n, int) { \
        int i = THREAD; \
        if (i >= n) return; \
        word sum = 0, e[_w]; \
        _Pragma("unroll") for (int k = 0; k < _w; k++) sum += e[k] = from[i].w[k]; \
        _Pragma("unroll") for (int k = 0; k < _w; k++) to[i].w[k] = e[k] * 3 + sum + k; \
    }
MIX(2)
MIX(3)
MIX(4)
MIX(5)
MIX(7)
MIX(8)
MIX(9)
MIX(12)
MIX(15)
MIX(16)
MIX(20)
MIX(28)
MIX(31)
MIX(32)

// ---- a word is read, a record is written ----
#define EXPAND(_w) \
    KERNEL expand##_w(word *__restrict__ to, const word *__restrict__ from, int n, int) { \
        int i = THREAD; \
        if (i >= n) return; \
        word x = from[i]; \
        _Pragma("unroll") for (int k = 0; k < _w; k++) to[_w * i + k] = x * (k + 1) + k; \
    }
EXPAND(3)
EXPAND(9)
EXPAND(12)
EXPAND(32)

// ---- a record is read, a word is written ----
#define GATHER(_w) \
    KERNEL gather##_w(word *__restrict__ to, const word *__restrict__ from, int n, int) { \
        int i = THREAD; \
        if (i >= n) return; \
        word x = 0; \
        _Pragma("unroll") for (int k = 0; k < _w; k++) x = x * 5 + from[_w * i + k]; \
        to[i] = x; \
    }
GATHER(9)
GATHER(32)

// ---- 3 bytes for each pixel ----
KERNEL rgb8(byte *__restrict__ to, const byte *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    int r = from[3 * i], g = from[3 * i + 1], b = from[3 * i + 2], m = (r + g + b) / 3;
    to[3 * i] = (byte)((r + m) >> 1);
    to[3 * i + 1] = (byte)((g + m) >> 1);
    to[3 * i + 2] = (byte)((b + m) >> 1);
}
KERNEL rgb8_copy(byte *to, const byte *from, int n, int) {
    int i = THREAD;
    if (i < n) {
        to[3 * i] = from[3 * i];
        to[3 * i + 1] = from[3 * i + 1];
        to[3 * i + 2] = from[3 * i + 2];
    }
}

// ---- a thread for each row ----
KERNEL rows64(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x = 0;
    for (int j = 0; j < 64; j++) x = x * 3 + from[64 * (size_t)i + j];
    to[i] = x;
}
KERNEL rows256(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x = 0;
    for (int j = 0; j < 256; j++) x = x * 3 + from[256 * (size_t)i + j];
    to[i] = x;
}
KERNEL rows(float *__restrict__ to, const float *__restrict__ from, int n, int m) {
    int i = THREAD;
    if (i >= n) return;
    float x = 0;
    for (int j = 0; j < m; j++) x += from[(size_t)i * m + j];
    to[i] = x;
}

// ---- other types and shapes ----
struct particle {
    double position[3];
    float velocity[3];
    int kind;
};
KERNEL particles(particle *__restrict__ to, const particle *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    particle p = from[i];
    for (int k = 0; k < 3; k++) p.position[k] += p.velocity[k];
    p.kind ^= 1;
    to[i] = p;
}
struct link {
    struct link *next;
    word w[7];
};
KERNEL links(link *__restrict__ to, const link *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word w[7];
    struct link *next = from[i].next;
    for (int k = 0; k < 7; k++) w[k] = from[i].w[k];
    to[i].next = next + w[0] % 2;
    for (int k = 0; k < 7; k++) to[i].w[k] = w[6 - k];
}

// ---- control flow ----
KERNEL grid_stride9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) {
        word e[9];
        for (int k = 0; k < 9; k++) e[k] = from[9 * i + k];
        for (int k = 0; k < 9; k++) to[9 * i + k] = e[k] ^ e[(k + 1) % 9];
    }
}
KERNEL odd_lanes9(word *to, const word *from, int n, int) {
    int i = THREAD;
    if (i < n && (i & 1)) {
        for (int k = 0; k < 9; k++) to[9 * i + k] = from[9 * i + k];
    }
}
KERNEL early9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n || from[9 * i] % 5 == 0) return;
    for (int k = 0; k < 9; k++) to[9 * i + k] = from[9 * i + k] + 1;
}
KERNEL block2d9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 9; k++) to[9 * i + k] = from[9 * i + k] * 7;
}
KERNEL wrapping9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD, at = 9 * (i - n / 2) - n % 5 - 1;
    if (i >= n) return;
    for (int k = 0; k < 9; k++) { // one record goes round the end of 65,536 words
        to[(unsigned short)(at + k)] = from[(unsigned short)(at + k)] + k;
    }
}
KERNEL wrapped9(word *__restrict__ to, const word *__restrict__ from, int n, int m) {
    int i = THREAD;
    if (i >= n) return;
    int record = (i + m) & 255; // in some warp the records begin again
    for (int k = 0; k < 9; k++) to[9 * record + k] = from[9 * record + k] * 5;
}
KERNEL exchange9(word *to, const word *from, int, int) { // a neighbour writes into the record
    int i = THREAD, other = (threadIdx.x ^ 1) < blockDim.x ? i ^ 1 : i;
    word e[9];
    if ((blockDim.x * blockIdx.x) % 2 != 0) other = i;
    to[9 * other + 5] = from[9 * i];
    for (int k = 0; k < 4; k++) e[k] = to[9 * i + k];
    __syncthreads();
    for (int k = 4; k < 9; k++) e[k] = to[9 * i + k];
    __syncthreads();
    for (int k = 0; k < 9; k++) to[9 * i + k] = e[k] + 1;
}
KERNEL alias9(word *to, const word *from, int n, int) { // in place, each store is a later load
    int i = THREAD;
    if (i >= n) return;
    for (int k = 0; k < 9; k++) to[9 * i + k] = from[9 * i + k] + from[9 * i + (k + 8) % 9];
}
KERNEL alias_rows(word *to, const word *from, int n, int) { // likewise
    int i = THREAD;
    if (i >= n) return;
    word x = 0;
#pragma unroll
    for (int k = 0; k < 32; k++) {
        x = x * 3 + from[64 * i + k];
        to[64 * i + (k + 1) % 32] = x;
    }
}
KERNEL permuted9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    int p = i ^ 1; // the lanes' records do not ascend
    if (p >= n) p = i;
    for (int k = 0; k < 9; k++) to[9 * p + k] = from[9 * i + k] + 2;
}
KERNEL generic9(word *to, word *from, int n, int m) { // an address that is not known to be global
    int   i = THREAD;
    word *chosen = m == -1 ? from : to;
    if (i >= n) return;
    word x = from[i];
    for (int k = 0; k < 9; k++) chosen[9 * i + k] = x * (k + 1);
}
KERNEL barrier9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    __shared__ word tile[9 * 256];
    int i = THREAD, t = threadIdx.x;
    for (int k = 0; k < 9; k++) tile[9 * t + k] = i < n ? from[9 * i + k] : 0;
    __syncthreads();
    if (i < n) {
        for (int k = 0; k < 9; k++) to[9 * i + k] = tile[9 * (t ^ 1) % (9 * 256) + k];
    }
}

// ---- kernels on which nvcc's route must make the same decisions ----
#include "both.cu"
