/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is exported and imported, with one process in both roles: the contents on both sides,
 * and that the exporter never reuses exported memory.
 */
#include "share_trial.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

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
    static const char *const specs[] = { "bins", "bins:memory=driver", "simple", "buckets", "async",
                                         "stats|buckets" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        begin(specs[i]);
        play("a=4M@0");
        refuse(block("a"), SHPOOL_ERR_UNSUPPORTED,
               (i < 2) ? "open an allocator with share=1" : "open bins:share=1");
        play("free:a@0");
        end();
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
    begin("simple");
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
    end();
}

UNIT_TEST(test_only_whole_live_allocations_are_exported)
{
    shpool_device_allocator *second;
    shpool_device_handle handle;
    int local;
    char *ptr;
    void *foreign;

    begin(SHARED);
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
    end();
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

        begin(specs[i]);
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
        end();
    }
}

/* The memory of a handle has only one allocation, however small it is. */
UNIT_TEST(test_each_allocation_has_memory_of_its_own)
{
    static const size_t sizes[] = { 1, 256, 2 * MIB, 2 * MIB + 1, 40 * MIB - 7 };
    char *ptr[12];

    begin(SHARED);
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
    end();
}

/* ---- reuse ---- */

static const scene who_has_exported_memory_next[] = {
    { "memory of a capture is not exported", SHARED,
      "pool:1 capture:1 a=2M@1 export:a!UNSUPPORTED 'captured a graph' free:a@1 captured:1 "
      "unpool:1 release:1" },
    /* A layer that hands out a part of its upstream's memory: importers would see its zones. */
    { "guarded memory is not exported", "guard|" SHARED,
      "a=1000@0 export:a!INVALID 'inside the allocation at' free:a@0" },
    /* A large block is not cut for a small request: both would be seen together.  trim:all
     * moves blocks from the stream's list to all; d is of the same class, served whole. */
    { "memory that was not exported is cached", SHARED,
      "a=100@0 b=20M@0 free:a@0 free:b@0 forget c=20M@0 c==b d=7000@0 d==a calls=0 free:d@0 "
      "free:c@0 a=4M@0 driver_bytes=26M free:a@0 pair:66M@0 trim:all d=64M@0 live_bytes=66M "
      "free:d@0" },
    /* Both streams are busy: unmapping memory that a stream still uses would be a violation.
     * The next request finds it in use, and does not wait; after the end the exported 4 MiB
     * go. */
    { "exported memory goes when its streams have finished", SHARED,
      "b=2M@2 a=4M@1 export:a name:a@2 use:a@1 free:a@1 use:b@2 free:a@1!DOUBLE_FREE "
      "driver_bytes=6M pending_bytes=4M forget pair:4M@2 memory_free=0 stream_wait=0 "
      "driver_bytes=10M done pair:6M@2 driver_bytes=12M free:b@2" },
    { "exported memory goes beside idle memory of its size", SHARED,
      "a=4M@1 b=4M@1 export:a free:b@1 c=2M@1 free:a@1 done c2=2M@1 check driver_bytes=8M b=4M@1 "
      "driver_bytes=8M free:b@1 free:c@1 free:c2@1" },
    { "trim waits for exported memory", SHARED,
      "a=4M@1 export:a use:a@1 free:a@1 trim:0 memory_free=1 driver_bytes=0" },
    /* The end finds live, pending and cached memory. */
    { "memory in use is waited for", SHARED,
      "pair:2M@1 a=4M@1 use:a@1 free:a@1 trim:0 memory_free=1 driver_bytes=0 a0-2=2M@1 "
      "use:a0-2@1 export:a0 free:a0-1@1" },
    /* It will never be theirs. */
    { "no stream waits for exported memory", SHARED ",soft=4M",
      "a=4M@1 export:a use:a@1 free:a@1 b=4M@2 use:b@2 stream_wait=0 driver_bytes=8M "
      "free:b@2" },
    /* The host waits, and the capture goes on. */
    { "exported memory is freed during a capture", SHARED,
      "a0-1=2M@2 export:a0-1 pool:1 capture:1 pair:100@1 free:a0@2 use:a1@2 free:a1@2 trim:0 "
      "memory_free=1 captured:1 unpool:1 release:1" },
    { "peers reach shared memory", SHARED,
      "a=100@0 access:a=1 set:peer=1 b=100@0 access:a=3 access:b=3 free:a@0 free:b@0" },
};
SCENES(who_has_exported_memory_next)

