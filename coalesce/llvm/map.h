/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from (pointer, tag) to an index: values of a function, its blocks, its accesses. */
#ifndef COALESCE_LLVM_MAP_H
#define COALESCE_LLVM_MAP_H

#include <stddef.h>
#include <stdint.h>

#define COALESCE_MAP_NONE UINT32_MAX

typedef struct coalesce_map_entry {
    const void *key; /* NULL: free */
    uint32_t tag;
    uint32_t value;
} coalesce_map_entry;

typedef struct coalesce_map {
    coalesce_map_entry *entry;
    size_t count;
    size_t capacity; /* a power of two, or 0 */
} coalesce_map;

/** The value, or COALESCE_MAP_NONE. */
uint32_t coalesce_map_get(const coalesce_map *map, const void *key, uint32_t tag);

/** Add or overwrite.  0: no memory. */
int coalesce_map_set(coalesce_map *map, const void *key, uint32_t tag, uint32_t value);

void coalesce_map_fini(coalesce_map *map);

/**
 * Make room for one more element of `bytes` bytes in a growing array.  NULL: no memory, and the old
 * array is unchanged.
 */
void *coalesce_grow(void *array, size_t count, size_t *capacity_p, size_t bytes);

#endif
