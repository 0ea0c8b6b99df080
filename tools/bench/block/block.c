/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the workloads over the allocators, on a GPU or on the CPU block executor. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tools/bench/gpu.h"
#include "tools/bench/picture.h"
#include "tools/bench/progress.h"
#include "tools/bench/python.h"
#include "tools/bench/results.h"
#include "tools/message.h"
#include "tools/output.h"
#include "block.h"
#include "workload.h"

/* ---- where and how ---- */

/* The value of a list with one element; -1: it has several, or none. */
static int64_t only(const bench_list *list)
{
    return (list->count == 1) ? (int64_t)list->value[0] : -1;
}

/* The payload of all points, which a spec may set; -1: there are several, or none. */
static int64_t only_payload(const bench_options *options)
{
    const size_t step = bench_workload_points(options);
    bench_point  first;
    bench_point  point;
    size_t       i;

    bench_point_at(options, 0, &first);
    for (i = step; i < bench_points(options); i += step) {
        bench_point_at(options, i, &point);
        if (point.payload_bytes != first.payload_bytes) {
            return -1;
        }
    }
    return (first.payload_bytes != 0) ? (int64_t)first.payload_bytes : -1;
}

/* All but the command; -1: the GPU does not say, and stderr says why. */
static int set_facts(bench_facts *facts, const bench_options *options, int cuda, const char *why)
{
    bench_origin *origin = &facts->origin;

    if (!cuda) {
        bench_origin_cpu(origin, why);
    } else if (bench_origin_gpu(origin, 0) == SHPOOL_OK) {
        const size_t used = strlen(origin->clocks);

        snprintf(origin->clocks + used, sizeof(origin->clocks) - used,
                 "; measured: sm_mhz of each row");
    } else {
        tool_say("shpool-bench: %s\n", shpool_last_error());
        return -1;
    }
    facts->threads       = only(&options->threads);
    facts->payload_bytes = only_payload(options);
    facts->iterations    = options->iterations;
    facts->repeats       = options->repeats;
    facts->seed          = options->seed;
    facts->planned       = (uint32_t)bench_points(options);
    facts->sigma         =
        bench_list_has(&options->workloads, BENCH_objects) ? options->sigma : -1.0;
    return 0;
}

/* ---- the run ---- */

typedef struct report {
    const bench_options *options;
    int   cuda;
    int   table;            /* on stdout, nothing else goes there */
    int   spec_width;       /* letters of the longest spec */
    bench_shown *shown;     /* columns of the table */
    tool_output json_file;  /* without a stream: none */
    tool_output csv;
    tool_json json;         /* likewise */
    tool_json chart;        /* the data of --plot, likewise */
    bench_facts facts;
    size_t rows;
    unsigned long long errors;
    size_t measured;
    size_t failed;
    size_t unplanned;       /* no such pool */
} report;

static int longest_spec(const bench_options *options)
{
    size_t most = 0;
    size_t i;

    for (i = 0; i < options->allocators.count; i++) {
        const size_t bytes = strlen(options->allocators.name[i]);

        most = (bytes > most) ? bytes : most;
    }
    return (int)most;
}

/* Columns of tables without the workload objects. */
static int is_plain(const bench_column *column)
{
    return !bench_is_objects_column(column);
}

/* What stands before the rows. */
static void begin(report *out)
{
    const bench_facts *facts = &out->facts;
    char        text[256];
    shpool_text how = shpool_text_make(text, sizeof(text));

    if (facts->payload_bytes >= 0) {
        shpool_text_add(&how, "payload %lld bytes a block, ", (long long)facts->payload_bytes);
    }
    shpool_text_add(&how, "%u iterations, seed %u, median of %u launch%s",
                    (unsigned)facts->iterations, (unsigned)facts->seed, (unsigned)facts->repeats,
                    (facts->repeats == 1) ? "" : "es");
    if (facts->sigma >= 0.0) {
        shpool_text_add(&how, ", sigma %g", facts->sigma);
    }
    if (out->table) {
        out->spec_width = longest_spec(out->options);
        out->shown      = (facts->sigma >= 0.0) ? NULL : is_plain;
        bench_origin_print(stdout, &facts->origin, text);
        bench_table_heading(stdout, bench_row_columns, out->spec_width, out->shown);
    }
    if (out->csv.to != NULL) {
        bench_csv_facts(out->csv.to, bench_origin_columns, &facts->origin);
        bench_csv_facts(out->csv.to, bench_fact_columns, facts);
        bench_csv_heading(out->csv.to, bench_row_columns);
    }
    if (out->json.to != NULL) {
        bench_results_begin(&out->json, NULL, facts);
    }
    if (out->chart.to != NULL) {
        bench_chart_begin(&out->chart, facts);
    }
}

