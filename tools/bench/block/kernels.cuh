/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark's kernels, for one binding: BENCH_PREFIX names them. */
#ifndef SHPOOL_BENCH_KERNELS_CUH
#define SHPOOL_BENCH_KERNELS_CUH

#include <shpool/shpool.cuh>

#include "workload.h"

#define BENCH_KERNEL_NAME(_name) SHPOOL_PASTE(SHPOOL_PASTE(BENCH_PREFIX, _), _name)

#define BENCH_KERNEL_OF(_workload, _name, _verify, _bounds) \
    extern "C" __global__ void _bounds BENCH_KERNEL_NAME(_name)(shpool_pool pool, bench_args args) \
    { \
        extern __shared__ __align__(1024) unsigned char smem[]; \
        shpool_heap heap  = shpool_init(&pool, smem); \
        bench_tally tally = {0, 0, 0, 0, 0, 0}; \
        long long   start = clock64(); \
        bench_run_##_workload(heap, &args, _verify, &tally); \
        if ((simt_block_rank() == 0) && (simt_thread_rank() == 0)) { \
            args.tally->cycles = (unsigned long long)(clock64() - start); \
        } \
        bench_sum(&args, &tally); \
        shpool_fini(heap); \
    }
/* What checks payloads may want more than 64 registers, and is for every size of block. */
#define BENCH_KERNEL(_name, _summary) \
    BENCH_KERNEL_OF(_name, _name, 0, ) \
    BENCH_KERNEL_OF(_name, _name##_checked, 1, __launch_bounds__(1024))
BENCH_WORKLOADS(BENCH_KERNEL)
#undef BENCH_KERNEL

#define BENCH_TIMED(_name, _summary)   (const void *)BENCH_KERNEL_NAME(_name),
#define BENCH_CHECKED(_name, _summary) (const void *)BENCH_KERNEL_NAME(_name##_checked),

/* What bench/block/cuda.cu needs of a binding that nvcc compiled. */
typedef struct bench_binding {
    shpool_status (*open)(const char *spec, const shpool_config *want, shpool_pool *pool);
    const void *timed[BENCH_COUNT];
    const void *checked[BENCH_COUNT];
} bench_binding;

#endif /* SHPOOL_BENCH_KERNELS_CUH */
