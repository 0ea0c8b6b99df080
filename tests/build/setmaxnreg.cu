/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel whose producer warps give up registers and allocate, and whose consumers get them. */
#include <shpool/shpool.cuh>

extern "C" __global__ void __launch_bounds__(384, 1)
    specialised(shpool_pool pool, const float *in, float *out, unsigned bytes)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ float                             *tile[4];
    shpool_heap                                   heap = shpool_init(&pool, smem);

#ifdef SMEM_SPILLING
    asm volatile(".pragma \"enable_smem_spilling\";");
#endif
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x % 32 == 0) {
            float *p = (float *)shpool_malloc_wait(heap, bytes, 1000000);

            tile[threadIdx.x / 32] = p;
            for (unsigned i = 0; (p != NULL) && (i < bytes / 4); i++) {
                p[i] = in[i];
            }
        }
        asm volatile("bar.sync 1, 384;");
        asm volatile("bar.sync 2, 384;");
        if (threadIdx.x % 32 == 0) {
            shpool_free(heap, tile[threadIdx.x / 32]);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        asm volatile("bar.sync 1, 384;");
        out[blockIdx.x * 256 + threadIdx.x - 128] =
            (tile[0] != NULL) ? tile[0][threadIdx.x % (bytes / 4)] : 0.0f;
        asm volatile("bar.sync 2, 384;");
    }
    shpool_fini(heap);
}
