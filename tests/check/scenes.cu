/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs for shpool-check, a scene each: those with one bug, and correct ones.
 *
 *   scenes         print each scene's name and the rule of what shpool-check must find, or "none"
 *   scenes NAME    run it
 */
#include <cassert>
#include <cstdio>
#include <cstring>

#include <shpool/shpool.cuh>

#define N 64

/* Arrays that kernels of all scenes get: N ints that are 0, and N that nothing has written. */
struct arrays {
    int *zero, *fresh;
};
static arrays make()
{
    arrays a;

    cudaMalloc(&a.zero, N * sizeof(int));
    cudaMalloc(&a.fresh, N * sizeof(int));
    cudaMemset(a.zero, 0, N * sizeof(int));
    return a;
}
static void drop(arrays a)
{
    cudaFree(a.zero);
    cudaFree(a.fresh);
}

struct scene {
    const char  *name;
    const char  *rule;
    void       (*run)();
    const scene *next;
};
static const scene *scenes;
struct add {
    scene s;
    add(const char *name, const char *rule, void (*run)()) : s{name, rule, run, scenes}
    {
        scenes = &s;
    }
};
#define SCENE(_name, _rule) \
    static void _name(); \
    static add add_##_name(#_name, _rule, _name); \
    static void _name()
/* A scene that is one kernel, kernel_NAME(). */
#define RUN(_name, _rule, _grid, _block, _bytes) \
    SCENE(_name, _rule) \
    { \
        arrays a = make(); \
        kernel_##_name<<<_grid, _block, _bytes>>>(a.zero, a.fresh); \
        drop(a); \
    }
/* The same with the kernel, all on one line. */
#define KERNEL(_name, _rule, _grid, _block, _bytes, ...) \
    __global__ void kernel_##_name(int *zero, int *fresh) __VA_ARGS__ \
    RUN(_name, _rule, _grid, _block, _bytes)

/* ---- races ---- */

/* check.sh looks for these places in the report. */
__global__ void kernel_race_with_places(int *zero, int *fresh)
{
    __shared__ int tile[N];

    tile[threadIdx.x] = zero[threadIdx.x]; /* place 1 */
    fresh[threadIdx.x] = tile[N - 1 - threadIdx.x]; /* place 2 */
}
RUN(race_with_places, "race", 1, N, 0)

KERNEL(race_no_barrier, "race", 1, N, 0, {
    __shared__ int tile[N];
    tile[threadIdx.x] = 1;
    if (threadIdx.x == 0) {
        for (int i = 0; i < N; i++) {
            tile[i] = 2;
        }
    }
})
KERNEL(race_tile_reused, "race", 1, N, 0, {
    __shared__ int tile[N];
    for (int round = 0; round < 2; round++) {
        tile[threadIdx.x] = round;
        __syncthreads();
        fresh[threadIdx.x] = tile[N - 1 - threadIdx.x]; /* missing: a second barrier */
    }
})
KERNEL(race_in_warp, "race", 1, 32, 0, {
    __shared__ int sum[64];
    sum[threadIdx.x] = sum[threadIdx.x + 32] = 1;
    __syncthreads();
    for (int i = 16; i > 0; i /= 2) {
        sum[threadIdx.x] += sum[threadIdx.x + i];
    }
})
KERNEL(race_volatile_warp, "race", 1, 32, 0, {
    __shared__ volatile int sum[64];
    sum[threadIdx.x]      = 1;
    sum[threadIdx.x + 32] = 1;
    __syncthreads();
    for (int i = 16; i > 0; i /= 2) {
        sum[threadIdx.x] = sum[threadIdx.x] + sum[threadIdx.x + i];
    }
})
KERNEL(race_between_blocks, "race", 2, N, 0, { zero[threadIdx.x] = (int)blockIdx.x; })
KERNEL(race_plain_counter, "race", 1, N, 0, { zero[0]++; })
KERNEL(race_atomic_and_plain, "race", 1, N, 0, {
    if (threadIdx.x == 40) {
        zero[0] = 1;
    } else {
        atomicAdd(&zero[0], 1);
    }
})
__device__ int ticket;
__device__ void last_block(int *zero, int *fresh, bool fence)
{
    if (threadIdx.x != 0) {
        return;
    }
    fresh[blockIdx.x] = 1;
    if (fence) {
        __threadfence();
    }
    if (atomicAdd(&ticket, 1) == (int)gridDim.x - 1) {
        for (unsigned i = 0; i < gridDim.x; i++) {
            zero[0] += fresh[i];
        }
    }
}
KERNEL(race_no_fence, "race", 4, 32, 0, { last_block(zero, fresh, false); })
KERNEL(race_syncwarp_of_half, "race", 1, 32, 0, {
    __shared__ int word[32];
    word[threadIdx.x] = 1;
    __syncwarp((threadIdx.x < 16) ? 0xffffu : 0xffff0000u);
    fresh[threadIdx.x] = word[(threadIdx.x + 16) % 32];
})

