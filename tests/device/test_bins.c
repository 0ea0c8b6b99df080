/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: which memory is reused, when, and with how many driver calls. */
#include "base_trial.h"

#include "device/base/timeline.h"

TEST_ON_BOTH(test_warm_pairs_make_no_driver_call)
{
    static const size_t sizes[] = { 1, 256, 4096, 100000, MIB, 20 * MIB, 256 * MIB };
    shpool_stream streams[] = { NULL, SHPOOL_STREAM_LEGACY, SHPOOL_STREAM_PER_THREAD, NULL };

    begin("bins");
    streams[3] = stable_stream();
    for (size_t s = 0; s < SHPOOL_ARRAY_COUNT(streams); s++) {
        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(sizes); i++) {
            void *first = get(allocator, sizes[i], streams[s]);

            put(allocator, first, streams[s]);
            for (int warm = 0; warm < 70; warm++) { /* per-thread streams record a few first */
                put(allocator, get(allocator, sizes[i], streams[s]), streams[s]);
            }
            fake_forget_calls();
            assert_ptr_equal(first, get(allocator, sizes[i], streams[s]));
            put(allocator, first, streams[s]);
            assert_int_equal(0, fake_all_calls());
        }
        assert_ok(shpool_device_trim(allocator, 0));
    }
    end();
}

/* Calls of the driver since the last time: numbers of streams, whether they capture, changes of the
 * capture mode, whether streams are idle. */
static void assert_questions(unsigned ids, unsigned captures, unsigned modes, unsigned idle)
{
    assert_int_equal(ids, fake_calls(FAKE_CALL_stream_id));
    assert_int_equal(captures, fake_calls(FAKE_CALL_stream_capturing));
    assert_int_equal(modes, fake_calls(FAKE_CALL_capture_mode));
    assert_int_equal(idle, fake_calls(FAKE_CALL_stream_query));
    fake_forget_calls();
}

/* Whether a thread remembers both streams at a time: shpool_timeline_slot() of timeline.h. */
static int have_two_slots(shpool_stream a, shpool_stream b)
{
    uint64_t x = (uint64_t)(uintptr_t)a;
    uint64_t y = (uint64_t)(uintptr_t)b;

    return ((x ^ (x >> 4) ^ (x >> 10) ^ y ^ (y >> 4) ^ (y >> 10)) % SHPOOL_TIMELINE_SEEN) != 0;
}

/* The driver's id distinguishes a stream that may be destroyed from a later one: each malloc asks
 * once, and free does not.  The capture mode is changed once a call, and changed back. */
TEST_ON_BOTH(test_no_call_asks_the_driver_twice)
{
    shpool_stream s;
    shpool_stream other;
    void *ptr;

    begin("bins");
    do {
        s = fake_stream(0, CU_STREAM_NON_BLOCKING);
    } while (!have_two_slots(s, SHPOOL_STREAM_LEGACY));
    ptr = get(allocator, 4096, s);
    fake_forget_calls();
    (void)get(allocator, 3 * MIB, s); /* a miss: may it have new memory? */
    assert_questions(1, 2, 2, 0);
    put(allocator, ptr, s);
    assert_questions(0, 0, 0, 0);
    put(allocator, get(allocator, 4096, s), s);
    assert_questions(1, 1, 0, 0);
    ptr = get(allocator, 4096, NULL);
    fake_forget_calls();
    put(allocator, ptr, s); /* another stream's */
    assert_questions(0, 0, 0, 0);

    s = stable_stream();
    do {
        other = stable_stream();
    } while (!have_two_slots(s, other));
    put(allocator, get(allocator, 20 * MIB, s), s);
    put(allocator, get(allocator, 20 * MIB, other), other);
    fake_forget_calls();
    put(allocator, get(allocator, 20 * MIB, s), s);
    assert_questions(0, 1, 2, 1);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(2, fake_calls(FAKE_CALL_capture_mode));
    end();
}

