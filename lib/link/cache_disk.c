/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cubins in a folder, one file each, shared by independent processes.
 *
 * A writer creates a temporary file and renames it into place, so a name refers to a complete file
 * or to none.  A reader still verifies everything (the machine may have lost power in between).
 * The header and the cubin have one digest, and the header has the key that determines the name: a
 * file that was truncated, changed or renamed is a miss, and the next cubin replaces it.  Anyone
 * can compute a digest, so files and folders that others can write are never used.
 *
 * Nothing is locked.  Deleting is safe at any time, even if two processes delete the same file.
 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX         ".shpool"
#define TEMPORARY      ".shpool-tmp-"
#define NAME_BYTES     96u
#define DIGITS         (2 * sizeof(shpool_digest))
#define MOST_BYTES     ((uint64_t)1 << 30) /* of one cubin; longer files are not read */
#define FORMAT         3u
#define TEMPORARY_LIFE 600 /* seconds until a temporary file counts as an orphan */

static const char magic[8] = { 's', 'h', 'p', 'o', 'o', 'l', 'L', 'K' };

/* Before the cubin; no padding. */
typedef struct entry_header {
    char magic[8];
    uint32_t format;
    shpool_linker linker;
    shpool_digest key;
    uint64_t bytes; /* of the cubin */
    shpool_digest digest; /* of the members above and the cubin */
} entry_header;

_Static_assert(sizeof(entry_header) == 376, "a header has padding");

static shpool_digest entry_digest(const entry_header *header, const void *cubin)
{
    shpool_sha256 sha = shpool_sha256_begin();

    shpool_sha256_add(&sha, header, offsetof(entry_header, digest));
    shpool_sha256_add(&sha, cubin, (size_t)header->bytes);
    return shpool_sha256_end(&sha);
}

static void entry_name(const shpool_digest *key, char name[NAME_BYTES])
{
    shpool_text text = shpool_text_make(name, NAME_BYTES);

    for (size_t i = 0; i < sizeof(key->byte); i++) {
        shpool_text_add(&text, "%02x", key->byte[i]);
    }
    shpool_text_add(&text, SUFFIX);
}

static int is_entry(const char *name)
{
    return (strspn(name, "0123456789abcdef") == DIGITS) && (strcmp(name + DIGITS, SUFFIX) == 0);
}

/* Why a file or a folder is not used: a user who may write it decides which code runs on the GPU.
 * Root is trusted: a machine image may contain a folder of linked kernels. */
static const char *fault_of(const struct stat *info)
{
    if ((info->st_uid != geteuid()) && (info->st_uid != 0)) {
        return "it belongs to another user";
    }
    return shpool_file_open_to_others(info);
}

/* ---- the folder ---- */

/* 1: `path` is the folder without slashes at its end, which would follow a symbolic link. */
static int copy_path(const char *folder, char path[SHPOOL_PATH_BYTES], const char **fault_p)
{
    size_t bytes = strlen(folder);

    if ((folder[0] != '/') || (bytes >= SHPOOL_PATH_BYTES)) {
        *fault_p = (folder[0] != '/') ? "it must begin with /" : "it is too long";
        return 0;
    }
    while ((bytes > 1) && (folder[bytes - 1] == '/')) {
        bytes--;
    }
    memcpy(path, folder, bytes);
    path[bytes] = '\0';
    return 1;
}

/* -1: *fault_p says why the folder is not used. */
static int open_folder(const char *folder, int make, const char **fault_p)
{
    char path[SHPOOL_PATH_BYTES];
    struct stat info;
    int at;

    if (!copy_path(folder, path, fault_p)) {
        return -1;
    }
    if (make && (mkdir(path, 0700) != 0) && (errno != EEXIST)) {
        *fault_p = strerror(errno);
        return -1;
    }
    at = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0) {
        *fault_p = strerror(errno);
        if ((lstat(path, &info) == 0) && S_ISLNK(info.st_mode)) {
            *fault_p = "it is a symbolic link, give the path of the folder itself";
        }
        return -1;
    }
    *fault_p = (fstat(at, &info) == 0) ? fault_of(&info) : strerror(errno);
    if (*fault_p != NULL) {
        close(at);
        return -1;
    }
    return at;
}

