/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: charts of results. */
#ifndef SHPOOL_BENCH_PLOT_H
#define SHPOOL_BENCH_PLOT_H

#include "tools/bench/record.h"

/** Whether --plot can write such a file; -1: stderr says why not. */
int bench_plot_check(const char *path);

/** Draw; figure: gops, cycles or failed.  0, or -1 with a message on stderr. */
int bench_plot_draw(const bench_results *results, const char *figure, const char *path);

#endif /* SHPOOL_BENCH_PLOT_H */