/* ---- bounds, lifetimes ---- */

KERNEL(bounds_global, "bounds", 1, 1, 0, { zero[N] = 1; })
KERNEL(bounds_before, "bounds", 1, 1, 0, { zero[-1] = 1; })
KERNEL(bounds_between_shared, "bounds", 1, 1, 0, {
    __shared__ int first[16];
    __shared__ int second[16];
    first[0] = second[0] = 0;
    int *at  = (zero[0] == 0) ? first : second;
    at[16 + zero[1]] = 1;
})
KERNEL(bounds_dynamic, "bounds", 1, N, 128, {
    extern __shared__ int all[];
    all[threadIdx.x] = 1;
})
__constant__ int table[4];
KERNEL(bounds_constant, "bounds", 1, 1, 0, { fresh[0] = table[4 + zero[0]]; })
KERNEL(bounds_null, "bounds", 1, 1, 0, { *(int *)(size_t)zero[0] = 1; })
SCENE(bounds_copy, "bounds")
{
    int    host[N + 1] = {0};
    arrays a = make();
    cudaMemcpy(a.zero, host, sizeof(host), cudaMemcpyHostToDevice);
    drop(a);
}
__global__ void set(int *at, int v) { *at = v; }
SCENE(use_after_free, "use-after-free")
{
    arrays a = make();
    cudaFree(a.fresh);
    set<<<1, 1>>>(a.fresh, 1);
    cudaFree(a.zero);
}
SCENE(copy_after_free, "use-after-free")
{
    arrays a = make();
    cudaFree(a.fresh);
    cudaMemset(a.fresh, 0, 4);
    cudaFree(a.zero);
}
SCENE(double_free, "double-free")
{
    arrays a = make();
    drop(a);
    cudaFree(a.zero);
}
SCENE(free_inside, "invalid-free")
{
    arrays a = make();
    cudaFree(a.zero + 1);
    drop(a);
}
SCENE(leak, "leak")
{
    arrays a = make();
    cudaFree(a.zero);
}
KERNEL(leak_in_kernel, "leak", 1, 1, 0, { *(void **)zero = malloc(4); })
SCENE(host_pointer, "host-memory")
{
    int *at = new int;
    set<<<1, 1>>>(at, 1);
    delete at;
}
SCENE(device_pointer_on_host, "host-access")
{
    arrays a = make();
    a.zero[0] = 1;
    drop(a);
}
KERNEL(misaligned, "misaligned", 1, 1, 0, { *(int2 *)(zero + 1) = make_int2(1, 2); })

/* ---- values that nothing has written ---- */

