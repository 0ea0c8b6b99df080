/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of the cache: a folder, a fake linker, and links that know their origin. */
#ifndef SHPOOL_TESTS_CACHE_TRIAL_H
#define SHPOOL_TESTS_CACHE_TRIAL_H

#include "fake_jit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/link/cache.h"
#include "lib/link/link.h"

#define ENTRY_HEADER 376u /* bytes of a file before the cubin */
#define PATH_BYTES   512u

static const shpool_blob blob = { (const unsigned char *)"ir", 2, 12080, 75, NULL };
static const shpool_blob other_blob = { (const unsigned char *)"Ir", 2, 12080, 75, NULL };
static shpool_allocator one;
static shpool_allocator other;
static char folder[PATH_BYTES]; /* of this test */

static inline int set_up_group(void **state)
{
    return fake_register(&one, "c_one", &blob) | fake_register(&other, "c_other", &other_blob);
}

static inline int set_up(void **state)
{
    (void)clear_environment(state);
    fake_jit_reset(12080);
    shpool_memory_clear();
    snprintf(folder, sizeof(folder), "%s/shpool-cache-XXXXXX",
             (getenv("TMPDIR") != NULL) ? getenv("TMPDIR") : "/tmp");
    return -(mkdtemp(folder) == NULL);
}

static inline void in_folder(char path[2 * PATH_BYTES], const char *name)
{
    snprintf(path, 2 * PATH_BYTES, "%s/%s", folder, name);
}

/* How many files are there, temporary ones too, and their bytes; the name of the last. */
static inline unsigned count_files(uint64_t *bytes_p, char name_p[256])
{
    DIR *listing = opendir(folder);
    char path[2 * PATH_BYTES];
    struct stat info;
    unsigned count = 0;

    *bytes_p = 0;
    assert_non_null(listing);
    for (struct dirent *file = readdir(listing); file != NULL; file = readdir(listing)) {
        if ((strcmp(file->d_name, ".") != 0) && (strcmp(file->d_name, "..") != 0)) {
            in_folder(path, file->d_name);
            assert_int_equal(stat(path, &info), 0);
            *bytes_p += (uint64_t)info.st_size;
            snprintf(name_p, 256, "%s", file->d_name);
            count++;
        }
    }
    closedir(listing);
    return count;
}

static inline int tear_down(void **state)
{
    char command[4 * PATH_BYTES];

    snprintf(command, sizeof(command), "chmod -R u+rwx '%s'; rm -rf '%s' '%s.else'", folder, folder,
             folder);
    return system(command);
}

static inline void use_folder(void)
{
    assert_int_equal(setenv("SHPOOL_CACHE_DIR", folder, 1), 0);
    shpool_config_reload();
}

/* Link "text", and see that it comes from there and is right. */
static inline void link_text(const char *allocator, const char *text, uint32_t arch,
                      shpool_link_origin expected)
{
    const shpool_allocator *found = (strcmp(allocator, "c_one") == 0) ? &one : &other;
    char right[FAKE_CUBIN_BYTES];
    shpool_link_origin origin;
    void *cubin = NULL;
    size_t bytes = 0;

    if (shpool_link_from(text, strlen(text), allocator, arch, &cubin, &bytes, &origin) !=
        SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    snprintf(right, sizeof(right), "-arch=sm_%u -lto %s;%.2s;", arch, text,
             (const char *)found->lto_ir->data);
    assert_int_equal(bytes, strlen(right));
    assert_memory_equal(cubin, right, bytes);
    free(cubin);
    assert_int_equal(origin, expected);
}

/* Links in words between blanks:
 *   TEXT=l  TEXT/80=m  TEXT+=d   link TEXT with c_one for sm_90, for sm_80, or with c_other; it
 *                                comes from the linker, memory or the disk
 *   clear                        memory forgets all, as at the beginning of a process
 *   files=2                      so many are in the folder, temporary ones too
 *   finds=1                      so often nvJitLink was loaded since `clear`
 *   cuda=12090                   the linker's version from now on; 0: there is none */
static inline void links(const char *words)
{
    static const char origins[] = "lmd"; /* in the order of shpool_link_origin */
    char text[256], name[256];
    uint64_t bytes;
    char *rest;

    snprintf(text, sizeof(text), "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *value = word + strcspn(word, "=");
        const char *arch = strchr(word, '/');
        const int is_other = (value > word) && (value[-1] == '+');

        value += *value == '=';
        if (strcmp(word, "clear") == 0) {
            shpool_memory_clear();
            fake.finds = 0;
        } else if (strncmp(word, "files=", 6) == 0) {
            assert_int_equal(count_files(&bytes, name), atoi(value));
        } else if (strncmp(word, "finds=", 6) == 0) {
            assert_int_equal(fake.finds, atoi(value));
        } else if (strncmp(word, "cuda=", 5) == 0) {
            fake.cuda = (uint32_t)atoi(value);
        } else {
            word[strcspn(word, "=/+")] = '\0';
            link_text(is_other ? "c_other" : "c_one", word,
                      (arch != NULL) ? (uint32_t)atoi(arch + 1) : 90,
                      (shpool_link_origin)(strchr(origins, *value) - origins));
        }
    }
}

#define CACHE_TEST(_name) UNIT_TEST_WITH(_name, set_up, tear_down)

#endif /* SHPOOL_TESTS_CACHE_TRIAL_H */
