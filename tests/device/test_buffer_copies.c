/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/buffer.h: copies and their order; the fake driver reports work that is not ordered
 * after earlier work on the same memory. */
#include "buffer_trial.h"

UNIT_TEST_WITH(test_ranges_are_checked, setup, teardown)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *a = counting(context, 10);
    shpool_buffer *b = counting(context, 10);
    shpool_buffer *wide = NULL;
    int32_t host[16] = { 0 };

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
    assert_detail("elements of 4 bytes cannot be copied to elements of 8");
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
UNIT_TEST_WITH(test_who_waits_for_what, setup, teardown)
{
    shpool_context *context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_buffer *buffer = counting(context, 10);
    size_t bytes = 0;
    int32_t *pinned = shpool_context_pinned(context, &bytes);

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

/* Copies follow the work of a non-blocking stream: the legacy stream would not (D13). */
UNIT_TEST_WITH(test_copies_are_in_the_order_of_an_attached_stream, setup, teardown)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_context_options options = { .bytes = sizeof(options), .stream = stream,
                                       .flags = SHPOOL_CONTEXT_ATTACH };
    shpool_context *context = NULL;
    shpool_buffer *buffer;
    int32_t value = 0;

    assert_int_equal(shpool_context_create(&options, &context), SHPOOL_OK);
    buffer = counting(context, 10);
    fake_work(stream, shpool_buffer_ptr(buffer), 40);
    assert_int_equal(shpool_buffer_to_host(buffer, 3, 1, &value), SHPOOL_OK);
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

UNIT_TEST_WITH(test_copies_between_streams_are_ordered, setup, teardown)
{
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
    check_copy(0, 0, 0, 0);
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 1);
}

UNIT_TEST_WITH(test_copies_between_devices_are_ordered, setup, teardown)
{
    check_copy(1, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
    check_copy(0, 1, 0, 0);
}

/* A third party's base that cannot record a second stream. */
static shpool_status plain_create(const shpool_device_setup *made, void **self_p)
{
    return shpool_device_allocator_open("bins", made->device, (shpool_device_allocator **)self_p);
}

static void plain_destroy(void *self)
{
    shpool_device_allocator_unref(self);
}

static shpool_status plain_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    return shpool_device_malloc(self, bytes, stream, ptr_p);
}

static shpool_status plain_free(void *self, void *ptr, shpool_stream stream)
{
    return shpool_device_free(self, ptr, stream);
}

UNIT_TEST_WITH(test_copies_from_a_base_that_cannot_note_streams, setup, teardown)
{
    static const shpool_device_provider plain = {
        .abi = SHPOOL_DEVICE_ABI, .bytes = sizeof(plain), .name = "plain", .summary = "plain",
        .flags = SHPOOL_DEVICE_THREAD_SAFE, .create = plain_create, .destroy = plain_destroy,
        .malloc = plain_malloc, .free = plain_free,
    };

    assert_int_equal(shpool_device_register(&plain), SHPOOL_OK);
    setenv("SHPOOL_DEVICE_ALLOCATOR", "plain", 1);
    shpool_config_reload();
    check_copy(0, 0, SHPOOL_CONTEXT_NEW_STREAM, 0);
}

/* Default streams of two devices have the same handle, and are not the same. */
UNIT_TEST_WITH(test_two_default_streams_are_told_apart, setup, teardown)
{
    shpool_context *zero = context_on(0, 0);
    shpool_context *one = context_on(1, 0);
    shpool_buffer *from = counting(zero, 1000);
    shpool_buffer *to = counting(one, 1000);
    int32_t value = 0;

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

UNIT_TEST_WITH(test_the_callers_current_device_stays, setup, teardown)
{
    shpool_context *context;
    shpool_buffer *buffer;
    int32_t host[10];

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

/* The fake driver, except for events: destroying one succeeds at the second attempt at the latest,
 * because a remaining event could not be handled. */
static const shpool_driver *fake;
static shpool_driver calm;

static cu_result destroy_event(shpool_event event)
{
    cu_result result = fake->event_destroy(event);

    return (result == CU_SUCCESS) ? result : fake->event_destroy(event);
}

static void be_calm(void)
{
    assert_int_equal(shpool_driver_get(&fake), SHPOOL_OK);
    calm = *fake;
    calm.event_destroy = destroy_event;
    fake_install(&calm);
}

/* Each driver call fails in turn: a status, nothing lost, and the next attempt works. */
UNIT_TEST_WITH(test_every_failing_call_is_reported_and_nothing_is_lost, setup, teardown)
{
    unsigned long n = 0;
    int failed;

    do {
        shpool_context *context;
        shpool_context *other;
        fake_start(1, MEMORY);
        be_calm();
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
        assert_int_equal(fake_stop().events, 0);
    } while (failed);
    assert_true(n > 10);
}
