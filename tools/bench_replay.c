/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench replay: which allocator, and which geometry, suits the kernel of a trace. */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/internal.h"
#include "bench.h"
#include "bench_trace.h"
#include "message.h"
#include "replay.h"
#include "trace_file.h"

#define MOST_ROWS 1024u

#if !HAVE_CUDA_DEVICE
int replay_cuda(const replay_script *script, const replay_shape *shape, replay_tally *tally_p,
                char *why, size_t why_bytes)
{
    (void)script;
    (void)shape;
    memset(tally_p, 0, sizeof(*tally_p));
    snprintf(why, why_bytes, "this build has no CUDA");
    return -1;
}
#endif

typedef struct options {
    const char *file;
    const char *allocator;
    const char *device;
    const char *arch;
    uint32_t threads_per_pool; /* 0: several */
    uint32_t bytes;            /* 0: as recorded */
    int cuda;
} options;

/* One allocator and geometry. */
typedef struct row {
    char allocator[SHPOOL_NAME_BYTES];
    char spec[160];            /* of the least bytes */
    uint32_t threads_per_pool;
    uint32_t pools;
    uint32_t blocks;           /* of a multiprocessor, with the least bytes */
    replay_tally tally;        /* at the bytes asked for; in the recorded order */
    replay_tally gpu;          /* there, threads running freely */
    replay_tally gpu_least;    /* the same with the least bytes */
    replay_need need;
    int missing;               /* cannot replay this */
    char note[512];
} row;

typedef struct table {
    row *rows;
    uint32_t count;
    int failed;
} table;

static void usage(FILE *to)
{
    fputs("usage: shpool-bench replay [options] TRACE\n"
          "Replays what a kernel recorded (trace=TRACE in its spec; doc/TRACE.md) with other\n"
          "allocators, and ranks them.\n"
          "  --allocator SPEC|all     [all]\n"
          "  --threads-per-pool N     allocators of scope group [several: 8, 16, ... all]\n"
          "  --bytes B[K]             of all pools of a block [as recorded]\n"
          "  --device cpu|cuda        default: cuda if there is a GPU, else cpu\n"
          "  --arch sm_NN             for blocks of a multiprocessor [sm_90]\n"
          "  --help\n"
          "Columns:\n"
          "  failed     requests that got nothing in --bytes, in the recorded order\n"
          "  needs      least bytes of all pools at which nothing fails in that order\n"
          "  blocks/SM  how many blocks a multiprocessor holds with these, as far as shared\n"
          "             memory and threads decide\n"
          "  cycles     of a call on the GPU in --bytes, threads running freely; n/a on the CPU\n"
          "  fails GPU  requests that got nothing there, and\n"
          "  at needs   in the least bytes: calls that overlap may need more\n"
          "Order: what needs fewer bytes first; on a GPU what has fewer cycles, among those where\n"
          "nothing failed.\n"
          "exit status: 0; 1: the trace cannot be read, or a run failed; 2: usage\n", to);
}

/* 0: go on; else exit status + 1. */
static int parse(int argc, char **argv, options *o)
{
    static const struct option longs[] = {
        { "allocator", required_argument, NULL, 'a' },
        { "threads-per-pool", required_argument, NULL, 't' },
        { "bytes", required_argument, NULL, 'B' }, { "device", required_argument, NULL, 'd' },
        { "arch", required_argument, NULL, 'A' }, { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 } };
    int bad = 0;
    int c;

    while (!bad && ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)) {
        switch (c) {
        case 'a':
            o->allocator = optarg;
            break;
        case 't':
            bad = bench_number(optarg, "--threads-per-pool", 1, SHPOOL_MAX_THREADS,
                               &o->threads_per_pool);
            break;
        case 'B':
            bad = bench_number(optarg, "--bytes", 16, SHPOOL_MAX_SHARED, &o->bytes);
            break;
        case 'd':
            o->device = optarg;
            bad = (strcmp(optarg, "cpu") != 0) && (strcmp(optarg, "cuda") != 0);
            if (bad) {
                fprintf(stderr, "shpool-bench: --device %s: known are cpu and cuda\n", optarg);
            }
            break;
        case 'A':
            o->arch = optarg;
            break;
        case 'h':
            usage(stdout);
            return 1;
        default:
            bad = 1;
            break;
        }
    }
    if (!bad && (optind + 1 != argc)) {
        fputs("shpool-bench: one trace belongs behind the options of replay\n", stderr);
        bad = 1;
    }
    if (bad) {
        fputs("try shpool-bench replay --help\n", stderr);
        return 3;
    }
    o->file = argv[optind];
    return 0;
}