KERNEL(unwritten_shared, "uninitialised", 1, N, 0, {
    __shared__ int tile[N];
    if (threadIdx.x > 0) {
        tile[threadIdx.x] = 1;
    }
    __syncthreads();
    zero[threadIdx.x] = tile[threadIdx.x];
})
KERNEL(unwritten_dynamic, "uninitialised", 1, 1, 64, {
    extern __shared__ int all[];
    zero[0] = all[3];
})
KERNEL(unwritten_global, "uninitialised", 1, N, 0, { zero[threadIdx.x] = fresh[threadIdx.x]; })
KERNEL(unwritten_in_next_block, "uninitialised", 2, 1, 0, {
    __shared__ int word;
    if (blockIdx.x == 0) {
        word = 1;
    }
    atomicAdd(&zero[0], word);
})

/* ---- barriers and masks ---- */

__global__ void kernel_barrier_in_branches(int *, int *)
{
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}
RUN(barrier_in_branches, "divergence", 1, N, 0)
__global__ void kernel_barrier_of_half(int *zero, int *)
{
    if (threadIdx.x < 32) {
        __syncthreads();
    }
    zero[threadIdx.x] = 1;
    __syncthreads();
}
RUN(barrier_of_half, "divergence", 1, N, 0)
KERNEL(mask_without_caller, "divergence", 1, 32, 0, { zero[threadIdx.x] = __any_sync(1, 1); })
KERNEL(mask_of_absent_lane, "divergence", 1, 32, 0, {
    if (threadIdx.x == 0) {
        zero[0] = __any_sync(3, 1);
    } else {
        __syncthreads();
    }
})
KERNEL(shuffle_outside_mask, "mask", 1, 32, 0, {
    if (threadIdx.x < 16) {
        zero[threadIdx.x] = __shfl_sync(0xffff, (int)threadIdx.x, 20);
    }
})
KERNEL(left_early, "left-early", 1, N, 0, {
    if (threadIdx.x >= 40) {
        return;
    }
    __syncthreads();
})
KERNEL(lock_never_free, "livelock", 1, 2, 0, {
    while (atomicCAS(&zero[0], 0, 1) != 0) {
    }
})
KERNEL(flag_never_set, "livelock", 1, 2, 0, {
    while (*(volatile int *)&zero[0] == 0) {
    }
})
KERNEL(assertion, "assert", 1, 32, 0, { assert(zero[threadIdx.x] == 1); })
KERNEL(too_many_threads, "launch", 1, 1025, 0, { zero[0] = 1; })
/* Two threads find the place free only if one is stopped between its two atomics. */
KERNEL(explore_lost_update, "assert", 1, 2, 0, {
    if (atomicAdd(&zero[0], 0) == 0) {
        assert(atomicAdd(&zero[1], 1) == 0);
        atomicExch(&zero[0], 1);
    }
})

/* ---- pools ---- */

__global__ void pool_kernel(shpool_pool pool, int bug)
{
    extern __shared__ __align__(16) unsigned char memory[];
    shpool_heap heap = shpool_init(&pool, memory);
    int        *row  = (int *)shpool_malloc(heap, 20);

    if (row != NULL) {
        for (int i = 0; i < 5 + (bug == 1); i++) {
            row[i] = i;
        }
    }
    shpool_free(heap, row);
    if ((bug == 2) && (row != NULL)) {
        row[0] = 1;
    }
    if ((bug == 3) && (threadIdx.x == 0)) {
        shpool_free(heap, row);
    }
    shpool_fini(heap);
}
static void use_pool(int bug)
{
    shpool_pool   pool;
    shpool_config want = {};

    want.block_threads = N;
    want.payload_bytes = 8192;
    if (shpool_open("bitmap", &want, &pool) || shpool_launch(pool_kernel, 2, N, NULL, &pool, bug) ||
        shpool_close(&pool)) {
        puts(shpool_last_error());
    }
}
SCENE(pool_overrun, "pool-bounds") { use_pool(1); }
SCENE(pool_after_free, "pool-use-after-free") { use_pool(2); }
SCENE(pool_double_free, "pool-double-free") { use_pool(3); }
SCENE(pool, "none") { use_pool(0); }

