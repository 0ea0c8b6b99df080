/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier, warp collectives and exit: which threads wait, which are released, and which waits can
 * never end.
 *
 * The same for all engines.  A call records in the thread what it waits for and leaves it either
 * RUNNING or in a waiting state; the engine's settle() waits.  The threads engine holds the block's
 * lock around these functions; with fibers there is nothing to lock.
 *
 * The rules here are stricter than those of some GPUs: a barrier needs every thread of the block,
 * at the same place; a collective every lane of its mask, at the same place. */
#include "engine.h"

static void wake(simt_block *block, simt_thread *thread)
{
    /* release: pairs with the acquire in the threads engine's settle(), publishes result */
    __atomic_store_n(&thread->state, SIMT_STATE_RUNNING, __ATOMIC_RELEASE);
    block->ops->wake(block, thread);
}

/* ---- barriers ---- */

static simt_meeting *meeting_of(const simt_thread *thread)
{
    return &thread->block->meeting[thread->self.cluster_rank];
}

/* The first thread of the caller's block. */
static simt_thread *block_of(const simt_thread *thread)
{
    return &thread->block->thread[thread->index - thread->self.rank];
}

/* Threads that a meeting need not wait for. */
static uint32_t leavers_of(const simt_block *block, const simt_meeting *meeting)
{
    return (block->launch.leavers != 0) ? meeting->exited : 0u;
}

/* Let all go that stand at a meeting's barrier; `closer`: runs already, or NULL. */
static void end_meeting(simt_block *block, simt_meeting *meeting, simt_thread *members,
                        simt_state state, simt_thread *closer)
{
    meeting->arrived = 0;
    meeting->join    = NULL;
    for (uint32_t i = 0; i < meeting->threads; i++) {
        if ((&members[i] != closer) && (members[i].state == (uint32_t)state)) {
            wake(block, &members[i]);
        }
    }
    if (closer != NULL) {
        closer->state = SIMT_STATE_RUNNING;
    }
}

/* `thread` arrives at the barrier of a meeting; `members`: the first of its threads. */
static void meet(simt_block *block, simt_thread *thread, simt_place place, simt_meeting *meeting,
                 simt_thread *members, simt_state state)
{
    simt_progress(block);
    thread->place = place;
    thread->state = state;
    if (meeting->arrived == 0) {
        meeting->join  = simt_join_new();
        meeting->first = place;
        meeting->mixed = 0;
    } else if (!simt_same_place(meeting->first, place)) {
        meeting->mixed = 1;
    }
    thread->join = meeting->join;
    simt_join_arrive(thread->join);
    meeting->arrived++;
    if ((meeting->arrived + leavers_of(block, meeting) < meeting->threads) || meeting->mixed) {
        return; /* threads that have exited never arrive: simt_sync_stuck() finds them */
    }
    end_meeting(block, meeting, members, state, thread);
}

void simt_sync_barrier(simt_block *block, simt_thread *thread, simt_place place)
{
    meet(block, thread, place, meeting_of(thread), block_of(thread), SIMT_STATE_BARRIER);
}

void simt_sync_cluster(simt_block *block, simt_thread *thread, simt_place place)
{
    meet(block, thread, place, &block->all, block->thread, SIMT_STATE_CLUSTER);
}

/* ---- warp collectives ---- */

/* The first thread of the caller's warp, and which of the 32 lanes exist. */
static simt_thread *warp_of(const simt_thread *thread, uint32_t *lanes_p)
{
    uint32_t first = thread->self.rank / SIMT_WARP * SIMT_WARP;
    uint32_t count = thread->self.threads - first;

    *lanes_p = (count >= SIMT_WARP) ? SIMT_ALL_LANES : ((1u << count) - 1u);
    return &block_of(thread)[first];
}

/* Let those go that are parked where `thread` is; it is among them.  `closer`: runs already. */
static void release_parked(simt_block *block, simt_thread *thread, simt_thread *closer)
{
    uint32_t     lanes;
    simt_thread *warp = warp_of(thread, &lanes);
    uint32_t     mask = 0;

    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1u) {
        uint32_t i = simt_ffs(rest) - 1u;

        if ((warp[i].state == SIMT_STATE_CONVERGED) &&
            simt_same_place(warp[i].place, thread->place)) {
            mask |= 1u << i;
        }
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1u) {
        warp[simt_ffs(rest) - 1u].result = mask;
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1u) {
        simt_thread *other = &warp[simt_ffs(rest) - 1u];

        if (other != closer) {
            wake(block, other);
        }
    }
    if (closer != NULL) {
        closer->state = SIMT_STATE_RUNNING;
    }
}

static int same_call(const simt_thread *a, const simt_thread *b)
{
    return (a->mask == b->mask) && (a->op == b->op) && simt_same_place(a->place, b->place);
}