/* ---- measuring ---- */

/* The blocks that an SM holds of the least bytes. */
static uint32_t blocks_of(const replay_script *script, const char *spec, const shpool_arch *arch)
{
    shpool_config want = { .block_threads = script->block_threads,
                           .alignment = script->alignment };
    shpool_pool pool;

    return (shpool_plan(spec, &want, &pool) == SHPOOL_OK) ? shpool_blocks_per_sm(&pool, arch, 0)
                                                          : 0;
}

static void measure_gpu(const replay_script *script, replay_shape shape, row *r)
{
    r->gpu_least.failures = ~0ull;
    if (replay_cuda(script, &shape, &r->gpu, r->note, sizeof(r->note)) != 0) {
        r->gpu.failures = ~0ull;
        return;
    }
    shape.total_bytes = r->need.bytes;
    if (r->need.possible && (r->need.bytes != 0) &&
        (replay_cuda(script, &shape, &r->gpu_least, r->note, sizeof(r->note)) != 0)) {
        r->gpu_least.failures = ~0ull;
    }
}

static void measure(const options *o, const replay_script *script, replay_shape shape, row *r)
{
    shpool_arch arch;
    shpool_pool pool;
    shpool_status status = replay_cpu(script, &shape, 0, &r->tally, &pool);

    if (status == SHPOOL_OK) {
        r->threads_per_pool = pool.threads_per_pool;
        r->pools = pool.pools;
    } else if (status == SHPOOL_ERR_TOO_SMALL) { /* not even an empty pool */
        r->tally.failures = ~0ull;
        status = SHPOOL_OK;
    }
    if (status == SHPOOL_OK) {
        status = replay_bisect(script, &shape, &r->need);
    }
    if (status != SHPOOL_OK) {
        snprintf(r->note, sizeof(r->note), "%s", shpool_last_error());
        r->missing = 1;
        return;
    }
    if (r->need.possible && (r->need.bytes != 0)) {
        replay_shape least = shape;

        least.total_bytes = r->need.bytes;
        replay_spec(&least, r->spec, sizeof(r->spec));
        (void)shpool_arch_find(o->arch, &arch);
        r->blocks = blocks_of(script, r->spec, &arch);
    }
    if (o->cuda) {
        measure_gpu(script, shape, r);
    }
}

/* A row for a spec; threads_per_pool 0: as it says. */
static void add_row(const options *o, const replay_script *script, const char *spec,
                    uint32_t threads_per_pool, table *t)
{
    shpool_config want = { .block_threads = script->block_threads, .alignment = script->alignment,
                           .total_bytes = SHPOOL_MAX_SHARED };
    replay_shape shape = { spec, threads_per_pool, o->bytes };
    shpool_pool pool;
    char text[SHPOOL_SPEC_BYTES + 64];
    row *r = &t->rows[t->count];

    if (t->count == MOST_ROWS) {
        return;
    }
    memset(r, 0, sizeof(*r));
    snprintf(r->allocator, sizeof(r->allocator), "%.*s", (int)strcspn(spec, ":"), spec);
    shape.total_bytes = SHPOOL_MAX_SHARED;
    replay_spec(&shape, text, sizeof(text));
    shape.total_bytes = o->bytes;
    t->count++;
    if (shpool_plan(text, &want, &pool) != SHPOOL_OK) {
        snprintf(r->note, sizeof(r->note), "%s", shpool_last_error());
        r->missing = 1;
        return;
    }
    r->threads_per_pool = pool.threads_per_pool;
    r->pools = pool.pools;
    if (!replay_fits(script, pool.scope, pool.threads_per_pool, r->note, sizeof(r->note))) {
        r->missing = 1;
        return;
    }
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%-60.60s", text);
    }
    measure(o, script, shape, r);
}

