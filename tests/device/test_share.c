/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is exported and imported, with one process in both roles: the contents on both sides,
 * and that the exporter never reuses exported memory.
 */
#include "share_trial.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#define CALLS(_member) fake_calls(FAKE_CALL_##_member)

static unsigned descriptors; /* when a test began */

static void start(const char *spec)
{
    descriptors = count_descriptors();
    begin(spec);
}

static void finish(void)
{
    assert_int_equal(0, fake_holds().imports);
    end();
    assert_int_equal(descriptors, count_descriptors());
}

/* ---- exporting ---- */

static void refuse(const void *ptr, shpool_status status, const char *detail)
{
    shpool_device_handle handle;

    memset(&handle, 1, sizeof(handle));
    assert_int_equal(status, shpool_device_export(allocator, ptr, &handle));
    assert_detail(detail);
    assert_int_equal(0, handle.magic);
    assert_int_equal(-1, handle.fd);
}

UNIT_TEST(test_what_cannot_be_exported_says_what_can)
{
    static const struct { const char *spec; const char *detail; } cases[] = {
        { "bins", "open an allocator with share=1" },
        { "bins:memory=driver", "open an allocator with share=1" },
        { "simple", "open bins:share=1" },
        { "buckets", "open bins:share=1" },
        { "async", "open bins:share=1" },
        { "stats|buckets", "open bins:share=1" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        void *ptr;

        start(cases[i].spec);
        ptr = get(allocator, 4 * MIB, NULL);
        refuse(ptr, SHPOOL_ERR_UNSUPPORTED, cases[i].detail);
        put(allocator, ptr, NULL);
        finish();
    }
}

static void refuse_to_open(const char *spec, shpool_status status, const char *detail)
{
    shpool_device_allocator *none = NULL;

    assert_int_equal(status, shpool_device_allocator_open(spec, 0, &none));
    assert_null(none);
    assert_detail(detail);
}

UNIT_TEST(test_what_cannot_export_is_not_opened)
{
    start("simple");
    refuse_to_open("bins:share=1,memory=driver", SHPOOL_ERR_SPEC, "not memory=driver");
    refuse_to_open("bins:share=2", SHPOOL_ERR_SPEC, "share");
    fake_without_attribute(CU_ATTRIBUTE_VIRTUAL_DESCRIPTORS);
    refuse_to_open(SHARED, SHPOOL_ERR_UNSUPPORTED, "share=1 is not possible on device 0: the "
                   "driver does not export memory as POSIX descriptors");
    fake_without_attribute(CU_ATTRIBUTE_VIRTUAL_MEMORY);
    refuse_to_open(SHARED, SHPOOL_ERR_UNSUPPORTED, "no virtual memory management");
    fake_without_attribute(0);
    fake_without_sharing();
    refuse_to_open(SHARED, SHPOOL_ERR_UNSUPPORTED, "CUDA 11.4");
    finish();
}

UNIT_TEST(test_only_whole_live_allocations_are_exported)
{
    shpool_device_allocator *second;
    shpool_device_handle handle;
    int local;
    char *ptr;
    void *foreign;

    start(SHARED);
    open_allocator(SHARED, 1, &second);
    ptr = get(allocator, 4 * MIB, NULL);
    foreign = get(second, 4 * MIB, NULL);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_export(NULL, ptr, &handle));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_export(allocator, ptr, NULL));
    refuse(NULL, SHPOOL_ERR_INVALID, "ptr");
    refuse(&local, SHPOOL_ERR_INVALID, "no live allocation");
    refuse(foreign, SHPOOL_ERR_INVALID, "no live allocation"); /* of another device */
    refuse(ptr + 4 * MIB, SHPOOL_ERR_INVALID, "no live allocation");
    refuse(ptr + 77, SHPOOL_ERR_INVALID, "inside the allocation at");
    refuse(ptr + 2 * MIB, SHPOOL_ERR_INVALID, "inside the allocation at");
    put(allocator, ptr, NULL);
    refuse(ptr, SHPOOL_ERR_INVALID, "no longer live"); /* cached */
    assert_ok(shpool_device_trim(allocator, 0));
    refuse(ptr, SHPOOL_ERR_INVALID, "no live allocation");
    put(second, foreign, NULL);
    shpool_device_allocator_unref(second);
    finish();
}

