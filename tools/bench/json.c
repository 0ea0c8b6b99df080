/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench --json, by jansson: written and read again. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "lib/escape.h"
#include "tools/input.h"
#include "tools/json.h"
#include "tools/options.h"
#include "json.h"
#include "tools/message.h"

#define KIND   "shpool-bench block"
#define FORMAT 1 /* of the files read; a member with another meaning or name needs a new number */

#if HAVE_JANSSON

#include <jansson.h>

int bench_has_json(void)
{
    return 1;
}

static json_t *series_value(const bench_series *series)
{
    json_t *array = json_array();
    size_t  i;

    for (i = 0; i < series->count; i++) {
        (void)json_array_append_new(array, json_real(series->value[i]));
    }
    return array;
}

/* A missing value is null. */
static json_t *value(const bench_column *column, const void *record)
{
    const void *member = (const char *)record + column->offset;

    switch (column->kind) {
    case BENCH_TEXT:
        return json_string(member);
    case BENCH_NAME:
        return (*(const char *const *)member != NULL) ? json_string(*(const char *const *)member)
                                                      : json_null();
    case BENCH_U32:
        return json_integer(*(const uint32_t *)member);
    case BENCH_U64:
        return json_integer((json_int_t)*(const unsigned long long *)member);
    case BENCH_INT:
        return (*(const int64_t *)member >= 0) ? json_integer(*(const int64_t *)member)
                                               : json_null();
    case BENCH_REAL:
        return (*(const double *)member >= 0.0) ? json_real(*(const double *)member) : json_null();
    case BENCH_SERIES:
        return series_value(member);
    }
    return NULL;
}

static void set_members(json_t *object, const bench_column *columns, const void *record)
{
    const bench_column *c;

    for (c = columns; c->name != NULL; c++) {
        (void)json_object_set_new(object, c->name, value(c, record));
    }
}

int bench_json_document(FILE *to, const char *kind, const bench_records *facts,
                        const bench_records *rows)
{
    json_t *list;
    json_t *document;
    int     failed;

    tool_json_watch();
    list     = json_array();
    document = (kind != NULL) ? json_pack("{s:s, s:i}", "kind", kind, "format", FORMAT)
                              : json_object();
    for (; facts->columns != NULL; facts++) {
        set_members(document, facts->columns, facts->first);
    }
    for (size_t i = 0; i < rows->count; i++) {
        json_t *row = json_object();

        set_members(row, rows->columns, (const char *)rows->first + i * rows->bytes);
        (void)json_array_append_new(list, row);
    }
    (void)json_object_set_new(document, "rows", list);
    failed = tool_json_lost() ||
             (json_dumpf(document, to, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0);
    json_decref(document);
    if (tool_json_lost()) {
        tool_say("shpool-bench: --json: out of memory\n");
    }
    return ((fputc('\n', to) == EOF) || failed) ? -1 : 0;
}

/* ---- reading ---- */

static void read_series(const json_t *from, bench_series *series)
{
    const size_t count = json_array_size(from);

    series->count = 0;
    while ((series->count < count) && (series->count < BENCH_REPEATS)) {
        series->value[series->count] = json_number_value(json_array_get(from, series->count));
        series->count++;
    }
}

/* 0: it is of another type. */
static int read_member(const bench_column *column, const json_t *from, void *record)
{
    void *member = (char *)record + column->offset;

    switch (column->kind) {
    case BENCH_TEXT:
        if (!json_is_string(from)) {
            return 0;
        }
        shpool_escape(member, column->bytes, json_string_value(from),
                        json_string_length(from)); /* it will be printed */
        return 1;
    case BENCH_NAME: /* is only written */
        return 0;
    case BENCH_U32:
        *(uint32_t *)member = (uint32_t)json_integer_value(from);
        return json_is_integer(from) && (json_integer_value(from) == *(uint32_t *)member);
    case BENCH_U64:
        *(unsigned long long *)member = (unsigned long long)json_integer_value(from);
        return json_is_integer(from);
    case BENCH_INT:
        *(int64_t *)member = json_is_integer(from) ? json_integer_value(from) : -1;
        return json_is_integer(from) || json_is_null(from);
    case BENCH_REAL:
        *(double *)member = json_is_number(from) ? json_number_value(from) : -1.0;
        return json_is_number(from) || json_is_null(from);
    case BENCH_SERIES:
        read_series(from, member);
        return json_is_array(from);
    }
    return 0;
}

/* Defaults for columns that files from versions without the workload objects lack; the record is
 * zeroed. */
static void set_none(const bench_column *column, void *record)
{
    if (column->kind == BENCH_REAL) {
        *(double *)((char *)record + column->offset) = -1.0;
    }
}

/* Name of a member that is missing or of another type; NULL: all are there. */
static const char *read_members(const json_t *from, const bench_column *columns, void *record)
{
    const bench_column *c;

    for (c = columns; c->name != NULL; c++) {
        const json_t *member = json_object_get(from, c->name);

        if ((member == NULL) && bench_is_objects_column(c)) {
            set_none(c, record);
        } else if ((member == NULL) || !read_member(c, member, record)) {
            return c->name;
        }
    }
    return NULL;
}

/* 1: results of this kind and format. */
static int is_ours(const char *path, const json_t *document)
{
    const char   *kind   = json_string_value(json_object_get(document, "kind"));
    const json_t *format = json_object_get(document, "format");
    char          text[64];

    if ((kind == NULL) || (strcmp(kind, KIND) != 0)) {
        shpool_escape(text, sizeof(text), (kind != NULL) ? kind : "",
                        (kind != NULL) ? strlen(kind) : 0);
        tool_say("shpool-bench: %s: %s%s%s; a file that shpool-bench [block] --json=FILE "
                 "wrote is needed\n", path, (kind != NULL) ? "holds \"" : "has no member \"kind\"",
                 text, (kind != NULL) ? "\"" : "");
        return 0;
    }
    if (json_integer_value(format) != FORMAT) {
        tool_say("shpool-bench: %s: format %lld; this shpool-bench (%s) reads format %d: "
                 "measure again, or use the version that wrote it\n", path,
                 (long long)json_integer_value(format), shpool_version(), FORMAT);
        return 0;
    }
    return 1;
}

static int is_known(const char *name, const char *const known[])
{
    while ((*known != NULL) && (strcmp(name, *known) != 0)) {
        known++;
    }
    return *known != NULL;
}

/* Check names that charts and tables use; stderr says which one this version lacks. */
static int check_names(const char *path, size_t number, const bench_row *row)
{
    static const char *const states[] = {BENCH_MEASURED, BENCH_ABSENT, BENCH_FAILED, NULL};
    const struct {
        const char        *member;
        const char        *name;
        const char *const *known;
    } names[] = {{"workload", row->workload, bench_workload_names},
                 {"binding", row->binding, bench_binding_names},
                 {"state", row->state, states}};

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(names); i++) {
        if (!is_known(names[i].name, names[i].known)) {
            tool_say("shpool-bench: %s: row %zu has the %s \"%s\"; known:", path, number,
                     names[i].member, names[i].name);
            for (size_t k = 0; names[i].known[k] != NULL; k++) {
                tool_say(" %s", names[i].known[k]);
            }
            fputs("\n", stderr);
            return -1;
        }
    }
    return 0;
}

