/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA program; installcheck.sh compiles it as a user would, as a program, and twice
 * (with another -DCONSUMER) as a shared library.
 */
#include <cstdio>
#include <shpool/shpool.cuh>

#ifndef CONSUMER
#define CONSUMER consumer
#endif

static __global__ void consumer_kernel(shpool_pool pool, unsigned *failures)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    unsigned   *mine = (unsigned *)shpool_malloc(heap, sizeof(unsigned));

    if (mine == NULL) {
        atomicAdd(failures, 1);
    }
    shpool_free(heap, mine);
    shpool_fini(heap);
}

extern "C" __attribute__((visibility("default"))) int CONSUMER(void)
{
    shpool_config want  = {};
    shpool_pool   pool  = {};
    unsigned     *count = nullptr;
    unsigned      failures = 0;
    int           devices  = 0;
    shpool_status status;

    if ((cudaGetDeviceCount(&devices) != cudaSuccess) || (devices == 0)) {
        std::printf("no device\n");
        return 0;
    }
    want.block_threads    = 256;
    want.payload_bytes    = 32 * 1024;
    want.threads_per_pool = 8;
    want.alignment        = 16;
    status = shpool_open(nullptr, &want, &pool);
    if (status == SHPOOL_OK) {
        status = shpool_allow_shared((const void *)consumer_kernel, pool.shared_bytes);
    }
    if (status != SHPOOL_OK) {
        std::fprintf(stderr, "%s: %s\n", shpool_strerror(status), shpool_last_error());
        return 1;
    }
    if ((cudaMalloc(&count, sizeof(*count)) != cudaSuccess) ||
        (cudaMemset(count, 0, sizeof(*count)) != cudaSuccess)) {
        return 1;
    }
    consumer_kernel<<<2, 256, pool.shared_bytes>>>(pool, count);
    if (cudaMemcpy(&failures, count, sizeof(failures), cudaMemcpyDeviceToHost) != cudaSuccess) {
        return 1;
    }
    cudaFree(count);
    std::printf("%s: %u failures\n", pool.name, failures);
    shpool_close(&pool);
    return (failures == 0) ? 0 : 1;
}

#ifndef CONSUMER_LIBRARY
int main()
{
    return CONSUMER();
}
#endif
