/* SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(hidden) /* unpopped: nvcc's registration symbols at the end of this
   translation unit become hidden too, or two shared libraries that both hold this archive would
   share them and crash at load */

/* The archive's side of shpool_open(): finds a module's device table in the image that this archive
 * was linked into, and reads it for the current device. */
#include <cuda_runtime.h>
#include <string.h>

#include <shpool/shpool.h>

#define SHPOOL_ALLOCATOR(_name) \
    extern "C" shpool_status shpool_##_name##_device_table(int instrumented, shpool_pool *pool);
#include "lib/builtin_allocators.def"
#undef SHPOOL_ALLOCATOR

namespace {

struct image_module {
    const char *name;
    shpool_status (*read)(int instrumented, shpool_pool *pool);
};

const image_module modules[] = {
#define SHPOOL_ALLOCATOR(_name) {#_name, shpool_##_name##_device_table},
#include "lib/builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
};

/* A CUDA error as a status, and cleared. */
shpool_status failed(cudaError_t error, const char *call)
{
    (void)cudaGetLastError();
    return shpool_error(SHPOOL_ERR_CUDA, "%s failed: %s (%s)", call, cudaGetErrorString(error),
                        cudaGetErrorName(error));
}

/* Copy one device table to the host, on a stream of its own: the legacy stream would wait for, and
 * disturb, whatever the application has under way. */
shpool_status copy_table(const void *tables, int index, shpool_table *table, void **address)
{
    cudaStream_t stream = NULL;
    cudaError_t  error  = cudaGetSymbolAddress(address, tables);

    if (error != cudaSuccess) {
        return failed(error, "cudaGetSymbolAddress (function table)");
    }
    *address = static_cast<shpool_table *>(*address) + index;
    error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error != cudaSuccess) {
        return failed(error, "cudaStreamCreate (function table)");
    }
    error = cudaMemcpyAsync(table, *address, sizeof(*table), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(stream);
    }
    (void)cudaStreamDestroy(stream);
    return (error == cudaSuccess) ? SHPOOL_OK : failed(error, "copy of the function table");
}

} /* namespace */

/* What shpool_open() compares with the header's and the library's number. */
extern "C" uint32_t shpool_image_abi(void)
{
    return SHPOOL_ABI;
}

/* `tables` is the host shadow of a __device__ array of shpool_table: CUDA knows its start only. */
extern "C" shpool_status shpool_image_read(const void *tables, int index, shpool_layout_fn layout,
                                           shpool_pool *pool)
{
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    shpool_table          table;
    void                 *address = NULL;
    shpool_status         status = shpool_same_geometry(layout, pool);

    if (status != SHPOOL_OK) {
        return status;
    }
    /* Another thread's capture in global mode must not be broken by this copy. */
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    status = copy_table(tables, index, &table, &address);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    if (status != SHPOOL_OK) {
        return status;
    }
    if ((table.abi != SHPOOL_ABI) || (table.bytes != sizeof(table))) {
        return shpool_error(SHPOOL_ERR_ABI,
                            "the device code of allocator \"%s\" has ABI %u, this archive has %u: "
                            "recompile it", pool->name, table.abi, SHPOOL_ABI);
    }
    pool->table    = static_cast<const shpool_table *>(address);
    pool->allocate = table.allocate;
    pool->release  = table.release;
    pool->allocate_group = table.allocate_group;
    pool->release_group  = table.release_group;
    return SHPOOL_OK;
}

/* Fill in the pointers of pool->name's module; registered allocators bring their own function. */
extern "C" shpool_status shpool_image_table(shpool_pool *pool)
{
    const int instrumented = (pool->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0;
    const shpool_allocator *allocator = NULL;

    for (const image_module &module : modules) {
        if (strcmp(module.name, pool->name) == 0) {
            return module.read(instrumented, pool);
        }
    }
    if ((shpool_allocator_find(pool->name, &allocator) == SHPOOL_OK) &&
        (allocator->device_table != NULL)) {
        return allocator->device_table(instrumented, pool);
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED,
                        "allocator \"%s\" has no device code in this image: libshpool_device.a was "
                        "built without it, or it was registered without a device table, as plugins "
                        "do; kernels that are compiled with SHPOOL_LINKED can have those",
                        pool->name);
}
