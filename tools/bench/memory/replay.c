/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory --replay: a log of the layer `log`, or of RMM, against an allocator. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define MAX_STREAMS 64u

typedef struct replay {
    shpool_device_allocator *allocator;
    const memory_options *options;
    struct { unsigned long long logged; shpool_context *context; } stream[MAX_STREAMS];
    unsigned streams;
    /* open addressing: the log's pointer to the allocator's */
    struct { unsigned long long logged; void *ptr; size_t bytes; } *live;
    size_t capacity;
    uint64_t operations;
    uint64_t failures;
    uint64_t live_bytes;
    uint64_t live_peak;
    double seconds;
} replay;

/* Each stream of the log is one of a context here; the default ones stay. */
static shpool_stream stream_of(replay *r, unsigned long long logged)
{
    shpool_context_options o = {.bytes = sizeof(o), .device = r->options->device,
                                .flags = SHPOOL_CONTEXT_NEW_STREAM};

    if (logged <= 2) {
        return SHPOOL_STREAM_LEGACY;
    }
    for (unsigned i = 0; i < r->streams; i++) {
        if (r->stream[i].logged == logged) {
            return shpool_context_stream(r->stream[i].context);
        }
    }
    if ((r->streams == MAX_STREAMS) ||
        (shpool_context_create(&o, &r->stream[r->streams].context) != SHPOOL_OK)) {
        return SHPOOL_STREAM_LEGACY;
    }
    (void)shpool_context_set_allocator(r->stream[r->streams].context, r->allocator);
    r->stream[r->streams].logged = logged;
    return shpool_context_stream(r->stream[r->streams++].context);
}

static size_t place_of(const replay *r, unsigned long long logged)
{
    size_t at = (size_t)((logged >> 8) * 0x9e3779b97f4a7c15ull >> 20) & (r->capacity - 1);

    while ((r->live[at].logged != 0) && (r->live[at].logged != logged)) {
        at = (at + 1) & (r->capacity - 1);
    }
    return at;
}

/* The place keeps its key: addresses come again, and the search must not end there. */
static void do_free(replay *r, unsigned long long logged, shpool_stream stream)
{
    size_t at = place_of(r, logged);
    double start = memory_now();

    if (r->live[at].logged == 0) {
        return;
    }
    (void)shpool_device_free(r->allocator, r->live[at].ptr, stream);
    r->seconds += memory_now() - start;
    r->live_bytes -= r->live[at].bytes;
    r->live[at].ptr = NULL;
    r->live[at].bytes = 0;
}

static void do_malloc(replay *r, unsigned long long logged, size_t bytes, shpool_stream stream)
{
    size_t at = place_of(r, logged);
    void *ptr = NULL;
    double start;

    if (r->live[at].ptr != NULL) {
        do_free(r, logged, stream); /* it was freed unseen */
    }
    start = memory_now();
    if ((r->options->limit > 0) && (r->live_bytes + bytes > r->options->limit)) {
        r->failures++;
        return;
    }
    if (shpool_device_malloc(r->allocator, bytes, stream, &ptr) != SHPOOL_OK) {
        r->failures++;
    }
    r->seconds += memory_now() - start;
    r->live[at].logged = logged;
    r->live[at].ptr = ptr;
    r->live[at].bytes = (ptr != NULL) ? bytes : 0;
    r->live_bytes += r->live[at].bytes;
    r->live_peak = (r->live_bytes > r->live_peak) ? r->live_bytes : r->live_peak;
}

/* One line: Thread,Time,Action,Pointer,Size,Stream; others (the heading) are passed over. */
static void do_line(replay *r, const char *line)
{
    char action[32];
    unsigned long long ptr;
    unsigned long long stream;
    unsigned long long bytes;

    if ((sscanf(line, "%*[^,],%*[^,],%31[^,],%llx,%llu,%llx", action, &ptr, &bytes, &stream) !=
         4) || (ptr == 0)) {
        return;
    }
    r->operations++;
    if (strcmp(action, "allocate") == 0) {
        do_malloc(r, ptr, (size_t)bytes, stream_of(r, stream));
    } else if (strcmp(action, "free") == 0) {
        do_free(r, ptr, stream_of(r, stream));
    } else if (strcmp(action, "record") == 0) {
        size_t at = place_of(r, ptr);

        if (r->live[at].ptr != NULL) {
            (void)shpool_device_record_stream(r->allocator, r->live[at].ptr,
                                              stream_of(r, stream));
        }
    }
}

static size_t count_lines(FILE *file)
{
    size_t lines = 0;
    int c;

    while ((c = getc(file)) != EOF) {
        lines += (c == '\n');
    }
    rewind(file);
    return lines;
}

static void print(const replay *r, const char *spec)
{
    char note[200];
    shpool_device_stats stats;
    memory_row row = {.question = "replay", .allocator = spec, .count = r->operations,
                      .unit = "ns", .note = note};

    (void)shpool_device_get_stats(r->allocator, &stats);
    row.size = r->live_peak;
    row.median = (r->operations > 0) ? r->seconds * 1e9 / (double)r->operations : 0.0;
    snprintf(note, sizeof(note), "driver peak %llu; driver/live %.3f; %llu failures",
             (unsigned long long)stats.driver_bytes_peak,
             (r->live_peak > 0) ? (double)stats.driver_bytes_peak / (double)r->live_peak : 0.0,
             (unsigned long long)r->failures);
    memory_print(&row);
}

int memory_replay(const memory_options *options, const char *spec)
{
    static replay r;
    FILE *file = fopen(options->replay, "r");
    char *line = NULL;
    size_t line_bytes = 0;
    int result = 0;

    memset(&r, 0, sizeof(r));
    r.options = options;
    if (file == NULL) {
        fprintf(stderr, "shpool-bench: %s cannot be read\n", options->replay);
        return -1;
    }
    for (r.capacity = 1024; r.capacity < 2 * count_lines(file); r.capacity *= 2) {
    }
    r.live = calloc(r.capacity, sizeof(*r.live));
    if ((r.live == NULL) ||
        (shpool_device_allocator_open(spec, options->device, &r.allocator) != SHPOOL_OK)) {
        fprintf(stderr, "shpool-bench: %s: %s\n", spec, shpool_last_error());
        result = -1;
    }
    while ((result == 0) && (getline(&line, &line_bytes, file) > 0)) {
        do_line(&r, line);
    }
    free(line);
    if (result == 0) {
        print(&r, spec);
    }
    for (unsigned i = 0; i < r.streams; i++) {
        shpool_context_unref(r.stream[i].context);
    }
    shpool_device_allocator_unref(r.allocator);
    free(r.live);
    fclose(file);
    return result;
}
