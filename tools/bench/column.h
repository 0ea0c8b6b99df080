/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the members of a record.  Tables, CSV (RFC 4180, with # lines in front) and JSON of
 * all commands are written from lists of them. */
#ifndef SHPOOL_BENCH_COLUMN_H
#define SHPOOL_BENCH_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/json.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_REPEATS 101 /* most samples of a figure */

/** Samples of one figure. */
typedef struct bench_series {
    size_t count;
    double value[BENCH_REPEATS];
} bench_series;

/** BENCH_TEXT is an array of characters, BENCH_NAME a pointer to some, or NULL. */
typedef enum bench_kind {
    BENCH_TEXT, BENCH_NAME, BENCH_U32, BENCH_U64, BENCH_INT, BENCH_REAL, BENCH_SERIES
} bench_kind;

extern const char *const bench_kind_names[]; /* for results.py */

/** A member of a record; a name of NULL ends a list of them. */
typedef struct bench_column {
    const char *name;    /* in CSV and JSON */
    bench_kind  kind;    /* BENCH_INT and BENCH_REAL: negative is none */
    size_t      offset;
    const char *heading; /* in the table; NULL: not there */
    int         width;   /* negative: flush left; 0: the note, at the end */
    const char *format;  /* of a BENCH_REAL in the table */
} bench_column;

#define BENCH_AT(_type, _member) offsetof(_type, _member)
#define BENCH_LAST {NULL, BENCH_TEXT, 0, NULL, 0, NULL} /* ends a list of columns */

/* A list of X(kind, name, dimension, heading, width, format) makes the members of a structure by
 * BENCH_MEMBER, and with BENCH_RECORD, the structure, its columns by BENCH_COLUMN. */
#define BENCH_TYPE_TEXT   char
#define BENCH_TYPE_U32    uint32_t
#define BENCH_TYPE_U64    unsigned long long
#define BENCH_TYPE_INT    int64_t
#define BENCH_TYPE_REAL   double
#define BENCH_TYPE_SERIES bench_series
#define BENCH_MEMBER(_kind, _name, _dimension, ...) BENCH_TYPE_##_kind _name _dimension;
#define BENCH_COLUMN(_kind, _name, _dimension, ...) \
    {#_name, BENCH_##_kind, offsetof(BENCH_RECORD, _name), __VA_ARGS__},

/** The first lines of CSV: `# name: value` for each member of a record. */
void bench_csv_facts(FILE *to, const bench_column *columns, const void *record);

/** JSON: the members of an object that is open; a missing figure is null. */
void bench_json_members(tool_json *json, const bench_column *columns, const void *record);

/** A line of CSV, and the one before all others, which names the columns. */
void bench_csv_heading(FILE *to, const bench_column *columns);
void bench_csv_row(FILE *to, const bench_column *columns, const void *record);

/**
 * The same of a table.
 * @param [in] first  letters of the longest text of the first column, if more than its width
 * @param [in] shown  whether a column with a heading is there; NULL: all of them
 */
typedef int bench_shown(const bench_column *column);
void bench_table_heading(FILE *to, const bench_column *columns, int first, bench_shown *shown);
void bench_table_row(FILE *to, const bench_column *columns, const void *record, int first,
                     bench_shown *shown);

/** Sort them, ascending. */
void bench_sort(double *values, size_t count);

/** Median and median distance from it in percent; the values stay in their order. */
void bench_series_summary(const bench_series *series, double *median, double *spread);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_COLUMN_H */
