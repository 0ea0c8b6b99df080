/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: programs in Python, which the tool holds. */
#ifndef SHPOOL_BENCH_PYTHON_H
#define SHPOOL_BENCH_PYTHON_H

#include <stdio.h>

/** The texts of draw.py and results.py; the build makes programs.c of them. */
extern const char bench_draw_program[];
extern const char bench_results_program[];

#define BENCH_NO_MATPLOTLIB 3 /* exit status of draw.py */

/** A temporary file for the input of a program; NULL: stderr says why there is none.
 *  what: the subject of the message. */
FILE *bench_python_input(const char *what);

/**
 * Run a program, by the first Python that has what it needs: that of PATH, or that of the system's
 * packages.
 * @param [in] words  its arguments; NULL ends them
 * @param [in] input  its file 3, from the start; NULL: none
 * @param [in] to     gets what it prints; ferror() shows a failure
 * @return its exit status, 128 and the signal that ended it, or one of bench_is_no_python()
 */
int bench_python(const char *program, const char *const words[], FILE *input, FILE *to);

/** Whether a status of bench_python() says that there is no Python. */
int bench_is_no_python(int status);

#endif /* SHPOOL_BENCH_PYTHON_H */
