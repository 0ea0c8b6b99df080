/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for PyTorch's CUDAPluggableAllocator and CuPy's CFunctionAllocator.
 *
 * Neither passes a context or accepts a status: all calls use the device's shared allocator,
 * failures become NULL, and the detail is sent as a message (SHPOOL_LOG_LEVEL=error).
 */
#include "device/base/device.h"

#include <stdatomic.h>
#include <stdio.h>

#define MAX_DEVICES 64

/* Process-wide, like the shared allocators. */
static struct {
    atomic_ullong used;               /* bit d: device d's shared allocator was used */
    atomic_ullong limit[MAX_DEVICES]; /* bytes; 0: none */
} hooks;

/* The stream that this thread declared stable last: most calls come from one stream. */
static _Thread_local struct {
    shpool_device_allocator *allocator;
    shpool_stream stream;
} declared;

/* The shared allocator, or NULL. */
static shpool_device_allocator *allocator_of(int device)
{
    shpool_device_allocator *allocator = NULL;

    if ((device < 0) || (device >= MAX_DEVICES)) {
        (void)shpool_error(SHPOOL_ERR_NOT_FOUND, "device %d is not possible: the hooks serve "
                           "devices 0 to %d", device,
                           MAX_DEVICES - 1);
        return NULL;
    }
    if (shpool_device_allocator_default(device, &allocator) != SHPOOL_OK) {
        return NULL;
    }
    if ((atomic_load_explicit(&hooks.used, memory_order_relaxed) & (1ull << device)) == 0) {
        /* relaxed: a hint which allocators to query; they have their own locks */
        atomic_fetch_or_explicit(&hooks.used, 1ull << device, memory_order_relaxed);
    }
    return allocator;
}

/* The next device whose allocator was used, from `device` on; -1: none. */
static int next_used(int device)
{
    unsigned long long used = atomic_load_explicit(&hooks.used, memory_order_relaxed);

    for (; device < MAX_DEVICES; device++) {
        if ((used >> device) & 1u) {
            return device;
        }
    }
    return -1;
}

/* ---- the limit of set_per_process_memory_fraction(), for bases that have no key for it ---- */

/* 1: this many more bytes are within the limit. */
static int is_within_limit(shpool_device_allocator *allocator, uint64_t limit, size_t bytes)
{
    shpool_device_stats stats = { 0 };

    if ((shpool_device_get_stats(allocator, &stats) == SHPOOL_OK) &&
        (stats.live_bytes <= limit) && (bytes <= limit - stats.live_bytes)) {
        return 1;
    }
    (void)shpool_error(SHPOOL_ERR_LIMIT, "%zu bytes more than the %llu that are live would exceed "
                       "the memory fraction's %llu", bytes, (unsigned long long)stats.live_bytes,
                       (unsigned long long)limit);
    return 0;
}

/* Idle memory also counts: the part above the limit is returned to the driver. */
static void keep_limit(shpool_device_allocator *allocator, uint64_t limit)
{
    shpool_device_stats stats = { 0 };

    if ((shpool_device_get_stats(allocator, &stats) == SHPOOL_OK) &&
        (stats.driver_bytes > limit)) {
        (void)shpool_device_trim(allocator, (limit > stats.live_bytes)
                                                ? (size_t)(limit - stats.live_bytes) : 0);
    }
}

/* ---- PyTorch ---- */

static void *malloc_on(int device, size_t bytes, shpool_stream stream, int is_stable)
{
    shpool_device_allocator *allocator = allocator_of(device);
    uint64_t limit;
    void *ptr = NULL;

    if (allocator == NULL) {
        return NULL;
    }
    if (is_stable && ((declared.allocator != allocator) || (declared.stream != stream))) {
        (void)shpool_device_stream_stable(allocator, stream);
        declared.allocator = allocator;
        declared.stream = stream;
    }
    limit = atomic_load_explicit(&hooks.limit[device], memory_order_relaxed);
    if ((limit != 0) && !is_within_limit(allocator, limit, bytes)) {
        return NULL;
    }
    if ((shpool_device_malloc(allocator, bytes, stream, &ptr) == SHPOOL_OK) && (limit != 0)) {
        keep_limit(allocator, limit);
    }
    return ptr;
}

void *shpool_torch_malloc(ptrdiff_t bytes, int device, shpool_stream stream)
{
    return (bytes > 0) ? malloc_on(device, (size_t)bytes, stream, 1) : NULL;
}

