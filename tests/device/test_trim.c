/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: caching, merging and returning memory. */
#include "base_trial.h"

TEST_ON_BOTH(test_neighbours_are_merged_before_new_memory)
{
    void *ptr[64];

    begin("bins");
    for (int i = 0; i < 64; i++) {
        ptr[i] = get(allocator, 32768, NULL);
    }
    assert_int_equal(2 * MIB, stats_of(allocator).driver_bytes);
    for (int i = 0; i < 64; i++) {
        put(allocator, ptr[i], NULL);
    }
    put(allocator, get(allocator, 1000000, NULL), NULL);
    put(allocator, get(allocator, 500000, NULL), NULL);
    assert_int_equal(2 * MIB, stats_of(allocator).driver_bytes);
    end();
}

/* Neighbours of two streams are one piece when one of them has finished, not before. */
TEST_ON_DRIVER(test_neighbours_of_two_streams_are_not_merged_too_early)
{
    shpool_stream stream[2];
    void *ptr[3];

    begin("bins");
    stream[0] = stable_stream();
    stream[1] = stable_stream();
    ptr[0] = get(allocator, MIB / 2, stream[0]);
    ptr[1] = get(allocator, MIB / 2, stream[1]);
    ptr[2] = get(allocator, MIB - 65536, NULL); /* nearly all the rest of the slab */
    assert_int_equal(2 * MIB, stats_of(allocator).driver_bytes);
    for (int i = 0; i < 2; i++) {
        fake_work(stream[i], ptr[i], MIB / 2);
        put(allocator, ptr[i], stream[i]);
    }
    assert_ok(shpool_device_trim(allocator, SIZE_MAX)); /* merges, and gives nothing back */
    ptr[0] = get(allocator, MIB - 65536, stream[0]);
    fake_work(stream[0], ptr[0], MIB - 65536);
    put(allocator, ptr[0], stream[0]);
    put(allocator, ptr[2], NULL);
    fake_finish_all();
    assert_ok(shpool_device_trim(allocator, SIZE_MAX));
    assert_int_equal(2 * MIB, stats_of(allocator).largest_idle);
    end();
}

TEST_ON_BOTH(test_trim_gives_back_until_so_many_bytes_are_left)
{
    void *ptr[4];

    begin("bins");
    for (int i = 0; i < 4; i++) {
        ptr[i] = get(allocator, 20 * MIB, NULL);
    }
    for (int i = 0; i < 3; i++) {
        put(allocator, ptr[i], NULL);
    }
    assert_ok(shpool_device_trim(allocator, 40 * MIB));
    assert_int_equal(60 * MIB, stats_of(allocator).driver_bytes);
    assert_ok(shpool_device_trim(allocator, 0)); /* D17 */
    assert_int_equal(20 * MIB, stats_of(allocator).driver_bytes);
    assert_int_equal(0, stats_of(allocator).idle_bytes);
    put(allocator, ptr[3], NULL);
    end();
}

TEST_ON_BOTH(test_capacity_counts_idle_bytes_only)
{
    void *live;

    begin("bins:capacity=64M");
    live = get(allocator, 160 * MIB, NULL);
    put(allocator, get(allocator, 4096, NULL), NULL);
    fake_forget_calls();
    for (int i = 0; i < 1000; i++) { /* D18 */
        put(allocator, get(allocator, 4096, NULL), NULL);
    }
    assert_int_equal(0, fake_calls(FAKE_CALL_memory_alloc));
    put(allocator, live, NULL);
    assert_true(stats_of(allocator).idle_bytes <= 64 * MIB);
    assert_ok(shpool_device_set(allocator, "capacity", "0"));
    assert_int_equal(0, stats_of(allocator).idle_bytes);
    end();
}

static int free_one(shpool_device_allocator *a, size_t bytes, unsigned attempt, void *user)
{
    void **held = user;

    assert_int_equal(100 * MIB, bytes);
    if (attempt > 0) {
        return 0;
    }
    put(a, *held, NULL);
    return 1;
}

TEST_ON_BOTH(test_the_program_is_asked_before_an_out_of_memory)
{
    void *held;
    void *ptr;

    begin("bins");
    fake_limit(0, 150 * MIB);
    held = get(allocator, 100 * MIB, NULL);
    assert_ok(shpool_device_on_oom(allocator, free_one, &held));
    ptr = get(allocator, 100 * MIB, NULL);
    assert_ok(shpool_device_on_oom(allocator, NULL, NULL));
    assert_int_equal(SHPOOL_ERR_NO_MEMORY,
                     shpool_device_malloc(allocator, 100 * MIB, NULL, &held));
    assert_detail("104857600 bytes were requested on device 0");
    assert_detail("100 live in 1 allocations");
    put(allocator, ptr, NULL);
    assert_non_null(get(allocator, 100 * MIB, NULL)); /* D19: nothing is lost by a failure */
    end();
}

