/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of run-time linking: join, load, launch.  SHPOOL_LINKED makes shpool_open() of
 * this translation unit fit the kernel in binding_linked.cu. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

#include "check.h"

#include "binding_run.h"

#if defined(BINDING_NO_LTO) || (CUDART_VERSION < 12080)

extern "C" int binding_run_linked(const char *, uint32_t, uint32_t, uint32_t *)
{
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

static int launch_library(cudaLibrary_t library, uint32_t first, uint32_t kernels,
                          shpool_pool *pool, uint32_t *out)
{
    static const char *const ends[] = {"", BINDING_EACH_STATIC(BINDING_NAME)};
    int                      failed = 0;

    for (uint32_t i = 0; (i < kernels) && (failed == 0); i++) {
        cudaKernel_t kernel = NULL;
        char         name[64];

        (void)std::snprintf(name, sizeof(name), "binding_linked%s", ends[first + i]);
        failed = gpu_cuda(cudaLibraryGetKernel(&kernel, library, name), "cudaLibraryGetKernel")
                     ? binding_launch(name, (const void *)kernel, pool, out + i * BINDING_RESULTS)
                     : 1;
    }
    return gpu_cuda(cudaLibraryUnload(library), "cudaLibraryUnload") ? failed : 1;
}

extern "C" int binding_run_linked(const char *spec, uint32_t first, uint32_t kernels, uint32_t *out)
{
    cudaLibrary_t library = NULL;
    shpool_pool   pool    = {};
    shpool_status status;
    int           failed  = 1;

    if (binding_open(spec, &pool) != 0) {
        return 1;
    }
    status = shpool_link_library(shpool_lto_binding_linked.data, shpool_lto_binding_linked.bytes,
                                 &pool, &library);
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        std::printf("note: run-time linking is skipped: %s\n", shpool_last_error());
        failed = 77;
    } else if (gpu_check(status == SHPOOL_OK, "shpool_link_library \"%s\": %s", spec,
                         shpool_last_error())) {
        failed = launch_library(library, first, kernels, &pool, out) || !refuses(&pool);
    }
    (void)shpool_close(&pool);
    return failed;
}

#endif
