/* SPDX-License-Identifier: BSD-3-Clause */
/* Control sequences for a terminal are shown as \x1b; printable text stays. */
#include "escape.h"

#include <stdint.h>
#include <string.h>

/* Characters that are not printed but obeyed, by first and last. */
static const struct { uint32_t first; uint32_t last; } obeyed[] = {
    { 0, 0x1f },          /* control characters, e.g. ESC */
    { 0x7f, 0x9f },       /* more of them, e.g. CSI */
    { 0x61c, 0x61c },     /* direction */
    { 0x200e, 0x200f },   { 0x2028, 0x202e }, { 0x2066, 0x2069 }, /* and ends of lines */
    { 0xe0000, 0xe007f }, /* tags */
};

static int is_obeyed(uint32_t code)
{
    for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
        if ((code >= obeyed[i].first) && (code <= obeyed[i].last)) {
            return 1;
        }
    }
    return 0;
}

/* Bytes of the character at `at`, and its code; 0: it is not UTF-8. */
static size_t character_bytes(const unsigned char *at, size_t left, uint32_t *code_p)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 }; /* by length */
    const size_t bytes = (at[0] < 0x80) ? 1 : (at[0] < 0xc0) ? 0 : (at[0] < 0xe0) ? 2
                         : (at[0] < 0xf0) ? 3 : (at[0] < 0xf8) ? 4 : 0;
    uint32_t     code;

    *code_p = at[0];
    if ((bytes <= 1) || (bytes > left)) {
        return (bytes == 1) ? 1 : 0;
    }
    code = at[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = (code << 6) | (at[i] & 0x3fu);
    }
    *code_p = code;
    return ((code < least[bytes]) || (code > 0x10ffff) || ((code >= 0xd800) && (code < 0xe000)))
               ? 0 : bytes;
}

int shpool_is_utf8(const char *text)
{
    size_t   left  = strlen(text);
    size_t   bytes = 1;
    uint32_t code;

    while ((left > 0) && (bytes > 0)) {
        bytes = character_bytes((const unsigned char *)text, left, &code);
        text += bytes;
        left -= bytes;
    }
    return left == 0;
}

size_t shpool_show(const char **at_p, const char *end, char shown[SHPOOL_SHOWN_BYTES])
{
    const unsigned char *at    = (const unsigned char *)*at_p;
    uint32_t             code;
    size_t               bytes = character_bytes(at, (size_t)(end - *at_p), &code);

    if ((bytes == 0) || is_obeyed(code)) {
        *at_p += 1;
        (void)snprintf(shown, SHPOOL_SHOWN_BYTES, "\\x%02x", at[0]);
        return 4;
    }
    memcpy(shown, at, bytes);
    shown[bytes] = '\0';
    *at_p += bytes;
    return bytes;
}

void shpool_put(const char *text, FILE *out)
{
    const char *end = text + strlen(text);
    char        shown[SHPOOL_SHOWN_BYTES];

    while (text < end) {
        (void)shpool_show(&text, end, shown);
        (void)fputs(shown, out);
    }
}

void shpool_escape(char *to, size_t room, const char *from, size_t bytes)
{
    const char *end  = from + bytes;
    size_t      used = 0;

    while (from < end) {
        char         shown[SHPOOL_SHOWN_BYTES];
        const size_t length = shpool_show(&from, end, shown);

        if (used + length >= room) {
            break;
        }
        memcpy(to + used, shown, length);
        used += length;
    }
    to[used] = '\0';
}
