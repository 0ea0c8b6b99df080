/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar of specs, for block and device allocators alike:
 *
 *   spec  = layer *( "|" layer )            the last layer is the base
 *   layer = name [ ":" pair *( "," pair ) ]
 *   pair  = name "=" value
 *   name  = [a-z][a-z0-9_]*                 under SHPOOL_NAME_BYTES
 *         | [A-Z][A-Z0-9_]*                 of a layer only: an alias, see alias.c
 *   value = graphic ASCII but : | , =       under SHPOOL_SPEC_VALUE_BYTES
 *
 * No blanks, nothing empty.  The text is copied into the result and cut there at the separators.
 */
#include "internal.h"

#include <string.h>

typedef struct parser {
    const char *origin;
    const char *source; /* as given, for details */
    shpool_spec *spec;
    char *at;
} parser;

/* <ctype.h> depends on the locale of the process. */
static int is_letter(char c, int capital)
{
    return capital ? (c >= 'A') && (c <= 'Z') : (c >= 'a') && (c <= 'z');
}

/* Characters of the name, or of the alias in capitals, that begins there; 0: none does. */
static size_t name_length(const char *at, int capital)
{
    size_t count = 0;

    while (is_letter(at[count], capital) || ((count > 0) && ((at[count] == '_') ||
           ((at[count] >= '0') && (at[count] <= '9'))))) {
        count++;
    }
    return count;
}

static int is_value_part(char c)
{
    return (c > ' ') && (c <= '~') && (c != ':') && (c != '|') && (c != ',') && (c != '=');
}

int shpool_name_is_valid(const char *name)
{
    const size_t count = name_length(name, 0);

    return (count > 0) && (name[count] == '\0') && (count < SHPOOL_NAME_BYTES);
}

/* The detail shows the character at the column, even if it is not printable. */
static shpool_status fail(const parser *p, const char *at, const char *expected)
{
    unsigned column = (unsigned)(at - p->spec->text) + 1;
    unsigned char found = (unsigned char)*at;

    if (found == '\0') {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": it ends at column %u, but %s is needed "
                            "there",
                            p->origin, p->source, column, expected);
    }
    if ((found < ' ') || (found > '~')) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": byte 0x%02x at column %u, but %s is "
                            "needed there",
                            p->origin, p->source, found, column, expected);
    }
    return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": '%c' at column %u, but %s is needed there",
                        p->origin, p->source, found, column, expected);
}

/* End the word before the separator and step over it; the end of the text stays where it is. */
static char take_separator(parser *p)
{
    char separator = *p->at;

    if (separator != '\0') {
        *p->at++ = '\0';
    }
    return separator;
}

static shpool_status parse_name(parser *p, int alias, const char *what, const char **name_p)
{
    const int capital = alias && is_letter(*p->at, 1);
    const size_t count = name_length(p->at, capital);

    if ((count == 0) || (capital && is_letter(p->at[count], 0))) { /* "Bitmap" */
        return fail(p, p->at, what);
    }
    if (count >= SHPOOL_NAME_BYTES) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": the name at column %d has %zu characters, "
                            "names have at most %u", p->origin, p->source,
                            (int)(p->at - p->spec->text) + 1, count, SHPOOL_NAME_BYTES - 1);
    }
    *name_p = p->at;
    p->at += count;
    return SHPOOL_OK;
}

static shpool_status parse_value(parser *p, const char **value_p)
{
    char *start = p->at;

    while (is_value_part(*p->at)) {
        p->at++;
    }
    if (p->at == start) {
        return fail(p, start, "a value");
    }
    if (p->at - start >= (ptrdiff_t)SHPOOL_SPEC_VALUE_BYTES) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": the value at column %d has %d characters, "
                            "values have at most %u", p->origin, p->source,
                            (int)(start - p->spec->text) + 1, (int)(p->at - start),
                            SHPOOL_SPEC_VALUE_BYTES - 1);
    }
    if ((*p->at != ',') && (*p->at != '|') && (*p->at != '\0')) {
        return fail(p, p->at, "',', '|' or the end");
    }
    *value_p = start;
    return SHPOOL_OK;
}

