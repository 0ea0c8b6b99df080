/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of a recorded kernel that is linked at run time (gpu/trace_lto.cu). */
#define SHPOOL_LINKED
#define SHPOOL_CHECK
#include "trace_kernel.cuh"

#if defined(BINDING_NO_LTO) || (CUDART_VERSION < 12080)

extern "C" bool trace_run_linked(const char *, const char *, trace_counts *, bool *skipped_p)
{
    *skipped_p = true;
    return false;
}

#else

extern "C" const shpool_blob shpool_lto_trace_lto;

extern "C" bool trace_run_linked(const char *allocator, const char *path, trace_counts *counts_p,
                                 bool *skipped_p)
{
    cudaLibrary_t library = NULL;
    cudaKernel_t  kernel  = NULL;
    shpool_status status;
    shpool_pool   pool;
    bool          right;

    *skipped_p = false;
    if (!trace_open(allocator, path, &pool)) {
        return false;
    }
    status = shpool_link_library(shpool_lto_trace_lto.data, shpool_lto_trace_lto.bytes, &pool,
                                 &library);
    if (status != SHPOOL_OK) {
        *skipped_p = (status == SHPOOL_ERR_UNSUPPORTED);
        (void)gpu_check(*skipped_p, "%s", shpool_last_error());
        (void)shpool_close(&pool);
        return false;
    }
    right = gpu_cuda(cudaLibraryGetKernel(&kernel, library, "trace_kernel_linked"),
                     "cudaLibraryGetKernel") &&
            trace_launch((const void *)kernel, &pool, counts_p);
    return gpu_cuda(cudaLibraryUnload(library), "cudaLibraryUnload") && right;
}

#endif
