/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the workloads over the allocators, on a GPU or on the CPU block executor. */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/internal.h"
#include "bench.h"
#include "bench_workload.h"
#include "message.h"

#if !HAVE_CUDA_DEVICE
int bench_cuda_present(char *text, size_t bytes)
{
    snprintf(text, bytes, "this build has no CUDA (--without-cuda)");
    return 0;
}

int bench_cuda_row(const bench_options *options, const char *spec, const char *binding,
                   size_t workload, bench_row *row)
{
    (void)options;
    (void)spec;
    (void)binding;
    (void)workload;
    snprintf(row->note, sizeof(row->note), "this build has no CUDA");
    return -1;
}
#endif

static const char *const workloads[][2] = {
#define BENCH_NAME(_name, _summary) {#_name, _summary},
    BENCH_WORKLOADS(BENCH_NAME)
#undef BENCH_NAME
};

const char *bench_workload_name(size_t index)
{
    return (index < BENCH_COUNT) ? workloads[index][0] : NULL;
}

void bench_row_init(bench_row *row, const char *allocator, const char *binding,
                    const char *workload, const shpool_pool *pool)
{
    memset(row, 0, sizeof(*row));
    snprintf(row->allocator, sizeof(row->allocator), "%s", allocator);
    snprintf(row->binding, sizeof(row->binding), "%s", binding);
    snprintf(row->workload, sizeof(row->workload), "%s", workload);
    row->registers   = -1;
    row->cycles      = -1.0;
    row->gops        = -1.0;
    row->failed      = -1.0;
    row->utilisation = -1.0;
    if (pool != NULL) {
        row->threads      = pool->block_threads;
        row->pools        = pool->pools;
        row->shared_bytes = pool->shared_bytes;
    }
}

int bench_row_missing(bench_row *row, size_t workload, const shpool_pool *pool)
{
    const char *why = NULL;

    if ((workload == BENCH_ramp) && ((pool->flags & SHPOOL_FLAG_SPILL) != 0)) {
        why = "has no pool to fill";
    } else if (BENCH_BOXES(workload) && (pool->scope < SHPOOL_SCOPE_BLOCK)) {
        why = "a thread of another warp may not free here";
    } else if (BENCH_BOXES(workload) && ((pool->flags & SHPOOL_FLAG_SPILL) != 0)) {
        why = "hands over shared memory only";
    } else if (BENCH_BOXES(workload) &&
               (pool->shared_bytes + BENCH_BOX_BYTES(workload, pool->block_threads) >
                SHPOOL_MAX_SHARED)) {
        why = "no room for two letter boxes of 4 bytes a thread beside the pool";
    } else {
        return 0;
    }
    snprintf(row->note, sizeof(row->note), "n/a: %s", why);
    return 1;
}

static void usage(FILE *to)
{
    size_t i;

    fputs("usage: shpool-bench [block] [options]\n", to);
    bench_commands(to);
    fputs("options of block:\n"
          "  --device cpu|cuda        default: cuda if there is a GPU, else cpu\n"
          "  --allocator SPEC|all     default: $SHPOOL_ALLOCATOR, else the build's default\n"
          "  --binding table|inline|linked|all   default: table; the CPU has table only\n"
          "  --workload NAME|all      default: all\n"
          "  --threads N              threads of a block, 1 to 1024 [256; cpu: 64]\n"
          "  --bytes B[K]             payload of a block's pools [46K]\n"
          "  -i N                     iterations per thread [1000; cpu: 100]\n"
          "  -s SEED                  same seed, same operations [1]\n"
          "  --json                   one JSON document instead of the table\n"
          "  --help, --version\n"
          "workloads:\n", to);
    for (i = 0; i < BENCH_COUNT; i++) {
        fprintf(to, "  %-6s  %s\n", workloads[i][0], workloads[i][1]);
    }
    fputs("exit status: 0; 1: a payload check or a run failed; 2: usage\n", to);
}

int bench_number(const char *text, const char *option, uint32_t low, uint32_t high,
                 uint32_t *value)
{
    uint64_t n;

    if (!shpool_spec_number(text, 1, &n) || (n < low) || (n > high)) {
        fprintf(stderr, "shpool-bench: %s %s: a number from %u to %u is needed; it may end in K, M "
                "or G\n", option, text, (unsigned)low, (unsigned)high);
        return -1;
    }
    *value = (uint32_t)n;
    return 0;
}

