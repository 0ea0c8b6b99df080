/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools in launches that persistent kernels use:
 *
 *   together   a cooperative launch with a pool of more than 48 KiB
 *   dependent  programmatic dependent launch: a kernel makes its pool while the one before it in
 *              the stream still runs, and reads that one's results after griddepcontrol.wait
 *   green      a green context: the kernel runs on some of the multiprocessors
 *   control    cluster launch control (sm_100 and newer): blocks take over the work of blocks that
 *              have not begun; only compiled, unless the GPU has it
 *
 * Exit code 0: all passed, 1: something failed, 77: no device of sm_90 or newer.
 */
#include <cuda.h>

#include <shpool/shpool.cuh>

#include "check.h"

namespace
{

constexpr unsigned THREADS = 128;
constexpr unsigned BLOCKS  = 64;
constexpr unsigned STEPS   = 20;

/* Each thread passes its number through memory of the pool. */
__device__ unsigned through_pool(shpool_heap heap, unsigned v)
{
    unsigned *p = static_cast<unsigned *>(shpool_malloc(heap, 4 + v % 64));

    if (p == nullptr) {
        return 0;
    }
    *p = v;
    v  = *reinterpret_cast<volatile unsigned *>(p);
    shpool_free(heap, p);
    return v;
}

/* Each number is the right neighbour's of the last step, and one more. */
__global__ void step(shpool_pool pool, const unsigned *in, unsigned *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap    heap = shpool_init(&pool, smem); /* does not read what the last kernel writes */
    const unsigned i    = blockIdx.x * THREADS + threadIdx.x;

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" : : : "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    out[i] = through_pool(heap, 1u + __ldcg(in + (i + 1) % (BLOCKS * THREADS)));
    shpool_fini(heap);
}

#if CUDART_VERSION >= 12080
/* Block b of the grid, or those whose work it takes over, count for b. */
__global__ void control(shpool_pool pool, unsigned *numbers)
{
#if __CUDA_ARCH__ >= 1000
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ __align__(16) uint4                answer;
    __shared__ __align__(8) unsigned long long    mbar;
    shpool_heap                                   heap   = shpool_init(&pool, smem);
    unsigned                                      block  = blockIdx.x;
    unsigned                                      parity = 0;
    unsigned                                      more   = 1;

    if (threadIdx.x == 0) {
        simt_mbar_init(simt_to_shared(&mbar), 1);
    }
    __syncthreads();
    while (more != 0) {
        if (threadIdx.x == 0) {
            simt_fence_async_shared();
            simt_mbar_arrive_expect(simt_to_shared(&mbar), 16);
            asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta."
                         "mbarrier::complete_tx::bytes.b128 [%0], [%1];"
                         : : "r"(simt_to_shared(&answer)), "r"(simt_to_shared(&mbar)) : "memory");
        }
        if (through_pool(heap, 1u + block) == 1u + block) {
            atomicAdd(numbers + block, 1u);
        }
        simt_mbar_wait(simt_to_shared(&mbar), parity);
        parity ^= 1u;
        asm volatile("{ .reg .b128 r; .reg .pred p; ld.shared.b128 r, [%2];\n\t"
                     "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t"
                     "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r; }"
                     : "=r"(more), "+r"(block) : "r"(simt_to_shared(&answer)) : "memory");
        __syncthreads();
    }
    shpool_fini(heap);
#endif
}
#endif

unsigned *numbers[2];

void clear(void)
{
    for (unsigned *of : numbers) {
        (void)gpu_cuda(cudaMemset(of, 0, BLOCKS * THREADS * sizeof(*of)), "memset");
    }
}

void look(const char *what, const unsigned *from, unsigned expected)
{
    static unsigned host[BLOCKS * THREADS];
    unsigned        wrong = 0;

    (void)gpu_cuda(cudaMemcpy(host, from, sizeof(host), cudaMemcpyDeviceToHost), "copy");
    for (unsigned number : host) {
        wrong += number != expected;
    }
    (void)gpu_check(wrong == 0, "%s: %u numbers are not %u", what, wrong, expected);
}

void run_dependent(const shpool_pool *pool)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t  config    = {};

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;

    config.gridDim  = BLOCKS;
    config.blockDim = THREADS;
    config.attrs    = &attribute;
    config.numAttrs = 1;
    clear();
    for (unsigned i = 0; i < STEPS; i++) {
        shpool_pool copy   = *pool;
        void       *args[] = { &copy, &numbers[i % 2], &numbers[(i + 1) % 2] };

        (void)gpu_check(shpool_launch_kernel(&config, (const void *)step, args, pool) ==
                        SHPOOL_OK, "dependent launch: %s", shpool_last_error());
    }
    gpu_wait("dependent");
    look("dependent launch", numbers[STEPS % 2], STEPS);
}

