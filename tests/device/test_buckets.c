/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `buckets`: MGPU's behaviour, and each of its defects that must not come back. */
#include "trial.h"

#include "device/buckets/buckets.h"
#include "device/stack.h"

#define MIB ((size_t)1 << 20)

static shpool_device_allocator *allocator;

static void begin(const char *spec)
{
    fake_start(1, 1024 * MIB);
    fake_set_current(0);
    open_allocator(spec, 0, &allocator);
}

static void end(void)
{
    assert_ok(shpool_device_check(allocator));
    shpool_device_allocator_unref(allocator);
    assert_int_equal(0, fake_stop().bytes);
    assert_string_equal("", fake_first_violation());
}

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

UNIT_TEST(test_the_block_freed_last_serves_first)
{
    void *a;
    void *b;

    begin("buckets");
    a = get(allocator, 5000, NULL);
    b = get(allocator, 6000, NULL);
    put(allocator, a, NULL);
    put(allocator, b, NULL);
    assert_ptr_equal(b, get(allocator, 8192, NULL));
    assert_ptr_equal(a, get(allocator, 4097, NULL));
    assert_ptr_not_equal(a, get(allocator, 4096, NULL)); /* no look at larger buckets */
    end();
}

UNIT_TEST(test_large_blocks_are_evicted_first)
{
    void *small;
    void *large;

    begin("buckets:capacity=65M");
    small = get(allocator, 256, NULL);
    large = get(allocator, 64 * MIB, NULL);
    put(allocator, small, NULL);
    put(allocator, large, NULL); /* one free later, 62 buckets larger */
    put(allocator, get(allocator, 2 * MIB, NULL), NULL);
    assert_ptr_equal(small, get(allocator, 256, NULL));
    assert_true(stats_of(allocator).driver_bytes < 4 * MIB);
    end();
}

/* D15: on a retry after out-of-memory the block was smaller than its bucket. */
UNIT_TEST(test_a_block_has_its_bucket_s_size_after_a_retry)
{
    void *ptr;

    begin("buckets");
    put(allocator, get(allocator, 8 * MIB, NULL), NULL);
    fake_limit(0, 9 * MIB);
    ptr = get(allocator, 2520000, NULL);
    assert_true(stats_of(allocator).retries > 0);
    put(allocator, ptr, NULL);
    assert_ptr_equal(ptr, get(allocator, 2900000, NULL));
    fake_work(NULL, ptr, 2900000); /* a violation if the driver gave less */
    end();
}

/* D16: a request of nothing poisoned the smallest bucket. */
UNIT_TEST(test_a_request_of_nothing_leaves_no_trace)
{
    void *ptr;

    begin("buckets");
    assert_ok(shpool_device_malloc(allocator, 0, NULL, &ptr));
    assert_null(ptr);
    put(allocator, ptr, NULL);
    assert_non_null(get(allocator, 100, NULL));
    end();
}

/* D17: clearing worked only above half of the capacity, and evicted blocks that fit. */
UNIT_TEST(test_trim_clears_and_a_capacity_keeps_what_fits)
{
    begin("buckets");
    put(allocator, get(allocator, MIB, NULL), NULL);
    assert_ok(shpool_device_set(allocator, "capacity", "2M"));
    assert_int_equal(MIB, stats_of(allocator).idle_bytes);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    end();
}

/* D18: with more live than the capacity nothing was kept; that is mode=total, by choice. */
UNIT_TEST(test_live_blocks_do_not_switch_the_cache_off)
{
    begin("buckets");
    for (int i = 0; i < 5; i++) {
        get(allocator, 32 * MIB, NULL);
    }
    put(allocator, get(allocator, 4096, NULL), NULL);
    fake_forget_calls();
    for (int i = 0; i < 1000; i++) {
        put(allocator, get(allocator, 4096, NULL), NULL);
    }
    assert_int_equal(0, fake_calls(FAKE_CALL_memory_alloc));
    assert_ok(shpool_device_set(allocator, "mode", "total"));
    put(allocator, get(allocator, 4096, NULL), NULL);
    assert_int_equal(0, stats_of(allocator).idle_bytes);
    end();
}

