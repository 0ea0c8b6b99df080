/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: JSON by jansson, written and read again. */
#ifndef SHPOOL_BENCH_JSON_H
#define SHPOOL_BENCH_JSON_H

#include <stdio.h>

#include "record.h"

/** Whether this build has a JSON library. */
int bench_has_json(void);

/** Records one after the other; columns of NULL end an array of them. */
typedef struct bench_records {
    const bench_column *columns;
    const void *first;
    size_t count;
    size_t bytes; /* of a record */
} bench_records;

/**
 * A document: facts as members, and the array "rows"; a missing figure is null.
 * @param [in] kind   "kind" of documents that are read again, which have a "format"; NULL: neither
 * @param [in] facts  one record each
 * @return 0, or -1: writing failed, or stderr says why
 */
int bench_json_document(FILE *to, const char *kind, const bench_records *facts,
                        const bench_records *rows);

/** 0, or -1: writing failed. */
int bench_json_write(const bench_results *results, FILE *to);

/** Results of a file that --json wrote, to be cleared; -1: stderr says what is wrong with it. */
int bench_json_read(const char *path, bench_results *results);

#endif /* SHPOOL_BENCH_JSON_H */
