/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks for tools that check accesses, as compute-sanitizer does: which parts of the driver's
 * allocations are in use.
 *
 * This is the memory extension of NVTX.  NVTX has no library: the tool names a shared object in
 * NVTX_INJECTION64_PATH, and a function of that fills a table with its own functions.
 */
#ifndef SHPOOL_DEVICE_NVTX_H
#define SHPOOL_DEVICE_NVTX_H

#include "device.h"

#pragma GCC visibility push(hidden)

/* What NVTX calls a module: tables of functions, one here, which the tool fills. */
typedef struct shpool_nvtx_segment {
    size_t id;
    size_t slots;
    intptr_t *slot;
} shpool_nvtx_segment;

typedef struct shpool_nvtx_module {
    uint16_t version;
    uint16_t bytes;
    uint16_t id;
    uint16_t compatible;
    size_t segments;
    shpool_nvtx_segment *segment;
    void *unused[2];
} shpool_nvtx_module;

typedef struct shpool_nvtx_range {
    size_t bytes;
    const void *ptr;
} shpool_nvtx_range;

/* Of an allocation of the driver that is divided; `range` is a shpool_nvtx_range. */
typedef struct shpool_nvtx_heap {
    uint16_t compatible;
    uint16_t bytes;
    uint32_t reserved;
    uint32_t usage;
    uint32_t type;
    size_t range_bytes;
    const void *range;
    uint32_t category;
    uint32_t message_type;
    const char *message;
} shpool_nvtx_heap;

typedef struct shpool_nvtx_regions {
    uint16_t compatible;
    uint16_t bytes;
    uint32_t type;
    const void *heap;
    size_t count;
    size_t range_bytes;
    const void *range;
    void *handles;
} shpool_nvtx_regions;

typedef struct shpool_nvtx_ends {
    uint16_t compatible;
    uint16_t bytes;
    uint32_t type;
    size_t count;
    size_t ptr_bytes;
    const void *ptr; /* to the pointers */
} shpool_nvtx_ends;

/* Slots of the table, and the functions in them; the first argument is a domain, here NULL. */
enum { SHPOOL_NVTX_HEAP = 0, SHPOOL_NVTX_REGIONS = 3, SHPOOL_NVTX_ENDS = 5 };
typedef void *shpool_nvtx_heap_fn(void *domain, const shpool_nvtx_heap *heap);
typedef void shpool_nvtx_regions_fn(void *domain, const shpool_nvtx_regions *regions);
typedef void shpool_nvtx_ends_fn(void *domain, const shpool_nvtx_ends *ends);

/* Of the tool: nonzero if it has filled the table. */
typedef int shpool_nvtx_init_fn(shpool_nvtx_module *module);

/* 1: a tool is there that takes marks.  Without one, the following functions have no effect. */
int shpool_nvtx_attach(void);

/* An allocation of the driver, of which only regions may be accessed; until the driver frees it. */
void shpool_nvtx_divide(cu_ptr ptr, size_t bytes);

/* A region in it begins, and ends. */
void shpool_nvtx_begin(cu_ptr heap, const void *ptr, size_t bytes);
void shpool_nvtx_end(const void *ptr);

/* For tests: a tool in place of the environment's; NULL: none. */
void shpool_nvtx_replace(shpool_nvtx_init_fn *init);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_NVTX_H */
