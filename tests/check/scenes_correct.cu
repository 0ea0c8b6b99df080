/* SPDX-License-Identifier: BSD-3-Clause */
/* Correct kernels, as people write them: nothing may be found. */
#include <cstdint>

#include <cuda_fp16.h>

#include "scene.cuh"

/* ---- reductions and scans ---- */

template <typename T> __device__ T block_sum(T *tile, T v)
{
    tile[threadIdx.x] = v;
    __syncthreads();
    for (unsigned i = blockDim.x / 2; i > 0; i /= 2) {
        if (threadIdx.x < i) {
            tile[threadIdx.x] += tile[threadIdx.x + i];
        }
        __syncthreads();
    }
    return tile[0];
}
CORRECT(reduction, 3, N, N * sizeof(int), i == 0 ? 3 * N : 0, {
    extern __shared__ int all[];
    const int sum = block_sum(all, 1);
    if (threadIdx.x == 0) {
        atomicAdd(&zero[0], sum);
    }
})
CORRECT(warp_functions, 1, N, 0, 496, {
    int v = (int)LANE;
    for (int i = 16; i > 0; i /= 2) {
        v += __shfl_xor_sync(~0u, v, i);
    }
    assert(__popc(__ballot_sync(~0u, v == 496)) == 32);
    assert(__reduce_add_sync(~0u, 1u) == 32);
    assert(__shfl_down_sync(~0u, 1.5 * LANE, 1, 8) == 1.5 * (LANE + (LANE % 8 != 7)));
    zero[threadIdx.x] = v;
})
template <typename T> __device__ T warp_sum(T v)
{
    for (int i = warpSize / 2; i > 0; i /= 2) {
        v += __shfl_down_sync(0xffffffff, v, i);
    }
    return v;
}
template <typename T> __global__ void sum_all(const T *from, T *to, int n)
{
    __shared__ T part[32];
    T v = 0;

    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) {
        v += from[i];
    }
    v = warp_sum(v);
    if (LANE == 0) {
        part[threadIdx.x / 32] = v;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum((LANE < blockDim.x / 32) ? part[LANE] : T(0));
        if (LANE == 0) {
            to[blockIdx.x] = v;
        }
    }
}
SCENE(sum_in_two_steps, "none")
{
    array<double> in(1000, 1, 1), part(4), out(1);

    sum_all<<<4, 128>>>(in.at, part.at, 1000);
    sum_all<double><<<1, 64>>>(part.at, out.at, 4);
    IS(out[0] == 500500);
}
__device__ unsigned done;
__global__ void sum_last_block(const int *from, volatile int *part, int *to)
{
    __shared__ bool last;
    __shared__ int  tile[32];
    const int       sum = block_sum(tile, from[INDEX]);

    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && (threadIdx.x == 0)) {
        int all = 0;
        for (unsigned i = 0; i < gridDim.x; i++) {
            all += part[i];
        }
        *to  = all;
        done = 0;
    }
}
SCENE(last_block_with_fence, "none")
{
    array<int> in(128, 1), part(4), out(1);

    for (int i = 0; i < 2; i++) {
        sum_last_block<<<4, 32>>>(in.at, part.at, out.at);
    }
    IS(out[0] == 128);
}
CORRECT(volatile_with_syncwarp, 1, 32, 0, i == 0 ? 32 : 0, {
    __shared__ volatile int sum[64];
    sum[threadIdx.x]      = 1;
    sum[threadIdx.x + 32] = 0;
    __syncwarp();
    for (int i = 16; i > 0; i /= 2) {
        int v = sum[threadIdx.x] + sum[threadIdx.x + i];
        __syncwarp();
        sum[threadIdx.x] = v;
        __syncwarp();
    }
    if (threadIdx.x == 0) {
        zero[0] = sum[0];
    }
})
CORRECT(scan_two_buffers, 1, N, 2 * N * sizeof(int), i + 1, {
    extern __shared__ int all[];
    int from = 0;
    all[threadIdx.x] = 1;
    __syncthreads();
    for (int i = 1; i < N; i *= 2, from = N - from) {
        const int *in = all + from;
        (all + N - from)[threadIdx.x] = in[threadIdx.x] +
                                        ((int)threadIdx.x >= i ? in[threadIdx.x - i] : 0);
        __syncthreads();
    }
    zero[threadIdx.x] = all[from + threadIdx.x];
})
CORRECT(scan_up_and_down, 1, N / 2, 0, i, {
    __shared__ int t[N + N / 32]; /* padded */
    const int k = threadIdx.x;
#define AT(_i) t[(_i) + (_i) / 32]
    AT(2 * k) = AT(2 * k + 1) = 1;
    int offset = 1;
    for (int d = N / 2; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (k < d) {
            AT(offset * (2 * k + 2) - 1) += AT(offset * (2 * k + 1) - 1);
        }
    }
    if (k == 0) {
        AT(N - 1) = 0;
    }
    for (int d = 1; d < N; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (k < d) {
            int left = AT(offset * (2 * k + 1) - 1);
            AT(offset * (2 * k + 1) - 1)  = AT(offset * (2 * k + 2) - 1);
            AT(offset * (2 * k + 2) - 1) += left;
        }
    }
    __syncthreads();
    zero[2 * k] = AT(2 * k), zero[2 * k + 1] = AT(2 * k + 1);
})
CORRECT(scan_of_warps, 1, N, 0, i * (i + 1) / 2, {
    __shared__ int total;
    int v = threadIdx.x;
    for (int i = 1; i < 32; i *= 2) {
        int other = __shfl_up_sync(~0u, v, i);
        v += (LANE >= (unsigned)i) ? other : 0;
    }
    if (threadIdx.x == 31) {
        total = v;
    }
    __syncthreads();
    zero[threadIdx.x] = v + (threadIdx.x >= 32 ? total : 0);
})
__device__ int          chain[8];
__device__ volatile int ready[8];
CORRECT(scan_of_blocks_by_flags, 8, 1, 0, i < 8 ? i + 1 : 0, {
    int before = 0;
    if (blockIdx.x > 0) {
        while (ready[blockIdx.x - 1] == 0) {
        }
        __threadfence();
        before = chain[blockIdx.x - 1];
    }
    chain[blockIdx.x] = zero[blockIdx.x] = before + 1;
    __threadfence();
    ready[blockIdx.x] = 1;
})

