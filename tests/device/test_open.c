/* SPDX-License-Identifier: BSD-3-Clause */
/* Specs, the registry, the layers. */
#include "scene.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/stack.h"

static int start(void **state)
{
    clear_environment(state);
    fake_start(2, 256 * MIB);
    fake_set_current(1);
    allocator = NULL;
    return 0;
}

static int stop(void **state)
{
    shpool_device_allocator_unref(allocator);
    return (fake_stop().bytes != 0) || (fake_violations() != 0);
}

#define OPEN_TEST(_name) UNIT_TEST_WITH(_name, start, stop)

static void refused(const char *spec, shpool_status expected, const char *detail)
{
    assert_int_equal(expected, shpool_device_allocator_open(spec, 0, &allocator));
    assert_null(allocator);
    assert_detail(detail);
}

OPEN_TEST(test_specs_that_cannot_be_are_refused_with_what_would_work)
{
    refused("bin", SHPOOL_ERR_NOT_FOUND, "did you mean \"bins\"");
    refused("nonsense", SHPOOL_ERR_NOT_FOUND, "there are: async, bins, buckets, simple, fault");
    refused("bins|stats", SHPOOL_ERR_SPEC, "is a base");
    refused("bins:nth=3", SHPOOL_ERR_SPEC, "unknown key \"nth\"; known keys: capacity");
    refused("bins:reuse=never", SHPOOL_ERR_SPEC, "same, done or wait");
    refused("bins:capacity=much", SHPOOL_ERR_SPEC, "capacity=much");
    refused("limit|bins", SHPOOL_ERR_SPEC, "bytes=N");
    refused("log|bins", SHPOOL_ERR_SPEC, "file=PATH");
    refused("bins:", SHPOOL_ERR_SPEC, "column 6");
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_allocator_open("bins", 2, &allocator));
    assert_detail("this process sees 2");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_allocator_open("bins", 0, NULL));
}

OPEN_TEST(test_the_variable_serves_and_is_named_when_it_is_bad)
{
    setenv("SHPOOL_DEVICE_ALLOCATOR", "stats|buckets:capacity=500M", 1);
    shpool_config_reload();
    open_allocator(NULL, -1, &allocator);
    assert_string_equal("stats|buckets:capacity=500M", shpool_device_allocator_spec(allocator));
    assert_int_equal(1, shpool_device_allocator_device(allocator)); /* the current one */
    shpool_device_allocator_unref(allocator);
    setenv("SHPOOL_DEVICE_ALLOCATOR", "bucket", 1);
    shpool_config_reload();
    refused(NULL, SHPOOL_ERR_NOT_FOUND, "SHPOOL_DEVICE_ALLOCATOR");
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_allocator_default(0, NULL));
    assert_detail("buckets");
    unsetenv("SHPOOL_DEVICE_ALLOCATOR");
    shpool_config_reload();
    assert_ok(shpool_device_allocator_default(0, NULL));
    open_allocator(NULL, 0, &allocator);
    assert_string_equal("bins", shpool_device_allocator_spec(allocator));
}

OPEN_TEST(test_the_shared_allocator_is_one_for_each_device)
{
    shpool_device_allocator *first;
    shpool_device_allocator *again;
    shpool_device_allocator *second;

    assert_ok(shpool_device_allocator_default(0, &first));
    assert_ok(shpool_device_allocator_default(0, &again));
    assert_ok(shpool_device_allocator_default(-1, &second));
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, second);
    assert_int_equal(1, shpool_device_allocator_device(second));
}

static const scene layers[] = {
    { "stats counts requested bytes", "stats|bins",
      "a=1000@0 b=5000@0 free:a@0 requested_bytes=5000 live_bytes_peak=6000 live_count_peak=2 "
      "live_bytes=5120 mallocs=2 reset_peak live_bytes_peak=5000 free:a@0!DOUBLE_FREE free:b@0" },
    { "limit refuses, and forgets memory that was freed", "limit:bytes=8K|bins",
      "a=5000@0 b=5000@0!LIMIT '8192' free:a@0 pair:8K@0 set:bytes=1K b=5000@0!LIMIT "
      "set:none=1!NOT_FOUND" },
    { "fault fails the nth, counted from when it was set", "fault:nth=2|bins",
      "pair:1@0 a=1@0!NO_MEMORY pair:1@0 set:every=1 a=1@0!NO_MEMORY set:every=0 set:nth=1 "
      "a=1@0!NO_MEMORY pair:1@0" },
    /* live blocks that another stream uses go with their allocator */
    { "named blocks of async", "async", "a=1000@0 name:a@1" },
    { "named blocks of buckets", "buckets", "a=1000@0 name:a@1" },
    { "named blocks of simple", "simple", "a=1000@0 name:a@1" },
};
SCENES(layers)

