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

template <typename T, int NT, int VT> struct ls_tile {
    const T  *in;
    T        *out;
    ptrdiff_t left; /* elements, from this tile on */
    int       tid;
    T        *smem;
};

/* An operation loads a tile into registers, and may store them; or it copies the tile in its own
 * way. */
#define LS_IN(_name, _registers) \
    template <typename T, int NT, int VT> \
    static __device__ __forceinline__ void _name(const ls_tile<T, NT, VT> &x, _registers)
#define LS_LOAD  LS_IN(load, T (&reg)[VT])
#define LS_STORE LS_IN(store, T (&reg)[VT])
#define LS_COPY \
    static constexpr bool copies = true; \
    template <typename T, int NT, int VT> \
    static __device__ __forceinline__ void copy(const ls_tile<T, NT, VT> &x)

struct ls_plain { /* no shared memory, nothing to prepare */
    static constexpr bool copies = false;
    template <typename T, int NT, int VT> static constexpr uint32_t shared() { return 0; }
    template <typename T, int NT, int VT> static __device__ void begin(T *, int) {}
    LS_STORE { shpool::reg_to_global<NT, VT>(x.left, reg, x.tid, x.out); }
};

struct ls_staged : ls_plain { /* a tile in shared memory */
    template <typename T, int NT, int VT> static constexpr uint32_t shared()
    {
        return NT * VT * sizeof(T);
    }
};

template <copy_path P> struct ls_direct : ls_plain {
    LS_COPY { shpool::global_to_global<NT, VT, P>(x.left, x.in, x.tid, x.out); }
};

struct ls_loop : ls_plain {
    LS_COPY
    {
        shpool::mem_to_mem_loop<NT>((x.left < NT * VT) ? x.left : NT * VT, x.in, x.tid, x.out,
                                    false);
    }
};

struct ls_strided : ls_plain {
    LS_LOAD { shpool::global_to_reg<NT, VT>(x.left, x.in, x.tid, reg); }
};

template <copy_path P> struct ls_thread : ls_plain {
    LS_LOAD { shpool::global_to_thread<NT, VT, P>(x.left, x.in, x.tid, reg); }
    LS_STORE { shpool::thread_to_global<NT, VT, P>(x.left, reg, x.tid, x.out); }
};

template <copy_path P, copy_path STORE> struct ls_shared : ls_staged {
    LS_COPY
    {
        shpool::global_to_shared<NT, VT, P>(x.left, x.in, x.tid, x.smem);
        shpool::shared_to_global<NT, VT, STORE>(x.left, x.smem, x.tid, x.out);
    }
    LS_LOAD
    {
        shpool::global_to_shared<NT, VT, P>(x.left, x.in, x.tid, x.smem);
        shpool::shared_to_reg<NT, VT>(x.smem, x.tid, reg);
    }
};

/* Strided in memory, thread order in registers, by way of shared memory. */
struct ls_turned : ls_staged {
    LS_LOAD
    {
        shpool::global_to_shared<NT, VT>(x.left, x.in, x.tid, x.smem);
        shpool::shared_to_thread<VT>(x.smem, x.tid, reg);
    }
    LS_STORE
    {
        shpool::thread_to_shared<VT>(reg, x.tid, x.smem);
        shpool::shared_to_global<NT, VT>(x.left, x.smem, x.tid, x.out);
    }
};

struct ls_half : ls_staged {
    LS_LOAD
    {
        T strided[VT];

        shpool::global_to_reg<NT, VT>(x.left, x.in, x.tid, strided);
        shpool::half_smem_transpose<NT, VT>(strided, x.tid, x.smem, reg);
    }
};

/* The elements that a thread's registers get, or whose places they get. */
template <int NT, int VT> __device__ __forceinline__ void ls_permute(int tid, int (&index)[VT])
{
    for (int i = 0; i < VT; i++) {
        index[i] = (int)bench_ls_permuted(NT * i + tid, NT * VT);
    }
}

struct ls_gather : ls_plain {
    LS_LOAD
    {
        int index[VT];

        ls_permute<NT>(x.tid, index);
        shpool::gather<NT, VT>(x.left, x.in, index, x.tid, reg, false);
    }
};

