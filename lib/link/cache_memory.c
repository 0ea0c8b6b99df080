/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cubins that this process linked or read before.  This is process state, an exception to the rule
 * against globals: one table with one lock, both in this file.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "lib/lock.h"

typedef struct entry {
    shpool_digest key;
    void *cubin; /* NULL: the entry is free */
    size_t bytes;
    uint64_t used; /* when, by the clock */
} entry;

static struct {
    uint64_t clock; /* counts uses */
    size_t bytes;   /* of all entries */
    entry entries[SHPOOL_MEMORY_ENTRIES];
} cache;

static entry *find(const shpool_digest *key)
{
    for (size_t i = 0; i < SHPOOL_MEMORY_ENTRIES; i++) {
        entry *one = &cache.entries[i];

        if ((one->cubin != NULL) && (memcmp(&one->key, key, sizeof(*key)) == 0)) {
            one->used = ++cache.clock;
            return one;
        }
    }
    return NULL;
}

static void drop(entry *one)
{
    free(one->cubin);
    cache.bytes -= one->bytes;
    memset(one, 0, sizeof(*one));
}

/* A free entry, and room for the bytes. */
static entry *make_room(size_t bytes)
{
    for (;;) {
        entry *oldest = NULL;
        entry *empty = NULL;

        for (size_t i = 0; i < SHPOOL_MEMORY_ENTRIES; i++) {
            entry *one = &cache.entries[i];

            if (one->cubin == NULL) {
                empty = one;
            } else if ((oldest == NULL) || (one->used < oldest->used)) {
                oldest = one;
            }
        }
        if ((empty != NULL) && (cache.bytes + bytes <= SHPOOL_MEMORY_BYTES)) {
            return empty;
        }
        drop(oldest);
    }
}

int shpool_memory_get(const shpool_digest *key, void **cubin_p, size_t *bytes_p)
{
    void *copy = NULL;
    entry *found;

    shpool_lock(SHPOOL_LOCK_CACHE);
    found = find(key);
    if (found != NULL) {
        copy = malloc(found->bytes);
        if (copy != NULL) {
            memcpy(copy, found->cubin, found->bytes);
            *cubin_p = copy;
            *bytes_p = found->bytes;
        }
    }
    shpool_unlock(SHPOOL_LOCK_CACHE);
    return copy != NULL;
}

void shpool_memory_put(const shpool_digest *key, const void *cubin, size_t bytes)
{
    void *copy;
    entry *one;

    if ((bytes == 0) || (bytes > SHPOOL_MEMORY_BYTES)) {
        return;
    }
    copy = malloc(bytes);
    if (copy == NULL) {
        return; /* it is only a cache */
    }
    memcpy(copy, cubin, bytes);

    shpool_lock(SHPOOL_LOCK_CACHE);
    if (find(key) == NULL) { /* another thread may have been faster */
        one = make_room(bytes);
        *one = (entry){ .key = *key, .cubin = copy, .bytes = bytes, .used = ++cache.clock };
        cache.bytes += bytes;
        copy = NULL;
    }
    shpool_unlock(SHPOOL_LOCK_CACHE);
    free(copy);
}

void shpool_memory_clear(void)
{
    shpool_lock(SHPOOL_LOCK_CACHE);
    for (size_t i = 0; i < SHPOOL_MEMORY_ENTRIES; i++) {
        if (cache.entries[i].cubin != NULL) {
            drop(&cache.entries[i]);
        }
    }
    shpool_unlock(SHPOOL_LOCK_CACHE);
}
