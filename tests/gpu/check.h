/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the GPU tests: counting checks, CUDA errors, and kernels that must end. */
#ifndef SHPOOL_TESTS_GPU_CHECK_H
#define SHPOOL_TESTS_GPU_CHECK_H

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

#include <cuda_runtime.h>

#define GPU_TIMEOUT_S 60.0

static unsigned gpu_passed;
static unsigned gpu_failed;

/* One check; the text describes it, and is printed if it fails. */
__attribute__((format(printf, 2, 3))) static inline bool gpu_check(bool ok, const char *format, ...)
{
    va_list arguments;

    if (ok) {
        gpu_passed++;
        return true;
    }
    gpu_failed++;
    va_start(arguments, format);
    std::printf("FAIL ");
    std::vprintf(format, arguments);
    std::printf("\n");
    va_end(arguments);
    std::fflush(stdout);
    return false;
}

static inline bool gpu_cuda(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) {
        return true;
    }
    (void)gpu_check(false, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
    return false;
}

/* After a launch: its error, then its end.  Nothing can be done with a context whose kernel hangs
 * or died, so both end the program. */
static inline void gpu_wait(const char *kernel)
{
    cudaEvent_t     event = nullptr;
    cudaError_t     error = cudaGetLastError();
    struct timespec begin;
    struct timespec now;

    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventRecord(event);
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (error == cudaSuccess) {
        error = cudaEventQuery(event);
        if (error != cudaErrorNotReady) {
            break;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (static_cast<double>(now.tv_sec - begin.tv_sec) > GPU_TIMEOUT_S) {
            std::printf("FAIL %s: not finished after %.0f s\n", kernel, GPU_TIMEOUT_S);
            std::fflush(stdout);
            _exit(1);
        }
        usleep(50);
        error = cudaSuccess;
    }
    if (error != cudaSuccess) {
        std::printf("FAIL %s: %s (%s)\n", kernel, cudaGetErrorString(error),
                    cudaGetErrorName(error));
        std::fflush(stdout);
        _exit(1);
    }
    (void)gpu_cuda(cudaEventDestroy(event), "cudaEventDestroy");
}

/* Exit with 77, which means "skipped" to a test driver, if no device exists. */
static inline void gpu_need_device(void)
{
    int         devices = 0;
    cudaError_t error   = cudaGetDeviceCount(&devices);

    if ((error != cudaSuccess) || (devices == 0)) {
        std::printf("skipped: no CUDA device (%s)\n",
                    (error != cudaSuccess) ? cudaGetErrorString(error) : "none is visible");
        std::exit(77);
    }
}

static inline int gpu_summary(void)
{
    std::printf("%u passed, %u failed\n", gpu_passed, gpu_failed);
    return (gpu_failed == 0) ? 0 : 1;
}

#endif /* SHPOOL_TESTS_GPU_CHECK_H */
