/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA names in MGPU's interfaces, from CUDA's header if it is available. */
#ifndef SHPOOL_COMPAT_UTIL_CUDA_TYPES_H
#define SHPOOL_COMPAT_UTIL_CUDA_TYPES_H

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define SHPOOL_COMPAT_CUDA
#elif defined(__has_include)
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#define SHPOOL_COMPAT_CUDA
#endif
#endif

#if !defined(SHPOOL_COMPAT_CUDA)
/* Numbers and types of CUDA's binary interface: no library is needed. */
enum cudaError {
    cudaSuccess               = 0,
    cudaErrorInvalidValue     = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorUnknown          = 999
};
typedef enum cudaError      cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st  *cudaEvent_t;
#endif

#endif /* SHPOOL_COMPAT_UTIL_CUDA_TYPES_H */
