/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer `guard`: zones before and after each allocation that are checked when it is freed, and
 * a pattern in memory that was not written, or is free.  For debugging: free waits for its stream.
 * Nothing is checked that is freed while its stream captures a graph.
 */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/device.h"
#include "lib/options.h"
#include "device/base/ptr_map.h"

#define PATTERN   0xa5u
#define MOST_ZONE 65536u

typedef struct guard_layer {
    shpool_device_allocator *upstream;
    const shpool_device *device;
    uint64_t zone;   /* bytes on each side, a multiple of the alignment */
    uint32_t poison; /* 1: fill memory */
    shpool_ptr_map map;
    shpool_ptr_map shared; /* live allocations that other streams use */
} guard_layer;

static shpool_status round_zone(void *self, const char *value)
{
    guard_layer *l = self;

    (void)value;
    l->zone = (l->zone + SHPOOL_DEVICE_ALIGNMENT - 1) / SHPOOL_DEVICE_ALIGNMENT *
              SHPOOL_DEVICE_ALIGNMENT;
    return SHPOOL_OK;
}

#define OPTIONS(_)                                                                                 \
    _("zone", "N", BYTES, guard_layer, zone,                                                       \
      "Bytes on each side of an allocation, checked when it is freed. Default: 256.",              \
      .low = SHPOOL_DEVICE_ALIGNMENT, .high = MOST_ZONE, .then = round_zone)                       \
    _("poison", "0|1", FLAG, guard_layer, poison,                                                  \
      "Fill memory with 0xa5 when it is allocated and freed. Default: 1.", .low = 1)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static void guard_destroy(void *self)
{
    guard_layer *l = self;

    shpool_ptr_map_fini(&l->map);
    shpool_ptr_map_fini(&l->shared);
    free(l);
}

static shpool_status guard_create(const shpool_device_setup *setup, void **self_p)
{
    guard_layer *l = calloc(1, sizeof(*l));
    shpool_status status;

    if (l == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a layer");
    }
    l->upstream = setup->upstream;
    l->zone = SHPOOL_DEVICE_ALIGNMENT;
    l->poison = 1;
    status = shpool_options_set(options, l, "", setup->options, setup->option_count);
    if (status == SHPOOL_OK) {
        status = shpool_device_get(setup->device, &l->device);
    }
    if (status != SHPOOL_OK) {
        guard_destroy(l);
        return status;
    }
    *self_p = l;
    return SHPOOL_OK;
}

/* Write the pattern over a range, in the order of a stream. */
static shpool_status paint(const guard_layer *l, const char *at, size_t bytes,
                           shpool_stream stream)
{
    cu_result result;
    int left;
    shpool_status status = shpool_device_enter_stream(l->device, stream, 0, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = l->device->cu->set_8((cu_ptr)(uintptr_t)at, PATTERN, bytes, stream);
    shpool_device_leave(l->device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(l->device->cu, "cuMemsetD8Async", result);
}

static shpool_status guard_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    guard_layer *l = self;
    void *whole = NULL;
    shpool_status status;

    if (bytes > SIZE_MAX - 2 * l->zone) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE, "%zu bytes and two guard zones do not fit in "
                            "the address space", bytes);
    }
    status = shpool_device_malloc(l->upstream, bytes + 2 * l->zone, stream, &whole);
    if (status != SHPOOL_OK) {
        return status;
    }
    if (l->poison) {
        status = paint(l, whole, bytes + 2 * l->zone, stream);
    } else {
        status = paint(l, whole, l->zone, stream);
        if (status == SHPOOL_OK) {
            status = paint(l, (char *)whole + l->zone + bytes, l->zone, stream);
        }
    }
    if (status == SHPOOL_OK) {
        status = shpool_ptr_put(&l->map, (char *)whole + l->zone, bytes, whole);
    }
    if (status != SHPOOL_OK) {
        shpool_layer_return(l->upstream, whole, stream);
        return status;
    }
    *ptr_p = (char *)whole + l->zone;
    return SHPOOL_OK;
}

