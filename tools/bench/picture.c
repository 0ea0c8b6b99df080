/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: pictures.  Python draws them, by the program draw.py, which the tool holds. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/message.h"
#include "tools/output.h"
#include "picture.h"
#include "python.h"

/* The ending of a picture's name, or NULL. */
static const char *ending_of(const char *path)
{
    static const char *const endings[] = {"svg", "png", "pdf"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; (dot != NULL) && (i < SHPOOL_ARRAY_COUNT(endings)); i++) {
        if (strcmp(dot + 1, endings[i]) == 0) {
            return endings[i];
        }
    }
    return NULL;
}

/* Run draw.py.  0, or -1: stderr says why not. */
static int run_program(const char *path, const char *kind, const char *figure, FILE *data,
                       FILE *to)
{
    const char *const words[] = {kind, ending_of(path), figure, NULL};
    int status = bench_python(bench_draw_program, words, data, to);

    if ((status == 0) && (data != NULL) && !ferror(to) && (ftell(to) == 0)) {
        status = 126; /* nothing was drawn */
    }
    if (bench_is_no_python(status) || (status == BENCH_NO_MATPLOTLIB)) {
        tool_say("shpool-bench: %s: pictures are drawn by Python with matplotlib, and there is no "
                 "%s; install the package python3-matplotlib (Debian), or run: python3 -m pip "
                 "install matplotlib\n", path,
                 (status == BENCH_NO_MATPLOTLIB) ? "matplotlib" : "python3 on PATH");
    } else if (status != 0) {
        tool_say("shpool-bench: %s: Python did not draw it (exit status %d)\n", path, status);
    }
    return (status == 0) ? 0 : -1;
}

static int cannot_write(const char *path)
{
    tool_say("shpool-bench: %s: %s\n", path, tool_output_error(errno));
    return -1;
}

int bench_picture_name(const char *path)
{
    tool_output out;

    if (ending_of(path) == NULL) {
        tool_say("shpool-bench: %s: a name that ends in .svg, .png or .pdf is needed\n", path);
        return -1;
    }
    if (tool_output_begin(&out, path) != 0) {
        return cannot_write(path);
    }
    return tool_output_end(&out, 0);
}

int bench_picture_check(const char *path)
{
    FILE *nowhere = fopen("/dev/null", "we");
    int   failed  = (nowhere == NULL) ? cannot_write(path) : bench_picture_name(path);

    if (!failed) {
        failed = run_program(path, "check", NULL, NULL, nowhere);
    }
    if (nowhere != NULL) {
        (void)fclose(nowhere);
    }
    return failed;
}

int bench_picture_draw(FILE *data, const char *kind, const char *figure, const char *path)
{
    tool_output out;
    int         failed;

    if ((tool_flush(data) != 0) || (tool_output_begin(&out, path) != 0)) {
        failed = cannot_write(path);
    } else {
        failed = run_program(path, kind, figure, data, out.to);
        if (tool_output_end(&out, !failed) != 0) {
            failed = cannot_write(path);
        }
    }
    (void)fclose(data);
    return failed ? -1 : 0;
}
