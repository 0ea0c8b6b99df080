/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as JSON, and as SARIF 2.1.0, which editors and CI services show in the source. */
#include "tool.h"

#if HAVE_JANSSON

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"

/* Values are NULL where memory ran out, and put() and append() pass that on as *fine 0: a report
 * with something missing would look like another one. */
static void put(json_t *object, const char *key, json_t *value, int *fine)
{
    *fine &= json_object_set_new(object, key, value) == 0;
}

static void append(json_t *array, json_t *value, int *fine)
{
    *fine &= json_array_append_new(array, value) == 0;
}

/* The value if all of it is there. */
static json_t *whole(json_t *value, int fine)
{
    if (!fine) {
        json_decref(value);
        value = NULL;
    }
    return value;
}

/* Paths and names may be any bytes; JSON has only UTF-8, the rest becomes null. */
static json_t *text_json(const char *text)
{
    return ((text != NULL) && shpool_is_utf8(text)) ? json_string(text) : json_null();
}

static int print_json(json_t *root, FILE *out)
{
    int fine = (root != NULL) && (json_dumpf(root, out, JSON_INDENT(2)) == 0) &&
               (fputc('\n', out) != EOF);

    json_decref(root);
    return fine;
}

int tool_has_json(void)
{
    return 1;
}

/* ---- JSON ---- */

static json_t *place_json(const coalesce_place *place)
{
    json_t *made = (place->file != NULL) ? json_object() : json_null();
    int     fine = 1;

    if (place->file != NULL) {
        put(made, "file", text_json(place->file), &fine);
        put(made, "line", json_integer(place->line), &fine);
        put(made, "column", json_integer(place->column), &fine);
    }
    return whole(made, fine);
}

static json_t *finding_json(const coalesce_finding *finding)
{
    const struct { const char *name; json_int_t value; } numbers[] = {
        { "accesses", finding->accesses },         { "bytes", finding->bytes },
        { "stride", finding->stride },             { "sectors", finding->sectors },
        { "ideal", finding->ideal },               { "record_bytes", finding->record_bytes },
        { "used_bytes", finding->used_bytes },     { "loop_depth", finding->loop_depth },
        { "times", finding->times },
    };
    json_t *made = json_object();
    int     fine = 1;

    put(made, "level", json_string(coalesce_level_name(finding->level)), &fine);
    put(made, "rule", json_string(coalesce_rule_name(finding->rule)), &fine);
    put(made, "place", place_json(&finding->place), &fine);
    put(made, "inlined_at", place_json(&finding->inlined_at), &fine);
    put(made, "function", text_json(finding->function), &fine);
    put(made, "message", text_json(finding->message), &fine);
    put(made, "suggestion", text_json(finding->suggestion), &fine);
    put(made, "store", json_boolean(finding->store), &fine);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(numbers); i++) {
        put(made, numbers[i].name, json_integer(numbers[i].value), &fine);
    }
    put(made, "weight", json_real(finding->weight), &fine);
    return whole(made, fine);
}

int tool_json(const coalesce_report *report, FILE *out)
{
    json_t *root     = json_object();
    json_t *findings = json_array();
    int     fine     = 1;

    for (size_t i = 0; fine && (i < report->count); i++) {
        append(findings, finding_json(&report->finding[i]), &fine);
    }
    put(root, "version", json_integer(1), &fine);
    put(root, "tool", json_string("shpool-coalesce " PACKAGE_VERSION), &fine);
    put(root, "findings", findings, &fine);
    return print_json(whole(root, fine), out);
}

/* ---- SARIF ---- */

/* SARIF's levels are none, note, warning and error. */
static const char *sarif_level(coalesce_level level)
{
    return (level == COALESCE_REMARK) ? "none" : coalesce_level_name(level);
}

/* {"text": ...}: what SARIF calls a message. */
static json_t *message_of(json_t *text)
{
    json_t *made = json_object();
    int     fine = 1;

    put(made, "text", text, &fine);
    return whole(made, fine);
}