TEST_ON_BOTH(test_sizes_are_rounded_by_a_sixteenth_at_most)
{
    begin("bins");
    for (size_t bytes = 1; bytes < 40 * MIB; bytes += bytes / 7 + 1) {
        void *ptr = get(allocator, bytes, NULL);
        uint64_t live = live_bytes(allocator);

        assert_true(live >= bytes);
        assert_true((live - bytes < 256) || (live - bytes <= bytes / 16));
        put(allocator, ptr, NULL);
        assert_int_equal(0, live_bytes(allocator));
    }
    end();
}

TEST_ON_BOTH(test_the_page_s_requests_of_nothing)
{
    void *ptr = &ptr;

    begin("bins");
    assert_ok(shpool_device_malloc(allocator, 0, NULL, &ptr)); /* D16 */
    assert_null(ptr);
    put(allocator, NULL, NULL);
    assert_non_null(get(allocator, 100, NULL));
    assert_int_equal(SHPOOL_ERR_TOO_LARGE, shpool_device_malloc(allocator, SIZE_MAX, NULL, &ptr));
    assert_null(ptr);
    assert_int_equal(SHPOOL_ERR_NO_MEMORY,
                     shpool_device_malloc(allocator, (size_t)1 << 45, NULL, &ptr));
    assert_detail("this allocator holds");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_malloc(NULL, 1, NULL, &ptr));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_malloc(allocator, 1, NULL, NULL));
    end();
}

TEST_ON_BOTH(test_bad_frees_are_refused)
{
    char *ptr;
    int local;

    begin("bins");
    ptr = get(allocator, 5000, NULL);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, &local, NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, ptr + 256, NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, ptr + 1, NULL));
    put(allocator, ptr, NULL);
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr, NULL)); /* D20 */
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE,
                     shpool_device_free(allocator, ptr, stable_stream()));
    assert_int_equal(0, fake_calls(FAKE_CALL_memory_free));
    assert_ok(shpool_device_check(allocator));
    assert_int_equal(SHPOOL_ERR_INVALID,
                     shpool_device_record_stream(allocator, ptr, SHPOOL_STREAM_LEGACY));
    end();
}

TEST_ON_BOTH(test_another_stream_gets_it_when_it_has_finished)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;

    begin("bins");
    a = stable_stream();
    b = stable_stream();
    ptr = get(allocator, 20 * MIB, a);
    fake_work(a, ptr, 20 * MIB);
    put(allocator, ptr, a);
    assert_int_equal(0, fake_calls(FAKE_CALL_event_record)); /* lazy */
    fake_finish_all();
    fake_forget_calls();
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, b));
    fake_work(b, ptr, 20 * MIB);
    assert_int_equal(1, fake_calls(FAKE_CALL_stream_query));
    assert_int_equal(0, fake_calls(FAKE_CALL_event_record));
    assert_int_equal(0, fake_calls(FAKE_CALL_stream_wait));
    assert_int_equal(1, stats_of(allocator).hits_done);
    put(allocator, ptr, b);
    end();
}

/* The stream that gave a block is asked first for the next one, which must have finished, too. */
TEST_ON_BOTH(test_the_next_block_of_another_stream)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;
    void *other;

    begin("bins");
    a = stable_stream();
    b = stable_stream();
    ptr = get(allocator, 20 * MIB, a);
    for (unsigned i = 0; i < 3; i++) {
        fake_work(a, ptr, 20 * MIB);
        put(allocator, ptr, a);
        fake_finish_all();
        fake_forget_calls();
        assert_ptr_equal(ptr, get(allocator, 20 * MIB, b));
        assert_int_equal(1, fake_calls(FAKE_CALL_stream_query));
        assert_int_equal(1 + i, stats_of(allocator).hits_done);
        assert_int_equal(20 * MIB, live_bytes(allocator));
        assert_ok(shpool_device_check(allocator));
    }
    fake_work(a, ptr, 20 * MIB); /* which has no end now */
    put(allocator, ptr, a);
    other = get(allocator, 20 * MIB, b);
    fake_work(b, other, 20 * MIB);
    assert_ptr_not_equal(ptr, other);
    assert_int_equal(2, stats_of(allocator).misses);
    put(allocator, other, a); /* b frees nothing: a would be asked again */
    fake_finish_all();
    assert_non_null(get(allocator, 20 * MIB, b));
    assert_ok(shpool_device_set(allocator, "reuse", "same"));
    assert_non_null(get(allocator, 20 * MIB, b));
    assert_int_equal(3, stats_of(allocator).misses);
    end();
}

