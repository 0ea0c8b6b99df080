/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: results as a table to read, and as CSV (RFC 4180, with # lines in front). */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "text.h"

#define CELL_BYTES 4096 /* the longest note, a series of BENCH_REPEATS numbers */

/* Specs stand in the first column: as wide as the longest of them, flush left. */
static int width_of(const bench_column *column, int spec_width)
{
    return ((column == bench_row_columns) && (spec_width > -column->width)) ? -spec_width
                                                                           : column->width;
}

static int is_shown(const bench_column *column, const bench_facts *facts)
{
    return (column->heading != NULL) && ((facts->sigma >= 0.0) || !bench_is_objects_column(column));
}

void bench_text_begin(FILE *to, const bench_facts *facts, int spec_width)
{
    const bench_column *c;
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
    bench_origin_print(to, &facts->origin, text);
    for (c = bench_row_columns; c->name != NULL; c++) {
        if (is_shown(c, facts) && (c->width != 0)) {
            fprintf(to, "%s%*s", (c == bench_row_columns) ? "" : " ", width_of(c, spec_width),
                    c->heading);
        }
    }
    fputc('\n', to);
    fflush(to);
}

void bench_text_row(FILE *to, const bench_facts *facts, const bench_row *row, int spec_width)
{
    const bench_column *c;
    char text[CELL_BYTES];

    for (c = bench_row_columns; c->name != NULL; c++) {
        if (!is_shown(c, facts)) {
            continue;
        }
        bench_cell(c, row, text, sizeof(text));
        if (c->width == 0) { /* the note */
            fprintf(to, "%s%s", (text[0] != '\0') ? "  " : "", text);
            continue;
        }
        if ((c->kind == BENCH_REAL) && (text[0] != '\0')) {
            snprintf(text, sizeof(text), c->format,
                     *(const double *)((const char *)row + c->offset));
        }
        fprintf(to, "%s%*s", (c == bench_row_columns) ? "" : " ", width_of(c, spec_width),
                (text[0] != '\0') ? text : "-");
    }
    fputc('\n', to);
    fflush(to);
}

void bench_csv_begin(FILE *to, const bench_facts *facts)
{
    const bench_column *c;

    bench_csv_facts(to, bench_origin_columns, &facts->origin);
    bench_csv_facts(to, bench_fact_columns, facts);
    for (c = bench_row_columns; c->name != NULL; c++) {
        fprintf(to, "%s%s", (c == bench_row_columns) ? "" : ",", c->name);
    }
    fputc('\n', to);
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

void bench_csv_row(FILE *to, const bench_row *row)
{
    const bench_column *c;
    char text[CELL_BYTES];

    for (c = bench_row_columns; c->name != NULL; c++) {
        bench_cell(c, row, text, sizeof(text));
        if (c != bench_row_columns) {
            fputc(',', to);
        }
        csv_cell(to, text);
    }
    fputc('\n', to);
    fflush(to);
}
