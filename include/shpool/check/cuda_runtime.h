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
#include <tuple>
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
#pragma clang attribute push(__attribute__((no_sanitize("thread", "array-bounds"))), \
                             apply_to = function)

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include <shpool/simt.h>
#pragma pop_macro("__CUDACC__")

#define SHPOOL_CHECK_PC    __builtin_return_address(0)
#define SHPOOL_CHECK_HERE \
    const char *file = __builtin_FILE(), \
    int line = (int)(__builtin_LINE() | ((unsigned)__builtin_COLUMN() & 0x7ffu) << 20)
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

#define SHPOOL_CHECK_ERRORS(X) \
    X(InvalidValue, 1) X(MemoryAllocation, 2) X(InitializationError, 3) X(CudartUnloading, 4) \
    X(InvalidConfiguration, 9) X(InvalidPitchValue, 12) X(InvalidSymbol, 13) \
    X(InvalidDevicePointer, 17) X(InvalidMemcpyDirection, 21) X(InsufficientDriver, 35) \
    X(NoDevice, 100) X(InvalidDevice, 101) X(InvalidResourceHandle, 400) X(NotReady, 600) \
    X(IllegalAddress, 700) X(LaunchOutOfResources, 701) X(LaunchTimeout, 702) \
    X(PeerAccessAlreadyEnabled, 704) X(Assert, 710) X(LaunchFailure, 719) X(NotSupported, 801) \
    X(StreamCaptureImplicit, 906) X(Unknown, 999)
#define SHPOOL_CHECK_ERROR(_name, _value) cudaError##_name = _value,
enum cudaError { cudaSuccess = 0, SHPOOL_CHECK_ERRORS(SHPOOL_CHECK_ERROR) };
#undef SHPOOL_CHECK_ERROR
typedef enum cudaError cudaError_t;

/* The last error of this thread, and the first of a kernel, which stays. */
inline int &shpool_check_last() { static thread_local int last; return last; }
inline int &shpool_check_sticky() { static int sticky; return sticky; }
inline cudaError_t shpool_check_error(int error)
{
    if (error != 0) {
        shpool_check_last() = error;
    }
    return (cudaError_t)error;
}
inline cudaError_t cudaPeekAtLastError()
{
    if (shpool_check_last() != 0) {
        shpool_check_read_error();
    }
    return (cudaError_t)shpool_check_last();
}
inline cudaError_t cudaGetLastError()
{
    cudaError_t last = cudaPeekAtLastError();

    shpool_check_last() = 0;
    return last;
}
/* What a call that waits for kernels returns: not the error of a launch that was refused. */
inline cudaError_t shpool_check_wait() { return shpool_check_error(shpool_check_sticky()); }
inline const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
#define SHPOOL_CHECK_ERROR(_name, _value) case cudaError##_name: return "cudaError" #_name;
    SHPOOL_CHECK_ERRORS(SHPOOL_CHECK_ERROR)
#undef SHPOOL_CHECK_ERROR
    default: return "unrecognized error code";
    }
}
inline const char *cudaGetErrorString(cudaError_t error)
{
    return (error == cudaSuccess) ? "no error" : cudaGetErrorName(error);
}

/* ---- the launch, into which `kernel<<<...>>>(...)` is translated ---- */

/* Streams and events: their objects stay, so that a use after the end is found. */
struct shpool_check_handle {
    bool                                  live;
    std::chrono::steady_clock::time_point time;
};
struct CUstream_st : shpool_check_handle {};
struct CUevent_st : shpool_check_handle {};
typedef CUstream_st *cudaStream_t;
typedef CUevent_st  *cudaEvent_t;
#define cudaStreamLegacy    ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)

template <typename T> inline int shpool_check_make(T **handle_p)
{
    *handle_p         = new T();
    (*handle_p)->live = true;
    return 0;
}
/* cudaErrorInvalidResourceHandle if it was destroyed; 0 and the default streams are none. */
template <typename T> inline int shpool_check_live(const T *handle, const char *file, int line)
{
    if (((size_t)handle <= 2) || handle->live) {
        return 0;
    }
    shpool_check_misuse("use-after-free", "the stream or event was destroyed", file, line);
    return cudaErrorInvalidResourceHandle;
}
template <typename T> inline int shpool_check_drop(T *handle, const char *file, int line)
{
    if ((size_t)handle <= 2) {
        return cudaErrorInvalidResourceHandle;
    }
    if (!handle->live) {
        shpool_check_misuse("double-free", "the stream or event was destroyed before", file, line);
        return cudaErrorInvalidResourceHandle;
    }
    handle->live = false;
    return 0;
}

/* The parameters of a kernel are copied once, when it is launched, and once for each thread. */
namespace shpool_checker {
struct launcher {
    shpool_check_call call;

