/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: memory that other processes may use, share=1.
 *
 * A descriptor opens the driver's whole allocation, so two blocks must not share one: with share=1
 * each block is its own slab of whole granules, which is neither cut nor merged.  The memory of a
 * slab is one allocation of cuMemCreate, mapped at its own addresses.  Slabs are cached by size,
 * like blocks elsewhere.
 *
 * Importers may use exported memory without a time limit, so the allocator must not use it again.
 * A free makes it pending, as if another stream used it (the exported block is BINS_LIVE_USED).
 * When its streams have finished, the slab is returned to the driver, which keeps the memory for
 * the importers.
 */
#include "bins.h"

#include "device/bins/vmm/vmm.h"

/* In this order; stops at the first failing call, and bins_share_give() undoes the rest. */
static cu_result take(bins_self *bins, bins_slab *slab, size_t bytes)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    const bins_granules *g = &bins->granules;
    cu_granule_props props;
    cu_result result = cu->range_reserve(&slab->driver_ptr, bytes, g->bytes, 0, 0);

    if (result != CU_SUCCESS) {
        slab->driver_ptr = 0;
        return result;
    }
    slab->bytes = bytes;
    slab->base = (uintptr_t)slab->driver_ptr;
    result = cu->granule_create(&slab->own, bytes, bins_granule_props(bins, &props), 0);
    if (result != CU_SUCCESS) {
        slab->own = 0;
        return result;
    }
    slab->driver_bytes = bytes;
    bins_count_taken(bins, bytes);
    result = cu->granule_map(slab->driver_ptr, bytes, 0, slab->own, 0);
    if (result != CU_SUCCESS) {
        return result;
    }
    slab->mapped = 1;
    return cu->granule_access(slab->driver_ptr, bytes, g->access, g->accesses);
}

cu_result bins_share_take(bins_self *bins, bins_slab *slab, size_t bytes)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    slab->own_range = 1;
    if (result == CU_SUCCESS) {
        result = take(bins, slab, bytes);
    }
    shpool_device_leave(device, left);
    return result;
}

/* Release the rest of it, up to the first failing call. */
static cu_result give(bins_self *bins, bins_slab *slab)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    cu_result result = slab->busy ? shpool_device_wait(bins->lanes.device) : CU_SUCCESS;

    slab->busy = (result != CU_SUCCESS);
    if ((result == CU_SUCCESS) && slab->mapped) {
        result = cu->granule_unmap(slab->driver_ptr, slab->bytes);
        slab->mapped = (result != CU_SUCCESS);
    }
    if ((result == CU_SUCCESS) && (slab->own != 0)) {
        result = cu->granule_release(slab->own);
        if (result == CU_SUCCESS) {
            bins_count_given(bins, slab->driver_bytes);
            slab->driver_bytes = 0;
            slab->own = 0;
        }
    }
    if ((result == CU_SUCCESS) && (slab->driver_ptr != 0)) {
        result = cu->range_free(slab->driver_ptr, slab->bytes);
        slab->driver_ptr = (result == CU_SUCCESS) ? 0 : slab->driver_ptr;
    }
    return result;
}

cu_result bins_share_give(bins_self *bins, bins_slab *slab)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result;

    if (slab->driver_ptr == 0) {
        return CU_SUCCESS;
    }
    result = shpool_device_enter_result(device, &left);
    if (result == CU_SUCCESS) {
        result = give(bins, slab);
    }
    shpool_device_leave(device, left);
    return result;
}

int bins_share_is_busy(const bins_self *bins)
{
    const bins_block *block = bins->pending.head;

    while ((block != NULL) && !block->slab->exported) {
        block = block->next;
    }
    return block != NULL;
}