static int one_of(const char *text, const char *option, const char *const *values)
{
    const char *const *v;

    for (v = values; *v != NULL; v++) {
        if (strcmp(*v, text) == 0) {
            return 0;
        }
    }
    fprintf(stderr, "shpool-bench: %s %s: known are", option, text);
    for (v = values; *v != NULL; v++) {
        fprintf(stderr, " %s", *v);
    }
    fputc('\n', stderr);
    return -1;
}

/* 0: go on; else exit status + 1. */
static int parse(int argc, char **argv, bench_options *options)
{
    static const struct option longs[] = {
        {"device", required_argument, NULL, 'd'},    {"allocator", required_argument, NULL, 'a'},
        {"binding", required_argument, NULL, 'b'},   {"workload", required_argument, NULL, 'w'},
        {"threads", required_argument, NULL, 't'},   {"bytes", required_argument, NULL, 'B'},
        {"iterations", required_argument, NULL, 'i'}, {"seed", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},            {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},         {NULL, 0, NULL, 0}};
    static const char *const devices[]  = {"cpu", "cuda", NULL};
    static const char *const bindings[] = {"table", "inline", "linked", "all", NULL};
    const char *names[BENCH_COUNT + 2];
    int         bad = 0;
    int         c;
    size_t      i;

    for (i = 0; i < BENCH_COUNT; i++) {
        names[i] = workloads[i][0];
    }
    names[BENCH_COUNT]     = "all";
    names[BENCH_COUNT + 1] = NULL;
    while (!bad && ((c = getopt_long(argc, argv, "i:s:h", longs, NULL)) != -1)) {
        switch (c) {
        case 'd':
            options->device = optarg;
            bad = one_of(optarg, "--device", devices);
            break;
        case 'a':
            options->allocator = optarg;
            break;
        case 'b':
            options->binding = optarg;
            bad = one_of(optarg, "--binding", bindings);
            break;
        case 'w':
            options->workload = optarg;
            bad = one_of(optarg, "--workload", names);
            break;
        case 't':
            bad = bench_number(optarg, "--threads", 1, SHPOOL_MAX_THREADS, &options->threads);
            break;
        case 'B':
            bad = bench_number(optarg, "--bytes", 16, 227u * 1024u, &options->bytes);
            break;
        case 'i':
            bad = bench_number(optarg, "-i", 1, 100000000u, &options->iterations);
            break;
        case 's':
            bad = bench_number(optarg, "-s", 0, 0xffffffffu, &options->seed);
            break;
        case 'j':
            options->json = 1;
            break;
        case 'h':
            usage(stdout);
            return 1;
        case 'V':
            printf("shpool-bench %s\n", shpool_version());
            return 1;
        default:
            bad = 1;
            break;
        }
    }
    if (!bad && (optind < argc)) {
        fprintf(stderr, "shpool-bench: unexpected argument \"%s\"\n", argv[optind]);
        bad = 1;
    }
    if (bad) {
        fputs("try shpool-bench --help\n", stderr);
        return 3;
    }
    return 0;
}

/* ---- output ---- */

typedef struct report {
    unsigned long long errors;
    int                failed;
    bench_sink         sink;
} report;

static void cell(double value, const char *format)
{
    char text[32];

    if (value < 0.0) {
        snprintf(text, sizeof(text), "-");
    } else {
        snprintf(text, sizeof(text), format, value);
    }
    printf(" %9s", text);
}

static void table_row(const bench_row *row, void *user)
{
    (void)user;
    printf("%-18s %-7s %-7s %7u %8u", row->allocator, row->binding, row->workload,
           (unsigned)row->threads, (unsigned)row->shared_bytes);
    cell(row->cycles, "%.0f");
    cell(row->gops, (row->gops < 0.1) ? "%.5f" : "%.2f");
    cell(row->failed, "%.2f");
    cell(row->utilisation, "%.1f");
    cell(row->registers, "%.0f");
    printf(" %6llu%s%s\n", row->errors, (row->note[0] != '\0') ? "  " : "", row->note);
    fflush(stdout);
}

