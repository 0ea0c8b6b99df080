/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that the tools write: whole, or as they were. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "message.h"

/* The standard output or error if `about` is its file; -1: neither. */
static int stream_of(const struct stat *about)
{
    struct stat other;

    for (int at = STDOUT_FILENO; at <= STDERR_FILENO; at++) {
        if ((fstat(at, &other) == 0) && (other.st_dev == about->st_dev) &&
            (other.st_ino == about->st_ino)) {
            return at;
        }
    }
    return -1;
}

/* A device, a pipe, or the program's own output; a FIFO without a reader does not block. */
static int open_in_place(const char *path, const struct stat *about)
{
    const int stream = stream_of(about);
    int       file   = (stream >= 0) ? fcntl(stream, F_DUPFD_CLOEXEC, 0)
                                     : open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if ((file >= 0) && (stream < 0)) {
        (void)fcntl(file, F_SETFL, O_WRONLY);
    }
    return file;
}

enum { NO_LINK, OWN_LINK, FOREIGN_LINK };

/* In a folder that everybody may write to, a link of another user leads where that user wants. */
static int link_at(const char *path)
{
    struct stat info;

    if ((lstat(path, &info) != 0) || !S_ISLNK(info.st_mode)) {
        return NO_LINK;
    }
    return ((info.st_uid == geteuid()) || (info.st_uid == 0)) ? OWN_LINK : FOREIGN_LINK;
}

/* ---- signals ---- */

static void let_writes_fail(int number)
{
    (void)number;
}

void tool_signals_fill(sigset_t *signals)
{
    static const int others[] = { /* end no program; its own faults */
                                  SIGKILL, SIGSTOP, SIGCHLD, SIGCONT,  SIGTSTP, SIGTTIN,
                                  SIGTTOU, SIGURG,  SIGWINCH, SIGXFSZ, SIGSEGV, SIGBUS,
                                  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,   SIGABRT };

    (void)sigfillset(signals);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        (void)sigdelset(signals, others[i]);
    }
}

void tool_signals_block(sigset_t *before)
{
    sigset_t signals;

    tool_signals_fill(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, before);
}

