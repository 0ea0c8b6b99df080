/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory: device allocators side by side, on a GPU. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/bench/facts.h"
#include "tools/bench/list.h"
#include "tools/bench/names.h"
#include "tools/options.h"
#include "tools/message.h"
#include "memory.h"

static const struct {
    const char *name;
    int (*run)(const memory_options *options, const char *spec);
    const char *text;
} questions[] = {
#define MEMORY_ROW(_name, _text) {#_name, memory_##_name, _text},
    MEMORY_QUESTIONS(MEMORY_ROW)
#undef MEMORY_ROW
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

#ifndef HAVE_BENCH_KERNELS
#define HAVE_BENCH_KERNELS 0
#endif

static const char *const peers[] = {
#if HAVE_BENCH_KERNELS
    "cub",
#endif
    "simple", "async", "async:threshold=0", "buckets", "bins"};

static const bench_column option_columns[] = {
    {"repeats", BENCH_U32, BENCH_AT(memory_options, repeats), NULL, 0, NULL},
    {"pairs", BENCH_U32, BENCH_AT(memory_options, pairs), NULL, 0, NULL},
    {"threads", BENCH_U32, BENCH_AT(memory_options, threads), NULL, 0, NULL},
    BENCH_LAST};

typedef struct request {
    memory_options options;
    bench_names specs;
} request;

static int read_limit(const tool_given *given, void *limit)
{
    if (!shpool_spec_number(given->value, 1, limit) || (*(uint64_t *)limit == 0)) {
        tool_say("shpool-bench: %s %s: a number of bytes from 1 is needed; it may end in K, M or "
                 "G\n", given->typed, given->value);
        return -1;
    }
    return 0;
}

#define AT(_member) offsetof(request, _member)
static const tool_row option_rows[] = {
    {"--allocator LIST", bench_specs, AT(specs), 0, 0, NULL,
     "device allocators to measure, with commas between them [all\n"
     "bases].  async is cudaMallocAsync, simple is cudaMalloc, and cub\n"
     "is CUB's caching allocator, in builds with CUDA"},
    {"--replay FILE", tool_text, AT(options.replay), 0, 0, NULL,
     "replay a log of the layer log, or of RMM, not the questions"},
    {"--limit BYTES", read_limit, AT(options.limit), 0, 0, NULL,
     "limit on live bytes of the replay, such as 8G [no limit]"},
    {"--device N", tool_number, AT(options.device), 0, 63, NULL, "ordinal of the GPU [0]"},
    {"--repeats N", tool_number, AT(options.repeats), 1, 10000, NULL,
     "repeats of a measurement; their median is shown [9]"},
    {"--pairs N", tool_number, AT(options.pairs), 1, 100000000, NULL,
     "pairs of malloc and free in a repeat [100000]"},
    {"--threads N", tool_number, AT(options.threads), 1, 64, NULL,
     "largest number of host threads for the question threads [16]"},
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench memory [options] [QUESTION...]\n", to);
    tool_rows_print(to, option_rows, 21);
    fputs("Questions, which choose what is measured [all]:\n", to);
    for (size_t i = 0; i < QUESTIONS; i++) {
        fprintf(to, "  %-8s %s\n", questions[i].name, questions[i].text);
    }
    fputs("The results are CSV; # lines say where and how it was measured.\n"
          "Exit status: 0; 1: something failed; 2: usage\n", to);
}

/* Whether there is such a question; if not, stderr says which there are. */
static int check_question(const char *name)
{
    const char *known[QUESTIONS + 1];
    size_t      i;

    for (i = 0; i < QUESTIONS; i++) {
        known[i] = questions[i].name;
        if (strcmp(known[i], name) == 0) {
            return 0;
        }
    }
    known[QUESTIONS] = NULL;
    tool_unknown("shpool-bench memory", "a question", name, known);
    return -1;
}

static int check_questions(int argc, char **argv, void *into)
{
    int bad = 0;

    (void)into;
    for (int i = optind; !bad && (i < argc); i++) {
        bad = check_question(argv[i]);
    }
    return bad;
}

static const tool_parser parser = {"shpool-bench memory", "shpool-bench", option_rows, usage,
                                   check_questions, 0, NULL};

static int wanted(int argc, char **argv, const char *name)
{
    if (optind == argc) {
        return 1;
    }
    for (int i = optind; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A misspelt name is reported before the GPU is needed; -1: one was. */
static int check_names(const bench_names *specs)
{
    const shpool_device_provider *found;
    shpool_spec spec;

    for (size_t s = 0; s < specs->count; s++) {
        shpool_status status = shpool_spec_parse("--allocator", specs->name[s], &spec);

        for (uint32_t i = 0; (status == SHPOOL_OK) && (i < spec.layers); i++) {
            status = shpool_device_provider_find(spec.layer[i].name, &found);
        }
        if (status != SHPOOL_OK) {
            tool_say("shpool-bench: %s%s\n", shpool_last_error(),
                     !HAVE_BENCH_KERNELS && (strcmp(specs->name[s], "cub") == 0)
                         ? "; this build has none of CUB's (--disable-bench-kernels)" : "");
            return -1;
        }
    }
    return 0;
}

int bench_memory(int argc, char **argv)
{
    request r = {.options = {.repeats = 9, .pairs = 100000, .threads = 16}};
    bench_origin origin;
    int failed = 0;
    int stop;

    bench_command_write("shpool-bench memory", argc, argv, origin.command,
                        sizeof(origin.command)); /* before getopt_long() moves its words */
    stop = tool_parse(&parser, argc, argv, &r);
    if (stop != 0) {
        return stop - 1;
    }
    tool_messages("shpool-bench");
    bench_memory_add_cub();
    if (check_names(&r.specs) != 0) {
        return 2;
    }
    if (bench_origin_gpu(&origin, r.options.device) != SHPOOL_OK) {
        tool_say("shpool-bench: %s\n", shpool_last_error());
        return 1;
    }
    if (r.specs.count == 0) {
        memcpy(r.specs.name, peers, sizeof(peers));
        r.specs.count = sizeof(peers) / sizeof(peers[0]);
    }
    bench_csv_facts(stdout, bench_origin_columns, &origin);
    bench_csv_facts(stdout, option_columns, &r.options);
    bench_csv_heading(stdout, memory_columns);
    for (size_t s = 0; s < r.specs.count; s++) {
        if (r.options.replay != NULL) {
            failed |= memory_replay(&r.options, r.specs.name[s]);
            continue;
        }
        for (size_t i = 0; i < QUESTIONS; i++) {
            if (wanted(argc, argv, questions[i].name)) {
                failed |= questions[i].run(&r.options, r.specs.name[s]);
            }
        }
    }
    return (failed != 0) ? 1 : 0;
}
