/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench compare: what changed between two files of results; results.py compares them. */
#include "config.h"

#include <stdio.h>

#include "list.h"
#include "names.h"
#include "options.h"
#include "results.h"
#include "tools/message.h"

#define MOST_RATIO 1e6

typedef struct compare_options {
    double noise;    /* percent: less is never called a difference */
    double fail_on;  /* 0: never; a slowdown from which on it is a failure */
    int    changed;  /* only such rows */
} compare_options;

static void usage(FILE *to)
{
    fputs("usage: shpool-bench compare [options] A.json B.json\n"
          "Compares two files of shpool-bench --json=FILE, of before (A) and after (B) a change,\n"
          "and reports differences that exceed the noise.\n"
          "  --noise PERCENT    smallest difference that is reported [5]\n"
          "  --fail-on RATIO    exit with status 1 if a row takes RATIO times as long (1.1, for\n"
          "                     example), fails, refuses more requests, has a lower utilisation\n"
          "                     (ramp, aging), or is missing in B\n"
          "  --changed          print only the rows that differ\n"
          "  --help\n"
          "A difference is reported if it exceeds --noise and 3 sigma of the samples of both\n"
          "files (by the median absolute deviation), and if neither median lies among the\n"
          "samples of the other.\n"
          "Python compares.\n"
          "Exit status: 0; 1: --fail-on; 2: usage, or a file cannot be read\n", to);
}

static int take_option(int c, const char *option, void *into)
{
    compare_options *options = into;

    switch (c) {
    case 'n':
        return bench_decimal(optarg, option, 0.0, 1000.0, &options->noise);
    case 'f':
        return bench_decimal(optarg, option, 1.0, MOST_RATIO, &options->fail_on);
    default:
        options->changed = 1;
        return 0;
    }
}

static int check_files(int argc, char **argv, void *into)
{
    (void)argv;
    (void)into;
    if (argc - optind != 2) {
        tool_say("shpool-bench: compare: exactly two files of results are needed, got %d\n",
                 argc - optind);
        return -1;
    }
    return 0;
}

static const struct option longs[] = {
    {"noise", required_argument, NULL, 'n'}, {"fail-on", required_argument, NULL, 'f'},
    {"changed", no_argument, NULL, 'c'},     {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};
static const bench_parser parser = {"shpool-bench compare", "h", longs, usage, take_option,
                                    check_files};

int bench_compare(int argc, char **argv)
{
    compare_options options = {5.0, 0.0, 0};
    char            noise[32];
    char            fail_on[32];
    int             status = bench_parse(&parser, argc, argv, &options);

    if (status != 0) {
        return status - 1;
    }
    snprintf(noise, sizeof(noise), "%.17g", options.noise);
    snprintf(fail_on, sizeof(fail_on), "%.17g", options.fail_on);
    status = bench_results_run((const char *const[]){"compare", noise, fail_on,
                                                     options.changed ? "1" : "0", argv[optind],
                                                     argv[optind + 1], NULL}, stdout);
    return (status == 0) ? 0 : (status == BENCH_WORSE) ? 1 : 2;
}
