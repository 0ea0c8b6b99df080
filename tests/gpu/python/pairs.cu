/* SPDX-License-Identifier: BSD-3-Clause */
/* The C kernel with which times.py compares Numba's: LTO-IR that is linked at run time. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

/* Each thread allocates and frees arrays of the 16 lengths, one after the other. */
extern "C" __global__ void pairs(shpool_pool pool, const long long *lengths, long long *out,
                                 long long rounds)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap  = shpool_init(&pool, smem);
    long long   total = 0;

    for (long long i = 0; i < rounds; i++) {
        long long n   = lengths[(threadIdx.x + i) & 15];
        int      *row = (int *)shpool_malloc(heap, (size_t)n * sizeof(*row));

        if (row != NULL) {
            row[0] = (int)i;
            total += row[0];
        }
        shpool_free(heap, row);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
    shpool_fini(heap);
}
