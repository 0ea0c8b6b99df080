/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks for tools by NVTX's memory extension: the tool's functions, and calls of them. */
#include "nvtx.h"

#include <dlfcn.h>
#include <string.h>

#include "sync.h"

/* NVTX 3; the memory extension, of version 1.2, and the number of slots in its table */
#define NVTX       3u
#define MEMORY     1u
#define COMPATIBLE 0x0102u
#define SLOTS      63u

#define SUB_ALLOCATOR   1u /* usage of a heap */
#define VIRTUAL_ADDRESS 1u /* type of a range */
#define BY_POINTER      1u /* type of a reference to a region */

/* Process-wide, as the tool is.  The table changes only before `attached`, and in tests. */
static struct {
    pthread_mutex_t lock;
    atomic_int attached; /* release: the table is complete; acquire: calls through it */
    intptr_t slot[SLOTS];
} nvtx = { .lock = PTHREAD_MUTEX_INITIALIZER };

static shpool_nvtx_init_fn *find_tool(void)
{
    const char *path = shpool_config_nvtx();
    void *image = (path != NULL) ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    void *found = (image != NULL) ? dlsym(image, "InitializeInjectionNvtxExtension") : NULL;
    shpool_nvtx_init_fn *init = NULL;

    memcpy(&init, &found, sizeof(init)); /* ISO C does not convert these */
    return init;
}

/* The lock is held. */
static void attach(shpool_nvtx_init_fn *init)
{
    shpool_nvtx_segment segment = { .id = 1, .slots = SLOTS, .slot = nvtx.slot };
    shpool_nvtx_module module = { .version = NVTX, .bytes = sizeof(module), .id = MEMORY,
                                  .compatible = COMPATIBLE, .segments = 1, .segment = &segment };
    int has_all;

    memset(nvtx.slot, 0, sizeof(nvtx.slot));
    has_all = (init != NULL) && init(&module) && (nvtx.slot[SHPOOL_NVTX_HEAP] != 0) &&
              (nvtx.slot[SHPOOL_NVTX_REGIONS] != 0) && (nvtx.slot[SHPOOL_NVTX_ENDS] != 0);
    atomic_store_explicit(&nvtx.attached, has_all, memory_order_release);
}

static int is_attached(void)
{
    return atomic_load_explicit(&nvtx.attached, memory_order_acquire);
}

int shpool_nvtx_attach(void)
{
    shpool_mutex_lock(&nvtx.lock);
    if (!is_attached()) {
        attach(find_tool());
    }
    shpool_mutex_unlock(&nvtx.lock);
    return is_attached();
}

void shpool_nvtx_replace(shpool_nvtx_init_fn *init)
{
    shpool_mutex_lock(&nvtx.lock);
    attach(init);
    shpool_mutex_unlock(&nvtx.lock);
}

void shpool_nvtx_divide(cu_ptr ptr, size_t bytes)
{
    const shpool_nvtx_range range = { bytes, (void *)(uintptr_t)ptr };
    const shpool_nvtx_heap heap = { .compatible = COMPATIBLE, .bytes = sizeof(heap),
                                    .usage = SUB_ALLOCATOR, .type = VIRTUAL_ADDRESS,
                                    .range_bytes = sizeof(range), .range = &range };

    if (is_attached()) {
        (void)((shpool_nvtx_heap_fn *)nvtx.slot[SHPOOL_NVTX_HEAP])(NULL, &heap);
    }
}

void shpool_nvtx_begin(cu_ptr heap, const void *ptr, size_t bytes)
{
    const shpool_nvtx_range range = { bytes, ptr };
    const shpool_nvtx_regions regions = { .compatible = COMPATIBLE, .bytes = sizeof(regions),
                                          .type = VIRTUAL_ADDRESS,
                                          .heap = (void *)(uintptr_t)heap, .count = 1,
                                          .range_bytes = sizeof(range), .range = &range };

    if (is_attached()) {
        ((shpool_nvtx_regions_fn *)nvtx.slot[SHPOOL_NVTX_REGIONS])(NULL, &regions);
    }
}

void shpool_nvtx_end(const void *ptr)
{
    const shpool_nvtx_ends ends = { .compatible = COMPATIBLE, .bytes = sizeof(ends),
                                    .type = BY_POINTER, .count = 1, .ptr_bytes = sizeof(ptr),
                                    .ptr = &ptr };

    if (is_attached()) {
        ((shpool_nvtx_ends_fn *)nvtx.slot[SHPOOL_NVTX_ENDS])(NULL, &ends);
    }
}
