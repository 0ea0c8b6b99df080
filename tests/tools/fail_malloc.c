/* SPDX-License-Identifier: BSD-3-Clause */
/* A library for LD_PRELOAD: the program's allocation FAIL_AT fails, with FAIL_ON set all later ones
 * do, too.  At the end their number is written to the file FAIL_COUNT.  With FAIL_NAME this is for
 * a program of that name only, and not for those that it starts.  For tools/faults.sh, and with
 * the GNU C library only. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *ptr, size_t bytes);

static struct {
    atomic_ulong  count;
    unsigned long at; /* 0: none fails */
    int           on;
    int           off; /* this program is left alone */
} fail;

extern char *program_invocation_short_name; /* of the GNU C library */

static int fails(void)
{
    const unsigned long n = atomic_fetch_add(&fail.count, 1) + 1;

    if ((fail.at == 0) || (n < fail.at) || (!fail.on && (n > fail.at))) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *at   = getenv("FAIL_AT");
    const char *name = getenv("FAIL_NAME");

    fail.off   = (name != NULL) && (strcmp(name, program_invocation_short_name) != 0);
    fail.on    = getenv("FAIL_ON") != NULL;
    fail.count = 0; /* without what other constructors need */
    fail.at    = ((at != NULL) && !fail.off) ? strtoul(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char         *path  = getenv("FAIL_COUNT");
    const unsigned long count = fail.count;
    FILE               *file;

    fail.at = 0;
    file    = ((path != NULL) && !fail.off) ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%lu\n", count);
        (void)fclose(file);
    }
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *ptr, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(ptr, bytes);
}
