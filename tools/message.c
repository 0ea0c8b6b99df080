/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the tools' messages go. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/internal.h"
#include "message.h"

static void print_message(shpool_level level, const char *text, void *tool)
{
    if ((level != SHPOOL_LEVEL_ERROR) && (level <= shpool_config_log_level(SHPOOL_LEVEL_WARN))) {
        fprintf(stderr, "%s: %s: %s\n", (const char *)tool,
                (level == SHPOOL_LEVEL_WARN) ? "warning" : "info", text);
    }
}

void tool_messages(const char *tool)
{
    shpool_set_message_handler(print_message, (void *)(size_t)tool);
}

static void put(FILE *to, const char *format, va_list args)
{
    char text[2 * SHPOOL_PATH_BYTES];

    (void)vsnprintf(text, sizeof(text), format, args);
    shpool_text_escape(text, sizeof(text));
    (void)fputs(text, to);
}

void tool_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(stderr, format, args);
    va_end(args);
}

void tool_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(stdout, format, args);
    va_end(args);
}