/* ---- tiles ---- */

template <int T> __global__ void multiply(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[T][T], tb[T][T];
    const int        x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    float            sum = 0;

    for (int t = 0; t < n; t += T) {
        ta[threadIdx.y][threadIdx.x] = (y < n && t + (int)threadIdx.x < n)
                                           ? a[y * n + t + threadIdx.x] : 0.f;
        tb[threadIdx.y][threadIdx.x] = (x < n && t + (int)threadIdx.y < n)
                                           ? b[(t + threadIdx.y) * n + x] : 0.f;
        __syncthreads();
        for (int k = 0; k < T; k++) {
            sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
        }
        __syncthreads();
    }
    if (x < n && y < n) {
        c[y * n + x] = sum;
    }
}
SCENE(matrix_product, "none")
{
    array<float> a(19 * 19, 1), b(19 * 19, 2), c(19 * 19);

    multiply<8><<<dim3(3, 3), dim3(8, 8)>>>(a.at, b.at, c.at, 19);
    IS(c[360] == 38);
}
__global__ void transpose(int *to, const int *from, int n)
{
    __shared__ int tile[32][33];

    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        tile[j][threadIdx.x] = from[(blockIdx.y * 32 + j) * n + blockIdx.x * 32 + threadIdx.x];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        to[(blockIdx.x * 32 + j) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][j];
    }
}
SCENE(transposition, "none")
{
    array<int> from(64 * 64, 0, 1), to(64 * 64);

    transpose<<<dim3(2, 2), dim3(32, 8)>>>(to.at, from.at, 64);
    IS(to[64] == 1 && to[1] == 64);
}
CORRECT(stencil_with_halo, 2, 32, 0, i < 2 || i > 61 ? 3 : 5, {
    __shared__ int tile[32 + 4];
    const int i = INDEX, t = threadIdx.x + 2;
    fresh[i] = 1;
    tile[t]  = 1;
    if (threadIdx.x < 2) {
        tile[t - 2]  = (i >= 2);
        tile[t + 32] = (i + 32 < N);
    }
    __syncthreads();
    int sum = 0;
    for (int d = -2; d <= 2; d++) {
        sum += tile[t + d];
    }
    zero[i] = (i < 2 || i > 61) ? 3 : sum;
})
CORRECT(two_stages, 1, N, 0, i == 0 ? 6 * N : 0, {
    __shared__ int stage[2][N];
    int sum = 0;
    stage[0][threadIdx.x] = 0;
    for (int i = 0; i < 4; i++) {
        __syncthreads();
        if (i < 3) {
            stage[(i + 1) % 2][threadIdx.x] = i + 1;
        }
        sum += stage[i % 2][(threadIdx.x + 1) % N];
    }
    atomicAdd(&zero[0], sum);
})

