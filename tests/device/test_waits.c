/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: how long the host waits for the GPU in all; test_ranges.c has when it does. */
#include "trial.h"

#include "device/bins/bins.h"

extern const shpool_device_provider shpool_device_provider_bins;

static const shpool_device_provider *const base = &shpool_device_provider_bins;
static bins_self *bins;
static bins_lane *lane;
static shpool_stream stream;

/* One block was freed, and its stream stands still. */
static void begin(const char *microseconds)
{
    shpool_device_setup setup = { .bytes = sizeof(setup), .device = 0, .provider = base };
    void *self;
    void *ptr;

    fake_start(1, (uint64_t)1 << 30);
    fake_set_current(0);
    assert_ok(base->create(&setup, &self));
    bins = self;
    assert_ok(base->set(bins, "wait", microseconds));
    stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_ok(base->stream_stable(bins, stream));
    assert_ok(base->malloc(bins, 3u << 20, stream, &ptr));
    fake_work(stream, ptr, 4096);
    assert_ok(base->free(bins, ptr, stream));
    lane = bins_first_lane(bins);
}

static void end(void)
{
    base->destroy(bins);
    assert_int_equal(0, fake_stop().bytes);
    assert_string_equal("", fake_first_violation());
}

static int wait_once(void)
{
    int done;

    shpool_mutex_lock(&bins->lock);
    done = bins_wait(bins, lane);
    shpool_mutex_unlock(&bins->lock);
    return done;
}

static void test_a_wait_ends_when_the_free_is_done(void **state)
{
    (void)state;
    begin("1000000");
    fake_lag(1000);
    assert_int_equal(1, wait_once());
    assert_true(fake_calls(FAKE_CALL_event_query) > 0);
    end();
}

/* A stream that stands still costs the sum of all waits once, and then nothing. */
static void test_all_waits_have_a_sum(void **state)
{
    unsigned waits = 0;
    uint64_t before;

    (void)state;
    begin("100");
    do {
        before = bins->waits.waited_ns;
        assert_int_equal(0, wait_once());
        waits++;
    } while ((bins->waits.waited_ns > before) && (waits < 1000));
    assert_true(waits < 1000);
    bins->waits.waited_ns = UINT64_MAX / 2;
    before = fake_calls(FAKE_CALL_event_query);
    assert_int_equal(0, wait_once());
    assert_int_equal(before, fake_calls(FAKE_CALL_event_query));
    end();
}

static void test_zero_never_waits(void **state)
{
    (void)state;
    begin("0");
    fake_lag(1000);
    assert_int_equal(0, wait_once());
    assert_int_equal(0, fake_calls(FAKE_CALL_event_query));
    end();
}

int main(void)
{
#define TEST(_name) cmocka_unit_test_setup(_name, clear_environment)
    const struct CMUnitTest tests[] = {
        TEST(test_a_wait_ends_when_the_free_is_done),
        TEST(test_all_waits_have_a_sum),
        TEST(test_zero_never_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
