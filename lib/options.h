/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of specs, as tables.  One row has everything about a key: how its value is read and where it
 * is stored, and what shpool-info and the manual print about it.  A table is a macro,
 *
 *     #define OPTIONS(_) _("slab", "BYTES", BYTES, self_type, slab_bytes, "What it is.", .high = 9)
 *
 * that becomes an array of rows with SHPOOL_OPTION_ROWS, and text with SHPOOL_OPTION_LINES.
 */
#ifndef SHPOOL_OPTIONS_H
#define SHPOOL_OPTIONS_H

#include "internal.h"

#pragma GCC visibility push(hidden)

typedef enum shpool_option_kind {
    SHPOOL_OPTION_NUMBER, /* from `low` to `high`, cut to what a 32-bit field holds */
    SHPOOL_OPTION_BYTES,  /* the same, and it may end in K, M or G */
    SHPOOL_OPTION_FLAG,   /* 0 or 1: clears or sets the bits `low` */
    SHPOOL_OPTION_WORD,   /* a word of `values`: `low` and its position */
    SHPOOL_OPTION_TEXT,   /* copied into an array of `bytes` */
    SHPOOL_OPTION_OWN     /* `then` reads it */
} shpool_option_kind;

typedef struct shpool_option {
    const char *key;    /* NULL: the end of the table */
    const char *values; /* as shown: BYTES, N; words and 0|1 are divided by | */
    const char *text;   /* sentences; the last one names the default, if there is one */
    shpool_option_kind kind;
    size_t bytes;       /* of the field; 4 or 8, except for texts */
    size_t offset;
    uint64_t low;
    uint64_t high;
    int fixed;          /* 1: shpool_option_change() does not know it */
    shpool_status (*then)(void *to, const char *value); /* called after it was stored; or NULL */
} shpool_option;

extern const shpool_option shpool_no_options[1];

/* The trailing arguments are initialisers of `low` and the members below it. */
#define SHPOOL_OPTION_ROW(_key, _values, _kind, _type, _field, _text, ...)                         \
    { .key = _key, .values = _values, .text = _text, .kind = SHPOOL_OPTION_##_kind,                \
      .bytes = sizeof(((_type *)0)->_field), .offset = offsetof(_type, _field), __VA_ARGS__ },

#define SHPOOL_OPTION_LINE(_key, _values, _kind, _type, _field, _text, ...)                        \
    _key "=" _values "  " _text "\n"

#define SHPOOL_OPTION_ROWS(_options)  { _options(SHPOOL_OPTION_ROW) { .key = NULL } }
#define SHPOOL_OPTION_LINES(_options) _options(SHPOOL_OPTION_LINE)

/*
 * Store the values of `count` pairs in the structure `to`.  `where` begins the detail.
 * SHPOOL_ERR_SPEC: a key or a value that is not possible, the detail names those that are.
 */
shpool_status shpool_options_set(const shpool_option rows[], void *to, const char *where,
                                 const shpool_spec_pair *pairs, uint32_t count);

/*
 * Store the value of one key in `to`, which is in use by now.  SHPOOL_ERR_NOT_FOUND, without a
 * detail: it has no such key, or the key is fixed.
 */
shpool_status shpool_option_change(const shpool_option rows[], void *to, const char *where,
                                   const char *key, const char *value);

/* The position of a value in words that are divided by |; -1: it is none of them. */
int shpool_option_word(const char *words, const char *value);

/* Adds `a, b or c`. */
void shpool_option_add_words(shpool_text *text, const char *words);

#pragma GCC visibility pop

#endif /* SHPOOL_OPTIONS_H */
