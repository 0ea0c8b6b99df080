/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: one panel. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "plot.h"

#define MARGIN_LEFT   85.0
#define MARGIN_RIGHT  15.0
#define MARGIN_TOP    48.0  /* the title, and who is not there */
#define MARGIN_BOTTOM 60.0  /* numbers and a label */
#define MARGIN_NAMES  105.0 /* slanting names */

/* How many points of a series a panel has of each kind. */
typedef struct population {
    size_t drawn;
    size_t refused;
    size_t broken;
    size_t absent; /* no points: such pools cannot exist */
} population;

typedef struct axis {
    double low, high;
    int    logarithmic;
    double scale;      /* the figures are multiplied by it */
    const char *label;
} axis;

static int is_utilisation(const bench_row *row)
{
    return strcmp(row->workload, "ramp") == 0;
}

/* Utilisation where that is the question, else what was asked for; negative: none. */
static double figure(const plot_chart *c, const bench_row *row)
{
    return is_utilisation(row) ? row->utilisation
                               : *(const double *)((const char *)row + c->figure->offset);
}

static int is_broken(const bench_row *row)
{
    return (strcmp(row->state, BENCH_FAILED) == 0) || (row->errors != 0);
}

/* Logarithmic if most and least are a factor of 20 apart, and none is 0. */
static axis y_axis(const plot_chart *c, const bench_row *panel)
{
    const bench_results *r = c->results;
    double least = HUGE_VAL;
    double most  = 0.0;
    int    zero  = 0;
    axis   y     = {0.0, 1.0, 0, 1.0, c->figure->label};
    size_t i;

    for (i = 0; i < r->count; i++) {
        const double value = figure(c, &r->rows[i]);

        if (plot_same_panel(c, panel, &r->rows[i]) && (value >= 0.0)) {
            least = (value > 0.0) ? fmin(least, value) : least;
            most  = fmax(most, value);
            zero |= value <= 0.0;
        }
    }
    if (is_utilisation(panel)) {
        return (axis){0.0, 119.0, 0, 1.0, "percent of the pool used"};
    }
    if ((most > 0.0) && (most < 0.1) && (c->figure->small != NULL)) {
        y.scale = 1000.0;
        y.label = c->figure->small;
    }
    least *= y.scale;
    most *= y.scale;
    if (!zero && (most > 20.0 * least)) {
        y.low         = pow(10.0, floor(log10(least) - 0.3));
        y.high        = 3.0 * most;
        y.logarithmic = 1;
    } else if (most > 0.0) {
        y.high = 1.2 * most;
    }
    return y;
}

/* ---- data ---- */

/* A line `x y refused broken`.  What failed has no figure: its cross stands at the foot. */
static void put_point(const plot_chart *c, const bench_row *row, size_t series, const axis *y,
                      population *count)
{
    const int    broken  = is_broken(row);
    const double foot    = y->logarithmic ? 1.5 * y->low : 0.05 * y->high;
    const double refused = (row->failed > 0.0) ? row->failed : 0.0;
    const double x = (c->x < 0) ? (double)series : (double)plot_dimensions[c->x].of(row);

    fprintf(c->to, "%g %.6g %.3g %d\n", x, broken ? foot : y->scale * figure(c, row), refused,
            broken);
    count->drawn += !broken;
    count->broken += broken;
    count->refused += !broken && (refused > 0.0);
}

/* The rows of a series at one x; with bars that is all of them. */
static void put_points(const plot_chart *c, size_t p, size_t s, size_t v, const axis *y,
                       population *count)
{
    const bench_results *r = c->results;
    size_t i;

    for (i = 0; i < r->count; i++) {
        const bench_row *row = &r->rows[i];

        if (!plot_same_panel(c, c->panel[p], row) || !plot_same_series(c->first[s], row) ||
            ((c->x >= 0) && (plot_dimensions[c->x].of(row) != c->value[c->x][v]))) {
            continue;
        }
        if (is_broken(row) || (figure(c, row) >= 0.0)) {
            put_point(c, row, s, y, count);
        }
        count->absent += strcmp(row->state, BENCH_ABSENT) == 0;
    }
}

