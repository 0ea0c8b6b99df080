/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench map: a picture of a pool over time, from a trace.  draw.py draws what is written
 * here: the operations of one run, each with its requester's name. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/bench/list.h"
#include "tools/bench/names.h"
#include "tools/options.h"
#include "tools/bench/picture.h"
#include "tools/bench/python.h"
#include "file.h"
#include "tools/message.h"

typedef struct options {
    const char *svg;
    uint32_t block;
    uint32_t run;
    uint32_t from; /* the first operation that is drawn, and the first one after */
    uint32_t to;
    int color;     /* in colors[] */
} options;

static const char *const colors[] = { "thread", "size", NULL };

#define AT(_member) offsetof(options, _member)
static const tool_row option_rows[] = {
    {"--svg FILE", tool_file, AT(svg), 0, 0, NULL, "file of the picture; its name ends in .svg"},
    {"--block N", tool_number, AT(block), 0, TRACE_NONE - 1, NULL,
     "rank of the block in the grid [the first one in the trace]"},
    {"--run N", tool_number, AT(run), 1, TRACE_NONE - 1, NULL,
     "number of its run: a launch, or an shpool_init() in it [1]"},
    {"--from N", tool_number, AT(from), 0, TRACE_NONE - 1, NULL, NULL},
    {"--to N", tool_number, AT(to), 1, TRACE_NONE - 1, NULL, NULL},
    TOOL_LINE("  --from N, --to N   the picture starts at and ends before this operation [all]"),
    {"--color thread|size", bench_choice, AT(color), 0, 0, colors,
     "  colours show the requesting thread, or the size [thread]"},
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench map [options] TRACE --svg FILE\n"
          "Draws the pools of a block over time, as recorded by the key trace=TRACE of a spec\n"
          "(doc/TRACE.md).  Operations go from left to right, addresses upwards.  Each\n"
          "allocation is a rectangle.  Each failed request is a line that names the\n"
          "allocations which blocked it.\n", to);
    tool_rows_print(to, option_rows, 21);
    fputs("Python draws it with matplotlib (Debian's python3-matplotlib).\n"
          "Exit status: 0; 1: the trace cannot be read, or the picture not written; 2: usage\n",
          to);
}

/* A picture over the recording would destroy it; nonzero, and stderr says so. */
static int check_picture(const char *svg, const char *trace)
{
    const char *dot = strrchr(svg, '.');
    struct stat to;
    struct stat from;

    if ((dot == NULL) || (strcmp(dot, ".svg") != 0)) {
        tool_say("shpool-bench: --svg %s: a name that ends in .svg is needed\n", svg);
        return -1;
    }
    if ((stat(svg, &to) == 0) && (stat(trace, &from) == 0) && (to.st_dev == from.st_dev) &&
        (to.st_ino == from.st_ino)) {
        tool_say("shpool-bench: --svg %s: this is the trace %s itself; give the picture a "
                 "name of its own\n", svg, trace);
        return -1;
    }
    return 0;
}

static int check(int argc, char **argv, void *into)
{
    const options *o = into;

    (void)argc;
    if (o->svg == NULL) {
        fputs("shpool-bench: map: --svg FILE is missing, which names the picture\n", stderr);
        return -1;
    }
    if (check_picture(o->svg, argv[optind]) != 0) {
        return -1;
    }
    if (o->from >= o->to) {
        tool_say("shpool-bench: --from %u is not below --to %u\n", o->from, o->to);
        return -1;
    }
    return 0;
}

static const tool_parser parser = { "shpool-bench map", "shpool-bench", option_rows, usage, check,
                                    1, "one trace file is" };

/* The requested run; NULL, and stderr lists the existing ones. */
static const trace_life *find_life(const options *o, const trace_file *trace)
{
    const uint32_t block = (o->block != TRACE_NONE) ? o->block : trace->lives[0].block;
    uint32_t runs = 0;

    for (uint32_t i = 0; i < trace->count; i++) {
        if ((trace->lives[i].block == block) && (++runs == o->run)) {
            return &trace->lives[i];
        }
    }
    if (runs != 0) {
        tool_say("shpool-bench: %s has %u run%s of block %u, not %u\n", trace->path, runs,
                 (runs == 1) ? "" : "s", block, o->run);
    } else {
        tool_say("shpool-bench: %s has no records of block %u; it begins with block %u and "
                 "ends with %u (trace_blocks says how many are recorded)\n", trace->path, block,
                 trace->lives[0].block, trace->lives[trace->count - 1].block);
    }
    return NULL;
}

