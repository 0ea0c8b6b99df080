/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each allocation of host memory fails in turn, alone or with all later ones: a call then succeeds
 * or reports it, leaves nothing half done, does not leak memory or files, and works again.
 */
#include "cache_trial.h"
#include "plugin_trial.h"

#include <errno.h>
#include <pthread.h>
#include <shpool/executor.h>

#define MOST_LIVE 512u /* pointers of the library at a time */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
char *__real_strdup(const char *text);
FILE *__real_fdopen(int file, const char *mode);
DIR *__real_fdopendir(int file);
int __real_scandir(const char *folder, struct dirent ***names_p,
                   int (*choose)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **));
void __real_free(void *ptr);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
char *__wrap_strdup(const char *text);
FILE *__wrap_fdopen(int file, const char *mode);
DIR *__wrap_fdopendir(int file);
int __wrap_scandir(const char *folder, struct dirent ***names_p,
                   int (*choose)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **));
void __wrap_free(void *ptr);

static struct {
    unsigned fail_at; /* 0: none fails */
    unsigned count;   /* allocations so far */
    int on;           /* those after it fail, too */
    const void *live[MOST_LIVE];
} memory;

/* 1: this one fails. */
static int fails(void)
{
    if ((memory.fail_at == 0) || (++memory.count < memory.fail_at) ||
        (!memory.on && (memory.count > memory.fail_at))) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

static void forget(const void *ptr)
{
    for (size_t i = 0; (ptr != NULL) && (i < MOST_LIVE); i++) {
        if (memory.live[i] == ptr) {
            memory.live[i] = NULL;
            return;
        }
    }
}

static void *note(void *ptr)
{
    size_t i = 0;

    while ((i < MOST_LIVE) && (memory.live[i] != NULL)) {
        i++;
    }
    assert_true(i < MOST_LIVE);
    memory.live[i] = ptr;
    return ptr;
}

static unsigned count_live(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < MOST_LIVE; i++) {
        count += memory.live[i] != NULL;
    }
    return count;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : note(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : note(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
    if (fails()) {
        return NULL;
    }
    forget(ptr);
    return note(__real_realloc(ptr, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : note(__real_strdup(text));
}

FILE *__wrap_fdopen(int file, const char *mode)
{
    return fails() ? NULL : __real_fdopen(file, mode);
}

DIR *__wrap_fdopendir(int file)
{
    return fails() ? NULL : __real_fdopendir(file);
}

int __wrap_scandir(const char *path, struct dirent ***names_p,
                   int (*choose)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **))
{
    return fails() ? -1 : __real_scandir(path, names_p, choose, compare);
}

void __wrap_free(void *ptr)
{
    forget(ptr);
    __real_free(ptr);
}

static unsigned count_open_files(void)
{
    unsigned count = 0;

    for (int file = 0; file < 256; file++) {
        count += fcntl(file, F_GETFD) >= 0;
    }
    return count;
}

/* A call with its checks, and a function that restores the state before. */
typedef struct scene {
    void (*act)(void);
    void (*reset)(void);
} scene;

static unsigned sweep_one(const scene *played, int on)
{
    unsigned runs = 0;

    memory.on = on;
    do {
        unsigned files = count_open_files();

        played->reset();
        memset(memory.live, 0, sizeof(memory.live));
        memory.count = 0;
        memory.fail_at = ++runs;
        played->act();
        memory.fail_at = 0;
        played->reset();
        if ((count_live() != 0) || (count_open_files() != files)) {
            fail_msg("allocation %u: %u pointers and %d files are lost", runs, count_live(),
                     (int)count_open_files() - (int)files);
        }
        assert_in_range(runs, 1, 200);
    } while (memory.count >= runs);
    return runs - 1;
}

/* Let each allocation of `act` fail in turn; it has at least `expected` of them. */
static void sweep(void (*act)(void), void (*reset)(void), unsigned expected)
{
    const scene played = { act, reset };

    assert_in_range(sweep_one(&played, 0), expected, 200);
    (void)sweep_one(&played, 1);
    memory.fail_at = 0;
}

/* The same call without failures. */
static void in_peace(void (*call)(void))
{
    const unsigned fail_at = memory.fail_at;

    memory.fail_at = 0;
    call();
    memory.fail_at = fail_at;
}

/* ---- the detail of a failure, in a thread that has had none ---- */

static char detail[SHPOOL_ERROR_BYTES];

static void *fail_once(void *status_p)
{
    shpool_pool pool;

    *(shpool_status *)status_p = shpool_plan("no_such_allocator", NULL, &pool);
    snprintf(detail, sizeof(detail), "%s", shpool_last_error());
    return NULL;
}

/* CMocka's assertions are for its own thread. */
static void fail_in_a_thread(void)
{
    shpool_status status = SHPOOL_OK;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, fail_once, &status), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, SHPOOL_ERR_INVALID);
    if (memory.on && (memory.fail_at == 1)) {
        assert_string_equal(detail, "");
    } else { /* it is noted twice, before and after the message */
        assert_non_null(strstr(detail, "is NULL"));
    }
}

/* The C library frees the detail at the thread's end, unseen. */
static void forget_all(void)
{
    memset(memory.live, 0, sizeof(memory.live));
}

static void test_a_detail_is_lost_alone(void **state)
{
    (void)state;
    sweep(fail_in_a_thread, forget_all, 1);
}

/* ---- links ---- */

static void link_three(void)
{
    static const char *const texts[] = { "kernel 1", "kernel 2", "kernel 1" };

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(texts); i++) {
        void *cubin = &cubin;
        size_t bytes = 1;
        shpool_status status = shpool_link(texts[i], strlen(texts[i]), "c_one", 90, &cubin, &bytes);

        if (status != SHPOOL_OK) {
            assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_LINK));
            assert_true(memory.count >= memory.fail_at);
            assert_null(cubin);
            assert_int_equal(bytes, 0);
            continue;
        }
        assert_memory_equal(cubin, "-arch=sm_90 -lto kernel", 23);
        free(cubin);
        if (i == 1) {
            shpool_memory_clear(); /* the third comes from the folder */
        }
    }
}

