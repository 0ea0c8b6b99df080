/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/buffer.h: ownership, copies and their order; the fake driver reports work that is
 * not ordered after earlier work on the same memory. */
#include "trial.h"

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

    assert_ok(shpool_context_create(&options, &context));
    return context;
}

static shpool_buffer *counting(shpool_context *context, size_t count)
{
    const int32_t first = 0;
    const int32_t step = 1;
    shpool_buffer *buffer = NULL;

    assert_ok(shpool_buffer_create(context, SHPOOL_TYPE_I32, count, &buffer));
    assert_ok(shpool_buffer_fill_ascending(buffer, &first, &step));
    return buffer;
}

#define BUFFER_TEST(_name) UNIT_TEST_WITH(_name, setup, teardown)

BUFFER_TEST(test_what_goes_in_comes_out)
{
    shpool_context *context = context_on(0, 0);
    const double host[3] = { 0.5, -1, 1e300 };
    double back[3] = { 0, 0, 0 };
    shpool_buffer *buffer = NULL;

    assert_ok(shpool_buffer_create_from(context, SHPOOL_TYPE_F64, 3, host, &buffer));
    assert_int_equal(shpool_buffer_count(buffer), 3);
    assert_int_equal(shpool_buffer_type(buffer), SHPOOL_TYPE_F64);
    assert_ptr_equal(shpool_buffer_context(buffer), context);
    assert_int_equal((uintptr_t)shpool_buffer_ptr(buffer) % SHPOOL_DEVICE_ALIGNMENT, 0);
    assert_ok(shpool_buffer_to_host(buffer, 0, 3, back));
    assert_memory_equal(back, host, sizeof(host));
    assert_ok(shpool_buffer_from_host(buffer, 2, 1, host));
    assert_ok(shpool_buffer_to_host(buffer, 1, 2, back));
    assert_true((back[0] == -1) && (back[1] == 0.5));
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

BUFFER_TEST(test_an_empty_buffer_has_no_memory)
{
    shpool_context *context = context_on(0, 0);
    const float value = 1;
    shpool_buffer *buffer = NULL;

    assert_ok(shpool_buffer_create(context, SHPOOL_TYPE_F32, 0, &buffer));
    assert_non_null(buffer);
    assert_null(shpool_buffer_ptr(buffer));
    assert_ok(shpool_buffer_to_host(buffer, 0, 0, NULL));
    assert_ok(shpool_buffer_fill(buffer, &value));
    assert_ok(shpool_buffer_fill_ascending(buffer, &value, &value));
    assert_ok(shpool_buffer_fill_sorted(buffer, &value, &value, NULL));
    assert_ok(shpool_buffer_copy(buffer, 0, buffer, 0, 0));
    assert_ok(shpool_buffer_record_stream(buffer, SHPOOL_STREAM_LEGACY));
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

BUFFER_TEST(test_bad_arguments_leave_null_and_a_detail)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *buffer = (shpool_buffer *)context;

    assert_int_equal(shpool_buffer_create(NULL, SHPOOL_TYPE_I8, 1, &buffer), SHPOOL_ERR_INVALID);
    assert_null(buffer);
    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_I8, 1, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_create(context, 0, 1, &buffer), SHPOOL_ERR_INVALID);
    assert_detail("is not an element type");
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
BUFFER_TEST(test_a_buffer_outlives_its_context)
{
    shpool_context *context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_buffer *buffer = counting(context, 1000);
    int32_t last = 0;

    shpool_context_unref(context);
    assert_int_equal(fake_holds().streams, 1);
    assert_ok(shpool_buffer_to_host(buffer, 999, 1, &last));
    assert_int_equal(last, 999);
    shpool_buffer_unref(shpool_buffer_ref(buffer));
    shpool_buffer_unref(buffer);
    assert_int_equal(fake_holds().streams, 0);
}

/* An allocator that was replaced in the context still gets its own memory back. */
BUFFER_TEST(test_a_buffer_goes_back_to_the_allocator_it_came_from)
{
    shpool_context *context = context_on(0, 0);
    shpool_device_allocator *own = NULL;
    shpool_device_allocator *other = NULL;
    shpool_device_stats stats;
    shpool_buffer *buffer;

    assert_ok(shpool_device_allocator_open("simple", 0, &own));
    assert_ok(shpool_device_allocator_open("simple", 0, &other));
    assert_ok(shpool_context_set_allocator(context, own));
    buffer = counting(context, 10);
    assert_ok(shpool_context_set_allocator(context, other));
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

BUFFER_TEST(test_wrapped_memory_goes_back_to_its_owner_once)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *whole = counting(context, 100);
    shpool_buffer *part = NULL;
    void *released = NULL;
    int32_t value = 0;

    assert_ok(shpool_buffer_wrap(context, (int32_t *)shpool_buffer_ptr(whole) + 50,
                                        SHPOOL_TYPE_I32, 10, count_release, &released, &part));
    assert_ok(shpool_buffer_to_host(part, 9, 1, &value));
    assert_int_equal(value, 59);
    assert_int_equal(shpool_buffer_to_host(part, 10, 1, &value), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_record_stream(part, SHPOOL_STREAM_LEGACY),
                     SHPOOL_ERR_UNSUPPORTED);
    shpool_buffer_unref(shpool_buffer_ref(part));
    assert_null(released);
    shpool_buffer_unref(part);
    assert_ptr_equal(released, (int32_t *)shpool_buffer_ptr(whole) + 50);
    assert_ok(shpool_buffer_wrap(context, shpool_buffer_ptr(whole), SHPOOL_TYPE_U8, 1, NULL,
                                        NULL, &part));
    shpool_buffer_unref(part); /* borrowed */
    shpool_buffer_unref(whole);
    shpool_context_unref(context);
}

/* ---- copies ---- */

BUFFER_TEST(test_ranges_are_checked)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *a = counting(context, 10);
    shpool_buffer *b = counting(context, 10);
    shpool_buffer *wide = NULL;
    int32_t host[16] = { 0 };

    assert_ok(shpool_buffer_create(context, SHPOOL_TYPE_I64, 10, &wide));
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
    assert_detail("elements of 4 bytes cannot be copied to elements of 8");
    assert_int_equal(shpool_buffer_copy(a, 0, a, 4, 5), SHPOOL_ERR_INVALID);
    assert_detail("overlap");
    assert_int_equal(fake_all_calls(), 0); /* nothing was begun */
    assert_ok(shpool_buffer_copy(a, 0, a, 5, 5));
    assert_ok(shpool_buffer_to_host(a, 0, 10, host));
    assert_int_equal(host[0], 5);
    assert_int_equal(host[4], 9);
    assert_int_equal(host[5], 5);
    shpool_buffer_unref(wide);
    shpool_buffer_unref(b);
    shpool_buffer_unref(a);
    shpool_context_unref(context);
}

