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
    links("kernel=l");
    return 0;
}

#define LINKER_TEST(_name) UNIT_TEST_WITH(_name, set_up_linker, tear_down)

LINKER_TEST(test_a_hit_loads_no_linker)
{
    links("clear kernel=d finds=0 cuda=0 clear kernel=d finds=0"); /* nor does it miss one */
}

/* At last the time is the old one, as of some packages. */
LINKER_TEST(test_an_updated_linker_links_anew)
{
    put_linker('a', LINKER_BYTES, 1001);
    links("cuda=12090 clear kernel=l clear kernel=d finds=0");
    put_linker('a', LINKER_BYTES - 1, 1001);
    links("cuda=12100 clear kernel=l");
}

LINKER_TEST(test_a_reinstalled_linker_is_asked_once)
{
    put_linker('a', LINKER_BYTES, 1001);
    links("clear kernel=d finds=1 clear kernel=d finds=0");
}

/* Without a linker the cached kernel serves, until there is another one elsewhere. */
LINKER_TEST(test_a_linker_that_is_gone)
{
    assert_int_equal(unlink(linker), 0);
    fake.path = NULL;
    links("cuda=0 clear kernel=d finds=1 cuda=12090 clear kernel=l");
}

/* The user puts a newer one on the path; the older one is still where it was. */
LINKER_TEST(test_another_library_path_is_looked_at)
{
    assert_int_equal(setenv("LD_LIBRARY_PATH", "/opt/newer", 1), 0);
    shpool_config_reload();
    links("clear kernel=d finds=1");
    unsetenv("LD_LIBRARY_PATH");
    shpool_config_reload();
    links("cuda=12090 clear kernel=l");
}

/* An update while a program runs: the file is the new one, the loaded linker the old one. */
LINKER_TEST(test_a_file_that_is_not_the_loaded_one_is_not_noted)
{
    put_linker('b', LINKER_BYTES, 1001);
    links("cuda=12090 clear kernel=l clear kernel=d finds=1");
}

/* The genuine way: a library that dlopen() has loaded is found, and a copy of it is another one. */
LINKER_TEST(test_a_loaded_library_is_known_by_its_file)
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
