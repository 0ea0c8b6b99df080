/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the command line, and the points of its sweep. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/options.h"
#include "tools/bench/picture.h"
#include "block.h"
#include "workload.h"
#include "tools/message.h"

#define MOST_BYTES SHPOOL_MAX_SHARED

static int take_allocators(const tool_given *given, void *field)
{
    bench_names *names = field;
    const int bad = bench_specs(given, names);

    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->name[i], "own_slot") == 0) {
            names->name[i] = BENCH_OWN_SLOT;
        }
    }
    return bad;
}

static int take_picture(const tool_given *given, void *field)
{
    return tool_file(given, field) || bench_picture_check(given->value);
}

#define AT(_member) offsetof(bench_options, _member)
static const tool_row option_rows[] = {
    TOOL_LINE("What is measured:"),
    {"--device cpu|cuda", bench_choice, AT(device), 0, 0, bench_device_names,
     "device to run on [cuda if there is a GPU, else cpu]"},
    {"--allocator LIST|all", take_allocators, AT(allocators), 0, 0, NULL,
     "allocators to measure [$SHPOOL_ALLOCATOR, else the default]"},
    {"--skip LIST", bench_specs, AT(skipped), 0, 0, NULL, "exclude these from --allocator all"},
    {"--binding LIST|all", bench_choices, AT(bindings), 0, 0, bench_binding_names,
     "table, inline, linked; the CPU supports only table [table]"},
    {"--workload LIST|all", bench_choices, AT(workloads), 0, 0, bench_workload_names,
     "workloads to measure, as below [all]"},
    {"--threads LIST", bench_numbers, AT(threads), 1, SHPOOL_MAX_THREADS, NULL,
     "threads of a block, 1 to 1024 [256; cpu: 64]"},
    {"--bytes LIST", bench_numbers, AT(payload_bytes), 16, MOST_BYTES, NULL,
     "payload of a block's pools; a suffix K stands for 1024 [46K]"},
    {"--total LIST", bench_numbers, AT(total_bytes), 16, MOST_BYTES, NULL,
     "instead of --bytes: shared memory that the pools fill"},
    {"--threads-per-pool LIST", bench_numbers, AT(threads_per_pool), 0, SHPOOL_MAX_THREADS, NULL,
     "threads that share a pool, for allocators of scope group;\n"
     "0: the allocator's choice [0]"},
    TOOL_LINE("For the workload objects:"),
    {"--scope LIST|all", bench_choices, AT(scopes), 0, 0, bench_scope_names,
     "threads that request an object together, as below [warp]"},
    {"--median LIST", bench_numbers, AT(medians), BENCH_LEAST_OBJECT, MOST_BYTES, NULL,
     "median of the sizes; the largest is 6 times that [2000]"},
    {"--sigma X", bench_decimal, AT(sigma), 0.0, 4.0, NULL,
     "sigma of the sizes, which are lognormal [0.8]"},
    {"--touch LIST", bench_numbers, AT(touched), 0, 1, NULL,
     "1: the threads write and read all bytes; 0: none [1]"},
    TOOL_LINE("  --allocator own_slot    the baseline: a fixed slot of the pool for each"),
    TOOL_LINE("How it is measured:"),
    {"-i, --iterations N", tool_number, AT(iterations), 1, 100000000, NULL,
     "iterations of each thread [1000; cpu: 100]"},
    {"-s, --seed N", tool_number, AT(seed), 0, 0xffffffffu, NULL,
     "the same seed gives the same operations [1]"},
    {"--repeats N", tool_number, AT(repeats), 1, BENCH_REPEATS, NULL,
     "launches, 1 to 101; their median is shown [7]"},
    {"--spin-up MS", tool_number, AT(spin_ms), 0, 10000, NULL,
     "GPU: warm-up before each measurement, so that the clocks\n"
     "ramp up [100]"},
    TOOL_LINE("Output:"),
    {"--json[=FILE]", bench_output, AT(json), 0, 0, NULL,
     "write the results as JSON, for plot and compare; without\n"
     "FILE to standard output, instead of the table"},
    {"--csv[=FILE]", bench_output, AT(csv), 0, 0, NULL,
     "likewise as CSV; # lines say where and how it was measured"},
    {"--plot FILE", take_picture, AT(plot), 0, 0, NULL,
     "draw a chart, by Python with matplotlib; the name ends in\n"
     ".svg, .png or .pdf"},
    TOOL_LINE("  --help, --version"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench [block] [options]\n", to);
    bench_commands(to);
    fputs("A LIST is 32,64 or 128-1024 (doubling) or 100-400:100 (steps); all combinations are\n"
          "measured.  An option that is given several times adds its values to the list.\n", to);
    tool_rows_print(to, option_rows, 26);
    fputs("Ctrl-C ends the run and prints the rows so far.  A terminal shows the progress.\n"
          "Workloads:\n", to);
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        fprintf(to, "  %-8s %s\n", bench_workload_at(i)->name, bench_workload_at(i)->summary);
    }
    bench_scopes(to);
    fputs("Exit status: 0; 1: a payload check or a row failed; 2: usage; 130: Ctrl-C\n", to);
}

