/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: which memory is reused, when, and with how many driver calls. */
#include "scene.h"

#include "device/base/timeline.h"

TEST_ON_BOTH(test_warm_pairs_make_no_driver_call)
{
    static const char *const sizes[] = { "1", "256", "4K", "100000", "1M", "20M", "256M" };

    begin("bins");
    for (const char *s = "091"; *s != '\0'; s++) {
        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(sizes); i++) { /* 9 records a few events first */
            play("a=%s@%c free:a@%c 70*{ pair:%s@%c } forget b=%s@%c b==a free:b@%c calls=0",
                 sizes[i], *s, *s, sizes[i], *s, sizes[i], *s, *s);
        }
        play("trim:0");
    }
    end();
}

/* Whether a thread remembers both streams at a time: shpool_timeline_slot() of timeline.h. */
static int have_two_slots(char first, char second)
{
    uint64_t x = (uint64_t)(uintptr_t)((first == '0') ? SHPOOL_STREAM_LEGACY : stream_of(first));
    uint64_t y = (uint64_t)(uintptr_t)stream_of(second);

    return ((x ^ (x >> 4) ^ (x >> 10) ^ y ^ (y >> 4) ^ (y >> 10)) % SHPOOL_TIMELINE_SEEN) != 0;
}

/* The driver's id distinguishes a stream that may be destroyed from a later one: each malloc asks
 * once, and free does not.  The capture mode is changed once a call, and changed back. */
TEST_ON_BOTH(test_no_call_asks_the_driver_twice)
{
    char s;
    char other;

    begin("bins");
    s = have_two_slots('0', '6') ? '6' : '7';
#define ASKS(_ids, _captures, _modes, _idle)                                                       \
    "stream_id=" #_ids " stream_capturing=" #_captures " capture_mode=" #_modes                    \
    " stream_query=" #_idle " forget "
    play("a=4K@%c forget b=3M@%c " ASKS(1, 2, 2, 0)   /* a miss: may it have new memory? */
         "free:a@%c " ASKS(0, 0, 0, 0) "pair:4K@%c " ASKS(1, 1, 0, 0)
         "c=4K@0 forget free:c@%c " ASKS(0, 0, 0, 0), /* another stream's */
         s, s, s, s, s);
    other = have_two_slots('1', '2') ? '2' : '3';
    play("pair:20M@1 pair:20M@%c forget pair:20M@1 " ASKS(0, 1, 2, 1) "trim:0 capture_mode=2",
         other);
    end();
}

TEST_ON_BOTH(test_sizes_are_rounded_by_a_sixteenth_at_most)
{
    begin("bins");
    for (size_t bytes = 1; bytes < 40 * MIB; bytes += bytes / 7 + 1) {
        play("a=%zu@0 live_bytes>=%zu live_bytes<=%zu free:a@0 live_bytes=0", bytes, bytes,
             bytes + ((bytes / 16 > 255) ? bytes / 16 : 255));
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
    play("a=100@0 b=all@0!TOO_LARGE b=32768G@0!NO_MEMORY 'this allocator holds'");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_malloc(NULL, 1, NULL, &ptr));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_malloc(allocator, 1, NULL, NULL));
    end();
}

TEST_ON_BOTH(test_bad_frees_are_refused)
{
    int local;

    begin("bins");
    play("a=5000@0 free:a+256@0!INVALID free:a+1@0!INVALID free:a@0 free:a@0!DOUBLE_FREE "
         "free:a@1!DOUBLE_FREE memory_free=0 check name:a@0!INVALID"); /* D20 */
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, &local, NULL));
    end();
}

/* Blocks of 20 MiB on two streams: a0 and a1 on the first, b on the second. */
#define TWO_STREAMS "a0=20M@1 a1=20M@1 b=24M@2 "

