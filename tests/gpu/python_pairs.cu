/* SPDX-License-Identifier: BSD-3-Clause */
/* The C kernel beside which python_times.py measures Numba's: LTO-IR that is linked at run time. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

/* Each thread allocates and frees arrays of 1 to 16 numbers, one after the other. */
extern "C" __global__ void pairs(shpool_pool pool, long long *out, long long rounds)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap  = shpool_init(&pool, smem);
    long long   total = 0;

    for (long long i = 0; i < rounds; i++) {
        long long n   = 1 + (threadIdx.x + i) % 16;
        int      *row = (int *)shpool_malloc(heap, (size_t)n * sizeof(*row));

        if (row != NULL) {
            row[n - 1] = (int)i;
            total += row[n - 1];
        }
        shpool_free(heap, row);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
    shpool_fini(heap);
}
