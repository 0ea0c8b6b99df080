/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One launch for every allocator: the image's own, a plugin's, and those that are inlined at run
 * time.  Static, template, anonymous, cluster and cooperative kernels, in streams, graphs and on
 * every device; also launches that must be refused.  Prints how long opening takes.
 *
 * tests/lib/test_image has the host's part without a GPU.
 *
 *   launch [ALLOCATOR...]      all of them
 *
 * Exit: 0; 1; 77: no GPU.
 */
#include <chrono>

#include <cooperative_groups.h>

#include "trial.h"

extern "C" const shpool_allocator shpool_allocator_own;

#define THREADS 96u
#define BLOCKS  24u

/* Threads allocate, fill, check and free; *c counts errors, *done served requests. */
static __device__ void body(const shpool_pool &pool, counts *c, unsigned *done)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap   = shpool_init(&pool, smem);
    uint32_t    tag    = blockIdx.x * THREADS + threadIdx.x;
    unsigned    served = 0;

    for (uint32_t i = 0; i < 50u; i++) {
        const size_t bytes = 16u + (tag * 7u + i * 13u) % 100u;
        void        *p     = shpool_malloc(heap, bytes);

        if (p != NULL) {
            fill(p, bytes, tag + i);
            __syncwarp(__activemask());
            note(c, E_PATTERN, !holds(p, bytes, tag + i));
            note(c, E_MISALIGNED, !is_aligned(p, 16));
            served++;
        }
        shpool_free(heap, p);
    }
    atomicAdd(done, served);
    shpool_fini(heap);
}

static __global__ void of_file(shpool_pool pool, counts *c, unsigned *done)
{
    body(pool, c, done);
}
template <int Step> __global__ void of_template(shpool_pool pool, counts *c, unsigned *done)
{
    body(pool, c, done + Step - Step);
}
namespace {
__global__ void of_namespace(shpool_pool pool, counts *c, unsigned *done) { body(pool, c, done); }
}
static __global__ void of_cluster(shpool_pool pool, counts *c, unsigned *done)
{
    note(c, E_WINDOW, cooperative_groups::this_cluster().num_blocks() != 2u);
    body(pool, c, done);
}
static __global__ void of_grid(shpool_pool pool, counts *c, unsigned *done)
{
    body(pool, c, done);
    cooperative_groups::this_grid().sync();
    note(c, E_LOST, (threadIdx.x == 0) && (atomicAdd(done, 0u) == 0));
}

typedef void (*kernel_fn)(shpool_pool, counts *, unsigned *);

static unsigned *device_done;
static double    open_us;

static bool open_of(const char *spec, shpool_pool *pool)
{
    shpool_config want  = {};
    auto          begin = std::chrono::steady_clock::now();
    shpool_status status;

    want.block_threads = THREADS;
    want.payload_bytes = 32u * 1024u;
    status  = shpool_open(spec, &want, pool);
    open_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                  .count();
    return gpu_check(status == SHPOOL_OK, "%s: %s", spec, shpool_last_error());
}

static void clear(void)
{
    counts zero = {};

    (void)gpu_cuda(cudaMemcpy(device_counts, &zero, sizeof(zero), cudaMemcpyHostToDevice), "copy");
    (void)gpu_cuda(cudaMemset(device_done, 0, sizeof(unsigned)), "cudaMemset");
}

/* Check the results of a launch. */
static void judge(const char *spec, const char *what, shpool_status status, bool served)
{
    counts   c    = {};
    unsigned done = 0;

    if (!gpu_check(status == SHPOOL_OK, "%s, %s: %s", spec, what, shpool_last_error())) {
        return;
    }
    gpu_wait(what);
    (void)gpu_cuda(cudaMemcpy(&c, device_counts, sizeof(c), cudaMemcpyDeviceToHost), "copy");
    (void)gpu_cuda(cudaMemcpy(&done, device_done, sizeof(done), cudaMemcpyDeviceToHost), "copy");
    for (int kind = 0; kind < E_COUNT; kind++) {
        (void)gpu_check(c.error[kind] == 0, "%s, %s: %s (%u)", spec, what, error_text[kind],
                        c.error[kind]);
    }
    (void)gpu_check((done != 0) == served, "%s, %s: %u served", spec, what, done);
}

static void plain(const char *spec, const char *what, kernel_fn kernel, const shpool_pool &pool,
                  bool served)
{
    clear();
    judge(spec, what, shpool_launch(kernel, BLOCKS, THREADS, NULL, &pool, device_counts,
                                    device_done), served);
}

static void attributed(const char *spec, const char *what, kernel_fn kernel,
                       const shpool_pool &pool, cudaLaunchAttribute attribute, bool served)
{
    cudaLaunchConfig_t config = {};
    shpool_pool        copy   = pool;
    void              *arguments[] = {&copy, &device_counts, &device_done};

    config.gridDim  = BLOCKS;
    config.blockDim = THREADS;
    config.attrs    = &attribute;
    config.numAttrs = 1;
    clear();
    judge(spec, what, shpool_launch_kernel(&config, (const void *)kernel, arguments, &pool),
          served);
}