static json_t *sarif_rules(void)
{
    json_t *rules = json_array();
    int     fine  = 1;

    for (int rule = 0; rule < COALESCE_RULE_COUNT; rule++) {
        json_t *made = json_object();

        put(made, "id", json_string(coalesce_rule_name((coalesce_rule)rule)), &fine);
        put(made, "shortDescription",
            message_of(json_string(coalesce_rule_text((coalesce_rule)rule))), &fine);
        append(rules, made, &fine);
    }
    return whole(rules, fine);
}

/* A path as part of a URI: reserved characters, and bytes beyond ASCII, become %XX. */
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

/* Required text: bytes that are not UTF-8 become question marks. */
static json_t *message_json(char *text)
{
    const int is_text = shpool_is_utf8(text);

    for (char *at = text; !is_text && (*at != '\0'); at++) {
        *at = ((unsigned char)*at < 0x80) ? *at : '?';
    }
    return json_string(text);
}

/* [] where the place is unknown. */
static json_t *sarif_locations(const coalesce_place *place)
{
    json_t *locations = json_array();
    json_t *region    = NULL;
    json_t *artifact  = NULL;
    json_t *physical  = NULL;
    json_t *location  = NULL;
    int     fine      = 1;

    if (place->file == NULL) {
        return locations;
    }
    region   = json_object();
    artifact = json_object();
    physical = json_object();
    location = json_object();
    put(region, "startLine", json_integer((place->line != 0) ? place->line : 1), &fine);
    if (place->column != 0) {
        put(region, "startColumn", json_integer(place->column), &fine);
    }
    put(artifact, "uri", uri_json(place->file), &fine);
    put(physical, "artifactLocation", artifact, &fine);
    put(physical, "region", region, &fine);
    put(location, "physicalLocation", physical, &fine);
    append(locations, location, &fine);
    return whole(locations, fine);
}

static json_t *sarif_result(const coalesce_finding *finding)
{
    const int is_remark = finding->level == COALESCE_REMARK;
    char      text[2048];
    json_t   *result = json_object();
    int       fine   = 1;

    (void)snprintf(text, sizeof(text), "%s%s%s%s%s",
                   (finding->function != NULL) ? finding->function : "",
                   (finding->function != NULL) ? ": " : "", finding->message,
                   (finding->suggestion != NULL) ? ". Try: " : "",
                   (finding->suggestion != NULL) ? finding->suggestion : "");
    put(result, "ruleId", json_string(coalesce_rule_name(finding->rule)), &fine);
    put(result, "ruleIndex", json_integer(finding->rule), &fine);
    put(result, "level", json_string(sarif_level(finding->level)), &fine);
    put(result, "kind", json_string(is_remark ? "informational" : "fail"), &fine);
    put(result, "message", message_of(message_json(text)), &fine);
    put(result, "locations", sarif_locations(&finding->place), &fine);
    if (finding->inlined_at.file != NULL) {
        put(result, "relatedLocations", sarif_locations(&finding->inlined_at), &fine);
    }
    return whole(result, fine);
}

static json_t *sarif_tool(void)
{
    json_t *driver = json_object();
    json_t *tool   = json_object();
    int     fine   = 1;

    put(driver, "name", json_string("shpool-coalesce"), &fine);
    put(driver, "version", json_string(PACKAGE_VERSION), &fine);
    put(driver, "rules", sarif_rules(), &fine);
    put(tool, "driver", driver, &fine);
    return whole(tool, fine);
}

int tool_sarif(const coalesce_report *report, FILE *out)
{
    json_t *root    = json_object();
    json_t *runs    = json_array();
    json_t *run     = json_object();
    json_t *results = json_array();
    int     fine    = 1;

    for (size_t i = 0; fine && (i < report->count); i++) {
        append(results, sarif_result(&report->finding[i]), &fine);
    }
    put(run, "tool", sarif_tool(), &fine);
    put(run, "results", results, &fine);
    append(runs, run, &fine);
    put(root, "$schema", json_string("https://json.schemastore.org/sarif-2.1.0.json"), &fine);
    put(root, "version", json_string("2.1.0"), &fine);
    put(root, "runs", runs, &fine);
    return print_json(whole(root, fine), out);
}

#else

int tool_has_json(void)
{
    return 0;
}

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
