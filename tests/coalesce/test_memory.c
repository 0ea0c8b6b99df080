/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that runs out: for every n, the nth allocation of a lint or rewrite fails.  The result is
 * an error: no allocation is there for nothing. */
#include "config.h" /* _GNU_SOURCE, for fopencookie() */

#include "tests/faults.h"

#include <limits.h>
#include <unistd.h>

#include <shpool/coalesce.h>

#include "tools/coalesce/tool.h"

#define MOST_BYTES (1u << 20)

/* Demangles a letter, and says so when memory runs out, as the C++ runtime's does. */
static char *demangle(const char *mangled, char *buffer, size_t *bytes, int *status)
{
    char *text = malloc(strlen(mangled) + 8);

    (void)buffer;
    (void)bytes;
    *status = (text == NULL) ? -1 : 0;
    if (text != NULL) {
        (void)sprintf(text, "named::%s", mangled);
    }
    return text;
}

/* ---- operations on a PTX ---- */

typedef enum output {
    LINT_TEXT, LINT_JSON, LINT_SARIF, REWRITE, REWRITE_FORCED, LINT_CALL, OUTPUTS
} output;

typedef struct input {
    const char *folder; /* of the source files */
    char       *text;
    size_t      bytes;
} input;

static ssize_t keep(void *user, const char *text, size_t bytes)
{
    ptx_put_bytes(user, text, bytes);
    return ((ptx_out *)user)->no_memory ? 0 : (ssize_t)bytes;
}

static int print(const coalesce_report *report, const input *in, output what, ptx_out *out)
{
    const coalesce_text_options options = { .excerpts = 1, .folder = &in->folder, .folders = 1 };
    FILE *stream = fopencookie(out, "w", (cookie_io_functions_t){ .write = keep });
    int   fine = 1;

    assert_non_null(stream);
    if (what == LINT_TEXT) {
        fine = coalesce_report_text(report, &options, stream);
    } else {
        (what == LINT_JSON ? tool_findings_json : tool_findings_sarif)(report, stream);
    }
    return (fclose(stream) == 0) && fine && !out->no_memory;
}

static int lint(const input *in, output what, ptx_out *out)
{
    const ptx_request request = { .waste = 1, .remarks = 1, .demangle = demangle };
    coalesce_report   report;
    ptx_module        module;
    size_t            rewritten;
    int               fine;

    coalesce_report_init(&report);
    fine = (ptx_parse(in->text, (uint32_t)in->bytes, &module) == PTX_FINE) &&
           (ptx_process(&module, &request, &report, NULL, &rewritten) == PTX_FINE);
    if (fine) {
        coalesce_report_sort(&report);
        fine = print(&report, in, what, out);
    }
    coalesce_report_fini(&report);
    ptx_module_fini(&module);
    return fine;
}

/* The library call, whose caller gets nothing if it fails. */
static int rewrite(const input *in, int force, ptx_out *out)
{
    const shpool_coalesce_options options = { .force = force, .remarks = 1 };
    size_t        rewritten;
    shpool_status status = shpool_coalesce_rewrite(in->text, in->bytes, &options, &out->text,
                                                   &out->bytes, &rewritten);

    if (status != SHPOOL_OK) {
        assert_int_equal(status, SHPOOL_ERR_NO_MEMORY);
        assert_null(out->text);
        assert_int_equal(rewritten, 0);
    }
    return status == SHPOOL_OK;
}

static void receive(const shpool_coalesce_finding *finding, void *out)
{
    const uint32_t numbers[] = { finding->line, finding->times, finding->sectors };

    ptx_put_bytes(out, finding->message, strlen(finding->message));
    ptx_put_bytes(out, (const char *)numbers, sizeof(numbers));
}

/* The library call: either all findings arrive, or none. */
static int lint_call(const input *in, ptx_out *out)
{
    const shpool_coalesce_options options = { .remarks = 1, .report = receive, .user = out };
    size_t        warnings = 1;
    shpool_status status   = shpool_coalesce_lint(in->text, in->bytes, &options, &warnings);

    if (status != SHPOOL_OK) {
        assert_int_equal(status, SHPOOL_ERR_NO_MEMORY);
        assert_int_equal(warnings, 0);
        assert_int_equal(out->bytes, 0);
    }
    return (status == SHPOOL_OK) && !out->no_memory;
}

static int make(const input *in, output what, ptx_out *out)
{
    if (what == LINT_CALL) {
        return lint_call(in, out);
    }
    return (what >= REWRITE) ? rewrite(in, what == REWRITE_FORCED, out) : lint(in, what, out);
}

/* ---- the sweep ---- */

/* Names of source files begin in the folder of the PTX. */
static int enter_folder(void **state)
{
    const char *top = getenv("top_srcdir");

    return ((top != NULL) ? chdir(top) : 0) || chdir("tests/coalesce");
}

static input read_input(const char *name)
{
    static char folder[PATH_MAX];
    input       in = { .folder = folder, .text = malloc(MOST_BYTES) };
    FILE       *file = fopen(name, "rb");

    assert_non_null(getcwd(folder, sizeof(folder)));
    assert_non_null(file);
    in.bytes = fread(in.text, 1, MOST_BYTES - 1, file);
    in.text[in.bytes] = '\0';
    (void)fclose(file);
    return in;
}

static struct {
    input   in;
    output  what;
    ptx_out out;
    int     fine;
} now;

static void begin(void) {}

static void act(void)
{
    now.out  = (ptx_out){ .text = NULL };
    now.fine = make(&now.in, now.what, &now.out);
}

static void end(void)
{
    assert_int_equal(now.fine, fault.struck == 0);
    assert_true(!now.fine || (now.out.bytes > 0));
    free(now.out.text);
}

UNIT_TEST(test_every_allocation_may_fail)
{
    static const char *const names[] = {
        "lint.ptx", "../corpus/ptx/rows64.ptx", "../corpus/ptx/copy3.ptx",
        "../corpus/ptx/partial_store.ptx"
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(names); i++) {
        now.in = read_input(names[i]);
        for (now.what = LINT_TEXT; now.what < OUTPUTS; now.what++) {
            fault_sweep(&(fault_scene){ .name = names[i], .least = 10, .begin = begin,
                                        .act = act, .end = end });
        }
        free(now.in.text);
    }
}

UNIT_GROUP(enter_folder, NULL)
