/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual memory of the base `bins`: physical memory is mapped where blocks need it.  All of it is
 * under bins.lock.
 */
#ifndef SHPOOL_DEVICE_BINS_VMM_H
#define SHPOOL_DEVICE_BINS_VMM_H

#include "device/bins/bins.h"

#pragma GCC visibility push(hidden)

/* The addresses of a granule in a range. */
struct bins_place {
    bins_granule *granule;     /* that is mapped here; NULL: none */
    shpool_timeline *last;     /* whose stream may still use these addresses, until the free of */
    uint64_t seq;              /* this number; NULL: no stream does */
    int open;                  /* 1: the devices may access it */
    uint32_t calls;            /* its price when a search covered it (window.c) */
};

/* A piece of physical memory, which has a home or is spare. */
struct bins_granule {
    cu_granule handle;
    size_t bytes;              /* of the handle */
    bins_granule *part;        /* handles that are mapped above this one, always (double.c) */
    int is_part;
    int broken;                /* 1: some handles were returned, and the driver keeps the others */
    bins_granule *next;        /* of all, or of unused records */
    bins_place *home;          /* where it is used; NULL: it is spare */
    bins_place *origin;        /* where it was used before it was part of a window, or NULL */
    bins_slab *origin_slab;
    shpool_timeline *last;     /* of a spare one: as of a place */
    uint64_t seq;
    size_t spare_at;           /* index among the spare ones */
    size_t maps;               /* places */
    const bins_block *idle_in; /* free block that a search found it in, */
    uint64_t search;           /* the number of that search */
    uint64_t counted;          /* of the count that it was part of last */
    size_t covered;            /* places of it in that count */
    int leaving;               /* 1: it is about to be returned to the driver */
    int lost;                  /* 1: the driver did not unmap it at the end */
};

/* ---- physical memory (granules.c) ---- */

/* Properties with which granules are created. */
const cu_granule_props *bins_granule_props(const bins_self *bins, cu_granule_props *props);

/* Whether the driver can, and how; SHPOOL_ERR_UNSUPPORTED: bins->memory insists on it. */
shpool_status bins_granules_init(bins_self *bins);

/* Create more spare granules for a stream; the driver's refusal is in bins->refusal. */
shpool_status bins_granules_make(bins_self *bins, size_t more, const shpool_timeline *timeline);

/* SHPOOL_ERR_CAPTURE: the stream captures without a pool.  New memory for it would serve others
 * while its graph exists. */
shpool_status bins_may_take(const bins_self *bins, const shpool_timeline *timeline);

/* Return spare granules to the driver until `wanted` bytes are returned; returns the bytes. */
uint64_t bins_granules_release(bins_self *bins, uint64_t wanted);

/* The number of granules at which their size is doubled; SIZE_MAX: never. */
size_t bins_next_double(const bins_self *bins);

/* The most bytes that are reserved, unless idle ones cannot be used for a request. */
uint64_t bins_most(const bins_self *bins);

/* The bytes that may be idle if the peak of live bytes is `live`. */
uint64_t bins_over(const bins_self *bins, uint64_t live);

/* At the end: return spare ones, and add those that the driver refuses to a loss. */
void bins_granules_fini(bins_self *bins, shpool_device_loss *loss);

/* ---- granules without a home (spare.c) ---- */

/* A granule becomes a spare one, or is none any more.  There is room for all. */
void bins_spare_put(bins_granules *g, bins_granule *granule);
void bins_spare_remove(bins_granules *g, bins_granule *granule);

/* 1: the timeline's stream may use a spare granule immediately; and how many it may use. */
int bins_spare_is_usable(bins_granule *granule, const shpool_timeline *timeline);
size_t bins_spares_usable(bins_self *bins, const shpool_timeline *timeline);

/* ---- places of granules (places.c) ---- */

/* 1: no stream uses these addresses any more. */
int bins_place_is_done(bins_place *place);

/* The granules of some places become spare; they stay mapped.  last, seq: who may still use
 * them. */
