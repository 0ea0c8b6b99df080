/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of specs: reads a value as its row says, with errors that say what is valid. */
#include "options.h"

#include <stdatomic.h>
#include <string.h>

#define MOST_ROWS 32u /* of one table */

_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "an atomic field is stored as such");

const shpool_option shpool_no_options[1] = { { .key = NULL } };

static const shpool_option *find(const shpool_option rows[], const char *key)
{
    while ((rows->key != NULL) && (strcmp(rows->key, key) != 0)) {
        rows++;
    }
    return (rows->key != NULL) ? rows : NULL;
}

/* Relaxed: other threads may read 8 bytes; a limit that a call just misses holds for the next one.
 * Fields of 4 bytes are fixed, or read under the lock under which they are changed. */
static void store(const shpool_option *row, void *field, uint64_t value)
{
    const uint32_t half = (value < UINT32_MAX) ? (uint32_t)value : UINT32_MAX;

    if (row->bytes == sizeof(value)) {
        atomic_store_explicit((_Atomic uint64_t *)field, value, memory_order_relaxed);
    } else {
        memcpy(field, &half, sizeof(half));
    }
}

static int take_number(const shpool_option *row, void *field, const char *value)
{
    uint64_t number;

    if (!shpool_spec_number(value, row->kind == SHPOOL_OPTION_BYTES, &number) ||
        (number < row->low) || (number > row->high)) {
        return 0;
    }
    store(row, field, number);
    return 1;
}

int shpool_option_word(const char *words, const char *value)
{
    const size_t bytes = strlen(value);

    for (int position = 0;; position++) {
        const size_t length = strcspn(words, "|");

        if ((length == bytes) && (memcmp(words, value, bytes) == 0)) {
            return position;
        }
        if (words[length] == '\0') {
            return -1;
        }
        words += length + 1;
    }
}

static int take_word(const shpool_option *row, void *field, const char *value)
{
    const int position = shpool_option_word(row->values, value);

    if (position >= 0) {
        store(row, field, row->low + (uint64_t)position);
    }
    return position >= 0;
}

static int take_flag(const shpool_option *row, void *field, const char *value)
{
    uint32_t flags;

    if ((strcmp(value, "0") != 0) && (strcmp(value, "1") != 0)) {
        return 0;
    }
    memcpy(&flags, field, sizeof(flags));
    store(row, field, (value[0] == '1') ? flags | row->low : flags & ~row->low);
    return 1;
}

static int take_text(const shpool_option *row, void *field, const char *value)
{
    const size_t bytes = strlen(value) + 1;

    if (bytes <= row->bytes) {
        memcpy(field, value, bytes);
    }
    return bytes <= row->bytes;
}

static int take(const shpool_option *row, void *field, const char *value)
{
    switch (row->kind) {
    case SHPOOL_OPTION_NUMBER:
    case SHPOOL_OPTION_BYTES: return take_number(row, field, value);
    case SHPOOL_OPTION_FLAG:  return take_flag(row, field, value);
    case SHPOOL_OPTION_WORD:  return take_word(row, field, value);
    case SHPOOL_OPTION_TEXT:  return take_text(row, field, value);
    case SHPOOL_OPTION_OWN:   return 1;
    }
    return 0;
}

void shpool_option_add_words(shpool_text *text, const char *words)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, "|");
        const char *rest = words + length + (words[length] == '|');

        shpool_text_add(text, "%.*s%s", (int)length, words, (*rest == '\0') ? ""
                        : (strchr(rest, '|') != NULL) ? ", " : " or ");
        words = rest;
    }
}

static shpool_status bad_value(const shpool_option *row, const char *where, const char *value)
{
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text = shpool_text_make(detail, sizeof(detail));

    shpool_text_add(&text, "%s%s=%.255s is not possible, it takes ", where, row->key, value);
    if ((row->kind != SHPOOL_OPTION_NUMBER) && (row->kind != SHPOOL_OPTION_BYTES)) {
        shpool_option_add_words(&text, row->values);
    } else if (row->high == UINT64_MAX) {
        shpool_text_add(&text, "a number of at least %llu", (unsigned long long)row->low);
    } else {
        shpool_text_add(&text, "a number from %llu to %llu", (unsigned long long)row->low,
                        (unsigned long long)row->high);
    }
    shpool_text_add(&text, "%s: %s", (row->kind == SHPOOL_OPTION_BYTES)
                    ? " that may end in K, M or G" : "", row->text);
    return shpool_error(SHPOOL_ERR_SPEC, "%s", detail);
}

static shpool_status set(const shpool_option *row, void *to, const char *where, const char *value)
{
    if (!take(row, (char *)to + row->offset, value)) {
        return bad_value(row, where, value);
    }
    return (row->then != NULL) ? row->then(to, value) : SHPOOL_OK;
}

static shpool_status unknown(const shpool_option rows[], const char *where, const char *key)
{
    const char *names[MOST_ROWS];
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text = shpool_text_make(detail, sizeof(detail));
    size_t count = 0;

    for (; (count < MOST_ROWS) && (rows[count].key != NULL); count++) {
        names[count] = rows[count].key;
    }
    shpool_text_add(&text, "%sunknown key \"%s\"", where, key);
    shpool_text_add_guess(&text, key, names, count);
    shpool_text_add(&text, (count != 0) ? "; known keys: " : "; it takes no keys");
    shpool_text_add_names(&text, names, count);
    return shpool_error(SHPOOL_ERR_SPEC, "%s", detail);
}

shpool_status shpool_options_set(const shpool_option rows[], void *to, const char *where,
                                 const shpool_spec_pair *pairs, uint32_t count)
{
    shpool_status status = SHPOOL_OK;

    for (uint32_t i = 0; (status == SHPOOL_OK) && (i < count); i++) {
        const shpool_option *row = find(rows, pairs[i].key);

        status = (row != NULL) ? set(row, to, where, pairs[i].value)
                               : unknown(rows, where, pairs[i].key);
    }
    return status;
}

shpool_status shpool_option_change(const shpool_option rows[], void *to, const char *where,
                                   const char *key, const char *value)
{
    const shpool_option *row = find(rows, key);

    return ((row != NULL) && !row->fixed) ? set(row, to, where, value) : SHPOOL_ERR_NOT_FOUND;
}
