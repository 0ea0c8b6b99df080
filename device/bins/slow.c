/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: the slow path, when the lane has no suitable block.
 *
 * It tries, in this order: blocks of the size that other threads freed on this stream; one of the
 * stream that gave the latest block, if this stream has freed nothing since; other blocks that this
 * stream may use immediately; blocks that other streams have finished with; new memory; blocks that
 * other streams have not finished with, by a wait on the device.  The first two need no bins.lock.
 * If the driver refuses, it merges everything, returns idle slabs and, at the end,
 * lets the host wait for the device.  New memory comes before waits because waits remove the
 * concurrency of streams; option `soft` sets the limit.
 */
#include "bins.h"

#include "device/base/nvtx.h"
#include "device/bins/vmm/vmm.h"

/* Blocks that are looked at in each bin, small and large ones, and if there is reason to look
 * longer. */
#define DEPTH_SMALL 8u
#define DEPTH_LARGE 64u
#define DEPTH_LAST  1024u

typedef struct request {
    bins_self *bins;
    bins_heap *heap;
    bins_lane *lane;
    shpool_stream stream;
    size_t need;
    shpool_status refused; /* SHPOOL_OK, or why new memory was not to be had */
} request;

static bins_block *take(const request *r, bins_which which, unsigned depth)
{
    return bins_heap_take(r->bins, r->heap, r->need, &r->lane->timeline, which, depth);
}

static unsigned depth_first(const request *r)
{
    return r->heap->large ? DEPTH_LARGE : DEPTH_SMALL;
}

/* ---- this stream's own ---- */

/* How many numbers the lanes of the stream have: one, as a rule. */
static unsigned siblings(const bins_lane *lane)
{
    /* acquire: pairs with the release in timeline.c, after the first of the others was made */
    return atomic_load_explicit(&lane->timeline.home->sharded, memory_order_acquire)
               ? SHPOOL_TIMELINE_SHARDS : 1;
}

/* The stream's lane by number, other than that of the request; NULL: there is none. */
static bins_lane *sibling(const bins_lane *lane, unsigned which)
{
    shpool_timeline *home = lane->timeline.home;
    /* acquire: pairs with the release in timeline.c, after it was initialised */
    shpool_timeline *t = (which == 0)
                             ? home
                             : atomic_load_explicit(&home->shard[which], memory_order_acquire);

    return (t != &lane->timeline) ? (bins_lane *)t : NULL;
}

/* All lanes of the stream: other threads' memory is this one's, too. */
static size_t flush_own(const request *r, size_t least)
{
    size_t moved = bins_flush(r->bins, r->lane, least, 0);

    for (unsigned i = 0, count = siblings(r->lane); i < count; i++) {
        bins_lane *lane = sibling(r->lane, i);

        moved += (lane != NULL) ? bins_flush(r->bins, lane, least, 0) : 0;
    }
    return moved;
}

/* Without bins.lock: a block of the very class from another lane of the stream. */
static bins_block *take_sibling(bins_lane *from, size_t need, shpool_timeline *timeline)
{
    bins_block *block;

    shpool_spin_lock(&from->timeline.lock);
    block = from->cache.list[bins_class(need)].head;
    block = ((block != NULL) && (block->bytes >= need)) ? block : NULL;
    if (block != NULL) {
        bins_remove(&from->cache, block);
        from->mallocs++;
        from->malloc_bytes += block->bytes;
        block->last = timeline;
        bins_set_state(block, BINS_LIVE);
    }
    shpool_spin_unlock(&from->timeline.lock);
    return block;
}

static bins_block *take_siblings(bins_lane *lane, size_t need)
{
    unsigned count = siblings(lane);
    bins_block *block = NULL;

    for (unsigned i = 0; (block == NULL) && (i < count); i++) {
        bins_lane *from = sibling(lane, i);

        block = (from != NULL) ? take_sibling(from, need, &lane->timeline) : NULL;
    }
    return block;
}

