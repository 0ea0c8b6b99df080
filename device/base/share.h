/* SPDX-License-Identifier: BSD-3-Clause */
/* How bases export mapped memory: the driver's call, and the handle that is made of its result. */
#ifndef SHPOOL_DEVICE_BASE_SHARE_H
#define SHPOOL_DEVICE_BASE_SHARE_H

#include "device.h"

#include <shpool/device/share.h>

#pragma GCC visibility push(hidden)

/* An empty handle. */
shpool_device_handle shpool_share_nothing(void);

/* Fill a handle of memory that was created for CU_HANDLE_DESCRIPTOR; empty after a failure. */
shpool_status shpool_share_export(const shpool_device *device, cu_granule granule, size_t bytes,
                                  shpool_device_handle *handle_p);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_BASE_SHARE_H */
