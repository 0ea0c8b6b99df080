/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: one colour for each allocator, the same in every chart.
 *
 * There are fewer colours than allocators: relatives share one, and differ in dashes and points. */
#include "config.h"

#include <string.h>

#include "lib/internal.h"
#include "tools/bench/colours.h"
#include "chart.h"

/* gnuplot's types of dashes and of points; the points 2 and 6 are marks of failures */
enum { SOLID = 1, DASHED = 2, DOTTED = 3, DASH_DOT = 4 };
enum { NO_POINT = 0, SQUARE = 5, CIRCLE = 7, UP = 9, DOWN = 11, DIAMOND = 13, PENTAGON = 15 };

typedef struct known_look {
    const char *name;
    plot_look   look;
} known_look;

static const known_look known[] = {
    {"arena", {COLOUR_BLACK, SOLID, UP}},
    {"bitmap", {COLOUR_BLUE, SOLID, CIRCLE}},
    {"cluster_bitmap", {COLOUR_BLUE, DASHED, SQUARE}},
    {"freelist", {COLOUR_GREEN, SOLID, DIAMOND}},
    {"native", {COLOUR_BLACK, DASHED, SQUARE}},
    {"null", {COLOUR_GREY, DOTTED, NO_POINT}}, /* no allocator: what is left without one */
    {"rbtree", {COLOUR_PURPLE, SOLID, PENTAGON}},
    {"thread_best_fit", {COLOUR_ORANGE, SOLID, UP}},
    {"thread_bitmap", {COLOUR_SKY, SOLID, DOWN}},
    {"thread_first_fit", {COLOUR_ORANGE, DASHED, DOWN}},
    {"warp_best_fit", {COLOUR_VERMILION, SOLID, CIRCLE}},
    {"warp_first_fit", {COLOUR_VERMILION, DASHED, SQUARE}},
};

/* of plugins, in the order of their series */
static const int others[]   = {COLOUR_PURPLE, COLOUR_GREEN, COLOUR_SKY, COLOUR_ORANGE,
                               COLOUR_VERMILION, COLOUR_BLUE, COLOUR_BLACK};
static const int points[]   = {CIRCLE, SQUARE, UP, DOWN, DIAMOND, PENTAGON};
static const int variants[] = {DASHED, DASH_DOT, 5};

/* Letters of a spec that name the allocator. */
static size_t name_letters(const bench_row *row)
{
    return strcspn(row->spec, ":");
}

static int same_allocator(const bench_row *a, const bench_row *b)
{
    const size_t letters = name_letters(a);

    return (letters == name_letters(b)) && (strncmp(a->spec, b->spec, letters) == 0);
}

static const plot_look *known_of(const bench_row *row)
{
    const size_t letters = name_letters(row);
    size_t       i;

    for (i = 0; i < SHPOOL_ARRAY_COUNT(known); i++) {
        if ((strlen(known[i].name) == letters) &&
            (strncmp(known[i].name, row->spec, letters) == 0)) {
            return &known[i].look;
        }
    }
    return NULL;
}

void plot_choose_looks(plot_chart *c)
{
    size_t unknown = 0;

    for (size_t s = 0; s < c->series; s++) {
        const plot_look *found   = known_of(c->first[s]);
        plot_look       *look    = &c->look[s];
        size_t           variant = 0; /* of this allocator, by keys or binding */

        for (size_t before = 0; before < s; before++) {
            if (same_allocator(c->first[before], c->first[s])) {
                *look = (variant++ == 0) ? c->look[before] : *look;
            }
        }
        if (variant != 0) {
            look->dash  = variants[(variant - 1) % SHPOOL_ARRAY_COUNT(variants)];
            look->point = points[variant % SHPOOL_ARRAY_COUNT(points)];
        } else if (found != NULL) {
            *look = *found;
        } else {
            *look = (plot_look){others[unknown % SHPOOL_ARRAY_COUNT(others)], DASH_DOT,
                                points[unknown % SHPOOL_ARRAY_COUNT(points)]};
            unknown++;
        }
    }
}
