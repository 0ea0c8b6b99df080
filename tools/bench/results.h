/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block --json: results, written here and read by results.py. */
#ifndef SHPOOL_BENCH_RESULTS_H
#define SHPOOL_BENCH_RESULTS_H

#include <stdio.h>

#include "record.h"
#include "tools/json.h"

/** The members of a document before its rows, as json's next value; an array of rows is open then.
 *  tool_json_close() closes what is open. */
void bench_results_begin(tool_json *json, const char *name, const bench_facts *facts);

void bench_results_row(tool_json *json, const bench_row *row);

/** The same of the data of a chart: what draw.py draws. */
void bench_chart_begin(tool_json *json, const bench_facts *facts);

/** B is much worse than A: an exit status of results.py. */
#define BENCH_WORSE 10

/**
 * Run results.py.
 * @param [in] words  its arguments; NULL ends them
 * @param [in] to     gets what it prints
 * @return 0, BENCH_WORSE, or 2: stderr says why; 1: likewise, there is no Python, or it failed
 */
int bench_results_run(const char *const words[], FILE *to);

#endif /* SHPOOL_BENCH_RESULTS_H */
