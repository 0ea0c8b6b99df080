/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenes of groups, atomics, barriers and asynchronous copies. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/atomic>
#include <cuda_pipeline.h>
#include <shpool/stage.cuh>

#include "scene.cuh"

namespace cg = cooperative_groups;

/* ---- cooperative groups ---- */

KERNEL(groups, "none", 1, 2 * N + 8, 0, {
    auto block = cg::this_thread_block();
    auto warp  = cg::tiled_partition<32>(block);
    auto tile  = cg::tiled_partition<8>(warp);
    int  rank  = (int)tile.thread_rank();
    assert((tile.size() == 8) && (rank == (int)threadIdx.x % 8));
    assert((tile.meta_group_rank() == threadIdx.x % 32 / 8) && (block.size() == 2 * N + 8));
    assert(cg::reduce(tile, rank, cg::plus<int>()) == 28);
    assert(cg::reduce(tile, rank, cg::greater<int>()) == 7);
    assert(tile.shfl(rank, 3) == 3);
    assert((tile.shfl_down(rank, 1) == ((rank == 7) ? 7 : rank + 1)) &&
           (tile.shfl_up(rank, 2) == ((rank < 2) ? rank : rank - 2)) &&
           (tile.shfl_xor(rank, 4) == (rank ^ 4)));
    assert((tile.ballot(rank > 5) == 0xc0) && tile.any(rank == 1) && !tile.all(rank == 1));
    assert(tile.match_any(rank / 4) == ((rank < 4) ? 0xfu : 0xf0u));
    block.sync();
    if (threadIdx.x < 64 && threadIdx.x % 2 == 1) {
        auto some = cg::binary_partition(cg::coalesced_threads(), threadIdx.x % 32 > 15);
        assert(some.shfl(rank, 0) % 2 == 1);
        assert(cg::reduce(some, 1, cg::plus<int>()) == (int)some.size());
        atomicAdd(&zero[0], some.thread_rank() == 0);
    }
    cg::sync(block);
    atomicAdd(&zero[cg::this_grid().thread_rank() % 8], 1);
})
KERNEL(group_too_small, "race", 1, 32, 0, {
    __shared__ int word[32];
    word[threadIdx.x] = 1;
    cg::tiled_partition<16>(cg::this_thread_block()).sync();
    fresh[threadIdx.x] = word[(threadIdx.x + 16) % 32];
})
__global__ void kernel_group_in_branches(int *, int *)
{
    if (threadIdx.x < 32) {
        cg::this_thread_block().sync();
    } else {
        cg::sync(cg::this_thread_block());
    }
}
RUN(group_in_branches, "divergence", 1, N, 0)

/* ---- cuda::atomic ---- */

__device__ void pass_on(int *zero, int *fresh, cuda::memory_order give, cuda::memory_order take)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
    cuda::atomic_ref<int, cuda::thread_scope_device>       sum(zero[0]);
    if (threadIdx.x == 0) {
        flag.store(0, cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        fresh[0] = 7;
        flag.store(1, give);
    } else if (threadIdx.x == 32) {
        while (flag.load(take) == 0) {
        }
        sum += fresh[0];
    }
    sum++;
}
KERNEL(atomic_others, "none", 1, 1, 0, {
    pass_on(zero, fresh, cuda::std::memory_order_release, cuda::std::memory_order_acquire);
    cuda::std::atomic_ref<int> max(zero[1]);
    int old = max.load();
    while (!max.compare_exchange_weak(old, old + 2)) {
    }
    assert(max.fetch_sub(1) >= 2);
})
KERNEL(atomic_release_warps, "none", 1, N, 0, {
    pass_on(zero, fresh, cuda::memory_order_release, cuda::memory_order_acquire);
})
KERNEL(atomic_relaxed, "race", 1, N, 0, {
    pass_on(zero, fresh, cuda::memory_order_relaxed, cuda::memory_order_relaxed);
})
KERNEL(atomic_fence, "none", 1, N, 0, {
    cuda::atomic_ref<int> flag(zero[0]);
    if (threadIdx.x == 0) {
        fresh[0] = 7;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
        flag.store(1, cuda::memory_order_relaxed);
    } else if (threadIdx.x == 32 && flag.load(cuda::memory_order_relaxed)) {
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);
        assert(fresh[0] == 7);
    }
})

