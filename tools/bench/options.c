/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: what the command lines of all commands have in common. */
#include "config.h"

#include <shpool/shpool.h>

#include "options.h"
#include "tools/message.h"

int bench_parse(const bench_parser *parser, int argc, char **argv, void *options)
{
    char option[TOOL_OPTION_BYTES];
    int  bad = 0;
    int  c;

    while (!bad && ((c = tool_option(parser->command, argc, argv, parser->shorts, parser->longs,
                                     option)) != -1)) {
        switch (c) {
        case 'h':
            parser->usage(stdout);
            return 1;
        case 'V':
            printf("shpool-bench %s\n", shpool_version());
            return 1;
        case '?': /* tool_option() has said it */
            bad = 1;
            break;
        default:
            bad = parser->take(c, option, options);
            break;
        }
    }
    if (bad || parser->check(argc, argv, options)) {
        tool_say("try %s --help\n", parser->command);
        return 3;
    }
    return 0;
}
