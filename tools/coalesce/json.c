/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as JSON, and as SARIF 2.1.0, which editors and CI services show in the source. */
#include "tool.h"

#if HAVE_JANSSON

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Paths and names may be any bytes; JSON has only UTF-8, the rest becomes null. */
static json_t *text_json(const char *text)
{
    json_t *made = (text != NULL) ? json_string(text) : NULL;

    return (made != NULL) ? made : json_null();
}

static int print_json(json_t *root, FILE *out)
{
    int fine = (root != NULL) && (json_dumpf(root, out, JSON_INDENT(2)) == 0) &&
               (fputc('\n', out) != EOF);

    json_decref(root);
    return fine;
}

/* ---- JSON ---- */

static json_t *place_json(const coalesce_place *place)
{
    return (place->file == NULL)
               ? json_null()
               : json_pack("{s:o, s:I, s:I}", "file", text_json(place->file), "line",
                           (json_int_t)place->line, "column", (json_int_t)place->column);
}

static json_t *finding_json(const coalesce_finding *finding)
{
    json_t *made = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "level", coalesce_level_name(finding->level),
        "rule", coalesce_rule_name(finding->rule), "place", place_json(&finding->place),
        "inlined_at", place_json(&finding->inlined_at), "function", text_json(finding->function),
        "message", text_json(finding->message), "suggestion", text_json(finding->suggestion),
        "store", finding->store);

    if (made != NULL) {
        const struct { const char *name; json_int_t value; } numbers[] = {
            { "accesses", finding->accesses },         { "bytes", finding->bytes },
            { "stride", finding->stride },             { "sectors", finding->sectors },
            { "ideal", finding->ideal },               { "record_bytes", finding->record_bytes },
            { "used_bytes", finding->used_bytes },     { "loop_depth", finding->loop_depth },
        };

        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(numbers); i++) {
            json_object_set_new(made, numbers[i].name, json_integer(numbers[i].value));
        }
        json_object_set_new(made, "weight", json_real(finding->weight));
    }
    return made;
}

int tool_json(const coalesce_report *report, FILE *out)
{
    json_t *findings = json_array();

    for (size_t i = 0; i < report->count; i++) {
        json_array_append_new(findings, finding_json(&report->finding[i]));
    }
    return print_json(json_pack("{s:i, s:s, s:o}", "version", 1, "tool",
                                "shpool-coalesce " PACKAGE_VERSION, "findings", findings), out);
}

/* ---- SARIF ---- */

/* SARIF's levels are none, note, warning and error. */
static const char *sarif_level(coalesce_level level)
{
    return (level == COALESCE_REMARK) ? "none" : coalesce_level_name(level);
}

static json_t *sarif_rules(void)
{
    json_t *rules = json_array();

    for (int rule = 0; rule < COALESCE_RULE_COUNT; rule++) {
        json_array_append_new(rules,
                              json_pack("{s:s, s:{s:s}}", "id",
                                        coalesce_rule_name((coalesce_rule)rule),
                                        "shortDescription", "text",
                                        coalesce_rule_text((coalesce_rule)rule)));
    }
    return rules;
}

/* A path as part of a URI: what has a meaning there, and bytes beyond ASCII, as %XX. */
static json_t *uri_json(const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/!$&'()*+,;=@";
    char  *uri = malloc(3 * strlen(path) + 1);
    char  *end = uri;
    json_t *made;

    for (const char *at = path; (uri != NULL) && (*at != '\0'); at++) {
        if (strchr(plain, *at) != NULL) {
            *end++ = *at;
        } else {
            end += sprintf(end, "%%%02X", (unsigned char)*at);
        }
    }
    made = (uri != NULL) ? json_stringn(uri, (size_t)(end - uri)) : NULL;
    free(uri);
    return made;
}

/* Text that must be there: what is not UTF-8 becomes question marks. */
static json_t *message_json(char *text)
{
    json_t *made = json_string(text);

    for (char *at = text; (made == NULL) && (*at != '\0'); at++) {
        *at = ((unsigned char)*at < 0x80) ? *at : '?';
    }
    return (made != NULL) ? made : json_string(text);
}

/* [] where the place is unknown. */
static json_t *sarif_locations(const coalesce_place *place)
{
    json_t *locations = json_array();
    json_t *region;

    if (place->file == NULL) {
        return locations;
    }
    region = json_pack("{s:I}", "startLine", (json_int_t)((place->line != 0) ? place->line : 1));
    if (place->column != 0) {
        json_object_set_new(region, "startColumn", json_integer(place->column));
    }
    json_array_append_new(locations,
                          json_pack("{s:{s:{s:o}, s:o}}", "physicalLocation", "artifactLocation",
                                    "uri", uri_json(place->file), "region", region));
    return locations;
}

static json_t *sarif_result(const coalesce_finding *finding)
{
    char    text[2048];
    json_t *result;

    (void)snprintf(text, sizeof(text), "%s%s%s%s%s",
                   (finding->function != NULL) ? finding->function : "",
                   (finding->function != NULL) ? ": " : "", finding->message,
                   (finding->suggestion != NULL) ? ". Try: " : "",
                   (finding->suggestion != NULL) ? finding->suggestion : "");
    result = json_pack("{s:s, s:i, s:s, s:s, s:{s:o}, s:o}", "ruleId",
                       coalesce_rule_name(finding->rule), "ruleIndex", (int)finding->rule, "level",
                       sarif_level(finding->level), "kind",
                       (finding->level == COALESCE_REMARK) ? "informational" : "fail", "message",
                       "text", message_json(text), "locations", sarif_locations(&finding->place));
    if ((result != NULL) && (finding->inlined_at.file != NULL)) {
        json_object_set_new(result, "relatedLocations", sarif_locations(&finding->inlined_at));
    }
    return result;
}

int tool_sarif(const coalesce_report *report, FILE *out)
{
    json_t *results = json_array();

    for (size_t i = 0; i < report->count; i++) {
        json_array_append_new(results, sarif_result(&report->finding[i]));
    }
    return print_json(
        json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "$schema",
                  "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs",
                  "tool", "driver", "name", "shpool-coalesce", "version", PACKAGE_VERSION, "rules",
                  sarif_rules(), "results", results), out);
}

#else

int tool_json(const coalesce_report *report, FILE *out)
{
    (void)report;
    (void)out;
    return 0;
}

int tool_sarif(const coalesce_report *report, FILE *out)
{
    return tool_json(report, out);
}

#endif
