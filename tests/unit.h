/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the unit tests of lib/: the includes that CMocka needs, and fake allocators. */
#ifndef SHPOOL_TESTS_UNIT_H
#define SHPOOL_TESTS_UNIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tests/test.h"

/* The detail of the latest failure must hold the words that help the reader. */
#define assert_detail(_part)                                                                       \
    do {                                                                                           \
        if (strstr(shpool_last_error(), (_part)) == NULL) {                                        \
            fail_msg("\"%s\" is not in \"%s\"", (_part), shpool_last_error());                     \
        }                                                                                          \
    } while (0)

#define FAKE_OVERHEAD 48u

/* 48 bytes of metadata, 16-byte granules; monotone; word[] records the arguments. */
static inline shpool_layout fake_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout = { 0 };

    if (bytes >= FAKE_OVERHEAD + 16) {
        layout.bytes = bytes / 16 * 16;
        layout.largest = layout.bytes - FAKE_OVERHEAD;
        layout.word[0] = bytes;
        layout.word[1] = alignment;
    }
    return layout;
}

static inline shpool_layout empty_layout(uint32_t bytes, uint32_t alignment)
{
    (void)bytes;
    (void)alignment;
    return (shpool_layout){ 0 };
}

/* Bytes after a planned pool's module, for waiting threads that share it. */
static inline uint32_t wait_bytes(const shpool_pool *pool)
{
    return ((pool->threads_per_pool > 1) || (pool->scope == SHPOOL_SCOPE_CLUSTER))
               ? SHPOOL_WAIT_BYTES : 0u;
}

static inline shpool_allocator fake_allocator(const char *name, uint32_t scope, uint32_t caps)
{
    return (shpool_allocator){
        .abi = SHPOOL_ABI, .bytes = sizeof(shpool_allocator), .name = name, .summary = "a fake",
        .scope = scope, .caps = caps, .layout = fake_layout, .tables = "shpool_fake_tables",
    };
}

/* 1 if every byte of an output is 0, as it must be after a failure. */
static inline int is_zeroed(const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != 0) {
            return 0;
        }
    }
    return 1;
}

#define CAPTURED 4096

/* What arrives at stderr from now on, into `text` at its end. */
typedef struct capture {
    FILE *file;
    int saved;
} capture;

static inline capture capture_stderr(void)
{
    const capture c = { .file = tmpfile(), .saved = dup(STDERR_FILENO) };

    if ((c.file == NULL) || (c.saved < 0)) {
        abort();
    }
    fflush(stderr);
    dup2(fileno(c.file), STDERR_FILENO);
    return c;
}

static inline void end_capture(const capture *c, char text[CAPTURED])
{
    fflush(stderr);
    dup2(c->saved, STDERR_FILENO);
    close(c->saved);
    rewind(c->file);
    text[fread(text, 1, CAPTURED - 1, c->file)] = '\0';
    fclose(c->file);
}

/* Tests must not depend on the caller's environment. */
static inline int clear_environment(void **state)
{
    unsetenv("SHPOOL_ALLOCATOR");
    unsetenv("SHPOOL_BINDING");
    unsetenv("SHPOOL_CACHE_BYTES");
    unsetenv("SHPOOL_CACHE_DIR");
    unsetenv("SHPOOL_DEVICE_ALLOCATOR");
    unsetenv("SHPOOL_LOG_LEVEL");
    unsetenv("SHPOOL_PLUGIN_PATH");
    shpool_set_message_handler(NULL, NULL);
    shpool_config_reload();
    return 0;
}

#endif /* SHPOOL_TESTS_UNIT_H */
