/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: merges idle memory and returns it. */
#include "bins.h"

#include "device/bins/vmm/vmm.h"

/* Blocks of the small heap that wait in a lane are old if this number of frees on the lane came
 * after theirs.  They are merged for the sake of large requests only if they are this part of the
 * reserved bytes, because in a program that repeats its requests they will be needed again.
 * Smaller ones stay where they are: thousands of them would have to be looked at for a granule. */
#define OLD_FREES 1024u
#define OLD_PART  64u
#define OLD_LEAST 65536u

/* ---- from lanes to heaps ---- */

/* The next class of a lane that may have blocks of the large heap, guests among them. */
static unsigned next_large_class(const bins_self *bins, const bins_lane *lane, unsigned class)
{
    while (((class = bins_next_class(&lane->cache, class)) < bins_class(BINS_LARGE_BYTES)) &&
           (bins->guests[bins_guest_class(class)] == 0)) {
        class++;
    }
    return class;
}

/* Out of a lane, as a chain with the oldest first, because they are done first.  least: 0, or only
 * blocks of the large heap of this size. */
static bins_block *take_cached(const bins_self *bins, bins_lane *lane, size_t least, int done_only)
{
    unsigned class = (least > 0) ? bins_class(least) : 0;
    bins_block *first = NULL;
    bins_block **end = &first;

    shpool_spin_lock(&lane->timeline.lock);
    for (;; class++) {
        bins_block *block;

        class = (least > 0) ? next_large_class(bins, lane, class)
                            : bins_next_class(&lane->cache, class);
        if (class == BINS_CLASSES) {
            break;
        }
        block = lane->cache.list[class].tail;
        while ((block != NULL) &&
               (!done_only || shpool_timeline_is_done(block->last, block->seq))) {
            bins_block *younger = block->prev;

            if ((least == 0) || block->slab->heap->large) {
                bins_remove(&lane->cache, block);
                *end = block;
                end = &block->next;
            }
            block = younger;
        }
    }
    *end = NULL;
    shpool_spin_unlock(&lane->timeline.lock);
    return first;
}

/* A number of the stream's first timeline that comes after all frees so far; 0: the stream is gone,
 * or this thread may not record there.  Blocks of all lanes that have such numbers can be
 * merged. */
static uint64_t common_number(bins_self *bins, shpool_timeline *home)
{
    uint64_t seq;

    shpool_spin_lock(&home->lock);
    seq = shpool_timeline_may_record(home) ? shpool_timeline_mark(&bins->lanes, home) : 0;
    shpool_spin_unlock(&home->lock);
    return seq;
}

size_t bins_flush(bins_self *bins, bins_lane *lane, size_t least, int done_only)
{
    bins_block *block = take_cached(bins, lane, least, done_only);
    shpool_timeline *home = lane->timeline.home;
    uint64_t seq = ((block != NULL) && !done_only && (home != &lane->timeline))
                       ? common_number(bins, home) : 0;
    size_t moved = 0;

    while (block != NULL) {
        bins_block *next = block->next;

        if ((seq > 0) && !bins_is_done(block)) {
            block->last = home;
            block->seq = seq;
        }
        bins_put(bins, block);
        moved++;
        block = next;
    }
    return moved;
}

/* 1: a block that was freed long ago, of the small heap: the caller has found a place for its
 * request in the large heap, whose blocks must therefore stay as they are. */
static int is_old(const bins_lane *lane, const bins_block *block)
{
    return !block->slab->heap->large && (block->seq + OLD_FREES <= lane->timeline.seq);
}

static uint64_t old_bytes(const bins_lane *lane)
{
    const unsigned end = bins_class(BINS_LARGE_BYTES);
    unsigned class = bins_class(OLD_LEAST);
    uint64_t bytes = 0;

    for (; (class = bins_next_class(&lane->cache, class)) < end; class++) {
        for (const bins_block *b = lane->cache.list[class].head; b != NULL; b = b->next) {
            bytes += is_old(lane, b) ? b->bytes : 0;
        }
    }
    return bytes;
}

static bins_block *take_old(bins_lane *lane)
{
    const unsigned end = bins_class(BINS_LARGE_BYTES);
    unsigned class = bins_class(OLD_LEAST);
    bins_block *first = NULL;

    for (; (class = bins_next_class(&lane->cache, class)) < end; class++) {
        for (bins_block *b = lane->cache.list[class].head, *next; b != NULL; b = next) {
            next = b->next;
            if (is_old(lane, b)) {
                bins_remove(&lane->cache, b);
                b->next = first;
                first = b;
            }
        }
    }
    return first;
}

/* The same if they are many bytes.  A look in vain is not repeated until OLD_FREES later, when all
 * blocks that were there are old. */
static bins_block *take_old_if_many(const bins_self *bins, bins_lane *lane)
{
    if (lane->timeline.seq < lane->looked + OLD_FREES) {
        return NULL;
    }
    if (old_bytes(lane) < bins->count.driver_bytes / OLD_PART) {
        lane->looked = lane->timeline.seq;
        return NULL;
    }
    return take_old(lane);
}

int bins_flush_old(bins_self *bins, bins_lane *lane)
{
    bins_block *block;
    int moved;

    shpool_spin_lock(&lane->timeline.lock);
    block = take_old_if_many(bins, lane);
    shpool_spin_unlock(&lane->timeline.lock);
    moved = (block != NULL);
    while (block != NULL) {
        bins_block *next = block->next;

        bins_put(bins, block);
        block = next;
    }
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
    for (unsigned i = 0; i < BINS_HEAPS; i++) {
        bins_heap_merge(bins, &bins->heap[i]);
    }
}

/* ---- trim ---- */

uint64_t bins_make_room(bins_self *bins, size_t need)
{
    bins_merge_all(bins);
    return bins_release(bins, need);
}

/* The driver waits for the device when a slab is freed, but not when a granule is unmapped.
 * Earlier refusals are retried even if nothing is wanted. */
static void release(bins_self *bins, uint64_t wanted)
{
    uint64_t held = bins->count.driver_bytes;
    uint64_t given = bins_release(bins, wanted);

    if ((given < wanted) && (bins->granules.bytes > 0) &&
        (bins_range_is_busy(bins) || bins_share_is_busy(bins)) &&
        (shpool_timelines_sync(&bins->lanes) == SHPOOL_OK)) {
        bins_merge_all(bins); /* this also returns exported memory */
        given = held - bins->count.driver_bytes;
        (void)((given < wanted) ? bins_release(bins, wanted - given) : 0);
    }
}

shpool_status bins_trim(void *self, size_t keep_bytes)
{
    bins_self *bins = self;
    uint64_t idle;

    shpool_device_hold();
    shpool_mutex_lock(&bins->lock);
    bins_merge_all(bins);
    idle = bins_idle_bytes(bins);
    release(bins, (idle > keep_bytes) ? idle - keep_bytes : 0);
    bins->live_most = 0;
    shpool_mutex_unlock(&bins->lock);
    shpool_device_restore(bins->lanes.device);
    return SHPOOL_OK;
}

void bins_keep_capacity(bins_self *bins)
{
    uint64_t capacity = atomic_load_explicit(&bins->capacity, memory_order_relaxed);
    uint64_t idle;

    shpool_mutex_lock(&bins->lock);
    idle = bins_idle_bytes(bins);
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
    idle = bins_idle_bytes(bins);
    over = (bins->count.driver_bytes > hard) ? bins->count.driver_bytes - hard : 0;
    shpool_mutex_unlock(&bins->lock);
    if (over > 0) {
        (void)bins_trim(bins, (idle > over) ? (size_t)(idle - over) : 0);
    }
}
