/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: blocks that are used by streams other than the one of their malloc and free.
 *
 * When such a block is freed, each of its users is marked; it stays in the list of pending blocks
 * until they have reached that point, or until a request without other memory lets its stream wait
 * for them.  Only requests that miss poll for it. (PyTorch's record_stream polls on every malloc.)
 */
#include "bins.h"

#include <stdlib.h>

#include "device/bins/vmm/vmm.h"

/* Pending blocks that a miss looks at. */
#define DRAIN_FEW 32u

/* ---- record_stream ---- */

static int is_named(const bins_block *block, const shpool_timeline *timeline)
{
    for (const bins_use *use = block->uses; use != NULL; use = use->next) {
        if ((use->timeline == timeline) && (use->incarnation == timeline->incarnation)) {
            return 1;
        }
    }
    return 0;
}

int bins_claim(bins_block *block, unsigned state, int wait)
{
    shpool_timeline *home = block->last;
    int claimed;

    if (home == NULL) {
        return 0;
    }
    if (wait) {
        shpool_spin_lock(&home->lock);
    } else if (!shpool_spin_try(&home->lock)) {
        return 0;
    }
    claimed = (bins_state(block) == BINS_LIVE);
    if (claimed) {
        bins_set_state(block, state);
    }
    shpool_spin_unlock(&home->lock);
    return claimed;
}

int bins_use_claim(bins_block *block)
{
    unsigned state = bins_state(block);

    return (state == BINS_LIVE_USED) || (state == BINS_LIVE_GRAPH) || /* under bins.lock only */
           bins_claim(block, BINS_LIVE_USED, 1);
}

static shpool_status not_live(const void *ptr)
{
    return shpool_error(SHPOOL_ERR_INVALID, "%p is not a live allocation of this allocator", ptr);
}

/* A stream that captures is known to the pool of its graph only. */
static shpool_status find_user(bins_self *bins, bins_block *block, shpool_stream user,
                               shpool_timeline **user_p)
{
    shpool_status status = SHPOOL_OK;

    *user_p = bins_graph_user(bins, block, user);
    if (*user_p == NULL) {
        status = shpool_timeline_lock(&bins->lanes, user, user_p);
    } else {
        shpool_spin_lock(&(*user_p)->lock);
    }
    return status;
}

static shpool_status add_use(bins_self *bins, bins_block *block, bins_use *use, shpool_stream user)
{
    shpool_timeline *t;
    int named;
    shpool_status status = find_user(bins, block, user, &t);

    if (status != SHPOOL_OK) {
        free(use);
        return status;
    }
    t->named = 1;
    *use = (bins_use){ .timeline = t, .incarnation = t->incarnation, .stream = t->stream };
    named = is_named(block, t);
    shpool_spin_unlock(&t->lock);
    if (named || !bins_use_claim(block)) {
        free(use);
        return named ? SHPOOL_OK : not_live(block->address);
    }
    use->next = block->uses;
    block->uses = use;
    return SHPOOL_OK;
}

shpool_status bins_use_add(bins_self *bins, bins_block *block, shpool_stream user)
{
    bins_use *use = calloc(1, sizeof(*use));

    return (use != NULL) ? add_use(bins, block, use, user)
                         : shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to note a stream");
}

shpool_status bins_record_stream(void *self, void *ptr, shpool_stream user)
{
    bins_self *bins = self;
    bins_block *block = bins_find(bins, ptr);
    unsigned state = (block != NULL) ? bins_state(block) : BINS_FREE;
    shpool_status status;

    if ((state != BINS_LIVE) && (state != BINS_LIVE_USED) && (state != BINS_LIVE_GRAPH)) {
        return not_live(ptr);
    }
    shpool_mutex_lock(&bins->lock); /* guards `uses` of live blocks */
    status = bins_use_add(bins, block, user);
    shpool_mutex_unlock(&bins->lock);
    return status;
}

/* ---- free ---- */

/* The number that has to be done before the use is.  now: record it now, if this thread may. */
static uint64_t mark(bins_self *bins, const bins_use *use, int now)
{
    shpool_timeline *t = use->timeline;
    uint64_t seq;

    shpool_spin_lock(&t->lock);
    if (t->gone) {
        seq = t->seq; /* retired: an event covers all that it did */
    } else if ((t->incarnation != use->incarnation) && (t->stream != use->stream)) {
        seq = 0; /* reused for another stream by now, so the original one has finished */
    } else {
        seq = shpool_timeline_mark(&bins->lanes, t);
        if ((now || !t->stable) && (t->thread == 0)) {
            shpool_timeline_record(&bins->lanes, t); /* later it may not exist, or capture */
        } else if (t->thread != 0) {
            shpool_timeline_want(&bins->lanes, t);
        }
    }
    shpool_spin_unlock(&t->lock);
    return seq;
}

void bins_use_mark(bins_self *bins, bins_block *block)
{
    for (bins_use *use = block->uses; use != NULL; use = use->next) {
        use->seq = mark(bins, use, block->slab->heap->graph != NULL);
    }
    block->prev = NULL;
    block->next = bins->pending.head;
    if (block->next != NULL) {
        block->next->prev = block;
    } else {
        bins->pending.tail = block;
    }
    bins->pending.head = block;
}

/* At the tail. */
static void link_oldest(bins_self *bins, bins_block *block)
{
    block->next = NULL;
    block->prev = bins->pending.tail;
    if (block->prev != NULL) {
        block->prev->next = block;
    } else {
        bins->pending.head = block;
    }
    bins->pending.tail = block;
}

static void unlink_pending(bins_self *bins, bins_block *block)
{
    if (block->prev != NULL) {
        block->prev->next = block->next;
    } else {
        bins->pending.head = block->next;
    }
    if (block->next != NULL) {
        block->next->prev = block->prev;
    } else {
        bins->pending.tail = block->prev;
    }
}

/* ---- reuse ---- */

static int is_finished(bins_self *bins, const bins_use *use)
{
    shpool_timeline *t = use->timeline;

    if (shpool_timeline_is_done(t, use->seq)) {
        return 1;
    }
    shpool_spin_lock(&t->lock);
    (void)shpool_timeline_chase(&bins->lanes, t);
    shpool_spin_unlock(&t->lock);
    return shpool_timeline_is_done(t, use->seq);
}

/* Forgets the uses that have finished; 1: that was all of them. */
static int drop_finished(bins_self *bins, bins_block *block)
{
    bins_use **at = &block->uses;

    while (*at != NULL) {
        bins_use *use = *at;

        if (is_finished(bins, use)) {
            *at = use->next;
            free(use);
        } else {
            at = &use->next;
        }
    }
    return block->uses == NULL;
}

static int is_finished_too(bins_self *bins, bins_block *block)
{
    if (!bins_is_done(block)) {
        bins_poll(bins, (bins_lane *)block->last);
    }
    return bins_is_done(block);
}

/* Blocks that the driver refuses are moved after the others, where a walk from the tail has already
 * been. */
static void retire(bins_self *bins, bins_block *block)
{
    if (!is_finished_too(bins, block)) {
        return;
    }
    unlink_pending(bins, block);
    if (!bins_slab_release(bins, block->slab)) {
        link_oldest(bins, block);
    }
}

void bins_use_settle(bins_self *bins, bins_block *block)
{
    if (!drop_finished(bins, block)) {
        return;
    }
    if (block->slab->exported) {
        retire(bins, block);
        return;
    }
    unlink_pending(bins, block);
    if (block->slab->heap->graph != NULL) {
        bins_graph_put(bins, block);
    } else {
        bins_put(bins, block);
    }
}

void bins_use_drain(bins_self *bins, int all)
{
    unsigned left = all ? UINT32_MAX : DRAIN_FEW;
    bins_block *block = bins->pending.tail;

    for (; (block != NULL) && (left > 0); left--) {
        bins_block *younger = block->prev;

        bins_use_settle(bins, block);
        block = younger;
    }
}

int bins_order(bins_self *bins, shpool_timeline *t, uint64_t seq, shpool_stream stream)
{
    int ordered;

    shpool_spin_lock(&t->lock);
    ordered = shpool_timeline_order(&bins->lanes, t, seq, stream);
    shpool_spin_unlock(&t->lock);
    return ordered;
}

/* Lets the stream wait for all users of the block.  A failure half-way leaves harmless waits. */
static int order_all(bins_self *bins, const bins_block *block, const shpool_timeline *timeline,
                     shpool_stream stream)
{
    for (const bins_use *use = block->uses; use != NULL; use = use->next) {
        if (!shpool_timeline_same(use->timeline, timeline) &&
            !bins_order(bins, use->timeline, use->seq, stream)) {
            return 0;
        }
    }
    return shpool_timeline_same(block->last, timeline) ||
           bins_order(bins, block->last, block->seq, stream);
}

bins_block *bins_use_wait(bins_self *bins, size_t need, shpool_timeline *timeline,
                          shpool_stream stream)
{
    int large = (need >= BINS_LARGE_BYTES);

    for (bins_block *block = bins->pending.tail; block != NULL; block = block->prev) {
        if ((block->bytes < need) || (block->slab->heap->large != large) ||
            block->slab->heap->windows || (block->slab->heap->graph != NULL) ||
            block->slab->exported || (bins_is_shared(bins, block->slab->heap) &&
                                      (block->class != bins_class(need))) ||
            !order_all(bins, block, timeline, stream)) {
            continue;
        }
        unlink_pending(bins, block);
        bins_use_forget(block);
        shpool_spin_lock(&timeline->lock);
        block->last = timeline; /* that is ordered after all of them now */
        block->seq = shpool_timeline_mark(&bins->lanes, timeline);
        shpool_spin_unlock(&timeline->lock);
        block->class = bins_class(block->bytes);
        bins_set_state(block, BINS_FREE);
        bins_push(&block->slab->heap->bins, block);
        return bins_cut(bins, block, need);
    }
    return NULL;
}
