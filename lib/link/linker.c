/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifies a linker without loading it: size and time of its file. */
#include "linker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096u /* of an ELF file; a page, so that all of it is loaded */

static void add_file(shpool_sha256 *sha, const struct stat *info)
{
    const int64_t facts[] = { info->st_size, info->st_mtim.tv_sec, info->st_mtim.tv_nsec };

    shpool_sha256_add(sha, facts, sizeof(facts));
}

/* Another nvJitLink may be installed in addition: then ldconfig rewrites its list, or the user
 * names a folder. */
static shpool_digest state_of(const struct stat *info)
{
    const shpool_digest folders = shpool_config_library_path();
    struct stat list = { .st_size = 0 };
    shpool_sha256 sha = shpool_sha256_begin();

    (void)stat("/etc/ld.so.cache", &list);
    add_file(&sha, info);
    add_file(&sha, &list);
    shpool_sha256_add(&sha, &folders, sizeof(folders));
    return shpool_sha256_end(&sha);
}

/* A process keeps the library that it has loaded, also when an update has put another file there:
 * sizes and places of an ELF file's parts, and its build's id, are in its head. */
static int is_loaded(int file, const void *base)
{
    unsigned char head[HEAD_BYTES];

    return (pread(file, head, sizeof(head), 0) == (ssize_t)sizeof(head)) &&
           (memcmp(head, base, sizeof(head)) == 0);
}

shpool_linker shpool_linker_of(const shpool_jit *jit)
{
    shpool_linker linker = { .version = jit->cuda };
    struct stat info;
    int file;

    if ((jit->path == NULL) || (jit->path[0] != '/') ||
        (strlen(jit->path) >= sizeof(linker.path))) {
        return linker;
    }
    file = open(jit->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return linker;
    }
    if ((fstat(file, &info) == 0) && is_loaded(file, jit->base)) {
        memcpy(linker.path, jit->path, strlen(jit->path));
        linker.state = state_of(&info);
    }
    close(file);
    return linker;
}

int shpool_linker_is_unchanged(const shpool_linker *linker)
{
    struct stat info;
    shpool_digest state;

    if ((linker->path[0] == '\0') || (stat(linker->path, &info) != 0)) {
        return 0;
    }
    state = state_of(&info);
    return memcmp(&state, &linker->state, sizeof(state)) == 0;
}
