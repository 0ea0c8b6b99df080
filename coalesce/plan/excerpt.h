/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines below findings.  The input names the file, so not every file is permitted. */
#ifndef SHPOOL_COALESCE_EXCERPT_H
#define SHPOOL_COALESCE_EXCERPT_H

#include "finding.h"

/* The latest file, and how far it has been scanned. */
typedef struct coalesce_source {
    const coalesce_text_options *options;
    const char *path; /* of the findings; NULL: none yet */
    char       *text; /* NULL: no file that may be shown */
    size_t      bytes;
    size_t      at;   /* where line `line` begins */
    uint32_t    line;
    int         no_memory;
} coalesce_source;

/*
 * The place's line unchanged, and a caret below its column; nothing if the file is not a regular
 * one below a folder of options->folder, or too large.  Findings in the order of a report read each
 * file once.
 */
void coalesce_source_print(coalesce_source *source, const coalesce_place *place, FILE *out);
void coalesce_source_fini(coalesce_source *source);

#endif /* SHPOOL_COALESCE_EXCERPT_H */
