// SPDX-License-Identifier: BSD-3-Clause
// The coalescing rewrite, measured: each kernel of tools/bench/coalesce/suite.h from several cubins
// of the same source, plain and rewritten, timed in turns; the outputs are compared byte by byte.
//
//     bench-coalesce [-m MiB] [-r rounds] [-k kernel] ROUTE [VARIANT...]
//
// loads ROUTE.VARIANT.cubin for each variant [plain rewritten]; the others are compared with the
// first.  Exit: 0; 1: outputs differ, or a kernel is slower than 0.98 of the first; 2.
#include "suite.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

namespace
{

constexpr unsigned block_threads = 256;
constexpr double   slowest       = 0.98; // of the plain kernel's speed

[[noreturn]] void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-coalesce: %s: %s\n", what, why);
    exit(2);
}

void check(CUresult result, const char *what)
{
    const char *why = "unknown error";
    if (result != CUDA_SUCCESS) {
        cuGetErrorString(result, &why);
        fail(what, why);
    }
}
#define CHECK(_call) check(_call, #_call)

void check(cudaError_t result, const char *what)
{
    if (result != cudaSuccess) {
        fail(what, cudaGetErrorString(result));
    }
}

struct kernel {
    const char *name;
    size_t      read;
    size_t      written;
    suite_shape shape;
    int         target;
};

const kernel kernels[] = {
#define ENTRY(_name, _read, _written, _shape, _target)                                             \
    { #_name, _read, _written, _shape, _target },
    COALESCE_SUITE(ENTRY)
#undef ENTRY
};

__global__ void fill(uint32_t *words, size_t count)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ull;
        x ^= x >> 29;
        words[i] = (uint32_t)(x * 0xBF58476D1CE4E5B9ull >> 32);
    }
}

__global__ void count_different(const uint32_t *a, const uint32_t *b, size_t count,
                                unsigned long long *different)
{
    unsigned long long here = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        here += a[i] != b[i];
    }
    if (here != 0) {
        atomicAdd(different, here);
    }
}

struct memory {
    uint32_t           *source;
    uint32_t           *destination;
    uint32_t           *reference;
    unsigned long long *different;
    size_t              bytes; // of each array
    unsigned            multiprocessors;
};

memory allocate(size_t bytes)
{
    memory         m = {};
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    m.multiprocessors = (unsigned)device.multiProcessorCount;
    m.bytes           = bytes;
    CHECK(cudaMalloc(&m.source, bytes));
    CHECK(cudaMalloc(&m.destination, bytes));
    CHECK(cudaMalloc(&m.reference, bytes));
    CHECK(cudaMalloc(&m.different, sizeof(*m.different)));
    fill<<<1024, 256>>>(m.source, bytes / 4);
    CHECK(cudaGetLastError());
    return m;
}

struct launch {
    size_t   n;
    dim3     grid;
    dim3     block;
    double useful; // bytes
};

launch shape_of(const kernel &k, const memory &m)
{
    launch       l    = {};
    const size_t most = m.bytes / std::max(k.read, k.written);
    l.block           = dim3(block_threads);
    l.n               = most - 37; // so that the last block and the last warp are not full
    if (k.shape == SUITE_SQUARE) {
        for (l.n = 1024; (l.n + 1024) * (l.n + 1024) * 4 <= m.bytes; l.n += 1024) {
        }
        l.block  = dim3(32, 8);
        l.grid   = dim3((unsigned)(l.n / 32), (unsigned)(l.n / 8));
        l.useful = (double)l.n * l.n * 8;
        return l;
    }
    if (k.shape == SUITE_FULL) {
        l.n = most / block_threads * block_threads;
    }
    l.grid = dim3((unsigned)((l.n + block_threads - 1) / block_threads));
    if (k.shape == SUITE_GRID_STRIDE) {
        l.grid = dim3(8 * m.multiprocessors);
    }
    l.useful = (double)l.n * (k.read + k.written) * ((k.shape == SUITE_HALF) ? 0.5 : 1.0);
    return l;
}

