/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: the records of slabs and blocks, how blocks are cut and merged, and the heaps of free ones.
 * No call of the driver is made here. */
#include "bins.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_BYTES 65536u

/* ---- records ---- */

/* Never freed before the allocator is: a stray pointer finds an old record, not foreign memory. */
bins_block *bins_record_get(bins_self *bins)
{
    bins_block *block = bins->unused;
    char *chunk;

    if (block == NULL) {
        size_t step = (sizeof(bins_block) + SHPOOL_CACHE_LINE - 1) / SHPOOL_CACHE_LINE *
                      SHPOOL_CACHE_LINE;

        chunk = aligned_alloc(SHPOOL_CACHE_LINE, RECORDS_BYTES);
        if (chunk == NULL) {
            return NULL;
        }
        memset(chunk, 0, RECORDS_BYTES);
        *(void **)chunk = bins->records;
        bins->records = chunk;
        for (size_t at = step; at + step <= RECORDS_BYTES; at += step) {
            block = (bins_block *)(void *)(chunk + at);
            block->next = bins->unused;
            bins->unused = block;
        }
    }
    bins->unused = block->next;
    return block;
}

void bins_record_put(bins_self *bins, bins_block *block)
{
    block->address = NULL;
    bins_set_state(block, BINS_FREE);
    block->next = bins->unused;
    bins->unused = block;
}

void bins_use_forget(bins_block *block)
{
    while (block->uses != NULL) {
        bins_use *use = block->uses;

        block->uses = use->next;
        free(use);
    }
}

void bins_hand_out(bins_block *block, shpool_timeline *timeline, unsigned state)
{
    bins_slab *slab = block->slab;

    bins_set_last(block, timeline); /* no other thread may use the block */
    bins_set_state(block, state);
    /* release: pairs with the acquire in bins_find(), publishes the record */
    atomic_store_explicit(&slab->map[((uintptr_t)block->address - slab->base) >> slab->shift],
                          block, memory_order_release);
}

/* ---- slabs ---- */

static void link_slab(bins_heap *heap, bins_slab *slab)
{
    slab->heap = heap;
    slab->prev = NULL;
    slab->next = heap->slabs;
    if (heap->slabs != NULL) {
        heap->slabs->prev = slab;
    }
    heap->slabs = slab;
}

void bins_slab_unlink(bins_slab *slab)
{
    if (slab->prev != NULL) {
        slab->prev->next = slab->next;
    } else {
        slab->heap->slabs = slab->next;
    }
    if (slab->next != NULL) {
        slab->next->prev = slab->prev;
    }
}

shpool_status bins_slab_prepare(bins_self *bins, int large, size_t bytes, bins_slab **slab_p,
                                bins_block **block_p)
{
    unsigned shift = large ? BINS_LARGE_SHIFT : BINS_GRANULE_SHIFT;
    bins_slab *slab = bins->unused_slabs;

    if (slab != NULL) {
        bins->unused_slabs = slab->next;
    } else {
        slab = calloc(1, sizeof(*slab));
    }
    *slab_p = slab;
    *block_p = bins_record_get(bins);
    if (slab != NULL) {
        slab->shift = shift;
        slab->driver_ptr = 0;
        slab->places = 0;
        slab->maps = 0;
        slab->own_range = 0;
        slab->exported = 0;
        slab->map = calloc((bytes + ((size_t)1 << shift) - 1) >> shift, sizeof(*slab->map));
    }
    if ((slab != NULL) && (slab->map != NULL) && (*block_p != NULL)) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for the record of %zu bytes of "
                        "device memory", bytes);
}

void bins_slab_drop(bins_self *bins, bins_slab *slab, bins_block *block, cu_result result)
{
    bins_slab **list = (result == CU_SUCCESS) ? &bins->unused_slabs : &bins->refused_slabs;

    if (block != NULL) {
        bins_record_put(bins, block);
    }
    if (slab != NULL) {
        free((void *)slab->map);
        slab->map = NULL;
        if (result == CU_SUCCESS) {
            free(slab->place);
            slab->place = NULL;
        }
        slab->next = *list; /* never freed before the allocator is, like records */
        *list = slab;
    }
}

