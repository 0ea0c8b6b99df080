/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench replay: which allocator, and which geometry, suits the kernel of a trace. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tools/bench/gpu.h"
#include "tools/bench/list.h"
#include "tools/bench/names.h"
#include "tools/options.h"
#include "tools/message.h"
#include "file.h"
#include "replay.h"
#include "replay_table.h"

#define MOST_ROWS 1024u

#define AT(_member) offsetof(replay_options, _member)
static const tool_row option_rows[] = {
    {"--allocator SPEC|all", tool_text, AT(allocator), 0, 0, NULL,
     "allocator that replays the recording [all]"},
    {"--threads-per-pool LIST", bench_numbers, AT(threads_per_pool), 1, SHPOOL_MAX_THREADS, NULL,
     "threads that share a pool, for allocators of scope group\n"
     "[8, 16, ... all]"},
    {"--bytes B[K]", bench_bytes, AT(bytes), 16, SHPOOL_MAX_SHARED, NULL,
     "shared memory of all pools of a block [as recorded]"},
    {"--device cpu|cuda", bench_choice, AT(device), 0, 0, bench_device_names,
     "device to run on [cuda if there is a GPU, else cpu]"},
    {"--arch sm_NN", bench_arch, AT(arch), 0, 0, NULL,
     "architecture for which blocks/SM is computed [sm_90]"},
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench replay [options] TRACE\n"
          "Replays the requests of a recorded kernel with other allocators, and ranks them.\n"
          "The key trace=TRACE of a spec records them (doc/TRACE.md).\n", to);
    tool_rows_print(to, option_rows, 27);
    fputs("Columns:\n"
          "  failed     requests that failed with --bytes, in the recorded order\n"
          "  needs      least bytes of all pools with which no request fails in that order\n"
          "  blocks/SM  blocks that a multiprocessor holds with these bytes, as far as shared\n"
          "             memory and threads decide\n"
          "  cycles     cycles of a call on the GPU with --bytes, threads running freely; n/a on\n"
          "             the CPU\n"
          "  fails GPU  requests that failed there, and\n"
          "  at needs   with the least bytes: calls that overlap may need more\n"
          "On a GPU the allocators without failures are first, and those with fewer cycles\n"
          "before others.  Without a GPU the speed is not known: more blocks/SM come first, then\n"
          "fewer failures; allocators equal in both have one rank, and within it those that need\n"
          "fewer bytes come first.  The last line names the spec that needs the fewest bytes,\n"
          "fast or not.\n"
          "Exit status: 0; 1: the trace cannot be read, or a run failed; 2: usage\n", to);
}

static const tool_parser parser = {"shpool-bench replay", "shpool-bench", option_rows, usage, NULL,
                                   1, "one trace file is"};

/* ---- measuring ---- */

/* The blocks that an SM holds with the least bytes. */
static uint32_t blocks_of(const replay_script *script, const char *spec, const shpool_arch *arch)
{
    shpool_config want = { .block_threads = script->block_threads,
                           .alignment = script->alignment };
    shpool_pool pool;

    return (shpool_plan(spec, &want, &pool) == SHPOOL_OK) ? shpool_blocks_per_sm(&pool, arch, 0)
                                                          : 0;
}

static void measure_gpu(const replay_script *script, replay_shape shape, replay_row *r)
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

static void measure(const replay_options *o, const replay_script *script, replay_shape shape,
                    replay_row *r)
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