/* ---- cuda::barrier, and copies ---- */

typedef cuda::barrier<cuda::thread_scope_block> block_barrier;
__device__ void phases(int *fresh, int count, bool sync, bool wait)
{
    __shared__ block_barrier bar;
    __shared__ int           tile[N];
    if (threadIdx.x == 0 && count > 0) {
        init(&bar, count);
    }
    if (sync) {
        __syncthreads();
    }
    for (int round = 0; round < 3; round++) {
        tile[threadIdx.x] = round;
        auto token = bar.arrive();
        if (wait) {
            bar.wait(std::move(token));
        }
        fresh[threadIdx.x] = tile[N - 1 - threadIdx.x];
        bar.arrive_and_wait();
    }
}
KERNEL(barrier, "none", 1, N, 0, { phases(fresh, N, true, true); })
KERNEL(barrier_no_wait, "race", 1, N, 0, { phases(fresh, N, true, false); })
KERNEL(barrier_no_init, "uninitialised", 1, N, 0, { phases(fresh, 0, true, true); })
KERNEL(barrier_init_unseen, "race", 1, N, 0, { phases(fresh, N, false, true); })
KERNEL(barrier_for_more, "deadlock", 1, N, 0, { phases(fresh, N + 1, true, true); })
KERNEL(barrier_drop, "none", 1, N, 0, {
    __shared__ block_barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, N);
    }
    __syncthreads();
    if (threadIdx.x > 9) {
        bar.arrive_and_drop();
        return;
    }
    bar.arrive_and_wait();
    bar.arrive_and_wait();
})

/* Each way to copy `zero` to shared memory; it is read N - 1 - threadIdx.x. */
enum way { BATCH, GROUP, BARRIER, THREAD, BLOCK };
template <way W> __device__ void copied(int *zero, int *fresh, bool wait, bool sync)
{
    __shared__ alignas(16) int tile[N];
    __shared__ block_barrier   bar;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    const int i = (int)threadIdx.x;
    if constexpr (W == BATCH) {
        __pipeline_memcpy_async(&tile[i], &zero[i], 4);
        __pipeline_commit();
        if (wait) {
            __pipeline_wait_prior(0);
        }
    } else if constexpr (W == GROUP) {
        cg::memcpy_async(block, tile, zero, sizeof(tile));
        if (wait) {
            cg::wait(block);
        }
    } else if constexpr (W == BARRIER) {
        if (i == 0) {
            init(&bar, N);
        }
        block.sync();
        cuda::memcpy_async(block, tile, zero, cuda::aligned_size_t<16>(sizeof(tile)), bar);
        auto token = bar.arrive();
        if (wait) {
            bar.wait(std::move(token));
        }
    } else if constexpr (W == THREAD) {
        auto pipe = cuda::make_pipeline();
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[i], &zero[i], sizeof(int), pipe);
        pipe.producer_commit();
        if (wait) {
            pipe.consumer_wait();
        }
        pipe.consumer_release();
    } else {
        auto pipe = cuda::make_pipeline(block, &state);
        pipe.producer_acquire();
        cuda::memcpy_async(block, tile, zero, sizeof(tile), pipe);
        pipe.producer_commit();
        if (wait) {
            pipe.consumer_wait();
        }
    }
    if (sync) {
        block.sync();
    }
    fresh[i] = tile[N - 1 - i];
}
KERNEL(copy_batch, "none", 1, N, 0, { copied<BATCH>(zero, fresh, true, true); })
KERNEL(copy_group, "none", 1, N, 0, { copied<GROUP>(zero, fresh, true, false); })
KERNEL(copy_barrier, "none", 1, N, 0, { copied<BARRIER>(zero, fresh, true, false); })
KERNEL(copy_thread, "none", 1, N, 0, { copied<THREAD>(zero, fresh, true, true); })
KERNEL(copy_block, "none", 1, N, 0, { copied<BLOCK>(zero, fresh, true, false); })
KERNEL(copy_batch_no_wait, "uninitialised", 1, N, 0, { copied<BATCH>(zero, fresh, false, true); })
KERNEL(copy_batch_no_sync, "race", 1, N, 0, { copied<BATCH>(zero, fresh, true, false); })
KERNEL(copy_group_no_wait, "uninitialised", 1, N, 0, { copied<GROUP>(zero, fresh, false, true); })
KERNEL(copy_barrier_no_wait, "race", 1, N, 0, { copied<BARRIER>(zero, fresh, false, false); })
KERNEL(copy_thread_no_wait, "uninitialised", 1, N, 0, { copied<THREAD>(zero, fresh, false, true); })
KERNEL(copy_thread_no_sync, "race", 1, N, 0, { copied<THREAD>(zero, fresh, true, false); })
KERNEL(copy_block_no_wait, "race", 1, N, 0, { copied<BLOCK>(zero, fresh, false, false); })

