/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the members of a result.  The tables here are the only lists of them. */
#include "config.h"

#include <string.h>

#include "lib/internal.h"
#include "record.h"

#define BENCH_RECORD bench_row
const bench_column bench_row_columns[] = {BENCH_ROW(BENCH_COLUMN, BENCH_COLUMN) BENCH_LAST};
#undef BENCH_RECORD
#define BENCH_RECORD bench_facts
const bench_column bench_fact_columns[] = {BENCH_FACTS(BENCH_COLUMN) BENCH_LAST};

int bench_is_objects_column(const bench_column *column)
{
#define NOTHING(...)
#define NAME(_kind, _name, ...) #_name,
    static const char *const names[] = {BENCH_ROW(NOTHING, NAME) "sigma"};
    size_t i;

    for (i = 0; i < SHPOOL_ARRAY_COUNT(names); i++) {
        if (strcmp(column->name, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

void bench_row_init(bench_row *row, const bench_point *point)
{
    memset(row, 0, sizeof(*row));
    snprintf(row->spec, sizeof(row->spec), "%s", (point->spec != NULL) ? point->spec : "(default)");
    snprintf(row->allocator, sizeof(row->allocator), "%.*s", (int)strcspn(row->spec, ":|"),
             row->spec);
    snprintf(row->binding, sizeof(row->binding), "%s", bench_binding_names[point->binding]);
    snprintf(row->workload, sizeof(row->workload), "%s", bench_workload_at(point->workload)->name);
    snprintf(row->state, sizeof(row->state), "%s", BENCH_FAILED);
    row->threads          = point->threads;
    row->payload_bytes    = point->payload_bytes;
    row->total_bytes      = point->total_bytes;
    row->threads_per_pool = point->threads_per_pool;
    if (point->median != 0) {
        snprintf(row->scope, sizeof(row->scope), "%s", bench_scope_names[point->scope]);
    }
    row->median_bytes     = point->median;
    row->touched          = point->touched;
    row->malloc_cycles    = -1.0;
    row->free_cycles      = -1.0;
    row->registers        = -1.0;
    row->failures_percent = -1.0;
    row->utilisation_percent = -1.0;
    row->sm_mhz           = -1.0;
    bench_row_summarise(row);
}

void bench_row_set_pool(bench_row *row, const shpool_pool *pool)
{
    snprintf(row->allocator, sizeof(row->allocator), "%s", pool->name);
    if (strcmp(row->spec, "(default)") == 0) {
        snprintf(row->spec, sizeof(row->spec), "%s", pool->name);
    }
    row->pools        = pool->pools;
    row->pool_threads = pool->threads_per_pool;
    row->shared_bytes = pool->shared_bytes;
}

void bench_row_summarise(bench_row *row)
{
    bench_series_summary(&row->cycles_samples, &row->cycles_per_op,
                         &row->cycles_spread_percent);
    bench_series_summary(&row->gops_samples, &row->gops, &row->gops_spread_percent);
}
