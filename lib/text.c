/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for details: appending with a bound, and the nearest of some names. */
#include "internal.h"

#include "escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Only this many characters of longer words are compared: enough to distinguish names, and it
 * bounds the rows. */
#define COMPARED 64u

shpool_text shpool_text_make(char *buffer, size_t bytes)
{
    buffer[0] = '\0';
    return (shpool_text){ .start = buffer, .bytes = bytes, .used = 0 };
}

void shpool_text_add(shpool_text *text, const char *format, ...)
{
    size_t left = text->bytes - text->used;
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(text->start + text->used, left, format, args);
    va_end(args);
    if (count > 0) {
        text->used += ((size_t)count < left) ? (size_t)count : left - 1;
    }
}

void shpool_text_escape(char *text, size_t room)
{
    char shown[SHPOOL_SHOWN_BYTES];

    for (char *at = text; *at != '\0';) {
        const char *rest = at;
        const size_t left = strlen(at);
        const size_t bytes = shpool_show(&rest, at + left, shown);
        const size_t taken = (size_t)(rest - at);

        if ((bytes != taken) && (*at != '\n') && (*at != '\t')) {
            const size_t used = (size_t)(at - text) + bytes;

            if (used >= room) {
                *at = '\0';
                return;
            }
            memmove(at + bytes, rest,
                    (left - taken < room - used) ? left - taken + 1 : room - used);
            text[room - 1] = '\0';
            memcpy(at, shown, bytes);
            at += bytes;
        } else {
            at += taken;
        }
    }
}

void shpool_text_add_names(shpool_text *text, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        shpool_text_add(text, "%s%s", (i > 0) ? ", " : "", names[i]);
    }
}

static unsigned smaller(unsigned a, unsigned b)
{
    return (a < b) ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that make one word the other (the
 * optimal string alignment distance).  row[i % 3] compares the first i characters of `a`. */
static unsigned edit_distance(const char *a, const char *b)
{
    size_t a_count = strnlen(a, COMPARED);
    size_t b_count = strnlen(b, COMPARED);
    unsigned row[3][COMPARED + 1];

    for (size_t j = 0; j <= b_count; j++) {
        row[0][j] = (unsigned)j;
    }

    for (size_t i = 1; i <= a_count; i++) {
        const unsigned *above = row[(i - 1) % 3];
        const unsigned *swapped = row[(i + 1) % 3]; /* two rows up */
        unsigned *now = row[i % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_count; j++) {
            now[j] = smaller(above[j - 1] + (a[i - 1] != b[j - 1]),
                             smaller(above[j], now[j - 1]) + 1);
            if ((i > 1) && (j > 1) && (a[i - 1] == b[j - 2]) && (a[i - 2] == b[j - 1])) {
                now[j] = smaller(now[j], swapped[j - 2] + 1);
            }
        }
    }

    return row[a_count % 3][b_count];
}

static const char *nearest(const char *word, const char *const names[], size_t count,
                           unsigned *distance_p)
{
    const char *best = NULL;

    *distance_p = ~0u;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = edit_distance(word, names[i]);

        if (distance < *distance_p) {
            *distance_p = distance;
            best = names[i];
        }
    }
    return best;
}

const char *shpool_nearest(const char *word, const char *const names[], size_t count)
{
    unsigned distance;

    return nearest(word, names, count, &distance);
}

const char *shpool_guess(const char *word, const char *const names[], size_t count)
{
    unsigned distance;
    const char *best = nearest(word, names, count, &distance);

    /* a third of the letters wrong is still a slip; more is another word */
    return ((best != NULL) && (distance * 3 <= strlen(best))) ? best : NULL;
}

void shpool_text_add_guess(shpool_text *text, const char *word, const char *const names[],
                           size_t count)
{
    const char *best = shpool_guess(word, names, count);

    if (best != NULL) {
        shpool_text_add(text, " (did you mean \"%s\"?)", best);
    }
}
