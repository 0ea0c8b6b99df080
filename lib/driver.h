/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver's entry points that this library uses, as one table of function pointers.
 *
 * shpool_driver_get() loads the real ones on the first call; a test installs a fake before
 * (tests/device/fake/driver.h).  Types and numbers are those of the driver's frozen binary
 * interface, so that no CUDA header is needed.
 */
#ifndef SHPOOL_DRIVER_H
#define SHPOOL_DRIVER_H

#include <stdatomic.h>

#include "internal.h"

#include <shpool/device.h>

#pragma GCC visibility push(hidden)

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_ptr; /* CUdeviceptr */
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUmemPoolHandle_st *cu_pool;

enum {
    CU_SUCCESS                       = 0,
    CU_ERROR_INVALID_VALUE           = 1,
    CU_ERROR_OUT_OF_MEMORY           = 2,
    CU_ERROR_NOT_INITIALIZED         = 3,
    CU_ERROR_DEINITIALIZED           = 4,
    CU_ERROR_NO_DEVICE               = 100,
    CU_ERROR_INVALID_DEVICE          = 101,
    CU_ERROR_INVALID_CONTEXT         = 201,
    CU_ERROR_INVALID_HANDLE          = 400,
    CU_ERROR_NOT_READY               = 600,
    CU_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CU_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    CU_ERROR_CAPTURED_EVENT = 907
};

enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_CAPTURE_STATUS_NONE = 0, CU_CAPTURE_STATUS_ACTIVE = 1 };
enum { CU_CAPTURE_MODE_GLOBAL = 0, CU_CAPTURE_MODE_THREAD_LOCAL = 1, CU_CAPTURE_MODE_RELAXED = 2 };

/* CUdevice_attribute */
enum {
    CU_ATTRIBUTE_SHARED_BLOCK        = 8,
    CU_ATTRIBUTE_WARP_SIZE           = 10,
    CU_ATTRIBUTE_CLOCK_RATE          = 13,
    CU_ATTRIBUTE_MULTIPROCESSORS     = 16,
    CU_ATTRIBUTE_ECC_ENABLED         = 32,
    CU_ATTRIBUTE_MEMORY_CLOCK_RATE   = 36,
    CU_ATTRIBUTE_MEMORY_BUS_WIDTH    = 37,
    CU_ATTRIBUTE_L2_BYTES            = 38,
    CU_ATTRIBUTE_SM_THREADS          = 39,
    CU_ATTRIBUTE_CAPABILITY_MAJOR    = 75,
    CU_ATTRIBUTE_CAPABILITY_MINOR    = 76,
    CU_ATTRIBUTE_SHARED_SM           = 81,
    CU_ATTRIBUTE_SHARED_OPTIN        = 97,
    CU_ATTRIBUTE_VIRTUAL_MEMORY      = 102,
    CU_ATTRIBUTE_VIRTUAL_DESCRIPTORS = 103, /* memory can be exported as a POSIX descriptor */
    CU_ATTRIBUTE_VIRTUAL_RDMA        = 110,
    CU_ATTRIBUTE_SHARED_RESERVED     = 111,
    CU_ATTRIBUTE_MEMORY_POOLS        = 115
};

/* CUmemPool_attribute */
enum {
    CU_POOL_RELEASE_THRESHOLD = 4, /* uint64_t */
    CU_POOL_RESERVED_CURRENT  = 5,
    CU_POOL_RESERVED_HIGH     = 6,
    CU_POOL_USED_CURRENT      = 7,
    CU_POOL_USED_HIGH         = 8
};

/* CUmemPoolProps as of CUDA 11.2 to 13; the fields after win32_security are 0 */
typedef struct cu_pool_props {
    int alloc_type;            /* 1: pinned */
    int handle_types;          /* 0: none */
    struct { int type; int id; } location; /* type 1: device */
    void *win32_security;
    size_t max_bytes;          /* 0: the system's limit */
    unsigned char reserved[56];
} cu_pool_props;

/* Physical memory that is mapped where the program likes: CUmemGenericAllocationHandle, and the
 * structures CUmemAllocationProp and CUmemAccessDesc as of CUDA 10.2 to 13. */
typedef unsigned long long cu_granule;

typedef struct cu_granule_props {
    int alloc_type;            /* 1: pinned */
    int handle_types;          /* CU_HANDLE_*; 0: none */
    struct { int type; int id; } location; /* type 1: device */
    void *win32_metadata;
    unsigned char compression;
    unsigned char rdma;        /* 1: other PCIe devices may reach it, as they may cuMemAlloc's */
    unsigned short usage;
    unsigned char reserved[4];
} cu_granule_props;

typedef struct cu_access {
    struct { int type; int id; } location; /* type 1: device */
    int flags;                 /* 3: read and write */
} cu_access;

enum { CU_GRANULARITY_MINIMUM = 0, CU_GRANULARITY_RECOMMENDED = 1 };

/* CUmemAllocationHandleType */
enum { CU_HANDLE_DESCRIPTOR = 1 };

/* CUuuid */
typedef struct cu_uuid { unsigned char bytes[16]; } cu_uuid;

