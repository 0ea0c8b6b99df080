/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines, and the messages about them, of all tools. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/escape.h"
#include "lib/internal.h"
#include "message.h"
#include "options.h"

#define MOST_ROWS     32
#define MOST_OPTIONS  (MOST_ROWS + 2)
#define MOST_SHORTS   (2 * MOST_ROWS + 4)
#define MESSAGE_BYTES 4096

/* Words of the command line may hold what a terminal would obey. */
static void put(const char *command, const char *message)
{
    fprintf(stderr, "%s: ", command);
    shpool_put(message, stderr);
    fputc('\n', stderr);
}

static size_t count_of(const char *const known[])
{
    size_t count = 0;

    while (known[count] != NULL) {
        count++;
    }
    return count;
}

/* The long options that begin with `start`, of `length` characters; their number. */
static size_t options_like(const char *start, size_t length, const struct option *longs,
                           const char *names[MOST_OPTIONS])
{
    size_t count = 0;

    for (; (longs->name != NULL) && (count < MOST_OPTIONS); longs++) {
        if (strncmp(longs->name, start, length) == 0) {
            names[count++] = longs->name;
        }
    }
    return count;
}

/* Adds ` (did you mean "--x"?)`. */
static void add_option_guess(shpool_text *text, const char *word, const struct option *longs)
{
    const char *names[MOST_OPTIONS];
    char        name[TOOL_OPTION_BYTES];
    const char *best;

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    best = shpool_guess(name, names, options_like("", 0, longs, names));
    if (best != NULL) {
        shpool_text_add(text, " (did you mean \"--%s\"?)", best);
    }
}

/* What getopt_long() refused about the long option `word`, which has no hyphens. */
static void add_long(shpool_text *text, const char *word, int missing, const struct option *longs)
{
    const char *names[MOST_OPTIONS];
    const int    length = (int)strcspn(word, "=");
    const size_t count  = options_like(word, (size_t)length, longs, names);

    if (missing) {
        shpool_text_add(text, "--%.*s needs a value", length, word);
    } else if (count == 0) {
        shpool_text_add(text, "unknown option \"--%.*s\"", length, word);
        add_option_guess(text, word, longs);
    } else if ((count == 1) || (strlen(names[0]) == (size_t)length)) {
        shpool_text_add(text, "--%.*s takes no value", length, word);
    } else {
        shpool_text_add(text, "\"--%.*s\" may be", length, word);
        for (size_t i = 0; i < count; i++) {
            shpool_text_add(text, "%s --%s", (i == 0) ? "" : " or", names[i]);
        }
    }
}

/* The same of a letter; `word` is the one it is in. */
static void add_short(shpool_text *text, const char *word, int letter, int missing,
                      const struct option *longs)
{
    if (missing) {
        shpool_text_add(text, "-%c needs a value", letter);
        return;
    }
    shpool_text_add(text, "unknown option \"-%c\"", letter);
    if ((word[0] == '-') && (word[1] == letter) && (word[2] != '\0')) { /* "-threads" */
        shpool_text_add(text, " in \"%s\"", word);
        add_option_guess(text, word + 1, longs);
    }
}

/* getopt_long() is past the word, or not yet if it has more letters. */
static const char *refused_word(int argc, char **argv, int letter)
{
    if ((letter != 0) && (optind < argc) && (argv[optind][0] == '-') &&
        (argv[optind][1] == letter)) {
        return argv[optind];
    }
    return argv[optind - 1];
}

static void refuse(const char *command, int argc, char **argv, int missing,
                   const struct option *longs)
{
    char        message[MESSAGE_BYTES];
    shpool_text text = shpool_text_make(message, sizeof(message));
    const char *word = refused_word(argc, argv, optopt);

    if (strncmp(word, "--", 2) == 0) {
        add_long(&text, word + 2, missing, longs);
    } else {
        add_short(&text, word, optopt, missing, longs);
    }
    put(command, message);
}

/* getopt_long(), whose messages name the option, and the nearest one if it is unknown; name: the
 * option, as it was typed.  '?': stderr says what is wrong. */
static int next_option(const char *command, int argc, char **argv, const char *shorts,
                       const struct option *longs, char name[TOOL_OPTION_BYTES])
{
    char quiet[MOST_SHORTS]; /* the colon distinguishes a missing value */
    int  at = -1;
    int  c;

    (void)snprintf(quiet, sizeof(quiet), ":%s", shorts);
    opterr  = 0;
    name[0] = '\0';
    c       = getopt_long(argc, argv, quiet, longs, &at);
    if ((c == '?') || (c == ':')) {
        refuse(command, argc, argv, c == ':', longs);
        return '?';
    }
    if (at >= 0) {
        (void)snprintf(name, TOOL_OPTION_BYTES, "--%s", longs[at].name);
    } else if (c != -1) {
        (void)snprintf(name, TOOL_OPTION_BYTES, "-%c", c);
    }
    return c;
}

