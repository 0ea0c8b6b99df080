/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as JSON, and as SARIF 2.1.0, which editors and CI services show in the source. */
#include "tool.h"

#include "tools/json.h"

#include <string.h>

#include "lib/escape.h"

/* ---- JSON ---- */

static void put_place(tool_json *json, const char *name, const coalesce_place *place)
{
    if (place->file == NULL) {
        tool_json_text(json, name, NULL);
        return;
    }
    tool_json_open(json, name, '{');
    tool_json_text(json, "file", place->file);
    tool_json_integer(json, "line", place->line);
    tool_json_integer(json, "column", place->column);
    tool_json_close(json);
}

static void put_finding(tool_json *json, const coalesce_finding *finding)
{
    const struct { const char *name; long long value; } numbers[] = {
        { "accesses", finding->accesses },         { "bytes", finding->bytes },
        { "stride", finding->stride },             { "sectors", finding->sectors },
        { "ideal", finding->ideal },               { "record_bytes", finding->record_bytes },
        { "used_bytes", finding->used_bytes },     { "loop_depth", finding->loop_depth },
        { "times", finding->times },
    };

    tool_json_open(json, NULL, '{');
    tool_json_text(json, "level", coalesce_level_name(finding->level));
    tool_json_text(json, "rule", coalesce_rule_name(finding->rule));
    put_place(json, "place", &finding->place);
    put_place(json, "inlined_at", &finding->inlined_at);
    tool_json_text(json, "function", finding->function);
    tool_json_text(json, "message", finding->message);
    tool_json_text(json, "suggestion", finding->suggestion);
    tool_json_boolean(json, "store", finding->store);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(numbers); i++) {
        tool_json_integer(json, numbers[i].name, numbers[i].value);
    }
    tool_json_real(json, "weight", finding->weight, 17);
    tool_json_close(json);
}

void tool_findings_json(const coalesce_report *report, FILE *out)
{
    tool_json json = tool_json_begin(out);

    tool_json_integer(&json, "version", 1);
    tool_json_text(&json, "tool", "shpool-coalesce " PACKAGE_VERSION);
    tool_json_open(&json, "findings", '[');
    for (size_t i = 0; i < report->count; i++) {
        put_finding(&json, &report->finding[i]);
    }
    tool_json_end(&json, 0);
}

/* ---- SARIF ---- */

/* SARIF's levels are none, note, warning and error. */
static const char *sarif_level(coalesce_level level)
{
    return (level == COALESCE_REMARK) ? "none" : coalesce_level_name(level);
}

static void put_rules(tool_json *json)
{
    tool_json_open(json, "rules", '[');
    for (int rule = 0; rule < COALESCE_RULE_COUNT; rule++) {
        tool_json_open(json, NULL, '{');
        tool_json_text(json, "id", coalesce_rule_name((coalesce_rule)rule));
        tool_sarif_message(json, "shortDescription", coalesce_rule_text((coalesce_rule)rule));
        tool_json_close(json);
    }
    tool_json_close(json);
}

/* A path as part of a URI: reserved characters, and bytes beyond ASCII, become %XX. */
static void put_uri(tool_json *json, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/!$&'()*+,;=@";
    char   uri[3 * SHPOOL_PATH_BYTES];
    size_t used = 0;

    for (; (*path != '\0') && (used + 4 <= sizeof(uri)); path++) {
        used += (size_t)sprintf(uri + used, (strchr(plain, *path) != NULL) ? "%c" : "%%%02X",
                                (unsigned char)*path);
    }
    uri[used] = '\0';
    tool_json_text(json, "uri", uri);
}

/* [] where the place is unknown. */
static void put_locations(tool_json *json, const char *name, const coalesce_place *place)
{
    const unsigned depth = json->depth;

    tool_json_open(json, name, '[');
    if (place->file != NULL) {
        tool_json_open(json, NULL, '{');
        tool_json_open(json, "physicalLocation", '{');
        tool_json_open(json, "artifactLocation", '{');
        put_uri(json, place->file);
        tool_json_close(json);
        tool_json_open(json, "region", '{');
        tool_json_integer(json, "startLine", (place->line != 0) ? place->line : 1);
        if (place->column != 0) {
            tool_json_integer(json, "startColumn", place->column);
        }
    }
    tool_json_end(json, depth);
}

static void put_result(tool_json *json, const coalesce_finding *finding)
{
    const int is_remark = finding->level == COALESCE_REMARK;
    char      text[2048];

    (void)snprintf(text, sizeof(text), "%s%s%s%s%s",
                   (finding->function != NULL) ? finding->function : "",
                   (finding->function != NULL) ? ": " : "", finding->message,
                   (finding->suggestion != NULL) ? ". Try: " : "",
                   (finding->suggestion != NULL) ? finding->suggestion : "");
    if (!shpool_is_utf8(text)) { /* required text: such bytes become question marks */
        for (char *at = text; *at != '\0'; at++) {
            *at = ((unsigned char)*at < 0x80) ? *at : '?';
        }
    }
    tool_json_open(json, NULL, '{');
    tool_json_text(json, "ruleId", coalesce_rule_name(finding->rule));
    tool_json_integer(json, "ruleIndex", finding->rule);
    tool_json_text(json, "level", sarif_level(finding->level));
    tool_json_text(json, "kind", is_remark ? "informational" : "fail");
    tool_sarif_message(json, "message", text);
    put_locations(json, "locations", &finding->place);
    if (finding->inlined_at.file != NULL) {
        put_locations(json, "relatedLocations", &finding->inlined_at);
    }
    tool_json_close(json);
}

void tool_findings_sarif(const coalesce_report *report, FILE *out)
{
    tool_json json = tool_sarif_begin(out, "shpool-coalesce");

    put_rules(&json);
    tool_sarif_results(&json);
    for (size_t i = 0; i < report->count; i++) {
        put_result(&json, &report->finding[i]);
    }
    tool_json_end(&json, 0);
}
