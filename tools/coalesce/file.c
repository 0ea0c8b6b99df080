/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and processes of shpool-coalesce. */
#include "tool.h"

#include "tools/output.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/escape.h"

#define MOST_BYTES ((size_t)1 << 30)

int tool_failed(const char *format, ...)
{
    char    line[2 * SHPOOL_PATH_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    (void)fputs("shpool-coalesce: ", stderr);
    shpool_put(line, stderr);
    (void)fputc('\n', stderr);
    return TOOL_NO_INPUT;
}

void tool_rewritten(const char *path, size_t records)
{
    (void)fputs("shpool-coalesce: ", stderr);
    shpool_put(path, stderr);
    (void)fprintf(stderr, ": %zu records rewritten\n", records);
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

/* Only a regular file: a FIFO might wait forever for a writer. */
static FILE *open_regular(const char *path)
{
    const int   fd   = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE       *file = NULL;
    struct stat what;

    if ((fd >= 0) && (fstat(fd, &what) == 0)) {
        if (S_ISREG(what.st_mode)) {
            file = fdopen(fd, "rb");
        } else {
            (void)tool_failed("%s: %s; a regular file is needed", path,
                              S_ISDIR(what.st_mode) ? "Is a directory"
                              : S_ISFIFO(what.st_mode) ? "is a FIFO or a pipe" : "is a device");
            (void)close(fd);
            return NULL;
        }
    }
    if (file == NULL) {
        (void)tool_failed("%s: %s", path, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    return file;
}

char *tool_read(const char *path, size_t *bytes_p)
{
    FILE *file = open_regular(path);
    char *text = (file == NULL) ? NULL : read_all(file, bytes_p);

    if (file == NULL) {
        return NULL;
    }
    if (ferror(file)) {
        (void)tool_failed("%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    } else if (text == NULL) {
        (void)tool_failed("%s: no memory to read it", path);
    } else if (*bytes_p >= MOST_BYTES) {
        (void)tool_failed("%s: files of 1 GiB or more are not read", path);
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

int tool_write(const char *path, const char *text, size_t bytes)
{
    tool_output out;

    if (tool_output_begin(&out, path) == 0) {
        (void)!fwrite(text, 1, bytes, out.to); /* tool_output_end() reports a failure */
        if (tool_output_end(&out, 1) == 0) {
            return 1;
        }
    }
    (void)tool_failed("%s: %s", path, tool_output_error(errno));
    return 0;
}

/* The real path of the folder that a file is in, or with whole != 0 of the path itself. */
static int add_folder(tool_folders *folders, const char *path, int whole)
{
    const char *slash  = strrchr(path, '/');
    char       *folder = whole            ? strdup(path)
                         : (slash == NULL) ? strdup(".")
                                           : strndup(path, (size_t)(slash - path) + 1);
    char       *resolved = (folder != NULL) ? realpath(folder, NULL) : NULL;
    const int   fine     = (folder != NULL) && ((resolved != NULL) || (errno != ENOMEM));

    free(folder);
    if (resolved != NULL) {
        folders->path[folders->count++] = resolved;
    }
    return fine;
}

int tool_folders_of(const tool_options *options, tool_folders *folders)
{
    int fine;

    *folders = (tool_folders){ .path = calloc(options->sources + options->file_count + 1,
                                              sizeof(*folders->path)) };
    fine     = folders->path != NULL;
    for (size_t i = 0; fine && (i < options->sources); i++) {
        fine = add_folder(folders, options->source[i], 1);
    }
    for (size_t i = 0; fine && (i < options->file_count); i++) {
        fine = add_folder(folders, options->files[i], 0);
    }
    if (!fine) {
        tool_folders_fini(folders);
    }
    return fine;
}

void tool_folders_fini(tool_folders *folders)
{
    for (size_t i = 0; i < folders->count; i++) {
        free(folders->path[i]);
    }
    free(folders->path);
    *folders = (tool_folders){ .path = NULL };
}

int tool_demangler(coalesce_demangle **demangle_p)
{
    static const char *const runtimes[] = { "libstdc++.so.6", "libc++abi.so.1" };

    *demangle_p = NULL;
    errno = 0;
    for (size_t i = 0; (*demangle_p == NULL) && (i < SHPOOL_ARRAY_COUNT(runtimes)); i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_LOCAL); /* stays */
        void *found   = (runtime == NULL) ? NULL : dlsym(runtime, "__cxa_demangle");

        *demangle_p = (coalesce_demangle *)(uintptr_t)found;
    }
    return (*demangle_p != NULL) || (errno != ENOMEM);
}

/* Wait for the child or a signal.  The signals are blocked: the caller has files to remove.  A
 * terminal sends a signal to the child as well; one that was sent by a process is passed on. */
static int wait_for(pid_t child, const sigset_t *awaited)
{
    int status = 0;
    int number = 0; /* of the last signal */

    while (waitpid(child, &status, WNOHANG) == 0) {
        siginfo_t info;
        const int got = sigwaitinfo(awaited, &info);

        if ((got > 0) && (got != SIGCHLD)) {
            number = got;
            if (info.si_code <= 0) {
                (void)kill(child, number);
            }
        }
    }
    if (number != 0) {
        (void)raise(number);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tool_run(char *const arguments[], const sigset_t *before)
{
    sigset_t awaited;
    sigset_t blocked;
    pid_t    child;
    int      status = 127;

    tool_signals_block(&blocked);
    tool_signals_fill(&awaited);
    (void)sigaddset(&awaited, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would not come */
    child = fork();
    if (child == 0) {
        tool_signals_restore(before);
        (void)execvp(arguments[0], arguments);
        (void)tool_failed("%s: %s", arguments[0], strerror(errno));
        _exit(127);
    }
    if (child < 0) {
        (void)tool_failed("fork: %s", strerror(errno));
    } else {
        status = wait_for(child, &awaited);
    }
    tool_signals_restore(&blocked);
    return status;
}
