/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block's tile staged in memory from shpool_malloc(): each block loads its tile with coalesced
 * accesses, gives each thread VT adjacent values, replaces them by their running sums, and stores
 * the tile.  The launch box determines the numbers of threads and values.
 *
 *   nvcc -rdc=true loadstore.cu -o loadstore $(pkg-config --cflags --libs shpool)
 */
#include <cstdio>
#include <vector>

#include <shpool/loadstore.cuh>
#include <shpool/shpool.cuh>

typedef shpool::launch_box<shpool::tune<75, 128, 7>, shpool::tune<80, 128, 11>,
                           shpool::tune<90, 256, 11>> box;

/* Running sums of each thread's own values; a scan of the tile would continue from here. */
template <typename Box>
SHPOOL_LAUNCH_BOUNDS(Box) void run_sums(shpool_pool pool, long long count, const int *in, int *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    typedef SHPOOL_LAUNCH_PARAMS(Box) params;
    constexpr int   NT    = params::NT;
    constexpr int   VT    = params::VT;
    const int       tid   = static_cast<int>(threadIdx.x);
    const long long first = static_cast<long long>(blockIdx.x) * NT * VT;
    shpool_heap     heap  = shpool_init(&pool, smem);
    __shared__ int *tile;
    int             run[VT] = {};

    if (tid == 0) { /* one allocation for the block; any thread may free it */
        tile = static_cast<int *>(shpool_malloc(heap, NT * VT * sizeof(int)));
    }
    __syncthreads();
    if (tile != NULL) { /* the same in all threads */
        shpool::global_to_shared<NT, VT>(count - first, in + first, tid, tile);
        shpool::shared_to_thread<VT>(tile, tid, run);
        for (int i = 1; i < VT; i++) {
            run[i] += run[i - 1];
        }
        shpool::thread_to_shared<VT>(run, tid, tile);
        shpool::shared_to_global<NT, VT>(count - first, tile, tid, out + first);
    }
    if (tid == 0) {
        shpool_free(heap, tile);
    }
    shpool_fini(heap);
}

static bool failed(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    }
    return error != cudaSuccess;
}

static bool failed(shpool_status status)
{
    if (status != SHPOOL_OK) {
        std::fprintf(stderr, "%s\n", shpool_last_error());
    }
    return status != SHPOOL_OK;
}

static int check(const std::vector<int> &in, const std::vector<int> &out, int VT)
{
    for (size_t i = 0, sum = 0; i < in.size(); i++) {
        sum = (i % static_cast<size_t>(VT) == 0) ? 0 : sum;
        sum += static_cast<size_t>(in[i]);
        if (out[i] != static_cast<int>(sum)) {
            std::fprintf(stderr, "element %zu is %d, not %zu\n", i, out[i], sum);
            return 1;
        }
    }
    return 0;
}

int main()
{
    const long long      count   = 1000003; /* the last tile is not full */
    int                  devices = 0;
    int                 *in      = NULL;
    int                 *out     = NULL;
    shpool_pool          pool    = {};
    shpool_config        want    = {};
    shpool::launch_shape shape   = {};
    std::vector<int>     host(static_cast<size_t>(count));
    std::vector<int>     back(host.size());

    if ((cudaGetDeviceCount(&devices) != cudaSuccess) || (devices == 0)) {
        std::puts("no CUDA device");
        return 77;
    }
    for (size_t i = 0; i < host.size(); i++) {
        host[i] = static_cast<int>(i * 31u % 101u);
    }
    if (failed(shpool::launch_params<box>(run_sums<box>, &shape))) {
        return 1;
    }
    want.block_threads = static_cast<uint32_t>(shape.NT);
    want.payload_bytes = static_cast<uint32_t>(shape.NT * shape.VT) * sizeof(int);
    if (failed(shpool_open("bitmap", &want, &pool)) ||
        failed(shpool_allow_shared(run_sums<box>, pool.shared_bytes)) ||
        failed(cudaMalloc(&in, host.size() * sizeof(int)), "cudaMalloc") ||
        failed(cudaMalloc(&out, host.size() * sizeof(int)), "cudaMalloc") ||
        failed(cudaMemcpy(in, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice),
               "cudaMemcpy")) {
        return 1;
    }
    const long long tile = static_cast<long long>(shape.NT) * shape.VT;

    run_sums<box><<<static_cast<unsigned>((count + tile - 1) / tile), shape.NT,
                    pool.shared_bytes>>>(pool, count, in, out);
    if (failed(cudaGetLastError(), "launch") ||
        failed(cudaMemcpy(back.data(), out, back.size() * sizeof(int), cudaMemcpyDeviceToHost),
               "cudaMemcpy") ||
        failed(shpool_close(&pool)) || (check(host, back, shape.VT) != 0)) {
        return 1;
    }
    std::printf("%lld elements in tiles of %d threads with %d values each\n", count, shape.NT,
                shape.VT);
    (void)cudaFree(in);
    (void)cudaFree(out);
    return 0;
}