/* Copy a zone to the host, when the stream is there. */
static shpool_status fetch(const guard_layer *l, const char *at, unsigned char *zone,
                           shpool_stream stream)
{
    const shpool_driver *cu = l->device->cu;
    cu_result result;
    int left;
    shpool_status status = shpool_device_enter_stream(l->device, stream, 1, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->copy_to_host(zone, (cu_ptr)(uintptr_t)at, l->zone, stream);
    if (result == CU_SUCCESS) {
        result = cu->stream_sync(stream);
    }
    shpool_device_leave(l->device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(cu, "cuMemcpyDtoHAsync", result);
}

static shpool_status check_zone(const guard_layer *l, const shpool_ptr_entry *entry, int behind,
                                unsigned char *zone, shpool_stream stream)
{
    char *at = behind ? (char *)entry->ptr + entry->bytes : (char *)entry->note;
    shpool_status status = fetch(l, at, zone, stream);

    for (size_t i = 0; (status == SHPOOL_OK) && (i < l->zone); i++) {
        if (zone[i] != PATTERN) {
            size_t distance = behind ? i : (size_t)l->zone - i;

            status = shpool_error(SHPOOL_ERR_CORRUPT, "a stray write: 0x%02x, %zu bytes %s %p, an "
                                  "allocation of %zu bytes", zone[i], distance,
                                  behind ? "past the end of" : "before", entry->ptr,
                                  entry->bytes);
        }
    }
    return status;
}

static shpool_status check_both(const guard_layer *l, const shpool_ptr_entry *entry,
                                shpool_stream stream)
{
    unsigned char *zone = malloc(l->zone);
    shpool_status status;

    if (zone == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to look at a zone");
    }
    status = check_zone(l, entry, 0, zone, stream);
    if (status == SHPOOL_OK) {
        status = check_zone(l, entry, 1, zone, stream);
    }
    free(zone);
    return status;
}

/* No stream may use it while its zones are checked and it is filled: for streams that were only
 * recorded, this waits for the whole device. */
static shpool_status forget_users(guard_layer *l, const shpool_ptr_entry *entry, int wait)
{
    shpool_status status;

    if (shpool_ptr_hold(&l->shared, entry->ptr) == NULL) {
        return SHPOOL_OK;
    }
    shpool_ptr_release(&l->shared, entry->ptr);
    status = wait ? shpool_device_sync(l->device) : SHPOOL_OK;
    return (status == SHPOOL_OK) ? shpool_ptr_take(&l->shared, entry->ptr, NULL) : status;
}

static shpool_status inspect(guard_layer *l, const shpool_ptr_entry *entry, shpool_stream stream)
{
    int captured;
    shpool_status status;

    (void)shpool_device_captures(l->device, stream, &captured);
    status = forget_users(l, entry, !captured);
    if ((status != SHPOOL_OK) || captured) {
        return status; /* work of a graph runs when that is launched: there is nothing to check */
    }
    status = check_both(l, entry, stream);
    if (l->poison && (status == SHPOOL_OK)) {
        status = paint(l, entry->note, entry->bytes + 2 * l->zone, stream);
    }
    return status;
}

/* Damage is reported, and the memory is freed anyway. */
static shpool_status guard_free(void *self, void *ptr, shpool_stream stream)
{
    guard_layer *l = self;
    shpool_ptr_entry entry;
    shpool_status found;
    shpool_status status = shpool_ptr_take(&l->map, ptr, &entry);

    if (status != SHPOOL_OK) {
        return status;
    }
    found = inspect(l, &entry, stream);
    status = found;
    if ((found == SHPOOL_OK) || (found == SHPOOL_ERR_CORRUPT)) {
        status = shpool_device_free(l->upstream, entry.note, stream);
    }
    if (status != SHPOOL_OK) {
        shpool_ptr_put_back(&l->map, &entry);
        return status;
    }
    return found;
}

/* The upstream's pointer of a live allocation, or NULL. */
static void *whole_of(guard_layer *l, const void *ptr)
{
    shpool_ptr_entry *entry = shpool_ptr_hold(&l->map, ptr);
    void *whole = NULL;

    if (entry != NULL) {
        whole = entry->note;
        shpool_ptr_release(&l->map, ptr);
    }
    return whole;
}

static shpool_status guard_record_stream(void *self, void *ptr, shpool_stream user)
{
    guard_layer *l = self;
    void *whole = whole_of(l, ptr);
    shpool_status status;

    if (whole == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "%p is not a live allocation of this allocator",
                            ptr);
    }
    status = shpool_ptr_put(&l->shared, ptr, 0, NULL);
    return (status == SHPOOL_OK) ? shpool_device_record_stream(l->upstream, whole, user) : status;
}

const shpool_device_provider shpool_device_provider_guard = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE,
    .name = "guard",
    .summary = "guard zones around each allocation, checked when it is freed; for debugging",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = guard_create,
    .destroy = guard_destroy,
    .malloc = guard_malloc,
    .free = guard_free,
    .record_stream = guard_record_stream,
};
