/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory without kernels for GPUs: what cub.cu defines. */
#include "config.h"

#include "memory.h"

void bench_memory_add_cub(void)
{
}

void bench_memory_spin(int device, shpool_stream stream, unsigned microseconds)
{
    (void)device;
    (void)stream;
    (void)microseconds;
}
