/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels that shpool_open() links with an allocator: compiled with LTO-IR (block.mk).  Those
 * of the function table are in cuda.cu, without it, as in most programs: LTO-IR makes a call
 * through the table slower. */
#include <shpool/simt.h>

#define BENCH_PREFIX bench_linked
#include "kernels.cuh"

extern "C" const bench_binding bench_binding_linked;
extern "C" const bench_binding bench_binding_linked = {
    shpool_open, BENCH_ALL_KERNELS};
