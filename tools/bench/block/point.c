/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: what a point of the sweep means for a pool and a kernel, CPU or GPU. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "block.h"
#include "workload.h"

void bench_row_absent(bench_row *row, const char *why)
{
    snprintf(row->state, sizeof(row->state), "%s", BENCH_ABSENT);
    snprintf(row->note, sizeof(row->note), "n/a: %s", why);
}

int bench_row_refused(bench_row *row, shpool_status status)
{
    if ((status == SHPOOL_ERR_TOO_SMALL) || (status == SHPOOL_ERR_TOO_LARGE)) {
        bench_row_absent(row, shpool_last_error());
        return 0;
    }
    snprintf(row->note, sizeof(row->note), "%s", shpool_last_error());
    return -1;
}

int bench_row_missing(bench_row *row, const bench_point *point, const shpool_pool *pool)
{
    const size_t workload = point->workload;
    const uint32_t traits = bench_workload_at(workload)->traits;
    const uint32_t least  = bench_workload_at(workload)->least;
    const uint32_t boxes  = bench_box_bytes(workload, pool->block_threads);
    const int   spills = (pool->flags & SHPOOL_FLAG_SPILL) != 0;
    const char *objects =
        (workload == BENCH_objects) ? bench_objects_missing(point, pool) : NULL;
    const char *why = NULL;
    char        text[128];

    if (objects != NULL) {
        why = objects;
    } else if ((workload != BENCH_objects) && bench_is_own_slot(point->spec)) {
        why = "no allocator; only objects has this baseline";
    } else if (((traits & BENCH_FILLS) != 0) && spills) {
        why = "has no pool to fill";
    } else if (((traits & BENCH_TURNS) != 0) && (pool->pools > 1)) {
        why = "all warps fill one pool, and this block has more (--threads-per-pool)";
    } else if (((traits & BENCH_BOXES) != 0) && (pool->scope < SHPOOL_SCOPE_BLOCK)) {
        why = "a thread of another warp may not free here";
    } else if (((traits & BENCH_BOXES) != 0) && spills) {
        why = "hands over shared memory only";
    } else if (pool->shared_bytes + boxes > SHPOOL_MAX_SHARED) {
        snprintf(text, sizeof(text), "no room for the workload's %u bytes beside the pool",
                 (unsigned)boxes);
        why = text;
    } else if (((traits & BENCH_TWO_WARPS) != 0) && (pool->block_threads <= SIMT_WARP)) {
        why = "one warp has no next one to hand over to";
    } else if (!spills && (pool->shared_bytes != 0) && (pool->largest < least)) {
        snprintf(text, sizeof(text), "a pool holds %u bytes, the least request is %u",
                 (unsigned)pool->largest, (unsigned)least);
        why = text;
    } else {
        return 0;
    }
    bench_row_absent(row, why);
    return 1;
}

void bench_args_init(bench_args *args, const bench_options *options, const bench_point *point,
                     const shpool_pool *pool)
{
    uint32_t alignment;

    memset(args, 0, sizeof(*args));
    args->iterations = options->iterations;
    args->seed       = options->seed;
    args->bytes      = 64;
    args->box        = pool->shared_bytes;
    args->touch      = point->touched;
    args->slot       = bench_is_own_slot(point->spec) ? pool->largest : 0u;
    args->alignments = 1;
    for (alignment = SHPOOL_MIN_ALIGNMENT; alignment < pool->alignment; alignment *= 2) {
        args->alignments++;
    }
}

int bench_row_tally(bench_row *row, size_t workload, const bench_tally *tally)
{
    row->operations = tally->ops;
    row->failures   = tally->failures;
    row->errors += tally->errors;
    row->failures_percent =
        (tally->ops != 0) ? 100.0 * (double)tally->failures / (double)tally->ops : 0.0;
    if (((bench_workload_at(workload)->traits & BENCH_FILLS) != 0) && (row->shared_bytes != 0)) {
        row->failures_percent = -1.0; /* each ends with one */
        row->utilisation_percent = 100.0 * (double)tally->payload /
                                   ((double)row->shared_bytes * row->blocks);
    }
    if ((workload == BENCH_objects) && (tally->ops != 0)) { /* refusals are not among its ops */
        row->failures_percent =
            100.0 * (double)tally->failures / (double)(tally->ops + tally->failures);
    }
    if (tally->digest != 0) {
        snprintf(row->digest, sizeof(row->digest), "%016llx", tally->digest);
    }
    if (tally->stuck != 0) {
        snprintf(row->note, sizeof(row->note), "%llu units gave up after %u refusals of a request",
                 tally->stuck, BENCH_MOST_REFUSALS);
        return -1;
    }
    return 0;
}
