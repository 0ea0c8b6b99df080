/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: a gnuplot script with the data inside.
 *
 * One panel for each workload, and for each value of other swept parameters.  The x axis is the
 * parameter with the most values among threads, pool bytes, threads_per_pool and, if all rows are
 * of the workload objects, their median; without a sweep, bars are shown side by side.  A ring
 * marks refused requests, larger for more, and a cross a failed row or a wrong payload; rows that
 * cannot exist, or that an interrupted run did not reach, are named above their panel.  Lines are
 * named at their ends where there is room; the legend has all names. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "chart.h"
#include "tools/message.h"

#define BAD_COLOUR    "#e00000" /* rings and crosses are told by their shape, too */
#define MARGIN_LEFT   68.0
#define MARGIN_RIGHT  12.0
#define MARGIN_ENDS   100.0 /* right of lines: their names */
#define END_LETTERS   16u   /* of a name there */
#define END_GAP       11.0  /* from name to name */
#define END_FAR       24.0  /* from a name to the end of its line */
#define MARGIN_TOP    48.0  /* the title, and the missing allocators */
#define MARGIN_BOTTOM 60.0  /* numbers and a label */
#define MARGIN_NAMES  105.0 /* slanting names */

/* ---- strings and names ---- */

/* The only way for text into the script. */
static void put_string(FILE *to, const char *text, size_t bytes)
{
    size_t i;

    fputc('\'', to); /* between these only they themselves and the end of a line are special */
    for (i = 0; (i < bytes) && (text[i] != '\0'); i++) {
        fputc(((unsigned char)text[i] < ' ') ? ' ' : text[i], to);
        if (text[i] == '\'') {
            fputc('\'', to);
        }
    }
    fputc('\'', to);
}

static void value_text(size_t dimension, uint32_t value, char *text, size_t bytes)
{
    const int kib = plot_dimensions[dimension].is_bytes && (value != 0) && (value % 1024 == 0);

    snprintf(text, bytes, "%u%s", (unsigned)(kib ? value / 1024 : value), kib ? "K" : "");
}

static void series_name(const plot_chart *c, size_t series, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s%s%s", c->first[series]->spec, c->show_bindings ? ", " : "",
             c->show_bindings ? c->first[series]->binding : "");
}

/* ---- the figures of a panel, and their axis ---- */

/* How many points of a series a panel has of each kind. */
typedef struct population {
    size_t drawn;
    size_t refused;
    size_t broken;
    size_t absent; /* no points: such pools cannot exist */
    double end;    /* the figure of the last x of all; negative: the line does not reach it */
} population;

typedef struct axis {
    double low, high;
    int    logarithmic;
    double scale;      /* the figures are multiplied by it */
    const char *label;
} axis;

static int is_utilisation(const bench_row *row)
{
    return (strcmp(row->workload, "ramp") == 0) || (strcmp(row->workload, "aging") == 0);
}

/* Utilisation if that is the subject, else the requested figure; negative: none. */
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
static axis y_axis(const plot_chart *c, const plot_panel *panel)
{
    double least = HUGE_VAL;
    double most  = 0.0;
    int    zero  = 0;
    axis   y     = {0.0, 1.0, 0, 1.0, c->figure->label};
    size_t i;

    for (i = panel->begin; i < panel->end; i++) {
        const double value = figure(c, c->cell[i].row);

        if (value >= 0.0) {
            least = (value > 0.0) ? fmin(least, value) : least;
            most  = fmax(most, value);
            zero |= value <= 0.0;
        }
    }
    if (is_utilisation(panel->row)) {
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
        y.high = 1.3 * most;
    }
    return y;
}

/* ---- the data of a panel ---- */

/* A line `x y refused broken`.  A failed row has no figure: its cross stands at the foot. */
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
    if (!broken && (c->x >= 0) && (x == (double)c->value[c->x][c->value_count[c->x] - 1])) {
        count->end = y->scale * figure(c, row);
    }
    count->broken += broken;
    count->refused += !broken && (refused > 0.0);
}

