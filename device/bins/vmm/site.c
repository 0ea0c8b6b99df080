/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: where a block of a range can grow.
 *
 * A site is part of a row of holes and of free blocks that the stream may use.  The best one is
 * above all blocks, where memory that moves stays together: in holes between blocks, it leaves more
 * and smaller pieces.  Of several, and if addresses are rare, it is the one for which the driver is
 * called least: places of its holes may have a granule that is idle now.  Work that is still queued
 * makes no difference to this choice, so that a program that repeats its requests finds the same
 * sites each time, however late the GPU is.  For the same reason granules of other blocks are not
 * unmapped, unless addresses become rare.
 */
#include "vmm.h"

/* Places are unmapped for others if a range has more than PLACES_MOST / 2 of them that are mapped
 * for each granule that exists; a program with more does not repeat its requests. */
#define PLACES_MOST    3u
#define PLACES_WINDOWS 8u

/* The host waits for places in use only if the best site without them needs more calls than one
 * place that is unmapped. */
#define NO_WAIT 2u

/* ---- what a site costs ---- */

static void note_idle(bins_self *bins, bins_block *block, void *user)
{
    size_t first;
    size_t count = bins_is_movable(block, user) ? bins_whole_granules(bins, block, &first) : 0;

    for (size_t i = 0; i < count; i++) {
        bins_granule *granule = block->slab->place[first + i].granule;

        granule->idle_in = block;
        granule->search = bins->granules.searches;
    }
}

void bins_search_begin(const bins_search *search)
{
    search->bins->granules.searches++;
    bins_visit_idle(search->bins, note_idle, (void *)(uintptr_t)search->timeline);
}

/* 1: the granule can be used at the site. */
static int is_available(const bins_search *search, bins_granule *granule, const bins_site *s)
{
    return (granule->home == NULL)
               ? bins_spare_is_usable(granule, search->timeline)
               : ((granule->search == search->bins->granules.searches) &&
                  !bins_is_at(granule->idle_in, s));
}

size_t bins_price_place(const bins_search *search, const bins_site *s, bins_place *place)
{
    if (place->granule == NULL) {
        return 1;
    }
    if (is_available(search, place->granule, s)) {
        return 0;
    }
    return (search->unmaps && bins_place_is_done(place)) ? 2 : BINS_NEVER;
}

size_t bins_places_in(const bins_self *bins, const bins_block *hole, const bins_site *s,
                      size_t *first_p)
{
    size_t granule = bins->granules.bytes;
    char *from = (s->start > hole->address) ? s->start : hole->address;
    char *to = hole->address + hole->bytes;
    size_t end;

    to = (s->end < to) ? s->end : to;
    end = bins_round_up(bins, (uintptr_t)to - hole->slab->base) / granule;
    *first_p = (size_t)((uintptr_t)from - hole->slab->base) / granule;
    return end - *first_p;
}

static char *price_hole(const bins_search *search, bins_site *s, const bins_block *hole)
{
    bins_granules *g = &search->bins->granules;
    size_t first;
    size_t count = bins_places_in(search->bins, hole, s, &first);

    s->count += count;
    for (bins_place *p = &hole->slab->place[first]; count > 0; p++, count--) {
        size_t calls = bins_price_place(search, s, p);

        if ((calls == 0) && (p->granule->counted == g->counts)) { /* it serves one place only */
            calls = (search->unmaps && bins_place_is_done(p)) ? 2 : BINS_NEVER;
        } else if (calls == 0) {
            p->granule->counted = g->counts;
        }
        if (calls == BINS_NEVER) {
            return (char *)hole->slab->base + (size_t)(p - hole->slab->place) * g->bytes;
        }
        s->calls += calls;
    }
    return NULL;
}

char *bins_price(const bins_search *search, bins_site *s)
{
    char *bad = NULL;

    search->bins->granules.counts++;
    s->count = 0;
    s->calls = 0;
    for (const bins_block *b = s->block; (bad == NULL) && (b != NULL) && (b->address < s->end);
         b = b->above) {
        bad = bins_is_hole(b) ? price_hole(search, s, b) : NULL;
    }
    return bad;
}

void bins_keep_better(bins_site *best, const bins_site *s)
{
    if ((s->count > 0) &&
        ((best->count == 0) || (s->calls < best->calls) ||
         ((s->calls == best->calls) &&
          ((s->count < best->count) ||
           ((s->count == best->count) && (s->start < best->start)))))) {
        *best = *s;
    }
}

/* ---- rows of holes and free blocks ---- */

/* 1: a site may go on here.  Free blocks that are not done can be merged if they have numbers of
 * the stream's first timeline. */
