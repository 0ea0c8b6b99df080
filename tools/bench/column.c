/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the members of a record, and the median of a figure's samples. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "column.h"

#define CELL_BYTES 4096 /* the longest: a note, a series of BENCH_REPEATS numbers */

/* ---- as text ---- */

const char *const bench_kind_names[] = {
    [BENCH_TEXT] = "text", [BENCH_NAME] = "name", [BENCH_U32] = "u32", [BENCH_U64] = "u64",
    [BENCH_INT] = "int", [BENCH_REAL] = "real", [BENCH_SERIES] = "series"};

/* The member of a record as text, with all digits that count; empty: none. */
static void cell(const bench_column *column, const void *record, char *text, size_t bytes)
{
    const void  *member = (const char *)record + column->offset;
    shpool_text  out    = shpool_text_make(text, bytes);
    const bench_series *series;
    size_t       i;

    switch (column->kind) {
    case BENCH_TEXT:
        shpool_text_add(&out, "%s", (const char *)member);
        break;
    case BENCH_NAME:
        shpool_text_add(&out, "%s", (*(const char *const *)member != NULL)
                                        ? *(const char *const *)member : "");
        break;
    case BENCH_U32:
        shpool_text_add(&out, "%u", (unsigned)*(const uint32_t *)member);
        break;
    case BENCH_U64:
        shpool_text_add(&out, "%llu", *(const unsigned long long *)member);
        break;
    case BENCH_INT:
        if (*(const int64_t *)member >= 0) {
            shpool_text_add(&out, "%lld", (long long)*(const int64_t *)member);
        }
        break;
    case BENCH_REAL:
        if (*(const double *)member >= 0.0) {
            shpool_text_add(&out, "%.6g", *(const double *)member);
        }
        break;
    case BENCH_SERIES:
        series = member;
        for (i = 0; i < series->count; i++) {
            shpool_text_add(&out, "%s%.6g", (i == 0) ? "" : " ", series->value[i]);
        }
        break;
    }
}

void bench_csv_facts(FILE *to, const bench_column *columns, const void *record)
{
    const bench_column *c;
    char text[CELL_BYTES];

    for (c = columns; c->name != NULL; c++) {
        cell(c, record, text, sizeof(text));
        text[strcspn(text, "\r\n")] = '\0';
        fprintf(to, "# %s: %s\n", c->name, text);
    }
}

static void json_member(tool_json *json, const bench_column *column, const void *record)
{
    const void         *member = (const char *)record + column->offset;
    const bench_series *series = member;
    char                text[CELL_BYTES];

    cell(column, record, text, sizeof(text));
    switch (column->kind) {
    case BENCH_REAL:
        if (text[0] != '\0') {
            tool_json_real(json, column->name, *(const double *)member, 6);
            return;
        }
        break;
    case BENCH_SERIES:
        tool_json_open(json, column->name, '[');
        for (size_t i = 0; i < series->count; i++) {
            tool_json_real(json, NULL, series->value[i], 6);
        }
        tool_json_close(json);
        return;
    case BENCH_TEXT:
        tool_json_text(json, column->name, member);
        return;
    case BENCH_NAME:
        tool_json_text(json, column->name, *(const char *const *)member);
        return;
    default:
        if (text[0] != '\0') {
            tool_json_integer(json, column->name, strtoll(text, NULL, 10));
            return;
        }
    }
    tool_json_text(json, column->name, NULL);
}

void bench_json_members(tool_json *json, const bench_column *columns, const void *record)
{
    for (const bench_column *c = columns; c->name != NULL; c++) {
        json_member(json, c, record);
    }
}

static void csv_cell(FILE *to, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            fputc('"', to);
        }
        fputc(*text, to);
    }
    fputc('"', to);
}

void bench_csv_heading(FILE *to, const bench_column *columns)
{
    for (const bench_column *c = columns; c->name != NULL; c++) {
        fprintf(to, "%s%s", (c == columns) ? "" : ",", c->name);
    }
    fputc('\n', to);
}

void bench_csv_row(FILE *to, const bench_column *columns, const void *record)
{
    char text[CELL_BYTES];

    for (const bench_column *c = columns; c->name != NULL; c++) {
        cell(c, record, text, sizeof(text));
        if (c != columns) {
            fputc(',', to);
        }
        csv_cell(to, text);
    }
    fputc('\n', to);
    fflush(to);
}

static int is_shown(const bench_column *column, bench_shown *shown)
{
    return (column->heading != NULL) && ((shown == NULL) || shown(column));
}

/* Texts of the first column are flush left. */
static int width_of(const bench_column *column, const bench_column *columns, int first)
{
    return ((column == columns) && (column->width < 0) && (first > -column->width))
               ? -first : column->width;
}

void bench_table_heading(FILE *to, const bench_column *columns, int first, bench_shown *shown)
{
    for (const bench_column *c = columns; c->name != NULL; c++) {
        if (is_shown(c, shown) && (c->width != 0)) {
            fprintf(to, "%s%*s", (c == columns) ? "" : " ", width_of(c, columns, first),
                    c->heading);
        }
    }
    fputc('\n', to);
    fflush(to);
}

void bench_table_row(FILE *to, const bench_column *columns, const void *record, int first,
                     bench_shown *shown)
{
    char text[CELL_BYTES];

    for (const bench_column *c = columns; c->name != NULL; c++) {
        if (!is_shown(c, shown)) {
            continue;
        }
        cell(c, record, text, sizeof(text));
        if (c->width == 0) {
            fprintf(to, "%s%s", (text[0] != '\0') ? "  " : "", text);
            continue;
        }
        if ((c->kind == BENCH_REAL) && (text[0] != '\0')) {
            snprintf(text, sizeof(text), c->format, *(const double *)((const char *)record +
                                                                      c->offset));
        }
        fprintf(to, "%s%*s", (c == columns) ? "" : " ", width_of(c, columns, first),
                (text[0] != '\0') ? text : "-");
    }
    fputc('\n', to);
    fflush(to);
}

/* ---- samples ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

void bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
}

static double median(double *values, size_t count)
{
    bench_sort(values, count);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

void bench_series_summary(const bench_series *series, double *median_p, double *spread_p)
{
    double values[BENCH_REPEATS];
    size_t i;

    *median_p = -1.0;
    *spread_p = -1.0;
    if (series->count == 0) {
        return;
    }
    memcpy(values, series->value, series->count * sizeof(values[0]));
    *median_p = median(values, series->count);
    if ((series->count > 1) && (*median_p > 0.0)) {
        for (i = 0; i < series->count; i++) {
            const double distance = series->value[i] - *median_p;

            values[i] = (distance < 0.0) ? -distance : distance;
        }
        *spread_p = 100.0 * median(values, series->count) / *median_p;
    }
}
