/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory: the questions. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define MIB ((size_t)1 << 20)
#define MAX_LIVE 100000u

/* ---- pair ---- */

/* Nanoseconds of one pair, `count` of them timed together; negative: it failed. */
static double time_pairs(shpool_device_allocator *allocator, shpool_stream stream, size_t bytes,
                         unsigned count)
{
    double start = memory_now();
    shpool_status status = SHPOOL_OK;

    for (unsigned i = 0; (i < count) && (status == SHPOOL_OK); i++) {
        void *ptr;

        status = shpool_device_malloc(allocator, bytes, stream, &ptr);
        if (status == SHPOOL_OK) {
            status = shpool_device_free(allocator, ptr, stream);
        }
    }
    return (status == SHPOOL_OK) ? (memory_now() - start) * 1e9 / count : -1.0;
}

/* Batches of few pairs: a clock costs as much as a pair. */
static int one_pair_row(const memory_options *options, const char *spec,
                        shpool_device_allocator *allocator, shpool_stream stream, size_t bytes,
                        unsigned live)
{
    enum { BATCH = 20, MOST = 20000 };
    static double sample[MOST];
    memory_row row = {.question = "pair", .allocator = spec, .size = bytes, .count = live,
                      .unit = "ns"};
    double slow = time_pairs(allocator, stream, bytes, 100);
    size_t count = (size_t)options->repeats * options->pairs / BATCH;
    uint64_t before;

    if (slow < 0.0) {
        return memory_failed(spec);
    }
    count = (count > MOST) ? MOST : count;
    if (slow * (double)count * BATCH > 2e9) { /* two seconds of a slow one are enough */
        count = (size_t)(2e9 / (slow * BATCH)) + 10;
    }
    before = memory_driver_calls(allocator);
    for (size_t i = 0; i < count; i++) {
        sample[i] = time_pairs(allocator, stream, bytes, BATCH);
    }
    row.driver_calls = (double)(memory_driver_calls(allocator) - before) / (double)(count * BATCH);
    row.median = memory_quantile(sample, count, 0.5);
    row.p99 = memory_quantile(sample, count, 0.99);
    row.p999 = memory_quantile(sample, count, 0.999);
    memory_print(&row);
    return 0;
}

int memory_pair(const memory_options *options, const char *spec)
{
    static const size_t sizes[] = {256, 4096, 65536, 1048576, 16777216, 268435456, 1073741824};
    static const unsigned lives[] = {0, 10000, MAX_LIVE};
    static void *live[MAX_LIVE];
    unsigned held = 0;
    shpool_device_allocator *allocator;
    shpool_context *context;
    int result = 0;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    context = memory_context(options, allocator);
    for (size_t l = 0; (context != NULL) && (result == 0) && (l < 3); l++) {
        if ((lives[l] > 10000) && (strcmp(spec, "simple") == 0)) {
            break; /* the driver needs minutes for that number */
        }
        for (; (result == 0) && (held < lives[l]); held++) {
            if (shpool_device_malloc(allocator, 256 * (1 + held % 40),
                                     shpool_context_stream(context), &live[held]) != SHPOOL_OK) {
                result = memory_failed(spec);
            }
        }
        for (size_t s = 0; (result == 0) && (s < sizeof(sizes) / sizeof(sizes[0])); s++) {
            result = one_pair_row(options, spec, allocator, shpool_context_stream(context),
                                  sizes[s], lives[l]);
        }
    }
    result = (context == NULL) ? memory_failed(spec) : result;
    shpool_context_unref(context);
    shpool_device_allocator_unref(allocator);
    return result;
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    shpool_device_allocator *allocator;
    shpool_context *context;
    shpool_stream stream; /* its context's, or that of the first */
    pthread_barrier_t *barrier;
    unsigned pairs;
    double ns;
    double seconds;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    double start;

    (void)time_pairs(w->allocator, w->stream, 4096, 1000);
    pthread_barrier_wait(w->barrier);
    start = memory_now();
    w->ns = time_pairs(w->allocator, w->stream, 4096, w->pairs);
    w->seconds = memory_now() - start;
    return NULL;
}

