/* SPDX-License-Identifier: BSD-3-Clause */
/* The definition of a buffer, for the files that copy, fill and print it. */
#ifndef SHPOOL_DEVICE_BUFFER_PRIVATE_H
#define SHPOOL_DEVICE_BUFFER_PRIVATE_H

#include <stdatomic.h>

#include <shpool/device/buffer.h>

#include "device/base/device.h"
#include "elements.h"

struct shpool_buffer {
    atomic_uint references;
    shpool_type type;
    size_t count;
    void *ptr;                          /* NULL: empty */
    shpool_context *context;            /* a reference: memory is freed on its stream */
    const shpool_device *device;
    shpool_device_allocator *allocator; /* a reference; NULL: the memory is wrapped */
    shpool_release_fn release;          /* wrapped memory: frees it, or NULL */
    void *user;
};

#endif /* SHPOOL_DEVICE_BUFFER_PRIVATE_H */
