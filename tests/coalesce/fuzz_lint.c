/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the output of shpool-coalesce lint about a PTX.
 *
 * The input is PTX.  Its findings are printed as text, which must not have terminal control
 * characters, and as JSON and SARIF, which are read again and must have as many findings. */
#include "config.h"

#include "tests/fuzz.h"

#include "tools/coalesce/tool.h"

const char fuzz_name[] = "lint";

typedef void print_function(const coalesce_report *report, FILE *out);

static void print_text(const coalesce_report *report, FILE *out)
{
    const coalesce_text_options options = { 0 };

    FUZZ_EXPECT(coalesce_report_text(report, &options, out));
}

/* free() it. */
static char *printed(const coalesce_report *report, print_function *print)
{
    char  *text = NULL;
    size_t bytes;
    FILE  *out = open_memstream(&text, &bytes);

    FUZZ_EXPECT(out != NULL);
    print(report, out);
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

static const char *past(const char *at, char expected)
{
    FUZZ_EXPECT(*at == expected);
    at++;
    return at + strspn(at, " \n");
}

static const char *past_string(const char *at)
{
    at++;
    for (; *at != '"'; at++) {
        FUZZ_EXPECT((unsigned char)*at >= ' ');
        at += (*at == '\\') && (strchr("\"\\/bfnrtu", at[1]) != NULL);
    }
    return past(at, '"');
}

/* Past a value; count_p: of the elements of each array under this name. */
static const char *past_value(const char *at, const char *name, size_t *count_p, int counts)
{
    const char begin = *at;
    const char end   = (begin == '{') ? '}' : ']';

    if (begin == '"') {
        return past_string(at);
    }
    if ((begin != '{') && (begin != '[')) {
        const char *stop = at + strspn(at, "0123456789.+-enulltrufas");

        FUZZ_EXPECT(stop != at);
        return stop + strspn(stop, " \n");
    }
    at = past(at, begin);
    while (*at != end) {
        const int named = (begin == '{') && (strncmp(at + 1, name, strlen(name)) == 0);

        at = (begin == '{') ? past(past_string(at), ':') : at;
        *count_p += (begin == '[') && counts;
        at = past_value(at, name, count_p, named);
        FUZZ_EXPECT((*at == end) || (*at == ','));
        at = (*at == ',') ? past(at, ',') : at;
    }
    return past(at, end);
}

static void check_json(const coalesce_report *report)
{
    static const struct {
        print_function *print;
        const char     *name;
    } forms[] = { { tool_findings_json, "findings\"" }, { tool_findings_sarif, "results\"" } };

    for (size_t i = 0; i < 2; i++) {
        char  *text  = printed(report, forms[i].print);
        size_t count = 0;

        FUZZ_EXPECT(*past_value(text, forms[i].name, &count, 0) == '\0');
        FUZZ_EXPECT(count == report->count);
        free(text);
    }
}

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
