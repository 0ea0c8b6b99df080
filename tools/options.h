/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines, and the messages about them, of all tools. */
#ifndef SHPOOL_TOOLS_OPTIONS_H
#define SHPOOL_TOOLS_OPTIONS_H

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>

#define TOOL_OPTION_BYTES 64 /* of an option's name as the user gave it, NUL included */

/* ---- a table of a command's options reads them, and prints its usage ---- */

typedef struct tool_row tool_row;

/** An option of a command line. */
typedef struct tool_given {
    const tool_row *row;
    const char *says;  /* begins messages: "shpool-bench" */
    const char *typed; /* the option's name, for messages: "--seed", or "-s" if that was typed */
    const char *value; /* NULL: none */
} tool_given;

/** An option, or a line of the usage. */
struct tool_row {
    /** As the usage shows it: "-o, --output FILE", "--json[=FILE]", "--changed"; NULL: `help` is a
     *  line of its own. */
    const char *spelled;
    /** Read the value into a field of the options; nonzero: it is bad, and stderr says why. */
    int (*take)(const tool_given *given, void *field);
    size_t offset;             /* of the field */
    double low;                /* legal numbers; of a flag the value that it sets */
    double high;
    const char *const *names;  /* legal names; NULL ends them */
    const char *help;          /* lines; NULL: not in the usage */
};

/** For tables of them. */
#define TOOL_LINE(_text) {NULL, NULL, 0, 0.0, 0.0, NULL, _text}
#define TOOL_ROWS_END TOOL_LINE(NULL)

typedef int tool_taker(const tool_given *given, void *field);

tool_taker tool_flag;   /* int: the row's `low` */
tool_taker tool_text;   /* const char * */
tool_taker tool_file;   /* const char *: not empty */
tool_taker tool_number; /* uint32_t, optionally followed by K, M or G */

/** The same, with a hint at the end of the message. */
int tool_number_hint(const tool_given *given, void *field, const char *hint);

/** How a command is used. */
typedef struct tool_parser {
    const char     *command; /* with the tool's name: `try COMMAND --help` */
    const char     *says;    /* begins messages about values */
    const tool_row *rows;    /* besides --help and --version, which all have */
    void (*usage)(FILE *to);
    /** The words from argv[optind] on, and what does not go together; nonzero: as above.  NULL: all
     *  goes. */
    int (*check)(int argc, char **argv, void *options);
    int         words;   /* exactly that many, */
    const char *exactly; /* "one trace file is", which the message says; NULL: check() counts */
} tool_parser;

/** 0: go on; else exit status + 1: --help or --version is printed, or stderr says what is bad. */
int tool_parse(const tool_parser *parser, int argc, char **argv, void *options);

/** Print the options' lines of a usage; the help begins in that column. */
void tool_rows_print(FILE *to, const tool_row *rows, int column);

/* ---- messages ---- */

/**
 * Print to stderr that a word is not a known one, and which are: `COMMAND: "lst" is not WHAT (did
 * you mean "list"?); known: list, show`.
 * @param [in] what   "a command"; of an option's value "a value of --device"
 * @param [in] known  ends with NULL
 */
void tool_unknown(const char *command, const char *what, const char *word,
                  const char *const known[]);

#endif /* SHPOOL_TOOLS_OPTIONS_H */
