/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: devices that may access its memory.  Memory from cuMemAlloc follows cuCtxEnablePeerAccess
 * automatically; mapped memory must be opened to each device, and the driver does not report which
 * ones the program enabled. */
#include "vmm.h"

#include <string.h>

/* Opens a range's mapped stretches to all devices that are listed; the context is current. */
static cu_result open_range(const bins_self *bins, const bins_slab *slab)
{
    const bins_granules *g = &bins->granules;
    size_t places = slab->places;
    cu_result result = CU_SUCCESS;

    for (size_t i = 0, end; (i < places) && (result == CU_SUCCESS); i = end + 1) {
        for (end = i; (end < places) && (slab->place[end].granule != NULL);) {
            end++;
        }
        if (end > i) {
            result = bins->lanes.device->cu->granule_access((cu_ptr)slab->base + i * g->bytes,
                                                            (end - i) * g->bytes, g->access,
                                                            g->accesses);
        }
    }
    return result;
}

static cu_result open_shared(const bins_self *bins, const bins_slab *slab)
{
    const bins_granules *g = &bins->granules;

    return bins->lanes.device->cu->granule_access(slab->driver_ptr, slab->bytes, g->access,
                                                  g->accesses);
}

static cu_result open_all(bins_self *bins)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    for (const bins_slab *slab = bins_next_slab(bins, NULL);
         (slab != NULL) && (result == CU_SUCCESS); slab = bins_next_slab(bins, slab)) {
        result = (slab->place != NULL) ? open_range(bins, slab)
                 : slab->mapped          ? open_shared(bins, slab)
                                         : CU_SUCCESS;
    }
    shpool_device_leave(device, left);
    return result;
}

static int is_listed(const bins_granules *g, cu_device device)
{
    for (unsigned i = 0; i < g->accesses; i++) {
        if (g->access[i].location.id == device) {
            return 1;
        }
    }
    return 0;
}

/* Access that a failing call has opened stays open, which is harmless. */
static shpool_status add(bins_self *bins, cu_device peer)
{
    bins_granules *g = &bins->granules;
    cu_result result;

    if (is_listed(g, peer) || (g->accesses == SHPOOL_ARRAY_COUNT(g->access))) {
        return SHPOOL_OK;
    }
    g->access[g->accesses] = g->access[0];
    g->access[g->accesses++].location.id = peer;
    result = open_all(bins);
    if (result == CU_SUCCESS) {
        return SHPOOL_OK;
    }
    g->accesses--;
    return shpool_driver_failed(bins->lanes.device->cu, "cuMemSetAccess", result);
}

/* The driver's handles are the ordinals; no context is made on a peer.  must: a device that cannot
 * is an error. */
static shpool_status add_if_possible(bins_self *bins, cu_device peer, int must)
{
    const shpool_device *own = bins->lanes.device;
    int can = 1;
    cu_result result = (peer == own->handle) ? CU_SUCCESS
                                             : own->cu->device_can_reach(&can, peer, own->handle);

    if (result != CU_SUCCESS) {
        return shpool_driver_failed(own->cu, "cuDeviceCanAccessPeer", result);
    }
    if (!can) {
        return must ? shpool_error(SHPOOL_ERR_UNSUPPORTED, "bins: peer=%d is not possible, device "
                                   "%d cannot reach memory of device %d; peer=all takes those that "
                                   "can", peer, peer, own->ordinal)
                    : SHPOOL_OK;
    }
    return add(bins, peer);
}

shpool_status bins_peer(void *self, const char *value)
{
    bins_self *bins = self;
    int all = (strcmp(value, "all") == 0);
    uint64_t number = 0;
    int count = 0;
    shpool_status status = shpool_device_count(&count);

    if ((status == SHPOOL_OK) && !all) {
        if (!shpool_spec_number(value, 0, &number) || (number >= BINS_MAX_DEVICES)) {
            return shpool_error(SHPOOL_ERR_SPEC, "bins: peer=%.64s is not possible, it takes all, "
                                "or a device's number below %u", value, BINS_MAX_DEVICES);
        }
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    if (!all && (number >= (uint64_t)count)) {
        return shpool_error(SHPOOL_ERR_NOT_FOUND, "bins: peer=%s does not exist: this process "
                            "sees %d devices, numbered from 0", value, count);
    }
    if (!all) {
        return add_if_possible(bins, (cu_device)number, 1);
    }
    for (int i = 0; (i < count) && (status == SHPOOL_OK); i++) {
        status = add_if_possible(bins, i, 0);
    }
    return status;
}
