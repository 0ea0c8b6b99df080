/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/buffer.h: life, copies and their order, with the fake driver, which reports work
 * that is not ordered after what touched the same memory. */
#include "unit.h"

#include "fake_driver.h"

#define MEMORY ((uint64_t)256 << 20)

static int setup(void **state)
{
    (void)clear_environment(state);
    fake_start(2, MEMORY);
    return 0;
}

/* Nothing is held, nothing was out of order. */
static int teardown(void **state)
{
    unsigned violations = fake_violations();
    fake_held held;

    (void)state;
    if (violations != 0) {
        print_error("%s\n", fake_first_violation());
    }
    held = fake_stop();
    return (violations != 0) || (held.bytes != 0) || (held.streams != 0) || (held.events != 0) ||
           (held.host_allocations != 0);
}

static shpool_context *context_on(int device, uint32_t flags)
{
    shpool_context_options options = { .bytes = sizeof(options), .flags = flags,
                                       .device = device };
    shpool_context *context = NULL;

    assert_int_equal(shpool_context_create(&options, &context), SHPOOL_OK);
    return context;
}

static shpool_buffer *counting(shpool_context *context, size_t count)
{
    const int32_t first = 0;
    const int32_t step = 1;
    shpool_buffer *buffer = NULL;

    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_I32, count, &buffer), SHPOOL_OK);
    assert_int_equal(shpool_buffer_fill_ascending(buffer, &first, &step), SHPOOL_OK);
    return buffer;
}

/* ---- life ---- */

static void test_what_goes_in_comes_out(void **state)
{
    shpool_context *context = context_on(0, 0);
    const double host[3] = { 0.5, -1, 1e300 };
    double back[3] = { 0, 0, 0 };
    shpool_buffer *buffer = NULL;

    (void)state;
    assert_int_equal(shpool_buffer_create_from(context, SHPOOL_TYPE_F64, 3, host, &buffer),
                     SHPOOL_OK);
    assert_int_equal(shpool_buffer_count(buffer), 3);
    assert_int_equal(shpool_buffer_type(buffer), SHPOOL_TYPE_F64);
    assert_ptr_equal(shpool_buffer_context(buffer), context);
    assert_int_equal((uintptr_t)shpool_buffer_ptr(buffer) % SHPOOL_DEVICE_ALIGNMENT, 0);
    assert_int_equal(shpool_buffer_to_host(buffer, 0, 3, back), SHPOOL_OK);
    assert_memory_equal(back, host, sizeof(host));
    assert_int_equal(shpool_buffer_from_host(buffer, 2, 1, host), SHPOOL_OK);
    assert_int_equal(shpool_buffer_to_host(buffer, 1, 2, back), SHPOOL_OK);
    assert_true((back[0] == -1) && (back[1] == 0.5));
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

static void test_an_empty_buffer_has_no_memory(void **state)
{
    shpool_context *context = context_on(0, 0);
    const float value = 1;
    shpool_buffer *buffer = NULL;

    (void)state;
    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_F32, 0, &buffer), SHPOOL_OK);
    assert_non_null(buffer);
    assert_null(shpool_buffer_ptr(buffer));
    assert_int_equal(shpool_buffer_to_host(buffer, 0, 0, NULL), SHPOOL_OK);
    assert_int_equal(shpool_buffer_fill(buffer, &value), SHPOOL_OK);
    assert_int_equal(shpool_buffer_fill_ascending(buffer, &value, &value), SHPOOL_OK);
    assert_int_equal(shpool_buffer_fill_sorted(buffer, &value, &value, NULL), SHPOOL_OK);
    assert_int_equal(shpool_buffer_copy(buffer, 0, buffer, 0, 0), SHPOOL_OK);
    assert_int_equal(shpool_buffer_record_stream(buffer, SHPOOL_STREAM_LEGACY), SHPOOL_OK);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

