/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of the driver fails in turn: nothing is lost, nothing is out of order. */
#include "trial.h"

#define MIB ((size_t)1 << 20)

/* A program in small: two streams, a third that is named, sizes of both heaps, trim, a context.
 * It goes on without memory that it is refused. */
static void live(const char *spec)
{
    shpool_device_allocator *allocator = NULL;
    shpool_stream a = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_stream b = fake_stream(0, CU_STREAM_DEFAULT);
    void *ptr[12] = { NULL };

    if (shpool_device_allocator_open(spec, 0, &allocator) != SHPOOL_OK) {
        assert_null(allocator);
        assert_true(shpool_last_error()[0] != '\0');
        return;
    }
    (void)shpool_device_stream_stable(allocator, a);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            shpool_stream s = (i % 3 == 0) ? a : (i % 3 == 1) ? b : SHPOOL_STREAM_LEGACY;
            size_t bytes = (i % 6 == 3) ? 9 * MIB : 3000 * (i + 1);

            if (shpool_device_malloc(allocator, bytes, s, &ptr[i]) != SHPOOL_OK) {
                assert_null(ptr[i]);
                continue;
            }
            fake_work(s, ptr[i], bytes);
            if ((i % 5 == 0) &&
                (shpool_device_record_stream(allocator, ptr[i], SHPOOL_STREAM_PER_THREAD) !=
                 SHPOOL_OK)) {
                fake_finish_all();
            }
        }
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            shpool_stream s = (i % 3 == 0) ? a : (i % 3 == 1) ? b : SHPOOL_STREAM_LEGACY;

            if (shpool_device_free(allocator, ptr[i], s) != SHPOOL_OK) {
                assert_ok(shpool_device_free(allocator, ptr[i], s)); /* it was not lost */
            }
            ptr[i] = NULL;
        }
        (void)shpool_device_trim(allocator, 4 * MIB);
        if (round == 1) {
            (void)shpool_device_stream_retire(allocator, b);
            fake_finish_all();
        }
    }
    assert_ok(shpool_device_check(allocator));
    assert_int_equal(0, live_bytes(allocator));
    shpool_device_allocator_unref(allocator);
}

/* The number of objects held at the end that the failing call itself may account for. */
static void run(const char *spec, cu_result result)
{
    unsigned long n = 0;

    do {
        fake_held held;
        int failed;

        n++;
        fake_start(1, 48 * MIB);
        fake_set_current(0);
        fake_fail(n, result);
        live(spec);
        failed = fake_failed();
        held = fake_stop();
        assert_string_equal("", fake_first_violation());
        assert_int_equal(0, fake_current() > 0);
        if (!failed) {
            assert_true(n > 50);
            assert_int_equal(0, held.bytes);
            assert_int_equal(0, held.events);
            assert_int_equal(0, held.ranges);
            return;
        }
        /* a free that fails at the end, or its context, loses the object */
        assert_true(held.allocations <= 12);
        assert_true(n < 5000);
    } while (1);
}

static void test_every_call_of_bins_fails_in_turn(void **state)
{
    (void)state;
    run("bins:memory=driver", CU_ERROR_OUT_OF_MEMORY);
    run("bins:memory=driver,soft=16M", CU_ERROR_INVALID_VALUE);
    run("bins:memory=vmm,wait=0", CU_ERROR_OUT_OF_MEMORY);
    run("bins:memory=vmm,soft=16M,wait=0", CU_ERROR_INVALID_VALUE);
}

static void test_every_call_of_the_others_fails_in_turn(void **state)
{
    (void)state;
    run("buckets", CU_ERROR_OUT_OF_MEMORY);
    run("simple", CU_ERROR_OUT_OF_MEMORY);
    run("async", CU_ERROR_OUT_OF_MEMORY);
    run("stats|guard:poison=0|bins", CU_ERROR_OUT_OF_MEMORY);
}

static unsigned lost; /* by contexts, as they say */

static void receive(shpool_level level, const char *text, void *user)
{
    unsigned count = 0;

    (void)level;
    (void)user;
    (void)sscanf(text, "lost until the process ends, on device 0: %u parts", &count);
    lost += count;
}

static void test_every_call_of_a_context_fails_in_turn(void **state)
{
    (void)state;
    for (unsigned long n = 1;; n++) {
        shpool_context_options options = { .bytes = sizeof(options),
                                           .flags = SHPOOL_CONTEXT_NEW_STREAM };
        shpool_context *context = NULL;
        shpool_stream aux;
        double seconds;
        shpool_status status;
        fake_held held;
        int failed;

        lost = 0;
        shpool_set_message_handler(receive, NULL);
        fake_start(1, 48 * MIB);
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        status = shpool_context_create(&options, &context);
        if (status == SHPOOL_OK) {
            (void)shpool_context_aux_stream(context, &aux);
            (void)shpool_timer_start(context);
            (void)shpool_timer_split(context, &seconds);
            (void)shpool_context_sync(context);
            shpool_context_unref(context);
        } else {
            assert_null(context);
        }
        failed = fake_failed();
        held = fake_stop();
        assert_int_equal(lost, held.streams + held.events + held.host_allocations);
        assert_string_equal("", fake_first_violation());
        if (!failed) {
            assert_true(n > 15);
            break;
        }
    }
}

int main(void)
{
#define TEST(_name) cmocka_unit_test_setup(_name, clear_environment)
    const struct CMUnitTest tests[] = {
        TEST(test_every_call_of_bins_fails_in_turn),
        TEST(test_every_call_of_the_others_fails_in_turn),
        TEST(test_every_call_of_a_context_fails_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
