/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenes with one bug each.
 *
 *   scenes         print each scene's name and the rule of what shpool-check must find: "note:RULE"
 *                  for a note, or "none"
 *   scenes NAME    run it
 */
#include <shpool/shpool.cuh>

#include "scene.cuh"

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
KERNEL(race_of_one_value, "note:race", 1, N, 0, { zero[0] = 1; })
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
KERNEL(race_counts_read_early, "race", 1, N, 0, {
    __shared__ int count[2];
    if (threadIdx.x < 2) {
        count[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&count[threadIdx.x % 2], 1);
    if (threadIdx.x < 2) { /* missing: a barrier */
        zero[threadIdx.x] = count[threadIdx.x];
    }
})
KERNEL(race_counts_cleared_late, "race", 1, N, 0, {
    __shared__ int count;
    if (threadIdx.x == 40) {
        count = 0;
    }
    atomicAdd(&count, zero[0]); /* missing: a barrier before it */
})
KERNEL(race_scan_of_one_buffer, "race", 1, N, 0, {
    __shared__ int t[N];
    t[threadIdx.x] = 1;
    for (unsigned i = 1; i < N; i *= 2) {
        __syncthreads();
        if (threadIdx.x >= i) {
            t[threadIdx.x] += t[threadIdx.x - i];
        }
    }
})
KERNEL(race_halo, "race", 1, N, 0, {
    __shared__ int t[N + 1];
    t[threadIdx.x + 1] = 1;
    if (threadIdx.x == 0) {
        t[0] = 0;
    }
    zero[threadIdx.x] = t[threadIdx.x];
})
KERNEL(race_next_stage, "race", 1, N, 0, {
    __shared__ int stage[2][N];
    stage[0][threadIdx.x] = 0;
    for (int i = 0; i < 3; i++) {
        stage[(i + 1) % 2][threadIdx.x] = i; /* missing: a barrier before it */
        zero[threadIdx.x] += stage[i % 2][N - 1 - threadIdx.x];
    }
})
KERNEL(race_sum_read_early, "race", 1, N, 0, {
    __shared__ int t[N];
    t[threadIdx.x] = 1;
    for (unsigned i = N / 2; i > 0; i /= 2) {
        __syncthreads();
        if (threadIdx.x < i) {
            t[threadIdx.x] += t[threadIdx.x + i];
        }
    }
    zero[threadIdx.x] = t[0]; /* missing: a barrier before it */
})
KERNEL(race_flag_of_all, "race", 1, N, 0, {
    __shared__ bool any;
    any = false;
    if (zero[threadIdx.x] == 0) {
        any = true;
    }
})
KERNEL(race_lock_without_fence, "race", 1, N, 0, {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&zero[0], 0, 1) != 0) {
        }
        zero[1]++;
        atomicExch(&zero[0], 0); /* missing: __threadfence() before it */
    }
})
KERNEL(race_lock_of_volatile, "race", 1, N, 0, {
    volatile int *lock = &zero[0];
    while (*lock != 0) {
    }
    *lock = 1;
    zero[1]++;
    __threadfence();
    *lock = 0;
})
KERNEL(race_last_block_takes_all, "race", 4, 32, 0, {
    fresh[blockIdx.x] = 1; /* every thread of the block */
    __syncthreads();
    if ((threadIdx.x == 0) && (blockIdx.x == 3)) {
        zero[0] = fresh[0];
    }
})
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
KERNEL(bounds_before_shared, "bounds", 1, 1, 0, {
    __shared__ int only[16];
    only[zero[0] - 1] = 1;
})
KERNEL(bounds_far_in_a_gap, "bounds", 1, 1, 0, {
    __shared__ int only[16];
    only[0]     = 0;
    int *at     = only + zero[0];
    at[16 + 40] = 1;
})
KERNEL(bounds_local_array, "bounds", 1, 1, 0, {
    int local[4] = {1, 2, 3, 4};
    fresh[0] = local[4 + zero[0]];
})
KERNEL(bounds_inner_index, "bounds", 1, 8, 0, {
    __shared__ int tile[8][8];
    tile[threadIdx.x][0] = 1;
    __syncthreads();
    zero[threadIdx.x] = tile[0][8 * threadIdx.x];
})
__device__ int *kept;
KERNEL(bounds_new, "bounds", 1, 1, 0, {
    kept    = new int[4];
    kept[4] = 1;
    delete[] kept;
})
__constant__ int table[4];
KERNEL(bounds_before_constant, "bounds", 1, 1, 0, { fresh[0] = table[zero[0] - 1]; })
KERNEL(bounds_constant, "bounds", 1, 1, 0, { fresh[0] = table[4 + zero[0]]; })
KERNEL(bounds_null, "bounds", 1, 1, 0, { *(int *)(size_t)zero[0] = 1; })
SCENE(bounds_copy, "bounds")
{
    int    host[N + 1] = {0};
    arrays a = make();
    cudaMemcpy(a.zero, host, sizeof(host), cudaMemcpyHostToDevice);
    drop(a);
}
SCENE(bounds_copy_from_nothing, "bounds")
{
    arrays a = make();
    cudaMemcpy(a.zero, (void *)4096, 4, cudaMemcpyHostToDevice);
    drop(a);
}
static void copy(bool to_null, cudaMemcpyKind kind)
{
    int    host = 1;
    arrays a = make();
    if (cudaMemcpy(to_null ? NULL : a.zero, &host, 4, kind) == cudaSuccess) {
        puts("no error");
    }
    drop(a);
}
SCENE(copy_to_null, "bounds") { copy(true, cudaMemcpyHostToDevice); }
SCENE(copy_of_wrong_kind, "copy") { copy(false, cudaMemcpyDeviceToHost); }
SCENE(copy_of_no_kind, "copy") { copy(false, (cudaMemcpyKind)7); }
SCENE(fill_of_host_memory, "copy")
{
    int host[4];
    cudaMemset(host, 0, sizeof(host));
}
__global__ void set(int *at, int v) { *at = v; }
KERNEL(freed_twice_in_kernel, "double-free", 1, 1, 0, {
    kept = new int;
    delete kept;
    delete kept;
})
__global__ void keep() { kept = (int *)malloc(4); }
SCENE(copy_of_the_kernels_heap, "copy")
{
    int *at, v;
    keep<<<1, 1>>>();
    cudaMemcpyFromSymbol(&at, kept, sizeof(at));
    cudaMemcpy(&v, at, 4, cudaMemcpyDeviceToHost);
}
SCENE(freed_by_the_wrong_call, "invalid-free")
{
    int *at;
    cudaMallocHost(&at, 4);
    cudaFree(at);
}
SCENE(stream_destroyed_twice, "double-free")
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaStreamDestroy(s);
    cudaStreamDestroy(s);
}
SCENE(stream_after_destroy, "use-after-free")
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaStreamDestroy(s);
    cudaStreamSynchronize(s);
}
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
SCENE(leak, "note:leak")
{
    arrays a = make();
    cudaFree(a.zero);
}
KERNEL(leak_in_kernel, "note:leak", 1, 1, 0, { *(void **)zero = malloc(4); })
SCENE(host_pointer, "host-memory")
{
    int *at = new int;
    set<<<1, 1>>>(at, 1);
    delete at;
}
SCENE(address_of_a_local_variable, "host-memory")
{
    int local = 0;
    set<<<1, 1>>>(&local, 1);
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
struct item {
    char kind;
    int  v[7];
};
KERNEL(unwritten_structure, "uninitialised", 1, 2, 0, {
    __shared__ item all[2];
    if (threadIdx.x == 0) {
        all[0] = item();
    }
    __syncthreads();
    ((item *)fresh)[threadIdx.x] = all[threadIdx.x];
})
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
KERNEL(barriers_of_one_line, "divergence", 1, N, 0, {
    if (threadIdx.x < 32) { __syncthreads(); } else { __syncthreads(); }
})
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
KERNEL(shuffle_from_absent_lane, "mask", 1, 8, 0, {
    zero[threadIdx.x] = __shfl_xor_sync(~0u, (int)threadIdx.x, 16);
})
KERNEL(shuffle_from_lane_that_left, "mask", 1, 32, 0, {
    if (threadIdx.x >= 16) {
        return;
    }
    zero[threadIdx.x] = __shfl_sync(~0u, (int)threadIdx.x, 20);
})
KERNEL(shuffle_sum_of_half_a_warp, "mask", 1, 16, 0, {
    int v = 1;
    for (int i = 16; i > 0; i /= 2) {
        v += __shfl_down_sync(~0u, v, i);
    }
    zero[threadIdx.x] = v;
})
/* A usual sum of 16 lanes: the upper ones get what nobody uses. */
KERNEL(shuffle_past_the_last_lane, "note:mask", 1, 32, 0, {
    if (threadIdx.x < 16) {
        int v = 1;
        for (int i = 8; i > 0; i /= 2) {
            v += __shfl_down_sync(0xffff, v, i);
        }
        zero[threadIdx.x] = v;
    }
})
KERNEL(left_early, "note:left-early", 1, N, 0, {
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
KERNEL(no_threads, "launch", 1, 0, 0, { zero[0] = 1; })
KERNEL(too_many_rows, "launch", dim3(1, 65536), 1, 0, { zero[0] = 1; })
KERNEL(too_much_shared_memory, "launch", 1, 1, 49153, { zero[0] = 1; })
/* Two threads find the place free only if one is stopped between its two atomics. */
KERNEL(explore_lost_update, "assert", 1, 2, 0, {
    if (atomicAdd(&zero[0], 0) == 0) {
        assert(atomicAdd(&zero[1], 1) == 0);
        atomicExch(&zero[0], 1);
    }
})

KERNEL(race_of_a_plain_read_before_an_add, "race", 1, N, 0, {
    if (zero[0] < 10) {
        atomicAdd(&zero[0], 1);
    }
})
KERNEL(division_by_zero, "crash", 1, 32, 0, { zero[1] = 7 / zero[0]; })

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

/* bug 0: all is right; 1 to 6: see the scenes below */
__global__ void pool_calls(shpool_pool pool, int bug)
{
    extern __shared__ __align__(16) unsigned char memory[];
    shpool_heap heap  = shpool_init(&pool, memory);
    int        *of_warp = (int *)shpool_malloc_warp(heap, 400);
    int        *of_all  = (int *)shpool_malloc_block(heap, 200);
    int        *zero    = (int *)shpool_calloc(heap, 5, sizeof(int));
    char       *moved   = (char *)shpool_malloc(heap, 16);

    if (moved != NULL) {
        moved[3] = 3;
        moved    = (char *)shpool_realloc(heap, moved, 100);
        assert((moved == NULL) || (moved[3] == 3));
    }
    if (of_warp != NULL) {
        of_warp[threadIdx.x % 32u] = (zero != NULL) ? zero[4] : 0;
        __syncwarp();
    }
    shpool_free_warp(heap, of_warp);
    if (bug == 1) { shpool_free_warp(heap, of_warp); }
    shpool_free_block(heap, of_all);
    if ((bug == 2) && (moved != NULL) && (threadIdx.x == 0)) { shpool_free(heap, moved + 16); }
    if ((bug == 3) && (threadIdx.x == 0)) { shpool_free(heap, memory + 96); }
    shpool_free(heap, zero);
    if ((bug != 4) || (threadIdx.x != 9)) { shpool_free(heap, moved); }
    shpool_fini(heap);
}
static void call_pool(const char *allocator, int bug,
                      void (*kernel)(shpool_pool, int) = pool_calls)
{
    shpool_pool   pool;
    shpool_config want = {};

    want.block_threads = N;
    want.payload_bytes = 32768;
    if (shpool_open(allocator, &want, &pool) ||
        shpool_launch(kernel, 2, N, NULL, &pool, bug) || shpool_close(&pool)) {
        puts(shpool_last_error());
    }
}
__global__ void free_by_one(shpool_pool pool, int)
{
    extern __shared__ __align__(16) unsigned char memory[];
    shpool_heap heap = shpool_init(&pool, memory);

    for (int i = 0; i < 4; i++) {
        void *of_warp = shpool_malloc_warp(heap, 128);

        if (threadIdx.x % 32 == 0) { shpool_free(heap, of_warp); }
    }
    shpool_fini(heap);
}
SCENE(pool_calls_of_bitmap, "none") { call_pool("bitmap", 0); }
SCENE(pool_free_by_one_lane, "none") { call_pool("bitmap", 0, free_by_one); }
SCENE(pool_calls_of_planes, "none") { call_pool("planes", 0); }
SCENE(pool_calls_of_lists, "none") { call_pool("warp_first_fit:threads_per_pool=64", 0); }
SCENE(pool_double_free_by_warps, "pool-double-free") { call_pool("bitmap", 1); }
SCENE(pool_free_inside, "pool-invalid-free") { call_pool("bitmap", 2); }
SCENE(pool_free_of_what_is_not_its, "pool-invalid-free") { call_pool("planes", 3); }
SCENE(pool_leak, "note:pool-leak") { call_pool("bitmap", 4); }

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
