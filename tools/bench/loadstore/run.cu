/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore on a GPU: memory, launches, checks and times. */
#include "config.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include <shpool/layout.h>

#include "tools/bench/gpu.cuh"
#include "loadstore.h"

typedef unsigned long long ull;

extern "C" {
typedef void (*ls_add)(const bench_ls_entry *entry, void *user);
void bench_ls_entries_1(ls_add add, void *user);
void bench_ls_entries_2(ls_add add, void *user);
void bench_ls_entries_4(ls_add add, void *user);
void bench_ls_entries_8(ls_add add, void *user);
void bench_ls_entries_16(ls_add add, void *user);
}

namespace {

/* One object file for each size of element. */
const struct {
    uint32_t bytes;
    void (*entries)(ls_add add, void *user);
} types[] = {{1, bench_ls_entries_1}, {2, bench_ls_entries_2}, {4, bench_ls_entries_4},
             {8, bench_ls_entries_8}, {16, bench_ls_entries_16}};

const double        SPIN_MS = 100.0; /* idle clocks lie: figures up to 2x too low */
const unsigned char STALE   = 0xA7;  /* what an output holds before a checked launch */

/* Everything whose lifetime is that of a run. */
struct bench {
    const bench_ls_options *options;
    unsigned char *in, *out;
    ull           *errors;
    uint32_t      *sum;
    int            sms;
    char          *error; /* of the run; a row has a note of its own */
};

/* ---- input, and the expected output ---- */

__global__ void fill(uint32_t *words, ull count)
{
    for (ull at = (ull)blockIdx.x * blockDim.x + threadIdx.x; at < count;
         at += (ull)gridDim.x * blockDim.x) {
        const ull mixed = (at + 1) * 0x9E3779B97F4A7C15ull;

        words[at] = (uint32_t)(mixed >> 32) ^ (uint32_t)mixed;
    }
}

template <typename T> __global__ void reference_sum(const T *in, ull count, uint32_t *sum)
{
    uint32_t total = 0;

    for (ull at = (ull)blockIdx.x * blockDim.x + threadIdx.x; at < count;
         at += (ull)gridDim.x * blockDim.x) {
        total += in[at];
    }
    atomicAdd(sum, total);
}

/* Where element `to` of the output comes from. */
__device__ ull source_of(const bench_ls_entry &e, ull to)
{
    const uint32_t tile = e.threads * e.values;
    const ull      base = to / tile * tile;
    const uint32_t at   = (uint32_t)(to - base);

    switch (e.check) {
    case BENCH_LS_GATHER:
        return base + bench_ls_permuted(at, tile);
    case BENCH_LS_PACK: /* of whole groups only */
        return shpool_layout_record(to, e.values, e.threads) * e.values +
               shpool_layout_element(to, e.values, e.threads);
    case BENCH_LS_UNPACK:
        return shpool_layout_index(to / e.values, (uint32_t)(to % e.values), e.values, e.threads);
    default:
        return to;
    }
}

__global__ void compare(bench_ls_entry e, const unsigned char *in, const unsigned char *out,
                        ull count, ull *errors)
{
    const uint32_t bytes = e.type_bytes;
    const uint32_t tile  = e.threads * e.values;

    for (ull at = (ull)blockIdx.x * blockDim.x + threadIdx.x; at < count;
         at += (ull)gridDim.x * blockDim.x) {
        ull  from  = source_of(e, at);
        ull  to    = at;
        bool wrong = false;

        if (e.check == BENCH_LS_SCATTER) {
            to = at / tile * tile + bench_ls_permuted((uint32_t)(at % tile), tile);
        }
        for (uint32_t b = 0; b < bytes; b++) {
            wrong = wrong || (in[from * bytes + b] != out[to * bytes + b]);
        }
        if (wrong) {
            atomicAdd(errors, 1ull);
        }
    }
}

/* The sum of all words (of all elements, where those are less) that a launch should find. */
void expect_sum(const bench &b, uint32_t type_bytes, ull bytes)
{
    if (type_bytes == 1) {
        reference_sum<<<b.sms * 4, 512>>>(b.in, bytes, b.sum);
    } else if (type_bytes == 2) {
        reference_sum<<<b.sms * 4, 512>>>(reinterpret_cast<uint16_t *>(b.in), bytes / 2, b.sum);
    } else {
        reference_sum<<<b.sms * 4, 512>>>(reinterpret_cast<uint32_t *>(b.in), bytes / 4, b.sum);
    }
}

/* ---- one kernel ---- */

struct job {
    const bench_ls_entry *entry;
    ull                   count; /* elements: whole tiles */
    unsigned              grid;
};

cudaError_t start(const bench &b, const job &j, uint32_t *sum)
{
    const void *in    = b.in;
    void       *out   = b.out;
    ull         count = j.count;
    void       *arguments[] = {&in, &out, &count, &sum};

    if (j.entry->kernel == NULL) {
        return (j.entry->launch(in, out, count, j.entry->threads, j.entry->values) == 0)
                   ? cudaSuccess : cudaErrorLaunchFailure;
    }
    return cudaLaunchKernel(j.entry->kernel, dim3(j.grid), dim3(j.entry->threads), arguments,
                            j.entry->shared_bytes, NULL);
}

cudaError_t device_copy(const bench &b)
{
    return cudaMemcpyAsync(b.out, b.in, b.options->bytes, cudaMemcpyDeviceToDevice, NULL);
}

/* The median of options->repeats, after two that warm the instruction cache. */
template <typename WORK> cudaError_t median(const bench &b, const WORK &work, float *ms)
{
    std::vector<float> times(b.options->repeats);
    cudaError_t        error = work();

    if (error == cudaSuccess) {
        error = work();
    }
    for (float &t : times) {
        if (error == cudaSuccess) {
            error = bench_timed(work, &t);
        }
    }
    std::sort(times.begin(), times.end());
    *ms = times[times.size() / 2];
    return error;
}

/* One launch whose result is checked; errors are counted in the row. */
cudaError_t verify(const bench &b, const job &j, bench_ls_row *row)
{
    const ull   bytes   = j.count * j.entry->type_bytes;
    uint32_t    sums[2] = {0, 0};
    cudaError_t error;

    (void)cudaMemset(b.sum, 0, sizeof(sums));
    (void)cudaMemset(b.errors, 0, sizeof(*b.errors));
    (void)cudaMemset(b.out, STALE, bytes);
    error = start(b, j, (j.entry->check == BENCH_LS_SUM) ? b.sum + 1 : NULL);
    if (error != cudaSuccess) {
        return error;
    }
    if (j.entry->check == BENCH_LS_SUM) {
        expect_sum(b, j.entry->type_bytes, bytes);
        error = cudaMemcpy(sums, b.sum, sizeof(sums), cudaMemcpyDeviceToHost);
        row->errors = (sums[0] == sums[1]) ? 0 : 1;
        return error;
    }
    compare<<<b.sms * 4, 512>>>(*j.entry, b.in, b.out, j.count, b.errors);
    return cudaMemcpy(&row->errors, b.errors, sizeof(row->errors), cudaMemcpyDeviceToHost);
}

/* Blocks that the GPU holds at a time, times options->waves; false: it does not fit. */
bool shape_grid(const bench &b, job *j, bench_ls_row *row)
{
    const bench_ls_entry *e     = j->entry;
    const ull             tiles = j->count / (e->threads * e->values);
    cudaFuncAttributes    attributes;
    ull                   grid;

    if (e->kernel == NULL) { /* the library's own launch */
        return true;
    }
    if (bench_failed(cudaFuncGetAttributes(&attributes, e->kernel), "cudaFuncGetAttributes",
                     row->note, sizeof(row->note))) {
        return false;
    }
    if ((cudaFuncSetAttribute(e->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)e->shared_bytes) != cudaSuccess) ||
        (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&row->blocks, e->kernel, (int)e->threads,
                                                       e->shared_bytes) != cudaSuccess) ||
        (row->blocks == 0)) {
        (void)cudaGetLastError();
        snprintf(row->note, sizeof(row->note), "n/a: %u threads and %u bytes do not fit an SM",
                 (unsigned)e->threads, (unsigned)e->shared_bytes);
        return false;
    }
    row->registers = attributes.numRegs;
    grid = (b.options->waves == 0) ? tiles : (ull)b.sms * row->blocks * b.options->waves;
    grid = (grid > tiles) ? tiles : grid;
    j->grid = (unsigned)((grid > 0x7fffffffull) ? 0x7fffffffull : grid);
    return true;
}