void tool_unknown(const char *command, const char *what, const char *word,
                  const char *const known[])
{
    char         message[MESSAGE_BYTES];
    shpool_text  text  = shpool_text_make(message, sizeof(message));
    const size_t count = count_of(known);

    shpool_text_add(&text, "\"%s\" is not %s", word, what);
    shpool_text_add_guess(&text, word, known, count);
    shpool_text_add(&text, "; known: ");
    shpool_text_add_names(&text, known, count);
    put(command, message);
}

/* ---- tables of options ---- */

/* What getopt_long() needs. */
typedef struct words {
    char          name[MOST_ROWS][TOOL_OPTION_BYTES];
    struct option longs[MOST_ROWS + 3];
    char          shorts[2 * MOST_ROWS];
} words;

enum { FIRST = 256 }; /* what next_option() returns for the first row */

/* The words of an option as it is spelled. */
static void add(words *to, size_t at, const tool_row *option)
{
    const char *name   = strstr(option->spelled, "--") + 2;
    const char *past   = name + strcspn(name, " [");
    const int   takes  = (*past == '\0') ? no_argument
                         : (*past == '[') ? optional_argument : required_argument;
    size_t      length = strlen(to->shorts);

    snprintf(to->name[at], sizeof(to->name[at]), "%.*s", (int)(past - name), name);
    to->longs[at] = (struct option){to->name[at], takes, NULL, FIRST + (int)at};
    if ((option->spelled[0] == '-') && (option->spelled[1] != '-')) {
        snprintf(to->shorts + length, sizeof(to->shorts) - length, "%c%s", option->spelled[1],
                 (takes == no_argument) ? "" : ":");
    }
}

/* The options of a command, by their numbers. */
static void make(words *to, const tool_row *rows, const tool_row *row[])
{
    size_t count = 0;

    memset(to, 0, sizeof(*to));
    for (; (rows->spelled != NULL) || (rows->help != NULL); rows++) {
        if ((rows->spelled != NULL) && (count < MOST_ROWS)) {
            row[count] = rows;
            add(to, count++, rows);
        }
    }
    row[count]       = NULL;
    to->longs[count++] = (struct option){"help", no_argument, NULL, 'h'};
    to->longs[count]   = (struct option){"version", no_argument, NULL, 'V'};
    strcat(to->shorts, "hV");
}

/* The one that next_option() found. */
static const tool_row *find(const tool_row *const row[], int c)
{
    if (c >= FIRST) {
        return row[c - FIRST];
    }
    while ((*row)->spelled[1] != c) {
        row++;
    }
    return *row;
}

/* Nonzero: there are too few words, or too many. */
static int miscounts(const tool_parser *parser, int count)
{
    if ((parser->exactly == NULL) || (count == parser->words)) {
        return 0;
    }
    tool_say("%s:%s: exactly %s needed, got %d\n", parser->says,
             parser->command + strlen(parser->says), parser->exactly, count);
    return 1;
}

int tool_parse(const tool_parser *parser, int argc, char **argv, void *options)
{
    const tool_row *row[MOST_ROWS + 1];
    char       typed[TOOL_OPTION_BYTES];
    tool_given given = {.says = parser->says, .typed = typed};
    words      known;
    int        bad = 0;
    int        c;

    make(&known, parser->rows, row);
    while (!bad && ((c = next_option(parser->command, argc, argv, known.shorts, known.longs,
                                     typed)) != -1)) {
        switch (c) {
        case 'h':
            parser->usage(stdout);
            return 1;
        case 'V':
            printf("%.*s %s\n", (int)strcspn(parser->command, " "), parser->command,
                   PACKAGE_VERSION);
            return 1;
        case '?': /* next_option() has said it */
            bad = 1;
            break;
        default:
            given.row   = find(row, c);
            given.value = optarg;
            bad = given.row->take(&given, (char *)options + given.row->offset);
            break;
        }
    }
    if (bad || miscounts(parser, argc - optind) ||
        ((parser->check != NULL) && parser->check(argc, argv, options))) {
        tool_say("try %s --help\n", parser->command);
        return 3;
    }
    return 0;
}

void tool_rows_print(FILE *to, const tool_row *options, int column)
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

/* ---- values ---- */

int tool_flag(const tool_given *given, void *field)
{
    *(int *)field = (int)given->row->low;
    return 0;
}

int tool_text(const tool_given *given, void *field)
{
    *(const char **)field = given->value;
    return 0;
}

int tool_file(const tool_given *given, void *field)
{
    (void)tool_text(given, field);
    if (given->value[0] != '\0') {
        return 0;
    }
    tool_say("%s: %s: the file name is empty\n", given->says, given->typed);
    return -1;
}

int tool_number_hint(const tool_given *given, void *field, const char *hint)
{
    const tool_row *row = given->row;
    uint64_t        n;

    if (!shpool_spec_number(given->value, 1, &n) || ((double)n < row->low) ||
        ((double)n > row->high)) {
        tool_say("%s: %s %s: a number from %.0f to %.0f is needed%s\n", given->says, given->typed,
                 given->value, row->low, row->high, hint);
        return -1;
    }
    *(uint32_t *)field = (uint32_t)n;
    return 0;
}

int tool_number(const tool_given *given, void *field)
{
    return tool_number_hint(given, field, "");
}
