/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's names for programs that shpool-check builds: keywords, vector types, the host's calls.
 * Kernels run when they are launched and have ended when the launch returns, so streams are in
 * order and nothing is asynchronous. */
#ifndef SHPOOL_CHECK_CUDA_RUNTIME_H
#define SHPOOL_CHECK_CUDA_RUNTIME_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "shpool_check.h"

#define CUDART_VERSION 13000
#define CUDA_VERSION   13000

/* `__shared__`, `__device__` variables and `<<<...>>>` are translated by shpool-check. */
#define __global__
#define __host__
#define __grid_constant__
#define __forceinline__       inline __attribute__((always_inline))
#define __align__(_n)         __attribute__((aligned(_n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __builtin_align__(_n) __align__(_n)

/* No call of this header is an access of the program's; shpool_check_access() is told of those. */
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include <shpool/simt.h>
#pragma pop_macro("__CUDACC__")

#define SHPOOL_CHECK_PC    __builtin_return_address(0)
#define SHPOOL_CHECK_HERE  const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define SHPOOL_CHECK_CALL  __attribute__((noinline)) inline

/* ---- vector types ---- */

#define SHPOOL_CHECK_VECTORS(_type, _name, _two, _four) \
    struct _name##1 { _type x; }; \
    struct alignas(_two) _name##2 { _type x, y; }; \
    struct _name##3 { _type x, y, z; }; \
    struct alignas(_four) _name##4 { _type x, y, z, w; }; \
    constexpr _name##1 make_##_name##1(_type x) { return {x}; } \
    constexpr _name##2 make_##_name##2(_type x, _type y) { return {x, y}; } \
    constexpr _name##3 make_##_name##3(_type x, _type y, _type z) { return {x, y, z}; } \
    constexpr _name##4 make_##_name##4(_type x, _type y, _type z, _type w) \
    { \
        return {x, y, z, w}; \
    }
SHPOOL_CHECK_VECTORS(signed char, char, 2, 4)
SHPOOL_CHECK_VECTORS(unsigned char, uchar, 2, 4)
SHPOOL_CHECK_VECTORS(short, short, 4, 8)
SHPOOL_CHECK_VECTORS(unsigned short, ushort, 4, 8)
SHPOOL_CHECK_VECTORS(int, int, 8, 16)
SHPOOL_CHECK_VECTORS(unsigned int, uint, 8, 16)
SHPOOL_CHECK_VECTORS(long, long, 16, 16)
SHPOOL_CHECK_VECTORS(unsigned long, ulong, 16, 16)
SHPOOL_CHECK_VECTORS(long long, longlong, 16, 16)
SHPOOL_CHECK_VECTORS(unsigned long long, ulonglong, 16, 16)
SHPOOL_CHECK_VECTORS(float, float, 8, 16)
SHPOOL_CHECK_VECTORS(double, double, 16, 16)
#undef SHPOOL_CHECK_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

/* ---- errors ---- */

enum cudaError {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3, cudaErrorCudartUnloading = 4,
    cudaErrorInvalidConfiguration = 9, cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidDevicePointer = 17, cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInsufficientDriver = 35, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700, cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorPeerAccessAlreadyEnabled = 704, cudaErrorAssert = 710, cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801, cudaErrorUnknown = 999
};
typedef enum cudaError cudaError_t;

inline int &shpool_check_last() { static int last; return last; }
inline cudaError_t shpool_check_error(int error)
{
    if (error != 0) {
        shpool_check_last() = error;
    }
    return (cudaError_t)error;
}
inline cudaError_t cudaPeekAtLastError() { return (cudaError_t)shpool_check_last(); }
inline cudaError_t cudaGetLastError()
{
    cudaError_t last = cudaPeekAtLastError();

    shpool_check_last() = 0;
    return last;
}
inline const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevicePointer: return "cudaErrorInvalidDevicePointer";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchTimeout: return "cudaErrorLaunchTimeout";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorAssert: return "cudaErrorAssert";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    default: return "cudaErrorUnknown";
    }
}
inline const char *cudaGetErrorString(cudaError_t error)
{
    return (error == cudaSuccess) ? "no error" : cudaGetErrorName(error);
}

