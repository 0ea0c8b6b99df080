/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the output of shpool-coalesce lint about a PTX.
 *
 * The input is PTX.  Its findings are printed as text, which must not have terminal control
 * characters, and as JSON and SARIF, which are parsed again and must have as many findings. */
#include "config.h"

#include "tests/fuzz.h"

#if HAVE_JANSSON
#include <jansson.h>
#endif

#include "tools/coalesce/tool.h"

const char fuzz_name[] = "lint";

typedef int print_function(const coalesce_report *report, FILE *out);

static int print_text(const coalesce_report *report, FILE *out)
{
    const coalesce_text_options options = { 0 };

    return coalesce_report_text(report, &options, out);
}

/* free() it. */
static char *printed(const coalesce_report *report, print_function *print)
{
    char  *text = NULL;
    size_t bytes;
    FILE  *out = open_memstream(&text, &bytes);

    FUZZ_EXPECT(out != NULL);
    FUZZ_EXPECT(print(report, out));
    FUZZ_EXPECT(fclose(out) == 0);
    FUZZ_EXPECT(strlen(text) == bytes);
    return text;
}

static void check_text(const coalesce_report *report)
{
    char *text = printed(report, print_text);

    for (const char *at = text; *at != '\0'; at++) {
        FUZZ_EXPECT((*at == '\n') || (((unsigned char)*at >= ' ') && (*at != 0x7f)));
    }
    free(text);
}

#if HAVE_JANSSON
static void check_json(const coalesce_report *report)
{
    for (int is_sarif = 0; is_sarif < 2; is_sarif++) {
        char         *text = printed(report, is_sarif ? tool_sarif : tool_json);
        json_t       *root = json_loads(text, 0, NULL);
        const json_t *run  = is_sarif ? json_array_get(json_object_get(root, "runs"), 0) : root;

        FUZZ_EXPECT(json_array_size(json_object_get(run, is_sarif ? "results" : "findings")) ==
                    report->count);
        json_decref(root);
        free(text);
    }
}
#else
static void check_json(const coalesce_report *report)
{
    (void)report;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ptx_request request = { .waste = 1, .remarks = 1 };
    char             *text    = fuzz_text(data, size);
    coalesce_report   report;
    ptx_module        module;
    size_t            rewritten;

    coalesce_report_init(&report);
    if (ptx_parse(text, (uint32_t)size, &module) == PTX_FINE) {
        FUZZ_EXPECT(ptx_process(&module, &request, &report, NULL, &rewritten) == PTX_FINE);
        coalesce_report_sort(&report);
    } else {
        coalesce_report_input(&report, COALESCE_WARNING, text, 1, 1, "%s", module.error);
    }
    check_text(&report);
    check_json(&report);
    coalesce_report_fini(&report);
    ptx_module_fini(&module);
    free(text);
    return 0;
}