/* One that is done has waited for its own stream, one that is not has not waited at all. */
BUFFER_TEST(test_who_waits_for_what)
{
    shpool_context *context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_buffer *buffer = counting(context, 10);
    size_t bytes = 0;
    int32_t *pinned = shpool_context_pinned(context, &bytes);

    assert_int_equal(bytes, 4096);
    fake_forget_calls();
    assert_ok(shpool_buffer_to_host_async(buffer, 0, 10, pinned));
    assert_ok(shpool_buffer_from_host_async(buffer, 0, 10, pinned));
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 0);
    assert_ok(shpool_buffer_to_host(buffer, 0, 10, pinned));
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 1);
    assert_ok(shpool_buffer_from_host(buffer, 0, 10, pinned));
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 2);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

/* Copies follow the work of a non-blocking stream: the legacy stream would not (D13). */
BUFFER_TEST(test_copies_are_in_the_order_of_an_attached_stream)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_context_options options = { .bytes = sizeof(options), .stream = stream,
                                       .flags = SHPOOL_CONTEXT_ATTACH };
    shpool_context *context = NULL;
    shpool_buffer *buffer;
    int32_t value = 0;

    assert_ok(shpool_context_create(&options, &context));
    buffer = counting(context, 10);
    fake_work(stream, shpool_buffer_ptr(buffer), 40);
    assert_ok(shpool_buffer_to_host(buffer, 3, 1, &value));
    assert_int_equal(value, 3);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
    fake_stream_destroy(stream);
}

