/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore --json, by jansson. */
#include "config.h"

#include <stdio.h>

#include "tools/bench/json.h"
#include "tools/json.h"
#include "loadstore.h"
#include "tools/message.h"

#if HAVE_JANSSON

#include <jansson.h>

static json_t *document;
static json_t *rows;

int bench_ls_json_begin(const bench_ls_options *options, const bench_origin *origin)
{
    tool_json_watch();
    rows     = json_array();
    document = json_object();
    bench_json_members(document, bench_origin_columns, origin);
    bench_json_members(document, bench_ls_option_columns, options);
    if (json_object_set_new(document, "rows", rows) != 0) {
        rows = NULL; /* released; bench_ls_json_end() says it */
    }
    return 0;
}

/* A negative figure was not measured: null. */
static json_t *figure(double value)
{
    return (value >= 0.0) ? json_real(value) : json_null();
}

void bench_ls_json_row(const bench_ls_row *row)
{
    const bench_ls_entry *e = &row->entry;

    (void)json_array_append_new(
        rows, json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:o, s:o, s:s?, s:o, s:o, s:i, s:I, s:s}",
                        "function", e->function, "path", e->path, "type_bytes", (int)e->type_bytes,
                        "threads", (int)e->threads, "values", (int)e->values, "counts",
                        bench_ls_counts(e->check), "gbs", figure(row->gbs), "device_copy_gbs",
                        figure(row->copy_gbs), "cub_mode", row->cub_mode, "cub_gbs",
                        figure(row->cub_gbs), "registers", figure(row->registers), "shared_bytes",
                        (int)e->shared_bytes, "errors", (json_int_t)row->errors, "note",
                        row->note));
}

int bench_ls_json_end(void)
{
    int failed = tool_json_lost() ||
                 (json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0);

    (void)putchar('\n');
    json_decref(document);
    if (tool_json_lost()) {
        tool_say("shpool-bench: loadstore: --json: out of memory\n");
    }
    return failed ? -1 : 0;
}

#else

int bench_ls_json_begin(const bench_ls_options *options, const bench_origin *origin)
{
    (void)options;
    (void)origin;
    return -1;
}

void bench_ls_json_row(const bench_ls_row *row)
{
    (void)row;
}

int bench_ls_json_end(void)
{
    return 0;
}

#endif
