/* SPDX-License-Identifier: BSD-3-Clause */
/* Correct launches and host code, as people write them: nothing may be found. */
#include <algorithm>
#include <memory>
#include <thread>

#include "scene.cuh"

/* ---- launches ---- */

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
    IS(at[5] == 4);
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
    cudaMemcpyToSymbol(factors, two + 1, sizeof(int), sizeof(int));
    kernel<<<2, 3>>>(5);
    cudaMemcpyFromSymbol(&sum, counter, sizeof(sum));
    IS(sum == 120);
}
extern "C" {
__device__ float f[2]; /* names of C */
__global__ void  i(float v) { f[threadIdx.x] = v; }
}
SCENE(symbol_addresses, "none")
{
    void *at = NULL;
    float v  = 0;

    i<<<1, 2>>>(3);
    cudaGetSymbolAddress(&at, f);
    cudaMemcpy(&v, (float *)at + 1, sizeof(v), cudaMemcpyDeviceToHost);
    IS(v == 3);
}
template <typename T> __global__ void fill(T *at, T v, int n)
{
    if ((int)INDEX < n) {
        at[INDEX] = v;
    }
}
struct pair {
    int a, b;
};
__global__ void many(int *to, const int *none, pair p, float2 v, double d, bool yes)
{
    *to += (none == nullptr) + p.a + p.b + (int)(v.x + v.y) + (int)d + yes;
}
namespace {
__global__ void over(int *to) { *to += 1; }
__global__ void over(int *to, int n) { *to += n; }
}
struct counted { /* copies itself, as containers of views do */
    int *at, v;
    __host__ __device__ counted(int *at_, int v_) : at(at_), v(v_) {}
    __host__ __device__ counted(const counted &o) : at(o.at), v(o.v) {}
    __host__ __device__ ~counted() {}
};
__global__ void by_value(counted c) { c.at[threadIdx.x] = c.v; }
SCENE(arguments_that_copy_themselves, "none")
{
    array<int> to(N);
    counted    c(to.at, 5);

    by_value<<<1, N>>>(c);
    apply<1><<<1, N>>>(to.at + 1 - 1, [c] __device__(int n) { return c.v + n; });
    IS(to[N - 1] == 6);
}
struct holder {
    static __global__ void inside(int *to) { *to += 10; }
    template <int n> static void go(int *to) { inside<<<n, 1>>>(to); }
};
__global__ void usual(int *to, int n = 100) { *to += n; }
SCENE(arguments, "none")
{
    array<int> to(4);
    int        n = 2;

    fill<<<1, 4>>>(to.at, 0, 4);
    fill<int><<<1, 4>>>(to.at, 'a' - 'a', 4);
    many<<<1, 1>>>(to.at, 0, {1, n++}, {1, 2}, 1, true);
    many<<<1, 1>>>(to.at, NULL, pair{1, 2}, make_float2(1, 2), n, 1);
    over<<<1, 1>>>(to.at);
    over<<<1, 1>>>(to.at, n);
    usual<<<1, 1>>>(to.at);
    usual<<<1, 1>>>(to.at, 1000);
    holder::go<1>(to.at);
    IS(to[0] == 1 + 3 + 3 + 1 + 1 + 1 + 3 + 3 + 3 + 1 + 1 + 3 + 100 + 1000 + 10 && n == 3);
}
SCENE(launch_by_pointers, "none")
{
    array<int> to(4);
    int        v = 7, n = 4;
    void      *from[] = {&to.at, &v, &n};

    IS(cudaLaunchKernel((void *)fill<int>, dim3(1), dim3(4), from, 0, 0) == cudaSuccess);
    IS(cudaLaunchKernel(fill<int>, 0, 4, from) == cudaErrorInvalidConfiguration);
    IS(to[3] == 7);
}
__global__ void large(int *to)
{
    extern __shared__ int all[];
    all[16383] = 1;
    *to        = all[16383];
}
SCENE(shared_above_48_kib, "none")
{
    array<int> to(1);

    IS(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) ==
       cudaSuccess);
    large<<<1, 1, 65536>>>(to.at);
    IS(to[0] == 1);
    IS(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
       cudaErrorInvalidValue);
}
SCENE(errors_are_read, "none")
{
    array<int> to(1);

    IS(cudaGetLastError() == cudaSuccess);
    over<<<1, 2000>>>(to.at);
    IS(cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == 9);
    over<<<dim3(1, 65536), 1>>>(to.at);
    IS(cudaPeekAtLastError() == 9 && cudaGetLastError() == 9);
    large<<<1, 1, 228 << 10>>>(to.at);
    IS(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
    IS(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice) == cudaSuccess);
}

/* ---- the host ---- */

__global__ void step(const int *from, int *to)
{
    const int i = threadIdx.x;

    to[i] = from[(i + 1) % N] + 1;
}
SCENE(ping_pong, "none")
{
    array<int> a(N), b(N);

    for (int i = 0; i < 3; i++) {
        step<<<1, N>>>(a.at, b.at);
        std::swap(a.at, b.at);
    }
    IS(a[7] == 3);
}

