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

#ifndef HAVE_BENCH_KERNELS
#define HAVE_BENCH_KERNELS 0
#endif

/* Work on a stream; in builds without nvcc there is none, and times are the host's. */
static void work(const memory_bench *b, unsigned stream)
{
    bench_memory_spin(b->options->device, memory_stream(b, stream), KERNEL_US);
}

static const char *of_build(void)
{
    return HAVE_BENCH_KERNELS ? "" : "; no kernels in this build";
}

/* ---- streams ---- */

/* Milliseconds of all rounds; negative: it failed. */
static double run_rounds(memory_bench *b)
{
    double start = memory_now();
    shpool_status status = SHPOOL_OK;

    for (unsigned i = 0; (i < ROUNDS * b->streams) && (status == SHPOOL_OK); i++) {
        const shpool_stream stream = memory_stream(b, i % b->streams);
        void *ptr;

        status = shpool_device_malloc(b->allocator, 4 * MIB, stream, &ptr);
        if (status == SHPOOL_OK) {
            work(b, i % b->streams);
            status = shpool_device_free(b->allocator, ptr, stream);
        }
    }
    for (unsigned i = 0; (i < b->streams) && (status == SHPOOL_OK); i++) {
        status = shpool_context_sync(b->context[i]);
    }
    return (status == SHPOOL_OK) ? (memory_now() - start) * 1e3 : -1.0;
}

/* The first run is cold, the median of the others warm. */
static int streams_rows(memory_bench *b, const void *of)
{
    memory_row row = {.question = "streams", .allocator = b->spec, .size = 4 * MIB,
                      .count = b->streams, .unit = "ms"};
    double sample[64];
    unsigned repeats = (b->options->repeats < 64) ? b->options->repeats : 64;
    shpool_device_stats stats = {.hits_wait = 0};
    char note[100];

    (void)of;
    row.median = run_rounds(b);
    (void)shpool_device_get_stats(b->allocator, &stats);
    snprintf(note, sizeof(note), "cold; ideal %.2f; %llu waits%s", ROUNDS * KERNEL_US * 1e-3,
             (unsigned long long)stats.hits_wait, of_build());
    row.note = note;
    if (row.median < 0.0) {
        return memory_failed(b->spec);
    }
    memory_print(&row);
    for (unsigned i = 0; i < repeats; i++) {
        sample[i] = run_rounds(b);
        if (sample[i] < 0.0) {
            return memory_failed(b->spec);
        }
    }
    snprintf(note, sizeof(note), "warm; ideal %.2f", ROUNDS * KERNEL_US * 1e-3);
    memory_print_samples(&row, sample, repeats, 0);
    return 0;
}

int memory_streams(const memory_options *options, const char *spec)
{
    int result = 0;

    for (unsigned streams = 1; (result == 0) && (streams <= MOST_STREAMS); streams *= 2) {
        result = memory_run(options, spec, streams, streams_rows, NULL);
    }
    return result;
}

/* ---- share ---- */

static void print_share(const memory_bench *b, const char *pattern, uint64_t live, unsigned count,
                        double seconds)
{
    shpool_device_stats stats = {.driver_bytes_peak = 0};
    char note[120];
    memory_row row = {.question = "share", .allocator = b->spec, .size = live, .count = count,
                      .median = seconds * 1e9 / count, .unit = "ns", .note = note};

    (void)shpool_device_get_stats(b->allocator, &stats);
    row.driver_calls = (double)memory_driver_calls(b->allocator) / count;
    snprintf(note, sizeof(note), "%s; driver/live %.2f; %llu waits%s", pattern,
             (double)stats.driver_bytes_peak / (double)live, (unsigned long long)stats.hits_wait,
             of_build());
    memory_print(&row);
}

/* One stream fills a layer, the other reads it, while the first is at the next one. */
static int share_layers(memory_bench *b, const void *of)
{
    static const size_t sizes[] = {24 * MIB, 40 * MIB, 8 * MIB, 56 * MIB, 17 * MIB};
    const shpool_stream fills = memory_stream(b, 0);
    const shpool_stream reads = memory_stream(b, 1);
    void *before = NULL;
    void *ptr = NULL;
    double seconds = 0.0;
    shpool_status status = SHPOOL_OK;

    (void)of;
    for (unsigned i = 0; (i < LAYERS) && (status == SHPOOL_OK); i++) {
        double start = memory_now();

        status = shpool_device_malloc(b->allocator, sizes[i % 5], fills, &ptr);
        seconds += memory_now() - start;
        work(b, 0);
        work(b, 1);
        start = memory_now();
        if (status == SHPOOL_OK) {
            status = shpool_device_record_stream(b->allocator, ptr, reads);
        }
        if (status == SHPOOL_OK) {
            status = shpool_device_free(b->allocator, before, fills);
        }
        seconds += memory_now() - start;
        before = ptr;
    }
    if (status == SHPOOL_OK) {
        print_share(b, "layers", 96 * MIB, LAYERS, seconds);
    }
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        return 0; /* it has no function that names a second stream */
    }
    return (status == SHPOOL_OK) ? 0 : memory_failed(b->spec);
}

/* Each piece of memory is on a stream of its own, which is destroyed after it. */
static int share_one_shots(memory_bench *b, const void *of)
{
    double seconds = 0.0;

    (void)of;
    for (unsigned i = 0; i < ONE_SHOTS; i++) {
        int made = memory_set_streams(b, 1) == 0;
        void *ptr = NULL;
        double start = memory_now();

        if (!made || (shpool_device_malloc(b->allocator, 64 * MIB, memory_stream(b, 0), &ptr) !=
                      SHPOOL_OK)) {
            return memory_failed(b->spec);
        }
        work(b, 0);
        (void)shpool_device_free(b->allocator, ptr, memory_stream(b, 0));
        seconds += memory_now() - start;
        (void)memory_set_streams(b, 0);
    }
    print_share(b, "one-shot streams", 64 * MIB, ONE_SHOTS, seconds);
    return 0;
}

int memory_share(const memory_options *options, const char *spec)
{
    int result = memory_run(options, spec, 2, share_layers, NULL);

    return (result == 0) ? memory_run(options, spec, 0, share_one_shots, NULL) : result;
}
