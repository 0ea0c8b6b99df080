/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled to LTO-IR and embedded in shpool-bench; shpool_link() joins it with an allocator. */
#define SHPOOL_LINKED
#define BENCH_PREFIX bench_linked
#include "kernels.cuh"