UNIT_TEST(test_memory_of_a_capture_is_not_exported)
{
    shpool_stream stream;
    void *ptr;

    start(SHARED);
    stream = stable_stream();
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(stream);
    ptr = get(allocator, 2 * MIB, stream);
    refuse(ptr, SHPOOL_ERR_UNSUPPORTED, "captured a graph");
    put(allocator, ptr, stream);
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    assert_ok(shpool_device_capture_release(allocator, 1, 2));
    finish();
}

/* ---- importing ---- */

UNIT_TEST(test_both_see_the_same_bytes)
{
    static const char *const specs[] = { SHARED, "bins:share=1,memory=vmm",
                                         "stats|limit:bytes=1G|" SHARED };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        shpool_device_handle handle;
        shpool_device_import *import;
        char *ptr;
        char *other;

        start(specs[i]);
        ptr = get(allocator, 6 * MIB - 100, NULL);
        memset(ptr, 'a', 6 * MIB - 100);
        handle = export_of(ptr);
        assert_int_equal(FD_CLOEXEC, fcntl(handle.fd, F_GETFD));
        import = import_of(&handle);
        shpool_device_handle_close(&handle);
        assert_int_equal(-1, handle.fd);
        other = shpool_device_import_ptr(import);
        assert_true(other != ptr);
        assert_int_equal(6 * MIB, shpool_device_import_bytes(import));
        assert_int_equal(0, shpool_device_import_device(import));
        assert_int_equal('a', other[0]);
        ptr[0] = 'b';
        assert_int_equal('b', other[0]);
        other[6 * MIB - 101] = 'c';
        assert_int_equal('c', ptr[6 * MIB - 101]);
        fake_work(NULL, other, 6 * MIB);
        assert_ok(shpool_device_import_close(import));
        assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_set(allocator, "share", "0"));
        put(allocator, ptr, NULL);
        finish();
    }
}

/* A layer that hands out a part of its upstream's memory: importers would see its zones. */
UNIT_TEST(test_guarded_memory_is_not_exported)
{
    void *ptr;

    start("guard|" SHARED);
    ptr = get(allocator, 1000, NULL);
    refuse(ptr, SHPOOL_ERR_INVALID, "inside the allocation at");
    put(allocator, ptr, NULL);
    finish();
}

/* The memory of a handle has only one allocation, however small it is. */
UNIT_TEST(test_each_allocation_has_memory_of_its_own)
{
    static const size_t sizes[] = { 1, 256, 2 * MIB, 2 * MIB + 1, 40 * MIB - 7 };
    char *ptr[12];

    start(SHARED);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            ptr[i] = get(allocator, sizes[(i + round) % SHPOOL_ARRAY_COUNT(sizes)], NULL);
        }
        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            shpool_device_handle handle = export_of(ptr[i]);

            assert_true(handle.bytes >= sizes[(i + round) % SHPOOL_ARRAY_COUNT(sizes)]);
            for (size_t k = 0; k < SHPOOL_ARRAY_COUNT(ptr); k++) {
                assert_true((k == i) || (ptr[k] < ptr[i]) || (ptr[k] >= ptr[i] + handle.bytes));
            }
            shpool_device_handle_close(&handle);
        }
        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            put(allocator, ptr[i], NULL);
        }
    }
    finish();
}

/* ---- reuse ---- */

