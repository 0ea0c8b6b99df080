/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore: the command line, the table, CSV and the summary. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/bench/gpu.h"
#include "tools/bench/names.h"
#include "tools/options.h"
#include "tools/message.h"
#include "loadstore.h"

typedef enum output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON } output;

/* The rows that the summary of a type names. */
typedef enum champion {
    BEST_SHARED, BEST_COPY, BEST_CUB_COPY, BEST_STRIDED, BEST_THREAD, BEST_CUB_LOAD, BEST_COUNT
} champion;

static const char *const champion_name[BEST_COUNT] = {
    "copy through shared memory", "copy of any kind", "copy by CUB",
    "load in strided order", "load in thread order", "load by CUB"};

typedef struct report {
    output             format;
    tool_json          json;
    unsigned long long errors;
    unsigned           measured;
    bench_ls_row       best[BEST_COUNT];
    uint32_t           type_bytes; /* the type that best[] is about */
} report;

/* The options as facts of a result, and its members. */
static const bench_column option_columns[] = {
    {"bytes", BENCH_U64, BENCH_AT(bench_ls_options, bytes), NULL, 0, NULL},
    {"repeats", BENCH_U32, BENCH_AT(bench_ls_options, repeats), NULL, 0, NULL},
    {"waves", BENCH_U32, BENCH_AT(bench_ls_options, waves), NULL, 0, NULL},
    BENCH_LAST};

