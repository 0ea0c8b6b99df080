/* SPDX-License-Identifier: BSD-3-Clause */
/* The writing half of the page map. */
#include "page_map.h"

#include <stdlib.h>

static shpool_page_slot *leaf_of(shpool_page_map *map, uintptr_t page)
{
    _Atomic(shpool_page_slot *) *root = &map->root[page >> SHPOOL_PAGE_LEAF_BITS];
    shpool_page_slot *leaf = atomic_load_explicit(root, memory_order_relaxed);

    if (leaf == NULL) {
        leaf = calloc((size_t)1 << SHPOOL_PAGE_LEAF_BITS, sizeof(*leaf));
        /* release: pairs with the acquire in shpool_page_get(), publishes the zeros */
        atomic_store_explicit(root, leaf, memory_order_release);
    }
    return leaf;
}

shpool_status shpool_page_set(shpool_page_map *map, uintptr_t address, size_t bytes, void *value)
{
    uintptr_t page = address >> SHPOOL_PAGE_SHIFT;
    uintptr_t end = (address + bytes + SHPOOL_PAGE_BYTES - 1) >> SHPOOL_PAGE_SHIFT;

    if (((address + bytes - 1) >> SHPOOL_ADDRESS_BITS) != 0) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the driver returned the address 0x%llx, "
                            "addresses have at most %u bits here", (unsigned long long)address,
                            SHPOOL_ADDRESS_BITS);
    }
    for (uintptr_t at = page; at < end; at++) {
        if (leaf_of(map, at) == NULL) {
            return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for the map of addresses");
        }
    }
    for (; page < end; page++) {
        shpool_page_slot *leaf = leaf_of(map, page);

        /* release: pairs with the acquire in shpool_page_get(), publishes what value points to */
        atomic_store_explicit(&leaf[page & ((1u << SHPOOL_PAGE_LEAF_BITS) - 1)], value,
                              memory_order_release);
    }
    return SHPOOL_OK;
}

void shpool_page_map_fini(shpool_page_map *map)
{
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(map->root); i++) {
        free(atomic_load_explicit(&map->root[i], memory_order_relaxed));
    }
}
