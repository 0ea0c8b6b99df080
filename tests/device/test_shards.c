/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: threads that use one stream at the same time get lanes of their own, whose
 * memory is one stream's. */
#include "scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "device/bins/bins.h"
#include "device/stack.h"

static bins_self *bins;
static shpool_stream stream; /* of all threads */

static void begin_lanes(const char *spec)
{
    begin(spec);
    bins = allocator->self;
    stream = stream_of('1');
}

static void *take(size_t bytes)
{
    void *ptr = NULL;

    if (shpool_device_malloc(allocator, bytes, stream, &ptr) == SHPOOL_OK) {
        fake_work(stream, ptr, (bytes < 4096) ? bytes : 4096);
    }
    return ptr;
}

static int give(void *ptr)
{
    return shpool_device_free(allocator, ptr, stream) == SHPOOL_OK;
}

/* As if this thread had often found the lock of the stream's lane taken. */
static void crowd(void)
{
    shpool_timeline_seen *seen = shpool_timeline_slot(&bins->lanes, stream);

    seen->taken = SHPOOL_TIMELINE_PATIENCE;
    shpool_timeline_crowded(&bins->lanes, seen);
}

static unsigned lanes(void)
{
    unsigned count = 0;

    for (bins_lane *lane = bins_first_lane(bins); lane != NULL; lane = bins_next_lane(lane)) {
        count++;
    }
    return count;
}

/* ---- one other thread ---- */

typedef struct order {
    void *free_first; /* or NULL */
    size_t bytes;     /* to be allocated, or 0 */
    void *ptr;
    int freed;        /* 1: and freed again */
} order;

static void *other(void *argument)
{
    order *o = argument;

    fake_set_current(0);
    if (shpool_thread_number() % SHPOOL_TIMELINE_SHARDS == 0) {
        return NULL; /* its shard is the first lane: another thread's turn */
    }
    (void)shpool_device_stream_stable(allocator, stream); /* this thread knows it now */
    crowd();
    if (o->free_first != NULL) {
        (void)give(o->free_first);
    }
    o->ptr = (o->bytes > 0) ? take(o->bytes) : NULL;
    o->freed = (o->ptr != NULL) && o->freed && give(o->ptr);
    return o;
}

/* Runs it in a thread, until one has a shard of its own. */
static void let_thread(void *(*body)(void *), void *argument)
{
    void *done = NULL;

    while (done == NULL) {
        pthread_t thread;

        assert_int_equal(0, pthread_create(&thread, NULL, body, argument));
        pthread_join(thread, &done);
    }
}

static void let_other(order *o)
{
    let_thread(other, o);
}

/* ---- what is the stream's stays the stream's ---- */

UNIT_TEST(test_a_crowded_thread_gets_a_lane)
{
    order o = { .bytes = 5000, .freed = 1 };

    begin_lanes("bins");
    assert_int_equal(1, lanes());
    let_other(&o);
    assert_int_equal(2, lanes());
    assert_int_equal(1, o.freed);
    end();
}

/* Now and then two threads meet at a lock: that is no crowd. */
static void *meet_rarely(void *often)
{
    shpool_timeline_seen *seen = shpool_timeline_slot(&bins->lanes, stream);

    fake_set_current(0);
    (void)shpool_device_stream_stable(allocator, stream);
    for (unsigned i = 0; i < 2 * SHPOOL_TIMELINE_PATIENCE; i++) {
        shpool_timeline_met(seen);
        shpool_timeline_crowded(&bins->lanes, seen);
        for (unsigned j = 0; (often == NULL) && (j <= SHPOOL_TIMELINE_WINDOW); j++) {
            (void)give(take(100));
        }
    }
    return NULL;
}

UNIT_TEST(test_threads_that_rarely_meet_share_a_lane)
{
    int often;

    for (often = 0; often < 2; often++) {
        begin_lanes("bins");
        for (int i = 0; i < 2; i++) { /* one of them has a number of its own */
            pthread_t thread;

            assert_int_equal(0, pthread_create(&thread, NULL, meet_rarely,
                                               often ? &often : NULL));
            pthread_join(thread, NULL);
        }
        assert_int_equal(often, lanes() > 1);
        end();
    }
}

