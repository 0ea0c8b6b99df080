/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that the tools write: whole, or as they were. */
#ifndef SHPOOL_TOOLS_OUTPUT_H
#define SHPOOL_TOOLS_OUTPUT_H

#include <signal.h>
#include <stdio.h>

/** An output under way. */
typedef struct tool_output {
    FILE *to;
    char *path; /* the file that is replaced in the end; NULL: `to` is a device or a pipe */
} tool_output;

/**
 * Let signals that end a program wait, while there is something that has to be removed.
 * @param [out] before  for tool_signals_restore(), after which those that came end the program
 */
void tool_signals_block(sigset_t *before);
void tool_signals_restore(const sigset_t *before);

/** The signals that wait: those whose default action ends a program, except for its own faults. */
void tool_signals_fill(sigset_t *signals);

/**
 * Begin a file.  Its text goes to a temporary file without a name, so that nothing is left of it
 * however the program ends; a device, a pipe or the standard output (/dev/stdout) is written as it
 * is.  A link at `path` is followed if it belongs to this user or root.  A file that is too large
 * is an error (EFBIG) of tool_output_end().
 * @return 0, or -1 with errno (ENXIO: a FIFO that no program reads; EACCES also: a link of another
 *         user) and nothing to end
 */
int tool_output_begin(tool_output *out, const char *path);

/**
 * End it.  Signals wait while the file is replaced.
 * @param [in] keep  nonzero: replace the file, if all was written; 0: leave it as it was
 * @return 0, or -1 with errno, and the file is as it was
 */
int tool_output_end(tool_output *out, int keep);

/** The text of such an errno. */
const char *tool_output_error(int error);

/** A template for mkstemps() or mkdtemp(), in $TMPDIR; 0 with errno: longer than `size` bytes. */
int tool_temporary(char *path, size_t size, const char *tool, const char *ending);

/** Flush a stream: 0, or -1 with errno if that or an earlier write failed. */
int tool_flush(FILE *to);

/**
 * Begin a program: the number of a standard stream that is closed is not given to the next file,
 * and a file that is too large does not end the program.
 */
void tool_prepare(void);

/**
 * End a program: flush stdout.
 * @return status; `failure` instead of 0 if the output was not written, and stderr says why
 */
int tool_leave(const char *tool, int status, int failure);

#endif /* SHPOOL_TOOLS_OUTPUT_H */
