/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of CUDA's headers that clang needs for kernels without includes, so that the tests
 * compile them on a machine without a toolkit:
 *     clang++-19 -x cuda -nocudainc -nocudalib -include cuda.h */
#ifndef COALESCE_CUDA_H
#define COALESCE_CUDA_H

#define __constant__ __attribute__((constant))
#define __device__   __attribute__((device))
#define __global__   __attribute__((global))
#define __host__     __attribute__((host))
#define __shared__   __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef __SIZE_TYPE__ size_t;
struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
#include <__clang_cuda_builtin_vars.h>

static inline __device__ unsigned min(unsigned a, unsigned b) {
    return (a < b) ? a : b;
}

#endif
