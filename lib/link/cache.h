/* SPDX-License-Identifier: BSD-3-Clause */
/* Cubins that were linked before: in this process's memory, and in a folder. */
#ifndef SHPOOL_CACHE_H
#define SHPOOL_CACHE_H

#include "linker.h"

#pragma GCC visibility push(hidden)

/*
 * A key is the digest of everything that determines a cubin, except nvJitLink's version.  This
 * process has one nvJitLink, and an entry of a folder names the one that made it, because a machine
 * without nvJitLink accepts the cubins of any version.
 */

/* ---- cache_memory.c: any thread ---- */

#define SHPOOL_MEMORY_BYTES   (16u << 20) /* of cubins; a larger one is not kept */
#define SHPOOL_MEMORY_ENTRIES 64u

/* 1: *cubin_p is a copy, to be given to free(); 0: not there, or no memory for the copy. */
int shpool_memory_get(const shpool_digest *key, void **cubin_p, size_t *bytes_p);

/* Keep a copy; those that were not used for longest give way. */
void shpool_memory_put(const shpool_digest *key, const void *cubin, size_t bytes);

void shpool_memory_clear(void);

/* ---- cache_disk.c: any thread of any process ---- */

/* A cubin and the linker that made it. */
typedef struct shpool_disk_entry {
    void *cubin; /* of shpool_disk_get(): to be given to free() */
    size_t bytes;
    shpool_linker linker;
} shpool_disk_entry;

/* Look up a key in the folder.  0: it has no complete entry that only this user or root can have
 * written. */
int shpool_disk_get(const char *folder, const shpool_digest *key, shpool_disk_entry *entry_p);

/*
 * Store a cubin in the folder, which is created if its parent exists.  Then delete the least
 * recently used entries until the total is at most `limit` bytes.  Returns NULL, or why the folder
 * was not written.
 */
const char *shpool_disk_put(const char *folder, uint64_t limit, const shpool_digest *key,
                            const shpool_disk_entry *entry);

#pragma GCC visibility pop

#endif /* SHPOOL_CACHE_H */
