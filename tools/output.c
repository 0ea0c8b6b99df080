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

/* Rights as open() would have given, or as the file that is replaced has. */
static mode_t mode_of(const struct stat *old)
{
    const mode_t mask = umask(0);

    (void)umask(mask);
    return (old != NULL) ? old->st_mode & 07777u : 0666u & ~mask;
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

#define MOST_PARTS 8

/* Names that the handler removes; "": none.  Static, so that they can be read at any time. */
static char                  part_name[MOST_PARTS][PATH_MAX];
static volatile sig_atomic_t part_used[MOST_PARTS];
static pid_t                 owner; /* a child that has not called exec() yet removes nothing */

/* Whether a signal's default action ends the program, and a program can do something before. */
static int is_ending(int number)
{
    static const int others[] = { SIGKILL, SIGSTOP, SIGCHLD,  SIGCONT, SIGTSTP, SIGTTIN,
                                  SIGTTOU, SIGURG,  SIGWINCH, SIGXFSZ };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (number == others[i]) {
            return 0;
        }
    }
    return 1;
}

static int is_fault(int number)
{
    return (number == SIGSEGV) || (number == SIGBUS) || (number == SIGFPE) || (number == SIGILL) ||
           (number == SIGTRAP) || (number == SIGSYS) || (number == SIGABRT);
}

/* unlink(), sigaction() and raise() may be called anywhere. */
static void remove_parts(int number)
{
    const struct sigaction ends = { .sa_handler = SIG_DFL };

    for (int i = 0; i < MOST_PARTS; i++) {
        if (part_used[i] && (getpid() == owner)) {
            (void)unlink(part_name[i]);
        }
    }
    (void)sigaction(number, &ends, NULL);
    (void)raise(number);
}

static void let_writes_fail(int number)
{
    (void)number;
}

/* Signals that are ignored, or have another handler, stay so. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction now;
    struct sigaction then = { .sa_handler = handler, .sa_flags = SA_RESTART };

    if ((sigaction(number, NULL, &now) == 0) && ((now.sa_flags & SA_SIGINFO) == 0) &&
        (now.sa_handler == SIG_DFL)) {
        (void)sigfillset(&then.sa_mask);
        (void)sigaction(number, &then, NULL);
    }
}

/* Not SIG_IGN for a file that is too large: programs that the tool starts would inherit it. */
static void handle_signals(void)
{
    owner = getpid();
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (is_ending(number)) {
            handle(number, remove_parts);
        }
    }
    handle(SIGXFSZ, let_writes_fail);
}

void tool_signals_fill(sigset_t *signals)
{
    (void)sigemptyset(signals);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (is_ending(number) && !is_fault(number)) {
            (void)sigaddset(signals, number);
        }
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

/* A name for a part; NULL with errno. */
static char *take_part(const char *path)
{
    for (int i = 0; i < MOST_PARTS; i++) {
        if (part_name[i][0] == '\0') {
            if (snprintf(part_name[i], PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX) {
                part_name[i][0] = '\0';
                errno = ENAMETOOLONG;
                return NULL;
            }
            return part_name[i];
        }
    }
    errno = EMFILE;
    return NULL;
}

/* From now on a signal removes it, or no longer. */
static void set_used(const char *part, int used)
{
    for (int i = 0; i < MOST_PARTS; i++) {
        if (part == part_name[i]) {
            part_used[i] = used;
        }
    }
}

/* A new file beside the one that is replaced.  Only a link that was checked is followed; any other
 * that has taken the name meanwhile is replaced. */
static int open_beside(tool_output *out, const char *path, const struct stat *old, int link)
{
    int file;

    if ((old != NULL) && (access(path, W_OK) != 0)) { /* rename() would not ask */
        return -1;
    }
    out->path = ((old != NULL) && (link == OWN_LINK)) ? realpath(path, NULL) : strdup(path);
    out->part = (out->path != NULL) ? take_part(out->path) : NULL;
    if (out->part == NULL) {
        return -1;
    }
    file = mkostemp(out->part, O_CLOEXEC);
    if ((file >= 0) && (fchmod(file, mode_of(old)) != 0)) {
        const int error = errno;

        (void)unlink(out->part);
        (void)close(file);
        errno = error;
        file = -1;
    }
    set_used(out->part, file >= 0);
    return file;
}

/* All but the file; errno stays. */
static void forget(tool_output *out)
{
    const int error = errno;

    if (out->part != NULL) {
        set_used(out->part, 0);
        out->part[0] = '\0';
    }
    free(out->path);
    errno = error;
}

int tool_output_begin(tool_output *out, const char *path)
{
    struct stat old;
    const int   link   = link_at(path);
    const int   exists = stat(path, &old) == 0;
    int         file   = -1;
    sigset_t    before;

    *out = (tool_output){.to = NULL};
    tool_signals_block(&before); /* a file that was just made is not known to the handler yet */
    if (link == FOREIGN_LINK) {
        errno = EACCES;
    } else if (exists && (!S_ISREG(old.st_mode) || (stream_of(&old) >= 0))) {
        file = open_in_place(path, &old);
    } else {
        file = open_beside(out, path, exists ? &old : NULL, link);
    }
    tool_signals_restore(&before);
    out->to = (file >= 0) ? fdopen(file, "w") : NULL;
    if (out->to == NULL) {
        const int error = errno;

        if (file >= 0) {
            (void)close(file);
            (void)!((out->part != NULL) && (unlink(out->part) == 0));
        }
        errno = error;
        forget(out);
        return -1;
    }
    return 0;
}

int tool_output_end(tool_output *out, int keep)
{
    int failed = tool_flush(out->to) != 0;
    int error  = errno;

    if (fclose(out->to) != 0) {
        error  = failed ? error : errno;
        failed = 1;
    }
    if ((out->part != NULL) && keep && !failed && (rename(out->part, out->path) != 0)) {
        error  = errno;
        failed = 1;
    }
    if ((out->part != NULL) && (failed || !keep)) {
        (void)unlink(out->part);
    }
    errno = error;
    forget(out);
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
    handle_signals();
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
