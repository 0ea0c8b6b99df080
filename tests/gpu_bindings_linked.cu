/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of run-time linking: join, load, launch.  SHPOOL_LINKED makes shpool_open() of
 * this translation unit fit the kernel in binding_linked.cu. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

#include "gpu_check.h"

#include "binding_run.h"

#if defined(BINDING_NO_LTO) || (CUDART_VERSION < 12080)

extern "C" int binding_run_linked(const char *allocator, uint32_t *out)
{
    (void)allocator;
    (void)out;
    std::printf("note: run-time linking is skipped: it needs LTO-IR and CUDA 12.8 or newer\n");
    return 77;
}

#else

/* binding_linked.cu as LTO-IR; build-aux/embed.sh made it. */
extern "C" const shpool_blob shpool_lto_binding_linked;

static int launch_cubin(const void *cubin, const char *allocator, uint32_t *out)
{
    cudaLibrary_t library = NULL;
    cudaKernel_t  kernel  = NULL;
    shpool_pool   pool    = {};
    int           failed  = 1;

    if (!gpu_cuda(cudaLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                  "cudaLibraryLoadData")) {
        return 1;
    }
    if (gpu_cuda(cudaLibraryGetKernel(&kernel, library, "binding_linked"),
                 "cudaLibraryGetKernel") && (binding_open(allocator, &pool) == 0)) {
        failed = binding_launch("binding_linked", (const void *)kernel, &pool, out);
        (void)shpool_close(&pool);
    }
    return gpu_cuda(cudaLibraryUnload(library), "cudaLibraryUnload") ? failed : 1;
}

extern "C" int binding_run_linked(const char *allocator, uint32_t *out)
{
    void  *cubin  = NULL;
    size_t bytes  = 0;
    int    device = 0;
    int    major  = 0;
    int    minor  = 0;
    int    failed;
    shpool_status status;

    if (!gpu_cuda(cudaGetDevice(&device), "cudaGetDevice") ||
        !gpu_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                  "cudaDeviceGetAttribute") ||
        !gpu_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                  "cudaDeviceGetAttribute")) {
        return 1;
    }
    status = shpool_link(shpool_lto_binding_linked.data, shpool_lto_binding_linked.bytes, allocator,
                         static_cast<uint32_t>(major * 10 + minor), &cubin, &bytes);
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        std::printf("note: run-time linking is skipped: %s\n", shpool_last_error());
        return 77;
    }
    if (!gpu_check(status == SHPOOL_OK, "shpool_link \"%s\": %s", allocator, shpool_last_error())) {
        return 1;
    }
    failed = launch_cubin(cubin, allocator, out);
    free(cubin);
    return failed;
}

#endif
