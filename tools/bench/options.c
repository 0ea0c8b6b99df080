/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the command lines of all commands. */
#include "config.h"

#include <string.h>

#include <shpool/shpool.h>

#include "options.h"
#include "tools/message.h"

#define MOST_OPTIONS 32

/* What getopt_long() needs. */
typedef struct words {
    char          name[MOST_OPTIONS][TOOL_OPTION_BYTES];
    struct option longs[MOST_OPTIONS + 3];
    char          shorts[2 * MOST_OPTIONS];
} words;

enum { FIRST = 256 }; /* what tool_option() returns for the first row */

/* The words of an option as it is spelled. */
static void add(words *to, size_t at, const bench_option *option)
{
    const char *name   = strstr(option->spelled, "--") + 2;
    const char *past   = name + strcspn(name, " [");
    const int   takes  = (*past == '\0') ? no_argument
                         : (*past == '[') ? optional_argument : required_argument;
    size_t      length = strlen(to->shorts);

    snprintf(to->name[at], sizeof(to->name[at]), "%.*s", (int)(past - name), name);
    to->longs[at] = (struct option){to->name[at], takes, NULL, FIRST + (int)at};
    if (option->spelled[1] != '-') {
        snprintf(to->shorts + length, sizeof(to->shorts) - length, "%c%s", option->spelled[1],
                 (takes == no_argument) ? "" : ":");
    }
}

/* The options of a command, by their numbers. */
static void make(words *to, const bench_option *options, const bench_option *row[])
{
    size_t count = 0;

    memset(to, 0, sizeof(*to));
    for (; (options->spelled != NULL) || (options->help != NULL); options++) {
        if ((options->spelled != NULL) && (count < MOST_OPTIONS)) {
            row[count] = options;
            add(to, count++, options);
        }
    }
    row[count]       = NULL;
    to->longs[count++] = (struct option){"help", no_argument, NULL, 'h'};
    to->longs[count]   = (struct option){"version", no_argument, NULL, 'V'};
    strcat(to->shorts, "h");
}

/* The one that tool_option() found. */
static const bench_option *find(const bench_option *const row[], int c)
{
    if (c >= FIRST) {
        return row[c - FIRST];
    }
    while ((*row)->spelled[1] != c) {
        row++;
    }
    return *row;
}

int bench_parse(const bench_parser *parser, int argc, char **argv, void *options)
{
    const bench_option *row[MOST_OPTIONS + 1];
    const bench_option *found;
    char  typed[TOOL_OPTION_BYTES];
    words known;
    int   bad = 0;
    int   c;

    make(&known, parser->options, row);
    while (!bad && ((c = tool_option(parser->command, argc, argv, known.shorts, known.longs,
                                     typed)) != -1)) {
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
            found = find(row, c);
            bad   = found->take(found, typed, (char *)options + found->offset);
            break;
        }
    }
    if (bad || parser->check(argc, argv, options)) {
        tool_say("try %s --help\n", parser->command);
        return 3;
    }
    return 0;
}

void bench_options_print(FILE *to, const bench_option *options, int column)
{
    for (; (options->spelled != NULL) || (options->help != NULL); options++) {
        const char *line = options->help;

        if (options->spelled == NULL) {
            fprintf(to, "%s\n", line);
        } else if (line != NULL) {
            fprintf(to, "  %-*s %.*s\n", column - 3, options->spelled, (int)strcspn(line, "\n"),
                    line);
            while ((line = strchr(line, '\n')) != NULL) {
                line++;
                fprintf(to, "%*s%.*s\n", column, "", (int)strcspn(line, "\n"), line);
            }
        }
    }
}
