/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: ranges, the slabs of the heaps that serve all requests if the driver maps memory
 * (memory=vmm).
 *
 * A range has memory only where a block needs it.  The large heap's range has as many addresses as
 * the device has bytes.  All streams and sizes share it, so that all neighbours merge.  Free blocks
 * are mapped, and searched first, as in other slabs; after its warm-up a program needs no more.  If
 * no free block fits, the one that needs the fewest granules grows into the hole beside it.
 * Granules come, in this order, from
 *   new     from the driver, as long as less than a twentieth of the reserved bytes is idle, or
 *           they exceed the peak of live bytes by less than a fiftieth to an eighteenth
 *   spare   mapped nowhere
 *   idle    whole granules of other free blocks whose work has finished, smallest blocks first
 *   new     once more
 * So idle memory collects where the large blocks are, and moves become rare.  A free block that a
 * stream has not finished with is not moved, because unmapping does not wait.  The host waits for
 * this stream's own (wait.c) if otherwise the reserved bytes would grow beyond that part.
 *
 * Blocks share granules with their neighbours, and only granules entirely inside a free block can
 * move: each piece of free memory keeps less than two granules.
 */
#include "bins.h"

#include <stdlib.h>

/* Granules of a range of the small heap: its table of blocks has an entry for 256 bytes. */
#define SMALL_GRANULES 32u

/* Granules are created instead of moved while idle bytes are at most IDLE_PART of the reserved
 * ones, or while the reserved bytes exceed the peak of live bytes by at most OVER_LEAST to
 * OVER_MOST of it; IDLE_GRANULES in small programs. */
#define IDLE_GRANULES 8u
#define IDLE_PART     20u
#define OVER_LEAST    50u
#define OVER_MOST     18u

/* The second limit grows by a part of the bytes that were moved: up to OVER_MOST, and by the other
 * part for OVER_LATER more, so that a program that moves memory in each step moves ever less. */
#define MOVED_PART  32u
#define MOVED_LATER 512u
#define OVER_LATER  22u

/* Where a block is going to grow: `count` granules from `first` on in a hole. */
typedef struct site {
    bins_block *hole;
    size_t first;
    size_t count;
} site;

static size_t offset_of(const bins_block *block)
{
    return (size_t)((uintptr_t)block->address - block->slab->base);
}

/* ---- holes ---- */

static int is_hole(const bins_block *block)
{
    return (block != NULL) && (bins_state(block) == BINS_HOLE);
}

/* A block that is in no list becomes a hole, one with the holes beside it. */
static void put_hole(bins_self *bins, bins_block *block)
{
    bins_lists *holes = &block->slab->heap->holes;

    block->last = NULL;
    bins_set_state(block, BINS_HOLE);
    if (is_hole(block->above)) {
        bins_remove(holes, block->above);
        bins_join(bins, block, block->above);
    }
    if (is_hole(block->below)) {
        bins_block *below = block->below;

        bins_remove(holes, below);
        bins_join(bins, below, block);
        block = below;
    }
    block->class = bins_class(block->bytes);
    bins_push(holes, block);
}

/* Records for the two cuts of carve(), before anything is changed. */
static int get_records(bins_self *bins, bins_block *record[2])
{
    record[0] = bins_record_get(bins);
    record[1] = (record[0] != NULL) ? bins_record_get(bins) : NULL;
    return record[1] != NULL;
}

static void put_records(bins_self *bins, bins_block *record[2])
{
    for (unsigned i = 0; i < 2; i++) {
        if (record[i] != NULL) {
            bins_record_put(bins, record[i]);
        }
    }
}

/* Remove a piece of a block, from an offset on, from its list, in which the parts below and above
 * stay. */
static bins_block *carve(bins_lists *lists, bins_block *block, size_t from, size_t bytes,
                         bins_block *record[2])
{
    bins_block *piece = block;

    bins_remove(lists, block);
    if (from > 0) {
        piece = record[0];
        record[0] = NULL;
        bins_split(block, from, piece);
        bins_push(lists, block);
    }
    if (piece->bytes > bytes) {
        bins_split(piece, bytes, record[1]);
        bins_push(lists, record[1]);
        record[1] = NULL;
    }
    return piece;
}

