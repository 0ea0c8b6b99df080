/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench advise: payload, allocator, threads_per_pool and blocks on an SM for the kernel of a
 * trace, without a GPU.  Each choice is planned, replayed on the executor, and estimated
 * (model.h). */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/bench/list.h"
#include "tools/json.h"
#include "tools/message.h"
#include "tools/options.h"
#include "tools/bench/names.h"
#include "file.h"
#include "model.h"
#include "replay.h"

#define MOST_ROWS  4096u
#define MOST_OPS   6000u  /* of all runs: a choice is replayed in 30 ms */
#define MOST_LANES 32768u /* that take part in them */
#define MOST_RUNS  4u
#define MANY_BLOCKS 1000u /* of a grid that is not known */
#define SM_REGISTERS 65536u
#define SPARE      1.2  /* of the peak, below which a pool is not made smaller for the cache */
#define EQUAL      1.02 /* expected times that differ less are the same */

typedef struct options {
    const char *arch;
    const char *allocator;
    uint32_t registers; /* 0: as recorded */
    int json;
} options;

/** A choice. */
typedef struct advise_row {
    shpool_pool pool;
    char     name[SHPOOL_NAME_BYTES];
    uint32_t blocks;  /* on an SM */
    uint32_t held;    /* shared memory that the SM sets apart, KiB */
    model_time time;
    double   latency;    /* expected times relative to those of the recorded pool */
    double   throughput;
    double   expected;
} advise_row;

/* The trace, and what its kernel needs. */
typedef struct job {
    const options *o;
    shpool_arch    arch;
    trace_file     trace;
    trace_sums     sums;
    replay_script  script;
    model          model;
    uint32_t       registers;
    uint32_t       most_blocks; /* on an SM, by threads and registers */
    uint32_t       own;         /* shared memory besides the pool's */
    uint32_t       grid;
    uint32_t       operations;  /* recorded; the script may have fewer */
    double         margin;      /* of the pools that are tried */
    advise_row     recorded;
    advise_row    *rows;
    uint32_t       count;
    char           left_out[256]; /* why some allocators are not in the table */
} job;

#define AT(_member) offsetof(options, _member)
static const tool_row option_rows[] = {
    {"--arch sm_NN", bench_arch, AT(arch), 0, 0, NULL, "architecture of the GPU [sm_90]"},
    {"--registers N", tool_number, AT(registers), 1, 255, NULL,
     "registers of a thread, which ptxas and cuobjdump print [as recorded]"},
    {"--allocator NAME|all", tool_text, AT(allocator), 0, 0, NULL,
     "allocator to consider [all]"},
    {"--json", tool_flag, AT(json), 1, 0, NULL,
     "print JSON, with all choices, in place of the table"},
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench advise [options] TRACE\n"
          "Says how many bytes, which allocator and threads_per_pool, and how many blocks on a\n"
          "multiprocessor (SM) suit a recorded kernel, and what each choice should cost.\n"
          "The key trace=TRACE of a spec records it (doc/PLANNING.md).  No GPU is needed.\n", to);
    tool_rows_print(to, option_rows, 24);
    fputs("Columns:\n"
          "  payload      payload_bytes for shpool_open()\n"
          "  blocks       blocks on an SM, by shared memory, threads and registers\n"
          "  calls %      of the time of a warp: in malloc and free\n"
          "  waits %      of the time of a warp: until memory is free, or another's call ends\n"
          "  latency      expected time divided by that of the recorded pool, if warps mostly\n"
          "               wait for memory: more blocks help\n"
          "  throughput   the same if the SM or the memory is busy: more blocks do not help\n"
          "  expected     the geometric mean of both, by which the table is sorted\n"
          "Exit status: 0; 1: the trace cannot be read, or no choice suits it; 2: usage\n", to);
}

static const tool_parser parser = {"shpool-bench advise", "shpool-bench", option_rows, usage, NULL,
                                   1, "one trace file is"};

/* ---- the kernel ---- */

/* The blocks on an SM that registers and threads allow.  Registers are given to warps in units of
 * 256, from those of one of four parts of the SM. */