TEST_ON_BOTH(test_pieces_of_all_sizes_make_room_for_a_large_one)
{
    void *ptr;

    begin("bins");
    for (size_t bytes = MIB; bytes <= 64 * MIB; bytes *= 2) {
        put(allocator, get(allocator, bytes, NULL), NULL);
    }
    fake_limit(0, 200 * MIB);
    ptr = get(allocator, 190 * MIB, NULL);
    assert_int_equal(!is_virtual(), stats_of(allocator).retries > 0); /* pieces are moved */
    put(allocator, ptr, NULL);
    end();
}

TEST_ON_DRIVER(test_memory_that_does_not_begin_with_a_page)
{
    char *ptr;

    begin("bins");
    fake_misalign(1);
    ptr = get(allocator, 3 * MIB, NULL);
    fake_work(NULL, ptr, 3 * MIB);
    put(allocator, ptr, NULL);
    ptr = get(allocator, 100, NULL);
    fake_work(NULL, ptr, 100);
    put(allocator, ptr, NULL);
    end();
}

TEST_ON_BOTH(test_base_and_walk_tell_what_the_driver_gave)
{
    char *ptr;
    void *base;
    size_t bytes;

    begin("bins");
    ptr = get(allocator, 1000, NULL);
    assert_ok(shpool_device_base(allocator, ptr + 999, &base, &bytes));
    assert_int_equal(2 * MIB, bytes); /* memory, not addresses: test_model tries all states */
    assert_true(((char *)base <= ptr) && (ptr < (char *)base + bytes));
    assert_int_equal(SHPOOL_ERR_INVALID,
                     shpool_device_base(allocator, ptr + 5000, &base, &bytes));
    put(allocator, ptr, NULL);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_base(allocator, ptr, &base, &bytes));
    end();
}

/* ---- small blocks that were freed long ago ---- */

#define SMALLS (32 * MIB / 16384)

static void *small[SMALLS];
static shpool_stream owner;

/* 100 MiB that stay, and 32 MiB in small blocks. */
static unsigned begin_with_smalls(size_t bytes)
{
    unsigned count = (unsigned)(32 * MIB / bytes);
    void *tiny;

    begin("bins:wait=0");
    owner = stable_stream();
    (void)get(allocator, 100 * MIB, owner);
    tiny = get(allocator, 256, owner);
    for (unsigned i = 0; i < count; i++) {
        small[i] = get(allocator, bytes, owner);
    }
    put(allocator, tiny, owner); /* it is there for the next ones, which flush nothing */
    return count;
}

static void free_smalls(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        fake_work(owner, small[i], 256);
        put(allocator, small[i], owner);
    }
}

static void free_often(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        put(allocator, get(allocator, 256, owner), owner);
    }
}

/* MiB that the driver gives for a large block, which is no window. */
static unsigned grown(void)
{
    uint64_t before = stats_of(allocator).driver_bytes;

    fake_work(owner, get(allocator, 14 * MIB, owner), 4096);
    assert_ok(shpool_device_check(allocator));
    return (unsigned)((stats_of(allocator).driver_bytes - before) / MIB);
}

/* Blocks of 64 KiB and more serve large requests, smaller ones wait for their own. */
TEST_ON_VIRTUAL(test_old_blocks_serve_large_requests)
{
    static const struct { size_t bytes; unsigned grown; } plan[] = {
        { 131072, 0 }, { 65536, 0 }, { 61440, 14 }, { 16384, 14 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(plan); i++) {
        free_smalls(0, begin_with_smalls(plan[i].bytes));
        free_often(1024);
        assert_int_equal(14, grown()); /* the first 16 MiB are simply created */
        assert_int_equal(plan[i].grown, grown());
        end();
    }
}

/* A look that found too little is not repeated at each request: only when what was there is old. */
TEST_ON_VIRTUAL(test_a_look_in_vain_is_not_repeated_soon)
{
    unsigned count;

    count = begin_with_smalls(131072);
    free_smalls(0, 16); /* 2 MiB */
    free_often(1024);
    free_smalls(16, count);
    assert_int_equal(14, grown());
    assert_int_equal(14, grown()); /* too little is old */
    free_often(1023);
    assert_int_equal(14, grown()); /* most of it is */
    free_often(1);
    assert_int_equal(0, grown());
    end();
}
