/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: handles of shared slabs for other processes; share.c explains their memory. */
#include "bins.h"

#include "device/base/share.h"

/* The only block of the slab. */
static shpool_status export_block(bins_self *bins, bins_block *block, const void *ptr,
                                  shpool_device_handle *handle_p)
{
    bins_slab *slab = block->slab;
    shpool_status status;

    if (ptr != block->address) {
        return shpool_error(SHPOOL_ERR_INVALID, "bins: %p is inside the allocation at %p: export "
                            "that, and send the offset", ptr, (void *)block->address);
    }
    /* first: a concurrent free then waits for the lock while the driver exports */
    if (!bins_use_claim(block)) {
        return shpool_error(SHPOOL_ERR_INVALID, "bins: %p is no longer live", ptr);
    }
    status = shpool_share_export(bins->lanes.device, slab->own, slab->driver_bytes, handle_p);
    slab->exported |= (status == SHPOOL_OK);
    return status;
}

static shpool_status export_from(bins_self *bins, bins_slab *slab, const void *ptr,
                                 shpool_device_handle *handle_p)
{
    if (slab == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "bins: %p is in no live allocation of this "
                            "allocator", ptr);
    }
    if (bins->whole == 0) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "bins: %p cannot be exported, importers would "
                            "see other allocations, too: open an allocator with share=1 for what "
                            "is shared", ptr);
    }
    if (!bins_is_shared(bins, slab->heap)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "bins: %p cannot be exported, it was allocated "
                            "while its stream captured a graph: allocate it before", ptr);
    }
    return export_block(bins, slab->first, ptr, handle_p);
}

shpool_status bins_export(void *self, const void *ptr, shpool_device_handle *handle_p)
{
    bins_self *bins = self;
    shpool_status status;

    shpool_mutex_lock(&bins->lock);
    status = export_from(bins, shpool_page_get(&bins->map, (uintptr_t)ptr), ptr, handle_p);
    shpool_mutex_unlock(&bins->lock);
    return status;
}
