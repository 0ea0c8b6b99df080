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
#include "machine.h"

#include <fstream>
#include <iterator>

#define BLOCKS  8u
#define THREADS 64u

/* Launch the joined kernel and compare its sums with the host's; 1: one is wrong. */
static int launch(cudaLibrary_t library, shpool_pool pool)
{
    machine_array<unsigned> out(BLOCKS * THREADS);
    unsigned               *sums        = out;
    cudaKernel_t            kernel      = NULL;
    void                   *arguments[] = { &pool, &sums };
    std::vector<unsigned>   right;

    machine_cuda(cudaLibraryGetKernel(&kernel, library, "sums"), "sums");
    machine_need(shpool_allow_shared(kernel, pool.shared_bytes), "shared memory");
    machine_cuda(cudaLaunchKernel(kernel, dim3(BLOCKS), dim3(THREADS), arguments,
                                  pool.shared_bytes, NULL), "launch");
    for (unsigned i = 0; i < BLOCKS * THREADS; i++) {
        right.push_back(i % THREADS * (i % THREADS + 1u) / 2u);
    }
    return machine_check(pool.name, out, right);
}

int main(int argc, char **argv)
{
    shpool_config want    = {};
    shpool_pool   pool    = {};
    cudaLibrary_t library = NULL;

    if (argc != 2) { machine_fail("usage", "linked linked_kernel.ltoir"); }
    if (machine_name("linked") == nullptr) { return 77; }
    std::ifstream     in(argv[1], std::ios::binary);
    std::vector<char> kernel{ std::istreambuf_iterator<char>(in), {} };

    if (kernel.empty()) { machine_fail(argv[1], "cannot be read"); }
    want.block_threads = THREADS;
    want.payload_bytes = 256 * THREADS;
    machine_need(shpool_open(NULL, &want, &pool), "pool");
    machine_need(shpool_link_library(kernel.data(), kernel.size(), &pool, &library), "link");

    const int failed = launch(library, pool);

    machine_cuda(cudaLibraryUnload(library), "unload");
    machine_need(shpool_close(&pool), "close");
    return failed;
}
