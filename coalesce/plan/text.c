/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as a compiler prints them. */
#include "lib/escape.h"
#include "excerpt.h"

static const char *colour_of(coalesce_level level)
{
    switch (level) {
    case COALESCE_WARNING: return "\033[1;35m";
    case COALESCE_NOTE:    return "\033[1;36m";
    default:               return "\033[1;32m";
    }
}

static void print_place(const coalesce_place *place, FILE *out)
{
    if (place->file == NULL) {
        (void)fputs("<unknown>: ", out); /* compile with -lineinfo or -gline-tables-only */
        return;
    }
    shpool_put(place->file, out);
    if (place->line != 0) {
        (void)fprintf(out, ":%u", place->line);
    }
    if (place->column != 0) {
        (void)fprintf(out, ":%u", place->column);
    }
    (void)fputs(": ", out);
}

static void print_finding(const coalesce_finding *finding, coalesce_source *source, FILE *out)
{
    const coalesce_text_options *options = source->options;

    const char *bold  = options->colour ? "\033[1m" : "";
    const char *level = options->colour ? colour_of(finding->level) : "";
    const char *plain = options->colour ? "\033[0m" : "";

    (void)fputs(bold, out);
    print_place(&finding->place, out);
    (void)fprintf(out, "%s%s:%s ", level, coalesce_level_name(finding->level), plain);
    if (finding->function != NULL) {
        shpool_put(finding->function, out);
        (void)fputs(": ", out);
    }
    shpool_put(finding->message, out);
    if (finding->loop_depth != 0) {
        (void)fprintf(out, "; in %u loop%s", finding->loop_depth,
                      (finding->loop_depth == 1) ? "" : "s");
    }
    if (finding->times > 1) {
        (void)fprintf(out, "; %u times at this place", finding->times);
    }
    (void)fprintf(out, " [%s]\n", coalesce_rule_name(finding->rule));
    if (options->excerpts && (finding->place.file != NULL)) {
        coalesce_source_print(source, &finding->place, out);
    }
    if (finding->inlined_at.file != NULL) {
        print_place(&finding->inlined_at, out);
        (void)fputs("note: inlined here\n", out);
    }
    if (finding->suggestion != NULL) {
        (void)fputs("        try: ", out);
        shpool_put(finding->suggestion, out);
        (void)fputc('\n', out);
    }
}

int coalesce_report_text(const coalesce_report *report, const coalesce_text_options *options,
                         FILE *out)
{
    coalesce_source source = { .options = options };
    int             fine;

    for (size_t i = 0; i < report->count; i++) {
        print_finding(&report->finding[i], &source, out);
    }
    fine = !source.no_memory;
    coalesce_source_fini(&source);
    return fine;
}
