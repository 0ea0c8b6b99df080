/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of linked kernels knows nvJitLink's file, so that a hit need not load nvJitLink. */
#include <config.h> /* _GNU_SOURCE, for dladdr() */

#include "cache_trial.h"

#include <dlfcn.h>

#define LINKER_BYTES 5000u

static char linker[PATH_BYTES + 8]; /* the fake's file, not in the folder: tear_down() deletes it */
static char loaded[LINKER_BYTES];

/* A file of these bytes, whose time is `seconds`: an update, that no clock's tick hides. */
static void put_linker(char content, size_t bytes, time_t seconds)
{
    const struct timespec times[2] = { { seconds, 1 }, { seconds, 1 } };
    char data[LINKER_BYTES];
    int file = open(linker, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    memset(data, content, sizeof(data));
    assert_true(file >= 0);
    assert_int_equal(write(file, data, bytes), (ssize_t)bytes);
    assert_int_equal(futimens(file, times), 0);
    close(file);
}

/* nvJitLink 12.8 exists, is loaded, and has joined a kernel. */
static int set_up_linker(void **state)
{
    if (set_up(state) != 0) {
        return -1;
    }
    unsetenv("LD_LIBRARY_PATH");
    snprintf(linker, sizeof(linker), "%s.else", folder);
    memset(loaded, 'a', sizeof(loaded));
    put_linker('a', LINKER_BYTES, 1000);
    fake.path = linker;
    fake.base = loaded;
    use_folder();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    fake.finds = 0;
    return 0;
}

/* As a process that has linked nothing yet; how often it loads nvJitLink. */
static void link_loads(shpool_link_origin origin, unsigned finds)
{
    shpool_memory_clear();
    fake.finds = 0;
    link_text("c_one", "kernel", 90, origin);
    assert_int_equal(fake.finds, finds);
}

UNIT_TEST_WITH(test_a_hit_loads_no_linker, set_up_linker, tear_down)
{
    link_loads(SHPOOL_FROM_DISK, 0);
    fake.cuda = 0; /* nor does it miss one */
    link_loads(SHPOOL_FROM_DISK, 0);
}

UNIT_TEST_WITH(test_an_updated_linker_links_anew, set_up_linker, tear_down)
{
    put_linker('a', LINKER_BYTES, 1001);
    fake.cuda = 12090;
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    link_loads(SHPOOL_FROM_DISK, 0);
    put_linker('a', LINKER_BYTES - 1, 1001); /* the time is the old one, as of some packages */
    fake.cuda = 12100;
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
}

UNIT_TEST_WITH(test_a_reinstalled_linker_is_asked_once, set_up_linker, tear_down)
{
    put_linker('a', LINKER_BYTES, 1001);
    link_loads(SHPOOL_FROM_DISK, 1);
    link_loads(SHPOOL_FROM_DISK, 0);
}

UNIT_TEST_WITH(test_a_linker_that_is_gone, set_up_linker, tear_down)
{
    assert_int_equal(unlink(linker), 0);
    fake.cuda = 0;
    fake.path = NULL;
    link_loads(SHPOOL_FROM_DISK, 1); /* no linker: the cached kernel serves */
    fake.cuda = 12090;               /* another one, elsewhere */
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
}

/* The user puts a newer one on the path; the older one is still where it was. */
UNIT_TEST_WITH(test_another_library_path_is_looked_at, set_up_linker, tear_down)
{
    assert_int_equal(setenv("LD_LIBRARY_PATH", "/opt/newer", 1), 0);
    shpool_config_reload();
    link_loads(SHPOOL_FROM_DISK, 1);
    unsetenv("LD_LIBRARY_PATH");
    shpool_config_reload();
    fake.cuda = 12090;
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
}

/* An update while a program runs: the file is the new one, the loaded linker the old one. */
UNIT_TEST_WITH(test_a_file_that_is_not_the_loaded_one_is_not_noted, set_up_linker, tear_down)
{
    put_linker('b', LINKER_BYTES, 1001);
    fake.cuda = 12090;
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    link_loads(SHPOOL_FROM_DISK, 1);
}

/* The genuine way: a library that dlopen() has loaded is found, and a copy of it is another one. */
UNIT_TEST_WITH(test_a_loaded_library_is_known_by_its_file, set_up_linker, tear_down)
{
    const shpool_jit none = { .cuda = 12080 };
    shpool_linker found = shpool_linker_of(&none);
    shpool_jit jit = none;
    Dl_info info;

    assert_int_equal(found.version, 12080);
    assert_false(shpool_linker_is_unchanged(&found));
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "pthread_create"), &info), 0);
    jit.path = info.dli_fname;
    jit.base = info.dli_fbase;
    found = shpool_linker_of(&jit);
    assert_string_equal(found.path, info.dli_fname);
    assert_true(shpool_linker_is_unchanged(&found));
    jit.base = loaded;
    assert_string_equal(shpool_linker_of(&jit).path, "");
    jit.path = "libc.so.6"; /* relative to a folder that changes */
    assert_string_equal(shpool_linker_of(&jit).path, "");
}

UNIT_GROUP(set_up_group, NULL)
