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

/** Origin of results, in the output of every command.  bench_origin_columns names all members. */
typedef struct bench_origin {
    char version[32]; /* of the library */
    char device[256];
    char driver[64];
    char clocks[128];
    char date[32];    /* when it began, UTC */
    char command[BENCH_COMMAND_BYTES]; /* bench_command_write() */
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
