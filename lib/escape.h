/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of others on its way to a terminal: names, paths and source lines may be any bytes. */
#ifndef SHPOOL_ESCAPE_H
#define SHPOOL_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

#define SHPOOL_SHOWN_BYTES 5u /* a character of UTF-8 or \x1b, and a NUL */

/*
 * Pass the character at *at_p, which is below `end`: shown[] is the character if it only prints,
 * else its first byte as \x1b.  Control characters, those that turn the direction of a line, and
 * bytes that are not UTF-8 do more than print.  The length of shown[].
 */
size_t shpool_show(const char **at_p, const char *end, char shown[SHPOOL_SHOWN_BYTES]);

/* Print a string so. */
void shpool_put(const char *text, FILE *out);

/* Copy the first `bytes` of `from`, escaped, truncated to the room in `to`, with a NUL. */
void shpool_escape(char *to, size_t room, const char *from, size_t bytes);

/* 1: the string is valid UTF-8. */
int shpool_is_utf8(const char *text);

#endif /* SHPOOL_ESCAPE_H */
