/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: pictures.  Python draws them, by the program draw.py, which the tool holds. */
#ifndef SHPOOL_BENCH_PICTURE_H
#define SHPOOL_BENCH_PICTURE_H

#include <stdio.h>

/** The text of draw.py; the build makes draw.c of it. */
extern const char bench_picture_program[];

typedef struct bench_picture {
    const char *kind;   /* of draw.py: "results" or "map" */
    const char *figure; /* of results; NULL: none */
    /** Write what is drawn as JSON; nonzero: there is no memory for it, and stderr says so. */
    int (*write)(const void *of, FILE *to);
    const void *of;
} bench_picture;

/** Whether the name is that of a picture, in a folder that can be written; -1: stderr says why
 *  not. */
int bench_picture_name(const char *path);

/** The same, and whether there is a Python that can draw. */
int bench_picture_check(const char *path);

/** Draw to the file, whose name ends in the format.  0, or -1 with a message on stderr. */
int bench_picture_draw(const bench_picture *picture, const char *path);

#endif /* SHPOOL_BENCH_PICTURE_H */
