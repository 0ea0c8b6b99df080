/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings: reports to the user about one group of accesses, or about a whole input.  Readers
 * create them with coalesce_finding_of_group(); coalesce_report_text() prints them like a compiler,
 * tools/coalesce/json.c as JSON and SARIF.
 */
#ifndef SHPOOL_COALESCE_FINDING_H
#define SHPOOL_COALESCE_FINDING_H

#include <stdio.h>

#include "plan.h"

/* Levels, ascending: --fail-on compares them. */
typedef enum coalesce_level {
    COALESCE_REMARK,  /* what was rewritten, or why not */
    COALESCE_NOTE,    /* data-dependent addresses, or addresses that cannot be analysed */
    COALESCE_WARNING  /* wasted sectors or bank passes */
} coalesce_level;

typedef enum coalesce_rule {
    COALESCE_RULE_STRIDED,   /* "strided": a record is accessed field by field */
    COALESCE_RULE_PITCH,     /* "pitch": the lane stride is a run-time value */
    COALESCE_RULE_IRREGULAR, /* "irregular": a gather or scatter */
    COALESCE_RULE_BANKS,     /* "bank-conflict" */
    COALESCE_RULE_REWRITTEN, /* "rewritten" */
    COALESCE_RULE_KEPT,      /* "kept": could have been rewritten, see message */
    COALESCE_RULE_INPUT,     /* "input": parts that the reader could not use, and why */
    COALESCE_RULE_COUNT
} coalesce_rule;

/* A place in the source. */
typedef struct coalesce_place {
    char    *file; /* NULL: unknown (no -lineinfo, no -gline-tables-only) */
    uint32_t line;
    uint32_t column; /* 0: unknown */
} coalesce_place;

typedef struct coalesce_finding {
    coalesce_level level;
    coalesce_rule  rule;
    coalesce_place place;
    coalesce_place inlined_at; /* file NULL: not inlined */
    char          *function;
    char          *message;    /* without place and rule */
    char          *suggestion; /* a change of the source; NULL: none */
    /* numbers, as in the message */
    int            store;
    coalesce_space space;
    uint32_t       accesses;     /* instructions */
    uint32_t       bytes;        /* of one access */
    int64_t        stride;       /* 0: none known */
    uint32_t       sectors;      /* per request; bank conflicts: passes */
    uint32_t       ideal;
    uint32_t       record_bytes; /* 0: no record */
    uint32_t       used_bytes;
    uint32_t       loop_depth;
    uint32_t       times;        /* equal ones of a function at the place; after sorting */
    size_t         order;        /* among those that are equal else: in which they were added */
    double         weight;       /* accesses * sectors above the ideal * 10^loop_depth: for order */
} coalesce_finding;

typedef struct coalesce_report {
    coalesce_finding *finding;
    size_t            count;
    size_t            capacity;
    int               out_of_memory; /* 1: findings are missing, none may be shown */
} coalesce_report;

void coalesce_report_init(coalesce_report *report);
void coalesce_report_fini(coalesce_report *report);

/*
 * Add a copy of the finding (strings too).  An equal one from another instance of the same template
 * or kernel is also added: see coalesce_report_sort().
 */
void coalesce_report_add(coalesce_report *report, const coalesce_finding *finding);

/* A finding of rule INPUT, printf-like. */
void coalesce_report_input(coalesce_report *report, coalesce_level level, const char *file,
                           uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Which findings are added. */
typedef struct coalesce_wanted {
    int         remarks;  /* what is done with a group, or why nothing is */
    int         waste;    /* a warning or note if it wastes sectors or bank passes */
    const char *rewriter; /* what decides as the plan does; NULL: nothing is said of it */
} coalesce_wanted;

/* Add findings about a group.  `place`, `inlined_at`: of the group's first access. */
void coalesce_finding_of_group(coalesce_report *report, const coalesce_access *access,
                               const coalesce_group *group, const coalesce_wanted *wanted,
                               const char *function, const coalesce_place *place,
                               const coalesce_place *inlined_at);

/* By file, line, column, rule, function.  Equal findings at one place become one, with their
 * number: that of the function that has most of them, for the others are other instances of a
 * template. */
void coalesce_report_sort(coalesce_report *report);

/* Leave out findings below a level. */
void coalesce_report_drop_below(coalesce_report *report, coalesce_level least);

/* Leave out findings in headers of the system, the toolkit and shpool, by their paths.  If any was
 * of the level `least` or above, a line on stderr says how many, and that `option` shows them. */
void coalesce_report_drop_headers(coalesce_report *report, coalesce_level least,
                                  const char *option);

/* __cxa_demangle() of the C++ runtime, which not every program has. */
typedef char *coalesce_demangle(const char *mangled, char *buffer, size_t *bytes, int *status);

/*
 * "space::kernel<int>" of a mangled name, without parameters and anonymous namespaces; the name
 * itself if it is not mangled, or demangle is NULL.  free() it; NULL: memory ran out.  If the
 * demangler runs out of memory (-1 in *status), names must not change.
 */
char *coalesce_readable_name(const char *name, coalesce_demangle *demangle);

/* 1: `wanted` is one of this function's two names. */
int coalesce_is_called(const char *name, const char *readable, const char *wanted);

/* "strided" and so on, and a sentence about the rule for SARIF's rules table. */
const char *coalesce_rule_name(coalesce_rule rule);
const char *coalesce_rule_text(coalesce_rule rule);
const char *coalesce_level_name(coalesce_level level);

/* How text is printed. */
typedef struct coalesce_text_options {
    int excerpts; /* the source line with a caret below it, where the file may be read */
    int colour;   /* terminal colours */
    const char *const *folder; /* real paths: excerpts are of files below these only */
    size_t folders;
} coalesce_text_options;

/*
 * file:line:column: warning: function: message [rule]; control sequences are escaped.  0: memory
 * ran out, and excerpts are missing.
 */
int coalesce_report_text(const coalesce_report *report, const coalesce_text_options *options,
                         FILE *out);

#endif /* SHPOOL_COALESCE_FINDING_H */
