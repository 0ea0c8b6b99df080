/* SPDX-License-Identifier: BSD-3-Clause */
/* Happens-before edges for ThreadSanitizer.
 *
 * The engines hide their own synchronisation from it (fibers switch without an edge; the lock of
 * the threads engine spins in code that is not instrumented), so that the only edges are those that
 * simt.h guarantees: barrier, simt_warp_sync, start and end of a run.
 *
 * Each meeting has its own object.  One object for all of them would be too strong: a slow thread,
 * leaving the first meeting, would acquire what a fast one released at the second.  free() makes
 * ThreadSanitizer forget the object, so that a later one at the same address starts afresh. */
#include <stdint.h>
#include <stdlib.h>

#include "join.h"

extern void __tsan_acquire(void *addr) __attribute__((weak));
extern void __tsan_release(void *addr) __attribute__((weak));
/* check/order.c has these functions, too, and must be told where an object ends. */
extern void shpool_check_forget(void *addr) __attribute__((weak));

struct simt_join {
    uint32_t users;
};

void simt_order_release(void *address)
{
    if (__tsan_release != NULL) {
        __tsan_release(address);
    }
}

void simt_order_acquire(void *address)
{
    if (__tsan_acquire != NULL) {
        __tsan_acquire(address);
    }
}

simt_join *simt_join_new(void)
{
    if (__tsan_acquire == NULL) {
        return NULL;
    }
    /* out of memory: one edge is missing, at worst a false report */
    return calloc(1, sizeof(simt_join));
}

void simt_join_arrive(simt_join *join)
{
    if (join != NULL) {
        __atomic_fetch_add(&join->users, 1, __ATOMIC_RELAXED);
        simt_order_release(join);
    }
}

void simt_join_drop(simt_join *join)
{
    if ((join != NULL) && (__atomic_fetch_sub(&join->users, 1, __ATOMIC_ACQ_REL) == 1)) {
        if (shpool_check_forget != NULL) {
            shpool_check_forget(join);
        }
        free(join);
    }
}

void simt_join_depart(simt_join *join)
{
    if (join != NULL) {
        simt_order_acquire(join);
        simt_join_drop(join);
    }
}