void bins_places_leave(bins_self *bins, bins_slab *slab, size_t first, size_t count,
                       shpool_timeline *last, uint64_t seq);

/* Make some places the homes of spare granules that the timeline's stream may use: those that are
 * mapped there already, and others.  *busy_p: that stream may still use some elsewhere.  Returns
 * the driver's refusal, after which all of the granules are spare. */
cu_result bins_places_fill(bins_self *bins, bins_slab *slab, size_t first, size_t count,
                           const shpool_timeline *timeline, int *busy_p);

/* Unmap spare granules, as far as the driver does it; no stream may use these addresses. */
void bins_places_drop(bins_self *bins, bins_slab *slab, size_t first, size_t count);

/* Spare granules are used again at places where they are mapped. */
void bins_places_return(bins_self *bins, bins_slab *slab, size_t first, size_t count);

/* Unmap spare granules that are `leaving` wherever they are mapped; the others lose that mark. */
void bins_places_unmap_leaving(bins_self *bins);

/* Unmap all of a range; the driver's refusal. */
cu_result bins_places_clear(bins_self *bins, bins_slab *slab);

/* ---- peers (peers.c) ---- */

/* Let a device by its ordinal, or "all" capable ones, access all current and future mappings. */
shpool_status bins_peer(void *self, const char *value);

/* ---- reserved addresses ---- */

static inline int bins_has_ranges(const bins_self *bins, const bins_heap *heap)
{
    return (heap->graph == NULL) && (bins->granules.bytes > 0) && (bins->whole == 0);
}

/* Create a free block of at least `need` bytes that the lane's stream may use immediately, from
 * granules that are idle elsewhere and new ones; or *block_p: one that is in no list.  The driver's
 * refusal is in bins->refusal. */
shpool_status bins_range_grow(bins_self *bins, bins_heap *heap, size_t need, bins_lane *lane,
                              bins_block **block_p);

/* A block is free: it is merged in its heap, or it is a window, and its granules go home. */
void bins_put(bins_self *bins, bins_block *block);

/* 1: granules are idle that a stream may be using. */
int bins_range_is_busy(bins_self *bins);

/* Wait for the device, unmap everything and give the addresses back; the driver's refusal.  At the
 * end of the allocator only. */
cu_result bins_range_free(bins_self *bins, bins_slab *slab);

/* Add what is still mapped after a refusal to a loss. */
void bins_range_lose(bins_self *bins, bins_slab *slab, cu_result result, shpool_device_loss *loss);

/* Where a block is going to be: addresses of holes and of free blocks that the stream may use,
 * which become one block when the holes' part has memory. */
typedef struct bins_site {
    bins_block *block; /* the lowest one, which has `start` in it */
    char *start;
    char *end;
    char *low;         /* free blocks from here to `high` stay where they are: they are part */
    char *high;        /* of it, or beside its holes */
    size_t count;      /* granules that it lacks; 0: no site was found */
    size_t calls;      /* of the driver, about */
    int top;           /* 1: it ends in the highest hole of its range */
} bins_site;

/* A search for places. */
typedef struct bins_search {
    bins_self *bins;
    bins_heap *heap;
    size_t need;
    bins_lane *lane;                 /* whose stream may use what is found immediately */
    const shpool_timeline *timeline; /* its */
    int unmaps;                      /* 1: also places that must be unmapped before */
} bins_search;

static inline size_t bins_offset_of(const bins_block *block)
{
    return (size_t)((uintptr_t)block->address - block->slab->base);
}

static inline int bins_is_home(const bins_place *place)
{
    return (place->granule != NULL) && (place->granule->home == place);
}

static inline int bins_is_hole(const bins_block *block)
{
    return (block != NULL) && (bins_state(block) == BINS_HOLE);
}

/* 1: the block is part of a site, or beside its holes.  No site: 0. */
static inline int bins_is_at(const bins_block *block, const bins_site *s)
{
    return (s != NULL) && (block->address < s->high) && (block->address + block->bytes > s->low);
}

