/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the GPU that is measured. */
#include "config.h"

#include <stdio.h>

#include "gpu.h"

extern "C" int bench_cuda_present(char *text, size_t bytes)
{
    cudaDeviceProp properties;
    int            count  = 0;
    int            driver = 0;
    cudaError_t    error  = cudaGetDeviceCount(&count);

    if ((error == cudaSuccess) && (count > 0)) {
        error = cudaGetDeviceProperties(&properties, 0);
    }
    if (error == cudaSuccess) {
        error = cudaDriverGetVersion(&driver);
    }
    if ((error != cudaSuccess) || (count == 0)) {
        snprintf(text, bytes, "no GPU: %s", (error != cudaSuccess) ? cudaGetErrorString(error)
                                                                   : "none found");
        (void)cudaGetLastError();
        return 0;
    }
    snprintf(text, bytes, "%s (sm_%d%d, %d SMs, CUDA driver %d.%d)", properties.name,
             properties.major, properties.minor, properties.multiProcessorCount, driver / 1000,
             driver % 1000 / 10);
    return 1;
}

extern "C" int bench_cuda_runtime(void)
{
    int version = 0;

    (void)cudaRuntimeGetVersion(&version);
    return version;
}
