/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of binding_kernel.cuh's kernel, and its results, for each binding's translation unit. */
#ifndef SHPOOL_TESTS_BINDING_RUN_H
#define SHPOOL_TESTS_BINDING_RUN_H

#include <stdint.h>

#include "check.h"

#define BINDING_GRID    40u
#define BINDING_THREADS 96u
#define BINDING_PAYLOAD (24u * 1024u)
#define BINDING_RESULTS (BINDING_GRID * BINDING_THREADS)

/* Bytes of static shared memory of the kernels that have some, and their names' ends */
#define BINDING_EACH_STATIC(_do) \
    _do(0) _do(4) _do(8) _do(16) _do(120) _do(128) _do(1000) _do(1024) _do(1040)
#define BINDING_NAME(_bytes) "_" #_bytes,
#define BINDING_KERNELS      10u /* those, after the plain one */

/* Fill out[], BINDING_RESULTS of each of `kernels` kernels from `first` on.  0: done; 77: not in
 * this build or CUDA version; else failed.  If the result is not 0, the reason has been printed on
 * standard output. */
typedef int binding_run(const char *spec, uint32_t first, uint32_t kernels, uint32_t *out);
extern "C" binding_run binding_run_table;
extern "C" binding_run binding_run_inline_bitmap;
extern "C" binding_run binding_run_inline_thread_first_fit;
extern "C" binding_run binding_run_linked;

#ifdef SHPOOL_SHPOOL_CUH
/* Launch `kernel` (a __global__ function, or one from cudaLibraryGetKernel()) with the pool. */
static inline int binding_launch(const char *what, const void *kernel, shpool_pool *pool,
                                 uint32_t *out)
{
    uint32_t *device_out = NULL;
    void     *arguments[] = {pool, &device_out};

    cudaError_t error = cudaMalloc(&device_out, BINDING_RESULTS * sizeof(*out));

    if ((error == cudaSuccess) &&
        !gpu_check(shpool_allow_shared(kernel, pool->shared_bytes) == SHPOOL_OK,
                   "%s: shpool_allow_shared: %s", what, shpool_last_error())) {
        (void)cudaFree(device_out);
        return 1;
    }
    if (error == cudaSuccess) {
        error = cudaLaunchKernel(kernel, dim3(BINDING_GRID), dim3(BINDING_THREADS), arguments,
                                 pool->shared_bytes, NULL);
    }
    if (error == cudaSuccess) {
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        gpu_wait(what);
        error = cudaMemcpy(out, device_out, BINDING_RESULTS * sizeof(*out), cudaMemcpyDeviceToHost);
    }
    (void)cudaFree(device_out);
    return gpu_cuda(error, what) ? 0 : 1;
}

/* Open a pool for this translation unit's binding. */
static inline int binding_open(const char *spec, shpool_pool *pool)
{
    shpool_config want = {};

    want.block_threads = BINDING_THREADS;
    want.payload_bytes = BINDING_PAYLOAD;
    return gpu_check(shpool_open(spec, &want, pool) == SHPOOL_OK, "open \"%s\": %s", spec,
                     shpool_last_error()) ? 0 : 1;
}

/* A run of kernels of this translation unit. */
static inline int binding_run_kernels(const char *what, const void *const *kernel, const char *spec,
                                      uint32_t first, uint32_t kernels, uint32_t *out)
{
    shpool_pool pool   = {};
    int         failed = binding_open(spec, &pool);

    for (uint32_t i = 0; (i < kernels) && (failed == 0); i++) {
        failed = binding_launch(what, kernel[first + i], &pool, out + i * BINDING_RESULTS);
    }
    (void)shpool_close(&pool);
    return failed;
}
#endif

#endif /* SHPOOL_TESTS_BINDING_RUN_H */
