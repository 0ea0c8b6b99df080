/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench's charts: where names at the ends of lines stand. */
#include "config.h"

#include <math.h>

#include "chart.h"

/* Labels side by side that share a middle. */
typedef struct cluster {
    size_t count;
    double middle;
} cluster;

/* Labels of rising heights: each where it wants to be, or in a stack around what its labels want on
 * average, joined as long as stacks meet.  Returns the number of stacks. */
static size_t stack(const double *wanted, size_t count, double gap, cluster *stacks)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        stacks[n++] = (cluster){1, wanted[i]};
        while (n > 1) {
            cluster       *a    = &stacks[n - 2];
            const cluster *b    = &stacks[n - 1];
            const double   both = (double)(a->count + b->count);

            if (b->middle - a->middle >= 0.5 * gap * both) {
                break;
            }
            a->middle = (a->middle * (double)a->count + b->middle * (double)b->count) / both;
            a->count += b->count;
            n--;
        }
    }
    return n;
}

/* One pass: places for all; the index of the one that is farthest from where it wants to be. */
static size_t place(const double *wanted, size_t count, double gap, double *placed)
{
    cluster stacks[PLOT_END_LABELS];
    size_t  n     = stack(wanted, count, gap, stacks);
    size_t  i     = 0;
    size_t  worst = 0;

    for (size_t s = 0; s < n; s++) {
        for (size_t k = 0; k < stacks[s].count; k++, i++) {
            placed[i] = stacks[s].middle + gap * ((double)k - 0.5 * (double)(stacks[s].count - 1));
            if (fabs(placed[i] - wanted[i]) > fabs(placed[worst] - wanted[worst])) {
                worst = i;
            }
        }
    }
    return worst;
}

void plot_part_labels(double *height, size_t count, double gap, double most)
{
    double wanted[PLOT_END_LABELS];
    double placed[PLOT_END_LABELS];
    size_t from[PLOT_END_LABELS]; /* in height[] */
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = n;

        if ((height[i] < 0.0) || (n == PLOT_END_LABELS)) {
            height[i] = -1.0;
            continue;
        }
        for (; (at > 0) && (wanted[at - 1] > height[i]); at--) {
            wanted[at] = wanted[at - 1];
            from[at]   = from[at - 1];
        }
        wanted[at] = height[i];
        from[at]   = i;
        n++;
    }
    while (n > 0) {
        const size_t worst = place(wanted, n, gap, placed);

        if (fabs(placed[worst] - wanted[worst]) <= most) {
            break;
        }
        height[from[worst]] = -1.0;
        n--;
        for (size_t i = worst; i < n; i++) {
            wanted[i] = wanted[i + 1];
            from[i]   = from[i + 1];
        }
    }
    for (size_t i = 0; i < n; i++) {
        height[from[i]] = placed[i];
    }
}