static void put_data(const plot_chart *c, size_t p, const axis *y, population *count)
{
    const size_t values = (c->x < 0) ? 1 : c->value_count[c->x];
    size_t       s;
    size_t       v;

    for (s = 0; s < c->series; s++) {
        count[s] = (population){0, 0, 0, 0};
        fprintf(c->to, "$p%zus%zu << EOD\n", p, s);
        for (v = 0; v < values; v++) { /* in the order of x */
            put_points(c, p, s, v, y, &count[s]);
        }
        fputs("EOD\n", c->to);
    }
}

/* ---- axes and text ---- */

static void put_names(const plot_chart *c)
{
    char   text[640];
    size_t s;

    fprintf(c->to, "set xrange [-0.7:%g]\nunset xlabel\n"
            "set xtics rotate by 40 right scale 0 font ',9' (", (double)c->series - 0.3);
    for (s = 0; s < c->series; s++) {
        plot_series_name(c, s, text, sizeof(text));
        plot_put_string(c->to, text, sizeof(text));
        fprintf(c->to, " %zu%s", s, (s + 1 < c->series) ? ", " : ")\n");
    }
}

static void put_x_axis(const plot_chart *c)
{
    const size_t    d      = (size_t)c->x;
    const uint32_t *values = c->value[d];
    const size_t    count  = c->value_count[d];
    const double    low    = values[0];
    const double    high   = values[count - 1];
    char            text[32];
    size_t          v;

    if ((low > 0.0) && (high >= 8.0 * low)) {
        fprintf(c->to, "set logscale x 2\nset xrange [%g:%g]\n", low / 1.3, high * 1.3);
    } else {
        fprintf(c->to, "set xrange [%g:%g]\n", low - 0.1 * (high - low), high + 0.1 * (high - low));
    }
    fputs("set xtics norotate (", c->to);
    for (v = 0; v < count; v++) {
        plot_value_text(d, values[v], text, sizeof(text));
        fprintf(c->to, "'%s' %u%s", text, (unsigned)values[v], (v + 1 < count) ? ", " : ")\n");
    }
    fprintf(c->to, "set xlabel \"%s\" font ',10'\n", plot_dimensions[d].label);
}

/* "mixed, 46K bytes": what tells a panel from the others. */
static void put_title(const plot_chart *c, const bench_row *panel)
{
    char        text[256];
    char        number[32];
    shpool_text title = shpool_text_make(text, sizeof(text));
    size_t      d;

    shpool_text_add(&title, "%s", panel->workload);
    for (d = 0; d < PLOT_DIMENSIONS; d++) {
        if (((int)d != c->x) && (c->value_count[d] > 1)) {
            plot_value_text(d, plot_dimensions[d].of(panel), number, sizeof(number));
            shpool_text_add(&title, ", %s %s", number, plot_dimensions[d].unit);
        }
    }
    fprintf(c->to, "set title '%s' offset 0,0.9\n", text);
}

typedef enum absence { IS_THERE, CANNOT_EXIST, NOT_MEASURED } absence;

/* Why a series has no point here.  A run that was interrupted has fewer rows than values of x. */
static absence absence_of(const plot_chart *c, const population *count)
{
    const size_t values = (c->x < 0) ? 1 : c->value_count[c->x];

    if (count->drawn + count->broken != 0) {
        return IS_THERE;
    }
    return (count->absent >= values) ? CANNOT_EXIST : NOT_MEASURED;
}

/* Add "n/a: a, b, 3 more" to the line, which then has at most so many letters. */
static void add_absent(const plot_chart *c, const population *count, absence why, size_t letters,
                       shpool_text *line)
{
    const char *before  = (why == CANNOT_EXIST) ? "n/a: " : "not measured: ";
    const char *between = (line->used == 0) ? "" : "; ";
    char        name[640];
    size_t      more = 0;
    size_t      s;

    for (s = 0; s < c->series; s++) {
        if (absence_of(c, &count[s]) != why) {
            continue;
        }
        plot_series_name(c, s, name, sizeof(name));
        if ((more == 0) && (line->used + strlen(between) + strlen(before) + strlen(name) +
                            strlen(", 123 more") <= letters)) {
            shpool_text_add(line, "%s%s%s", between, before, name);
            between = "";
            before  = ", ";
        } else {
            more++;
        }
    }
    if (more != 0) {
        shpool_text_add(line, "%s%s%zu more", between, before, more);
    }
}

