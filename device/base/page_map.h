/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps an address to the allocator's object there, with two loads and without a lock: a radix tree
 * over pages of 2 MiB, as in tcmalloc.  The allocator owns the objects, which are type-stable.
 */
#ifndef SHPOOL_DEVICE_PAGE_MAP_H
#define SHPOOL_DEVICE_PAGE_MAP_H

#include "lib/internal.h"

#include <stdatomic.h>

#define SHPOOL_PAGE_SHIFT     21u
#define SHPOOL_PAGE_BYTES     ((size_t)1 << SHPOOL_PAGE_SHIFT)
#define SHPOOL_ADDRESS_BITS   48u
#define SHPOOL_PAGE_LEAF_BITS 13u
#define SHPOOL_PAGE_ROOT_BITS (SHPOOL_ADDRESS_BITS - SHPOOL_PAGE_SHIFT - SHPOOL_PAGE_LEAF_BITS)

#pragma GCC visibility push(hidden)

typedef _Atomic(void *) shpool_page_slot;

typedef struct shpool_page_map {
    _Atomic(shpool_page_slot *) root[1u << SHPOOL_PAGE_ROOT_BITS];
} shpool_page_map;

/* The object stored for the page of an address, or NULL. */
static inline void *shpool_page_get(shpool_page_map *map, uintptr_t address)
{
    uintptr_t page = address >> SHPOOL_PAGE_SHIFT;
    shpool_page_slot *leaf;

    if ((address >> SHPOOL_ADDRESS_BITS) != 0) {
        return NULL;
    }
    /* acquire: pairs with the releases in shpool_page_set() */
    leaf = atomic_load_explicit(&map->root[page >> SHPOOL_PAGE_LEAF_BITS], memory_order_acquire);
    return (leaf == NULL) ? NULL
                          : atomic_load_explicit(&leaf[page & ((1u << SHPOOL_PAGE_LEAF_BITS) - 1)],
                                                 memory_order_acquire);
}

/* Store a value (NULL: nothing) for all pages of a range, which begins with a page.  One caller at
 * a time.  SHPOOL_ERR_NO_MEMORY; SHPOOL_ERR_UNSUPPORTED: an address beyond 48 bits. */
shpool_status shpool_page_set(shpool_page_map *map, uintptr_t address, size_t bytes, void *value);

/* Free the tree; the map itself is the caller's. */
void shpool_page_map_fini(shpool_page_map *map);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_PAGE_MAP_H */