static void put_data(const plot_chart *c, size_t p, const axis *y, population *count)
{
    const plot_panel *panel = &c->panel[p];
    size_t            i     = panel->begin;

    for (size_t s = 0; s < c->series; s++) {
        count[s] = (population){0, 0, 0, 0, -1.0};
        fprintf(c->to, "$p%zus%zu << EOD\n", p, s);
        for (; (i < panel->end) && (c->cell[i].series == s); i++) { /* in the order of x */
            const bench_row *row = c->cell[i].row;

            if (is_broken(row) || (figure(c, row) >= 0.0)) {
                put_point(c, row, s, y, &count[s]);
            }
            count[s].absent += strcmp(row->state, BENCH_ABSENT) == 0;
        }
        fputs("EOD\n", c->to);
    }
}

/* ---- axes and text of a panel ---- */

static void put_names(const plot_chart *c)
{
    char   text[640];
    size_t s;

    fprintf(c->to, "set xrange [-0.7:%g]\nunset xlabel\n"
            "set xtics rotate by 40 right scale 0 font ',10' (", (double)c->series - 0.3);
    for (s = 0; s < c->series; s++) {
        series_name(c, s, text, sizeof(text));
        put_string(c->to, text, sizeof(text));
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
        value_text(d, values[v], text, sizeof(text));
        fprintf(c->to, "'%s' %u%s", text, (unsigned)values[v], (v + 1 < count) ? ", " : ")\n");
    }
    fprintf(c->to, "set xlabel \"%s\" font ',11'\n", plot_dimensions[d].label);
}

/* "mixed, 46K bytes": the values that distinguish a panel. */
static void put_title(const plot_chart *c, const bench_row *panel)
{
    char        text[256];
    char        number[32];
    shpool_text title   = shpool_text_make(text, sizeof(text));
    const int   objects = bench_is_objects_row(panel);
    size_t      d;

    shpool_text_add(&title, "%s%s%s%s", panel->workload, objects ? ", " : "", panel->scope,
                    (objects && !panel->touched) ? ", untouched" : "");
    for (d = 0; d < PLOT_DIMENSIONS; d++) {
        if (((int)d != c->x) && (c->value_count[d] > 1) && (objects || (d != PLOT_MEDIAN))) {
            value_text(d, plot_dimensions[d].of(panel), number, sizeof(number));
            shpool_text_add(&title, ", %s %s", number, plot_dimensions[d].unit);
        }
    }
    fputs("set title ", c->to);
    put_string(c->to, text, sizeof(text));
    fputs(" offset 0,0.9\n", c->to);
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

/* Add "n/a: a, b, 3 more" to the line, up to its maximum length. */
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
        series_name(c, s, name, sizeof(name));
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

/* The allocators that are missing in this panel, and why. */
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
        put_string(c->to, text, sizeof(text));
        fputs(" at graph 0.5,1.05 center font ',9' tc rgb '#666666'\n", c->to);
    }
}

/* ---- a panel ---- */

/* One series: its line or bar, then its marks. */
static void put_series(const plot_chart *c, size_t p, size_t s, const population *count)
{
    const plot_look *look = &c->look[s];

    if ((count->drawn != 0) && (c->x < 0)) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 == 0 ? $2 : NaN) with boxes fs solid %s "
                "noborder lc rgb '#%06x' notitle", p, s, (look->dash == 1) ? "0.9" : "0.5",
                (unsigned)look->colour);
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 == 0 ? $2 : NaN):"
                "(sprintf($2 < 1 ? '%%.2g' : '%%.3g', $2)) with labels offset 0,0.7 font ',9' "
                "notitle", p, s);
    } else if (count->drawn != 0) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 == 0 ? $2 : NaN) with linespoints lw 1.8 "
                "dt %d pt %d ps 0.7 lc rgb '#%06x' notitle", p, s, look->dash, look->point,
                (unsigned)look->colour);
    }
    if (count->refused != 0) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($3 > 0 ? $2 : NaN):(1.0 + 0.015 * $3) with "
                "points pt 6 ps variable lc rgb '" BAD_COLOUR "' notitle", p, s);
    }
    if ((count->refused != 0) && (c->x < 0)) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($3 > 0 ? $2 : NaN):(sprintf($3 < 10 ? "
                "'%%.2g%%%%' : '%%.0f%%%%', $3)) with labels offset 0,1.6 font ',9' tc rgb '"
                BAD_COLOUR "' notitle", p, s);
    }
    if (count->broken != 0) {
        fprintf(c->to, ", \\\n $p%zus%zu using 1:($4 != 0 ? $2 : NaN) with points pt 2 ps 1.2 lw 2 "
                "lc rgb '" BAD_COLOUR "' notitle", p, s);
    }
}

