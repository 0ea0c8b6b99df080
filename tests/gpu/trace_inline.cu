/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded kernel at compile time. */
#define SHPOOL_INLINE bitmap
#define SHPOOL_CHECK
#define TRACE_KERNEL trace_kernel_inline
#include "trace_kernel.cuh"

extern "C" bool trace_run_inline(const char *path, trace_counts *counts_p)
{
    shpool_pool pool;

    return trace_open("bitmap", path, &pool) &&
           trace_launch((const void *)trace_kernel_inline, &pool, counts_p);
}
