/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-coalesce lint, rewrite and costs. */
#include "config.h" /* _GNU_SOURCE, for fopencookie() */

#include "tool.h"
#include "tools/output.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/escape.h"

static int has_ending(const char *path, const char *ending)
{
    const size_t bytes = strlen(path);

    return (bytes > strlen(ending)) && (strcmp(path + bytes - strlen(ending), ending) == 0);
}

/* Parse a text; TOOL_OK or, with a message that a compiler could have written, TOOL_NO_INPUT. */
static int parse(const char *path, const char *text, size_t bytes, ptx_module *module,
                 coalesce_report *report)
{
    switch (ptx_parse(text, (uint32_t)bytes, module)) {
    case PTX_FINE:
        return TOOL_OK;
    case PTX_SYNTAX:
        shpool_put(path, stderr);
        (void)fprintf(stderr, ":%u:%u: error: %s\n", module->error_line, module->error_column,
                      module->error);
        return TOOL_NO_INPUT;
    default:
        report->out_of_memory = 1;
        return tool_failed("%s: no memory for %zu bytes of PTX", path, bytes);
    }
}

/* ---- lint ---- */

/* The text of tool_read(), which it frees. */
static int lint_text(const char *path, char *text, size_t bytes, const ptx_request *request,
                     coalesce_report *report)
{
    ptx_module module;
    size_t     rewritten;
    int        status;

    if (text == NULL) {
        return TOOL_NO_INPUT;
    }
    status = parse(path, text, bytes, &module, report);
    if ((status == TOOL_OK) &&
        (ptx_process(&module, request, report, NULL, &rewritten) != PTX_FINE)) {
        status = tool_failed("%s: no memory to analyse it", path);
    }
    ptx_module_fini(&module);
    free(text);
    return status;
}

static int lint_ptx(const char *path, const ptx_request *request, coalesce_report *report)
{
    size_t bytes = 0;
    char  *text  = tool_read(path, &bytes);

    return lint_text(path, text, bytes, request, report);
}

/* nvcc -ptx -lineinfo [the user's options] FILE -o PTX */
static int compile(const tool_options *options, const char *path, char *ptx,
                   const sigset_t *signals)
{
    const char **words = calloc(options->compiler_count + 8, sizeof(*words));
    size_t       count = 0;
    int          status;

    if (words == NULL) {
        return tool_failed("no memory for nvcc's options");
    }
    words[count++] = "nvcc";
    words[count++] = "-ptx";
    words[count++] = "-lineinfo";
    for (size_t i = 0; i < options->compiler_count; i++) {
        words[count++] = options->compiler[i];
    }
    words[count++] = path;
    words[count++] = "-o";
    words[count++] = ptx;
    status = tool_run((char *const *)words, signals);
    free(words);
    if (status == 127) {
        return tool_failed("%s: nvcc is needed to lint a .cu file: put it on PATH, or lint PTX",
                           path);
    }
    return (status == 0) ? TOOL_OK : tool_failed("%s: nvcc ended with %d; its options follow --",
                                                 path, status);
}

/* The PTX of a .cu file is in a temporary file only until it is read: a signal that ends the
 * program waits that long. */
static int lint_cuda(const tool_options *options, const char *path, const ptx_request *request,
                     coalesce_report *report)
{
    char     ptx[PATH_MAX];
    char    *text  = NULL;
    size_t   bytes = 0;
    sigset_t signals;
    int      fd = -1;
    int      status;

    tool_signals_block(&signals);
    if (tool_temporary(ptx, sizeof(ptx), "shpool-coalesce", ".ptx")) {
        fd = mkstemps(ptx, 4);
    }
    if (fd < 0) {
        status = tool_failed("%s: a temporary file cannot be made: %s", ptx, strerror(errno));
    } else {
        (void)close(fd);
        status = compile(options, path, ptx, &signals);
        text   = (status == TOOL_OK) ? tool_read(ptx, &bytes) : NULL;
        (void)unlink(ptx);
    }
    tool_signals_restore(&signals);
    return (status != TOOL_OK) ? status : lint_text(ptx, text, bytes, request, report);
}

