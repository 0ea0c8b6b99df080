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
static int one_pair_row(memory_bench *b, size_t bytes, unsigned live)
{
    enum { BATCH = 20, MOST = 20000 };
    static double sample[MOST];
    memory_row row = {.question = "pair", .allocator = b->spec, .size = bytes, .count = live,
                      .unit = "ns"};
    const shpool_stream stream = memory_stream(b, 0);
    double slow = time_pairs(b->allocator, stream, bytes, 100);
    size_t count = (size_t)b->options->repeats * b->options->pairs / BATCH;
    uint64_t before;

    if (slow < 0.0) {
        return memory_failed(b->spec);
    }
    count = (count > MOST) ? MOST : count;
    if (slow * (double)count * BATCH > 2e9) { /* two seconds of a slow one are enough */
        count = (size_t)(2e9 / (slow * BATCH)) + 10;
    }
    before = memory_driver_calls(b->allocator);
    for (size_t i = 0; i < count; i++) {
        sample[i] = time_pairs(b->allocator, stream, bytes, BATCH);
    }
    row.driver_calls = (double)(memory_driver_calls(b->allocator) - before) /
                       (double)(count * BATCH);
    memory_print_samples(&row, sample, count, 1);
    return 0;
}

static int pair_rows(memory_bench *b, const void *of)
{
    static const size_t sizes[] = {256, 4096, 65536, 1048576, 16777216, 268435456, 1073741824};
    static const unsigned lives[] = {0, 10000, MAX_LIVE};
    static void *live[MAX_LIVE];
    unsigned held = 0;
    int result = 0;

    (void)of;
    for (size_t l = 0; (result == 0) && (l < 3); l++) {
        if ((lives[l] > 10000) && (strcmp(b->spec, "simple") == 0)) {
            break; /* the driver needs minutes for that number */
        }
        for (; (result == 0) && (held < lives[l]); held++) {
            result = memory_take(b, 256 * (1 + held % 40), memory_stream(b, 0), &live[held], 1);
        }
        for (size_t s = 0; (result == 0) && (s < sizeof(sizes) / sizeof(sizes[0])); s++) {
            result = one_pair_row(b, sizes[s], lives[l]);
        }
    }
    return result;
}

