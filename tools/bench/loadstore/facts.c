/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore: the members of a result, the options as facts of it, and what they
 * select. */
#include "config.h"

#include "loadstore.h"

const bench_column bench_ls_option_columns[] = {
    {"bytes", BENCH_U64, BENCH_AT(bench_ls_options, bytes), NULL, 0, NULL},
    {"repeats", BENCH_U32, BENCH_AT(bench_ls_options, repeats), NULL, 0, NULL},
    {"waves", BENCH_U32, BENCH_AT(bench_ls_options, waves), NULL, 0, NULL},
    BENCH_LAST};

const bench_column bench_ls_row_columns[] = {
    {"function", BENCH_NAME, BENCH_AT(bench_ls_row, entry.function), "function", -24, NULL},
    {"path", BENCH_NAME, BENCH_AT(bench_ls_row, entry.path), "path", -13, NULL},
    {"type_bytes", BENCH_U32, BENCH_AT(bench_ls_row, entry.type_bytes), "type", 4, NULL},
    {"threads", BENCH_U32, BENCH_AT(bench_ls_row, entry.threads), "NT", 4, NULL},
    {"values", BENCH_U32, BENCH_AT(bench_ls_row, entry.values), "VT", 3, NULL},
    {"counts", BENCH_NAME, BENCH_AT(bench_ls_row, counts), "counts", -12, NULL},
    {"gbs", BENCH_REAL, BENCH_AT(bench_ls_row, gbs), "GB/s", 8, "%.1f"},
    {"device_copy_gbs", BENCH_REAL, BENCH_AT(bench_ls_row, copy_gbs), NULL, 0, NULL},
    {"copy_percent", BENCH_REAL, BENCH_AT(bench_ls_row, copy_percent), "copy %", 6, "%.1f"},
    {"cub_mode", BENCH_NAME, BENCH_AT(bench_ls_row, cub_mode), "best CUB", -14, NULL},
    {"cub_gbs", BENCH_REAL, BENCH_AT(bench_ls_row, cub_gbs), "its GB/s", 8, "%.1f"},
    {"ratio", BENCH_REAL, BENCH_AT(bench_ls_row, ratio), "ratio", 6, "%.3f"},
    {"registers", BENCH_INT, BENCH_AT(bench_ls_row, registers), "regs", 4, NULL},
    {"shared_bytes", BENCH_U32, BENCH_AT(bench_ls_row, entry.shared_bytes), NULL, 0, NULL},
    {"errors", BENCH_U64, BENCH_AT(bench_ls_row, errors), "errors", 6, NULL},
    {"note", BENCH_TEXT, BENCH_AT(bench_ls_row, note), "", 0, NULL},
    BENCH_LAST};

void bench_ls_derive(bench_ls_row *row)
{
    row->counts       = (row->entry.check == BENCH_LS_SUM) ? "read" : "read+written";
    row->copy_percent = (row->gbs >= 0.0) ? 100.0 * row->gbs / row->copy_gbs : -1.0;
    row->ratio = ((row->gbs >= 0.0) && (row->cub_gbs > 0.0)) ? row->gbs / row->cub_gbs : -1.0;
}

int bench_ls_wants(const bench_list *list, uint32_t value)
{
    return (list->count == 0) || bench_list_has(list, value);
}
