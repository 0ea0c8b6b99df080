/* SPDX-License-Identifier: BSD-3-Clause */
/* The locks of the process's tables, which fork() takes and releases. */
#include "lock.h"

#include <pthread.h>

static pthread_mutex_t locks[SHPOOL_LOCK_COUNT] = {
    [SHPOOL_LOCK_JOIN] = PTHREAD_MUTEX_INITIALIZER,
    [SHPOOL_LOCK_REGISTRY] = PTHREAD_MUTEX_INITIALIZER,
    [SHPOOL_LOCK_PROVIDERS] = PTHREAD_MUTEX_INITIALIZER,
    [SHPOOL_LOCK_CACHE] = PTHREAD_MUTEX_INITIALIZER,
    [SHPOOL_LOCK_REPORTS] = PTHREAD_MUTEX_INITIALIZER,
    [SHPOOL_LOCK_RECEIVER] = PTHREAD_MUTEX_INITIALIZER,
};

static void lock_all(void)
{
    for (int id = 0; id < SHPOOL_LOCK_COUNT; id++) {
        pthread_mutex_lock(&locks[id]);
    }
}

static void unlock_all(void)
{
    for (int id = SHPOOL_LOCK_COUNT; id-- > 0;) {
        pthread_mutex_unlock(&locks[id]);
    }
}

static void survive_forks(void)
{
    (void)pthread_atfork(lock_all, unlock_all, unlock_all);
}

void shpool_lock(shpool_lock_id id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, survive_forks);
    pthread_mutex_lock(&locks[id]);
}

void shpool_unlock(shpool_lock_id id)
{
    pthread_mutex_unlock(&locks[id]);
}