static int read_rows(const char *path, const json_t *rows, bench_results *results)
{
    bench_row row;
    size_t    i;

    if (!json_is_array(rows)) {
        tool_say("shpool-bench: %s: \"rows\" is not an array\n", path);
        return -1;
    }
    for (i = 0; i < json_array_size(rows); i++) {
        const char *bad;

        memset(&row, 0, sizeof(row));
        bad = read_members(json_array_get(rows, i), bench_row_columns, &row);
        if (bad != NULL) {
            tool_say("shpool-bench: %s: row %zu: \"%s\" is missing or has another type\n",
                     path,
                     i + 1, bad);
            return -1;
        }
        if ((check_names(path, i + 1, &row) != 0) || (bench_results_add(results, &row) != 0)) {
            return -1;
        }
    }
    return 0;
}

/* Why an open file cannot be read, checked before it is parsed as JSON; NULL: it can. */
static const char *not_readable(FILE *file)
{
    const int first = getc(file);

    if (first == EOF) {
        return ferror(file) ? strerror(errno) : "is empty";
    }
    (void)ungetc(first, file);
    return NULL;
}

/* The file's JSON; NULL: stderr says why there is none. */
static json_t *load(const char *path)
{
    const char  *why;
    FILE        *file     = tool_input_open(path, NULL, &why);
    json_t      *document = NULL;
    json_error_t error;
    char         text[2 * sizeof(error.text)];

    why = (file != NULL) ? not_readable(file) : why;
    if (why != NULL) {
        tool_say("shpool-bench: %s: %s\n", path, why);
    } else {
        tool_json_watch();
        document = json_loadf(file, 0, &error);
        if (tool_json_lost()) { /* of a text that is then shorter, for example */
            tool_say("shpool-bench: %s: out of memory\n", path);
            json_decref(document);
            document = NULL;
        } else if (document == NULL) {
            shpool_escape(text, sizeof(text), error.text, strlen(error.text));
            tool_say("shpool-bench: %s: is not JSON of shpool-bench: %s (line %d)\n", path,
                     text, error.line);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return document;
}

int bench_json_read(const char *path, bench_results *results)
{
    json_t     *document = load(path);
    const char *bad;
    int         failed   = -1;

    memset(results, 0, sizeof(*results));
    if (document == NULL) {
        return -1;
    }
    if (is_ours(path, document)) {
        bad = read_members(document, bench_origin_columns, &results->facts.origin);
        if (bad == NULL) {
            bad = read_members(document, bench_fact_columns, &results->facts);
        }
        if (bad != NULL) {
            tool_say("shpool-bench: %s: \"%s\" is missing or has another type\n", path, bad);
        } else {
            failed = read_rows(path, json_object_get(document, "rows"), results);
        }
    }
    json_decref(document);
    if (failed) {
        bench_results_clear(results);
    }
    return failed;
}

#else

int bench_has_json(void)
{
    return 0;
}

int bench_json_document(FILE *to, const char *kind, const bench_records *facts,
                        const bench_records *rows)
{
    (void)to;
    (void)kind;
    (void)facts;
    (void)rows;
    return -1;
}

int bench_json_read(const char *path, bench_results *results)
{
    memset(results, 0, sizeof(*results));
    (void)path;
    tool_no_json("shpool-bench");
    return -1;
}

#endif

int bench_json_write(const bench_results *results, FILE *to)
{
    const bench_records facts[] = {{bench_origin_columns, &results->facts.origin, 1, 0},
                                   {bench_fact_columns, &results->facts, 1, 0},
                                   {NULL, NULL, 0, 0}};
    const bench_records rows = {bench_row_columns, results->rows, results->count,
                                sizeof(bench_row)};

    return bench_json_document(to, KIND, facts, &rows);
}
