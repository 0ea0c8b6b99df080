/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device.h
 * The host side of device memory: contexts, stream-ordered caching allocators, typed buffers.
 *
 * C11 and C++17; includes no CUDA header and needs no CUDA library to link: the driver is loaded
 * when the first call needs it.  Works beside a CUDA runtime, on the devices' primary contexts.
 *
 * What is where
 *   device/allocator.h  open an allocator by name, malloc, free, trim, statistics
 *   device/provider.h   what a third party fills in to add an allocator or a layer
 *   device/context.h    device, stream, event, timer, page-locked memory in one object
 *   device/array.h      element types, random numbers, printing: arrays in host memory
 *   device/buffer.h     reference-counted typed arrays in device memory; copy, fill, random, print
 *   device/share.h      device memory that several processes use: export, send, import
 *   device/hooks.h      functions for PyTorch's and CuPy's pluggable allocators
 *
 * Errors: a negative shpool_status; outputs are then NULL or zeroed, nothing is printed, and
 * shpool_last_error() has the detail for the calling thread.  No call leaves an error behind in
 * the CUDA runtime, and none switches the caller's current device but shpool_context_activate().
 *
 * After fork() the child has no CUDA: every call that would allocate answers SHPOOL_ERR_CUDA there,
 * and frees do nothing.  At exit nothing is freed: the driver does that, and may be gone already.
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