static void measure(const bench_options *options, const char *spec, const char *binding, int cuda,
                    report *out)
{
    size_t w;

    for (w = 0; w < BENCH_COUNT; w++) {
        bench_row row;
        int       failed;

        if ((strcmp(options->workload, "all") != 0) &&
            (strcmp(options->workload, workloads[w][0]) != 0)) {
            continue;
        }
        bench_row_init(&row, (spec != NULL) ? spec : "(default)", binding, workloads[w][0], NULL);
        row.threads = options->threads;
        failed = cuda ? bench_cuda_row(options, spec, binding, w, &row)
                      : bench_cpu_row(options, spec, w, &row);
        out->errors += row.errors;
        out->failed |= failed;
        out->sink(&row, NULL);
    }
}

static void measure_bindings(const bench_options *options, const char *spec, int cuda, report *out)
{
    static const char *const all[] = {"table", "inline", "linked"};
    size_t i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if ((strcmp(options->binding, "all") == 0) ? (cuda || (i == 0))
                                                   : (strcmp(options->binding, all[i]) == 0)) {
            measure(options, spec, all[i], cuda, out);
        }
    }
}

static void defaults(bench_options *options, int cuda)
{
    if (options->threads == 0) {
        options->threads = cuda ? 256 : 64;
    }
    if (options->iterations == 0) {
        options->iterations = cuda ? 1000 : 100;
    }
    options->blocks = 2;
}

int bench_block(int argc, char **argv)
{
    bench_options options = {NULL, NULL, "table", "all", 0, 46u * 1024u, 0, 0, 1, 0};
    report        out     = {0, 0, table_row};
    char          device[256];
    int           cuda;
    int           stop;
    size_t        i;

    stop = parse(argc, argv, &options);
    if (stop != 0) {
        return stop - 1;
    }
    tool_messages("shpool-bench");
    cuda = bench_cuda_present(device, sizeof(device));
    if ((options.device != NULL) && (strcmp(options.device, "cuda") == 0) && !cuda) {
        fprintf(stderr, "shpool-bench: --device cuda: %s; --device cpu works anywhere\n", device);
        return 1;
    }
    if ((options.device != NULL) && (strcmp(options.device, "cpu") == 0)) {
        cuda = 0;
        snprintf(device, sizeof(device), "asked for");
    }
    if (!cuda && (strcmp(options.binding, "table") != 0) && (strcmp(options.binding, "all") != 0)) {
        fprintf(stderr, "shpool-bench: --binding %s needs a GPU; the CPU has table\n",
                options.binding);
        return 1;
    }
    defaults(&options, cuda);
    if (!cuda) {
        char why[200];

        snprintf(why, sizeof(why), "%.190s", device);
        snprintf(device, sizeof(device), "CPU block executor (%s)", why);
    }
    if (options.json) {
        if (bench_json_begin(&options, device) != 0) {
            fputs("shpool-bench: this build has no JSON support (jansson)\n", stderr);
            return 2;
        }
        out.sink = bench_json_row;
    } else {
        printf("# shpool-bench %s on %s, payload %u bytes a block, %u iterations, seed %u\n",
               shpool_version(), device, (unsigned)options.bytes, (unsigned)options.iterations,
               (unsigned)options.seed);
        printf("%-18s %-7s %-7s %7s %8s %9s %9s %9s %9s %9s %6s\n", "allocator", "binding",
               "workload", "threads", "shared", "cycles/op", "Gop/s", "failed %", "util %", "regs",
               "errors");
    }
    if ((options.allocator != NULL) && (strcmp(options.allocator, "all") == 0)) {
        for (i = 0; i < shpool_allocator_count(); i++) {
            measure_bindings(&options, shpool_allocator_get(i)->name, cuda, &out);
        }
    } else {
        measure_bindings(&options, options.allocator, cuda, &out);
    }
    if (options.json) {
        bench_json_end();
    }
    if ((fflush(stdout) != 0) || ferror(stdout)) { /* a full disk must not pass for success */
        fputs("shpool-bench: writing the output failed\n", stderr);
        return 1;
    }
    if (out.errors != 0) {
        fprintf(stderr, "shpool-bench: %llu checks failed\n", out.errors);
    }
    return ((out.errors != 0) || (out.failed != 0)) ? 1 : 0;
}
