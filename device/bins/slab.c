/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: memory from the driver and back, the blocks that it is cut into, and the heaps of free
 * blocks. */
#include "bins.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_BYTES  65536u
#define LARGE_LEAST    ((size_t)8 << 20)

/* ---- records ---- */

/* Never freed before the allocator is: a stray pointer finds an old record, not somebody else's. */
static bins_block *record_get(bins_self *bins)
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

static void record_put(bins_self *bins, bins_block *block)
{
    block->address = NULL;
    bins_set_state(block, BINS_FREE);
    block->next = bins->unused;
    bins->unused = block;
}

static void set_entry(const bins_slab *slab, const bins_block *block, bins_block *value)
{
    /* release: pairs with the acquire in bins_find(), publishes the record */
    atomic_store_explicit(&slab->map[((uintptr_t)block->address - slab->base) >> slab->shift],
                          value, memory_order_release);
}

/* ---- the driver's rule about captures in other streams of this thread ---- */

shpool_status bins_capture_relax(bins_self *bins, int *mode_p)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    cu_result result = CU_SUCCESS;

    *mode_p = CU_CAPTURE_MODE_RELAXED;
    if ((atomic_load_explicit(&bins->lanes.captures, memory_order_relaxed) > 0) &&
        (cu->capture_mode != NULL)) {
        result = cu->capture_mode(mode_p);
    }
    return (result == CU_SUCCESS)
               ? SHPOOL_OK
               : shpool_driver_failed(cu, "cuThreadExchangeStreamCaptureMode", result);
}

void bins_capture_restore(bins_self *bins, int mode)
{
    if (mode != CU_CAPTURE_MODE_RELAXED) {
        (void)bins->lanes.device->cu->capture_mode(&mode);
    }
}

/* ---- the driver ---- */

static cu_result driver_alloc(bins_self *bins, bins_slab *slab, size_t bytes)
{
    cu_result result = shpool_device_take(bins->lanes.device, bytes, &slab->driver_ptr);

    if (result == CU_SUCCESS) {
        slab->driver_bytes = bytes;
        bins->count.driver_mallocs++;
        bins->count.driver_bytes += bytes;
        if (bins->count.driver_bytes > bins->count.driver_bytes_peak) {
            bins->count.driver_bytes_peak = bins->count.driver_bytes;
        }
    }
    return result;
}

/* A slab without memory of the driver has driver_bytes 0. */
static cu_result driver_free(bins_self *bins, bins_slab *slab)
{
    cu_result result;

    if (slab->driver_bytes == 0) {
        return CU_SUCCESS;
    }
    result = shpool_device_give(bins->lanes.device, slab->driver_ptr);
    if (result == CU_SUCCESS) {
        bins->count.driver_frees++;
        bins->count.driver_bytes -= slab->driver_bytes;
        slab->driver_bytes = 0;
    }
    return result;
}

/* Memory that begins with a page.  Drivers align what is this large; one that does not gives a
 * page more, and what lies before the page is not used. */
static cu_result driver_alloc_pages(bins_self *bins, bins_slab *slab, size_t bytes)
{
    cu_result result = driver_alloc(bins, slab, bytes);

    if ((result == CU_SUCCESS) && (slab->driver_ptr % SHPOOL_PAGE_BYTES != 0)) {
        result = driver_free(bins, slab);
        if (result == CU_SUCCESS) {
            result = driver_alloc(bins, slab, bytes + SHPOOL_PAGE_BYTES);
        }
    }
    slab->bytes = bytes;
    slab->base = (uintptr_t)((slab->driver_ptr + SHPOOL_PAGE_BYTES - 1) / SHPOOL_PAGE_BYTES *
                             SHPOOL_PAGE_BYTES);
    return result;
}

/* ---- slabs ---- */

static size_t slab_size(const bins_self *bins, const bins_heap *heap, size_t need, int exact)
{
    size_t least = (need + SHPOOL_PAGE_BYTES - 1) / SHPOOL_PAGE_BYTES * SHPOOL_PAGE_BYTES;
    size_t bytes;

    if (!heap->large || exact || (need >= BINS_DIRECT_BYTES)) {
        return least;
    }
    /* for several: large ones, because pieces of two slabs cannot be merged; an eighth of what is
     * held, so that small programs stay small */
    bytes = (size_t)(bins->count.driver_bytes / 8) / SHPOOL_PAGE_BYTES * SHPOOL_PAGE_BYTES;
    if (bytes < LARGE_LEAST) {
        bytes = LARGE_LEAST;
    }
    if (bytes > bins->slab_bytes) {
        bytes = (size_t)bins->slab_bytes;
    }
    return (bytes > least) ? bytes : least;
}

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

