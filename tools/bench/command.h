/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the command line as a line of text for a shell. */
#ifndef SHPOOL_BENCH_COMMAND_H
#define SHPOOL_BENCH_COMMAND_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_COMMAND_BYTES 1024

/** What a shell would need to run it again: the tool's name and argv[1] on. */
void bench_command_write(const char *tool, int argc, char **argv, char *line, size_t bytes);

/** Whether two such lines ask for the same, wherever results go (--json, --csv, --plot). */
int bench_command_same(const char *a, const char *b);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_COMMAND_H */
