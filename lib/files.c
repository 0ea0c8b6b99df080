/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose files are used, and files that are written while the program runs. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *shpool_file_open_to_others(const struct stat *info)
{
    return ((info->st_mode & (S_IWGRP | S_IWOTH)) != 0)
               ? "others may write to it, as chmod go-w prevents" : NULL;
}

/* In a folder that everybody may write to, another user's link may lead anywhere.  0: errno says
 * why it is not followed. */
static int is_own_link(const char *path)
{
    struct stat info;

    if (lstat(path, &info) != 0) {
        return 0;
    }
    errno = EACCES;
    return (info.st_uid == geteuid()) || (info.st_uid == 0);
}

int shpool_file_open_output(const char *path)
{
    /* does not wait for a FIFO's reader: ENXIO */
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int at = open(path, flags | O_NOFOLLOW, 0666);

    if ((at < 0) && (errno == ELOOP) && is_own_link(path)) {
        at = open(path, flags, 0666);
    }
    if ((at >= 0) && (fcntl(at, F_SETFL, O_WRONLY) != 0)) {
        const int error = errno;

        (void)close(at);
        errno = error;
        at = -1;
    }
    return at;
}

const char *shpool_file_error(int error)
{
    return (error == ENXIO) ? "is a FIFO that no program reads" : strerror(error);
}
