/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks of the process's tables, all in one place, so that fork() leaves none of them locked: a
 * child has no thread that would unlock what another thread of its parent had locked.
 *
 * fork() acquires all of them, in the order below, and parent and child release them.  A thread
 * holds at most one: a section is a few lines of one file, which call only the C library.  The
 * exception comes first in the order: SHPOOL_LOCK_JOIN is held while nvJitLink links, which reads
 * and fills the cache, and fork() waits until that ends, so that the child finds nvJitLink idle.
 * Other locks of the library need no handler:
 *   - those of lib/driver.c, of device/ and of each device allocator are acquired only after
 *     shpool_driver_get() or shpool_driver_forked() has found that this process may use CUDA.  A
 *     child of a process that has begun to use CUDA may not, and is refused before the lock.
 *   - pthread_once() of the C library starts afresh in a child of a thread that was not in it.
 *   - a run of the executor belongs to the thread that called simt_run(), and has no shared locks.
 */
#ifndef SHPOOL_LOCK_H
#define SHPOOL_LOCK_H

#pragma GCC visibility push(hidden)

typedef enum shpool_lock_id {
    SHPOOL_LOCK_JOIN,      /* lib/link/relink.c */
    SHPOOL_LOCK_REGISTRY,  /* lib/registry.c */
    SHPOOL_LOCK_PROVIDERS, /* device/providers.c */
    SHPOOL_LOCK_CACHE,     /* lib/link/cache_memory.c */
    SHPOOL_LOCK_REPORTS,   /* lib/report.c */
    SHPOOL_LOCK_RECEIVER,  /* lib/message.c */
    SHPOOL_LOCK_COUNT
} shpool_lock_id;

void shpool_lock(shpool_lock_id id);
void shpool_unlock(shpool_lock_id id);

#pragma GCC visibility pop

#endif /* SHPOOL_LOCK_H */
