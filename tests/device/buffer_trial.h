/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of buffers: a fake driver for each, and buffers that count. */
#ifndef SHPOOL_TESTS_BUFFER_TRIAL_H
#define SHPOOL_TESTS_BUFFER_TRIAL_H

#include "tests/unit.h"

#include "tests/device/fake/driver.h"

#define MEMORY ((uint64_t)256 << 20)

static inline int setup(void **state)
{
    (void)clear_environment(state);
    fake_start(2, MEMORY);
    return 0;
}

/* Nothing is held, nothing was out of order. */
static inline int teardown(void **state)
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

static inline shpool_context *context_on(int device, uint32_t flags)
{
    shpool_context_options options = { .bytes = sizeof(options), .flags = flags,
                                       .device = device };
    shpool_context *context = NULL;

    assert_int_equal(shpool_context_create(&options, &context), SHPOOL_OK);
    return context;
}

static inline shpool_buffer *counting(shpool_context *context, size_t count)
{
    const int32_t first = 0;
    const int32_t step = 1;
    shpool_buffer *buffer = NULL;

    assert_int_equal(shpool_buffer_create(context, SHPOOL_TYPE_I32, count, &buffer), SHPOOL_OK);
    assert_int_equal(shpool_buffer_fill_ascending(buffer, &first, &step), SHPOOL_OK);
    return buffer;
}

#endif /* SHPOOL_TESTS_BUFFER_TRIAL_H */
