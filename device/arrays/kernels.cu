/* SPDX-License-Identifier: BSD-3-Clause */
/* The fills as kernels: a fat binary, embedded in libshpool.so and loaded through the driver. */
#include "fill_kernels.h"

extern "C" __global__ void shpool_kernel_ascending(shpool_ascending_task task)
{
    shpool_fill_ascending(&task);
}

extern "C" __global__ void __launch_bounds__(SHPOOL_FILL_THREADS)
    shpool_kernel_random(shpool_random_task task)
{
    shpool_fill_random(&task);
}
