/* SPDX-License-Identifier: BSD-3-Clause */
/* groups_kernel.cuh for run-time linking (linked.cuh). */
#define SHPOOL_LINKED
#include "groups_kernel.cuh"
#include "linked.cuh"

extern "C" bool groups_run_linked(const char *allocator, const groups_shape *shape,
                                  counts *counts_p, bool *skipped_p)
{
    cudaLibrary_t library = NULL;
    cudaKernel_t  kernel  = NULL;
    shpool_pool   pool    = {};
    const bool    right   = open_within(allocator, shape->threads, 40u * 1024u, 0, &pool) &&
                            gpu_link(LINKED_BLOB(groups), "groups_kernel_linked", &pool, &library,
                                     &kernel, skipped_p) &&
                            groups_launch("linked", (const void *)kernel, pool, *shape, counts_p);

    (void)shpool_close(&pool);
    return gpu_unload(library) && right;
}
