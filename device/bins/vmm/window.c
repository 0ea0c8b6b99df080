/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: windows, blocks that borrow their granules.
 *
 * If idle memory suffices for a large request but lies in many free blocks, moving it together
 * costs calls of the driver, and the layout that comes of it is another one in the next step of a
 * program, so that memory moves again.  A window has addresses of its own, in which granules of
 * free blocks are mapped as long as the block lives; then they go home, and all is as it was
 * before.  They stay mapped in the window: a program that repeats its requests finds it again, with
 * the same granules, and calls nothing.
 */
#include "vmm.h"

/* ---- search ---- */

/* The first `count` of the hole's places are looked at one after the other; the site is moved
 * up. */
typedef struct slide {
    const bins_search *search;
    bins_block *hole;
    size_t count;
    size_t calls;  /* of the places that it covers */
    size_t bad;    /* such places, and granules that have two of them */
} slide;

static const bins_site nowhere;

/* A place is covered (1), or no more (-1), at the price that it had then: work that ends meanwhile
 * changes it. */
static void cover(slide *w, bins_place *place, int sign)
{
    bins_granules *g = &w->search->bins->granules;
    size_t one = (size_t)sign; /* modulo 2^64, as are the sums */
    size_t calls;

    if (sign > 0) {
        place->calls = (uint32_t)bins_price_place(w->search, &nowhere, place);
    }
    calls = place->calls;
    if (calls == BINS_NEVER) {
        w->bad += one;
    } else if (calls > 0) {
        w->calls += one * calls;
    } else {
        bins_granule *granule = place->granule;

        if (granule->counted != g->counts) {
            granule->counted = g->counts;
            granule->covered = 0;
        }
        w->bad -= (granule->covered > 1) ? granule->covered - 1 : 0;
        granule->covered += one;
        w->bad += (granule->covered > 1) ? granule->covered - 1 : 0;
    }
}

static bins_site site_at(const slide *w, size_t place)
{
    size_t granule = w->search->bins->granules.bytes;
    char *start = (char *)w->hole->slab->base + place * granule;
    char *end = start + w->count * granule;

    return (bins_site){ .block = w->hole, .start = start, .end = end, .low = start, .high = end,
                        .count = w->count, .calls = w->calls };
}

static void try_hole(slide *w, bins_site *best)
{
    size_t granule = w->search->bins->granules.bytes;
    const bins_slab *slab = w->hole->slab;
    size_t first = bins_offset_of(w->hole) / granule;
    size_t end = first + w->hole->bytes / granule;
    size_t used = slab->places + w->count; /* beyond, all are alike */

    end = (end < used) ? end : used;
    w->calls = 0;
    w->bad = 0;
    w->search->bins->granules.counts++;
    for (size_t i = first; i < end; i++) {
        cover(w, &slab->place[i], 1);
        if (i >= first + w->count) {
            cover(w, &slab->place[i - w->count], -1);
        }
        if ((i + 1 >= first + w->count) && (w->bad == 0)) {
            bins_site s = site_at(w, i + 1 - w->count);

            bins_keep_better(best, &s);
        }
    }
}

static bins_site find_with(const bins_search *search)
{
    const bins_lists *holes = &search->heap->holes;
    slide w = { .search = search, .count = search->need / search->bins->granules.bytes };
    bins_site best = { .count = 0 };

    bins_search_begin(search);
    for (unsigned class = bins_class(search->need);
         (class = bins_next_class(holes, class)) < BINS_CLASSES; class++) {
        for (w.hole = holes->list[class].head; w.hole != NULL; w.hole = w.hole->next) {
            try_hole(&w, &best);
        }
    }
    return best;
}

static bins_site find(bins_search *search)
{
    bins_site s = { .count = 0 };

    search->unmaps = 0;
    if (!bins_search_unmaps(search)) {
        s = find_with(search);
    }
    if (s.count == 0) {
        search->unmaps = 1;
        bins_poll(search->bins, search->lane);
        s = find_with(search);
    }
    return s;
}

/* ---- take ---- */

static bins_memo *memo_of(bins_self *bins, size_t bytes)
{
    uint64_t bits = bins->live * 0x9e3779b97f4a7c15u + bytes * 0xc2b2ae3d27d4eb4fu;

    return &bins->memo[(bits >> 32) % BINS_MEMOS];
}

static void note(bins_self *bins, const bins_site *s)
{
    size_t bytes = (size_t)(s->end - s->start);

    *memo_of(bins, bytes) = (bins_memo){ .live = bins->live, .bytes = bytes, .start = s->start };
}

static bins_block *fill(bins_self *bins, const bins_site *s, const shpool_timeline *timeline)
{
    bins_slab *slab = s->block->slab;
    size_t ready = bins_spares_usable(bins, timeline);
    size_t first = (size_t)((uintptr_t)s->start - slab->base) / bins->granules.bytes;
    bins_block *record[2];
    bins_block *block = NULL;
    int busy;

    if (bins_records_get(bins, record) &&
        (bins_granules_make(bins, (s->count > ready) ? s->count - ready : 0, timeline) ==
         SHPOOL_OK)) {
        bins->refusal = bins_places_fill(bins, slab, first, s->count, timeline, &busy);
        if (bins->refusal == CU_SUCCESS) {
            block = bins_carve(&slab->heap->holes, s->block,
                               (size_t)(s->start - s->block->address),
                               (size_t)(s->end - s->start), record);
        }
    }
    bins_records_put(bins, record);
    return block;
}