/* ---- the data of the picture ---- */

/* Metadata bytes at the start of a pool: those below every allocation of the trace, and no more
 * than a fresh pool reserves. */
static uint32_t head_of(const trace_file *trace)
{
    uint32_t head = trace->pool_bytes - ((trace->largest < trace->pool_bytes) ? trace->largest
                                                                             : trace->pool_bytes);

    for (uint32_t i = 0; i < trace->count; i++) {
        for (uint32_t j = 0; j < trace->lives[i].count; j++) {
            const trace_op *op = &trace->lives[i].ops[j];

            if ((op->kind == TRACE_MALLOC) && !op->global && (op->end != TRACE_NONE) &&
                (trace->pool_bytes != 0) && (op->place % trace->pool_bytes < head)) {
                head = (uint32_t)(op->place % trace->pool_bytes);
            }
        }
    }
    return head;
}

/* The members of draw.py's Op. */
static void put_op(FILE *to, const trace_op *op, uint32_t block_threads)
{
    static const char kinds[] = {[TRACE_SKIP] = 's', [TRACE_MALLOC] = 'm', [TRACE_FREE] = 'f',
                                 [TRACE_RESIZE] = 'r'};
    const trace_threads threads = trace_threads_of(op->thread, op->members, block_threads);
    char end[16] = "null";
    char who[TRACE_WHO_BYTES];

    if (op->end != TRACE_NONE) {
        (void)snprintf(end, sizeof(end), "%u", op->end);
    }
    fprintf(to, "[\"%c\",\"%s\",%u,%u,%u,%u,%u,%s,%u,%llu]", kinds[op->kind],
            trace_who(op->thread, op->members, block_threads, who), threads.first, threads.count,
            op->object, op->bytes, op->usable, end, op->global, op->place);
}

static void write_life(const options *o, const trace_file *t, const trace_life *life, FILE *to)
{
    fputs("{\"allocator\": \"", to);
    for (const char *at = t->allocator; *at != '\0'; at++) { /* printable: trace_file_read() */
        fprintf(to, ((*at == '"') || (*at == '\\')) ? "\\%c" : "%c", *at);
    }
    fprintf(to, "\", \"block\": %u, \"launch\": %u, \"dropped\": %u, \"block_threads\": %u, "
            "\"threads_per_pool\": %u, \"pools\": %u, \"pool_bytes\": %u, \"head\": %u, "
            "\"from\": %u, \"to\": %u, \"color\": \"%s\", \"ops\": [", life->block, life->launch,
            life->dropped, t->block_threads, t->threads_per_pool, t->pools, t->pool_bytes,
            head_of(t), o->from, o->to, colors[o->color]);
    for (uint32_t i = 0; i < life->count; i++) {
        fputs((i == 0) ? "\n" : ",\n", to);
        put_op(to, &life->ops[i], t->block_threads);
    }
    fputs("]}\n", to);
}

static int draw(const options *o, const trace_file *trace)
{
    const trace_life *life = find_life(o, trace);
    FILE             *data;

    if (life == NULL) {
        return 1;
    }
    if (o->from >= life->count) {
        tool_say("shpool-bench: --from %u: there %s %u operation%s\n", o->from,
                 (life->count == 1) ? "is" : "are", life->count, bench_s(life->count));
        return 1;
    }
    data = bench_python_input(o->svg);
    if (data == NULL) {
        return 1;
    }
    write_life(o, trace, life, data);
    return (bench_picture_draw(data, "map", NULL, o->svg) != 0) ? 1 : 0;
}

int bench_map(int argc, char **argv)
{
    options o = { .block = TRACE_NONE, .run = 1, .to = TRACE_NONE };
    trace_file trace;
    int stop = trace_command_begin(&parser, argc, argv, &o, &trace);

    if (stop != 0) {
        return stop - 1;
    }
    stop = draw(&o, &trace);
    trace_file_free(&trace);
    return stop;
}
