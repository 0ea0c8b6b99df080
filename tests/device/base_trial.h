/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of a base: two devices of 1 GiB, and the base on the first of them. */
#ifndef SHPOOL_TESTS_DEVICE_BASE_TRIAL_H
#define SHPOOL_TESTS_DEVICE_BASE_TRIAL_H

#include "trial.h"

#include <stdio.h>

#define MIB ((size_t)1 << 20)

static shpool_device_allocator *allocator;
static const char *memory_kind; /* of bins, NULL: as it chooses */

/* Setups: a test runs with memory from cuMemAlloc, or with memory that is mapped, or with both. */
static inline int driver_memory(void **state)
{
    memory_kind = "driver";
    return clear_environment(state);
}

static inline int virtual_memory(void **state)
{
    memory_kind = "vmm";
    return clear_environment(state);
}

#define TEST_ON_DRIVER(_test)                                                                      \
    static void _test(void **state);                                                               \
    UNIT_ADD(_test, _driver, #_test " (driver)", driver_memory, NULL)                              \
    static void _test(void **state)
#define TEST_ON_VIRTUAL(_test)                                                                     \
    static void _test(void **state);                                                               \
    UNIT_ADD(_test, _vmm, #_test " (vmm)", virtual_memory, NULL)                                   \
    static void _test(void **state)
#define TEST_ON_BOTH(_test)                                                                        \
    static void _test(void **state);                                                               \
    UNIT_ADD(_test, _driver, #_test " (driver)", driver_memory, NULL)                              \
    TEST_ON_VIRTUAL(_test)

static inline int is_virtual(void)
{
    return (memory_kind != NULL) && (strcmp(memory_kind, "vmm") == 0);
}

/* The base bins gets the kind of memory that is tried. */
static inline void open_kind(const char *spec, int device, shpool_device_allocator **allocator_p)
{
    const char *base = strrchr(spec, '|');
    char text[100];

    base = (base != NULL) ? base + 1 : spec;
    if ((memory_kind != NULL) && (strncmp(base, "bins", 4) == 0)) {
        snprintf(text, sizeof(text), "%s%cmemory=%s", spec, (strchr(base, ':') != NULL) ? ',' : ':',
                 memory_kind);
        spec = text;
    }
    open_allocator(spec, device, allocator_p);
}

static inline void begin(const char *spec)
{
    fake_start(2, 1024 * MIB);
    fake_set_current(0);
    open_kind(spec, 0, &allocator);
}

/* Capture a graph that uses 3 MiB and frees it again; returns its number, and where. */
static inline unsigned capture(shpool_stream stream, uint64_t id, void **ptr_p)
{
    unsigned graph;

    assert_ok(shpool_device_capture_begin(allocator, id, 1));
    fake_capture_begin(stream);
    *ptr_p = get(allocator, 3 * MIB, stream);
    fake_work(stream, *ptr_p, 3 * MIB);
    put(allocator, *ptr_p, stream);
    graph = fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, id, 1));
    return graph;
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
    assert_int_equal(0, held.ranges);
    assert_string_equal("", fake_first_violation());
}

static inline shpool_stream stable_stream(void)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);

    assert_ok(shpool_device_stream_stable(allocator, stream));
    return stream;
}

#endif /* SHPOOL_TESTS_DEVICE_BASE_TRIAL_H */
