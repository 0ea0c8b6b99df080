/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `buckets`: MGPU's behaviour, and each of its defects that must not come back. */
#include "scene.h"

#include "device/buckets/buckets.h"
#include "device/stack.h"

UNIT_TEST(test_84_sizes_each_a_multiple_of_256)
{
    for (unsigned i = 0; i < BUCKETS_COUNT; i++) {
        assert_int_equal(0, buckets_size[i] % 256);
        assert_int_equal(i, buckets_locate(buckets_size[i], SIZE_MAX));
        assert_int_equal(i, buckets_locate(buckets_size[i] - 255, SIZE_MAX));
    }
    assert_int_equal(BUCKETS_COUNT, buckets_locate(220500737, SIZE_MAX));
    assert_int_equal(62, buckets_locate(64 * MIB, 64 * MIB));
    assert_int_equal(BUCKETS_COUNT, buckets_locate(64 * MIB + 1, 64 * MIB));
}

static const scene what_buckets_keep[] = {
    { "the block freed last serves first", "buckets", /* no look at larger buckets */
      "a=5000@0 b=6000@0 free:a@0 free:b@0 c=8K@0 c==b d=4097@0 d==a e=4K@0 e!=a" },
    { "large blocks are evicted first", "buckets:capacity=65M", /* 62 buckets larger */
      "a=256@0 b=64M@0 free:a@0 free:b@0 pair:2M@0 c=256@0 c==a driver_bytes<=4M-1" },
    /* D15: on a retry after out-of-memory the block was smaller than its bucket.  If the driver
     * gave less, use:b is a violation. */
    { "a block has its bucket's size after a retry", "buckets",
      "pair:8M@0 limit:9M a=2520000@0 retries>=1 free:a@0 b=2900000@0 b==a use:b@0" },
    /* D17: clearing worked only above half of the capacity, and evicted blocks that fit. */
    { "trim clears, and a capacity keeps blocks that fit", "buckets",
      "pair:1M@0 set:capacity=2M idle_bytes=1M trim:0 driver_bytes=0" },
    /* D18: with more live than the capacity nothing was kept; that is mode=total, by choice. */
    { "live blocks do not switch the cache off", "buckets",
      "a0-4=32M@0 pair:4K@0 forget 1000*{ pair:4K@0 } memory_alloc=0 set:mode=total pair:4K@0 "
      "idle_bytes=0" },
    /* D19: each failure reduced the capacity by a tenth, permanently. */
    { "a failure leaves the capacity alone", "buckets:capacity=64M",
      "20*{ a=2000M@0!NO_MEMORY } pair:64M@0 idle_bytes=64M" },
    /* A block that is not cached, and that the driver refuses to free, is freed later. */
    { "a refused block is not lost: trim", "buckets",
      "a=100M@0 fail:1 free:a@0 fail:0 check live_bytes=0 idle_bytes=100M trim:all "
      "driver_bytes<=1M" },
    { "a refused block is not lost: the next free", "buckets",
      "a=100M@0 fail:1 free:a@0 fail:0 check live_bytes=0 idle_bytes=100M pair:4K@0 "
      "driver_bytes<=1M" },
};
SCENES(what_buckets_keep)

/* D16: a request of nothing poisoned the smallest bucket. */
UNIT_TEST(test_a_request_of_nothing_leaves_no_trace)
{
    void *ptr;

    begin("buckets");
    assert_ok(shpool_device_malloc(allocator, 0, NULL, &ptr));
    assert_null(ptr);
    put(allocator, ptr, NULL);
    play("a=100@0");
    end();
}

/* D20: a double free broke the accounting, a foreign pointer went to the driver. */
UNIT_TEST(test_bad_frees_are_refused)
{
    int local;

    begin("buckets");
    play("a=1000@0 free:a@0 free:a@0!DOUBLE_FREE");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, &local, NULL));
    play("memory_free=0 b=1000@0 b==a");
    end();
}

/* D21: the order of frees is kept beyond 2^31, and beyond 2^64. */
UNIT_TEST(test_many_frees_do_not_turn_the_order_round)
{
    static const uint64_t clocks[] = { (1ull << 31) - 2, UINT64_MAX - 2 };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(clocks); i++) {
        begin("buckets:capacity=2M");
        play("a=1M@0 b=1M@0");
        ((buckets_self *)allocator->self)->clock = clocks[i];
        play("free:a@0 free:b@0 pair:4K@0 c=1M@0 c==b"); /* one of them has to go */
        end();
    }
}

static unsigned messages;

static void count_messages(shpool_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    messages += (strstr(text, "1 allocations, 104857600 bytes") != NULL);
}

/* At the end of the allocator nothing comes later: it says so. */
UNIT_TEST(test_what_is_lost_is_said)
{
    begin("buckets");
    (void)get(allocator, 100 * MIB, NULL);
    messages = 0;
    shpool_set_message_handler(count_messages, NULL);
    fake_fail(1, CU_ERROR_INVALID_VALUE);
    shpool_device_allocator_unref(allocator);
    assert_int_equal(1, messages);
    assert_int_equal(100 * MIB, fake_stop().bytes);
}

/* ---- what a walk sees ---- */

static struct {
    unsigned count[SHPOOL_DEVICE_PENDING + 1]; /* by state */
    unsigned most;                             /* stop after so many */
    uint64_t bytes;
    const void *live;
} seen;

static int see(const shpool_device_block *block, void *user)
{
    (void)user;
    seen.count[block->state]++;
    seen.bytes += block->bytes;
    seen.live = (block->state == SHPOOL_DEVICE_LIVE) ? block->ptr : seen.live;
    return (seen.most != 0) && (--seen.most == 0);
}

UNIT_TEST(test_a_walk_sees_live_idle_and_pending)
{
    shpool_device_stats stats;

    begin("buckets");
    play("a=5000@0 b=3M@6 c=300@0 free:a@0 done use:b@6 free:b@6");
    memset(&seen, 0, sizeof(seen));
    assert_ok(shpool_device_walk(allocator, see, NULL));
    assert_int_equal(1, seen.count[SHPOOL_DEVICE_LIVE]);
    assert_int_equal(2, seen.count[SHPOOL_DEVICE_IDLE] + seen.count[SHPOOL_DEVICE_PENDING]);
    assert_ptr_equal(block("c"), seen.live);
    stats = stats_of(allocator);
    assert_int_equal(stats.driver_bytes, seen.bytes);
    for (unsigned most = 1; most <= 2; most++) {
        memset(&seen, 0, sizeof(seen));
        seen.most = most;
        assert_ok(shpool_device_walk(allocator, see, NULL));
        assert_int_equal(most, seen.count[SHPOOL_DEVICE_LIVE] + seen.count[SHPOOL_DEVICE_IDLE] +
                                   seen.count[SHPOOL_DEVICE_PENDING]);
    }
    assert_ok(shpool_device_trim(allocator, 0));
    assert_true(stats_of(allocator).driver_bytes_peak >= stats.driver_bytes);
    assert_ok(shpool_device_reset_peak(allocator));
    stats = stats_of(allocator);
    assert_int_equal(stats.driver_bytes, stats.driver_bytes_peak);
    play("free:c@0");
    end();
}
