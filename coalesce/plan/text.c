/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as a compiler prints them. */
#include "finding.h"

#include <string.h>

#define LINE_BYTES 512u

static const char *colour_of(coalesce_level level)
{
    switch (level) {
    case COALESCE_WARNING: return "\033[1;35m";
    case COALESCE_NOTE:    return "\033[1;36m";
    default:               return "\033[1;32m";
    }
}

/* Line `number` of a file, without its end; longer ones are cut.  0: there is none. */
static int read_line(const char *path, uint32_t number, char line[LINE_BYTES])
{
    FILE    *file  = fopen(path, "r");
    uint32_t at    = 1;
    size_t   used  = 0;
    int      found = 0;
    int      c;

    if (file == NULL) {
        return 0;
    }
    while ((at <= number) && ((c = getc(file)) != EOF)) {
        found |= (at == number);
        if (c == '\n') {
            at++;
        } else if ((at == number) && (used + 1 < LINE_BYTES)) {
            line[used++] = (char)c;
        }
    }
    (void)fclose(file);
    line[used] = '\0';
    return found;
}

/* The line as it is, and below it a caret under the column: tabs above stay tabs below. */
static void print_excerpt(const coalesce_place *place, const coalesce_text_options *options,
                          FILE *out)
{
    char     line[LINE_BYTES];
    uint32_t column = place->column;

    if ((place->line == 0) || !read_line(place->file, place->line, line)) {
        return;
    }
    (void)fprintf(out, "%5u | %s\n", place->line, line);
    if ((column == 0) || (column > strlen(line))) {
        return;
    }
    for (uint32_t i = 0; i + 1 < column; i++) {
        line[i] = (line[i] == '\t') ? '\t' : ' ';
    }
    line[column - 1] = '\0';
    (void)fprintf(out, "      | %s%s^%s\n", line, options->colour ? "\033[1;32m" : "",
                  options->colour ? "\033[0m" : "");
}

static void print_place(const coalesce_place *place, FILE *out)
{
    if (place->file == NULL) {
        (void)fputs("<unknown>: ", out); /* compile with -lineinfo or -gline-tables-only */
        return;
    }
    (void)fputs(place->file, out);
    if (place->line != 0) {
        (void)fprintf(out, ":%u", place->line);
    }
    if (place->column != 0) {
        (void)fprintf(out, ":%u", place->column);
    }
    (void)fputs(": ", out);
}

static void print_finding(const coalesce_finding *finding, const coalesce_text_options *options,
                          FILE *out)
{
    const char *bold  = options->colour ? "\033[1m" : "";
    const char *level = options->colour ? colour_of(finding->level) : "";
    const char *plain = options->colour ? "\033[0m" : "";

    (void)fputs(bold, out);
    print_place(&finding->place, out);
    (void)fprintf(out, "%s%s:%s ", level, coalesce_level_name(finding->level), plain);
    if (finding->function != NULL) {
        (void)fprintf(out, "%s: ", finding->function);
    }
    (void)fputs(finding->message, out);
    if (finding->loop_depth != 0) {
        (void)fprintf(out, "; in %u loop%s", finding->loop_depth,
                      (finding->loop_depth == 1) ? "" : "s");
    }
    (void)fprintf(out, " [%s]\n", coalesce_rule_name(finding->rule));
    if (options->excerpts && (finding->place.file != NULL)) {
        print_excerpt(&finding->place, options, out);
    }
    if (finding->inlined_at.file != NULL) {
        print_place(&finding->inlined_at, out);
        (void)fputs("note: inlined here\n", out);
    }
    if (finding->suggestion != NULL) {
        (void)fprintf(out, "        try: %s\n", finding->suggestion);
    }
}

void coalesce_report_text(const coalesce_report *report, const coalesce_text_options *options,
                          FILE *out)
{
    for (size_t i = 0; i < report->count; i++) {
        if (report->finding[i].level >= options->least) {
            print_finding(&report->finding[i], options, out);
        }
    }
}