/* D19: each failure reduced the capacity by a tenth, permanently. */
UNIT_TEST(test_a_failure_leaves_the_capacity_alone)
{
    void *ptr;

    begin("buckets:capacity=64M");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(SHPOOL_ERR_NO_MEMORY,
                         shpool_device_malloc(allocator, 2000 * MIB, NULL, &ptr));
    }
    put(allocator, get(allocator, 64 * MIB, NULL), NULL);
    assert_int_equal(64 * MIB, stats_of(allocator).idle_bytes);
    end();
}

/* D20: a double free broke the accounting, a foreign pointer went to the driver. */
UNIT_TEST(test_bad_frees_are_refused)
{
    void *ptr;
    int local;

    begin("buckets");
    ptr = get(allocator, 1000, NULL);
    put(allocator, ptr, NULL);
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr, NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, &local, NULL));
    assert_int_equal(0, fake_calls(FAKE_CALL_memory_free));
    assert_ptr_equal(ptr, get(allocator, 1000, NULL));
    end();
}

/* D21: the order of frees is kept beyond 2^31, and beyond 2^64. */
UNIT_TEST(test_many_frees_do_not_turn_the_order_round)
{
    static const uint64_t clocks[] = { (1ull << 31) - 2, UINT64_MAX - 2 };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(clocks); i++) {
        void *old;
        void *young;

        begin("buckets:capacity=2M");
        old = get(allocator, MIB, NULL);
        young = get(allocator, MIB, NULL);
        ((buckets_self *)allocator->self)->clock = clocks[i];
        put(allocator, old, NULL);
        put(allocator, young, NULL);
        put(allocator, get(allocator, 4096, NULL), NULL); /* one of them has to go */
        assert_ptr_equal(young, get(allocator, MIB, NULL));
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

/* A block that is not cached, and that the driver refuses to free, is freed later. */
UNIT_TEST(test_a_refused_block_is_not_lost)
{
    begin("buckets");
    for (int i = 0; i < 2; i++) {
        void *ptr = get(allocator, 100 * MIB, NULL);

        fake_fail(1, CU_ERROR_INVALID_VALUE);
        put(allocator, ptr, NULL);
        assert_true(fake_failed());
        assert_ok(shpool_device_check(allocator));
        assert_int_equal(0, live_bytes(allocator));
        assert_int_equal(100 * MIB, stats_of(allocator).idle_bytes);
        if (i == 0) {
            assert_ok(shpool_device_trim(allocator, SIZE_MAX));
        } else {
            put(allocator, get(allocator, 4096, NULL), NULL);
        }
        assert_true(stats_of(allocator).driver_bytes < MIB);
    }
    end();
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
    shpool_stream stream;
    void *idle;
    void *pending;
    void *live;

    begin("buckets");
    stream  = fake_stream(0, CU_STREAM_NON_BLOCKING);
    idle    = get(allocator, 5000, NULL);
    pending = get(allocator, 3 * MIB, stream);
    live    = get(allocator, 300, NULL);
    put(allocator, idle, NULL);
    fake_finish_all();
    fake_work(stream, pending, 3 * MIB);
    put(allocator, pending, stream);
    memset(&seen, 0, sizeof(seen));
    assert_ok(shpool_device_walk(allocator, see, NULL));
    assert_int_equal(1, seen.count[SHPOOL_DEVICE_LIVE]);
    assert_int_equal(2, seen.count[SHPOOL_DEVICE_IDLE] + seen.count[SHPOOL_DEVICE_PENDING]);
    assert_ptr_equal(live, seen.live);
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
    put(allocator, live, NULL);
    end();
}
