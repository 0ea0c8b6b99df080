/* SPDX-License-Identifier: BSD-3-Clause */
/* Cubins that were linked before: in this process's memory, and in a folder. */
#ifndef SHPOOL_CACHE_H
#define SHPOOL_CACHE_H

#include "hash.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/*
 * All that decides what a cubin is, but for the version of nvJitLink: a hit must not load that one
 * (it takes longer than the hit), and must do without it on machines that have none.  No padding,
 * unused characters are NUL: two keys are equal if their bytes are.
 */
typedef struct shpool_cache_key {
    shpool_hash kernel;
    shpool_hash lto_ir;
    uint64_t kernel_bytes;
    uint64_t lto_ir_bytes;
    uint32_t arch;
    uint32_t cuda;  /* stamp of the LTO-IR */
    char maker[40]; /* version of this library and the linker's options */
} shpool_cache_key;

_Static_assert(sizeof(shpool_cache_key) == 96, "a key has padding");

/* ---- cache_memory.c: any thread ---- */

#define SHPOOL_MEMORY_BYTES   (16u << 20) /* of cubins; a larger one is not kept */
#define SHPOOL_MEMORY_ENTRIES 64u

/* 1: *cubin_p is a copy, to be given to free(); 0: not there, or no memory for the copy. */
int shpool_memory_get(const shpool_cache_key *key, void **cubin_p, size_t *bytes_p);

/* Keep a copy; those that were not used for longest give way. */
void shpool_memory_put(const shpool_cache_key *key, const void *cubin, size_t bytes);

void shpool_memory_clear(void);

/* ---- cache_disk.c: any thread of any process ---- */

/*
 * What a folder knows of a key.  1: *cubin_p is to be given to free(); 0: nothing that is whole and
 * this user's or root's.
 */
int shpool_disk_get(const char *folder, const shpool_cache_key *key, void **cubin_p,
                    size_t *bytes_p);

/*
 * Put a cubin into the folder, which is made if its parent is there; then delete what was not used
 * for longest until all of it is at most `limit` bytes.  What fails is a message of level warn.
 */
void shpool_disk_put(const char *folder, uint64_t limit, const shpool_cache_key *key,
                     const void *cubin, size_t bytes);

#pragma GCC visibility pop

#endif /* SHPOOL_CACHE_H */
