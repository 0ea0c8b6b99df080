/* SPDX-License-Identifier: BSD-3-Clause */
/* A receiver of messages may call the library: no message is sent while a lock is held. */
#include "scene.h"

#include <unistd.h>

#include "device/context.h"

#define MOST_SECONDS 300 /* a deadlock ends the test by a signal */

static struct {
    unsigned messages;
    unsigned refused;
    unsigned inside;  /* calls of the receiver that have not ended */
    unsigned deepest;
    char first[200];
} heard;

/* Acts like a program that logs where its memory is. */
static void receive(shpool_level level, const char *text, void *user)
{
    shpool_device_allocator *shared;
    shpool_device_stats stats;
    shpool_context *context;
    void *ptr = NULL;

    (void)level;
    (void)user;
    heard.inside++;
    heard.deepest = (heard.inside > heard.deepest) ? heard.inside : heard.deepest;
    if (heard.messages++ == 0) {
        snprintf(heard.first, sizeof(heard.first), "%s", text);
    }
    heard.refused += (shpool_device_allocator_default(0, &shared) != SHPOOL_OK);
    heard.refused += (shpool_context_standard(0, &context) != SHPOOL_OK);
    if (allocator == NULL) {
        heard.inside--;
        return;
    }
    (void)shpool_device_get_stats(allocator, &stats);
    if (shpool_device_malloc(allocator, 5 * MIB, NULL, &ptr) == SHPOOL_OK) {
        (void)shpool_device_free(allocator, ptr, NULL);
    }
    (void)shpool_device_trim(allocator, 100 * MIB);
    (void)shpool_device_check(allocator);
    heard.inside--;
}

/* Everything that takes a lock, and some that fail on their own. */
static void work(shpool_stream a, shpool_stream b)
{
    void *ptr[6] = { NULL };
    void *none;

    for (unsigned i = 0; i < 6; i++) {
        shpool_stream s = (i % 2) ? a : b;

        if (shpool_device_malloc(allocator, (i % 3) ? 3 * MIB : 5000, s, &ptr[i]) != SHPOOL_OK) {
            assert_null(ptr[i]);
            continue;
        }
        (void)shpool_device_record_stream(allocator, ptr[i], SHPOOL_STREAM_PER_THREAD);
    }
    for (unsigned i = 0; i < 6; i++) {
        if (shpool_device_free(allocator, ptr[i], a) != SHPOOL_OK) {
            (void)shpool_device_free(allocator, ptr[i], a);
        }
        (void)shpool_device_free(allocator, ptr[i], b); /* twice */
    }
    (void)shpool_device_malloc(allocator, 2048 * MIB, a, &none);
    (void)shpool_device_stream_retire(allocator, b);
    (void)shpool_device_capture_end(allocator, 3, 4);
}

/* Calls of the driver fail: the first 16 each in turn, later ones with gaps, for time. */
static void run(const char *spec)
{
    int failed = 1;

    for (unsigned long n = 1; failed; n += 1 + n / 16) {
        shpool_device_allocator *mine;

        fake_start(1, 256 * MIB);
        fake_set_current(0);
        open_allocator(spec, 0, &allocator);
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        work(fake_stream(0, CU_STREAM_NON_BLOCKING), fake_stream(0, CU_STREAM_DEFAULT));
        failed = fake_failed();
        assert_string_equal("", fake_first_violation());
        fake_fail(0, CU_SUCCESS);
        mine = allocator;
        allocator = NULL;
        shpool_device_allocator_unref(mine);
        (void)fake_stop();
        assert_true(n < 20000);
    }
    assert_true(heard.messages > 0);
}

static int set_up(void **state)
{
    (void)clear_environment(state);
    memset(&heard, 0, sizeof(heard));
    shpool_set_message_handler(receive, NULL);
    alarm(MOST_SECONDS);
    return 0;
}

static int tear_down(void **state)
{
    alarm(0);
    shpool_set_message_handler(NULL, NULL);
    return 0;
}

UNIT_TEST_WITH(test_of_bins, set_up, tear_down)
{
    run("bins");
    run("bins:soft=1M");
}

UNIT_TEST_WITH(test_of_other_bases_and_layers, set_up, tear_down)
{
    run("buckets");
    run("async");
    run("lock|fault:every=3|bins");
    run("guard|simple");
}

/* The lock of the shared ones, and of standard contexts. */
UNIT_TEST_WITH(test_of_what_is_shared, set_up, tear_down)
{
    shpool_device_allocator *shared;
    shpool_context *context;

    fake_start(1, 256 * MIB);
    fake_set_current(0);
    setenv("SHPOOL_DEVICE_ALLOCATOR", "nonsense", 1);
    shpool_config_reload();
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_allocator_default(0, &shared));
    assert_int_equal(1, heard.messages);
    assert_int_equal(1, heard.refused);
    for (unsigned long n = 1; n < 60; n++) {
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        (void)shpool_context_standard(0, &context);
        fake_fail(0, CU_SUCCESS);
        shpool_contexts_reset();
    }
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_context_standard(7, &context));
    assert_true(heard.messages > 5);
    (void)fake_stop();
}

/* Several messages wait for one lock: they arrive one after another, and messages that the receiver
 * itself causes do not arrive. */
UNIT_TEST_WITH(test_one_after_another, set_up, tear_down)
{
    shpool_device_allocator *shared;

    fake_start(1, 256 * MIB);
    fake_set_current(0);
    setenv("SHPOOL_DEVICE_ALLOCATOR", "nonsense", 1);
    setenv("SHPOOL_FOO", "1", 1);
    setenv("SHPOOL_BAR", "1", 1);
    shpool_config_reload();
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_allocator_default(0, &shared));
    assert_int_equal(1, heard.deepest);
    assert_int_equal(3, heard.messages);
    unsetenv("SHPOOL_FOO");
    unsetenv("SHPOOL_BAR");
    (void)fake_stop();
}

/* The receiver's own failures do not replace the detail of the call that the message is about. */
UNIT_TEST_WITH(test_the_detail_stays, set_up, tear_down)
{
    void *ptr;

    begin("lock|bins");
    setenv("SHPOOL_DEVICE_ALLOCATOR", "nonsense", 1);
    shpool_config_reload();
    ptr = get(allocator, 1000, NULL);
    put(allocator, ptr, NULL);
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr, NULL));
    assert_detail("is already free");
    assert_non_null(strstr(heard.first, "is already free"));
    assert_int_equal(1, heard.refused);
    end();
}
