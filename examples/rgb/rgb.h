/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that copy pixels on the GPU, and one that changes them: rgb.cu. */
#ifndef RGB_H
#define RGB_H

#include <cuda_runtime.h>

struct pixel {
    int r, g, b;
};

typedef cudaError_t rgb_kernel(pixel *to, const pixel *from, int count);

/** Member by member: the usual code, which the compiler pass rewrites. */
rgb_kernel rgb_copy_members;

/** Each channel times 1.5, at most 255: gather, compute, scatter. */
rgb_kernel rgb_brighten;

#endif