    template <typename F, typename... Arguments> int go(F function, Arguments... arguments) const
    {
        struct {
            F                        function;
            std::tuple<Arguments...> values;
        } pack{function, std::tuple<Arguments...>(arguments...)};
        auto              run  = [&] { std::apply(pack.function, pack.values); };
        shpool_check_call full = call;
        typedef decltype(run) Run;

        full.closure       = &pack;
        full.closure_bytes = sizeof(pack);
        int error = shpool_check_launch(&full, [](void *arg) { (*(Run *)arg)(); }, &run);
        shpool_check_sticky() = (error >= cudaErrorIllegalAddress) ? error : shpool_check_sticky();
        return shpool_check_error(error);
    }
};
/* A kernel whose parameters are deduced from the arguments, or whose last ones are left out. */
template <typename Kernel> struct any : launcher {
    Kernel kernel;

    template <typename... Arguments> int operator()(Arguments... arguments) const
    {
        return go(kernel, arguments...);
    }
};
template <typename Kernel, typename... Parameters> struct exact : launcher {
    Kernel kernel;
    void (*function)(Parameters...);

    int operator()(Parameters... arguments) const
    {
        return go(function, arguments...);
    }
    template <typename... Arguments,
              typename = std::enable_if_t<(sizeof...(Arguments) < sizeof...(Parameters))>>
    int operator()(Arguments... arguments) const
    {
        return go(kernel, arguments...);
    }
};
/* Takes a function, not the name of several or of a template. */
struct pick {
    template <typename... Parameters>
    static constexpr auto of(void (*function)(Parameters...)) { return function; }
};
struct launch {
    shpool_check_call call;

    launch(const char *kernel, dim3 grid, dim3 block, size_t bytes = 0,
           cudaStream_t stream = nullptr, SHPOOL_CHECK_HERE)
        : call{kernel, nullptr, file, (int)(line & SHPOOL_CHECK_LINE), {grid.x, grid.y, grid.z},
               {block.x, block.y, block.z}, bytes, nullptr, 0}
    {
        (void)shpool_check_live(stream, file, line);
    }
    template <typename Kernel, typename... Parameters>
    exact<Kernel, Parameters...> with(Kernel kernel, void (*function)(Parameters...)) const
    {
        shpool_check_call full = call;

        full.function = (const void *)function;
        return {{full}, kernel, function};
    }
    template <typename Pick, typename Kernel> auto of(Pick picked, Kernel kernel) const
    {
        if constexpr (std::is_invocable_v<Pick, pick>) {
            return with(kernel, picked(pick()));
        } else {
            return any<Kernel>{{call}, kernel};
        }
    }
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
#define cudaHostRegisterPortable   1u
#define cudaHostRegisterMapped     2u
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
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_PINNED, SHPOOL_CHECK_PC);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaHostAlloc(T **ptr_p, size_t bytes, unsigned)
{
    return shpool_check_new((void **)ptr_p, bytes, SHPOOL_CHECK_PINNED, SHPOOL_CHECK_PC);
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
#define SHPOOL_CHECK_FREE(_kinds) \
    shpool_check_error(shpool_check_free(ptr, _kinds, SHPOOL_CHECK_PC) ? cudaErrorInvalidValue \
                                                                       : cudaSuccess)
#define SHPOOL_CHECK_COPY(_to, _from, _bytes, _kind) \
    shpool_check_error(shpool_check_copy(_to, _from, _bytes, (unsigned)(_kind), SHPOOL_CHECK_PC))
SHPOOL_CHECK_CALL cudaError_t cudaFree(void *ptr)
{
    return SHPOOL_CHECK_FREE(1u << SHPOOL_CHECK_DEVICE | 1u << SHPOOL_CHECK_MANAGED);
}
SHPOOL_CHECK_CALL cudaError_t cudaFreeAsync(void *ptr, cudaStream_t)
{
    return SHPOOL_CHECK_FREE(1u << SHPOOL_CHECK_DEVICE | 1u << SHPOOL_CHECK_MANAGED);
}
SHPOOL_CHECK_CALL cudaError_t cudaFreeHost(void *ptr)
{
    return SHPOOL_CHECK_FREE(1u << SHPOOL_CHECK_PINNED);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                                         cudaMemcpyKind kind)
{
    return SHPOOL_CHECK_COPY(to, from, bytes, kind);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                              cudaMemcpyKind kind, cudaStream_t = nullptr)
{
    return SHPOOL_CHECK_COPY(to, from, bytes, kind);
}
SHPOOL_CHECK_CALL cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return shpool_check_error(shpool_check_fill(to, value, bytes, SHPOOL_CHECK_PC));
}
SHPOOL_CHECK_CALL cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                                              cudaStream_t = nullptr)
{
    return shpool_check_error(shpool_check_fill(to, value, bytes, SHPOOL_CHECK_PC));
}
SHPOOL_CHECK_CALL cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from,
                                           size_t from_pitch, size_t width, size_t height,
                                           cudaMemcpyKind kind)
{
    int error = ((to_pitch < width) || (from_pitch < width)) ? cudaErrorInvalidPitchValue
                                                             : cudaSuccess;

    for (size_t i = 0; (i < height) && (error == 0); i++) {
        error = shpool_check_copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch,
                                  width, (unsigned)kind, SHPOOL_CHECK_PC);
    }
    return shpool_check_error(error);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes,
                                                 size_t offset = 0,
                                                 cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return SHPOOL_CHECK_COPY((char *)&symbol + offset, from, bytes, kind);
}
template <typename T>
SHPOOL_CHECK_CALL cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes,
                                                   size_t offset = 0,
                                                   cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return SHPOOL_CHECK_COPY(to, (const char *)&symbol + offset, bytes, kind);
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
inline cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned)
{
    return shpool_check_error(shpool_check_register(ptr, bytes));
}
inline cudaError_t cudaHostUnregister(void *ptr)
{
    return shpool_check_error(shpool_check_register(ptr, 0));
}