static bins_block *take_own(const request *r)
{
    bins_block *block;

    /* a large block that is cut while its neighbours wait in the lane is hard to put together */
    if (r->heap->large) {
        (void)flush_own(r, bins_has_ranges(r->bins, r->heap) ? BINS_GUEST_LEAST
                                                             : BINS_LARGE_BYTES);
        return take(r, BINS_USABLE, depth_first(r));
    }
    block = take(r, BINS_USABLE, depth_first(r));
    if ((block == NULL) && (flush_own(r, 0) > 0)) {
        block = take(r, BINS_USABLE, depth_first(r));
    }
    return block;
}

/* ---- other streams', finished ---- */

/* The oldest block of the very class in another lane, which is locked, if it is done. */
static bins_block *take_done_locked(bins_self *bins, bins_lane *lane, size_t need)
{
    bins_block *block = lane->cache.list[bins_class(need)].tail;

    if ((block == NULL) || (block->bytes < need)) {
        return NULL;
    }
    if (!shpool_timeline_is_done(&lane->timeline, block->seq)) {
        (void)shpool_timeline_chase(&bins->lanes, &lane->timeline);
        if (!shpool_timeline_is_done(&lane->timeline, block->seq)) {
            return NULL;
        }
    }
    bins_remove(&lane->cache, block);
    return block;
}

static bins_block *take_done_from(const request *r, bins_lane *lane)
{
    bins_block *block;

    shpool_spin_lock(&lane->timeline.lock);
    block = take_done_locked(r->bins, lane, r->need);
    shpool_spin_unlock(&lane->timeline.lock);
    if (block != NULL) {
        atomic_store_explicit(&r->lane->giver_class, bins_class(r->need), memory_order_relaxed);
        atomic_store_explicit(&r->lane->giver, lane, memory_order_relaxed);
    }
    return block;
}

/* Without bins.lock: the same from the lane that gave the latest one.  A stream with several lanes
 * does not do this: its own memory is first, and a free on another lane does not change this one's
 * giver. */
static bins_block *take_given(bins_self *bins, bins_lane *lane, size_t need)
{
    bins_lane *from = atomic_load_explicit(&lane->giver, memory_order_relaxed);
    bins_block *block;

    if ((from == NULL) || (siblings(lane) > 1) ||
        (atomic_load_explicit(&lane->giver_class, memory_order_relaxed) != bins_class(need))) {
        return NULL;
    }
    shpool_spin_lock(&from->timeline.lock);
    block = take_done_locked(bins, from, need);
    if (block != NULL) { /* counted here: only sums over all lanes have a meaning */
        from->given++;
        from->mallocs++;
        from->malloc_bytes += block->bytes;
        bins_set_last(block, &lane->timeline);
        bins_set_state(block, BINS_LIVE);
    }
    shpool_spin_unlock(&from->timeline.lock);
    return block;
}

static bins_block *take_done(const request *r)
{
    bins_block *block = NULL;
    bins_lane *l = bins_first_lane(r->bins);

    if (r->bins->reuse == BINS_REUSE_SAME) {
        return NULL;
    }
    for (; (l != NULL) && (block == NULL); l = bins_next_lane(l)) {
        if (l != r->lane) {
            block = take_done_from(r, l);
        }
    }
    if (block != NULL) {
        return block;
    }
    for (l = bins_first_lane(r->bins); l != NULL; l = bins_next_lane(l)) {
        if (l != r->lane) {
            bins_poll(r->bins, l);
            (void)bins_flush(r->bins, l, 0, 1);
        }
    }
    return take(r, BINS_USABLE, depth_first(r));
}

/* ---- new memory ---- */

static bins_block *take_new(request *r, int exact)
{
    int ranges = bins_has_ranges(r->bins, r->heap);
    bins_block *block = NULL;

    r->bins->refusal = CU_SUCCESS;
    r->refused = ranges ? bins_range_grow(r->bins, r->heap, r->need, r->lane, &block)
                        : bins_may_take(r->bins, &r->lane->timeline);
    if (!ranges && (r->refused == SHPOOL_OK)) {
        r->refused = bins_slab_create(r->bins, r->heap, r->need, exact);
    }
    if (!ranges && !exact && (r->refused == SHPOOL_ERR_NO_MEMORY) &&
        (r->bins->refusal != CU_SUCCESS)) {
        r->refused = bins_slab_create(r->bins, r->heap, r->need, 1);
    }
    if (r->refused != SHPOOL_OK) {
        return NULL;
    }
    r->bins->count.misses++;
    return (block != NULL) ? block : take(r, BINS_USABLE, DEPTH_LAST);
}