/* Who is not in this panel at all, and why. */
static void put_absent(const plot_chart *c, const population *count)
{
    char        text[PLOT_PANEL_WIDTH / 6]; /* letters that fit */
    shpool_text line    = shpool_text_make(text, sizeof(text));
    size_t      letters = sizeof(text) - 1;
    size_t      rest    = 0;
    size_t      s;

    for (s = 0; s < c->series; s++) {
        if (absence_of(c, &count[s]) == NOT_MEASURED) {
            rest = strlen("; not measured: 123 more");
        }
    }
    add_absent(c, count, CANNOT_EXIST, letters - rest, &line);
    add_absent(c, count, NOT_MEASURED, letters, &line);
    if (line.used != 0) {
        fputs("set label ", c->to);
        plot_put_string(c->to, text, sizeof(text));
        fputs(" at graph 0.5,1.04 center font ',8' tc rgb '#777777'\n", c->to);
    }
}

/* ---- all of it ---- */

/* One series: its line or bar, then its marks. */
static void put_series(const plot_chart *c, size_t p, size_t s, const population *count)
{
    if ((count->drawn != 0) && (c->x < 0)) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 == 0 ? $2 : NaN) with boxes fs solid 0.85 "
                "noborder lc rgb '%s' notitle", p, s, plot_colour(s));
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 == 0 ? $2 : NaN):(sprintf('%%.3g', $2)) with "
                "labels offset 0,0.7 font ',7' notitle", p, s);
    } else if (count->drawn != 0) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 == 0 ? $2 : NaN) with linespoints lw 1.5 "
                "pt %d ps 0.7 lc rgb '%s' notitle", p, s, plot_point(s), plot_colour(s));
    }
    if (count->refused != 0) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($3 > 0 ? $2 : NaN):(1.0 + 0.015 * $3) with "
                "points pt 6 ps variable lc rgb '" PLOT_BAD_COLOUR "' notitle", p, s);
    }
    if ((count->refused != 0) && (c->x < 0)) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($3 > 0 ? $2 : NaN):(sprintf($3 < 10 ? "
                "'%%.2g%%%%' : '%%.0f%%%%', $3)) with labels offset 0,1.6 font ',7' tc rgb '"
                PLOT_BAD_COLOUR "' notitle", p, s);
    }
    if (count->broken != 0) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 != 0 ? $2 : NaN) with points pt 2 ps 1.2 lw 2 "
                "lc rgb '" PLOT_BAD_COLOUR "' notitle", p, s);
    }
}

void plot_put_panel(const plot_chart *c, size_t panel)
{
    const double left   = (double)(panel % c->columns) * PLOT_PANEL_WIDTH;
    const double top    = PLOT_HEAD + (double)(panel / c->columns) * PLOT_PANEL_HEIGHT;
    const double bottom = top + PLOT_PANEL_HEIGHT - ((c->x < 0) ? MARGIN_NAMES : MARGIN_BOTTOM);
    const axis   y      = y_axis(c, c->panel[panel]);
    population   count[PLOT_SERIES];
    size_t       s;

    fprintf(c->to, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
            "set tmargin at screen %.5f\nset bmargin at screen %.5f\nunset logscale\n",
            (left + MARGIN_LEFT) / c->width, (left + PLOT_PANEL_WIDTH - MARGIN_RIGHT) / c->width,
            1.0 - (top + MARGIN_TOP) / c->height, 1.0 - bottom / c->height);
    put_data(c, panel, &y, count);
    put_title(c, c->panel[panel]);
    if (c->x < 0) {
        put_names(c);
    } else {
        put_x_axis(c);
    }
    fprintf(c->to, "%sset yrange [%g:%g]\nset ylabel '%s' offset 1,0 font ',10'\n",
            y.logarithmic ? "set logscale y 10\n" : "", y.low, y.high, y.label);
    put_absent(c, count);
    fputs("plot NaN notitle", c->to); /* the axes, if there is nothing else */
    for (s = 0; s < c->series; s++) {
        put_series(c, panel, s, &count[s]);
    }
    fputs("\n\n", c->to);
}
