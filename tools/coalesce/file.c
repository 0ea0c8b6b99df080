/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and processes of shpool-coalesce. */
#include "tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 30)

int tool_failed(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fputs("shpool-coalesce: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    return TOOL_NO_INPUT;
}

static char *read_all(FILE *file, size_t *bytes_p)
{
    size_t capacity = 1 << 16;
    size_t used     = 0;
    size_t got      = 1;
    char  *text     = malloc(capacity);

    while ((text != NULL) && (got != 0) && (used < MOST_BYTES)) {
        if (capacity - used < 2) {
            char *grown = realloc(text, 2 * capacity);

            if (grown == NULL) {
                free(text);
                return NULL;
            }
            text = grown;
            capacity *= 2;
        }
        got = fread(text + used, 1, capacity - used - 1, file);
        used += got;
    }
    if (text != NULL) {
        text[used] = '\0';
        *bytes_p   = used;
    }
    return text;
}

char *tool_read(const char *path, size_t *bytes_p)
{
    FILE *file = fopen(path, "rb");
    char *text = (file == NULL) ? NULL : read_all(file, bytes_p);

    if ((file == NULL) || ferror(file)) {
        (void)tool_failed("%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    } else if (text == NULL) {
        (void)tool_failed("%s: no memory to read it", path);
    } else if (*bytes_p >= MOST_BYTES) {
        (void)tool_failed("%s: 1 GiB and more is not read", path);
        free(text);
        text = NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

int tool_write(const char *path, const char *text, size_t bytes)
{
    char        part[SHPOOL_PATH_BYTES];
    const char *mode = "wbx"; /* PART is a file of nobody else */
    struct stat old;
    FILE       *file;
    int         fine;

    if ((stat(path, &old) == 0) && !S_ISREG(old.st_mode)) { /* /dev/stdout */
        (void)snprintf(part, sizeof(part), "%s", path);
        mode = "wb";
    } else if (snprintf(part, sizeof(part), "%s.%ld.part", path, (long)getpid()) >=
               (int)sizeof(part)) {
        (void)tool_failed("%s: the name is too long", path);
        return 0;
    }
    file = fopen(part, mode);
    fine = (file != NULL) && (fwrite(text, 1, bytes, file) == bytes);
    fine = (file != NULL) && (fclose(file) == 0) && fine;
    if (fine && (strcmp(part, path) != 0)) {
        fine = rename(part, path) == 0;
    }
    if (!fine) {
        (void)tool_failed("%s: %s", path, strerror(errno));
        if ((file != NULL) && (strcmp(part, path) != 0)) {
            (void)unlink(part);
        }
    }
    return fine;
}

int tool_close(FILE *file, const char *path)
{
    const int fine = !ferror(file) && (fflush(file) == 0);

    if ((file != stdout) && (fclose(file) != 0)) {
        return tool_failed("%s: %s", path, strerror(errno));
    }
    return fine ? TOOL_OK : tool_failed("%s: %s", path, strerror(errno));
}

coalesce_demangle *tool_demangler(void)
{
    static const char *const runtimes[] = { "libstdc++.so.6", "libc++abi.so.1" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(runtimes); i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_LOCAL); /* stays */
        void *found   = (runtime == NULL) ? NULL : dlsym(runtime, "__cxa_demangle");

        if (found != NULL) {
            return (coalesce_demangle *)(uintptr_t)found;
        }
    }
    return NULL;
}

int tool_run(char *const arguments[])
{
    int   status = 0;
    pid_t child  = fork();

    if (child == 0) {
        (void)execvp(arguments[0], arguments);
        (void)tool_failed("%s: %s", arguments[0], strerror(errno));
        _exit(127);
    }
    if (child < 0) {
        (void)tool_failed("fork: %s", strerror(errno));
        return 127;
    }
    while ((waitpid(child, &status, 0) < 0) && (errno == EINTR)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
