/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of binding_kernel.cuh's kernel, and its results, for each binding's translation unit. */
#ifndef SHPOOL_TESTS_BINDING_RUN_H
#define SHPOOL_TESTS_BINDING_RUN_H

#include <stdint.h>

#define BINDING_GRID    40u
#define BINDING_THREADS 96u
#define BINDING_PAYLOAD (24u * 1024u)
#define BINDING_RESULTS (BINDING_GRID * BINDING_THREADS)

/* Fill out[BINDING_RESULTS].  0: done; 77: not in this build or CUDA version; else failed.  If the
 * result is not 0, the reason has been printed on standard output. */
extern "C" int binding_run_table(const char *allocator, uint32_t *out);
extern "C" int binding_run_inline_bitmap(const char *allocator, uint32_t *out);
extern "C" int binding_run_inline_thread_first_fit(const char *allocator, uint32_t *out);
extern "C" int binding_run_linked(const char *allocator, uint32_t *out);

#ifdef SHPOOL_SHPOOL_CUH
/* Launch `kernel` (a __global__ function, or one from cudaLibraryGetKernel()) with the pool. */
static inline int binding_launch(const char *what, const void *kernel, shpool_pool *pool,
                                 uint32_t *out)
{
    uint32_t *device_out = NULL;
    void     *arguments[] = {pool, &device_out};

    cudaError_t error = cudaMalloc(&device_out, BINDING_RESULTS * sizeof(*out));

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
static inline int binding_open(const char *allocator, shpool_pool *pool)
{
    shpool_config want = {};

    want.block_threads = BINDING_THREADS;
    want.payload_bytes = BINDING_PAYLOAD;
    return gpu_check(shpool_open(allocator, &want, pool) == SHPOOL_OK, "open \"%s\": %s", allocator,
                     shpool_last_error()) ? 0 : 1;
}
#endif

#endif /* SHPOOL_TESTS_BINDING_RUN_H */