static int below_soft(const request *r)
{
    return (r->bins->soft == BINS_UNLIMITED) ||
           (r->bins->count.driver_bytes + r->need <= r->bins->soft);
}

/* ---- other streams', after a wait on the device ---- */

static bins_block *take_waitable(const request *r)
{
    bins_block *block = take(r, BINS_WAITABLE, DEPTH_LAST);

    if ((block != NULL) && !bins_usable(block, &r->lane->timeline) &&
        !bins_order(r->bins, block->last, block->seq, r->stream)) {
        bins_heap_put(r->bins, block);
        block = NULL;
    }
    return block;
}

static bins_block *take_waiting(const request *r)
{
    bins_block *block;

    if (r->bins->reuse != BINS_REUSE_WAIT) {
        return NULL;
    }
    block = take_waitable(r);
    if ((block == NULL) && (bins_flush_all(r->bins) > 0)) {
        block = take_waitable(r);
    }
    if (block == NULL) {
        block = bins_use_wait(r->bins, r->need, &r->lane->timeline, r->stream);
    }
    r->bins->count.hits_wait += (block != NULL);
    return block;
}

/* ---- the driver has nothing left ---- */

/* Give back what is whole, just enough if that helps, else all of it. */
static bins_block *take_released(request *r)
{
    bins_block *block = NULL;

    r->bins->count.retries++;
    if (bins_release(r->bins, r->need) > 0) {
        block = take_new(r, 1);
    }
    if ((block == NULL) && (bins_release(r->bins, BINS_UNLIMITED) > 0)) {
        block = take_new(r, 1);
    }
    return block;
}

/* Merge the idle blocks; in ranges their granules can also be moved together, and exported memory
 * that was freed has now been returned to the driver. */
static bins_block *take_merged(request *r)
{
    bins_block *block;

    bins_merge_all(r->bins);
    block = take(r, BINS_USABLE, DEPTH_LAST);
    if ((block == NULL) && (bins_has_ranges(r->bins, r->heap) || (r->bins->whole > 0))) {
        block = take_new(r, 1);
    }
    return block;
}

static bins_block *take_last(request *r)
{
    bins_block *block = take_merged(r);

    if ((block == NULL) && (r->bins->reuse == BINS_REUSE_WAIT)) {
        block = take_waitable(r);
    }
    if (block == NULL) {
        block = take_released(r);
    }
    if ((block == NULL) && (shpool_timelines_sync(&r->bins->lanes) == SHPOOL_OK)) {
        block = take_merged(r);
        if (block == NULL) {
            block = take_released(r);
        }
    }
    return block;
}

/* ---- all of it ---- */

static bins_block *find(request *r)
{
    bins_self *bins = r->bins;
    bins_block *block;

    atomic_store_explicit(&r->lane->giver, NULL, memory_order_relaxed);
    bins_use_drain(bins, 0);
    block = take_own(r);
    if (block != NULL) {
        bins->count.hits++;
        return block;
    }
    block = take_done(r);
    if (block != NULL) {
        bins->count.hits_done++;
        return block;
    }
    if (below_soft(r)) {
        block = take_new(r, 0);
    }
    if (block == NULL) {
        block = take_waiting(r);
    }
    if ((block == NULL) && !below_soft(r)) {
        block = take_new(r, 0);
    }
    return (block != NULL) ? block : take_last(r);
}

/* ---- marks for tools: such a block is freed under the lock, and never in a lane ---- */

/* A gap to the next block, so that an overrun meets no other one's memory. */
static size_t need_of(const bins_self *bins, size_t bytes, size_t need)
{
    return bins->nvtx ? bins_round(bytes + SHPOOL_DEVICE_ALIGNMENT) : need;
}

static void mark(const bins_self *bins, bins_block *block, size_t bytes)
{
    if (bins->nvtx) {
        bins_set_state(block, BINS_LIVE_USED);
        shpool_nvtx_begin(block->slab->driver_ptr, block->address, bytes);
    }
}

