// SPDX-License-Identifier: BSD-3-Clause
// Runs the kernels of rgb.cu over random pixels and checks every one.
//     rgb [PIXELS]      Exit: 0; 1: a pixel is wrong; 2: CUDA failed; 77: no GPU.
#include "rgb.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "rgb: %s: %s\n", what, cudaGetErrorString(status));
        std::exit(2);
    }
}

static int brighter(int channel) { return std::min(channel + channel / 2, 255); }

static bool same(const pixel &a, const pixel &b) {
    return a.r == b.r && a.g == b.g && a.b == b.b;
}

// The number of wrong pixels; the memory after the last one must be unchanged.
static int run(const char *name, rgb_kernel *kernel, const std::vector<pixel> &from,
               const std::vector<pixel> &expected) {
    const pixel        guard = {-1, -1, -1};
    std::vector<pixel> to(from.size() + 1, guard);
    size_t             bytes = from.size() * sizeof(pixel);
    pixel             *source, *destination;
    int                wrong = 0;

    check(cudaMalloc(&source, bytes), "cudaMalloc");
    check(cudaMalloc(&destination, bytes + sizeof(pixel)), "cudaMalloc");
    check(cudaMemcpy(source, from.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(destination, to.data(), bytes + sizeof(pixel), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(kernel(destination, source, (int)from.size()), name);
    check(cudaMemcpy(to.data(), destination, bytes + sizeof(pixel), cudaMemcpyDeviceToHost),
          name);
    for (size_t i = 0; i < from.size(); i++) { wrong += !same(to[i], expected[i]); }
    wrong += !same(to.back(), guard);
    std::printf("%-16s %zu pixels, %d wrong\n", name, from.size(), wrong);
    check(cudaFree(source), "cudaFree");
    check(cudaFree(destination), "cudaFree");
    return wrong;
}

int main(int argc, char **argv) {
    int count   = (argc > 1) ? std::max(std::atoi(argv[1]), 1) : 1000003;
    int devices = 0, wrong = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("rgb: no GPU");
        return 77;
    }
    std::vector<pixel> from(count), bright(count);
    for (int i = 0; i < count; i++) {
        from[i]   = {std::rand() % 256, std::rand() % 256, std::rand() % 256};
        bright[i] = {brighter(from[i].r), brighter(from[i].g), brighter(from[i].b)};
    }
    wrong += run("member by member", rgb_copy_members, from, from);
    wrong += run("brighten", rgb_brighten, from, bright);
    return wrong != 0;
}
