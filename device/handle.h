/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of shared memory: validation of one from another process. */
#ifndef SHPOOL_DEVICE_HANDLE_H
#define SHPOOL_DEVICE_HANDLE_H

#include "lib/internal.h"

#include <shpool/device/share.h>

#pragma GCC visibility push(hidden)

/* SHPOOL_OK; SHPOOL_ERR_INVALID, SHPOOL_ERR_ABI: the detail says which field is wrong. */
shpool_status shpool_handle_check(const shpool_device_handle *handle);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_HANDLE_H */
