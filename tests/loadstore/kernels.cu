/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for tests/loadstore/sass.sh, which checks the machine code of loadstore.cuh. */
#include <shpool/loadstore.cuh>

#define NT 128

struct three {
    float x, y, z;
};
struct triple {
    unsigned char byte[3];
};

/* Thread order there and back, so that every register is used under its own number. */
template <int VT, typename T>
static __device__ void there_and_back(const T *in, T *out, long long count)
{
    __shared__ __align__(16) T tile[NT * VT];
    const int tid = static_cast<int>(threadIdx.x);
    T         reg[VT];

    shpool::global_to_thread<NT, VT>(count, in, tid, reg);
    shpool::thread_to_shared<VT>(reg, tid, tile);
    shpool::shared_to_thread<VT>(tile, NT - 1 - tid, reg);
    shpool::thread_to_global<NT, VT>(count, reg, tid, out);
}

#define THERE_AND_BACK(_name, _type, _vt) \
    extern "C" __global__ void _name(const _type *in, _type *out, long long count) \
    { \
        there_and_back<_vt>(in, out, count); \
    }
#define EVERY_TYPE(_vt) \
    THERE_AND_BACK(char_##_vt, unsigned char, _vt) \
    THERE_AND_BACK(short_##_vt, short, _vt) \
    THERE_AND_BACK(float_##_vt, float, _vt) \
    THERE_AND_BACK(double_##_vt, double, _vt)
EVERY_TYPE(1)
EVERY_TYPE(2)
EVERY_TYPE(4)
EVERY_TYPE(7)
EVERY_TYPE(8)
EVERY_TYPE(11)
EVERY_TYPE(15)
EVERY_TYPE(16)
THERE_AND_BACK(char_32, unsigned char, 32)
THERE_AND_BACK(float_32, float, 32)
THERE_AND_BACK(three_7, three, 7)
THERE_AND_BACK(triple_7, triple, 7)
THERE_AND_BACK(float4_5, float4, 5)

extern "C" __global__ void thread15(const float *in, float *out, long long count)
{
    float reg[15];

    shpool::global_to_thread<NT, 15>(count, in, static_cast<int>(threadIdx.x), reg);
    shpool::reg_to_global<NT, 15>(count, reg, static_cast<int>(threadIdx.x), out);
}
extern "C" __global__ void thread16(const float *in, float *out, long long count)
{
    float reg[16];

    shpool::global_to_thread<NT, 16>(count, in, static_cast<int>(threadIdx.x), reg);
    shpool::reg_to_global<NT, 16>(count, reg, static_cast<int>(threadIdx.x), out);
}
extern "C" __global__ void half8(const float *in, float *out, long long count)
{
    __shared__ float tile[NT * 4];
    const int tid = static_cast<int>(threadIdx.x);
    float     x[8];
    float     y[8];

    shpool::global_to_reg<NT, 8>(count, in, tid, x);
    shpool::half_smem_transpose<NT, 8>(x, tid, tile, y);
    shpool::reg_to_global<NT, 8>(count, y, tid, out);
}
extern "C" __global__ void stage11(const float *in, float *out, long long count)
{
    __shared__ __align__(16) float tile[NT * 11];

    shpool::global_to_shared<NT, 11>(count, in, static_cast<int>(threadIdx.x), tile);
    shpool::shared_to_global<NT, 11>(count, tile, static_cast<int>(threadIdx.x), out);
}
extern "C" __global__ void gate8(const float *in, float *out, long long count)
{
    __shared__ __align__(16) float      tile[NT * 8];
    __shared__ shpool::bulk_barrier     word;
    const int         tid = static_cast<int>(threadIdx.x);
    shpool::bulk_gate gate(&word, tid);

    shpool::global_to_shared<NT, 8>(count, in, tid, tile, gate);
    shpool::shared_to_global<NT, 8>(count, tile, tid, out);
    gate.close(tid);
}
extern "C" __global__ void bulk8(const float *in, float *out, long long count)
{
    __shared__ __align__(16) float tile[NT * 8];
    const int tid = static_cast<int>(threadIdx.x);

    shpool::global_to_shared<NT, 8>(count, in, tid, tile);
    shpool::shared_to_global<NT, 8, shpool::copy_path::bulk>(count, tile, tid, out);
}
extern "C" __global__ void merge5(const double *a, long long a_count, const double *b,
                                  const int *indices, double *out)
{
    __shared__ int tile[NT * 5];
    const int tid = static_cast<int>(threadIdx.x);

    shpool::global_to_shared<NT, 5>(NT * 5, indices, tid, tile);
    shpool::transfer_merge_shared<NT, 5>(NT * 5, a, b, a_count, tile, tid, out);
}