/* ---- granules that are idle ---- */

/* How many whole granules a block has, and the place of the first. */
static size_t whole_granules(const bins_self *bins, const bins_block *block, size_t *first_p)
{
    size_t granule = bins->granules.bytes;
    size_t offset = offset_of(block);
    size_t end = (offset + block->bytes) / granule;

    *first_p = (offset + granule - 1) / granule;
    return (end > *first_p) ? end - *first_p : 0;
}

/* Makes spare granules of a free block's whole ones, next to a hole if there is one. */
static void reclaim_from(bins_self *bins, bins_block *block, size_t spares)
{
    size_t granule = bins->granules.bytes;
    size_t wanted = spares - bins->granules.spares;
    int top = !is_hole(block->below) || is_hole(block->above);
    size_t first;
    size_t count = whole_granules(bins, block, &first);
    size_t got = 0;
    bins_block *record[2];

    if (count == 0) {
        return;
    }
    if (count > wanted) {
        first += top ? count - wanted : 0;
        count = wanted;
    }
    if (get_records(bins, record)) {
        got = bins_granules_unmap(bins, block->slab, first, count, top);
    }
    bins->moved_bytes += got * granule;
    if (got > 0) {
        first += top ? count - got : 0;
        put_hole(bins, carve(&block->slab->heap->bins, block,
                             first * granule - offset_of(block), got * granule, record));
    }
    put_records(bins, record);
}

/* Release granules that a failing call left mapped in a hole. */
static void unstick(bins_self *bins, const bins_block *hole)
{
    size_t first = offset_of(hole) / bins->granules.bytes;

    for (size_t i = first; i < first + hole->bytes / bins->granules.bytes; i++) {
        if (hole->slab->granule[i] != 0) {
            bins->granules.stuck -= bins_granules_unmap(bins, hole->slab, i, 1, 0);
        }
    }
}

static void unstick_all(bins_self *bins, const bins_heap *heap)
{
    unsigned class = 0;

    for (; (bins->granules.stuck > 0) &&
         ((class = bins_next_class(&heap->holes, class)) < BINS_CLASSES); class++) {
        for (const bins_block *b = heap->holes.list[class].head; b != NULL; b = b->next) {
            unstick(bins, b);
        }
    }
}

/* Not from the neighbours of one hole, which is going to be filled; NULL: from all. */
static void reclaim(bins_self *bins, bins_heap *heap, size_t spares, const bins_block *hole)
{
    unsigned class = bins_class(bins->granules.bytes);

    for (; (class = bins_next_class(&heap->bins, class)) < BINS_CLASSES; class++) {
        bins_block *block = heap->bins.list[class].head;

        while ((block != NULL) && (bins->granules.spares < spares)) {
            bins_block *next = block->next;

            if ((block->slab->granule != NULL) && bins_is_done(block) &&
                ((hole == NULL) || ((block != hole->below) && (block != hole->above)))) {
                reclaim_from(bins, block, spares);
            }
            block = next;
        }
    }
}

static void reclaim_all(bins_self *bins, size_t spares, const bins_block *hole)
{
    for (unsigned i = SHPOOL_ARRAY_COUNT(bins->heap); i-- > 0;) {
        unstick_all(bins, &bins->heap[i]);
        reclaim(bins, &bins->heap[i], spares, hole);
    }
}

int bins_range_is_busy(bins_self *bins)
{
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(bins->heap); i++) {
        const bins_lists *lists = &bins->heap[i].bins;
        unsigned class = bins_class(bins->granules.bytes);

        for (; (class = bins_next_class(lists, class)) < BINS_CLASSES; class++) {
            for (bins_block *b = lists->list[class].head; b != NULL; b = b->next) {
                size_t first;

                if (!bins_is_done(b) && (whole_granules(bins, b, &first) > 0)) {
                    return 1;
                }
            }
        }
    }
    return 0;
}

