/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: their axes, lines and panels, and the size of each. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "chart.h"

static uint32_t threads_of(const bench_row *row)
{
    return row->threads;
}

static uint32_t bytes_of(const bench_row *row)
{
    return (row->payload_bytes != 0) ? row->payload_bytes : row->total_bytes;
}

static uint32_t threads_per_pool_of(const bench_row *row)
{
    return row->threads_per_pool;
}

static uint32_t median_of(const bench_row *row)
{
    return row->median_bytes;
}

const plot_dimension plot_dimensions[PLOT_DIMENSIONS] = {
    {threads_of, "threads of a block", "threads", 0},
    {bytes_of, "bytes of a block's pools", "bytes", 1},
    {threads_per_pool_of, "threads that share a pool (0: the allocator's choice)", "threads a pool",
     0},
    [PLOT_MEDIAN] = {median_of, "median bytes of an object", "bytes an object", 1},
};

const plot_figure plot_figures[] = {
    {"gops", offsetof(bench_row, gops), "mallocs and frees, Gop/s", "mallocs and frees, Mop/s"},
    {"cycles", offsetof(bench_row, cycles), "cycles an operation, one block alone", NULL},
    {"failed", offsetof(bench_row, failed), "percent of the operations refused", NULL},
    {NULL, 0, NULL, NULL}};

static int same_series(const bench_row *a, const bench_row *b)
{
    return (strcmp(a->spec, b->spec) == 0) && (strcmp(a->binding, b->binding) == 0);
}

/* Compare their panels; 0: they are in the same one. */
static int compare_panels(const plot_cell *a, const plot_cell *b)
{
    const uint32_t touched_a = a->row->touched;
    const uint32_t touched_b = b->row->touched;
    int            order     = strcmp(a->row->workload, b->row->workload);

    order = (order != 0) ? order : strcmp(a->row->scope, b->row->scope);
    order = (order != 0) ? order : (touched_a > touched_b) - (touched_a < touched_b);
    return (order != 0) ? order : memcmp(a->other, b->other, sizeof(a->other));
}

/* Cells of a panel side by side, in it by series and x, then as the results have them. */
static int by_place(const void *x, const void *y)
{
    const plot_cell *a     = x;
    const plot_cell *b     = y;
    int              order = compare_panels(a, b);

    order = (order != 0) ? order : (a->series > b->series) - (a->series < b->series);
    order = (order != 0) ? order : (a->x > b->x) - (a->x < b->x);
    return (order != 0) ? order : (a->row > b->row) - (a->row < b->row);
}

/* As the results have their workloads first, then the panels of one. */
static int by_row(const void *x, const void *y)
{
    const plot_panel *a = x;
    const plot_panel *b = y;

    return (a->workload != b->workload) ? ((a->workload > b->workload) ? 1 : -1)
                                        : (a->row > b->row) - (a->row < b->row);
}

/* Sorted, each once. */
static void add_value(uint32_t *values, size_t *count, uint32_t value)
{
    size_t i = *count;

    for (size_t k = 0; k < *count; k++) {
        if (values[k] == value) {
            return;
        }
    }
    if (*count == PLOT_VALUES) {
        return;
    }
    for (; (i > 0) && (values[i - 1] > value); i--) {
        values[i] = values[i - 1];
    }
    values[i] = value;
    (*count)++;
}

/* Rows of other workloads than objects have no median, and no place on such an axis. */
static int can_be_x(const plot_chart *c, size_t dimension)
{
    size_t i;

    for (i = 0; (dimension == PLOT_MEDIAN) && (i < c->results->count); i++) {
        if (!bench_is_objects_row(&c->results->rows[i])) {
            return 0;
        }
    }
    return 1;
}

static void find_values(plot_chart *c)
{
    const bench_results *r = c->results;
    size_t most = 1;
    size_t i;
    size_t d;

    c->x = -1;
    for (d = 0; d < PLOT_DIMENSIONS; d++) {
        for (i = 0; i < r->count; i++) {
            if ((d != PLOT_MEDIAN) || bench_is_objects_row(&r->rows[i])) {
                add_value(c->value[d], &c->value_count[d], plot_dimensions[d].of(&r->rows[i]));
            }
        }
        if ((c->value_count[d] > most) && can_be_x(c, d)) {
            most = c->value_count[d];
            c->x = (int)d;
        }
    }
}

/* The index in first[], or PLOT_SERIES: there are too many. */
static size_t add_series(plot_chart *c, const bench_row *row)
{
    size_t k;

    for (k = 0; (k < c->series) && !same_series(c->first[k], row); k++) {
    }
    if ((k == c->series) && (k < PLOT_SERIES)) {
        c->first[c->series++] = row;
    }
    c->show_bindings |= strcmp(row->binding, c->first[0]->binding) != 0;
    return k;
}

static void add_cell(plot_chart *c, const bench_row *row, plot_cell *cell)
{
    *cell = (plot_cell){.row = row, .series = add_series(c, row)};
    for (int d = 0; d < PLOT_DIMENSIONS; d++) {
        *((d == c->x) ? &cell->x : &cell->other[d]) = plot_dimensions[d].of(row);
    }
}

/* The panels of sorted cells; those of a workload are still side by side. */
static void find_panels(plot_chart *c)
{
    const size_t count = c->results->count;
    size_t       first = 0; /* panel of this workload */

    for (size_t i = 0; i < count; i++) {
        const bench_row *row = c->cell[i].row;
        plot_panel      *p;

        if ((i == 0) || (compare_panels(&c->cell[i - 1], &c->cell[i]) != 0)) {
            first = ((i == 0) || (strcmp(c->cell[i - 1].row->workload, row->workload) != 0))
                        ? c->panels : first;
            c->panel[c->panels++] = (plot_panel){.row = row, .workload = row, .begin = i};
        }
        p      = &c->panel[c->panels - 1];
        p->end = i + 1;
        p->row = (row < p->row) ? row : p->row;
        if (row < c->panel[first].workload) {
            c->panel[first].workload = row;
        }
    }
    for (size_t i = 1; i < c->panels; i++) {
        if (strcmp(c->panel[i - 1].row->workload, c->panel[i].row->workload) == 0) {
            c->panel[i].workload = c->panel[i - 1].workload;
        }
    }
    qsort(c->panel, c->panels, sizeof(c->panel[0]), by_row);
}

size_t plot_legend_columns(const plot_chart *c)
{
    const size_t n = (size_t)(c->width - 40) / PLOT_LEGEND_WIDTH;

    return (n == 0) ? 1 : n;
}

void plot_lay_out(plot_chart *c)
{
    /* the command line, and what else is in the caption */
    const double letters = (double)strlen(c->results->facts.origin.command) + 500.0;
    size_t       legend;
    size_t       rows;
    size_t       i;

    find_values(c);
    for (i = 0; i < c->results->count; i++) {
        add_cell(c, &c->results->rows[i], &c->cell[i]);
    }
    qsort(c->cell, c->results->count, sizeof(c->cell[0]), by_place);
    find_panels(c);
    plot_choose_looks(c);
    c->columns = (c->panels == 1) ? 1 : 2; /* more cannot be read on a page */
    rows       = (c->panels + c->columns - 1) / c->columns;
    c->width   = 2 * PLOT_PANEL_WIDTH;
    legend     = c->series / plot_legend_columns(c) + 1;
    c->foot    = (int)((double)legend + 4.0 + letters * PLOT_LETTER_WIDTH / (c->width - 40)) *
                PLOT_LINE_HEIGHT;
    c->height  = PLOT_HEAD + (int)rows * PLOT_PANEL_HEIGHT + c->foot;
}
