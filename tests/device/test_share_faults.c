/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of the driver fails in turn while memory is shared: nothing is lost unless reported,
 * no descriptor stays open, and exported memory is not reused. */
#include "share_trial.h"

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
    } else if (strcmp(what, "imported allocations") == 0) {
        lost.imports += count;
    } else if (strcmp(what, "ranges of addresses") == 0) {
        lost.ranges += count;
    } else {
        assert_string_equal("events", what); /* not of memory */
    }
}

/* The importer: opens, works, closes; if the driver refuses to close, it closes again. */
static void import_and_close(const shpool_device_handle *handle)
{
    shpool_device_import *import;

    if (shpool_device_import_open(handle, -1, &import) != SHPOOL_OK) {
        assert_null(import);
        return;
    }
    fake_work(NULL, shpool_device_import_ptr(import), 1000);
    for (int i = 0; (i < 4) && (shpool_device_import_close(import) != SHPOOL_OK); i++) {
        assert_true(i < 3);
    }
}

/* A small program, which goes on without memory that it is refused. */
static void live(void)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    void *ptr[6] = { NULL };

    (void)shpool_device_stream_stable(allocator, stream);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            shpool_device_handle handle;

            (void)shpool_device_malloc(allocator, 2 * MIB * (1 + i % 3), stream, &ptr[i]);
            if (ptr[i] == NULL) {
                continue;
            }
            fake_work(stream, ptr[i], 2 * MIB);
            if ((i % 2 == 0) &&
                (shpool_device_export(allocator, ptr[i], &handle) == SHPOOL_OK)) {
                import_and_close(&handle);
                shpool_device_handle_close(&handle);
            }
            if (i == 4) {
                (void)shpool_device_record_stream(allocator, ptr[i], SHPOOL_STREAM_LEGACY);
            }
        }
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            for (int n = 0; shpool_device_free(allocator, ptr[i], stream) != SHPOOL_OK; n++) {
                assert_true(n < 3); /* it was not lost */
            }
            ptr[i] = NULL;
        }
        assert_ok(shpool_device_check(allocator));
        fake_finish_all();
        (void)shpool_device_trim(allocator, (round == 0) ? 4 * MIB : 0);
        assert_ok(shpool_device_check(allocator));
    }
}

static int fail_once(const char *spec, unsigned long n, unsigned long then)
{
    unsigned descriptors = count_descriptors();
    fake_held held;
    int failed;

    memset(&lost, 0, sizeof(lost));
    fake_start(1, 64 * MIB);
    fake_set_current(0);
    open_allocator(spec, 0, &allocator);
    fake_fail(n, (n % 2) ? CU_ERROR_INVALID_VALUE : CU_ERROR_OUT_OF_MEMORY);
    fake_fail_again(then);
    live();
    failed = fake_failed();
    fake_fail((then == 2) ? 1 + n % 7 : 0, CU_ERROR_INVALID_VALUE); /* at the end, too */
    fake_fail_again((then == 2) ? 1 + n % 11 : 0);
    if (then < 2) {
        fake_finish_all();
        assert_ok(shpool_device_trim(allocator, 0));
        assert_int_equal(0, stats_of(allocator).driver_bytes);
        assert_int_equal(0, live_bytes(allocator));
        if (lost.imports == 0) {
            assert_int_equal(lost.allocations, fake_holds().allocations);
        }
    }
    assert_ok(shpool_device_check(allocator));
    shpool_device_allocator_unref(allocator);
    held = fake_stop();
    /* an import that could not be undone keeps addresses, too */
    if ((held.bytes != lost.bytes) || (held.allocations != lost.allocations) ||
        (held.imports > lost.imports) || (held.ranges < lost.ranges) ||
        (held.ranges > lost.ranges + lost.imports) || (fake_first_violation()[0] != '\0')) {
        fail_msg("%s, failures %lu, %lu: %llu bytes, %u allocations, %u ranges, %u imports are "
                 "held, %llu, %u, %u, %u were said; %s", spec, n, then,
                 (unsigned long long)held.bytes, held.allocations, held.ranges, held.imports,
                 (unsigned long long)lost.bytes, lost.allocations, lost.ranges, lost.imports,
                 fake_first_violation());
    }
    assert_int_equal(descriptors, count_descriptors());
    return failed;
}

static void fail_all(const char *spec)
{
    unsigned long n = 1;

    shpool_set_message_handler(receive, NULL);
    while (fail_once(spec, n, (n / 2) % 3)) {
        n++;
    }
    assert_true(n > 100);
}

static void test_no_failing_call_loses_memory(void **state)
{
    (void)state;
    fail_all(SHARED);
}

/* The end of the process: the driver takes everything back by itself. */
static void test_the_end_of_the_driver_loses_nothing(void **state)
{
    shpool_device_handle handle;

    (void)state;
    shpool_set_message_handler(receive, NULL);
    memset(&lost, 0, sizeof(lost));
    begin(SHARED);
    handle = export_of(get(allocator, 100, NULL));
    shpool_device_handle_close(&handle);
    put(allocator, get(allocator, 5 * MIB, NULL), NULL);
    fake_fail_from(1, CU_ERROR_DEINITIALIZED);
    shpool_device_allocator_unref(allocator);
    assert_int_equal(0, lost.allocations + lost.ranges);
    (void)fake_stop();
}

/* Exported memory that the driver refuses to unmap is kept, and goes later. */
static void test_exported_memory_that_is_refused_goes_later(void **state)
{
    shpool_device_handle handle;
    void *ptr;

    (void)state;
    for (unsigned long n = 1; n < 12; n++) {
        begin(SHARED);
        ptr = get(allocator, 4 * MIB, NULL);
        handle = export_of(ptr);
        shpool_device_handle_close(&handle);
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        assert_ok(shpool_device_free(allocator, ptr, NULL));
        fake_fail(0, CU_SUCCESS);
        assert_ok(shpool_device_check(allocator));
        put(allocator, get(allocator, 4 * MIB, NULL), NULL);
        assert_ok(shpool_device_trim(allocator, 0));
        assert_int_equal(0, stats_of(allocator).driver_bytes);
        end();
    }
}

int main(void)
{
#define TEST(_name) cmocka_unit_test_setup(_name, clear_environment)
    const struct CMUnitTest tests[] = {
        TEST(test_no_failing_call_loses_memory),
        TEST(test_the_end_of_the_driver_loses_nothing),
        TEST(test_exported_memory_that_is_refused_goes_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
