/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of shared memory. */
#ifndef SHPOOL_TESTS_DEVICE_SHARE_TRIAL_H
#define SHPOOL_TESTS_DEVICE_SHARE_TRIAL_H

#include "scene.h"

#include <unistd.h>

#define SHARED "bins:share=1"

static inline shpool_device_handle export_of(const void *ptr)
{
    shpool_device_handle handle;

    assert_ok(shpool_device_export(allocator, ptr, &handle));
    return handle;
}

static inline shpool_device_import *import_of(const shpool_device_handle *handle)
{
    shpool_device_import *import;

    assert_ok(shpool_device_import_open(handle, -1, &import));
    return import;
}

#endif /* SHPOOL_TESTS_DEVICE_SHARE_TRIAL_H */
