/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of linked.cu, which has the commands that build it. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

/* Each thread adds up a row of 1 + rank numbers that it keeps in shared memory. */
extern "C" __global__ void sums(shpool_pool pool, unsigned *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    unsigned    n    = 1u + threadIdx.x;
    unsigned   *row  = static_cast<unsigned *>(shpool_malloc(heap, n * sizeof(*row)));
    unsigned    sum  = 0;

    for (unsigned i = 0; (row != NULL) && (i < n); i++) {
        row[i] = i;
    }
    for (unsigned i = 0; (row != NULL) && (i < n); i++) {
        sum += row[i];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = (row != NULL) ? sum : ~0u;
    shpool_free(heap, row);
    shpool_fini(heap);
}