static void test_bad_arguments_leave_null_and_a_detail(void **state)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *buffer = (shpool_buffer *)context;

    (void)state;
    assert_int_equal(shpool_buffer_create(NULL, SHPOOL_TYPE_I8, 1, &buffer), SHPOOL_ERR_INVALID);
    assert_null(buffer);
    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_I8, 1, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_create(context, 0, 1, &buffer), SHPOOL_ERR_INVALID);
    assert_detail("no element type");
    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_F64, SIZE_MAX / 8 + 2, &buffer),
                     SHPOOL_ERR_TOO_LARGE); /* wraps to 8 bytes */
    assert_detail("elements of 8 bytes");
    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_F64, MEMORY, &buffer),
                     SHPOOL_ERR_NO_MEMORY);
    assert_null(buffer);
    assert_int_equal(shpool_buffer_create_from(context, SHPOOL_TYPE_F64, 1, NULL, &buffer),
                     SHPOOL_ERR_INVALID);
    assert_null(buffer);
    assert_int_equal(shpool_buffer_wrap(context, NULL, SHPOOL_TYPE_I8, 1, NULL, NULL, &buffer),
                     SHPOOL_ERR_INVALID);
    shpool_buffer_unref(NULL);
    assert_null(shpool_buffer_ref(NULL));
    assert_null(shpool_buffer_ptr(NULL));
    assert_int_equal(shpool_buffer_count(NULL) + shpool_buffer_type(NULL), 0);
    shpool_context_unref(context);
}

/* Its stream stays as long as it does: memory is freed in its order. */
static void test_a_buffer_outlives_its_context(void **state)
{
    shpool_context *context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_buffer *buffer = counting(context, 1000);
    int32_t last = 0;

    (void)state;
    shpool_context_unref(context);
    assert_int_equal(fake_holds().streams, 1);
    assert_int_equal(shpool_buffer_to_host(buffer, 999, 1, &last), SHPOOL_OK);
    assert_int_equal(last, 999);
    shpool_buffer_unref(shpool_buffer_ref(buffer));
    shpool_buffer_unref(buffer);
    assert_int_equal(fake_holds().streams, 0);
}

/* What was replaced in the context still gets its own memory back. */
static void test_a_buffer_goes_back_to_the_allocator_it_came_from(void **state)
{
    shpool_context *context = context_on(0, 0);
    shpool_device_allocator *own = NULL;
    shpool_device_allocator *other = NULL;
    shpool_device_stats stats;
    shpool_buffer *buffer;

    (void)state;
    assert_int_equal(shpool_device_allocator_open("simple", 0, &own), SHPOOL_OK);
    assert_int_equal(shpool_device_allocator_open("simple", 0, &other), SHPOOL_OK);
    assert_int_equal(shpool_context_set_allocator(context, own), SHPOOL_OK);
    buffer = counting(context, 10);
    assert_int_equal(shpool_context_set_allocator(context, other), SHPOOL_OK);
    shpool_device_get_stats(own, &stats);
    assert_int_equal(stats.live_count, 1);
    shpool_buffer_unref(buffer);
    shpool_device_get_stats(own, &stats);
    assert_int_equal(stats.live_count, 0);
    shpool_device_allocator_unref(own);
    shpool_device_allocator_unref(other);
    shpool_context_unref(context);
}

static void count_release(void *ptr, void *user)
{
    void **got = user;

    assert_null(*got);
    *got = ptr;
}

static void test_wrapped_memory_goes_back_to_its_owner_once(void **state)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *whole = counting(context, 100);
    shpool_buffer *part = NULL;
    void *released = NULL;
    int32_t value = 0;

    (void)state;
    assert_int_equal(shpool_buffer_wrap(context, (int32_t *)shpool_buffer_ptr(whole) + 50,
                                        SHPOOL_TYPE_I32, 10, count_release, &released, &part),
                     SHPOOL_OK);
    assert_int_equal(shpool_buffer_to_host(part, 9, 1, &value), SHPOOL_OK);
    assert_int_equal(value, 59);
    assert_int_equal(shpool_buffer_to_host(part, 10, 1, &value), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_record_stream(part, SHPOOL_STREAM_LEGACY),
                     SHPOOL_ERR_UNSUPPORTED);
    shpool_buffer_unref(shpool_buffer_ref(part));
    assert_null(released);
    shpool_buffer_unref(part);
    assert_ptr_equal(released, (int32_t *)shpool_buffer_ptr(whole) + 50);
    assert_int_equal(shpool_buffer_wrap(context, shpool_buffer_ptr(whole), SHPOOL_TYPE_U8, 1, NULL,
                                        NULL, &part), SHPOOL_OK);
    shpool_buffer_unref(part); /* borrowed */
    shpool_buffer_unref(whole);
    shpool_context_unref(context);
}

/* ---- copies ---- */