/* ---- correct ---- */

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
KERNEL(reduction, "none", 3, N, N * sizeof(int), {
    extern __shared__ int all[];
    const int sum = block_sum(all, 1);
    assert(sum == N);
    if (threadIdx.x == 0) {
        atomicAdd(&zero[0], sum);
    }
})
KERNEL(warp_reduction, "none", 1, N, 0, {
    int v = (int)threadIdx.x % 32;
    for (int i = 16; i > 0; i /= 2) {
        v += __shfl_xor_sync(~0u, v, i);
    }
    assert((v == 496) && (__popc(__ballot_sync(~0u, v == 496)) == 32));
    assert(__reduce_add_sync(~0u, 1u) == 32);
    assert(__shfl_down_sync(~0u, 1.5 * (threadIdx.x % 32), 1, 8) ==
           1.5 * (threadIdx.x % 32 + (threadIdx.x % 8 != 7)));
})
KERNEL(last_block_with_fence, "none", 4, 32, 0, { last_block(zero, fresh, true); })
KERNEL(histogram, "none", 2, N, 0, {
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
KERNEL(neighbouring_bytes, "none", 1, N, 0, {
    ((char *)fresh)[threadIdx.x] = 1;
    __syncthreads();
    zero[threadIdx.x] = ((char *)fresh)[N - 1 - threadIdx.x];
})
KERNEL(spin_lock, "none", 1, N, 0, {
    while (atomicCAS(&zero[0], 0, 1) != 0) {
    }
    __threadfence();
    zero[1]++;
    __threadfence();
    atomicExch(&zero[0], 0);
})
KERNEL(flag_between_warps, "none", 1, N, 0, {
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
KERNEL(part_of_a_warp, "none", 1, 40, 0, {
    if (threadIdx.x < 36) {
        assert(__any_sync(__activemask(), 1));
    }
    assert(__all_sync(~0u, 1) && (__syncthreads_count(threadIdx.x < 3) == 3));
})
KERNEL(returns_without_barrier, "none", 1, N, 0, {
    if (threadIdx.x > 40) {
        return;
    }
    zero[threadIdx.x] = __popc(__match_any_sync(__activemask(), 1));
})
struct twice {
    template <typename T> __device__ T operator()(T v) const { return v + v; }
};
template <int n, typename F> __global__ void apply(int *to, F f) { to[threadIdx.x] = f(n); }
SCENE(templates_and_managed, "none")
{
    int *at = NULL;
    cudaMallocManaged(&at, N * sizeof(int));
    at[0] = 0;
    apply<2 + (3 > 2)><<<dim3(1), dim3(N, 1, 1)>>>(at, twice());
    apply<4><<<1, N>>>(at, [] __device__(int v) { return v; });
    cudaDeviceSynchronize();
    if (at[5] != 4) {
        puts("wrong");
    }
    cudaFree(at);
}
template <typename T> __constant__ T more[2];
__device__ int   counter;
__constant__ int factors[2];
__global__ void  count(const int n) { atomicAdd(&counter, n * factors[1] * more<int>[1]); }
SCENE(symbols_and_functions, "none")
{
    const int two[2] = {1, 2};
    int       sum    = 0;
    void    (*kernel)(const int) = count;

    cudaMemcpyToSymbol(factors, two, sizeof(two));
    cudaMemcpyToSymbol(more<int>, two, sizeof(two));
    kernel<<<2, 3>>>(5);
    cudaMemcpyFromSymbol(&sum, counter, sizeof(sum));
    if (sum != 120) {
        puts("wrong");
    }
}

int main(int argc, char **argv)
{
    for (const scene *s = scenes; s != NULL; s = s->next) {
        if (argc < 2) {
            printf("%s %s\n", s->name, s->rule);
        } else if (strcmp(argv[1], s->name) == 0) {
            s->run();
            return 0;
        }
    }
    return argc > 1;
}
