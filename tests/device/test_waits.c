/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: when and how long the host waits for the GPU, and when it creates memory
 * instead of moving some. */
#include "scene.h"

#include "device/bins/bins.h"
#include "device/stack.h"

static bins_self *bins;

/* One block was freed, and its stream stands still. */
static void begin_waiting(const char *spec)
{
    begin(spec);
    bins = allocator->self;
    play("a=3M@1 use:a@1 free:a@1");
}

static int wait_once(void)
{
    int done;

    shpool_mutex_lock(&bins->lock);
    done = bins_wait(bins, bins_first_lane(bins));
    shpool_mutex_unlock(&bins->lock);
    return done;
}

UNIT_TEST(test_a_wait_ends_when_the_free_is_done)
{
    begin_waiting("bins:wait=1000000");
    fake_lag(1000);
    assert_int_equal(1, wait_once());
    play("event_query>=1");
    end();
}

/* A stream that stands still costs the sum of all waits once, and then nothing. */
UNIT_TEST(test_all_waits_have_a_sum)
{
    unsigned waits = 0;
    uint64_t before;

    begin_waiting("bins:wait=100");
    do {
        before = bins->waits.waited_ns;
        assert_int_equal(0, wait_once());
        waits++;
    } while ((bins->waits.waited_ns > before) && (waits < 1000));
    assert_true(waits < 1000);
    bins->waits.waited_ns = UINT64_MAX / 2;
    play("forget");
    assert_int_equal(0, wait_once());
    play("event_query=0");
    end();
}

UNIT_TEST(test_zero_never_waits)
{
    begin_waiting("bins:wait=0");
    fake_lag(1000);
    assert_int_equal(0, wait_once());
    play("event_query=0");
    end();
}

/* Requests of 1,000 MiB, after those for 2,000 MiB of which half is idle, in pieces that do not
 * serve them: memory moves as soon as the reserved bytes exceed the peak by a part in 22.  The
 * requests are less than the part of the live bytes for windows. */
UNIT_TEST(test_memory_moves_above_the_peak)
{
    begin_on((size_t)8 << 30, "bins:granules=0");
    play("a0-99=20M@0 free:a0-98/2@0 b0-24=40M@0 driver_bytes>=2080M driver_bytes<=2110M");
    end();
}

/* A program that never repeats its requests has many places soon; before some are unmapped for
 * others, the host waits for the GPU.  Each of 24 blocks grows in its own rhythm, then starts
 * anew. */
UNIT_TEST(test_it_waits_for_addresses)
{
    unsigned mib[24] = { 0 };

    begin_waiting("bins:wait=1000");
    fake_lag(1000);
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 24; i++) {
            const unsigned next = mib[i] + 1 + i % 3;

            mib[i] = ((round == 0) || (next > 14)) ? 1 + i % 5 : next;
            play("%c%u=%uM@1 use:%c%u@1", 'a' + (int)(round % 2), i, mib[i], 'a' + (int)(round % 2),
                 i);
            if (round > 0) {
                play("free:%c%u@1", 'b' - (int)(round % 2), i);
            }
        }
    }
    assert_true(bins->waits.waited_ns > 0);
    end();
}

/* It does not wait for what cannot save more than a call: where places are many, a request of one
 * or two new granules is served at once. */
UNIT_TEST(test_it_does_not_wait_to_save_a_call)
{
    static const struct { const char *request; int waits; } plan[] = {
        { "b=2M@1", 0 }, { "b=4M@1", 0 }, { "b=6M@1", 1 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(plan); i++) {
        bins_slab *slab;

        begin("bins:wait=1000");
        bins = allocator->self;
        play("a=4M@1 use:a@1");
        slab = bins->heap[BINS_LARGE].slabs;
        slab->maps += 100;
        play("%s", plan[i].request);
        assert_int_equal(plan[i].waits, bins->waits.since_ns != 0);
        slab->maps -= 100;
        play("free:a@1 free:b@1");
        end();
    }
}

/* After trim no place is mapped any more: new memory needs no wait. */
UNIT_TEST(test_no_wait_after_trim)
{
    begin_waiting("bins:wait=1000");
    play("pair:100M@1 trim:0 driver_bytes=0 a=3M@1");
    assert_true(bins->waits.since_ns == 0);
    play("free:a@1");
    end();
}
