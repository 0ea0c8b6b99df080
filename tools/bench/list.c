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

int bench_output(const tool_given *given, void *field)
{
    if (given->value != NULL) {
        return tool_file(given, field);
    }
    *(const char **)field = "-";
    return 0;
}

int bench_bytes(const tool_given *given, void *field)
{
    return tool_number_hint(given, field, "; it may end in K, M or G");
}

int bench_arch(const tool_given *given, void *field)
{
    shpool_arch arch;

    (void)tool_text(given, field);
    if (shpool_arch_find(given->value, &arch) == SHPOOL_OK) {
        return 0;
    }
    tool_say("shpool-bench: %s %s: %s\n", given->typed, given->value, shpool_last_error());
    return -1;
}

int bench_decimal(const tool_given *given, void *field)
{
    double *value = field;
    char   *end;

    *value = strtod(given->value, &end);
    if ((end == given->value) || (*end != '\0') || !(*value >= given->row->low) ||
        !(*value <= given->row->high)) {
        tool_say("shpool-bench: %s %s: a number from %g to %g is needed\n", given->typed,
                 given->value,
                 given->row->low, given->row->high);
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

int bench_numbers(const tool_given *given, void *field)
{
    const uint32_t low   = (uint32_t)given->row->low;
    const uint32_t high  = (uint32_t)given->row->high;
    const char    *at    = given->value;
    const char    *wrong = NULL;
    char           piece[64];

    while ((wrong == NULL) && (next_piece(&at, piece, sizeof(piece)) != NULL)) {
        wrong = add_piece(piece, low, high, field);
    }
    if ((wrong == NULL) && (at == NULL)) {
        return 0;
    }
    tool_say("shpool-bench: %s %s: %s%snumbers from %u to %u are needed, at most %d of "
             "them: 32,64 or 128-1024 (doubles) or 100-400:100 (steps)%s\n", given->typed,
             given->value,
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

static int refuse(const char *typed, const char *name, const char *const *known)
{
    char what[WHAT_BYTES];

    snprintf(what, sizeof(what), "a value of %s", typed);
    tool_unknown("shpool-bench", what, name, known);
    return -1;
}

int bench_choices(const tool_given *given, void *field)
{
    const char *names[BENCH_LIST + 2] = {NULL};
    const char *at    = given->value;
    const char *name  = given->value;
    int         found = 1;
    char        piece[64];
    size_t      count = 0;

    while (found && (next_piece(&at, piece, sizeof(piece)) != NULL)) {
        found = add_choice(piece, given->row->names, field);
    }
    if (found && (at == NULL)) {
        return 0;
    }
    name = found ? at : piece;
    if (name[0] == '\0') {
        tool_say("shpool-bench: %s %s: a name is empty; one comma separates two names\n",
                 given->typed,
                 given->value);
        return -1;
    }
    for (; (given->row->names[count] != NULL) && (count < BENCH_LIST); count++) {
        names[count] = given->row->names[count];
    }
    names[count] = "all";
    return refuse(given->typed, name, names);
}

int bench_choice(const tool_given *given, void *field)
{
    for (int i = 0; given->row->names[i] != NULL; i++) {
        if (strcmp(given->value, given->row->names[i]) == 0) {
            *(int *)field = i;
            return 0;
        }
    }
    return refuse(given->typed, given->value, given->row->names);
}

int bench_name_add(bench_names *names, const char *typed, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->name[i], name) == 0) {
            return 0;
        }
    }
    if (names->count == BENCH_LIST) {
        tool_say("shpool-bench: %s %s: at most %d names can be given\n", typed, name, BENCH_LIST);
        return -1;
    }
    names->name[names->count++] = name;
    return 0;
}

/* Characters of the spec that begins there: up to a comma that another name follows. */
static size_t spec_length(const char *spec)
{
    size_t length = strcspn(spec, ",");

    while (spec[length] == ',') {
        const char *next = spec + length + 1;

        if (next[strcspn(next, ":|,=")] != '=') {
            break;
        }
        length += 1 + strcspn(next, ",");
    }
    return length;
}

int bench_specs(const tool_given *given, void *field)
{
    bench_names *names = field;
    const char *at = given->value;

    for (;;) {
        const size_t length = spec_length(at);
        char *spec = names->text + names->text_bytes;

        if (length == 0) {
            tool_say("shpool-bench: %s %s: a name is empty; one comma separates two names\n",
                     given->typed, given->value);
            return -1;
        }
        if (length >= sizeof(names->text) - names->text_bytes) {
            tool_say("shpool-bench: %s %s: all names together are too long\n", given->typed,
                     given->value);
            return -1;
        }
        memcpy(spec, at, length);
        spec[length] = '\0';
        names->text_bytes += length + 1;
        if (bench_name_add(names, given->typed, spec) != 0) {
            return -1;
        }
        if (at[length] == '\0') {
            return 0;
        }
        at += length + 1;
    }
}
