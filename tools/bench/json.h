/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: JSON by jansson, written and read again. */
#ifndef SHPOOL_BENCH_JSON_H
#define SHPOOL_BENCH_JSON_H

#include <stdio.h>

#include "record.h"

/** Whether this build has a JSON library. */
int bench_has_json(void);

/** A member for each of a record's; a missing figure is null.  (A json_t of jansson.) */
struct json_t;
void bench_json_members(struct json_t *object, const bench_column *columns, const void *record);

/** 0, or -1: writing failed. */
int bench_json_write(const bench_results *results, FILE *to);

/** Results of a file that --json wrote, to be cleared; -1: stderr says what is wrong with it. */
int bench_json_read(const char *path, bench_results *results);

#endif /* SHPOOL_BENCH_JSON_H */