void bins_range_reclaim(bins_self *bins, size_t spares)
{
    reclaim_all(bins, spares, NULL);
}

/* ---- where to grow ---- */

/* Bytes beside a hole that can be merged with it, so that this lane may use them immediately; those
 * of the stream's other lanes can only when they are done. */
static size_t usable_bytes(bins_block *block, const shpool_timeline *timeline)
{
    return ((block != NULL) && (bins_state(block) == BINS_FREE) &&
            (bins_is_done(block) || (block->last == timeline))) ? block->bytes : 0;
}

static size_t at_least_one(size_t count)
{
    return (count > 0) ? count : 1;
}

/* The fewest granules of a hole that, together with its neighbours, have `need` bytes; count 0:
 * even all do not suffice. */
static site site_in(const bins_self *bins, bins_block *hole, size_t need,
                    const shpool_timeline *timeline)
{
    size_t granule = bins->granules.bytes;
    size_t below = usable_bytes(hole->below, timeline);
    size_t above = usable_bytes(hole->above, timeline);
    size_t most = (below > above) ? below : above;
    site s = { .hole = hole, .first = offset_of(hole) / granule };

    s.count = (most >= need) ? 1 : at_least_one((need - most + granule - 1) / granule);
    if (s.count * granule > hole->bytes) {
        s.count = (below + hole->bytes + above >= need) ? hole->bytes / granule : 0;
    } else if (above > below) {
        s.first += hole->bytes / granule - s.count;
    }
    return s;
}

/* The lowest one if equal. */
static int is_better(const site *a, const site *b)
{
    return (b->count == 0) || (a->count < b->count) ||
           ((a->count == b->count) && (a->hole->address < b->hole->address));
}

static site find_site(const bins_self *bins, const bins_heap *heap, size_t need,
                      const shpool_timeline *timeline)
{
    site best = { .count = 0 };

    for (unsigned class = 0; (class = bins_next_class(&heap->holes, class)) < BINS_CLASSES;
         class++) {
        for (bins_block *hole = heap->holes.list[class].head; hole != NULL; hole = hole->next) {
            site s = site_in(bins, hole, need, timeline);

            if ((s.count > 0) && is_better(&s, &best)) {
                best = s;
            }
        }
    }
    return best;
}

/* ---- ranges ---- */

static cu_result reserve(const bins_self *bins, bins_slab *slab)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    if (result == CU_SUCCESS) {
        result = device->cu->range_reserve(&slab->driver_ptr, slab->bytes, bins->granules.bytes, 0,
                                           0);
    }
    shpool_device_leave(device, left);
    slab->driver_ptr = (result == CU_SUCCESS) ? slab->driver_ptr : 0;
    slab->base = (uintptr_t)slab->driver_ptr;
    return result;
}

/* One more range of whole granules, as a hole. */
static shpool_status add_range(bins_self *bins, bins_heap *heap, size_t bytes)
{
    bins_slab *slab;
    bins_block *block;
    shpool_status status = bins_slab_prepare(bins, heap->large, bytes, &slab, &block);

    if (status == SHPOOL_OK) {
        slab->bytes = bytes;
        slab->granule = calloc(bytes / bins->granules.bytes, sizeof(*slab->granule));
        status = (slab->granule != NULL)
                     ? SHPOOL_OK
                     : shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for the record of %zu "
                                    "bytes of addresses", bytes);
    }
    if (status == SHPOOL_OK) {
        bins->refusal = reserve(bins, slab);
        status = (bins->refusal == CU_SUCCESS)
                     ? bins_slab_begin(bins, heap, slab, block, BINS_HOLE)
                     : shpool_driver_failed(bins->lanes.device->cu, "cuMemAddressReserve",
                                            bins->refusal);
    }
    if (status != SHPOOL_OK) {
        bins_slab_drop(bins, slab, block,
                       (slab != NULL) ? bins_range_free(bins, slab) : CU_SUCCESS);
        return status;
    }
    bins_push(&heap->holes, block);
    return SHPOOL_OK;
}

