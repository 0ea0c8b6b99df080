// SPDX-License-Identifier: BSD-3-Clause
// Shared by the GPU tests of device allocators.
#ifndef SHPOOL_TESTS_GPU_DEVICE_CHECK_CUH
#define SHPOOL_TESTS_GPU_DEVICE_CHECK_CUH

#include "check.h"

#include <shpool/device.h>

// Writes the tag all over, waits a while, and counts the words that another wrote meanwhile.
static __global__ void tag_and_verify(unsigned *words, size_t count, unsigned tag, int spin,
                               unsigned long long *wrong)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        words[i] = tag;
    }
    long long end = clock64() + spin;
    while (clock64() < end) {
    }
    __syncthreads();
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        if (static_cast<volatile unsigned *>(words)[i] != tag) {
            atomicAdd(wrong, 1ull);
        }
    }
}

static bool ok(shpool_status status, const char *what)
{
    return gpu_check(status == SHPOOL_OK, "%s: %s: %s", what, shpool_strerror(status),
                     shpool_last_error());
}

#endif // SHPOOL_TESTS_GPU_DEVICE_CHECK_CUH