OPEN_TEST(test_a_report_names_the_allocator)
{
    char text[2000];
    size_t need;

    open_allocator("stats|bins", 0, &allocator);
    play("pair:1000@0");
    assert_ok(shpool_device_report(allocator, text, sizeof(text), &need));
    assert_int_equal(strlen(text), need);
    assert_non_null(strstr(text, "stats|bins on device 0"));
    assert_non_null(strstr(text, "live_bytes"));
    assert_ok(shpool_device_report(allocator, NULL, 0, &need));
    assert_int_equal(strlen(text), need);
}

OPEN_TEST(test_guard_sees_who_writes_outside)
{
    unsigned char *ptr;

    open_allocator("guard|bins", 0, &allocator);
    ptr = get(allocator, 1000, NULL);
    assert_int_equal(0xa5, ptr[0]);
    memset(ptr, 0, 1000);
    put(allocator, ptr, NULL);
    ptr = get(allocator, 1000, NULL);
    ptr[1003] = 7;
    assert_int_equal(SHPOOL_ERR_CORRUPT, shpool_device_free(allocator, ptr, NULL));
    assert_detail("0x07, 3 bytes past the end");
    ptr = get(allocator, 1000, NULL);
    ptr[-1] = 7;
    assert_int_equal(SHPOOL_ERR_CORRUPT, shpool_device_free(allocator, ptr, NULL));
    assert_detail("1 bytes before");
    assert_int_equal(0, live_bytes(allocator));
}

static const char *log_spec(const char *path)
{
    static char spec[100];

    snprintf(spec, sizeof(spec), "log:file=%s|bins", path);
    return spec;
}

OPEN_TEST(test_log_writes_a_line_for_each_call)
{
    char path[] = "device_log_XXXXXX";
    char line[4][200];
    void *ptr;
    FILE *file;

    close(mkstemp(path));
    open_allocator(log_spec(path), 0, &allocator);
    ptr = get(allocator, 1000, SHPOOL_STREAM_LEGACY);
    put(allocator, ptr, SHPOOL_STREAM_LEGACY);
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr, NULL));
    file = fopen(path, "r");
    assert_non_null(file);
    for (int i = 0; i < 4; i++) {
        assert_non_null(fgets(line[i], sizeof(line[i]), file));
    }
    fclose(file);
    assert_ok(shpool_device_check(allocator));
    remove(path);
    assert_string_equal("Thread,Time,Action,Pointer,Size,Stream\n", line[0]);
    assert_non_null(strstr(line[1], ",allocate,0x"));
    assert_non_null(strstr(line[1], ",1000,0x1\n"));
    assert_non_null(strstr(line[2], ",free,0x"));
    assert_non_null(strstr(line[3], ",free failure,"));
}

