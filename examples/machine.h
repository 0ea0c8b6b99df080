/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host code that the examples share.  The larger ones run on a GPU and on the CPU block executor
 * from one source: this header has the differences that simt.h does not cover.
 *
 *   compiled by nvcc             kernels run on the current CUDA device
 *   compiled as C++17            kernels run on the executor
 *
 * A kernel is a copyable struct whose operator()() is the code of one thread; machine_launch() runs
 * it.  Failures end the program, because it is only an example.
 */
#ifndef SHPOOL_EXAMPLES_MACHINE_H
#define SHPOOL_EXAMPLES_MACHINE_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#if defined(__CUDACC__)
#include <shpool/shpool.cuh>
#define MACHINE_METHOD __device__ __forceinline__
#define MACHINE_PICK(gpu, executor) gpu
#else
#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>
#define MACHINE_METHOD inline
#define MACHINE_PICK(gpu, executor) executor /* less work: a fiber for each thread */
#endif

[[noreturn]] static inline void machine_fail(const std::string &what, const std::string &why)
{
    std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
    std::exit(1);
}
static inline void machine_need(shpool_status status, const char *what)
{
    if (status != SHPOOL_OK) { machine_fail(what, shpool_last_error()); }
}
static inline double machine_seconds()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/* A float's bits. */
SIMT_HD uint32_t machine_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
SIMT_HD float machine_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

#if defined(__CUDACC__)

/* In kernels: words that other threads write meanwhile, so that a load may be stale.  Plain
 * accesses on a GPU, where atomic ones in a loop diverge the warp. */
SIMT_FN uint32_t machine_glance(const uint32_t *p) { return *p; }
SIMT_FN uint32_t machine_glance(simt_addr addr) { return simt_load32(addr); }
SIMT_FN void     machine_post(simt_addr addr, uint32_t v) { simt_store32(addr, v); }

#if !defined(SHPOOL_CHECKED) /* shpool-check has neither PTX nor cudaLaunchConfig_t */
/* In kernels: a barrier for `threads` of the block's threads, in whole warps.  They have a `number`
 * from 1 to 15, and a word that is 0 at first. */
SIMT_FN void machine_part_barrier(simt_addr, uint32_t number, uint32_t threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
#endif

static inline void machine_cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) { machine_fail(what, cudaGetErrorString(error)); }
}

static inline uint32_t machine_attribute(cudaDeviceAttr attribute)
{
    int value = 0;

    machine_cuda(cudaDeviceGetAttribute(&value, attribute, 0), "cudaDeviceGetAttribute");
    return static_cast<uint32_t>(value);
}

/* The machine's name; NULL if there is none, after the reason is printed. */
static inline const char *machine_name(const char *program)
{
    static cudaDeviceProp device;
    int                   count = 0;
    cudaError_t           error = cudaGetDeviceCount(&count);

    if ((error != cudaSuccess) || (count == 0)) {
        std::printf("%s: skipped, no CUDA device: %s\n", program, cudaGetErrorString(error));
        return nullptr;
    }
    machine_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    return device.name;
}

static inline void *machine_new(size_t bytes)
{
    void *p = nullptr;

    machine_cuda(cudaMalloc(&p, bytes), "cudaMalloc");
    return p;
}
static inline void machine_delete(void *p) /* NULL is no error, even without a machine */
{
    if (p != nullptr) { machine_cuda(cudaFree(p), "cudaFree"); }
}
static inline void machine_copy(void *to, const void *from, size_t bytes)
{
    machine_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}
static inline void machine_zero(void *p, size_t bytes)
{
    machine_cuda(cudaMemset(p, 0, bytes), "cudaMemset");
}
static inline void machine_wait() { machine_cuda(cudaDeviceSynchronize(), "kernel"); }

/* The bounds limit the registers, so that blocks of 1,024 threads run with every allocator. */
template <class Kernel>
static __global__ void __launch_bounds__(1024) machine_kernel(const __grid_constant__ Kernel kernel)
{
    kernel();
}

/* A kernel whose operator() gets a pool of any allocator, also of one that was joined with the
 * program at run time (doc/LINKING.md). */
template <class Kernel>
static __global__ void __launch_bounds__(1024, 1)
machine_pool_kernel(shpool_pool pool, const __grid_constant__ Kernel kernel)
{
    kernel(pool);
}

/* The number of blocks that the whole machine runs at the same time, with `bytes` in front of the
 * pool, if there is one.  The driver is asked once for each size: its answer takes the host longer
 * than a launch. */
