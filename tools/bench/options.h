/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the command lines of all commands.  A table of each one's options reads them and
 * prints its usage. */
#ifndef SHPOOL_BENCH_OPTIONS_H
#define SHPOOL_BENCH_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "tools/options.h"

/** An option, or a line of the usage. */
typedef struct bench_option bench_option;
struct bench_option {
    /** As the usage shows it: "-o, --output FILE", "--json[=FILE]", "--changed"; NULL: `help` is a
     *  line of its own. */
    const char *spelled;
    /** Read the value, optarg, into a field of the options; typed: the option's name.  Nonzero: it
     *  is bad, and stderr says why.  list.h has functions for most types. */
    int (*take)(const bench_option *option, const char *typed, void *field);
    size_t offset;             /* of the field */
    double low;                /* legal numbers; of a flag the value that it sets */
    double high;
    const char *const *names;  /* legal names; NULL ends them */
    const char *help;          /* lines; NULL: not in the usage */
};

/** For tables of them. */
#define BENCH_LINE(_text) {NULL, NULL, 0, 0.0, 0.0, NULL, _text}
#define BENCH_OPTIONS_END BENCH_LINE(NULL)

/** How a command is used. */
typedef struct bench_parser {
    const char         *command; /* with the tool's name: `try COMMAND --help` */
    const bench_option *options; /* besides --help and --version, which all have */
    void (*usage)(FILE *to);
    /** The words from argv[optind] on, and what does not go together; nonzero: as above. */
    int (*check)(int argc, char **argv, void *options);
} bench_parser;

/** 0: go on; else exit status + 1: --help or --version is printed, or stderr says what is bad. */
int bench_parse(const bench_parser *parser, int argc, char **argv, void *options);

/** Print the options' lines of a usage; the help begins in that column. */
void bench_options_print(FILE *to, const bench_option *options, int column);

#endif /* SHPOOL_BENCH_OPTIONS_H */