/* A failed launch leaves the row without a figure; a failed context ends the run. */
bool measure(const bench &b, const bench_ls_entry &entry, double copy_gbs, bench_ls_row *row)
{
    const ull   tile  = (ull)entry.threads * entry.values;
    job         j     = {&entry, b.options->bytes / entry.type_bytes / tile * tile, 1};
    const ull   bytes = j.count * entry.type_bytes * ((entry.check == BENCH_LS_SUM) ? 1 : 2);
    float       ms    = 0.0f;
    cudaError_t error;

    *row           = {};
    row->entry     = entry;
    row->gbs       = -1.0;
    row->cub_gbs   = -1.0;
    row->copy_gbs  = copy_gbs;
    row->registers = -1;
    row->blocks    = -1;
    if (j.count == 0) {
        snprintf(row->note, sizeof(row->note), "n/a: --bytes is less than a tile");
        return true;
    }
    if (!shape_grid(b, &j, row)) {
        return true;
    }
    error = verify(b, j, row);
    if (error == cudaSuccess) {
        error = median(b, [&]() { return start(b, j, NULL); }, &ms);
    }
    if (bench_failed(error, "launch", row->note, sizeof(row->note))) {
        return !bench_failed(cudaDeviceSynchronize(), entry.function, b.error, 256);
    }
    row->gbs = (double)bytes / ms * 1e-6;
    return true;
}

