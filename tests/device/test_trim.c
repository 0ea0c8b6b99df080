/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: caching, merging and returning memory. */
#include "scene.h"

static const scene what_is_merged_and_returned[] = {
    { "neighbours are merged before new memory", "bins",
      "a0-63=32K@0 driver_bytes=2M free:a0-63@0 pair:1000000@0 pair:500000@0 "
      "driver_bytes=2M" },
    { "trim gives back until this many bytes are left", "bins", /* D17 */
      "a0-3=20M@0 free:a0-2@0 trim:40M driver_bytes=60M trim:0 driver_bytes=20M idle_bytes=0 "
      "free:a3@0" },
    { "capacity counts idle bytes only", "bins:capacity=64M", /* D18 */
      "a=160M@0 pair:4K@0 forget 1000*{ pair:4K@0 } memory_alloc=0 free:a@0 idle_bytes<=64M "
      "set:capacity=0 idle_bytes=0" },
    { "pieces of all sizes make room for a large one", "bins", /* or are moved */
      "pair:1M@0 pair:2M@0 pair:4M@0 pair:8M@0 pair:16M@0 pair:32M@0 pair:64M@0 limit:200M "
      "a=190M@0 d?retries>=1 v?retries=0 free:a@0" },
};
SCENES_ON_BOTH(what_is_merged_and_returned)

/* Neighbours of two streams are one piece when one of them has finished, not before; c is nearly
 * all the rest of the slab.  trim:all merges, and gives nothing back. */
TEST_ON_DRIVER(test_neighbours_of_two_streams_are_not_merged_too_early)
{
    begin("bins");
    play("a=512K@1 b=512K@2 c=1M-64K@0 driver_bytes=2M use:a@1 free:a@1 use:b@2 free:b@2 trim:all "
         "a=1M-64K@1 use:a@1 free:a@1 free:c@0 done trim:all largest_idle=2M");
    end();
}

static int free_one(shpool_device_allocator *a, size_t bytes, unsigned attempt, void *user)
{
    assert_int_equal(100 * MIB, bytes);
    if (attempt > 0) {
        return 0;
    }
    put(a, user, NULL);
    return 1;
}

TEST_ON_BOTH(test_the_program_is_asked_before_an_out_of_memory)
{
    begin("bins");
    play("limit:150M a=100M@0");
    assert_ok(shpool_device_on_oom(allocator, free_one, block("a")));
    play("b=100M@0");
    assert_ok(shpool_device_on_oom(allocator, NULL, NULL));
    play("c=100M@0!NO_MEMORY '104857600 bytes were requested on device 0'");
    assert_detail("100 live in 1 allocations");
    play("free:b@0 c=100M@0"); /* D19: nothing is lost by a failure */
    end();
}

TEST_ON_DRIVER(test_memory_that_does_not_begin_with_a_page)
{
    begin("bins");
    fake.misalign = 1;
    play("a=3M@0 use:a@0 free:a@0 a=100@0 use:a@0 free:a@0");
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

/* 100 MiB that stay, and 32 MiB in `count` small blocks; a tiny one is there for later requests,
 * which flush nothing. */
static void begin_with_smalls(unsigned count)
{
    begin("bins:wait=0,granules=0");
    play("x=100M@1 t=256@1 s0-%u=%zu@1 free:t@1", count - 1, 32 * MIB / count);
}

/* A large block, which is no window; MiB that the driver gives for it. */
static unsigned grown(void)
{
    const uint64_t before = stats_of(allocator).driver_bytes;

    play("a=14M@1 use:a@1 check");
    return (unsigned)((stats_of(allocator).driver_bytes - before) / MIB);
}

/* Blocks of 64 KiB and more serve large requests, smaller ones wait for their own. */
TEST_ON_VIRTUAL(test_old_blocks_serve_large_requests)
{
    static const struct { unsigned count; unsigned grown; } plan[] = {
        { 256, 0 }, { 512, 0 }, { 546, 14 }, { 2048, 14 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(plan); i++) {
        begin_with_smalls(plan[i].count);
        play("use:s0-%u@1 free:s0-%u@1 1024*{ pair:256@1 }", plan[i].count - 1, plan[i].count - 1);
        assert_int_equal(14, grown()); /* the first 16 MiB are simply created */
        assert_int_equal(plan[i].grown, grown());
        end();
    }
}

/* A look that found too little is not repeated at each request: only when what was there is old. */
TEST_ON_VIRTUAL(test_a_look_in_vain_is_not_repeated_soon)
{
    begin_with_smalls(256);
    play("use:s0-255@1 free:s0-15@1 1024*{ pair:256@1 } free:s16-255@1"); /* 2 MiB, then the rest */
    assert_int_equal(14, grown());
    assert_int_equal(14, grown()); /* too little is old */
    play("1023*{ pair:256@1 }");
    assert_int_equal(14, grown()); /* most of it is */
    play("pair:256@1");
    assert_int_equal(0, grown());
    end();
}
