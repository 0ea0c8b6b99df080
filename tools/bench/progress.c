/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the progress line on a terminal, and Ctrl-C. */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lib/internal.h"
#include "progress.h"

#define TWICE 0.2 /* seconds: timeout(1) sends its signal twice, and means one */
#define STALLED 2 /* seconds */

/* One run of one process. */
static struct {
    int    on;     /* stderr is a terminal */
    int    shown;  /* columns that the line takes */
    size_t total;
    double began;
} progress;

static atomic_int interrupted;

/* The thread that waits for signals. */
static struct {
    pthread_mutex_t results; /* locked while they change */
    sigset_t        signals;
    void (*save)(void *user);
    void           *user;
} watch = {.results = PTHREAD_MUTEX_INITIALIZER};

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

/* A line must not wrap: it could not be erased. */
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
    if (done > 0) { /* each remaining one is assumed to take the mean of the previous ones */
        const double left = (seconds() - progress.began) / (double)done *
                            (double)(progress.total - done);

        shpool_text_add(&text, ", %u:%02u left", (unsigned)(left / 60.0), (unsigned)left % 60u);
    }
    shpool_text_add(&text, ": %s, %s, %u threads", (point->spec != NULL) ? point->spec : "default",
                    bench_workload_at(point->workload)->name, (unsigned)point->threads);
    bench_progress_clear();
    if (strlen(line) > (size_t)width) {
        line[((size_t)width < sizeof(line)) ? (size_t)width : sizeof(line) - 1] = '\0';
    }
    fputs(line, stderr);
    fflush(stderr);
    progress.shown = (int)strlen(line);
}

/* Have the results, which change only for an instant between launches; 0: they are being written to
 * a pipe whose reader has stopped. */
static int lock_results(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STALLED;
    return pthread_mutex_timedlock(&watch.results, &until) == 0;
}

static void *watch_signals(void *unused)
{
    static const char text[] = "\nshpool-bench: stops after this launch; again: at once\n";
    double first  = 0.0;
    int    number = 0;

    (void)unused;
    while (sigwait(&watch.signals, &number) == 0) {
        const int before = atomic_exchange(&interrupted, number);

        if (before == 0) {
            first = seconds();
            if (progress.on) {
                (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
            }
        }
        if (!lock_results()) {
            bench_interrupt_release();
            (void)raise(number); /* ends the process */
        }
        if ((number == SIGTERM) || ((before != 0) && (seconds() - first > TWICE))) {
            watch.save(watch.user);
        }
        (void)pthread_mutex_unlock(&watch.results);
    }
    return NULL;
}

void bench_interrupt_catch(void (*save)(void *user), void *user)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old;
    pthread_t        thread;

    watch.save = save;
    watch.user = user;
    (void)pthread_mutex_lock(&watch.results);
    (void)sigemptyset(&watch.signals);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(signals); i++) {
        /* a signal that the caller ignores stays ignored: nohup, a script's background */
        if ((sigaction(signals[i], NULL, &old) == 0) && (old.sa_handler != SIG_IGN)) {
            (void)sigaddset(&watch.signals, signals[i]);
        }
    }
    (void)pthread_sigmask(SIG_BLOCK, &watch.signals, NULL);
    if (pthread_create(&thread, NULL, watch_signals, NULL) == 0) {
        (void)pthread_detach(thread);
    } else { /* signals end the process as they always do */
        (void)pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    }
}

void bench_interrupt_release(void)
{
    (void)pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
}

void bench_launch_begin(void)
{
    (void)pthread_mutex_unlock(&watch.results);
}

void bench_launch_end(void)
{
    (void)pthread_mutex_lock(&watch.results);
}

int bench_interrupted(void)
{
    return atomic_load(&interrupted);
}
