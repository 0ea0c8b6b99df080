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
    if ((error == cudaErrorInsufficientDriver) || (error == cudaErrorNoDevice)) {
        return shpool_error(SHPOOL_ERR_CUDA, SHPOOL_NO_DRIVER, cudaGetErrorString(error));
    }
    return shpool_error((error == cudaErrorMemoryAllocation) ? SHPOOL_ERR_NO_MEMORY
                                                             : SHPOOL_ERR_CUDA,
                        "%s failed: %s (%s)", call, cudaGetErrorString(error),
                        cudaGetErrorName(error));
}

/* cudaMalloc(), cudaFree() and waits end the captures of this thread, and those of other threads in
 * mode "global", unless this thread's mode is "relaxed".  Returns the mode to restore. */
static inline cudaStreamCaptureMode shpool_cuda_relax(void)
{
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

    if (cudaThreadExchangeStreamCaptureMode(&mode) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return mode;
}

static inline void shpool_cuda_restore(cudaStreamCaptureMode mode)
{
    if (mode != cudaStreamCaptureModeRelaxed) { /* it was that before, or there is no driver */
        (void)cudaThreadExchangeStreamCaptureMode(&mode);
    }
}

/* Whether a stream captures.  SHPOOL_ERR_CAPTURE: it is the legacy stream, and any work on it would
 * end the capture of a stream that is ordered with it. */
static inline shpool_status shpool_cuda_captures(cudaStream_t stream, int *captures_p)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaError_t       error   = cudaStreamIsCapturing(stream, &capture);

    *captures_p = (capture != cudaStreamCaptureStatusNone);
    if (error == cudaErrorStreamCaptureImplicit) {
        (void)cudaGetLastError();
        return shpool_error(SHPOOL_ERR_CAPTURE, "work on the legacy default stream would end the "
                            "capture of a stream that is ordered with it: use a stream of your "
                            "own, capture on a non-blocking stream, or wait for the end of the "
                            "capture");
    }
    return shpool_cuda_status(error, "cudaStreamIsCapturing");
}

/* The same for work that may become part of a graph: only the default stream needs the question. */
static inline shpool_status shpool_cuda_may_work(cudaStream_t stream)
{
    int captures;

    return ((stream == NULL) || (stream == cudaStreamLegacy))
               ? shpool_cuda_captures(stream, &captures) : SHPOOL_OK;
}

#endif /* SHPOOL_IMPL_CUDA_STATUS_H */