double run(CUfunction function, const launch &l, const memory &m)
{
    CUdeviceptr d = (CUdeviceptr)m.destination, s = (CUdeviceptr)m.source;
    size_t      n           = l.n;
    void       *arguments[] = { &d, &s, &n };
    cudaEvent_t begin, end;
    float       ms;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    CHECK(cuLaunchKernel(function, l.grid.x, l.grid.y, 1, l.block.x, l.block.y, 1, 0, nullptr,
                         arguments, nullptr));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return ms;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct variant {
    std::string name;
    CUmodule    module;
};

// Words of the output that differ from the first variant's, which are kept.
unsigned long long differences(CUfunction function, const launch &l, const memory &m, bool first)
{
    unsigned long long different = 0;
    CHECK(cudaMemset(m.destination, 0xCD, m.bytes));
    run(function, l, m);
    if (first) {
        CHECK(cudaMemcpy(m.reference, m.destination, m.bytes, cudaMemcpyDeviceToDevice));
        return 0;
    }
    CHECK(cudaMemset(m.different, 0, sizeof(*m.different)));
    count_different<<<1024, 256>>>(m.destination, m.reference, m.bytes / 4, m.different);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&different, m.different, sizeof(different), cudaMemcpyDeviceToHost));
    return different;
}

// 1: a variant's output differs, or it is too slow.
int measure(const kernel &k, const std::vector<variant> &variants, const memory &m, int rounds)
{
    const launch                     l = shape_of(k, m);
    std::vector<CUfunction>          functions(variants.size());
    std::vector<std::vector<double>> times(variants.size());
    unsigned long long               different = 0;
    std::string                      verdict;
    for (size_t v = 0; v < variants.size(); v++) {
        CHECK(cuModuleGetFunction(&functions[v], variants[v].module, k.name));
        different += differences(functions[v], l, m, v == 0);
    }
    for (int r = -2; r < rounds; r++) {
        for (size_t v = 0; v < variants.size(); v++) {
            const double ms = run(functions[v], l, m);
            if (r >= 0) {
                times[v].push_back(ms);
            }
        }
    }
    const double first = median(times[0]);
    bool         slow  = false, missed = false;
    printf("%-16s", k.name);
    for (size_t v = 0; v < variants.size(); v++) {
        const double ms = median(times[v]);
        printf(" %10.0f", l.useful / ms * 1e-6);
        if (v > 0) {
            printf(" %6.2fx", first / ms);
        }
        slow |= (v == 1) && (first / ms < slowest);
        missed |= (v == 1) && (l.useful / ms * 1e-6 < k.target);
    }
    printf("  %s%s", (different == 0) ? "identical" : "DIFFERENT", slow ? ", SLOWER" : "");
    if (k.target != 0) {
        printf(", %s %d", missed ? "below" : "reaches", k.target);
    }
    printf("\n");
    fflush(stdout);
    return (different != 0) || slow;
}

} // namespace

int main(int argc, char **argv)
{
    size_t      mib    = 1024;
    int         rounds = 20, at = 1, failed = 0;
    const char *only   = "";
    for (; (at + 1 < argc) && (argv[at][0] == '-'); at += 2) {
        switch (argv[at][1]) {
        case 'm': mib = strtoull(argv[at + 1], nullptr, 10); break;
        case 'r': rounds = atoi(argv[at + 1]); break;
        case 'k': only = argv[at + 1]; break;
        default:  fail(argv[at], "no such option");
        }
    }
    if ((at >= argc) || (mib < 8) || (rounds < 1)) {
        fail("usage", "bench-coalesce [-m MiB] [-r rounds] [-k kernel] ROUTE [VARIANT...]");
    }
    const std::string    route = argv[at++];
    std::vector<variant> variants;
    for (; at < argc; at++) {
        variants.push_back({ argv[at], nullptr });
    }
    if (variants.empty()) {
        variants = { { "plain", nullptr }, { "rewritten", nullptr } };
    }
    CHECK(cudaSetDevice(0));
    memory         m = allocate(mib << 20);
    cudaDeviceProp device;
    int            driver;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDriverGetVersion(&driver));
    printf("%s, driver for CUDA %d.%d; %s; %zu MiB for each array, medians of %d rounds, GB/s\n",
           device.name, driver / 1000, driver % 1000 / 10, route.c_str(), mib, rounds);
    printf("%-16s", "kernel");
    for (size_t v = 0; v < variants.size(); v++) {
        const std::string file = route + "." + variants[v].name + ".cubin";
        check(cuModuleLoad(&variants[v].module, file.c_str()), file.c_str());
        printf((v == 0) ? " %10s" : " %10s        ", variants[v].name.c_str());
    }
    printf("\n");
    for (const kernel &k : kernels) {
        if (strstr(k.name, only) != nullptr) {
            failed |= measure(k, variants, m, rounds);
        }
    }
    puts(failed ? "SOME OUTPUTS DIFFER OR ARE SLOWER" : "all outputs identical, none slower");
    return failed;
}
