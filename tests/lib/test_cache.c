/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked kernels are kept in memory and in a folder: what is found again, and what is not. */
#include "cache_trial.h"

#include <stdatomic.h>

static void expect_hash(const char *text, uint64_t first, uint64_t second)
{
    shpool_hash hash = shpool_hash_bytes(text, strlen(text));

    assert_true(hash.word[0] == first);
    assert_true(hash.word[1] == second);
}

static void test_hash_is_murmur3(void **state)
{
    (void)state;
    expect_hash("", 0, 0);
    expect_hash("The quick brown fox jumps over the lazy dog", 0xe34bbc7bbc071b6cu,
                0x7a433ca9c49a9347u);
}

static void test_second_link_comes_from_memory(void **state)
{
    (void)state;
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    link_text("c_one", "kernel", 90, SHPOOL_FROM_MEMORY);
    assert_int_equal(fake.loads, 1);
    fake.cuda = 0;
    link_text("c_one", "kernel", 90, SHPOOL_FROM_MEMORY);
}

static void test_whatever_differs_is_linked_anew(void **state)
{
    (void)state;
    use_folder();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    link_text("c_one", "kernel", 80, SHPOOL_FROM_LINKER);
    link_text("c_other", "kernel", 90, SHPOOL_FROM_LINKER);
    link_text("c_one", "kerne", 90, SHPOOL_FROM_LINKER);
    link_text("c_one", "kernek", 90, SHPOOL_FROM_LINKER);
    link_text("c_one", "kernel", 90, SHPOOL_FROM_MEMORY);
    link_text("c_one", "kernel", 80, SHPOOL_FROM_MEMORY);
    link_text("c_other", "kernel", 90, SHPOOL_FROM_MEMORY);
}

static void test_failures_are_not_kept(void **state)
{
    void *cubin;
    size_t bytes;

    (void)state;
    use_folder();
    fake.broken = "complete";
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes), SHPOOL_ERR_LINK);
    fake.broken = NULL;
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
}

static void test_memory_keeps_the_latest(void **state)
{
    char text[32];

    (void)state;
    for (unsigned i = 0; i < SHPOOL_MEMORY_ENTRIES; i++) {
        snprintf(text, sizeof(text), "kernel %u", i);
        link_text("c_one", text, 90, SHPOOL_FROM_LINKER);
    }
    link_text("c_one", "kernel 0", 90, SHPOOL_FROM_MEMORY);
    link_text("c_one", "one more", 90, SHPOOL_FROM_LINKER); /* instead of kernel 1 */
    link_text("c_one", "kernel 0", 90, SHPOOL_FROM_MEMORY);
    link_text("c_one", "kernel 2", 90, SHPOOL_FROM_MEMORY);
    link_text("c_one", "kernel 1", 90, SHPOOL_FROM_LINKER);
}

static void test_memory_is_bounded_in_bytes(void **state)
{
    static const size_t bytes = SHPOOL_MEMORY_BYTES / 2;
    shpool_cache_key key[3] = { { .arch = 1 }, { .arch = 2 }, { .arch = 3 } };
    char *data = calloc(1, 2 * bytes + 1);
    void *found = NULL;
    size_t count;

    (void)state;
    assert_non_null(data);
    for (unsigned i = 0; i < 3; i++) {
        shpool_memory_put(&key[i], data, bytes);
    }
    assert_int_equal(shpool_memory_get(&key[0], &found, &count), 0);
    assert_int_equal(shpool_memory_get(&key[2], &found, &count), 1);
    assert_int_equal(count, bytes);
    free(found);
    shpool_memory_put(&key[0], data, 2 * bytes + 1); /* more than all of it */
    assert_int_equal(shpool_memory_get(&key[0], &found, &count), 0);
    assert_int_equal(shpool_memory_get(&key[1], &found, &count), 1);
    free(found);
    free(data);
}

static void test_another_process_finds_it_in_the_folder(void **state)
{
    char name[256];
    uint64_t bytes;

    (void)state;
    use_folder();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    assert_int_equal(count_files(&bytes, name), 1);
    shpool_memory_clear(); /* as a new process begins */
    fake.cuda = 0;         /* on a machine without nvJitLink */
    link_text("c_one", "kernel", 90, SHPOOL_FROM_DISK);
    link_text("c_one", "kernel", 90, SHPOOL_FROM_MEMORY);
    assert_int_equal(fake.loads, 1);
}

static void test_without_a_folder_nothing_is_written(void **state)
{
    char name[256];
    uint64_t bytes;

    (void)state;
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    assert_int_equal(count_files(&bytes, name), 0);
}