void tool_signals_restore(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- files ---- */

int tool_temporary(char *path, size_t size, const char *tool, const char *ending)
{
    const char *folder = getenv("TMPDIR");
    int         length = snprintf(path, size, "%s/%s-XXXXXX%s",
                                  ((folder != NULL) && (folder[0] != '\0')) ? folder : P_tmpdir,
                                  tool, ending);

    if ((length < 0) || ((size_t)length >= size)) {
        errno = ENAMETOOLONG;
        return 0;
    }
    return 1;
}

/* A new file beside the one that is replaced, with the rights of that, or those that open() gives;
 * -1 with errno.  Its name replaces the XXXXXX of part. */
static int make_part(const char *path, char part[PATH_MAX])
{
    const mode_t mask = umask(0);
    struct stat  old;
    int          file;
    int          error;

    (void)umask(mask);
    if (snprintf(part, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(part, O_CLOEXEC);
    if ((file >= 0) &&
        (fchmod(file, (stat(path, &old) == 0) ? old.st_mode & 07777u : 0666u & ~mask) != 0)) {
        error = errno;
        (void)unlink(part);
        (void)close(file);
        errno = error;
        file  = -1;
    }
    return file;
}

/* Whether the file can be replaced: rename() does not ask for the right to write to it.  0, or -1
 * with errno. */
static int may_replace(const char *path)
{
    char     part[PATH_MAX];
    sigset_t before;
    int      file;

    if ((access(path, F_OK) == 0) && (access(path, W_OK) != 0)) {
        return -1;
    }
    tool_signals_block(&before);
    file = make_part(path, part);
    if (file >= 0) {
        (void)unlink(part);
        (void)close(file);
    }
    tool_signals_restore(&before);
    return (file >= 0) ? 0 : -1;
}

int tool_output_begin(tool_output *out, const char *path)
{
    struct stat old;
    const int   link   = link_at(path);
    const int   exists = stat(path, &old) == 0;
    int         file;
    int         error;

    *out = (tool_output){.to = NULL};
    if (link == FOREIGN_LINK) {
        errno = EACCES;
        return -1;
    }
    if (exists && (!S_ISREG(old.st_mode) || (stream_of(&old) >= 0))) {
        file    = open_in_place(path, &old);
        out->to = (file >= 0) ? fdopen(file, "w") : NULL;
        if ((file >= 0) && (out->to == NULL)) {
            error = errno;
            (void)close(file);
            errno = error;
        }
    } else if (may_replace(path) == 0) {
        /* only a link that was checked is followed; any other that takes the name is replaced */
        out->path = (exists && (link == OWN_LINK)) ? realpath(path, NULL) : strdup(path);
        out->to   = (out->path != NULL) ? tmpfile() : NULL;
    }
    if (out->to == NULL) {
        error = errno;
        free(out->path);
        errno = error;
    }
    return (out->to != NULL) ? 0 : -1;
}

/* Copy the text to the file's place; 0, or -1 with errno. */
static int replace(const tool_output *out)
{
    char    text[65536];
    char    part[PATH_MAX];
    ssize_t got  = 0;
    int     file = (fseek(out->to, 0, SEEK_SET) == 0) ? make_part(out->path, part) : -1;
    int     fine = file >= 0;
    int     error;

    while (fine && ((got = read(fileno(out->to), text, sizeof(text))) > 0)) {
        fine = write(file, text, (size_t)got) == got;
    }
    fine = fine && (got == 0) && (close(file) == 0) && (rename(part, out->path) == 0);
    if ((file >= 0) && !fine) {
        error = errno;
        (void)close(file);
        (void)unlink(part);
        errno = error;
    }
    return fine ? 0 : -1;
}

int tool_output_end(tool_output *out, int keep)
{
    int      failed = tool_flush(out->to) != 0;
    int      error  = errno;
    sigset_t before;

    if (keep && !failed && (out->path != NULL)) {
        tool_signals_block(&before);
        failed = replace(out) != 0;
        error  = errno;
        tool_signals_restore(&before);
    }
    if ((fclose(out->to) != 0) && !failed) {
        error  = errno;
        failed = 1;
    }
    free(out->path);
    errno = error;
    return (failed && keep) ? -1 : 0;
}

const char *tool_output_error(int error)
{
    return (error == ENXIO) ? "is a FIFO that no program reads" : strerror(error);
}

int tool_flush(FILE *to)
{
    errno = 0;
    if (fflush(to) != 0) {
        return -1;
    }
    if (!ferror(to)) {
        return 0;
    }
    if (write(fileno(to), "\n", 1) >= 0) { /* the call that failed had its errno: fail again */
        errno = EIO;
    }
    return -1;
}

void tool_prepare(void)
{
    struct sigaction now;
    const struct sigaction fails = { .sa_handler = let_writes_fail, .sa_flags = SA_RESTART };

    /* not SIG_IGN for a file that is too large: programs that the tool starts would inherit it */
    if ((sigaction(SIGXFSZ, NULL, &now) == 0) && (now.sa_handler == SIG_DFL)) {
        (void)sigaction(SIGXFSZ, &fails, NULL);
    }
    for (int at = STDIN_FILENO; at <= STDERR_FILENO; at++) {
        if ((fcntl(at, F_GETFD) < 0) && (errno == EBADF)) { /* open() takes the lowest number */
            (void)!open("/dev/null", (at == STDIN_FILENO) ? O_WRONLY : O_RDONLY);
        }
    }
}

int tool_leave(const char *tool, int status, int failure)
{
    if (tool_flush(stdout) == 0) {
        return status;
    }
    tool_say("%s: the standard output: %s\n", tool, strerror(errno));
    return (status != 0) ? status : failure;
}
