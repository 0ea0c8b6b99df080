/* SPDX-License-Identifier: BSD-3-Clause */
/* This thread's latest failure, as text. */
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The thread's latest detail, SHPOOL_ERROR_BYTES on the heap from its first failure on.  Not
 * _Thread_local: a library that is loaded later, as Python does, has room for some hundred bytes of
 * those that are reached without a call (device/base/sync.h), and these would be 4,096 more. */
static pthread_key_t last_error_key;
static int has_key; /* 0: the program has used up all keys, and key 0 belongs to it */
static pthread_once_t last_error_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    has_key = pthread_key_create(&last_error_key, free) == 0;
}

/* NULL: this thread has had no failure. */
static char *last_error(void)
{
    pthread_once(&last_error_once, make_key);
    return has_key ? pthread_getspecific(last_error_key) : NULL;
}

/* Without memory or a key the detail is lost, the status is not. */
void shpool_set_last_error(const char *detail)
{
    char *mine = last_error();

    if (mine == NULL) {
        mine = has_key ? malloc(SHPOOL_ERROR_BYTES) : NULL;
        if ((mine == NULL) || (pthread_setspecific(last_error_key, mine) != 0)) {
            free(mine);
            return;
        }
    }
    memcpy(mine, detail, strlen(detail) + 1);
}

const char *shpool_last_error(void)
{
    const char *mine = last_error();

    return (mine != NULL) ? mine : "";
}