static uint32_t most_blocks(const job *j)
{
    const uint32_t warps = (j->trace.block_threads + TRACE_WARP - 1) / TRACE_WARP;
    uint32_t most = j->arch.threads_sm / (warps * TRACE_WARP);

    if (j->registers != 0) {
        const uint32_t each = (j->registers * TRACE_WARP + 255) / 256 * 256;
        const uint32_t fit = SM_REGISTERS / 4 / each * 4 / warps;

        most = (fit < most) ? fit : most;
    }
    most = (most < j->arch.blocks_sm) ? most : j->arch.blocks_sm;
    return (most > 0) ? most : 1;
}

/* The operations at the start of a run that are replayed. */
static uint32_t replayed_of(const trace_life *life, uint32_t runs)
{
    uint32_t lanes = 0;
    uint32_t i = 0;

    for (; (i < life->count) && (i < MOST_OPS / runs) && (lanes < MOST_LANES / runs); i++) {
        lanes += (life->ops[i].members < TRACE_WARP) ? life->ops[i].members : TRACE_WARP;
    }
    return i;
}

/* Keep the start of a few runs, which is enough for an estimate. */
static void shorten(job *j)
{
    trace_file *t = &j->trace;
    const uint32_t keep = (t->count < MOST_RUNS) ? t->count : MOST_RUNS;

    for (uint32_t i = 0; i < t->count; i++) {
        trace_life *life = &t->lives[i];

        j->operations += life->count;
        j->own = (life->own > j->own) ? life->own : j->own;
        j->grid = (life->grid > j->grid) ? life->grid : j->grid;
        life->count = (i < keep) ? replayed_of(life, keep) : 0;
    }
    for (uint32_t i = keep; i < t->count; i++) {
        free(t->lives[i].ops);
    }
    t->count = keep;
}

/* What the pools of a kernel need at most, of which few were recorded. */
typedef struct demand {
    double   pools, sum, squares; /* of the recorded peaks of live bytes */
    double   most;
    uint32_t live;                /* allocations of a pool at once, at most */
} demand;

/* Add the pools of a run; -1: no memory. */
static int add_demand(const trace_file *t, const trace_life *life, uint32_t share, demand *d)
{
    const uint32_t pools = (t->block_threads + share - 1) / share;
    uint32_t *size = calloc(life->count + 1u, sizeof(*size)); /* of each allocation */
    struct { double bytes, peak; uint32_t live; } *pool = calloc(pools, sizeof(*pool));

    for (uint32_t i = 0; (size != NULL) && (pool != NULL) && (i < life->count); i++) {
        const trace_op *op = &life->ops[i];
        const uint32_t now = (op->kind != TRACE_FREE) ? op->bytes : 0;
        const uint32_t at = life->ops[op->object].thread / share;

        if ((op->kind == TRACE_SKIP) || ((op->kind == TRACE_MALLOC) && (op->end == TRACE_NONE))) {
            continue;
        }
        pool[at].bytes += (double)now - size[op->object];
        pool[at].live += (op->kind == TRACE_MALLOC) - (op->kind == TRACE_FREE);
        size[op->object] = now;
        pool[at].peak = fmax(pool[at].peak, pool[at].bytes);
        d->live = (pool[at].live > d->live) ? pool[at].live : d->live;
    }
    for (uint32_t i = 0; (pool != NULL) && (i < pools); i++) {
        d->pools += pool[i].peak > 0;
        d->sum += pool[i].peak;
        d->squares += pool[i].peak * pool[i].peak;
        d->most = fmax(d->most, pool[i].peak);
    }
    free(size);
    free(pool);
    return ((size != NULL) && (pool != NULL)) ? 0 : -1;
}

/* How much more than the recorded peak a pool of that many threads may need in some block of the
 * grid: as if peaks were normal, but no more than the largest request for each allocation. */