struct ls_scatter : ls_strided {
    LS_STORE
    {
        int index[VT];

        ls_permute<NT>(x.tid, index);
        shpool::scatter<NT, VT>(x.left, reg, x.tid, index, x.out, false);
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
    LS_COPY
    {
        shpool::gather_global_to_global<NT, VT>(
            x.left, x.in, reinterpret_cast<const int *>(x.smem), x.tid, x.out, false);
    }
};

/* Two lists that happen to be adjacent. */
struct ls_load2 : ls_plain {
    LS_LOAD
    {
        const ptrdiff_t tile  = (x.left < NT * VT) ? x.left : NT * VT;
        const ptrdiff_t first = tile / 2;

        shpool::load2_to_reg<NT, VT, VT>(x.in, first, x.in + first, tile - first, x.tid, reg);
    }
};

struct ls_merge : ls_plain {
    LS_LOAD
    {
        int       index[VT];
        const int first = NT * VT / 2;

        ls_permute<NT>(x.tid, index);
        shpool::transfer_merge_reg<NT, VT>(x.left, x.in, x.in + first, first, index, x.tid, reg);
    }
};

/* Whole tiles only: CUB's unguarded calls are the faster ones. */
template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S> struct ls_cub : ls_plain {
    template <typename T, int NT, int VT> union storage {
        typename cub::BlockLoad<T, NT, VT, L>::TempStorage  l;
        typename cub::BlockStore<T, NT, VT, S>::TempStorage s;
    };
    template <typename T, int NT, int VT> static constexpr uint32_t shared()
    {
        return sizeof(storage<T, NT, VT>);
    }
    static __device__ __forceinline__ void sync()
    {
        if ((L == cub::BLOCK_LOAD_TRANSPOSE) || (L == cub::BLOCK_LOAD_WARP_TRANSPOSE)) {
            __syncthreads(); /* others use shared memory, too */
        }
    }
    LS_LOAD
    {
        cub::BlockLoad<T, NT, VT, L>(reinterpret_cast<storage<T, NT, VT> *>(x.smem)->l)
            .Load(x.in, reg);
        sync();
    }
    LS_STORE
    {
        cub::BlockStore<T, NT, VT, S>(reinterpret_cast<storage<T, NT, VT> *>(x.smem)->s)
            .Store(x.out, reg);
        sync();
    }
};

/* Records of VT words, one a thread, as they are; and in groups of NT. */
template <bool BLOCKED> struct ls_records : ls_plain {
    template <int NT, int VT> static __device__ __forceinline__ auto place(int tid, int i)
    {
        return BLOCKED ? shpool_layout_index(tid, i, VT, NT) : VT * tid + i;
    }
    LS_LOAD
    {
        for (int i = 0; i < VT; i++) {
            reg[i] = x.in[place<NT, VT>(x.tid, i)];
        }
    }
    LS_STORE
    {
        for (int i = 0; i < VT; i++) {
            x.out[place<NT, VT>(x.tid, i)] = reg[i];
        }
    }
};

/* ---- kernels ---- */

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
__device__ __forceinline__ void ls_copy(const ls_tile<T, NT, VT> x)
{
    if constexpr (OP::copies) {
        OP::copy(x);
    } else {
        T reg[VT];

        OP::load(x, reg);
        OP::store(x, reg);
    }
}

/* Copy all tiles, or only load them: then the sum of all words is kept. */
template <typename OP, typename T, int NT, int VT, bool STORES>
__global__ void __launch_bounds__(NT) ls_run(const T *in, T *out, ull count, uint32_t *sum)
{
    extern __shared__ __align__(128) unsigned char bench_ls_shared[];
    T        *smem  = reinterpret_cast<T *>(bench_ls_shared);
    const int tid   = (int)threadIdx.x;
    uint32_t  total = 0;

    OP::template begin<T, NT, VT>(smem, tid);
    for (ull at = (ull)blockIdx.x * (NT * VT); at < count; at += (ull)gridDim.x * (NT * VT)) {
        const ls_tile<T, NT, VT> x = {in + at, out + at, (ptrdiff_t)(count - at), tid, smem};

        if constexpr (STORES) {
            ls_copy<OP>(x);
        } else {
            T reg[VT];

            OP::load(x, reg);
            for (int i = 0; i < VT; i++) {
                total += ls_fold(reg[i]);
            }
        }
    }
    if constexpr (!STORES) {
        ls_keep(total, sum, count);
    }
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
