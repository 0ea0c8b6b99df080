/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills that run on the device: device/arrays/kernels.cu, embedded where the build has nvcc. */
#ifndef SHPOOL_DEVICE_KERNELS_H
#define SHPOOL_DEVICE_KERNELS_H

#include "buffer.h"

#pragma GCC visibility push(hidden)

enum { SHPOOL_KERNEL_ASCENDING = 0, SHPOOL_KERNEL_RANDOM = 1, SHPOOL_KERNEL_COUNT = 2 };

/*
 * Whether there is a kernel for the buffer's device that is worth its launch for this number of
 * elements.  The first call loads the code; if the driver rejects it, there is no kernel.
 */
int shpool_kernels_have(const shpool_buffer *buffer, int kernel);

/* Ordered by the buffer's stream. */
shpool_status shpool_kernels_ascending(const shpool_buffer *buffer, const shpool_ascent *ascent);

/* The same, then waits: `random` is where it would be after as many draws on the host. */
shpool_status shpool_kernels_random(const shpool_buffer *buffer, const shpool_uniform *uniform,
                                    shpool_random *random);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_KERNELS_H */
