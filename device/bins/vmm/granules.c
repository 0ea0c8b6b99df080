/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: physical memory, in granules of one size.
 *
 * A granule is created once, and then used at one place after another (places.c); no memory is
 * freed or cleared.  It has a home, or is spare.
 */
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

/* Default of `granules`. */
#define MANY 64u

/* Granules are created instead of moved while the reserved bytes exceed the peak of live bytes by
 * at most this part of it, IDLE_GRANULES in small programs.  A move costs the host time, and leaves
 * two pieces of memory where there was one. */
#define OVER_PART     22u
#define IDLE_GRANULES 8u

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

/* Each granule costs the driver the same time, whatever its size, and each piece of free memory
 * keeps less than two.  Memory that is shared is mapped for each allocation alone. */
static size_t granule_of(const bins_self *bins, size_t pages)
{
    while (!bins->share && (2 * (uint64_t)pages <= bins->granule_bytes)) {
        pages *= 2;
    }
    return pages;
}

size_t bins_next_double(const bins_self *bins)
{
    uint64_t count = bins->granule_count;

    if (count == UINT64_MAX) {
        count = (bins->granule_bytes > 0) ? 0 : MANY;
    }
    return ((count == 0) || bins->share || (2 * bins->granules.bytes > BINS_GRANULE_MOST))
               ? SIZE_MAX : (size_t)count;
}

uint64_t bins_over(const bins_self *bins, uint64_t live)
{
    uint64_t over = live / OVER_PART;
    uint64_t few = IDLE_GRANULES * (uint64_t)bins->granules.least;

    return (over > few) ? over : few;
}

uint64_t bins_most(const bins_self *bins)
{
    return bins->live_most + bins_over(bins, bins->live_most);
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
    g->bytes = granule_of(bins, bytes);
    g->least = g->bytes;
    g->next = bins_next_double(bins);
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
    bins_granule **spare;

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

/* Records for some more. */
static int make_records(bins_granules *g, size_t count)
{
    const bins_granule *unused = g->unused;

    for (; (count > 0) && (unused != NULL); unused = unused->next) {
        count--;
    }
    for (; count > 0; count--) {
        bins_granule *granule = calloc(1, sizeof(*granule));

        if (granule == NULL) {
            return 0;
        }
        granule->next = g->unused;
        g->unused = granule;
    }
    return 1;
}

static void free_records(bins_granule *granule)
{
    while (granule != NULL) {
        bins_granule *next = granule->next;

        while (granule != NULL) {
            bins_granule *part = granule->part;

            free(granule);
            granule = part;
        }
        granule = next;
    }
}

static cu_result create(bins_self *bins, size_t more)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    bins_granules *g = &bins->granules;
    cu_granule_props props;
    cu_result result = CU_SUCCESS;

    for (; (more > 0) && (result == CU_SUCCESS); more--) {
        bins_granule *granule = g->unused;
        cu_granule handle;

        result = cu->granule_create(&handle, g->bytes, bins_granule_props(bins, &props), 0);
        if (result == CU_SUCCESS) {
            g->unused = granule->next;
            *granule = (bins_granule){ .handle = handle, .bytes = g->bytes, .next = g->all };
            g->all = granule;
            g->count++;
            bins_spare_put(g, granule);
            bins_count_taken(bins, g->bytes);
        }
    }
    return result;
}

shpool_status bins_may_take(const bins_self *bins, const shpool_timeline *timeline)
{
    return shpool_device_no_capture(bins->lanes.device, timeline->stream, "and no pool is open for "
                                    "it: call shpool_device_capture_begin() before the capture");
}

shpool_status bins_granules_make(bins_self *bins, size_t more, const shpool_timeline *timeline)
{
    const shpool_device *device = bins->lanes.device;
    bins_granules *g = &bins->granules;
    uint64_t hard = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    uint64_t bytes = more * (uint64_t)g->bytes;
    int left;
    shpool_status status = (more > 0) ? bins_may_take(bins, timeline) : SHPOOL_OK;

    bins->refusal = CU_SUCCESS;
    if ((more == 0) || (status != SHPOOL_OK)) {
        return status;
    }
    if (!make_room(g, g->count + more) || !make_records(g, more)) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for the record of %llu bytes of "
                            "device memory", (unsigned long long)bytes);
    }
    bins->refusal = CU_ERROR_OUT_OF_MEMORY;
    if ((bytes <= hard) && (bins->count.driver_bytes <= hard - bytes)) {
        bins->refusal = shpool_device_enter_result(device, &left);
        if (bins->refusal == CU_SUCCESS) {
            bins->refusal = create(bins, more);
        }
        shpool_device_leave(device, left);
    }
    return (bins->refusal == CU_SUCCESS) ? SHPOOL_OK
         : (bins->refusal == CU_ERROR_OUT_OF_MEMORY)
             ? SHPOOL_ERR_NO_MEMORY /* no detail yet: there is more to try */
             : shpool_driver_failed(device->cu, "cuMemCreate", bins->refusal);
}