UNIT_TEST(test_what_was_not_exported_is_cached)
{
    void *small;
    void *large;

    start(SHARED);
    small = get(allocator, 100, NULL);
    large = get(allocator, 20 * MIB, NULL);
    put(allocator, small, NULL);
    put(allocator, large, NULL);
    fake_forget_calls();
    assert_ptr_equal(large, get(allocator, 20 * MIB, NULL));
    assert_ptr_equal(small, get(allocator, 7000, NULL));
    assert_int_equal(0, fake_all_calls());
    put(allocator, small, NULL);
    put(allocator, large, NULL);
    /* a large one is not cut for a small request: both would be seen together */
    small = get(allocator, 4 * MIB, NULL);
    assert_int_equal(26 * MIB, stats_of(allocator).driver_bytes);
    put(allocator, small, NULL);
    put(allocator, get(allocator, 66 * MIB, NULL), NULL);
    assert_ok(shpool_device_trim(allocator, SIZE_MAX)); /* from the stream's list to all */
    large = get(allocator, 64 * MIB, NULL); /* of one class: served by it, whole */
    assert_int_equal(66 * MIB, live_bytes(allocator));
    put(allocator, large, NULL);
    finish();
}

/* The importer's bytes do not change, whatever the exporter allocates after its free. */
UNIT_TEST(test_exported_memory_is_not_used_again)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    char *ptr;
    char *other;
    void *next[4];

    start(SHARED);
    ptr = get(allocator, 4 * MIB, NULL);
    memset(ptr, 'a', 4 * MIB);
    handle = export_of(ptr);
    import = import_of(&handle);
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    assert_int_equal(0, stats_of(allocator).driver_bytes); /* its stream was idle */
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, ptr, NULL));
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(next); i++) {
        next[i] = get(allocator, 4 * MIB, NULL);
        memset(next[i], 'z', 4 * MIB);
    }
    other = shpool_device_import_ptr(import);
    for (size_t i = 0; i < 4 * MIB; i += 4096) {
        assert_int_equal('a', other[i]);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(next); i++) {
        put(allocator, next[i], NULL);
    }
    assert_ok(shpool_device_import_close(import));
    finish();
}

/* Unmapping memory that a stream still uses would be a violation. */
UNIT_TEST(test_exported_memory_goes_when_its_streams_have_finished)
{
    shpool_stream stream;
    shpool_stream user;
    shpool_device_handle handle;
    void *other;
    void *ptr;

    start(SHARED);
    stream = stable_stream();
    user = stable_stream();
    other = get(allocator, 2 * MIB, user);
    ptr = get(allocator, 4 * MIB, stream);
    handle = export_of(ptr);
    shpool_device_handle_close(&handle);
    assert_ok(shpool_device_record_stream(allocator, ptr, user));
    fake_work(stream, ptr, 4 * MIB);
    put(allocator, ptr, stream);
    fake_work(user, other, 2 * MIB); /* both streams are busy */
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr, stream));
    assert_int_equal(6 * MIB, stats_of(allocator).driver_bytes);
    assert_int_equal(4 * MIB, stats_of(allocator).pending_bytes);
    put(allocator, get(allocator, 4 * MIB, user), user); /* finds it in use, and does not wait */
    assert_int_equal(0, CALLS(memory_free) + CALLS(stream_wait));
    assert_int_equal(10 * MIB, stats_of(allocator).driver_bytes);
    fake_finish_all();
    put(allocator, get(allocator, 6 * MIB, user), user);
    assert_int_equal(12 * MIB, stats_of(allocator).driver_bytes); /* the exported 4 went */
    put(allocator, other, user);
    finish();
}

UNIT_TEST(test_trim_waits_for_exported_memory)
{
    shpool_stream stream;
    shpool_device_handle handle;
    void *ptr;

    start(SHARED);
    stream = stable_stream();
    ptr = get(allocator, 4 * MIB, stream);
    handle = export_of(ptr);
    shpool_device_handle_close(&handle);
    fake_work(stream, ptr, 4 * MIB);
    put(allocator, ptr, stream);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    finish();
}

/* The device may still be at it, exported or not. */
UNIT_TEST(test_memory_in_use_is_waited_for)
{
    shpool_stream stream;
    shpool_device_handle handle;
    void *ptr[3];

    start(SHARED);
    stream = stable_stream();
    put(allocator, get(allocator, 2 * MIB, stream), stream);
    ptr[0] = get(allocator, 4 * MIB, stream);
    fake_work(stream, ptr[0], 4 * MIB);
    put(allocator, ptr[0], stream);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    for (int i = 0; i < 3; i++) {
        ptr[i] = get(allocator, 2 * MIB, stream);
        fake_work(stream, ptr[i], 2 * MIB);
    }
    handle = export_of(ptr[0]);
    shpool_device_handle_close(&handle);
    put(allocator, ptr[0], stream);
    put(allocator, ptr[1], stream);
    finish(); /* live, pending and cached memory */
}

