/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the members of a record: the table, CSV and JSON are written from lists of them. */
#ifndef SHPOOL_BENCH_COLUMN_H
#define SHPOOL_BENCH_COLUMN_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_REPEATS 101 /* most samples of a figure */

/** Samples of one figure. */
typedef struct bench_series {
    size_t count;
    double value[BENCH_REPEATS];
} bench_series;

typedef enum bench_kind { BENCH_TEXT, BENCH_U32, BENCH_U64, BENCH_INT, BENCH_REAL, BENCH_SERIES }
    bench_kind;

/** A member of a record; a name of NULL ends a list of them. */
typedef struct bench_column {
    const char *name;    /* in CSV and JSON */
    bench_kind  kind;    /* BENCH_INT and BENCH_REAL: negative is none */
    size_t      offset;
    size_t      bytes;
    const char *heading; /* in the table; NULL: not there */
    int         width;   /* negative: flush left */
    const char *format;  /* of a BENCH_REAL in the table */
} bench_column;

/** The member of a record as text, with all digits that count; empty: none. */
void bench_cell(const bench_column *column, const void *record, char *text, size_t bytes);

/** The first lines of CSV: `# name: value` for each member of a record. */
void bench_csv_facts(FILE *to, const bench_column *columns, const void *record);

/** Sort them, ascending. */
void bench_sort(double *values, size_t count);

/** Median and median distance from it in percent; the values stay in their order. */
void bench_series_summary(const bench_series *series, double *median, double *spread);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_COLUMN_H */
