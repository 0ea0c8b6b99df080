/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-check: the program's findings, one a line with tabs, as SARIF and as JUnit. */
#include "findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/message.h"

#define FIELDS     9 /* LEVEL, RULE, TEXT, then SAYS and PLACE of up to three places */
#define LINE_BYTES 8192

/* Cut a line into its fields; those that are missing are "". */
static void cut(char *line, char *field[FIELDS])
{
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        field[i] = line;
        line += strcspn(line, "\t");
        if (*line != '\0') {
            *line++ = '\0';
        }
    }
}

/* "FILE:LINE in FUNCTION" becomes FILE; the line is returned, or 0. */
static int split_place(char *place)
{
    char *in = strstr(place, " in ");
    char *colon;

    if (in != NULL) {
        *in = '\0';
    }
    colon = strrchr(place, ':');
    if (colon == NULL) {
        return 0;
    }
    *colon = '\0';
    return atoi(colon + 1);
}

static void add_location(tool_json *json, char *says, char *place)
{
    int line = split_place(place);

    tool_json_open(json, NULL, '{');
    tool_json_open(json, "physicalLocation", '{');
    tool_json_open(json, "artifactLocation", '{');
    tool_json_text(json, "uri", place);
    tool_json_close(json);
    tool_json_open(json, "region", '{');
    tool_json_integer(json, "startLine", (line > 0) ? line : 1);
    tool_json_close(json);
    tool_json_close(json);
    tool_json_open(json, "message", '{');
    tool_json_text(json, "text", says);
    tool_json_close(json);
    tool_json_close(json);
}

static void write_sarif(FILE *from, FILE *to)
{
    tool_json json = tool_sarif_begin(to, "shpool-check");
    char      line[LINE_BYTES];
    char     *field[FIELDS];

    tool_sarif_results(&json);
    while ((from != NULL) && (fgets(line, sizeof(line), from) != NULL)) {
        cut(line, field);
        tool_json_open(&json, NULL, '{');
        tool_json_text(&json, "ruleId", field[1]);
        tool_json_text(&json, "level", field[0]);
        tool_sarif_message(&json, "message", field[2]);
        tool_json_open(&json, "locations", '[');
        if (field[4][0] != '\0') {
            add_location(&json, field[3], field[4]);
        }
        tool_json_close(&json);
        tool_json_open(&json, "relatedLocations", '[');
        for (int i = 5; (i + 1 < FIELDS) && (field[i + 1][0] != '\0'); i += 2) {
            add_location(&json, field[i], field[i + 1]);
        }
        tool_json_close(&json);
        tool_json_close(&json);
    }
    tool_json_end(&json, 0);
}

static void write_escaped(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '&': fputs("&amp;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*text, to); break;
        }
    }
}

/* One test: the program; each finding is a failure of it. */
static void write_junit(FILE *from, FILE *to, const char *source, int status)
{
    int   failures = 0;
    char  line[LINE_BYTES];
    char *field[FIELDS];

    fputs("<testsuite name=\"shpool-check\"><testcase name=\"", to);
    write_escaped(to, source);
    fputs("\">\n", to);
    while ((from != NULL) && (fgets(line, sizeof(line), from) != NULL)) {
        cut(line, field);
        if (strcmp(field[0], "error") != 0) {
            continue;
        }
        failures++;
        fprintf(to, "<failure type=\"%s\" message=\"", field[1]);
        write_escaped(to, field[2]);
        fputs("\">", to);
        for (int i = 3; i + 1 < FIELDS; i += 2) {
            write_escaped(to, field[i]);
            fputs((field[i][0] != '\0') ? ": " : "", to);
            write_escaped(to, field[i + 1]);
            fputs("\n", to);
        }
        fputs("</failure>\n", to);
    }
    if ((status != 0) && (failures == 0)) {
        fprintf(to, "<failure type=\"exit\" message=\"the program's exit status is %d\"/>\n",
                status);
    }
    fputs("</testcase></testsuite>\n", to);
}

static int write_one(const char *log, const char *path, const char *junit_source, int exited)
{
    FILE *from = fopen(log, "r");
    FILE *to   = fopen(path, "w");
    int   failed;

    if (to != NULL) {
        if (junit_source != NULL) {
            write_junit(from, to, junit_source, exited);
        } else {
            write_sarif(from, to);
        }
    }
    failed = (to == NULL) || (ferror(to) != 0);
    failed = ((to != NULL) && (fclose(to) != 0)) || failed;
    if (from != NULL) {
        (void)fclose(from);
    }
    if (failed) {
        tool_say("shpool-check: %s: %s\n", path, strerror(errno));
    }
    return failed ? -1 : 0;
}

int check_findings_write(const char *log, const char *sarif, const char *junit, const char *source,
                         int exited)
{
    int status = 0;

    if (sarif != NULL) {
        status = write_one(log, sarif, NULL, exited);
    }
    if ((junit != NULL) && (write_one(log, junit, source, exited) != 0)) {
        status = -1;
    }
    return status;
}