/* The importer's bytes do not change, whatever the exporter allocates after its free. */
UNIT_TEST(test_exported_memory_is_not_used_again)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    const char *other;

    begin(SHARED);
    play("a=4M@0");
    memset(block("a"), 'a', 4 * MIB);
    handle = export_of(block("a"));
    import = import_of(&handle);
    shpool_device_handle_close(&handle);
    play("free:a@0 driver_bytes=0 free:a@0!INVALID"); /* its stream was idle */
    for (size_t i = 0; i < 4; i++) {
        play("b%zu=4M@0", i);
        memset(block((const char[]){ 'b', (char)('0' + i), '\0' }), 'z', 4 * MIB);
    }
    other = shpool_device_import_ptr(import);
    for (size_t i = 0; i < 4 * MIB; i += 4096) {
        assert_int_equal('a', other[i]);
    }
    play("free:b0-3@0");
    assert_ok(shpool_device_import_close(import));
    end();
}

/* Memory that importers may still see is not the exporter's any more, so it does not lack it.  The
 * request waits for the stream. */
UNIT_TEST(test_out_of_memory_takes_exported_memory_back)
{
    begin_on(64 * MIB, SHARED);
    play("a=40M@1 export:a use:a@1 free:a@1 a=50M@1 use:a@1 free:a@1");
    end();
}

/* Several exports, imports and descriptors of one allocation, closed in any order. */
UNIT_TEST(test_closes_come_in_any_order)
{
    for (unsigned order = 0; order < 8; order++) {
        shpool_device_handle handle[2];
        shpool_device_import *import[2];
        char *ptr;

        begin(SHARED);
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
        end();
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

    begin(SHARED);
    atomic_store(&offered, NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_create(&thread[i], NULL, share_and_steal,
                                           stream_of((char)('1' + i))));
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_join(thread[i], NULL));
    }
    assert_ok(shpool_device_check(allocator));
    assert_int_equal(0, live_bytes(allocator));
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    end();
}

/* ---- devices ---- */

UNIT_TEST(test_an_import_is_for_one_device)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    void *ptr;

    begin(SHARED);
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
    fake.hermit = 1;
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_device_import_open(&handle, 1, &import));
    assert_detail("device 1 cannot reach the memory of device 0");
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    end();
}

/* Another process may number devices otherwise, or see others. */
UNIT_TEST(test_devices_are_told_by_their_names)
{
    shpool_device_allocator *second;
    shpool_device_handle handle;
    shpool_device_import *import;
    void *ptr;

    begin(SHARED);
    open_allocator(SHARED, 1, &second);
    ptr = get(second, 100, NULL);
    assert_ok(shpool_device_export(second, ptr, &handle));
    import = import_of(&handle);
    assert_int_equal(1, shpool_device_import_device(import));
    assert_ok(shpool_device_import_close(import));
    fake.hidden = 1; /* device 1 is now device 0 */
    import = import_of(&handle);
    assert_int_equal(0, shpool_device_import_device(import));
    assert_ok(shpool_device_import_close(import));
    fake.hidden = 2;
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_import_open(&handle, -1, &import));
    assert_detail("GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a01");
    assert_detail("CUDA_VISIBLE_DEVICES");
    shpool_device_handle_close(&handle);
    put(second, ptr, NULL);
    shpool_device_allocator_unref(second);
    end();
}

/* ---- a child ---- */

#define EXPECT(_condition)                                                                         \
    do {                                                                                           \
        if (!(_condition)) {                                                                       \
            _exit(__LINE__ % 256);                                                                 \
        }                                                                                          \
    } while (0)

/* A child of a process that used the driver cannot use it, but may close and forward handles. */
UNIT_TEST(test_a_forked_child_has_no_driver)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    pid_t child;
    int status;
    void *ptr;

    begin(SHARED);
    ptr = get(allocator, 100, NULL);
    handle = export_of(ptr);
    import = import_of(&handle);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        shpool_device_handle other;
        shpool_device_import *none;
        int pair[2];

        alarm(300);
        EXPECT(shpool_device_export(allocator, ptr, &other) == SHPOOL_ERR_CUDA);
        EXPECT((other.magic == 0) && (other.fd == -1));
        EXPECT(shpool_device_import_open(&handle, -1, &none) == SHPOOL_ERR_CUDA);
        EXPECT(shpool_device_import_close(import) == SHPOOL_OK);
        EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        EXPECT(shpool_device_handle_send(pair[0], &handle) == SHPOOL_OK);
        EXPECT(shpool_device_handle_receive(pair[1], &other) == SHPOOL_OK);
        shpool_device_handle_close(&other);
        shpool_device_handle_close(&handle);
        _exit(0);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status); /* the number of the line that is wrong */
    assert_int_equal(1, fake_holds().imports); /* the child's close did nothing to it */
    assert_ok(shpool_device_import_close(import));
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    end();
}
