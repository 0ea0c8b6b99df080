/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps pointers to a provider's data, for providers that have no better structure.  A hash table in
 * shards, each with its own lock.  A removed entry leaves its key, so that a double free can be
 * distinguished from a stray pointer.
 */
#ifndef SHPOOL_DEVICE_PTR_MAP_H
#define SHPOOL_DEVICE_PTR_MAP_H

#include "lib/internal.h"
#include "sync.h"

#define SHPOOL_PTR_SHARDS 64u

#pragma GCC visibility push(hidden)

typedef struct shpool_ptr_entry {
    void *ptr;
    size_t bytes;
    void *note;  /* the user's */
    int taken;   /* no longer in the map */
} shpool_ptr_entry;

typedef struct shpool_ptr_shard {
    shpool_spin lock;
    size_t capacity; /* a power of two, or 0 */
    size_t used;     /* taken ones included */
    shpool_ptr_entry *entry;
} shpool_ptr_shard;

typedef struct shpool_ptr_map {
    shpool_ptr_shard shard[SHPOOL_PTR_SHARDS];
} shpool_ptr_map;

/* Zeroed memory is an empty map. */
void shpool_ptr_map_fini(shpool_ptr_map *map);

/* SHPOOL_ERR_NO_MEMORY. */
shpool_status shpool_ptr_put(shpool_ptr_map *map, void *ptr, size_t bytes, void *note);

/* Take it out; entry_p may be NULL.  SHPOOL_ERR_INVALID: it was never there;
 * SHPOOL_ERR_DOUBLE_FREE: it was taken already. */
shpool_status shpool_ptr_take(shpool_ptr_map *map, void *ptr, shpool_ptr_entry *entry_p);

/* Undo a shpool_ptr_take() whose sequel failed; the entry is still there. */
void shpool_ptr_put_back(shpool_ptr_map *map, const shpool_ptr_entry *entry);

/* Look at it: the entry, with its shard locked until shpool_ptr_release(); NULL: none, and nothing
 * is locked. */
shpool_ptr_entry *shpool_ptr_hold(shpool_ptr_map *map, const void *ptr);
void shpool_ptr_release(shpool_ptr_map *map, const void *ptr);

/* Show every entry, a shard locked at a time; nonzero stops. */
typedef int (*shpool_ptr_fn)(shpool_ptr_entry *entry, void *user);
int shpool_ptr_walk(shpool_ptr_map *map, shpool_ptr_fn function, void *user);

/* The entry that an address is in, where each is memory of the driver's own; looks at all. */
shpool_status shpool_ptr_base(shpool_ptr_map *map, const void *ptr, void **base_p, size_t *bytes_p);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_PTR_MAP_H */
