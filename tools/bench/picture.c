/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: pictures.  Python draws them, by the program draw.py, which the tool holds. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tools/message.h"
#include "tools/output.h"
#include "picture.h"

extern char **environ;

#ifndef SYSTEM_PYTHON
#define SYSTEM_PYTHON "/usr/bin/python3" /* tests have none */
#endif

/* The ending of a picture's name, or NULL. */
static const char *ending_of(const char *path)
{
    static const char *const endings[] = {"svg", "png", "pdf"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; (dot != NULL) && (i < SHPOOL_ARRAY_COUNT(endings)); i++) {
        if (strcmp(dot + 1, endings[i]) == 0) {
            return endings[i];
        }
    }
    return NULL;
}

/* ---- Python ---- */

enum { FAILED = 1, NO_MATPLOTLIB = 3, NOT_RUN = 126, NO_PYTHON = 127 }; /* exit statuses */

/* Start the words, with a file as their input (-1: none); 0 or an errno.  Ctrl-C ends the program
 * while it is waited for. */
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
            error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
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

/* Run draw.py, by the first Python that has matplotlib: that of PATH, or that of the system's
 * packages.  0, or -1: stderr says why not. */
static int run_program(const char *path, const char *kind, const char *figure, int input, FILE *to)
{
    static const char *const pythons[] = {"python3", SYSTEM_PYTHON};
    int status = NO_PYTHON;

    for (size_t i = 0; (i < SHPOOL_ARRAY_COUNT(pythons)) &&
                       ((status == NO_PYTHON) || (status == NO_MATPLOTLIB)); i++) {
        const char *const words[] = {pythons[i], "-c", bench_picture_program, kind, ending_of(path),
                                     figure, NULL};

        status = (i > 0) && (access(pythons[i], X_OK) != 0) ? status : run(words, input, to);
        if ((status == 0) && (input >= 0) && !ferror(to) && (ftell(to) == 0)) {
            status = NOT_RUN; /* nothing was drawn */
        }
    }
    if ((status == NO_PYTHON) || (status == NO_MATPLOTLIB)) {
        tool_say("shpool-bench: %s: pictures are drawn by Python with matplotlib, and there is no "
                 "%s; install the package python3-matplotlib (Debian), or run: python3 -m pip "
                 "install matplotlib\n", path,
                 (status == NO_PYTHON) ? "python3 on PATH" : "matplotlib");
    } else if (status != 0) {
        tool_say("shpool-bench: %s: Python did not draw it (exit status %d)\n", path, status);
    }
    return (status == 0) ? 0 : -1;
}

static int cannot_write(const char *path)
{
    tool_say("shpool-bench: %s: %s\n", path, tool_output_error(errno));
    return -1;
}

int bench_picture_name(const char *path)
{
    tool_output out;

    if (ending_of(path) == NULL) {
        tool_say("shpool-bench: %s: a name that ends in .svg, .png or .pdf is needed\n", path);
        return -1;
    }
    if (tool_output_begin(&out, path) != 0) {
        return cannot_write(path);
    }
    return tool_output_end(&out, 0);
}

int bench_picture_check(const char *path)
{
    FILE *nowhere = fopen("/dev/null", "we");
    int   failed  = (nowhere == NULL) ? cannot_write(path) : bench_picture_name(path);

    if (!failed) {
        failed = run_program(path, "check", NULL, -1, nowhere);
    }
    if (nowhere != NULL) {
        (void)fclose(nowhere);
    }
    return failed;
}

int bench_picture_draw(const bench_picture *picture, const char *path)
{
    FILE       *data   = tmpfile();
    int         failed = (data == NULL);
    tool_output out;

    if (failed) {
        tool_say("shpool-bench: %s: no temporary file for its data: %s\n", path, strerror(errno));
        return -1;
    }
    failed = picture->write(picture->of, data);
    if (!failed && ((tool_flush(data) != 0) || (fseek(data, 0, SEEK_SET) != 0) ||
                    (tool_output_begin(&out, path) != 0))) {
        failed = cannot_write(path);
    } else if (!failed) {
        failed = run_program(path, picture->kind, picture->figure, fileno(data), out.to);
        if (tool_output_end(&out, !failed) != 0) {
            failed = cannot_write(path);
        }
    }
    (void)fclose(data);
    return failed ? -1 : 0;
}