/* The FIFO has no reader: a process that waits for it is ended. */
OPEN_TEST(test_log_waits_for_no_fifo)
{
    char path[] = "device_log_XXXXXX";

    close(mkstemp(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(300);
    refused(log_spec(path), SHPOOL_ERR_SYSTEM, "a FIFO that no program reads");
    alarm(0);
    remove(path);
}

OPEN_TEST(test_log_follows_no_link_of_others)
{
    struct stat info;
    char link[sizeof("device_log_XXXXXX.to")];
    char path[] = "device_log_XXXXXX";

    if (geteuid() != 0) {
        skip(); /* only root can give a link away */
    }
    close(mkstemp(path));
    assert_int_equal(truncate(path, 500), 0);
    snprintf(link, sizeof(link), "%s.to", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(lchown(link, 4711, 4711), 0);
    refused(log_spec(link), SHPOOL_ERR_SYSTEM, strerror(EACCES));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 500);
    assert_int_equal(lchown(link, 0, 0), 0); /* own links are followed, and the file overwritten */
    open_allocator(log_spec(link), 0, &allocator);
    assert_ok(shpool_device_check(allocator));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, strlen("Thread,Time,Action,Pointer,Size,Stream\n"));
    remove(link);
    remove(path);
}

static char heard[600];

static void hear(shpool_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    snprintf(heard, sizeof(heard), "%s", text);
}

/* The layer at the path, which cannot be written from some line on: the reason is told twice. */
static void log_fails(const char *path, const char *why)
{
    shpool_set_message_handler(hear, NULL);
    open_allocator(log_spec(path), 0, &allocator);
    play("10*{ pair:1000@0 }");
    assert_int_equal(SHPOOL_ERR_SYSTEM, shpool_device_check(allocator));
    assert_detail(why);
    heard[0] = '\0'; /* errors are messages, too */
    shpool_device_allocator_unref(allocator);
    allocator = NULL;
    shpool_set_message_handler(NULL, NULL);
    assert_non_null(strstr(heard, path));
    assert_non_null(strstr(heard, why));
}

OPEN_TEST(test_log_says_that_the_disk_is_full)
{
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    log_fails("/dev/full", strerror(ENOSPC));
}

/* A limit on files cuts a line, as a full disk does. */
OPEN_TEST(test_log_leaves_no_cut_file)
{
    struct rlimit before;
    struct rlimit little;
    struct stat info;
    char path[] = "device_log_XXXXXX";

    close(mkstemp(path));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    little = (struct rlimit){ 200, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    log_fails(path, strerror(EFBIG));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0);
    remove(path);
}

/* ---- providers of others ---- */

static shpool_status own_create(const shpool_device_setup *setup, void **self_p)
{
    assert_int_equal(1, setup->option_count);
    assert_string_equal("x", setup->options[0].key);
    assert_string_equal("1", setup->options[0].value);
    *self_p = setup->upstream;
    return SHPOOL_OK;
}

static shpool_status own_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    return shpool_device_malloc(self, 2 * bytes, stream, ptr_p);
}

OPEN_TEST(test_others_register_theirs)
{
    static shpool_device_provider own = {
        .abi = SHPOOL_DEVICE_ABI, .bytes = offsetof(shpool_device_provider, record_stream),
        .flags = SHPOOL_DEVICE_LAYER, .name = "twice", .summary = "twice as much",
        .create = own_create, .destroy = pass_nothing, .malloc = own_malloc, .free = pass_free,
        .trim = (shpool_status (*)(void *, size_t))(void (*)(void))abort, /* it does not know it */
    };
    shpool_device_provider bad = own;
    const shpool_device_provider *found;

    assert_ok(shpool_device_register(&own));
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_device_register(&own));
    bad.name = "Bad";
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_register(&bad));
    bad.name = "bad";
    bad.abi++;
    assert_int_equal(SHPOOL_ERR_ABI, shpool_device_register(&bad));
    bad.abi--;
    bad.free = NULL;
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_register(&bad));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_register(NULL));
    assert_ok(shpool_device_provider_find("twice", &found));
    assert_ptr_equal(&own, found);
    open_allocator("twice:x=1", 0, &allocator); /* on the default base */
    play("pair:1K@0 a=1K@0 live_bytes=2K trim:0");
}

OPEN_TEST(test_a_file_that_is_no_plugin_is_refused)
{
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_load("/nonexistent.so"));
    assert_detail("/nonexistent.so");
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_load("libc.so.6"));
    assert_detail("exports no shpool_device_plugin");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_load(NULL));
}

/* Every built-in provider obeys the rules that are common to all. */
OPEN_TEST(test_every_base_keeps_the_common_rules)
{
    static const char *const specs[] = { "async", "bins", "buckets", "simple", "lock|bins",
                                         "guard|buckets", "stats|simple", "limit:bytes=1G|async" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        void *ptr = &ptr;
        int local;

        open_allocator(specs[i], 0, &allocator);
        assert_ok(shpool_device_malloc(allocator, 0, NULL, &ptr));
        assert_null(ptr);
        put(allocator, NULL, NULL);
        for (size_t bytes = 1; bytes < 80 * MIB; bytes = bytes * 3 + 1) {
            play("a=%zu@0 name:a@9 free:a@0 free:a@0!DOUBLE_FREE", bytes);
            assert_int_equal(0, (uintptr_t)block("a") % SHPOOL_DEVICE_ALIGNMENT);
        }
        assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, &local, NULL));
        assert_int_not_equal(SHPOOL_OK, shpool_device_malloc(allocator, SIZE_MAX, NULL, &ptr));
        assert_null(ptr);
        play("trim:0 check a=100@0"); /* freed with the allocator */
        shpool_device_allocator_unref(allocator);
        allocator = NULL;
        assert_int_equal(0, fake_holds().bytes);
    }
    assert_int_equal(1, fake_current());
}
