/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: holes of ranges, and the granules of free blocks, which can be used elsewhere. */
#include "vmm.h"

/* ---- holes ---- */

void bins_hole_put(bins_self *bins, bins_block *block)
{
    bins_lists *holes = &block->slab->heap->holes;

    block->last = NULL;
    bins_set_state(block, BINS_HOLE);
    if (bins_is_hole(block->above)) {
        bins_remove(holes, block->above);
        bins_join(bins, block, block->above);
    }
    if (bins_is_hole(block->below)) {
        bins_block *below = block->below;

        bins_remove(holes, below);
        bins_join(bins, below, block);
        block = below;
    }
    block->class = bins_class(block->bytes);
    bins_push(holes, block);
}

bins_block *bins_hole_of(const bins_heap *heap, const char *address)
{
    const bins_lists *holes = &heap->holes;

    for (unsigned class = 0; (class = bins_next_class(holes, class)) < BINS_CLASSES; class++) {
        for (bins_block *hole = holes->list[class].head; hole != NULL; hole = hole->next) {
            if ((address >= hole->address) && (address < hole->address + hole->bytes)) {
                return hole;
            }
        }
    }
    return NULL;
}

int bins_records_get(bins_self *bins, bins_block *record[2])
{
    record[0] = bins_record_get(bins);
    record[1] = (record[0] != NULL) ? bins_record_get(bins) : NULL;
    return record[1] != NULL;
}

void bins_records_put(bins_self *bins, bins_block *record[2])
{
    for (unsigned i = 0; i < 2; i++) {
        if (record[i] != NULL) {
            bins_record_put(bins, record[i]);
        }
    }
}

