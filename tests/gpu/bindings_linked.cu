/* SPDX-License-Identifier: BSD-3-Clause */
/* binding_kernel.cuh for run-time linking (linked.cuh). */
#define SHPOOL_LINKED
#if defined(BINDING_KERNEL)
#define BINDING_STATICS
#include "binding_kernel.cuh"
#endif
#include "linked.cuh"

#include "binding_run.h"

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

extern "C" int binding_run_linked(const char *spec, uint32_t first, uint32_t kernels, uint32_t *out)
{
    static const char *const ends[]  = {"", BINDING_EACH_STATIC(BINDING_NAME)};
    cudaLibrary_t            library = NULL;
    cudaKernel_t             kernel  = NULL;
    shpool_pool              pool    = {};
    bool                     skipped = false;
    int                      failed  = binding_open(spec, &pool);

    for (uint32_t i = 0; (i < kernels) && (failed == 0); i++) {
        char name[64];

        (void)std::snprintf(name, sizeof(name), "binding_linked%s", ends[first + i]);
        failed = !gpu_link(LINKED_BLOB(bindings), name, &pool, &library, &kernel, &skipped) ||
                 binding_launch(name, (const void *)kernel, &pool, out + i * BINDING_RESULTS) ||
                 !gpu_unload(library);
    }
    if (skipped) {
        std::printf("note: run-time linking is skipped: %s\n", shpool_last_error());
        failed = 77;
    } else if (failed == 0) {
        failed = !refuses(&pool);
    }
    (void)shpool_close(&pool);
    return failed;
}
