/* SPDX-License-Identifier: BSD-3-Clause */
/* The workloads on the CPU block executor.  Its times compare allocators only roughly (a switch
 * costs what many allocations cost); its checks are exact. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <shpool/executor.h>

#include "tools/bench/progress.h"
#include "block.h"
#include "workload.h"

typedef struct cpu_kernel {
    shpool_pool pool;
    bench_args  args;
    size_t      workload;
    uint32_t    scope;
    uint32_t    sizes[BENCH_SIZES];
} cpu_kernel;

typedef void body(shpool_heap heap, const bench_args *args, int verify, bench_tally *tally);

#define BENCH_BODY(_name, ...)         bench_run_##_name,
#define BENCH_OBJECTS_BODY(_name, ...) bench_run_objects_##_name,
#define BENCH_OWN_SLOT_BODY(_name, ...) bench_run_own_slot_##_name,
static body *const bodies[] = {BENCH_PLAIN(BENCH_BODY) BENCH_SCOPES(BENCH_OBJECTS_BODY)};
static body *const own_slot_bodies[] = {BENCH_SCOPES(BENCH_OWN_SLOT_BODY)};

static void kernel(void *arg)
{
    const cpu_kernel *k     = arg;
    bench_tally       tally = {0};

    if (k->args.slot != 0) { /* without an allocator */
        own_slot_bodies[k->scope](shpool_empty_heap(), &k->args, 1, &tally);
        bench_sum(&k->args, &tally);
    } else {
        shpool_heap heap = shpool_init(&k->pool, simt_from_shared(simt_dynamic_base()));

        bodies[bench_kernel_id((uint32_t)k->workload, k->scope)](heap, &k->args, 1, &tally);
        bench_sum(&k->args, &tally);
        shpool_fini(heap);
    }
}

/* Time of this process's own work, on which other load has less influence. */
static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One launch.  It is deterministic, because the schedule comes from the seed. */
static shpool_status sample(const simt_launch *launch, cpu_kernel *k, bench_row *row)
{
    bench_tally   tally = {0};
    simt_result   result;
    shpool_status status;
    double        start;

    k->args.tally = &tally;
    start  = seconds();
    status = simt_run(launch, kernel, k, &result);
    row->gops_samples.value[row->gops_samples.count++] =
        (double)tally.ops / (seconds() - start) * 1e-9;
    if (status != SHPOOL_OK) {
        snprintf(row->note, sizeof(row->note), "%s", result.text);
        row->errors += (status != SHPOOL_ERR_NO_MEMORY); /* which says nothing of the allocator */
    } else if (bench_row_tally(row, k->workload, &tally) != 0) {
        status = SHPOOL_ERR_NO_MEMORY;
    }
    return status;
}

static shpool_status open_pool(const bench_point *point, shpool_pool *pool)
{
    shpool_config want;

    if (bench_is_own_slot(point->spec)) {
        return bench_own_slot_plan(point, pool);
    }
    bench_point_config(point, &want);
    return shpool_simt_open(point->spec, &want, pool);
}

/* A trace that cannot be written is a failure of the row. */
static shpool_status close_pool(const bench_point *point, shpool_pool *pool, bench_row *row)
{
    const shpool_status status = bench_is_own_slot(point->spec) ? SHPOOL_OK
                                                                : shpool_simt_close(pool);

    if ((status != SHPOOL_OK) && (row->note[0] == '\0')) { /* only the first failure is reported */
        snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
    }
    return status;
}

int bench_cpu_row(const bench_options *options, const bench_point *point, bench_row *row)
{
    simt_launch   launch;
    cpu_kernel    k;
    shpool_status status;
    uint32_t      i;

    memset(&launch, 0, sizeof(launch));
    status = open_pool(point, &k.pool);
    if (status != SHPOOL_OK) {
        return bench_row_refused(row, status);
    }
    bench_row_set_pool(row, &k.pool);
    row->blocks = options->blocks;
    if (bench_row_missing(row, point, &k.pool)) {
        return (close_pool(point, &k.pool, row) == SHPOOL_OK) ? 0 : -1;
    }
    k.workload = point->workload;
    k.scope    = point->scope;
    bench_args_init(&k.args, options, point, &k.pool);
    bench_row_sizes(row, options, point, &k.pool, k.sizes);
    k.args.sizes = k.sizes;
    launch.grid[0]       = options->blocks;
    launch.block[0]      = point->threads;
    launch.dynamic_bytes = k.pool.shared_bytes + bench_box_bytes(point->workload, point->threads);
    launch.seed          = options->seed;
    launch.switch_period = 64;
    launch.max_switches  = ~0ull;
    for (i = 0; (status == SHPOOL_OK) && (i < options->repeats) && !bench_interrupted(); i++) {
        status = sample(&launch, &k, row);
    }
    return ((close_pool(point, &k.pool, row) == SHPOOL_OK) && (status == SHPOOL_OK)) ? 0 : -1;
}
