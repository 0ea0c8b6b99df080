/* SPDX-License-Identifier: BSD-3-Clause */
/* Each allocation of the library fails in turn, in a test that is linked with --wrap for malloc()
 * and its like (tests/lib/lib.mk). */
#ifndef SHPOOL_TESTS_MEMORY_TRIAL_H
#define SHPOOL_TESTS_MEMORY_TRIAL_H

#include "tests/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#define MOST_LIVE 512u /* pointers of the library at a time */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
char *__real_strdup(const char *text);
FILE *__real_fdopen(int file, const char *mode);
DIR *__real_fdopendir(int file);
int __real_scandir(const char *folder, struct dirent ***names_p,
                   int (*choose)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **));
void __real_free(void *ptr);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
char *__wrap_strdup(const char *text);
FILE *__wrap_fdopen(int file, const char *mode);
DIR *__wrap_fdopendir(int file);
int __wrap_scandir(const char *folder, struct dirent ***names_p,
                   int (*choose)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **));
void __wrap_free(void *ptr);

static struct {
    unsigned fail_at; /* 0: none fails */
    unsigned count;   /* allocations so far */
    int on;           /* those after it fail, too */
    int watched;      /* in a sweep; other tests have threads */
    const void *live[MOST_LIVE];
} memory;

/* 1: this one fails. */
static inline int fails(void)
{
    if ((memory.fail_at == 0) || (++memory.count < memory.fail_at) ||
        (!memory.on && (memory.count > memory.fail_at))) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

static inline void forget(const void *ptr)
{
    for (size_t i = 0; (ptr != NULL) && memory.watched && (i < MOST_LIVE); i++) {
        if (memory.live[i] == ptr) {
            memory.live[i] = NULL;
            return;
        }
    }
}

static inline void *note(void *ptr)
{
    size_t i = 0;

    if (!memory.watched) {
        return ptr;
    }
    while ((i < MOST_LIVE) && (memory.live[i] != NULL)) {
        i++;
    }
    assert_true(i < MOST_LIVE);
    memory.live[i] = ptr;
    return ptr;
}

static inline unsigned count_live(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < MOST_LIVE; i++) {
        count += memory.live[i] != NULL;
    }
    return count;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : note(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : note(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
    if (fails()) {
        return NULL;
    }
    forget(ptr);
    return note(__real_realloc(ptr, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : note(__real_strdup(text));
}

FILE *__wrap_fdopen(int file, const char *mode)
{
    return fails() ? NULL : __real_fdopen(file, mode);
}

DIR *__wrap_fdopendir(int file)
{
    return fails() ? NULL : __real_fdopendir(file);
}

int __wrap_scandir(const char *path, struct dirent ***names_p,
                   int (*choose)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **))
{
    return fails() ? -1 : __real_scandir(path, names_p, choose, compare);
}

void __wrap_free(void *ptr)
{
    forget(ptr);
    __real_free(ptr);
}

static inline unsigned count_open_files(void)
{
    unsigned count = 0;

    for (int file = 0; file < 256; file++) {
        count += fcntl(file, F_GETFD) >= 0;
    }
    return count;
}

/* A call with its checks, and a function that restores the state before. */
typedef struct scene {
    void (*act)(void);
    void (*reset)(void);
} scene;

static inline unsigned sweep_one(const scene *played, int on)
{
    unsigned runs = 0;

    memory.on = on;
    memory.watched = 1;
    do {
        unsigned files = count_open_files();

        played->reset();
        memset(memory.live, 0, sizeof(memory.live));
        memory.count = 0;
        memory.fail_at = ++runs;
        played->act();
        memory.fail_at = 0;
        played->reset();
        if ((count_live() != 0) || (count_open_files() != files)) {
            fail_msg("allocation %u: %u pointers and %d files are lost", runs, count_live(),
                     (int)count_open_files() - (int)files);
        }
        assert_in_range(runs, 1, 200);
    } while (memory.count >= runs);
    memory.watched = 0;
    return runs - 1;
}

/* Let each allocation of `act` fail in turn; it has at least `expected` of them. */
static inline void sweep(void (*act)(void), void (*reset)(void), unsigned expected)
{
    const scene played = { act, reset };

    assert_in_range(sweep_one(&played, 0), expected, 200);
    (void)sweep_one(&played, 1);
    memory.fail_at = 0;
}

/* The same call without failures. */
static inline void in_peace(void (*call)(void))
{
    const unsigned fail_at = memory.fail_at;

    memory.fail_at = 0;
    call();
    memory.fail_at = fail_at;
}

#endif /* SHPOOL_TESTS_MEMORY_TRIAL_H */