static void test_ranges_are_checked(void **state)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *a = counting(context, 10);
    shpool_buffer *b = counting(context, 10);
    shpool_buffer *wide = NULL;
    int32_t host[16] = { 0 };

    (void)state;
    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_I64, 10, &wide), SHPOOL_OK);
    fake_forget_calls();
    assert_int_equal(shpool_buffer_to_host(a, 5, 6, host), SHPOOL_ERR_INVALID);
    assert_detail("6 elements from 5 on are not in a buffer of 10");
    assert_int_equal(shpool_buffer_to_host(a, 11, 0, host), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_to_host(a, SIZE_MAX, 2, host), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_from_host(a, 1, SIZE_MAX, host), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_from_host(a, 1, 1, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_from_host(NULL, 0, 1, host), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_to_host_async(a, 10, 1, host), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_copy(a, 1, b, 0, 10), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_copy(a, 0, b, 1, 10), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_copy(a, 0, NULL, 0, 1), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_copy(wide, 0, a, 0, 1), SHPOOL_ERR_INVALID);
    assert_detail("elements of 4 bytes to elements of 8");
    assert_int_equal(shpool_buffer_copy(a, 0, a, 4, 5), SHPOOL_ERR_INVALID);
    assert_detail("overlap");
    assert_int_equal(fake_all_calls(), 0); /* nothing was begun */
    assert_int_equal(shpool_buffer_copy(a, 0, a, 5, 5), SHPOOL_OK);
    assert_int_equal(shpool_buffer_to_host(a, 0, 10, host), SHPOOL_OK);
    assert_int_equal(host[0], 5);
    assert_int_equal(host[4], 9);
    assert_int_equal(host[5], 5);
    shpool_buffer_unref(wide);
    shpool_buffer_unref(b);
    shpool_buffer_unref(a);
    shpool_context_unref(context);
}

/* One that is done has waited for its own stream, one that is not has not waited at all. */
static void test_who_waits_for_what(void **state)
{
    shpool_context *context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_buffer *buffer = counting(context, 10);
    size_t bytes = 0;
    int32_t *pinned = shpool_context_pinned(context, &bytes);

    (void)state;
    assert_int_equal(bytes, 4096);
    fake_forget_calls();
    assert_int_equal(shpool_buffer_to_host_async(buffer, 0, 10, pinned), SHPOOL_OK);
    assert_int_equal(shpool_buffer_from_host_async(buffer, 0, 10, pinned), SHPOOL_OK);
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 0);
    assert_int_equal(shpool_buffer_to_host(buffer, 0, 10, pinned), SHPOOL_OK);
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 1);
    assert_int_equal(shpool_buffer_from_host(buffer, 0, 10, pinned), SHPOOL_OK);
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 2);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

/* Copies follow what a non-blocking stream was given: the legacy stream would not (D13). */
static void test_copies_are_in_the_order_of_an_attached_stream(void **state)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_context_options options = { .bytes = sizeof(options), .stream = stream,
                                       .flags = SHPOOL_CONTEXT_ATTACH };
    shpool_context *context = NULL;
    shpool_buffer *buffer;
    int32_t value = 0;

    (void)state;
    assert_int_equal(shpool_context_create(&options, &context), SHPOOL_OK);
    buffer = counting(context, 10);
    fake_work(stream, shpool_buffer_ptr(buffer), 40);
    assert_int_equal(shpool_buffer_to_host(buffer, 3, 1, &value), SHPOOL_OK);
    assert_int_equal(value, 3);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
    fake_stream_destroy(stream);
}

/* From one stream to another: after what the source's stream was given, and before its memory
 * serves somebody else, although it is dropped at once. */
static void check_copy(int to_device, int from_device, uint32_t from_flags, int wrapped)
{
    shpool_context *to_context = context_on(to_device, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_context *from_context = context_on(from_device, from_flags);
    shpool_buffer *to = counting(to_context, 1000);
    shpool_buffer *from = counting(from_context, 1000);
    shpool_buffer *source = from;
    shpool_buffer *next;
    int32_t value = 0;

    if (wrapped) {
        assert_int_equal(shpool_buffer_wrap(from_context, shpool_buffer_ptr(from), SHPOOL_TYPE_I32,
                                            1000, NULL, NULL, &source), SHPOOL_OK);
    }
    fake_set_current(from_device); /* whose default stream it may be */
    fake_work(shpool_context_stream(from_context), shpool_buffer_ptr(from), 4000);
    assert_int_equal(shpool_buffer_copy(to, 0, source, 500, 500), SHPOOL_OK);
    if (wrapped) {
        shpool_buffer_unref(source);
    }
    shpool_buffer_unref(from);
    next = counting(from_context, 1000); /* reuses the memory */
    assert_int_equal(shpool_buffer_to_host(to, 0, 1, &value), SHPOOL_OK);
    assert_int_equal(value, 500);
    shpool_buffer_unref(next);
    shpool_buffer_unref(to);
    shpool_context_unref(from_context);
    shpool_context_unref(to_context);
}

static void test_copies_between_streams_are_ordered(void **state)
{
    (void)state;
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
    check_copy(0, 0, 0, 0);
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 1);
}