/* ---- reading ---- */

static int read_all(int file, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t count = read(file, (char *)to + done, bytes - done);

        if (count > 0) {
            done += (size_t)count;
        } else if ((count == 0) || (errno != EINTR)) {
            return 0;
        }
    }
    return 1;
}

/* 1 if no other user can have written the file, and its header matches the key. */
static int read_header(int file, const shpool_digest *key, entry_header *header)
{
    struct stat info;

    return (fstat(file, &info) == 0) && S_ISREG(info.st_mode) && (fault_of(&info) == NULL) &&
           read_all(file, header, sizeof(*header)) &&
           (memcmp(header->magic, magic, sizeof(magic)) == 0) && (header->format == FORMAT) &&
           (memchr(header->linker.path, '\0', sizeof(header->linker.path)) != NULL) &&
           (memcmp(&header->key, key, sizeof(*key)) == 0) && (header->bytes > 0) &&
           (header->bytes <= MOST_BYTES) &&
           ((uint64_t)info.st_size == sizeof(*header) + header->bytes);
}

static int read_entry(int file, const shpool_digest *key, shpool_disk_entry *entry_p)
{
    entry_header header;
    shpool_digest found;
    void *cubin;

    if (!read_header(file, key, &header)) {
        return 0;
    }
    cubin = malloc((size_t)header.bytes);
    if ((cubin == NULL) || !read_all(file, cubin, (size_t)header.bytes)) {
        free(cubin);
        return 0;
    }
    found = entry_digest(&header, cubin);
    if (memcmp(&found, &header.digest, sizeof(found)) != 0) {
        free(cubin);
        return 0;
    }
    *entry_p = (shpool_disk_entry){ cubin, (size_t)header.bytes, header.linker };
    return 1;
}

int shpool_disk_get(const char *folder, const shpool_digest *key, shpool_disk_entry *entry_p)
{
    char name[NAME_BYTES];
    int found = 0;
    const char *fault; /* shpool_disk_put() reports it */
    int at = open_folder(folder, 0, &fault);
    int file;

    if (at < 0) {
        return 0;
    }
    entry_name(key, name);
    file = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        found = read_entry(file, key, entry_p);
        if (found) {
            (void)futimens(file, NULL); /* it was used now: others are deleted before it */
        }
        close(file);
    }
    close(at);
    return found;
}

/* ---- writing ---- */

static int write_all(int file, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t count = write(file, (const char *)from + done, bytes - done);

        if (count > 0) {
            done += (size_t)count;
        } else if ((count == 0) || (errno != EINTR)) {
            return 0;
        }
    }
    return 1;
}

/* Create a file with a name that is unique to this process and thread. */
static int make_temporary(int folder, char name[NAME_BYTES])
{
    int file = -1;

    for (unsigned attempt = 0; (file < 0) && (attempt < 16); attempt++) {
        struct timespec now = { 0, 0 };

        (void)clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, NAME_BYTES, TEMPORARY "%ld-%lx-%lx-%u", (long)getpid(), (long)now.tv_nsec,
                 (unsigned long)((uintptr_t)&now >> 4), attempt);
        file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if ((file < 0) && (errno != EEXIST)) {
            break;
        }
    }
    return file;
}

/* 0: errno says why, and nothing is left. */
static int write_entry(int folder, const shpool_digest *key, const shpool_disk_entry *entry)
{
    entry_header header = { .format = FORMAT, .linker = entry->linker, .key = *key,
                            .bytes = entry->bytes };
    char temporary[NAME_BYTES];
    char name[NAME_BYTES];
    int file = make_temporary(folder, temporary);
    int written;
    int error;

    if (file < 0) {
        return 0;
    }
    memcpy(header.magic, magic, sizeof(magic));
    header.digest = entry_digest(&header, entry->cubin);
    written = write_all(file, &header, sizeof(header)) &&
              write_all(file, entry->cubin, entry->bytes);
    error = errno;
    /* no fsync: a file torn by a power loss has another digest */
    if ((close(file) != 0) && written) {
        written = 0;
        error = errno;
    }
    entry_name(key, name);
    if (written && (renameat(folder, temporary, folder, name) != 0)) {
        written = 0;
        error = errno;
    }
    if (!written) {
        (void)unlinkat(folder, temporary, 0);
        errno = error;
    }
    return written;
}