static int lint_file(const tool_options *options, const char *path, coalesce_report *report)
{
    ptx_request request = options->request;

    if (has_ending(path, ".ptx")) {
        request.file     = path;
        request.rewriter = "shpool-coalesce rewrite";
        return lint_ptx(path, &request, report);
    }
    if (has_ending(path, ".ll") || has_ending(path, ".bc")) {
        return tool_lint_llvm(path, &options->request, report);
    }
    if (has_ending(path, ".cu") || has_ending(path, ".cpp") || has_ending(path, ".cc")) {
        request.rewriter = "shpool-coalesce nvcc";
        return lint_cuda(options, path, &request, report);
    }
    return tool_failed("%s: the name must end in .cu, .ptx, .ll or .bc", path);
}

/* A stream into memory: if memory runs out, no part of the report may be printed.  (The stream of
 * open_memstream() does not report that text is missing.) */
static ssize_t keep(void *user, const char *text, size_t bytes)
{
    ptx_put_bytes(user, text, bytes);
    return ((ptx_out *)user)->no_memory ? 0 : (ssize_t)bytes;
}

static FILE *open_kept(ptx_out *text)
{
    return fopencookie(text, "w", (cookie_io_functions_t){ .write = keep });
}

/* 0: memory ran out, or `out` is incomplete. */
static int print_text(const tool_options *options, const coalesce_report *report, int terminal,
                      FILE *out)
{
    tool_folders folders;
    int          fine = tool_folders_of(options, &folders);

    if (fine) {
        const coalesce_text_options text = {
            .excerpts = terminal || (options->colour > 0),
            .colour = (options->colour > 0) || ((options->colour < 0) && terminal),
            .folder = (const char *const *)folders.path,
            .folders = folders.count,
        };

        fine = coalesce_report_text(report, &text, out);
        tool_folders_fini(&folders);
    }
    return fine;
}

static int print_report(const tool_options *options, const coalesce_report *report, int terminal,
                        FILE *out)
{
    switch (options->format) {
    case FORMAT_JSON:
        tool_findings_json(report, out);
        return 1;
    case FORMAT_SARIF:
        tool_findings_sarif(report, out);
        return 1;
    default:
        return print_text(options, report, terminal, out);
    }
}

/* The report as it is to be printed, in text->text, which the caller frees; 0: memory ran out. */
static int report_to_text(const tool_options *options, const coalesce_report *report, int terminal,
                          ptx_out *text)
{
    FILE *out  = report->out_of_memory ? NULL : open_kept(text);
    int   fine = out != NULL;

    if (fine) {
        fine = print_report(options, report, terminal, out);
        fine = (fclose(out) == 0) && fine && !text->no_memory;
    }
    return fine;
}

static int write_text(const tool_options *options, const ptx_out *text, FILE *stream)
{
    if ((stream == stdout) && (options->output != NULL)) {
        return tool_write(options->output, (text->bytes != 0) ? text->text : "", text->bytes)
                   ? TOOL_OK : TOOL_NO_INPUT;
    }
    if (text->bytes != 0) {
        (void)fwrite(text->text, 1, text->bytes, stream);
    }
    return TOOL_OK; /* tool_leave() flushes stdout */
}

/* nvcc writes absolute paths.  Below the current folder they become relative, as compilers print
 * them and CI services look them up in the repository. */
static void shorten_paths(coalesce_report *report)
{
    char   folder[PATH_MAX + 1];
    size_t bytes;

    if (getcwd(folder, PATH_MAX) == NULL) {
        return;
    }
    bytes = strlen(folder);
    folder[bytes++] = '/';
    folder[bytes]   = '\0';
    for (size_t i = 0; i < report->count; i++) {
        char *files[] = { report->finding[i].place.file, report->finding[i].inlined_at.file };

        for (size_t k = 0; k < 2; k++) {
            if ((files[k] != NULL) && (strncmp(files[k], folder, bytes) == 0)) {
                memmove(files[k], files[k] + bytes, strlen(files[k] + bytes) + 1);
            }
        }
    }
}

