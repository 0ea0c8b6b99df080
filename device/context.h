/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of a context. */
#ifndef SHPOOL_DEVICE_CONTEXT_PRIVATE_H
#define SHPOOL_DEVICE_CONTEXT_PRIVATE_H

#include <stdatomic.h>

#include "device/base/device.h"

#pragma GCC visibility push(hidden)

struct shpool_context {
    atomic_uint refs;
    const shpool_device *device;
    shpool_device_properties properties;
    shpool_stream stream;
    int owns_stream;
    shpool_stream aux_stream;            /* NULL until requested */
    shpool_event event;
    shpool_event timer[2];               /* start, and the latest split; NULL until start */
    void *pinned;
    size_t pinned_bytes;
    shpool_device_allocator *allocator;  /* one reference */
};

/* For tests: destroy the standard contexts. */
void shpool_contexts_reset(void);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_CONTEXT_PRIVATE_H */
