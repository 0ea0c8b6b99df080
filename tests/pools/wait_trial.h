/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of tickets: all threads of the block wait for the memory of one pool. */
#ifndef SHPOOL_TESTS_WAIT_TRIAL_H
#define SHPOOL_TESTS_WAIT_TRIAL_H

#include "group_trial.h"

#include <shpool/wait.h>

#define FOR_EVER 10000000u /* attempts */

/* As a group, or as a thread if lanes is 0. */
static inline void *wait_for(shpool_heap heap, uint32_t lanes, size_t bytes, uint32_t attempts)
{
    return (lanes == 0) ? shpool_malloc_wait(heap, bytes, attempts)
                        : shpool_malloc_wait_lanes(heap, lanes, bytes, attempts);
}

static inline void give(shpool_heap heap, uint32_t lanes, void *ptr)
{
    if (lanes == 0) {
        EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    } else {
        shpool_free_lanes(heap, lanes, ptr);
    }
}

static inline uint32_t is_first(uint32_t lanes)
{
    return (lanes == 0) || (simt_lane() == shpool_first_lane(lanes));
}

/* Word i of the queue: tickets drawn, tickets ended, and the ticket that was tried in vain. */
static inline uint32_t word_of(shpool_heap heap, uint32_t i)
{
    return simt_atomic_load(shpool_waiters(heap.view) + 4u * i, SIMT_RELAXED);
}

static inline uint32_t nobody_waits(shpool_heap heap)
{
    return (word_of(heap, 0) == word_of(heap, 1)) && (word_of(heap, 2) == 0);
}

#endif /* SHPOOL_TESTS_WAIT_TRIAL_H */
