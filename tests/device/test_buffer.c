/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/buffer.h: ownership. */
#include "buffer_trial.h"

UNIT_TEST_WITH(test_what_goes_in_comes_out, setup, teardown)
{
    shpool_context *context = context_on(0, 0);
    const double host[3] = { 0.5, -1, 1e300 };
    double back[3] = { 0, 0, 0 };
    shpool_buffer *buffer = NULL;

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

UNIT_TEST_WITH(test_an_empty_buffer_has_no_memory, setup, teardown)
{
    shpool_context *context = context_on(0, 0);
    const float value = 1;
    shpool_buffer *buffer = NULL;

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

UNIT_TEST_WITH(test_bad_arguments_leave_null_and_a_detail, setup, teardown)
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
UNIT_TEST_WITH(test_a_buffer_outlives_its_context, setup, teardown)
{
    shpool_context *context = context_on(0, SHPOOL_CONTEXT_NEW_STREAM);
    shpool_buffer *buffer = counting(context, 1000);
    int32_t last = 0;

    shpool_context_unref(context);
    assert_int_equal(fake_holds().streams, 1);
    assert_int_equal(shpool_buffer_to_host(buffer, 999, 1, &last), SHPOOL_OK);
    assert_int_equal(last, 999);
    shpool_buffer_unref(shpool_buffer_ref(buffer));
    shpool_buffer_unref(buffer);
    assert_int_equal(fake_holds().streams, 0);
}

/* An allocator that was replaced in the context still gets its own memory back. */
UNIT_TEST_WITH(test_a_buffer_goes_back_to_the_allocator_it_came_from, setup, teardown)
{
    shpool_context *context = context_on(0, 0);
    shpool_device_allocator *own = NULL;
    shpool_device_allocator *other = NULL;
    shpool_device_stats stats;
    shpool_buffer *buffer;

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

UNIT_TEST_WITH(test_wrapped_memory_goes_back_to_its_owner_once, setup, teardown)
{
    shpool_context *context = context_on(0, 0);
    shpool_buffer *whole = counting(context, 100);
    shpool_buffer *part = NULL;
    void *released = NULL;
    int32_t value = 0;

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