/* A large range, or one for the request only if the process may not have more address space. */
static shpool_status add_range_for(bins_self *bins, bins_heap *heap, size_t need)
{
    size_t granule = bins->granules.bytes;
    size_t few = (need + SMALL_GRANULES * granule - 1) / granule * granule;
    size_t many = ((size_t)bins->device_bytes + granule - 1) / granule * granule;
    shpool_status status = SHPOOL_ERR_NO_MEMORY;

    if (heap->large && (many > few)) {
        status = add_range(bins, heap, many);
    }
    return (status == SHPOOL_OK) ? status : add_range(bins, heap, few);
}

/* Unmaps all of it. */
static cu_result clear(bins_self *bins, bins_slab *slab)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    if (result == CU_SUCCESS) {
        result = device->cu->context_sync(); /* what is in use must not be unmapped */
    }
    shpool_device_leave(device, left);
    if (result != CU_SUCCESS) {
        return result;
    }
    for (size_t i = 0; i < slab->bytes / bins->granules.bytes; i++) {
        if ((slab->granule[i] != 0) && (bins_granules_unmap(bins, slab, i, 1, 0) == 0)) {
            result = CU_ERROR_INVALID_VALUE;
        }
    }
    return result;
}

cu_result bins_range_free(bins_self *bins, bins_slab *slab)
{
    const shpool_device *device = bins->lanes.device;
    cu_result result = (slab->driver_bytes > 0) ? clear(bins, slab) : CU_SUCCESS;
    int left;

    if ((slab->driver_ptr == 0) || (result != CU_SUCCESS)) {
        return result;
    }
    result = shpool_device_enter_result(device, &left);
    if (result == CU_SUCCESS) {
        result = device->cu->range_free(slab->driver_ptr, slab->bytes);
    }
    shpool_device_leave(device, left);
    if (result == CU_SUCCESS) {
        slab->driver_ptr = 0;
    }
    return result;
}

void bins_range_lose(bins_self *bins, bins_slab *slab, cu_result result, shpool_device_loss *loss)
{
    for (; slab->driver_bytes > 0; slab->driver_bytes -= bins->granules.bytes) {
        shpool_device_loss_add(loss, result, bins->granules.bytes);
    }
    free(slab->granule);
    slab->granule = NULL;
}

/* ---- growing ---- */

/* Takes a neighbour that the stream may have out of the heap. */
static int take_usable(bins_heap *heap, bins_block *block, const shpool_timeline *timeline)
{
    if (usable_bytes(block, timeline) == 0) {
        return 0;
    }
    bins_remove(&heap->bins, block);
    return 1;
}

/* The site now has memory: make it a free block, merged with its neighbours. */
static void settle(bins_self *bins, const site *s, const shpool_timeline *timeline,
                   bins_block *record[2])
{
    size_t granule = bins->granules.bytes;
    bins_heap *heap = s->hole->slab->heap;
    bins_block *block = carve(&heap->holes, s->hole, s->first * granule - offset_of(s->hole),
                              s->count * granule, record);

    bins_set_state(block, BINS_FREE);
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
}

/* Granules that are mapped in a site are stuck there, and serve as they are. */
static size_t missing(const site *s)
{
    size_t count = 0;

    for (size_t i = s->first; i < s->first + s->count; i++) {
        count += (s->hole->slab->granule[i] == 0);
    }
    return count;
}

static shpool_status fill(bins_self *bins, const site *s, const shpool_timeline *timeline)
{
    bins_block *record[2];
    shpool_status status = SHPOOL_OK;

    if (!get_records(bins, record)) {
        status = shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a block's record");
    }
    if (status == SHPOOL_OK) {
        status = bins_granules_make(bins, missing(s));
    }
    if (status == SHPOOL_OK) {
        bins->refusal = bins_granules_map(bins, s->hole->slab, s->first, s->count);
        if (bins->refusal != CU_SUCCESS) {
            status = shpool_driver_failed(bins->lanes.device->cu, "cuMemMap", bins->refusal);
        }
    }
    if (status == SHPOOL_OK) {
        settle(bins, s, timeline, record);
    }
    put_records(bins, record);
    return status;
}

