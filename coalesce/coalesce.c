/* SPDX-License-Identifier: BSD-3-Clause */
/* <shpool/coalesce.h>: lint and rewriter as library calls. */
#include "lib/internal.h"

#include <stdlib.h>
#include <string.h>

#include <shpool/coalesce.h>

#include "coalesce/ptx/ptx.h"

#define MOST_BYTES (1u << 30)

/* ---- in ---- */

static shpool_status parse(const char *ptx, size_t bytes, ptx_module *module)
{
    if (ptx == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "ptx is NULL");
    }
    bytes = (bytes == 0) ? strlen(ptx) : bytes;
    if (bytes >= MOST_BYTES) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE, "%zu bytes of PTX, at most 1 GiB is read", bytes);
    }
    switch (ptx_parse(ptx, (uint32_t)bytes, module)) {
    case PTX_FINE:
        return SHPOOL_OK;
    case PTX_SYNTAX:
        return shpool_error(SHPOOL_ERR_INVALID, "line %u, column %u of the PTX: %s",
                            module->error_line, module->error_column, module->error);
    default:
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no memory for %zu bytes of PTX", bytes);
    }
}

static ptx_request request_of(const shpool_coalesce_options *options)
{
    ptx_request request = { .waste = 1, .rewriter = "shpool_coalesce_rewrite()" };

    if (options != NULL) {
        request.plan.force = options->force;
        request.plan.block = (coalesce_block){ options->block[0], options->block[1],
                                               options->block[2], 0 };
        request.skip    = options->skip;
        request.skips   = options->skips;
        request.remarks = options->remarks;
    }
    return request;
}

/* ---- out ---- */

static size_t deliver(const coalesce_report *report, const shpool_coalesce_options *options)
{
    size_t warnings = 0;

    for (size_t i = 0; i < report->count; i++) {
        const coalesce_finding       *from = &report->finding[i];
        const shpool_coalesce_finding to   = {
            .level = (shpool_coalesce_level)from->level, .rule = coalesce_rule_name(from->rule),
            .file = from->place.file, .line = from->place.line, .column = from->place.column,
            .function = from->function, .message = from->message, .suggestion = from->suggestion,
            .accesses = from->accesses, .bytes = from->bytes, .stride = from->stride,
            .sectors = from->sectors, .ideal = from->ideal, .record_bytes = from->record_bytes,
            .used_bytes = from->used_bytes, .loop_depth = from->loop_depth,
            .weight = from->weight, .times = from->times,
        };

        warnings += (from->level == COALESCE_WARNING);
        if ((options != NULL) && (options->report != NULL)) {
            options->report(&to, options->user);
        }
    }
    return warnings;
}

/* Analyse and, with `out`, rewrite; findings are passed to the caller's function. */
static shpool_status process(ptx_module *module, const shpool_coalesce_options *options,
                             ptx_out *out, size_t *warnings_p, size_t *rewritten_p)
{
    const ptx_request request = request_of(options);
    coalesce_report   report;
    ptx_result        result;

    coalesce_report_init(&report);
    result = ptx_process(module, &request, &report, out, rewritten_p);
    if (result != PTX_FINE) {
        coalesce_report_fini(&report);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no memory to analyse %u bytes of PTX",
                            module->bytes);
    }
    coalesce_report_sort(&report);
    *warnings_p = deliver(&report, options);
    coalesce_report_fini(&report);
    return SHPOOL_OK;
}

shpool_status shpool_coalesce_lint(const char *ptx, size_t bytes,
                                   const shpool_coalesce_options *options, size_t *warnings_p)
{
    ptx_module    module;
    shpool_status status   = SHPOOL_OK;
    size_t        warnings = 0;
    size_t        rewritten;

    memset(&module, 0, sizeof(module));
    status = parse(ptx, bytes, &module);
    if (status == SHPOOL_OK) {
        status = process(&module, options, NULL, &warnings, &rewritten);
    }
    ptx_module_fini(&module);
    if (warnings_p != NULL) {
        *warnings_p = (status == SHPOOL_OK) ? warnings : 0;
    }
    return status;
}

static shpool_status rewrite(ptx_module *module, const shpool_coalesce_options *options,
                             ptx_out *out, size_t *rewritten_p)
{
    const char *reason = ptx_unusable_because(module);
    size_t      warnings;

    if (reason != NULL) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "%s", reason);
    }
    return process(module, options, out, &warnings, rewritten_p);
}

shpool_status shpool_coalesce_rewrite(const char *ptx, size_t bytes,
                                      const shpool_coalesce_options *options, char **ptx_p,
                                      size_t *bytes_p, size_t *rewritten_p)
{
    ptx_module    module;
    ptx_out       out       = { .text = NULL };
    size_t        rewritten = 0;
    shpool_status status;

    memset(&module, 0, sizeof(module));
    status = (ptx_p == NULL) ? shpool_error(SHPOOL_ERR_INVALID, "ptx_p is NULL")
                             : parse(ptx, bytes, &module);
    if (status == SHPOOL_OK) {
        status = rewrite(&module, options, &out, &rewritten);
    }
    ptx_module_fini(&module);
    if (status != SHPOOL_OK) {
        free(out.text);
        out = (ptx_out){ .text = NULL };
        rewritten = 0;
    }
    if (ptx_p != NULL) {
        *ptx_p = out.text;
    }
    if (bytes_p != NULL) {
        *bytes_p = out.bytes;
    }
    if (rewritten_p != NULL) {
        *rewritten_p = rewritten;
    }
    return status;
}

void shpool_coalesce_free(char *ptx)
{
    free(ptx);
}
