// SPDX-License-Identifier: BSD-3-Clause
// The kernels on which an earlier pass of this kind (COALDA) failed, by the numbers of its defects:
// aborts, miscompiled code, and missed patterns.
// Rewritten by force, each must give the same results as before.  Signature as in kernels.cu;
// buffers hold 256 bytes for each thread that is launched, and 16 KiB more.
typedef unsigned int word;

#define KERNEL extern "C" __global__ void
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

// 1: two kernels of one stride in a file
KERNEL d01_first(word *to, const word *from, int, int) {
    int t = THREAD;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
KERNEL d01_second(word *to, const word *from, int, int) {
    int t = THREAD;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
// 2: the sum in the other order
KERNEL d02_order(word *to, const word *from, int, int) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
// 3: a bound that is not a multiple of the block
KERNEL d03_guard(word *to, const word *from, int n, int) {
    int t = THREAD;
    if (t < n) {
        to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
    }
}
// 5: a distance that is known at run time
KERNEL d05_pitch(word *to, const word *from, int n, int m) {
    int t = THREAD, p = 1 + (unsigned)m % 16;
    to[p * t] = from[p * t];
}
// 6: two dimensions
KERNEL d06_plane(word *to, const word *from, int, int) {
    int t = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
// 7: the index is assigned to again
KERNEL d07_again(word *to, const word *from, int, int) {
    int t = THREAD;
    t     = t + 64;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
// 8: records that descend
KERNEL d08_descends(word *to, const word *from, int, int) {
    int t = THREAD, i = -3 * t + 3000;
    to[i] = from[i], to[i + 1] = from[i + 1], to[i + 2] = from[i + 2];
}
// 9: a thread's own element of shared memory, no barrier needed
KERNEL d09_own(word *to, const word *from, int, int) {
    __shared__ word a[3 * 256];
    int t = THREAD, l = threadIdx.x;
    a[3 * l] = from[3 * t], a[3 * l + 1] = from[3 * t + 1], a[3 * l + 2] = from[3 * t + 2];
    to[3 * t] = a[3 * l + 2], to[3 * t + 1] = a[3 * l + 1], to[3 * t + 2] = a[3 * l];
}
// 10: fields of a struct
struct pixel {
    int r, g, b;
};
KERNEL d10_fields(pixel *to, const pixel *from, int, int) {
    int t = THREAD;
    to[t].r = from[t].r, to[t].g = from[t].g, to[t].b = from[t].b;
}
// 11: an index of 64 bits
KERNEL d11_size(word *to, const word *from, int, int) {
    size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
// 12: an element of another record in between
KERNEL d12_further(word *to, const word *from, int, int) {
    int t = THREAD;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
    to[3 * t + 3000] = from[3 * t + 3000];
}
// 13: volatile
KERNEL d13_volatile(volatile word *to, const volatile word *from, int, int) {
    int t = THREAD;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
}
// 14: arithmetic
KERNEL d14_arithmetic(word *__restrict__ to, const word *__restrict__ from, int, int) {
    int  t = THREAD;
    word r = from[3 * t], g = from[3 * t + 1], b = from[3 * t + 2];
    to[3 * t] = r + g, to[3 * t + 1] = g * b, to[3 * t + 2] = b - r;
}
// 16: threadIdx.x is read again later
KERNEL d16_later(word *to, const word *from, int, int) {
    int t = THREAD;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
    to[3 * t + 1] += threadIdx.x;
}
// 17: a barrier between fields, with an effect
KERNEL d17_barrier(word *to, const word *from, int, int) {
    __shared__ word a[3 * 256];
    int t = THREAD, l = threadIdx.x, other = (l ^ 1) < (int)blockDim.x ? l ^ 1 : l;
    a[3 * l] = from[3 * t];
    __syncthreads();
    a[3 * l + 1] = a[3 * other] + from[3 * t + 1];
    __syncthreads();
    a[3 * l + 2] = a[3 * other + 1] + from[3 * t + 2];
    __syncthreads();
    to[3 * t] = a[3 * other], to[3 * t + 1] = a[3 * other + 1], to[3 * t + 2] = a[3 * other + 2];
}
// 18: an index that is quadratic
KERNEL d18_quadratic(word *to, const word *from, int, int) {
    int t = threadIdx.x % 8, i = t * t;
    if (threadIdx.x < 8 && blockIdx.x == 0) {
        to[3 * i] = from[3 * i], to[3 * i + 1] = from[3 * i + 1], to[3 * i + 2] = from[3 * i + 2];
    }
}
// 19: values that go through local variables
KERNEL d19_locals(word *__restrict__ to, const word *__restrict__ from, int, int) {
    int  t = THREAD;
    word v[3];
    for (int k = 0; k < 3; k++) v[k] = from[3 * t + k];
    for (int k = 0; k < 3; k++) to[3 * t + k] = v[2 - k];
}
// 20: the one shape that it was made for
KERNEL d20_shape(word *to, const word *from, int, int) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
    }
}
// 21: a loop anywhere
KERNEL d21_loop(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int t = THREAD;
    for (int round = 0; round < 1 + n % 3; round++) {
        word r = from[3 * t], g = from[3 * t + 1], b = from[3 * t + 2];
        to[3 * t] = r + round, to[3 * t + 1] = g, to[3 * t + 2] = b;
    }
}
// 22: a thread reads its destination again
KERNEL d22_reads_again(word *to, const word *from, int, int) {
    int t = THREAD;
    to[3 * t] = from[3 * t], to[3 * t + 1] = from[3 * t + 1], to[3 * t + 2] = from[3 * t + 2];
    to[3 * t + 1] = to[3 * t] ^ to[3 * t + 2];
}
// An array of each thread's own: the same address is other storage in each lane
KERNEL r1_local(word *to, const word *from, int n, int m) {
    int  t = THREAD;
    word a[30];
    for (int k = 0; k < 30; k++) a[(k * 7 + m) % 30 & 31] = from[3 * t] + k;
    int at = 3 * ((unsigned)n % 9);
    to[3 * t] = a[at], to[3 * t + 1] = a[at + 1], to[3 * t + 2] = a[at + 2];
}
// A part of a record, and a record that begins elsewhere
KERNEL r2_part(word *to, const word *from, int, int) {
    int t = THREAD;
    to[4 * t] = from[4 * t], to[4 * t + 1] = from[4 * t + 1], to[4 * t + 2] = from[4 * t + 2];
}
KERNEL r3_begins_elsewhere(word *to, const word *from, int, int) {
    int t = THREAD;
    to[3 * t + 300] = from[3 * t + 300], to[3 * t + 301] = from[3 * t + 301],
    to[3 * t + 302] = from[3 * t + 302];
}
// One address is used twice
KERNEL r4_shared_address(word *to, const word *from, int, int m) {
    word       *p = to + 3 * THREAD;
    const word *q = from + 3 * THREAD;
    p[0] = q[0], p[1] = q[1], p[2] = q[2];
    if (m % 2) *p += 5;
}
// A function that is not inlined, whose pointers are the kernel's
__attribute__((noinline)) __device__ void move(word *to, const word *from) {
    for (int k = 0; k < 9; k++) to[k] = from[k] + 1;
}
KERNEL r5_function(word *to, const word *from, int, int) {
    move(to + 9 * THREAD, from + 9 * THREAD);
}
// In place, fields moved within the record: the order of loads and stores is the result
KERNEL r6_shifts(word *to, const word *, int, int) {
    word *p = to + 4 * THREAD;
    p[1] = p[0], p[2] = p[1], p[3] = p[2];
}
// The source's place depends on a step that differs from lane to lane, the destination's does not
KERNEL r7_own_step(word *__restrict__ to, const word *__restrict__ from, int n, int m) {
    int t = THREAD, own[4];
    for (int k = 0; k < 4; k++) own[(k + m) & 3] = (t + k) % 3 * 2;
    for (int i = 0, round = 0; round < 2 + (m & 1); round++, i += own[(n + round) & 3]) {
        to[3 * t] = from[3 * t + i], to[3 * t + 1] = from[3 * t + i + 1],
        to[3 * t + 2] = from[3 * t + i + 2];
        __syncthreads();
    }
}
