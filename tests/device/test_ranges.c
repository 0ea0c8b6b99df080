/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins` with memory=vmm: granules move to where a request needs them, if they are unused,
 * and no failing call loses one. */
#include "base_trial.h"

#define CALLS(_member) fake_calls(FAKE_CALL_##_member)

/* ---- whether ---- */

UNIT_TEST(test_a_driver_that_cannot_is_told)
{
    shpool_device_allocator *none = NULL;

    fake_start(1, 64 * MIB);
    fake_set_current(0);
    fake_without_attribute(CU_ATTRIBUTE_VIRTUAL_MEMORY);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED,
                     shpool_device_allocator_open("bins:memory=vmm", 0, &none));
    assert_null(none);
    assert_detail("memory=vmm is not possible on device 0: the device has no virtual memory "
                  "management; memory=auto or memory=driver works");
    fake_without_attribute(0);
    fake_granularity(3 * MIB);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED,
                     shpool_device_allocator_open("bins:memory=vmm", 0, &none));
    assert_detail("a power of two");
    fake_without_granules();
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED,
                     shpool_device_allocator_open("bins:memory=vmm", 0, &none));
    assert_detail("older than CUDA 10.2");
    open_allocator("bins", 0, &allocator); /* auto */
    put(allocator, get(allocator, 3 * MIB, NULL), NULL);
    assert_int_equal(1, CALLS(memory_alloc));
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_set(allocator, "memory", "vmm"));
    end();
}

UNIT_TEST(test_auto_takes_virtual_memory)
{
    begin("bins");
    put(allocator, get(allocator, 3 * MIB, NULL), NULL);
    put(allocator, get(allocator, 3000, NULL), NULL);
    assert_int_equal(0, CALLS(memory_alloc));
    assert_int_equal(3, CALLS(granule_create));
    end();
    begin("bins:memory=driver");
    put(allocator, get(allocator, 3 * MIB, NULL), NULL);
    assert_int_equal(1, CALLS(memory_alloc));
    assert_int_equal(0, CALLS(granule_create));
    end();
}

UNIT_TEST(test_pages_of_other_sizes)
{
    static const size_t sizes[] = { 65536, 2 * MIB, 8 * MIB };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(sizes); i++) {
        void *ptr;

        fake_start(1, 512 * MIB);
        fake_set_current(0);
        fake_granularity(sizes[i]);
        open_allocator("bins:memory=vmm", 0, &allocator);
        for (size_t bytes = 100; bytes < 60 * MIB; bytes *= 3) {
            ptr = get(allocator, bytes, NULL);
            fake_work(NULL, ptr, bytes);
            put(allocator, ptr, NULL);
        }
        end();
    }
}

/* ---- granules that move ---- */

/* Blocks of 20 MiB on a stream, `count` of them, of which every second is freed. */
static void make_holes(void **ptr, unsigned count, shpool_stream stream)
{
    for (unsigned i = 0; i < count; i++) {
        ptr[i] = get(allocator, 20 * MIB, stream);
        fake_work(stream, ptr[i], 20 * MIB);
    }
    for (unsigned i = 0; i < count; i += 2) {
        put(allocator, ptr[i], stream);
    }
}

static void drop_rest(void **ptr, unsigned count, shpool_stream stream)
{
    for (unsigned i = 1; i < count; i += 2) {
        put(allocator, ptr[i], stream);
    }
}

UNIT_TEST(test_neighbours_of_all_sizes_merge)
{
    void *ptr[20];

    begin("bins:memory=vmm");
    for (size_t i = 0; i < 20; i++) {
        ptr[i] = get(allocator, (1 + i) * MIB, NULL);
    }
    for (size_t i = 0; i < 20; i++) {
        put(allocator, ptr[i], NULL);
    }
    fake_forget_calls();
    put(allocator, get(allocator, 210 * MIB, NULL), NULL);
    assert_int_equal(0, fake_all_calls());
    assert_int_equal(210 * MIB, stats_of(allocator).driver_bytes);
    end();
}

UNIT_TEST(test_idle_memory_moves_without_a_wait)
{
    void *ptr[10];
    void *large;
    shpool_stream stream;

    begin("bins:memory=vmm");
    stream = stable_stream();
    make_holes(ptr, 10, stream);
    fake_finish_all();
    fake_forget_calls();
    large = get(allocator, 100 * MIB, stream);
    fake_work(stream, large, 100 * MIB);
    assert_int_equal(8, CALLS(granule_create)); /* little more than the peak of live bytes */
    assert_int_equal(0, CALLS(granule_unmap) + CALLS(granule_release) + CALLS(memory_free) +
                     CALLS(stream_sync) + CALLS(event_sync));
    assert_int_equal(216 * MIB, stats_of(allocator).driver_bytes);
    put(allocator, large, stream);
    drop_rest(ptr, 10, stream);
    end();
}

/* The stream that uses memory may have it elsewhere at once, another one may not; unmapping it
 * would be a violation. */
UNIT_TEST(test_memory_in_use_moves_for_its_stream_only)
{
    for (unsigned i = 0; i < 2; i++) {
        void *ptr[10];
        void *large;
        shpool_stream stream;
        shpool_stream wants;

        begin("bins:memory=vmm,wait=0,reuse=done");
        stream = stable_stream();
        wants = (i == 0) ? stream : stable_stream();
        make_holes(ptr, 10, stream);
        fake_forget_calls();
        large = get(allocator, 100 * MIB, wants);
        fake_work(wants, large, 100 * MIB);
        assert_int_equal(0, CALLS(granule_unmap) + CALLS(memory_free));
        assert_int_equal((i == 0) ? 216 * MIB : 300 * MIB, stats_of(allocator).driver_bytes);
        assert_ok(shpool_device_check(allocator));
        put(allocator, large, wants);
        drop_rest(ptr, 10, stream);
        end();
    }
}

/* The host does not wait while graphs are captured. */
UNIT_TEST(test_no_wait_during_a_capture)
{
    void *ptr[10];
    void *large;
    shpool_stream stream;

    begin("bins:memory=vmm");
    fake_lag(1000);
    stream = stable_stream();
    make_holes(ptr, 10, stream);
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    large = get(allocator, 100 * MIB, stream);
    fake_work(stream, large, 100 * MIB);
    assert_int_equal(0, CALLS(granule_unmap));
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    assert_ok(shpool_device_capture_release(allocator, 1, 2));
    put(allocator, large, stream);
    drop_rest(ptr, 10, stream);
    end();
}

/* A growing block does not use memory that another stream has not finished with: the host never
 * waits. */
UNIT_TEST(test_a_block_grows_apart_from_memory_in_use)
{
    shpool_stream stream[2];
    void *ptr;
    void *large;

    begin("bins:memory=vmm");
    stream[0] = stable_stream();
    stream[1] = stable_stream();
    ptr = get(allocator, 20 * MIB, stream[0]);
    fake_work(stream[0], ptr, 20 * MIB);
    put(allocator, ptr, stream[0]);
    assert_ok(shpool_device_trim(allocator, SIZE_MAX)); /* merges, and gives nothing back */
    large = get(allocator, 30 * MIB, stream[1]);
    fake_work(stream[1], large, 30 * MIB);
    assert_int_equal(0, CALLS(stream_wait));
    assert_int_equal(50 * MIB, stats_of(allocator).driver_bytes);
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, stream[0]));
    put(allocator, ptr, stream[0]);
    put(allocator, large, stream[1]);
    end();
}

UNIT_TEST(test_small_and_large_memory_change_places)
{
    void *ptr[64];

    begin("bins:memory=vmm,hard=32M");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 64; i++) {
            ptr[i] = get(allocator, MIB / 2, NULL);
        }
        for (int i = 0; i < 64; i++) {
            put(allocator, ptr[i], NULL);
        }
        put(allocator, get(allocator, 32 * MIB, NULL), NULL);
    }
    assert_int_equal(16, CALLS(granule_create));
    assert_int_equal(0, CALLS(granule_release));
    end();
}

/* Few idle bytes stay where they are: new granules cost no more than moves. */
UNIT_TEST(test_little_idle_memory_stays)
{
    void *live;
    void *ptr;

    begin("bins:memory=vmm");
    live = get(allocator, 400 * MIB, NULL);
    ptr = get(allocator, 10 * MIB, NULL);
    put(allocator, ptr, NULL);
    ptr = get(allocator, 15 * MIB, NULL); /* the freed block, and more memory at its end */
    assert_int_equal(0, CALLS(granule_unmap));
    assert_int_equal(416 * MIB, stats_of(allocator).driver_bytes);
    put(allocator, ptr, NULL);
    put(allocator, live, NULL);
    end();
}

/* More addresses are reserved when live blocks fill the reserved ones. */
UNIT_TEST(test_addresses_never_run_out)
{
    void *ptr[16];
    void *large;

    fake_start(1, 64 * MIB);
    fake_set_current(0);
    open_allocator("bins:memory=vmm", 0, &allocator);
    for (int i = 0; i < 16; i++) {
        ptr[i] = get(allocator, 4 * MIB, NULL);
    }
    for (int i = 0; i < 16; i += 2) {
        put(allocator, ptr[i], NULL);
    }
    large = get(allocator, 32 * MIB, NULL);
    fake_work(NULL, large, 32 * MIB);
    assert_int_equal(2, fake_holds().ranges);
    assert_int_equal(64 * MIB, stats_of(allocator).driver_bytes);
    put(allocator, large, NULL);
    for (int i = 1; i < 16; i += 2) {
        put(allocator, ptr[i], NULL);
    }
    end();
}

/* ---- trim, capacity, captures ---- */

UNIT_TEST(test_trim_waits_for_what_is_in_use)
{
    void *ptr;
    shpool_stream stream;

    begin("bins:memory=vmm");
    stream = stable_stream();
    ptr = get(allocator, 20 * MIB, stream);
    fake_work(stream, ptr, 20 * MIB);
    put(allocator, ptr, stream);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    assert_int_equal(0, fake_holds().bytes);
    end();
}

/* Pieces of granules next to live blocks cannot be returned; the host does not wait for them. */
UNIT_TEST(test_trim_does_not_wait_in_vain)
{
    void *ptr[4];
    shpool_stream stream;

    begin("bins:memory=vmm");
    stream = stable_stream();
    for (int i = 0; i < 4; i++) {
        ptr[i] = get(allocator, 3 * MIB, stream);
    }
    put(allocator, ptr[1], stream);
    fake_work(stream, ptr[0], 3 * MIB);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free)); /* for the one granule that lies in it */
    fake_work(stream, ptr[0], 3 * MIB);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free));
    assert_int_equal(10 * MIB, stats_of(allocator).driver_bytes);
    put(allocator, ptr[0], stream);
    put(allocator, ptr[2], stream);
    put(allocator, ptr[3], stream);
    end();
}

/* A graph's memory does not move, whatever moves outside; the host does not wait during
 * captures. */
UNIT_TEST(test_a_graph_s_memory_does_not_move)
{
    void *ptr[10];
    void *mine;
    void *large;
    unsigned graph;
    shpool_stream stream;
    shpool_stream captures;

    begin("bins:memory=vmm");
    stream = stable_stream();
    captures = stable_stream();
    make_holes(ptr, 10, stream);
    fake_finish_all();
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(captures);
    mine = get(allocator, 30 * MIB, captures);
    fake_work(captures, mine, 30 * MIB);
    put(allocator, mine, captures);
    large = get(allocator, 100 * MIB, stream); /* granules move during the capture */
    fake_work(stream, large, 100 * MIB);
    graph = fake_capture_end(captures);
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    put(allocator, large, stream);
    drop_rest(ptr, 10, stream);
    fake_finish_all();
    large = get(allocator, 900 * MIB, stream);
    fake_launch(graph, captures);
    put(allocator, large, stream);
    fake_finish_all();
    assert_ok(shpool_device_trim(allocator, 0));
    fake_launch(graph, captures);
    fake_finish_all();
    assert_ok(shpool_device_capture_release(allocator, 1, 2));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    end();
}

/* ---- peers ---- */

UNIT_TEST(test_peers_reach_what_is_mapped_and_what_will_be)
{
    void *first;
    void *second;

    begin("bins:memory=vmm");
    first = get(allocator, 3 * MIB, NULL);
    assert_int_equal(1, fake_access(first));
    assert_ok(shpool_device_set(allocator, "peer", "1"));
    assert_ok(shpool_device_set(allocator, "peer", "1"));
    assert_ok(shpool_device_set(allocator, "peer", "0")); /* itself */
    second = get(allocator, 5 * MIB, NULL);
    assert_int_equal(3, fake_access(first));
    assert_int_equal(3, fake_access((char *)second + 5 * MIB - 1));
    put(allocator, first, NULL);
    put(allocator, second, NULL);
    end();
    begin("bins:memory=vmm,peer=all");
    first = get(allocator, 100, NULL);
    assert_int_equal(3, fake_access(first));
    put(allocator, first, NULL);
    end();
}

UNIT_TEST(test_a_device_that_is_no_peer_is_refused)
{
    begin("bins:memory=vmm");
    put(allocator, get(allocator, 3 * MIB, NULL), NULL);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_set(allocator, "peer", "7"));
    assert_int_equal(SHPOOL_ERR_SPEC, shpool_device_set(allocator, "peer", "x"));
    fake_without_peers(1);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_device_set(allocator, "peer", "1"));
    assert_detail("device 1 cannot reach memory of device 0");
    assert_ok(shpool_device_set(allocator, "peer", "all"));
    fake_without_peers(-1);
    for (unsigned long n = 1;; n++) {
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        if (shpool_device_set(allocator, "peer", "1") == SHPOOL_OK) {
            break;
        }
        put(allocator, get(allocator, 3 * MIB, NULL), NULL);
    }
    fake_fail(0, CU_SUCCESS);
    end();
}

/* ---- failures ---- */

static fake_held lost;

static void receive(shpool_level level, const char *text, void *user)
{
    unsigned count;
    unsigned long long bytes;
    char what[32];

    (void)level;
    (void)user;
    if (sscanf(text, "lost until the process ends, on device 0: %u %31[a-z ], %llu", &count, what,
               &bytes) != 3) {
        return;
    }
    if (strcmp(what, "allocations") == 0) {
        lost.bytes += bytes;
        lost.allocations += count;
    } else if (strcmp(what, "ranges of addresses") == 0) {
        lost.ranges += count;
    }
}

/* The driver itself frees a process's memory when the process ends. */
UNIT_TEST(test_the_end_of_the_driver_loses_nothing)
{
    shpool_set_message_handler(receive, NULL);
    memset(&lost, 0, sizeof(lost));
    begin("bins:memory=vmm");
    put(allocator, get(allocator, 20 * MIB, NULL), NULL);
    fake_fail_from(1, CU_ERROR_DEINITIALIZED);
    shpool_device_allocator_unref(allocator);
    assert_int_equal(0, lost.allocations + lost.ranges);
    (void)fake_stop();
}

/* A process may have little address space: then a range is no larger than necessary. */
UNIT_TEST(test_few_addresses_serve_too)
{
    void *ptr;

    begin("bins:memory=vmm");
    fake_limit_range(100 * MIB);
    ptr = get(allocator, 20 * MIB, NULL);
    fake_work(NULL, ptr, 20 * MIB);
    assert_int_equal(1, fake_holds().ranges);
    put(allocator, ptr, NULL);
    end();
}

/* Granules are created, moved, unmapped for others, and returned; the program does without refused
 * ones.  Large blocks are windows. */
static void live(void)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    void *ptr[8] = { NULL };
    void *large[4] = { NULL };

    (void)shpool_device_stream_stable(allocator, stream);
    for (int round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 8; i++) {
            (void)shpool_device_malloc(allocator, (3 + i) * MIB, stream, &ptr[i]);
            (void)((ptr[i] == NULL) ? (void)0 : fake_work(stream, ptr[i], 3 * MIB));
        }
        for (unsigned i = 0; i < 8; i += 2) {
            (void)shpool_device_free(allocator, ptr[i], stream);
        }
        fake_finish_all();
        for (unsigned i = 0; i < 4; i++) {
            const size_t bytes[] = { 11 * MIB, 15 * MIB, 70000, 18 * MIB };

            (void)shpool_device_malloc(allocator, bytes[i], stream, &large[i]);
            (void)((large[i] == NULL) ? (void)0 : fake_work(stream, large[i], 70000));
            assert_ok(shpool_device_check(allocator));
        }
        (void)((round % 3 == 2) ? shpool_device_trim(allocator, 4 * MIB) : SHPOOL_OK);
        for (unsigned i = 1; i < 8; i += 2) {
            (void)shpool_device_free(allocator, ptr[i], stream);
        }
        for (unsigned i = 0; i < 4; i++) {
            (void)shpool_device_free(allocator, large[i], stream);
        }
    }
}

/* One more run, in which the nth call fails and then another one or none; 0: none was left to fail.
 * Afterwards all of the device can be had.  lag: the host waits for the GPU. */
static int fail_once(unsigned long n, unsigned long then, unsigned lag)
{
    fake_held held;
    int failed;

    memset(&lost, 0, sizeof(lost));
    fake_start(1, 64 * MIB);
    fake_set_current(0);
    fake_lag(lag);
    open_allocator((lag > 0) ? "bins:memory=vmm" : "bins:memory=vmm,wait=0", 0, &allocator);
    fake_fail(n, (n % 2) ? CU_ERROR_INVALID_VALUE : CU_ERROR_OUT_OF_MEMORY);
    fake_fail_again(then);
    live();
    failed = fake_failed();
    fake_fail((then == 2) ? 1 + n % 7 : 0, CU_ERROR_INVALID_VALUE); /* at the end, too */
    if (then < 2) {
        assert_ok(shpool_device_trim(allocator, 0));
        assert_int_equal(0, stats_of(allocator).driver_bytes);
        put(allocator, get(allocator, 64 * MIB, NULL), NULL);
        assert_int_equal(0, live_bytes(allocator));
    }
    assert_ok(shpool_device_check(allocator));
    shpool_device_allocator_unref(allocator);
    held = fake_stop();
    if ((held.bytes != lost.bytes) || (held.allocations != lost.allocations) ||
        (held.ranges != lost.ranges) || (fake_first_violation()[0] != '\0')) {
        fail_msg("failures %lu, %lu: %llu bytes, %u granules, %u ranges are held, %llu, %u, %u "
                 "were said; %s", n, then, (unsigned long long)held.bytes, held.allocations,
                 held.ranges, (unsigned long long)lost.bytes, lost.allocations, lost.ranges,
                 fake_first_violation());
    }
    return failed;
}

/* A granule that failing calls left mapped goes back, too. */
UNIT_TEST(test_trim_gives_back_what_was_left)
{
    int failed = 1;

    for (unsigned long n = 1; failed; n++) {
        void *ptr = NULL;

        begin("bins:memory=vmm");
        fake_fail_from(n, CU_ERROR_INVALID_VALUE);
        (void)shpool_device_malloc(allocator, 3 * MIB, NULL, &ptr);
        failed = fake_failed();
        fake_fail_from(0, CU_SUCCESS);
        assert_ok(shpool_device_check(allocator));
        put(allocator, ptr, NULL);
        assert_ok(shpool_device_trim(allocator, 0));
        assert_int_equal(0, fake_holds().bytes);
        end();
    }
}

UNIT_TEST(test_no_failing_call_loses_memory)
{
    unsigned long n = 1;

    shpool_set_message_handler(receive, NULL);
    while (fail_once(n, (n / 2) % 3, 0)) {
        n++;
    }
    assert_true(n > 200);
    for (n = 1; fail_once(n, (n / 2) % 3, 2);) {
        n++;
    }
    assert_true(n > 200);
}
