/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: what is idle is brought together, and given back. */
#include "bins.h"

/* ---- from lanes to heaps ---- */

void bins_poll(bins_self *bins, bins_lane *lane)
{
    shpool_timeline *t = &lane->timeline;

    shpool_spin_lock(&t->lock);
    if (!shpool_timeline_is_done(t, t->seq)) {
        (void)shpool_timeline_chase(&bins->lanes, t);
    }
    shpool_spin_unlock(&t->lock);
}

static void move(bins_self *bins, bins_lane *lane, bins_block *block)
{
    bins_remove(&lane->cache, block);
    bins_heap_put(bins, block);
}

size_t bins_flush(bins_self *bins, bins_lane *lane, size_t least, int done_only)
{
    unsigned class = (least >= 256) ? bins_class(least) : 0;
    size_t moved = 0;

    shpool_spin_lock(&lane->timeline.lock);
    for (; (class = bins_next_class(&lane->cache, class)) < BINS_CLASSES; class++) {
        /* the oldest first, they are done first */
        bins_block *block = lane->cache.list[class].tail;

        while (block != NULL) {
            bins_block *younger = block->prev;

            if (done_only && !shpool_timeline_is_done(block->last, block->seq)) {
                break;
            }
            move(bins, lane, block);
            moved++;
            block = younger;
        }
    }
    shpool_spin_unlock(&lane->timeline.lock);
    return moved;
}

size_t bins_flush_all(bins_self *bins)
{
    size_t moved = 0;

    for (bins_lane *lane = bins_first_lane(bins); lane != NULL; lane = bins_next_lane(lane)) {
        bins_poll(bins, lane);
        moved += bins_flush(bins, lane, 0, 0);
    }
    return moved;
}

void bins_merge_all(bins_self *bins)
{
    (void)bins_flush_all(bins);
    bins_use_drain(bins, 1);
    bins_heap_merge(bins, &bins->heap[0]);
    bins_heap_merge(bins, &bins->heap[1]);
}

/* ---- trim ---- */

/* Idle bytes of the heaps that serve all. */
static uint64_t idle_bytes(bins_self *bins)
{
    uint64_t held = 0;
    uint64_t out = 0;
    uint64_t back = 0;

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(bins->heap); i++) {
        for (const bins_slab *slab = bins->heap[i].slabs; slab != NULL; slab = slab->next) {
            held += slab->driver_bytes;
        }
    }
    for (bins_lane *lane = bins_first_lane(bins); lane != NULL; lane = bins_next_lane(lane)) {
        shpool_spin_lock(&lane->timeline.lock);
        out += lane->malloc_bytes;
        back += lane->free_bytes;
        shpool_spin_unlock(&lane->timeline.lock);
    }
    /* read one after the other while others work: not a moment's truth */
    return (held + back > out) ? held + back - out : 0;
}

uint64_t bins_make_room(bins_self *bins, size_t need)
{
    bins_merge_all(bins);
    return bins_release(bins, need);
}

shpool_status bins_trim(void *self, size_t keep_bytes)
{
    bins_self *bins = self;
    uint64_t idle;
    int mode;
    shpool_status status = bins_capture_relax(bins, &mode);

    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_mutex_lock(&bins->lock);
    bins_merge_all(bins);
    idle = idle_bytes(bins);
    if (idle > keep_bytes) {
        (void)bins_release(bins, idle - keep_bytes);
    }
    shpool_mutex_unlock(&bins->lock);
    bins_capture_restore(bins, mode);
    return SHPOOL_OK;
}

void bins_keep_capacity(bins_self *bins)
{
    uint64_t capacity = atomic_load_explicit(&bins->capacity, memory_order_relaxed);
    uint64_t idle;

    shpool_mutex_lock(&bins->lock);
    idle = idle_bytes(bins);
    shpool_mutex_unlock(&bins->lock);
    if (idle > capacity) {
        (void)bins_trim(bins, (size_t)capacity);
    }
}

void bins_keep_hard(bins_self *bins)
{
    uint64_t hard = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    uint64_t idle;
    uint64_t over;

    shpool_mutex_lock(&bins->lock);
    idle = idle_bytes(bins);
    over = (bins->count.driver_bytes > hard) ? bins->count.driver_bytes - hard : 0;
    shpool_mutex_unlock(&bins->lock);
    if (over > 0) {
        (void)bins_trim(bins, (idle > over) ? (size_t)(idle - over) : 0);
    }
}
