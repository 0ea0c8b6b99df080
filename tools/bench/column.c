/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the members of a record, and the median of a figure's samples. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "column.h"

#define FACT_BYTES 1024 /* the longest is a command line */

/* ---- as text ---- */

void bench_cell(const bench_column *column, const void *record, char *text, size_t bytes)
{
    const void  *member = (const char *)record + column->offset;
    shpool_text  out    = shpool_text_make(text, bytes);
    const bench_series *series;
    size_t       i;

    switch (column->kind) {
    case BENCH_TEXT:
        shpool_text_add(&out, "%s", (const char *)member);
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
    char text[FACT_BYTES];

    for (c = columns; c->name != NULL; c++) {
        bench_cell(c, record, text, sizeof(text));
        text[strcspn(text, "\r\n")] = '\0';
        fprintf(to, "# %s: %s\n", c->name, text);
    }
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
