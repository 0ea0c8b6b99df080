/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the command line as a line of text for a shell, and comparison of two such
 * lines. */
#include "config.h"

#include <string.h>

#include "lib/internal.h"
#include "command.h"

/* A word of the command line, in quotes if a shell would see more in it. */
static void add_word(shpool_text *text, const char *word)
{
    const char *at;

    if ((word[0] != '\0') && (strpbrk(word, " \t\n\"'$`\\|&;<>()*?[]#~!{}") == NULL)) {
        shpool_text_add(text, "%s", word);
        return;
    }
    shpool_text_add(text, "'");
    for (at = word; *at != '\0'; at++) {
        shpool_text_add(text, (*at == '\'') ? "'\\''" : "%c", *at);
    }
    shpool_text_add(text, "'");
}

void bench_command_write(const char *tool, int argc, char **argv, char *line, size_t bytes)
{
    shpool_text text = shpool_text_make(line, bytes);
    int         i;

    shpool_text_add(&text, "%s", tool);
    for (i = 1; i < argc; i++) {
        shpool_text_add(&text, " ");
        add_word(&text, argv[i]);
    }
}

/* ---- reading it again ---- */

/* The next word without its quotes; 0: there is none. */
static int next_word(const char **at, char *word, size_t bytes)
{
    const char *from   = *at + strspn(*at, " ");
    int         quoted = 0;
    size_t      used   = 0;

    if (*from == '\0') {
        return 0;
    }
    for (; (*from != '\0') && (quoted || (*from != ' ')); from++) {
        if (*from == '\'') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && (*from == '\\') && (from[1] != '\0')) {
            from++;
        }
        if (used + 1 < bytes) {
            word[used++] = *from;
        }
    }
    word[used] = '\0';
    *at = from;
    return 1;
}

/* Whether getopt_long() takes the word for the option `--name`: a prefix is enough. */
static int is_option(const char *word, const char *name)
{
    const size_t length = strcspn(word, "=");

    return (length > 2) && (strncmp(word, "--", 2) == 0) &&
           (strncmp(word + 2, name, length - 2) == 0);
}

/* The next word that says what is measured, not where the results go; 0: there is none. */
static int next_asked(const char **at, char *word, size_t bytes)
{
    while (next_word(at, word, bytes)) {
        if (is_option(word, "plot")) {
            if (strchr(word, '=') == NULL) {
                (void)next_word(at, word, bytes); /* its file; those of the others follow a = */
            }
        } else if (!is_option(word, "json") && !is_option(word, "csv")) {
            return 1;
        }
    }
    return 0;
}

int bench_command_same(const char *a, const char *b)
{
    char word_a[BENCH_COMMAND_BYTES];
    char word_b[BENCH_COMMAND_BYTES];
    int  more_a;
    int  more_b;

    do {
        more_a = next_asked(&a, word_a, sizeof(word_a));
        more_b = next_asked(&b, word_b, sizeof(word_b));
    } while (more_a && more_b && (strcmp(word_a, word_b) == 0));
    return !more_a && !more_b;
}