/* ---- the launch, into which `kernel<<<...>>>(...)` is translated ---- */

typedef struct shpool_check_stream *cudaStream_t;
#define cudaStreamLegacy    ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)

namespace shpool_checker {
template <typename Kernel> struct bound {
    shpool_check_call call;
    Kernel            kernel;

    template <typename... Arguments> void operator()(Arguments... arguments) const
    {
        auto              run  = [&] { kernel(arguments...); };
        shpool_check_call full = call;

        full.closure       = this;
        full.closure_bytes = sizeof(*this);
        shpool_check_error(shpool_check_launch(
            &full, [](void *arg) { (*(decltype(run) *)arg)(); }, &run));
    }
};
struct launch {
    shpool_check_call call;

    launch(const char *kernel, dim3 grid, dim3 block, size_t bytes = 0, cudaStream_t = nullptr,
           SHPOOL_CHECK_HERE)
        : call{kernel, file, line, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, bytes,
               nullptr, 0}
    {
    }
    template <typename Kernel> bound<Kernel> of(Kernel kernel) const { return {call, kernel}; }
};
}

/* ---- memory ---- */

enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
#define cudaHostAllocDefault       0u
#define cudaHostAllocPortable      1u
#define cudaHostAllocMapped        2u
#define cudaHostAllocWriteCombined 4u
#define cudaHostRegisterDefault    0u
#define cudaMemAttachGlobal        1u
#define cudaCpuDeviceId            (-1)