static void test_folder_is_made_for_the_user_alone(void **state)
{
    char path[2 * PATH_BYTES];
    char name[256];
    struct stat info;
    uint64_t bytes;

    (void)state;
    assert_int_equal(rmdir(folder), 0);
    use_folder();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700 & info.st_mode);
    assert_int_equal(count_files(&bytes, name), 1);
    in_folder(path, name);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600 & info.st_mode);
}

/* Level and words of the latest warning. */
static char warning[2048];

static void listen(shpool_level level, const char *text, void *user)
{
    (void)user;
    if (level == SHPOOL_LEVEL_WARN) {
        snprintf(warning, sizeof(warning), "%s", text);
    }
}

static void expect_warning(const char *words)
{
    warning[0] = '\0';
    shpool_set_message_handler(listen, NULL);
    shpool_memory_clear();
    link_text("c_one", "kernel", 90, SHPOOL_FROM_LINKER);
    shpool_set_message_handler(NULL, NULL);
    if ((strstr(warning, words) == NULL) || (strstr(warning, "SHPOOL_CACHE_DIR") == NULL)) {
        fail_msg("\"%s\" is not in \"%s\"", words, warning);
    }
}

static void test_folder_that_cannot_be_used_is_a_warning(void **state)
{
    char name[256];
    uint64_t bytes;

    (void)state;
    assert_int_equal(setenv("SHPOOL_CACHE_DIR", "here/and/there", 1), 0);
    shpool_config_reload();
    expect_warning("must begin with /");
    assert_int_equal(setenv("SHPOOL_CACHE_DIR", "/proc/no/such/folder", 1), 0);
    shpool_config_reload();
    expect_warning("No such file");
    assert_int_equal(setenv("SHPOOL_CACHE_DIR", "/dev/null", 1), 0);
    shpool_config_reload();
    expect_warning("Not a directory");

    use_folder();
    assert_int_equal(chmod(folder, 0777), 0);
    expect_warning("chmod o-w");
    assert_int_equal(count_files(&bytes, name), 0);
    if (geteuid() != 0) { /* root writes anywhere */
        assert_int_equal(chmod(folder, 0500), 0);
        expect_warning("Permission denied");
    }
}

static void test_bad_bound_is_an_error(void **state)
{
    void *cubin;
    size_t bytes;

    (void)state;
    assert_int_equal(setenv("SHPOOL_CACHE_BYTES", "much", 1), 0);
    shpool_config_reload();
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes), SHPOOL_ERR_SPEC);
    assert_detail("SHPOOL_CACHE_BYTES \"much\"");
    assert_null(cubin);
}

/* ---- fork ---- */

#define FORKS 200u

static atomic_int busy; /* relaxed: it only ends a loop */

static void *keep_busy(void *arg)
{
    const shpool_cache_key key = { .arch = 7 };
    void *found;
    size_t bytes;

    while (atomic_load_explicit(&busy, memory_order_relaxed)) {
        shpool_memory_put(&key, &key, sizeof(key));
        if (shpool_memory_get(&key, &found, &bytes)) {
            free(found);
        }
        shpool_memory_clear();
        for (unsigned i = 0; i < 30; i++) {
            (void)shpool_allocator_count(); /* the registry has a lock, too */
        }
    }
    return arg;
}

/* A lock that another thread held when the process forked would never be given back there. */
static void test_children_can_use_the_cache(void **state)
{
    const shpool_cache_key key = { .arch = 8 };
    pthread_t thread;

    (void)state;
    atomic_store_explicit(&busy, 1, memory_order_relaxed);
    assert_int_equal(pthread_create(&thread, NULL, keep_busy, NULL), 0);
    for (unsigned i = 0; i < FORKS; i++) {
        int status = 1;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            void *found = NULL;
            size_t bytes;

            alarm(10);
            /* Both locks, and no malloc: AddressSanitizer's own does not survive a fork. */
            _exit(shpool_memory_get(&key, &found, &bytes) || (shpool_allocator_count() == 0));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store_explicit(&busy, 0, memory_order_relaxed);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(_name) cmocka_unit_test_setup_teardown(test_##_name, set_up, tear_down)
        TEST(hash_is_murmur3),
        TEST(second_link_comes_from_memory),
        TEST(whatever_differs_is_linked_anew),
        TEST(failures_are_not_kept),
        TEST(memory_keeps_the_latest),
        TEST(memory_is_bounded_in_bytes),
        TEST(another_process_finds_it_in_the_folder),
        TEST(without_a_folder_nothing_is_written),
        TEST(folder_is_made_for_the_user_alone),
        TEST(folder_that_cannot_be_used_is_a_warning),
        TEST(bad_bound_is_an_error),
        TEST(children_can_use_the_cache),
#undef TEST
    };

    return cmocka_run_group_tests(tests, set_up_group, NULL);
}
