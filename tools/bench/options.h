/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: what the command lines of all commands have in common. */
#ifndef SHPOOL_BENCH_OPTIONS_H
#define SHPOOL_BENCH_OPTIONS_H

#include <stdio.h>

#include "tools/options.h"

/** How a command is used. */
typedef struct bench_parser {
    const char          *command; /* with the tool's name: `try COMMAND --help` */
    const char          *shorts;  /* for getopt_long() */
    const struct option *longs;   /* 'h' is --help, 'V' is --version */
    void (*usage)(FILE *to);
    /** An option, by the name that was typed, its value in optarg; nonzero: it is bad, and stderr
     *  says why. */
    int (*take)(int c, const char *option, void *options);
    /** The words from argv[optind] on, and what does not go together; nonzero: as above. */
    int (*check)(int argc, char **argv, void *options);
} bench_parser;

/** 0: go on; else exit status + 1: --help or --version is printed, or stderr says what is bad. */
int bench_parse(const bench_parser *parser, int argc, char **argv, void *options);

#endif /* SHPOOL_BENCH_OPTIONS_H */