shpool_status bins_slab_begin(bins_self *bins, bins_heap *heap, bins_slab *slab, bins_block *block,
                              unsigned state)
{
    shpool_status status;

    *block = (bins_block){ .address = (char *)slab->base, .bytes = slab->bytes, .slab = slab,
                           .class = bins_class(slab->bytes) };
    bins_set_state(block, state);
    slab->first = block;
    slab->idle_key = bins->idle_clock++;
    status = shpool_page_set(&bins->map, slab->base, slab->bytes, slab);
    if (status == SHPOOL_OK) {
        link_slab(heap, slab);
    }
    return status;
}

/* ---- blocks ---- */

void bins_split(bins_block *block, size_t bytes, bins_block *rest)
{
    *rest = (bins_block){
        .address = block->address + bytes, .bytes = block->bytes - bytes, .slab = block->slab,
        .class = bins_class(block->bytes - bytes), .last = block->last, .seq = block->seq,
        .above = block->above, .below = block,
    };
    bins_set_state(rest, bins_state(block));
    if (rest->above != NULL) {
        rest->above->below = rest;
    }
    block->above = rest;
    block->bytes = bytes;
    block->class = bins_class(bytes);
}

bins_block *bins_cut(bins_self *bins, bins_block *block, size_t need)
{
    bins_lists *lists = &block->slab->heap->bins;
    bins_block *rest = NULL;

    if ((block->bytes > need) && !bins_is_shared(bins, block->slab->heap)) {
        rest = bins_record_get(bins);
        if (rest == NULL) {
            return NULL;
        }
    }
    bins_remove(lists, block);
    if (rest != NULL) {
        bins_split(block, need, rest);
        bins_push(lists, rest);
    }
    return block;
}

/* The upper of two neighbours becomes part of the lower; neither is in a bin then. */
static void absorb(bins_self *bins, bins_block *lower, bins_block *upper)
{
    lower->bytes += upper->bytes;
    lower->above = upper->above;
    if (upper->above != NULL) {
        upper->above->below = lower;
    }
    bins_record_put(bins, upper);
}

/* ---- merging ---- */

int bins_is_done(bins_block *block)
{
    if ((block->last != NULL) && shpool_timeline_is_done(block->last, block->seq)) {
        block->last = NULL;
    }
    return block->last == NULL;
}

/* 1: one wait, or none, makes both usable. */
static int joins(bins_block *lower, bins_block *upper)
{
    (void)bins_is_done(lower);
    (void)bins_is_done(upper);
    return (lower->last == NULL) || (upper->last == NULL) || (lower->last == upper->last);
}

void bins_join(bins_self *bins, bins_block *lower, bins_block *upper)
{
    if (lower->last == NULL) {
        lower->last = upper->last;
        lower->seq = upper->seq;
    } else if ((upper->last != NULL) && (upper->seq > lower->seq)) {
        lower->seq = upper->seq;
    }
    absorb(bins, lower, upper);
}

void bins_heap_put(bins_self *bins, bins_block *block)
{
    bins_slab *slab = block->slab;
    bins_block *other = block->above;

    if ((other != NULL) && (bins_state(other) == BINS_FREE) && joins(block, other)) {
        bins_remove(&slab->heap->bins, other);
        bins_join(bins, block, other);
    }
    other = block->below;
    if ((other != NULL) && (bins_state(other) == BINS_FREE) && joins(other, block)) {
        bins_remove(&slab->heap->bins, other);
        bins_join(bins, other, block);
        block = other;
    }
    block->class = bins_class(block->bytes);
    bins_set_state(block, BINS_FREE);
    bins_push(&slab->heap->bins, block);
    if (bins_is_whole(slab)) {
        uint64_t age = block->class; /* as if it had become idle that many frees earlier */

        bins->idle_clock++;
        slab->idle_key = (bins->idle_clock > age) ? bins->idle_clock - age : 0;
    }
}