static int margin_of(const job *j, uint32_t share, double *margin_p)
{
    const double blocks = (j->grid > j->trace.count) ? j->grid : MANY_BLOCKS;
    demand d = { .pools = 0 };
    double mean, needs;

    *margin_p = 1;
    for (uint32_t i = 0; i < j->trace.count; i++) {
        if (add_demand(&j->trace, &j->trace.lives[i], share, &d) != 0) {
            return -1;
        }
    }
    if (d.pools > 0) {
        mean = d.sum / d.pools;
        needs = mean + sqrt(fmax(d.squares / d.pools - mean * mean, 0) *
                            2 * log(fmax(d.pools / j->trace.count * blocks, 1)));
        needs = fmin(needs, (double)d.live * j->sums.largest);
        *margin_p = fmax(needs / d.most, 1);
    }
    return 0;
}

/* ---- choices ---- */

/* The shared memory of an SM in the sizes that the rest of its memory, the L1 cache, leaves. */
static const uint32_t carveouts[] = { 228, 196, 164, 132, 100, 64, 32, 16, 8 }; /* KiB */

/* What an SM sets apart for that many bytes. */
static uint32_t kept_of_sm(uint32_t bytes)
{
    uint32_t kept = carveouts[0];

    for (size_t c = 0; c < sizeof(carveouts) / sizeof(carveouts[0]); c++) {
        kept = (bytes <= carveouts[c] * 1024u) ? carveouts[c] : kept;
    }
    return kept;
}

static uint32_t blocks_of(const job *j, const shpool_pool *pool)
{
    const uint32_t fit = shpool_blocks_per_sm(pool, &j->arch, j->own);

    return (fit < j->most_blocks) ? fit : j->most_blocks;
}

/* Plan, replay and estimate; 0: it is in *row; 1: it does not suit; -1: no memory. */
static int try_choice(job *j, const char *name, uint32_t threads_per_pool, uint32_t total,
                      advise_row *row)
{
    const replay_shape shape = { name, threads_per_pool, total };
    const replay_shape tight = { name, threads_per_pool, (uint32_t)(total / j->margin) };
    const shpool_config want = { .block_threads = j->trace.block_threads,
                                 .alignment = j->script.alignment };
    replay_tally tally;
    char spec[SHPOOL_SPEC_BYTES + 64];

    memset(row, 0, sizeof(*row));
    replay_spec(&shape, spec, sizeof(spec));
    if ((shpool_plan(spec, &want, &row->pool) != SHPOOL_OK) || (row->pool.pool_bytes == 0) ||
        (j->sums.largest > row->pool.largest)) {
        return 1;
    }
    row->blocks = blocks_of(j, &row->pool);
    row->held = kept_of_sm(row->blocks *
                           (row->pool.shared_bytes + j->own + j->arch.shared_reserved));
    if ((row->blocks == 0) ||
        (replay_cpu(&j->script, &tight, 0, &tally, NULL) != SHPOOL_OK) ||
        ((tally.failures != 0) && !j->model.waits)) {
        return 1;
    }
    snprintf(row->name, sizeof(row->name), "%s", name);
    if (model_estimate(&j->model, &row->pool, tally.failures != 0, &row->time) != 0) {
        return -1;
    }
    return (row->time.starved > 0) ? 1 : 0;
}

static void compare_with_recorded(const job *j, advise_row *row)
{
    const advise_row *r = &j->recorded;

    row->throughput = row->time.busy / r->time.busy;
    row->latency = row->time.whole / row->blocks / (r->time.whole / r->blocks);
    row->expected = sqrt(row->throughput * row->latency);
}

/* Pools of one geometry: for each number of blocks the largest that fit, and smaller ones that
 * leave the cache more.  -1: no memory. */
