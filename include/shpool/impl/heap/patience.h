/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded waits of check=1.  Not for direct inclusion.
 *
 * If a stray write changes a lock, or a count of active threads, it is never released.  Before a
 * module waits for such a word, check=1 waits here until it has seen the word at rest, or until the
 * word has not changed and no call of the block has ended for longer than any call takes. */
#ifndef SHPOOL_IMPL_PATIENCE_H
#define SHPOOL_IMPL_PATIENCE_H

#include <shpool/impl/report/area.h>

#define SHPOOL_STUCK 0x80000000u /* marks the word, so that later calls need not wait again */

/* Number of requests of the block that have ended. */
SIMT_FN uint32_t shpool_patience_calls(simt_addr area)
{
    return simt_atomic_load(area + SHPOOL_AREA_MALLOCS, SIMT_RELAXED) +
           simt_atomic_load(area + SHPOOL_AREA_FREES, SIMT_RELAXED);
}

/* Nonzero if `bits` of the word at `a` stay set forever; the word at `mark` is then marked STUCK.
 * Relaxed accesses, visible to the whole cluster: nothing here acquires a lock. */
SIMT_FN_NOINLINE uint32_t shpool_patience_ends(simt_addr area, simt_addr a, uint32_t bits,
                                               simt_addr mark)
{
    uint32_t left  = SIMT_PATIENCE;
    uint32_t calls = 0;

    SIMT_ROLLED
    for (;;) {
        uint32_t marked = simt_cluster_atomic_load(mark, SIMT_RELAXED);
        uint32_t seen   = simt_cluster_atomic_load(a, SIMT_RELAXED);
        uint32_t now    = shpool_patience_calls(area);

        if ((marked & SHPOOL_STUCK) != 0) {
            return 1;
        }
        if ((seen & bits) == 0) {
            return 0;
        }
        left  = (now == calls) ? left : SIMT_PATIENCE;
        calls = now;
        if (left == 0) { /* unless it has changed after all */
            (void)simt_cluster_atomic_cas(mark, marked, marked | SHPOOL_STUCK, SIMT_RELAXED);
        } else if (simt_wait_briefly(a, seen)) {
            left--;
        }
    }
}

/* The same, if threads share the pool; otherwise 0. */
SIMT_FN uint32_t shpool_is_stuck(shpool_view view, simt_addr a, uint32_t bits, simt_addr mark)
{
    return ((view.flags & SHPOOL_FLAG_SHARED) != 0) &&
           shpool_patience_ends(view.area, a, bits, mark);
}

/* The guard of a pool whose lock lies at `offset`. */
SIMT_FN shpool_walk shpool_lock_guard(shpool_view view, uint32_t offset)
{
    shpool_walk     walk = {0, 0, 0, 0};
    const simt_addr lock = view.base + offset;

    if ((view.word[0] != 0) && shpool_is_stuck(view, lock, ~0u, lock)) {
        walk.broken = SHPOOL_BROKEN_LOCK;
        walk.where  = lock;
    }
    return walk;
}

#endif /* SHPOOL_IMPL_PATIENCE_H */
