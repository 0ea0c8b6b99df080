/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines, and the messages about them, of all tools. */
#ifndef SHPOOL_TOOLS_OPTIONS_H
#define SHPOOL_TOOLS_OPTIONS_H

#include <getopt.h>
#include <stddef.h>

#define TOOL_OPTION_BYTES 64 /* of an option's name as the user gave it, NUL included */

/**
 * getopt_long(), whose messages name the option, and the nearest one if it is unknown.
 * @param [in]  command  begins the messages: "shpool-bench replay"
 * @param [out] name     the option, for messages about its value: "--seed", or "-s" if that was
 *                       typed; "" if there are no more
 * @return as getopt_long(); '?': stderr says what is wrong
 */
int tool_option(const char *command, int argc, char **argv, const char *shorts,
                const struct option *longs, char name[TOOL_OPTION_BYTES]);

/**
 * Print to stderr that a word is not a known one, and which are: `COMMAND: "lst" is not WHAT (did
 * you mean "list"?); known: list, show`.
 * @param [in] what   "a command"; of an option's value "a value of --device"
 * @param [in] known  ends with NULL
 */
void tool_unknown(const char *command, const char *what, const char *word,
                  const char *const known[]);

/** 1: the file's name is empty, and stderr says so. */
int tool_no_name(const char *command, const char *option, const char *path);

#endif /* SHPOOL_TOOLS_OPTIONS_H */
