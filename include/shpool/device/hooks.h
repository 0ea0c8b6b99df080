/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/hooks.h
 * Functions for PyTorch's CUDAPluggableAllocator and CuPy's CFunctionAllocator.
 *
 * They use each device's shared allocator (shpool_device_allocator_default()).  They cannot report
 * a status: malloc returns NULL on failure, and shpool_last_error() has the detail.
 */
#ifndef SHPOOL_DEVICE_HOOKS_H
#define SHPOOL_DEVICE_HOOKS_H

#include <shpool/device/allocator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** PyTorch's MempoolId_t, a std::pair of two 64-bit numbers, is passed like this. */
typedef struct shpool_torch_pool_id {
    uint64_t high;
    uint64_t low;
} shpool_torch_pool_id;

/** Required by CUDAPluggableAllocator.  PyTorch never destroys a stream, so each is marked as
 *  stable. */
SHPOOL_API void *shpool_torch_malloc(ptrdiff_t bytes, int device, shpool_stream stream);

/** Required.  PyTorch passes the stream of the allocation; `bytes` may differ, and is ignored. */
SHPOOL_API void shpool_torch_free(void *ptr, ptrdiff_t bytes, int device, shpool_stream stream);

/* optional, set by their addresses: set_init_fn, set_reset_fn, set_memory_fraction_fn,
 * set_base_alloc_fn, set_record_stream_fn, set_begin_allocate_to_pool,
 * set_end_allocate_to_pool_fn, set_release_pool */

/** Has no effect: a device's allocator is opened on first use. */
SHPOOL_API void  shpool_torch_init(int device_count);

/** torch.cuda.empty_cache(): trims all devices that were used. */
SHPOOL_API void  shpool_torch_reset(void);

/** Limit the bytes that a device's allocator reserves to a fraction of the device's memory.  A base
 *  without the key `hard` limits live bytes instead.  1 or more, or less than 0: no limit. */
SHPOOL_API void  shpool_torch_memory_fraction(double fraction, int device);

/** shpool_device_base(), the mapped memory around an address, for the device that has `ptr`; NULL
 *  and 0 if none has. */
SHPOOL_API void *shpool_torch_base_alloc(void *ptr, size_t *bytes_p);

/** shpool_device_record_stream() on the device that has `ptr`. */
SHPOOL_API void  shpool_torch_record_stream(void *ptr, shpool_stream stream);

/** shpool_device_capture_begin().  `filter`, a C++ object, is ignored: the stream's capture state
 *  decides. */
SHPOOL_API void  shpool_torch_begin_pool(int device, shpool_torch_pool_id id, void *filter);

/** shpool_device_capture_end(). */
SHPOOL_API void  shpool_torch_end_pool(int device, shpool_torch_pool_id id);

/** shpool_device_capture_release(). */
SHPOOL_API void  shpool_torch_release_pool(int device, shpool_torch_pool_id id);

/** cupy.cuda.CFunctionAllocator(param, malloc, free, owner).  It does not pass a stream, so each
 *  call waits for the device: every stream may use the memory.  NULL also if the wait fails.
 *  `param` is ignored.  The Python package does not need these functions: it passes CuPy's streams
 *  to shpool_device_malloc(). */
SHPOOL_API void *shpool_cupy_malloc(void *param, size_t bytes, int device);

/** Free memory of the device's shared allocator whose streams are not known: waits for the device.
 *  If that fails, the memory stays live, and shpool_last_error() has the reason. */
SHPOOL_API void  shpool_cupy_free(void *param, void *ptr, int device);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_HOOKS_H */