/* Million pairs a second with `threads` threads. */
static double run_threads(const memory_options *options, shpool_device_allocator *allocator,
                          unsigned threads, unsigned pairs, int shared)
{
    worker w[64];
    pthread_barrier_t barrier;
    double longest = 0.0;

    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        w[i] = (worker){.allocator = allocator, .context = memory_context(options, allocator),
                        .barrier = &barrier, .pairs = pairs};
        if (w[i].context == NULL) {
            while (i > 0) {
                shpool_context_unref(w[--i].context);
            }
            pthread_barrier_destroy(&barrier);
            return -1.0;
        }
        w[i].stream = shpool_context_stream(w[shared ? 0 : i].context);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_create(&w[i].thread, NULL, work, &w[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        longest = (w[i].seconds > longest) ? w[i].seconds : longest;
        longest = (w[i].ns < 0.0) ? -1e9 : longest;
    }
    for (unsigned i = 0; i < threads; i++) { /* when no thread uses the first one's stream any
                                                more */
        shpool_context_unref(w[i].context);
    }
    pthread_barrier_destroy(&barrier);
    return (double)threads * pairs / longest * 1e-6;
}

static int threads_row(const memory_options *options, const char *spec,
                       shpool_device_allocator *allocator, unsigned threads, int shared)
{
    memory_row row = {.question = "threads", .allocator = spec, .size = 4096, .count = threads,
                      .unit = "Mpairs/s", .note = shared ? "one stream" : "own streams"};
    int slow = shared ||
               ((strncmp(spec, "bins", 4) != 0) && (strncmp(spec, "buckets", 7) != 0));
    unsigned pairs = slow ? options->pairs / 50 + 1 : options->pairs * 10;
    unsigned repeats = (options->repeats < 64) ? options->repeats : 64;
    double sample[64];

    for (unsigned i = 0; i < repeats; i++) {
        sample[i] = run_threads(options, allocator, threads, pairs, shared);
        if (sample[i] < 0.0) {
            return memory_failed(spec);
        }
    }
    row.median = memory_quantile(sample, repeats, 0.5);
    row.p99 = memory_quantile(sample, repeats, 0.99);
    memory_print(&row);
    return 0;
}

int memory_threads(const memory_options *options, const char *spec)
{
    shpool_device_allocator *allocator;
    int result = 0;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    for (int shared = 0; shared < 2; shared++) {
        for (unsigned threads = 1; (result == 0) && (threads <= options->threads); threads *= 2) {
            result = threads_row(options, spec, allocator, threads, shared);
        }
    }
    shpool_device_allocator_unref(allocator);
    return result;
}

/* ---- cross: freed on b, allocated on c ---- */

static int cross_row(const memory_options *options, const char *spec,
                     shpool_device_allocator *allocator, shpool_context *b, shpool_context *c,
                     size_t bytes, unsigned cached)
{
    static void *ptr[10000];
    static double sample[1000];
    memory_row row = {.question = "cross", .allocator = spec, .size = bytes, .count = cached,
                      .unit = "ns", .note = "malloc on a third stream"};
    unsigned repeats = 100 * options->repeats;

    repeats = (repeats > 1000) ? 1000 : repeats;
    for (unsigned i = 0; i < repeats; i++) {
        double start;

        for (unsigned j = 0; j < cached; j++) {
            if (shpool_device_malloc(allocator, bytes, shpool_context_stream(b), &ptr[j]) !=
                SHPOOL_OK) {
                return memory_failed(spec);
            }
        }
        for (unsigned j = 0; j < cached; j++) {
            (void)shpool_device_free(allocator, ptr[j], shpool_context_stream(b));
        }
        start = memory_now();
        for (unsigned j = 0; j < cached; j++) {
            if (shpool_device_malloc(allocator, bytes, shpool_context_stream(c), &ptr[j]) !=
                SHPOOL_OK) {
                return memory_failed(spec);
            }
        }
        sample[i] = (memory_now() - start) * 1e9 / cached;
        (void)shpool_context_sync(c);
        for (unsigned j = 0; j < cached; j++) { /* back to where it came from: c keeps nothing */
            (void)shpool_device_free(allocator, ptr[j], shpool_context_stream(b));
        }
        (void)shpool_context_sync(b);
        if ((cached > 100) && (i >= options->repeats)) {
            repeats = i + 1;
        }
    }
    row.median = memory_quantile(sample, repeats, 0.5);
    row.p99 = memory_quantile(sample, repeats, 0.99);
    row.p999 = memory_quantile(sample, repeats, 0.999);
    memory_print(&row);
    return 0;
}

/* One block again and again, without a synchronisation that cools the caches: malloc, and the free
 * that gives it back to its stream. */
static int cross_warm(const memory_options *options, const char *spec,
                      shpool_device_allocator *allocator, shpool_context *b, shpool_context *c)
{
    static double sample[1000];
    memory_row row = {.question = "cross", .allocator = spec, .size = 20 * MIB, .count = 1,
                      .unit = "ns", .note = "malloc on a third stream and free, in a row"};
    unsigned repeats = (options->repeats > 1000) ? 1000 : options->repeats;
    unsigned pairs = 1000;

    for (unsigned i = 0; i < repeats; i++) {
        void *ptr = NULL;
        double start = memory_now();

        for (unsigned j = 0; j < pairs; j++) {
            if (shpool_device_malloc(allocator, 20 * MIB, shpool_context_stream(c), &ptr) !=
                SHPOOL_OK) {
                return memory_failed(spec);
            }
            (void)shpool_device_free(allocator, ptr, shpool_context_stream(b));
        }
        sample[i] = (memory_now() - start) * 1e9 / pairs;
    }
    row.median = memory_quantile(sample, repeats, 0.5);
    row.p99 = memory_quantile(sample, repeats, 0.99);
    row.p999 = memory_quantile(sample, repeats, 0.999);
    memory_print(&row);
    return 0;
}

int memory_cross(const memory_options *options, const char *spec)
{
    shpool_device_allocator *allocator;
    shpool_context *b;
    shpool_context *c;
    int result;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    b = memory_context(options, allocator);
    c = (b != NULL) ? memory_context(options, allocator) : NULL;
    if (c == NULL) {
        result = memory_failed(spec);
    } else {
        result = cross_row(options, spec, allocator, b, c, 20 * MIB, 1);
        if (result == 0) {
            result = cross_warm(options, spec, allocator, b, c);
        }
        if (result == 0) {
            result = cross_row(options, spec, allocator, b, c, 20 * MIB, 16);
        }
        if ((result == 0) && (strcmp(spec, "simple") != 0)) {
            result = cross_row(options, spec, allocator, b, c, 4096, 10000);
        }
    }
    shpool_context_unref(b);
    shpool_context_unref(c);
    shpool_device_allocator_unref(allocator);
    return result;
}

/* ---- random: as RMM's random_allocations ---- */

static int random_row(const memory_options *options, const char *spec, unsigned operations,
                      size_t largest)
{
    static void *live[4096];
    static size_t bytes[4096];
    memory_row row = {.question = "random", .allocator = spec, .size = largest,
                      .count = operations, .unit = "ns"};
    shpool_device_allocator *allocator;
    uint64_t held = 0;
    uint64_t seed = 1;
    uint64_t before;
    unsigned count = 0;
    double start;
    int result = 0;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    before = memory_driver_calls(allocator);
    start = memory_now();
    for (unsigned i = 0; (i < operations) && (result == 0); i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        if ((count == 0) || ((count < 4096) && (held < (uint64_t)16000 << 20) &&
                             ((seed >> 33) % 100 < 73))) {
            bytes[count] = 1 + (size_t)((seed >> 20) % largest);
            if (shpool_device_malloc(allocator, bytes[count], NULL, &live[count]) != SHPOOL_OK) {
                result = memory_failed(spec);
                break;
            }
            held += bytes[count++];
        } else {
            unsigned at = (unsigned)((seed >> 20) % count);

            (void)shpool_device_free(allocator, live[at], NULL);
            held -= bytes[at];
            live[at] = live[--count];
            bytes[at] = bytes[count];
        }
    }
    row.median = (memory_now() - start) * 1e9 / operations;
    row.driver_calls = (double)(memory_driver_calls(allocator) - before) / operations;
    shpool_device_allocator_unref(allocator);
    if (result == 0) {
        memory_print(&row);
    }
    return result;
}

int memory_random(const memory_options *options, const char *spec)
{
    static const size_t largest[] = {65536, MIB, 64 * MIB, 1024 * MIB};
    int result = 0;

    for (unsigned operations = 1000; (result == 0) && (operations <= 100000); operations *= 10) {
        if ((operations == 100000) && (strcmp(spec, "simple") == 0)) {
            break;
        }
        for (size_t i = 0; (result == 0) && (i < sizeof(largest) / sizeof(largest[0])); i++) {
            result = random_row(options, spec, operations, largest[i]);
        }
    }
    return result;
}

/* ---- cold and oom ---- */

int memory_cold(const memory_options *options, const char *spec)
{
    static void *ptr[1024];
    memory_row row = {.question = "cold", .allocator = spec, .size = 4 * MIB, .count = 1024,
                      .unit = "ms", .note = "p99 column: ms of trim(0)"};
    shpool_device_allocator *allocator;
    double start;
    int result = 0;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    start = memory_now();
    for (unsigned i = 0; (i < 1024) && (result == 0); i++) {
        if (shpool_device_malloc(allocator, 4 * MIB, NULL, &ptr[i]) != SHPOOL_OK) {
            result = memory_failed(spec);
        }
    }
    row.median = (memory_now() - start) * 1e3;
    for (unsigned i = 0; (i < 1024) && (result == 0); i++) {
        (void)shpool_device_free(allocator, ptr[i], NULL);
    }
    start = memory_now();
    (void)shpool_device_trim(allocator, 0);
    row.p99 = (memory_now() - start) * 1e3;
    shpool_device_allocator_unref(allocator);
    if (result == 0) {
        memory_print(&row);
    }
    return result;
}

int memory_oom(const memory_options *options, const char *spec)
{
    memory_row row = {.question = "oom", .allocator = spec, .unit = "ms"};
    shpool_device_allocator *allocator;
    uint64_t left;
    uint64_t total;
    void *ptr[64];
    double start;

    if (shpool_device_allocator_open(spec, options->device, &allocator) != SHPOOL_OK) {
        return memory_failed(spec);
    }
    if (shpool_device_memory(options->device, &left, &total) != SHPOOL_OK) {
        (void)memory_failed(spec);
        shpool_device_allocator_unref(allocator);
        return -1;
    }
    for (unsigned i = 0; i < 64; i++) { /* nearly all memory, in pieces that are idle afterwards */
        ptr[i] = NULL;
        (void)shpool_device_malloc(allocator, (size_t)(left / 70), NULL, &ptr[i]);
    }
    for (unsigned i = 0; i < 64; i++) {
        (void)shpool_device_free(allocator, ptr[i], NULL);
    }
    row.size = left / 70 * 50;
    start = memory_now();
    row.note = (shpool_device_malloc(allocator, (size_t)row.size, NULL, &ptr[0]) == SHPOOL_OK)
                   ? "served" : "refused";
    row.median = (memory_now() - start) * 1e3;
    memory_print(&row);
    shpool_device_allocator_unref(allocator);
    return 0;
}
