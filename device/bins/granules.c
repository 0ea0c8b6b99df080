/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: physical memory, in granules of one size.
 *
 * A granule is created once, and then mapped where it is needed.  Moving one means unmapping and
 * mapping it; no memory is freed or cleared.  Each is in exactly one state: mapped, and then in its
 * range's table, or spare.  A failing call may leave one mapped in a hole: it stays in the table,
 * counts as stuck, and is used there or unmapped later.
 *
 * Unmapping does not wait for the device, so only memory whose work has finished may be unmapped.
 */
#include "bins.h"

#include <stdlib.h>

/* ---- capabilities of the driver ---- */

const cu_granule_props *bins_granule_props(const bins_self *bins, cu_granule_props *props)
{
    *props = (cu_granule_props){ .alloc_type = 1, .rdma = (unsigned char)bins->granules.rdma,
                                 .handle_types = bins->share ? CU_HANDLE_DESCRIPTOR : 0 };
    props->location.type = 1;
    props->location.id = bins->lanes.device->handle;
    return props;
}

static int attribute(const shpool_device *device, int which)
{
    int value = 0;

    return (device->cu->device_attribute(&value, which, device->handle) == CU_SUCCESS) ? value : 0;
}

/* NULL, or what is missing. */
static const char *find_granules(bins_self *bins)
{
    const shpool_device *device = bins->lanes.device;
    const shpool_driver *cu = device->cu;
    bins_granules *g = &bins->granules;
    cu_granule_props props;
    size_t bytes = 0;

    if ((cu->granularity == NULL) || (cu->range_reserve == NULL) || (cu->range_free == NULL) ||
        (cu->granule_create == NULL) || (cu->granule_release == NULL) ||
        (cu->granule_map == NULL) || (cu->granule_unmap == NULL) || (cu->granule_access == NULL)) {
        return "the driver is older than CUDA 10.2";
    }
    if (!attribute(device, CU_ATTRIBUTE_VIRTUAL_MEMORY)) {
        return "the device has no virtual memory management";
    }
    if (bins->share && ((cu->granule_export == NULL) || (cu->device_uuid == NULL) ||
                        !attribute(device, CU_ATTRIBUTE_VIRTUAL_DESCRIPTORS))) {
        return "the driver does not export memory as POSIX descriptors (CUDA 11.4 does)";
    }
    g->rdma = attribute(device, CU_ATTRIBUTE_VIRTUAL_RDMA);
    if ((cu->granularity(&bytes, bins_granule_props(bins, &props), CU_GRANULARITY_RECOMMENDED) !=
         CU_SUCCESS) || (bytes == 0)) {
        return "the driver does not tell the size of its pages";
    }
    /* a granule is whole pages of the map of addresses, which are a power of two */
    if (bytes < SHPOOL_PAGE_BYTES) {
        bytes = SHPOOL_PAGE_BYTES;
    }
    if ((bytes & (bytes - 1)) != 0) {
        return "the driver's pages have a size that is not a power of two";
    }
    g->bytes = bytes;
    return NULL;
}

shpool_status bins_granules_init(bins_self *bins)
{
    const char *missing = (bins->memory != BINS_MEMORY_DRIVER) ? find_granules(bins) : NULL;

    if (bins->share && (bins->memory == BINS_MEMORY_DRIVER)) {
        return shpool_error(SHPOOL_ERR_SPEC, "share=1 needs mapped memory: memory=vmm or "
                            "memory=auto, not memory=driver");
    }
    if (bins->share && (missing != NULL)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "share=1 is not possible on device %d: %s",
                            bins->lanes.device->ordinal, missing);
    }
    if ((missing != NULL) && (bins->memory == BINS_MEMORY_VMM)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "memory=vmm is not possible on device %d: %s; "
                            "memory=auto or memory=driver works", bins->lanes.device->ordinal,
                            missing);
    }
    bins->whole = bins->share ? bins->granules.bytes : 0;
    return SHPOOL_OK;
}

/* ---- create and release ---- */

/* Reserve room for all granules as spare ones, so that none is lost if host memory runs out. */
static int make_room(bins_granules *g, size_t count)
{
    size_t room = (g->room * 2 > count) ? g->room * 2 : count;
    cu_granule *spare;

    if (count <= g->room) {
        return 1;
    }
    spare = calloc(room, sizeof(*spare));
    if (spare == NULL) {
        return 0;
    }
    for (size_t i = 0; i < g->spares; i++) {
        spare[i] = g->spare[i];
    }
    free(g->spare);
    g->spare = spare;
    g->room = room;
    return 1;
}

static cu_result create(bins_self *bins, size_t spares)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    bins_granules *g = &bins->granules;
    cu_granule_props props;
    cu_result result = CU_SUCCESS;

    while ((g->spares < spares) && (result == CU_SUCCESS)) {
        result = cu->granule_create(&g->spare[g->spares], g->bytes,
                                    bins_granule_props(bins, &props), 0);
        if (result == CU_SUCCESS) {
            g->spares++;
            g->count++;
            bins_count_taken(bins, g->bytes);
        }
    }
    return result;
}

