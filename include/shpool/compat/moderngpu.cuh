/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's header of this name: contexts, memory, allocators, and the functions for kernels.  MGPU's
 * algorithms (scan, sort, ...) are not here: CUB has their successors. */
#ifndef SHPOOL_COMPAT_MODERNGPU_CUH
#define SHPOOL_COMPAT_MODERNGPU_CUH

#include <shpool/compat/mgpudevice.cuh>
#include <shpool/compat/util/mgpucontext.h>

/* Debug builds, in files of nvcc or with <cuda_runtime.h> before this header: wait for the device,
 * and throw what went wrong with the place where it was seen. */
#if defined(_DEBUG) && (defined(__CUDACC__) || defined(__CUDA_RUNTIME_H__))
#define MGPU_SYNC_CHECK(s)                                                                         \
    do {                                                                                           \
        cudaError_t sync_error_ = cudaDeviceSynchronize();                                         \
        if (sync_error_ != cudaSuccess) {                                                          \
            throw mgpu::CudaException(SHPOOL_ERR_CUDA,                                             \
                                      mgpu::stringprintf("%s: %s(%d): %s", (s), __FILE__,          \
                                                         __LINE__,                                 \
                                                         cudaGetErrorString(sync_error_)));        \
        }                                                                                          \
    } while (0)
#else
#define MGPU_SYNC_CHECK(s) ((void)0)
#endif

#endif /* SHPOOL_COMPAT_MODERNGPU_CUH */