/* Streams do not wait for exported memory either: it will never be theirs. */
UNIT_TEST(test_nobody_waits_for_exported_memory)
{
    shpool_stream stream;
    shpool_stream other;
    shpool_device_handle handle;
    void *ptr;

    start(SHARED ",soft=4M");
    stream = stable_stream();
    other = stable_stream();
    ptr = get(allocator, 4 * MIB, stream);
    handle = export_of(ptr);
    shpool_device_handle_close(&handle);
    fake_work(stream, ptr, 4 * MIB);
    put(allocator, ptr, stream);
    ptr = get(allocator, 4 * MIB, other);
    fake_work(other, ptr, 4 * MIB);
    assert_int_equal(0, CALLS(stream_wait));
    assert_int_equal(8 * MIB, stats_of(allocator).driver_bytes);
    put(allocator, ptr, other);
    finish();
}

/* Memory that importers may still see is not the exporter's any more, so it does not lack it. */
UNIT_TEST(test_out_of_memory_takes_exported_memory_back)
{
    shpool_stream stream;
    shpool_device_handle handle;
    void *ptr;

    descriptors = count_descriptors();
    fake_start(1, 64 * MIB);
    fake_set_current(0);
    open_allocator(SHARED, 0, &allocator);
    stream = stable_stream();
    ptr = get(allocator, 40 * MIB, stream);
    handle = export_of(ptr);
    shpool_device_handle_close(&handle);
    fake_work(stream, ptr, 40 * MIB);
    put(allocator, ptr, stream);
    ptr = get(allocator, 50 * MIB, stream); /* waits for the stream */
    fake_work(stream, ptr, 50 * MIB);
    put(allocator, ptr, stream);
    finish();
}

UNIT_TEST(test_exported_memory_is_freed_during_a_capture)
{
    shpool_stream stream;
    shpool_stream other;
    shpool_device_handle handle;
    void *ptr[2];

    start(SHARED);
    stream = stable_stream();
    other = stable_stream();
    for (int i = 0; i < 2; i++) {
        ptr[i] = get(allocator, 2 * MIB, other);
        handle = export_of(ptr[i]);
        shpool_device_handle_close(&handle);
    }
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(stream);
    put(allocator, get(allocator, 100, stream), stream);
    put(allocator, ptr[0], other);
    fake_work(other, ptr[1], 2 * MIB);
    put(allocator, ptr[1], other);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(1, CALLS(memory_free)); /* the host waits, and the capture goes on */
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    assert_ok(shpool_device_capture_release(allocator, 1, 2));
    finish();
}