/* One handle, unless that is done. */
static cu_result release_handle(bins_self *bins, bins_granule *granule)
{
    cu_result result = CU_SUCCESS;

    if (granule->handle != 0) {
        result = bins->lanes.device->cu->granule_release(granule->handle);
    }
    if ((result == CU_SUCCESS) && (granule->handle != 0)) {
        granule->handle = 0;
        bins_count_given(bins, granule->bytes);
    }
    return result;
}

/* A spare one that is mapped nowhere.  Its record is unlinked by sweep(). */
static cu_result release(bins_self *bins, bins_granule *granule)
{
    bins_granules *g = &bins->granules;
    cu_result result = CU_SUCCESS;

    for (bins_granule *p = granule->part; (p != NULL) && (result == CU_SUCCESS); p = p->part) {
        result = release_handle(bins, p);
        granule->broken |= (result == CU_SUCCESS);
    }
    if (result == CU_SUCCESS) {
        result = release_handle(bins, granule);
    }
    if (result == CU_SUCCESS) {
        bins_spare_remove(g, granule);
        g->count--;
    }
    return result;
}

/* Records of released granules can be used again. */
static void sweep(bins_granules *g)
{
    bins_granule **at = &g->all;

    while (*at != NULL) {
        bins_granule *granule = *at;

        if (granule->handle != 0) {
            at = &granule->next;
            continue;
        }
        *at = granule->next;
        while (granule != NULL) {
            bins_granule *part = granule->part;

            granule->part = NULL;
            granule->next = g->unused;
            g->unused = granule;
            granule = part;
        }
    }
}

static uint64_t release_leaving(bins_self *bins)
{
    bins_granules *g = &bins->granules;
    uint64_t held = bins->count.driver_bytes;

    for (size_t i = g->spares; i-- > 0;) {
        bins_granule *granule = g->spare[i];

        if (granule->leaving) {
            (void)release(bins, granule);
        }
        granule->leaving = 0;
    }
    return held - bins->count.driver_bytes;
}

/* None is left: the next ones are as small as the first. */
static void begin_again(bins_self *bins)
{
    bins_granules *g = &bins->granules;

    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        s->places = 0;
    }
    g->bytes = g->least;
    g->next = bins_next_double(bins);
    memset(bins->memo, 0, sizeof(bins->memo));
}

uint64_t bins_granules_release(bins_self *bins, uint64_t wanted)
{
    const shpool_device *device = bins->lanes.device;
    bins_granules *g = &bins->granules;
    uint64_t given = 0;
    uint64_t marked = 0;
    int left;

    if ((g->spares == 0) || (wanted == 0) || !shpool_device_enter_quietly(device, &left)) {
        return 0;
    }
    for (size_t i = g->spares; (i-- > 0) && (marked < wanted);) {
        if (g->spare[i]->broken || bins_spare_is_usable(g->spare[i], NULL)) {
            g->spare[i]->leaving = 1;
            marked += g->bytes;
        }
    }
    bins_places_unmap_leaving(bins);
    given = release_leaving(bins);
    shpool_device_leave(device, left);
    sweep(g);
    if (g->count == 0) {
        begin_again(bins);
    }
    return given;
}

void bins_granules_fini(bins_self *bins, shpool_device_loss *loss)
{
    const shpool_device *device = bins->lanes.device;
    bins_granules *g = &bins->granules;
    int left = 0;
    cu_result entered = (g->spares > 0) ? shpool_device_enter_result(device, &left) : CU_SUCCESS;

    while (g->spares > 0) {
        bins_granule *granule = g->spare[g->spares - 1];
        cu_result result = granule->lost ? g->loss : entered;

        if ((result == CU_SUCCESS) && !granule->lost) {
            result = release(bins, granule);
        }
        if (result != CU_SUCCESS) {
            for (const bins_granule *p = granule; p != NULL; p = p->part) {
                if (p->handle != 0) {
                    shpool_device_loss_add(loss, result, p->bytes);
                }
            }
            g->spares--;
        }
    }
    shpool_device_leave(device, left);
    free(g->spare);
    g->spare = NULL;
    free_records(g->all);
    free_records(g->unused);
    g->all = g->unused = NULL;
}
