/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: requests that no free block serves, where the driver maps memory (memory=vmm).
 *
 * Free blocks are mapped, and searched first, as in other slabs.  If none fits, one grows into
 * holes beside it (site.c), or a window is made (window.c).  Granules come, in this order, from
 *   new     from the driver, as long as the reserved bytes are at most bins_most()
 *   spare   used nowhere
 *   idle    whole granules of other free blocks: first where the least is left that is not whole
 *   old     the same of blocks of the small heap that were freed long ago, and wait in this lane
 *   new     once more
 * A granule moves without a wait if its last use is done, or queued in the stream that needs it:
 * its old addresses stay mapped (places.c).
 *
 * Blocks share granules with their neighbours, and only granules entirely inside a free block can
 * move: each piece of free memory keeps less than two granules.
 */
#include "vmm.h"

/* A request of this part of the peak of live bytes, and of as many bytes, may be a window.  Each
 * has an incomplete granule at its end, and is searched for. */
#define WINDOW_PART  20u
#define WINDOW_LEAST BINS_DIRECT_BYTES

/* Blocks of a bin that are looked at. */
#define TAKE_DEPTH 64u

/* A program is steady if it has freed this number of blocks and needed no memory. */
#define STEADY_FREES 4096u

/* ---- fill ---- */

/* A block beside memory that has arrived becomes part of it, if the stream may have it. */
static int take_usable(bins_heap *heap, bins_block *block, const shpool_timeline *timeline)
{
    if ((block == NULL) || (bins_state(block) != BINS_FREE) ||
        (!bins_is_done(block) && (block->last != timeline->home))) {
        return 0;
    }
    bins_remove(&heap->bins, block);
    return 1;
}

/* The stream may use the block now, others when it has finished with what it frees now. */
static void order_after(bins_self *bins, bins_block *block, shpool_timeline *timeline)
{
    shpool_spin_lock(&timeline->lock);
    block->last = timeline;
    block->seq = shpool_timeline_mark(&bins->lanes, timeline);
    shpool_spin_unlock(&timeline->lock);
}

/* Some places of a hole have memory: make them a free block, merged with its neighbours. */
static bins_block *settle(bins_self *bins, bins_block *hole, size_t first, size_t count,
                          shpool_timeline *timeline, int busy, bins_block *record[2])
{
    size_t granule = bins->granules.bytes;
    bins_heap *heap = hole->slab->heap;
    bins_block *block = bins_carve(&heap->holes, hole, first * granule - bins_offset_of(hole),
                              count * granule, record);

    bins_set_state(block, BINS_FREE);
    if (busy) {
        order_after(bins, block, timeline->home);
    }
    if (take_usable(heap, block->above, timeline)) {
        bins_join(bins, block, block->above);
    }
    if (take_usable(heap, block->below, timeline)) {
        bins_block *below = block->below;

        bins_join(bins, below, block);
        block = below;
    }
    block->class = bins_class(block->bytes);
    bins_push(&heap->bins, block);
    return block;
}

/* One hole's part of a site, which gets memory; *block_p: the free block that it is in then. */
static shpool_status fill_hole(bins_self *bins, const bins_site *s, bins_block *hole,
                               shpool_timeline *timeline, bins_block **block_p)
{
    size_t first;
    size_t count = bins_places_in(bins, hole, s, &first);
    bins_block *record[2];
    int busy = 0;
    shpool_status status = SHPOOL_OK;

    if (!bins_records_get(bins, record)) {
        status = shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a block's record");
    }
    if (status == SHPOOL_OK) {
        bins->refusal = bins_places_fill(bins, hole->slab, first, count, timeline, &busy);
        if (bins->refusal != CU_SUCCESS) {
            status = shpool_driver_failed(bins->lanes.device->cu, "cuMemMap", bins->refusal);
        }
    }
    if (status == SHPOOL_OK) {
        *block_p = settle(bins, hole, first, count, timeline, busy, record);
    }
    bins_records_put(bins, record);
    return status;
}

/* After a refusal the holes that were filled before it stay free blocks. */
static shpool_status fill(bins_self *bins, const bins_site *s, shpool_timeline *timeline)
{
    size_t ready = bins_spares_usable(bins, timeline);
    bins_block *block = s->block;
    shpool_status status = bins_granules_make(bins, (s->count > ready) ? s->count - ready : 0,
                                              timeline);

    while ((status == SHPOOL_OK) && (block != NULL) && (block->address < s->end)) {
        if (bins_is_hole(block)) {
            status = fill_hole(bins, s, block, timeline, &block);
        }
        block = (status == SHPOOL_OK) ? block->above : block;
    }
    return status;
}

/* ---- limits ---- */

/* Granules that the driver may be asked for before others are moved.  The limit is the peak's, not
 * of what is live now: between two peaks much memory is idle. */
static size_t may_create(bins_self *bins, size_t need)
{
    uint64_t held = bins->count.driver_bytes;
    uint64_t idle = bins_idle_bytes(bins);
    uint64_t most;

    bins->live = ((held > idle) ? held - idle : 0) + need;
    bins->live_most = (bins->live > bins->live_most) ? bins->live : bins->live_most;
    most = bins_most(bins);
    return (most > held) ? (size_t)((most - held) / bins->granules.bytes) : 0;
}

