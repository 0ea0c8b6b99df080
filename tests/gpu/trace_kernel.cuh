/* SPDX-License-Identifier: BSD-3-Clause */
/* One recorded kernel for all bindings, and its launch.  The including translation unit defines
 * TRACE_KERNEL, the kernel's name, and SHPOOL_INLINE or SHPOOL_LINKED, with SHPOOL_CHECK, or
 * neither. */
#include <shpool/shpool.cuh>

#include "check.h"

/* Operations of the kernel's first TRACE_BLOCKS blocks, all threads together. */
struct trace_counts {
    uint32_t mallocs;
    uint32_t frees;
    uint32_t failures;
    uint32_t members; /* threads that took part in the mallocs, each time */
};

enum { TRACE_THREADS = 128, TRACE_BLOCKS = 2, TRACE_ROUNDS = 60 };

#if defined(TRACE_KERNEL)
extern "C" __global__ void TRACE_KERNEL(shpool_pool pool, trace_counts *counts)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap  = shpool_init(&pool, smem);
    uint32_t    state = threadIdx.x * 2654435761u + blockIdx.x * 97u + 1u;
    uint32_t    mallocs = 0, frees = 0, failures = 0;
    void       *held = NULL;

    for (uint32_t round = 0; round < TRACE_ROUNDS; round++) {
        state = state * 1664525u + 1013904223u;
        if (held != NULL) {
            shpool_free(heap, held);
            held = NULL;
            frees++;
        } else {
            held = shpool_malloc(heap, 1u + (state >> 12 & 127u));
            mallocs++;
            failures += (held == NULL);
        }
    }
    if (held != NULL) {
        shpool_free(heap, held);
        frees++;
    }
    if (blockIdx.x < TRACE_BLOCKS) {
        (void)atomicAdd(&counts->mallocs, mallocs);
        (void)atomicAdd(&counts->frees, frees);
        (void)atomicAdd(&counts->failures, failures);
        (void)atomicAdd(&counts->members, mallocs);
    }
    shpool_fini(heap);
}
#endif

/* Run a kernel that fits this translation unit's pools, and write the file; false: it was said. */
static inline bool trace_launch(const void *kernel, shpool_pool *pool, trace_counts *counts_p)
{
    trace_counts *counts      = NULL;
    void         *arguments[] = {pool, &counts};
    bool          right;

    right = gpu_check(shpool_allow_shared(kernel, pool->shared_bytes) == SHPOOL_OK, "%s",
                      shpool_last_error()) &&
            gpu_cuda(cudaMalloc(&counts, sizeof(*counts)), "cudaMalloc") &&
            gpu_cuda(cudaMemset(counts, 0, sizeof(*counts)), "cudaMemset") &&
            gpu_cuda(cudaLaunchKernel(kernel, dim3(4), dim3(TRACE_THREADS), arguments,
                                      pool->shared_bytes, NULL), "cudaLaunchKernel");
    if (right) {
        gpu_wait(pool->name);
        right = gpu_cuda(cudaMemcpy(counts_p, counts, sizeof(*counts_p), cudaMemcpyDeviceToHost),
                         "cudaMemcpy");
    }
    (void)cudaFree(counts);
    return gpu_check(shpool_close(pool) == SHPOOL_OK, "%s", shpool_last_error()) && right;
}

static inline bool trace_open(const char *allocator, const char *path, shpool_pool *pool)
{
    shpool_config want = {};
    char          spec[128];

    want.block_threads = TRACE_THREADS;
    want.payload_bytes = 8 * 1024;
    (void)snprintf(spec, sizeof(spec), "%s:trace=%s,trace_blocks=%d", allocator, path,
                   (int)TRACE_BLOCKS);
    return gpu_check(shpool_open(spec, &want, pool) == SHPOOL_OK, "%s: %s", spec,
                     shpool_last_error());
}

/* One for each binding; false: it was said; *skipped_p: this build or machine cannot. */
extern "C" bool trace_run_inline(const char *path, trace_counts *counts_p);
extern "C" bool trace_run_linked(const char *allocator, const char *path, trace_counts *counts_p,
                                 bool *skipped_p);
