/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the commands that read a trace. */
#ifndef SHPOOL_BENCH_TRACE_H
#define SHPOOL_BENCH_TRACE_H

/** shpool-bench replay; the exit status. */
int bench_replay(int argc, char **argv);

/** shpool-bench map; the exit status. */
int bench_map(int argc, char **argv);

#endif /* SHPOOL_BENCH_TRACE_H */