/* Names at the ends of the lines, in the panel that is `pixels` high. */
static void put_ends(const plot_chart *c, const population *count, const axis *y, double pixels)
{
    double height[PLOT_END_LABELS];
    char   text[640];
    size_t s;

    if ((c->x < 0) || (c->series > PLOT_END_LABELS)) {
        return;
    }
    for (s = 0; s < c->series; s++) {
        const double end  = count[s].end;
        const double part = !y->logarithmic ? (end - y->low) / (y->high - y->low)
                                            : (end > 0.0) ? log10(end / y->low) /
                                                            log10(y->high / y->low) : -1.0;

        series_name(c, s, text, sizeof(text));
        height[s] = ((end < 0.0) || (strlen(text) > END_LETTERS)) ? -1.0 : pixels * part;
    }
    plot_part_labels(height, c->series, END_GAP, END_FAR);
    for (s = 0; s < c->series; s++) {
        if (height[s] >= 0.0) {
            series_name(c, s, text, sizeof(text));
            fputs("set label ", c->to);
            put_string(c->to, text, sizeof(text));
            fprintf(c->to, " at graph 1.0,%.4f left offset 0.4,0 font ',10' tc rgb '#%06x'\n",
                    height[s] / pixels, (unsigned)c->look[s].colour);
        }
    }
}

static void put_panel(const plot_chart *c, size_t panel)
{
    const double left   = (double)(panel % c->columns) * PLOT_PANEL_WIDTH;
    const double top    = PLOT_HEAD + (double)(panel / c->columns) * PLOT_PANEL_HEIGHT;
    const double bottom = top + PLOT_PANEL_HEIGHT - ((c->x < 0) ? MARGIN_NAMES : MARGIN_BOTTOM);
    const double right  = (c->x < 0) ? MARGIN_RIGHT : MARGIN_ENDS;
    const axis   y      = y_axis(c, &c->panel[panel]);
    population   count[PLOT_SERIES];
    size_t       s;

    fprintf(c->to, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
            "set tmargin at screen %.5f\nset bmargin at screen %.5f\nunset logscale\n",
            (left + MARGIN_LEFT) / c->width, (left + PLOT_PANEL_WIDTH - right) / c->width,
            1.0 - (top + MARGIN_TOP) / c->height, 1.0 - bottom / c->height);
    put_data(c, panel, &y, count);
    put_title(c, c->panel[panel].row);
    if (c->x < 0) {
        put_names(c);
    } else {
        put_x_axis(c);
    }
    fprintf(c->to, "%sset yrange [%g:%g]\nset ylabel '%s' offset 1,0 font ',11'\n",
            y.logarithmic ? "set logscale y 10\n" : "", y.low, y.high, y.label);
    put_absent(c, count);
    put_ends(c, count, &y, bottom - top - MARGIN_TOP);
    fputs("plot NaN notitle", c->to); /* only the axes, if the panel has no data */
    for (s = 0; s < c->series; s++) {
        put_series(c, panel, s, &count[s]);
    }
    fputs("\n\n", c->to);
}

/* ---- text around the panels ---- */

/* A label in pixels from the upper left corner. */
static void put_label(const plot_chart *c, double x, double y, const char *text, size_t bytes,
                      const char *more)
{
    fputs("set label ", c->to);
    put_string(c->to, text, bytes);
    fprintf(c->to, " at screen %.5f,%.5f %s\n", x / c->width, 1.0 - y / c->height, more);
}