/* A stream with two blocks, the second one of 20 MiB, and one with a block of its own. */
typedef struct scene {
    shpool_stream a;
    shpool_stream b;
    void *ptr[2];
    void *own;
} scene;

static scene begin_scene(const char *spec, size_t bytes, size_t own_bytes)
{
    scene s;

    begin(spec);
    s.a = stable_stream();
    s.b = stable_stream();
    s.ptr[0] = get(allocator, bytes, s.a);
    s.ptr[1] = get(allocator, 20 * MIB, s.a);
    s.own = get(allocator, own_bytes, s.b);
    return s;
}

/* a gives its first block, which b's request of as many bytes gets at once. */
static void give_first(const scene *s, size_t bytes)
{
    put(allocator, s->ptr[0], s->a);
    assert_ptr_equal(s->ptr[0], get(allocator, bytes, s->b));
}

/* A stream is not asked first after a request that it did not serve: the requesting stream's own
 * block, which a third one was using, comes before. */
TEST_ON_BOTH(test_a_stream_that_had_nothing_is_not_asked_first)
{
    scene s = begin_scene("bins:reuse=done", 20 * MIB, 20 * MIB);
    shpool_stream user = stable_stream();

    assert_ok(shpool_device_record_stream(allocator, s.own, user));
    fake_work(user, s.own, 4096);
    put(allocator, s.own, s.b);
    give_first(&s, 20 * MIB);
    fake_work(s.a, s.ptr[1], 4096);
    put(allocator, s.ptr[1], s.a);
    assert_non_null(get(allocator, 20 * MIB, s.b)); /* new memory */
    fake_finish_all();
    assert_ptr_equal(s.own, get(allocator, 20 * MIB, s.b));
    end();
}

/* Its own memory still comes first, when another stream has just given some. */
TEST_ON_BOTH(test_own_memory_comes_before_another_stream_s)
{
    scene s = begin_scene("bins", 20 * MIB, 24 * MIB);

    give_first(&s, 20 * MIB);
    put(allocator, s.ptr[1], s.a);
    put(allocator, s.own, s.b);
    assert_ptr_equal(s.own, get(allocator, 20 * MIB, s.b));
    put(allocator, s.own, s.b);
    put(allocator, s.ptr[0], s.b);
    end();

    s = begin_scene("bins", 40 * MIB, 24 * MIB); /* and also for a request of another size */
    put(allocator, s.ptr[0], s.a);
    put(allocator, s.ptr[1], s.a);
    put(allocator, s.own, s.b);
    assert_ptr_equal(s.ptr[0], get(allocator, 40 * MIB, s.b));
    assert_ptr_equal(s.own, get(allocator, 20 * MIB, s.b));
    put(allocator, s.own, s.b);
    put(allocator, s.ptr[0], s.b);
    end();
}

/* The same for a block that a third stream has used. */
TEST_ON_BOTH(test_a_used_block_of_its_own_comes_first)
{
    scene s = begin_scene("bins", 20 * MIB, 24 * MIB);

    assert_ok(shpool_device_record_stream(allocator, s.own, stable_stream()));
    give_first(&s, 20 * MIB);
    put(allocator, s.ptr[1], s.a);
    put(allocator, s.own, s.b);
    fake_finish_all();
    assert_ptr_equal(s.own, get(allocator, 20 * MIB, s.b));
    end();
}

