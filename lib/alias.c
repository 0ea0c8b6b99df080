/* SPDX-License-Identifier: BSD-3-Clause */
/* Aliases of allocators: the names by which cuda_memory's users select them. */
#include "internal.h"

#include <string.h>

static const struct { const char *alias; const char *name; } aliases[] = {
    { "USE_BST_ALLOCATOR",         "rbtree" },
    { "USE_FREELIST_ALLOCATOR",    "freelist" },
    { "USE_THREAD_LOCAL",          "thread_first_fit" },
    { "USE_THREAD_LOCAL_BEST_FIT", "thread_best_fit" },
    { "USE_WARP_LOCAL",            "warp_first_fit" },
    { "USE_WARP_LOCAL_BEST_FIT",   "warp_best_fit" },
};

const char *shpool_alias_resolve(const char *name)
{
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(aliases); i++) {
        if (strcmp(aliases[i].alias, name) == 0) {
            return aliases[i].name;
        }
    }
    return name;
}
