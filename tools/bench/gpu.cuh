/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: failures and times of calls of the CUDA runtime. */
#ifndef SHPOOL_BENCH_GPU_CUH
#define SHPOOL_BENCH_GPU_CUH

#include <cstdio>

#include <cuda_runtime.h>

/** Whether a call failed; then the text says which one, and why. */
static inline bool bench_failed(cudaError_t error, const char *what, char *text, size_t bytes)
{
    if (error != cudaSuccess) {
        snprintf(text, bytes, "%s: %s", what, cudaGetErrorString(error));
        (void)cudaGetLastError();
    }
    return error != cudaSuccess;
}

/** Milliseconds of the work that work() enqueues. */
template <typename WORK> cudaError_t bench_timed(const WORK &work, float *ms)
{
    cudaEvent_t event[2] = {};
    cudaError_t error    = cudaEventCreate(&event[0]);

    error = (error != cudaSuccess) ? error : cudaEventCreate(&event[1]);
    error = (error != cudaSuccess) ? error : cudaEventRecord(event[0]);
    error = (error != cudaSuccess) ? error : work();
    error = (error != cudaSuccess) ? error : cudaEventRecord(event[1]);
    error = (error != cudaSuccess) ? error : cudaEventSynchronize(event[1]);
    error = (error != cudaSuccess) ? error : cudaEventElapsedTime(ms, event[0], event[1]);
    (void)cudaEventDestroy(event[0]);
    (void)cudaEventDestroy(event[1]);
    return error;
}

#endif /* SHPOOL_BENCH_GPU_CUH */