TEST_ON_BOTH(test_new_memory_comes_before_a_wait_and_a_wait_before_failure)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;
    void *other;

    begin("bins");
    a = stable_stream();
    b = stable_stream();
    ptr = get(allocator, 20 * MIB, a);
    fake_work(a, ptr, 20 * MIB);
    put(allocator, ptr, a);
    other = get(allocator, 20 * MIB, b); /* a is not done */
    assert_ptr_not_equal(ptr, other);
    fake_limit(0, 40 * MIB);
    put(allocator, other, b);
    assert_ptr_equal(other, get(allocator, 20 * MIB, b));
    fake_forget_calls();
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, b));
    assert_int_equal(1, fake_calls(FAKE_CALL_stream_wait));
    assert_int_equal(0, fake_calls(FAKE_CALL_memory_free));
    assert_int_equal(1, stats_of(allocator).hits_wait);
    fake_work(b, ptr, 20 * MIB); /* a missing wait is a violation */
    put(allocator, ptr, b);
    put(allocator, other, b);
    end();
}

TEST_ON_BOTH(test_soft_makes_streams_wait_earlier)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;

    begin("bins:soft=24M");
    a = stable_stream();
    b = stable_stream();
    ptr = get(allocator, 20 * MIB, a);
    fake_work(a, ptr, 20 * MIB);
    put(allocator, ptr, a);
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, b));
    fake_work(b, ptr, 20 * MIB);
    put(allocator, ptr, b);
    end();
}

TEST_ON_BOTH(test_reuse_same_never_shares)
{
    shpool_stream b;
    void *ptr;

    begin("bins:reuse=same");
    b = stable_stream();
    ptr = get(allocator, 20 * MIB, NULL);
    put(allocator, ptr, NULL);
    fake_finish_all();
    assert_ptr_not_equal(ptr, get(allocator, 20 * MIB, b));
    end();
}

TEST_ON_BOTH(test_named_streams_are_waited_for)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;
    void *other;

    begin("bins");
    a = stable_stream();
    b = stable_stream();
    ptr = get(allocator, 20 * MIB, a);
    fake_work(b, ptr, 20 * MIB);
    assert_ok(shpool_device_record_stream(allocator, ptr, b));
    assert_ok(shpool_device_record_stream(allocator, ptr, b));
    put(allocator, ptr, a);
    assert_true(stats_of(allocator).pending_bytes >= 20 * MIB);
    other = get(allocator, 20 * MIB, a);
    assert_ptr_not_equal(ptr, other);
    fake_finish(b);
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, a));
    fake_work(a, ptr, 20 * MIB);
    put(allocator, ptr, a);
    put(allocator, other, a);
    end();
}

TEST_ON_BOTH(test_a_named_stream_may_be_retired_before_the_free)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;

    begin("bins");
    a = stable_stream();
    b = fake_stream(0, CU_STREAM_NON_BLOCKING);
    ptr = get(allocator, 20 * MIB, a);
    fake_work(b, ptr, 20 * MIB);
    assert_ok(shpool_device_record_stream(allocator, ptr, b));
    assert_ok(shpool_device_stream_retire(allocator, b));
    fake_stream_destroy(b);
    put(allocator, ptr, a);
    assert_ptr_not_equal(ptr, get(allocator, 20 * MIB, a)); /* b has not finished */
    fake_finish_all();
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, a));
    fake_work(a, ptr, 20 * MIB);
    end();
}

TEST_ON_BOTH(test_a_new_stream_with_an_old_handle_is_another_stream)
{
    shpool_stream a;
    shpool_stream b;
    void *ptr;

    begin("bins");
    a = fake_stream(0, CU_STREAM_NON_BLOCKING);
    ptr = get(allocator, 20 * MIB, a);
    fake_work(a, ptr, 20 * MIB);
    put(allocator, ptr, a);
    fake_stream_destroy(a); /* without a word */
    b = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(ptr, get(allocator, 20 * MIB, b));
    fake_limit(0, 40 * MIB);
    ptr = get(allocator, 20 * MIB, b); /* the last resort: the host waits */
    assert_true(fake_calls(FAKE_CALL_memory_free) + fake_calls(FAKE_CALL_host_free) > 0);
    fake_work(b, ptr, 20 * MIB);
    end();
}

