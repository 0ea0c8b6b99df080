/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h> /* first: its functions must not be hidden */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see image.cu */

/* This image's kernels once more, joined with an allocator that the image has not, or that is to be
 * inlined: shpool_relink() makes a cubin, which is loaded here, once for each allocator, binding
 * and device, and once more for pools that spill.  A pool of it says so (shpool_pool.library), and
 * shpool_launch() then starts the kernel of the same name in it. */
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include <shpool/impl/cuda_status.h>
#include <shpool/impl/image.h>

/* The linker's names for the code that nvcc leaves of each object; weak: it may be missing. */
extern const char first_row[] __asm__("__start___nv_relfatbin") __attribute__((weak));
extern const char end_row[] __asm__("__stop___nv_relfatbin") __attribute__((weak));

#if CUDART_VERSION >= 12080

namespace {

/* A loaded library, and the pools that it serves.  Each image has its own list, because an image
 * may be unloaded; until then the list only grows, so that a pool's library stays valid. */
struct joined {
    joined       *next;
    uint32_t      allocator; /* shpool_pool.allocator */
    uint32_t      binding;   /* SHPOOL_BINDING_* */
    uint32_t      flags;     /* SHPOOL_FLAG_SPILL, _FLAT: other code is inlined; _COPIES: not
                                refused */
    int           device;
    cudaLibrary_t library;
};

/* Make no calls while it is locked: a message's receiver may open pools, or wait for a thread that
 * does. */
struct joined_list {
    pthread_mutex_t lock;
    joined         *first;
};

joined_list loaded = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* When this image is unloaded, its kernels may no longer be launched.  At process exit CUDA may
 * already be unloaded, which it reports; threads may still run, and in a child of fork() a lock may
 * never be released: then nothing is unloaded. */
__attribute__((destructor)) void unload_all(void)
{
    joined *one;

    if (pthread_mutex_trylock(&loaded.lock) != 0) {
        return;
    }
    one          = loaded.first;
    loaded.first = NULL;
    (void)pthread_mutex_unlock(&loaded.lock);
    while (one != NULL) {
        joined *next = one->next;

        (void)cudaLibraryUnload(one->library);
        free(one);
        one = next;
    }
}

joined key_of(const shpool_pool *pool, int device)
{
    joined key = {};

    key.allocator = pool->allocator;
    key.binding   = pool->binding;
    key.flags     = pool->flags & (SHPOOL_FLAG_SPILL | SHPOOL_FLAG_FLAT | SHPOOL_FLAG_COPIES);
    key.device    = device;
    return key;
}

/* The caller holds the lock. */
cudaLibrary_t find(const joined &key)
{
    for (const joined *one = loaded.first; one != NULL; one = one->next) {
        if ((one->allocator == key.allocator) && (one->binding == key.binding) &&
            (one->flags == key.flags) && (one->device == key.device)) {
            return one->library;
        }
    }
    return NULL;
}

cudaLibrary_t get(const joined &key)
{
    cudaLibrary_t library;

    (void)pthread_mutex_lock(&loaded.lock);
    library = find(key);
    (void)pthread_mutex_unlock(&loaded.lock);
    return library;
}

/* Puts it into the list, unless another thread was faster: then that one's library serves. */
cudaLibrary_t keep(joined *made)
{
    cudaLibrary_t library;

    (void)pthread_mutex_lock(&loaded.lock);
    library = find(*made);
    if (library == NULL) {
        made->next   = loaded.first;
        loaded.first = made;
    }
    (void)pthread_mutex_unlock(&loaded.lock);
    if (library == NULL) {
        return made->library;
    }
    (void)cudaLibraryUnload(made->library);
    free(made);
    return library;
}

/* Whether this image made it: another one's handle may be gone with that image. */
bool is_own(const void *library)
{
    const joined *one;

    (void)pthread_mutex_lock(&loaded.lock);
    for (one = loaded.first; (one != NULL) && (one->library != library); one = one->next) {
    }
    (void)pthread_mutex_unlock(&loaded.lock);
    return one != NULL;
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

/* Link and load.  Threads that need the same library are serialised in shpool_relink(), and all
 * except the first find the cubin in the cache. */
shpool_status make(const shpool_pool *pool, const joined &key, cudaLibrary_t *library_p)
{
    const size_t  row_bytes = static_cast<size_t>(end_row - first_row);
    uint32_t      arch  = 0;
    void         *cubin = NULL;
    size_t        bytes = 0;
    joined       *one;
    shpool_status status = architecture(key.device, &arch);

    if (status == SHPOOL_OK) {
        status = shpool_relink(first_row, row_bytes, pool, arch, &cubin, &bytes);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    one = static_cast<joined *>(malloc(sizeof(*one)));
    if (one == NULL) {
        free(cubin);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an image that was joined");
    }
    *one   = key;
    status = shpool_cuda_status(cudaLibraryLoadData(&one->library, cubin, NULL, NULL, 0, NULL, NULL,
                                                    0), "cudaLibraryLoadData");
    free(cubin); /* the driver has its own copy */
    if (status != SHPOOL_OK) {
        free(one);
        return status;
    }
    *library_p = keep(one);
    return SHPOOL_OK;
}

} /* namespace */

extern "C" shpool_status shpool_image_join(const shpool_pool *pool, const char *tables,
                                           shpool_image_place *place_p)
{
    cudaLibrary_t library = NULL;
    int           device  = 0;
    void         *at      = NULL;
    size_t        bytes   = 0;
    shpool_status status  = shpool_cuda_status(cudaGetDevice(&device), "cudaGetDevice");

    if (status == SHPOOL_OK) {
        const joined key = key_of(pool, device);

        library = get(key);
        if (library == NULL) {
            status = make(pool, key, &library);
        }
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    status = shpool_cuda_status(cudaLibraryGetGlobal(&at, &bytes, library, tables),
                                "cudaLibraryGetGlobal (function table of the joined image)");
    place_p->tables = at;
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaLibraryGetGlobal(&at, &bytes, library, "shpool_image_mark"),
                                    "cudaLibraryGetGlobal (mark of the joined image)");
    }
    place_p->mark    = at;
    place_p->library = library;
    return status;
}

extern "C" shpool_status shpool_image_kernel(const shpool_pool *pool, const void *function,
                                             const void **kernel_p)
{
    const char   *name   = NULL;
    cudaKernel_t  kernel = NULL;
    shpool_status status;

    *kernel_p = NULL;
    if (!is_own(pool->library)) {
        return shpool_error(SHPOOL_ERR_BINDING, "the pool of \"%s\" was opened by another program "
                            "or shared library than the one that launches, and was joined with "
                            "the kernels there: open a pool where the kernel is", pool->name);
    }
    status = shpool_cuda_status(cudaFuncGetName(&name, function), "cudaFuncGetName");
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaLibraryGetKernel(
            &kernel, static_cast<cudaLibrary_t>(pool->library), name), "cudaLibraryGetKernel");
    }
    if (status != SHPOOL_OK) {
        return shpool_error(status, "kernel %s is not in the image that was joined with \"%s\" "
                            "(compile its file with nvcc -rdc=true): %s",
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
