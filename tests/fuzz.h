/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the fuzz targets.  Each is one file with LLVMFuzzerTestOneInput(): tests/build/fuzz.sh
 * links it with libFuzzer, make with fuzz_main.c, which runs the corpus and nothing else.
 *
 * Inputs are text, so that a corpus file can be read and written by hand; every text means
 * something, so that no mutation is lost.  An error aborts the process: libFuzzer then keeps the
 * input. */
#ifndef SHPOOL_TESTS_FUZZ_H
#define SHPOOL_TESTS_FUZZ_H

#include "config.h" /* _GNU_SOURCE */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/internal.h"

/** The folder of the target's corpus below tests/corpus. */
extern const char fuzz_name[];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

static inline void fuzz_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fprintf(stderr, "fuzz_%s: ", fuzz_name);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    abort();
}

#define FUZZ_EXPECT(_fine)                                                                         \
    do {                                                                                           \
        if (!(_fine)) {                                                                            \
            fuzz_fail("%s:%d: not so: %s", __FILE__, __LINE__, #_fine);                            \
        }                                                                                          \
    } while (0)

#define FUZZ_STALE "a failure before this one"

/** Call it before a function that may fail, to detect failures without a detail of their own. */
static inline void fuzz_expect_failure(void)
{
    (void)shpool_error(SHPOOL_ERR_INVALID, "%s", FUZZ_STALE);
}

/** A failure is negative, has a sentence, and a detail of its own that holds `part`. */
static inline void fuzz_check_failure(shpool_status status, const char *part)
{
    const char *detail = shpool_last_error();

    if ((status >= 0) || (strcmp(shpool_strerror(status), "unknown status") == 0)) {
        fuzz_fail("status %d is no failure", (int)status);
    }
    if ((detail[0] == '\0') || (strcmp(detail, FUZZ_STALE) == 0)) {
        fuzz_fail("status %d has no detail", (int)status);
    }
    if (strstr(detail, part) == NULL) {
        fuzz_fail("the detail of status %d lacks \"%s\": %s", (int)status, part, detail);
    }
    FUZZ_EXPECT(strlen(detail) < SHPOOL_ERROR_BYTES);
}

/** The input as text, in memory of its own size, so that a read past its end is seen; free() it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL) {
        abort();
    }
    if (size != 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

#define FUZZ_PATH_BYTES 40

/** The input as a file in memory, for readers that need a path; close() the result. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[FUZZ_PATH_BYTES])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if ((fd < 0) || (write(fd, data, size) != (ssize_t)size)) {
        abort();
    }
    (void)snprintf(path, FUZZ_PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

/** Between the two, the tools' output is discarded: each input would print a page of messages. */
typedef struct fuzz_silence {
    FILE *out;
    FILE *err;
} fuzz_silence;

static inline fuzz_silence fuzz_silence_begin(void)
{
    static FILE *nowhere;
    fuzz_silence before = { stdout, stderr };

    nowhere = (nowhere == NULL) ? fopen("/dev/null", "we") : nowhere;
    if (nowhere == NULL) {
        abort();
    }
    stdout = nowhere;
    stderr = nowhere;
    return before;
}

static inline void fuzz_silence_end(fuzz_silence before)
{
    stdout = before.out;
    stderr = before.err;
}

#endif /* SHPOOL_TESTS_FUZZ_H */