/*
 * Every entry point: member, name for cuGetProcAddress(), name in libcuda.so.1, the CUDA version
 * that it is asked for with, whether it may be missing, arguments.
 */
#define SHPOOL_DRIVER_CALLS(_)                                                                     \
    _(init, cuInit, cuInit, 2000, 0, (unsigned flags))                                             \
    _(version, cuDriverGetVersion, cuDriverGetVersion, 2020, 0, (int *version))                    \
    _(error_string, cuGetErrorString, cuGetErrorString, 6000, 0,                                   \
      (cu_result result, const char **text))                                                       \
    _(device_count, cuDeviceGetCount, cuDeviceGetCount, 2000, 0, (int *count))                     \
    _(device_get, cuDeviceGet, cuDeviceGet, 2000, 0, (cu_device *device, int ordinal))             \
    _(device_name, cuDeviceGetName, cuDeviceGetName, 2000, 0,                                      \
      (char *name, int bytes, cu_device device))                                                   \
    _(device_attribute, cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, 0,                       \
      (int *value, int attribute, cu_device device))                                               \
    _(device_memory, cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, 0,                               \
      (size_t *bytes, cu_device device))                                                           \
    _(device_can_reach, cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, 0,                     \
      (int *can, cu_device device, cu_device owner))                                               \
    _(device_uuid, cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, 1,                                  \
      (cu_uuid *uuid, cu_device device))                                                           \
    _(primary_retain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, 0,                 \
      (cu_context *context, cu_device device))                                                     \
    _(context_get, cuCtxGetCurrent, cuCtxGetCurrent, 4000, 0, (cu_context *context))               \
    _(context_set, cuCtxSetCurrent, cuCtxSetCurrent, 4000, 0, (cu_context context))                \
    _(context_push, cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, 0, (cu_context context))          \
    _(context_pop, cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, 0, (cu_context *context))            \
    _(context_device, cuCtxGetDevice, cuCtxGetDevice, 2000, 0, (cu_device *device))                \
    _(memory_info, cuMemGetInfo, cuMemGetInfo_v2, 3020, 0, (size_t *free, size_t *total))          \
    _(memory_alloc, cuMemAlloc, cuMemAlloc_v2, 3020, 0, (cu_ptr *ptr, size_t bytes))               \
    _(memory_free, cuMemFree, cuMemFree_v2, 3020, 0, (cu_ptr ptr))                                 \
    _(host_alloc, cuMemHostAlloc, cuMemHostAlloc, 2020, 0,                                         \
      (void **ptr, size_t bytes, unsigned flags))                                                  \
    _(host_free, cuMemFreeHost, cuMemFreeHost, 2000, 0, (void *ptr))                               \
    _(copy_to_host, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, 0,                              \
      (void *to, cu_ptr from, size_t bytes, shpool_stream stream))                                 \
    _(copy_from_host, cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, 0,                            \
      (cu_ptr to, const void *from, size_t bytes, shpool_stream stream))                           \
    _(copy_device, cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, 0,                               \
      (cu_ptr to, cu_ptr from, size_t bytes, shpool_stream stream))                                \
    _(set_8, cuMemsetD8Async, cuMemsetD8Async, 3020, 0,                                            \
      (cu_ptr to, unsigned char value, size_t count, shpool_stream stream))                        \
    _(set_16, cuMemsetD16Async, cuMemsetD16Async, 3020, 0,                                         \
      (cu_ptr to, unsigned short value, size_t count, shpool_stream stream))                       \
    _(set_32, cuMemsetD32Async, cuMemsetD32Async, 3020, 0,                                         \
      (cu_ptr to, unsigned value, size_t count, shpool_stream stream))                             \
    _(stream_create, cuStreamCreate, cuStreamCreate, 2000, 0,                                      \
      (shpool_stream *stream, unsigned flags))                                                     \
    _(stream_destroy, cuStreamDestroy, cuStreamDestroy_v2, 4000, 0, (shpool_stream stream))        \
    _(stream_sync, cuStreamSynchronize, cuStreamSynchronize, 2000, 0, (shpool_stream stream))      \
    _(stream_query, cuStreamQuery, cuStreamQuery, 2000, 0, (shpool_stream stream))                 \
    _(stream_wait, cuStreamWaitEvent, cuStreamWaitEvent, 3020, 0,                                  \
      (shpool_stream stream, shpool_event event, unsigned flags))                                  \
    _(stream_id, cuStreamGetId, cuStreamGetId, 12000, 1,                                           \
      (shpool_stream stream, unsigned long long *id))                                              \
    _(stream_capturing, cuStreamIsCapturing, cuStreamIsCapturing, 10000, 1,                        \
      (shpool_stream stream, int *status))                                                         \
    _(stream_capture, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, 10010, 1,                    \
      (shpool_stream stream, int *status, unsigned long long *id))                                 \
    _(capture_mode, cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010,   \
      1, (int *mode))                                                                              \
    _(event_create, cuEventCreate, cuEventCreate, 2000, 0, (shpool_event *event, unsigned flags))  \
    _(event_destroy, cuEventDestroy, cuEventDestroy_v2, 4000, 0, (shpool_event event))             \
    _(event_record, cuEventRecord, cuEventRecord, 2000, 0,                                         \
      (shpool_event event, shpool_stream stream))                                                  \
    _(event_query, cuEventQuery, cuEventQuery, 2000, 0, (shpool_event event))                      \
    _(event_sync, cuEventSynchronize, cuEventSynchronize, 2000, 0, (shpool_event event))           \
    _(event_elapsed, cuEventElapsedTime, cuEventElapsedTime, 2000, 0,                              \
      (float *milliseconds, shpool_event start, shpool_event end))                                 \
    _(pool_create, cuMemPoolCreate, cuMemPoolCreate, 11020, 1,                                     \
      (cu_pool *pool, const cu_pool_props *props))                                                 \
    _(pool_destroy, cuMemPoolDestroy, cuMemPoolDestroy, 11020, 1, (cu_pool pool))                  \
    _(pool_set, cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, 1,                            \
      (cu_pool pool, int attribute, void *value))                                                  \
    _(pool_get, cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, 1,                            \
      (cu_pool pool, int attribute, void *value))                                                  \
    _(pool_trim, cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, 1, (cu_pool pool, size_t keep))          \
    _(pool_alloc, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, 1,                      \
      (cu_ptr *ptr, size_t bytes, cu_pool pool, shpool_stream stream))                             \
    _(pool_free, cuMemFreeAsync, cuMemFreeAsync, 11020, 1, (cu_ptr ptr, shpool_stream stream))     \
    _(granularity, cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020, 1,         \
      (size_t *bytes, const cu_granule_props *props, int which))                                   \
    _(range_reserve, cuMemAddressReserve, cuMemAddressReserve, 10020, 1,                           \
      (cu_ptr *ptr, size_t bytes, size_t alignment, cu_ptr wanted, unsigned long long flags))      \
    _(range_free, cuMemAddressFree, cuMemAddressFree, 10020, 1, (cu_ptr ptr, size_t bytes))        \
    _(granule_create, cuMemCreate, cuMemCreate, 10020, 1,                                          \
      (cu_granule *granule, size_t bytes, const cu_granule_props *props,                           \
       unsigned long long flags))                                                                  \
    _(granule_release, cuMemRelease, cuMemRelease, 10020, 1, (cu_granule granule))                 \
    _(granule_map, cuMemMap, cuMemMap, 10020, 1,                                                   \
      (cu_ptr ptr, size_t bytes, size_t offset, cu_granule granule, unsigned long long flags))     \
    _(granule_unmap, cuMemUnmap, cuMemUnmap, 10020, 1, (cu_ptr ptr, size_t bytes))                 \
    _(granule_access, cuMemSetAccess, cuMemSetAccess, 10020, 1,                                    \
      (cu_ptr ptr, size_t bytes, const cu_access *access, size_t count))                           \
    _(granule_export, cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, 1,        \
      (void *handle, cu_granule granule, int type, unsigned long long flags))                      \
    _(granule_import, cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, 1,    \
      (cu_granule *granule, void *handle, int type))                                               \
    _(module_load, cuModuleLoadData, cuModuleLoadData, 2000, 0,                                    \
      (cu_module *module, const void *image))                                                      \
    _(module_unload, cuModuleUnload, cuModuleUnload, 2000, 0, (cu_module module))                  \
    _(module_function, cuModuleGetFunction, cuModuleGetFunction, 2000, 0,                          \
      (cu_function *function, cu_module module, const char *name))                                 \
    _(launch, cuLaunchKernel, cuLaunchKernel, 4000, 0,                                             \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, shpool_stream stream,            \
       void **parameters, void **extra))

