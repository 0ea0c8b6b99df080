/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory: shared by all questions: the clock, samples, a context, a line of CSV. */
#include "config.h"

#include <stdio.h>
#include <time.h>

#include "tools/bench/column.h"
#include "memory.h"
#include "tools/message.h"

double memory_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int memory_failed(const char *spec)
{
    tool_say("shpool-bench: %s: %s\n", spec, shpool_last_error());
    return -1;
}

shpool_context *memory_context(const memory_options *options, shpool_device_allocator *allocator)
{
    shpool_context_options o = {.bytes = sizeof(o), .device = options->device,
                                .flags = SHPOOL_CONTEXT_NEW_STREAM};
    shpool_context *context = NULL;

    if ((shpool_context_create(&o, &context) != SHPOOL_OK) ||
        (shpool_context_set_allocator(context, allocator) != SHPOOL_OK)) {
        shpool_context_unref(context);
        return NULL;
    }
    return context;
}

double memory_quantile(double *samples, size_t count, double part)
{
    bench_sort(samples, count);
    return samples[(size_t)((double)(count - 1) * part + 0.5)];
}

uint64_t memory_driver_calls(shpool_device_allocator *allocator)
{
    shpool_device_stats stats;

    if (shpool_device_get_stats(allocator, &stats) != SHPOOL_OK) {
        return 0;
    }
    return stats.driver_mallocs + stats.driver_frees + stats.events_recorded + stats.hits_wait;
}

const bench_column memory_columns[] = {
    {"question", BENCH_NAME, BENCH_AT(memory_row, question), NULL, 0, NULL},
    {"allocator", BENCH_NAME, BENCH_AT(memory_row, allocator), NULL, 0, NULL},
    {"size", BENCH_U64, BENCH_AT(memory_row, size), NULL, 0, NULL},
    {"count", BENCH_U64, BENCH_AT(memory_row, count), NULL, 0, NULL},
    {"median", BENCH_REAL, BENCH_AT(memory_row, median), NULL, 0, NULL},
    {"p99", BENCH_REAL, BENCH_AT(memory_row, p99), NULL, 0, NULL},
    {"p99.9", BENCH_REAL, BENCH_AT(memory_row, p999), NULL, 0, NULL},
    {"unit", BENCH_NAME, BENCH_AT(memory_row, unit), NULL, 0, NULL},
    {"driver_calls", BENCH_REAL, BENCH_AT(memory_row, driver_calls), NULL, 0, NULL},
    {"note", BENCH_NAME, BENCH_AT(memory_row, note), NULL, 0, NULL},
    BENCH_LAST};

void memory_print(const memory_row *row)
{
    bench_csv_row(stdout, memory_columns, row);
}