/* ---- growing ---- */

/* A block from the large heap for a small request, rather than calls of the driver. */
static bins_block *take_guest(bins_self *bins, size_t need, const shpool_timeline *timeline)
{
    bins_block *block = (need >= BINS_GUEST_LEAST)
                            ? bins_heap_take(bins, &bins->heap[BINS_LARGE], need, timeline,
                                             BINS_USABLE, TAKE_DEPTH)
                            : NULL;

    if (block != NULL) {
        bins->guests[bins_guest_class(block->class)]++;
    }
    return block;
}

/* 1: the request is large enough for a window. */
static int may_be_window(const bins_self *bins, size_t need)
{
    return (need >= WINDOW_LEAST) && (need >= bins->live_most / WINDOW_PART);
}

/* A block that needs no site, if memory must not be created. */
static bins_block *take_without_site(bins_self *bins, const bins_heap *heap, size_t need,
                                     bins_lane *lane, const bins_site *s, size_t create)
{
    size_t lacks = (s->count > 0) ? s->count : bins_round_up(bins, need) / bins->granules.bytes;

    if (create >= lacks) {
        return NULL;
    }
    if (!heap->large) {
        return (s->calls > 0) ? take_guest(bins, need, &lane->timeline) : NULL;
    }
    return may_be_window(bins, need) ? bins_window_take(bins, need, lane, create) : NULL;
}

/* Again, because granules may have moved meanwhile, and with one more range if there is none. */
static shpool_status find_again(bins_search *search, bins_site *s)
{
    shpool_status status = SHPOOL_OK;

    *s = bins_site_find(search);
    if (s->count == 0) {
        status = bins_range_add(search->bins, search->heap, search->need);
        *s = (status == SHPOOL_OK) ? bins_site_find(search) : *s;
    }
    return status;
}

/* Spare granules for a site.  Small blocks that nobody has used for long may have some, too. */
static void gather(const bins_search *search, const bins_site *s, bins_lane *lane, size_t spares)
{
    bins_self *bins = search->bins;

    bins_gather(bins, lane, s, spares);
    if (search->heap->large && (bins_spares_usable(bins, &lane->timeline) < spares) &&
        bins_flush_old(bins, lane)) {
        bins_gather(bins, lane, s, spares);
    }
}

/* Large blocks are not taken from the lane for some time. */
static void be_unsteady(bins_lane *lane)
{
    shpool_spin_lock(&lane->timeline.lock);
    lane->steady = lane->timeline.seq + STEADY_FREES;
    shpool_spin_unlock(&lane->timeline.lock);
}

static shpool_status grow_at(bins_search *search, bins_site *s, bins_lane *lane, size_t create)
{
    bins_self *bins = search->bins;
    shpool_status status;

    be_unsteady(lane);
    (void)bins_price(search, s); /* the latest to be counted */
    gather(search, s, lane, (create < s->count) ? s->count - create : 0);
    status = fill(bins, s, &lane->timeline);
    if ((status == SHPOOL_ERR_NO_MEMORY) && (bins->refusal == CU_ERROR_OUT_OF_MEMORY) &&
        (create > 0)) {
        *s = bins_site_find(search); /* what was filled before is merged: its blocks may be gone */
        if (s->count == 0) {
            return status;
        }
        (void)bins_price(search, s);
        gather(search, s, lane, s->count);
        status = fill(bins, s, &lane->timeline);
    }
    return status;
}

shpool_status bins_range_grow(bins_self *bins, bins_heap *heap, size_t need, bins_lane *lane,
                              bins_block **block_p)
{
    bins_search search = { .bins = bins, .heap = heap, .need = need, .lane = lane,
                           .timeline = &lane->timeline };
    shpool_status status = SHPOOL_OK;
    size_t create;
    bins_site s;

    *block_p = NULL;
    bins->refusal = CU_ERROR_OUT_OF_MEMORY;
    if (need > bins->device_bytes) {
        return SHPOOL_ERR_NO_MEMORY;
    }
    if (bins_granules_double(bins, lane, need)) {
        *block_p = bins_heap_take(bins, heap, need, &lane->timeline, BINS_USABLE, TAKE_DEPTH);
    }
    bins->refusal = CU_SUCCESS;
    if (*block_p != NULL) {
        return SHPOOL_OK;
    }
    create = may_create(bins, need);
    if (heap->large && may_be_window(bins, need)) {
        *block_p = bins_window_again(bins, need, lane);
    }
    if (*block_p != NULL) {
        return SHPOOL_OK;
    }
    s = bins_site_find(&search);
    *block_p = take_without_site(bins, heap, need, lane, &s, create);
    if (*block_p != NULL) {
        return SHPOOL_OK;
    }
    if ((s.count == 0) || (create < s.count)) {
        status = find_again(&search, &s);
    }
    return (status == SHPOOL_OK) ? grow_at(&search, &s, lane, create) : status;
}
