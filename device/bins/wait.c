/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: waits of the host for memory that is idle but still in use.
 *
 * The host is usually ahead of the GPU.  The stream that freed a block can have it again at once,
 * and its granules at other addresses, too.  The old addresses must stay mapped until the GPU has
 * reached the free.  In a program that never repeats its requests they become rare, and some are
 * unmapped for others; the host then waits for the stream's oldest frees until they are done, each
 * time at most `wait` microseconds.  All waits together have a limit, too: programs that would wait
 * in each step are not slowed down, and reserve more memory instead.
 */
#include "bins.h"

#include <sched.h>
#include <time.h>

/* Limit of all waits: this number of the longest ones, and a fraction of the time since the first
 * one. */
#define WAITS_FREE 16u
#define WAITS_PART 32u

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* exists on Linux */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long a wait may take that begins now. */
static uint64_t longest_ns(bins_waits *w, uint64_t now)
{
    uint64_t longest = w->longest_us * 1000u;
    uint64_t all;
    uint64_t left;

    if (w->since_ns == 0) {
        w->since_ns = now;
    }
    all = WAITS_FREE * longest + (now - w->since_ns) / WAITS_PART;
    left = (all > w->waited_ns) ? all - w->waited_ns : 0;
    return (left < longest) ? left : longest;
}

typedef enum progress { HOPELESS, BUSY, DONE } progress;

/* Whether a free is done.  Hopeless: no event covers it, and this thread may not record one. */
static progress look(bins_self *bins, shpool_timeline *t, uint64_t seq)
{
    progress found;

    shpool_spin_lock(&t->lock);
    (void)shpool_timeline_chase(&bins->lanes, t);
    found = shpool_timeline_is_done(t, seq) ? DONE : (t->count > 0) ? BUSY : HOPELESS;
    shpool_spin_unlock(&t->lock);
    return found;
}

int bins_wait(bins_self *bins, bins_lane *lane)
{
    shpool_timeline *t = &lane->timeline;
    bins_waits *w = &bins->waits;
    /* relaxed: another thread may see more frees done meanwhile, and this returns at once */
    uint64_t oldest = atomic_load_explicit(&t->done, memory_order_relaxed) + 1;
    uint64_t start = now_ns();
    uint64_t longest = longest_ns(w, start);
    uint64_t waited = 0;
    progress found = HOPELESS;

    /* relaxed: the caller's own captures were opened before by the same thread */
    if (atomic_load_explicit(&bins->lanes.captures, memory_order_relaxed) > 0) {
        return 0;
    }
    while (waited < longest) {
        found = look(bins, t, oldest);
        if (found != BUSY) {
            break;
        }
        (void)sched_yield();
        waited = now_ns() - start;
    }
    w->waited_ns += waited;
    return found == DONE;
}