/* Check the mask on its own; nonzero: it is wrong, and the block has failed. */
static int mask_is_bad(simt_block *block, simt_thread *thread, const simt_thread *warp,
                       uint32_t lanes)
{
    uint32_t    rank = thread->self.rank;
    const char *name = simt_collective_name(thread->op);
    const char *file = thread->place.file;
    int         line = thread->place.line;

    if ((thread->mask & (1u << (rank % SIMT_WARP))) == 0) {
        simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                         "divergence: %s at %s:%d: mask 0x%x does not name its caller, lane %u "
                         "(thread %u)", name, file, line, thread->mask, rank % SIMT_WARP, rank);
        return 1;
    }
    if ((thread->mask & ~lanes) != 0) {
        simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                         "divergence: %s at %s:%d: mask 0x%x of thread %u names lanes beyond the "
                         "block's %u threads (the warp has 0x%x)", name, file, line, thread->mask,
                         rank, block->each, lanes);
        return 1;
    }
    if ((thread->mask & warp->lanes.exited) != 0) {
        simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                         "divergence: %s at %s:%d: mask 0x%x of thread %u names thread %u, which "
                         "has exited", name, file, line, thread->mask, rank,
                         warp[simt_ffs(thread->mask & warp->lanes.exited) - 1u].self.rank);
        return 1;
    }
    return 0;
}

/* Who waits in the call that `thread` enters; `waiting`: the lanes of its mask that wait in any
 * call.  Mostly they all wait in this one, and the newest of them knows it. */
static uint32_t join_call(const simt_thread *warp, simt_thread *thread, uint32_t waiting)
{
    const simt_thread *newest = &warp[warp->lanes.newest];
    uint32_t           same   = 0;

    if ((((waiting >> warp->lanes.newest) & 1u) != 0) && (newest->together == waiting) &&
        same_call(newest, thread)) {
        thread->join = newest->join;
        return waiting;
    }
    for (uint32_t rest = waiting; rest != 0; rest &= rest - 1u) {
        uint32_t i = simt_ffs(rest) - 1u;

        if (same_call(&warp[i], thread)) {
            thread->join = warp[i].join;
            same        |= 1u << i;
        }
    }
    return same;
}

/* `thread` was the last to come: all lanes get their answers and continue. */
static void complete(simt_block *block, simt_thread *warp, simt_thread *thread)
{
    int      one   = simt_collective_is_common(thread->op);
    uint32_t first = one ? simt_collective_answer(warp, thread->self.rank % SIMT_WARP) : 0u;

    warp->lanes.waiting &= ~thread->mask;
    for (uint32_t rest = thread->mask; rest != 0; rest &= rest - 1u) {
        uint32_t i = simt_ffs(rest) - 1u;

        warp[i].result = one ? first : simt_collective_answer(warp, i);
    }
    for (uint32_t rest = thread->mask; rest != 0; rest &= rest - 1u) {
        simt_thread *other = &warp[simt_ffs(rest) - 1u];

        if (other != thread) {
            wake(block, other);
        }
    }
    thread->state = SIMT_STATE_RUNNING;
}

void simt_sync_collective(simt_block *block, simt_thread *thread, simt_place place)
{
    uint32_t     lanes;
    simt_thread *warp  = warp_of(thread, &lanes);
    uint32_t     lane  = thread->self.rank % SIMT_WARP;
    uint32_t     self  = 1u << lane;
    uint32_t     waiting;

    simt_progress(block);
    thread->place = place;
    if (thread->op == SIMT_OP_CONVERGED) {
        thread->state = SIMT_STATE_CONVERGED;
        if (block->ops->close(block, thread)) {
            release_parked(block, thread, thread);
        }
        return;
    }
    if (block->launch.leavers != 0) {
        thread->mask &= lanes & ~warp->lanes.exited;
    }
    if (mask_is_bad(block, thread, warp, lanes)) {
        return;
    }
    waiting          = thread->mask & warp->lanes.waiting;
    thread->together = join_call(warp, thread, waiting);
    for (uint32_t rest = waiting & ~thread->together; rest != 0; rest &= rest - 1u) {
        const simt_thread *other = &warp[simt_ffs(rest) - 1u];

        /* each waits for the other in another call: a certain deadlock.  Longer cycles are found
         * when no thread can run any more. */
        if ((other->mask & self) != 0) {
            thread->join  = NULL; /* it has not arrived there */
            thread->state = SIMT_STATE_COLLECTIVE;
            simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                             "divergence: threads %u and %u name each other in different calls",
                             other->self.rank, thread->self.rank);
            return;
        }
    }
    thread->together |= self;
    if (thread->op == SIMT_OP_SYNC) {
        if (thread->join == NULL) {
            thread->join = simt_join_new();
        }
        simt_join_arrive(thread->join);
    }
    thread->state = SIMT_STATE_COLLECTIVE;
    if (thread->together != thread->mask) {
        warp->lanes.waiting |= self;
        warp->lanes.newest   = lane;
        return;
    }
    complete(block, warp, thread);
}

/* ---- begin and exit ---- */

void simt_sync_begin(simt_thread *thread)
{
    meeting_of(thread)->begun = 1;
}