/* ---- all of them ---- */

void collect(const bench_ls_entry *entry, void *user)
{
    static_cast<std::vector<bench_ls_entry> *>(user)->push_back(*entry);
}

void collect_shape(const bench_ls_entry *entry, void *user)
{
    bench_ls_shapes *shapes = static_cast<bench_ls_shapes *>(user);

    (void)bench_list_add(&shapes->type_bytes, entry->type_bytes);
    (void)bench_list_add(&shapes->threads, entry->threads);
    (void)bench_list_add(&shapes->values, entry->values);
}

/* CUB's best of the shape so far, for the same bytes (0: copies, 1: loads) and order. */
struct best {
    double      gbs[2][2];
    const char *mode[2][2];
};

void compare_with_cub(best *cub, bench_ls_row *row)
{
    const int load   = row->entry.check == BENCH_LS_SUM;
    const int thread = row->entry.order == BENCH_LS_THREAD;

    if (row->entry.is_cub) { /* thread order counts as any order, but not the reverse */
        for (int t = 0; t <= thread; t++) {
            if ((row->errors == 0) && (row->gbs > cub->gbs[load][t])) {
                cub->gbs[load][t]  = row->gbs;
                cub->mode[load][t] = row->entry.path;
            }
        }
    } else if ((row->entry.order != BENCH_LS_OTHER) && (cub->gbs[load][thread] > 0.0)) {
        row->cub_gbs  = cub->gbs[load][thread];
        row->cub_mode = cub->mode[load][thread];
    }
}

bool run_type(const bench &b, const std::vector<bench_ls_entry> &entries, bench_ls_sink sink,
              void *user)
{
    const bench_ls_options *o    = b.options;
    best                    cub  = {};
    uint32_t                shape[2] = {0, 0};
    float                   ms   = 0.0f;
    double                  copy = 0.0;

    if (bench_failed(median(b, [&]() { return device_copy(b); }, &ms), "cudaMemcpyAsync", b.error,
                     256)) {
        return false;
    }
    copy = 2.0 * (double)o->bytes / ms * 1e-6;
    for (const bench_ls_entry &e : entries) {
        bench_ls_row row;

        if (!bench_ls_wants(&o->threads, e.threads) || !bench_ls_wants(&o->values, e.values) ||
            ((o->function != NULL) && !e.is_cub && (strstr(e.function, o->function) == NULL))) {
            continue;
        }
        if ((shape[0] != e.threads) || (shape[1] != e.values)) {
            cub      = {};
            shape[0] = e.threads;
            shape[1] = e.values;
        }
        if (!measure(b, e, copy, &row)) {
            return false;
        }
        compare_with_cub(&cub, &row);
        sink(&row, user);
    }
    return true;
}

bool prepare(bench *b)
{
    const size_t bytes  = b->options->bytes;
    int          device = 0;
    float        spun   = 0.0f;
    const auto   good   = [b](cudaError_t error, const char *what) {
        return !bench_failed(error, what, b->error, 256);
    };

    if (!good(cudaGetDevice(&device), "cudaGetDevice") ||
        !good(cudaDeviceGetAttribute(&b->sms, cudaDevAttrMultiProcessorCount, device),
              "cudaDeviceGetAttribute") ||
        !good(cudaMalloc(&b->in, bytes), "cudaMalloc of --bytes") ||
        !good(cudaMalloc(&b->out, bytes), "cudaMalloc of --bytes") ||
        !good(cudaMalloc(&b->errors, sizeof(*b->errors)), "cudaMalloc") ||
        !good(cudaMalloc(&b->sum, 2 * sizeof(*b->sum)), "cudaMalloc")) {
        return false;
    }
    fill<<<b->sms * 4, 512>>>(reinterpret_cast<uint32_t *>(b->in), bytes / 4);
    for (int i = 0; (spun < SPIN_MS) && (i < 100000); i++) {
        float ms = 0.0f;

        if (!good(bench_timed([&]() { return device_copy(*b); }, &ms), "spin-up")) {
            return false;
        }
        spun += ms;
    }
    return true;
}

} // namespace

extern "C" void bench_loadstore_shapes(bench_ls_shapes *shapes)
{
    *shapes = {};
    for (const auto &t : types) {
        t.entries(collect_shape, shapes);
    }
}

extern "C" int bench_loadstore_run(const bench_ls_options *options, bench_ls_sink sink, void *user,
                                   char *error)
{
    bench b    = {};
    bool  good = false;

    error[0]  = '\0';
    b.options = options;
    b.error   = error;
    good      = prepare(&b);
    for (const auto &t : types) {
        std::vector<bench_ls_entry> entries;

        if (good && bench_ls_wants(&options->type_bytes, t.bytes)) {
            t.entries(collect, &entries);
            good = run_type(b, entries, sink, user);
        }
    }
    (void)cudaFree(b.in);
    (void)cudaFree(b.out);
    (void)cudaFree(b.errors);
    (void)cudaFree(b.sum);
    return good ? 0 : -1;
}
