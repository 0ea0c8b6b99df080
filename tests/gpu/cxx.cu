/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/shpool.hpp on a GPU, by function table; tests/pools/test_cxx.cc has the same on the
 * executor, and more. */
#include <shpool/shpool.hpp>

#include "check.h"

#define BLOCKS  40u
#define THREADS 256u

struct alignas(16) wide { /* the block's calls have static memory: no base is aligned better */
    unsigned word[8];
};

static __global__ void owners(shpool_pool pool, unsigned *wrong)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap    heap = shpool_init(&pool, smem);
    const unsigned rank = threadIdx.x;
    const unsigned lane = rank & 31u;

    for (unsigned round = 0; round < 20u; round++) {
        shpool::array<unsigned>              own(heap, 1u + rank % 9u);
        shpool::array<unsigned, shpool::warp> all(heap, 32u);
        shpool::array<wide, shpool::lanes>   part(heap, 2u, {0xffffu << (lane & 16u)});
        shpool::array<unsigned, shpool::block> block(heap, THREADS);

        if (!__syncthreads_and(own && all && part && block)) { /* there are barriers below */
            atomicAdd(wrong, 1u);
        } else {
            for (unsigned &number : own) {
                number = rank + round;
            }
            all[lane]   = rank;
            block[rank] = rank;
            __syncthreads();
            if ((own[own.size() - 1u] != rank + round) || (all[31u - lane] != (rank ^ 31u)) ||
                (block[THREADS - 1u - rank] != THREADS - 1u - rank) ||
                (reinterpret_cast<size_t>(part.data()) % alignof(wide) != 0)) {
                atomicAdd(wrong, 1u);
            }
        }
        __syncthreads(); /* the last use, before the arrays go */
    }
    shpool_fini(heap);
}

static void test(const char *spec)
{
    shpool_config want  = {};
    unsigned     *wrong = NULL;
    unsigned      found = 1;

    want.block_threads    = THREADS;
    want.threads_per_pool = THREADS;
    want.payload_bytes    = 64 * 1024;
    if (!gpu_cuda(cudaMalloc(&wrong, sizeof(*wrong)), "cudaMalloc") ||
        !gpu_cuda(cudaMemset(wrong, 0, sizeof(*wrong)), "cudaMemset")) {
        return;
    }
    try {
        shpool::pool pool(want, spec);

        pool.launch(owners, BLOCKS, THREADS, nullptr, wrong);
        gpu_wait(spec);
        const shpool_report_data report = pool.report();

        (void)gpu_check((report.mallocs != 0) && (report.mallocs == report.frees) &&
                            (report.bad_frees == 0) && (report.leaks == 0),
                        "%s: %llu mallocs, %llu frees", spec, report.mallocs, report.frees);
        pool.close();
    } catch (const shpool::error &error) {
        (void)gpu_check(false, "%s: %s", spec, error.what());
    }
    (void)gpu_cuda(cudaMemcpy(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost), "cudaMemcpy");
    (void)gpu_check(found == 0, "%s: %u wrong", spec, found);
    (void)cudaFree(wrong);
}

int main(void)
{
    gpu_need_device();
    test("bitmap:check=1");
    test("warp_first_fit:check=1");
    test("freelist:stats=1");
    return gpu_summary();
}