shpool_status bins_granules_make(bins_self *bins, size_t spares)
{
    const shpool_device *device = bins->lanes.device;
    bins_granules *g = &bins->granules;
    uint64_t hard = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    uint64_t more = (spares > g->spares) ? (spares - g->spares) * (uint64_t)g->bytes : 0;
    int left;

    bins->refusal = CU_SUCCESS;
    if (more == 0) {
        return SHPOOL_OK;
    }
    if (!make_room(g, g->count + (spares - g->spares))) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for the record of %llu bytes of "
                            "device memory", (unsigned long long)more);
    }
    bins->refusal = CU_ERROR_OUT_OF_MEMORY;
    if ((more <= hard) && (bins->count.driver_bytes <= hard - more)) {
        bins->refusal = shpool_device_enter_result(device, &left);
        if (bins->refusal == CU_SUCCESS) {
            bins->refusal = create(bins, spares);
        }
        shpool_device_leave(device, left);
    }
    return (bins->refusal == CU_SUCCESS) ? SHPOOL_OK
         : (bins->refusal == CU_ERROR_OUT_OF_MEMORY)
             ? SHPOOL_ERR_NO_MEMORY /* no detail yet: there is more to try */
             : shpool_driver_failed(device->cu, "cuMemCreate", bins->refusal);
}

/* The latest spare one. */
static cu_result release(bins_self *bins)
{
    bins_granules *g = &bins->granules;
    cu_result result = bins->lanes.device->cu->granule_release(g->spare[g->spares - 1]);

    if (result == CU_SUCCESS) {
        g->spares--;
        g->count--;
        bins_count_given(bins, g->bytes);
    }
    return result;
}

uint64_t bins_granules_release(bins_self *bins, uint64_t wanted)
{
    const shpool_device *device = bins->lanes.device;
    uint64_t given = 0;
    int left;

    if ((bins->granules.spares == 0) || !shpool_device_enter_quietly(device, &left)) {
        return 0;
    }
    while ((given < wanted) && (bins->granules.spares > 0) && (release(bins) == CU_SUCCESS)) {
        given += bins->granules.bytes;
    }
    shpool_device_leave(device, left);
    return given;
}

void bins_granules_fini(bins_self *bins, shpool_device_loss *loss)
{
    const shpool_device *device = bins->lanes.device;
    bins_granules *g = &bins->granules;
    int left = 0;
    cu_result entered = (g->spares > 0) ? shpool_device_enter_result(device, &left) : CU_SUCCESS;

    while (g->spares > 0) {
        cu_result result = (entered == CU_SUCCESS) ? release(bins) : entered;

        if (result != CU_SUCCESS) {
            shpool_device_loss_add(loss, result, g->bytes);
            g->spares--;
        }
    }
    shpool_device_leave(device, left);
    free(g->spare);
    g->spare = NULL;
}

/* ---- map and unmap ---- */

static cu_ptr address_of(const bins_self *bins, const bins_slab *slab, size_t place)
{
    return (cu_ptr)slab->base + (cu_ptr)place * bins->granules.bytes;
}

/* One call for all of them: it is the call that takes the time. */
static cu_result unmap(bins_self *bins, bins_slab *slab, size_t place, size_t count)
{
    bins_granules *g = &bins->granules;
    cu_result result = bins->lanes.device->cu->granule_unmap(address_of(bins, slab, place),
                                                             count * g->bytes);

    for (size_t i = place; (i < place + count) && (result == CU_SUCCESS); i++) {
        g->spare[g->spares++] = slab->granule[i];
        slab->granule[i] = 0;
        slab->driver_bytes -= g->bytes;
    }
    return result;
}

static cu_result map(bins_self *bins, bins_slab *slab, size_t place)
{
    bins_granules *g = &bins->granules;
    cu_result result = bins->lanes.device->cu->granule_map(address_of(bins, slab, place), g->bytes,
                                                           0, g->spare[g->spares - 1], 0);

    if (result == CU_SUCCESS) {
        slab->granule[place] = g->spare[--g->spares];
        slab->driver_bytes += g->bytes;
    }
    return result;
}

/* Undo: unmap the granules of a hole, or mark them as stuck. */
static void clear(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        if ((slab->granule[i] != 0) && (unmap(bins, slab, i, 1) != CU_SUCCESS)) {
            bins->granules.stuck++;
        }
    }
}

/* The context is current. */
static cu_result map_all(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    bins_granules *g = &bins->granules;
    cu_result result = CU_SUCCESS;

    for (size_t i = first; i < first + count; i++) {
        if (slab->granule[i] != 0) {
            g->stuck--; /* counted again if it fails once more */
        }
    }
    for (size_t i = first; (i < first + count) && (result == CU_SUCCESS); i++) {
        result = (slab->granule[i] == 0) ? map(bins, slab, i) : CU_SUCCESS;
    }
    if (result == CU_SUCCESS) {
        result = bins->lanes.device->cu->granule_access(address_of(bins, slab, first),
                                                        count * g->bytes, g->access, g->accesses);
    }
    if (result != CU_SUCCESS) {
        clear(bins, slab, first, count);
    }
    return result;
}

cu_result bins_granules_map(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    if (result == CU_SUCCESS) {
        result = map_all(bins, slab, first, count);
    }
    shpool_device_leave(device, left);
    return result;
}

size_t bins_granules_unmap(bins_self *bins, bins_slab *slab, size_t first, size_t count, int top)
{
    const shpool_device *device = bins->lanes.device;
    size_t done = 0;
    int left;

    if (!shpool_device_enter_quietly(device, &left)) {
        return 0;
    }
    if (unmap(bins, slab, first, count) == CU_SUCCESS) {
        done = count;
    }
    while ((done < count) && /* as many as the driver takes back */
           (unmap(bins, slab, top ? first + count - 1 - done : first + done, 1) == CU_SUCCESS)) {
        done++;
    }
    shpool_device_leave(device, left);
    return done;
}
