/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cubins in a folder, one file each, shared by processes that know nothing of each other.
 *
 * A writer makes a file of its own and renames it into place, so a name leads to a whole file or to
 * none; a reader believes nothing all the same (the machine may have lost power in between, or the
 * file may be somebody else's): it compares the key, the length and a checksum.  Nothing is locked.
 * Deleting is safe at any time, and what two processes delete at once is gone once.
 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX         ".shpool"
#define TEMPORARY      ".shpool-tmp-"
#define NAME_BYTES     64u
#define MOST_BYTES     ((uint64_t)1 << 30) /* of one cubin; longer files are not read */
#define FORMAT         1u
#define TEMPORARY_LIFE 600 /* seconds until a temporary file is taken for an orphan */

static const char magic[8] = { 's', 'h', 'p', 'o', 'o', 'l', 'L', 'K' };

/* In front of the cubin; no padding. */
typedef struct entry_header {
    char magic[8];
    uint32_t format;
    uint32_t header_bytes;
    shpool_cache_key key;
    uint64_t bytes; /* of the cubin */
    shpool_hash checksum;
} entry_header;

_Static_assert(sizeof(entry_header) == 136, "a header has padding");

static void entry_name(const shpool_cache_key *key, char name[NAME_BYTES])
{
    shpool_hash hash = shpool_hash_bytes(key, sizeof(*key));

    snprintf(name, NAME_BYTES, "%016" PRIx64 "%016" PRIx64 SUFFIX, hash.word[0], hash.word[1]);
}

static int is_entry(const char *name)
{
    return (strspn(name, "0123456789abcdef") == 32) && (strcmp(name + 32, SUFFIX) == 0);
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

/* Root's are believed, too: an image of a machine may bring a folder of linked kernels. */
static int is_own(const struct stat *info)
{
    return S_ISREG(info->st_mode) && ((info->st_mode & S_IWOTH) == 0) &&
           ((info->st_uid == geteuid()) || (info->st_uid == 0));
}

/* 1 if the file is nobody else's, and its header is whole and that of the key. */
static int read_header(int file, const shpool_cache_key *key, entry_header *header)
{
    struct stat info;

    return (fstat(file, &info) == 0) && is_own(&info) &&
           read_all(file, header, sizeof(*header)) &&
           (memcmp(header->magic, magic, sizeof(magic)) == 0) && (header->format == FORMAT) &&
           (header->header_bytes == sizeof(*header)) &&
           (memcmp(&header->key, key, sizeof(*key)) == 0) && (header->bytes > 0) &&
           (header->bytes <= MOST_BYTES) &&
           ((uint64_t)info.st_size == sizeof(*header) + header->bytes);
}

static void *read_entry(int file, const shpool_cache_key *key, size_t *bytes_p)
{
    entry_header header;
    shpool_hash found;
    void *cubin;

    if (!read_header(file, key, &header)) {
        return NULL;
    }
    cubin = malloc((size_t)header.bytes);
    if ((cubin == NULL) || !read_all(file, cubin, (size_t)header.bytes)) {
        free(cubin);
        return NULL;
    }
    found = shpool_hash_bytes(cubin, (size_t)header.bytes);
    if (memcmp(&found, &header.checksum, sizeof(found)) != 0) {
        free(cubin);
        return NULL;
    }
    *bytes_p = (size_t)header.bytes;
    return cubin;
}

/* Whoever may write into the folder decides what code runs on the GPU. */
static const char *folder_fault(int folder)
{
    struct stat info;

    if (fstat(folder, &info) != 0) {
        return strerror(errno);
    }
    return ((info.st_mode & S_IWOTH) != 0) ? "everybody may write into it, as chmod o-w prevents"
                                           : NULL;
}

int shpool_disk_get(const char *folder, const shpool_cache_key *key, void **cubin_p,
                    size_t *bytes_p)
{
    char name[NAME_BYTES];
    void *cubin = NULL;
    int at = (folder[0] == '/') ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int file = -1;

    if ((at >= 0) && (folder_fault(at) == NULL)) {
        entry_name(key, name);
        file = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    if (file >= 0) {
        cubin = read_entry(file, key, bytes_p);
        if (cubin != NULL) {
            (void)futimens(file, NULL); /* it was used now: others are deleted before it */
            *cubin_p = cubin;
        }
        close(file);
    }
    if (at >= 0) {
        close(at);
    }
    return cubin != NULL;
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

/* A file that nobody else has; its name is made of what differs between processes and threads. */
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

/* 0: errno says why, and nothing is left behind. */
static int write_entry(int folder, const shpool_cache_key *key, const void *cubin, size_t bytes)
{
    entry_header header = { .format = FORMAT, .header_bytes = sizeof(header), .key = *key,
                            .bytes = bytes, .checksum = shpool_hash_bytes(cubin, bytes) };
    char temporary[NAME_BYTES];
    char name[NAME_BYTES];
    int file = make_temporary(folder, temporary);
    int written;
    int error;

    if (file < 0) {
        return 0;
    }
    memcpy(header.magic, magic, sizeof(magic));
    written = write_all(file, &header, sizeof(header)) && write_all(file, cubin, bytes);
    error = errno;
    /* no fsync: what a loss of power tears fails the checksum */
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

/* Counts what is of this cache, and deletes temporary files whose writer must be dead. */
static void look_at(int folder, const char *name, kept_list *list)
{
    int temporary = strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
    struct stat info;

    if ((!temporary && !is_entry(name)) ||
        (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) || !S_ISREG(info.st_mode) ||
        (info.st_uid != geteuid())) {
        return; /* the bound is on what this user keeps: only that can be deleted for sure */
    }
    if (!temporary) {
        add_kept(list, name, &info);
    } else if (info.st_mtim.tv_sec + TEMPORARY_LIFE < time(NULL)) {
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

/* The folder, made if it is missing; -1: *fault_p says why it is not used. */
static int open_folder(const char *folder, const char **fault_p)
{
    int at;

    if ((folder[0] != '/') || (strlen(folder) >= SHPOOL_PATH_BYTES)) {
        *fault_p = (folder[0] != '/') ? "it must begin with /" : "it is too long";
        return -1;
    }
    at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if ((at < 0) && (errno == ENOENT) && ((mkdir(folder, 0700) == 0) || (errno == EEXIST))) {
        at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    *fault_p = (at < 0) ? strerror(errno) : folder_fault(at);
    if ((at >= 0) && (*fault_p != NULL)) {
        close(at);
        at = -1;
    }
    return at;
}

void shpool_disk_put(const char *folder, uint64_t limit, const shpool_cache_key *key,
                     const void *cubin, size_t bytes)
{
    /* What does not fit would push out all others, and itself.  The bound may be lower now. */
    const int fits = (bytes > 0) && (bytes <= MOST_BYTES) &&
                     (sizeof(entry_header) + bytes <= limit);
    const char *fault = NULL;
    int at = open_folder(folder, &fault);

    if (at >= 0) {
        if (fits && !write_entry(at, key, cubin, bytes)) {
            fault = strerror(errno);
        }
        trim(at, limit);
        close(at);
    }
    if (fault != NULL) {
        shpool_message(SHPOOL_LEVEL_WARN, "SHPOOL_CACHE_DIR \"%.1000s\" keeps no linked kernel: %s",
                       folder, fault);
    }
}
