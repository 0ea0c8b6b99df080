/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench --json, by jansson. */
#include "config.h"

#include <stdio.h>

#include "bench.h"

#if HAVE_JANSSON

#include <jansson.h>

static json_t *document;
static json_t *rows;

int bench_json_begin(const bench_options *options, const char *device)
{
    rows     = json_array();
    document = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "version", shpool_version(),
                         "device", device, "threads", (json_int_t)options->threads, "payload_bytes",
                         (json_int_t)options->bytes, "iterations",
                         (json_int_t)options->iterations, "seed", (json_int_t)options->seed, "rows",
                         rows);
    return (document != NULL) ? 0 : -1;
}

/* A negative figure was not measured: null. */
static json_t *figure(double value)
{
    return (value >= 0.0) ? json_real(value) : json_null();
}

void bench_json_row(const bench_row *row, void *user)
{
    (void)user;
    (void)json_array_append_new(
        rows, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:I, s:s}",
                        "allocator", row->allocator, "binding", row->binding, "workload",
                        row->workload, "threads", (int)row->threads, "pools", (int)row->pools,
                        "shared_bytes", (int)row->shared_bytes, "blocks", (int)row->blocks,
                        "registers", figure(row->registers), "cycles_per_op", figure(row->cycles),
                        "gops", figure(row->gops), "failures_percent", figure(row->failed),
                        "utilisation_percent", figure(row->utilisation), "errors",
                        (json_int_t)row->errors, "note", row->note));
}

void bench_json_end(void)
{
    (void)json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(document);
}

#else

int bench_json_begin(const bench_options *options, const char *device)
{
    (void)options;
    (void)device;
    return -1;
}

void bench_json_row(const bench_row *row, void *user)
{
    (void)row;
    (void)user;
}

void bench_json_end(void)
{
}

#endif
