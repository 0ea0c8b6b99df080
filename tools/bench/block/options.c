/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the command line, and the points of its sweep. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/bench/options.h"
#include "tools/bench/picture.h"
#include "block.h"
#include "workload.h"
#include "tools/message.h"

#define MOST_BYTES SHPOOL_MAX_SHARED

static void usage(FILE *to)
{
    size_t i;

    fputs("usage: shpool-bench [block] [options]\n", to);
    bench_commands(to);
    fputs("A LIST is 32,64 or 128-1024 (doubling) or 100-400:100 (steps); all combinations are\n"
          "measured.  An option that is given several times adds its values to the list.\n"
          "What is measured:\n"
          "  --device cpu|cuda       device to run on [cuda if there is a GPU, else cpu]\n"
          "  --allocator SPEC|all    allocator to measure [$SHPOOL_ALLOCATOR, else the default]\n"
          "  --skip NAME             exclude NAME from --allocator all\n"
          "  --binding LIST|all      table, inline, linked; the CPU supports only table [table]\n"
          "  --workload LIST|all     workloads to measure, as below [all]\n"
          "  --threads LIST          threads of a block, 1 to 1024 [256; cpu: 64]\n"
          "  --bytes LIST            payload of a block's pools; a suffix K stands for 1024 [46K]\n"
          "  --total LIST            instead of --bytes: shared memory that the pools fill\n"
          "  --threads-per-pool LIST threads that share a pool, for allocators of scope group;\n"
          "                          0: the allocator's choice [0]\n"
          "For the workload objects:\n"
          "  --scope LIST|all        threads that request an object together, as below [warp]\n"
          "  --median LIST           median of the sizes; the largest is 6 times that [2000]\n"
          "  --sigma X               sigma of the sizes, which are lognormal [0.8]\n"
          "  --touch LIST            1: the threads write and read all bytes; 0: none [1]\n"
          "  --allocator own_slot    the baseline: a fixed slot of the pool for each\n"
          "How it is measured:\n"
          "  -i, --iterations N      iterations of each thread [1000; cpu: 100]\n"
          "  -s, --seed N            the same seed gives the same operations [1]\n"
          "  --repeats N             launches, 1 to 101; their median is shown [7]\n"
          "  --spin-up MS            GPU: warm-up before each measurement, so that the clocks\n"
          "                          ramp up [100]\n"
          "Output:\n"
          "  --json[=FILE]           write the results as JSON, for plot and compare; without\n"
          "                          FILE to standard output, instead of the table\n"
          "  --csv[=FILE]            likewise as CSV; # lines say where and how it was measured\n"
          "  --plot FILE             draw a chart, by Python with matplotlib; the name ends in\n"
          "                          .svg, .png or .pdf\n"
          "  --help, --version\n"
          "Ctrl-C ends the run and prints the rows so far.  A terminal shows the progress.\n"
          "Workloads:\n", to);
    for (i = 0; i < BENCH_COUNT; i++) {
        fprintf(to, "  %-8s %s\n", bench_workload_at(i)->name, bench_workload_at(i)->summary);
    }
    bench_scopes(to);
    fputs("Exit status: 0; 1: a payload check or a row failed; 2: usage; 130: Ctrl-C\n", to);
}

/* One that is read by getopt_long() into `options`; nonzero: bad. */
static int take(int c, const char *option, void *options)
{
    bench_options *o = options;

    switch (c) {
    case 'd':
        o->device = optarg;
        return (bench_choice(optarg, option, bench_device_names) < 0) ? -1 : 0;
    case 'a':
        return bench_name_add(&o->allocators, option,
                              (strcmp(optarg, "own_slot") == 0) ? BENCH_OWN_SLOT : optarg);
    case 'S':
        return bench_name_add(&o->skipped, option, optarg);
    case 'b':
        return bench_choices(optarg, option, bench_binding_names, &o->bindings);
    case 'w':
        return bench_choices(optarg, option, bench_workload_names, &o->workloads);
    case 't':
        return bench_numbers(optarg, option, 1, SHPOOL_MAX_THREADS, &o->threads);
    case 'B':
        return bench_numbers(optarg, option, 16, MOST_BYTES, &o->payload_bytes);
    case 'T':
        return bench_numbers(optarg, option, 16, MOST_BYTES, &o->total_bytes);
    case 'p':
        return bench_numbers(optarg, option, 0, SHPOOL_MAX_THREADS,
                             &o->threads_per_pool);
    case 'o':
        return bench_choices(optarg, option, bench_scope_names, &o->scopes);
    case 'm':
        return bench_numbers(optarg, option, BENCH_LEAST_OBJECT, MOST_BYTES, &o->medians);
    case 'g':
        return bench_decimal(optarg, option, 0.0, 4.0, &o->sigma);
    case 'U':
        return bench_numbers(optarg, option, 0, 1, &o->touched);
    case 'i':
        return bench_number(optarg, option, 1, 100000000u, &o->iterations);
    case 's':
        return bench_number(optarg, option, 0, 0xffffffffu, &o->seed);
    case 'r':
        return bench_number(optarg, option, 1, BENCH_REPEATS, &o->repeats);
    case 'u':
        return bench_number(optarg, option, 0, 10000, &o->spin_ms);
    case 'j':
        o->json = (optarg != NULL) ? optarg : "-";
        return tool_no_name("shpool-bench", option, o->json);
    case 'c':
        o->csv = (optarg != NULL) ? optarg : "-";
        return tool_no_name("shpool-bench", option, o->csv);
    default:
        o->plot = optarg;
        return tool_no_name("shpool-bench", option, optarg) || bench_picture_check(optarg);
    }
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

static const struct option longs[] = {
    {"device", required_argument, NULL, 'd'},     {"allocator", required_argument, NULL, 'a'},
    {"skip", required_argument, NULL, 'S'},       {"binding", required_argument, NULL, 'b'},
    {"workload", required_argument, NULL, 'w'},   {"threads", required_argument, NULL, 't'},
    {"bytes", required_argument, NULL, 'B'},      {"total", required_argument, NULL, 'T'},
    {"threads-per-pool", required_argument, NULL, 'p'},
    {"scope", required_argument, NULL, 'o'},      {"median", required_argument, NULL, 'm'},
    {"sigma", required_argument, NULL, 'g'},      {"touch", required_argument, NULL, 'U'},
    {"iterations", required_argument, NULL, 'i'}, {"seed", required_argument, NULL, 's'},
    {"repeats", required_argument, NULL, 'r'},    {"spin-up", required_argument, NULL, 'u'},
    {"json", optional_argument, NULL, 'j'},       {"csv", optional_argument, NULL, 'c'},
    {"plot", required_argument, NULL, 'P'},       {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},          {NULL, 0, NULL, 0}};
static const bench_parser parser = {"shpool-bench", "i:s:h", longs, usage, take, conflicts};

int bench_options_parse(int argc, char **argv, bench_options *options)
{
    memset(options, 0, sizeof(*options));
    options->seed    = 1;
    options->repeats = 7;
    options->sigma   = 0.8;
    options->spin_ms = 100;
    options->blocks  = 2;
    return bench_parse(&parser, argc, argv, options);
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
    if (options->workloads.count == 0) {
        (void)bench_choices("all", "--workload", bench_workload_names, &options->workloads);
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
