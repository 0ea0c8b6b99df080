/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the members of a result.  The tables here are the only lists of them. */
#include "config.h"

#include <string.h>

#include "lib/internal.h"
#include "record.h"

const bench_column bench_row_columns[] = {
    {"spec", BENCH_TEXT, BENCH_AT(bench_row, spec), "allocator", -18, NULL},
    {"allocator", BENCH_TEXT, BENCH_AT(bench_row, allocator), NULL, 0, NULL},
    {"binding", BENCH_TEXT, BENCH_AT(bench_row, binding), "binding", -7, NULL},
    {"workload", BENCH_TEXT, BENCH_AT(bench_row, workload), "workload", -8, NULL},
    {"state", BENCH_TEXT, BENCH_AT(bench_row, state), NULL, 0, NULL},
    {"threads", BENCH_U32, BENCH_AT(bench_row, threads), "threads", 7, NULL},
    {"payload_bytes", BENCH_U32, BENCH_AT(bench_row, payload_bytes), "payload", 7, NULL},
    {"total_bytes", BENCH_U32, BENCH_AT(bench_row, total_bytes), NULL, 0, NULL},
    {"threads_per_pool", BENCH_U32, BENCH_AT(bench_row, threads_per_pool), NULL, 0, NULL},
    {"pool_threads", BENCH_U32, BENCH_AT(bench_row, pool_threads), "a pool", 6, NULL},
    {"pools", BENCH_U32, BENCH_AT(bench_row, pools), NULL, 0, NULL},
    {"shared_bytes", BENCH_U32, BENCH_AT(bench_row, shared_bytes), "shared", 7, NULL},
    {"blocks", BENCH_U32, BENCH_AT(bench_row, blocks), "blocks", 6, NULL},
    {"registers", BENCH_REAL, BENCH_AT(bench_row, registers), "regs", 4, "%.0f"},
    {"cycles_per_op", BENCH_REAL, BENCH_AT(bench_row, cycles), "cycles/op", 9, "%.0f"},
    {"cycles_spread_percent", BENCH_REAL, BENCH_AT(bench_row, cycles_spread), NULL, 0, NULL},
    {"gops", BENCH_REAL, BENCH_AT(bench_row, gops), "Gop/s", 9, "%.4g"},
    {"gops_spread_percent", BENCH_REAL, BENCH_AT(bench_row, gops_spread), "+-%", 4, "%.1f"},
    {"failures_percent", BENCH_REAL, BENCH_AT(bench_row, failed), "failed %", 8, "%.2f"},
    {"utilisation_percent", BENCH_REAL, BENCH_AT(bench_row, utilisation), "util %", 6, "%.1f"},
    {"sm_mhz", BENCH_REAL, BENCH_AT(bench_row, sm_mhz), NULL, 0, NULL},
    {"operations", BENCH_U64, BENCH_AT(bench_row, operations), NULL, 0, NULL},
    {"failures", BENCH_U64, BENCH_AT(bench_row, refused), NULL, 0, NULL},
    {"errors", BENCH_U64, BENCH_AT(bench_row, errors), "errors", 6, NULL},
    {"digest", BENCH_TEXT, BENCH_AT(bench_row, digest), NULL, 0, NULL},
    {"scope", BENCH_TEXT, BENCH_AT(bench_row, scope), "scope", -6, NULL},
    {"median_bytes", BENCH_U32, BENCH_AT(bench_row, median_bytes), "median", 6, NULL},
    {"touched", BENCH_U32, BENCH_AT(bench_row, touched), "touched", 7, NULL},
    {"malloc_cycles", BENCH_REAL, BENCH_AT(bench_row, malloc_cycles), "malloc", 7, "%.0f"},
    {"free_cycles", BENCH_REAL, BENCH_AT(bench_row, free_cycles), "free", 7, "%.0f"},
    {"cycles_samples", BENCH_SERIES, BENCH_AT(bench_row, cycles_samples), NULL, 0, NULL},
    {"gops_samples", BENCH_SERIES, BENCH_AT(bench_row, gops_samples), NULL, 0, NULL},
    {"note", BENCH_TEXT, BENCH_AT(bench_row, note), "", 0, NULL},
    BENCH_LAST};

const bench_column bench_fact_columns[] = {
    {"threads", BENCH_INT, BENCH_AT(bench_facts, threads), NULL, 0, NULL},
    {"payload_bytes", BENCH_INT, BENCH_AT(bench_facts, payload_bytes), NULL, 0, NULL},
    {"iterations", BENCH_U32, BENCH_AT(bench_facts, iterations), NULL, 0, NULL},
    {"repeats", BENCH_U32, BENCH_AT(bench_facts, repeats), NULL, 0, NULL},
    {"seed", BENCH_U32, BENCH_AT(bench_facts, seed), NULL, 0, NULL},
    {"planned", BENCH_U32, BENCH_AT(bench_facts, planned), NULL, 0, NULL},
    {"sigma", BENCH_REAL, BENCH_AT(bench_facts, sigma), NULL, 0, NULL},
    BENCH_LAST};

int bench_is_objects_column(const bench_column *column)
{
    static const char *const names[] = {"scope", "median_bytes", "touched", "malloc_cycles",
                                        "free_cycles", "sigma"};
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
    row->failed           = -1.0;
    row->utilisation      = -1.0;
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
    bench_series_summary(&row->cycles_samples, &row->cycles, &row->cycles_spread);
    bench_series_summary(&row->gops_samples, &row->gops, &row->gops_spread);
}
