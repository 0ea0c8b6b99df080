/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h> /* in front: its functions are not hidden */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see lib/image.cu */

/* This image's kernels once more, joined with an allocator that the image has not, or that is to be
 * inlined: shpool_relink() makes a cubin, which is loaded here, once for each allocator, binding
 * and device, and once more for pools that spill.  A pool of it says so (shpool_pool.library), and
 * shpool_launch() then starts the kernel of the same name in it. */
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include <shpool/impl/cuda_status.h>
#include <shpool/impl/image.h>

/* The linker's names for what nvcc leaves of each object; weak: there may be nothing. */
extern const char first_row[] __asm__("__start___nv_relfatbin") __attribute__((weak));
extern const char end_row[] __asm__("__stop___nv_relfatbin") __attribute__((weak));

#if CUDART_VERSION >= 12080

namespace {

/* What is loaded.  Each image has a list of its own, because an image may be unloaded; only ever
 * grows until then, so that a pool's library stays valid. */
struct joined {
    joined       *next;
    uint32_t      allocator; /* shpool_pool.allocator */
    uint32_t      binding;   /* of the pools: SHPOOL_BINDING_* */
    uint32_t      spills;    /* their SHPOOL_FLAG_SPILL: what is inlined depends on it */
    int           device;
    cudaLibrary_t library;
};

struct joined_list {
    pthread_mutex_t lock;
    joined         *first;
};

joined_list loaded = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* When this image is unloaded nobody may launch its kernels any more.  At the end of the process
 * CUDA may be gone already, and says so. */
__attribute__((destructor)) void unload_all(void)
{
    while (loaded.first != NULL) {
        joined *one = loaded.first;

        loaded.first = one->next;
        (void)cudaLibraryUnload(one->library);
        free(one);
    }
}

joined *find(const shpool_pool *pool, int device)
{
    for (joined *one = loaded.first; one != NULL; one = one->next) {
        if ((one->allocator == pool->allocator) && (one->binding == pool->binding) &&
            (one->spills == (pool->flags & SHPOOL_FLAG_SPILL)) && (one->device == device)) {
            return one;
        }
    }
    return NULL;
}

shpool_status architecture(int device, uint32_t *arch_p)
{
    int         major = 0;
    int         minor = 0;
    cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);

    if (error == cudaSuccess) {
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    }
    *arch_p = static_cast<uint32_t>(10 * major + minor);
    return shpool_cuda_status(error, "cudaDeviceGetAttribute");
}

/* Join and load; the caller holds the lock. */
shpool_status load(const shpool_pool *pool, int device, joined **one_p)
{
    const size_t  row_bytes = static_cast<size_t>(end_row - first_row);
    uint32_t      arch  = 0;
    void         *cubin = NULL;
    size_t        bytes = 0;
    joined       *one;
    shpool_status status = architecture(device, &arch);

    if (status == SHPOOL_OK) {
        status = shpool_relink(first_row, row_bytes, pool, arch, &cubin, &bytes);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    one = static_cast<joined *>(calloc(1, sizeof(*one)));
    if (one == NULL) {
        free(cubin);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an image that was joined");
    }
    status = shpool_cuda_status(cudaLibraryLoadData(&one->library, cubin, NULL, NULL, 0, NULL, NULL,
                                                    0), "cudaLibraryLoadData");
    free(cubin); /* the driver has its own copy */
    if (status != SHPOOL_OK) {
        free(one);
        return status;
    }
    one->allocator = pool->allocator;
    one->binding   = pool->binding;
    one->spills    = pool->flags & SHPOOL_FLAG_SPILL;
    one->device    = device;
    one->next      = loaded.first;
    loaded.first   = one;
    *one_p         = one;
    return SHPOOL_OK;
}

} /* namespace */

extern "C" shpool_status shpool_image_join(const shpool_pool *pool, const char *tables,
                                           shpool_image_place *place_p)
{
    joined       *one    = NULL;
    int           device = 0;
    void         *at     = NULL;
    size_t        bytes  = 0;
    shpool_status status = shpool_cuda_status(cudaGetDevice(&device), "cudaGetDevice");

    if (status != SHPOOL_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&loaded.lock);
    one = find(pool, device);
    if (one == NULL) {
        status = load(pool, device, &one);
    }
    (void)pthread_mutex_unlock(&loaded.lock);
    if (status != SHPOOL_OK) {
        return status;
    }
    status = shpool_cuda_status(cudaLibraryGetGlobal(&at, &bytes, one->library, tables),
                                "cudaLibraryGetGlobal (function table of the joined image)");
    place_p->tables = at;
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaLibraryGetGlobal(&at, &bytes, one->library,
                                                         "shpool_image_mark"),
                                    "cudaLibraryGetGlobal (mark of the joined image)");
    }
    place_p->mark    = at;
    place_p->library = one->library;
    return status;
}

extern "C" shpool_status shpool_image_kernel(const shpool_pool *pool, const void *function,
                                             const void **kernel_p)
{
    const char   *name   = NULL;
    cudaKernel_t  kernel = NULL;
    shpool_status status = shpool_cuda_status(cudaFuncGetName(&name, function), "cudaFuncGetName");

    *kernel_p = NULL;
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaLibraryGetKernel(
            &kernel, static_cast<cudaLibrary_t>(pool->library), name), "cudaLibraryGetKernel");
    }
    if (status != SHPOOL_OK) {
        return shpool_error(status, "kernel %s is not in the image that was joined with \"%s\": %s",
                            (name != NULL) ? name : "(unknown)", pool->name, shpool_last_error());
    }
    *kernel_p = kernel;
    return SHPOOL_OK;
}

#else

extern "C" shpool_status shpool_image_join(const shpool_pool *pool, const char *,
                                           shpool_image_place *)
{
    (void)first_row;
    (void)end_row;
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "allocator \"%s\" has no device code in this "
                        "image, and joining it with this image's kernels needs CUDA 12.8 or newer; "
                        "this archive was built with CUDA %d.%d", pool->name, CUDART_VERSION / 1000,
                        CUDART_VERSION % 1000 / 10);
}

/* No pool has a library. */
extern "C" shpool_status shpool_image_kernel(const shpool_pool *, const void *function,
                                             const void **kernel_p)
{
    *kernel_p = function;
    return SHPOOL_OK;
}

#endif /* CUDART_VERSION */
