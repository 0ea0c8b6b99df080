/* SPDX-License-Identifier: BSD-3-Clause */
/* An opened allocator: one layer or base, and the next one below it. */
#ifndef SHPOOL_DEVICE_STACK_H
#define SHPOOL_DEVICE_STACK_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/internal.h"

#include <shpool/device/provider.h>

#pragma GCC visibility push(hidden)

struct shpool_device_allocator {
    shpool_device_provider ops;      /* a copy: functions that an older provider lacks are NULL */
    void *self;
    int locks;                       /* the provider is not thread-safe */
    int device;
    atomic_uint refs;
    pthread_mutex_t lock;            /* if `locks` */
    shpool_device_allocator *upstream; /* one reference, or NULL */
    char *spec;                      /* of the whole stack; NULL in the inner ones */
    pthread_mutex_t oom_lock;        /* guards the two below */
    shpool_device_oom_fn oom;
    void *oom_user;
};

/* For tests: forget all registrations; destroy the shared allocators. */
void shpool_device_providers_reset(void);
void shpool_device_defaults_reset(void);

/* Reports a misspelt name of a spec, or of the variable, before the driver is needed. */
shpool_status shpool_device_check_names(const char *spec);

/* Create one layer or base of a stack.  It takes over the reference to the upstream, even on
 * failure. */
shpool_status shpool_device_stack_make(const shpool_device_provider *provider, int device,
                                       const shpool_device_option *options, uint32_t count,
                                       shpool_device_allocator *upstream,
                                       shpool_device_allocator **allocator_p);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_STACK_H */