int memory_pair(const memory_options *options, const char *spec)
{
    return memory_run(options, spec, 1, pair_rows, NULL);
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    shpool_device_allocator *allocator;
    shpool_stream stream;
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

/* Million pairs a second with `threads` threads; negative: it failed. */
static double run_threads(memory_bench *b, unsigned threads, unsigned pairs, int shared)
{
    worker w[MEMORY_STREAMS];
    pthread_barrier_t barrier;
    double longest = 0.0;

    if (memory_set_streams(b, threads) != 0) {
        return -1.0;
    }
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        w[i] = (worker){.allocator = b->allocator, .stream = memory_stream(b, shared ? 0 : i),
                        .barrier = &barrier, .pairs = pairs};
        pthread_create(&w[i].thread, NULL, work, &w[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        longest = (w[i].seconds > longest) ? w[i].seconds : longest;
        longest = (w[i].ns < 0.0) ? -1e9 : longest;
    }
    pthread_barrier_destroy(&barrier);
    (void)memory_set_streams(b, 0); /* when no thread uses the first one's any more */
    return (double)threads * pairs / longest * 1e-6;
}

static int threads_row(memory_bench *b, unsigned threads, int shared)
{
    memory_row row = {.question = "threads", .allocator = b->spec, .size = 4096, .count = threads,
                      .unit = "Mpairs/s", .note = shared ? "one stream" : "own streams"};
    int bins = strncmp(b->spec, "bins", 4) == 0;
    int slow = !bins && (shared || (strncmp(b->spec, "buckets", 7) != 0));
    /* many enough that threads which start late do not count */
    unsigned pairs = slow ? b->options->pairs / 50 + 1 : b->options->pairs * 10;
    unsigned repeats = (b->options->repeats < 64) ? b->options->repeats : 64;
    double sample[64];

    for (unsigned i = 0; i < repeats; i++) {
        sample[i] = run_threads(b, threads, pairs, shared);
        if (sample[i] < 0.0) {
            return memory_failed(b->spec);
        }
    }
    memory_print_samples(&row, sample, repeats, 0);
    return 0;
}

static int threads_rows(memory_bench *b, const void *of)
{
    int result = 0;

    (void)of;
    for (int shared = 0; shared < 2; shared++) {
        for (unsigned threads = 1; (result == 0) && (threads <= b->options->threads);
             threads *= 2) {
            result = threads_row(b, threads, shared);
        }
    }
    return result;
}

int memory_threads(const memory_options *options, const char *spec)
{
    return memory_run(options, spec, 0, threads_rows, NULL);
}

/* ---- cross: freed on b, allocated on c ---- */

static int cross_row(memory_bench *b, size_t bytes, unsigned cached)
{
    static void *ptr[10000];
    static double sample[1000];
    const shpool_stream from = memory_stream(b, 0);
    const shpool_stream to = memory_stream(b, 1);
    memory_row row = {.question = "cross", .allocator = b->spec, .size = bytes, .count = cached,
                      .unit = "ns", .note = "malloc on a third stream"};
    unsigned repeats = 100 * b->options->repeats;

    repeats = (repeats > 1000) ? 1000 : repeats;
    for (unsigned i = 0; i < repeats; i++) {
        double start;

        if (memory_take(b, bytes, from, ptr, cached) != 0) {
            return -1;
        }
        memory_give(b, from, ptr, cached);
        start = memory_now();
        if (memory_take(b, bytes, to, ptr, cached) != 0) {
            return -1;
        }
        sample[i] = (memory_now() - start) * 1e9 / cached;
        (void)shpool_context_sync(b->context[1]);
        memory_give(b, from, ptr, cached); /* back to where it came from */
        (void)shpool_context_sync(b->context[0]);
        if ((cached > 100) && (i >= b->options->repeats)) {
            repeats = i + 1;
        }
    }
    memory_print_samples(&row, sample, repeats, 1);
    return 0;
}

/* One block again and again, without a synchronisation that cools the caches: malloc, and the free
 * that gives it back to its stream. */
static int cross_warm(memory_bench *b)
{
    enum { PAIRS = 1000 };
    static double sample[1000];
    memory_row row = {.question = "cross", .allocator = b->spec, .size = 20 * MIB, .count = 1,
                      .unit = "ns", .note = "malloc on a third stream and free, in a row"};
    unsigned repeats = (b->options->repeats > 1000) ? 1000 : b->options->repeats;

    for (unsigned i = 0; i < repeats; i++) {
        void *ptr = NULL;
        double start = memory_now();

        for (unsigned j = 0; j < PAIRS; j++) {
            if (memory_take(b, 20 * MIB, memory_stream(b, 1), &ptr, 1) != 0) {
                return -1;
            }
            memory_give(b, memory_stream(b, 0), &ptr, 1);
        }
        sample[i] = (memory_now() - start) * 1e9 / PAIRS;
    }
    memory_print_samples(&row, sample, repeats, 1);
    return 0;
}

static int cross_rows(memory_bench *b, const void *of)
{
    (void)of;
    if ((cross_row(b, 20 * MIB, 1) != 0) || (cross_warm(b) != 0) ||
        (cross_row(b, 20 * MIB, 16) != 0)) {
        return -1;
    }
    return (strcmp(b->spec, "simple") != 0) ? cross_row(b, 4096, 10000) : 0;
}

int memory_cross(const memory_options *options, const char *spec)
{
    return memory_run(options, spec, 2, cross_rows, NULL);
}

/* ---- random: as RMM's random_allocations ---- */

typedef struct random_case {
    unsigned operations;
    size_t largest;
} random_case;

static int random_row(memory_bench *b, const void *of)
{
    static void *live[4096];
    static size_t bytes[4096];
    const random_case *c = of;
    memory_row row = {.question = "random", .allocator = b->spec, .size = c->largest,
                      .count = c->operations, .unit = "ns"};
    const uint64_t before = memory_driver_calls(b->allocator);
    uint64_t held = 0;
    uint64_t seed = 1;
    unsigned count = 0;
    double start = memory_now();

    for (unsigned i = 0; i < c->operations; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        if ((count == 0) || ((count < 4096) && (held < (uint64_t)16000 << 20) &&
                             ((seed >> 33) % 100 < 73))) {
            bytes[count] = 1 + (size_t)((seed >> 20) % c->largest);
            if (memory_take(b, bytes[count], NULL, &live[count], 1) != 0) {
                return -1;
            }
            held += bytes[count++];
        } else {
            unsigned at = (unsigned)((seed >> 20) % count);

            (void)shpool_device_free(b->allocator, live[at], NULL);
            held -= bytes[at];
            live[at] = live[--count];
            bytes[at] = bytes[count];
        }
    }
    row.median = (memory_now() - start) * 1e9 / c->operations;
    row.driver_calls = (double)(memory_driver_calls(b->allocator) - before) / c->operations;
    memory_print(&row);
    return 0;
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
            result = memory_run(options, spec, 0, random_row,
                                &(random_case){operations, largest[i]});
        }
    }
    return result;
}

/* ---- cold and oom ---- */

static int cold_row(memory_bench *b, const void *of)
{
    static void *ptr[1024];
    memory_row row = {.question = "cold", .allocator = b->spec, .size = 4 * MIB, .count = 1024,
                      .unit = "ms", .note = "p99 column: ms of trim(0)"};
    double start = memory_now();

    (void)of;
    if (memory_take(b, 4 * MIB, NULL, ptr, 1024) != 0) {
        return -1;
    }
    row.median = (memory_now() - start) * 1e3;
    memory_give(b, NULL, ptr, 1024);
    start = memory_now();
    (void)shpool_device_trim(b->allocator, 0);
    row.p99 = (memory_now() - start) * 1e3;
    memory_print(&row);
    return 0;
}

int memory_cold(const memory_options *options, const char *spec)
{
    return memory_run(options, spec, 0, cold_row, NULL);
}

static int oom_row(memory_bench *b, const void *of)
{
    memory_row row = {.question = "oom", .allocator = b->spec, .unit = "ms"};
    uint64_t left;
    uint64_t total;
    void *ptr[64];
    double start;

    (void)of;
    if (shpool_device_memory(b->options->device, &left, &total) != SHPOOL_OK) {
        return memory_failed(b->spec);
    }
    for (unsigned i = 0; i < 64; i++) { /* nearly all memory, in pieces that are idle afterwards */
        ptr[i] = NULL;
        (void)shpool_device_malloc(b->allocator, (size_t)(left / 70), NULL, &ptr[i]);
    }
    memory_give(b, NULL, ptr, 64);
    row.size = left / 70 * 50;
    start = memory_now();
    row.note = (shpool_device_malloc(b->allocator, (size_t)row.size, NULL, &ptr[0]) == SHPOOL_OK)
                   ? "served" : "refused";
    row.median = (memory_now() - start) * 1e3;
    memory_print(&row);
    return 0;
}

int memory_oom(const memory_options *options, const char *spec)
{
    return memory_run(options, spec, 0, oom_row, NULL);
}
