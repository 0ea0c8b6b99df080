/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: a gnuplot script with the data inside.
 *
 * One panel for each workload, and for each value of what was swept beside the x axis.  The x axis
 * is what has most values of threads, pool bytes and threads_per_pool; if nothing was swept, bars
 * stand side by side.  A ring stands where requests were refused, the larger the more, and a cross
 * where a row failed or a payload was wrong; what cannot exist and what an interrupted run did not
 * come to is named above its panel. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "plot.h"

static const char *const colours[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b",
                                      "#17becf", "#e377c2", "#bcbd22", "#222222", "#1b9e77",
                                      "#a6761d", "#00429d", "#66a61e", "#7f7f7f"};
static const int points[] = {7, 5, 9, 11, 13}; /* gnuplot's filled ones */

void plot_put_string(FILE *to, const char *text, size_t bytes)
{
    size_t i;

    fputc('\'', to); /* between these nothing is special but themselves */
    for (i = 0; (i < bytes) && (text[i] != '\0'); i++) {
        fputc((text[i] == '\n') ? ' ' : text[i], to);
        if (text[i] == '\'') {
            fputc('\'', to);
        }
    }
    fputc('\'', to);
}

void plot_value_text(size_t dimension, uint32_t value, char *text, size_t bytes)
{
    const int kib = plot_dimensions[dimension].is_bytes && (value != 0) && (value % 1024 == 0);

    snprintf(text, bytes, "%u%s", (unsigned)(kib ? value / 1024 : value), kib ? "K" : "");
}

void plot_series_name(const plot_chart *c, size_t series, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s%s%s", c->first[series]->spec, c->show_bindings ? ", " : "",
             c->show_bindings ? c->first[series]->binding : "");
}

const char *plot_colour(size_t series)
{
    return colours[series % SHPOOL_ARRAY_COUNT(colours)];
}

int plot_point(size_t series)
{
    return points[series % SHPOOL_ARRAY_COUNT(points)];
}

/* ---- what stands around the panels ---- */

/* A label in pixels from the upper left corner. */
static void put_label(const plot_chart *c, double x, double y, const char *text, size_t bytes,
                      const char *more)
{
    fputs("set label ", c->to);
    plot_put_string(c->to, text, bytes);
    fprintf(c->to, " at screen %.5f,%.5f %s\n", x / c->width, 1.0 - y / c->height, more);
}

/* From pixel y on, as many lines as the text needs; where the next one is. */
static int put_wrapped(const plot_chart *c, const char *text, int y)
{
    const size_t most = (size_t)((c->width - 40) / PLOT_LETTER_WIDTH);
    size_t       left = strlen(text);

    while (left > 0) {
        size_t bytes = (left < most) ? left : most;

        while ((bytes < left) && (bytes > most / 2) && (text[bytes] != ' ')) {
            bytes--;
        }
        put_label(c, 20, y, text, bytes, "left font ',10' tc rgb '#444444'");
        text += bytes;
        left -= bytes;
        y += PLOT_LINE_HEIGHT;
    }
    return y;
}

/* From pixel y on; where the next line is. */
static int put_legend(const plot_chart *c, int y)
{
    const size_t columns = plot_legend_columns(c);
    char         text[640];
    char         more[96];
    size_t       s;

    for (s = 0; s < c->series; s++) {
        plot_series_name(c, s, text, sizeof(text));
        snprintf(more, sizeof(more), "left point pt %d ps 0.9 lc rgb '%s' offset 1,0",
                 plot_point(s), plot_colour(s));
        put_label(c, 30.0 + (double)(s % columns) * PLOT_LEGEND_WIDTH,
                  y + (double)(s / columns) * PLOT_LINE_HEIGHT, text, sizeof(text), more);
    }
    y += (int)((c->series + columns - 1) / columns) * PLOT_LINE_HEIGHT;
    put_label(c, 30, y, "requests were refused, the larger the more", 100,
              "left point pt 6 ps 1.4 lc rgb '" PLOT_BAD_COLOUR "' offset 1,0");
    put_label(c, 30 + 2 * PLOT_LEGEND_WIDTH, y, "failed", 100,
              "left point pt 2 ps 1.2 lw 2 lc rgb '" PLOT_BAD_COLOUR "' offset 1,0");
    return y + PLOT_LINE_HEIGHT + PLOT_LINE_HEIGHT / 2;
}

static void put_caption(const plot_chart *c, int y)
{
    const bench_facts  *f = &c->results->facts;
    const bench_origin *o = &f->origin;
    char                text[2048];

    snprintf(text, sizeof(text), "%s; driver %s; clocks: %s; shpool-bench %s, %s; median of %u, "
             "%u iterations, seed %u%s", o->device, o->driver, o->clocks, o->version, o->date,
             (unsigned)f->repeats, (unsigned)f->iterations, (unsigned)f->seed,
             (c->results->count < f->planned) ? "; INTERRUPTED" : "");
    (void)put_wrapped(c, o->command, put_wrapped(c, text, y));
}

static void put_terminal(const plot_chart *c, const char *output)
{
    const char *dot = strrchr(output, '.');

    if ((dot != NULL) && (strcmp(dot, ".png") == 0)) {
        fprintf(c->to, "set terminal pngcairo noenhanced size %d,%d font 'sans,11'\n", c->width,
                c->height);
    } else if ((dot != NULL) && (strcmp(dot, ".pdf") == 0)) {
        fprintf(c->to, "set terminal pdfcairo noenhanced size %.2f,%.2f font 'sans,8'\n",
                c->width / 100.0, c->height / 100.0); /* inches */
    } else {
        fprintf(c->to, "set terminal svg noenhanced size %d,%d font 'sans,11' background 'white'\n",
                c->width, c->height);
    }
    fputs("set output ", c->to);
    plot_put_string(c->to, output, strlen(output));
    fputc('\n', c->to);
}

int plot_script(const bench_results *results, size_t figure, const char *output, FILE *to)
{
    plot_chart c;
    size_t     p;

    memset(&c, 0, sizeof(c));
    c.results = results;
    c.to      = to;
    c.figure  = &plot_figures[figure];
    c.panel   = malloc((results->count + 1) * sizeof(c.panel[0]));
    if (c.panel == NULL) {
        fputs("shpool-bench: no memory for a chart\n", stderr);
        return -1;
    }
    plot_lay_out(&c);
    put_terminal(&c, output);
    fputs("set grid ytics lt 1 dt solid lw 0.7 lc rgb '#d8d8d8'\n"
          "set border 3\nset tics nomirror font ',10'\n"
          "set boxwidth 0.8\nset multiplot\n", to);
    put_label(&c, 20, PLOT_HEAD / 2, "shpool-bench: block allocators", 100, "left font ',14'");
    put_caption(&c, put_legend(&c, c.height - c.foot + PLOT_LINE_HEIGHT));
    for (p = 0; p < c.panels; p++) {
        plot_put_panel(&c, p);
        fputs("unset label\n", to); /* legend and caption are the first panel's, drawn once */
    }
    fputs("unset multiplot\nunset output\n", to);
    free(c.panel);
    return 0;
}
