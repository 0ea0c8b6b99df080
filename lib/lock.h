/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks of the process's tables, all in one place, so that fork() leaves none of them locked: a
 * child has no thread that would unlock what another thread of its parent had locked.
 *
 * fork() takes all of them, in the order below, and parent and child release them.  A thread has at
 * most one: a section is a few lines of one file, which call nobody but the C library.  Other locks
 * of the library need no handler:
 *   - those of lib/driver.c, of device/ and of each device allocator are taken only after
 *     shpool_driver_get() or shpool_driver_forked() has found that this process may use CUDA.  A
 *     child of a process that has begun to use it may not, and is refused before the lock.  So is
 *     shpool_open() before that of lib/relink.c, by the CUDA runtime.
 *   - pthread_once() of the C library begins anew in a child of a thread that was not in it.
 *   - a run of the executor belongs to the thread that called simt_run(); it has no shared locks.
 */
#ifndef SHPOOL_LOCK_H
#define SHPOOL_LOCK_H

#pragma GCC visibility push(hidden)

typedef enum shpool_lock_id {
    SHPOOL_LOCK_REGISTRY,  /* lib/registry.c */
    SHPOOL_LOCK_PROVIDERS, /* device/providers.c */
    SHPOOL_LOCK_CACHE,     /* lib/cache_memory.c */
    SHPOOL_LOCK_RECEIVER,  /* lib/message.c */
    SHPOOL_LOCK_COUNT
} shpool_lock_id;

void shpool_lock(shpool_lock_id id);
void shpool_unlock(shpool_lock_id id);

#pragma GCC visibility pop

#endif /* SHPOOL_LOCK_H */
