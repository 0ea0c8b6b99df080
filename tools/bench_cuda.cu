/* SPDX-License-Identifier: BSD-3-Clause */
/* The workloads on a GPU: cycles of one thread alone, and the rate of the whole device. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_PREFIX bench_table
#include "bench.h"
#include "bench_kernels.cuh"

namespace {

const int    REPEATS = 7;      /* launches whose median counts */
const double SPIN_MS = 100.0;  /* idle clocks lie: figures up to 2x too low */

const bench_binding table_binding = {
    shpool_open,
    {BENCH_WORKLOADS(BENCH_TIMED)}, {BENCH_WORKLOADS(BENCH_CHECKED)}};

/* A launch that can be repeated. */
struct launch {
    const void *kernel;
    const void *checked; /* the same with stamps, for the checks */
    shpool_pool pool;
    bench_args  args;
    unsigned    threads;
    unsigned    shared; /* dynamic shared memory, bytes */
};

bool failed(cudaError_t error, const char *what, bench_row *row)
{
    if (error == cudaSuccess) {
        return false;
    }
    snprintf(row->note, sizeof(row->note), "%s: %s", what, cudaGetErrorString(error));
    (void)cudaGetLastError();
    return true;
}

cudaError_t start(const launch &l, unsigned grid)
{
    void *arguments[] = {const_cast<shpool_pool *>(&l.pool), const_cast<bench_args *>(&l.args)};

    return cudaLaunchKernel(l.kernel, dim3(grid), dim3(l.threads), arguments, l.shared, NULL);
}

/* Milliseconds of one launch. */
cudaError_t timed(const launch &l, unsigned grid, float *ms)
{
    cudaEvent_t from = NULL;
    cudaEvent_t to   = NULL;
    cudaError_t error = cudaEventCreate(&from);

    if (error == cudaSuccess) {
        error = cudaEventCreate(&to);
    }
    if (error == cudaSuccess) {
        error = cudaEventRecord(from);
    }
    if (error == cudaSuccess) {
        error = start(l, grid);
    }
    if (error == cudaSuccess) {
        error = cudaEventRecord(to);
    }
    if (error == cudaSuccess) {
        error = cudaEventSynchronize(to);
    }
    if (error == cudaSuccess) {
        error = cudaEventElapsedTime(ms, from, to);
    }
    (void)cudaEventDestroy(from);
    (void)cudaEventDestroy(to);
    return error;
}

int by_value(const void *a, const void *b)
{
    const float x = *static_cast<const float *>(a);
    const float y = *static_cast<const float *>(b);

    return (x > y) - (x < y);
}

/* Blocks per SM that fit, at most 4, times the SMs. */
cudaError_t whole_device(const launch &l, unsigned *grid)
{
    int         device = 0, sms = 0, blocks = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess) {
        error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    }
    if (error == cudaSuccess) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, l.kernel, (int)l.threads,
                                                              l.shared);
    }
    *grid = (unsigned)(sms * ((blocks > 4) ? 4 : blocks));
    return error;
}

void fill_in(const bench_tally &tally, const launch &l, size_t workload, unsigned grid, float ms,
             bench_row *row)
{
    row->blocks = grid;
    row->gops   = (double)tally.ops / ms * 1e-6;
    row->failed = (tally.ops != 0) ? 100.0 * (double)tally.failures / (double)tally.ops : 0.0;
    if (workload == BENCH_ramp) {
        double reserved = (double)l.pool.shared_bytes * grid;

        row->failed      = -1.0; /* each thread's ramp ends with one */
        row->utilisation = (l.pool.shared_bytes != 0)
                               ? 100.0 * (double)tally.payload / reserved : -1.0;
    }
}

cudaError_t reset(const launch &l)
{
    return cudaMemset(l.args.tally, 0, sizeof(*l.args.tally));
}

/* Waits for the kernel. */
cudaError_t read(const launch &l, bench_tally *tally)
{
    return cudaMemcpy(tally, l.args.tally, sizeof(*tally), cudaMemcpyDeviceToHost);
}

