/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-check: builds a CUDA program for the CPU block executor, runs it, and reports. */
#define _GNU_SOURCE
#include "build.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "tools/message.h"
#include "tools/options.h"
#include "tools/output.h"

static void usage(FILE *to)
{
    fputs("usage: shpool-check [options] FILE.cu... [-- compiler options] [-- program arguments]\n"
          "\n"
          "Builds the files, CUDA or C++, for the CPU with clang, runs the program, and reports\n"
          "races, accesses out of bounds, misused barriers and more, with their places.\n"
          "\n", to);
    check_rows_print(to);
    fputs("\n"
          "Exit status: 0 if nothing was found, 1 if something was, 2 if the program could not be\n"
          "built, else the program's own.  doc/CHECK.md lists what is found.\n", to);
}

#define AT(_member) offsetof(check_request, _member)
static const tool_row rows[] = {
    {"-o, --output PROGRAM", tool_file, AT(output), 0, 0, NULL,
     "build PROGRAM, and do not run it"},
    {"--seed N", tool_number, AT(seed), 0, 4294967295.0, NULL,
     "repeat the schedule of that number [1]"},
    {"--seeds N", tool_number, AT(seeds), 1, 1000000, NULL,
     "run the program with N schedules, from --seed on [1]"},
    {"--explore N", tool_number, AT(explore), 0, 16, NULL,
     "try every schedule with up to N preemptions, for\n"
     "launches of one block"},
    {"--budget N", tool_number, AT(budget), 1, 4000000, NULL,
     "thousands of atomic and volatile accesses in a row that\n"
     "are a livelock [10000]"},
    {"--counts", tool_flag, AT(counts), 1, 0, NULL,
     "note uncoalesced accesses and bank conflicts; slower"},
    {"--strict", tool_flag, AT(strict), 1, 0, NULL,
     "notes are errors, too: leaks, threads that left early"},
    {"--sarif FILE", tool_file, AT(sarif), 0, 0, NULL, "write the findings as SARIF"},
    {"--junit FILE", tool_file, AT(junit), 0, 0, NULL, "write the findings as JUnit"},
    {"--compiler NAME", tool_file, AT(compiler), 0, 0, NULL, "clang++ 14 or newer [clang++]"},
    {"--root FOLDER", tool_file, AT(root), 0, 0, NULL,
     "where include/ and lib/ of libshpool are"},
    {"-v, --verbose", tool_flag, AT(verbose), 1, 0, NULL, "print the commands"},
    TOOL_LINE("  --help, --version"),
    TOOL_ROWS_END,
};

void check_rows_print(FILE *to)
{
    tool_rows_print(to, rows, 25);
}

static int check(int argc, char **argv, void *options)
{
    check_request *request = options;

    request->sources      = argv + optind;
    request->source_count = argc - optind;
    if (request->source_count == 0) {
        tool_say("shpool-check: a file is missing; try shpool-check --help\n");
        return -1;
    }
    return 0;
}

static const tool_parser parser = {
    .command = "shpool-check", .says = "shpool-check", .rows = rows, .usage = usage, .check = check,
};

/* The words up to `--`, or all; *count_p: what is left, after it. */
static char **part(char **words, int *count_p, int *part_p)
{
    int n = 0;

    while ((n < *count_p) && (strcmp(words[n], "--") != 0)) {
        n++;
    }
    *part_p   = n;
    *count_p -= (n < *count_p) ? n + 1 : n;
    return words + n + 1;
}

/* Run it with each seed, until something is found; the exit status. */
static int run_all(const check_request *request, const char *program, const char *log)
{
    int status = 0;

    for (uint32_t i = 0; (i < request->seeds) && (status == 0); i++) {
        char *asked = NULL;

        if (asprintf(&asked, "seed=%u,explore=%u,budget=%u,strict=%d,counts=%d,output=%s",
                     request->seed + i,
                     (request->explore != UINT32_MAX) ? request->explore + 1u : 0u,
                     request->budget, request->strict, request->counts, log) < 0) {
            return CHECK_FAILED;
        }
        (void)setenv("LIBSHPOOL_CHECK", asked, 1);
        free(asked);
        status = check_run_program(request, program, i > 0);
    }
    return status;
}

static int build_and_run(const check_request *request)
{
    check_folder folder;
    char        *program = NULL;
    char        *log     = NULL;
    int          status  = CHECK_FAILED;

    if (check_folder_make(&folder) != 0) {
        tool_say("shpool-check: no folder for temporary files: %s\n", strerror(errno));
        return CHECK_FAILED;
    }
    if ((asprintf(&log, "%s/findings", folder.path) >= 0) &&
        (((request->output != NULL) ? asprintf(&program, "%s", request->output)
                                    : asprintf(&program, "%s/program", folder.path)) >= 0)) {
        status = check_build(request, &folder, program);
    }
    if ((status == 0) && (request->output == NULL)) {
        status = run_all(request, program, log);
        if (check_findings_write(log, request->sarif, request->junit, request->sources[0],
                                 status) != 0) {
            status = CHECK_FAILED;
        }
    }
    check_folder_remove(&folder);
    free(program);
    free(log);
    return status;
}

static int run(int argc, char **argv)
{
    check_request request = { .seed = 1, .seeds = 1, .explore = UINT32_MAX, .budget = 10000,
                              .compiler = "clang++", .root = NULL };
    int           left    = argc;
    int           own;
    int           options;
    int           status;
    char        **words   = part(argv, &left, &own);

    request.program_words = part(words, &left, &options);
    request.program_count = (own == argc) ? 0 : left;
    options               = (own == argc) ? 0 : options;
    argv[own] = NULL;
    status    = tool_parse(&parser, own, argv, &request);
    if (status != 0) {
        return (status == 1) ? 0 : CHECK_FAILED;
    }
    return (check_options(&request, words, options) == 0) ? build_and_run(&request) : CHECK_FAILED;
}

int main(int argc, char **argv)
{
    tool_prepare();
    tool_messages("shpool-check");
    return tool_leave("shpool-check", run(argc, argv), CHECK_FAILED);
}
