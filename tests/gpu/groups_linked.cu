/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of groups_kernel.cuh for run-time linking (gpu/groups_lto.cu). */
#define SHPOOL_LINKED
#include "groups_kernel.cuh"

#if defined(BINDING_NO_LTO) || (CUDART_VERSION < 12080)

extern "C" bool groups_run_linked(const char *, const groups_shape *, counts *, bool *skipped_p)
{
    *skipped_p = true;
    return false;
}

#else

extern "C" const shpool_blob shpool_lto_groups_lto;

extern "C" bool groups_run_linked(const char *allocator, const groups_shape *shape,
                                  counts *counts_p, bool *skipped_p)
{
    cudaLibrary_t library = NULL;
    cudaKernel_t  kernel  = NULL;
    shpool_status status;
    shpool_pool   pool;
    bool          right;

    *skipped_p = false;
    if (!open_within(allocator, shape->threads, 40u * 1024u, 0, &pool)) {
        return false;
    }
    status = shpool_link_library(shpool_lto_groups_lto.data, shpool_lto_groups_lto.bytes, &pool,
                                 &library);
    if (status != SHPOOL_OK) {
        *skipped_p = (status == SHPOOL_ERR_UNSUPPORTED);
        (void)gpu_check(*skipped_p, "%s", shpool_last_error());
        (void)shpool_close(&pool);
        return false;
    }
    right = gpu_cuda(cudaLibraryGetKernel(&kernel, library, "groups_kernel_linked"),
                     "cudaLibraryGetKernel") &&
            groups_launch("linked", (const void *)kernel, pool, *shape, counts_p);
    (void)shpool_close(&pool);
    return gpu_cuda(cudaLibraryUnload(library), "cudaLibraryUnload") && right;
}

#endif
