/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of device/: the fake driver, and calls that must succeed. */
#ifndef SHPOOL_TESTS_DEVICE_TRIAL_H
#define SHPOOL_TESTS_DEVICE_TRIAL_H

#include "tests/unit.h"

#include "tests/device/fake/driver.h"

/* The detail is the reason of a test that fails. */
#define assert_ok(_call)                                                                           \
    do {                                                                                           \
        shpool_status assert_status = (_call);                                                     \
                                                                                                   \
        if (assert_status != SHPOOL_OK) {                                                          \
            fail_msg(#_call ": %s: %s", shpool_strerror(assert_status), shpool_last_error());      \
        }                                                                                          \
    } while (0)

static inline void open_allocator(const char *spec, int device,
                                  shpool_device_allocator **allocator_p)
{
    assert_ok(shpool_device_allocator_open(spec, device, allocator_p));
}

static inline void *get(shpool_device_allocator *allocator, size_t bytes, shpool_stream stream)
{
    void *ptr = NULL;

    assert_ok(shpool_device_malloc(allocator, bytes, stream, &ptr));
    assert_non_null(ptr);
    return ptr;
}

static inline void put(shpool_device_allocator *allocator, void *ptr, shpool_stream stream)
{
    assert_ok(shpool_device_free(allocator, ptr, stream));
}

static inline shpool_device_stats stats_of(shpool_device_allocator *allocator)
{
    shpool_device_stats stats;

    assert_ok(shpool_device_get_stats(allocator, &stats));
    return stats;
}

static inline uint64_t live_bytes(shpool_device_allocator *allocator)
{
    return stats_of(allocator).live_bytes;
}

/* ---- a third party's base over bins, or layer, that passes each call on ---- */

static inline shpool_status pass_create(const shpool_device_setup *made, void **self_p)
{
    return shpool_device_allocator_open("bins", made->device, (shpool_device_allocator **)self_p);
}

static inline shpool_status pass_create_layer(const shpool_device_setup *made, void **self_p)
{
    *self_p = made->upstream;
    return SHPOOL_OK;
}

static inline void pass_destroy(void *self)
{
    shpool_device_allocator_unref(self);
}

static inline void pass_nothing(void *self)
{
    (void)self;
}

static inline shpool_status pass_malloc(void *self, size_t bytes, shpool_stream stream,
                                        void **ptr_p)
{
    return shpool_device_malloc(self, bytes, stream, ptr_p);
}

static inline shpool_status pass_free(void *self, void *ptr, shpool_stream stream)
{
    return shpool_device_free(self, ptr, stream);
}

#endif /* SHPOOL_TESTS_DEVICE_TRIAL_H */
