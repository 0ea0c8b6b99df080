/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench plot: charts of files of results. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>

#include "list.h"
#include "names.h"
#include "tools/options.h"
#include "picture.h"
#include "python.h"
#include "results.h"

static const char *const figures[] = {"gops", "cycles", "failed", NULL};

/* The command line's request. */
typedef struct request {
    const char *output;
    int         figure;
} request;

#define AT(_member) offsetof(request, _member)
static const tool_row options[] = {
    {"-o, --output FILE", tool_file, AT(output), 0, 0, NULL,
     "file of the chart; its name ends in .svg, .png or .pdf"},
    {"--figure NAME", bench_choice, AT(figure), 0, 0, figures,
     "figure on the y axis: gops, cycles or failed; ramp and aging\n"
     "show utilisation [gops]"},
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench plot RESULTS.json -o FILE\n"
          "Draws a chart of a file of shpool-bench --json=RESULTS.json, of any machine.\n", to);
    tool_rows_print(to, options, 22);
    fputs("Python draws with matplotlib (Debian's python3-matplotlib).\n"
          "Exit status: 0; 1: it cannot be drawn; 2: usage, or a file cannot be read\n", to);
}

static int check_words(int argc, char **argv, void *into)
{
    const request *asked = into;

    (void)argc;
    (void)argv;
    if (asked->output == NULL) {
        fputs("shpool-bench: plot: -o FILE is missing, which names the chart\n", stderr);
        return -1;
    }
    return 0;
}

static const tool_parser parser = {"shpool-bench plot", "shpool-bench", options, usage,
                                   check_words, 1, "one file of results is"};

int bench_plot(int argc, char **argv)
{
    request asked = {NULL, 0};
    FILE   *data;
    int     status = tool_parse(&parser, argc, argv, &asked);

    if (status != 0) {
        return status - 1;
    }
    if (bench_picture_name(asked.output) != 0) {
        return 2;
    }
    data = bench_python_input(asked.output);
    if (data == NULL) {
        return 1;
    }
    status = bench_results_run((const char *const[]){"read", argv[optind], NULL}, data);
    if (status != 0) {
        (void)fclose(data);
        return status;
    }
    return (bench_picture_draw(data, "results", figures[asked.figure], asked.output) != 0) ? 1 : 0;
}