static void take_row(report *out, const bench_row *row)
{
    bench_progress_clear();
    if (out->table) {
        bench_table_row(stdout, bench_row_columns, row, out->spec_width, out->shown);
    }
    if (out->csv.to != NULL) {
        bench_csv_row(out->csv.to, bench_row_columns, row);
    }
    if (out->json.to != NULL) {
        bench_results_row(&out->json, row);
    }
    if (out->chart.to != NULL) {
        bench_results_row(&out->chart, row);
    }
    out->rows++;
    out->errors += row->errors;
    out->measured += strcmp(row->state, BENCH_MEASURED) == 0;
    out->failed += strcmp(row->state, BENCH_FAILED) == 0;
    out->unplanned += (strcmp(row->state, BENCH_ABSENT) == 0) && (row->pools == 0);
}

/* A spec that is wrong for every geometry is reported once, before anything is measured. */
static int check_specs(const bench_options *options)
{
    shpool_config want;
    shpool_pool   pool;
    shpool_status status;
    bench_point   point;
    size_t        i;

    for (i = 0; i < bench_points(options); i += bench_workload_points(options)) {
        bench_point_at(options, i, &point);
        if (bench_is_own_slot(point.spec)) {
            continue;
        }
        bench_point_config(&point, &want);
        status = shpool_plan(point.spec, &want, &pool);
        if ((status != SHPOOL_OK) && (status != SHPOOL_ERR_TOO_SMALL) &&
            (status != SHPOOL_ERR_TOO_LARGE)) {
            tool_say("shpool-bench: %s\n", shpool_last_error());
            return -1;
        }
    }
    return 0;
}

/* Where results go: "-" is stdout, instead of the table.  -1: it cannot be written. */
static int open_output(const char *path, tool_output *output, report *out)
{
    *output = (tool_output){.to = NULL};
    if (path == NULL) {
        return 0;
    }
    if (strcmp(path, "-") == 0) {
        out->table = 0;
        output->to = stdout;
        return 0;
    }
    if (tool_output_begin(output, path) != 0) {
        tool_say("shpool-bench: %s: %s\n", path, tool_output_error(errno));
        return -1;
    }
    return 0;
}

/* Nonzero: writing failed, for example on a full disk.  main() flushes stdout. */
static int close_output(const char *path, tool_output *output, int keep)
{
    if ((output->to == NULL) || (output->to == stdout) || (tool_output_end(output, keep) == 0)) {
        return 0;
    }
    tool_say("shpool-bench: %s: %s\n", path, strerror(errno));
    return 1;
}

/* All files that the options name; -1: stderr says which one cannot be written. */
static int open_outputs(report *out)
{
    const bench_options *options = out->options;

    if (open_output(options->json, &out->json_file, out) != 0) {
        return -1;
    }
    out->json.to  = out->json_file.to;
    out->chart.to = (options->plot != NULL) ? bench_python_input(options->plot) : NULL;
    if (((options->plot != NULL) && (out->chart.to == NULL)) ||
        (open_output(options->csv, &out->csv, out) != 0)) {
        (void)close_output(options->json, &out->json_file, 0);
        return -1;
    }
    return 0;
}

/* Draw the chart of the rows; 0, or -1: stderr says why not. */
static int draw(report *out)
{
    const char *path = out->options->plot;

    tool_json_end(&out->chart, 0);
    if (out->rows == 0) {
        tool_say("shpool-bench: %s: there are no results to draw\n", path);
        return -1;
    }
    return bench_picture_draw(out->chart.to, "results", "gops", path);
}

