/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: what a run says of itself on a terminal, and Ctrl-C. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lib/internal.h"
#include "progress.h"

#define TWICE 0.2 /* seconds: timeout(1) sends its signal twice, and means one */

/* One run of one process. */
static struct {
    int    on;     /* stderr is a terminal */
    int    shown;  /* columns that the line takes */
    size_t total;
    double began;
} progress;

static volatile sig_atomic_t interrupted;

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_progress_begin(size_t total)
{
    progress.on    = isatty(STDERR_FILENO);
    progress.shown = 0;
    progress.total = total;
    progress.began = seconds();
}

void bench_progress_clear(void)
{
    if (progress.shown > 0) {
        fprintf(stderr, "\r%*s\r", progress.shown, "");
        fflush(stderr);
        progress.shown = 0;
    }
}

/* A line must not wrap: it could not be taken back. */
static int columns(void)
{
    struct winsize size;

    return ((ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) && (size.ws_col > 1)) ? size.ws_col - 1
                                                                                 : 79;
}

void bench_progress_show(size_t done, const bench_point *point)
{
    char        line[256];
    shpool_text text  = shpool_text_make(line, sizeof(line));
    const int   width = columns();

    if (!progress.on) {
        return;
    }
    shpool_text_add(&text, "%zu of %zu", done + 1, progress.total);
    if (done > 0) { /* as long for each as those before it took */
        const double left = (seconds() - progress.began) / (double)done *
                            (double)(progress.total - done);

        shpool_text_add(&text, ", %u:%02u left", (unsigned)(left / 60.0), (unsigned)left % 60u);
    }
    shpool_text_add(&text, ": %s, %s, %u threads", (point->spec != NULL) ? point->spec : "default",
                    bench_workload_name(point->workload), (unsigned)point->threads);
    bench_progress_clear();
    if (strlen(line) > (size_t)width) {
        line[((size_t)width < sizeof(line)) ? (size_t)width : sizeof(line) - 1] = '\0';
    }
    fputs(line, stderr);
    fflush(stderr);
    progress.shown = (int)strlen(line);
}

/* Only what may be called here: clock_gettime(), signal(), raise() and write(). */
static void note_signal(int number)
{
    static const char text[] = "\nshpool-bench: stops after this launch; again: at once\n";
    static double     first; /* no other handler runs meanwhile, and nobody else reads it */
    const double      now = seconds();

    if (interrupted) {
        if (now - first > TWICE) {
            (void)signal(number, SIG_DFL);
            (void)raise(number);
        }
        return;
    }
    first       = now;
    interrupted = number;
    if (progress.on) {
        (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    }
}

void bench_interrupt_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct sigaction action;
    struct sigaction old;
    size_t           i;

    memset(&action, 0, sizeof(action));
    action.sa_handler = note_signal;
    action.sa_flags   = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    for (i = 0; i < SHPOOL_ARRAY_COUNT(signals); i++) {
        (void)sigaddset(&action.sa_mask, signals[i]);
    }
    for (i = 0; i < SHPOOL_ARRAY_COUNT(signals); i++) {
        /* what whoever started us ignores stays ignored: nohup, a script's background */
        if ((sigaction(signals[i], NULL, &old) == 0) && (old.sa_handler != SIG_IGN)) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

int bench_interrupted(void)
{
    return interrupted;
}
