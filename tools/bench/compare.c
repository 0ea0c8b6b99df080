/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench compare: what changed between two files of results; results.py compares them. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>

#include "list.h"
#include "names.h"
#include "tools/options.h"
#include "results.h"

#define MOST_RATIO 1e6

typedef struct compare_options {
    double noise;    /* percent: less is never called a difference */
    double fail_on;  /* 0: never; a slowdown from which on it is a failure */
    int    changed;  /* only such rows */
} compare_options;

#define AT(_member) offsetof(compare_options, _member)
static const tool_row options[] = {
    {"--noise PERCENT", bench_decimal, AT(noise), 0.0, 1000.0, NULL,
     "smallest difference that is reported [5]"},
    {"--fail-on RATIO", bench_decimal, AT(fail_on), 1.0, MOST_RATIO, NULL,
     "exit with status 1 if a row takes RATIO times as long (1.1, for\n"
     "example), fails, refuses more requests, has a lower utilisation\n"
     "(ramp, aging), or is missing in B"},
    {"--changed", tool_flag, AT(changed), 1, 1, NULL, "print only the rows that differ"},
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench compare [options] A.json B.json\n"
          "Compares two files of shpool-bench --json=FILE, of before (A) and after (B) a change,\n"
          "and reports differences that exceed the noise.\n", to);
    tool_rows_print(to, options, 21);
    fputs("A difference is reported if it exceeds --noise and 3 sigma of the samples of both\n"
          "files (by the median absolute deviation), and if neither median lies among the\n"
          "samples of the other.\n"
          "Python compares.\n"
          "Exit status: 0; 1: --fail-on; 2: usage, or a file cannot be read\n", to);
}

static const tool_parser parser = {"shpool-bench compare", "shpool-bench", options, usage, NULL, 2,
                                   "two files of results are"};

int bench_compare(int argc, char **argv)
{
    compare_options asked = {5.0, 0.0, 0};
    char            noise[32];
    char            fail_on[32];
    int             status = tool_parse(&parser, argc, argv, &asked);

    if (status != 0) {
        return status - 1;
    }
    snprintf(noise, sizeof(noise), "%.17g", asked.noise);
    snprintf(fail_on, sizeof(fail_on), "%.17g", asked.fail_on);
    status = bench_results_run((const char *const[]){"compare", noise, fail_on,
                                                     asked.changed ? "1" : "0", argv[optind],
                                                     argv[optind + 1], NULL}, stdout);
    return (status == 0) ? 0 : (status == BENCH_WORSE) ? 1 : 2;
}
