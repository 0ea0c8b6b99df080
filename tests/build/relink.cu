/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ordinary program for tests/build/relink.sh: it relinks its own kernels, up to the cubin,
 * without a GPU.
 *
 *   relink SPEC ARCH FILE
 *
 * Prints the result of shpool_relink(), and writes the cubin.  -DVARIABLES adds variables that must
 * not be copied; -DCONSTANTS adds some that may be.  Code for sm_90a has setmaxnreg.
 */
#include <cstdio>
#include <cstdlib>

#include <shpool/shpool.cuh>

extern const char row_start[] __asm__("__start___nv_relfatbin") __attribute__((weak));
extern const char row_end[] __asm__("__stop___nv_relfatbin") __attribute__((weak));

#if defined(VARIABLES)
__device__ unsigned counter;
__device__ unsigned seeded = 7;
__constant__ unsigned weights[4];
__managed__ unsigned shared_by_all;
#define EXTRA (counter++ + seeded + weights[threadIdx.x & 3] + shared_by_all)
#elif defined(CONSTANTS)
__constant__ unsigned weights[4] = {1, 2, 3, 4};
struct shape {
    __device__ virtual unsigned sides() const { return 0; }
};
namespace { /* its table of functions is a static variable */
struct square : shape {
    __device__ unsigned sides() const override { return 4; }
};
}
/* a call of libcudadevrt.a, whose tables are variables, as in programs that use CUB */
#define EXTRA                                                                                      \
    (weights[threadIdx.x & 3] + shape_of(threadIdx.x)->sides() +                                   \
     static_cast<unsigned>(cudaMemsetAsync(NULL, 0, 0, 0)))
static __device__ __noinline__ shape *shape_of(unsigned i)
{
    return (i != 0) ? new shape : new square;
}
#else
#define EXTRA 0u
#endif

template <typename Word> static __device__ void work(shpool_pool &pool, Word *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    Word       *p    = static_cast<Word *>(shpool_malloc(heap, 64));

    if (p != NULL) {
        p[0]             = static_cast<Word>(EXTRA);
        out[threadIdx.x] = p[0];
    }
    shpool_free(heap, p);
    shpool_fini(heap);
}

static __global__ void __launch_bounds__(256, 1) of_file(shpool_pool pool, unsigned *out)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    }
#endif
    work(pool, out);
}
template <typename Word> __global__ void of_type(shpool_pool pool, Word *out) { work(pool, out); }
namespace {
__global__ void of_nowhere(shpool_pool pool, unsigned *out) { work(pool, out); }
}

int main(int argc, char **argv)
{
    shpool_config want  = {};
    shpool_pool   pool  = {};
    void         *cubin = NULL;
    size_t        bytes = 0;
    FILE         *file  = NULL;

    if (argc != 4) {
        return 2;
    }
    if (argc == 0) { /* never; the kernels are used */
        (void)shpool_launch(of_file, 1, 32, NULL, &pool, static_cast<unsigned *>(NULL));
        (void)shpool_launch(of_type<float>, 1, 32, NULL, &pool, static_cast<float *>(NULL));
        (void)shpool_launch(of_nowhere, 1, 32, NULL, &pool, static_cast<unsigned *>(NULL));
    }
    want.block_threads = 64;
    want.payload_bytes = 16 * 1024;
    if ((shpool_plan(argv[1], &want, &pool) != SHPOOL_OK) ||
        (shpool_relink(row_start, static_cast<size_t>(row_end - row_start), &pool,
                       static_cast<uint32_t>(atoi(argv[2])), &cubin, &bytes) != SHPOOL_OK)) {
        std::puts(shpool_last_error());
        return 1;
    }
    file = std::fopen(argv[3], "wb");
    if ((file == NULL) || (std::fwrite(cubin, 1, bytes, file) != bytes) ||
        (std::fclose(file) != 0)) {
        std::perror(argv[3]);
        return 1;
    }
    std::printf("%s joined: %zu bytes\n", pool.name, bytes);
    free(cubin);
    return 0;
}
