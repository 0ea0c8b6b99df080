/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the command line as a line of text for a shell. */
#ifndef SHPOOL_BENCH_COMMAND_H
#define SHPOOL_BENCH_COMMAND_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_COMMAND_BYTES 1024

/** Write a shell command that repeats the run: the tool's name, then argv[1] and the rest. */
void bench_command_write(const char *tool, int argc, char **argv, char *line, size_t bytes);

/** Whether two such lines request the same run, apart from output options (--json, --csv,
 *  --plot). */
int bench_command_same(const char *a, const char *b);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_COMMAND_H */
