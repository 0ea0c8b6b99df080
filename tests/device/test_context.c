/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: their parts, and that the caller's device stays current. */
#include "trial.h"

#define MIB ((uint64_t)1 << 20)

static shpool_context *context;

static int start(void **state)
{
    clear_environment(state);
    fake_start(2, 1535 * MIB);
    fake_set_current(1);
    context = NULL;
    return 0;
}

static int stop(void **state)
{
    fake_held held;

    shpool_context_unref(context);
    held = fake_stop();
    return (held.streams + held.events + held.host_allocations != 0) || (held.bytes != 0) ||
           (fake_violations() != 0);
}

static void create(uint32_t flags, int device)
{
    shpool_context_options options = { .bytes = sizeof(options), .flags = flags,
                                       .device = device };

    assert_ok(shpool_context_create(&options, &context));
}

UNIT_TEST_WITH(test_a_plain_context_is_on_the_default_stream, start, stop)
{
    size_t bytes;

    assert_ok(shpool_context_create(NULL, &context));
    assert_int_equal(0, shpool_context_device(context));
    assert_ptr_equal(SHPOOL_STREAM_LEGACY, shpool_context_stream(context));
    assert_int_equal(15, shpool_context_sm_count(context));
    assert_int_equal(860, shpool_context_arch(context));
    assert_int_equal(860, shpool_context_ptx_version(context));
    assert_non_null(shpool_context_event(context));
    assert_non_null(shpool_context_pinned(context, &bytes));
    assert_int_equal(4096, bytes);
    assert_ok(shpool_context_sync(context));
    assert_int_equal(1, fake_current()); /* D10 */
}

UNIT_TEST_WITH(test_a_context_with_a_stream_of_its_own, start, stop)
{
    shpool_stream aux;
    shpool_stream again;

    create(SHPOOL_CONTEXT_NEW_STREAM, 1);
    assert_int_equal(1, fake_holds().streams);
    assert_true((uintptr_t)shpool_context_stream(context) > 2);
    assert_ok(shpool_context_aux_stream(context, &aux)); /* created on request */
    assert_ok(shpool_context_aux_stream(context, &again));
    assert_ptr_equal(aux, again);
    assert_int_equal(2, fake_holds().streams);
}

UNIT_TEST_WITH(test_a_context_on_the_caller_s_stream, start, stop)
{
    shpool_stream mine = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_context_options options = { .bytes = sizeof(options), .stream = mine,
                                       .flags = SHPOOL_CONTEXT_ATTACH, .pinned_bytes = 100 };
    size_t bytes;

    assert_ok(shpool_context_create(&options, &context));
    assert_ptr_equal(mine, shpool_context_stream(context));
    (void)shpool_context_pinned(context, &bytes);
    assert_int_equal(100, bytes);
    shpool_context_unref(context);
    context = NULL;
    fake_work(mine, NULL, 0); /* it was borrowed: still there */
    assert_string_equal("work on memory that the driver does not hold", fake_first_violation());
    fake_start(1, MIB); /* that violation was the test's own */
}

UNIT_TEST_WITH(test_the_command_line_names_the_device_strictly, start, stop)
{
    char program[] = "program";
    char one[] = "1";
    char rubbish[] = "1abc";
    char empty[] = "";
    char minus[] = "-1";
    char far[] = "99999999999";
    char *argv[] = { program, one, NULL };

    assert_ok(shpool_context_create_args(2, argv, SHPOOL_CONTEXT_ACTIVATE, &context));
    assert_int_equal(1, shpool_context_device(context));
    assert_int_equal(1, fake_current());
    shpool_context_unref(context);
    assert_ok(shpool_context_create_args(1, argv, 0, &context));
    assert_int_equal(0, shpool_context_device(context));
    shpool_context_unref(context);
    argv[1] = rubbish; /* D7 */
    assert_int_equal(SHPOOL_ERR_SPEC, shpool_context_create_args(2, argv, 0, &context));
    assert_null(context);
    argv[1] = empty;
    assert_int_equal(SHPOOL_ERR_SPEC, shpool_context_create_args(2, argv, 0, &context));
    argv[1] = minus;
    assert_int_equal(SHPOOL_ERR_SPEC, shpool_context_create_args(2, argv, 0, &context));
    argv[1] = far;
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_context_create_args(2, argv, 0, &context));
    assert_detail("sees 2");
}

UNIT_TEST_WITH(test_the_standard_context_is_shared, start, stop)
{
    shpool_context *a;
    shpool_context *b;

    assert_ok(shpool_context_standard(-1, &a));
    assert_ok(shpool_context_standard(1, &b));
    assert_ptr_equal(a, b);
    assert_int_equal(1, shpool_context_device(a));
    assert_string_equal("simple", shpool_device_allocator_spec(shpool_context_allocator(a)));
    assert_int_equal(1, fake_current());
}

UNIT_TEST_WITH(test_contexts_of_a_device_share_an_allocator_unless_told_otherwise, start, stop)
{
    shpool_context *other;
    shpool_device_allocator *wrong;
    shpool_device_allocator *own;
    shpool_context_options options = { .bytes = sizeof(options), .allocator = "buckets" };

    create(SHPOOL_CONTEXT_NEW_STREAM, 0);
    assert_ok(shpool_context_create(NULL, &other));
    assert_ptr_equal(shpool_context_allocator(context), shpool_context_allocator(other));
    open_allocator("bins", 1, &wrong);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_set_allocator(context, wrong));
    assert_detail("device 1");
    open_allocator("buckets", 0, &own);
    assert_ok(shpool_context_set_allocator(context, own));
    assert_ptr_equal(own, shpool_context_allocator(context));
    shpool_device_allocator_unref(own);
    shpool_device_allocator_unref(wrong);
    shpool_context_unref(other);
    assert_ok(shpool_context_create(&options, &other));
    assert_string_equal("buckets",
                        shpool_device_allocator_spec(shpool_context_allocator(other)));
    shpool_context_unref(other);
}

