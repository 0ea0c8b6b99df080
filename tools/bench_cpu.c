/* SPDX-License-Identifier: BSD-3-Clause */
/* The workloads on the CPU block executor.  Its times compare allocators only roughly (a switch
 * costs what many allocations cost); its checks are exact. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <shpool/executor.h>

#include "bench.h"
#include "bench_workload.h"

typedef struct cpu_kernel {
    shpool_pool pool;
    bench_args  args;
    size_t      workload;
} cpu_kernel;

static void kernel(void *arg)
{
    const cpu_kernel *k     = arg;
    bench_tally       tally = {0, 0, 0, 0, 0};
    shpool_heap       heap  = shpool_init(&k->pool, simt_from_shared(simt_dynamic_base()));

    switch (k->workload) {
#define BENCH_CASE(_name, _summary) \
    case BENCH_##_name: \
        bench_run_##_name(heap, &k->args, 1, &tally); \
        break;
        BENCH_WORKLOADS(BENCH_CASE)
#undef BENCH_CASE
    default:
        break;
    }
    bench_sum(&k->args, &tally);
    shpool_fini(heap);
}

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int bench_cpu_row(const bench_options *options, const char *spec, size_t workload, bench_row *row)
{
    shpool_config want;
    simt_launch   launch;
    simt_result   result;
    bench_tally   tally = {0, 0, 0, 0, 0};
    cpu_kernel    k;
    shpool_status status;
    double        start;

    memset(&want, 0, sizeof(want));
    memset(&launch, 0, sizeof(launch));
    want.block_threads = options->threads;
    want.payload_bytes = options->bytes;
    status = shpool_simt_open(spec, &want, &k.pool);
    if (status != SHPOOL_OK) {
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
        return -1;
    }
    bench_row_init(row, k.pool.name, "table", bench_workload_name(workload), &k.pool);
    row->blocks = options->blocks;
    if (bench_row_missing(row, workload, &k.pool)) {
        shpool_simt_close(&k.pool);
        return 0;
    }
    k.workload        = workload;
    k.args.iterations = options->iterations;
    k.args.seed       = options->seed;
    k.args.bytes      = 64;
    k.args.box        = k.pool.shared_bytes;
    k.args.tally      = &tally;
    launch.grid[0]       = options->blocks;
    launch.block[0]      = options->threads;
    launch.dynamic_bytes = k.pool.shared_bytes + BENCH_BOX_BYTES(workload, options->threads);
    launch.seed          = options->seed;
    launch.switch_period = 64;
    launch.max_switches  = ~0ull;

    start  = seconds();
    status = simt_run(&launch, kernel, &k, &result);
    row->gops = (double)tally.ops / (seconds() - start) * 1e-9;
    if (status != SHPOOL_OK) {
        snprintf(row->note, sizeof(row->note), "%s", result.text);
        row->errors++;
    }
    row->errors += tally.errors;
    row->failed = (tally.ops != 0) ? 100.0 * (double)tally.failures / (double)tally.ops : 0.0;
    if ((workload == BENCH_ramp) && (k.pool.shared_bytes != 0)) {
        row->utilisation = 100.0 * (double)tally.payload /
                           ((double)k.pool.shared_bytes * options->blocks);
        row->failed = -1.0; /* each thread's ramp ends with one */
    }
    shpool_simt_close(&k.pool);
    return (status == SHPOOL_OK) ? 0 : -1;
}