static const scene who_gets_what_was_freed[] = {
    { "requests are counted wherever they are served", "bins",
      "a=100@1 mallocs=1 misses=1 free:a@1 a=100@1 mallocs=2 misses=1 free:a@1" },
    { "another stream gets it when it has finished", "bins",
      "a=20M@1 x=20M@2 use:a@1 free:a@1 event_record=0 done forget b=20M@2 b==a use:b@2 "
      "stream_query=1 event_record=0 stream_wait=0 hits_done=1 free:b@2" },
    /* The stream that gave a block is asked first for the next one, which must have finished,
     * too.  At last its work has no end: there is new memory.  b frees nothing: a would be
     * asked again. */
    { "the next block of another stream", "bins",
      "a=20M@1 x=100@2 use:a@1 free:a@1 done forget b=20M@2 b==a stream_query=1 hits_done=1 "
      "use:a@1 free:a@1 done forget b=20M@2 b==a stream_query=1 hits_done=2 "
      "use:a@1 free:a@1 done forget b=20M@2 b==a stream_query=1 hits_done=3 check "
      "use:a@1 free:a@1 c=20M@2 use:c@2 c!=a misses=3 free:c@1 done d=20M@2 set:reuse=same "
      "e=20M@2 misses=4" },
    /* A stream is not asked first after a request that it did not serve: the requesting
     * stream's own block, which a third one was using, comes before. */
    { "a stream that had nothing is not asked first", "bins:reuse=done",
      "a0=20M@1 a1=20M@1 b=20M@2 name:b@3 use:b@3 free:b@2 free:a0@1 c=20M@2 c==a0 use:a1@1 "
      "free:a1@1 d=20M@2 done e=20M@2 e==b" },
    { "own memory comes before another stream's", "bins",
      TWO_STREAMS "free:a0@1 c=20M@2 c==a0 free:a1@1 free:b@2 d=20M@2 d==b free:d@2 free:c@2" },
    { "and also for a request of another size", "bins",
      "a0=40M@1 a1=20M@1 b=24M@2 free:a0@1 free:a1@1 free:b@2 c=40M@2 c==a0 d=20M@2 d==b" },
    { "a used block of its own comes first", "bins",
      TWO_STREAMS "name:b@3 free:a0@1 c=20M@2 c==a0 free:a1@1 free:b@2 done d=20M@2 d==b" },
    /* a missing wait is a violation */
    { "new memory comes before a wait, and a wait before failure", "bins",
      "a=20M@1 use:a@1 free:a@1 b=20M@2 b!=a limit:40M free:b@2 c=20M@2 c==b forget d=20M@2 "
      "d==a stream_wait=1 memory_free=0 hits_wait=1 use:d@2 free:d@2 free:c@2" },
    { "soft makes streams wait earlier", "bins:soft=24M",
      "a=20M@1 use:a@1 free:a@1 b=20M@2 b==a use:b@2 free:b@2" },
    { "reuse=same never shares", "bins:reuse=same", "a=20M@0 free:a@0 done b=20M@1 b!=a" },
    { "named streams are waited for", "bins",
      "a=20M@1 use:a@2 name:a@2 name:a@2 free:a@1 pending_bytes>=20M b=20M@1 b!=a done:2 "
      "c=20M@1 c==a use:c@1 free:c@1 free:b@1" },
    { "a named stream may be retired before the free", "bins",
      "a=20M@1 use:a@6 name:a@6 retire:6 destroy:6 free:a@1 b=20M@1 b!=a done c=20M@1 c==a "
      "use:c@1" },
    /* destroyed without a word; at last the host waits */
    { "a new stream with an old handle is another stream", "bins",
      "a=20M@6 use:a@6 free:a@6 destroy:6 b=20M@6 b!=a limit:40M forget c=20M@6 use:c@6 "
      "d?memory_free>=1 v?host_free>=1" },
    /* A free does not ask which stream it is for, unless it records an event: one of the new
     * stream says nothing about the old one's work.  The stable one wants its block. */
    { "a free on a new stream records nothing for the old one", "bins",
      "a=20M@6 use:a@6 free:a@6 b=20M@1 b!=a destroy:6 free:b@6 done:6 c=20M@1 use:c@1" },
    /* A stream that was first seen while it captured has no number yet: the next free finds
     * it. */
    { "a free on a stream that captured asks for its number", "bins",
      "pool:1 capture:6 pair:5000@6 captured:6 unpool:1 a=20M@0 use:a@6 free:a@6 destroy:6 "
      "b=20M@6 use:b@6 release:1" },
    { "a throw-away stream strands nothing", "bins", /* 4,000 MiB on a device of 1,024 */
      "100*{ a=20M@6 use:a@6 free:a@6 retire:6 destroy:6 done } driver_bytes_peak<=40M "
      "100*{ a=20M@6 use:a@6 free:a@6 retire:6 destroy:6 done } driver_bytes_peak<=40M" },
};
SCENES_ON_BOTH(who_gets_what_was_freed)

TEST_ON_BOTH(test_devices_keep_apart_and_the_caller_s_stays_current)
{
    shpool_device_allocator *second;
    void *there;

    begin("bins");
    fake_set_current(1);
    open_kind("bins", 1, &second);
    play("a=3M@0"); /* device 0, while 1 is current: D10 */
    there = get(second, 3 * MIB, NULL);
    assert_int_equal(1, fake_current());
    fake_work(NULL, there, 3 * MIB);
    fake_set_current(-1);
    put(second, there, NULL);
    assert_ok(shpool_device_trim(second, 0));
    assert_int_equal(-1, fake_current());
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(second, block("a"), NULL));
    fake_set_current(0);
    play("use:a@0 free:a@0");
    shpool_device_allocator_unref(second);
    end();
}
