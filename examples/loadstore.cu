/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block's tile staged in memory from shpool_malloc(): each block loads its tile with coalesced
 * accesses, gives each thread VT adjacent values, replaces them by their running sums, and stores
 * the tile.  The launch box determines the numbers of threads and values.
 *
 *   nvcc -rdc=true loadstore.cu -o loadstore $(pkg-config --cflags --libs shpool)
 */
#include "machine.h"

#include <shpool/loadstore.cuh>

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
        for (int i = 1; i < VT; i++) { run[i] += run[i - 1]; }
        shpool::thread_to_shared<VT>(run, tid, tile);
        shpool::shared_to_global<NT, VT>(count - first, tile, tid, out + first);
    }
    if (tid == 0) { shpool_free(heap, tile); }
    shpool_fini(heap);
}

int main()
{
    const long long      count = 1000003; /* the last tile is not full */
    shpool_pool          pool  = {};
    shpool_config        want  = {};
    shpool::launch_shape shape = {};
    std::vector<int>     host;

    if (machine_name("loadstore") == nullptr) { return 77; }
    machine_need(shpool::launch_params<box>(run_sums<box>, &shape), "launch box");
    for (int i = 0; i < count; i++) { host.push_back(i % 101 * 31 % 101); }
    want.block_threads = static_cast<uint32_t>(shape.NT);
    want.payload_bytes = static_cast<uint32_t>(shape.NT * shape.VT) * sizeof(int);
    machine_need(shpool_open("bitmap", &want, &pool), "pool");
    machine_need(shpool_allow_shared(run_sums<box>, pool.shared_bytes), "shared memory");

    const long long    tile = static_cast<long long>(shape.NT) * shape.VT;
    machine_array<int> in(host), out(host.size());

    run_sums<box><<<static_cast<unsigned>((count + tile - 1) / tile), shape.NT,
                    pool.shared_bytes>>>(pool, count, in, out);
    for (int i = 0; i < count; i++) { host[i] += (i % shape.VT == 0) ? 0 : host[i - 1]; }
    std::printf("tiles of %d threads with %d values each, ", shape.NT, shape.VT);

    const int failed = machine_check("running sums", out, host);

    machine_need(shpool_close(&pool), "close");
    return failed;
}