static void unlink_slab(bins_slab *slab)
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

/* All that host memory is needed for, before the driver is asked. */
static shpool_status prepare_slab(bins_self *bins, const bins_heap *heap, size_t bytes,
                                  bins_slab **slab_p, bins_block **block_p)
{
    unsigned shift = heap->large ? BINS_LARGE_SHIFT : BINS_GRANULE_SHIFT;
    bins_slab *slab = bins->unused_slabs;

    if (slab != NULL) {
        bins->unused_slabs = slab->next;
    } else {
        slab = calloc(1, sizeof(*slab));
    }
    *slab_p = slab;
    *block_p = record_get(bins);
    if (slab != NULL) {
        slab->shift = shift;
        slab->map = calloc((bytes + ((size_t)1 << shift) - 1) >> shift, sizeof(*slab->map));
    }
    if ((slab != NULL) && (slab->map != NULL) && (*block_p != NULL)) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for what describes %zu bytes of "
                        "device memory", bytes);
}

static void drop_slab(bins_self *bins, bins_slab *slab, bins_block *block)
{
    if (block != NULL) {
        record_put(bins, block);
    }
    if (slab != NULL) {
        bins_slab **list = (driver_free(bins, slab) == CU_SUCCESS) ? &bins->unused_slabs
                                                                   : &bins->refused_slabs;

        free((void *)slab->map);
        slab->map = NULL;
        slab->next = *list; /* never freed before the allocator is, like records */
        *list = slab;
    }
}

/* What the driver refused to take back, once more. */
static void retry_refused(bins_self *bins)
{
    bins_slab *slab = bins->refused_slabs;

    bins->refused_slabs = NULL;
    while (slab != NULL) {
        bins_slab *next = slab->next;

        drop_slab(bins, slab, NULL);
        slab = next;
    }
}

shpool_status bins_slab_create(bins_self *bins, bins_heap *heap, size_t need, int exact)
{
    size_t bytes = slab_size(bins, heap, need, exact);
    uint64_t hard = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    bins_slab *slab;
    bins_block *block;
    shpool_status status;

    bins->refusal = CU_ERROR_OUT_OF_MEMORY;
    if ((bytes > bins->device_bytes) || (bytes > hard) ||
        (bins->count.driver_bytes > hard - bytes)) {
        return SHPOOL_ERR_NO_MEMORY; /* no detail yet: there is more to try */
    }
    bins->refusal = CU_SUCCESS;
    status = prepare_slab(bins, heap, bytes, &slab, &block);
    if (status != SHPOOL_OK) {
        drop_slab(bins, slab, block);
        return status;
    }
    bins->refusal = driver_alloc_pages(bins, slab, bytes);
    if (bins->refusal != CU_SUCCESS) {
        drop_slab(bins, slab, block);
        return (bins->refusal == CU_ERROR_OUT_OF_MEMORY)
                   ? SHPOOL_ERR_NO_MEMORY
                   : shpool_driver_failed(bins->lanes.device->cu, "cuMemAlloc", bins->refusal);
    }
    *block = (bins_block){ .address = (char *)slab->base, .bytes = bytes, .slab = slab,
                           .class = bins_class(bytes) };
    slab->first = block;
    slab->idle_key = bins->idle_clock++;
    set_entry(slab, block, block);
    status = shpool_page_set(&bins->map, slab->base, bytes, slab);
    if (status != SHPOOL_OK) {
        drop_slab(bins, slab, block);
        return status;
    }
    link_slab(heap, slab);
    bins_push(&heap->bins, block);
    return SHPOOL_OK;
}

int bins_slab_release(bins_self *bins, bins_slab *slab)
{
    bins_block *block = slab->first;

    if (driver_free(bins, slab) != CU_SUCCESS) {
        return 0; /* it stays, and is tried again another time */
    }
    bins_remove(&slab->heap->bins, block);
    (void)shpool_page_set(&bins->map, slab->base, slab->bytes, NULL); /* the leaves exist */
    unlink_slab(slab);
    drop_slab(bins, slab, block);
    return 1;
}

void bins_heap_fini(bins_self *bins, bins_heap *heap)
{
    while (heap->slabs != NULL) {
        bins_slab *slab = heap->slabs;

        unlink_slab(slab);
        drop_slab(bins, slab, NULL);
    }
}

static void free_slabs(bins_slab *slab)
{
    while (slab != NULL) {
        bins_slab *next = slab->next;

        free(slab);
        slab = next;
    }
}

