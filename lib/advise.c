/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluates a report for people: statistics, and the shared memory that a kernel needed. */
#include "internal.h"

#include <string.h>

static uint32_t percent(unsigned long long part, unsigned long long whole)
{
    return (whole != 0) ? (uint32_t)((part * 100 + whole / 2) / whole) : 0;
}

/* A report of a pool that counted, and of which at least one block has come to its end. */
static shpool_status check_report(const char *function, const shpool_pool *pool,
                                  const shpool_report_data *report, const void *output)
{
    if ((pool == NULL) || (report == NULL) || (output == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%s: %s is NULL", function,
                            (pool == NULL) ? "pool" : (report == NULL) ? "report" : "the output");
    }
    if ((report->abi != SHPOOL_ABI) || (report->bytes != sizeof(*report))) {
        return shpool_error(SHPOOL_ERR_ABI, "%s: the report has ABI %u and %u bytes, this library "
                            "has ABI %u and %zu", function, report->abi, report->bytes, SHPOOL_ABI,
                            sizeof(*report));
    }
    if ((pool->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) == 0) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "%s: the pool was opened without stats: open "
                            "it with \"%s:stats=1\"", function,
                            (pool->name[0] != '\0') ? pool->name : "NAME");
    }
    if ((report->blocks == 0) && (report->empty == 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%s: no block has called shpool_fini yet, which is "
                            "what fills the report", function);
    }
    return SHPOOL_OK;
}

shpool_status shpool_stats_read(const shpool_pool *pool, const shpool_report_data *report,
                                shpool_stats_data *stats_p)
{
    shpool_status status;

    if (stats_p != NULL) {
        memset(stats_p, 0, sizeof(*stats_p));
    }
    status = check_report("shpool_stats_read", pool, report, stats_p);
    if (status != SHPOOL_OK) {
        return status;
    }
    stats_p->mallocs = report->mallocs;
    stats_p->frees = report->frees;
    stats_p->failures = report->failures;
    stats_p->live = report->live;
    stats_p->live_bytes = report->live_bytes;
    stats_p->spills = report->spills;
    stats_p->native_spills = report->native_spills;
    stats_p->waits = report->waits;
    stats_p->peak_bytes = report->peak_bytes;
    stats_p->capacity_bytes = pool->largest * pool->pools;
    stats_p->fragmentation = percent(report->unused_bytes, stats_p->capacity_bytes);

    if (report->timed != 0) {
        stats_p->mean_cycles = (uint32_t)(report->cycles / report->timed);
        stats_p->slowest_cycles = report->slowest;
    }
    if (stats_p->mean_cycles > report->fastest) {
        stats_p->contention = percent(stats_p->mean_cycles - report->fastest,
                                      stats_p->mean_cycles);
    }
    return SHPOOL_OK;
}

shpool_status shpool_advise(const shpool_pool *pool, const shpool_report_data *report,
                            const shpool_arch *arch, uint32_t other_shared,
                            shpool_advice *advice_p)
{
    shpool_config want = { .block_threads = 0 };
    shpool_pool least;
    shpool_status status;

    if (advice_p != NULL) {
        memset(advice_p, 0, sizeof(*advice_p));
    }
    status = check_report("shpool_advise", pool, report, advice_p);
    if ((status == SHPOOL_OK) && (arch == NULL)) {
        status = shpool_error(SHPOOL_ERR_INVALID, "shpool_advise: arch is NULL, shpool_arch_find "
                              "gives one");
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    want.block_threads = pool->block_threads;
    want.threads_per_pool = pool->threads_per_pool;
    want.alignment = pool->alignment;
    want.payload_bytes = (report->peak_bytes > pool->pools) ? report->peak_bytes : pool->pools;
    want.shared_limit = arch->shared_block;
    status = shpool_plan(pool->name, &want, &least);
    if (status != SHPOOL_OK) {
        return status;
    }
    advice_p->payload_bytes = want.payload_bytes;
    advice_p->least_bytes = least.shared_bytes;
    advice_p->enough_bytes = ((report->failures == 0) && (report->spills == 0))
                                 ? pool->shared_bytes - pool->area_bytes : 0;
    advice_p->blocks_now = shpool_blocks_per_sm(pool, arch, other_shared);
    advice_p->blocks_least = shpool_blocks_per_sm(&least, arch, other_shared);
    return SHPOOL_OK;
}
