/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel text for all bindings: gpu/bindings.cu runs it, sass.sh looks at its machine code.
 *
 * The including translation unit defines BINDING_KERNEL, and SHPOOL_INLINE or SHPOOL_LINKED or
 * neither.  One-dimensional blocks.  Each thread writes out[thread of the grid]: the sum of the
 * words in its allocation after all threads have filled theirs.  If no two allocations overlap, it
 * depends only on the shape.  BINDING_NONE if malloc returned NULL.
 *
 * With BINDING_STATICS also kernels whose pool follows a static array; KERNEL_120 has one of 120
 * bytes.  They allocate with the pool's alignment.
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

#if defined(BINDING_STATICS)
#include "binding_run.h"

template <unsigned Bytes> __device__ unsigned char *binding_own(void)
{
    __shared__ unsigned char own[Bytes];

    return own;
}
template <> __device__ unsigned char *binding_own<0>(void) { return NULL; }

/* A tile of the block, then memory of each thread, a few of them aligned; the sum as above, or
 * another number if an address is not aligned or the static array has changed.  Not inlined, so
 * that a linker inlines the allocator here once, and not for each size. */
static __device__ __noinline__ void binding_aligned(const shpool_pool *pool, unsigned char *own,
                                                    uint32_t bytes, void *base, uint32_t *out)
{
    shpool_heap    heap  = shpool_init(pool, base);
    void          *tile  = shpool_aligned_malloc_block(heap, pool->alignment, 48);
    uint32_t       words = 4u + 3u * (threadIdx.x & 3u);
    uint32_t       align = (threadIdx.x % 8u == 0) ? pool->alignment : 16u;
    uint32_t       off   = (uint32_t)(size_t)tile & (pool->alignment - 1u);
    uint32_t       have  = (tile != NULL);
    uint32_t       sum   = BINDING_NONE;
    uint32_t      *data;
    uint32_t       i;

    for (i = threadIdx.x; i < bytes; i += blockDim.x) {
        own[i] = (unsigned char)i;
    }
    if ((tile != NULL) && (threadIdx.x < 12u)) {
        ((uint32_t *)tile)[threadIdx.x] = ~0u;
    }
    shpool_free_block(heap, tile);
    __syncthreads();
    data = (uint32_t *)shpool_aligned_malloc(heap, align, words * sizeof(*data));
    off |= (uint32_t)(size_t)data & (align - 1u);
    for (i = 0; (data != NULL) && (i < words); i++) {
        data[i] = (blockIdx.x * 1024u + threadIdx.x) * 16u + i;
    }
    __syncthreads();
    if ((data != NULL) && have) {
        sum = off;
        for (i = 0; i < words; i++) {
            sum += data[i];
        }
    }
    for (i = 0; i < bytes; i++) {
        sum += own[i] ^ (unsigned char)i;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    shpool_free(heap, data);
    shpool_fini(heap);
}

#define BINDING_STATIC_KERNEL(_bytes) \
    extern "C" __global__ void SHPOOL_PASTE(BINDING_KERNEL, _##_bytes)(shpool_pool pool, \
                                                                      uint32_t *out) \
    { \
        extern __shared__ __align__(1024) unsigned char tiles[]; \
        binding_aligned(&pool, binding_own<_bytes>(), _bytes, tiles, out); \
    }
BINDING_EACH_STATIC(BINDING_STATIC_KERNEL)

#define BINDING_POINTER(_bytes) (const void *)SHPOOL_PASTE(BINDING_KERNEL, _##_bytes),
#endif