void bins_slabs_fini(bins_self *bins)
{
    shpool_device_loss loss = { .count = 0 };

    for (bins_slab *slab = bins->refused_slabs; slab != NULL; slab = slab->next) {
        uint64_t bytes = slab->driver_bytes;

        shpool_device_loss_add(&loss, driver_free(bins, slab), bytes);
    }
    shpool_device_loss_tell(bins->lanes.device, &loss, "allocations");
    free_slabs(bins->refused_slabs);
    free_slabs(bins->unused_slabs);
}

static int is_whole(const bins_slab *slab)
{
    return (slab->first->above == NULL) && (bins_state(slab->first) == BINS_FREE);
}

/* The one that has been whole for longest, of the heaps that serve all. */
static bins_slab *oldest_whole(bins_self *bins)
{
    bins_slab *oldest = NULL;

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(bins->heap); i++) {
        for (bins_slab *slab = bins->heap[i].slabs; slab != NULL; slab = slab->next) {
            if (is_whole(slab) && ((oldest == NULL) || (slab->idle_key < oldest->idle_key))) {
                oldest = slab;
            }
        }
    }
    return oldest;
}

uint64_t bins_release(bins_self *bins, uint64_t wanted)
{
    uint64_t given = 0;

    retry_refused(bins);
    while (given < wanted) {
        bins_slab *slab = oldest_whole(bins);

        uint64_t bytes = (slab != NULL) ? slab->driver_bytes : 0;

        if ((slab == NULL) || !bins_slab_release(bins, slab)) {
            break;
        }
        given += bytes;
    }
    return given;
}

/* ---- blocks ---- */

bins_block *bins_cut(bins_self *bins, bins_block *block, size_t need)
{
    bins_slab *slab = block->slab;
    bins_block *rest = NULL;

    if (block->bytes > need) {
        rest = record_get(bins);
        if (rest == NULL) {
            return NULL;
        }
    }
    bins_remove(&slab->heap->bins, block);
    if (rest == NULL) {
        return block;
    }
    *rest = (bins_block){
        .address = block->address + need, .bytes = block->bytes - need, .slab = slab,
        .class = bins_class(block->bytes - need), .last = block->last, .seq = block->seq,
        .above = block->above, .below = block,
    };
    if (rest->above != NULL) {
        rest->above->below = rest;
    }
    block->above = rest;
    block->bytes = need;
    block->class = bins_class(need);
    set_entry(slab, rest, rest);
    bins_push(&slab->heap->bins, rest);
    return block;
}

/* The upper of two neighbours becomes part of the lower; neither is in a bin then. */
static void absorb(bins_self *bins, bins_block *lower, bins_block *upper)
{
    set_entry(upper->slab, upper, NULL);
    lower->bytes += upper->bytes;
    lower->above = upper->above;
    if (upper->above != NULL) {
        upper->above->below = lower;
    }
    record_put(bins, upper);
}

/* ---- merging ---- */

static void forget_done(bins_block *block)
{
    if ((block->last != NULL) && shpool_timeline_is_done(block->last, block->seq)) {
        block->last = NULL;
    }
}

/* 1: one wait, or none, makes both usable. */
static int joins(bins_block *lower, bins_block *upper)
{
    forget_done(lower);
    forget_done(upper);
    return (lower->last == NULL) || (upper->last == NULL) || (lower->last == upper->last);
}

static void join(bins_self *bins, bins_block *lower, bins_block *upper)
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
        join(bins, block, other);
    }
    other = block->below;
    if ((other != NULL) && (bins_state(other) == BINS_FREE) && joins(other, block)) {
        bins_remove(&slab->heap->bins, other);
        join(bins, other, block);
        block = other;
    }
    block->class = bins_class(block->bytes);
    bins_set_state(block, BINS_FREE);
    bins_push(&slab->heap->bins, block);
    if (is_whole(slab)) {
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
            join(bins, block, upper);
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

/* The smallest that serves of the first blocks of a bin; as a rule the very first. */
static bins_block *best_of(const bins_list *list, size_t need, const shpool_timeline *timeline,
                           bins_which which, unsigned depth)
{
    bins_block *best = NULL;

    for (bins_block *block = list->head; (block != NULL) && (depth > 0); block = block->next) {
        depth--;
        if ((block->bytes < need) || ((best != NULL) && (block->bytes >= best->bytes))) {
            continue;
        }
        if (serves(block, timeline, which)) {
            best = block;
            if (best->bytes == need) {
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
    bins_block *found = NULL;

    while ((found == NULL) &&
           ((class = bins_next_class(&heap->bins, class)) < BINS_CLASSES)) {
        found = best_of(&heap->bins.list[class], need, timeline, which, depth);
        class++;
    }
    return (found != NULL) ? bins_cut(bins, found, need) : NULL;
}
