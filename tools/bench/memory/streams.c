/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shpool-bench memory: questions of several streams.
 *
 *   streams  as RMM's multi_stream_allocations: rounds of malloc, kernel, free on each of n
 *            streams.  An allocator that lets streams wait for each other's memory takes longer
 *            than the ideal, which is the time of one stream's kernels
 *   share    what is held for memory that goes from stream to stream: layers that one stream fills
 *            and another reads, two at a time, as in sharded training; and streams used once
 */
#include "config.h"

#include <stdio.h>

#include "memory.h"

#define MIB          ((size_t)1 << 20)
#define MOST_STREAMS 32u
#define ROUNDS       4u
#define KERNEL_US    200u
#define LAYERS       200u
#define ONE_SHOTS    64u

#ifndef HAVE_CUDA_DEVICE
#define HAVE_CUDA_DEVICE 0
#endif

/* Work on a stream; in builds without nvcc there is none, and times are the host's. */
static void work(const memory_options *options, shpool_context *context)
{
#if HAVE_CUDA_DEVICE
    bench_memory_spin(options->device, shpool_context_stream(context), KERNEL_US);
#else
    (void)options;
    (void)context;
#endif
}

static const char *of_build(void)
{
    return HAVE_CUDA_DEVICE ? "" : "; no kernels in this build";
}

/* ---- streams ---- */

/* Milliseconds of all rounds; negative: it failed. */
static double run_rounds(const memory_options *options, shpool_device_allocator *allocator,
                         shpool_context **context, unsigned streams)
{
    double start = memory_now();
    shpool_status status = SHPOOL_OK;

    for (unsigned i = 0; (i < ROUNDS * streams) && (status == SHPOOL_OK); i++) {
        shpool_context *c = context[i % streams];
        void *ptr;

        status = shpool_device_malloc(allocator, 4 * MIB, shpool_context_stream(c), &ptr);
        if (status == SHPOOL_OK) {
            work(options, c);
            status = shpool_device_free(allocator, ptr, shpool_context_stream(c));
        }
    }
    for (unsigned i = 0; (i < streams) && (status == SHPOOL_OK); i++) {
        status = shpool_context_sync(context[i]);
    }
    return (status == SHPOOL_OK) ? (memory_now() - start) * 1e3 : -1.0;
}

/* The first run is cold, the median of the others warm. */
static int streams_rows(const memory_options *options, const char *spec,
                        shpool_device_allocator *allocator, shpool_context **context,
                        unsigned streams)
{
    memory_row row = {.question = "streams", .allocator = spec, .size = 4 * MIB,
                      .count = streams, .unit = "ms"};
    double sample[64];
    unsigned repeats = (options->repeats < 64) ? options->repeats : 64;
    shpool_device_stats stats = {.hits_wait = 0};
    char note[100];

    row.median = run_rounds(options, allocator, context, streams);
    (void)shpool_device_get_stats(allocator, &stats);
    snprintf(note, sizeof(note), "cold; ideal %.2f; %llu waits%s", ROUNDS * KERNEL_US * 1e-3,
             (unsigned long long)stats.hits_wait, of_build());
    row.note = note;
    if (row.median < 0.0) {
        return memory_failed(spec);
    }
    memory_print(&row);
    for (unsigned i = 0; i < repeats; i++) {
        sample[i] = run_rounds(options, allocator, context, streams);
        if (sample[i] < 0.0) {
            return memory_failed(spec);
        }
    }
    row.median = memory_quantile(sample, repeats, 0.5);
    row.p99 = memory_quantile(sample, repeats, 0.99);
    snprintf(note, sizeof(note), "warm; ideal %.2f", ROUNDS * KERNEL_US * 1e-3);
    memory_print(&row);
    return 0;
}

int memory_streams(const memory_options *options, const char *spec)
{
    int result = 0;

    for (unsigned streams = 1; (result == 0) && (streams <= MOST_STREAMS); streams *= 2) {
        shpool_device_allocator *allocator;
        shpool_context *context[MOST_STREAMS] = {NULL};
        unsigned made = 0;

        if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
            return memory_failed(spec);
        }
        while ((made < streams) &&
               ((context[made] = memory_context(options, allocator)) != NULL)) {
            made++;
        }
        result = (made == streams) ? streams_rows(options, spec, allocator, context, streams)
                                   : memory_failed(spec);
        while (made > 0) {
            shpool_context_unref(context[--made]);
        }
        shpool_device_allocator_unref(allocator);
    }
    return result;
}