static void test_copies_between_devices_are_ordered(void **state)
{
    (void)state;
    check_copy(1, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
    check_copy(0, 1, 0, 0);
}

/* Default streams of two devices have the same handle, and are not the same. */
static void test_two_default_streams_are_told_apart(void **state)
{
    shpool_context *zero = context_on(0, 0);
    shpool_context *one = context_on(1, 0);
    shpool_buffer *from = counting(zero, 1000);
    shpool_buffer *to = counting(one, 1000);
    int32_t value = 0;

    (void)state;
    fake_forget_calls();
    assert_int_equal(shpool_buffer_copy(to, 0, from, 7, 1), SHPOOL_OK);
    assert_int_equal(fake_calls(FAKE_CALL_stream_wait), 2); /* there, and back again */
    assert_int_equal(shpool_buffer_to_host(to, 0, 1, &value), SHPOOL_OK);
    assert_int_equal(value, 7);
    shpool_buffer_unref(from);
    shpool_buffer_unref(to);
    shpool_context_unref(one);
    shpool_context_unref(zero);
}

static void test_the_callers_current_device_stays(void **state)
{
    shpool_context *context;
    shpool_buffer *buffer;
    int32_t host[10];

    (void)state;
    fake_set_current(0);
    context = context_on(1, SHPOOL_CONTEXT_NEW_STREAM);
    buffer = counting(context, 10);
    assert_int_equal(shpool_buffer_fill(buffer, &(int32_t){ 5 }), SHPOOL_OK);
    assert_int_equal(shpool_buffer_to_host(buffer, 0, 10, host), SHPOOL_OK);
    assert_int_equal(fake_current(), 0);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
    assert_int_equal(fake_current(), 0);
}

/* 1: every call succeeded. */
static int use_buffers(shpool_context *context, shpool_context *other)
{
    static const double host[3] = { 1, 2, 3 };
    double back[3] = { 0, 0, 0 };
    shpool_buffer *buffer = NULL;
    shpool_buffer *copy = NULL;
    int good = (shpool_buffer_create_from(context, SHPOOL_TYPE_F64, 3, host, &buffer) ==
                SHPOOL_OK) &&
               (shpool_buffer_create(other, SHPOOL_TYPE_F64, 3, &copy) == SHPOOL_OK) &&
               (shpool_buffer_fill(copy, host) == SHPOOL_OK) &&
               (shpool_buffer_copy(copy, 0, buffer, 0, 3) == SHPOOL_OK) &&
               (shpool_buffer_to_host(copy, 0, 3, back) == SHPOOL_OK);

    if (good) {
        assert_memory_equal(back, host, sizeof(host));
    } else {
        assert_true(shpool_last_error()[0] != '\0');
    }
    shpool_buffer_unref(copy);
    shpool_buffer_unref(buffer);
    return good;
}

/* Each driver call fails in turn: a status, nothing lost, and the next attempt works. */
static void test_every_failing_call_is_reported_and_nothing_is_lost(void **state)
{
    unsigned long n = 0;
    unsigned lost = 0;
    int failed;

    (void)state;
    do {
        shpool_context *context;
        shpool_context *other;
        fake_start(1, MEMORY);
        context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
        other = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
        fake_forget_calls();
        fake_fail(++n, CU_ERROR_INVALID_VALUE);
        if (!use_buffers(context, other)) {
            assert_true(fake_failed());
        }
        failed = fake_failed();
        fake_fail(0, 0);
        assert_true(use_buffers(context, other));
        shpool_context_unref(other);
        shpool_context_unref(context);
        lost += fake_stop().events;
    } while (failed);
    assert_int_equal(lost, 1); /* the one whose own end failed */
    assert_true(n > 10);
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_goes_in_comes_out),
        TEST(test_an_empty_buffer_has_no_memory),
        TEST(test_bad_arguments_leave_null_and_a_detail),
        TEST(test_a_buffer_outlives_its_context),
        TEST(test_a_buffer_goes_back_to_the_allocator_it_came_from),
        TEST(test_wrapped_memory_goes_back_to_its_owner_once),
        TEST(test_ranges_are_checked),
        TEST(test_who_waits_for_what),
        TEST(test_copies_are_in_the_order_of_an_attached_stream),
        TEST(test_copies_between_streams_are_ordered),
        TEST(test_copies_between_devices_are_ordered),
        TEST(test_two_default_streams_are_told_apart),
        TEST(test_the_callers_current_device_stays),
        TEST(test_every_failing_call_is_reported_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