/* At most `create` new ones. */
static bins_block *gather_and_fill(bins_self *bins, bins_lane *lane, const bins_site *s,
                                   size_t create)
{
    bins_gather(bins, lane, s, s->count - create);
    return (bins_spares_usable(bins, &lane->timeline) + create >= s->count)
               ? fill(bins, s, &lane->timeline) : NULL;
}

bins_block *bins_window_take(bins_self *bins, size_t need, bins_lane *lane, size_t create)
{
    bins_search search = { .bins = bins, .heap = &bins->heap[BINS_WINDOWS],
                           .need = bins_round_up(bins, need), .lane = lane,
                           .timeline = &lane->timeline };
    bins_site s = find(&search);
    bins_block *block;

    if ((s.count == 0) && (bins_range_add(bins, search.heap, search.need) == SHPOOL_OK)) {
        s = find(&search);
    }
    if ((s.count == 0) || (bins_price(&search, &s) != NULL)) {
        return NULL;
    }
    create = (create < s.count) ? create : s.count;
    block = gather_and_fill(bins, lane, &s, create);
    /* After a refusal the site is still right, unlike that of a block that grows.  It is a part of
     * one hole in the range of the windows, and that range has no free blocks.  Granules were
     * gathered from other ranges, and those that were mapped at the site are spare again. */
    if ((block == NULL) && (bins->refusal == CU_ERROR_OUT_OF_MEMORY) && (create > 0)) {
        block = gather_and_fill(bins, lane, &s, 0);
    }
    if (block != NULL) {
        note(bins, &s);
    }
    return block;
}

bins_block *bins_window_again(bins_self *bins, size_t need, bins_lane *lane)
{
    bins_search search = { .bins = bins, .heap = &bins->heap[BINS_WINDOWS],
                           .need = bins_round_up(bins, need), .timeline = &lane->timeline };
    const bins_memo *m = memo_of(bins, search.need);
    bins_site s = { .start = m->start };

    if ((m->start == NULL) || (m->bytes != search.need) || (m->live != bins->live)) {
        return NULL;
    }
    s.end = s.start + search.need;
    s.low = s.start;
    s.high = s.end;
    s.block = bins_hole_of(search.heap, s.start);
    if ((s.block == NULL) || (s.block->address + s.block->bytes < s.end)) {
        return NULL;
    }
    bins_search_begin(&search);
    return ((bins_price(&search, &s) == NULL) && (s.calls == 0))
               ? gather_and_fill(bins, lane, &s, 0) : NULL;
}

/* ---- end ---- */

/* Spare granules whose places were next to each other go back to them. */
static void go_home(bins_self *bins, bins_slab *slab, size_t first, size_t count,
                    const bins_block *window)
{
    size_t granule = bins->granules.bytes;
    char *address = (char *)slab->base + first * granule;
    bins_block *hole = bins_hole_of(slab->heap, address);
    bins_block *record[2];

    if (bins_records_get(bins, record) && (hole != NULL)) {
        bins_block *piece = bins_carve(&slab->heap->holes, hole,
                                       (size_t)(address - hole->address), count * granule, record);

        bins_places_return(bins, slab, first, count);
        piece->last = window->last;
        piece->seq = window->seq;
        bins_heap_put(bins, piece);
    }
    bins_records_put(bins, record);
}

/* Where a granule of the window was before, and is mapped still; NULL: nowhere. */
static bins_place *origin(const bins_place *place)
{
    bins_place *p = place->granule->origin;

    return ((p != NULL) && (p->granule == place->granule)) ? p : NULL;
}

static void end_window(bins_self *bins, bins_block *window)
{
    size_t granule = bins->granules.bytes;
    bins_place *p = &window->slab->place[bins_offset_of(window) / granule];
    bins_place *end = p + window->bytes / granule;

    (void)bins_is_done(window);
    bins_places_leave(bins, window->slab, (size_t)(p - window->slab->place),
                      (size_t)(end - p), window->last, window->seq);
    while (p < end) {
        bins_place *home = origin(p);
        bins_slab *slab = p->granule->origin_slab;
        size_t count = 1;

        while ((home != NULL) && (p + count < end) && (origin(p + count) == home + count) &&
               (p[count].granule->origin_slab == slab)) {
            count++;
        }
        if (home != NULL) {
            go_home(bins, slab, (size_t)(home - slab->place), count, window);
        }
        p += count;
    }
    bins_hole_put(bins, window);
}

void bins_put(bins_self *bins, bins_block *block)
{
    if (bins_is_guest(block)) {
        bins->guests[bins_guest_class(block->class)]--;
    }
    if (block->slab->heap->windows) {
        end_window(bins, block);
    } else {
        bins_heap_put(bins, block);
    }
}
