/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench plot, and --plot: charts of results. */
#include "config.h"

#include <stdio.h>

#include "tools/bench/json.h"
#include "tools/bench/list.h"
#include "tools/bench/options.h"
#include "tools/bench/picture.h"
#include "tools/message.h"
#include "plot.h"

int bench_plot_check(const char *path)
{
    if (!bench_has_json()) {
        tool_no_json("shpool-bench");
        return -1;
    }
    return bench_picture_check(path);
}

static int write_results(const void *of, FILE *to)
{
    fputs("{\"workloads\": {", to);
    for (size_t i = 0; bench_workload_at(i)->name != NULL; i++) {
        fprintf(to, "%s\"%s\": \"%s\"", (i == 0) ? "" : ", ", bench_workload_at(i)->name,
                bench_workload_at(i)->summary);
    }
    fputs("}, \"results\": ", to);
    return (bench_json_write(of, to) != 0) || (fputs("}\n", to) < 0);
}

int bench_plot_draw(const bench_results *results, const char *figure, const char *path)
{
    const bench_picture chart = {"results", figure, write_results, results};

    if (results->count == 0) {
        tool_say("shpool-bench: %s: there are no results to draw\n", path);
        return -1;
    }
    return bench_picture_draw(&chart, path);
}

/* ---- the command ---- */

static void usage(FILE *to)
{
    fputs("usage: shpool-bench plot RESULTS.json -o FILE\n"
          "Draws a chart of a file of shpool-bench --json=RESULTS.json, of any machine.\n"
          "  -o, --output FILE   file of the chart; its name ends in .svg, .png or .pdf\n"
          "  --figure NAME       figure on the y axis: gops, cycles or failed; ramp and aging\n"
          "                      show utilisation [gops]\n"
          "  --help\n"
          "Python draws with matplotlib (Debian's python3-matplotlib).\n"
          "Exit status: 0; 1: it cannot be drawn; 2: usage, or a file cannot be read\n", to);
}

static const char *const figures[] = {"gops", "cycles", "failed", NULL};

/* The command line's request. */
typedef struct request {
    const char *output;
    int         figure;
} request;

static int take_option(int c, const char *option, void *into)
{
    request *asked = into;

    if (c == 'o') {
        asked->output = optarg;
        return tool_no_name("shpool-bench", option, optarg);
    }
    asked->figure = bench_choice(optarg, option, figures);
    return asked->figure < 0;
}

static int check_words(int argc, char **argv, void *into)
{
    const request *asked = into;

    (void)argv;
    if (optind + 1 != argc) {
        tool_say("shpool-bench: plot: exactly one file of results is needed, got %d\n",
                 argc - optind);
        return -1;
    }
    if (asked->output == NULL) {
        fputs("shpool-bench: plot: -o FILE is missing, which names the chart\n", stderr);
        return -1;
    }
    return 0;
}

static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                      {"figure", required_argument, NULL, 'f'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};
static const bench_parser parser = {"shpool-bench plot", "o:h", longs, usage, take_option,
                                    check_words};

int bench_plot(int argc, char **argv)
{
    request       asked = {NULL, 0};
    bench_results results;
    int           failed;
    int           stop = bench_parse(&parser, argc, argv, &asked);

    if (stop != 0) {
        return stop - 1;
    }
    if (bench_picture_name(asked.output) != 0) {
        return 2;
    }
    if (bench_json_read(argv[optind], &results) != 0) {
        return 2;
    }
    failed = bench_plot_draw(&results, figures[asked.figure], asked.output);
    bench_results_clear(&results);
    return failed ? 1 : 0;
}