/* Alone on the GPU for the cycles, then the whole device for the rate. */
bool measure(const launch &l, size_t workload, bench_row *row)
{
    bench_tally tally = {};
    launch      verifying;
    float       times[REPEATS];
    unsigned    grid  = 0;
    float       spun  = 0.0f;
    cudaFuncAttributes attributes;

    if (failed(cudaFuncGetAttributes(&attributes, l.kernel), "cudaFuncGetAttributes", row) ||
        failed(whole_device(l, &grid), "occupancy", row)) {
        return false;
    }
    row->registers = attributes.numRegs;
    if (grid == 0) {
        snprintf(row->note, sizeof(row->note), "n/a: %u threads and %u bytes do not fit an SM",
                 l.threads, l.shared);
        return true;
    }
    /* The checks, on the whole device and untimed. */
    verifying        = l;
    verifying.kernel = l.checked;
    if (failed(reset(l), "reset", row) || failed(start(verifying, grid), "verification", row) ||
        failed(read(l, &tally), "verification", row)) {
        return false;
    }
    row->errors += tally.errors;
    for (int i = 0; (spun < SPIN_MS) && (i < 1000); i++) {
        float ms = 0.0f;

        if (failed(timed(l, grid, &ms), "spin-up", row)) {
            return false;
        }
        spun += ms;
    }
    /* thread 0's cycles over its own operations: all threads of a block do equally many */
    for (int i = 0; i < 2; i++) { /* the second time with a warm instruction cache */
        if (failed(reset(l), "reset", row) || failed(start(l, 1), "launch of one block", row) ||
            failed(read(l, &tally), "one block", row)) {
            return false;
        }
        row->errors += tally.errors;
    }
    if ((workload != BENCH_ramp) && (tally.ops != 0)) {
        row->cycles = (double)tally.cycles * l.threads / (double)tally.ops;
    }
    for (int i = 0; i < REPEATS; i++) {
        if (failed(reset(l), "reset", row) ||
            failed(timed(l, grid, &times[i]), "measurement", row) ||
            failed(read(l, &tally), "tally", row)) {
            return false;
        }
        row->errors += tally.errors;
    }
    qsort(times, REPEATS, sizeof(times[0]), by_value);
    fill_in(tally, l, workload, grid, times[REPEATS / 2], row);
    return true;
}

/* The compile-time binding of one allocator, or NULL. */
#define SHPOOL_ALLOCATOR(_name) extern "C" const bench_binding bench_binding_##_name;
#include "builtin_allocators.def"
#undef SHPOOL_ALLOCATOR

const bench_binding *inline_binding(const char *name)
{
#define SHPOOL_ALLOCATOR(_name) \
    if (strcmp(name, #_name) == 0) { \
        return &bench_binding_##_name; \
    }
#include "builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
    return NULL;
}

} /* namespace */

#if HAVE_LTO_IR && (CUDART_VERSION >= 12080)
extern "C" const shpool_blob shpool_lto_bench_linked;

