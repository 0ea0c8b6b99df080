/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of a base share: two devices of 1 GiB, and the base on the first of them. */
#ifndef SHPOOL_TESTS_DEVICE_BASE_TRIAL_H
#define SHPOOL_TESTS_DEVICE_BASE_TRIAL_H

#include "trial.h"

#define MIB ((size_t)1 << 20)

static shpool_device_allocator *allocator;

static inline void begin(const char *spec)
{
    fake_start(2, 1024 * MIB);
    fake_set_current(0);
    open_allocator(spec, 0, &allocator);
}

/* Nothing is left, and no work was out of order. */
static inline void end(void)
{
    fake_held held;

    assert_ok(shpool_device_check(allocator));
    shpool_device_allocator_unref(allocator);
    held = fake_stop();
    assert_int_equal(0, held.bytes);
    assert_int_equal(0, held.events);
    assert_string_equal("", fake_first_violation());
}

static inline shpool_stream stable_stream(void)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);

    assert_ok(shpool_device_stream_stable(allocator, stream));
    return stream;
}

#endif /* SHPOOL_TESTS_DEVICE_BASE_TRIAL_H */
