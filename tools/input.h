/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that the tools read. */
#ifndef SHPOOL_TOOLS_INPUT_H
#define SHPOOL_TOOLS_INPUT_H

#include <stdio.h>
#include <sys/types.h>

/**
 * Open a file.  A FIFO without a writer is an error: waiting could take forever.  Pipes
 * (/dev/stdin, <(command) of a shell) work.
 * @param [out] bytes_p  of a regular file, else -1; may be NULL
 * @param [out] why_p    of a failure, in words
 * @return to be closed by fclose(); NULL: why_p
 */
FILE *tool_input_open(const char *path, off_t *bytes_p, const char **why_p);

#endif /* SHPOOL_TOOLS_INPUT_H */