/* Of scope group several geometries, if the spec names none. */
static void add_allocator(const options *o, const replay_script *script,
                          const shpool_allocator *allocator, table *t)
{
    if (allocator->scope != SHPOOL_SCOPE_GROUP) {
        add_row(o, script, allocator->name, 0, t);
    } else if (o->threads_per_pool != 0) {
        add_row(o, script, allocator->name, o->threads_per_pool, t);
    } else {
        for (uint32_t n = 8; n < script->block_threads; n *= 2) {
            add_row(o, script, allocator->name, n, t);
        }
        add_row(o, script, allocator->name, script->block_threads, t);
    }
}

static int add_all(const options *o, const replay_script *script, table *t)
{
    const shpool_allocator *allocator;

    if (strcmp(o->allocator, "all") == 0) {
        for (size_t i = 0; i < shpool_allocator_count(); i++) {
            allocator = shpool_allocator_get(i);
            if ((allocator->caps & SHPOOL_CAP_NONE) == 0) {
                add_allocator(o, script, allocator, t);
            }
        }
    } else if (strchr(o->allocator, ':') != NULL) {
        add_row(o, script, o->allocator, o->threads_per_pool, t);
    } else if (shpool_allocator_find(o->allocator, &allocator) == SHPOOL_OK) {
        add_allocator(o, script, allocator, t);
    } else {
        fprintf(stderr, "shpool-bench: --allocator %s: %s\n", o->allocator, shpool_last_error());
        return -1;
    }
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%-60s\r", "");
    }
    return 0;
}

/* ---- output ---- */

