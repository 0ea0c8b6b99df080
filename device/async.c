/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The base `async`: the driver's own stream-ordered pools (cudaMallocAsync), in their best
 * configuration: a separate pool that returns memory only on request.
 *
 * The stream of the free waits for streams passed to record_stream.
 */
#include <stdlib.h>
#include <string.h>

#include "device/base/ptr_map.h"
#include "device/base/timeline.h"
#include "lib/options.h"

typedef struct async_self {
    shpool_timelines lanes; /* for record_stream only */
    cu_pool pool;
    uint64_t threshold;     /* idle bytes that a synchronisation leaves in the pool */
    _Atomic uint64_t live_bytes;
    _Atomic uint64_t mallocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t failures;
    shpool_ptr_map map;     /* note: the shpool_timeline_use of a block */
} async_self;

/* ---- life ---- */

#define OPTIONS(_)                                                                                 \
    _("threshold", "BYTES", BYTES, async_self, threshold,                                          \
      "Idle bytes that a synchronisation leaves in the pool. Default: no limit.",                  \
      .high = UINT64_MAX)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static shpool_status check_driver(const shpool_device *device)
{
    const shpool_driver *cu = device->cu;
    int supported = 0;

    if ((cu->pool_create == NULL) || (cu->pool_destroy == NULL) || (cu->pool_set == NULL) ||
        (cu->pool_get == NULL) || (cu->pool_trim == NULL) || (cu->pool_alloc == NULL) ||
        (cu->pool_free == NULL) ||
        (cu->device_attribute(&supported, CU_ATTRIBUTE_MEMORY_POOLS, device->handle) !=
         CU_SUCCESS) || !supported) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the driver or device %d has no stream-ordered "
                            "pools; they came with CUDA 11.2", device->ordinal);
    }
    return SHPOOL_OK;
}

static shpool_status set_threshold(async_self *a)
{
    const shpool_device *device = a->lanes.device;
    cu_result result;

    shpool_device_relax(device);
    result = device->cu->pool_set(a->pool, CU_POOL_RELEASE_THRESHOLD, &a->threshold);
    shpool_device_restore(device);
    return (result == CU_SUCCESS)
               ? SHPOOL_OK
               : shpool_driver_failed(a->lanes.device->cu, "cuMemPoolSetAttribute", result);
}

