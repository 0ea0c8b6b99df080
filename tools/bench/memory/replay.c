/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory --replay: a log of the layer `log`, or of RMM, against an allocator. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/places.h"
#include "tools/input.h"
#include "memory.h"
#include "tools/message.h"

#define MAX_STREAMS 64u

typedef struct replay {
    shpool_device_allocator *allocator;
    const memory_options *options;
    struct { unsigned long long logged; shpool_context *context; } stream[MAX_STREAMS];
    unsigned streams;
    bench_places places; /* the log's pointer to an index in live[] */
    struct { void *ptr; size_t bytes; } *live;
    uint32_t count;      /* of live[] */
    uint32_t room;
    int out_of_memory;   /* of the host: what follows is not replayed */
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

/* Index in live[] of the log's pointer, a new one if necessary; BENCH_NOWHERE: no memory. */
static uint32_t place_of(replay *r, unsigned long long logged)
{
    uint32_t at = bench_places_get(&r->places, logged, 0);

    if (at != BENCH_NOWHERE) {
        return at;
    }
    if (r->count == r->room) {
        const uint32_t room = (r->room != 0) ? 2 * r->room : 1024;
        void *more = (room > r->room) ? realloc(r->live, room * sizeof(*r->live)) : NULL;

        if (more == NULL) {
            return BENCH_NOWHERE;
        }
        r->live = more;
        r->room = room;
    }
    at = r->count;
    if (bench_places_set(&r->places, logged, 0, at) != 0) {
        return BENCH_NOWHERE;
    }
    r->live[r->count].ptr     = NULL;
    r->live[r->count++].bytes = 0;
    return at;
}

static void do_free(replay *r, unsigned long long logged, shpool_stream stream)
{
    const uint32_t at = bench_places_get(&r->places, logged, 0);
    double start = memory_now();

    if (at == BENCH_NOWHERE) {
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
    const uint32_t at = place_of(r, logged);
    void *ptr = NULL;
    double start;

    if (at == BENCH_NOWHERE) {
        r->out_of_memory = 1;
        return;
    }
    if (r->live[at].ptr != NULL) {
        do_free(r, logged, stream); /* its free is not in the log */
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
        const uint32_t at = bench_places_get(&r->places, ptr, 0);

        if ((at != BENCH_NOWHERE) && (r->live[at].ptr != NULL)) {
            (void)shpool_device_record_stream(r->allocator, r->live[at].ptr,
                                              stream_of(r, stream));
        }
    }
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

/* All lines, however long; 0, or -1: stderr says why. */
static int do_lines(replay *r, FILE *file)
{
    char *line = NULL;
    size_t bytes = 0;
    int failed;

    while (!r->out_of_memory && (getline(&line, &bytes, file) > 0)) {
        do_line(r, line);
    }
    failed = r->out_of_memory || ferror(file) || !feof(file);
    if (failed) {
        tool_say("shpool-bench: %s: %s\n", r->options->replay,
                 r->out_of_memory ? "no memory for what is live" : strerror(errno));
    }
    free(line);
    return failed ? -1 : 0;
}

int memory_replay(const memory_options *options, const char *spec)
{
    static replay r;
    const char *why;
    FILE *file = tool_input_open(options->replay, NULL, &why);
    int result = 0;

    memset(&r, 0, sizeof(r));
    r.options = options;
    if (file == NULL) {
        tool_say("shpool-bench: %s: %s\n", options->replay, why);
        return -1;
    }
    if (shpool_device_allocator_open(spec, options->device, &r.allocator) != SHPOOL_OK) {
        tool_say("shpool-bench: %s: %s\n", spec, shpool_last_error());
        result = -1;
    }
    result = (result == 0) ? do_lines(&r, file) : result;
    if (result == 0) {
        print(&r, spec);
    }
    for (unsigned i = 0; i < r.streams; i++) {
        shpool_context_unref(r.stream[i].context);
    }
    shpool_device_allocator_unref(r.allocator);
    bench_places_free(&r.places);
    free(r.live);
    fclose(file);
    return result;
}
