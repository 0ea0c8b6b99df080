/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: a list of findings that owns its strings.  Their texts are in message.c. */
#include "finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void coalesce_report_init(coalesce_report *report)
{
    memset(report, 0, sizeof(*report));
}

static void free_strings(coalesce_finding *finding)
{
    free(finding->place.file);
    free(finding->inlined_at.file);
    free(finding->function);
    free(finding->message);
    free(finding->suggestion);
}

void coalesce_report_fini(coalesce_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free_strings(&report->finding[i]);
    }
    free(report->finding);
    coalesce_report_init(report);
}

static char *copy_of(const char *text, int *failed)
{
    char *copy = (text == NULL) ? NULL : strdup(text);

    *failed |= (text != NULL) && (copy == NULL);
    return copy;
}

static int has_room(coalesce_report *report)
{
    size_t            capacity = (report->capacity == 0) ? 32 : 2 * report->capacity;
    coalesce_finding *grown;

    if (report->count < report->capacity) {
        return 1;
    }
    grown = realloc(report->finding, capacity * sizeof(*grown));
    if (grown == NULL) {
        return 0;
    }
    report->finding  = grown;
    report->capacity = capacity;
    return 1;
}

void coalesce_report_add(coalesce_report *report, const coalesce_finding *finding)
{
    coalesce_finding copy   = *finding;
    int              failed = 0;

    copy.place.file      = copy_of(finding->place.file, &failed);
    copy.inlined_at.file = copy_of(finding->inlined_at.file, &failed);
    copy.function        = copy_of(finding->function, &failed);
    copy.message         = copy_of(finding->message, &failed);
    copy.suggestion      = copy_of(finding->suggestion, &failed);
    if (failed || !has_room(report)) {
        report->out_of_memory = 1;
        free_strings(&copy);
        return;
    }
    copy.order = report->count;
    report->finding[report->count++] = copy;
}

void coalesce_report_input(coalesce_report *report, coalesce_level level, const char *file,
                           uint32_t line, uint32_t column, const char *format, ...)
{
    char             message[1024];
    coalesce_finding finding = { .level = level, .rule = COALESCE_RULE_INPUT,
                                 .place = { (char *)(uintptr_t)file, line, column },
                                 .message = message };
    va_list          args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    coalesce_report_add(report, &finding);
}

/* ---- order ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp((a == NULL) ? "" : a, (b == NULL) ? "" : b);
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* All but the function. */
static int compare_content(const coalesce_finding *a, const coalesce_finding *b)
{
    int order = compare_text(a->place.file, b->place.file);

    order = order ? order : compare_numbers(a->place.line, b->place.line);
    order = order ? order : compare_numbers(a->place.column, b->place.column);
    order = order ? order : compare_numbers(a->rule, b->rule);
    order = order ? order : compare_text(a->message, b->message);
    order = order ? order : compare_text(a->inlined_at.file, b->inlined_at.file);
    return order ? order : compare_numbers(a->inlined_at.line, b->inlined_at.line);
}

static int compare_findings(const void *a, const void *b)
{
    const coalesce_finding *x     = a;
    const coalesce_finding *y     = b;
    int                     order = compare_content(x, y);

    order = order ? order : compare_text(x->function, y->function);
    return order ? order : (x->order < y->order) ? -1 : 1;
}

/* Whether findings `first` and `next`, which are in order, are equal.  Without a place, there is
 * one for each function. */
static int is_same(const coalesce_finding *first, const coalesce_finding *next)
{
    return (compare_content(first, next) == 0) &&
           ((next->place.file != NULL) || (compare_text(first->function, next->function) == 0));
}

/* The number of equal ones of the function that has most of them; they lie in order. */
static uint32_t most_of_a_function(const coalesce_finding *finding, size_t count)
{
    uint32_t times = 1;
    uint32_t most  = 1;

    for (size_t i = 1; i < count; i++) {
        times = (compare_text(finding[i - 1].function, finding[i].function) == 0) ? times + 1 : 1;
        most  = (times > most) ? times : most;
    }
    return most;
}

