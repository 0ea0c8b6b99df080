/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the progress line on a terminal, and Ctrl-C. */
#ifndef SHPOOL_BENCH_PROGRESS_H
#define SHPOOL_BENCH_PROGRESS_H

#include <stddef.h>

#include "record.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One line on a terminal, nothing elsewhere. */
void bench_progress_begin(size_t total);
void bench_progress_show(size_t done, const bench_point *point);
void bench_progress_clear(void);

/**
 * From now on a signal ends the run only.  The first Ctrl-C (SIGINT) or SIGHUP requests a stop.
 * SIGTERM, or a second signal, calls `save` in a thread of its own as soon as the results are not
 * changing, which is the case during a launch.  save() ends the process.
 */
void bench_interrupt_catch(void (*save)(void *user), void *user);

/** From now on a signal ends the program: the reader of a pipe may never take the results. */
void bench_interrupt_release(void);

/** Around a launch: until its end the caller changes no results. */
void bench_launch_begin(void);
void bench_launch_end(void);

/** The signal that asked to stop, or 0. */
int bench_interrupted(void);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_PROGRESS_H */