/* ---- keeping it small ---- */

typedef struct kept {
    char name[NAME_BYTES];
    uint64_t bytes;
    struct timespec used;
} kept;

typedef struct kept_list {
    kept *entries;
    size_t count;
    size_t capacity;
    uint64_t bytes;
} kept_list;

/* Least recently used first; files of one tick of the file system's clock by name. */
static int by_use(const void *left, const void *right)
{
    const kept *a = left;
    const kept *b = right;

    if (a->used.tv_sec != b->used.tv_sec) {
        return (a->used.tv_sec < b->used.tv_sec) ? -1 : 1;
    }
    if (a->used.tv_nsec != b->used.tv_nsec) {
        return (a->used.tv_nsec < b->used.tv_nsec) ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

static void add_kept(kept_list *list, const char *name, const struct stat *info)
{
    kept *one;

    if (list->count == list->capacity) {
        size_t capacity = (list->capacity > 0) ? 2 * list->capacity : 64;
        kept *more = realloc(list->entries, capacity * sizeof(*more));

        if (more == NULL) {
            return; /* some are deleted later */
        }
        list->entries = more;
        list->capacity = capacity;
    }
    one = &list->entries[list->count++];
    snprintf(one->name, sizeof(one->name), "%.*s", (int)sizeof(one->name) - 1, name);
    one->bytes = (uint64_t)info->st_size;
    one->used = info->st_mtim;
    list->bytes += one->bytes;
}

/* A time in the future is that of a clock that was wrong, here or on the file's server: waiting for
 * it could take years. */
static int is_orphan(const struct stat *info)
{
    const time_t now = time(NULL);

    return (info->st_mtim.tv_sec < now - TEMPORARY_LIFE) ||
           (info->st_mtim.tv_sec > now + TEMPORARY_LIFE);
}

/* Counts what is of this cache, and deletes temporary files whose writer must be dead. */
static void look_at(int folder, const char *name, kept_list *list)
{
    int temporary = strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
    struct stat info;

    if ((!temporary && !is_entry(name)) ||
        (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) || !S_ISREG(info.st_mode) ||
        (info.st_uid != geteuid())) {
        return; /* the limit covers this user's files: only these can surely be deleted */
    }
    if (!temporary) {
        add_kept(list, name, &info);
    } else if (is_orphan(&info)) {
        (void)unlinkat(folder, name, 0);
    }
}

static void trim(int folder, uint64_t limit)
{
    kept_list list = { .entries = NULL };
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = (again >= 0) ? fdopendir(again) : NULL;

    if (listing == NULL) {
        if (again >= 0) {
            close(again);
        }
        return;
    }
    for (struct dirent *one = readdir(listing); one != NULL; one = readdir(listing)) {
        look_at(folder, one->d_name, &list);
    }
    closedir(listing);

    if (list.bytes > limit) {
        qsort(list.entries, list.count, sizeof(list.entries[0]), by_use);
    }
    for (size_t i = 0; (i < list.count) && (list.bytes > limit); i++) {
        if ((unlinkat(folder, list.entries[i].name, 0) == 0) || (errno == ENOENT)) {
            list.bytes -= list.entries[i].bytes;
        }
    }
    free(list.entries);
}

const char *shpool_disk_put(const char *folder, uint64_t limit, const shpool_digest *key,
                            const shpool_disk_entry *entry)
{
    /* An entry that does not fit would evict all others, and itself.  The limit may be lower
     * now. */
    const int fits = (entry->bytes > 0) && (entry->bytes <= MOST_BYTES) &&
                     (sizeof(entry_header) + entry->bytes <= limit);
    const char *fault = NULL;
    int at = open_folder(folder, 1, &fault);

    if (at >= 0) {
        if (fits && !write_entry(at, key, entry)) {
            fault = strerror(errno);
        }
        trim(at, limit);
        close(at);
    }
    return fault;
}
