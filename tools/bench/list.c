/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: lists and ranges of an option's values. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "list.h"
#include "tools/options.h"
#include "tools/message.h"

#define WHAT_BYTES (TOOL_OPTION_BYTES + 32)

static int number(const char *text, const char *option, uint32_t low, uint32_t high,
                  const char *hint, uint32_t *value)
{
    uint64_t n;

    if (!shpool_spec_number(text, 1, &n) || (n < low) || (n > high)) {
        tool_say("shpool-bench: %s %s: a number from %u to %u is needed%s\n", option, text,
                 (unsigned)low, (unsigned)high, hint);
        return -1;
    }
    *value = (uint32_t)n;
    return 0;
}

int bench_number(const char *text, const char *option, uint32_t low, uint32_t high,
                 uint32_t *value)
{
    return number(text, option, low, high, "", value);
}

int bench_bytes(const char *text, const char *option, uint32_t low, uint32_t high, uint32_t *value)
{
    return number(text, option, low, high, "; it may end in K, M or G", value);
}

int bench_decimal(const char *text, const char *option, double low, double high, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if ((end == text) || (*end != '\0') || !(*value >= low) || !(*value <= high)) {
        tool_say("shpool-bench: %s %s: a number from %g to %g is needed\n", option, text,
                 low, high);
        return -1;
    }
    return 0;
}

/* The next piece of a list, without its comma; NULL: there is none, or it is longer than a number
 * or a name can be (then *at still points to it). */
static const char *next_piece(const char **at, char *piece, size_t bytes)
{
    size_t length;

    if (*at == NULL) {
        return NULL;
    }
    length = strcspn(*at, ",");
    if (length >= bytes) {
        return NULL;
    }
    memcpy(piece, *at, length);
    piece[length] = '\0';
    *at = ((*at)[length] == ',') ? *at + length + 1 : NULL;
    return piece;
}

int bench_list_has(const bench_list *list, uint32_t value)
{
    size_t i;

    for (i = 0; i < list->count; i++) {
        if (list->value[i] == value) {
            return 1;
        }
    }
    return 0;
}

int bench_list_add(bench_list *list, uint32_t value)
{
    if (bench_list_has(list, value)) {
        return 0;
    }
    if (list->count == BENCH_LIST) {
        return -1;
    }
    list->value[list->count++] = value;
    return 0;
}

/* One piece: a number, from-to or from-to:step, each with K, M or G; NULL: it is added, else what
 * is wrong with it. */
static const char *add_piece(char *piece, uint32_t low, uint32_t high, bench_list *list)
{
    char    *dash  = strchr(piece, '-');
    char    *colon = strchr(piece, ':');
    uint64_t from;
    uint64_t to;
    uint64_t step = 0;
    uint64_t n;

    if (colon != NULL) {
        *colon = '\0';
        if ((dash == NULL) || !shpool_spec_number(colon + 1, 1, &step) || (step == 0)) {
            return "a step follows a range: 100-400:100";
        }
    }
    if (dash != NULL) {
        *dash = '\0';
    }
    if (!shpool_spec_number(piece, 1, &from) || (from < low) || (from > high)) {
        return "";
    }
    to = from;
    if ((dash != NULL) && (!shpool_spec_number(dash + 1, 1, &to) || (to > high))) {
        return "";
    }
    if (to < from) {
        return "a range goes up";
    }
    if ((from == 0) && (to != 0) && (step == 0)) {
        return "0 does not double; give a step: 0-8:2";
    }
    for (n = from; n < to; n = (step != 0) ? n + step : 2 * n) {
        if (bench_list_add(list, (uint32_t)n) != 0) {
            return "too many values";
        }
    }
    /* a doubling range ends with its end (32-1000 is 32, 64, ..., 512, 1000), steps if they meet
     * it */
    if (((step == 0) || (n == to)) && (bench_list_add(list, (uint32_t)to) != 0)) {
        return "too many values";
    }
    return NULL;
}

int bench_numbers(const char *text, const char *option, uint32_t low, uint32_t high,
                  bench_list *list)
{
    const char *at    = text;
    const char *wrong = NULL;
    char        piece[64];

    while ((wrong == NULL) && (next_piece(&at, piece, sizeof(piece)) != NULL)) {
        wrong = add_piece(piece, low, high, list);
    }
    if ((wrong == NULL) && (at == NULL)) {
        return 0;
    }
    tool_say("shpool-bench: %s %s: %s%snumbers from %u to %u are needed, at most %d of "
             "them: 32,64 or 128-1024 (doubles) or 100-400:100 (steps)%s\n", option, text,
             (wrong != NULL) ? wrong : "", ((wrong != NULL) && (wrong[0] != '\0')) ? "; " : "",
             (unsigned)low, (unsigned)high, BENCH_LIST,
             (high > 1024) ? "; they may end in K, M or G" : "");
    return -1;
}

/* 0: there is no such name. */
static int add_choice(const char *name, const char *const *known, bench_list *list)
{
    const int all = strcmp(name, "all") == 0;
    int       found = 0;
    uint32_t  i;

    for (i = 0; known[i] != NULL; i++) {
        if (all || (strcmp(name, known[i]) == 0)) {
            (void)bench_list_add(list, i); /* the list has room: there are fewer than BENCH_LIST */
            found = 1;
        }
    }
    return found;
}

/* Report one of several names, or that it is empty. */
static void refuse_choice(const char *text, const char *option, const char *name,
                          const char *const *known)
{
    const char *names[BENCH_LIST + 2];
    char        what[WHAT_BYTES];
    size_t      count = 0;

    if (name[0] == '\0') {
        tool_say("shpool-bench: %s %s: a name is empty; one comma separates two names\n",
                 option, text);
        return;
    }
    for (; (known[count] != NULL) && (count < BENCH_LIST); count++) {
        names[count] = known[count];
    }
    names[count]     = "all";
    names[count + 1] = NULL;
    snprintf(what, sizeof(what), "a value of %s", option);
    tool_unknown("shpool-bench", what, name, names);
}

int bench_choices(const char *text, const char *option, const char *const *known,
                  bench_list *list)
{
    const char *at    = text;
    int         found = 1;
    char        piece[64];

    while (found && (next_piece(&at, piece, sizeof(piece)) != NULL)) {
        found = add_choice(piece, known, list);
    }
    if (found && (at == NULL)) {
        return 0;
    }
    refuse_choice(text, option, found ? at : piece, known);
    return -1;
}

int bench_choice(const char *name, const char *option, const char *const *known)
{
    char what[WHAT_BYTES];
    int  i;

    for (i = 0; known[i] != NULL; i++) {
        if (strcmp(name, known[i]) == 0) {
            return i;
        }
    }
    snprintf(what, sizeof(what), "a value of %s", option);
    tool_unknown("shpool-bench", what, name, known);
    return -1;
}

int bench_name_add(bench_names *names, const char *option, const char *name)
{
    size_t i;

    for (i = 0; i < names->count; i++) {
        if (strcmp(names->name[i], name) == 0) {
            return 0;
        }
    }
    if (names->count == BENCH_LIST) {
        tool_say("shpool-bench: %s %s: at most %d names can be given\n", option, name,
                 BENCH_LIST);
        return -1;
    }
    names->name[names->count++] = name;
    return 0;
}
