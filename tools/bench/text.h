/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: results as a table, and as CSV. */
#ifndef SHPOOL_BENCH_TEXT_H
#define SHPOOL_BENCH_TEXT_H

#include <stdio.h>

#include "record.h"

/** The table; spec_width: letters of the longest spec.  Columns of the workload objects are there
 *  if the facts have its sigma. */
void bench_text_begin(FILE *to, const bench_facts *facts, int spec_width);
void bench_text_row(FILE *to, const bench_facts *facts, const bench_row *row, int spec_width);
/** CSV. */
void bench_csv_begin(FILE *to, const bench_facts *facts);
void bench_csv_row(FILE *to, const bench_row *row);

#endif /* SHPOOL_BENCH_TEXT_H */