static double cycles_of(const row *r)
{
    return (r->gpu.ops != 0) ? (double)r->gpu.cycles / (double)r->gpu.ops : 0.0;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* What cannot last, then what never suffices; then see usage(). */
static int by_rank(const void *a, const void *b)
{
    const row *x = a;
    const row *y = b;
    int order = (x->missing - y->missing) * 4 + (y->need.possible - x->need.possible) * 2;

    if ((order == 0) && (cycles_of(x) != 0.0) && (cycles_of(y) != 0.0)) {
        order = ((x->gpu.failures != 0) - (y->gpu.failures != 0)) * 2 +
                compare(cycles_of(x), cycles_of(y));
    }
    if (order == 0) {
        order = ((x->need.bytes == 0) - (y->need.bytes == 0)) * 2 +
                compare(x->need.bytes, y->need.bytes);
    }
    return (order != 0) ? order : strcmp(x->allocator, y->allocator);
}

static void cell(int known, const char *format, double value)
{
    char text[32];

    snprintf(text, sizeof(text), known ? format : "-", value);
    printf(" %9s", text);
}

static void print_row(const options *o, uint32_t rank, const row *r)
{
    if (r->missing) {
        printf("%4s %-18s %7u %6u  n/a: %s\n", "-", r->allocator, r->threads_per_pool, r->pools,
               r->note);
        return;
    }
    printf("%4u %-18s %7u %6u", rank, r->allocator, r->threads_per_pool, r->pools);
    cell(r->tally.failures != ~0ull, "%.0f", (double)r->tally.failures);
    cell(r->need.possible, "%.0f", r->need.bytes);
    cell(r->blocks != 0, "%.0f", r->blocks);
    if (o->cuda) {
        cell(r->gpu.ops != 0, "%.0f", cycles_of(r));
        cell(r->gpu.failures != ~0ull, "%.0f", (double)r->gpu.failures);
        cell(r->gpu_least.failures != ~0ull, "%.0f", (double)r->gpu_least.failures);
    }
    printf("%s%s\n", (r->note[0] != '\0') ? "  " : "",
           (r->note[0] != '\0') ? r->note
           : !r->need.possible ? "  fails in all that a block can have"
           : (r->need.bytes == 0) ? "  all of it lies in global memory" : "");
}

static void print_table(const options *o, table *t)
{
    const row *best = NULL;

    qsort(t->rows, t->count, sizeof(*t->rows), by_rank);
    printf("%4s %-18s %7s %6s %9s %9s %9s", "rank", "allocator", "thr/pool", "pools", "failed",
           "needs", "blocks/SM");
    printf(o->cuda ? " %9s %9s %9s\n" : "\n", "cycles", "fails GPU", "at needs");
    for (uint32_t i = 0; i < t->count; i++) {
        const row *r = &t->rows[i];

        print_row(o, i + 1, r);
        if (!r->missing && (r->spec[0] != '\0') &&
            ((best == NULL) || (r->need.bytes < best->need.bytes))) {
            best = r;
        }
    }
    if (best != NULL) {
        printf("fewest bytes: SHPOOL_ALLOCATOR=%s\n", best->spec);
    }
}

static void print_trace(const char *path, const trace_file *trace)
{
    trace_sums sums;

    trace_file_sums(trace, &sums);
    printf("# %s: %s, %u threads, %u pool%s of %u bytes; %u block%s, %llu mallocs, %llu frees, "
           "%llu resizes; at most %u bytes live at once, the largest request %u\n", path,
           trace->allocator, trace->block_threads, trace->pools, (trace->pools == 1) ? "" : "s",
           trace->pool_bytes, trace->count, (trace->count == 1) ? "" : "s", sums.mallocs,
           sums.frees, sums.resizes, sums.peak_bytes, sums.largest);
    if (sums.failures != 0) {
        printf("# %llu mallocs failed as they were recorded: how long they would have lived is "
               "not known.  A replay frees what they get at once, so that the kernel may need more "
               "bytes than it says; record it with more payload_bytes, or with spill=native\n",
               sums.failures);
    }
    if (sums.dropped != 0) {
        printf("# %llu records were dropped as they were recorded: only the beginning is "
               "replayed; record with more trace_bytes, or fewer trace_blocks\n", sums.dropped);
    }
    if (sums.refused + sums.waits != 0) {
        printf("# left out: %llu refused frees, %llu attempts of shpool_malloc_wait that were "
               "repeated\n", sums.refused, sums.waits);
    }
}

static int replay(options *o, const trace_file *trace)
{
    replay_script script;
    table t = { .rows = calloc(MOST_ROWS, sizeof(*t.rows)) };
    int status;

    if ((t.rows == NULL) || (replay_script_make(trace, &script) != 0)) {
        fputs("shpool-bench: no memory for the trace\n", stderr);
        free(t.rows);
        return 1;
    }
    o->bytes = (o->bytes != 0) ? o->bytes : (script.total_bytes != 0) ? script.total_bytes
                                                                      : SHPOOL_MAX_SHARED;
    o->bytes = (o->bytes < SHPOOL_MAX_SHARED) ? o->bytes : SHPOOL_MAX_SHARED;
    print_trace(o->file, trace);
    printf("# replayed in pools of %u bytes a block%s; blocks/SM: %s\n", o->bytes,
           o->cuda ? "" : ", on the CPU block executor", o->arch);
    status = add_all(o, &script, &t);
    if (status == 0) {
        print_table(o, &t);
    }
    replay_script_free(&script);
    free(t.rows);
    if ((fflush(stdout) != 0) || ferror(stdout)) {
        fputs("shpool-bench: writing the output failed\n", stderr);
        return 1;
    }
    return (status == 0) ? 0 : 1;
}

int bench_replay(int argc, char **argv)
{
    options o = { .allocator = "all", .arch = "sm_90" };
    shpool_arch arch;
    trace_file trace;
    char text[1024];
    int stop = parse(argc, argv, &o);

    if (stop != 0) {
        return stop - 1;
    }
    tool_messages("shpool-bench");
    if (shpool_arch_find(o.arch, &arch) != SHPOOL_OK) {
        fprintf(stderr, "shpool-bench: --arch %s: %s\n", o.arch, shpool_last_error());
        return 2;
    }
    o.cuda = bench_cuda_present(text, sizeof(text));
    if ((o.device != NULL) && (strcmp(o.device, "cuda") == 0) && !o.cuda) {
        fprintf(stderr, "shpool-bench: --device cuda: %s; --device cpu works anywhere\n", text);
        return 1;
    }
    o.cuda = o.cuda && ((o.device == NULL) || (strcmp(o.device, "cuda") == 0));
    if (trace_file_read(o.file, &trace, text, sizeof(text)) != 0) {
        fprintf(stderr, "shpool-bench: %s\n", text);
        return 1;
    }
    stop = replay(&o, &trace);
    trace_file_free(&trace);
    return stop;
}