static inline uint32_t machine_occupancy(const void *kernel, uint32_t threads, uint32_t bytes,
                                         const shpool_pool *pool)
{
    static std::map<std::tuple<const void *, uint32_t, uint32_t>, uint32_t> known;
    uint32_t &blocks = known[{ kernel, threads, bytes }];
    int       each   = 0;

    if (blocks == 0) {
        if (pool != nullptr) {
            machine_need(shpool_occupancy(kernel, pool, threads, bytes, &each), "occupancy");
        } else {
            machine_need(shpool_allow_shared(kernel, bytes), "shared memory");
            machine_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                             &each, kernel, static_cast<int>(threads), bytes), "occupancy");
        }
        blocks = static_cast<uint32_t>(std::max(each, 1)) *
                 machine_attribute(cudaDevAttrMultiProcessorCount);
    }
    return blocks;
}
template <class... Arguments>
static uint32_t machine_blocks_of(void (*kernel)(Arguments...), uint32_t threads, uint32_t bytes)
{
    return machine_occupancy((const void *)kernel, threads, bytes, nullptr);
}
template <class Kernel>
static uint32_t machine_blocks(uint32_t threads, uint32_t bytes)
{
    return machine_blocks_of(machine_kernel<Kernel>, threads, bytes);
}

/* Kernels in different queues may run at the same time.  A kernel in queue 0 waits for all earlier
 * kernels, and later kernels wait for it. */
static inline cudaStream_t machine_queue(uint32_t number)
{
    static cudaStream_t queue[12];

    if ((number != 0) && (queue[number] == nullptr)) {
        machine_cuda(cudaStreamCreate(&queue[number]), "cudaStreamCreate");
    }
    return queue[number];
}

template <class Kernel>
static void machine_launch(uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                           const Kernel &kernel, uint32_t queue = 0)
{
    (void)machine_blocks<Kernel>(threads, shared_bytes); /* allows them, once for each size */
    machine_kernel<<<blocks, threads, shared_bytes, machine_queue(queue)>>>(kernel);
    machine_cuda(cudaGetLastError(), "launch");
}

#if !defined(SHPOOL_CHECKED)
/* A block for each of `turns`, but no more than run at the same time; `bytes` come before the
 * pool's. */
template <class Kernel>
static void machine_launch_pool(const shpool_pool &pool, uint32_t turns, uint32_t threads,
                                uint32_t bytes, const Kernel &kernel, uint32_t queue = 0)
{
    const void *const  code        = (const void *)machine_pool_kernel<Kernel>;
    void              *arguments[] = { const_cast<shpool_pool *>(&pool),
                                       const_cast<Kernel *>(&kernel) };
    cudaLaunchConfig_t config      = {};

    config.gridDim          = std::min(turns, machine_occupancy(code, threads, bytes, &pool));
    config.blockDim         = threads;
    config.dynamicSmemBytes = bytes;
    config.stream           = machine_queue(queue);
    machine_need(shpool_launch_kernel(&config, code, arguments, &pool), "launch");
}
#endif

#define machine_open  shpool_open
#define machine_close (void)shpool_close

#else