/* The tool judges accesses when they happen, so none may be to come. */
static void unmark(bins_self *bins, const void *ptr)
{
    (void)shpool_timelines_sync(&bins->lanes);
    shpool_nvtx_end(ptr);
}

/* SHPOOL_OK: it is the device's memory that ran out, and the detail is still to be written. */
static shpool_status failed(const request *r)
{
    r->bins->count.failures++;
    return (r->bins->refusal == CU_ERROR_OUT_OF_MEMORY) ? SHPOOL_OK : r->refused;
}

shpool_status bins_malloc_slow(bins_self *bins, size_t bytes, size_t need, bins_lane *lane,
                               shpool_stream stream, void **ptr_p)
{
    request r = { .bins = bins, .lane = lane, .need = need_of(bins, bytes, need),
                  .stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream };
    shpool_status status = SHPOOL_OK;
    bins_block *block = take_siblings(lane, need);

    r.heap = &bins->heap[r.need >= BINS_LARGE_BYTES];
    block = (block != NULL) ? block : take_given(bins, lane, need);
    if (block != NULL) {
        *ptr_p = block->address;
        return SHPOOL_OK;
    }
    shpool_device_hold();
    shpool_mutex_lock(&bins->lock);
    block = find(&r);
    if (block != NULL) {
        bins->mallocs++;
        bins->malloc_bytes += block->bytes;
        bins_hand_out(block, &lane->timeline, BINS_LIVE);
        mark(bins, block, bytes);
        *ptr_p = block->address;
    } else {
        status = failed(&r);
    }
    shpool_mutex_unlock(&bins->lock);
    shpool_device_restore(bins->lanes.device);
    if ((block == NULL) && (status == SHPOOL_OK)) {
        status = bins_out_of_memory(bins, bytes);
    }
    return status;
}

/* ---- free ---- */

static shpool_status refuse(const bins_block *block, const void *ptr)
{
    return shpool_error(SHPOOL_ERR_DOUBLE_FREE, "%p is already free, it was a block of %zu bytes",
                        ptr, block->bytes);
}

static shpool_status free_used(bins_self *bins, bins_block *block, shpool_stream stream)
{
    shpool_timeline *t;
    shpool_status status = shpool_timeline_lock_to_free(&bins->lanes, stream, &t);

    if (status != SHPOOL_OK) {
        bins_set_state(block, BINS_LIVE_USED);
        return status;
    }
    block->last = t;
    block->seq = shpool_timeline_mark(&bins->lanes, t);
    ((bins_lane *)t)->frees++;
    ((bins_lane *)t)->free_bytes += block->bytes;
    atomic_store_explicit(&((bins_lane *)t)->giver, NULL, memory_order_relaxed);
    shpool_spin_unlock(&t->lock);
    bins_use_mark(bins, block);
    return SHPOOL_OK;
}

static int claim(bins_block *block, unsigned from, unsigned to)
{
    /* acquire: pairs with the release of the thread that made it live.  Only one of two frees
     * wins. */
    return atomic_compare_exchange_strong_explicit(&block->state, &from, to, memory_order_acquire,
                                                   memory_order_relaxed);
}

shpool_status bins_free_slow(bins_self *bins, bins_block *block, void *ptr, shpool_stream stream)
{
    shpool_status status = SHPOOL_OK;

    shpool_device_hold();
    shpool_mutex_lock(&bins->lock);
    if (claim(block, BINS_LIVE_USED, BINS_PENDING)) {
        status = free_used(bins, block, stream);
        if ((status == SHPOOL_OK) && bins->nvtx) {
            unmark(bins, ptr);
        }
        if ((status == SHPOOL_OK) && block->slab->exported) {
            bins_use_settle(bins, block); /* importers alone have it now */
        }
    } else if (bins_state(block) == BINS_LIVE_GRAPH) { /* changes under bins.lock only */
        status = bins_graph_free(bins, block, stream);
    } else {
        status = refuse(block, ptr);
    }
    shpool_mutex_unlock(&bins->lock);
    shpool_device_restore(bins->lanes.device);
    return status;
}
