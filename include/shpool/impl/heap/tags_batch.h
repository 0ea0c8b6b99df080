/* SPDX-License-Identifier: BSD-3-Clause */
/* Boundary-tag pools of a group, whose lanes are served together.  Not for direct inclusion.
 *
 * A pool with a lock serves one thread at a time, and 32 lanes of a warp would acquire the lock 32
 * times.  Therefore the lanes that call together for one pool form a batch.  One of them, the
 * leader, acquires the lock for all, if the result is the same as one after another:
 *
 *   malloc  All lanes request the same size, and the block that the policy chooses for one of them
 *           can hold all: one search serves the batch, and each lane cuts its own piece.
 *   free    The pieces are adjacent, from the first lane's down, as such a malloc leaves them: they
 *           are freed as one.
 *
 * Otherwise each lane is served alone, through group_lock.h.  A pool's blocks thus do not
 * depend on which lanes happen to call together.
 *
 * Everything under the lock is inside the loop that acquires it (group_lock.h explains why);
 * the leader tries the lock once per round; no lane waits for another batch while it has a lock. */
#ifndef SHPOOL_IMPL_TAGS_BATCH_H
#define SHPOOL_IMPL_TAGS_BATCH_H

#include <shpool/impl/heap/boundary_tags.h>
#include <shpool/impl/heap/group_lock.h>

/* A batch is a mask of lanes: simt_match_any(here, base).  `here` is the result of simt_converged()
 * in malloc or free itself, because lanes in different calls are not converged.  Votes use `here`
 * instead of the batch where possible: a mask common to all lanes costs the GPU less. */

/* The highest lane, whose piece is the first in memory. */
SIMT_FN uint32_t shpool_batch_leader(uint32_t lanes) { return 31u - simt_clz(lanes); }

/* The nearest lane of the batch above this one; this one itself if there is none. */
SIMT_FN uint32_t shpool_batch_above(uint32_t lanes)
{
    uint32_t lane = simt_lane();
    uint32_t rest = lanes & simt_mask(lane + 1u, 32u);

    return (rest != 0) ? simt_ffs(rest) - 1u : lane;
}

/* Whether the batch got the lock; the leader tries. */
SIMT_FN uint32_t shpool_batch_lock(simt_addr base, uint32_t lanes)
{
    uint32_t got = 0;

    if (simt_lane() == shpool_batch_leader(lanes)) {
        got = (shpool_lock_try(base + SHPOOL_POOL_LOCK, 1) == 0);
    }
    got = simt_shfl(lanes, got, shpool_batch_leader(lanes));
    simt_warp_sync(lanes); /* orders the others after what the leader acquired */
    return got;
}

SIMT_FN void shpool_batch_unlock(simt_addr base, uint32_t lanes)
{
    simt_warp_sync(lanes); /* what the others changed comes before the release */
    if (simt_lane() == shpool_batch_leader(lanes)) {
        /* release: pairs with the acquire in shpool_lock_try */
        simt_atomic_store(base + SHPOOL_POOL_LOCK, 0, SIMT_RELEASE);
    }
}

/* ---- malloc ---- */

/* Cut this lane's piece of `need` granules out of the block that ends at `end`; the first lane gets
 * the last piece. */
SIMT_FN simt_addr shpool_batch_cut(simt_addr base, uint32_t lanes, uint32_t need, uint32_t end)
{
    shpool_view view  = {base, 0, 0, 0, {0, 0}, 0};
    uint32_t    below = simt_popc(lanes & simt_mask(0, simt_lane()));
    uint32_t    block = end - need * (below + 1u);
    uint32_t    front = need;

    if (simt_lane() == shpool_batch_leader(lanes)) { /* the part before it is unchanged */
        front = shpool_tags_before(shpool_tags_header(view, block));
    }
    shpool_tags_set_header(view, block, SHPOOL_TAGS_USED, need, front);
    if (below == 0) {
        shpool_tags_set_before(view, end, need);
    }
    return shpool_tags_payload(view, block);
}

