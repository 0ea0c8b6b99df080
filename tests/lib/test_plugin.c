/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins, compiled here and now: those that are used, and why others are not. */
#include "plugin_trial.h"

#include <pthread.h>

#include <shpool/executor.h>
#include <shpool/heap.h>

#define PLUGIN_TEST(_name) UNIT_TEST_WITH(_name, trial_set_up, trial_tear_down)

static void expect_found(const char *name, const char *file)
{
    const shpool_allocator *found = NULL;
    char path[2 * TRIAL_PATH_BYTES];

    if (shpool_allocator_find(name, &found) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    trial_path(path, file);
    assert_string_equal(shpool_registry_file(found), path);
}

/* Not found, and the detail says which file is not used, and why; one warning says so, too. */
static void expect_refused(const char *file, const char *reason)
{
    const shpool_allocator *found;

    trial_heard.warnings = 0;
    assert_int_equal(shpool_allocator_find("trial_nobody", &found), SHPOOL_ERR_NOT_FOUND);
    assert_detail(file);
    assert_detail(reason);
    assert_int_equal(shpool_allocator_count(), trial_builtins);
    assert_int_equal(trial_heard.warnings, 1);
    assert_non_null(strstr(trial_heard.text, "a plugin is not used: "));
    assert_non_null(strstr(trial_heard.text, reason));
}

static void plugin_kernel(void *arg)
{
    const shpool_pool *pool = arg;
    shpool_heap heap = shpool_init(pool, simt_from_shared(simt_dynamic_base()));
    void *ptr = shpool_malloc(heap, 20);

    if (ptr != NULL) {
        simt_store32(simt_to_shared(ptr), 1);
    }
    shpool_free(heap, ptr);
    shpool_fini(heap);
}

PLUGIN_TEST(test_plugin_is_selected_and_runs)
{
    const shpool_config want = { .block_threads = 33, .payload_bytes = 4096 };
    simt_launch launch = { .grid = { 2 }, .block = { 33 }, .switch_period = 3, .seed = 1 };
    shpool_report_data report;
    simt_result result;
    shpool_pool pool;

    trial_compile_own("own.so");
    assert_int_equal(setenv("SHPOOL_ALLOCATOR", "own:stats=1", 1), 0);
    trial_use(trial_folder);
    expect_found("own", "own.so");
    if (shpool_simt_open(NULL, &want, &pool) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    assert_string_equal(pool.name, "own");
    launch.dynamic_bytes = pool.shared_bytes;
    if (simt_run(&launch, plugin_kernel, &pool, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    assert_int_equal(shpool_simt_report(&pool, &report), SHPOOL_OK);
    assert_int_equal(report.mallocs, 2 * 33);
    assert_int_equal(report.frees, 2 * 33);
    assert_int_equal(report.failures, 0);
    shpool_simt_close(&pool);
}

PLUGIN_TEST(test_plugins_come_in_the_order_of_their_names)
{
    trial_compile("20.so", "trial_a", "");
    trial_compile("10.so", "trial_b", "");
    trial_compile("15.so", "trial_c", "");
    trial_write("readme.txt", "no plugin");
    trial_write(".so", "no plugin");
    trial_use(trial_folder);
    assert_int_equal(shpool_allocator_count(), trial_builtins + 3);
    assert_string_equal(shpool_allocator_get(trial_builtins)->name, "trial_b");
    assert_string_equal(shpool_allocator_get(trial_builtins + 1)->name, "trial_c");
    assert_string_equal(shpool_allocator_get(trial_builtins + 2)->name, "trial_a");
    assert_int_equal(trial_heard.warnings, 0);
}

PLUGIN_TEST(test_path_has_folders_and_files)
{
    char path[6 * TRIAL_PATH_BYTES];

    trial_compile("a.so", "trial_a", "");
    trial_compile("b.plugin", "trial_b", "");
    snprintf(path, sizeof(path), ":%s/b.plugin::%s:%s/a.so:%s", trial_folder, trial_folder,
             trial_folder, trial_folder);
    trial_use(path);
    assert_int_equal(shpool_allocator_count(), trial_builtins + 2);
    expect_found("trial_b", "b.plugin");
    expect_found("trial_a", "a.so");
    assert_int_equal(trial_heard.warnings, 0);
}

/* Plugins with one defect each; the last two are no plugins. */
PLUGIN_TEST(test_defects_are_refused)
{
    static const struct { const char *defect; const char *reason; } rows[] = {
        { "#define ABI (SHPOOL_ABI + 7)\n", "built with ABI 9" },
        { "#define BYTES 8\n", "ABI 2 and 8 bytes" },
        { "#define LIBRARY NULL\n", "another copy of libshpool" },
        { "#define COUNT 0\n", "lists no allocator" },
        { "#define SCOPE 9\n", "\"trial_a\" has scope 9" },
        { "int trial_no_such_function(void);\n"
          "int trial_call(void);\n"
          "SHPOOL_API int trial_call(void) { return trial_no_such_function(); }\n",
          "trial_no_such_function" },
    };
    char path[2 * TRIAL_PATH_BYTES];
    char name[16];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        snprintf(name, sizeof(name), "%zu.so", i);
        trial_path(path, name);
        trial_compile(name, "trial_a", rows[i].defect);
        trial_use(path);
        expect_refused(name, rows[i].reason);
        if (i == 0) {
            assert_detail("rebuild it with the headers of shpool");
        }
    }
    trial_compile_text("other.so", "int nothing;\n");
    trial_path(path, "other.so");
    trial_use(path);
    expect_refused("other.so", "no symbol shpool_plugin");
    trial_write("text.so", "this is no shared object, and long enough for the loader to see that");
    trial_path(path, "text.so");
    trial_use(path);
    expect_refused("text.so", "not a 64-bit ELF file");
}

/* dlopen() of such a file ends in SIGBUS, or uses what happens to be there. */
PLUGIN_TEST(test_file_that_is_cut_off_is_refused)
{
    char path[2 * TRIAL_PATH_BYTES];
    struct stat whole;

    trial_compile("cut.so", "trial_a", "");
    trial_path(path, "cut.so");
    assert_int_equal(stat(path, &whole), 0);
    for (off_t bytes = whole.st_size - 1; bytes > 0; bytes -= 1 + whole.st_size / 60) {
        assert_int_equal(truncate(path, bytes), 0);
        trial_use(trial_folder);
        expect_refused("cut.so", (bytes < 64) ? "not a 64-bit ELF file" : "cut off");
    }
}

/* The FIFO has no writer: dlopen() would wait, and alarm() would end the test. */
PLUGIN_TEST(test_fifo_is_refused)
{
    char path[2 * TRIAL_PATH_BYTES];

    trial_path(path, "fifo.so");
    assert_int_equal(mkfifo(path, 0700), 0);
    alarm(300);
    trial_use(trial_folder);
    expect_refused("fifo.so", "not a regular file");
    trial_use(path);
    expect_refused("fifo.so", "not a regular file");
    alarm(0);
}

PLUGIN_TEST(test_dangling_link_is_refused)
{
    char path[2 * TRIAL_PATH_BYTES];

    trial_path(path, "gone.so");
    assert_int_equal(symlink("/no/such/file", path), 0);
    trial_use(trial_folder);
    expect_refused("gone.so", "No such file");
}

PLUGIN_TEST(test_taken_names_are_refused_whole)
{
    const shpool_allocator *found;

    trial_compile("1.so", "trial_a", "");
    trial_compile("2.so", "trial_b", "#define SECOND trial_a\n");
    trial_compile("3.so", SHPOOL_DEFAULT_ALLOCATOR, "");
    trial_compile("4.so", "trial_d", "");
    trial_use(trial_folder);
    expect_found("trial_a", "1.so");
    expect_found("trial_d", "4.so");
    assert_int_equal(shpool_allocator_count(), trial_builtins + 2);
    assert_int_equal(shpool_allocator_find("trial_b", &found), SHPOOL_ERR_NOT_FOUND);
    assert_detail("2.so: the name \"trial_a\" is taken");
    assert_detail("3.so: the name \"" SHPOOL_DEFAULT_ALLOCATOR "\" is taken");
    assert_int_equal(trial_heard.warnings, 2);
}

PLUGIN_TEST(test_program_cannot_take_a_plugins_name)
{
    static shpool_allocator fake;

    trial_compile("a.so", "trial_a", "");
    trial_use(trial_folder);
    fake = fake_allocator("trial_a", SHPOOL_SCOPE_BLOCK, 0);
    assert_int_equal(shpool_register(&fake), SHPOOL_ERR_UNSUPPORTED);
    fake.name = "trial_own";
    assert_int_equal(shpool_register(&fake), SHPOOL_OK);
    assert_null(shpool_registry_file(&fake));
}

PLUGIN_TEST(test_places_that_are_not_searched)
{
    static const mode_t open_modes[] = { 0775, 0757, 0777 };
    char path[2 * TRIAL_PATH_BYTES];
    char *longer;

    trial_compile("a.so", "trial_a", "");
    trial_use("plugins");
    expect_refused("plugins", "begins with /");
    trial_use("/no/such/folder");
    expect_refused("/no/such/folder", "No such file");

    longer = calloc(1, SHPOOL_PATH_BYTES + 100);
    assert_non_null(longer);
    memset(longer, '/', SHPOOL_PATH_BYTES + 50);
    trial_use(longer);
    free(longer);
    expect_refused("///", "longer than 4095 bytes");

    trial_path(path, "a.so");
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(open_modes); i++) {
        assert_int_equal(chmod(path, open_modes[i]), 0);
        trial_use(trial_folder);
        expect_refused("a.so", "chmod go-w");
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(chmod(trial_folder, open_modes[i]), 0);
        trial_use(trial_folder);
        expect_refused(trial_folder, "chmod go-w");
        assert_int_equal(chmod(trial_folder, 0755), 0);
    }
    trial_use(trial_folder);
    expect_found("trial_a", "a.so");
}

/* Calls that a plugin makes while it is loaded must not wait until it is loaded. */
PLUGIN_TEST(test_constructor_may_use_the_registry)
{
    trial_compile("eager.so", "trial_a",
                  "__attribute__((constructor)) static void early(void)\n"
                  "{\n"
                  "    static shpool_allocator more;\n"
                  "    if (shpool_allocator_count() == 0) return;\n"
                  "    more = *shpool_allocator_get(0);\n"
                  "    more.name = \"trial_early\";\n"
                  "    (void)shpool_register(&more);\n"
                  "}\n");
    trial_use(trial_folder);
    assert_int_equal(shpool_allocator_count(), trial_builtins + 2);
    expect_found("trial_a", "eager.so");
    assert_string_equal(shpool_allocator_get(trial_builtins)->name, "trial_early");
}

#define CROWD 8u

static void *look_for_it(void *arg)
{
    const shpool_allocator *found;

    (void)arg;
    return (shpool_allocator_find("trial_b", &found) == SHPOOL_OK) ? NULL : (void *)1;
}

PLUGIN_TEST(test_many_threads_begin_at_once)
{
    pthread_t threads[CROWD];

    trial_compile("a.so", "trial_a", "");
    trial_compile("b.so", "trial_b", "");
    trial_compile("c.so", "trial_a", "");
    for (unsigned round = 0; round < 5; round++) {
        trial_use(trial_folder);
        for (unsigned i = 0; i < CROWD; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, look_for_it, NULL), 0);
        }
        for (unsigned i = 0; i < CROWD; i++) {
            void *failed = NULL;

            assert_int_equal(pthread_join(threads[i], &failed), 0);
            assert_null(failed);
        }
        assert_int_equal(shpool_allocator_count(), trial_builtins + 2);
        assert_int_equal(trial_heard.warnings, 1);
    }
}

static int limit_time(void **state)
{
    (void)alarm(300); /* a deadlock shall fail, not hang */
    return 0;
}

UNIT_GROUP(limit_time, NULL)