static int is_part(bins_block *block, const shpool_timeline *timeline)
{
    return bins_is_hole(block) ||
           ((block != NULL) && (bins_state(block) == BINS_FREE) &&
            (bins_is_done(block) || (block->last == timeline->home)));
}

/* Completes a site whose start and end are known. */
static void set_limits(bins_site *s, const bins_block *highest)
{
    const bins_block *below = bins_is_hole(s->block) ? s->block->below : NULL;
    const bins_block *above = bins_is_hole(highest) ? highest->above : NULL;

    s->low = (below != NULL) ? below->address : s->block->address;
    s->high = highest->address + highest->bytes + ((above != NULL) ? above->bytes : 0);
    s->top = bins_is_hole(highest) && (above == NULL);
}

/* From an address in a block on, up to `need` bytes; 0: there are not as many. */
static int reach_up(const bins_search *search, bins_site *s, bins_block *block, char *start)
{
    *s = (bins_site){ .block = block, .start = start, .end = start + search->need };
    while (is_part(block, search->timeline)) {
        if (block->address + block->bytes >= s->end) {
            set_limits(s, block);
            return 1;
        }
        block = block->above;
    }
    return 0;
}

/* The same below the end of a block; a hole's part of it is whole granules. */
static int reach_down(const bins_search *search, bins_site *s, bins_block *block)
{
    size_t granule = search->bins->granules.bytes;
    char *end = block->address + block->bytes;
    const bins_block *highest = block;

    for (; is_part(block, search->timeline); block = block->below) {
        if (block->address + search->need <= end) {
            char *start = end - search->need;

            start -= bins_is_hole(block) ? ((uintptr_t)start - block->slab->base) % granule : 0;
            *s = (bins_site){ .block = block, .start = start, .end = end };
            set_limits(s, highest);
            return 1;
        }
    }
    return 0;
}

/* ---- searches ---- */

static void keep(bins_site *best, const bins_site *s)
{
    if ((best->count == 0) || (s->top == best->top)) {
        bins_keep_better(best, s);
    } else if ((s->count > 0) && s->top) {
        *best = *s;
    }
}

/* Sites that begin with the hole, or with the free block below it; or further up in the hole, if
 * places must not be unmapped. */
static void try_up(bins_search *search, bins_site *best, bins_block *hole)
{
    size_t granule = search->bins->granules.bytes;
    bins_block *block = is_part(hole->below, search->timeline) ? hole->below : hole;
    bins_site s;
    char *bad = reach_up(search, &s, block, block->address) ? bins_price(search, &s)
                                                            : hole->address + hole->bytes;

    while ((bad != NULL) && (bad >= hole->address) &&
           (bad + granule < hole->address + hole->bytes) &&
           reach_up(search, &s, hole, bad + granule)) {
        bad = bins_price(search, &s);
    }
    if (bad == NULL) {
        keep(best, &s);
    }
}

/* A site that ends with the hole, or with the free block above it. */
static void try_down(bins_search *search, bins_site *best, bins_block *hole)
{
    bins_block *block = is_part(hole->above, search->timeline) ? hole->above : hole;
    bins_site s;

    if (reach_down(search, &s, block) && (bins_price(search, &s) == NULL)) {
        keep(best, &s);
    }
}

static bins_site find(bins_search *search)
{
    const bins_lists *holes = &search->heap->holes;
    bins_site best = { .count = 0 };

    bins_search_begin(search);
    for (unsigned class = 0; (class = bins_next_class(holes, class)) < BINS_CLASSES; class++) {
        for (bins_block *hole = holes->list[class].head; hole != NULL; hole = hole->next) {
            try_up(search, &best, hole);
            try_down(search, &best, hole);
        }
    }
    return best;
}

int bins_search_unmaps(const bins_search *search)
{
    const bins_slab *slab = search->heap->slabs;
    size_t most = search->bins->granules.count *
                  (search->heap->windows ? PLACES_WINDOWS : PLACES_MOST) / 2;

    while ((slab != NULL) && (slab->maps <= most)) {
        slab = slab->next;
    }
    return slab != NULL;
}

/* What may be unmapped is asked for, and a little waited for if that can save much. */
static bins_site find_and_unmap(bins_search *search)
{
    bins_site s;

    search->unmaps = 1;
    bins_poll(search->bins, search->lane);
    s = find(search);
    return ((s.calls > NO_WAIT) && bins_wait(search->bins, search->lane)) ? find(search) : s;
}

bins_site bins_site_find(bins_search *search)
{
    bins_site s = { .count = 0 };

    search->unmaps = 0;
    if (!bins_search_unmaps(search)) {
        s = find(search);
    }
    return (s.count > 0) ? s : find_and_unmap(search);
}