void bins_heap_merge(bins_self *bins, bins_heap *heap)
{
    for (bins_slab *slab = heap->slabs; slab != NULL; slab = slab->next) {
        for (bins_block *block = slab->first; block->above != NULL;) {
            bins_block *upper = block->above;

            if ((bins_state(block) != BINS_FREE) || (bins_state(upper) != BINS_FREE) ||
                !joins(block, upper)) {
                block = upper;
                continue;
            }
            bins_remove(&heap->bins, block);
            bins_remove(&heap->bins, upper);
            bins_join(bins, block, upper);
            block->class = bins_class(block->bytes);
            bins_push(&heap->bins, block);
        }
    }
}

/* ---- searches ---- */

unsigned bins_next_class(const bins_lists *lists, unsigned class)
{
    unsigned word = class / 64;
    uint64_t bits;

    if (class >= BINS_CLASSES) {
        return BINS_CLASSES;
    }
    bits = lists->nonempty[word] & (~0ull << (class % 64));
    while (bits == 0) {
        if (++word == BINS_WORDS) {
            return BINS_CLASSES;
        }
        bits = lists->nonempty[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

static int serves(const bins_block *block, const shpool_timeline *timeline, bins_which which)
{
    return bins_usable(block, timeline) ||
           ((which == BINS_WAITABLE) && shpool_timeline_can_order(block->last, block->seq));
}

/* 1: the lowest block serves a request, not the smallest one: that of large blocks of a range.  The
 * best fit leaves pieces that nothing fits into: 6 to 13 % of programs whose blocks grow, where the
 * first fit leaves 2 to 6 %.  In slabs it is the other way round, because fewer become whole. */
static int is_first_fit(const bins_heap *heap)
{
    return heap->large && (heap->slabs != NULL) && (heap->slabs->place != NULL);
}

/* 1: a serves a request, and not b.  Large ones of one size by address, so that the blocks that are
 * free decide, and not their history: a program that repeats its requests soon has them served
 * alike. */
static int is_better(const bins_heap *heap, const bins_block *a, const bins_block *b)
{
    if (is_first_fit(heap)) {
        return a->address < b->address;
    }
    return (a->bytes < b->bytes) ||
           ((a->bytes == b->bytes) && heap->large && (a->address < b->address));
}

/* The best that serves of the first blocks of a bin and `best`; small ones: as a rule the very
 * first. */
static bins_block *best_of(const bins_heap *heap, const bins_list *list, size_t need,
                           const shpool_timeline *timeline, bins_which which, unsigned depth,
                           bins_block *best)
{
    for (bins_block *block = list->head; (block != NULL) && (depth > 0); block = block->next) {
        depth--;
        if ((block->bytes < need) || ((best != NULL) && !is_better(heap, block, best))) {
            continue;
        }
        if (serves(block, timeline, which)) {
            best = block;
            if ((best->bytes == need) && !heap->large) {
                break;
            }
        }
    }
    return best;
}

bins_block *bins_heap_take(bins_self *bins, bins_heap *heap, size_t need,
                           const shpool_timeline *timeline, bins_which which, unsigned depth)
{
    unsigned class = bins_class(need);
    /* what is not cut serves its own class only */
    unsigned end = bins_is_shared(bins, heap) ? class + 1 : BINS_CLASSES;
    bins_block *found = NULL;

    while (((found == NULL) || is_first_fit(heap)) &&
           ((class = bins_next_class(&heap->bins, class)) < end)) {
        found = best_of(heap, &heap->bins.list[class++], need, timeline, which, depth, found);
    }
    return (found != NULL) ? bins_cut(bins, found, need) : NULL;
}