/* `thread` has exited: nobody waits for it any more. */
static void leave(simt_block *block, const simt_thread *thread, simt_thread *warp, uint32_t self)
{
    simt_meeting *meeting = meeting_of(thread);

    if ((meeting->arrived > 0) && !meeting->mixed &&
        (meeting->arrived + meeting->exited == meeting->threads)) {
        end_meeting(block, meeting, block_of(thread), SIMT_STATE_BARRIER, NULL);
    }
    for (uint32_t rest = warp->lanes.waiting; rest != 0; rest &= rest - 1u) {
        warp[simt_ffs(rest) - 1u].mask &= ~self;
    }
    /* the newest lane of a call knows who waits in it */
    for (uint32_t rest = warp->lanes.waiting; rest != 0; rest &= rest - 1u) {
        uint32_t     lane  = simt_ffs(rest) - 1u;
        simt_thread *other = &warp[lane];

        if ((((warp->lanes.waiting >> lane) & 1u) != 0) && (other->together == other->mask)) {
            complete(block, warp, other);
            wake(block, other);
        }
    }
}

void simt_sync_exit(simt_block *block, simt_thread *thread)
{
    uint32_t     lanes;
    simt_thread *warp = warp_of(thread, &lanes);
    uint32_t     self = 1u << (thread->self.rank % SIMT_WARP);

    simt_progress(block);
    thread->state       = SIMT_STATE_EXITED;
    warp->lanes.exited |= self;
    block->exited++;
    block->all.exited++;
    meeting_of(thread)->exited++;
    simt_async_exit(block, thread);
    if (block->launch.leavers != 0) {
        leave(block, thread, warp, self);
        return;
    }
    for (uint32_t rest = warp->lanes.waiting; rest != 0; rest &= rest - 1u) {
        const simt_thread *other = &warp[simt_ffs(rest) - 1u];

        if ((other->mask & self) != 0) {
            simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                             "divergence: %s at %s:%d: mask 0x%x of thread %u names thread %u, "
                             "which has exited", simt_collective_name(other->op),
                             other->place.file, other->place.line, other->mask, other->self.rank,
                             thread->self.rank);
            return;
        }
    }
}

/* ---- when nothing moves ---- */

/* The n-th group of simt_converged(), by its first thread; *count_p: how many there are. */
static simt_thread *parked_group(simt_block *block, uint32_t n, uint32_t *count_p)
{
    simt_thread *found = NULL;

    *count_p = 0;
    for (uint32_t i = 0; i < block->threads; i++) {
        simt_thread *thread = &block->thread[i];
        uint32_t     first  = i - thread->self.rank % SIMT_WARP;
        int          is_new = thread->state == SIMT_STATE_CONVERGED;

        for (uint32_t j = first; is_new && (j < i); j++) {
            is_new = (block->thread[j].state != SIMT_STATE_CONVERGED) ||
                     !simt_same_place(block->thread[j].place, thread->place);
        }
        if (is_new) {
            if (*count_p == n) {
                found = thread;
            }
            (*count_p)++;
        }
    }
    return found;
}

/* Add the reason why a meeting's barrier is impossible. */
static void look_at_meeting(const simt_meeting *meeting, uint32_t *short_p, uint32_t *mixed_p)
{
    *short_p |= (meeting->arrived > 0) && (meeting->exited > 0);
    *mixed_p |= (meeting->arrived > 0) && meeting->mixed;
}

int simt_sync_release(simt_block *block)
{
    uint32_t     groups;
    simt_thread *group  = parked_group(block, 0, &groups);
    uint32_t     copies = simt_async_waking(block);
    uint32_t     way    = (groups + copies > 1) ? block->ops->choose(block, groups + copies) : 0u;

    if (groups + copies == 0) {
        return 0;
    }
    if (way >= groups) {
        simt_async_land_waking(block, way - groups);
    } else {
        group = parked_group(block, way, &groups);
        release_parked(block, group, NULL);
    }
    return 1;
}

int simt_sync_stuck(simt_block *block)
{
    uint32_t waiting = 0; /* for a word */
    uint32_t missing = 0;
    uint32_t mixed   = 0;

    if (simt_sync_release(block)) {
        return 1;
    }
    for (uint32_t i = 0; i < block->threads; i++) {
        simt_thread *thread = &block->thread[i];

        waiting += thread->state == SIMT_STATE_WAIT;
        if ((thread->state == SIMT_STATE_WAIT) && (thread->brief != 0)) {
            __atomic_store_n(&thread->paused, 1u, __ATOMIC_RELAXED);
            return 1;
        }
    }
    look_at_meeting(&block->all, &missing, &mixed);
    for (uint32_t i = 0; i < block->cluster; i++) {
        look_at_meeting(&block->meeting[i], &missing, &mixed);
    }
    if (missing) {
        simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                         "divergence: a barrier that threads which have exited cannot reach");
    } else if (mixed) {
        simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                         "divergence: threads stand at different barriers");
    } else if (waiting == 0) {
        simt_fail_listed(block, SHPOOL_ERR_DIVERGENCE,
                         "divergence: threads wait for each other in different calls");
    } else {
        simt_fail_listed(block, SHPOOL_ERR_DEADLOCK, "deadlock: no thread can go on");
    }
    return 0;
}
