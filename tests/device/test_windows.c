/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins` with memory=vmm: granules that stay mapped where they were, and windows, large
 * blocks that borrow them: no call of the driver the second time, and all is as before
 * afterwards. */
#include "base_trial.h"

#include "device/bins/bins.h"
#include "device/stack.h"

#define CALLS(_member) fake_calls(FAKE_CALL_##_member)
#define BLOCKS 10

static void *ptr[BLOCKS];
static shpool_stream stream;

/* Blocks of 20 MiB, of which every second is freed: 100 MiB are idle, in five pieces. */
static void scatter(const char *spec)
{
    begin(spec);
    stream = stable_stream();
    for (unsigned i = 0; i < BLOCKS; i++) {
        ptr[i] = get(allocator, 20 * MIB, stream);
        fake_work(stream, ptr[i], 20 * MIB);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) {
        put(allocator, ptr[i], stream);
    }
}

static void finish(void)
{
    for (unsigned i = 1; i < BLOCKS; i += 2) {
        put(allocator, ptr[i], stream);
    }
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    assert_int_equal(0, fake_holds().bytes);
    end();
}

/* A large block that lives for a while; its address. */
static void *use_large(size_t bytes)
{
    void *large = get(allocator, bytes, stream);

    fake_work(stream, large, bytes);
    put(allocator, large, stream);
    return large;
}

/* The blocks that were freed can be had again where they were. */
static void use_scattered(void)
{
    void *again[BLOCKS / 2];

    for (unsigned i = 0; i < BLOCKS / 2; i++) {
        again[i] = get(allocator, 20 * MIB, stream);
        fake_work(stream, again[i], 20 * MIB);
        assert_ptr_equal(ptr[2 * i], again[i]);
    }
    for (unsigned i = 0; i < BLOCKS / 2; i++) {
        put(allocator, again[i], stream);
    }
}

/* The GPU never reaches the work: neither moves nor calls depend on it. */
UNIT_TEST(test_the_second_time_calls_nothing)
{
    void *first;

    scatter("bins:memory=vmm,wait=0");
    first = use_large(80 * MIB);
    use_scattered();
    fake_forget_calls();
    for (unsigned i = 0; i < 3; i++) {
        assert_ptr_equal(first, use_large(80 * MIB));
        use_scattered();
        assert_ok(shpool_device_check(allocator));
    }
    assert_int_equal(0, fake_all_calls());
    assert_in_range(stats_of(allocator).driver_bytes_peak, 200 * MIB, 216 * MIB);
    finish();
}

/* Two sizes in turns keep a window each. */
UNIT_TEST(test_windows_do_not_displace_each_other)
{
    void *first;
    void *second;

    scatter("bins:memory=vmm,wait=0");
    first = use_large(80 * MIB);
    use_scattered();
    second = use_large(62 * MIB);
    use_scattered();
    fake_forget_calls();
    for (unsigned i = 0; i < 3; i++) {
        assert_ptr_equal(first, use_large(80 * MIB));
        use_scattered();
        assert_ptr_equal(second, use_large(62 * MIB));
        use_scattered();
    }
    assert_int_equal(0, fake_all_calls());
    finish();
}

/* What a stream has not finished with moves for this stream only, whatever its address is. */
UNIT_TEST(test_other_streams_do_not_get_what_is_in_use)
{
    shpool_stream other;
    void *large;

    scatter("bins:memory=vmm,wait=0,reuse=done");
    (void)use_large(80 * MIB);
    other = stable_stream();
    large = get(allocator, 80 * MIB, other);
    fake_work(other, large, 80 * MIB);
    assert_true(stats_of(allocator).driver_bytes >= 280 * MIB);
    assert_ok(shpool_device_check(allocator));
    put(allocator, large, other);
    fake_finish_all();
    large = get(allocator, 80 * MIB, other);
    fake_work(other, large, 80 * MIB);
    put(allocator, large, other);
    finish();
}

/* A part of a block that grew out of memory in use is in use, too, when the rest is free. */
UNIT_TEST(test_the_rest_of_a_grown_block_is_in_use)
{
    shpool_stream other;
    void *small[8];
    void *large;

    begin("bins:memory=vmm,wait=0,reuse=done,hard=32M");
    stream = stable_stream();
    other = stable_stream();
    for (unsigned i = 0; i < 8; i++) {
        small[i] = get(allocator, 4 * MIB, stream);
        fake_work(stream, small[i], 4 * MIB);
    }
    for (unsigned i = 0; i < 8; i += 2) {
        put(allocator, small[i], stream);
    }
    large = get(allocator, 11 * MIB, stream); /* 12 MiB are moved together for it */
    fake_work(stream, large, 11 * MIB);
    small[0] = get(allocator, 1 * MIB, other); /* after a wait, which the driver can do */
    fake_work(other, small[0], 1 * MIB);
    put(allocator, small[0], other);
    put(allocator, large, stream);
    for (unsigned i = 1; i < 8; i += 2) {
        put(allocator, small[i], stream);
    }
    end();
}

/* The driver refuses new granules: the window is made of idle ones alone, and found again. */
UNIT_TEST(test_a_window_without_new_granules)
{
    void *first;

    scatter("bins:memory=vmm,wait=0,hard=200M");
    fake_forget_calls();
    first = use_large(80 * MIB);
    assert_int_equal(0, CALLS(granule_create));
    use_scattered();
    assert_int_equal(200 * MIB, stats_of(allocator).driver_bytes);
    fake_forget_calls();
    assert_ptr_equal(first, use_large(80 * MIB));
    use_scattered();
    assert_int_equal(0, fake_all_calls());
    finish();
}

/* Whichever call of the driver is refused while a window is made, the request is served, the next
 * one, too, and no granule is lost. */
UNIT_TEST(test_a_refusal_loses_no_window)
{
    int failed = 1;

    for (unsigned long nth = 1; failed; nth++) {
        void *large;

        scatter("bins:memory=vmm,wait=0");
        (void)use_large(70 * MIB); /* some granules are at places of the next window */
        use_scattered();
        fake_fail(nth, CU_ERROR_OUT_OF_MEMORY);
        large = use_large(80 * MIB);
        failed = fake_failed();
        fake_fail(0, CU_SUCCESS);
        assert_non_null(large);
        assert_ok(shpool_device_check(allocator));
        (void)use_large(80 * MIB);
        assert_ok(shpool_device_check(allocator));
        assert_in_range(stats_of(allocator).driver_bytes_peak, 200 * MIB, 216 * MIB);
        finish();
    }
}

/* Peers that come later reach all places, and so do those of later windows. */
UNIT_TEST(test_peers_reach_windows)
{
    void *large;

    scatter("bins:memory=vmm,wait=0");
    large = use_large(80 * MIB);
    use_scattered();
    assert_ok(shpool_device_set(allocator, "peer", "1"));
    assert_ptr_equal(large, get(allocator, 80 * MIB, stream));
    assert_int_equal(3, fake_access(large));
    assert_int_equal(3, fake_access((char *)large + 80 * MIB - 1));
    put(allocator, large, stream);
    finish();
}

/* Granules that are mapped at several places go back to the driver only if no place is in use. */
UNIT_TEST(test_trim_waits_for_all_places)
{
    scatter("bins:memory=vmm,wait=0");
    (void)use_large(80 * MIB);
    use_scattered();
    fake_forget_calls();
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free));
    assert_int_equal(100 * MIB, stats_of(allocator).driver_bytes);
    fake_forget_calls();
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, CALLS(memory_free));
    finish();
}

/* Small requests use large free blocks rather than calls of the driver. */
UNIT_TEST(test_a_small_request_is_a_guest)
{
    void *small[44];

    scatter("bins:memory=vmm,wait=0");
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        if (i == 32) { /* new granules are allowed for so many */
            fake_forget_calls();
        }
        small[i] = get(allocator, MIB / 2, stream);
        fake_work(stream, small[i], MIB / 2);
    }
    assert_int_equal(0, CALLS(granule_create) + CALLS(granule_map));
    assert_ok(shpool_device_check(allocator));
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        put(allocator, small[i], stream);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) { /* their blocks are whole again */
        ptr[i] = get(allocator, 20 * MIB, stream);
        fake_work(stream, ptr[i], 20 * MIB);
    }
    assert_int_equal(0, CALLS(granule_create) + CALLS(granule_map));
    for (unsigned i = 0; i < BLOCKS; i += 2) {
        put(allocator, ptr[i], stream);
    }
    finish();
}

/* The check counts guests by class: two wrong counts whose sum is right are found. */
UNIT_TEST(test_guests_are_counted_by_class)
{
    bins_self *bins;
    void *small[44];

    scatter("bins:memory=vmm,wait=0");
    bins = allocator->self;
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        small[i] = get(allocator, MIB / 2, stream);
    }
    assert_true(bins->guests[bins_guest_class(bins_class(MIB / 2))] > 0);
    assert_ok(shpool_device_check(allocator));
    bins->guests[bins_guest_class(bins_class(MIB / 2))]--;
    bins->guests[0]++;
    assert_int_equal(SHPOOL_ERR_CORRUPT, shpool_device_check(allocator));
    assert_detail("guests of the large heap are not counted");
    bins->guests[bins_guest_class(bins_class(MIB / 2))]++;
    bins->guests[0]--;
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        put(allocator, small[i], stream);
    }
    finish();
}

/* Small blocks that were freed long ago, and wait in their lane, give their memory to large ones;
 * those that were freed a moment ago stay. */
UNIT_TEST(test_old_small_blocks_serve_large_ones)
{
    for (unsigned later = 0; later <= 1024; later += 1024) {
        void *small[128];
        void *large[6];
        void *tiny;

        begin("bins:memory=vmm,wait=0");
        stream = stable_stream();
        tiny = get(allocator, 256, stream);
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
            small[i] = get(allocator, MIB / 2, stream);
            fake_work(stream, small[i], MIB / 2);
        }
        put(allocator, tiny, stream); /* it is there for the next ones, which flush nothing */
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
            put(allocator, small[i], stream);
        }
        for (unsigned i = 0; i < later; i++) {
            put(allocator, get(allocator, 256, stream), stream);
        }
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(large); i++) {
            large[i] = get(allocator, 8 * MIB, stream);
            fake_work(stream, large[i], 8 * MIB);
        }
        assert_in_range(stats_of(allocator).driver_bytes, (later > 0) ? 64 * MIB : 112 * MIB,
                        (later > 0) ? 84 * MIB : 116 * MIB);
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(large); i++) {
            put(allocator, large[i], stream);
        }
        end();
    }
}

static int flush_old(bins_self *bins)
{
    shpool_timeline *t;
    int moved;

    assert_ok(shpool_timeline_lock(&bins->lanes, stream, &t));
    shpool_spin_unlock(&t->lock);
    shpool_mutex_lock(&bins->lock);
    moved = bins_flush_old(bins, (bins_lane *)t);
    shpool_mutex_unlock(&bins->lock);
    return moved;
}

/* Old guests stay, too: they could be merged with a block in which a place was just found.  A large
 * request moves them before it looks for one, so only other threads' frees can be there then. */
UNIT_TEST(test_old_guests_stay)
{
    bins_self *bins;
    void *small[60];
    void *tiny;
    unsigned guests = 0;

    scatter("bins:memory=vmm,wait=0");
    bins = allocator->self;
    tiny = get(allocator, 256, stream);
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        small[i] = get(allocator, MIB / 2, stream);
        fake_work(stream, small[i], MIB / 2);
    }
    put(allocator, tiny, stream);
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        if (bins_is_guest(bins_find(bins, small[i]))) {
            put(allocator, small[i], stream);
            small[i] = NULL;
            guests++;
        }
    }
    assert_true(guests * MIB / 2 >= stats_of(allocator).driver_bytes / 32);
    for (unsigned i = 0; i < 1024; i++) {
        put(allocator, get(allocator, 256, stream), stream);
    }
    assert_int_equal(0, flush_old(bins));
    assert_int_equal(guests, bins->guests[bins_guest_class(bins_class(MIB / 2))]);
    (void)use_large(80 * MIB);
    use_scattered();
    assert_ok(shpool_device_check(allocator));
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        (void)((small[i] != NULL) ? put(allocator, small[i], stream) : (void)0);
    }
    finish();
}

/* A few old ones stay in their lane, because a program that repeats its requests wants them
 * again. */
UNIT_TEST(test_a_few_old_small_blocks_stay)
{
    shpool_stream other;
    void *small[3];
    void *large[24];
    void *tiny;

    begin("bins:memory=vmm,wait=0,reuse=done");
    stream = stable_stream();
    other = stable_stream();
    tiny = get(allocator, 256, stream);
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        small[i] = get(allocator, MIB / 2, stream);
    }
    fake_work(stream, tiny, 256); /* which never ends: nothing is for the other stream */
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(small); i++) {
        put(allocator, small[i], stream);
    }
    put(allocator, tiny, stream);
    for (unsigned i = 0; i < 1024; i++) {
        put(allocator, get(allocator, 256, stream), stream);
    }
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(large); i++) {
        large[i] = get(allocator, 8 * MIB, other);
        fake_work(other, large[i], 8 * MIB);
    }
    for (unsigned i = 0; i < 4; i++) { /* idle, but in use: granules run short */
        put(allocator, large[i], other);
    }
    for (unsigned i = 0; i < 4; i++) {
        large[i] = get(allocator, 8 * MIB, stream);
    }
    assert_in_range(stats_of(allocator).driver_bytes, 224 * MIB, 230 * MIB);
    assert_ptr_equal(small[2], get(allocator, MIB / 2, stream)); /* not the lowest one */
    put(allocator, small[2], stream);
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(large); i++) {
        put(allocator, large[i], (i < 4) ? stream : other);
    }
    end();
}
