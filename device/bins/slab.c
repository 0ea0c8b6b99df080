/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: slabs that are allocations of the driver, and how all kinds of memory are returned. */
#include "bins.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/nvtx.h"
#include "device/bins/vmm/vmm.h"

#define LARGE_LEAST ((size_t)8 << 20)

/* ---- the driver ---- */

static cu_result driver_alloc(bins_self *bins, bins_slab *slab, size_t bytes)
{
    cu_result result = shpool_device_take(bins->lanes.device, bytes, &slab->driver_ptr);

    if (result == CU_SUCCESS) {
        slab->driver_bytes = bytes;
        bins_count_taken(bins, bytes);
    }
    return result;
}

/* A slab without memory of the driver has driver_bytes 0. */
static cu_result driver_free(bins_self *bins, bins_slab *slab)
{
    cu_result result;

    if (slab->place != NULL) {
        return bins_range_free(bins, slab);
    }
    if (slab->own_range) {
        return bins_share_give(bins, slab);
    }
    if (slab->driver_bytes == 0) {
        return CU_SUCCESS;
    }
    result = shpool_device_give(bins->lanes.device, slab->driver_ptr);
    if (result == CU_SUCCESS) {
        bins_count_given(bins, slab->driver_bytes);
        slab->driver_bytes = 0;
    }
    return result;
}

/* Memory that begins with a page.  Drivers align allocations of this size; one that does not is
 * asked for an extra page, and the part before the page is not used. */
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

    if (!heap->large || exact || (need >= BINS_DIRECT_BYTES) || bins_is_shared(bins, heap)) {
        return least;
    }
    /* Shared slabs are large, because pieces of two slabs cannot be merged; an eighth of the
     * reserved bytes, so that small programs stay small */
    bytes = (size_t)(bins->count.driver_bytes / 8) / SHPOOL_PAGE_BYTES * SHPOOL_PAGE_BYTES;
    if (bytes < LARGE_LEAST) {
        bytes = LARGE_LEAST;
    }
    if (bytes > bins->slab_bytes) {
        bytes = (size_t)bins->slab_bytes;
    }
    return (bytes > least) ? bytes : least;
}

static void drop(bins_self *bins, bins_slab *slab, bins_block *block)
{
    bins_slab_drop(bins, slab, block, (slab != NULL) ? driver_free(bins, slab) : CU_SUCCESS);
}

/* Retry what the driver refused to free. */
static void retry_refused(bins_self *bins)
{
    bins_slab *slab = bins->refused_slabs;

    bins->refused_slabs = NULL;
    while (slab != NULL) {
        bins_slab *next = slab->next;

        drop(bins, slab, NULL);
        slab = next;
    }
}

shpool_status bins_slab_create(bins_self *bins, bins_heap *heap, size_t need, int exact)
{
    size_t bytes = slab_size(bins, heap, need, exact);
    uint64_t hard = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    bins_slab *slab;
    bins_block *block;
    int shared = bins_is_shared(bins, heap);
    shpool_status status;

    bins->refusal = CU_ERROR_OUT_OF_MEMORY;
    if ((bytes > bins->device_bytes) || (bytes > hard) ||
        (bins->count.driver_bytes > hard - bytes)) {
        return SHPOOL_ERR_NO_MEMORY; /* no detail yet: there is more to try */
    }
    bins->refusal = CU_SUCCESS;
    status = bins_slab_prepare(bins, heap->large, bytes, &slab, &block);
    if (status != SHPOOL_OK) {
        drop(bins, slab, block);
        return status;
    }
    bins->refusal = shared ? bins_share_take(bins, slab, bytes)
                           : driver_alloc_pages(bins, slab, bytes);
    if (bins->refusal != CU_SUCCESS) {
        drop(bins, slab, block);
        return (bins->refusal == CU_ERROR_OUT_OF_MEMORY)
                   ? SHPOOL_ERR_NO_MEMORY
                   : shpool_driver_failed(bins->lanes.device->cu,
                                          shared ? "cuMemCreate" : "cuMemAlloc", bins->refusal);
    }
    status = bins_slab_begin(bins, heap, slab, block, BINS_FREE);
    if (status != SHPOOL_OK) {
        drop(bins, slab, block);
        return status;
    }
    bins_push(&heap->bins, block);
    if (bins->nvtx && (heap->graph == NULL)) {
        shpool_nvtx_divide(slab->driver_ptr, slab->driver_bytes);
    }
    return SHPOOL_OK;
}

