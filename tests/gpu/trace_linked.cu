/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded kernel that is linked at run time (linked.cuh). */
#define SHPOOL_LINKED
#define SHPOOL_CHECK
#include "trace_kernel.cuh"
#include "linked.cuh"

extern "C" bool trace_run_linked(const char *allocator, const char *path, trace_counts *counts_p,
                                 bool *skipped_p)
{
    cudaLibrary_t library = NULL;
    cudaKernel_t  kernel  = NULL;
    shpool_pool   pool    = {};
    const bool    right   = trace_open(allocator, path, &pool) &&
                            gpu_link(LINKED_BLOB(trace), "trace_kernel_linked", &pool, &library,
                                     &kernel, skipped_p) &&
                            trace_launch((const void *)kernel, &pool, counts_p);

    (void)shpool_close(&pool);
    return gpu_unload(library) && right;
}