static void link_as_ever(void)
{
    char name[256];
    uint64_t bytes;
    unsigned files;
    void *cubin;
    size_t count;

    assert_int_equal(shpool_link("kernel 3", 8, "c_one", 90, &cubin, &count), SHPOOL_OK);
    free(cubin);
    files = count_files(&bytes, name);
    assert_in_range(files, 1, 3); /* no temporary one, or the next line fails */
    assert_true(bytes % files == 0);
}

static void link_all(void)
{
    link_three();
    in_peace(link_as_ever);
}

static void empty_cache(void)
{
    char command[3 * PATH_BYTES];

    shpool_memory_clear();
    snprintf(command, sizeof(command), "rm -f '%s'/*.shpool '%s'/.shpool*", folder, folder);
    assert_int_equal(system(command), 0);
}

static void test_links(void **state)
{
    (void)state;
    use_folder();
    sweep(link_all, empty_cache, 12);
}

static void link_badly(void)
{
    void *cubin;
    size_t bytes;

    fake.broken = "complete";
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes), SHPOOL_ERR_LINK);
    fake.broken = NULL;
}

static void test_links_that_fail(void **state)
{
    (void)state;
    sweep(link_badly, shpool_memory_clear, 2);
}

/* ---- pools on the executor ---- */

static const char *pool_spec;

static void open_and_close(void)
{
    shpool_config want = { .block_threads = 32, .payload_bytes = 1024 };
    shpool_report_data report;
    shpool_pool pool;
    shpool_status status;

    memset(&pool, 0xff, sizeof(pool));
    status = shpool_simt_open(pool_spec, &want, &pool);
    if (status == SHPOOL_OK) {
        (void)shpool_simt_report(&pool, &report);
        status = shpool_simt_close(&pool);
    }
    assert_true(is_zeroed(&pool, sizeof(pool)));
    if (status != SHPOOL_OK) { /* SHPOOL_ERR_SYSTEM: fdopen() */
        assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_SYSTEM));
        assert_true(memory.count >= memory.fail_at);
    }
}

static void nothing(void)
{
}

static void test_pools(void **state)
{
    char spec[3 * PATH_BYTES];

    (void)state;
    pool_spec = SHPOOL_DEFAULT_ALLOCATOR;
    sweep(open_and_close, nothing, 0);
    pool_spec = SHPOOL_DEFAULT_ALLOCATOR ":stats=1,check=1,spill=arena";
    sweep(open_and_close, nothing, 1);
    snprintf(spec, sizeof(spec), SHPOOL_DEFAULT_ALLOCATOR ":trace=%s/t,trace_bytes=4K", folder);
    pool_spec = spec;
    sweep(open_and_close, nothing, 4);
}

/* ---- plugins ---- */

static void find_a(void)
{
    const shpool_allocator *found;

    assert_int_equal(shpool_allocator_find("trial_a", &found), SHPOOL_OK);
    assert_non_null(strstr(shpool_registry_file(found), "a.so"));
}

static void find_while_it_fails(void)
{
    const shpool_allocator *found;

    if (shpool_allocator_find("trial_a", &found) != SHPOOL_OK) {
        assert_true(memory.count >= memory.fail_at);
        assert_null(found);
    }
    in_peace(find_a);
}

static void test_plugins(void **state)
{
    (void)state;
    trial_compile("a.so", "trial_a", "");
    trial_use(trial_folder);
    sweep(find_while_it_fails, shpool_registry_reset, 3);
}

/* ---- messages that wait until a lock is left ---- */

static unsigned heard;

static void count_messages(shpool_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
    heard++;
}

static void send_three(void)
{
    shpool_messages_hold();
    for (unsigned i = 0; i < 3; i++) {
        shpool_message(SHPOOL_LEVEL_WARN, "message %u", i);
    }
    heard = 0;
    shpool_messages_release();
    assert_true((heard == 3) || (memory.count >= memory.fail_at));
    shpool_message(SHPOOL_LEVEL_WARN, "one more");
    assert_in_range(heard, 1, 4);
}

static void test_messages_are_lost_alone(void **state)
{
    (void)state;
    shpool_set_message_handler(count_messages, NULL);
    sweep(send_three, nothing, 3);
    shpool_set_message_handler(NULL, NULL);
}

/* This thread's room for details stays; it is not lost. */
static int make_room_for_details(void **state)
{
    const shpool_allocator *found;

    assert_int_equal(shpool_allocator_find(NULL, &found), SHPOOL_ERR_INVALID);
    return set_up_group(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(_name, _up, _down) cmocka_unit_test_setup_teardown(test_##_name, _up, _down)
        TEST(a_detail_is_lost_alone, set_up, tear_down),
        TEST(links, set_up, tear_down),
        TEST(links_that_fail, set_up, tear_down),
        TEST(pools, set_up, tear_down),
        TEST(messages_are_lost_alone, set_up, tear_down),
        TEST(plugins, trial_set_up, trial_tear_down),
#undef TEST
    };

    return cmocka_run_group_tests(tests, make_room_for_details, NULL);
}
