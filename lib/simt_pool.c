/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools for kernels on the CPU block executor. */
#include "internal.h"

#include <shpool/impl/report/empty.h>
#include <shpool/impl/report/spill.h>
#include <shpool/trace.h>

#include <stdlib.h>
#include <string.h>

/* Blocks run one after another, those of a cluster together. */
#define SLOTS 16u

/* Written through pool->report by the blocks' shpool_fini; the slots of spill=arena and the records
 * of a trace follow it. */
static shpool_report_data *new_report(const shpool_pool *pool, const shpool_trace_begin *trace)
{
    const size_t slots = shpool_slots_end(pool);
    shpool_report_data *report = malloc(slots + trace->bytes);

    if (report == NULL) {
        return NULL;
    }
    memset(report, 0, shpool_slots_head(pool->spill_slots));
    shpool_report_clear(report);
    if (trace->bytes != 0) {
        char *records = (char *)report + slots;

        memset(records, 0, trace->bytes);
        memcpy(records, trace->word, sizeof(trace->word));
        report->trace = (unsigned long long)(size_t)records;
    }
    return report;
}

/* The pool's report, and the file of its trace. */
static shpool_status open_report(const char *spec, shpool_pool *pool)
{
    shpool_trace_begin trace;
    shpool_status status;

    pool->spill_slots = ((pool->spill_bytes != 0) && (pool->spill_slots == 0)) ? SLOTS
                                                                               : pool->spill_slots;
    status = shpool_trace_open(spec, pool, &trace);
    if (status != SHPOOL_OK) {
        return status;
    }
    pool->report = new_report(pool, &trace);
    if (pool->report == NULL) {
        (void)shpool_trace_close(pool, NULL);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a report of %zu bytes, %u "
                            "slots of %u and %zu of records", sizeof(shpool_report_data),
                            pool->spill_slots, pool->spill_bytes, trace.bytes);
    }
    return SHPOOL_OK;
}

static shpool_status bind_table(const shpool_allocator *allocator, int instrumented,
                                shpool_pool *pool)
{
    const shpool_table *table = allocator->simt[instrumented];

    if (table == NULL) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has no functions for the CPU "
                            "executor%s", allocator->name,
                            (instrumented && (allocator->simt[0] != NULL))
                                ? " with stats or check: leave these out" : "");
    }
    if ((table->abi != SHPOOL_ABI) || (table->bytes != sizeof(*table))) {
        return shpool_error(SHPOOL_ERR_ABI, "the functions of \"%s\" for the CPU executor have ABI "
                            "%u and %u bytes, this library has ABI %u and %zu: rebuild them",
                            allocator->name, table->abi, table->bytes, SHPOOL_ABI, sizeof(*table));
    }

    pool->table = table;
    pool->allocate = table->allocate;
    pool->release = table->release;
    pool->allocate_group = table->allocate_group;
    pool->release_group = table->release_group;
    return SHPOOL_OK;
}

shpool_status shpool_simt_open(const char *spec, const shpool_config *want, shpool_pool *pool_p)
{
    const shpool_allocator *allocator;
    shpool_pool pool;
    shpool_status status;
    int instrumented;

    if (pool_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "pool_p is NULL");
    }
    memset(pool_p, 0, sizeof(*pool_p));

    status = shpool_plan_for(spec, want, &pool, &allocator);
    if (status != SHPOOL_OK) {
        return status;
    }
    instrumented = (pool.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0;
    status = bind_table(allocator, instrumented, &pool);
    if ((status == SHPOOL_OK) && (pool.area_bytes != 0)) {
        status = open_report(spec, &pool);
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    *pool_p = pool;
    shpool_show_later(&pool, shpool_simt_report);
    shpool_announce(&pool, "the CPU executor");
    return SHPOOL_OK;
}

shpool_status shpool_simt_report(const shpool_pool *pool, shpool_report_data *report_p)
{
    if (report_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "report_p is NULL");
    }
    memset(report_p, 0, sizeof(*report_p));
    if (pool == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "pool is NULL");
    }
    if (pool->report == NULL) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the pool keeps no report: open it with "
                            "stats=1, check=1 or a spill option");
    }

    memcpy(report_p, pool->report, sizeof(*report_p));
    shpool_report_close(report_p);
    shpool_report_explain(pool, report_p);
    return SHPOOL_OK;
}

shpool_status shpool_simt_close(shpool_pool *pool)
{
    shpool_status status = SHPOOL_OK;

    if (pool != NULL) {
        shpool_show_now(pool, shpool_simt_report);
        if (pool->trace != NULL) {
            status = shpool_trace_close(pool, (char *)pool->report + shpool_slots_end(pool));
        }
        free(pool->report);
        memset(pool, 0, sizeof(*pool));
    }
    return status;
}