SCENE(streams_and_events, "none")
{
    cudaStream_t stream[2];
    cudaEvent_t  begin, end;
    array<int>   to(N);
    int         *pinned;
    float        ms = -1;

    cudaMallocHost(&pinned, N * sizeof(int));
    cudaEventCreate(&begin);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
    for (cudaStream_t &s : stream) {
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        cudaEventRecord(begin, s);
        fill<<<1, N, 0, s>>>(to.at, 3, N);
        cudaMemcpyAsync(pinned, to.at, N * sizeof(int), cudaMemcpyDeviceToHost, s);
        cudaMemcpyAsync(to.at, pinned, N * sizeof(int), cudaMemcpyDefault, s);
        cudaEventRecord(end, s);
        cudaStreamWaitEvent(s, end, 0);
        IS(cudaStreamSynchronize(s) == cudaSuccess);
    }
    cudaEventElapsedTime(&ms, begin, end);
    IS(ms >= 0 && pinned[N - 1] == 3);
    for (cudaStream_t s : stream) {
        cudaStreamDestroy(s);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFreeHost(pinned);
}
__global__ void rows(char *at, size_t pitch) { at[blockIdx.x * pitch + threadIdx.x] = 5; }
__device__ __managed__ int both_sides = 1;
__global__ void add_one() { both_sides++; }
SCENE(managed_variable, "none")
{
    both_sides += 4;
    add_one<<<1, 1>>>();
    cudaDeviceSynchronize();
    IS(both_sides == 6);
}
SCENE(questions, "none")
{
    cudaDeviceProp prop;
    int            grid, block, blocks;

    IS(cudaGetDeviceProperties(&prop, 0) == cudaSuccess && prop.warpSize == 32);
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, large, 0, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, large, block, 0);
    IS(blocks > 0 && cudaSetDevice(1) == cudaErrorInvalidDevice);
    IS(strcmp(cudaGetErrorString(cudaGetLastError()), "no error") != 0);
}
SCENE(pitched_rows, "none")
{
    char  *at, host[4][10] = {};
    size_t pitch;

    cudaMallocPitch(&at, &pitch, 10, 4);
    rows<<<4, 10>>>(at, pitch);
    IS(cudaMemcpy2D(host, 10, at, pitch, 10, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    IS(host[3][9] == 5);
    cudaFree(at);
}
SCENE(copies_of_parts, "none")
{
    array<int> a(N), b(N);
    static int host[N];

    cudaMemset(a.at + 1, 0xff, sizeof(int));
    cudaMemcpy(b.at, a.at, N * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaMemcpy(host, b.at, N * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(host + 2, host, 2 * sizeof(int), cudaMemcpyHostToHost);
    IS(host[3] == -1 && host[2] == 0);
}
__device__ int *stays;
__global__ void get_one() { stays = new int(3); }
__global__ void drop_one(int *to)
{
    if (threadIdx.x == 0) {
        *to = *stays;
        delete stays;
    } else {
        int *own = new int(1);
        atomicAdd(to + 1, *own);
        delete own;
    }
}
SCENE(explore_memory_of_the_last_kernel, "none")
{
    array<int> to(2);

    get_one<<<1, 1>>>();
    drop_one<<<1, 3>>>(to.at);
    IS(to[0] == 3 && to[1] == 2);
}
struct item {
    int   v;
    item *next;
};
SCENE(managed_objects, "none")
{
    item *list = NULL;

    cudaMallocManaged((void **)&list, 2 * sizeof(item));
    list[0] = {1, &list[1]};
    list[1] = {2, nullptr};
    apply<1><<<1, 1>>>(&list[1].v, [=] __device__(int v) { return v + list->next->v; });
    cudaDeviceSynchronize();
    IS(list[1].v == 3);
    cudaFree(list);
}
struct deleter {
    void operator()(int *at) const { cudaFree(at); }
};
SCENE(objects_of_the_host, "none")
{
    std::unique_ptr<int, deleter> at([] {
        int *p = NULL;
        cudaMalloc((void **)&p, N * sizeof(int));
        return p;
    }());
    std::vector<int>       host(N, 3);
    std::unique_ptr<int[]> more(new int[N]());

    std::sort(host.begin(), host.end());
    cudaMemcpy(at.get(), host.data(), N * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(more.get(), at.get(), N * sizeof(int), cudaMemcpyDeviceToHost);
    IS(more[N - 1] == 3);
}
SCENE(registered_memory, "none")
{
    std::vector<int> host(N);
    int             *at = NULL;

    cudaHostRegister(host.data(), N * sizeof(int), cudaHostRegisterMapped);
    cudaHostGetDevicePointer(&at, host.data(), 0);
    fill<<<1, N>>>(at, 4, N);
    cudaDeviceSynchronize();
    cudaHostUnregister(host.data());
    IS(host[N - 1] == 4);
}
SCENE(two_threads_of_the_host, "none")
{
    auto work = [] {
        for (int i = 0; i < 50; i++) {
            array<int> to(N), from(N, 0, 1);
            step<<<1, N>>>(from.at, to.at);
            IS(to[0] == 2 && cudaGetLastError() == cudaSuccess);
        }
    };
    std::thread other(work);

    work();
    other.join();
}