SIMT_FN uint32_t machine_glance(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
SIMT_FN uint32_t machine_glance(simt_addr addr) { return simt_atomic_load(addr, SIMT_RELAXED); }
SIMT_FN void     machine_post(simt_addr addr, uint32_t v)
{
    simt_atomic_store(addr, v, SIMT_RELAXED);
}
SIMT_FN void machine_part_barrier(simt_addr word, uint32_t, uint32_t threads)
{
    const uint32_t turn = simt_atomic_add(word, 1, SIMT_ACQ_REL) / threads;
    uint32_t       seen;

    while ((seen = simt_atomic_load(word, SIMT_ACQUIRE)) / threads == turn) {
        simt_wait(word, seen);
    }
}

static inline const char *machine_name(const char *) { return "the CPU block executor"; }
static inline void       *machine_new(size_t bytes)
{
    void *p = std::malloc(bytes);

    return (p != nullptr) ? p : throw std::bad_alloc();
}
static inline void machine_delete(void *p) { std::free(p); }
static inline void machine_copy(void *to, const void *from, size_t bytes)
{
    if (bytes != 0) { std::memcpy(to, from, bytes); }
}
static inline void machine_zero(void *p, size_t bytes) { std::memset(p, 0, bytes); }
static inline void machine_wait() {}

/* Blocks run one after another, so a few test as much as many. */
template <class Kernel>
static uint32_t machine_blocks(uint32_t, uint32_t)
{
    return 3;
}

template <class Kernel>
static void machine_thread(void *kernel)
{
    (*static_cast<const Kernel *>(kernel))();
}

/* Runs on fibers that switch, on average, at every eighth access. */
template <class Kernel>
static void machine_launch(uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                           const Kernel &kernel, uint32_t = 0)
{
    simt_launch launch = {};
    simt_result result;
    Kernel      copy = kernel;

    launch.grid[0]       = blocks;
    launch.block[0]      = threads;
    launch.dynamic_bytes = shared_bytes;
    launch.switch_period = 8;
    if (simt_run(&launch, machine_thread<Kernel>, &copy, &result) != SHPOOL_OK) {
        machine_fail("kernel", result.text);
    }
}
template <class Kernel>
static void machine_launch_pool(const shpool_pool &pool, uint32_t turns, uint32_t threads,
                                uint32_t bytes, const Kernel &kernel, uint32_t = 0)
{
    machine_launch(std::min(turns, 3u), threads, bytes + pool.shared_bytes, [&] { kernel(pool); });
}

#define machine_open  shpool_simt_open
#define machine_close shpool_simt_close

#endif

#define machine_read machine_copy

/* In kernels: reductions over a whole warp; all lanes get the result. */
#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 800))
SIMT_FN uint32_t machine_or(uint32_t bits) { return __reduce_or_sync(SIMT_ALL_LANES, bits); }
SIMT_FN uint32_t machine_sum(uint32_t value) { return __reduce_add_sync(SIMT_ALL_LANES, value); }
#else
SIMT_FN uint32_t machine_or(uint32_t bits)
{
    for (uint32_t lane = 16; lane != 0; lane /= 2u) {
        bits |= simt_shfl_xor(SIMT_ALL_LANES, bits, lane);
    }
    return bits;
}
SIMT_FN uint32_t machine_sum(uint32_t value)
{
    for (uint32_t lane = 16; lane != 0; lane /= 2u) {
        value += simt_shfl_xor(SIMT_ALL_LANES, value, lane);
    }
    return value;
}
#endif

/* Start a block for each of `turns`, but no more blocks than run at the same time. */
template <class Kernel>
static void machine_fill(uint32_t turns, uint32_t threads, uint32_t bytes, const Kernel &kernel,
                         uint32_t queue)
{
    if (turns != 0) {
        machine_launch(std::min(turns, machine_blocks<Kernel>(threads, bytes)), threads, bytes,
                       kernel, queue);
    }
}

/* The shortest time of `rounds` calls of work(), after one that is not counted, in seconds. */
template <class Prepare, class Work>
static double machine_best(uint32_t rounds, Prepare prepare, Work work)
{
    double best = 1e30;

    for (uint32_t round = 0; round <= rounds; round++) {
        prepare();
        machine_wait();

        const double from = machine_seconds();

        work();
        machine_wait();
        best = (round > 0) ? std::min(best, machine_seconds() - from) : best;
    }
    return best;
}

/* An array in the machine's memory. */
template <class T>
class machine_array {
public:
    explicit machine_array(size_t size = 0) { (void)get(size); }
    explicit machine_array(const std::vector<T> &from) { write(from); }
    machine_array(const machine_array &) = delete;
    ~machine_array() { machine_delete(data_); }

    operator T *() const { return data_; }

    /* Have room for at least `size` elements; if it had not, its contents are lost. */
    T *get(size_t size)
    {
        if (size > size_) {
            machine_delete(data_);
            data_ = static_cast<T *>(machine_new(size * sizeof(T)));
            size_ = size;
        }
        return data_;
    }
    T *write(const std::vector<T> &from)
    {
        machine_copy(get(from.size()), from.data(), from.size() * sizeof(T));
        return data_;
    }
    void           zero()
    {
        if (size_ != 0) { machine_zero(data_, size_ * sizeof(T)); }
    }
    std::vector<T> read() const /* waits for the kernels */
    {
        std::vector<T> to(size_);

        machine_copy(to.data(), data_, size_ * sizeof(T));
        return to;
    }

private:
    T     *data_ = nullptr;
    size_t size_ = 0;
};

/* Compare an array with what it should contain, and print the result.  1: a number is wrong. */
template <class T>
static int machine_check(const char *what, const machine_array<T> &device,
                         const std::vector<T> &right)
{
    const std::vector<T> got   = device.read();
    size_t               wrong = 0;

    for (size_t i = 0; i < right.size(); i++) { wrong += got[i] != right[i]; }
    std::printf("%s: %zu numbers, %zu wrong\n", what, right.size(), wrong);
    return (wrong != 0) || right.empty();
}

#if defined(__CUDACC__)
/* Print the time of the second of two launches, and compare their result.  moved: bytes of global
 * memory; 0: the speed is not printed. */
template <class T, class Launch>
static int machine_run(const char *name, uint32_t bytes, machine_array<T> &device,
                       const std::vector<T> &right, Launch launch, double moved = 0)
{
    static cudaEvent_t event[2];
    float              ms = 0;
    char               text[100], speed[30] = "";

    for (cudaEvent_t &each : event) {
        if (each == nullptr) { machine_cuda(cudaEventCreate(&each), "cudaEventCreate"); }
    }
    device.zero();
    launch();
    (void)cudaEventRecord(event[0]);
    launch();
    machine_cuda(cudaGetLastError(), "launch");
    (void)cudaEventRecord(event[1]);
    machine_wait();
    machine_cuda(cudaEventElapsedTime(&ms, event[0], event[1]), "cudaEventElapsedTime");
    if (moved != 0) { std::snprintf(speed, sizeof(speed), ", %.0f GB/s", moved / ms * 1e-6); }
    std::snprintf(text, sizeof(text), "%-14s %6u bytes a block: %.3f ms%s", name, bytes, ms, speed);
    return machine_check(text, device, right);
}
#endif

#endif /* SHPOOL_EXAMPLES_MACHINE_H */