/* ---- streams, events ---- */

#define cudaStreamDefault      0u
#define cudaStreamNonBlocking  1u
#define cudaEventDefault       0u
#define cudaEventBlockingSync  1u
#define cudaEventDisableTiming 2u

inline cudaError_t cudaStreamCreate(cudaStream_t *stream_p)
{
    return (cudaError_t)shpool_check_make(stream_p);
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream_p, unsigned)
{
    return cudaStreamCreate(stream_p);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream_p, unsigned, int)
{
    return cudaStreamCreate(stream_p);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream, SHPOOL_CHECK_HERE)
{
    return shpool_check_error(shpool_check_drop(stream, file, line));
}
inline cudaError_t shpool_check_wait_for(cudaStream_t stream, const char *file, int line)
{
    const int error = shpool_check_live(stream, file, line);

    return (error != 0) ? shpool_check_error(error) : shpool_check_wait();
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream, SHPOOL_CHECK_HERE)
{
    return shpool_check_wait_for(stream, file, line);
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream, SHPOOL_CHECK_HERE)
{
    return shpool_check_wait_for(stream, file, line);
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event_p, unsigned = 0)
{
    return (cudaError_t)shpool_check_make(event_p);
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event_p, unsigned)
{
    return cudaEventCreate(event_p);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event, SHPOOL_CHECK_HERE)
{
    return shpool_check_error(shpool_check_drop(event, file, line));
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr,
                                   SHPOOL_CHECK_HERE)
{
    const int error = shpool_check_live(stream, file, line) | shpool_check_live(event, file, line);

    event->time = std::chrono::steady_clock::now();
    return shpool_check_error(error);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return shpool_check_wait(); }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return shpool_check_wait(); }
inline cudaError_t cudaEventElapsedTime(float *ms_p, cudaEvent_t from, cudaEvent_t to)
{
    *ms_p = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return shpool_check_wait(); }
inline cudaError_t cudaThreadSynchronize() { return shpool_check_wait(); }
inline cudaError_t cudaDeviceReset()
{
    shpool_check_sticky() = 0;
    return cudaSuccess;
}

/* Nothing is captured. */
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                             cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive,
                               cudaStreamCaptureStatusInvalidated };
inline cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *)
{
    return cudaSuccess;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status_p)
{
    *status_p = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

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
    int    maxThreadsPerBlock, numRegs, maxDynamicSharedSizeBytes, ptxVersion, binaryVersion;
};
template <typename T>
inline cudaError_t cudaFuncSetAttribute(T function, cudaFuncAttribute what, int value)
{
    return shpool_check_error((what == cudaFuncAttributeMaxDynamicSharedMemorySize)
                                  ? shpool_check_allow((const void *)function, (size_t)value)
                                  : cudaSuccess);
}
template <typename... Parameters, size_t... at>
inline int shpool_check_unpack(void (*function)(Parameters...), dim3 grid, dim3 block, void **from,
                               size_t bytes, cudaStream_t stream, const char *file, int line,
                               std::index_sequence<at...>)
{
    return shpool_checker::launch("cudaLaunchKernel()", grid, block, bytes, stream, file, line)
        .with(function, function)(*(std::remove_reference_t<Parameters> *)from[at]...);
}
/* shpool-check drops the cast to a pointer without type in front of the kernel. */
template <typename... Parameters>
inline cudaError_t cudaLaunchKernel(void (*function)(Parameters...), dim3 grid, dim3 block,
                                    void **from, size_t bytes = 0, cudaStream_t stream = nullptr,
                                    SHPOOL_CHECK_HERE)
{
    const int error = shpool_check_unpack(function, grid, block, from, bytes, stream, file, line,
                                          std::index_sequence_for<Parameters...>());

    shpool_check_read_error();
    return (cudaError_t)error;
}
template <typename T> inline cudaError_t cudaFuncSetCacheConfig(T, cudaFuncCache)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
/* The linker knows only the static shared memory of all kernels together: 0. */
template <typename T> inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes_p, T)
{
    *attributes_p = {0, 0, 0, 1024, 32, 48 << 10};
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
