// SPDX-License-Identifier: BSD-3-Clause
// Kernels over pixels of three ints.  Neighbouring threads access addresses 12 bytes apart: each
// request touches three times the sectors that it needs.  doc/COALESCE-CLANG.md has the commands
// that compile this file unchanged and rewritten; the host code is main.cpp.
#include "rgb.h"

namespace {

constexpr int threads = 256;

__global__ void copy_members(pixel *to, const pixel *from, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) {
        to[t].r = from[t].r;
        to[t].g = from[t].g;
        to[t].b = from[t].b;
    }
}

// A thread copies ints that do not belong to its own pixel: this works only for a copy.
__global__ void copy_words(int *to, const int *from, int words) {
    int first = 3 * blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 3; k++) {
        int word = first + k * blockDim.x;
        if (word < words) {
            to[word] = from[word];
        }
    }
}

__device__ int brighter(int channel) {
    return min(255, channel + channel / 2);
}

__global__ void brighten(pixel *to, const pixel *from, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) {
        pixel p = from[t];
        p.r     = brighter(p.r);
        p.g     = brighter(p.g);
        p.b     = brighter(p.b);
        to[t]   = p;
    }
}

int blocks(int count) {
    return (count + threads - 1) / threads;
}

} // namespace

cudaError_t rgb_copy_members(pixel *to, const pixel *from, int count) {
    copy_members<<<blocks(count), threads>>>(to, from, count);
    return cudaGetLastError();
}

cudaError_t rgb_copy_words(pixel *to, const pixel *from, int count) {
    copy_words<<<blocks(count), threads>>>(&to->r, &from->r, 3 * count);
    return cudaGetLastError();
}

cudaError_t rgb_brighten(pixel *to, const pixel *from, int count) {
    brighten<<<blocks(count), threads>>>(to, from, count);
    return cudaGetLastError();
}