/* From pixel y on, as many lines as the text needs; returns the place of the next line. */
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

/* From pixel y on; returns the place of the next line. */
static int put_legend(const plot_chart *c, int y)
{
    const size_t columns = plot_legend_columns(c);
    char         text[640];
    char         more[96];
    size_t       s;

    for (s = 0; s < c->series; s++) {
        series_name(c, s, text, sizeof(text));
        snprintf(more, sizeof(more), "left point pt %d ps 0.9 lc rgb '#%06x' offset 1,0",
                 c->look[s].point, (unsigned)c->look[s].colour);
        put_label(c, 30.0 + (double)(s % columns) * PLOT_LEGEND_WIDTH,
                  y + (double)(s / columns) * PLOT_LINE_HEIGHT, text, sizeof(text), more);
    }
    y += (int)((c->series + columns - 1) / columns) * PLOT_LINE_HEIGHT;
    put_label(c, 30, y, "requests were refused, the larger the more", 100,
              "left point pt 6 ps 1.4 lc rgb '" BAD_COLOUR "' offset 1,0");
    put_label(c, 30 + 2 * PLOT_LEGEND_WIDTH, y, "failed", 100,
              "left point pt 2 ps 1.2 lw 2 lc rgb '" BAD_COLOUR "' offset 1,0");
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

static void put_terminal(const plot_chart *c, const char *name, const char *output)
{
    const char *dot = strrchr(name, '.');

    if ((dot != NULL) && (strcmp(dot, ".png") == 0)) {
        fprintf(c->to, "set terminal pngcairo noenhanced size %d,%d font 'sans,12'\n", c->width,
                c->height);
    } else if ((dot != NULL) && (strcmp(dot, ".pdf") == 0)) {
        fprintf(c->to, "set terminal pdfcairo noenhanced size %.2f,%.2f font 'sans,8'\n",
                c->width / 100.0, c->height / 100.0); /* inches */
    } else {
        fprintf(c->to, "set terminal svg noenhanced size %d,%d font 'sans,12' background 'white'\n",
                c->width, c->height);
    }
    if (output != NULL) {
        fputs("set output ", c->to);
        put_string(c->to, output, strlen(output));
        fputc('\n', c->to);
    }
}

int plot_script(const bench_results *results, size_t figure, const char *name, const char *output,
                FILE *to)
{
    plot_chart c;
    size_t     p;

    memset(&c, 0, sizeof(c));
    c.results = results;
    c.to      = to;
    c.figure  = &plot_figures[figure];
    c.panel   = calloc(results->count + 1, sizeof(c.panel[0]));
    c.cell    = calloc(results->count + 1, sizeof(c.cell[0]));
    if ((c.panel == NULL) || (c.cell == NULL)) {
        fputs("shpool-bench: no memory for a chart\n", stderr);
        free(c.panel);
        free(c.cell);
        return -1;
    }
    plot_lay_out(&c);
    if (c.panels > PLOT_MOST_PANELS) {
        tool_say("shpool-bench: %s: needs %zu panels; a chart has at most %u\n", name,
                 c.panels, PLOT_MOST_PANELS);
        free(c.panel);
        free(c.cell);
        return -1;
    }
    fputs("# Made by shpool-bench; draw it with gnuplot.\n", to);
    put_terminal(&c, name, output);
    fputs("set grid ytics lt 1 dt solid lw 0.7 lc rgb '#d8d8d8'\n"
          "set border 3\nset tics nomirror font ',10'\n"
          "set boxwidth 0.8\nset multiplot\n", to);
    put_label(&c, 20, PLOT_HEAD / 2, "shpool-bench: block allocators", 100, "left font ',14'");
    put_caption(&c, put_legend(&c, c.height - c.foot + PLOT_LINE_HEIGHT));
    for (p = 0; p < c.panels; p++) {
        put_panel(&c, p);
        fputs("unset label\n", to); /* legend and caption are the first panel's, drawn once */
    }
    fputs("unset multiplot\nunset output\n", to);
    free(c.panel);
    free(c.cell);
    return 0;
}
