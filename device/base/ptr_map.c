/* SPDX-License-Identifier: BSD-3-Clause */
/* The sharded table of pointers: open addressing, at most three quarters full. */
#include "ptr_map.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64u

/* Fibonacci hashing: the top bits choose the shard, those below the place. */
static uint64_t hash_of(const void *ptr)
{
    return ((uint64_t)(uintptr_t)ptr >> 8) * 0x9e3779b97f4a7c15ull;
}

static shpool_ptr_shard *shard_of(shpool_ptr_map *map, const void *ptr)
{
    return &map->shard[hash_of(ptr) >> 58];
}

/* Where the pointer is, or would be; there is room. */
static shpool_ptr_entry *place_in(shpool_ptr_entry *entry, size_t capacity, const void *ptr)
{
    size_t at = (size_t)(hash_of(ptr) >> 20) & (capacity - 1);

    while ((entry[at].ptr != NULL) && (entry[at].ptr != ptr)) {
        at = (at + 1) & (capacity - 1);
    }
    return &entry[at];
}

static shpool_ptr_entry *find(const shpool_ptr_shard *shard, const void *ptr)
{
    shpool_ptr_entry *found;

    if (shard->capacity == 0) {
        return NULL;
    }
    found = place_in(shard->entry, shard->capacity, ptr);
    return (found->ptr != NULL) ? found : NULL;
}

static int grow(shpool_ptr_shard *shard)
{
    size_t capacity = (shard->capacity > 0) ? 2 * shard->capacity : FIRST_CAPACITY;
    shpool_ptr_entry *entry = calloc(capacity, sizeof(*entry));

    if (entry == NULL) {
        return 0;
    }
    for (size_t i = 0; i < shard->capacity; i++) {
        if (shard->entry[i].ptr != NULL) {
            *place_in(entry, capacity, shard->entry[i].ptr) = shard->entry[i];
        }
    }
    free(shard->entry);
    shard->entry = entry;
    shard->capacity = capacity;
    return 1;
}

shpool_status shpool_ptr_put(shpool_ptr_map *map, void *ptr, size_t bytes, void *note)
{
    shpool_ptr_shard *shard = shard_of(map, ptr);
    shpool_ptr_entry *place;
    int full;

    shpool_spin_lock(&shard->lock);
    full = (4 * (shard->used + 1) > 3 * shard->capacity) && !grow(shard);
    if (!full) {
        place = place_in(shard->entry, shard->capacity, ptr);
        shard->used += (place->ptr == NULL);
        *place = (shpool_ptr_entry){ .ptr = ptr, .bytes = bytes, .note = note };
    }
    shpool_spin_unlock(&shard->lock);
    return full ? shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to note an allocation")
                : SHPOOL_OK;
}

shpool_status shpool_ptr_take(shpool_ptr_map *map, void *ptr, shpool_ptr_entry *entry_p)
{
    shpool_ptr_shard *shard = shard_of(map, ptr);
    shpool_ptr_entry *found;
    shpool_status status = SHPOOL_ERR_INVALID;

    shpool_spin_lock(&shard->lock);
    found = find(shard, ptr);
    if ((found != NULL) && !found->taken) {
        status = SHPOOL_OK;
        found->taken = 1;
        if (entry_p != NULL) {
            *entry_p = *found;
        }
    } else if (found != NULL) {
        status = SHPOOL_ERR_DOUBLE_FREE;
    }
    shpool_spin_unlock(&shard->lock);
    if (status == SHPOOL_ERR_INVALID) {
        return shpool_error(status, "%p is not the beginning of an allocation of this allocator",
                            ptr);
    }
    return (status == SHPOOL_OK) ? status : shpool_error(status, "%p is already free", ptr);
}

void shpool_ptr_put_back(shpool_ptr_map *map, const shpool_ptr_entry *entry)
{
    shpool_ptr_shard *shard = shard_of(map, entry->ptr);
    shpool_ptr_entry *found;

    shpool_spin_lock(&shard->lock);
    found = find(shard, entry->ptr);
    if (found != NULL) {
        found->taken = 0;
        found->note = entry->note;
    }
    shpool_spin_unlock(&shard->lock);
}

shpool_ptr_entry *shpool_ptr_hold(shpool_ptr_map *map, const void *ptr)
{
    shpool_ptr_shard *shard = shard_of(map, ptr);
    shpool_ptr_entry *found;

    shpool_spin_lock(&shard->lock);
    found = find(shard, ptr);
    if ((found != NULL) && !found->taken) {
        return found;
    }
    shpool_spin_unlock(&shard->lock);
    return NULL;
}

void shpool_ptr_release(shpool_ptr_map *map, const void *ptr)
{
    shpool_spin_unlock(&shard_of(map, ptr)->lock);
}

int shpool_ptr_walk(shpool_ptr_map *map, shpool_ptr_fn function, void *user)
{
    int stop = 0;

    for (unsigned i = 0; (stop == 0) && (i < SHPOOL_PTR_SHARDS); i++) {
        shpool_ptr_shard *shard = &map->shard[i];

        shpool_spin_lock(&shard->lock);
        for (size_t j = 0; (stop == 0) && (j < shard->capacity); j++) {
            if ((shard->entry[j].ptr != NULL) && !shard->entry[j].taken) {
                stop = function(&shard->entry[j], user);
            }
        }
        shpool_spin_unlock(&shard->lock);
    }
    return stop;
}

void shpool_ptr_map_fini(shpool_ptr_map *map)
{
    for (unsigned i = 0; i < SHPOOL_PTR_SHARDS; i++) {
        free(map->shard[i].entry);
    }
}

typedef struct search {
    uintptr_t address;
    shpool_ptr_entry found;
} search;

static int is_within(shpool_ptr_entry *entry, void *user)
{
    search *wanted = user;
    uintptr_t start = (uintptr_t)entry->ptr;

    if ((wanted->address < start) || (wanted->address - start >= entry->bytes)) {
        return 0;
    }
    wanted->found = *entry;
    return 1;
}

shpool_status shpool_ptr_base(shpool_ptr_map *map, const void *ptr, void **base_p, size_t *bytes_p)
{
    search wanted = { .address = (uintptr_t)ptr };

    if (!shpool_ptr_walk(map, is_within, &wanted)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%p is in no live allocation of this allocator",
                            ptr);
    }
    *base_p = wanted.found.ptr;
    *bytes_p = wanted.found.bytes;
    return SHPOOL_OK;
}