static shpool_stream destroy_and_create(shpool_stream old)
{
    fake_stream_destroy(old); /* without a word */
    assert_ptr_equal(old, fake_stream(0, CU_STREAM_NON_BLOCKING));
    return old;
}

/* A free does not ask which stream it is for, unless it records an event: one of the new stream
 * says nothing about the old one's work. */
TEST_ON_BOTH(test_a_free_on_a_new_stream_records_nothing_for_the_old_one)
{
    shpool_stream old;
    shpool_stream s;
    void *used;
    void *ptr;

    begin("bins");
    old = fake_stream(0, CU_STREAM_NON_BLOCKING);
    used = get(allocator, 20 * MIB, old);
    fake_work(old, used, 20 * MIB);
    put(allocator, used, old);
    s = stable_stream();
    ptr = get(allocator, 20 * MIB, s); /* it would rather have had the other block */
    assert_ptr_not_equal(used, ptr);
    old = destroy_and_create(old);
    put(allocator, ptr, old);
    fake_finish(old);
    ptr = get(allocator, 20 * MIB, s);
    fake_work(s, ptr, 20 * MIB);
    end();
}

/* A stream that was first seen while it captured has no number yet: the next free finds it. */
TEST_ON_BOTH(test_a_free_on_a_stream_that_captured_asks_for_its_number)
{
    shpool_stream s;
    void *ptr;

    begin("bins");
    s = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_ok(shpool_device_capture_begin(allocator, 1, 1));
    fake_capture_begin(s);
    put(allocator, get(allocator, 5000, s), s);
    (void)fake_capture_end(s);
    assert_ok(shpool_device_capture_end(allocator, 1, 1));
    ptr = get(allocator, 20 * MIB, NULL);
    fake_work(s, ptr, 20 * MIB);
    put(allocator, ptr, s);
    s = destroy_and_create(s);
    ptr = get(allocator, 20 * MIB, s);
    fake_work(s, ptr, 20 * MIB);
    assert_ok(shpool_device_capture_release(allocator, 1, 1));
    end();
}

TEST_ON_BOTH(test_a_throw_away_stream_strands_nothing)
{
    begin("bins");
    for (int i = 0; i < 200; i++) { /* 4,000 MiB on a device of 1,024 */
        shpool_stream s = fake_stream(0, CU_STREAM_NON_BLOCKING);
        void *ptr = get(allocator, 20 * MIB, s);

        fake_work(s, ptr, 20 * MIB);
        put(allocator, ptr, s);
        assert_ok(shpool_device_stream_retire(allocator, s));
        fake_stream_destroy(s);
        fake_finish_all();
    }
    assert_true(stats_of(allocator).driver_bytes_peak <= 40 * MIB);
    end();
}

TEST_ON_BOTH(test_devices_keep_apart_and_the_caller_s_stays_current)
{
    shpool_device_allocator *second;
    void *here;
    void *there;

    begin("bins");
    fake_set_current(1);
    open_kind("bins", 1, &second);
    here = get(allocator, 3 * MIB, NULL); /* device 0, while 1 is current: D10 */
    there = get(second, 3 * MIB, NULL);
    assert_int_equal(1, fake_current());
    fake_work(NULL, there, 3 * MIB);
    fake_set_current(-1);
    put(second, there, NULL);
    assert_ok(shpool_device_trim(second, 0));
    assert_int_equal(-1, fake_current());
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(second, here, NULL));
    fake_set_current(0);
    fake_work(NULL, here, 3 * MIB);
    put(allocator, here, NULL);
    shpool_device_allocator_unref(second);
    end();
}
