/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that the machine refuses.  A scene is played again and again: its nth request fails, for
 * every n, alone, with all later ones, or with another one soon after.  Requests are allocations,
 * mappings, streams and threads, in a program that is linked with $(shpool_failing) (tests.mk), and
 * calls of the fake driver, except the fake driver's own.
 *
 * A scene asserts what holds in spite of it.  After each run no memory and no file is left.
 */
#ifndef SHPOOL_TESTS_FAULTS_H
#define SHPOOL_TESTS_FAULTS_H

#include <stdatomic.h>

#include "tests/unit.h"

#define FAULT_ALL 0xffffffffu

typedef struct fault_scene {
    const char *name;
    const char *spec;       /* fault.spec while it is played */
    unsigned    least;      /* requests, at least */
    unsigned    pairs;      /* 0: alone, then with all later ones.  Else alone, then each `pairs`th
                             * with one of the next FAULT_FARTHEST requests */
    void (*begin)(void);
    void (*act)(void);      /* only here requests fail */
    void (*end)(void);
} fault_scene;

#define FAULT_FARTHEST 4u

extern struct fault {
    const char *spec;
    unsigned    at;         /* the first request that fails */
    unsigned    then;       /* requests after it, the second; 0: none; FAULT_ALL: each one */
    int         armed;      /* 0: requests neither fail nor count */
    atomic_uint count;      /* requests so far */
    atomic_uint struck;     /* those that failed */
} fault;

void fault_sweep(const fault_scene *scene);

/* Whether a call succeeded; if not, a request has failed. */
static inline int fault_fine(shpool_status status)
{
    if ((status != SHPOOL_OK) && (fault.struck == 0)) {
        fail_msg("%s: %s", shpool_strerror(status), shpool_last_error());
    }
    return status == SHPOOL_OK;
}

/* A call in which no request fails. */
static inline void fault_in_peace(void (*call)(void))
{
    const int armed = fault.armed;

    fault.armed = 0;
    call();
    fault.armed = armed;
}

/* For wrapped.c: whether a request is the scene's and fails; memory that it got, and returns. */
int   fault_refuses(void);
void *fault_note(void *ptr);
void  fault_forget(const void *ptr);

#endif /* SHPOOL_TESTS_FAULTS_H */
