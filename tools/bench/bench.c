/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: selects the command and runs it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/options.h"
#include "tools/output.h"
#include "names.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
#define BENCH_COMMAND(_name, _summary) {#_name, bench_##_name},
    BENCH_COMMANDS(BENCH_COMMAND)
#undef BENCH_COMMAND
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int run(int argc, char **argv)
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
    tool_unknown("shpool-bench", "a command", argv[1], bench_command_names);
    fputs("try shpool-bench --help\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    tool_prepare();
    return tool_leave("shpool-bench", run(argc, argv), 2);
}