void shpool_torch_free(void *ptr, ptrdiff_t bytes, int device, shpool_stream stream)
{
    shpool_device_allocator *allocator = (ptr != NULL) ? allocator_of(device) : NULL;

    (void)bytes;
    if (allocator != NULL) {
        (void)shpool_device_free(allocator, ptr, stream);
    }
}

void shpool_torch_init(int device_count)
{
    (void)device_count; /* a device is opened when it is used: each costs memory */
}

void shpool_torch_reset(void)
{
    for (int device = next_used(0); device >= 0; device = next_used(device + 1)) {
        shpool_device_allocator *allocator = allocator_of(device);

        if (allocator != NULL) {
            (void)shpool_device_trim(allocator, 0);
        }
    }
}

/* UINT64_MAX: none.  The base's own limit costs nothing, but reading statistics costs much. */
static void set_limit(shpool_device_allocator *allocator, int device, uint64_t limit)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
    if ((shpool_device_set(allocator, "hard", text) == SHPOOL_OK) || (limit == UINT64_MAX)) {
        atomic_store_explicit(&hooks.limit[device], 0, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&hooks.limit[device], (limit > 0) ? limit : 1, memory_order_relaxed);
    keep_limit(allocator, limit);
}

void shpool_torch_memory_fraction(double fraction, int device)
{
    uint64_t free_bytes;
    uint64_t total;
    shpool_device_allocator *allocator = allocator_of(device);

    if (allocator == NULL) {
        return;
    }
    if (!(fraction >= 0) || (fraction >= 1)) { /* also for NaN: no limit */
        set_limit(allocator, device, UINT64_MAX);
    } else if (shpool_device_memory(device, &free_bytes, &total) == SHPOOL_OK) {
        set_limit(allocator, device, (uint64_t)(fraction * (double)total));
    }
}

/* No device is passed: all used ones are tried in turn. */
void *shpool_torch_base_alloc(void *ptr, size_t *bytes_p)
{
    size_t bytes = 0;
    void *base = NULL;

    for (int device = next_used(0); device >= 0; device = next_used(device + 1)) {
        shpool_device_allocator *allocator = allocator_of(device);

        if ((allocator != NULL) &&
            (shpool_device_base(allocator, ptr, &base, &bytes) == SHPOOL_OK)) {
            break;
        }
    }
    if (bytes_p != NULL) {
        *bytes_p = bytes;
    }
    return base;
}

void shpool_torch_record_stream(void *ptr, shpool_stream stream)
{
    if (ptr == NULL) {
        return;
    }
    for (int device = next_used(0); device >= 0; device = next_used(device + 1)) {
        shpool_device_allocator *allocator = allocator_of(device);

        if ((allocator != NULL) &&
            (shpool_device_record_stream(allocator, ptr, stream) == SHPOOL_OK)) {
            return;
        }
    }
}

void shpool_torch_begin_pool(int device, shpool_torch_pool_id id, void *filter)
{
    shpool_device_allocator *allocator = allocator_of(device);

    (void)filter;
    if (allocator != NULL) {
        (void)shpool_device_capture_begin(allocator, id.high, id.low);
    }
}

void shpool_torch_end_pool(int device, shpool_torch_pool_id id)
{
    shpool_device_allocator *allocator = allocator_of(device);

    if (allocator != NULL) {
        (void)shpool_device_capture_end(allocator, id.high, id.low);
    }
}

void shpool_torch_release_pool(int device, shpool_torch_pool_id id)
{
    shpool_device_allocator *allocator = allocator_of(device);

    if (allocator != NULL) {
        (void)shpool_device_capture_release(allocator, id.high, id.low);
    }
}

/* ---- CuPy ---- */

/* A function allocator is not told the stream, and streams are not ordered with each other: the
 * host waits for all of them.  0: it could not. */
static int wait_for_all(int device)
{
    const shpool_device *found;

    return (shpool_device_get(device, &found) == SHPOOL_OK) &&
           (shpool_device_sync(found) == SHPOOL_OK);
}

void *shpool_cupy_malloc(void *param, size_t bytes, int device)
{
    void *ptr = (bytes > 0) ? malloc_on(device, bytes, SHPOOL_STREAM_LEGACY, 0) : NULL;

    (void)param;
    /* other users of the legacy stream may not have finished with it */
    if ((ptr != NULL) && !wait_for_all(device)) {
        shpool_torch_free(ptr, 0, device, SHPOOL_STREAM_LEGACY);
        return NULL;
    }
    return ptr;
}

void shpool_cupy_free(void *param, void *ptr, int device)
{
    (void)param;
    if ((ptr != NULL) && wait_for_all(device)) {
        shpool_torch_free(ptr, 0, device, SHPOOL_STREAM_LEGACY);
    }
}