/* ---- sorting, counting ---- */

CORRECT(bitonic_sort, 1, N, 0, i, {
    __shared__ int key[N];
    const int t = threadIdx.x;
    key[t] = (t * 37 + 11) % N;
    for (int size = 2; size <= N; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int other = t ^ stride;
            if (other > t && ((key[t] > key[other]) == ((t & size) == 0))) {
                const int v = key[t];
                key[t] = key[other], key[other] = v;
            }
        }
    }
    __syncthreads();
    zero[t] = key[t];
})
CORRECT(histogram, 2, N, 0, i < 8 ? 16 : 0, {
    __shared__ int count[8];
    if (threadIdx.x < 8) {
        count[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&count[threadIdx.x % 8], 1);
    __syncthreads();
    if (threadIdx.x < 8) {
        atomicAdd(&zero[threadIdx.x], count[threadIdx.x]);
    }
})
CORRECT(radix_split_by_ballot, 1, 32, 0, i < 32 ? (i < 16 ? 2 * i : 2 * i - 31) : 0, {
    const unsigned odd  = __ballot_sync(~0u, LANE & 1);
    const unsigned less = (1u << LANE) - 1;
    const int      to   = (LANE & 1) ? 32 - __popc(odd) + __popc(odd & less) : __popc(~odd & less);
    zero[to] = LANE;
})
CORRECT(counts_by_match, 1, 32, 0, i < 4 ? 8 : 0, {
    int            all;
    const unsigned same = __match_any_sync(~0u, LANE % 4);
    if (__ffs(same) - 1 == (int)LANE) {
        atomicAdd(&zero[LANE % 4], __popc(same));
    }
    assert(__match_all_sync(~0u, 5, &all) == ~0u && all);
})
CORRECT(warp_aggregated_atomics, 2, N, 0, i == 0 ? 64 : 0, {
    if (threadIdx.x % 2 == 0) {
        const unsigned active = __activemask();
        const int      leader = __ffs(active) - 1;
        int            place  = 0;
        if ((int)LANE == leader) {
            place = atomicAdd(&zero[0], __popc(active));
        }
        place = __shfl_sync(active, place, leader) + __popc(active & ((1u << LANE) - 1));
        fresh[place] = 1;
    }
})

/* ---- locks, flags, atomics ---- */

CORRECT(spin_lock, 1, N, 0, i == 1 ? N : 0, {
    while (atomicCAS(&zero[0], 0, 1) != 0) {
    }
    __threadfence();
    zero[1]++;
    __threadfence();
    atomicExch(&zero[0], 0);
})
CORRECT(explore_spin_lock, 1, 3, 0, i == 1 ? 3 : 0, {
    while (atomicCAS(&zero[0], 0, 1) != 0) {
    }
    __threadfence();
    zero[1]++;
    __threadfence();
    atomicExch(&zero[0], 0);
})
CORRECT(spin_lock_of_leaders, 4, 32, 0, i == 1 ? 4 : 0, {
    if (threadIdx.x == 0) {
        while (atomicExch(&zero[0], 1) != 0) {
            __nanosleep(100);
        }
        __threadfence();
        ((volatile int *)zero)[1] = ((volatile int *)zero)[1] + 1;
        __threadfence();
        *(volatile int *)&zero[0] = 0;
    }
})
CORRECT(flag_between_warps, 1, N, 0, i == 0, {
    if (threadIdx.x == 0) {
        fresh[0] = 7;
        __threadfence();
        *(volatile int *)&zero[0] = 1;
    } else if (threadIdx.x == 32) {
        while (*(volatile int *)&zero[0] == 0) {
        }
        __threadfence();
        assert(fresh[0] == 7);
    }
})
/* The Programming Guide's: the first read need not be atomic. */
__device__ double add_double(double *address, double v)
{
    unsigned long long *word = (unsigned long long *)address;
    unsigned long long  old  = *word, seen;

    do {
        seen = old;
        old  = atomicCAS(word, seen, __double_as_longlong(v + __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}
__device__ void max_float(float *address, float v)
{
    int *word = (int *)address;
    int  old  = *word;

    while (__int_as_float(old) < v) {
        const int seen = atomicCAS(word, old, __float_as_int(v));
        if (seen == old) {
            break;
        }
        old = seen;
    }
}
__global__ void by_cas(double *sum, float *most, const double *from)
{
    __shared__ double part;

    if (threadIdx.x == 0) {
        part = 0;
    }
    __syncthreads();
    add_double(&part, from[INDEX]);
    max_float(most, (float)from[INDEX]);
    __syncthreads();
    if (threadIdx.x == 0) {
        add_double(sum, part);
    }
}
SCENE(atomics_by_cas, "none")
{
    array<double> from(256, 0, 1), sum(1);
    array<float>  most(1);

    by_cas<<<4, 64>>>(sum.at, most.at, from.at);
    IS(sum[0] == 255 * 128 && most[0] == 255);
}
CORRECT(all_atomics, 1, 32, 0, i == 0 ? 32 : i == 1 ? 31 : i == 2 ? ~0 : i == 3 ? 4 : 0, {
    __shared__ unsigned long long wide;
    __shared__ float              real;
    if (threadIdx.x == 0) {
        wide = 0, real = 0;
    }
    __syncthreads();
    atomicAdd(&wide, 1ull);
    atomicAdd(&real, 0.5f);
    atomicMax(&zero[1], (int)LANE), atomicMin(&zero[1], 31);
    atomicOr(&zero[2], 1 << LANE), atomicAnd(&zero[4], 0), atomicXor(&zero[5], 1);
    atomicInc((unsigned *)&zero[3], 6), atomicSub(&zero[6], 0), atomicExch(&zero[7], 0);
    __syncthreads();
    if (threadIdx.x == 0) {
        assert(real == 16);
        zero[0] = (int)wide;
    }
})
__device__ int jobs;
CORRECT(work_queue, 3, 32, 0, i < 40, {
    __shared__ int job;
    for (;;) {
        if (threadIdx.x == 0) {
            job = atomicAdd(&jobs, 1);
        }
        __syncthreads();
        const int own = job;
        __syncthreads();
        if (own >= 40) {
            return;
        }
        if (threadIdx.x == own % 32) {
            zero[own] = 1;
        }
    }
})

/* ---- parts of blocks and warps ---- */

CORRECT(neighbouring_bytes, 1, N, 0, 1, {
    ((char *)fresh)[threadIdx.x] = 1;
    __syncthreads();
    zero[threadIdx.x] = ((char *)fresh)[N - 1 - threadIdx.x];
})
CORRECT(part_of_a_warp, 1, 40, 0, 0, {
    if (threadIdx.x < 36) {
        assert(__any_sync(__activemask(), 1));
    }
    assert(__all_sync(~0u, 1) && (__syncthreads_count(threadIdx.x < 3) == 3));
    assert(__syncthreads_or(threadIdx.x == 9) && !__syncthreads_and(threadIdx.x == 9));
})
CORRECT(returns_without_barrier, 1, N, 0, i <= 40, {
    if (threadIdx.x > 40) {
        return;
    }
    zero[threadIdx.x] = __popc(__match_any_sync(__activemask(), 1)) > 0;
})
CORRECT(half_warps, 1, 32, 0, i < 32 ? 120 + 256 * (i / 16) : 0, {
    const unsigned mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
    int            v    = threadIdx.x;
    for (int i = 8; i > 0; i /= 2) {
        v += __shfl_down_sync(mask, v, i, 16);
    }
    zero[threadIdx.x] = __shfl_sync(mask, v, 0, 16);
})
CORRECT(mask_of_the_rest, 1, N, 0, i == 0 ? 40 : 0, {
    const unsigned mask = __ballot_sync(~0u, threadIdx.x < 40);
    if (threadIdx.x < 40) {
        const int sum = __reduce_add_sync(mask, 1);
        if (LANE == 0) {
            atomicAdd(&zero[0], sum);
        }
    }
})
CORRECT(last_shuffle_of_a_lane, 1, 32, 0, i < 32 ? (i ? 0 : -1) : 0, {
    const int v = (threadIdx.x == 0) ? -1 : 0;
    zero[threadIdx.x] = __shfl_xor_sync(~0u, __shfl_xor_sync(~0u, v, 1), 1);
})
CORRECT(barriers_on_one_line, 1, N, 0, N - 1 - i, {
    __shared__ int t[N];
    t[threadIdx.x] = threadIdx.x; __syncthreads(); int v = t[N - 1 - threadIdx.x]; __syncthreads();
    t[threadIdx.x] = v;
    zero[threadIdx.x] = t[threadIdx.x];
})
CORRECT(explore_shared_memory, 1, 3, 0, i < 3 ? (i + 1) % 3 + 3 : 0, {
    __shared__ int t[3];
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    t[threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicAdd(&sum, 1);
    __syncthreads();
    zero[threadIdx.x] = t[(threadIdx.x + 1) % 3] + sum;
})
CORRECT(grid_of_3d, dim3(2, 2, 2), dim3(2, 2, 2), 0, i, {
    const int b = blockIdx.x + 2 * (blockIdx.y + 2 * blockIdx.z);
    const int t = threadIdx.x + 2 * (threadIdx.y + 2 * threadIdx.z);
    zero[8 * b + t] = 8 * b + t;
})
CORRECT(warps_take_roles, 1, 96, 0, i < 32, {
    __shared__ int box[32];
    if (threadIdx.x / 32 == 0) {
        box[LANE] = 1;
    }
    __syncthreads();
    switch (threadIdx.x / 32) {
    case 1: zero[LANE] = box[LANE]; break;
    case 2: fresh[LANE] = box[31 - LANE]; break;
    }
})

/* ---- types and memory ---- */

CORRECT(several_dynamic_arrays, 1, 32, 32 * (4 + 8 + 1), i < 32 ? i + 4 : 0, {
    extern __shared__ __align__(16) unsigned char raw[];
    double *d = (double *)raw;
    float  *f = (float *)(d + blockDim.x);
    char   *c = (char *)(f + blockDim.x);
    d[LANE] = LANE, f[31 - LANE] = 3, c[LANE] = 1;
    __syncthreads();
    zero[LANE] = (int)(d[LANE] + f[LANE] + c[31 - LANE]);
})
struct particle {
    char   kind;
    double at[3];
    short  group;
};
union bits {
    float    f;
    unsigned u;
    uint8_t  b[4];
};
__device__ int fold(const int *v, int n) { return n == 1 ? v[0] : v[0] + fold(v + 1, n - 1); }
CORRECT(structures, 1, N, 0, 64 + 1 + 6, {
    __shared__ particle all[N];
    particle p = {};
    bits     one;
    int      local[4] = {0, 1, 2, 3};
    p.kind = 1, p.at[2] = threadIdx.x;
    all[threadIdx.x] = p;
    __syncthreads();
    p     = all[N - 1 - threadIdx.x];
    one.f = 1;
    memset(&fresh[threadIdx.x], 0, sizeof(int));
    memcpy(&fresh[threadIdx.x], &one.u, sizeof(int));
    assert(one.b[3] == 0x3f && fresh[threadIdx.x] == 0x3f800000);
    zero[threadIdx.x] = (int)(p.at[2] + threadIdx.x + 1) + p.kind + fold(local, 4);
})
CORRECT(vectors, 1, N / 4, 0, i % 4, {
    const int4 v = make_int4(0, 1, 2, 3);
    reinterpret_cast<int4 *>(fresh)[threadIdx.x] = v;
    __syncthreads();
    reinterpret_cast<int4 *>(zero)[threadIdx.x] = reinterpret_cast<int4 *>(fresh)[N / 4 - 1 -
                                                                                  threadIdx.x];
})
CORRECT(halves, 1, N, 0, i, {
    const __half v = __float2half((float)threadIdx.x);
    zero[threadIdx.x] = (int)__half2float(__hadd(v, __float2half(0.f)));
})
struct node {
    int   v;
    node *next;
    __device__ node(int v_, node *next_) : v(v_), next(next_) {}
};
CORRECT(new_and_delete, 1, 8, 0, i < 8 ? 3 : 0, {
    node *list = new node(1, new node(2, nullptr));
    int  *many = new int[4];
    char *raw  = (char *)malloc(16);
    for (int i = 0; i < 4; i++) {
        many[i] = i;
    }
    raw[15] = 1;
    zero[threadIdx.x] = list->v + list->next->v + many[0] * raw[15];
    delete list->next;
    delete list;
    delete[] many;
    free(raw);
})
CORRECT(grid_stride, 3, 8, 0, 2 * i, {
    for (int i = INDEX; i < N; i += blockDim.x * gridDim.x) {
        zero[i] = 2 * i;
    }
})
CORRECT(restrict_and_ldg, 1, N, 0, 1, {
    const int *__restrict__ from = fresh;
    fresh[threadIdx.x] = 1;
    zero[threadIdx.x]  = __ldg(&from[threadIdx.x]);
})
template <typename T> struct dynamic_memory {
    __device__ operator T *()
    {
        extern __shared__ int all_memory[];
        return (T *)all_memory;
    }
};
CORRECT(dynamic_memory_by_type, 1, N, N * sizeof(double), N - 1 - i, {
    double *all = dynamic_memory<double>();
    all[threadIdx.x] = threadIdx.x;
    __syncthreads();
    zero[threadIdx.x] = (int)all[N - 1 - threadIdx.x];
})
struct shape {
    virtual __device__ int area() const = 0;
};
struct square : shape {
    int side;
    __device__ square(int side_) : side(side_) {}
    __device__ int area() const override { return side * side; }
};
__device__ int half_of(int v) { return v / 2; }
__device__ int same_as(int v) { return v; }
__device__ int (*const functions[2])(int) = {half_of, same_as};
CORRECT(virtual_functions, 1, N, 0, i % 2 ? i * i : i * i / 2, {
    square       s(threadIdx.x);
    const shape &any = s;
    zero[threadIdx.x] = functions[threadIdx.x % 2](any.area());
})
CORRECT(rows_of_a_sparse_matrix, 1, N, 0, i < 2 ? 32 * (i + 1) : 0, {
    const int row = threadIdx.x / 32;
    int       sum = 0;
    fresh[threadIdx.x] = row + 1;
    __syncwarp();
    for (int i = 32 * row + LANE; i < 32 * row + 32; i += 32) {
        sum += fresh[i ^ 1];
    }
    sum = warp_sum(sum);
    if (LANE == 0) {
        zero[row] = sum;
    }
})
CORRECT(flag_in_shared_memory, 1, N, 0, i == 0 ? 5 : 0, {
    __shared__ volatile int set;
    __shared__ int          value;
    if (threadIdx.x == 0) {
        set = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        value = 5;
        __threadfence_block();
        set = 1;
    } else if (threadIdx.x == 32) {
        while (!set) {
        }
        __threadfence_block();
        zero[0] = value;
    }
})