static inline uintptr_t bins_round_up(const bins_self *bins, uintptr_t bytes)
{
    return (bytes + bins->granules.bytes - 1) / bins->granules.bytes * bins->granules.bytes;
}

/* ---- holes (holes.c) ---- */

/* Records for the two cuts of bins_carve(), before anything is changed. */
int bins_records_get(bins_self *bins, bins_block *record[2]);
void bins_records_put(bins_self *bins, bins_block *record[2]);

/* Remove a piece of a block, from an offset on, from its list, in which the parts below and above
 * stay. */
bins_block *bins_carve(bins_lists *lists, bins_block *block, size_t from, size_t bytes,
                       bins_block *record[2]);

/* A block that is in no list becomes a hole, one with the holes beside it. */
void bins_hole_put(bins_self *bins, bins_block *block);

/* The hole that an address is in; NULL: it is not in one. */
bins_block *bins_hole_of(const bins_heap *heap, const char *address);

typedef void bins_visit(bins_self *bins, bins_block *block, void *user);

/* All free blocks that may have whole granules: those of windows, of the large heap, of the small
 * one, in each smallest first; one may be cut meanwhile. */
void bins_visit_idle(bins_self *bins, bins_visit *visit, void *user);

/* 1: the timeline's stream may move granules of the block; NULL: any stream. */
int bins_is_movable(bins_block *block, const shpool_timeline *timeline);

/* How many whole granules a block has, and the place of the first. */
size_t bins_whole_granules(const bins_self *bins, const bins_block *block, size_t *first_p);

/* Idle granules become spare, until a number of spare ones may be used by the timeline's stream
 * (NULL: by any), if there are enough; not those at a site (NULL: none). */
void bins_range_reclaim(bins_self *bins, size_t spares, const shpool_timeline *timeline,
                        const bins_site *s);

/* The same for the lane's stream, at first those that bins_price() counted for the site. */
void bins_gather(bins_self *bins, bins_lane *lane, const bins_site *s, size_t spares);

/* ---- sites (site.c) ---- */

/* 1: the heap has many places already. */
int bins_search_unmaps(const bins_search *search);

/* Number the idle granules that the stream may use. */
void bins_search_begin(const bins_search *search);

/* The calls that the driver needs for one place of a site: 0 if a granule that is idle or spare is
 * mapped there already.  BINS_NEVER: not possible. */
size_t bins_price_place(const bins_search *search, const bins_site *s, bins_place *place);
#define BINS_NEVER ((size_t)1 << 31)

/* Completes the site, and counts the granules that are mapped there.  NULL; or addresses that must
 * not be unmapped. */
char *bins_price(const bins_search *search, bins_site *s);

/* The one with fewer calls, then fewer granules, then the lower one. */
void bins_keep_better(bins_site *best, const bins_site *s);

/* The best site for a block, without and if need be with unmapping. */
bins_site bins_site_find(bins_search *search);

/* Of a hole: the places within a site. */
size_t bins_places_in(const bins_self *bins, const bins_block *hole, const bins_site *s,
                      size_t *first_p);

/* ---- granules of twice the size (double.c) ---- */

/* If there are many granules, or will be with the request, two become one.  1: this has changed
 * free blocks. */
int bins_granules_double(bins_self *bins, bins_lane *lane, size_t need);

/* ---- ranges (range.c) ---- */

/* A large range, or one for the request only if the process may not have more address space. */
shpool_status bins_range_add(bins_self *bins, bins_heap *heap, size_t need);

/* ---- windows (window.c) ---- */

/* A block that borrows idle granules from others; at most `create` new ones; NULL: not possible. */
bins_block *bins_window_take(bins_self *bins, size_t need, bins_lane *lane, size_t create);

/* A window that served the same request before, when as much was live, without a call of the
 * driver; NULL: there is none. */
bins_block *bins_window_again(bins_self *bins, size_t need, bins_lane *lane);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_BINS_VMM_H */
