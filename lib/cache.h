/* SPDX-License-Identifier: BSD-3-Clause */
/* Cubins that were linked before: in this process's memory, and in a folder. */
#ifndef SHPOOL_CACHE_H
#define SHPOOL_CACHE_H

#include "linker.h"

#pragma GCC visibility push(hidden)

/*
 * A key is the digest of all that decides what a cubin is, except for nvJitLink's version: this
 * process has one nvJitLink, and what a folder has says which one made it, because a machine
 * without nvJitLink takes the cubins of any.
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

/* A cubin and what made it. */
typedef struct shpool_disk_entry {
    void *cubin; /* of shpool_disk_get(): to be given to free() */
    size_t bytes;
    shpool_linker linker;
} shpool_disk_entry;

/* What the folder knows of a key.  0: nothing that is whole and that only this user or root can
 * have written. */
int shpool_disk_get(const char *folder, const shpool_digest *key, shpool_disk_entry *entry_p);

/*
 * Put a cubin into the folder, which is made if its parent is there; then delete what was not used
 * for longest until all of it is at most `limit` bytes.  NULL, or why the folder is not written.
 */
const char *shpool_disk_put(const char *folder, uint64_t limit, const shpool_digest *key,
                            const shpool_disk_entry *entry);

#pragma GCC visibility pop

#endif /* SHPOOL_CACHE_H */
