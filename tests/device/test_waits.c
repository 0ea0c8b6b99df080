/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: when and how long the host waits for the GPU, and when it creates memory
 * instead of moving some. */
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

UNIT_TEST(test_a_wait_ends_when_the_free_is_done)
{
    begin("1000000");
    fake_lag(1000);
    assert_int_equal(1, wait_once());
    assert_true(fake_calls(FAKE_CALL_event_query) > 0);
    end();
}

/* A stream that stands still costs the sum of all waits once, and then nothing. */
UNIT_TEST(test_all_waits_have_a_sum)
{
    unsigned waits = 0;
    uint64_t before;

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

UNIT_TEST(test_zero_never_waits)
{
    begin("0");
    fake_lag(1000);
    assert_int_equal(0, wait_once());
    assert_int_equal(0, fake_calls(FAKE_CALL_event_query));
    end();
}

/* Reserved MiB after requests of 1,000 MiB, for 2,000 MiB of which half is idle, in pieces that do
 * not serve them. */
static unsigned reserved_mib(uint64_t moved_bytes)
{
    shpool_device_setup setup = { .bytes = sizeof(setup), .device = 0, .provider = base };
    void *block[100];
    void *self;
    unsigned mib;

    fake_start(1, (uint64_t)8 << 30);
    fake_set_current(0);
    assert_ok(base->create(&setup, &self));
    bins = self;
    for (unsigned i = 0; i < 100; i++) {
        assert_ok(base->malloc(bins, (size_t)20 << 20, NULL, &block[i]));
    }
    for (unsigned i = 0; i < 100; i += 2) {
        assert_ok(base->free(bins, block[i], NULL));
    }
    bins->moved_bytes = moved_bytes;
    for (unsigned i = 0; i < 25; i++) { /* less than the part of the live bytes for windows */
        assert_ok(base->malloc(bins, (size_t)40 << 20, NULL, &block[0]));
    }
    mib = (unsigned)(bins->count.driver_bytes >> 20);
    assert_ok(base->check(bins));
    end();
    return mib;
}

/* A program that moves memory again and again reserves up to a tenth more than it uses. */
UNIT_TEST(test_moves_raise_the_limit_to_a_tenth)
{
    assert_in_range(reserved_mib(0), 2036, 2070);
    assert_in_range(reserved_mib((uint64_t)1 << 40), 2180, 2210);
}

/* A program that never repeats its requests has many places soon; before some are unmapped for
 * others, the host waits for the GPU. */
UNIT_TEST(test_it_waits_for_addresses)
{
    void *block[24] = { NULL };
    size_t mib[24];

    begin("1000");
    fake_lag(1000);
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 24; i++) { /* grows in its own rhythm, then starts anew */
            void *old = block[i];

            mib[i] = ((old == NULL) || (mib[i] + 1 + i % 3 > 14)) ? 1 + i % 5 : mib[i] + 1 + i % 3;
            assert_ok(base->malloc(bins, mib[i] << 20, stream, &block[i]));
            fake_work(stream, block[i], 4096);
            if (old != NULL) {
                assert_ok(base->free(bins, old, stream));
            }
        }
    }
    assert_true(bins->waits.waited_ns > 0);
    assert_ok(base->check(bins));
    end();
}

/* After trim no place is mapped any more: new memory needs no wait. */
UNIT_TEST(test_no_wait_after_trim)
{
    void *large;
    void *small;

    begin("1000");
    assert_ok(base->malloc(bins, 100u << 20, stream, &large));
    assert_ok(base->free(bins, large, stream));
    assert_ok(base->trim(bins, 0));
    assert_int_equal(0, bins->count.driver_bytes);
    assert_ok(base->malloc(bins, 3u << 20, stream, &small));
    assert_true(bins->waits.since_ns == 0);
    assert_ok(base->free(bins, small, stream));
    assert_ok(base->check(bins));
    end();
}
