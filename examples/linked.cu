/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run-time linking: the allocator is chosen by name at run time, and then inlined into the kernel,
 * for the GPU at hand.  The kernel is compiled to LTO-IR and stays outside the program:
 *
 *   nvcc -arch=sm_75 -rdc=true -dlto -ltoir linked_kernel.cu -o linked_kernel.ltoir \
 *        $(pkg-config --cflags shpool)
 *   nvcc -rdc=true linked.cu -o linked $(pkg-config --cflags --libs shpool)
 *   SHPOOL_ALLOCATOR=thread_first_fit ./linked linked_kernel.ltoir
 *
 * Needs libnvJitLink 12.3 at run time, and CUDA 12.8 for shpool_link_library().
 */
#define SHPOOL_LINKED /* so that shpool_open() here matches the kernel there */
#include <cstdio>
#include <vector>

#include <shpool/shpool.cuh>

#define BLOCKS  8u
#define THREADS 64u

static bool failed(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    }
    return error != cudaSuccess;
}

static bool failed(shpool_status status)
{
    if (status != SHPOOL_OK) {
        std::fprintf(stderr, "%s\n", shpool_last_error());
    }
    return status != SHPOOL_OK;
}

static std::vector<char> read_all(const char *path)
{
    std::vector<char> bytes;
    FILE             *file = std::fopen(path, "rb");

    for (int c; (file != NULL) && ((c = std::fgetc(file)) != EOF);) {
        bytes.push_back(static_cast<char>(c));
    }
    if (file != NULL) {
        std::fclose(file);
    }
    return bytes;
}

/* Launch the joined kernel and check its results; 0 is success. */
static int launch(cudaLibrary_t library, const shpool_pool *pool)
{
    std::vector<unsigned> sums(BLOCKS * THREADS, 0);
    const size_t          bytes  = sums.size() * sizeof(sums[0]);
    cudaKernel_t          kernel = NULL;
    unsigned             *out    = NULL;
    shpool_pool           copy   = *pool;
    void                 *arguments[] = {&copy, &out};
    unsigned              wrong  = 0;

    if (failed(cudaLibraryGetKernel(&kernel, library, "sums"), "sums") ||
        failed(shpool_allow_shared(kernel, pool->shared_bytes)) ||
        failed(cudaMalloc(&out, bytes), "cudaMalloc") ||
        failed(cudaLaunchKernel(kernel, dim3(BLOCKS), dim3(THREADS), arguments, pool->shared_bytes,
                                NULL), "launch") ||
        failed(cudaMemcpy(sums.data(), out, bytes, cudaMemcpyDeviceToHost), "kernel")) {
        return 1;
    }
    for (unsigned i = 0; i < BLOCKS * THREADS; i++) {
        unsigned n = 1u + i % THREADS;

        wrong += sums[i] != n * (n - 1u) / 2u;
    }
    std::printf("%s, linked at run time: %u sums, %u wrong\n", pool->name, BLOCKS * THREADS, wrong);
    return (failed(cudaFree(out), "cudaFree") || (wrong != 0)) ? 1 : 0;
}

int main(int argc, char **argv)
{
    std::vector<char> kernel;
    shpool_config     want    = {};
    shpool_pool       pool;
    cudaLibrary_t     library = NULL;
    int               devices = 0;
    int               result  = 1;

    if (argc != 2) {
        std::fprintf(stderr, "usage: linked linked_kernel.ltoir\n");
        return 2;
    }
    if ((cudaGetDeviceCount(&devices) != cudaSuccess) || (devices == 0)) {
        std::puts("no GPU: nothing to run");
        return 77;
    }
    kernel             = read_all(argv[1]);
    want.block_threads = THREADS;
    want.payload_bytes = 256 * THREADS;
    if (kernel.empty()) {
        std::fprintf(stderr, "%s cannot be read\n", argv[1]);
        return 1;
    }
    if (failed(shpool_open(NULL, &want, &pool))) {
        return 1;
    }
    if (!failed(shpool_link_library(kernel.data(), kernel.size(), &pool, &library))) {
        result = launch(library, &pool);
        result |= failed(cudaLibraryUnload(library), "unload");
    }
    return failed(shpool_close(&pool)) ? 1 : result;
}
