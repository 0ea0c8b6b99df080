/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of tickets: one pool, for whose memory all threads of the block wait. */
#ifndef SHPOOL_TESTS_WAIT_TRIAL_H
#define SHPOOL_TESTS_WAIT_TRIAL_H

#include "group_trial.h"

#include <shpool/wait.h>

#define FOR_EVER 10000000u /* attempts */

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

#define FOR_EACH_SHARED(_allocator)                                                                \
    FOR_EACH_POOL(_allocator)                                                                      \
        if (_allocator->scope != SHPOOL_SCOPE_THREAD)

/* Lanes that are served together wait for each other in simt_converged(): the executor leaves them
 * there while others sleep several times, and they have many more schedules. */
static inline int is_batched(const shpool_allocator *allocator)
{
    return strncmp(allocator->name, "warp_", 5) == 0;
}

/* At least `each` bytes, and 16 bytes after the pool. */
static inline void open_shared(trial *t, const shpool_allocator *allocator, const char *options,
                               uint32_t threads, uint32_t each)
{
    shpool_config want = { .block_threads = threads, .threads_per_pool = threads,
                           .payload_bytes = each };
    char          spec[64];

    memset(t, 0, sizeof(*t));
    heap_model_reset(&t->model);
    t->allocator = allocator;
    (void)snprintf(spec, sizeof(spec), "%s%s", allocator->name, options);
    assert_int_equal(shpool_simt_open(spec, &want, &t->pool), SHPOOL_OK);
    assert_int_equal(t->pool.pools, 1);
    t->launch.block[0]      = threads;
    t->launch.dynamic_bytes = t->pool.shared_bytes + 16u;
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