/* The first launch of the kernel: CUDA's answer to 96 KiB is that the grid is too large. */
void run_together(void)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t  config    = {};
    shpool_config       want      = {};
    shpool_pool         pool      = {};
    void               *args[]    = { &pool, &numbers[0], &numbers[1] };

    want.block_threads        = THREADS;
    want.payload_bytes        = 96 * 1024;
    attribute.id              = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim            = BLOCKS;
    config.blockDim           = THREADS;
    config.attrs              = &attribute;
    config.numAttrs           = 1;
    clear();
    (void)gpu_check((shpool_open(nullptr, &want, &pool) == SHPOOL_OK) &&
                    (shpool_launch_kernel(&config, (const void *)step, args, &pool) == SHPOOL_OK),
                    "cooperative launch: %s", shpool_last_error());
    gpu_wait("cooperative");
    look("cooperative launch", numbers[1], 1);
    (void)shpool_close(&pool);
}

#if CUDART_VERSION >= 12050
#define ENTRY(_name) \
    decltype(&_name) entry_##_name = nullptr; \
    (void)gpu_cuda(cudaGetDriverEntryPointByVersion(#_name, (void **)&entry_##_name, 12040, \
                                                    cudaEnableDefault, nullptr), #_name)

void run_green(const shpool_pool *pool)
{
    ENTRY(cuDeviceGetDevResource);
    ENTRY(cuDevSmResourceSplitByCount);
    ENTRY(cuDevResourceGenerateDesc);
    ENTRY(cuGreenCtxCreate);
    ENTRY(cuGreenCtxStreamCreate);
    ENTRY(cuGreenCtxDestroy);
    CUdevResource     all;
    CUdevResource     some;
    CUdevResourceDesc description;
    CUgreenCtx        green;
    CUstream          stream;
    unsigned          groups = 1;

    if ((entry_cuGreenCtxCreate == nullptr) || (entry_cuGreenCtxStreamCreate == nullptr) ||
        (entry_cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) ||
        (entry_cuDevSmResourceSplitByCount(&some, &groups, &all, nullptr, 0, 16) !=
         CUDA_SUCCESS) ||
        (entry_cuDevResourceGenerateDesc(&description, &some, 1) != CUDA_SUCCESS) ||
        (entry_cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) !=
         CUDA_SUCCESS) ||
        (entry_cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) !=
         CUDA_SUCCESS)) {
        std::printf("green contexts: not supported here, skipped\n");
        return;
    }
    clear();
    (void)gpu_check(shpool_launch(step, BLOCKS, THREADS, stream, pool,
                                  static_cast<const unsigned *>(numbers[0]), numbers[1]) ==
                    SHPOOL_OK, "green context: %s", shpool_last_error());
    (void)gpu_cuda(cudaStreamSynchronize(stream), "green context");
    look("green context", numbers[1], 1);
    (void)cudaStreamDestroy(stream);
    (void)entry_cuGreenCtxDestroy(green);
}
#else
void run_green(const shpool_pool *) {}
#endif

#if CUDART_VERSION >= 12080
void run_control(const shpool_pool *pool)
{
    clear();
    (void)gpu_check(shpool_launch(control, BLOCKS * THREADS, THREADS, nullptr, pool, numbers[0]) ==
                    SHPOOL_OK, "launch control: %s", shpool_last_error());
    gpu_wait("launch control");
    look("launch control", numbers[0], THREADS);
}
#endif

} // namespace

int main()
{
    shpool_config  want = {};
    shpool_pool    pool = {};
    cudaDeviceProp device;

    if ((cudaGetDeviceProperties(&device, 0) != cudaSuccess) || (device.major < 9)) {
        std::printf("persistent: skipped: no CUDA device of sm_90 or newer\n");
        return 77;
    }
    want.block_threads = THREADS;
    want.payload_bytes = 16 * 1024;
    (void)gpu_check(shpool_open(nullptr, &want, &pool) == SHPOOL_OK, "open: %s",
                    shpool_last_error());
    for (unsigned *&of : numbers) {
        (void)gpu_cuda(cudaMalloc(&of, BLOCKS * THREADS * sizeof(*of)), "memory");
    }
    run_together();
    run_dependent(&pool);
    run_green(&pool);
#if CUDART_VERSION >= 12080
    if (device.major >= 10) {
        run_control(&pool);
    }
#endif
    (void)shpool_close(&pool);
    std::printf("persistent: %u checks passed, %u failed\n", gpu_passed, gpu_failed);
    return (gpu_failed == 0) ? 0 : 1;
}
