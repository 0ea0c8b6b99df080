/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows. */
#include "ptx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has_room(ptx_out *out, size_t bytes)
{
    size_t capacity = (out->capacity == 0) ? 4096 : out->capacity;
    char  *grown;

    if (out->no_memory) {
        return 0;
    }
    while (capacity - out->bytes <= bytes) {
        capacity *= 2;
    }
    if (capacity == out->capacity) {
        return 1;
    }
    grown = realloc(out->text, capacity);
    if (grown == NULL) {
        out->no_memory = 1;
        return 0;
    }
    out->text     = grown;
    out->capacity = capacity;
    return 1;
}

void ptx_put_bytes(ptx_out *out, const char *text, size_t bytes)
{
    if (has_room(out, bytes)) {
        memcpy(out->text + out->bytes, text, bytes);
        out->bytes += bytes;
        out->text[out->bytes] = '\0';
    }
}

void ptx_put(ptx_out *out, const char *format, ...)
{
    char    line[512];
    va_list args;
    int     count;

    va_start(args, format);
    count = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (count < 0) {
        return;
    }
    for (const char *at = line; *at != '\0';) {
        const size_t plain = strcspn(at, "~");

        ptx_put_bytes(out, at, plain);
        at += plain;
        if (*at == '~') {
            ptx_put_bytes(out, PTX_OWN, strlen(PTX_OWN));
            at++;
        }
    }
}
