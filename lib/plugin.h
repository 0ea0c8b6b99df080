/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared objects that bring allocators: found and looked at here, registered by registry.c. */
#ifndef SHPOOL_PLUGIN_H
#define SHPOOL_PLUGIN_H

#include "internal.h"

#pragma GCC visibility push(hidden)

#define SHPOOL_MAX_PLUGINS  SHPOOL_MAX_ALLOCATORS /* each has one allocator at least */
#define SHPOOL_MAX_REFUSED  16u                   /* files whose reason is kept; more are counted */
#define SHPOOL_REFUSED_BYTES 640u

typedef struct shpool_plugin_file {
    const shpool_plugin_info *info;
    char *path; /* from malloc() */
} shpool_plugin_file;

/* shpool_register of one copy of the library. */
typedef shpool_status (*shpool_register_fn)(const shpool_allocator *allocator);

/* The plugins on SHPOOL_PLUGIN_PATH. */
typedef struct shpool_plugin_list {
    shpool_register_fn library; /* this copy's, to which plugins must be bound */
    int incomplete; /* host memory ran out: not all files were looked at */
    size_t count;
    shpool_plugin_file plugin[SHPOOL_MAX_PLUGINS];
    size_t refused; /* also of those that found no room */
    char reason[SHPOOL_MAX_REFUSED][SHPOOL_REFUSED_BYTES];
} shpool_plugin_list;

/* Load every plugin, in order, and keep those that are sound and bound to `library`.  They stay
 * loaded for good. */
void shpool_plugin_find(shpool_plugin_list *list, shpool_register_fn library);

/* Note why a file is not used. */
void shpool_plugin_refuse(shpool_plugin_list *list, const char *path, const char *format, ...)
    SHPOOL_PRINTF(3, 4);

/* Frees the list and its paths that are not NULL. */
void shpool_plugin_release(shpool_plugin_list *list);

#pragma GCC visibility pop

#endif /* SHPOOL_PLUGIN_H */
