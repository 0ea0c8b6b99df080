/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory that fails for the library, in a test that is linked with --wrap for malloc(),
 * calloc() and realloc(), and what the library reports as lost. */
#ifndef SHPOOL_TESTS_HOST_MEMORY_H
#define SHPOOL_TESTS_HOST_MEMORY_H

#include "tests/unit.h"
#include "tests/wrapped.h"

#include "tests/device/fake/state.h"

static unsigned long host_fail_at; /* 0: none does */
static unsigned long host_count;

/* 1: this one is to fail.  The fake driver's own, made with its lock held, never do. */
static int fails(void)
{
    if ((host_fail_at == 0) || (pthread_mutex_trylock(&fake_lock) != 0)) {
        return 0;
    }
    (void)pthread_mutex_unlock(&fake_lock);
    return ++host_count == host_fail_at;
}

WRAPPED_MALLOC
WRAPPED_CALLOC
WRAPPED_REALLOC

/* ---- what is lost ---- */

static unsigned lost; /* objects that the library reports as lost */

static inline void receive_lost(shpool_level level, const char *text, void *user)
{
    unsigned count = 0;

    (void)level;
    (void)user;
    if (sscanf(text, "lost until the process ends, on device 0: %u ", &count) == 1) {
        lost += count;
    }
}

/* The end of a run: nothing is held that is not reported as lost, and nothing was out of order. */
static inline void stop_and_compare(const char *what, unsigned long n)
{
    fake_held held;

    host_fail_at = 0;
    held = fake_stop();
    if ((held.allocations + held.streams + held.events + held.host_allocations + held.ranges >
         lost) || (fake_first_violation()[0] != '\0')) {
        fail_msg("%s %lu: %u allocations, %u streams, %u events, %u of the host, %u ranges are "
                 "held, %u were said; %s", what, n, held.allocations, held.streams, held.events,
                 held.host_allocations, held.ranges, lost, fake_first_violation());
    }
}

#endif /* SHPOOL_TESTS_HOST_MEMORY_H */