static void test_kernels(const char *spec, bool served)
{
    cudaLaunchAttribute attribute = {};
    shpool_pool         pool;
    int                 blocks = 0;

    if (!open_of(spec, &pool)) {
        return;
    }
    std::printf("%-40s opened in %.0f us, %s\n", spec, open_us,
                (pool.library == NULL) ? "this image" :
                (pool.binding == SHPOOL_BINDING_LINKED) ? "joined, inlined" : "joined");
    plain(spec, "static kernel", of_file, pool, served);
    plain(spec, "template kernel", of_template<3>, pool, served);
    plain(spec, "kernel of a namespace without a name", of_namespace, pool, served);
    attribute.id               = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    attributed(spec, "cluster kernel", of_cluster, pool, attribute, served);
    attribute                 = {};
    attribute.id              = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    if (served) {
        attributed(spec, "cooperative kernel", of_grid, pool, attribute, served);
    }
    (void)gpu_check((shpool_occupancy((const void *)of_file, &pool, THREADS, 0, &blocks) ==
                     SHPOOL_OK) && (blocks >= 1), "%s: occupancy %d: %s", spec, blocks,
                    shpool_last_error());
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close: %s", shpool_last_error());
}

static void test_graph(const char *spec)
{
    cudaStream_t    stream = NULL;
    cudaGraph_t     graph  = NULL;
    cudaGraphExec_t exec   = NULL;
    shpool_pool     pool;

    if (!open_of(spec, &pool) || !gpu_cuda(cudaStreamCreate(&stream), "stream")) {
        return;
    }
    clear();
    if (gpu_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin")) {
        shpool_status status = shpool_launch(of_file, BLOCKS, THREADS, stream, &pool,
                                             device_counts, device_done);

        (void)gpu_check(status == SHPOOL_OK, "%s in a graph: %s", spec, shpool_last_error());
        if (gpu_cuda(cudaStreamEndCapture(stream, &graph), "end") &&
            gpu_cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate") &&
            gpu_cuda(cudaGraphLaunch(exec, stream), "launch") &&
            gpu_cuda(cudaStreamSynchronize(stream), "wait")) {
            judge(spec, "graph", status, true);
        }
    }
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    (void)cudaStreamDestroy(stream);
    (void)shpool_close(&pool);
}

/* An ordinary launch with a joined image's pool: this image's kernel calls nothing of it. */
static void test_wrong_image(void)
{
    shpool_report_data report = {};
    shpool_pool        pool;

    if (!open_of("own:stats=1", &pool)) {
        return;
    }
    clear();
    of_file<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, device_counts, device_done);
    judge("own", "ordinary launch", shpool_cuda_status(cudaGetLastError(), "launch"), false);
    (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) &&
                        (report.status == SHPOOL_ERR_BINDING) && (report.empty == BLOCKS),
                    "status %d, %u empty blocks", report.status, report.empty);
    (void)shpool_close(&pool);
}

/* Each allocator of this image, and inlined. */
static void test_built_in(int argc, char **argv)
{
    char spec[96];

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *one    = shpool_allocator_get(i);
        const bool              served = (one->caps & SHPOOL_CAP_NONE) == 0;

        /* with scope cluster every launch would have to be one of clusters */
        if ((one->scope != SHPOOL_SCOPE_CLUSTER) && (one != &shpool_allocator_own) &&
            trial_is_chosen(one->name, argc, argv)) {
            test_kernels(one->name, served);
            spec_of(one, "binding=linked", spec);
            test_kernels(spec, served);
        }
    }
}

static void test_plugin(void)
{
    test_kernels("own", true);
    test_kernels("own", true); /* the second time */
    test_kernels("own:binding=linked", true);
    test_kernels("own:stats=1", true);
    test_graph("own");
    test_graph("bitmap:binding=linked");
    test_wrong_image();
}

int main(int argc, char **argv)
{
    int devices = 0;

    gpu_need_device();
    (void)gpu_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    (void)gpu_check(shpool_register(&shpool_allocator_own) == SHPOOL_OK, "%s", shpool_last_error());
    for (int device = 0; device < devices; device++) {
        if (!gpu_cuda(cudaSetDevice(device), "cudaSetDevice") ||
            !gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc") ||
            !gpu_cuda(cudaMalloc(&device_done, sizeof(unsigned)), "cudaMalloc")) {
            break;
        }
        if (trial_is_chosen("own", argc, argv)) {
            test_plugin();
        }
        test_built_in(argc, argv);
        (void)cudaFree(device_counts);
        (void)cudaFree(device_done);
    }
    return gpu_summary();
}
