/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON, written member by member, two blanks a level. */
#include "config.h"

#include <string.h>

#include "lib/escape.h"
#include "tools/json.h"

static void put_line(const tool_json *json)
{
    fprintf(json->to, "\n%*s", 2 * (int)json->depth, "");
}

static void put_string(FILE *to, const char *text)
{
    static const char letters[] = "\b\f\n\r\t\"\\", escaped[] = "bfnrt\"\\";

    fputc('"', to);
    for (; *text != '\0'; text++) {
        const char *letter = strchr(letters, *text);

        if (letter != NULL) {
            fprintf(to, "\\%c", escaped[letter - letters]);
        } else if ((unsigned char)*text < 0x20) {
            fprintf(to, "\\u%04X", (unsigned)*text);
        } else {
            fputc(*text, to);
        }
    }
    fputc('"', to);
}

/* What stands before a value. */
static void begin(tool_json *json, const char *name)
{
    if (json->depth > 0) {
        fputs(json->open[json->depth - 1].holds ? "," : "", json->to);
        json->open[json->depth - 1].holds = 1;
        put_line(json);
    }
    if (name != NULL) {
        put_string(json->to, name);
        fputs(": ", json->to);
    }
}

void tool_json_open(tool_json *json, const char *name, char bracket)
{
    begin(json, name);
    fputc(bracket, json->to);
    json->open[json->depth].end   = (bracket == '[') ? ']' : '}';
    json->open[json->depth].holds = 0;
    json->depth++;
}

void tool_json_close(tool_json *json)
{
    json->depth--;
    if (json->open[json->depth].holds) {
        put_line(json);
    }
    fputc(json->open[json->depth].end, json->to);
    if (json->depth == 0) {
        fputc('\n', json->to);
    }
}

tool_json tool_json_begin(FILE *to)
{
    tool_json json = { .to = to };

    tool_json_open(&json, NULL, '{');
    return json;
}

void tool_json_end(tool_json *json, unsigned depth)
{
    while (json->depth > depth) {
        tool_json_close(json);
    }
}

void tool_json_text(tool_json *json, const char *name, const char *text)
{
    begin(json, name);
    if ((text != NULL) && shpool_is_utf8(text)) {
        put_string(json->to, text);
    } else {
        fputs("null", json->to);
    }
}

void tool_json_integer(tool_json *json, const char *name, long long value)
{
    begin(json, name);
    fprintf(json->to, "%lld", value);
}

void tool_json_boolean(tool_json *json, const char *name, int value)
{
    begin(json, name);
    fputs(value ? "true" : "false", json->to);
}

void tool_json_real(tool_json *json, const char *name, double value, int digits)
{
    char text[32];

    begin(json, name);
    (void)snprintf(text, sizeof(text), "%.*g", digits, value);
    fprintf(json->to, "%s%s", text, (strpbrk(text, ".e") == NULL) ? ".0" : "");
}

/* ---- SARIF ---- */

#define RUN 3u /* objects and arrays that are open in a run */

tool_json tool_sarif_begin(FILE *to, const char *tool)
{
    tool_json json = tool_json_begin(to);

    tool_json_text(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    tool_json_text(&json, "version", "2.1.0");
    tool_json_open(&json, "runs", '[');
    tool_json_open(&json, NULL, '{');
    tool_json_open(&json, "tool", '{');
    tool_json_open(&json, "driver", '{');
    tool_json_text(&json, "name", tool);
    tool_json_text(&json, "version", PACKAGE_VERSION);
    return json;
}

void tool_sarif_results(tool_json *json)
{
    tool_json_end(json, RUN);
    tool_json_open(json, "results", '[');
}

void tool_sarif_message(tool_json *json, const char *name, const char *text)
{
    tool_json_open(json, name, '{');
    tool_json_text(json, "text", text);
    tool_json_close(json);
}