/* A part of some bytes, or the number of granules for small programs. */
static uint64_t part_of(const bins_self *bins, uint64_t part)
{
    uint64_t few = IDLE_GRANULES * (uint64_t)bins->granules.bytes;

    return (part > few) ? part : few;
}

/* Reserved bytes above the peak of live ones. */
static uint64_t over_most(const bins_self *bins)
{
    uint64_t most = bins->live_most / OVER_MOST;
    uint64_t part = bins->live_most / OVER_LEAST + bins->moved_bytes / MOVED_PART;
    uint64_t later = bins->moved_bytes / MOVED_LATER;

    most = (part < most) ? part : most;
    part = bins->live_most / OVER_LATER;
    return part_of(bins, most + ((later < part) ? later : part));
}

/* Granules that the driver may be asked for before others are moved.  The limit is the peak's, not
 * of what is live now: between two peaks much memory is idle, and each move costs the host time. */
static size_t may_create(bins_self *bins, size_t need)
{
    uint64_t held = bins->count.driver_bytes;
    uint64_t idle = bins_idle_bytes(bins);
    uint64_t live = ((held > idle) ? held - idle : 0) + need;
    uint64_t most;

    bins->live_most = (live > bins->live_most) ? live : bins->live_most;
    if (idle <= part_of(bins, held / IDLE_PART)) {
        return SIZE_MAX;
    }
    most = bins->live_most + over_most(bins);
    return (most > held) ? (size_t)((most - held) / bins->granules.bytes) : 0;
}

/* 1: the stream has freed whole granules of a heap, and not finished with them. */
static int is_pending(bins_self *bins, const bins_heap *heap, const bins_lane *lane,
                      const bins_block *hole)
{
    unsigned class = bins_class(bins->granules.bytes);

    for (; (class = bins_next_class(&heap->bins, class)) < BINS_CLASSES; class++) {
        for (bins_block *b = heap->bins.list[class].head; b != NULL; b = b->next) {
            size_t first;

            if ((b->last == &lane->timeline) && !bins_is_done(b) && (b->slab->granule != NULL) &&
                (b != hole->below) && (b != hole->above) &&
                (whole_granules(bins, b, &first) > 0)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Spare granules for a site.  This stream's finished blocks may move as well, and the others when
 * the stream has finished with them; other streams' are queried before. */
static void gather(bins_self *bins, bins_lane *lane, const site *s, size_t spares)
{
    bins_poll(bins, lane);
    reclaim_all(bins, spares, s->hole);
    while ((bins->granules.spares < spares) &&
           (is_pending(bins, &bins->heap[1], lane, s->hole) ||
            is_pending(bins, &bins->heap[0], lane, s->hole)) &&
           bins_wait(bins, lane)) {
        reclaim_all(bins, spares, s->hole);
    }
}

shpool_status bins_range_grow(bins_self *bins, bins_heap *heap, size_t need, bins_lane *lane)
{
    const shpool_timeline *timeline = &lane->timeline;
    shpool_status status;
    size_t lacking;
    size_t create;
    site s;

    bins->refusal = CU_ERROR_OUT_OF_MEMORY;
    if (need > bins->device_bytes) {
        return SHPOOL_ERR_NO_MEMORY;
    }
    bins->refusal = CU_SUCCESS;
    s = find_site(bins, heap, need, timeline);
    if (s.count == 0) {
        status = add_range_for(bins, heap, need);
        if (status != SHPOOL_OK) {
            return status;
        }
        s = find_site(bins, heap, need, timeline);
    }
    lacking = missing(&s);
    create = may_create(bins, need);
    if (create < lacking) {
        gather(bins, lane, &s, lacking - create);
    }
    status = fill(bins, &s, timeline);
    if ((status == SHPOOL_ERR_NO_MEMORY) && (bins->refusal == CU_ERROR_OUT_OF_MEMORY) &&
        (create > 0)) {
        gather(bins, lane, &s, lacking);
        status = fill(bins, &s, timeline);
    }
    return status;
}
