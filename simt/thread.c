/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that runs, and the lock of its block: every call begins with these two. */
#include <sched.h>

#include "engine.h"

__thread simt_self_state *simt_self;

/* A spin lock, because pthread's would be happens-before edges for ThreadSanitizer. */
void simt_lock(simt_block *block)
{
    if (block->parallel) {
        while (__atomic_exchange_n(&block->lock, 1, __ATOMIC_ACQUIRE) != 0) {
            sched_yield();
        }
    }
}

void simt_unlock(simt_block *block)
{
    if (block->parallel) {
        __atomic_store_n(&block->lock, 0, __ATOMIC_RELEASE);
    }
}
