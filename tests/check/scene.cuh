/* SPDX-License-Identifier: BSD-3-Clause */
/* How scenes*.cu list their scenes: scenes.cu has those with one bug. */
#ifndef TESTS_CHECK_SCENE_CUH
#define TESTS_CHECK_SCENE_CUH

#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

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
inline const scene *scenes;
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

/* An array of the device that begins with first, first + step, ... */
template <typename T> struct array {
    T     *at;
    size_t n;

    array(size_t n_, T first = T(), T step = T()) : n(n_)
    {
        std::vector<T> host(n);

        for (size_t i = 0; i < n; i++) {
            host[i] = first + T(i) * step;
        }
        cudaMalloc(&at, n * sizeof(T));
        cudaMemcpy(at, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    ~array() { cudaFree(at); }
    T operator[](size_t i) const
    {
        T v;

        cudaMemcpy(&v, at + i, sizeof(T), cudaMemcpyDeviceToHost);
        return v;
    }
};
#define IS(_true) ((_true) ? (void)0 : (void)printf("wrong: line %d\n", __LINE__))
#define LANE      (threadIdx.x % 32)
#define INDEX     (blockIdx.x * blockDim.x + threadIdx.x)
/* A kernel over `zero`, and what must be in it afterwards: an expression of i. */
#define CORRECT(_name, _grid, _block, _bytes, _expected, ...) \
    __global__ void kernel_##_name(int *zero, int *fresh) __VA_ARGS__ \
    SCENE(_name, "none") \
    { \
        arrays a = make(); \
        int    host[N]; \
        kernel_##_name<<<_grid, _block, _bytes>>>(a.zero, a.fresh); \
        IS(cudaDeviceSynchronize() == cudaSuccess); \
        cudaMemcpy(host, a.zero, sizeof(host), cudaMemcpyDeviceToHost); \
        for (int i = 0; i < N; i++) { \
            IS(host[i] == (_expected)); \
        } \
        drop(a); \
    }

#endif /* TESTS_CHECK_SCENE_CUH */