static shpool_status make_pool(async_self *a)
{
    const shpool_device *device = a->lanes.device;
    cu_pool_props props;
    cu_result result;
    int left;
    shpool_status status = shpool_device_enter(device, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    memset(&props, 0, sizeof(props));
    props.alloc_type = 1;
    props.location.type = 1;
    props.location.id = device->handle;
    result = device->cu->pool_create(&a->pool, &props);
    if (result != CU_SUCCESS) {
        a->pool = NULL;
        status = shpool_driver_failed(device->cu, "cuMemPoolCreate", result);
    } else {
        status = set_threshold(a);
    }
    shpool_device_leave(device, left);
    return status;
}

/* The driver's refusal, if the stream is the legacy one and must be left alone. */
static cu_result legacy_result(const shpool_device *device, shpool_stream stream)
{
    int captures;

    return (stream == SHPOOL_STREAM_LEGACY) ? shpool_device_captures(device, stream, &captures)
                                            : CU_SUCCESS;
}

static cu_result driver_free(async_self *a, void *ptr, shpool_stream stream)
{
    const shpool_device *device = a->lanes.device;
    cu_result result = CU_ERROR_INVALID_CONTEXT;
    int left;

    if (shpool_device_enter_quietly(device, &left)) {
        result = legacy_result(device, stream);
    }
    if (result == CU_SUCCESS) {
        result = device->cu->pool_free((cu_ptr)(uintptr_t)ptr, stream);
    }
    shpool_device_leave(device, left);
    return result;
}

typedef struct ending {
    async_self *a;
    shpool_device_loss loss;
} ending;

static int free_live(shpool_ptr_entry *entry, void *user)
{
    ending *end = user;

    shpool_timeline_uses_free(entry->note);
    shpool_device_loss_add(&end->loss, driver_free(end->a, entry->ptr, SHPOOL_STREAM_LEGACY),
                           entry->bytes);
    return 0;
}

/* A pool knows its device: if the context cannot be made current, this is tried anyway. */
static void destroy_pool(async_self *a)
{
    const shpool_device *device = a->lanes.device;
    shpool_device_loss loss = { .count = 0 };
    int left;

    if (a->pool == NULL) {
        return;
    }
    (void)shpool_device_enter_quietly(device, &left);
    shpool_device_loss_add(&loss, device->cu->pool_destroy(a->pool), 0);
    shpool_device_leave(device, left);
    shpool_device_loss_tell(device, &loss, "pool");
}

static void async_destroy(void *self)
{
    async_self *a = self;
    ending end = { .a = a };

    (void)shpool_ptr_walk(&a->map, free_live, &end);
    shpool_device_loss_tell(a->lanes.device, &end.loss, "allocations");
    destroy_pool(a);
    shpool_ptr_map_fini(&a->map);
    shpool_timelines_fini(&a->lanes);
    free(a);
}

static shpool_status async_create(const shpool_device_setup *setup, void **self_p)
{
    const shpool_device *device;
    async_self *a;
    shpool_status status = shpool_device_get(setup->device, &device);

    if (status == SHPOOL_OK) {
        status = check_driver(device);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an allocator");
    }
    shpool_timelines_init(&a->lanes, device, sizeof(shpool_timeline), 0);
    a->threshold = UINT64_MAX;
    status = shpool_options_set(options, a, "", setup->options, setup->option_count);
    if (status == SHPOOL_OK) {
        status = make_pool(a);
    }
    if (status != SHPOOL_OK) {
        async_destroy(a);
        return status;
    }
    *self_p = a;
    return SHPOOL_OK;
}

/* ---- malloc and free ---- */

static cu_result driver_alloc(async_self *a, size_t bytes, shpool_stream stream, cu_ptr *ptr_p)
{
    const shpool_device *device = a->lanes.device;
    cu_result result;
    int left;

    if (shpool_device_enter(device, &left) != SHPOOL_OK) {
        return CU_ERROR_INVALID_CONTEXT;
    }
    result = legacy_result(device, stream);
    if (result == CU_SUCCESS) {
        result = device->cu->pool_alloc(ptr_p, bytes, a->pool, stream);
    }
    if ((result == CU_ERROR_OUT_OF_MEMORY) && (shpool_device_wait(device) == CU_SUCCESS)) {
        /* returns other streams' idle memory, and fragments */
        (void)device->cu->pool_trim(a->pool, 0);
        result = device->cu->pool_alloc(ptr_p, bytes, a->pool, stream);
    }
    shpool_device_leave(device, left);
    return result;
}

static shpool_status async_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    async_self *a = self;
    cu_ptr ptr = 0;
    cu_result result;
    shpool_status status;

    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    result = driver_alloc(a, bytes, stream, &ptr);
    if (result == CU_ERROR_OUT_OF_MEMORY) {
        atomic_fetch_add(&a->failures, 1);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "%zu bytes were requested on device %d, its "
                            "pool has no more; %llu bytes of it are live", bytes,
                            a->lanes.device->ordinal,
                            (unsigned long long)atomic_load(&a->live_bytes));
    }
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(a->lanes.device->cu, "cuMemAllocFromPoolAsync", result);
    }
    status = shpool_ptr_put(&a->map, (void *)(uintptr_t)ptr, bytes, NULL);
    if (status != SHPOOL_OK) {
        shpool_device_loss loss = { .count = 0 };

        shpool_device_loss_add(&loss, driver_free(a, (void *)(uintptr_t)ptr, stream), bytes);
        shpool_device_loss_tell(a->lanes.device, &loss, "allocation");
        return status;
    }
    atomic_fetch_add(&a->live_bytes, bytes);
    atomic_fetch_add(&a->mallocs, 1);
    *ptr_p = (void *)(uintptr_t)ptr;
    return SHPOOL_OK;
}

static shpool_status async_free(void *self, void *ptr, shpool_stream stream)
{
    async_self *a = self;
    shpool_ptr_entry entry;
    shpool_timeline_use *uses;
    cu_result result;
    shpool_status status = shpool_ptr_take(&a->map, ptr, &entry);

    if (status != SHPOOL_OK) {
        return status;
    }
    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    uses = entry.note;
    status = shpool_timeline_uses_join(&a->lanes, &uses, stream);
    entry.note = uses;
    if (status != SHPOOL_OK) {
        shpool_ptr_put_back(&a->map, &entry);
        return status;
    }
    result = driver_free(a, ptr, stream);
    if (result != CU_SUCCESS) {
        shpool_ptr_put_back(&a->map, &entry);
        status = shpool_device_no_capture(a->lanes.device, stream, "which did not allocate the "
                                          "memory: free it after the capture");
        return (status != SHPOOL_OK)
                   ? status : shpool_driver_failed(a->lanes.device->cu, "cuMemFreeAsync", result);
    }
    atomic_fetch_sub(&a->live_bytes, entry.bytes);
    atomic_fetch_add(&a->frees, 1);
    return SHPOOL_OK;
}