/* Two stages; `newest`: copies that are still in flight when a stage is read. */
__device__ void two_stages(int *zero, int newest)
{
    __shared__ int tile[2][N];
    for (int i = 0; i < 6; i++) {
        if (i < 5) {
            __pipeline_memcpy_async(&tile[i % 2][threadIdx.x], &zero[threadIdx.x], 4);
        }
        __pipeline_commit();
        if (i > 0) {
            __pipeline_wait_prior(newest);
            assert(tile[(i - 1) % 2][threadIdx.x] == 0);
        }
    }
}
KERNEL(stages, "none", 1, N, 0, { two_stages(zero, 1); })
KERNEL(stages_not_awaited, "uninitialised", 1, N, 0, { two_stages(zero, 2); })
KERNEL(table_of_stages_too_small, "bounds", 1, 1, 0, {
    __shared__ __align__(16) char table[SHPOOL_STAGES_BYTES(4)];
    shpool_stages_init(table, 8, 1);
})
/* One warp copies, the other reads. */
__device__ void roles(int *zero, bool early)
{
    __shared__ int tile[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, 32);
    for (int i = 0; i < 6; i++) {
        if (threadIdx.x < 32) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[i % 2][threadIdx.x], &zero[threadIdx.x], 4, pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            if (early) {
                pipe.consumer_release();
            }
            assert(tile[i % 2][N - 1 - threadIdx.x] == 0);
            if (!early) {
                pipe.consumer_release();
            }
        }
    }
}
KERNEL(pipeline_roles, "none", 1, N, 0, { roles(zero, false); })
KERNEL(pipeline_released_early, "race", 1, N, 0, { roles(zero, true); })

/* ---- counts=1 ---- */

KERNEL(counts_rows, "note:uncoalesced", 1, N, 0, {
    zero[threadIdx.x * 2 % N + threadIdx.x / 32] = 1;
})
KERNEL(counts_banks, "note:bank-conflict", 1, 32, 0, {
    __shared__ int tile[32][32];
    for (int i = 0; i < 32; i++) {
        tile[threadIdx.x][i] = i;
    }
})
KERNEL(counts_nothing, "none", 1, 32, 0, {
    __shared__ int  tile[32][33];
    __shared__ int4 wide[32];
    for (int i = 0; i < 32; i++) {
        tile[threadIdx.x][i] = zero[i];
    }
    wide[threadIdx.x] = make_int4(1, 2, 3, 4);
    fresh[threadIdx.x] = tile[threadIdx.x][0];
})
