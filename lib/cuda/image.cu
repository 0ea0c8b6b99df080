/* SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(hidden) /* unpopped: nvcc's registration symbols at the end of this
   translation unit become hidden too, or two shared libraries that both hold this archive would
   share them and crash at load */

/* The archive's side of shpool_open(): finds an allocator's device tables in the image that this
 * archive was linked into, and reads one for the current device.  A table never comes from another
 * image, even if that registered the allocator: its functions would not be callable. */
#include <cuda_runtime.h>
#include <string.h>

#include <shpool/impl/cuda_status.h>
#include <shpool/impl/image.h>

extern "C" {
extern __device__ const uint32_t shpool_image_mark;
__device__ const uint32_t shpool_image_mark = SHPOOL_ABI; /* only its address matters */
}

/* The linker's names for the section; weak: an image may have no module. */
extern const shpool_image_module first_module[] __asm__("__start_shpool_modules")
    __attribute__((weak));
extern const shpool_image_module end_module[] __asm__("__stop_shpool_modules")
    __attribute__((weak));

namespace {

const shpool_image_module *find_module(const char *symbol)
{
    for (const shpool_image_module *one = first_module; one != end_module; one++) {
        if (strcmp(one->symbol, symbol) == 0) {
            return one;
        }
    }
    return NULL;
}

/* The pool gets the table that it needs of two. */
shpool_status read_table(const shpool_image_place &place, shpool_pool *pool)
{
    const int           counted = (pool->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0;
    const shpool_table *address = static_cast<const shpool_table *>(place.tables) + counted;
    shpool_table        table;
    shpool_status       status = shpool_image_table(address, &table);

    if (status != SHPOOL_OK) {
        return status;
    }
    if ((table.abi != SHPOOL_ABI) || (table.bytes != sizeof(table))) {
        return shpool_error(SHPOOL_ERR_ABI,
                            "the device code of allocator \"%s\" has ABI %u, this archive has %u: "
                            "recompile it", pool->name, table.abi, SHPOOL_ABI);
    }
    if ((table.allocate == NULL) || (table.release == NULL) ||
        ((table.allocate_group == NULL) != (table.release_group == NULL))) {
        return shpool_error(SHPOOL_ERR_INVALID, "the function table of allocator \"%s\" lacks %s: "
                            "SHPOOL_DEVICE_MODULE() or SHPOOL_PLUGIN_MODULE() makes whole ones",
                            pool->name, (table.allocate == NULL) ? "malloc"
                            : (table.release == NULL) ? "free"
                            : (table.allocate_group == NULL) ? "malloc_group" : "free_group");
    }
    pool->table    = address;
    pool->image    = place.mark;
    pool->library  = place.library;
    pool->allocate = table.allocate;
    pool->release  = table.release;
    pool->allocate_group = table.allocate_group;
    pool->release_group  = table.release_group;
    return SHPOOL_OK;
}

/* An allocator of this image. */
shpool_status bind_module(const shpool_image_module *module, shpool_pool *pool)
{
    shpool_image_place place = {};
    void              *tables = NULL;
    void              *mark   = NULL;
    cudaError_t        error;
    shpool_status      status = shpool_same_geometry(module->layout, pool);

    if (status != SHPOOL_OK) {
        return status;
    }
    error = cudaGetSymbolAddress(&tables, module->tables);
    if (error == cudaSuccess) { /* as void *, otherwise CUDA's template uses the address of an
                                   argument */
        error = cudaGetSymbolAddress(&mark, static_cast<const void *>(&shpool_image_mark));
    }
    if (error != cudaSuccess) {
        return shpool_cuda_status(error, "cudaGetSymbolAddress (function table)");
    }
    place.tables = tables;
    place.mark   = mark;
    return read_table(place, pool);
}

/* One that is joined with this image's kernels. */
shpool_status bind_joined(const shpool_allocator *allocator, shpool_pool *pool)
{
    shpool_image_place place  = {};
    shpool_status      status = shpool_image_join(pool, allocator->tables, &place);

    return (status == SHPOOL_OK) ? read_table(place, pool) : status;
}

shpool_status bind(const shpool_allocator *allocator, shpool_pool *pool)
{
    const shpool_image_module *module = find_module(allocator->tables);

    if (pool->binding == SHPOOL_BINDING_LINKED) {
        if (bind_joined(allocator, pool) == SHPOOL_OK) {
            return SHPOOL_OK;
        }
        shpool_announce_table(pool);
        pool->binding = SHPOOL_BINDING_TABLE;
    }
    return (module != NULL) ? bind_module(module, pool) : bind_joined(allocator, pool);
}

} /* namespace */

extern "C" uint32_t shpool_image_abi(void)
{
    return SHPOOL_ABI;
}

extern "C" shpool_status shpool_image_bind(shpool_pool *pool)
{
    cudaStreamCaptureMode   mode      = cudaStreamCaptureModeRelaxed;
    const shpool_allocator *allocator = NULL;
    shpool_status           status    = shpool_allocator_find(pool->name, &allocator);

    if (status == SHPOOL_OK) {
        /* These calls must not invalidate another thread's capture in global mode. */
        (void)cudaThreadExchangeStreamCaptureMode(&mode);
        status = bind(allocator, pool);
        (void)cudaThreadExchangeStreamCaptureMode(&mode);
    }
    return status;
}
