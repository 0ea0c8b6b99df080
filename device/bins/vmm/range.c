/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: ranges, the slabs of the heaps that serve all requests if the driver maps memory
 * (memory=vmm).
 *
 * A range has memory only where a block needs it.  The large heap's range has as many addresses as
 * the device has bytes.  All streams and sizes share it, so that all neighbours merge.
 */
#include "vmm.h"

#include <stdlib.h>

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
static shpool_status add(bins_self *bins, bins_heap *heap, size_t bytes)
{
    bins_slab *slab;
    bins_block *block;
    shpool_status status = bins_slab_prepare(bins, heap->large, bytes, &slab, &block);

    if (status == SHPOOL_OK) {
        slab->bytes = bytes;
        slab->place = calloc(bytes / bins->granules.least, sizeof(*slab->place));
        status = (slab->place != NULL)
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

/* Granules of the largest size: all are doubled together. */
static size_t whole(const bins_self *bins, size_t bytes)
{
    size_t least = bins->granules.least; /* `granule` may be larger */
    size_t most = (least > BINS_GRANULE_MOST) ? least : BINS_GRANULE_MOST;

    return (bytes + most - 1) / most * most;
}

shpool_status bins_range_add(bins_self *bins, bins_heap *heap, size_t need)
{
    /* for the small heap as little as can be: its table of blocks has an entry for 256 bytes */
    size_t few = whole(bins, bins_round_up(bins, need));
    size_t many = whole(bins, bins->device_bytes);
    shpool_status status = SHPOOL_ERR_NO_MEMORY;

    if (heap->large && (many > few)) {
        status = add(bins, heap, many);
    }
    return (status == SHPOOL_OK) ? status : add(bins, heap, few);
}

/* Wait for the device, because what is in use must not be unmapped, and unmap all of it. */
static cu_result clear(bins_self *bins, bins_slab *slab)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    if (result == CU_SUCCESS) {
        result = shpool_device_wait(device);
    }
    if (result == CU_SUCCESS) {
        result = bins_places_clear(bins, slab);
    }
    shpool_device_leave(device, left);
    return result;
}

static int is_mapped(const bins_slab *slab)
{
    size_t i = 0;

    while ((i < slab->places) && (slab->place[i].granule == NULL)) {
        i++;
    }
    return i < slab->places;
}

cu_result bins_range_free(bins_self *bins, bins_slab *slab)
{
    const shpool_device *device = bins->lanes.device;
    cu_result result = is_mapped(slab) ? clear(bins, slab) : CU_SUCCESS;
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
    for (const bins_place *p = slab->place; p < slab->place + slab->places; p++) {
        if (p->granule == NULL) {
            continue;
        }
        if (p->granule->home == p) {
            shpool_device_loss_add(loss, result, bins->granules.bytes);
        } else {
            p->granule->lost = 1; /* counted where its home is, or as a spare one */
            bins->granules.loss = result;
        }
    }
    slab->driver_bytes = 0;
    free(slab->place);
    slab->place = NULL;
}