/* From one stream to another: after the work submitted to the source's stream, and before its
 * memory is reused, although it is dropped immediately. */
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
        assert_ok(shpool_buffer_wrap(from_context, shpool_buffer_ptr(from), SHPOOL_TYPE_I32,
                                            1000, NULL, NULL, &source));
    }
    fake_set_current(from_device); /* whose default stream it may be */
    fake_work(shpool_context_stream(from_context), shpool_buffer_ptr(from), 4000);
    assert_ok(shpool_buffer_copy(to, 0, source, 500, 500));
    if (wrapped) {
        shpool_buffer_unref(source);
    }
    shpool_buffer_unref(from);
    next = counting(from_context, 1000); /* reuses the memory */
    assert_ok(shpool_buffer_to_host(to, 0, 1, &value));
    assert_int_equal(value, 500);
    shpool_buffer_unref(next);
    shpool_buffer_unref(to);
    shpool_context_unref(from_context);
    shpool_context_unref(to_context);
}

BUFFER_TEST(test_copies_between_streams_are_ordered)
{
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
    check_copy(0, 0, 0, 0);
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 1);
}

BUFFER_TEST(test_copies_between_devices_are_ordered)
{
    check_copy(1, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
    check_copy(0, 1, 0, 0);
}

/* A third party's base that cannot record a second stream. */
BUFFER_TEST(test_copies_from_a_base_that_cannot_note_streams)
{
    static const shpool_device_provider plain = {
        .abi = SHPOOL_DEVICE_ABI, .bytes = sizeof(plain), .name = "plain", .summary = "plain",
        .flags = SHPOOL_DEVICE_THREAD_SAFE, .create = pass_create, .destroy = pass_destroy,
        .malloc = pass_malloc, .free = pass_free,
    };

    assert_ok(shpool_device_register(&plain));
    setenv("SHPOOL_DEVICE_ALLOCATOR", "plain", 1);
    shpool_config_reload();
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
}

/* Default streams of two devices have the same handle, and are not the same. */
BUFFER_TEST(test_two_default_streams_are_told_apart)
{
    shpool_context *zero = context_on(0, 0);
    shpool_context *one = context_on(1, 0);
    shpool_buffer *from = counting(zero, 1000);
    shpool_buffer *to = counting(one, 1000);
    int32_t value = 0;

    fake_forget_calls();
    assert_ok(shpool_buffer_copy(to, 0, from, 7, 1));
    assert_int_equal(fake_calls(FAKE_CALL_stream_wait), 2); /* there, and back again */
    assert_ok(shpool_buffer_to_host(to, 0, 1, &value));
    assert_int_equal(value, 7);
    shpool_buffer_unref(from);
    shpool_buffer_unref(to);
    shpool_context_unref(one);
    shpool_context_unref(zero);
}

BUFFER_TEST(test_the_callers_current_device_stays)
{
    shpool_context *context;
    shpool_buffer *buffer;
    int32_t host[10];

    fake_set_current(0);
    context = context_on(1, SHPOOL_CONTEXT_NEW_STREAM);
    buffer = counting(context, 10);
    assert_ok(shpool_buffer_fill(buffer, &(int32_t){ 5 }));
    assert_ok(shpool_buffer_to_host(buffer, 0, 10, host));
    assert_int_equal(fake_current(), 0);
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
    assert_int_equal(fake_current(), 0);
}
