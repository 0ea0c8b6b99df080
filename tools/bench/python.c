/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: programs in Python, which the tool holds. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tools/message.h"
#include "tools/output.h"
#include "python.h"

extern char **environ;

#ifndef SYSTEM_PYTHON
#define SYSTEM_PYTHON "/usr/bin/python3" /* tests have none */
#endif

#define MOST_WORDS 12
#define INPUT      3

enum { NOT_RUN = 126, NO_PYTHON = 127 }; /* exit statuses, as a shell has them */

/* Start the words, with a file as their file INPUT (-1: none); 0 or an errno.  Ctrl-C ends the
 * program while it is waited for. */
static int start(const char *const words[], int input, int output, pid_t *child_p)
{
    sigset_t none;
    posix_spawnattr_t          attributes;
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        (void)sigemptyset(&none);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if ((error == 0) && (input >= 0)) {
            error = posix_spawn_file_actions_adddup2(&actions, input, INPUT);
        }
        error = (error != 0) ? error
                             : posix_spawnp(child_p, words[0], &actions, &attributes,
                                            (char *const *)(uintptr_t)words, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Run the words, and copy what they print.  The exit status, or NO_PYTHON, NOT_RUN. */
static int run(const char *const words[], int input, FILE *to)
{
    char    text[65536];
    int     ends[2];
    int     status = 0;
    pid_t   child;
    ssize_t got;
    int     error = (pipe2(ends, O_CLOEXEC) != 0) ? errno : 0;

    if (error == 0) {
        error = start(words, input, ends[1], &child);
        (void)close(ends[1]);
        while ((error == 0) && (((got = read(ends[0], text, sizeof(text))) > 0) ||
                                ((got < 0) && (errno == EINTR)))) {
            (void)!fwrite(text, 1, (got > 0) ? (size_t)got : 0, to); /* ferror() shows a failure */
        }
        (void)close(ends[0]);
    }
    if (error != 0) {
        return (error == ENOENT) ? NO_PYTHON : NOT_RUN;
    }
    while ((waitpid(child, &status, 0) < 0) && (errno == EINTR)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int bench_is_no_python(int status)
{
    return status == NO_PYTHON;
}

FILE *bench_python_input(const char *what)
{
    FILE *file = tmpfile();

    if (file == NULL) {
        tool_say("shpool-bench: %s: no temporary file for its data: %s\n", what, strerror(errno));
    }
    return file;
}

int bench_python(const char *program, const char *const words[], FILE *input, FILE *to)
{
    static const char *const pythons[] = {"python3", SYSTEM_PYTHON};
    const char *all[MOST_WORDS + 4] = {NULL, "-c", program};
    int         status = NO_PYTHON;

    for (size_t i = 0; (i < MOST_WORDS) && (words[i] != NULL); i++) {
        all[3 + i] = words[i];
    }
    if ((input != NULL) && (tool_flush(input) != 0)) {
        return NOT_RUN;
    }
    for (size_t i = 0; (i < SHPOOL_ARRAY_COUNT(pythons)) &&
                       ((status == NO_PYTHON) || (status == BENCH_NO_MATPLOTLIB)); i++) {
        all[0] = pythons[i];
        if ((input != NULL) && (fseek(input, 0, SEEK_SET) != 0)) {
            return NOT_RUN;
        }
        if ((i == 0) || (access(pythons[i], X_OK) == 0)) {
            status = run(all, (input != NULL) ? fileno(input) : -1, to);
        }
    }
    return status;
}
