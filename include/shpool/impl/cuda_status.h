/* SPDX-License-Identifier: BSD-3-Clause */
/* The application's CUDA runtime and the library's statuses.  Not for direct inclusion. */
#ifndef SHPOOL_IMPL_CUDA_STATUS_H
#define SHPOOL_IMPL_CUDA_STATUS_H

#include <cuda_runtime.h>

#include <shpool/shpool.h>

/* Turns a CUDA error into a status with a detail, and clears it. */
static inline shpool_status shpool_cuda_status(cudaError_t error, const char *call)
{
    if (error == cudaSuccess) {
        return SHPOOL_OK;
    }
    (void)cudaGetLastError();
    return shpool_error((error == cudaErrorMemoryAllocation) ? SHPOOL_ERR_NO_MEMORY
                                                             : SHPOOL_ERR_CUDA,
                        "%s failed: %s (%s)", call, cudaGetErrorString(error),
                        cudaGetErrorName(error));
}

#endif /* SHPOOL_IMPL_CUDA_STATUS_H */