static shpool_status async_record_stream(void *self, void *ptr, shpool_stream user)
{
    async_self *a = self;
    shpool_timeline_use *use;
    shpool_ptr_entry *entry;
    shpool_status status = shpool_timeline_use_make(user, &use);

    if (status != SHPOOL_OK) {
        return status;
    }
    entry = shpool_ptr_hold(&a->map, ptr);
    if (entry == NULL) {
        shpool_timeline_uses_free(use);
        return shpool_error(SHPOOL_ERR_INVALID, "%p is not a live allocation of this allocator",
                            ptr);
    }
    use->next = entry->note;
    entry->note = use;
    shpool_ptr_release(&a->map, ptr);
    return SHPOOL_OK;
}

/* ---- the rest ---- */

static shpool_status async_trim(void *self, size_t keep_bytes)
{
    async_self *a = self;
    const shpool_device *device = a->lanes.device;
    cu_result result;
    int left;
    shpool_status status = shpool_device_enter(device, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    /* the pool's threshold includes live bytes */
    result = device->cu->pool_trim(a->pool, (size_t)atomic_load(&a->live_bytes) + keep_bytes);
    shpool_device_leave(device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(device->cu, "cuMemPoolTrimTo", result);
}

static shpool_status async_set(void *self, const char *key, const char *value)
{
    async_self *a = self;
    shpool_status status = shpool_option_change(options, a, "async: ", key, value);

    return (status == SHPOOL_OK) ? set_threshold(a) : status;
}

static uint64_t ask(async_self *a, int attribute)
{
    const shpool_device *device = a->lanes.device;
    uint64_t value = 0;
    cu_result result;

    shpool_device_relax(device);
    result = device->cu->pool_get(a->pool, attribute, &value);
    shpool_device_restore(device);
    return (result == CU_SUCCESS) ? value : 0;
}

static shpool_status async_stats(void *self, shpool_device_stats *stats)
{
    async_self *a = self;

    stats->live_bytes = atomic_load(&a->live_bytes);
    stats->mallocs = atomic_load(&a->mallocs);
    stats->frees = atomic_load(&a->frees);
    stats->live_count = stats->mallocs - stats->frees;
    stats->failures = atomic_load(&a->failures);
    stats->driver_bytes = ask(a, CU_POOL_RESERVED_CURRENT);
    stats->driver_bytes_peak = ask(a, CU_POOL_RESERVED_HIGH);
    stats->idle_bytes = (stats->driver_bytes > stats->live_bytes)
                            ? stats->driver_bytes - stats->live_bytes : 0;
    return SHPOOL_OK;
}

static shpool_status async_reset_peak(void *self)
{
    async_self *a = self;
    const shpool_device *device = a->lanes.device;
    uint64_t zero = 0;

    shpool_device_relax(device);
    (void)device->cu->pool_set(a->pool, CU_POOL_RESERVED_HIGH, &zero);
    shpool_device_restore(device);
    return SHPOOL_OK;
}

static shpool_status async_stream_retire(void *self, shpool_stream stream)
{
    return shpool_timeline_retire(&((async_self *)self)->lanes, stream);
}

static shpool_status async_stream_stable(void *self, shpool_stream stream)
{
    return shpool_timeline_stable(&((async_self *)self)->lanes, stream);
}

/* Memory of a capture becomes part of the graph, by the driver: there is nothing to keep. */
static shpool_status async_capture(void *self, uint64_t id_high, uint64_t id_low)
{
    (void)self;
    return ((id_high == 0) && (id_low == 0))
               ? shpool_error(SHPOOL_ERR_INVALID, "the numbers 0, 0 mean no pool: choose others")
               : SHPOOL_OK;
}

static shpool_status async_base(void *self, const void *ptr, void **base_p, size_t *bytes_p)
{
    return shpool_ptr_base(&((async_self *)self)->map, ptr, base_p, bytes_p);
}

const shpool_device_provider shpool_device_provider_async = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_THREAD_SAFE | SHPOOL_DEVICE_ORDERED | SHPOOL_DEVICE_CAPTURE,
    .name = "async",
    .summary = "the driver's stream-ordered pool, as cudaMallocAsync",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = async_create,
    .destroy = async_destroy,
    .malloc = async_malloc,
    .free = async_free,
    .record_stream = async_record_stream,
    .base = async_base,
    .trim = async_trim,
    .set = async_set,
    .stats = async_stats,
    .reset_peak = async_reset_peak,
    .stream_retire = async_stream_retire,
    .stream_stable = async_stream_stable,
    .capture_begin = async_capture,
    .capture_end = async_capture,
    .capture_release = async_capture,
};
