/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays as rows of text.  A format is parsed and rebuilt for the widest type, so that no unchecked
 * text of the caller reaches printf. */
#include "elements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FORMAT_BYTES 256u
#define WIDTH_DIGITS 4u /* of width and of precision: keeps rows readable */

#define INTEGER_CONVERSIONS "diuoxXc"
#define FLOAT_CONVERSIONS   "fFeEgGaA"

/* A format that was found good: for an intmax_t, an uintmax_t, an int (%c) or a double. */
typedef struct checked_format {
    char text[FORMAT_BYTES];
    size_t at; /* where the conversion's letter is */
} checked_format;

static shpool_status bad_format(const char *format, shpool_type type, const char *what)
{
    return shpool_error(SHPOOL_ERR_INVALID, "format \"%s\" for %s: %s; give one conversion of %s; "
                        "flags, width and precision are optional", format,
                        shpool_type_name(type), what,
                        shpool_type_is_float(type) ? FLOAT_CONVERSIONS : INTEGER_CONVERSIONS);
}

/* Characters up to the next conversion, or the end; "%%" is text. */
static size_t text_length(const char *text)
{
    size_t n = 0;

    while ((text[n] != '\0') && ((text[n] != '%') || (text[n + 1] == '%'))) {
        n += (text[n] == '%') ? 2 : 1;
    }
    return n;
}

/* Length of flags, width and precision after the '%'; 0 in *good_p: a number is too long. */
static size_t modifier_length(const char *text, int *good_p)
{
    size_t flags = strspn(text, "-+ #0'");
    size_t width = strspn(text + flags, "0123456789");
    size_t n = flags + width;

    *good_p = (flags <= 6) && (width <= WIDTH_DIGITS);
    if (text[n] == '.') {
        size_t precision = strspn(text + n + 1, "0123456789");

        *good_p = *good_p && (precision <= WIDTH_DIGITS);
        n += 1 + precision;
    }
    return n;
}

static shpool_status check_format(const char *format, shpool_type type, checked_format *checked)
{
    const int is_float = shpool_type_is_float(type);
    shpool_text text = shpool_text_make(checked->text, sizeof(checked->text));
    size_t before = text_length(format);
    const char *at = format + before;
    size_t modifiers;
    int good;

    if (strlen(format) + sizeof("j") >= FORMAT_BYTES) {
        return bad_format("...", type, "it is too long");
    }
    if (*at == '\0') {
        return bad_format(format, type, "it has no conversion");
    }
    modifiers = modifier_length(at + 1, &good);
    shpool_text_add(&text, "%.*s%%%.*s", (int)before, format, (int)modifiers, at + 1);
    at += 1 + modifiers;
    at += strspn(at, "hlLqjzt");
    if (!good) {
        return bad_format(format, type, "too wide");
    }
    if ((*at == '\0') ||
        (strchr(is_float ? FLOAT_CONVERSIONS : INTEGER_CONVERSIONS, *at) == NULL)) {
        return bad_format(format, type, "its conversion is another one");
    }
    if (at[1 + text_length(at + 1)] != '\0') {
        return bad_format(format, type, "it has several conversions");
    }
    shpool_text_add(&text, "%s", (is_float || (*at == 'c')) ? "" : "j");
    checked->at = text.used;
    shpool_text_add(&text, "%s", at);
    return SHPOOL_OK;
}

static int write_integer(char *text, size_t bytes, const checked_format *format, shpool_type type,
                         const void *element)
{
    const char conversion = format->text[format->at];
    uint64_t value = shpool_type_load(type, element);

    if (conversion == 'c') {
        return snprintf(text, bytes, format->text, (int)(unsigned char)value);
    }
    if ((conversion != 'd') && (conversion != 'i')) {
        value = shpool_get_bits(element, SHPOOL_TYPE_BYTES(type), 0); /* without a sign */
    } else if (!shpool_type_is_signed(type) && (value > INT64_MAX)) {
        checked_format as_unsigned = *format;

        /* only here the bits would be taken for a negative number */
        as_unsigned.text[as_unsigned.at] = 'u';
        return snprintf(text, bytes, as_unsigned.text, (uintmax_t)value);
    }
    return snprintf(text, bytes, format->text, (uintmax_t)value);
}

static int write_element(char *text, size_t bytes, const checked_format *format, shpool_type type,
                         const void *element)
{
    if (shpool_type_is_float(type)) {
        return snprintf(text, bytes, format->text, shpool_type_load_float(type, element));
    }
    return write_integer(text, bytes, format, type, element);
}

