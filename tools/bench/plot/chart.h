/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: what their files share. */
#ifndef SHPOOL_BENCH_CHART_H
#define SHPOOL_BENCH_CHART_H

#include <stdio.h>

#include "tools/bench/list.h"
#include "tools/bench/record.h"

#define PLOT_PANEL_WIDTH  400 /* pixels; two are as wide as a page shows them */
#define PLOT_PANEL_HEIGHT 310
#define PLOT_HEAD         40  /* the chart's title */
#define PLOT_LINE_HEIGHT  16  /* of caption and legend */
#define PLOT_LETTER_WIDTH 6.7 /* roughly */
#define PLOT_LEGEND_WIDTH 190
#define PLOT_VALUES       BENCH_LIST /* of a swept dimension */
#define PLOT_SERIES       (3 * BENCH_LIST)
#define PLOT_MOST_PANELS  1000u /* gnuplot takes a millisecond and more for each */

/** Parameters that can be swept. */
typedef struct plot_dimension {
    uint32_t (*of)(const bench_row *row);
    const char *label;
    const char *unit;
    int         is_bytes;
} plot_dimension;

enum { PLOT_MEDIAN = 3, PLOT_DIMENSIONS = 4 };
extern const plot_dimension plot_dimensions[PLOT_DIMENSIONS];

/** Figures that can be drawn; a name of NULL ends the table. */
typedef struct plot_figure {
    const char *name;
    size_t      offset; /* in bench_row, a double; negative: none */
    const char *label;
    const char *small;  /* of a thousandth; NULL: is not used */
} plot_figure;

extern const plot_figure plot_figures[];

/** How a series looks in every panel, and an allocator in every chart. */
typedef struct plot_look {
    int colour; /* 0xRRGGBB */
    int dash;   /* gnuplot's types; 1: a solid line */
    int point;  /* 0: none */
} plot_look;

/** Where a row is drawn. */
typedef struct plot_cell {
    const bench_row *row;
    size_t   series;                       /* PLOT_SERIES: not drawn, there are too many */
    uint32_t x;                            /* 0 with bars */
    uint32_t other[PLOT_DIMENSIONS];       /* values that distinguish panels; 0 for that of x */
} plot_cell;

/** Cells of a chart, by series and x; the row and the workload that the results have first. */
typedef struct plot_panel {
    const bench_row *row;
    const bench_row *workload;
    size_t begin;
    size_t end;
} plot_panel;

/** A chart is laid out before a line of it is written. */
typedef struct plot_chart {
    const bench_results *results;
    FILE  *to;
    const plot_figure *figure;             /* of all panels but those of ramp */
    size_t series;                         /* allocators, and bindings if there are several */
    const bench_row *first[PLOT_SERIES];   /* a row of each */
    plot_look look[PLOT_SERIES];           /* of each */
    int    show_bindings;
    size_t panels;
    plot_panel *panel;
    plot_cell  *cell;                      /* of each row; those of a panel side by side */
    size_t columns;
    int    x;                              /* in plot_dimensions[]; -1: bars */
    size_t value_count[PLOT_DIMENSIONS];
    uint32_t value[PLOT_DIMENSIONS][PLOT_VALUES];
    int    width;                          /* pixels */
    int    height;
    int    foot;                           /* legend and caption */
} plot_chart;

/** layout.c: lays out a chart of the results; panel and cell have room for each of them. */
void plot_lay_out(plot_chart *c);
size_t plot_legend_columns(const plot_chart *c);

/** look.c: the looks of the series. */
void plot_choose_looks(plot_chart *c);

/** end_label.c: heights that names at the ends of lines want, in pixels from below, are parted so
 *  that none covers another, and none is far from its line; those that have no room become -1. */
#define PLOT_END_LABELS 16u /* with more of them there is no room in any panel */
void plot_part_labels(double *height, size_t count, double gap, double most);

/** script.c: writes the script for gnuplot.  -1: no memory, or too many panels; stderr says so.
 *  @param [in] name    its ending is that of the chart's format
 *  @param [in] output  what gnuplot writes; NULL: its standard output */
int plot_script(const bench_results *results, size_t figure, const char *name, const char *output,
                FILE *to);

#endif /* SHPOOL_BENCH_CHART_H */
