/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark's kernels, for one binding: BENCH_PREFIX names them. */
#ifndef SHPOOL_BENCH_KERNELS_CUH
#define SHPOOL_BENCH_KERNELS_CUH

#include <shpool/shpool.cuh>

#include "workload.h"

#define BENCH_KERNEL_NAME(_name) SHPOOL_PASTE(SHPOOL_PASTE(BENCH_PREFIX, _), _name)

#define BENCH_KERNEL_OF(_function, _name, _init, _fini, _verify, _bounds) \
    extern "C" __global__ void _bounds BENCH_KERNEL_NAME(_name)(shpool_pool pool, bench_args args) \
    { \
        extern __shared__ __align__(1024) unsigned char smem[]; \
        shpool_heap heap  = _init; \
        bench_tally tally = {}; \
        long long   start = clock64(); \
        bench_run_##_function(heap, &args, _verify, &tally); \
        if ((simt_block_rank() == 0) && (simt_thread_rank() == 0)) { \
            args.tally->cycles = (unsigned long long)(clock64() - start); \
        } \
        bench_sum(&args, &tally); \
        _fini; \
    }
/* Kernels that may want more than 64 registers, and are for every size of block. */
#define BENCH_EVERY_BLOCK __launch_bounds__(1024)
#define BENCH_KERNELS_OF(_name, _init, _fini, _bounds) \
    BENCH_KERNEL_OF(_name, _name, _init, _fini, 0, _bounds) \
    BENCH_KERNEL_OF(_name, _name##_checked, _init, _fini, 1, BENCH_EVERY_BLOCK)
#define BENCH_KERNEL(_name, ...) \
    BENCH_KERNELS_OF(_name, shpool_init(&pool, smem), shpool_fini(heap), )
#define BENCH_SCOPE_KERNEL(_name, _threads, _summary) \
    BENCH_KERNELS_OF(objects_##_name, shpool_init(&pool, smem), shpool_fini(heap), \
                     BENCH_EVERY_BLOCK)
BENCH_PLAIN(BENCH_KERNEL)
BENCH_SCOPES(BENCH_SCOPE_KERNEL)
#undef BENCH_SCOPE_KERNEL
#undef BENCH_KERNEL

/* bench_binding's, by bench_kernel_id(). */
#define BENCH_TIMED(_name, ...)   (const void *)BENCH_KERNEL_NAME(_name),
#define BENCH_CHECKED(_name, ...) (const void *)BENCH_KERNEL_NAME(_name##_checked),
#define BENCH_TIMED_OBJECTS(_name, _threads, _summary)   BENCH_TIMED(objects_##_name, _summary)
#define BENCH_CHECKED_OBJECTS(_name, _threads, _summary) BENCH_CHECKED(objects_##_name, _summary)
#define BENCH_ALL_KERNELS \
    {BENCH_PLAIN(BENCH_TIMED) BENCH_SCOPES(BENCH_TIMED_OBJECTS)}, \
    {BENCH_PLAIN(BENCH_CHECKED) BENCH_SCOPES(BENCH_CHECKED_OBJECTS)}

/* The kernels of a binding compiled by nvcc, for bench/block/cuda.cu. */
typedef struct bench_binding {
    shpool_status (*open)(const char *spec, const shpool_config *want, shpool_pool *pool);
    const void *timed[BENCH_KERNEL_COUNT];
    const void *checked[BENCH_KERNEL_COUNT];
} bench_binding;

#endif /* SHPOOL_BENCH_KERNELS_CUH */
