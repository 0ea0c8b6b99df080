/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the file of trace=FILE; doc/TRACE.md has the format, lib/trace.c writes it. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"
#include "tools/input.h"
#include "tools/message.h"
#include "tools/options.h"
#include "file.h"
#include "life.h"

#define FORMAT     3u /* the newest; 2 has no times, 1 no groups */
#define LEAST_LINE 6 /* bytes of a record's line: "k 0 0\n" */
#define MOST_WORDS 12u
#define MOST_LIVES (1u << 20)

typedef struct reader {
    FILE *file;
    const char *path;
    trace_file *trace;
    uint32_t version;
    char *line;
    size_t line_bytes;
    unsigned long number; /* of the line */
    char *word[MOST_WORDS];
    uint32_t words;
    off_t bytes;          /* of a regular file; else -1: not known */
    char *why;
    size_t why_bytes;
} reader;

static int fail(reader *r, const char *format, ...) SHPOOL_PRINTF(2, 3);
static int fail(reader *r, const char *format, ...)
{
    char raw[256];
    char text[2 * sizeof(raw)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(raw, sizeof(raw), format, arguments);
    va_end(arguments);
    shpool_escape(text, sizeof(text), raw, strlen(raw));
    if (r->number != 0) {
        snprintf(r->why, r->why_bytes, "%s, line %lu: %s", r->path, r->number, text);
    } else {
        snprintf(r->why, r->why_bytes, "%s: %s", r->path, text);
    }
    return -1;
}

/* The next line that is not a comment, split into words; 0: there is none, or it has no end. */
static int next_line(reader *r)
{
    ssize_t got;
    char *rest;

    do {
        got = getline(&r->line, &r->line_bytes, r->file);
        if ((got <= 0) || (r->line[got - 1] != '\n')) {
            return 0;
        }
        r->number++;
    } while (r->line[0] == '#');

    r->line[got - 1] = '\0';
    r->words = 0;
    for (char *at = strtok_r(r->line, " \r", &rest); at != NULL;
         at = strtok_r(NULL, " \r", &rest)) {
        if (r->words == MOST_WORDS) {
            r->words++;
            break;
        }
        r->word[r->words++] = at;
    }
    return 1;
}

static int is_line(const reader *r, const char *first, uint32_t words)
{
    return (r->words == words) && (strcmp(r->word[0], first) == 0);
}

/* Word i as a number up to `most`. */
static int number(reader *r, uint32_t i, unsigned long long most, unsigned long long *value_p)
{
    const char *text = r->word[i];
    char *end;

    errno = 0;
    *value_p = strtoull(text, &end, 0);
    if ((text[0] < '0') || (text[0] > '9') || (*end != '\0') || (errno != 0) ||
        (*value_p > most)) {
        return fail(r, "\"%s\" instead of a number up to %llu", text, most);
    }
    return 0;
}

static int number32(reader *r, uint32_t i, uint32_t most, uint32_t *value_p)
{
    unsigned long long value = 0;
    int status = number(r, i, most, &value);

    *value_p = (uint32_t)value;
    return status;
}

static int read_version(reader *r)
{
    unsigned long long version;
    static const char missing[] = "this is not a trace of shpool: \"shpool-trace N\" is missing";

    if (!next_line(r)) {
        return fail(r, (ftell(r->file) == 0)
                           ? "is empty: the program that recorded has not closed its pool yet, or "
                             "ended without"
                           : missing);
    }
    if (!is_line(r, "shpool-trace", 2)) {
        return fail(r, "%s", missing);
    }
    if (number(r, 1, ~0ull, &version) != 0) {
        return -1;
    }
    if ((version == 0) || (version > FORMAT)) {
        return fail(r, "version %llu of the format; this shpool-bench reads 1 to %u: use a newer "
                    "one", version, FORMAT);
    }
    r->version = (uint32_t)version;
    return 0;
}

/* The lines of the pool, in their order. */
static int read_head(reader *r)
{
    trace_file *t = r->trace;
    const struct {
        const char *key;
        uint32_t most;
        uint32_t *value;
    } keys[] = {
        { "block_threads", SHPOOL_MAX_THREADS, &t->block_threads },
        { "threads_per_pool", SHPOOL_MAX_THREADS, &t->threads_per_pool },
        { "pools", SHPOOL_MAX_THREADS, &t->pools },
        { "pool_bytes", SHPOOL_MAX_REQUEST, &t->pool_bytes },
        { "largest", SHPOOL_MAX_REQUEST, &t->largest },
        { "alignment", SHPOOL_MAX_ALIGNMENT, &t->alignment },
        { "check", 1, &t->check },
        { "spill", 1, &t->spill },
        { "registers", 1024, &t->registers }, /* since version 3 */
    };
    const size_t count = sizeof(keys) / sizeof(keys[0]) - (r->version < 3);

    if (!next_line(r) || !is_line(r, "allocator", 2) ||
        (strlen(r->word[1]) >= sizeof(t->allocator))) {
        return fail(r, "\"allocator NAME\" is missing here");
    }
    shpool_escape(t->allocator, sizeof(t->allocator), r->word[1], strlen(r->word[1]));
    for (size_t i = 0; i < count; i++) {
        if (!next_line(r) || !is_line(r, keys[i].key, 2)) {
            return fail(r, "\"%s NUMBER\" is missing here", keys[i].key);
        }
        if (number32(r, 1, keys[i].most, keys[i].value) != 0) {
            return -1;
        }
    }
    if ((t->block_threads == 0) || (t->threads_per_pool == 0) || (t->pools == 0) ||
        ((unsigned long long)t->pools * t->pool_bytes > SHPOOL_MAX_REQUEST)) {
        return fail(r, "%u threads, %u in each of %u pools of %u bytes, cannot be",
                    t->block_threads, t->threads_per_pool, t->pools, t->pool_bytes);
    }
    return 0;
}

/* Word i as a place; failed requests have none. */
static int read_place(reader *r, uint32_t i, trace_record *record)
{
    const trace_file *t = r->trace;

    if (strcmp(r->word[i], "-") == 0) {
        record->nowhere = 1;
        return 0;
    }
    if (r->word[i][0] == 'g') {
        record->global = 1;
        r->word[i]++;
        return number(r, i, ~0ull, &record->place);
    }
    return number(r, i, (unsigned long long)t->pools * t->pool_bytes, &record->place);
}

/* Word 1 as the requester: a thread's rank, or "8+7": thread 8 and 7 more of the block. */
static int read_thread(reader *r, trace_record *record)
{
    const uint32_t threads = r->trace->block_threads;
    char *plus = (r->version > 1) ? strchr(r->word[1], '+') : NULL;
    uint32_t others = 0;
    uint32_t warp; /* threads of the block in this warp */
    int bad;

    if (plus != NULL) {
        *plus = '\0';
    }
    bad = number32(r, 1, threads - 1, &record->thread);
    if (!bad && (plus != NULL)) {
        r->word[1] = plus + 1;
        bad = number32(r, 1, threads - 1, &others);
    }
    record->members = others + 1;
    if (bad || (record->members > TRACE_WARP)) { /* a block: no warp has them */
        return bad;
    }
    warp = threads - record->thread / TRACE_WARP * TRACE_WARP;
    return (record->members <= warp) ? 0 : fail(r, "thread %u and %u more: the block has %u "
                                                "threads in this warp", record->thread, others,
                                                warp);
}

/* The last word as the time, which is optional: "@1234". */
static int read_time(reader *r, trace_record *record)
{
    const uint32_t last = r->words - 1;

    if ((r->version < 3) || (r->words < 2) || (r->words > MOST_WORDS) ||
        (r->word[last][0] != '@')) {
        return 0;
    }
    r->word[last]++;
    r->words--;
    record->timed = 1;
    return number(r, last, TRACE_MOST_CYCLES, &record->cycles);
}

static int read_record(reader *r, trace_builder *b)
{
    static const char letters[] = "mwfrkl";
    static const uint32_t words[] = { 7, 7, 5, 5, 3, 3 };
    trace_record record = { .letter = (r->words != 0) ? r->word[0][0] : '\0' };
    const char *at = (record.letter != '\0') ? strchr(letters, record.letter) : NULL;
    int bad = read_time(r, &record);

    if (bad) {
        return -1;
    }
    if ((at == NULL) || (r->word[0][1] != '\0') || (r->words != words[at - letters])) {
        return fail(r, "a record is missing here (m, w, f, r, k or l and its numbers)");
    }
    bad = read_thread(r, &record);
    if (!bad && ((record.letter == 'k') || (record.letter == 'l'))) {
        bad = number(r, 2, ~0ull, &record.place);
    } else if (!bad) {
        bad = read_place(r, 2, &record);
    }
    switch (record.letter) {
    case 'm':
    case 'w':
        bad = bad || number32(r, 3, ~0u, &record.bytes) || number32(r, 4, ~0u, &record.usable) ||
              number32(r, 5, SHPOOL_MAX_ALIGNMENT, &record.alignment);
        if (!bad && ((record.alignment == 0) ||
                     ((record.alignment & (record.alignment - 1)) != 0))) {
            return fail(r, "the alignment %u is not a power of two", record.alignment);
        }
        break;
    case 'f':
        bad = bad || number32(r, 3, 255, &record.reason);
        break;
    case 'r':
        bad = bad || number32(r, 3, ~0u, &record.bytes) || number32(r, 4, ~0u, &record.usable);
        break;
    default:
        break;
    }
    if (bad) {
        return -1;
    }
    switch (trace_builder_add(b, &record)) {
    case TRACE_ADDED:
        return 0;
    case TRACE_UNKNOWN:
        return fail(r, "thread %u resizes or releases memory that it does not have", record.thread);
    default:
        return fail(r, "no memory for more records");
    }
}

/* "block B launch L records N dropped D", if the block ended "grid G own S", and the N records. */
static int read_life(reader *r)
{
    trace_file *t = r->trace;
    trace_life *more = NULL;
    trace_life life = { .block = 0 };
    trace_builder builder;
    uint32_t records;
    int status = 0;

    if ((strcmp(r->word[2], "launch") != 0) || (strcmp(r->word[4], "records") != 0) ||
        (strcmp(r->word[6], "dropped") != 0) || number32(r, 1, ~0u, &life.block) ||
        number32(r, 3, ~0u, &life.launch) || number32(r, 5, TRACE_MOST_OPS, &records) ||
        number32(r, 7, ~0u, &life.dropped) ||
        ((r->words != 8) && ((strcmp(r->word[8], "grid") != 0) ||
                             (strcmp(r->word[10], "own") != 0) ||
                             number32(r, 9, ~0u, &life.grid) ||
                             number32(r, 11, SHPOOL_MAX_REQUEST, &life.own)))) {
        return fail(r, "\"block B launch L records N dropped D\" is missing here");
    }
    if ((r->bytes >= 0) && ((off_t)records > r->bytes / LEAST_LINE)) { /* before memory for them */
        return fail(r, "the file is too short for %u records: it was cut off, or written over",
                    records);
    }
    more = (t->count < MOST_LIVES) ? realloc(t->lives, (t->count + 1) * sizeof(*more)) : NULL;
    if (more != NULL) {
        t->lives = more;
    }
    if ((more == NULL) || (trace_builder_begin(&builder, t, &life, records) != 0)) {
        return fail(r, "no memory for %u records", records);
    }
    for (uint32_t i = 0; (status == 0) && (i < records); i++) {
        status = next_line(r) ? read_record(r, &builder)
                              : fail(r, "the file ends after %u of %u records of block %u: it was "
                                     "cut off", i, records, life.block);
    }
    trace_builder_end(&builder);
    t->lives[t->count++] = life; /* also an incomplete one, so that it is freed with the trace */
    return status;
}

static int read_lives(reader *r)
{
    unsigned long long lives;

    for (;;) {
        if (!next_line(r)) {
            return fail(r, "the line \"end N\" is missing: the file was cut off");
        }
        if (((r->words == 8) || ((r->words == 12) && (r->version > 2))) &&
            (strcmp(r->word[0], "block") == 0)) {
            if (read_life(r) != 0) {
                return -1;
            }
        } else if (is_line(r, "end", 2)) {
            break;
        } else {
            return fail(r, "\"block ...\" or \"end N\" is missing here");
        }
    }
    if (number(r, 1, ~0ull, &lives) != 0) {
        return -1;
    }
    if (lives != r->trace->count) {
        return fail(r, "%llu blocks were written, %u are here", lives, r->trace->count);
    }
    return 0;
}

int trace_file_read(const char *path, trace_file *trace_p, char *why, size_t why_bytes)
{
    reader r = { .path = path, .trace = trace_p, .why = why, .why_bytes = why_bytes };
    const char *cause;
    int status;

    memset(trace_p, 0, sizeof(*trace_p));
    trace_p->path = path;
    r.file = tool_input_open(path, &r.bytes, &cause);
    if (r.file == NULL) {
        return fail(&r, "%s", cause);
    }
    status = read_version(&r);
    if (status == 0) {
        status = read_head(&r);
    }
    if (status == 0) {
        status = read_lives(&r);
    }
    if ((status == 0) && (trace_p->count == 0)) {
        r.number = 0;
        status = fail(&r, "nothing was recorded: the first blocks of the grid called neither "
                      "malloc nor free");
    }
    free(r.line);
    (void)fclose(r.file);
    if (status != 0) {
        trace_file_free(trace_p);
    }
    return status;
}

void trace_file_free(trace_file *trace)
{
    for (uint32_t i = 0; i < trace->count; i++) {
        free(trace->lives[i].ops);
    }
    free(trace->lives);
    memset(trace, 0, sizeof(*trace));
}

int trace_command_begin(const struct tool_parser *parser, int argc, char **argv, void *options,
                        trace_file *trace_p)
{
    char why[1024];
    const int stop = tool_parse(parser, argc, argv, options);

    if (stop != 0) {
        return stop;
    }
    tool_messages("shpool-bench");
    if (trace_file_read(argv[optind], trace_p, why, sizeof(why)) != 0) {
        tool_say("shpool-bench: %s\n", why);
        return 2;
    }
    return 0;
}