/* Final steps after the rows; returns the exit status. */
static int finish(report *out)
{
    const bench_options *options = out->options;
    const int            signal  = bench_interrupted();
    int                  failed  = 0;

    bench_interrupt_release();
    if (signal && out->table) {
        printf("# interrupted: %zu of %u row%s\n", out->rows, (unsigned)out->facts.planned,
               bench_s(out->facts.planned));
    }
    failed |= close_output(options->csv, &out->csv, 1);
    tool_json_end(&out->json, 0);
    failed |= close_output(options->json, &out->json_file, !failed);
    if (options->plot != NULL) {
        failed |= draw(out) != 0;
    }
    if (out->errors != 0) {
        tool_say("shpool-bench: %llu checks failed; -s %u does the same operations again\n",
                 out->errors, (unsigned)options->seed);
    }
    if (out->failed != 0) {
        tool_say("shpool-bench: %zu row%s failed: the results say why\n", out->failed,
                 bench_s(out->failed));
    }
    if (signal) {
        return 128 + signal;
    }
    if ((out->measured == 0) && (out->unplanned != 0)) {
        fputs("shpool-bench: nothing was measured: none of the pools that were requested can "
              "exist\n", stderr);
        return 1;
    }
    return (failed || (out->errors != 0) || (out->failed != 0)) ? 1 : 0;
}

/* Called by a signal that does not wait for the running launch. */
static void save(void *user)
{
    bench_progress_clear();
    _exit(tool_leave("shpool-bench", finish(user), 1));
}

static void measure(report *out)
{
    const size_t count = bench_points(out->options);
    bench_point  point;
    bench_row    row;
    size_t       i;
    int          failed;

    bench_progress_begin(count);
    bench_interrupt_catch(save, out);
    for (i = 0; i < count; i++) {
        bench_point_at(out->options, i, &point);
        bench_progress_show(i, &point);
        bench_row_init(&row, &point);
        bench_launch_begin();
        failed = out->cuda ? bench_cuda_row(out->options, &point, &row)
                           : bench_cpu_row(out->options, &point, &row);
        bench_launch_end();
        if (bench_interrupted()) {
            break; /* this row has too few samples */
        }
        if (!failed && (strcmp(row.state, BENCH_ABSENT) != 0)) {
            snprintf(row.state, sizeof(row.state), "%s", BENCH_MEASURED);
        }
        bench_row_summarise(&row);
        take_row(out, &row);
    }
    bench_progress_clear();
}

/* Whether it runs on a GPU; -1: the requested device is not available, and stderr says so. */
static int choose_device(bench_options *options, char *device, size_t bytes)
{
    const int cuda = bench_choose_device(options->device, device, bytes);

    if (!cuda && (options->bindings.count != 0)) {
        bench_list *bindings = &options->bindings;
        size_t      i;

        for (i = 0; (i < bindings->count) && (bindings->value[i] != BENCH_TABLE); i++) {
        }
        if (i == bindings->count) {
            tool_say("shpool-bench: --binding %s needs a GPU; the CPU has table\n",
                     bench_binding_names[bindings->value[0]]);
            return -1;
        }
        bindings->count    = 1;
        bindings->value[0] = BENCH_TABLE;
    }
    return cuda;
}

int bench_block(int argc, char **argv)
{
    bench_options options;
    report        out;
    char          device[200];
    int           stop;

    memset(&out, 0, sizeof(out));
    out.options = &options;
    out.table   = 1;
    bench_command_write("shpool-bench", argc, argv, out.facts.origin.command,
                        BENCH_COMMAND_BYTES); /* before getopt_long() moves its words */
    stop = bench_options_parse(argc, argv, &options);
    if (stop != 0) {
        return stop - 1;
    }
    tool_messages("shpool-bench");
    out.cuda = choose_device(&options, device, sizeof(device));
    if ((out.cuda < 0) || (bench_options_complete(&options, out.cuda) != 0) ||
        (check_specs(&options) != 0) ||
        (set_facts(&out.facts, &options, out.cuda, device) != 0) ||
        (open_outputs(&out) != 0)) {
        return 1;
    }
    begin(&out);
    measure(&out);
    return finish(&out);
}
