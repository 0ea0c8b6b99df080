/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each allocation of host memory fails in turn, alone or with all later ones: a call then succeeds
 * or reports it, leaves nothing half done, does not leak memory or files, and works again.
 */
#include "cache_trial.h"
#include "memory_trial.h"
#include "plugin_trial.h"

#include <pthread.h>
#include <shpool/executor.h>

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
    use_folder();
    sweep(link_all, empty_cache, 12);
}

static void link_badly(void)
{
    void *cubin;
    size_t bytes;

    fake.broken = "complete";
    /* the first allocation is for the text; the others are for the message */
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes),
                     (memory.fail_at == 1) ? SHPOOL_ERR_NO_MEMORY : SHPOOL_ERR_LINK);
    fake.broken = NULL;
}

static void test_links_that_fail(void **state)
{
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
    trial_compile("a.so", "trial_a", "");
    trial_use(trial_folder);
    sweep(find_while_it_fails, shpool_registry_reset, 3);
}

/* The other calls that look for plugins first. */
static void ask_while_it_fails(void)
{
    const shpool_blob *blobs[2] = { NULL, NULL };
    shpool_pool pool = { .name = "trial_a" };
    shpool_report_data report = { .abi = SHPOOL_ABI };
    shpool_advice advice;
    shpool_arch arch;

    assert_int_equal(shpool_arch_find("90", &arch), SHPOOL_OK);
    if (shpool_allocator_count() == trial_builtins) {
        assert_true(memory.count >= memory.fail_at);
    }
    (void)shpool_allocator_get(trial_builtins);
    shpool_registry_reset();
    (void)shpool_link_code("trial_a", 90, &blobs[0], &blobs[1]); /* it has none */
    assert_null(blobs[0]);
    shpool_registry_reset();
    (void)shpool_advise(&pool, &report, &arch, 0, &advice);
    in_peace(find_a);
    assert_int_equal(shpool_allocator_count(), trial_builtins + 1);
}

static void test_questions_about_plugins(void **state)
{
    trial_compile("a.so", "trial_a", "");
    trial_use(trial_folder);
    sweep(ask_while_it_fails, shpool_registry_reset, 6);
}

/* An allocator of the program's own, before plugins have been looked for. */
static void register_while_it_fails(void)
{
    static shpool_allocator own;
    const shpool_allocator *found;

    own = fake_allocator("trial_own", SHPOOL_SCOPE_BLOCK, 0);
    if (shpool_register(&own) != SHPOOL_OK) {
        assert_true(memory.count >= memory.fail_at);
        memory.fail_at = 0;
        assert_int_equal(shpool_register(&own), SHPOOL_OK);
    }
    in_peace(find_a);
    assert_int_equal(shpool_allocator_find("trial_own", &found), SHPOOL_OK);
    assert_ptr_equal(found, &own);
}

static void test_registrations(void **state)
{
    trial_compile("a.so", "trial_a", "");
    trial_use(trial_folder);
    sweep(register_while_it_fails, shpool_registry_reset, 3);
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
        TEST(questions_about_plugins, trial_set_up, trial_tear_down),
        TEST(registrations, trial_set_up, trial_tear_down),
#undef TEST
    };

    return cmocka_run_group_tests(tests, make_room_for_details, NULL);
}
