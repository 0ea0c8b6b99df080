/* SPDX-License-Identifier: BSD-3-Clause */
#include "map.h"

#include <stdlib.h>

/* The entry of the key, or the free one where it would be; the table has a free entry. */
static coalesce_map_entry *find(const coalesce_map *map, const void *key, uint32_t tag)
{
    uint64_t hash = ((uintptr_t)key >> 3) + tag;
    size_t at = (size_t)(hash * 0x9e3779b97f4a7c15u >> 32) & (map->capacity - 1);

    while (map->entry[at].key != NULL && (map->entry[at].key != key || map->entry[at].tag != tag)) {
        at = (at + 1) & (map->capacity - 1);
    }
    return &map->entry[at];
}

uint32_t coalesce_map_get(const coalesce_map *map, const void *key, uint32_t tag)
{
    coalesce_map_entry *entry;

    if (map->capacity == 0) {
        return COALESCE_MAP_NONE;
    }
    entry = find(map, key, tag);
    return (entry->key != NULL) ? entry->value : COALESCE_MAP_NONE;
}

static int grow(coalesce_map *map)
{
    coalesce_map larger = { NULL, map->count, (map->capacity == 0) ? 64 : 2 * map->capacity };

    larger.entry = calloc(larger.capacity, sizeof(*larger.entry));
    if (larger.entry == NULL) {
        return 0;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entry[i].key != NULL) {
            *find(&larger, map->entry[i].key, map->entry[i].tag) = map->entry[i];
        }
    }
    free(map->entry);
    *map = larger;
    return 1;
}

int coalesce_map_set(coalesce_map *map, const void *key, uint32_t tag, uint32_t value)
{
    coalesce_map_entry *entry;

    if (2 * (map->count + 1) > map->capacity && !grow(map)) {
        return 0;
    }
    entry = find(map, key, tag);
    map->count += entry->key == NULL;
    *entry = (coalesce_map_entry){ key, tag, value };
    return 1;
}

void coalesce_map_fini(coalesce_map *map)
{
    free(map->entry);
    *map = (coalesce_map){ NULL, 0, 0 };
}

void *coalesce_grow(void *array, size_t count, size_t *capacity_p, size_t bytes)
{
    size_t capacity = (*capacity_p == 0) ? 32 : 2 * *capacity_p;
    void *larger;

    if (count < *capacity_p) {
        return array;
    }
    larger = realloc(array, capacity * bytes);
    if (larger != NULL) {
        *capacity_p = capacity;
    }
    return larger;
}