/* To the stream, or with -o from stdout to that file. */
static int deliver(const tool_options *options, coalesce_report *report, FILE *stream)
{
    const int terminal = isatty(fileno(stream)) &&
                         ((stream != stdout) || (options->output == NULL));
    ptx_out   text     = { .text = NULL };
    int       failed   = 0;
    int       status;

    shorten_paths(report);
    coalesce_report_sort(report);
    if (!options->headers && !report->out_of_memory) {
        coalesce_report_drop_headers(report, options->least, "--headers");
    }
    for (size_t i = 0; i < report->count; i++) {
        failed |= (options->fail_on >= 0) && ((int)report->finding[i].level >= options->fail_on);
    }
    coalesce_report_drop_below(report, options->least);
    status = report_to_text(options, report, terminal, &text)
                 ? write_text(options, &text, stream)
                 : tool_failed("memory ran out: no findings are printed");
    free(text.text);
    return (status != TOOL_OK) ? status : failed ? TOOL_FOUND : TOOL_OK;
}

int tool_lint(const tool_options *options)
{
    coalesce_report report;
    int             status = TOOL_OK;
    int             delivered;

    coalesce_report_init(&report);
    for (size_t i = 0; i < options->file_count; i++) {
        if (lint_file(options, options->files[i], &report) != TOOL_OK) {
            status = TOOL_NO_INPUT; /* the others are processed anyway */
        }
    }
    delivered = deliver(options, &report, stdout);
    coalesce_report_fini(&report);
    return (status != TOOL_OK) ? status : delivered;
}

/* ---- rewrite ---- */

static int rewrite_text(const tool_options *options, const char *path, ptx_module *module,
                        coalesce_report *report)
{
    ptx_request     request = options->request;
    ptx_out         out     = { .text = NULL };
    const char     *reason  = ptx_unusable_because(module);
    size_t          rewritten;
    int             status;

    if (reason != NULL) {
        return tool_failed("%s: %s", path, reason);
    }
    request.waste = 0;
    request.file  = path; /* places, without -lineinfo */
    if (ptx_process(module, &request, report, &out, &rewritten) != PTX_FINE) {
        status = tool_failed("%s: no memory to rewrite it", path);
    } else {
        status = tool_write(options->output, out.text, out.bytes) ? TOOL_OK : TOOL_NO_INPUT;
    }
    if ((status == TOOL_OK) && request.remarks) {
        status = deliver(options, report, stderr);
    }
    if ((status == TOOL_OK) && options->verbose) {
        tool_rewritten(path, rewritten);
    }
    free(out.text);
    return status;
}

int tool_rewrite(const tool_options *options)
{
    const char     *path = options->files[0];
    size_t          bytes;
    char           *text = tool_read(path, &bytes);
    coalesce_report report;
    ptx_module      module;
    int             status;

    if (text == NULL) {
        return TOOL_NO_INPUT;
    }
    coalesce_report_init(&report);
    status = parse(path, text, bytes, &module, &report);
    if (status == TOOL_OK) {
        status = rewrite_text(options, path, &module, &report);
    }
    coalesce_report_fini(&report);
    ptx_module_fini(&module);
    free(text);
    return status;
}

/* ---- costs ---- */

int tool_costs(void)
{
    static const char *const kinds[] = { "loads", "stores", "copies" };
    size_t                   count;
    const coalesce_cost     *row = coalesce_cost_table(&count);

    (void)printf("%-7s %-22s %-9s %-21s %s\n", "what", "how", "words", "where",
                 "measured (H200, GB/s)");
    for (size_t i = 0; i < count; i++) {
        char words[16];

        (void)snprintf(words, sizeof(words), "%u to %u", row[i].words_min, row[i].words_max);
        (void)printf("%-7s %-22s %-9s %-21s %s\n", kinds[row[i].kind],
                     coalesce_transform_text(row[i].transform), words,
                     row[i].may_alias ? "pointers may alias"
                     : row[i].with_store ? "records written, too"
                     : row[i].has_holes ? "half or more used"
                     : row[i].is_narrow ? "bytes, half-words" : "everywhere", row[i].evidence);
    }
    return TOOL_OK;
}
