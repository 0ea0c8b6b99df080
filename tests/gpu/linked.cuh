/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel that is linked at run time.  gpu.mk compiles the including file, x_linked.cu, twice: to
 * LTO-IR, which has the kernel, and to the object that links and launches it.  SHPOOL_LINKED in it
 * makes its shpool_open() fit such kernels. */
#ifndef SHPOOL_TESTS_GPU_LINKED_CUH
#define SHPOOL_TESTS_GPU_LINKED_CUH

#include <shpool/shpool.cuh>

#include "check.h"

#if defined(BINDING_NO_LTO) || (CUDART_VERSION < 12080)

#define LINKED_BLOB(_x) NULL
static inline bool gpu_link(const shpool_blob *, const char *, const shpool_pool *, cudaLibrary_t *,
                            cudaKernel_t *, bool *skipped_p)
{
    *skipped_p = true;
    return false;
}
static inline bool gpu_unload(cudaLibrary_t) { return true; }

#else

extern "C" const shpool_blob shpool_lto_bindings_linked, shpool_lto_groups_linked,
    shpool_lto_trace_linked; /* each program has its own */
#define LINKED_BLOB(_x) &shpool_lto_##_x##_linked

/* Link for the pool, and find the kernel; false: it was said, or *skipped_p. */
static inline bool gpu_link(const shpool_blob *blob, const char *name, const shpool_pool *pool,
                            cudaLibrary_t *library_p, cudaKernel_t *kernel_p, bool *skipped_p)
{
    const shpool_status status = shpool_link_library(blob->data, blob->bytes, pool, library_p);

    *skipped_p = (status == SHPOOL_ERR_UNSUPPORTED);
    return !*skipped_p && gpu_check(status == SHPOOL_OK, "%s", shpool_last_error()) &&
           gpu_cuda(cudaLibraryGetKernel(kernel_p, *library_p, name), "cudaLibraryGetKernel");
}

static inline bool gpu_unload(cudaLibrary_t library)
{
    return (library == NULL) || gpu_cuda(cudaLibraryUnload(library), "cudaLibraryUnload");
}

#endif

#endif /* SHPOOL_TESTS_GPU_LINKED_CUH */