/* No work has finished: only the same stream may have the memory, and does, without the driver. */
UNIT_TEST(test_memory_goes_from_one_lane_to_the_other)
{
    static const size_t sizes[] = { 5000, 3u << 20 };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(sizes); i++) {
        order o = { .bytes = sizes[i], .freed = 1 };
        void *ptr;

        begin_lanes("bins");
        assert_true(give(take(100))); /* this thread asks the driver about the stream once */
        let_other(&o);
        fake_forget_calls();
        ptr = take(sizes[i]);
        assert_ptr_equal(ptr, o.ptr);
        assert_int_equal(0, fake_all_calls());
        assert_true(give(ptr));
        o.freed = 1;
        let_other(&o);
        assert_ptr_equal(ptr, o.ptr);
        assert_int_equal(0, fake_all_calls());
        assert_int_equal(0, stats_of(allocator).live_bytes);
        end();
    }
}

/* A block of another size is found in the other lane, too. */
UNIT_TEST(test_other_lanes_are_flushed)
{
    order o = { .bytes = 5u << 20, .freed = 1 };
    uint64_t held;
    void *ptr;

    begin_lanes("bins");
    let_other(&o);
    held = stats_of(allocator).driver_bytes;
    ptr = take(4u << 20);
    assert_ptr_equal(o.ptr, ptr);
    assert_int_equal(held, stats_of(allocator).driver_bytes);
    assert_true(give(ptr));
    end();
}

/* ---- neighbours ---- */

#define NEIGHBOURS 256u

static void *neighbour[NEIGHBOURS];

/* Frees every second one on its own lane. */
static void *free_half(void *freed)
{
    fake_set_current(0);
    if (shpool_thread_number() % SHPOOL_TIMELINE_SHARDS == 0) {
        return NULL;
    }
    (void)shpool_device_stream_stable(allocator, stream);
    crowd();
    for (unsigned i = 1; i < NEIGHBOURS; i += 2) {
        (void)((neighbour[i] != NULL) ? give(neighbour[i]) : 0);
    }
    return freed;
}

/* Neighbours that two threads have freed on one stream are one block for its next request, although
 * the GPU has not reached the frees; another stream gets nothing of them. */
UNIT_TEST(test_neighbours_of_two_lanes_merge)
{
    static const struct { size_t bytes; unsigned count; size_t then; unsigned thens; } plan[] = {
        { 65536, NEIGHBOURS, 983040, 16 }, { 3u << 20, 12, 15u << 20, 2 },
    };

    for (size_t k = 0; k < SHPOOL_ARRAY_COUNT(plan); k++) {
        uint64_t held;

        begin_lanes("bins:reuse=done");
        memset(neighbour, 0, sizeof(neighbour));
        for (unsigned i = 0; i < plan[k].count; i++) {
            neighbour[i] = take(plan[k].bytes);
        }
        for (unsigned i = 0; i < plan[k].count; i += 2) {
            assert_true(give(neighbour[i]));
        }
        let_thread(free_half, neighbour);
        held = stats_of(allocator).driver_bytes;
        play("forget a0-%u=%zu@1 calls=0 driver_bytes=%zu check free:a0-%u@1 b=%zu@2 use:b@2 "
             "driver_bytes>=%zu free:b@2", plan[k].thens - 1, plan[k].then, (size_t)held,
             plan[k].thens - 1, plan[k].then, (size_t)held + 1);
        end();
    }
}

/* Memory that another thread freed on the stream comes before that of the stream that gave some. */
UNIT_TEST(test_own_memory_of_another_lane_comes_first)
{
    order o = { .bytes = 24u << 20 };
    void *own;

    begin_lanes("bins");
    let_other(&o);
    play("a0-1=20M@2 free:a0@2 done b=20M@1 hits_done=1 free:a1@2"); /* it gives */
    own = o.ptr;
    o = (order){ .free_first = own };
    let_other(&o);
    play("done c=20M@1");
    assert_ptr_equal(own, block("c"));
    play("free:c@1");
    end();
}

