/* SPDX-License-Identifier: BSD-3-Clause */
/* A mutex for sections that can fail: messages wait until the end of them, because a receiver may
 * call the library, and would wait for this very lock. */
#ifndef SHPOOL_MUTEX_H
#define SHPOOL_MUTEX_H

#include <pthread.h>

#include "internal.h"

static inline void shpool_mutex_lock(pthread_mutex_t *mutex)
{
    shpool_messages_hold();
    pthread_mutex_lock(mutex);
}

static inline void shpool_mutex_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    shpool_messages_release();
}

#endif /* SHPOOL_MUTEX_H */
