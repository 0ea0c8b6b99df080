/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The base `simple`: the driver's own malloc and free, without a cache; MGPU's CudaAllocSimple.
 *
 * The driver waits for the device before it frees memory, which orders all streams.
 */
#include <stdlib.h>

#include "device/base/device.h"
#include "device/base/ptr_map.h"
#include "lib/options.h"

typedef struct simple {
    const shpool_device *device;
    _Atomic uint64_t live_bytes;
    _Atomic uint64_t peak_bytes;
    _Atomic uint64_t mallocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t failures;
    shpool_ptr_map map;
} simple;

static shpool_status simple_create(const shpool_device_setup *setup, void **self_p)
{
    const shpool_device *device;
    simple *s;
    shpool_status status = shpool_device_get(setup->device, &device);

    if (status == SHPOOL_OK) {
        status = shpool_options_set(shpool_no_options, NULL, "", setup->options,
                                    setup->option_count);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an allocator");
    }
    s->device = device;
    *self_p = s;
    return SHPOOL_OK;
}

typedef struct ending {
    const shpool_device *device;
    shpool_device_loss loss;
} ending;

static int free_one(shpool_ptr_entry *entry, void *user)
{
    ending *end = user;

    shpool_device_loss_add(&end->loss,
                           shpool_device_give(end->device, (cu_ptr)(uintptr_t)entry->ptr),
                           entry->bytes);
    return 0;
}

static void simple_destroy(void *self)
{
    simple *s = self;
    ending end = { .device = s->device };

    (void)shpool_ptr_walk(&s->map, free_one, &end);
    shpool_device_loss_tell(s->device, &end.loss, "allocations");
    shpool_ptr_map_fini(&s->map);
    free(s);
}

static shpool_status refused(simple *s, size_t bytes, cu_result result)
{
    if (result == CU_ERROR_OUT_OF_MEMORY) {
        atomic_fetch_add(&s->failures, 1);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "%zu bytes were requested on device %d, the "
                            "driver has none left; this allocator holds %llu bytes, all live",
                            bytes, s->device->ordinal,
                            (unsigned long long)atomic_load(&s->live_bytes));
    }
    return shpool_driver_failed(s->device->cu, "cuMemAlloc", result);
}

static void count_malloc(simple *s, size_t bytes)
{
    uint64_t live = atomic_fetch_add(&s->live_bytes, bytes) + bytes;
    uint64_t peak = atomic_load(&s->peak_bytes);

    while ((live > peak) && !atomic_compare_exchange_weak(&s->peak_bytes, &peak, live)) {
    }
    atomic_fetch_add(&s->mallocs, 1);
}

static shpool_status simple_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    simple *s = self;
    cu_ptr ptr = 0;
    cu_result result;
    shpool_status status = shpool_device_no_capture(s->device, stream, "and simple keeps no memory "
                                                    "for graphs: use bins or async");

    if (status != SHPOOL_OK) {
        return status;
    }
    result = shpool_device_take(s->device, bytes, &ptr);
    if (result != CU_SUCCESS) {
        return refused(s, bytes, result);
    }
    status = shpool_ptr_put(&s->map, (void *)(uintptr_t)ptr, bytes, NULL);
    if (status != SHPOOL_OK) {
        shpool_device_loss loss = { .count = 0 };

        shpool_device_loss_add(&loss, shpool_device_give(s->device, ptr), bytes);
        shpool_device_loss_tell(s->device, &loss, "allocation");
        return status;
    }
    count_malloc(s, bytes);
    *ptr_p = (void *)(uintptr_t)ptr;
    return SHPOOL_OK;
}

static shpool_status simple_free(void *self, void *ptr, shpool_stream stream)
{
    simple *s = self;
    shpool_ptr_entry entry;
    cu_result result;
    shpool_status status = shpool_ptr_take(&s->map, ptr, &entry);

    (void)stream;
    if (status != SHPOOL_OK) {
        return status;
    }
    result = shpool_device_give(s->device, (cu_ptr)(uintptr_t)ptr);
    if (result != CU_SUCCESS) {
        shpool_ptr_put_back(&s->map, &entry);
        return shpool_driver_failed(s->device->cu, "cuMemFree", result);
    }
    atomic_fetch_sub(&s->live_bytes, entry.bytes);
    atomic_fetch_add(&s->frees, 1);
    return SHPOOL_OK;
}

/* The driver waits for all streams at free. */
static shpool_status simple_record_stream(void *self, void *ptr, shpool_stream user)
{
    simple *s = self;

    (void)user;
    if (shpool_ptr_hold(&s->map, ptr) == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "%p is not a live allocation of this allocator",
                            ptr);
    }
    shpool_ptr_release(&s->map, ptr);
    return SHPOOL_OK;
}

static shpool_status simple_base(void *self, const void *ptr, void **base_p, size_t *bytes_p)
{
    return shpool_ptr_base(&((simple *)self)->map, ptr, base_p, bytes_p);
}

static shpool_status simple_stats(void *self, shpool_device_stats *stats)
{
    simple *s = self;

    stats->live_bytes = atomic_load(&s->live_bytes);
    stats->driver_bytes = stats->live_bytes;
    stats->driver_bytes_peak = atomic_load(&s->peak_bytes);
    stats->mallocs = atomic_load(&s->mallocs);
    stats->frees = atomic_load(&s->frees);
    stats->live_count = stats->mallocs - stats->frees;
    stats->misses = stats->mallocs;
    stats->driver_mallocs = stats->mallocs;
    stats->driver_frees = stats->frees;
    stats->failures = atomic_load(&s->failures);
    return SHPOOL_OK;
}

static shpool_status simple_reset_peak(void *self)
{
    simple *s = self;

    atomic_store(&s->peak_bytes, atomic_load(&s->live_bytes));
    return SHPOOL_OK;
}

typedef struct show {
    shpool_device_walk_fn function;
    void *user;
} show;

static int show_one(shpool_ptr_entry *entry, void *user)
{
    const show *to = user;
    shpool_device_block block = { .ptr = entry->ptr, .bytes = entry->bytes, .base = entry->ptr,
                                  .state = SHPOOL_DEVICE_LIVE };

    return to->function(&block, to->user);
}

static shpool_status simple_walk(void *self, shpool_device_walk_fn function, void *user)
{
    simple *s = self;
    show to = { function, user };

    (void)shpool_ptr_walk(&s->map, show_one, &to);
    return SHPOOL_OK;
}

const shpool_device_provider shpool_device_provider_simple = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_THREAD_SAFE | SHPOOL_DEVICE_ORDERED,
    .name = "simple",
    .summary = "the driver's own malloc and free, without a cache",
    .create = simple_create,
    .destroy = simple_destroy,
    .malloc = simple_malloc,
    .free = simple_free,
    .record_stream = simple_record_stream,
    .base = simple_base,
    .stats = simple_stats,
    .reset_peak = simple_reset_peak,
    .walk = simple_walk,
};