/* An allocator that was not taken in the end does not believe that the streams are stable. */
UNIT_TEST_WITH(test_an_allocator_that_is_not_taken_forgets_the_streams, start, stop)
{
    int failed = 1;

    for (unsigned long n = 1; failed; n++) {
        shpool_device_allocator *other;
        shpool_stream stream;

        create(SHPOOL_CONTEXT_NEW_STREAM, 0);
        stream = shpool_context_stream(context);
        assert_ok(shpool_context_aux_stream(context, &stream));
        open_allocator("bins", 0, &other);
        stream = shpool_context_stream(context);
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        (void)shpool_context_set_allocator(context, other);
        failed = fake_failed();
        fake_fail(0, CU_SUCCESS);
        if (shpool_context_allocator(context) != other) {
            put(other, get(other, 4096, NULL), NULL);
            put(other, get(other, 4096, stream), stream);
        }
        shpool_context_unref(context);
        context = NULL;
        put(other, get(other, 3 * MIB, NULL), NULL); /* asks how far the others are */
        shpool_device_allocator_unref(other);
        assert_string_equal("", fake_first_violation());
    }
}

UNIT_TEST_WITH(test_options_that_contradict_are_refused, start, stop)
{
    shpool_context_options options = { .bytes = sizeof(options), .device = 2 };

    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_context_create(&options, &context));
    options.device = 0;
    options.flags = SHPOOL_CONTEXT_ATTACH | SHPOOL_CONTEXT_NEW_STREAM;
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_create(&options, &context));
    options.flags = 1u << 20;
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_create(&options, &context));
    options.flags = 0;
    options.bytes--;
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_create(&options, &context));
    assert_null(context);
}

/* The text of the page, with the additions of later versions of MGPU. */
UNIT_TEST_WITH(test_the_description_is_the_page_s, start, stop)
{
    static const char expected[] =
        "Fake 0 : 1401.000 Mhz   (Ordinal 0)\n"
        "15 SMs enabled. Compute Capability sm_86\n"
        "FreeMem:   1535MB   TotalMem:   1535MB   64-bit pointers.\n"
        "Mem Clock: 1848.000 Mhz x 384 bits   (177.4 GB/s)\n"
        "ECC Disabled\n\n";
    char text[500];
    char cut[10];
    size_t need;

    create(0, 0);
    fake_set_current(1); /* D9: the context's memory, not the current device's */
    assert_ok(shpool_context_describe(context, text, sizeof(text), &need));
    assert_string_equal(expected, text);
    assert_int_equal(strlen(expected), need);
    assert_ok(shpool_context_describe(context, cut, sizeof(cut), &need));
    assert_string_equal("Fake 0 : ", cut);
    assert_int_equal(strlen(expected), need);
}

UNIT_TEST_WITH(test_splits_are_laps_on_the_context_s_stream, start, stop)
{
    double seconds = -1.0;
    double rate;

    create(SHPOOL_CONTEXT_NEW_STREAM, 0);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_timer_split(context, &seconds));
    assert_ok(shpool_timer_start(context));
    fake_forget_calls();
    assert_ok(shpool_timer_split(context, &seconds)); /* the event is 1 ms of the fake's time */
    assert_true((seconds > 0.0009) && (seconds < 0.0011));
    assert_int_equal(0, fake_calls(FAKE_CALL_memory_free)); /* D12 */
    assert_ok(shpool_timer_throughput(context, 1ull << 40, 10, &rate));
    assert_true((rate > 1.0e16) && (rate < 1.2e16));
}

UNIT_TEST_WITH(test_properties_and_memory_of_any_device, start, stop)
{
    shpool_device_properties p;
    uint64_t left;
    uint64_t total;
    int count;

    assert_ok(shpool_device_count(&count));
    assert_int_equal(2, count);
    assert_ok(shpool_device_get_properties(0, &p));
    assert_string_equal("Fake 0", p.name);
    assert_int_equal(1848000, p.memory_clock_khz); /* D1: attributes, no cudaDeviceProp */
    assert_ok(shpool_device_memory(0, &left, &total));
    assert_int_equal(1535 * MIB, total);
    assert_int_equal(1, fake_current());
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_get_properties(5, &p));
    assert_true(is_zeroed(&p, sizeof(p)));
}

UNIT_TEST_WITH(test_a_misspelt_allocator_is_named_where_no_driver_is, start, stop)
{
    const shpool_context_options misspelt = { .bytes = sizeof(misspelt), .allocator = "stat|bins" };

    (void)fake_stop();
    fake_start(0, 0);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_context_create(&misspelt, &context));
    assert_detail("did you mean \"stats\"");
    setenv("SHPOOL_DEVICE_ALLOCATOR", "bims", 1);
    shpool_config_reload();
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_context_create(NULL, &context));
    assert_detail("SHPOOL_DEVICE_ALLOCATOR");
    unsetenv("SHPOOL_DEVICE_ALLOCATOR");
    shpool_config_reload();
}

UNIT_TEST_WITH(test_nothing_is_printed_or_dies_without_a_context, start, stop)
{
    assert_ptr_equal(NULL, shpool_context_ref(NULL));
    shpool_context_unref(NULL);
    assert_int_equal(-1, shpool_context_device(NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_sync(NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_activate(NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_timer_start(NULL));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_context_create(NULL, NULL));
}
