/* SPDX-License-Identifier: BSD-3-Clause */
/* The workloads on a GPU: cycles of one thread alone, and the rate of the whole device. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_PREFIX bench_table
#include "tools/bench/gpu.cuh"
#include "tools/bench/progress.h"
#include "block.h"
#include "kernels.cuh"

namespace {

const bench_binding table_binding = {
    shpool_open, BENCH_ALL_KERNELS};

/* The baseline of objects: its kernels have no allocator. */
#define BENCH_OWN_KERNEL(_name, _threads, _summary) \
    BENCH_KERNELS_OF(own_slot_##_name, shpool_empty_heap(), (void)heap, BENCH_EVERY_BLOCK)
#define BENCH_TIMED_OWN(_name, _threads, _summary)   BENCH_TIMED(own_slot_##_name, _summary)
#define BENCH_CHECKED_OWN(_name, _threads, _summary) BENCH_CHECKED(own_slot_##_name, _summary)
BENCH_SCOPES(BENCH_OWN_KERNEL)
const void *const own_timed[]   = {BENCH_SCOPES(BENCH_TIMED_OWN)};
const void *const own_checked[] = {BENCH_SCOPES(BENCH_CHECKED_OWN)};

/* A launch that can be repeated. */
struct launch {
    const void *kernel;
    const void *checked; /* the same with stamps, for the checks */
    shpool_pool pool;
    bench_args  args;
    unsigned    threads;
    unsigned    units;  /* of a block, which do the operations */
    unsigned    shared; /* dynamic shared memory, bytes */
};

bool failed(cudaError_t error, const char *what, bench_row *row)
{
    return bench_failed(error, what, row->note, sizeof(row->note));
}

cudaError_t start(const launch &l, unsigned grid)
{
    void *arguments[] = {const_cast<shpool_pool *>(&l.pool), const_cast<bench_args *>(&l.args)};

    return cudaLaunchKernel(l.kernel, dim3(grid), dim3(l.threads), arguments, l.shared, NULL);
}

cudaError_t timed(const launch &l, unsigned grid, float *ms)
{
    return bench_timed([&]() { return start(l, grid); }, ms);
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

cudaError_t reset(const launch &l)
{
    return cudaMemset(l.args.tally, 0, sizeof(*l.args.tally));
}

/* Waits for the kernel. */
cudaError_t read(const launch &l, bench_tally *tally)
{
    return cudaMemcpy(tally, l.args.tally, sizeof(*tally), cudaMemcpyDeviceToHost);
}

/* Cycles and nanoseconds of at least 1 ms. */
__global__ void clock_kernel(unsigned long long *cycles_and_ns)
{
    unsigned long long from;
    unsigned long long now;
    long long          start;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
    start = clock64();
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - from < 1000000ull);
    cycles_and_ns[0] = (unsigned long long)(clock64() - start);
    cycles_and_ns[1] = now - from;
}

/* Current clock of the multiprocessors; negative: unknown. */
double sm_mhz(const launch &l)
{
    unsigned long long  result[2] = {0, 0};
    unsigned long long *place = reinterpret_cast<unsigned long long *>(l.args.tally);

    static_assert(sizeof(result) <= sizeof(*l.args.tally), "borrows the tally's memory");
    clock_kernel<<<1, 1>>>(place);
    if ((cudaMemcpy(result, place, sizeof(result), cudaMemcpyDeviceToHost) != cudaSuccess) ||
        (result[1] == 0)) {
        (void)cudaGetLastError();
        return -1.0;
    }
    return 1000.0 * (double)result[0] / (double)result[1];
}

/* The checks, on the whole device and untimed. */
bool verify(const launch &l, size_t workload, bench_row *row)
{
    bench_tally tally     = {};
    launch      verifying = l;

    verifying.kernel = l.checked;
    if (failed(reset(l), "reset", row) ||
        failed(start(verifying, row->blocks), "verification", row) ||
        failed(read(l, &tally), "verification", row)) {
        return false;
    }
    return bench_row_tally(row, workload, &tally) == 0;
}

/* Idle clocks lie: figures up to 2x too low. */
bool spin_up(const launch &l, uint32_t spin_ms, bench_row *row)
{
    float spun = 0.0f;

    for (int i = 0; (spun < (float)spin_ms) && (i < 1000) && !bench_interrupted(); i++) {
        float ms = 0.0f;

        if (failed(timed(l, row->blocks, &ms), "spin-up", row)) {
            return false;
        }
        spun += ms;
    }
    return true;
}

/* One block alone: thread 0's cycles over its own operations; all threads of a block do equally
 * many. */
bool measure_alone(const launch &l, uint32_t repeats, bench_row *row)
{
    bench_tally tally = {};

    for (uint32_t i = 0; i <= repeats; i++) { /* the first one warms the instruction cache */
        if (failed(reset(l), "reset", row) || failed(start(l, 1), "launch of one block", row) ||
            failed(read(l, &tally), "one block", row)) {
            return false;
        }
        row->errors += tally.errors;
        if ((i > 0) && (tally.ops != 0)) {
            row->cycles_samples.value[row->cycles_samples.count++] =
                (double)tally.cycles * l.units / (double)tally.ops;
        }
    }
    return true;
}

bool measure_all(const launch &l, size_t workload, uint32_t repeats, bench_row *row)
{
    bench_tally tally = {};
    bench_tally all   = {};

    for (uint32_t i = 0; (i < repeats) && !bench_interrupted(); i++) {
        float ms = 0.0f;

        if (failed(reset(l), "reset", row) ||
            failed(timed(l, row->blocks, &ms), "measurement", row) ||
            failed(read(l, &tally), "tally", row)) {
            return false;
        }
        row->gops_samples.value[row->gops_samples.count++] = (double)tally.ops / ms * 1e-6;
        if (bench_row_tally(row, workload, &tally) != 0) {
            return false;
        }
        all.ops += tally.ops;
        all.malloc_cycles += tally.malloc_cycles;
        all.free_cycles += tally.free_cycles;
    }
    if ((workload == BENCH_objects) && (all.ops != 0)) { /* half of them are mallocs */
        row->malloc_cycles = 2.0 * (double)all.malloc_cycles / (double)all.ops;
        row->free_cycles   = 2.0 * (double)all.free_cycles / (double)all.ops;
    }
    return true;
}

/* One block alone on the GPU for the cycles, then the whole device for the rate. */
bool measure(const launch &l, const bench_options *options, size_t workload, bench_row *row)
{
    unsigned           grid = 0;
    cudaFuncAttributes attributes;

    if (failed(cudaFuncGetAttributes(&attributes, l.kernel), "cudaFuncGetAttributes", row) ||
        failed(whole_device(l, &grid), "occupancy", row)) {
        return false;
    }
    row->registers = attributes.numRegs;
    row->blocks    = grid;
    if (grid == 0) {
        char why[96];

        snprintf(why, sizeof(why), "%u threads and %u bytes do not fit an SM", l.threads, l.shared);
        bench_row_absent(row, why);
        return true;
    }
    if (!verify(l, workload, row) || !spin_up(l, options->spin_ms, row) ||
        (((bench_workload_at(workload)->traits & BENCH_FILLS) == 0) &&
         !measure_alone(l, options->repeats, row)) ||
        !measure_all(l, workload, options->repeats, row)) {
        return false;
    }
    row->sm_mhz = sm_mhz(l);
    return true;
}

extern "C" const bench_binding bench_binding_linked;

/* The compile-time binding of one allocator, or NULL: make BENCH_INLINE= leaves all out. */
#define SHPOOL_ALLOCATOR(_name) \
    extern "C" __attribute__((weak)) const bench_binding bench_binding_##_name;
#include "lib/builtin_allocators.def"
#undef SHPOOL_ALLOCATOR

const bench_binding *inline_binding(const char *name)
{
#define SHPOOL_ALLOCATOR(_name) \
    if (strcmp(name, #_name) == 0) { \
        return &bench_binding_##_name; \
    }
#include "lib/builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
    return NULL;
}

/* The kernels for the point's binding; false: there are none, and the row says why.  A linked row
 * uses kernels that shpool_open() links with the allocator; so does a table row with a plugin's
 * allocator, whose functions no table of this program has. */
bool choose_kernels(launch *l, const bench_point *point, const shpool_config *want, bench_row *row)
{
    const unsigned       id     = bench_kernel_id((uint32_t)point->workload, point->scope);
    const bool           linked = point->binding == BENCH_LINKED;
    const bench_binding *bound  = inline_binding(l->pool.name);
    shpool_config        asked  = *want;
    shpool_status        status;

    if (bench_is_own_slot(point->spec)) {
        l->kernel  = own_timed[point->scope];
        l->checked = own_checked[point->scope];
        return true;
    }
    if ((bound == NULL) && (point->binding == BENCH_INLINE)) {
        bench_row_absent(row, "not compiled in: make adds it, or take --binding linked");
        return false;
    }
    if (point->binding != BENCH_INLINE) {
        bound = (linked || (bound == NULL)) ? &bench_binding_linked : &table_binding;
    }
    asked.binding = linked ? SHPOOL_BINDING_LINKED : SHPOOL_BINDING_TABLE;
    status        = bound->open(point->spec, &asked, &l->pool);
    if (status != SHPOOL_OK) {
        (void)bench_row_refused(row, status); /* this GPU's blocks may have less memory */
        return false;
    }
    if (linked && (l->pool.binding != SHPOOL_BINDING_LINKED)) {
        bench_row_absent(row, "not inlined: a warning says why, or it has counters");
        return false;
    }
    if ((shpool_kernel_of(bound->timed[id], &l->pool, &l->kernel) != SHPOOL_OK) ||
        (shpool_kernel_of(bound->checked[id], &l->pool, &l->checked) != SHPOOL_OK)) {
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
        return false;
    }
    return true;
}

/* The table of sizes, in global memory, for a workload that has one. */
bool upload_sizes(launch *l, const bench_options *options, const bench_point *point,
                  bench_row *row)
{
    uint32_t sizes[BENCH_SIZES];
    void    *place = NULL;

    if ((bench_workload_at(point->workload)->traits & BENCH_SIZED) == 0) {
        return true;
    }
    bench_row_sizes(row, options, point, &l->pool, sizes);
    if (failed(cudaMalloc(&place, sizeof(sizes)), "cudaMalloc", row)) {
        return false;
    }
    l->args.sizes = static_cast<const uint32_t *>(place);
    return !failed(cudaMemcpy(place, sizes, sizeof(sizes), cudaMemcpyHostToDevice), "cudaMemcpy",
                   row);
}

/* Everything that a launch needs in addition to its kernels. */
bool prepare(launch *l, const bench_options *options, const bench_point *point, bench_row *row)
{
    const size_t workload = point->workload;
    bool         good     = true;

    bench_args_init(&l->args, options, point, &l->pool);
    l->threads = point->threads;
    l->units   = (workload == BENCH_objects) ? bench_units(point->scope, point->threads)
                                             : point->threads;
    l->shared  = l->pool.shared_bytes + bench_box_bytes(workload, point->threads);
    if ((l->pool.flags & SHPOOL_FLAG_SPILL) != 0) {
        l->args.iterations = (options->iterations < 4) ? options->iterations : 4; /* 10^5 slower */
        snprintf(row->note, sizeof(row->note), "%u iterations", (unsigned)l->args.iterations);
    }
    for (const void *kernel : {l->kernel, l->checked}) {
        good = good &&
               !failed(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)l->shared), "shared memory", row);
    }
    return good &&
           !failed(cudaMalloc(&l->args.tally, sizeof(*l->args.tally)), "cudaMalloc", row) &&
           upload_sizes(l, options, point, row);
}

} /* namespace */

extern "C" int bench_cuda_row(const bench_options *options, const bench_point *point,
                              bench_row *row)
{
    const bool    own = bench_is_own_slot(point->spec);
    shpool_config want;
    shpool_status status;
    launch        l = {};
    bool          good;

    bench_point_config(point, &want);
    status = own ? bench_own_slot_plan(point, &l.pool) : shpool_plan(point->spec, &want, &l.pool);
    if (status != SHPOOL_OK) {
        return bench_row_refused(row, status);
    }
    bench_row_set_pool(row, &l.pool);
    if (bench_row_missing(row, point, &l.pool)) {
        return 0;
    }
    good = choose_kernels(&l, point, &want, row) && prepare(&l, options, point, row) &&
           measure(l, options, point->workload, row);
    (void)cudaFree(l.args.tally);
    (void)cudaFree(const_cast<uint32_t *>(l.args.sizes));
    if (!own && (shpool_close(&l.pool) != SHPOOL_OK) && (row->note[0] == '\0')) {
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error()); /* of writing a trace */
        good = false;
    }
    return (good || (strcmp(row->state, BENCH_ABSENT) == 0)) ? 0 : -1;
}
