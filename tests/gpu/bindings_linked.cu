/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of run-time linking: join, load, launch.  SHPOOL_LINKED makes shpool_open() of
 * this translation unit fit the kernel in binding_linked.cu. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

#include "check.h"

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

/* Code without a kernel does not make a library, and the error says so. */
static int refuses(const shpool_pool *pool)
{
    const shpool_pool none    = {};
    cudaLibrary_t     library = (cudaLibrary_t)1;
    int               right   = 1;

    right &= gpu_check(shpool_link_library("x", 1, &none, &library) == SHPOOL_ERR_INVALID,
                       "a zeroed pool is linked: %s", shpool_last_error());
    right &= gpu_check(library == NULL, "a library after a failure");
    right &= gpu_check(shpool_link_library("x", 1, NULL, &library) == SHPOOL_ERR_INVALID,
                       "a NULL pool is linked: %s", shpool_last_error());
    right &= gpu_check(shpool_link_library("x", 1, pool, NULL) == SHPOOL_ERR_INVALID,
                       "no library_p: %s", shpool_last_error());
    library = (cudaLibrary_t)1;
    right &= gpu_check(shpool_link_library("no LTO-IR", 9, pool, &library) == SHPOOL_ERR_LINK,
                       "garbage is linked: %s", shpool_last_error());
    right &= gpu_check(library == NULL, "a library after a failure");
    return right;
}

static int launch_library(cudaLibrary_t library, shpool_pool *pool, uint32_t *out)
{
    cudaKernel_t kernel = NULL;
    int          failed = 1;

    if (gpu_cuda(cudaLibraryGetKernel(&kernel, library, "binding_linked"),
                 "cudaLibraryGetKernel") &&
        gpu_check(shpool_allow_shared(kernel, pool->shared_bytes) == SHPOOL_OK,
                  "shpool_allow_shared: %s", shpool_last_error())) {
        failed = binding_launch("binding_linked", (const void *)kernel, pool, out);
    }
    return gpu_cuda(cudaLibraryUnload(library), "cudaLibraryUnload") ? failed : 1;
}

extern "C" int binding_run_linked(const char *allocator, uint32_t *out)
{
    cudaLibrary_t library = NULL;
    shpool_pool   pool    = {};
    shpool_status status;
    int           failed  = 1;

    if (binding_open(allocator, &pool) != 0) {
        return 1;
    }
    status = shpool_link_library(shpool_lto_binding_linked.data, shpool_lto_binding_linked.bytes,
                                 &pool, &library);
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        std::printf("note: run-time linking is skipped: %s\n", shpool_last_error());
        failed = 77;
    } else if (gpu_check(status == SHPOOL_OK, "shpool_link_library \"%s\": %s", allocator,
                         shpool_last_error())) {
        failed = launch_library(library, &pool, out) || !refuses(&pool);
    }
    (void)shpool_close(&pool);
    return failed;
}

#endif