UNIT_TEST(test_other_streams_wait_for_all_lanes)
{
    order o = { .bytes = 5000, .freed = 1 };

    begin_lanes("bins:reuse=done");
    let_other(&o);
    play("a=5000@2");
    assert_true(block("a") != o.ptr); /* it is in use */
    play("free:a@2 done a=5000@2 use:a@2 free:a@2");
    end();
}

/* The lanes of a stream that is destroyed serve another one only after their work. */
UNIT_TEST(test_lanes_of_a_retired_stream)
{
    order o = { .bytes = 5000, .freed = 1 };
    unsigned before;
    void *ptr;

    begin_lanes("bins");
    let_other(&o);
    before = lanes();
    for (int i = 0; i < 2; i++) {
        assert_ok(shpool_device_stream_retire(allocator, stream));
        fake_stream_destroy(stream);
        (void)((i == 1) ? fake_finish_all() : (void)0);
        stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
        assert_ok(shpool_device_stream_stable(allocator, stream));
        ptr = take(5000);
        if (i == 0) {
            assert_true(ptr != o.ptr);
            assert_int_equal(before + 1, lanes());
        }
        assert_true(give(ptr));
        let_other(&o);
    }
    assert_int_equal(0, stats_of(allocator).live_bytes);
    end();
}

static struct {
    atomic_int seen;  /* the stream is known to the thread */
    atomic_int held;  /* another one holds the lanes */
    atomic_int done;  /* the stream is stable */
} meeting;

static void *say_stable(void *unused)
{
    (void)unused;
    fake_set_current(0);
    (void)give(take(100));
    atomic_store(&meeting.seen, 1);
    while (!atomic_load(&meeting.held)) {
        usleep(100);
    }
    atomic_store(&meeting.done, shpool_device_stream_stable(allocator, stream) == SHPOOL_OK);
    return NULL;
}

/* As stats does: all lanes, newest first; 0: one of them is not to be had. */
static int hold_all_lanes(void)
{
    bins_lane *lane = bins_first_lane(bins);
    int tries = 0;

    shpool_mutex_lock(&bins->lanes.lock);
    while ((lane != NULL) && (tries < 2000)) {
        if (shpool_spin_try(&lane->timeline.lock)) {
            lane = bins_next_lane(lane);
            atomic_store(&meeting.held, 1); /* the newest is a shard */
            usleep(50000);                  /* the other thread is at a lock by now */
        } else {
            tries++;
            usleep(1000);
        }
    }
    for (bins_lane *l = bins_first_lane(bins); l != lane; l = bins_next_lane(l)) {
        shpool_spin_unlock(&l->timeline.lock);
    }
    shpool_mutex_unlock(&bins->lanes.lock);
    return lane == NULL;
}

/* A stream that is not stable has the lanes of one that was: when it becomes stable while stats
 * locks all of them, neither thread waits for the other one. */
UNIT_TEST(test_a_stream_becomes_stable_while_all_lanes_are_locked)
{
    order o = { .bytes = 5000, .freed = 1 };
    pthread_t thread;
    int held;

    begin_lanes("bins");
    memset(&meeting, 0, sizeof(meeting));
    let_other(&o);
    assert_ok(shpool_device_stream_retire(allocator, stream));
    fake_stream_destroy(stream);
    fake_finish_all();
    stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_int_equal(0, pthread_create(&thread, NULL, say_stable, NULL));
    while (!atomic_load(&meeting.seen)) {
        usleep(100);
    }
    assert_int_equal(2, lanes());
    held = hold_all_lanes();
    pthread_join(thread, NULL);
    assert_int_equal(1, held);
    assert_int_equal(1, atomic_load(&meeting.done));
    for (bins_lane *l = bins_first_lane(bins); l != NULL; l = bins_next_lane(l)) {
        assert_int_equal(1, l->timeline.stable);
    }
    end();
}

UNIT_TEST(test_trim_and_capacity_reach_all_lanes)
{
    order o = { .bytes = 3u << 20, .freed = 1 };

    begin_lanes("bins");
    let_other(&o);
    fake_finish_all();
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    end();
    begin_lanes("bins:capacity=1M");
    let_other(&o);
    fake_finish_all();
    let_other(&o);
    assert_true(stats_of(allocator).driver_bytes <= 4u << 20);
    end();
}