void coalesce_report_sort(coalesce_report *report)
{
    coalesce_finding *all  = report->finding;
    size_t            kept = 0;
    size_t            end;

    if (report->count == 0) {
        return;
    }
    qsort(all, report->count, sizeof(*all), compare_findings);
    for (size_t i = 0; i < report->count; i = end) {
        end = i + 1;
        while ((end < report->count) && is_same(&all[i], &all[end])) {
            end++;
        }
        all[i].times = most_of_a_function(&all[i], end - i);
        all[i].weight *= all[i].times;
        for (size_t k = i + 1; k < end; k++) {
            free_strings(&all[k]);
        }
        all[kept++] = all[i];
    }
    report->count = kept;
}

/* ---- what is left out ---- */

/* How many findings of the level `least` or above were dropped. */
static size_t drop(coalesce_report *report, coalesce_level least,
                   int is_dropped(const coalesce_finding *finding, coalesce_level least))
{
    const size_t count   = report->count;
    size_t       dropped = 0;

    report->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_dropped(&report->finding[i], least)) {
            dropped += report->finding[i].level >= least;
            free_strings(&report->finding[i]);
        } else {
            report->finding[report->count++] = report->finding[i];
        }
    }
    return dropped;
}

static int is_below(const coalesce_finding *finding, coalesce_level least)
{
    return finding->level < least;
}

/* A header that the user did not write.  What is compiled, or is PTX, is his. */
static int is_in_header(const coalesce_finding *finding, coalesce_level least)
{
    static const char *const folders[] = { "/usr/include/", "/usr/local/include/", "/usr/lib/",
                                           "/usr/local/cuda", "/cuda/include/", "-linux/include/",
                                           "/include/cccl/", "/lib/clang/", "/site-packages/",
                                           "/include/shpool/" };
    static const char *const sources[] = { ".c", ".cc", ".cpp", ".cu", ".ll", ".bc", ".ptx" };
    const char              *path      = finding->place.file;
    const char              *ending    = (path != NULL) ? strrchr(path, '.') : NULL;

    (void)least;
    for (size_t i = 0; (ending != NULL) && (i < sizeof(sources) / sizeof(sources[0])); i++) {
        if (strcmp(ending, sources[i]) == 0) {
            return 0;
        }
    }
    for (size_t i = 0; (path != NULL) && (i < sizeof(folders) / sizeof(folders[0])); i++) {
        if (strstr(path, folders[i]) != NULL) {
            return 1;
        }
    }
    return (path != NULL) && (strncmp(path, "include/shpool/", 15) == 0);
}

void coalesce_report_drop_below(coalesce_report *report, coalesce_level least)
{
    (void)drop(report, least, is_below);
}

void coalesce_report_drop_headers(coalesce_report *report, coalesce_level least,
                                  const char *option)
{
    const size_t dropped = drop(report, least, is_in_header);

    if (dropped != 0) {
        (void)fprintf(stderr, "shpool-coalesce: %zu finding%s in headers of the system and of "
                              "shpool %s left out; %s shows them\n",
                      dropped, (dropped == 1) ? "" : "s", (dropped == 1) ? "is" : "are", option);
    }
}

/* ---- names ---- */

static const struct { const char *name; const char *text; } rules[COALESCE_RULE_COUNT] = {
    { "strided", "Neighbouring lanes access addresses that are further apart than what they "
                 "access: one request touches more sectors than it needs." },
    { "pitch", "The distance between neighbouring lanes' addresses is a run-time value: up to one "
               "sector for each lane." },
    { "irregular", "The address depends on data, or is not linear in the thread index: up to one "
                   "sector for each lane." },
    { "bank-conflict", "Lanes access different words of one bank of shared memory: the request is "
                       "served in several passes." },
    { "rewritten", "Accesses to a record were rewritten as coalesced ones." },
    { "kept", "Accesses to a record were left as they are." },
    { "input", "Something in the input that the analysis cannot use." },
};

const char *coalesce_rule_name(coalesce_rule rule)
{
    return (rule < COALESCE_RULE_COUNT) ? rules[rule].name : "unknown";
}

const char *coalesce_rule_text(coalesce_rule rule)
{
    return (rule < COALESCE_RULE_COUNT) ? rules[rule].text : "unknown";
}

const char *coalesce_level_name(coalesce_level level)
{
    static const char *const names[] = { "remark", "note", "warning" };

    return names[(level <= COALESCE_WARNING) ? level : COALESCE_WARNING];
}