namespace {

/* Join the kernels with the allocator and load them; false with the note set. */
bool link(launch *l, size_t workload, cudaLibrary_t *library, bench_row *row)
{
    const char    *allocator = l->pool.name;
    cudaDeviceProp properties;
    cudaKernel_t   kernels[2] = {NULL, NULL};
    void          *cubin  = NULL;
    size_t         bytes  = 0;
    int            device = 0;
    bool           good   = true;

    if (failed(cudaGetDevice(&device), "cudaGetDevice", row) ||
        failed(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties", row)) {
        return false;
    }
    if (shpool_link(shpool_lto_bench_linked.data, shpool_lto_bench_linked.bytes, allocator,
                    (uint32_t)(10 * properties.major + properties.minor), &cubin,
                    &bytes) != SHPOOL_OK) {
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
        return false;
    }
    good = !failed(cudaLibraryLoadData(library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                   "cudaLibraryLoadData", row);
    for (int i = 0; good && (i < 2); i++) {
        char name[64];

        snprintf(name, sizeof(name), "bench_linked_%s%s", bench_workload_name(workload),
                 (i == 1) ? "_checked" : "");
        good = !failed(cudaLibraryGetKernel(&kernels[i], *library, name), "cudaLibraryGetKernel",
                       row);
    }
    free(cubin);
    l->kernel  = (const void *)kernels[0];
    l->checked = (const void *)kernels[1];
    return good;
}

void unload(cudaLibrary_t library)
{
    if (library != NULL) {
        (void)cudaLibraryUnload(library);
    }
}

} /* namespace */
#else
typedef void *cudaLibrary_t_none;
#define cudaLibrary_t cudaLibrary_t_none

namespace {

bool link(launch *, size_t, cudaLibrary_t *, bench_row *row)
{
    snprintf(row->note, sizeof(row->note), "n/a: needs LTO-IR in this build and CUDA 12.8");
    return false;
}

void unload(cudaLibrary_t)
{
}

} /* namespace */
#endif

extern "C" int bench_cuda_present(char *text, size_t bytes)
{
    cudaDeviceProp properties;
    int            count  = 0;
    int            driver = 0;
    cudaError_t    error  = cudaGetDeviceCount(&count);

    if ((error == cudaSuccess) && (count > 0)) {
        error = cudaGetDeviceProperties(&properties, 0);
    }
    if (error == cudaSuccess) {
        error = cudaDriverGetVersion(&driver);
    }
    if ((error != cudaSuccess) || (count == 0)) {
        snprintf(text, bytes, "no GPU: %s", (error != cudaSuccess) ? cudaGetErrorString(error)
                                                                   : "none found");
        (void)cudaGetLastError();
        return 0;
    }
    snprintf(text, bytes, "%s (sm_%d%d, %d SMs, CUDA driver %d.%d)", properties.name,
             properties.major, properties.minor, properties.multiProcessorCount, driver / 1000,
             driver % 1000 / 10);
    return 1;
}

extern "C" int bench_cuda_row(const bench_options *options, const char *spec, const char *binding,
                              size_t workload, bench_row *row)
{
    const bool           linked = strcmp(binding, "linked") == 0;
    const bench_binding *bound  = &table_binding;
    cudaLibrary_t        library = NULL;
    shpool_config        want = {};
    launch               l    = {};
    bool                 good = false;

    want.block_threads = options->threads;
    want.payload_bytes = options->bytes;
    if (shpool_plan(spec, &want, &l.pool) != SHPOOL_OK) {
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
        return -1;
    }
    bench_row_init(row, l.pool.name, binding, bench_workload_name(workload), &l.pool);
    if (bench_row_missing(row, workload, &l.pool)) {
        return 0;
    }
    if (strcmp(binding, "inline") == 0) {
        bound = inline_binding(l.pool.name);
    }
    if (bound == NULL) {
        snprintf(row->note, sizeof(row->note), "n/a: not compiled in");
    } else if (bound->open(spec, &want, &l.pool) != SHPOOL_OK) {
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
    } else if (linked) {
        good = link(&l, workload, &library, row);
    } else {
        l.kernel  = bound->timed[workload];
        l.checked = bound->checked[workload];
        good      = true;
    }
    l.threads         = options->threads;
    l.shared          = l.pool.shared_bytes + BENCH_BOX_BYTES(workload, options->threads);
    l.args.box        = l.pool.shared_bytes;
    l.args.iterations = options->iterations;
    if ((l.pool.flags & SHPOOL_FLAG_SPILL) != 0) {
        l.args.iterations = (options->iterations < 4) ? options->iterations : 4; /* 10^5 slower */
        snprintf(row->note, sizeof(row->note), "%u iterations", (unsigned)l.args.iterations);
    }
    l.args.seed  = options->seed;
    l.args.bytes = 64;
    for (const void *kernel : {l.kernel, l.checked}) {
        good = good &&
               !failed(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)l.shared), "shared memory", row);
    }
    good = good &&
           !failed(cudaMalloc(&l.args.tally, sizeof(*l.args.tally)), "cudaMalloc", row) &&
           !failed(cudaMemset(l.args.tally, 0, sizeof(*l.args.tally)), "cudaMemset", row) &&
           measure(l, workload, row);
    (void)cudaFree(l.args.tally);
    unload(library);
    (void)shpool_close(&l.pool);
    return (good || (strncmp(row->note, "n/a", 3) == 0)) ? 0 : -1;
}