/* ---- share ---- */

static void print_share(const char *spec, shpool_device_allocator *allocator, const char *pattern,
                        uint64_t live, unsigned count, double seconds)
{
    shpool_device_stats stats = {.driver_bytes_peak = 0};
    char note[120];
    memory_row row = {.question = "share", .allocator = spec, .size = live, .count = count,
                      .median = seconds * 1e9 / count, .unit = "ns", .note = note};

    (void)shpool_device_get_stats(allocator, &stats);
    row.driver_calls = (double)memory_driver_calls(allocator) / count;
    snprintf(note, sizeof(note), "%s; driver/live %.2f; %llu waits%s", pattern,
             (double)stats.driver_bytes_peak / (double)live, (unsigned long long)stats.hits_wait,
             of_build());
    memory_print(&row);
}

/* One stream fills a layer, the other reads it, while the first is at the next one. */
static int share_layers(const memory_options *options, const char *spec)
{
    static const size_t sizes[] = {24 * MIB, 40 * MIB, 8 * MIB, 56 * MIB, 17 * MIB};
    shpool_device_allocator *allocator;
    shpool_context *fills;
    shpool_context *reads;
    void *before = NULL;
    void *ptr = NULL;
    double seconds = 0.0;
    shpool_status status = SHPOOL_OK;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    fills = memory_context(options, allocator);
    reads = (fills != NULL) ? memory_context(options, allocator) : NULL;
    for (unsigned i = 0; (i < LAYERS) && (status == SHPOOL_OK) && (reads != NULL); i++) {
        double start = memory_now();

        status = shpool_device_malloc(allocator, sizes[i % 5], shpool_context_stream(fills), &ptr);
        seconds += memory_now() - start;
        work(options, fills);
        work(options, reads);
        start = memory_now();
        if (status == SHPOOL_OK) {
            status = shpool_device_record_stream(allocator, ptr, shpool_context_stream(reads));
        }
        if (status == SHPOOL_OK) {
            status = shpool_device_free(allocator, before, shpool_context_stream(fills));
        }
        seconds += memory_now() - start;
        before = ptr;
    }
    if ((reads != NULL) && (status == SHPOOL_OK)) {
        print_share(spec, allocator, "layers", 96 * MIB, LAYERS, seconds);
    }
    status = (reads == NULL) ? SHPOOL_ERR_CUDA : status;
    shpool_context_unref(fills);
    shpool_context_unref(reads);
    shpool_device_allocator_unref(allocator);
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        return 0; /* it has no function that names a second stream */
    }
    return (status == SHPOOL_OK) ? 0 : memory_failed(spec);
}

/* Each piece of memory is on a stream of its own, which is destroyed after it. */
static int share_one_shots(const memory_options *options, const char *spec)
{
    shpool_device_allocator *allocator;
    double seconds = 0.0;
    int result = 0;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    for (unsigned i = 0; (i < ONE_SHOTS) && (result == 0); i++) {
        shpool_context *once = memory_context(options, allocator);
        void *ptr = NULL;
        double start = memory_now();

        if ((once == NULL) || (shpool_device_malloc(allocator, 64 * MIB,
                                                    shpool_context_stream(once), &ptr) !=
                               SHPOOL_OK)) {
            result = memory_failed(spec);
        } else {
            work(options, once);
            (void)shpool_device_free(allocator, ptr, shpool_context_stream(once));
        }
        seconds += memory_now() - start;
        shpool_context_unref(once);
    }
    if (result == 0) {
        print_share(spec, allocator, "one-shot streams", 64 * MIB, ONE_SHOTS, seconds);
    }
    shpool_device_allocator_unref(allocator);
    return result;
}

int memory_share(const memory_options *options, const char *spec)
{
    int result = share_layers(options, spec);

    return (result == 0) ? share_one_shots(options, spec) : result;
}