/* One search for all lanes; 0: they must be served one by one. */
SIMT_FN simt_addr shpool_batch_malloc(shpool_view view, uint32_t want, uint32_t best)
{
    const simt_addr base = view.base;
    uint32_t  here    = simt_converged();
    uint32_t  lanes   = simt_match_any(here, base);
    uint32_t  leader  = shpool_batch_leader(lanes);
    uint32_t  alike   = simt_ballot(here, simt_shfl(here, want, leader) == want);
    uint32_t  waiting = ((lanes & ~alike) == 0) && ((lanes & (lanes - 1u)) != 0) &&
                       (view.word[0] != 0) && ((want >> 16) == SHPOOL_MIN_ALIGNMENT >> 4);
    simt_addr addr    = 0;

    while (waiting != 0) {
        if (shpool_batch_lock(base, lanes)) {
            uint32_t all = (want & 0xffffu) * simt_popc(lanes);

            if (simt_lane() == leader) {
                addr = shpool_tags_take(shpool_lock_view(simt_keep(base)), want, all, best);
            }
            addr = simt_shfl(lanes, addr, leader);
            simt_warp_sync(lanes); /* the leader's headers come before the cuts */
            if (addr != 0) {
                addr = shpool_batch_cut(base, lanes, want & 0xffffu, ((addr - base) >> 4) + all);
            }
            shpool_batch_unlock(base, lanes);
            waiting = simt_pin(0); /* the compiler must not know that this leaves the loop */
        }
    }
    return addr;
}

/* ---- free ---- */

/* Under the lock: if the lanes' blocks are one run, free it.  Returns whether they are. */
SIMT_FN uint32_t shpool_batch_give(shpool_view view, uint32_t lanes, simt_addr addr)
{
    uint32_t leader = shpool_batch_leader(lanes);
    uint32_t block  = shpool_tags_block(view, addr);
    uint32_t header = (block != 0) ? shpool_tags_header(view, block) : 0u;
    uint32_t end    = ((header & SHPOOL_TAGS_USED) != 0) ? block + shpool_tags_size(header) : 0u;
    uint32_t front  = simt_shfl(lanes, end, shpool_batch_above(lanes));
    uint32_t is_run = (uint32_t)simt_all(lanes, (end != 0) &&
                                                    ((front == block) || (simt_lane() == leader)));
    uint32_t gives;

    end   = simt_shfl(lanes, end, simt_ffs(lanes) - 1u);
    gives = simt_pin(is_run & (uint32_t)(simt_lane() == leader));
    if (gives != 0) {
        shpool_tags_give(view, block, end - block, shpool_tags_before(header));
    } else if (is_run) {
        shpool_tags_set_header(view, block, 0, 0, 0); /* or a second free would find it used */
    }
    return is_run;
}

/* One free for all lanes; 0: they must be served one by one. */
SIMT_FN uint32_t shpool_batch_free(shpool_view view, simt_addr addr)
{
    const simt_addr base = view.base;
    uint32_t  here  = simt_converged();
    uint32_t  lanes = simt_match_any(here, base);
    simt_addr front = simt_shfl(here, addr, shpool_batch_above(lanes));
    /* a check without the lock: most batches that are not a run end here */
    uint32_t  falls = simt_ballot(here, (front < addr) ||
                                            (simt_lane() == shpool_batch_leader(lanes)));
    uint32_t  done  = 0;
    uint32_t  waiting = ((lanes & ~falls) == 0) && ((lanes & (lanes - 1u)) != 0) &&
                       (view.word[0] != 0);

    while (waiting != 0) {
        if (shpool_batch_lock(base, lanes)) {
            done = shpool_batch_give(shpool_lock_view(simt_keep(base)), lanes, addr);
            shpool_batch_unlock(base, lanes);
            waiting = simt_pin(0);
        }
    }
    return done;
}

/* The functions of an allocator NAME whose groups share a pool. */
#define SHPOOL_BATCH_MODULE(_name, _best) \
    SIMT_FN simt_addr shpool_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                              uint32_t alignment, uint32_t site) \
    { \
        uint32_t  want = simt_keep(shpool_tags_want(bytes, alignment)); \
        simt_addr addr = shpool_batch_malloc(view, want, _best); \
        (void)site; \
        if (addr == 0) { \
            SHPOOL_LOCKED(addr, shpool_tags_malloc(view, want, _best), want = 0) \
        } \
        return addr; \
    } \
    SIMT_FN uint32_t shpool_##_name##_free(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        uint32_t reason = SHPOOL_FREE_FOREIGN; \
        uint32_t want   = addr; \
        (void)site; \
        if (shpool_batch_free(view, want)) { \
            return SHPOOL_FREE_OK; \
        } \
        SHPOOL_LOCKED(reason, shpool_tags_free(view, want), want = 0) \
        return reason; \
    } \
    SHPOOL_LOCKED_REST(_name, shpool_tags)

#endif /* SHPOOL_IMPL_TAGS_BATCH_H */
