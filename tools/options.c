/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines, and the messages about them, of all tools. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "lib/escape.h"
#include "lib/internal.h"
#include "options.h"

#define MOST_OPTIONS  64
#define MOST_SHORTS   64
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

int tool_option(const char *command, int argc, char **argv, const char *shorts,
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

int tool_no_name(const char *command, const char *option, const char *path)
{
    if (path[0] != '\0') {
        return 0;
    }
    fprintf(stderr, "%s: %s: the file name is empty\n", command, option);
    return 1;
}
