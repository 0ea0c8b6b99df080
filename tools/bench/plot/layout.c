/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: what is an axis, a line, a panel, and how large it all is. */
#include "config.h"

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
    {"gops", offsetof(bench_row, gops), "Gop/s", "Mop/s"},
    {"cycles", offsetof(bench_row, cycles), "cycles an operation, one block alone", NULL},
    {"failed", offsetof(bench_row, failed), "percent of the operations refused", NULL},
    {NULL, 0, NULL, NULL}};

int plot_same_series(const bench_row *a, const bench_row *b)
{
    return (strcmp(a->spec, b->spec) == 0) && (strcmp(a->binding, b->binding) == 0);
}

int plot_same_panel(const plot_chart *c, const bench_row *a, const bench_row *b)
{
    size_t d;

    for (d = 0; d < PLOT_DIMENSIONS; d++) {
        if (((int)d != c->x) && (plot_dimensions[d].of(a) != plot_dimensions[d].of(b))) {
            return 0;
        }
    }
    return (strcmp(a->workload, b->workload) == 0) && (strcmp(a->scope, b->scope) == 0) &&
           (a->touched == b->touched);
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

/* In the results' order. */
static size_t workload_rank(const bench_results *r, const bench_row *row)
{
    size_t i;

    for (i = 0; strcmp(r->rows[i].workload, row->workload) != 0; i++) {
    }
    return i;
}

/* By workload; those of one stay as they are. */
static void sort_panels(plot_chart *c)
{
    for (size_t i = 1; i < c->panels; i++) {
        const bench_row *moved = c->panel[i];
        size_t           k     = i;

        for (; (k > 0) && (workload_rank(c->results, c->panel[k - 1]) >
                           workload_rank(c->results, moved)); k--) {
            c->panel[k] = c->panel[k - 1];
        }
        c->panel[k] = moved;
    }
}

static void add_series(plot_chart *c, const bench_row *row)
{
    size_t k;

    for (k = 0; (k < c->series) && !plot_same_series(c->first[k], row); k++) {
    }
    if ((k == c->series) && (k < PLOT_SERIES)) {
        c->first[c->series++] = row;
    }
    c->show_bindings |= strcmp(row->binding, c->first[0]->binding) != 0;
}

static void add_panel(plot_chart *c, const bench_row *row)
{
    size_t k;

    for (k = 0; (k < c->panels) && !plot_same_panel(c, c->panel[k], row); k++) {
    }
    if (k == c->panels) {
        c->panel[c->panels++] = row;
    }
}

/* A column for each value of what else was swept, or a square as far as it goes. */
static size_t panel_columns(const plot_chart *c)
{
    size_t workloads = 1;
    size_t columns;
    size_t p;

    for (p = 1; p < c->panels; p++) {
        workloads += strcmp(c->panel[p]->workload, c->panel[p - 1]->workload) != 0;
    }
    columns = c->panels / workloads;
    if ((columns > 1) && (columns < 6)) {
        return columns;
    }
    return (c->panels == 1) ? 1 : (c->panels < 4) ? 2 : 3;
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
        add_series(c, &c->results->rows[i]);
        add_panel(c, &c->results->rows[i]);
    }
    sort_panels(c);
    c->columns = panel_columns(c);
    rows       = (c->panels + c->columns - 1) / c->columns;
    c->width   = (int)((c->columns < 2) ? 2 : c->columns) * PLOT_PANEL_WIDTH;
    legend     = c->series / plot_legend_columns(c) + 1;
    c->foot    = (int)((double)legend + 4.0 + letters * PLOT_LETTER_WIDTH / (c->width - 40)) *
                PLOT_LINE_HEIGHT;
    c->height  = PLOT_HEAD + (int)rows * PLOT_PANEL_HEIGHT + c->foot;
}
