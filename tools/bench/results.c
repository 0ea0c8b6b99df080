/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block --json: results, written here and read by results.py. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "results.h"
#include "python.h"
#include "tools/message.h"
#include "tools/output.h"

#define KIND   "shpool-bench block"
#define FORMAT 1 /* a member with another meaning or name needs a new number */

void bench_results_begin(tool_json *json, const char *name, const bench_facts *facts)
{
    tool_json_open(json, name, '{');
    tool_json_text(json, "kind", KIND);
    tool_json_integer(json, "format", FORMAT);
    bench_json_members(json, bench_origin_columns, &facts->origin);
    bench_json_members(json, bench_fact_columns, facts);
    tool_json_open(json, "rows", '[');
}

void bench_results_row(tool_json *json, const bench_row *row)
{
    tool_json_open(json, NULL, '{');
    bench_json_members(json, bench_row_columns, row);
    tool_json_close(json);
}

static void put_workloads(tool_json *json)
{
    tool_json_open(json, "workloads", '{');
    for (size_t i = 0; bench_workload_at(i)->name != NULL; i++) {
        tool_json_text(json, bench_workload_at(i)->name, bench_workload_at(i)->summary);
    }
    tool_json_close(json);
}

void bench_chart_begin(tool_json *json, const bench_facts *facts)
{
    tool_json_open(json, NULL, '{');
    put_workloads(json);
    bench_results_begin(json, "results", facts);
}

/* ---- results.py ---- */

/* Of each column the name, the kind, and whether files of earlier versions lack it. */
static void put_columns(tool_json *json, const bench_column *columns)
{
    for (const bench_column *c = columns; c->name != NULL; c++) {
        tool_json_open(json, NULL, '[');
        tool_json_text(json, NULL, c->name);
        tool_json_text(json, NULL, bench_kind_names[c->kind]);
        tool_json_boolean(json, NULL, bench_is_objects_column(c));
        tool_json_close(json);
    }
}

static void put_names(tool_json *json, const char *name, const char *const *names)
{
    tool_json_open(json, name, '[');
    for (; *names != NULL; names++) {
        tool_json_text(json, NULL, *names);
    }
    tool_json_close(json);
}

/* The columns and names that this version knows. */
static void put_known(FILE *to)
{
    static const char *const states[] = {BENCH_MEASURED, BENCH_ABSENT, BENCH_FAILED, NULL};
    tool_json json = tool_json_begin(to);

    tool_json_text(&json, "kind", KIND);
    tool_json_integer(&json, "format", FORMAT);
    tool_json_text(&json, "version", shpool_version());
    tool_json_open(&json, "facts", '[');
    put_columns(&json, bench_origin_columns);
    put_columns(&json, bench_fact_columns);
    tool_json_close(&json);
    tool_json_open(&json, "rows", '[');
    put_columns(&json, bench_row_columns);
    tool_json_close(&json);
    put_workloads(&json);
    tool_json_open(&json, "names", '{'); /* that charts and tables use, by members of rows */
    put_names(&json, "workload", bench_workload_names);
    put_names(&json, "binding", bench_binding_names);
    put_names(&json, "state", states);
    tool_json_end(&json, 0);
}

int bench_results_run(const char *const words[], FILE *to)
{
    FILE *known  = bench_python_input("results");
    int   status = 1;

    if (known == NULL) {
        return 1;
    }
    put_known(known);
    if (tool_flush(known) != 0) {
        tool_say("shpool-bench: results: %s\n", strerror(errno));
        (void)fclose(known);
        return 1;
    }
    status = bench_python(bench_results_program, words, known, to);
    (void)fclose(known);
    if (bench_is_no_python(status)) {
        tool_say("shpool-bench: results are read by Python, and there is no python3 on PATH; "
                 "install the package python3 (Debian)\n");
    } else if ((status != 0) && (status != 2) && (status != BENCH_WORSE)) {
        tool_say("shpool-bench: Python did not read the results (exit status %d)\n", status);
    }
    return ((status == 0) || (status == 2) || (status == BENCH_WORSE)) ? status : 1;
}