/* Several exports, imports and descriptors of one allocation, closed in any order. */
UNIT_TEST(test_closes_come_in_any_order)
{
    for (unsigned order = 0; order < 8; order++) {
        shpool_device_handle handle[2];
        shpool_device_import *import[2];
        char *ptr;

        start(SHARED);
        ptr = get(allocator, 2 * MIB, NULL);
        ptr[5] = 'e';
        for (int i = 0; i < 2; i++) {
            handle[i] = export_of(ptr);
            import[i] = import_of(&handle[i]);
        }
        assert_int_not_equal(handle[0].fd, handle[1].fd);
        if (order & 1) {
            put(allocator, ptr, NULL);
        }
        shpool_device_handle_close(&handle[0]);
        assert_ok(shpool_device_import_close(import[(order >> 1) & 1]));
        assert_int_equal('e', ((char *)shpool_device_import_ptr(import[!((order >> 1) & 1)]))[5]);
        if (order & 4) {
            shpool_device_handle_close(&handle[1]);
        }
        assert_ok(shpool_device_import_close(import[!((order >> 1) & 1)]));
        if (!(order & 1)) {
            put(allocator, ptr, NULL);
        }
        shpool_device_handle_close(&handle[1]);
        shpool_device_handle_close(&handle[1]); /* empty now */
        finish();
    }
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS  200

static _Atomic(char *) offered; /* may be freed at any moment */

/* Allocates, exports, imports and frees on its own stream, and imports the handles of others. */
static void *share_and_steal(void *arg)
{
    shpool_stream stream = arg;

    for (int round = 0; round < ROUNDS; round++) {
        char *ptr = get(allocator, 2 * MIB, stream);
        char *other;
        shpool_device_handle handle;
        shpool_device_import *import;

        ptr[0] = (char)round;
        if (round % 3 == 0) {
            handle = export_of(ptr);
            import = import_of(&handle);
            shpool_device_handle_close(&handle);
            assert_int_equal((char)round, *(char *)shpool_device_import_ptr(import));
            assert_ok(shpool_device_import_close(import));
        }
        other = atomic_exchange(&offered, ptr);
        if (other == NULL) {
            other = ptr;
        }
        if (shpool_device_export(allocator, other, &handle) == SHPOOL_OK) {
            shpool_device_handle_close(&handle);
        } else {
            assert_int_equal(0, handle.magic);
        }
        put(allocator, ptr, stream);
    }
    return arg;
}

UNIT_TEST(test_threads_export_what_others_free)
{
    pthread_t thread[THREADS];

    start(SHARED);
    atomic_store(&offered, NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_create(&thread[i], NULL, share_and_steal, stable_stream()));
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_join(thread[i], NULL));
    }
    assert_ok(shpool_device_check(allocator));
    assert_int_equal(0, live_bytes(allocator));
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    finish();
}

/* ---- devices ---- */

UNIT_TEST(test_peers_reach_shared_memory)
{
    void *before;
    void *after;

    start(SHARED);
    before = get(allocator, 100, NULL);
    assert_int_equal(1, fake_access(before));
    assert_ok(shpool_device_set(allocator, "peer", "1"));
    after = get(allocator, 100, NULL);
    assert_int_equal(3, fake_access(before));
    assert_int_equal(3, fake_access(after));
    put(allocator, before, NULL);
    put(allocator, after, NULL);
    finish();
}

UNIT_TEST(test_an_import_is_for_one_device)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    void *ptr;

    start(SHARED);
    ptr = get(allocator, 100, NULL);
    handle = export_of(ptr);
    assert_ok(shpool_device_import_open(&handle, 1, &import));
    assert_int_equal(1, shpool_device_import_device(import));
    assert_int_equal(2, fake_access(shpool_device_import_ptr(import)));
    assert_int_equal(0, fake_current());
    assert_ok(shpool_device_import_close(import));
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_import_open(&handle, 7, &import));
    assert_null(import);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_import_open(&handle, -2, &import));
    fake_without_peers(1);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_device_import_open(&handle, 1, &import));
    assert_detail("device 1 cannot reach the memory of device 0");
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    finish();
}

/* Another process may number devices otherwise, or see others. */
UNIT_TEST(test_devices_are_told_by_their_names)
{
    shpool_device_allocator *second;
    shpool_device_handle handle;
    shpool_device_import *import;
    void *ptr;

    start(SHARED);
    open_allocator(SHARED, 1, &second);
    ptr = get(second, 100, NULL);
    assert_ok(shpool_device_export(second, ptr, &handle));
    import = import_of(&handle);
    assert_int_equal(1, shpool_device_import_device(import));
    assert_ok(shpool_device_import_close(import));
    fake_hide_devices(1); /* device 1 is now device 0 */
    import = import_of(&handle);
    assert_int_equal(0, shpool_device_import_device(import));
    assert_ok(shpool_device_import_close(import));
    fake_hide_devices(2);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_import_open(&handle, -1, &import));
    assert_detail("GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a01");
    assert_detail("CUDA_VISIBLE_DEVICES");
    shpool_device_handle_close(&handle);
    put(second, ptr, NULL);
    shpool_device_allocator_unref(second);
    finish();
}