static int add_geometry(job *j, const char *name, uint32_t threads_per_pool)
{
    for (uint32_t blocks = 1; blocks <= j->most_blocks; blocks++) {
        for (size_t c = 0; c < sizeof(carveouts) / sizeof(carveouts[0]); c++) {
            const uint32_t kept = j->own + j->arch.shared_reserved;
            uint32_t each = j->arch.shared_sm;
            int bad;

            each = (each < carveouts[c] * 1024u) ? each : carveouts[c] * 1024u;
            each = each / blocks / 128 * 128;
            each = (each < j->arch.shared_block + j->arch.shared_reserved)
                       ? each : j->arch.shared_block + j->arch.shared_reserved;
            if ((each <= kept + j->sums.largest) || (j->count == MOST_ROWS) ||
                ((c != 0) && (each - kept < SPARE * j->sums.peak_bytes))) {
                break;
            }
            bad = try_choice(j, name, threads_per_pool, each - kept, &j->rows[j->count]);
            if (bad < 0) {
                return -1;
            }
            if (bad) {
                break; /* smaller ones do not suit either */
            }
            compare_with_recorded(j, &j->rows[j->count]);
            j->count++;
            if ((blocks < j->most_blocks) && (c == 0)) {
                break; /* more blocks use what would be left */
            }
        }
    }
    return 0;
}

static int add_allocator(job *j, const shpool_allocator *allocator)
{
    const uint32_t threads = j->trace.block_threads;
    const int group = allocator->scope == SHPOOL_SCOPE_GROUP;
    char why[256];

    for (uint32_t n = group ? 8 : threads;; n = (2 * n < threads) ? 2 * n : threads) {
        const uint32_t share = (n < threads) ? n : threads;
        const uint32_t pool = (allocator->scope == SHPOOL_SCOPE_THREAD) ? 1 : share;

        if (!replay_fits(&j->script, allocator->scope, pool, why, sizeof(why))) {
            snprintf(j->left_out, sizeof(j->left_out), "%.250s", why);
        } else if ((!j->model.waits && (margin_of(j, pool, &j->margin) != 0)) ||
                   (add_geometry(j, allocator->name, group ? share : 0) != 0)) {
            return -1;
        }
        if (share == threads) {
            return 0;
        }
    }
}

static int add_all(job *j)
{
    const shpool_allocator *allocator;
    int bad = 0;

    for (size_t i = 0; !bad && ((allocator = shpool_allocator_get(i)) != NULL); i++) {
        if (((allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) == 0) &&
            (allocator->scope != SHPOOL_SCOPE_CLUSTER) &&
            ((strcmp(j->o->allocator, "all") == 0) ||
             (strcmp(j->o->allocator, allocator->name) == 0))) {
            bad = add_allocator(j, allocator);
        }
    }
    return bad;
}

/* The recorded pool's own time, in which all others are given. */
static int estimate_recorded(job *j)
{
    const trace_file *t = &j->trace;
    advise_row *r = &j->recorded;
    const replay_shape shape = { t->allocator, (t->threads_per_pool < t->block_threads)
                                                   ? t->threads_per_pool : 0,
                                 t->pools * t->pool_bytes + SHPOOL_SLACK_BYTES(t->alignment) };
    const replay_shape other = { "bitmap", 0, SHPOOL_MAX_SHARED };
    replay_tally tally;

    /* a plugin's, or one without a pool: an allocator that can be compared */
    if (((replay_cpu(&j->script, &shape, 0, &tally, &r->pool) != SHPOOL_OK) ||
         (r->pool.pool_bytes == 0)) &&
        (replay_cpu(&j->script, &other, 0, &tally, &r->pool) != SHPOOL_OK)) {
        return -1;
    }
    r->blocks = blocks_of(j, &r->pool);
    r->blocks = (r->blocks > 0) ? r->blocks : 1;
    return model_estimate(&j->model, &r->pool, 0, &r->time);
}

/* ---- results ---- */

/* The fastest first; equal ones by the shared memory that they leave to the cache. */
static int by_time(const void *a, const void *b)
{
    const advise_row *x = a;
    const advise_row *y = b;

    return (x->expected > y->expected) - (x->expected < y->expected);
}

/* Sort, and put the one of the best that needs the least shared memory in front. */
static void rank(job *j)
{
    uint32_t best = 0;

    qsort(j->rows, j->count, sizeof(*j->rows), by_time);
    for (uint32_t i = 1;
         (i < j->count) && (j->rows[i].expected <= EQUAL * j->rows[0].expected); i++) {
        best = (j->rows[i].held < j->rows[best].held) ? i : best;
    }
    if (best != 0) {
        const advise_row row = j->rows[best];

        memmove(&j->rows[1], &j->rows[0], best * sizeof(row));
        j->rows[0] = row;
    }
}

