/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled once for each allocator, with -DSHPOOL_INLINE=NAME. */
#include <shpool/simt.h>

#define BENCH_JOIN_(_a, _b)  _a##_b
#define BENCH_JOIN(_a, _b)   BENCH_JOIN_(_a, _b)
#define BENCH_PREFIX         BENCH_JOIN(bench_inline_, SHPOOL_INLINE)
#include "kernels.cuh"

extern "C" const bench_binding BENCH_JOIN(bench_binding_, SHPOOL_INLINE);
extern "C" const bench_binding BENCH_JOIN(bench_binding_, SHPOOL_INLINE) = {
    shpool_open, BENCH_ALL_KERNELS};
