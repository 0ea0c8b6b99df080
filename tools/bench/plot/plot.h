/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: charts. */
#ifndef SHPOOL_BENCH_PLOT_H
#define SHPOOL_BENCH_PLOT_H

#include <stddef.h>

#include "tools/bench/record.h"

/** Whether --plot can write such a file; -1: stderr says why not. */
int bench_plot_check(const char *path);

/** Draw; figure: in plot_figures[] of chart.h.  0, or -1 with a message on stderr. */
int bench_plot_draw(const bench_results *results, size_t figure, const char *path);

#endif /* SHPOOL_BENCH_PLOT_H */