/* A partly released slab serves no requests any more: the rest is retried with the refused ones. */
int bins_slab_release(bins_self *bins, bins_slab *slab)
{
    bins_block *block = slab->first;
    cu_result result = driver_free(bins, slab);

    if ((result != CU_SUCCESS) && (!slab->own_range || slab->mapped)) {
        return 0; /* it stays, and is tried again another time */
    }
    if (bins_state(block) == BINS_FREE) {
        bins_remove(&slab->heap->bins, block);
    }
    (void)shpool_page_set(&bins->map, slab->base, slab->bytes, NULL); /* the leaves exist */
    bins_slab_unlink(slab);
    bins_slab_drop(bins, slab, block, result);
    return 1;
}

void bins_heap_fini(bins_self *bins, bins_heap *heap)
{
    while (heap->slabs != NULL) {
        bins_slab *slab = heap->slabs;

        for (bins_block *block = slab->first; block != NULL; block = block->above) {
            bins_use_forget(block);
        }
        slab->busy = slab->mapped; /* regardless of its contents */
        bins_slab_unlink(slab);
        drop(bins, slab, NULL);
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
    shpool_device_loss ranges = { .count = 0 };

    for (bins_slab *slab = bins->refused_slabs; slab != NULL; slab = slab->next) {
        cu_result result = driver_free(bins, slab);

        if (slab->place == NULL) {
            shpool_device_loss_add(&loss, (slab->driver_bytes > 0) ? result : CU_SUCCESS,
                                   slab->driver_bytes);
            shpool_device_loss_add(&ranges, slab->own_range ? result : CU_SUCCESS, slab->bytes);
        } else {
            bins_range_lose(bins, slab, result, &loss);
            shpool_device_loss_add(&ranges, result, slab->bytes);
        }
    }
    bins_granules_fini(bins, &loss);
    shpool_device_loss_tell(bins->lanes.device, &loss, "allocations");
    shpool_device_loss_tell(bins->lanes.device, &ranges, "ranges of addresses");
    free_slabs(bins->refused_slabs);
    free_slabs(bins->unused_slabs);
}

/* The driver waits for the device when it frees memory, but not when it unmaps some. */
static int can_go(const bins_slab *slab)
{
    return bins_is_whole(slab) && (!slab->own_range || bins_is_done(slab->first));
}

/* The one that has been whole for longest, of the heaps that serve all. */
static bins_slab *oldest_whole(bins_self *bins)
{
    bins_slab *oldest = NULL;

    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        if (can_go(s) && ((oldest == NULL) || (s->idle_key < oldest->idle_key))) {
            oldest = s;
        }
    }
    return oldest;
}

uint64_t bins_release(bins_self *bins, uint64_t wanted)
{
    size_t granule = bins->granules.bytes;
    uint64_t given = 0;

    retry_refused(bins);
    if (granule > 0) {
        bins_range_reclaim(bins, (size_t)(wanted / granule) + (wanted % granule > 0), NULL, NULL);
        given = bins_granules_release(bins, wanted);
    }
    while (given < wanted) {
        bins_slab *slab = oldest_whole(bins);

        uint64_t held = bins->count.driver_bytes;

        if ((slab == NULL) || !bins_slab_release(bins, slab)) {
            break;
        }
        given += held - bins->count.driver_bytes;
    }
    return given;
}
