/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: sent to the program's handler, else to stderr if the user requested it. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"

static struct {
    shpool_message_fn handler;
    void *user;
} receiver;

/* Set while this thread is in a receiver: messages caused by the receiver itself are dropped;
 * otherwise it would recurse forever. */
static _Thread_local int in_receiver;

/* A message that waits until its thread has left the last lock. */
typedef struct kept {
    struct kept *next;
    shpool_level level;
    shpool_level standard; /* find_receiver() */
    char text[];
} kept;

static _Thread_local struct {
    unsigned locks; /* that this thread has */
    kept *first;
    kept *last;
} held;

void shpool_set_message_handler(shpool_message_fn handler, void *user)
{
    shpool_lock(SHPOOL_LOCK_RECEIVER);
    receiver.handler = handler;
    receiver.user = user;
    shpool_unlock(SHPOOL_LOCK_RECEIVER);
}

static void write_to_stderr(shpool_level level, const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "shpool: %s: %s\n", shpool_level_names[level], text);
}

/* Without memory the message is lost, but its status is not. */
static void keep(shpool_level level, shpool_level standard, const char *text)
{
    size_t bytes = strlen(text) + 1;
    kept *one = malloc(sizeof(*one) + bytes);

    if (one == NULL) {
        return;
    }
    one->next = NULL;
    one->level = level;
    one->standard = standard;
    memcpy(one->text, text, bytes);
    if (held.first == NULL) {
        held.first = one;
    } else {
        held.last->next = one;
    }
    held.last = one;
}

/* The receiver; NULL: there is none for messages of this level.  standard: the log level where the
 * user set none. */
static shpool_message_fn find_receiver(shpool_level level, shpool_level standard, void **user_p)
{
    shpool_message_fn handler;

    /* called outside the lock: a receiver may install another one */
    shpool_lock(SHPOOL_LOCK_RECEIVER);
    handler = receiver.handler;
    *user_p = receiver.user;
    shpool_unlock(SHPOOL_LOCK_RECEIVER);
    if ((handler == NULL) && (level <= shpool_config_log_level(standard))) {
        handler = write_to_stderr;
    }
    return handler;
}

static void deliver(shpool_message_fn handler, shpool_level level, const char *text, void *user)
{
    in_receiver = 1; /* no calls inside: see shpool_message(), shpool_messages_release() */
    handler(level, text, user);
    in_receiver = 0;
}

static void send(shpool_level level, shpool_level standard, const char *format, va_list args)
{
    char text[SHPOOL_ERROR_BYTES];
    shpool_message_fn handler;
    void *user = NULL;

    handler = in_receiver ? NULL : find_receiver(level, standard, &user);
    if (handler == NULL) {
        return;
    }
    vsnprintf(text, sizeof(text), format, args);
    shpool_text_escape(text, sizeof(text));
    if (held.locks > 0) {
        keep(level, standard, text);
    } else {
        deliver(handler, level, text, user);
    }
}

void shpool_message(shpool_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    send(level, SHPOOL_LEVEL_NONE, format, args);
    va_end(args);
}

void shpool_message_unless(shpool_level level, shpool_level standard, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    send(level, standard, format, args);
    va_end(args);
}

int shpool_message_whole(shpool_level level, const char *text)
{
    void *user;
    shpool_message_fn handler;

    shpool_lock(SHPOOL_LOCK_RECEIVER);
    handler = receiver.handler;
    user = receiver.user;
    shpool_unlock(SHPOOL_LOCK_RECEIVER);
    if ((handler == NULL) || in_receiver || (held.locks > 0)) {
        return 0;
    }
    deliver(handler, level, text, user);
    return 1;
}

void shpool_messages_hold(void)
{
    held.locks++;
}

static void deliver_kept(void)
{
    char detail[SHPOOL_ERROR_BYTES];

    /* the receiver's own calls may fail */
    snprintf(detail, sizeof(detail), "%s", shpool_last_error());
    while (held.first != NULL) {
        kept *one = held.first;
        void *user;
        shpool_message_fn handler = find_receiver(one->level, one->standard, &user);

        held.first = one->next;
        if (handler != NULL) {
            deliver(handler, one->level, one->text, user);
        }
        free(one);
    }
    shpool_set_last_error(detail);
}

void shpool_messages_release(void)
{
    if ((--held.locks == 0) && (held.first != NULL) && !in_receiver) {
        deliver_kept();
    }
}