static int has_name(const bench_names *names, const char *name)
{
    size_t i;

    for (i = 0; i < names->count; i++) {
        if (strcmp(names->name[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* --skip leaves names out of --allocator all; 1: one has no effect, and stderr says why. */
static int skips_asked(const bench_options *options)
{
    size_t i;

    for (i = 0; i < options->skipped.count; i++) {
        const char *name = options->skipped.name[i];

        if (has_name(&options->allocators, name)) {
            tool_say("shpool-bench: --skip %s contradicts --allocator %s; give one\n", name,
                     name);
            return 1;
        }
        if (!has_name(&options->allocators, "all")) {
            tool_say("shpool-bench: --skip %s leaves an allocator out of --allocator all, "
                     "which is not given\n", name);
            return 1;
        }
    }
    return 0;
}

/* Check for conflicting options; nonzero: reported to stderr. */
static int conflicts(int argc, char **argv, void *options)
{
    const bench_options *o = options;

    if (optind < argc) {
        tool_say("shpool-bench: unexpected argument \"%s\"%s\n", argv[optind],
                 (((o->json != NULL) && (strcmp(o->json, "-") == 0)) ||
                  ((o->csv != NULL) && (strcmp(o->csv, "-") == 0)))
                     ? "; a file is written --json=FILE or --csv=FILE" : "");
        return 1;
    }
    if ((o->payload_bytes.count != 0) && (o->total_bytes.count != 0)) {
        fputs("shpool-bench: --bytes (payload) and --total (payload and metadata) exclude each "
              "other; give one\n", stderr);
        return 1;
    }
    if ((o->json != NULL) && (o->csv != NULL) && (strcmp(o->json, o->csv) == 0)) {
        tool_say("shpool-bench: --json and --csv both go to %s; give one a FILE\n",
                 (strcmp(o->json, "-") == 0) ? "stdout" : o->json);
        return 1;
    }
    return skips_asked(o);
}

static const tool_parser parser = {"shpool-bench", "shpool-bench", option_rows, usage, conflicts, 0,
                                   NULL};

int bench_options_parse(int argc, char **argv, bench_options *options)
{
    memset(options, 0, sizeof(*options));
    options->device  = BENCH_ANY_DEVICE;
    options->seed    = 1;
    options->repeats = 7;
    options->sigma   = 0.8;
    options->spin_ms = 100;
    options->blocks  = 2;
    return tool_parse(&parser, argc, argv, options);
}

/* ---- the rest, once the device is known ---- */

/* `all` becomes the names in the registry. */
static int expand_allocators(bench_options *options)
{
    const bench_names given = options->allocators;
    size_t i;
    size_t a;
    int    bad = 0;

    options->allocators.count = 0;
    for (i = 0; !bad && (i < given.count); i++) {
        if (strcmp(given.name[i], "all") != 0) {
            bad = bench_name_add(&options->allocators, "--allocator", given.name[i]);
            continue;
        }
        for (a = 0; !bad && (a < shpool_allocator_count()); a++) {
            const char *name = shpool_allocator_get(a)->name;

            if (!has_name(&options->skipped, name)) {
                bad = bench_name_add(&options->allocators, "--allocator all", name);
            }
        }
    }
    if (!bad && (given.count != 0) && (options->allocators.count == 0)) {
        fputs("shpool-bench: --skip leaves no allocator of --allocator all\n", stderr);
        bad = -1;
    }
    return bad;
}

/* An unknown name in --skip would have no effect and no message. */
static int check_skipped(const bench_options *options)
{
    const shpool_allocator *allocator;
    size_t i;

    for (i = 0; i < options->skipped.count; i++) {
        if (shpool_allocator_find(options->skipped.name[i], &allocator) != SHPOOL_OK) {
            tool_say("shpool-bench: --skip %s: %s\n", options->skipped.name[i],
                     shpool_last_error());
            return -1;
        }
    }
    return 0;
}

static void set_default(bench_list *list, uint32_t value)
{
    if (list->count == 0) {
        list->value[list->count++] = value;
    }
}

int bench_options_complete(bench_options *options, int cuda)
{
    if ((check_skipped(options) != 0) || (expand_allocators(options) != 0)) {
        return -1;
    }
    set_default(&options->bindings, BENCH_TABLE);
    set_default(&options->threads, cuda ? 256 : 64);
    set_default(&options->threads_per_pool, 0);
    set_default(&options->scopes, BENCH_SCOPE_warp);
    set_default(&options->medians, 2000);
    set_default(&options->touched, 1);
    if (options->total_bytes.count == 0) {
        set_default(&options->payload_bytes, 46u * 1024u);
    }
    for (uint32_t i = 0, all = options->workloads.count == 0; all && (i < BENCH_COUNT); i++) {
        (void)bench_list_add(&options->workloads, i);
    }
    if (options->iterations == 0) {
        options->iterations = cuda ? 1000 : 100;
    }
    return 0;
}

/* ---- the sweep ---- */

static const bench_list *sizes(const bench_options *options)
{
    return (options->total_bytes.count != 0) ? &options->total_bytes : &options->payload_bytes;
}

static size_t spec_count(const bench_options *options)
{
    return (options->allocators.count != 0) ? options->allocators.count : 1;
}

static size_t points_of(const bench_options *options, uint32_t workload)
{
    return (workload == BENCH_objects)
               ? options->scopes.count * options->medians.count * options->touched.count : 1;
}

size_t bench_workload_points(const bench_options *options)
{
    size_t points = 0;
    size_t i;

    for (i = 0; i < options->workloads.count; i++) {
        points += points_of(options, options->workloads.value[i]);
    }
    return points;
}

size_t bench_points(const bench_options *options)
{
    return options->threads.count * sizes(options)->count * options->threads_per_pool.count *
           spec_count(options) * options->bindings.count * bench_workload_points(options);
}

/* The digit of *index to the base `count`; *index is what remains. */
static size_t digit(size_t *index, size_t count)
{
    const size_t value = *index % count;

    *index /= count;
    return value;
}

/* The workload of a point, among those that differ only in the workload. */
static void set_workload(const bench_options *options, size_t index, bench_point *point)
{
    const bench_list *workloads = &options->workloads;
    size_t            i;

    for (i = 0; index >= points_of(options, workloads->value[i]); i++) {
        index -= points_of(options, workloads->value[i]);
    }
    point->workload = workloads->value[i];
    point->scope    = 0;
    point->median   = 0;
    point->touched  = 0;
    if (point->workload == BENCH_objects) {
        point->touched = options->touched.value[digit(&index, options->touched.count)];
        point->median  = options->medians.value[digit(&index, options->medians.count)];
        point->scope   = options->scopes.value[digit(&index, options->scopes.count)];
    }
}

void bench_point_config(const bench_point *point, shpool_config *want)
{
    memset(want, 0, sizeof(*want));
    want->block_threads    = point->threads;
    want->payload_bytes    = point->payload_bytes;
    want->total_bytes      = point->total_bytes;
    want->threads_per_pool = point->threads_per_pool;
}

/* A spec's own size counts, not that of the sweep. */
static void apply_spec(bench_point *point)
{
    shpool_selection selection;
    shpool_config    want;

    bench_point_config(point, &want);
    if (shpool_select(point->spec, &want, &selection) == SHPOOL_OK) { /* not the baseline's */
        point->payload_bytes = want.payload_bytes;
        point->total_bytes   = want.total_bytes;
    }
}

void bench_point_at(const bench_options *options, size_t index, bench_point *point)
{
    const bench_names *specs = &options->allocators;
    const bench_list  *size  = sizes(options);
    uint32_t           bytes;
    size_t             spec;

    set_workload(options, digit(&index, bench_workload_points(options)), point);
    point->binding =
        (bench_binding_id)options->bindings.value[digit(&index, options->bindings.count)];
    spec            = digit(&index, spec_count(options));
    point->spec     = (specs->count != 0) ? specs->name[spec] : NULL;
    point->threads_per_pool =
        options->threads_per_pool.value[digit(&index, options->threads_per_pool.count)];
    bytes                = size->value[digit(&index, size->count)];
    point->payload_bytes = (size == &options->payload_bytes) ? bytes : 0;
    point->total_bytes   = (size == &options->payload_bytes) ? 0 : bytes;
    point->threads       = options->threads.value[digit(&index, options->threads.count)];
    apply_spec(point);
}
