/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON, written member by member: no memory is needed, and ferror() of the file shows a failure. */
#ifndef SHPOOL_TOOLS_JSON_H
#define SHPOOL_TOOLS_JSON_H

#include <stdio.h>

#define TOOL_JSON_DEPTH 16u /* objects and arrays in each other, at most */

/** A document under way; all zero but for the file is one that has not begun. */
typedef struct tool_json {
    FILE    *to;
    unsigned depth;
    struct {
        char end;   /* ']' or '}' */
        int  holds; /* it is not empty */
    } open[TOOL_JSON_DEPTH];
} tool_json;

/* The name of a member; NULL: an element of an array, or the document itself. */

/** A document that is an object, which is open. */
tool_json tool_json_begin(FILE *to);
/** Close what is open, except that many; 0: the document ends. */
void tool_json_end(tool_json *json, unsigned depth);

/** begin: '[' or '{'. */
void tool_json_open(tool_json *json, const char *name, char begin);
/** Close the innermost one; the last one ends the document's last line. */
void tool_json_close(tool_json *json);

/** null in place of NULL, and of text that is not UTF-8: paths and names may be any bytes. */
void tool_json_text(tool_json *json, const char *name, const char *text);
void tool_json_integer(tool_json *json, const char *name, long long value);
void tool_json_boolean(tool_json *json, const char *name, int value);
/** digits: significant ones. */
void tool_json_real(tool_json *json, const char *name, double value, int digits);

/* ---- SARIF 2.1.0, which editors and CI services show in the source ---- */

/** A document with one run, of a tool; the object of the tool is open. */
tool_json tool_sarif_begin(FILE *to, const char *tool);
/** The tool is told; its results follow, as elements of an array. */
void tool_sarif_results(tool_json *json);
/** {"text": ...} */
void tool_sarif_message(tool_json *json, const char *name, const char *text);

#endif /* SHPOOL_TOOLS_JSON_H */
