/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: which command runs. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "tools/bench/loadstore/loadstore.h"
#include "tools/bench/memory/memory.h"
#include "tools/bench/trace/trace.h"

/* To add a command, add a line.  Each gets the tool's name as argv[0], its options behind it, and
 * returns the exit status; each has a --help of its own. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"block", bench_block, "allocators of a block's shared memory; if no command is given"},
    {"compare", bench_compare, "two files of block --json: what is faster, what is slower"},
    {"plot", bench_plot, "a chart of a file of block --json"},
    {"loadstore", bench_loadstore, "copies between global and shared memory, on a GPU"},
    {"map", bench_map, "a picture of a pool over time, from a trace"},
    {"memory", bench_memory, "allocators of device memory, on a GPU"},
    {"replay", bench_replay, "which allocator suits a recorded kernel, and how many bytes"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void bench_commands(FILE *to)
{
    size_t i;

    fputs("commands, each with a --help of its own:\n", to);
    for (i = 0; i < COMMANDS; i++) {
        fprintf(to, "  %-10s  %s\n", commands[i].name, commands[i].summary);
    }
}

int main(int argc, char **argv)
{
    size_t i;

    if ((argc < 2) || (argv[1][0] == '-')) {
        return bench_block(argc, argv);
    }
    for (i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            argv[1] = argv[0]; /* for getopt's messages */
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "shpool-bench: unknown command \"%s\"\n", argv[1]);
    bench_commands(stderr);
    return 2;
}