static shpool_status parse_pair(parser *p, shpool_spec_layer *layer)
{
    shpool_spec_pair *pair = &layer->pair[layer->pairs];
    shpool_status status;

    if (layer->pairs == SHPOOL_SPEC_PAIRS) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": \"%s\" has more than %u keys", p->origin,
                            p->source, layer->name, SHPOOL_SPEC_PAIRS);
    }

    status = parse_name(p, 0, "a key ([a-z][a-z0-9_]*)", &pair->key);
    if (status != SHPOOL_OK) {
        return status;
    }
    if (*p->at != '=') {
        return fail(p, p->at, "'=' and a value");
    }
    take_separator(p);

    for (uint32_t i = 0; i < layer->pairs; i++) {
        if (strcmp(layer->pair[i].key, pair->key) == 0) {
            return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": \"%s\" has the key %s twice, give it "
                                "once", p->origin, p->source, layer->name, pair->key);
        }
    }
    layer->pairs++;
    return parse_value(p, &pair->value);
}

/* One layer and the separator after it, which is '|' or '\0'. */
static shpool_status parse_layer(parser *p, char *separator_p)
{
    shpool_spec_layer *layer = &p->spec->layer[p->spec->layers];
    shpool_status status;

    if (p->spec->layers == SHPOOL_SPEC_LAYERS) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": more than %u layers", p->origin, p->source,
                            SHPOOL_SPEC_LAYERS);
    }
    p->spec->layers++;

    status = parse_name(p, 1, "a name ([a-z][a-z0-9_]*)", &layer->name);
    if (status != SHPOOL_OK) {
        return status;
    }
    if ((*p->at != ':') && (*p->at != '|') && (*p->at != '\0')) {
        return fail(p, p->at, "':', '|' or the end");
    }

    *separator_p = take_separator(p);
    while ((*separator_p == ':') || (*separator_p == ',')) {
        status = parse_pair(p, layer);
        if (status != SHPOOL_OK) {
            return status;
        }
        *separator_p = take_separator(p);
    }
    return SHPOOL_OK;
}

shpool_status shpool_spec_parse(const char *origin, const char *text, shpool_spec *spec_p)
{
    parser p = { .origin = origin, .source = text, .spec = spec_p, .at = spec_p->text };
    shpool_status status;
    char separator = '\0';
    size_t count;

    memset(spec_p, 0, sizeof(*spec_p));
    count = strnlen(text, SHPOOL_SPEC_BYTES);
    if (count == SHPOOL_SPEC_BYTES) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%.40s...\" is too long, specs have at most %u "
                            "characters", origin, text, SHPOOL_SPEC_BYTES - 1);
    }

    memcpy(spec_p->text, text, count);
    do {
        status = parse_layer(&p, &separator);
    } while ((status == SHPOOL_OK) && (separator == '|'));

    if (status != SHPOOL_OK) {
        memset(spec_p, 0, sizeof(*spec_p));
    }
    return status;
}

int shpool_spec_number(const char *text, int suffix, uint64_t *value_p)
{
    uint64_t value = 0;
    unsigned shift = 0;
    const char *at = text;

    *value_p = 0;
    while ((*at >= '0') && (*at <= '9')) {
        unsigned digit = (unsigned)(*at++ - '0');

        if (value > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        value = value * 10 + digit;
    }
    if (at == text) {
        return 0;
    }

    if (suffix && (*at != '\0')) {
        shift = ((*at == 'K') || (*at == 'k')) ? 10 : ((*at == 'M') || (*at == 'm')) ? 20
                : ((*at == 'G') || (*at == 'g')) ? 30 : 0;
        at += (shift != 0);
    }
    if ((*at != '\0') || (value > (UINT64_MAX >> shift))) {
        return 0;
    }
    *value_p = value << shift;
    return 1;
}