static uint32_t payload_of(const advise_row *r)
{
    return r->pool.largest * r->pool.pools;
}

static void spec_of(const advise_row *r, char *text, size_t bytes)
{
    const replay_shape shape = { r->name, (r->pool.scope == SHPOOL_SCOPE_GROUP)
                                              ? r->pool.threads_per_pool : 0,
                                 r->pool.shared_bytes };

    replay_spec(&shape, text, bytes);
}

static double waits_of(const advise_row *r)
{
    return 100 * (r->time.whole - r->time.busy) / r->time.whole;
}

static void print_row(uint32_t number, const advise_row *r)
{
    printf("%4u %-18s %7u %8u %6u %8.1f %8.1f %8.2f %10.2f %8.2f\n", number, r->name,
           r->pool.threads_per_pool, payload_of(r), r->blocks,
           100 * r->time.calls / r->time.whole, waits_of(r), r->latency, r->throughput,
           r->expected);
}

/* Whether a better row has the same geometry. */
static int is_repeated(const job *j, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        if ((strcmp(j->rows[k].name, j->rows[i].name) == 0) &&
            (j->rows[k].pool.threads_per_pool == j->rows[i].pool.threads_per_pool)) {
            return 1;
        }
    }
    return 0;
}

static void print_facts(const job *j)
{
    printf("# %s: %s, %u threads; %u operations, of which %u were replayed; at most %u bytes live "
           "at once, the largest request %u\n", j->trace.path, j->trace.allocator,
           j->trace.block_threads, j->operations, j->script.count, j->sums.peak_bytes,
           j->sums.largest);
    if (j->grid != 0) {
        printf("# grid of %u blocks; %u bytes of shared memory besides the pool's\n", j->grid,
               j->own);
    }
    if (j->registers == 0) {
        printf("# registers are not known: at most %u blocks fit by threads, perhaps fewer; launch "
               "with shpool_launch(), or give --registers\n", j->most_blocks);
    } else {
        printf("# %u registers: at most %u blocks on an SM of %s\n", j->registers, j->most_blocks,
               j->o->arch);
    }
    if (!j->model.timed) {
        printf("# no times: recorded on the executor, or before version 3; %.0f cycles are assumed "
               "between calls, so the order of allocators is known, not what they are worth\n",
               MODEL_BLIND_CYCLES);
    }
    if (j->model.timed && (j->recorded.pool.scope == SHPOOL_SCOPE_GROUP)) {
        printf("# the times contain waits for the lock of %s: record with bitmap\n",
               j->trace.allocator);
    }
    if (j->sums.failures != 0) {
        printf("# %llu request%s failed%s\n", j->sums.failures, bench_s(j->sums.failures),
               j->model.waits ? "" : ": record with more payload_bytes, the kernel may need more");
    }
    printf(j->model.waits ? "# requests can wait: less memory than the peak is possible\n"
                          : "# requests do not wait: choices with which one fails are left out\n");
    if (j->left_out[0] != '\0') {
        printf("# some allocators cannot serve it: %s\n", j->left_out);
    }
}

static void print_table(job *j)
{
    char spec[SHPOOL_SPEC_BYTES + 64];
    uint32_t number = 0;

    print_facts(j);
    printf("%4s %-18s %7s %8s %6s %8s %8s %8s %10s %8s\n", "rank", "allocator", "thr/pool",
           "payload", "blocks", "calls %", "waits %", "latency", "throughput", "expected");
    for (uint32_t i = 0; i < j->count; i++) {
        if (!is_repeated(j, i)) {
            print_row(++number, &j->rows[i]);
        }
    }
    spec_of(&j->rows[0], spec, sizeof(spec));
    printf("SHPOOL_ALLOCATOR=%s\n", spec);
    if (j->rows[0].blocks != j->recorded.blocks) {
        printf("a trace does not show whether more blocks help: if the SM or the memory is busy "
               "already, expect the column throughput\n");
    }
}

