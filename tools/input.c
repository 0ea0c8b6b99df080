/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that the tools read. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

/* Open, and do not wait for a FIFO's writer; the first byte of a pipe is read to know whether there
 * is one: only a FIFO that none has open is at its end and not hung up. */
static FILE *open_pipe(int file, const char **why_p)
{
    struct pollfd state = {.fd = file};
    const int     event = poll(&state, 1, 0);
    char          first = '\0';
    const ssize_t got   = read(file, &first, 1);
    FILE         *opened;

    if ((event == 0) && (got == 0)) {
        *why_p = "is a FIFO that no program writes to";
        return NULL;
    }
    opened = fdopen(file, "r");
    if ((opened != NULL) && (got == 1)) {
        (void)ungetc(first, opened);
    }
    return opened;
}

FILE *tool_input_open(const char *path, off_t *bytes_p, const char **why_p)
{
    const int   file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat about;
    FILE       *opened = NULL;

    *why_p = NULL;
    if ((file >= 0) && (fstat(file, &about) == 0)) {
        if (S_ISDIR(about.st_mode)) {
            *why_p = "is a directory";
        } else {
            opened = S_ISFIFO(about.st_mode) ? open_pipe(file, why_p) : fdopen(file, "r");
            (void)fcntl(file, F_SETFL, O_RDONLY);
        }
        if (bytes_p != NULL) {
            *bytes_p = S_ISREG(about.st_mode) ? about.st_size : -1;
        }
    }
    if (opened == NULL) {
        *why_p = (*why_p != NULL) ? *why_p : strerror(errno);
        if (file >= 0) {
            (void)close(file);
        }
    }
    return opened;
}
