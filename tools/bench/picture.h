/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: pictures, which draw.py draws. */
#ifndef SHPOOL_BENCH_PICTURE_H
#define SHPOOL_BENCH_PICTURE_H

#include <stdio.h>

/** Whether the name is that of a picture, in a folder that can be written; -1: stderr says why
 *  not. */
int bench_picture_name(const char *path);

/** The same, and whether there is a Python that can draw. */
int bench_picture_check(const char *path);

/**
 * Draw to the file, whose name ends in the format.
 * @param [in] data    JSON, a bench_python_input(), which is closed
 * @param [in] kind    of draw.py: "results" or "map"
 * @param [in] figure  of results; NULL: none
 * @return 0, or -1 with a message on stderr
 */
int bench_picture_draw(FILE *data, const char *kind, const char *figure, const char *path);

#endif /* SHPOOL_BENCH_PICTURE_H */