/* A row for a spec; threads_per_pool 0: the spec's own. */
static void add_row(const replay_options *o, const replay_script *script, const char *spec,
                    uint32_t threads_per_pool, replay_table *t)
{
    shpool_config want = { .block_threads = script->block_threads, .alignment = script->alignment,
                           .total_bytes = SHPOOL_MAX_SHARED };
    replay_shape shape = { spec, threads_per_pool, o->bytes };
    shpool_pool pool;
    char text[SHPOOL_SPEC_BYTES + 64];
    replay_row *r = &t->rows[t->count];

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

/* A row for each of --threads-per-pool. */
static void add_asked(const replay_options *o, const replay_script *script, const char *spec,
                      replay_table *t)
{
    for (size_t i = 0; i < o->threads_per_pool.count; i++) {
        add_row(o, script, spec, o->threads_per_pool.value[i], t);
    }
}

/* For scope group several geometries, if the spec does not name one. */
static void add_allocator(const replay_options *o, const replay_script *script,
                          const shpool_allocator *allocator, replay_table *t)
{
    if (allocator->scope != SHPOOL_SCOPE_GROUP) {
        add_row(o, script, allocator->name, 0, t);
    } else if (o->threads_per_pool.count != 0) {
        add_asked(o, script, allocator->name, t);
    } else {
        for (uint32_t n = 8; n < script->block_threads; n *= 2) {
            add_row(o, script, allocator->name, n, t);
        }
        add_row(o, script, allocator->name, script->block_threads, t);
    }
}

/* Whether --allocator names an existing allocator with existing options; if not, stderr says
 * so. */
static int check_allocator(const char *spec)
{
    shpool_config want = { .block_threads = 1, .total_bytes = SHPOOL_MAX_SHARED };
    shpool_pool pool;
    shpool_status status = SHPOOL_OK;

    if (strcmp(spec, "all") != 0) {
        status = shpool_plan(spec, &want, &pool);
    }
    if ((status == SHPOOL_ERR_NOT_FOUND) || (status == SHPOOL_ERR_SPEC)) {
        tool_say("shpool-bench: --allocator %s: %s\n", spec, shpool_last_error());
        return -1;
    }
    return 0;
}

static void add_all(const replay_options *o, const replay_script *script, replay_table *t)
{
    const shpool_allocator *allocator;

    if (strcmp(o->allocator, "all") == 0) {
        for (size_t i = 0; i < shpool_allocator_count(); i++) {
            allocator = shpool_allocator_get(i);
            if ((allocator->caps & SHPOOL_CAP_NONE) == 0) {
                add_allocator(o, script, allocator, t);
            }
        }
    } else if (strpbrk(o->allocator, ":|") == NULL) {
        (void)shpool_allocator_find(o->allocator, &allocator); /* check_allocator() found it */
        add_allocator(o, script, allocator, t);
    } else if (o->threads_per_pool.count != 0) {
        add_asked(o, script, o->allocator, t);
    } else {
        add_row(o, script, o->allocator, 0, t);
    }
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%-60s\r", "");
    }
}

/* ---- the command ---- */

static void print_trace(const trace_file *trace)
{
    trace_sums sums;

    trace_file_sums(trace, &sums);
    printf("# %s: %s, %u threads, %u pool%s of %u bytes; %u block%s, %llu malloc%s, %llu free%s, "
           "%llu resize%s; at most %u bytes live at once, the largest request %u\n", trace->path,
           trace->allocator, trace->block_threads, trace->pools, bench_s(trace->pools),
           trace->pool_bytes, trace->count, bench_s(trace->count), sums.mallocs,
           bench_s(sums.mallocs), sums.frees, bench_s(sums.frees), sums.resizes,
           bench_s(sums.resizes), sums.peak_bytes, sums.largest);
    if (sums.failures != 0) {
        printf("# %llu malloc%s failed while they were recorded, so their lifetimes are unknown.  "
               "The replay frees their memory at once, and the kernel may need more bytes than it "
               "says; record it again with more payload_bytes, or with spill=native\n",
               sums.failures, bench_s(sums.failures));
    }
    if (sums.dropped != 0) {
        printf("# %llu records were dropped while the kernel ran: only the beginning is replayed; "
               "record it again with more trace_bytes, or fewer trace_blocks\n", sums.dropped);
    }
    if (sums.groups != 0) {
        printf("# %llu call%s of groups, each of which as many lanes of a warp replay together\n",
               sums.groups, bench_s(sums.groups));
    }
    if (sums.refused + sums.waits != 0) {
        printf("# left out: %llu refused frees, %llu attempts of shpool_malloc_wait that were "
               "repeated\n", sums.refused, sums.waits);
    }
}

static int replay(replay_options *o, const trace_file *trace)
{
    replay_script script;
    replay_table t = { .rows = calloc(MOST_ROWS, sizeof(*t.rows)) };

    if ((t.rows == NULL) || (replay_script_make(trace, &script) != 0)) {
        fputs("shpool-bench: no memory for the trace\n", stderr);
        free(t.rows);
        return 1;
    }
    o->bytes = (o->bytes != 0) ? o->bytes : (script.total_bytes != 0) ? script.total_bytes
                                                                      : SHPOOL_MAX_SHARED;
    o->bytes = (o->bytes < SHPOOL_MAX_SHARED) ? o->bytes : SHPOOL_MAX_SHARED;
    print_trace(trace);
    printf("# replayed in pools of %u bytes a block%s; blocks/SM: %s\n", o->bytes,
           o->cuda ? "" : ", on the CPU block executor", o->arch);
    add_all(o, &script, &t);
    replay_table_print(o, &t);
    replay_script_free(&script);
    free(t.rows);
    return 0;
}

int bench_replay(int argc, char **argv)
{
    replay_options o = { .allocator = "all", .arch = "sm_90", .device = BENCH_ANY_DEVICE };
    trace_file trace;
    char text[1024];
    int stop = trace_command_begin(&parser, argc, argv, &o, &trace);

    if (stop != 0) {
        return stop - 1;
    }
    stop = 1;
    if (check_allocator(o.allocator) == 0) {
        o.cuda = bench_choose_device(o.device, text, sizeof(text));
        stop = (o.cuda >= 0) ? replay(&o, &trace) : 1;
    }
    trace_file_free(&trace);
    return stop;
}