static void put_row(tool_json *json, const char *name, const advise_row *r)
{
    char spec[SHPOOL_SPEC_BYTES + 64];

    spec_of(r, spec, sizeof(spec));
    tool_json_open(json, name, '{');
    tool_json_text(json, "allocator", r->name);
    tool_json_text(json, "spec", spec);
    tool_json_integer(json, "threads_per_pool", r->pool.threads_per_pool);
    tool_json_integer(json, "payload_bytes", payload_of(r));
    tool_json_integer(json, "shared_bytes", r->pool.shared_bytes);
    tool_json_integer(json, "blocks", r->blocks);
    tool_json_real(json, "calls_percent", 100 * r->time.calls / r->time.whole, 4);
    tool_json_real(json, "waits_percent", waits_of(r), 4);
    tool_json_real(json, "latency", r->latency, 5);
    tool_json_real(json, "throughput", r->throughput, 5);
    tool_json_real(json, "expected", r->expected, 5);
    tool_json_close(json);
}

static void print_json(const job *j)
{
    tool_json json = tool_json_begin(stdout);

    tool_json_text(&json, "kind", "shpool-bench advise");
    tool_json_integer(&json, "format", 1);
    tool_json_text(&json, "trace", j->trace.path);
    tool_json_text(&json, "arch", j->o->arch);
    tool_json_integer(&json, "registers", j->registers);
    tool_json_integer(&json, "most_blocks", j->most_blocks);
    tool_json_boolean(&json, "timed", j->model.timed != 0);
    tool_json_boolean(&json, "waits", j->model.waits != 0);
    tool_json_open(&json, "choices", '[');
    for (uint32_t i = 0; i < j->count; i++) {
        put_row(&json, NULL, &j->rows[i]);
    }
    tool_json_end(&json, 0);
}

static int no_memory(void)
{
    fputs("shpool-bench: no memory for the trace\n", stderr);
    return 1;
}

/* The trace is read. */
static int advise(job *j)
{
    trace_file_sums(&j->trace, &j->sums);
    shorten(j);
    j->registers = (j->o->registers != 0) ? j->o->registers : j->trace.registers;
    j->most_blocks = most_blocks(j);
    j->rows = calloc(MOST_ROWS, sizeof(*j->rows));
    if ((j->rows == NULL) || (replay_script_make(&j->trace, &j->script) != 0)) {
        return no_memory();
    }
    j->script.spent = calloc(j->script.count + 1u, sizeof(*j->script.spent));
    if ((j->script.spent == NULL) || (model_make(&j->trace, &j->script, &j->model) != 0) ||
        (estimate_recorded(j) != 0) || (add_all(j) != 0)) {
        return no_memory();
    }
    if ((j->count == 0) || !(j->recorded.time.busy > 0)) {
        tool_say("shpool-bench: %s: no pool of %s serves these requests%s%s; %s\n", j->trace.path,
                 j->o->arch, (j->left_out[0] != '\0') ? ": " : "", j->left_out,
                 j->model.waits ? "a producer of stages uses all memory that it gets: record with "
                                  "the pool that you consider"
                                : "shpool-bench replay says what each allocator needs");
        return 1;
    }
    rank(j);
    if (j->o->json) {
        print_json(j);
    } else {
        print_table(j);
    }
    return 0;
}

int bench_advise(int argc, char **argv)
{
    options o = { .arch = "sm_90", .allocator = "all" };
    job j = { .o = &o, .margin = 1 };
    const shpool_allocator *found;
    int stop = trace_command_begin(&parser, argc, argv, &o, &j.trace);

    if (stop != 0) {
        return stop - 1;
    }
    (void)shpool_arch_find(o.arch, &j.arch);
    if ((strcmp(o.allocator, "all") != 0) &&
        (shpool_allocator_find(o.allocator, &found) != SHPOOL_OK)) {
        tool_say("shpool-bench: --allocator %s: %s\n", o.allocator, shpool_last_error());
        stop = 2;
    }
    stop = (stop == 0) ? advise(&j) : stop;
    model_free(&j.model);
    free(j.script.spent);
    replay_script_free(&j.script);
    trace_file_free(&j.trace);
    free(j.rows);
    return stop;
}
