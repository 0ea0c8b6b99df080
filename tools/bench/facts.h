/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: where, when and how something was measured.  All commands' results carry it. */
#ifndef SHPOOL_BENCH_FACTS_H
#define SHPOOL_BENCH_FACTS_H

#include <stdio.h>

#include <shpool/shpool.h>

#include "column.h"

#define BENCH_COMMAND_BYTES 1024

#ifdef __cplusplus
extern "C" {
#endif

/** Origin of results, in the output of every command. */
#define BENCH_ORIGIN(X) \
    X(TEXT, version, [32], NULL, 0, NULL) /* of the library */ \
    X(TEXT, device, [256], NULL, 0, NULL) \
    X(TEXT, driver, [64], NULL, 0, NULL) \
    X(TEXT, clocks, [128], NULL, 0, NULL) \
    X(TEXT, date, [32], NULL, 0, NULL) /* when it began, UTC */ \
    X(TEXT, command, [BENCH_COMMAND_BYTES], NULL, 0, NULL) /* bench_command_write() */
typedef struct bench_origin {
    BENCH_ORIGIN(BENCH_MEMBER)
} bench_origin;

extern const bench_column bench_origin_columns[];

/** Write a shell command that repeats the run: the tool's name, then argv[1] and the rest. */
void bench_command_write(const char *tool, int argc, char **argv, char *line, size_t bytes);

/** All but the command, of the CPU block executor; why: it runs there. */
void bench_origin_cpu(bench_origin *origin, const char *why);

/** The same of a GPU; a failure leaves it as it was, and shpool_last_error() says why. */
shpool_status bench_origin_gpu(bench_origin *origin, int ordinal);

/** The first lines of a table; how: further text, such as "median of 9 launches". */
void bench_origin_print(FILE *to, const bench_origin *origin, const char *how);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_FACTS_H */
