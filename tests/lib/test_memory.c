/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each allocation of host memory fails in turn, alone or with all later ones: a call then succeeds
 * or reports it, leaves nothing half done, does not leak memory or files, and works again.
 */
#include "cache_trial.h"
#include "plugin_trial.h"
#include "tests/faults.h"

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

    if (!fault_fine((pthread_create(&thread, NULL, fail_once, &status) == 0)
                        ? SHPOOL_OK : SHPOOL_ERR_SYSTEM)) {
        return;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, SHPOOL_ERR_INVALID);
    /* it is noted twice, before and after the message */
    if (fault_fine((detail[0] != '\0') ? SHPOOL_OK : SHPOOL_ERR_NO_MEMORY)) {
        assert_non_null(strstr(detail, "is NULL"));
    }
}

/* ---- links ---- */

static void link_three(void)
{
    static const char *const texts[] = { "kernel 1", "kernel 2", "kernel 1" };

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(texts); i++) {
        void *cubin = &cubin;
        size_t bytes = 1;
        shpool_status status = shpool_link(texts[i], strlen(texts[i]), "c_one", 90, &cubin, &bytes);

        if (!fault_fine(status)) {
            assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_LINK));
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
    fault_in_peace(link_as_ever);
}

static void empty_cache(void)
{
    char command[3 * PATH_BYTES];

    shpool_memory_clear();
    snprintf(command, sizeof(command), "rm -f '%s'/*.shpool '%s'/.shpool*", folder, folder);
    assert_int_equal(system(command), 0);
}

static void link_badly(void)
{
    void *cubin;
    size_t bytes;

    fake.broken = "complete";
    /* the first allocation is for the text; the others are for the message */
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes),
                     (fault.at == 1) ? SHPOOL_ERR_NO_MEMORY : SHPOOL_ERR_LINK);
    fake.broken = NULL;
}

/* ---- pools on the executor ---- */

static void open_and_close(void)
{
    shpool_config want = { .block_threads = 32, .payload_bytes = 1024 };
    char spec[3 * PATH_BYTES];
    shpool_report_data report;
    shpool_pool pool;
    shpool_status status;

    snprintf(spec, sizeof(spec), fault.spec, folder);
    memset(&pool, 0xff, sizeof(pool));
    status = shpool_simt_open(spec, &want, &pool);
    if (status == SHPOOL_OK) {
        (void)shpool_simt_report(&pool, &report);
        status = shpool_simt_close(&pool);
    }
    assert_true(is_zeroed(&pool, sizeof(pool)));
    if (!fault_fine(status)) { /* SHPOOL_ERR_SYSTEM: fdopen() */
        assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_SYSTEM));
    }
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

    if (!fault_fine(shpool_allocator_find("trial_a", &found))) {
        assert_null(found);
    }
    fault_in_peace(find_a);
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
    (void)fault_fine((shpool_allocator_count() > trial_builtins) ? SHPOOL_OK
                                                                 : SHPOOL_ERR_NO_MEMORY);
    (void)shpool_allocator_get(trial_builtins);
    shpool_registry_reset();
    (void)shpool_link_code("trial_a", 90, &blobs[0], &blobs[1]); /* it has none */
    assert_null(blobs[0]);
    shpool_registry_reset();
    (void)shpool_advise(&pool, &report, &arch, 0, &advice);
    fault_in_peace(find_a);
    assert_int_equal(shpool_allocator_count(), trial_builtins + 1);
}

/* An allocator of the program's own, before plugins have been looked for. */
static void register_while_it_fails(void)
{
    static shpool_allocator own;
    const shpool_allocator *found;

    own = fake_allocator("trial_own", SHPOOL_SCOPE_BLOCK, 0);
    if (!fault_fine(shpool_register(&own))) {
        fault.armed = 0;
        assert_int_equal(shpool_register(&own), SHPOOL_OK);
    }
    fault_in_peace(find_a);
    assert_int_equal(shpool_allocator_find("trial_own", &found), SHPOOL_OK);
    assert_ptr_equal(found, &own);
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
    (void)fault_fine((heard == 3) ? SHPOOL_OK : SHPOOL_ERR_NO_MEMORY);
    shpool_message(SHPOOL_LEVEL_WARN, "one more");
    assert_in_range(heard, 1, 4);
}

/* ---- the sweeps ---- */

static void nothing(void)
{
}

#define SCENE(_act, _reset, _spec, _least) { #_act, _spec, _least, 0, _reset, _act, _reset }

UNIT_TEST_WITH(test_calls, set_up, tear_down)
{
    static const fault_scene scenes[] = {
        SCENE(fail_in_a_thread, nothing, "", 1),
        SCENE(link_all, empty_cache, "", 12),
        SCENE(link_badly, shpool_memory_clear, "", 2),
        SCENE(open_and_close, nothing, SHPOOL_DEFAULT_ALLOCATOR, 0),
        SCENE(open_and_close, nothing, SHPOOL_DEFAULT_ALLOCATOR ":stats=1,check=1,spill=arena", 1),
        SCENE(open_and_close, nothing, SHPOOL_DEFAULT_ALLOCATOR ":trace=%s/t,trace_bytes=4K", 4),
        SCENE(send_three, nothing, "", 3),
    };

    use_folder();
    shpool_set_message_handler(count_messages, NULL);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(scenes); i++) {
        fault_sweep(&scenes[i]);
    }
}

UNIT_TEST_WITH(test_calls_that_look_for_plugins, trial_set_up, trial_tear_down)
{
    static const fault_scene scenes[] = {
        SCENE(find_while_it_fails, shpool_registry_reset, "", 3),
        SCENE(ask_while_it_fails, shpool_registry_reset, "", 6),
        SCENE(register_while_it_fails, shpool_registry_reset, "", 3),
    };

    trial_compile("a.so", "trial_a", "");
    trial_use(trial_folder);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(scenes); i++) {
        fault_sweep(&scenes[i]);
    }
}

UNIT_GROUP(set_up_group, NULL)