bins_block *bins_carve(bins_lists *lists, bins_block *block, size_t from, size_t bytes,
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

/* ---- granules of free blocks ---- */

size_t bins_whole_granules(const bins_self *bins, const bins_block *block, size_t *first_p)
{
    size_t granule = bins->granules.bytes;
    size_t offset = bins_offset_of(block);
    size_t end = (offset + block->bytes) / granule;

    *first_p = (offset + granule - 1) / granule;
    return (end > *first_p) ? end - *first_p : 0;
}

int bins_is_movable(bins_block *block, const shpool_timeline *timeline)
{
    return (block->slab->place != NULL) &&
           (bins_is_done(block) ||
            ((timeline != NULL) && shpool_timeline_same(block->last, timeline)));
}

void bins_visit_idle(bins_self *bins, bins_visit *visit, void *user)
{
    for (unsigned i = SHPOOL_ARRAY_COUNT(bins->heap); i-- > 0;) {
        const bins_lists *lists = &bins->heap[i].bins;
        unsigned class = bins_class(bins->granules.bytes);

        for (; (class = bins_next_class(lists, class)) < BINS_CLASSES; class++) {
            bins_block *block = lists->list[class].head;

            while (block != NULL) {
                bins_block *next = block->next;

                visit(bins, block, user);
                block = next;
            }
        }
    }
}

/* Makes spare granules of a piece of a free block; returns what is left above it, or NULL. */
static bins_block *leave_piece(bins_self *bins, bins_block *block, size_t first, size_t count)
{
    size_t granule = bins->granules.bytes;
    bins_slab *slab = block->slab;
    bins_block *record[2];
    bins_block *rest = NULL;

    if (bins_records_get(bins, record)) {
        bins_block *above = record[1];
        bins_block *piece = bins_carve(&slab->heap->bins, block,
                                       first * granule - bins_offset_of(block), count * granule,
                                       record);

        rest = (record[1] == NULL) ? above : NULL;
        bins_places_leave(bins, slab, first, count, piece->last, piece->seq);
        bins_hole_put(bins, piece);
    }
    bins_records_put(bins, record);
    return rest;
}

/* Some of a free block's whole granules, next to a hole if there is one. */
static void reclaim_from(bins_self *bins, bins_block *block, size_t wanted)
{
    int top = !bins_is_hole(block->below) || bins_is_hole(block->above);
    size_t first;
    size_t count = bins_whole_granules(bins, block, &first);

    if (count > wanted) {
        first += top ? count - wanted : 0;
        count = wanted;
    }
    if (count > 0) {
        (void)leave_piece(bins, block, first, count);
    }
}

/* The block whose granules are taken next. */
typedef struct reclaim {
    const shpool_timeline *timeline; /* whose stream may move them; NULL: any */
    const bins_site *site;           /* not those at it */
    bins_block *best;
    size_t left;                     /* its bytes that are not in whole granules, if it is large */
} reclaim;

static void look_for_best(bins_self *bins, bins_block *block, void *user)
{
    reclaim *r = user;
    size_t first;
    size_t count = bins_whole_granules(bins, block, &first);
    size_t left = block->slab->heap->large ? block->bytes - count * bins->granules.bytes : 0;

    if ((count > 0) && ((r->best == NULL) || (left < r->left)) &&
        bins_is_movable(block, r->timeline) && !bins_is_at(block, r->site)) {
        r->best = block;
        r->left = left;
    }
}

/* Pieces that are not whole can hardly be used afterwards: as few bytes of them as can be. */
void bins_range_reclaim(bins_self *bins, size_t spares, const shpool_timeline *timeline,
                        const bins_site *s)
{
    reclaim r = { .timeline = timeline, .site = s };
    size_t found = bins_spares_usable(bins, timeline);
    size_t before;

    do {
        before = bins->granules.spares;
        r.best = NULL;
        if (found < spares) {
            bins_visit_idle(bins, look_for_best, &r);
        }
        if (r.best != NULL) {
            reclaim_from(bins, r.best, spares - found);
            found += bins->granules.spares - before;
        }
    } while (bins->granules.spares > before);
}

/* 1: bins_price() counted it. */
static int is_wanted(const bins_self *bins, const bins_place *place)
{
    return place->granule->counted == bins->granules.counts;
}

static void reclaim_wanted(bins_self *bins, bins_block *block, void *user)
{
    while ((block != NULL) && (block->slab->place != NULL) && !bins_is_at(block, user)) {
        size_t first;
        size_t end;
        size_t count = bins_whole_granules(bins, block, &first);

        for (end = first + count; (first < end) && !is_wanted(bins, &block->slab->place[first]);) {
            first++;
        }
        for (count = 0; (first + count < end) &&
             is_wanted(bins, &block->slab->place[first + count]);) {
            count++;
        }
        block = (count > 0) ? leave_piece(bins, block, first, count) : NULL;
    }
}

void bins_gather(bins_self *bins, bins_lane *lane, const bins_site *s, size_t spares)
{
    const shpool_timeline *timeline = &lane->timeline;

    bins_visit_idle(bins, reclaim_wanted, (void *)(uintptr_t)s);
    bins_range_reclaim(bins, spares, timeline, s);
    if (bins_spares_usable(bins, timeline) < spares) {
        bins_poll(bins, lane);
        bins_range_reclaim(bins, spares, timeline, s);
    }
}

/* ---- what is in use ---- */

static void look_whether_busy(bins_self *bins, bins_block *block, void *user)
{
    size_t first;

    *(int *)user |= !bins_is_done(block) && (bins_whole_granules(bins, block, &first) > 0);
}

/* 1: a place of a spare granule is in use. */
static int is_range_busy(bins_slab *slab)
{
    for (size_t i = 0; i < slab->places; i++) {
        bins_place *p = &slab->place[i];

        if ((p->granule != NULL) && (p->granule->home == NULL) && !bins_place_is_done(p)) {
            return 1;
        }
    }
    return 0;
}

int bins_range_is_busy(bins_self *bins)
{
    int busy = 0;

    bins_visit_idle(bins, look_whether_busy, &busy);
    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        busy |= is_range_busy(s);
    }
    return busy;
}
