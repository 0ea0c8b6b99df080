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

__device__ int brighter(int channel) { return min(255, channel + channel / 2); }

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

int blocks(int count) { return (count + threads - 1) / threads; }

} // namespace

cudaError_t rgb_copy_members(pixel *to, const pixel *from, int count) {
    copy_members<<<blocks(count), threads>>>(to, from, count);
    return cudaGetLastError();
}

cudaError_t rgb_brighten(pixel *to, const pixel *from, int count) {
    brighten<<<blocks(count), threads>>>(to, from, count);
    return cudaGetLastError();
}
