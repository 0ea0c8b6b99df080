/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the tools' messages go. */
#ifndef SHPOOL_TOOLS_MESSAGE_H
#define SHPOOL_TOOLS_MESSAGE_H

#include <shpool/shpool.h>

/**
 * Print the library's messages to stderr with the tool's name in front: those up to
 * SHPOOL_LOG_LEVEL, and warnings (a misspelt variable, most of all) if that is not set.  Errors are
 * the tool's to print.
 * @param [in] tool  static storage
 */
void tool_messages(const char *tool);

/** Print to stderr.  Characters in names that a terminal would obey are shown as \x1b. */
void tool_say(const char *format, ...) SHPOOL_PRINTF(1, 2);

/** The same to stdout. */
void tool_print(const char *format, ...) SHPOOL_PRINTF(1, 2);

#endif /* SHPOOL_TOOLS_MESSAGE_H */