shpool_status shpool_element_format(shpool_type type, const void *element, const char *format,
                                    char *text, size_t bytes, size_t *need_p)
{
    checked_format checked;
    shpool_status status = shpool_type_check(type);
    int length;

    if (need_p != NULL) {
        *need_p = 0;
    }
    if (bytes > 0) {
        text[0] = '\0';
    }
    if ((status == SHPOOL_OK) && ((element == NULL) || (format == NULL))) {
        status = shpool_error(SHPOOL_ERR_INVALID, "element or format is NULL");
    }
    if (status == SHPOOL_OK) {
        status = check_format(format, type, &checked);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    length = write_element(text, bytes, &checked, type, element);
    if ((length >= 0) && (need_p != NULL)) {
        *need_p = (size_t)length;
    }
    return SHPOOL_OK;
}

/* How elements become text: by a checked format, or by the caller's function. */
typedef struct printer {
    FILE *file;
    shpool_type type;
    checked_format format;
    shpool_format_fn function; /* NULL: the format */
    void *user;
} printer;

static int write_with(const printer *p, char *text, size_t bytes, size_t index,
                      const void *element)
{
    return (p->function != NULL) ? p->function(text, bytes, index, element, p->user)
                                 : write_element(text, bytes, &p->format, p->type, element);
}

/* An element's text that did not fit into the buffer on the stack. */
static shpool_status print_long(const printer *p, size_t index, const void *element, int length)
{
    char *text = malloc((size_t)length + 1);

    if (text == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "element %zu is %d characters long", index,
                            length);
    }
    (void)write_with(p, text, (size_t)length + 1, index, element);
    text[length] = '\0';
    fputs(text, p->file);
    free(text);
    return SHPOOL_OK;
}

static shpool_status print_element(const printer *p, size_t index, const void *element)
{
    char text[256];
    int length = write_with(p, text, sizeof(text), index, element);

    if (length < 0) {
        return shpool_error(SHPOOL_ERR_INVALID, "the formatter failed at element %zu", index);
    }
    if ((size_t)length >= sizeof(text)) {
        return print_long(p, index, element, length);
    }
    fputs(text, p->file);
    return SHPOOL_OK;
}

static shpool_status print_rows(const printer *p, const void *data, size_t count, size_t columns)
{
    const unsigned char *bytes = data;
    shpool_status status = SHPOOL_OK;

    for (size_t i = 0; (status == SHPOOL_OK) && (i < count); i++) {
        if (i % columns == 0) {
            fprintf(p->file, "%5zu:  ", i);
        }
        status = print_element(p, i, bytes + i * SHPOOL_TYPE_BYTES(p->type));
        fputs(((i + 1 == count) || ((i + 1) % columns == 0)) ? " \n" : " ", p->file);
    }
    if ((status == SHPOOL_OK) && ferror(p->file)) {
        status = shpool_error(SHPOOL_ERR_SYSTEM, "an array could not be written");
    }
    return status;
}

static shpool_status check_arguments(FILE *file, const void *data, size_t count, int has_format,
                                     size_t columns)
{
    if ((file == NULL) || ((data == NULL) && (count > 0)) || !has_format) {
        return shpool_error(SHPOOL_ERR_INVALID, "file, data or format is NULL");
    }
    if (columns == 0) {
        return shpool_error(SHPOOL_ERR_INVALID, "0 columns: a row needs at least one");
    }
    return SHPOOL_OK;
}

shpool_status shpool_array_print(FILE *file, shpool_type type, const void *data, size_t count,
                                 const char *format, size_t columns)
{
    printer p = { .file = file, .type = type };
    shpool_status status = check_arguments(file, data, count, format != NULL, columns);

    if (status == SHPOOL_OK) {
        status = shpool_type_check(type);
    }
    if (status == SHPOOL_OK) {
        status = check_format(format, type, &p.format);
    }
    return (status == SHPOOL_OK) ? print_rows(&p, data, count, columns) : status;
}

shpool_status shpool_array_print_with(FILE *file, shpool_type type, const void *data, size_t count,
                                      shpool_format_fn format, void *user, size_t columns)
{
    printer p = { .file = file, .type = type, .function = format, .user = user };
    shpool_status status = check_arguments(file, data, count, format != NULL, columns);

    if (status == SHPOOL_OK) {
        status = shpool_type_check_any(type);
    }
    return (status == SHPOOL_OK) ? print_rows(&p, data, count, columns) : status;
}
