/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device.h
 * The host side of device memory: contexts, stream-ordered caching allocators, typed buffers.
 *
 * C11 and C++17; includes no CUDA header and needs no CUDA library at link time: the driver is
 * loaded when the first call needs it.  Coexists with a CUDA runtime, on the devices' primary
 * contexts.
 *
 * Headers
 *   device/allocator.h  open an allocator by name, malloc, free, trim, statistics
 *   device/provider.h   the structures that add an allocator or a layer from outside
 *   device/context.h    device, stream, event, timer, page-locked memory in one object
 *   device/array.h      element types, random numbers, printing: arrays in host memory
 *   device/buffer.h     reference-counted typed arrays in device memory; copy, fill, random, print
 *   device/share.h      device memory shared between processes: export, send, import
 *   device/hooks.h      functions for PyTorch's and CuPy's pluggable allocators
 *
 * Errors: functions return a negative shpool_status.  Outputs are then NULL or zeroed, nothing is
 * printed, and shpool_last_error() has the detail for the calling thread.  No call leaves an error
 * in the CUDA runtime, and only shpool_context_activate() changes the caller's current device.
 *
 * CUDA does not work in the child of a fork(): every call that would allocate returns
 * SHPOOL_ERR_CUDA there, and frees have no effect.  Nothing is freed at process exit: the driver
 * does that, and may already be unloaded.
 */
#ifndef SHPOOL_DEVICE_H
#define SHPOOL_DEVICE_H

#include <shpool/device/allocator.h>
#include <shpool/device/array.h>
#include <shpool/device/buffer.h>
#include <shpool/device/context.h>
#include <shpool/device/hooks.h>
#include <shpool/device/provider.h>
#include <shpool/device/share.h>

#endif /* SHPOOL_DEVICE_H */