static const bench_column row_columns[] = {
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

/* ---- the command line ---- */

/* The command line's request. */
typedef struct request {
    bench_ls_options options;
    int              format; /* an output */
} request;

/* Sizes of elements: only powers of two have kernels, whichever shapes are compiled in. */
static int read_types(const tool_given *given, void *field)
{
    const bench_list *list = field;

    if (bench_numbers(given, field) != 0) {
        return -1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if ((list->value[i] & (list->value[i] - 1)) != 0) {
            tool_say("shpool-bench: --type-bytes %s: elements have 1, 2, 4, 8 or 16 bytes, "
                     "not %u\n", given->value, (unsigned)list->value[i]);
            return -1;
        }
    }
    return 0;
}

static int read_size(const tool_given *given, void *field)
{
    uint64_t n = 0;

    if (!shpool_spec_number(given->value, 1, &n) || (n < 1u << 20) || (n > 1ull << 40)) {
        tool_say("shpool-bench: %s %s: a number from 1M to 1024G is needed; it may end "
                 "in K, M or G\n", given->typed, given->value);
        return -1;
    }
    *(unsigned long long *)field = n / 16 * 16;
    return 0;
}

#define AT(_member) offsetof(request, _member)
static const tool_row option_rows[] = {
    {"--type-bytes LIST", read_types, AT(options.type_bytes), 1, 16, NULL,
     "sizes of an element: 1, 2, 4, 8, 16 [all]"},
    {"--threads LIST", bench_numbers, AT(options.threads), 1, 1024, NULL,
     "threads of a block, NT [all that were compiled in]"},
    {"--values LIST", bench_numbers, AT(options.values), 1, 32, NULL,
     "values of a thread, VT [all that were compiled in]"},
    {"--function PART", tool_text, AT(options.function), 0, 0, NULL,
     "measure only functions whose name contains PART, and CUB's"},
    {"--bytes B[K|M|G]", read_size, AT(options.bytes), 0, 0, NULL,
     "bytes of the input, and of the output [1G]"},
    {"--repeats N", tool_number, AT(options.repeats), 9, 10000, NULL,
     "launches, at least 9; their median is shown [9]"},
    {"--waves N", tool_number, AT(options.waves), 0, 1000000, NULL,
     "blocks of a grid, as a multiple of the blocks that the GPU runs\n"
     "at a time; 0: a block for each tile [0]"},
    {"--csv", tool_flag, AT(format), OUTPUT_CSV, 0, NULL, NULL},
    {"--json", tool_flag, AT(format), OUTPUT_JSON, 0, NULL, NULL},
    TOOL_LINE("  --csv, --json       print CSV or JSON instead of the table"),
    TOOL_LINE("  --help"),
    TOOL_ROWS_END};

static void usage(FILE *to)
{
    fputs("usage: shpool-bench loadstore [options]\n"
          "A LIST is 32,64 or 128-1024 (doubling) or 100-400:100 (steps).  An option that is\n"
          "given twice adds its values to the list.\n", to);
    tool_rows_print(to, option_rows, 22);
    fputs("The output says where and how it was measured.  GB/s are 10^9 bytes a second: bytes\n"
          "read and written for copies, bytes read for loads; the column counts says which.\n"
          "The column copy % compares with a device-to-device cudaMemcpyAsync, bytes read and\n"
          "written.  In the rows of the layout NT is bd and VT is m.\n"
          "Exit status: 0; 1: no GPU, or a result was wrong; 2: usage, or no such shape was\n"
          "compiled in\n", to);
}

static int check_words(int argc, char **argv, void *into)
{
    (void)into;
    if (optind < argc) {
        tool_say("shpool-bench: unexpected argument \"%s\"\n", argv[optind]);
        return -1;
    }
    return 0;
}

static const tool_parser parser = {"shpool-bench loadstore", "shpool-bench", option_rows, usage,
                                   check_words, 0, NULL};

/* Whether the two lists have a value in common. */
static int meet(const bench_list *wanted, const bench_list *there)
{
    size_t i;

    for (i = 0; (i < there->count) && !bench_ls_wants(wanted, there->value[i]); i++) {
    }
    return i < there->count;
}

static void put_list(const char *before, const bench_list *list)
{
    size_t i;

    fputs(before, stderr);
    for (i = 0; i < list->count; i++) {
        tool_say("%s%u", (i == 0) ? "" : ",", (unsigned)list->value[i]);
    }
}

/* Check that a requested shape was compiled in; -1: none, and stderr lists those that were. */
static int check_shapes(const bench_ls_options *options)
{
    bench_ls_shapes there;

    bench_loadstore_shapes(&there);
    if ((there.type_bytes.count == 0) ||
        (meet(&options->type_bytes, &there.type_bytes) && meet(&options->threads, &there.threads) &&
         meet(&options->values, &there.values))) {
        return 0;
    }
    put_list("shpool-bench: no such shape was compiled in; there are --type-bytes ",
             &there.type_bytes);
    put_list(", --threads ", &there.threads);
    put_list(" and --values ", &there.values);
    fputs("; tools/bench/loadstore/loadstore.mk tells how a build gets more "
          "(BENCH_LOADSTORE)\n", stderr);
    return -1;
}

int bench_ls_wants(const bench_list *list, uint32_t value)
{
    return (list->count == 0) || bench_list_has(list, value);
}

/* ---- output ---- */

/* One line for each kind: the fastest of this type, and its shape. */
static void summary(report *out)
{
    for (int k = 0; (k < BEST_COUNT) && (out->type_bytes != 0) && (out->format == OUTPUT_TABLE);
         k++) {
        const bench_ls_row *row = &out->best[k];

        if (row->gbs > 0.0) {
            printf("# %2u bytes, best %-26s %8.1f GB/s %s, %5.1f %% of the device copy: %s (%s), "
                   "NT %u, VT %u\n", (unsigned)out->type_bytes, champion_name[k], row->gbs,
                   row->counts, row->copy_percent,
                   row->entry.function, row->entry.path, (unsigned)row->entry.threads,
                   (unsigned)row->entry.values);
        }
    }
    memset(out->best, 0, sizeof(out->best));
}

static void challenge(report *out, champion which, const bench_ls_row *row)
{
    if ((row->errors == 0) && (row->gbs > out->best[which].gbs)) {
        out->best[which] = *row;
    }
}

/* The members of a row that follow from others. */
static void derive(bench_ls_row *row)
{
    row->counts       = (row->entry.check == BENCH_LS_SUM) ? "read" : "read+written";
    row->copy_percent = (row->gbs >= 0.0) ? 100.0 * row->gbs / row->copy_gbs : -1.0;
    row->ratio = ((row->gbs >= 0.0) && (row->cub_gbs > 0.0)) ? row->gbs / row->cub_gbs : -1.0;
}

static void take_row(const bench_ls_row *measured, void *user)
{
    bench_ls_row          derived = *measured;
    const bench_ls_row   *row     = &derived;
    report               *out     = user;
    const bench_ls_entry *e       = &row->entry;
    const int             load    = e->check == BENCH_LS_SUM;

    derive(&derived);

    if (out->type_bytes != e->type_bytes) {
        summary(out);
        out->type_bytes = e->type_bytes;
    }
    out->measured += row->gbs >= 0.0;
    out->errors += row->errors;
    if (e->is_cub) {
        challenge(out, load ? BEST_CUB_LOAD : BEST_CUB_COPY, row);
    } else if (load && (e->order == BENCH_LS_THREAD)) {
        challenge(out, BEST_THREAD, row);
    } else if (load && (e->order == BENCH_LS_ANY)) {
        challenge(out, BEST_STRIDED, row);
    } else if (!load && (e->order != BENCH_LS_OTHER)) {
        challenge(out, BEST_COPY, row);
        if (strncmp(e->function, "global_to_shared", 16) == 0) {
            challenge(out, BEST_SHARED, row);
        }
    }
    if (out->format == OUTPUT_JSON) {
        tool_json_open(&out->json, NULL, '{');
        bench_json_members(&out->json, row_columns, row);
        tool_json_close(&out->json);
    } else if (out->format == OUTPUT_CSV) {
        bench_csv_row(stdout, row_columns, row);
    } else {
        bench_table_row(stdout, row_columns, row, 0, NULL);
    }
}

static void header(report *out, const bench_ls_options *options, const bench_origin *origin)
{
    char how[160];

    if (out->format == OUTPUT_CSV) {
        bench_csv_facts(stdout, bench_origin_columns, origin);
        bench_csv_facts(stdout, option_columns, options);
        bench_csv_heading(stdout, row_columns);
        return;
    }
    if (out->format == OUTPUT_JSON) {
        out->json = tool_json_begin(stdout);
        bench_json_members(&out->json, bench_origin_columns, origin);
        bench_json_members(&out->json, option_columns, options);
        tool_json_open(&out->json, "rows", '[');
        return;
    }
    snprintf(how, sizeof(how), "%llu bytes read and as many written, median of %u launches, waves "
             "%u", options->bytes, (unsigned)options->repeats, (unsigned)options->waves);
    bench_origin_print(stdout, origin, how);
    bench_table_heading(stdout, row_columns, 0, NULL);
}

/* Final output after the rows; returns the exit status. */
static int finish(report *out, int failed, const char *error)
{
    summary(out);
    tool_json_end(&out->json, 0);
    if (failed) {
        tool_say("shpool-bench: loadstore: %s\n", error);
    } else if (out->errors != 0) {
        tool_say("shpool-bench: %llu elements or sums were wrong\n", out->errors);
    }
    return (failed || (out->measured == 0) || (out->errors != 0)) ? 1 : 0;
}

int bench_loadstore(int argc, char **argv)
{
    request      asked = {.options = {.bytes = 1ull << 30, .repeats = 9}};
    bench_origin origin;
    report       out;
    char         device[256];
    char         error[256] = "";
    int          failed;
    int          stop;

    memset(&out, 0, sizeof(out));
    bench_command_write("shpool-bench loadstore", argc, argv, origin.command,
                        sizeof(origin.command)); /* before getopt_long() moves its words */
    stop = tool_parse(&parser, argc, argv, &asked);
    if (stop != 0) {
        return stop - 1;
    }
    out.format = (output)asked.format;
    tool_messages("shpool-bench");
    if (check_shapes(&asked.options) != 0) {
        return 2;
    }
    if (!bench_cuda_present(device, sizeof(device))) {
        tool_say("shpool-bench: loadstore needs a GPU: %s\n", device);
        return 1;
    }
    if (bench_origin_gpu(&origin, 0) != SHPOOL_OK) {
        tool_say("shpool-bench: %s\n", shpool_last_error());
        return 1;
    }
    header(&out, &asked.options, &origin);
    failed = bench_loadstore_run(&asked.options, take_row, &out, error) != 0;
    return finish(&out, failed, error);
}
