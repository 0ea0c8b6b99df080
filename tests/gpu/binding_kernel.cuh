/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel text for all bindings: gpu/bindings.cu runs it, sass.sh looks at its machine code.
 *
 * The including translation unit defines BINDING_KERNEL, and SHPOOL_INLINE or SHPOOL_LINKED or
 * neither.  One-dimensional blocks.  Each thread writes out[thread of the grid]: the sum of the
 * words in its allocation after all threads have filled theirs.  If no two allocations overlap, it
 * depends only on the shape.  BINDING_NONE if malloc returned NULL.
 */
#include <shpool/shpool.cuh>

#define BINDING_NONE 0xffffffffu

extern "C" __global__ void BINDING_KERNEL(shpool_pool pool, uint32_t *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap  = shpool_init(&pool, smem);
    uint32_t    words = 4u + 3u * (threadIdx.x & 3u);
    uint32_t   *data  = (uint32_t *)shpool_malloc(heap, words * sizeof(*data));
    uint32_t    sum   = BINDING_NONE;
    uint32_t    i;

    if (data != NULL) {
        for (i = 0; i < words; i++) {
            data[i] = (blockIdx.x * 1024u + threadIdx.x) * 16u + i;
        }
    }
    __syncthreads();
    if (data != NULL) {
        sum = 0;
        for (i = 0; i < words; i++) {
            sum += data[i];
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    shpool_free(heap, data);
    shpool_fini(heap);
}
