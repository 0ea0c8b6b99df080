/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the tools' messages go. */
#include "config.h"

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