SHPOOL_CHECK_CALL cudaError_t shpool_check_new(void **ptr_p, size_t bytes, shpool_check_kind kind,
                                               const void *pc)
{
    *ptr_p = (bytes != 0) ? shpool_check_malloc(bytes, kind, pc) : nullptr;
    return shpool_check_error(((bytes != 0) && (*ptr_p == nullptr)) ? cudaErrorMemoryAllocation
                                                                    : cudaSuccess);
}
template <typename T> SHPOOL_CHECK_CALL cudaError_t cudaMalloc(T **ptr_p, size_t bytes)
{
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_DEVICE, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMallocAsync(T **ptr_p, size_t bytes, cudaStream_t)
{
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_DEVICE, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMallocManaged(T **ptr_p, size_t bytes,
                                                unsigned = cudaMemAttachGlobal)
{
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_MANAGED, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMallocHost(T **ptr_p, size_t bytes, unsigned = 0)
{
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_MANAGED, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaHostAlloc(T **ptr_p, size_t bytes, unsigned)
{
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_MANAGED, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMallocPitch(T **ptr_p, size_t *pitch_p, size_t width,
                                              size_t height)
{
    *pitch_p = (width + 511) / 512 * 512;
    return shpool_check_new((void **)ptr_p, *pitch_p * height, SHPOOL_CHECK_DEVICE,
                            SHPOOL_CHECK_PC);
}
template <typename T, typename U>
inline cudaError_t cudaHostGetDevicePointer(T **device_p, U *host, unsigned)
{
    *device_p = (T *)host;
    return cudaSuccess;
}
SHPOOL_CHECK_CALL cudaError_t cudaFree(void *ptr)
{
    return shpool_check_error(shpool_check_free(ptr, SHPOOL_CHECK_PC) ? cudaErrorInvalidValue
                                                                      : cudaSuccess);
}
SHPOOL_CHECK_CALL cudaError_t cudaFreeAsync(void *ptr, cudaStream_t)
{
    return shpool_check_error(shpool_check_free(ptr, SHPOOL_CHECK_PC) ? cudaErrorInvalidValue
                                                                      : cudaSuccess);
}
SHPOOL_CHECK_CALL cudaError_t cudaFreeHost(void *ptr)
{
    return shpool_check_error(shpool_check_free(ptr, SHPOOL_CHECK_PC) ? cudaErrorInvalidValue
                                                                      : cudaSuccess);
}
SHPOOL_CHECK_CALL cudaError_t shpool_check_move(void *to, const void *from, int value, size_t bytes,
                                                const void *pc)
{
    return shpool_check_error(shpool_check_copy(to, from, value, bytes, pc)
                                  ? cudaErrorInvalidValue : cudaSuccess);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    return shpool_check_move(to, from, 0, bytes, SHPOOL_CHECK_PC);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                              cudaMemcpyKind, cudaStream_t = nullptr)
{
    return shpool_check_move(to, from, 0, bytes, SHPOOL_CHECK_PC);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return shpool_check_move(to, nullptr, value, bytes, SHPOOL_CHECK_PC);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                                              cudaStream_t = nullptr)
{
    return shpool_check_move(to, nullptr, value, bytes, SHPOOL_CHECK_PC);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from,
                                           size_t from_pitch, size_t width, size_t height,
                                           cudaMemcpyKind)
{
    for (size_t i = 0; i < height; i++) {
        (void)shpool_check_move((char *)to + i * to_pitch, (const char *)from + i * from_pitch, 0,
                                width, SHPOOL_CHECK_PC);
    }
    return cudaPeekAtLastError();
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes,
                                                 size_t offset = 0,
                                                 cudaMemcpyKind = cudaMemcpyHostToDevice)
{
    return shpool_check_move((char *)&symbol + offset, from, 0, bytes, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes,
                                                   size_t offset = 0,
                                                   cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    return shpool_check_move(to, (const char *)&symbol + offset, 0, bytes, SHPOOL_CHECK_PC);
}
#define cudaMemcpyToSymbolAsync   cudaMemcpyToSymbol
#define cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbol
template <typename T> inline cudaError_t cudaGetSymbolAddress(void **ptr_p, const T &symbol)
{
    *ptr_p = (void *)&symbol;
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *free_p, size_t *total_p)
{
    *total_p = (size_t)16 << 30;
    *free_p  = *total_p - shpool_check_live_bytes();
    return cudaSuccess;
}
template <typename... Rest> inline cudaError_t cudaMemPrefetchAsync(Rest...) { return cudaSuccess; }
template <typename... Rest> inline cudaError_t cudaMemAdvise(Rest...) { return cudaSuccess; }
template <typename... Rest> inline cudaError_t cudaHostRegister(Rest...) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void *) { return cudaSuccess; }

/* ---- streams, events ---- */

struct shpool_check_event {
    std::chrono::steady_clock::time_point time;
};
typedef shpool_check_event *cudaEvent_t;
#define cudaStreamDefault      0u
#define cudaStreamNonBlocking  1u
#define cudaEventDefault       0u
#define cudaEventBlockingSync  1u
#define cudaEventDisableTiming 2u

inline cudaError_t cudaStreamCreate(cudaStream_t *stream_p)
{
    *stream_p = (cudaStream_t)malloc(1);
    return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream_p, unsigned)
{
    return cudaStreamCreate(stream_p);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream_p, unsigned, int)
{
    return cudaStreamCreate(stream_p);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaPeekAtLastError(); }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaPeekAtLastError(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event_p, unsigned = 0)
{
    *event_p = new shpool_check_event();
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event_p, unsigned)
{
    return cudaEventCreate(event_p);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr)
{
    event->time = std::chrono::steady_clock::now();
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaPeekAtLastError(); }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaPeekAtLastError(); }
inline cudaError_t cudaEventElapsedTime(float *ms_p, cudaEvent_t from, cudaEvent_t to)
{
    *ms_p = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaPeekAtLastError(); }
inline cudaError_t cudaThreadSynchronize() { return cudaPeekAtLastError(); }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }

/* ---- the device: as an sm_90 of 132 multiprocessors ---- */

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10, cudaDevAttrClockRate = 13, cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeMode = 20, cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37, cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrManagedMemory = 83, cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrReservedSharedMemoryPerBlock = 111
};
enum cudaComputeMode { cudaComputeModeDefault = 0, cudaComputeModeProhibited = 2 };
inline cudaError_t cudaDeviceGetAttribute(int *value_p, cudaDeviceAttr what, int)
{
    switch (what) {
    case cudaDevAttrMaxThreadsPerBlock: *value_p = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value_p = 48 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value_p = 227 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value_p = 228 << 10; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value_p = 1024; break;
    case cudaDevAttrWarpSize: *value_p = 32; break;
    case cudaDevAttrMultiProcessorCount: *value_p = 132; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value_p = 32; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value_p = 2048; break;
    case cudaDevAttrComputeCapabilityMajor: *value_p = 9; break;
    case cudaDevAttrClockRate: *value_p = 1000000; break;
    case cudaDevAttrMemoryClockRate: *value_p = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value_p = 256; break;
    case cudaDevAttrL2CacheSize: *value_p = 50 << 20; break;
    case cudaDevAttrManagedMemory: *value_p = 1; break;
    default: *value_p = 0; break;
    }
    return cudaSuccess;
}
struct cudaDeviceProp {
    char   name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
    size_t totalConstMem;
    int    regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    int    major, minor, multiProcessorCount, computeMode, memoryClockRate, memoryBusWidth;
    int    l2CacheSize, maxThreadsPerMultiProcessor, concurrentKernels, managedMemory, integrated;
    int    cooperativeLaunch, canMapHostMemory, unifiedAddressing, concurrentManagedAccess;
    int    pageableMemoryAccess, ECCEnabled, asyncEngineCount, pciBusID, pciDeviceID, pciDomainID;
    int    regsPerMultiprocessor, maxBlocksPerMultiProcessor, kernelExecTimeoutEnabled;
    size_t memPitch, textureAlignment;
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int)
{
    *prop = cudaDeviceProp();
    strcpy(prop->name, "shpool-check (CPU block executor)");
    prop->totalGlobalMem             = (size_t)16 << 30;
    prop->sharedMemPerBlock          = 48 << 10;
    prop->sharedMemPerBlockOptin     = 227 << 10;
    prop->sharedMemPerMultiprocessor = 228 << 10;
    prop->totalConstMem              = 64 << 10;
    prop->regsPerBlock               = 65536;
    prop->warpSize                   = 32;
    prop->maxThreadsPerBlock         = 1024;
    prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
    prop->maxThreadsDim[2] = 64;
    prop->maxGridSize[0]   = 0x7fffffff;
    prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
    prop->clockRate = prop->memoryClockRate = 1000000;
    prop->major                       = 9;
    prop->multiProcessorCount         = 132;
    prop->memoryBusWidth              = 256;
    prop->l2CacheSize                 = 50 << 20;
    prop->maxThreadsPerMultiProcessor = 2048;
    prop->concurrentKernels = prop->managedMemory = prop->canMapHostMemory = 1;
    prop->unifiedAddressing = prop->concurrentManagedAccess = 1;
    return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int *count_p)
{
    *count_p = 1;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device)
{
    return shpool_check_error((device == 0) ? cudaSuccess : cudaErrorInvalidDevice);
}
inline cudaError_t cudaGetDevice(int *device_p)
{
    *device_p = 0;
    return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int *version_p)
{
    *version_p = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int *version_p) { return cudaRuntimeGetVersion(version_p); }
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaFuncCache {
    cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int    maxThreadsPerBlock, numRegs, maxDynamicSharedSizeBytes;
};
template <typename T> inline cudaError_t cudaFuncSetAttribute(T, cudaFuncAttribute, int)
{
    return cudaSuccess;
}
template <typename T> inline cudaError_t cudaFuncSetCacheConfig(T, cudaFuncCache)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
template <typename T> inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes_p, T)
{
    *attributes_p = {shpool_check_static_bytes(), 0, 0, 1024, 32, 48 << 10};
    return cudaSuccess;
}
/* Registers are unknown here: 32 a thread. */
template <typename T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_p, T, int threads,
                                                                 size_t bytes)
{
    int blocks = 2048 / ((threads + 31) / 32 * 32);

    blocks    = (blocks > 32) ? 32 : blocks;
    bytes     = (bytes + 1024 + 127) / 128 * 128;
    *blocks_p = ((size_t)blocks * bytes > (228u << 10)) ? (int)((228u << 10) / bytes) : blocks;
    return cudaSuccess;
}
template <typename T>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid_p, int *block_p, T, size_t = 0,
                                                      int limit = 0)
{
    *block_p = ((limit > 0) && (limit < 256)) ? limit : 256;
    *grid_p  = 132 * 8;
    return cudaSuccess;
}

#pragma clang attribute pop

#include "shpool_check_device.h"

#endif /* SHPOOL_CHECK_CUDA_RUNTIME_H */
