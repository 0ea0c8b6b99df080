// SPDX-License-Identifier: BSD-3-Clause
// Kernels on which both routes must decide equally, as both.txt has it: nvcc.sh compiles this file,
// and tests/coalesce/kernels.cu includes it for clang and llvm.sh.
// The form is that of tests/coalesce/kernels.cu: (to, from, number of records, not used).
#ifndef KERNEL
#define KERNEL extern "C" __global__ void
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
typedef unsigned int word;
#endif

// One red-black relaxation of a record, in place: the sweep over the odd words reads words that the
// sweep over the even ones has stored.
KERNEL red_black9(word *to, const word *, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word *c = to + 9 * i;
    for (int colour = 0; colour < 2; colour++) {
        for (int k = 0; k < 9; k++) {
            if ((k + colour) % 2 == 0) {
                c[k] += ((k > 0 ? c[k - 1] : 0) + (k < 8 ? c[k + 1] : 0) - 2 * c[k]) / 4;
            }
        }
    }
}

// Every other record is relaxed; all are read and written.
KERNEL red_black_cells9(word *to, const word *, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word e[9], sum = 0;
    for (int k = 0; k < 9; k++) sum += e[k] = to[9 * i + k];
    for (int k = 0; k < 9; k++) to[9 * i + k] = (i + n) % 2 == 0 ? e[k] + sum / 9 : e[k] + 1;
}

// Newton's iteration for inverses modulo 2^32: the loop changes the loaded values.
KERNEL newton9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x[9];
    for (int k = 0; k < 9; k++) x[k] = from[9 * i + k] | 1;
#pragma unroll 1
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < 9; k++) x[k] *= 2 - x[k] * x[(k + 1) % 9];
    }
    for (int k = 0; k < 9; k++) to[9 * i + k] = x[k];
}

// The same in place, without the first operation: the loop's registers are loaded into.
KERNEL newton_own9(word *to, const word *, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x[9];
    for (int k = 0; k < 9; k++) x[k] = to[9 * i + k];
#pragma unroll 1
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < 9; k++) x[k] *= 2 - x[k] * x[(k + 1) % 9];
    }
    for (int k = 0; k < 9; k++) to[9 * i + k] = x[k];
}

// How often the loop goes round is not known: it may take longer than the accesses.
KERNEL newton_long9(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x[9];
    for (int k = 0; k < 9; k++) x[k] = from[9 * i + k] | 1;
    for (int round = n % 3; round < 5; round++) {
        for (int k = 0; k < 9; k++) x[k] *= 2 - x[k] * x[(k + 1) % 9];
    }
    for (int k = 0; k < 9; k++) to[9 * i + k] = x[k];
}

// 24 words, which no transform was for once.
KERNEL newton24(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x[24];
#pragma unroll
    for (int k = 0; k < 24; k++) x[k] = from[24 * i + k];
#pragma unroll 1
    for (int round = 0; round < 5; round++) {
#pragma unroll
        for (int k = 0; k < 24; k++) x[k] *= 2 - x[k] * x[(k + 1) % 24];
    }
#pragma unroll
    for (int k = 0; k < 24; k++) to[24 * i + k] = x[k];
}

// A polynomial of 32 coefficients: loads of 32 words pay without stores.
KERNEL newton_roots32(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word c[32], x = i;
#pragma unroll
    for (int k = 0; k < 32; k++) c[k] = from[32 * i + k];
#pragma unroll 1
    for (int round = 0; round < 5; round++) {
        word value = 0, slope = 0;
#pragma unroll
        for (int k = 31; k >= 0; k--) {
            slope = slope * x + value;
            value = value * x + c[k];
        }
        x -= value * slope;
    }
    to[i] = x;
}

// A copy in two parts, the second of which waits for the first one's stores.
KERNEL copy_by_parts8(word *to, const word *from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    for (int part = 0; part < 8; part += 4) {
        word e[4];
        for (int k = 0; k < 4; k++) e[k] = from[8 * i + part + k];
        for (int k = 0; k < 4; k++) to[8 * i + part + k] = e[k];
    }
}

// Eight words, of which nvcc's route once rewrote only the stores.
KERNEL newton8(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word x[8];
    for (int k = 0; k < 8; k++) x[k] = from[8 * i + k] | 1;
#pragma unroll 1
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < 8; k++) x[k] *= 2 - x[k] * x[(k + 1) % 8];
    }
    for (int k = 0; k < 8; k++) to[8 * i + k] = x[k];
}

// Six of seven words are stored: the seventh keeps what it is.
KERNEL holes7(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word sum = 0;
    for (int k = 0; k < 7; k++) sum += from[7 * i + k];
    for (int k = 0; k < 7; k++) {
        if (k != 3) to[7 * i + k] = sum ^ k;
    }
}

// The first ten of sixteen words, in place: units of two words.
KERNEL begins16(word *to, const word *, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word e[16];
    for (int k = 0; k < 16; k++) e[k] = to[16 * i + k];
    for (int k = 0; k < 10; k++) to[16 * i + k] = e[k] + e[15 - k];
}

// Fields narrower than a word that fill their words, with and without sign.
struct narrow {
    word           a;
    short          b;
    unsigned char  c;
    signed char    d;
};
KERNEL narrow8(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    narrow *d = (narrow *)(to + 8 * i);
    const narrow *s = (const narrow *)(from + 8 * i);
    for (int k = 0; k < 4; k++) {
        d[k].a = s[k].a + k + s[3 - k].d;
        d[k].b = (short)(s[k].b / 3 - k);
        d[k].c = (unsigned char)(s[k].c / 3 + s[3 - k].a);
        d[k].d = (signed char)(s[k].d / 3 + i);
    }
}

// The last byte of a word is padding, which must stay what it is.
KERNEL padded8(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    narrow *d = (narrow *)(to + 8 * i);
    word sum = 0;
    for (int k = 0; k < 8; k++) sum += from[8 * i + k];
    for (int k = 0; k < 4; k++) {
        d[k].a = sum + k;
        d[k].b = (short)(sum >> k);
        d[k].c = (unsigned char)(sum / 3 + k);
    }
}

// A copy of narrow fields one by one: a record as short as this pays, too.
KERNEL narrow_copy4(word *__restrict__ to, const word *__restrict__ from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    narrow *d = (narrow *)(to + 4 * i);
    const narrow *s = (const narrow *)(from + 4 * i);
    for (int k = 0; k < 2; k++) {
        d[k].a = s[k].a;
        d[k].b = s[k].b;
        d[k].c = s[k].c;
        d[k].d = s[k].d;
    }
}

// No __restrict__: each word is stored before the next one is loaded, which in place is another's.
KERNEL open9(word *to, const word *from, int n, int) {
    int i = THREAD;
    if (i >= n) return;
    word last = 0;
    for (int k = 0; k < 9; k++) to[9 * i + k] = last = from[9 * i + (9 - k) % 9] * 3 + last;
    if (n % 3 == 0) to[9 * i + 8] = last ^ from[9 * i]; // values that are used after the records
}
