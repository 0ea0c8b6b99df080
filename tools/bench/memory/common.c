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

static int add_stream(memory_bench *b)
{
    shpool_context_options o = {.bytes = sizeof(o), .device = b->options->device,
                                .flags = SHPOOL_CONTEXT_NEW_STREAM};
    shpool_context *context = NULL;

    if (shpool_context_create(&o, &context) != SHPOOL_OK) {
        return -1;
    }
    b->context[b->streams++] = context;
    return (shpool_context_set_allocator(context, b->allocator) == SHPOOL_OK) ? 0 : -1;
}

int memory_set_streams(memory_bench *b, unsigned streams)
{
    int result = 0;

    while ((result == 0) && (b->streams < streams)) {
        result = add_stream(b);
    }
    while (b->streams > streams) {
        shpool_context_unref(b->context[--b->streams]);
    }
    return result;
}

int memory_run(const memory_options *options, const char *spec, unsigned streams,
               int (*run)(memory_bench *b, const void *of), const void *of)
{
    memory_bench b = {.options = options, .spec = spec};
    int result = -1;

    if ((shpool_device_allocator_open(spec, options->device, &b.allocator) != SHPOOL_OK) ||
        (memory_set_streams(&b, streams) != 0)) {
        (void)memory_failed(spec);
    } else {
        result = run(&b, of);
    }
    (void)memory_set_streams(&b, 0);
    shpool_device_allocator_unref(b.allocator);
    return result;
}

shpool_stream memory_stream(const memory_bench *b, unsigned number)
{
    return (b->streams != 0) ? shpool_context_stream(b->context[number]) : NULL;
}

int memory_take(memory_bench *b, size_t bytes, shpool_stream stream, void **ptr, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (shpool_device_malloc(b->allocator, bytes, stream, &ptr[i]) != SHPOOL_OK) {
            return memory_failed(b->spec);
        }
    }
    return 0;
}

void memory_give(memory_bench *b, shpool_stream stream, void **ptr, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        (void)shpool_device_free(b->allocator, ptr[i], stream);
    }
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

void memory_print_samples(memory_row *row, double *samples, size_t count, int all)
{
    const double last = (double)(count - 1);

    bench_sort(samples, count);
    row->median = samples[(size_t)(last * 0.5 + 0.5)];
    row->p99    = samples[(size_t)(last * 0.99 + 0.5)];
    row->p999   = all ? samples[(size_t)(last * 0.999 + 0.5)] : 0.0;
    memory_print(row);
}
