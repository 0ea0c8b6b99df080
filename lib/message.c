/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: to the receiver that the program installed, else to stderr if the user asked for it. */
#include "internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    shpool_message_fn handler;
    void *user;
} receiver = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Set while this thread is in a receiver: what that one causes is dropped, it would not end. */
static _Thread_local int in_receiver;

void shpool_set_message_handler(shpool_message_fn handler, void *user)
{
    pthread_mutex_lock(&receiver.lock);
    receiver.handler = handler;
    receiver.user = user;
    pthread_mutex_unlock(&receiver.lock);
}

static void write_to_stderr(shpool_level level, const char *text, void *user)
{
    static const char *const names[] = { "none", "error", "warn", "info" };

    (void)user;
    fprintf(stderr, "shpool: %s: %s\n", names[level], text);
}

void shpool_message(shpool_level level, const char *format, ...)
{
    char text[SHPOOL_ERROR_BYTES];
    shpool_message_fn handler;
    void *user;
    va_list args;

    if (in_receiver) {
        return;
    }

    /* called outside the lock: a receiver may install another one */
    pthread_mutex_lock(&receiver.lock);
    handler = receiver.handler;
    user = receiver.user;
    pthread_mutex_unlock(&receiver.lock);
    if (handler == NULL) {
        if (level > shpool_config_log_level(SHPOOL_LEVEL_NONE)) {
            return;
        }
        handler = write_to_stderr;
    }

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    in_receiver = 1;
    handler(level, text, user);
    in_receiver = 0;
}
