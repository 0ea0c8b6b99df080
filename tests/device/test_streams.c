/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocators' knowledge of streams: lanes of short-lived streams, per-thread streams. */
#include "scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "device/bins/bins.h"
#include "device/stack.h"

static shpool_timelines *lanes_of_bins(void)
{
    return &((bins_self *)allocator->self)->lanes;
}

/* Handles come again, as the driver's do: the number of a stream tells that it is another one. */
TEST_ON_BOTH(test_streams_that_nobody_retired_leave_no_lanes)
{
    begin("bins");
    play("pair:4K@0 200*{ a=4K@6 use:a@6 free:a@6 done destroy:6 } driver_bytes<=2M");
    assert_true(atomic_load(&lanes_of_bins()->count) <= 4);
    end();
}

/* The last use by a stream that was only recorded has no event: its lane waits for the last
 * resort.  It is destroyed against the contract, and another one has its handle. */
TEST_ON_BOTH(test_a_named_stream_that_nobody_retired_is_not_taken_for_finished)
{
    begin("bins:soft=0");
    play("a=20M@1 name:a@6 use:a@6 destroy:6 pair:256@6 free:a@1 b=20M@1 use:b@1");
    end();
}

TEST_ON_BOTH(test_what_is_known_to_be_stable_is_not_looked_up_anew)
{
    shpool_timeline *t;
    uint64_t incarnation;

    begin("bins");
    assert_ok(shpool_timeline_lock(lanes_of_bins(), stream_of('1'), &t));
    incarnation = t->incarnation;
    shpool_spin_unlock(&t->lock);
    play("stable:1"); /* the hooks say so very often */
    assert_int_equal(incarnation, t->incarnation);
    end();
}

/* ---- a thread's own default stream, whose handle means another stream in other threads ---- */

static void *use_on_its_own_stream(void *ptr)
{
    fake_set_current(0);
    if (shpool_device_record_stream(allocator, ptr, SHPOOL_STREAM_PER_THREAD) != SHPOOL_OK) {
        return NULL;
    }
    fake_work(SHPOOL_STREAM_PER_THREAD, ptr, 4096);
    return ptr;
}

/* Block a is used by another thread on its own stream, and freed by this one. */
static void use_in_a_thread(const char *spec, const char *bytes)
{
    pthread_t thread;
    void *result;

    begin(spec);
    play("a=%s@1", bytes);
    assert_int_equal(0, pthread_create(&thread, NULL, use_on_its_own_stream, block("a")));
    pthread_join(thread, &result);
    assert_ptr_equal(block("a"), result);
    play("free:a@1 b=%s@1", bytes);
}

/* The same where memory is so short that a request waits for the block's users on the device. */
TEST_ON_BOTH(test_an_event_of_a_thread_is_recorded_by_it)
{
    use_in_a_thread("bins:hard=2M", "2M");
    play("b==a use:b@1 free:b@1");
    end();
}

TEST_ON_BOTH(test_a_thread_names_its_own_stream_and_another_frees)
{
    static const char *const specs[] = { "bins", "buckets", "async", "simple" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        use_in_a_thread(specs[i], "4K");
        play("use:b@1 free:b@1");
        end();
    }
}

/* ---- two threads wait for the device at the same time ---- */

static struct {
    atomic_int first_waits;  /* 1: for the device; 2: it has waited */
    atomic_int second_ready; /* it has freed, and is about to wait */
    atomic_int looked;       /* the first has seen which work is done */
} meeting;

static int second_syncs;

/* In the first call: later work is not waited for.  In the second: not finished yet. */
static void in_sync(void)
{
    if (atomic_exchange(&meeting.first_waits, 1) == 0) {
        while (!atomic_load(&meeting.second_ready)) {
            usleep(100);
        }
        usleep(20000); /* the second is at its snapshot by now, unless it has to wait for it */
    } else {
        while (!atomic_load(&meeting.looked)) {
            usleep(100);
        }
    }
}

static void *free_and_sync(void *timeline)
{
    shpool_timeline *t = timeline;

    fake_set_current(0);
    while (!atomic_load(&meeting.first_waits)) {
        usleep(100);
    }
    shpool_spin_lock(&t->lock);
    (void)shpool_timeline_mark(lanes_of_bins(), t);
    shpool_spin_unlock(&t->lock);
    atomic_store(&meeting.second_ready, 1);
    second_syncs = (shpool_timelines_sync(lanes_of_bins()) == SHPOOL_OK);
    return NULL;
}

TEST_ON_BOTH(test_a_wait_finishes_what_was_there_before_it_only)
{
    shpool_timeline *t;
    pthread_t thread;
    uint64_t before;

    begin("bins");
    memset(&meeting, 0, sizeof(meeting));
    assert_ok(shpool_timeline_lock(lanes_of_bins(), NULL, &t));
    before = shpool_timeline_mark(lanes_of_bins(), t);
    shpool_spin_unlock(&t->lock);
    fake.on_sync = in_sync;
    assert_int_equal(0, pthread_create(&thread, NULL, free_and_sync, t));
    assert_ok(shpool_timelines_sync(lanes_of_bins()));
    assert_true(shpool_timeline_is_done(t, before));
    assert_false(shpool_timeline_is_done(t, before + 1));
    atomic_store(&meeting.looked, 1);
    pthread_join(thread, NULL);
    assert_true(second_syncs);
    assert_true(shpool_timeline_is_done(t, before + 1));
    fake.on_sync = NULL;
    end();
}