typedef struct shpool_driver {
#define SHPOOL_DRIVER_MEMBER(_member, _name, _symbol, _version, _optional, _arguments)             \
    cu_result (*_member) _arguments;
    SHPOOL_DRIVER_CALLS(SHPOOL_DRIVER_MEMBER)
#undef SHPOOL_DRIVER_MEMBER
} shpool_driver;

/*
 * The driver, loaded and initialised by the first call.  SHPOOL_ERR_UNSUPPORTED: none, or too old;
 * SHPOOL_ERR_CUDA: it failed, or this process was forked after it was loaded.
 */
shpool_status shpool_driver_get(const shpool_driver **cu_p);

/* 1 in a child of fork() after the driver was loaded: it must not be called there.  Each malloc
 * asks, so that this is no call. */
extern atomic_int shpool_driver_lost;
static inline int shpool_driver_forked(void)
{
    return atomic_load_explicit(&shpool_driver_lost, memory_order_relaxed);
}

/* Record the detail of a failed call: its name, the number, the driver's own text. */
shpool_status shpool_driver_failed(const shpool_driver *cu, const char *call, cu_result result);

/* For tests: use this table (NULL: load the real one again), and forget that the process was
 * forked.  No other thread may be in the library. */
void shpool_driver_replace(const shpool_driver *cu);

#pragma GCC visibility pop

#endif /* SHPOOL_DRIVER_H */
