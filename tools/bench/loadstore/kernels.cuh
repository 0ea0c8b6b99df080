/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of shpool-bench loadstore, for elements of one size: this library's functions, CUB's
 * BlockLoad and BlockStore, and records in both layouts.
 *
 * All have one shape: a block takes a tile of NT * VT elements, then the one a grid further. */
#ifndef BENCH_LOADSTORE_KERNELS_CUH
#define BENCH_LOADSTORE_KERNELS_CUH

#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>

#include <shpool/layout.cuh>
#include <shpool/loadstore.cuh>

#include "loadstore.h"

namespace {

typedef unsigned long long ull;
using shpool::copy_path;

template <int BYTES> struct ls_type;
template <> struct ls_type<1> { typedef uint8_t type; };
template <> struct ls_type<2> { typedef uint16_t type; };
template <> struct ls_type<4> { typedef uint32_t type; };
template <> struct ls_type<8> { typedef ull type; };
template <> struct ls_type<16> { typedef uint4 type; };

template <typename T> __device__ __forceinline__ uint32_t ls_fold(T v)
{
    if constexpr (sizeof(T) == 16) {
        return v.x + v.y + v.z + v.w;
    } else if constexpr (sizeof(T) == 8) {
        return (uint32_t)v + (uint32_t)(v >> 32);
    } else {
        return v;
    }
}

/* ---- operations: what is done with a tile ---- */

struct ls_plain { /* no shared memory, nothing to prepare */
    template <typename T, int NT, int VT> static constexpr uint32_t shared() { return 0; }
    template <typename T, int NT, int VT> static __device__ void begin(T *, int) {}
};

struct ls_staged : ls_plain { /* a tile in shared memory */
    template <typename T, int NT, int VT> static constexpr uint32_t shared()
    {
        return NT * VT * sizeof(T);
    }
};

#define LS_TILE \
    template <typename T, int NT, int VT> \
    static __device__ __forceinline__ void tile(const T *in, T *out, ptrdiff_t left, int tid, \
                                                T *smem)
#define LS_LOAD \
    template <typename T, int NT, int VT> \
    static __device__ __forceinline__ void load(const T *in, ptrdiff_t left, int tid, T *smem, \
                                                T (&reg)[VT])
#define LS_UNUSED (void)smem

template <copy_path P> struct ls_direct : ls_plain {
    LS_TILE
    {
        LS_UNUSED;
        shpool::global_to_global<NT, VT, P>(left, in, tid, out);
    }
};

struct ls_loop : ls_plain {
    LS_TILE
    {
        LS_UNUSED;
        shpool::mem_to_mem_loop<NT>((left < NT * VT) ? left : NT * VT, in, tid, out, false);
    }
};

struct ls_strided : ls_plain {
    LS_TILE
    {
        T reg[VT];

        LS_UNUSED;
        shpool::global_to_reg<NT, VT>(left, in, tid, reg);
        shpool::reg_to_global<NT, VT>(left, reg, tid, out);
    }
    LS_LOAD
    {
        LS_UNUSED;
        shpool::global_to_reg<NT, VT>(left, in, tid, reg);
    }
};

template <copy_path P> struct ls_thread : ls_plain {
    LS_TILE
    {
        T reg[VT];

        LS_UNUSED;
        shpool::global_to_thread<NT, VT, P>(left, in, tid, reg);
        shpool::thread_to_global<NT, VT, P>(left, reg, tid, out);
    }
    LS_LOAD
    {
        LS_UNUSED;
        shpool::global_to_thread<NT, VT, P>(left, in, tid, reg);
    }
};

template <copy_path P, copy_path STORE> struct ls_shared : ls_staged {
    LS_TILE
    {
        shpool::global_to_shared<NT, VT, P>(left, in, tid, smem);
        shpool::shared_to_global<NT, VT, STORE>(left, smem, tid, out);
    }
    LS_LOAD
    {
        shpool::global_to_shared<NT, VT, P>(left, in, tid, smem);
        shpool::shared_to_reg<NT, VT>(smem, tid, reg);
    }
};

/* Strided in memory, thread order in registers, by way of shared memory. */
struct ls_turned : ls_staged {
    LS_TILE
    {
        T reg[VT];

        shpool::global_to_shared<NT, VT>(left, in, tid, smem);
        shpool::shared_to_thread<VT>(smem, tid, reg);
        shpool::thread_to_shared<VT>(reg, tid, smem);
        shpool::shared_to_global<NT, VT>(left, smem, tid, out);
    }
    LS_LOAD
    {
        shpool::global_to_shared<NT, VT>(left, in, tid, smem);
        shpool::shared_to_thread<VT>(smem, tid, reg);
    }
};

struct ls_half : ls_staged {
    LS_LOAD
    {
        T x[VT];

        shpool::global_to_reg<NT, VT>(left, in, tid, x);
        shpool::half_smem_transpose<NT, VT>(x, tid, smem, reg);
    }
};

struct ls_gather : ls_plain {
    LS_TILE
    {
        T   reg[VT];
        int index[VT];

        LS_UNUSED;
        for (int i = 0; i < VT; i++) {
            index[i] = (int)bench_ls_permuted(NT * i + tid, NT * VT);
        }
        shpool::gather<NT, VT>(left, in, index, tid, reg, false);
        shpool::reg_to_global<NT, VT>(left, reg, tid, out);
    }
};

struct ls_scatter : ls_plain {
    LS_TILE
    {
        T   reg[VT];
        int index[VT];

        LS_UNUSED;
        for (int i = 0; i < VT; i++) {
            index[i] = (int)bench_ls_permuted(NT * i + tid, NT * VT);
        }
        shpool::global_to_reg<NT, VT>(left, in, tid, reg);
        shpool::scatter<NT, VT>(left, reg, tid, index, out, false);
    }
};

struct ls_gather_direct : ls_plain {
    template <typename T, int NT, int VT> static constexpr uint32_t shared()
    {
        return NT * VT * sizeof(int);
    }
    template <typename T, int NT, int VT> static __device__ void begin(T *smem, int tid)
    {
        int *index = reinterpret_cast<int *>(smem);

        for (int i = tid; i < NT * VT; i += NT) {
            index[i] = (int)bench_ls_permuted(i, NT * VT);
        }
        __syncthreads();
    }
    LS_TILE
    {
        shpool::gather_global_to_global<NT, VT>(left, in, reinterpret_cast<const int *>(smem), tid,
                                                out, false);
    }
};

/* Two lists that happen to be adjacent. */
struct ls_load2 : ls_plain {
    LS_TILE
    {
        T               reg[VT];
        const ptrdiff_t tile  = (left < NT * VT) ? left : NT * VT;
        const ptrdiff_t first = tile / 2;

        LS_UNUSED;
        shpool::load2_to_reg<NT, VT, VT>(in, first, in + first, tile - first, tid, reg);
        shpool::reg_to_global<NT, VT>(left, reg, tid, out);
    }
};

struct ls_merge : ls_plain {
    LS_TILE
    {
        T         reg[VT];
        int       index[VT];
        const int first = NT * VT / 2;

        LS_UNUSED;
        for (int i = 0; i < VT; i++) {
            index[i] = (int)bench_ls_permuted(NT * i + tid, NT * VT);
        }
        shpool::transfer_merge_reg<NT, VT>(left, in, in + first, first, index, tid, reg);
        shpool::reg_to_global<NT, VT>(left, reg, tid, out);
    }
};

template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S> struct ls_cub : ls_plain {
    template <typename T, int NT, int VT> struct types {
        typedef cub::BlockLoad<T, NT, VT, L>  load;
        typedef cub::BlockStore<T, NT, VT, S> store;
        union storage {
            typename load::TempStorage  l;
            typename store::TempStorage s;
        };
    };
    template <typename T, int NT, int VT> static constexpr uint32_t shared()
    {
        return sizeof(typename types<T, NT, VT>::storage);
    }
    LS_TILE
    {
        T     reg[VT];
        auto *storage = reinterpret_cast<typename types<T, NT, VT>::storage *>(smem);

        (void)tid;
        (void)left; /* always whole tiles here, and CUB's unguarded calls are the faster ones */
        typename types<T, NT, VT>::load(storage->l).Load(in, reg);
        if (uses_shared) {
            __syncthreads();
        }
        typename types<T, NT, VT>::store(storage->s).Store(out, reg);
        if (uses_shared) {
            __syncthreads();
        }
    }
    LS_LOAD
    {
        auto *storage = reinterpret_cast<typename types<T, NT, VT>::storage *>(smem);

        (void)tid;
        (void)left;
        typename types<T, NT, VT>::load(storage->l).Load(in, reg);
        if (uses_shared) {
            __syncthreads();
        }
    }
    static constexpr bool uses_shared =
        (L == cub::BLOCK_LOAD_TRANSPOSE) || (L == cub::BLOCK_LOAD_WARP_TRANSPOSE);
};

/* Records of VT words, one a thread, as they are; and in groups of NT. */
struct ls_records : ls_plain {
    LS_TILE
    {
        T reg[VT];

        load<T, NT, VT>(in, left, tid, smem, reg);
        for (int i = 0; i < VT; i++) {
            out[VT * tid + i] = reg[i];
        }
    }
    LS_LOAD
    {
        LS_UNUSED;
        (void)left;
        for (int i = 0; i < VT; i++) {
            reg[i] = in[VT * tid + i];
        }
    }
};
struct ls_blocked : ls_plain {
    LS_TILE
    {
        T reg[VT];

        load<T, NT, VT>(in, left, tid, smem, reg);
        for (int i = 0; i < VT; i++) {
            out[shpool_layout_index(tid, i, VT, NT)] = reg[i];
        }
    }
    LS_LOAD
    {
        LS_UNUSED;
        (void)left;
        for (int i = 0; i < VT; i++) {
            reg[i] = in[shpool_layout_index(tid, i, VT, NT)];
        }
    }
};

/* ---- kernels ---- */

template <typename OP, typename T, int NT, int VT>
__global__ void __launch_bounds__(NT) ls_copy(const T *in, T *out, ull count, uint32_t *)
{
    extern __shared__ __align__(128) unsigned char bench_ls_shared[];
    T        *smem = reinterpret_cast<T *>(bench_ls_shared);
    const int tid  = (int)threadIdx.x;

    OP::template begin<T, NT, VT>(smem, tid);
    for (ull at = (ull)blockIdx.x * (NT * VT); at < count; at += (ull)gridDim.x * (NT * VT)) {
        OP::template tile<T, NT, VT>(in + at, out + at, (ptrdiff_t)(count - at), tid, smem);
    }
}

/* The sum is stored on request or never: the compiler cannot know which. */
__device__ __forceinline__ void ls_keep(uint32_t total, uint32_t *sum, ull count)
{
    if (sum != NULL) {
        atomicAdd(sum, total);
    } else if ((total == 0x5eed5eedu) && (count == 1)) {
        __trap();
    }
}

template <typename OP, typename T, int NT, int VT>
__global__ void __launch_bounds__(NT) ls_sum(const T *in, T *, ull count, uint32_t *sum)
{
    extern __shared__ __align__(128) unsigned char bench_ls_shared[];
    T        *smem  = reinterpret_cast<T *>(bench_ls_shared);
    const int tid   = (int)threadIdx.x;
    uint32_t  total = 0;

    for (ull at = (ull)blockIdx.x * (NT * VT); at < count; at += (ull)gridDim.x * (NT * VT)) {
        T reg[VT];

        OP::template load<T, NT, VT>(in + at, (ptrdiff_t)(count - at), tid, smem, reg);
        for (int i = 0; i < VT; i++) {
            total += ls_fold(reg[i]);
        }
    }
    ls_keep(total, sum, count);
}

/* By the copy engine, with BUFFERS tiles in flight: 1, or 2 alternating. */
template <typename T, int NT, int VT, int BUFFERS, copy_path STORE>
__global__ void __launch_bounds__(NT) ls_bulk(const T *in, T *out, ull count, uint32_t *)
{
    extern __shared__ __align__(128) unsigned char bench_ls_shared[];
    __shared__ shpool::bulk_barrier                word[2];
    constexpr int     TILE  = NT * VT;
    const int         tid   = (int)threadIdx.x;
    const ull         step  = (ull)gridDim.x * TILE;
    T                *smem  = reinterpret_cast<T *>(bench_ls_shared);
    shpool::bulk_gate first(&word[0], tid);
    shpool::bulk_gate second(&word[1], tid);

    for (ull at = (ull)blockIdx.x * TILE; at < count; at += BUFFERS * step) {
        const bool more = (BUFFERS == 2) && (at + step < count);

        if ((BUFFERS == 1) || (at == (ull)blockIdx.x * TILE)) {
            shpool::global_to_shared<NT, VT>((ptrdiff_t)(count - at), in + at, tid, smem, first,
                                             false);
        }
        if (more) {
            shpool::global_to_shared<NT, VT>((ptrdiff_t)(count - at - step), in + at + step, tid,
                                             smem + TILE, second, false);
        }
        first.wait();
        shpool::shared_to_global<NT, VT, STORE>((ptrdiff_t)(count - at), smem, tid, out + at);
        if (more) {
            if (at + 2 * step < count) {
                shpool::global_to_shared<NT, VT>((ptrdiff_t)(count - at - 2 * step),
                                                 in + at + 2 * step, tid, smem, first, false);
            }
            second.wait();
            shpool::shared_to_global<NT, VT, STORE>((ptrdiff_t)(count - at - step), smem + TILE,
                                                    tid, out + at + step);
        }
    }
    first.close(tid);
    second.close(tid);
}

} // namespace

#endif /* BENCH_LOADSTORE_KERNELS_CUH */
