/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The base `buckets`: MGPU's CudaAllocBuckets, without its defects.
 *
 * Sizes are rounded up to one of 84.  Freed blocks are cached by size, and the one freed last is
 * reused first.  Cached blocks beyond the capacity are returned by weighted age: a block's age in
 * frees plus its bucket's number, so that large blocks go first.  Within a bucket that is the order
 * of the frees, so only the oldest of each bucket are compared.
 *
 * Each block is an allocation of the driver; there is one lock.  Streams as in bins: immediate
 * reuse on the same one, on others when it has finished, then new memory, then a wait on the
 * device.
 */
#include "buckets.h"

#include <stdlib.h>
#include <string.h>

#include "lib/options.h"

#define DEPTH 8u /* idle blocks of a bucket that are looked at */

/* ---- trim ---- */

static shpool_status buckets_trim(void *self, size_t keep_bytes)
{
    buckets_self *b = self;

    shpool_mutex_lock(&b->lock);
    buckets_compact(b, 0);
    while ((b->idle_bytes > keep_bytes) && buckets_evict(b)) {
    }
    shpool_mutex_unlock(&b->lock);
    return SHPOOL_OK;
}

/* ---- malloc ---- */

static void poll(buckets_self *b, shpool_timeline *t)
{
    shpool_spin_lock(&t->lock);
    (void)shpool_timeline_chase(&b->lanes, t);
    shpool_spin_unlock(&t->lock);
}

static int is_usable(const buckets_node *node, const shpool_timeline *t)
{
    return (node->last == t) || shpool_timeline_is_done(node->last, node->seq);
}

/* An idle block that the stream may use immediately. */
static buckets_node *take(buckets_self *b, unsigned bucket, const shpool_timeline *t)
{
    unsigned left = DEPTH;
    buckets_node *node = b->idle[bucket].head;

    for (; (node != NULL) && (left > 0); node = node->next, left--) {
        if (!is_usable(node, t)) {
            poll(b, node->last);
        }
        if (is_usable(node, t)) {
            b->count.hits += (node->last == t);
            b->count.hits_done += (node->last != t);
            buckets_unlink(b, node);
            return node;
        }
    }
    return NULL;
}

/* The oldest idle block, after a wait on the device. */
static buckets_node *take_waiting(buckets_self *b, unsigned bucket, shpool_stream stream)
{
    buckets_node *node = b->idle[bucket].tail;
    int ordered = 0;

    if (node != NULL) {
        shpool_spin_lock(&node->last->lock);
        ordered = shpool_timeline_order(&b->lanes, node->last, node->seq, stream);
        shpool_spin_unlock(&node->last->lock);
    }
    if (!ordered) {
        return NULL;
    }
    b->count.hits_wait++;
    buckets_unlink(b, node);
    return node;
}

static buckets_node *make(buckets_self *b, size_t bytes, unsigned bucket, cu_result *result_p)
{
    buckets_node *node = calloc(1, sizeof(*node));

    if (node == NULL) {
        *result_p = CU_SUCCESS;
        return NULL;
    }
    node->bucket = bucket;
    node->bytes = (bucket < BUCKETS_COUNT) ? buckets_size[bucket] : bytes;
    if (bucket < BUCKETS_COUNT) {
        buckets_compact(b, node->bytes);
    }
    *result_p = buckets_driver_alloc(b, node);
    /* the bucket's exact size, however often the driver is called */
    while ((*result_p == CU_ERROR_OUT_OF_MEMORY) && buckets_evict(b)) {
        b->count.retries++;
        *result_p = buckets_driver_alloc(b, node);
    }
    if (*result_p != CU_SUCCESS) {
        free(node);
        return NULL;
    }
    b->count.misses++;
    return node;
}

static shpool_status refused(buckets_self *b, size_t bytes, cu_result result)
{
    if (result == CU_SUCCESS) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a block's record");
    }
    if (result != CU_ERROR_OUT_OF_MEMORY) {
        return shpool_driver_failed(b->lanes.device->cu, "cuMemAlloc", result);
    }
    b->count.failures++;
    return shpool_error(SHPOOL_ERR_NO_MEMORY, "%zu bytes were requested on device %d; this "
                        "allocator holds %llu bytes, %llu of them live in %llu allocations, and "
                        "has freed all idle ones", bytes, b->lanes.device->ordinal,
                        (unsigned long long)b->count.driver_bytes,
                        (unsigned long long)b->count.live_bytes,
                        (unsigned long long)b->count.live_count);
}

static shpool_status find(buckets_self *b, size_t bytes, shpool_timeline *t, shpool_stream stream,
                          buckets_node **node_p)
{
    unsigned bucket = buckets_locate(bytes, (size_t)b->max_object);
    buckets_node *node = (bucket < BUCKETS_COUNT) ? take(b, bucket, t) : NULL;
    cu_result result = CU_SUCCESS;
    shpool_status status = SHPOOL_OK;

    if (node == NULL) {
        status = shpool_device_no_capture(b->lanes.device, stream, "and buckets keeps no memory "
                                          "for graphs: use bins or async");
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    if ((node == NULL) && (bucket < BUCKETS_COUNT) &&
        (b->count.driver_bytes + buckets_size[bucket] > b->capacity) && b->total) {
        node = take_waiting(b, bucket, stream); /* new memory would cost another block */
    }
    if (node == NULL) {
        node = make(b, bytes, bucket, &result);
    }
    if (node == NULL) {
        return refused(b, bytes, result);
    }
    status = shpool_ptr_put(&b->map, (void *)(uintptr_t)node->ptr, bytes, node);
    if (status != SHPOOL_OK) {
        node->last = (node->last == NULL) ? t : node->last; /* new: number 0 is done */
        buckets_push(b, node);
        buckets_compact(b, 0);
        return status;
    }
    b->count.mallocs++;
    b->count.live_count++;
    b->count.live_bytes += node->bytes;
    b->cached_live += (node->bucket < BUCKETS_COUNT) ? node->bytes : 0;
    *node_p = node;
    return SHPOOL_OK;
}

static shpool_status buckets_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    buckets_self *b = self;
    shpool_timeline *t;
    buckets_node *node = NULL;
    shpool_status status = shpool_timeline_lock(&b->lanes, stream, &t);

    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_spin_unlock(&t->lock);
    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    shpool_device_hold();
    shpool_mutex_lock(&b->lock);
    status = find(b, bytes, t, stream, &node);
    shpool_mutex_unlock(&b->lock);
    shpool_device_restore(b->lanes.device);
    if (status == SHPOOL_OK) {
        *ptr_p = (void *)(uintptr_t)node->ptr;
    }
    return status;
}

/* ---- free ---- */

static void keep(buckets_self *b, buckets_node *node)
{
    b->count.frees++;
    b->count.live_count--;
    b->count.live_bytes -= node->bytes;
    b->cached_live -= (node->bucket < BUCKETS_COUNT) ? node->bytes : 0;
    buckets_push(b, node);
    buckets_compact(b, 0);
}

static shpool_status free_node(buckets_self *b, buckets_node *node, shpool_stream stream)
{
    shpool_timeline *t;
    /* the stream waits for the recorded ones: its own number covers all of them */
    shpool_status status = shpool_timeline_uses_join(&b->lanes, &node->uses, stream);

    if (status == SHPOOL_OK) {
        status = shpool_timeline_lock_to_free(&b->lanes, stream, &t);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    node->last = t;
    node->seq = shpool_timeline_mark(&b->lanes, t);
    shpool_spin_unlock(&t->lock);
    keep(b, node);
    return SHPOOL_OK;
}

static shpool_status buckets_free(void *self, void *ptr, shpool_stream stream)
{
    buckets_self *b = self;
    shpool_ptr_entry entry;
    shpool_status status;

    shpool_mutex_lock(&b->lock);
    status = shpool_ptr_take(&b->map, ptr, &entry);
    if (status == SHPOOL_OK) {
        status = free_node(b, entry.note, (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream);
        if (status != SHPOOL_OK) {
            shpool_ptr_put_back(&b->map, &entry);
        }
    }
    shpool_mutex_unlock(&b->lock);
    return status;
}

static shpool_status buckets_record_stream(void *self, void *ptr, shpool_stream user)
{
    buckets_self *b = self;
    shpool_timeline_use *use;
    shpool_ptr_entry *entry;
    shpool_status status = shpool_timeline_use_make(user, &use);

    if (status != SHPOOL_OK) {
        return status;
    }
    entry = shpool_ptr_hold(&b->map, ptr);
    if (entry == NULL) {
        shpool_timeline_uses_free(use);
        return shpool_error(SHPOOL_ERR_INVALID, "%p is not a live allocation of this allocator",
                            ptr);
    }
    use->next = ((buckets_node *)entry->note)->uses;
    ((buckets_node *)entry->note)->uses = use;
    shpool_ptr_release(&b->map, ptr);
    return SHPOOL_OK;
}

/* ---- streams ---- */

static shpool_status buckets_stream_retire(void *self, shpool_stream stream)
{
    return shpool_timeline_retire(&((buckets_self *)self)->lanes, stream);
}

static shpool_status buckets_stream_stable(void *self, shpool_stream stream)
{
    return shpool_timeline_stable(&((buckets_self *)self)->lanes, stream);
}

/* ---- options ---- */

#define OPTIONS(_)                                                                                 \
    _("capacity", "BYTES", BYTES, buckets_self, capacity,                                          \
      "Limit on cached bytes: idle ones, or with mode=total idle and live ones. Default: 128M.",   \
      .high = UINT64_MAX)                                                                          \
    _("max_object", "BYTES", BYTES, buckets_self, max_object,                                      \
      "Larger blocks are not cached. Default: 64M.", .high = SIZE_MAX)                             \
    _("mode", "idle|total", WORD, buckets_self, total,                                             \
      "Bytes to which the capacity applies; total is MGPU's way. Default: idle.", .low = 0)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static shpool_status buckets_set(void *self, const char *key, const char *value)
{
    buckets_self *b = self;
    shpool_status status;

    shpool_mutex_lock(&b->lock);
    status = shpool_option_change(options, b, "buckets: ", key, value);
    if (status == SHPOOL_OK) {
        buckets_compact(b, 0);
    }
    shpool_mutex_unlock(&b->lock);
    return status;
}

/* ---- life ---- */

static int drop_live(shpool_ptr_entry *entry, void *user)
{
    buckets_node *node = entry->note;

    shpool_timeline_uses_free(node->uses);
    buckets_push(user, node);
    return 0;
}

static void give_all(buckets_self *b)
{
    shpool_device_loss loss = { .count = 0 };

    for (unsigned i = 0; i <= BUCKETS_COUNT; i++) {
        while (b->idle[i].head != NULL) {
            buckets_node *node = b->idle[i].head;
            uint64_t bytes = node->bytes;
            cu_result result = buckets_give(b, node);

            if (result != CU_SUCCESS) {
                shpool_device_loss_add(&loss, result, bytes);
                buckets_unlink(b, node);
                free(node);
            }
        }
    }
    shpool_device_loss_tell(b->lanes.device, &loss, "allocations");
}

static void buckets_destroy(void *self)
{
    buckets_self *b = self;

    (void)shpool_ptr_walk(&b->map, drop_live, b);
    give_all(b);
    shpool_ptr_map_fini(&b->map);
    shpool_timelines_fini(&b->lanes);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static shpool_status buckets_create(const shpool_device_setup *setup, void **self_p)
{
    const shpool_device *device;
    buckets_self *b;
    shpool_status status = shpool_device_get(setup->device, &device);

    if (status != SHPOOL_OK) {
        return status;
    }
    b = calloc(1, sizeof(*b));
    if (b == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an allocator");
    }
    shpool_timelines_init(&b->lanes, device, sizeof(shpool_timeline), 0);
    (void)pthread_mutex_init(&b->lock, NULL); /* default ones do not fail on Linux */
    b->capacity = (uint64_t)128 << 20;
    b->max_object = (uint64_t)64 << 20;
    status = shpool_options_set(options, b, "", setup->options, setup->option_count);
    if (status != SHPOOL_OK) {
        buckets_destroy(b);
        return status;
    }
    *self_p = b;
    return SHPOOL_OK;
}

const shpool_device_provider shpool_device_provider_buckets = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_THREAD_SAFE | SHPOOL_DEVICE_ORDERED,
    .name = "buckets",
    .summary = "MGPU's: 84 sizes, freed blocks are cached by weighted age up to a capacity",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = buckets_create,
    .destroy = buckets_destroy,
    .malloc = buckets_malloc,
    .free = buckets_free,
    .record_stream = buckets_record_stream,
    .base = buckets_base,
    .trim = buckets_trim,
    .set = buckets_set,
    .stats = buckets_stats,
    .reset_peak = buckets_reset_peak,
    .check = buckets_check,
    .walk = buckets_walk,
    .stream_retire = buckets_stream_retire,
    .stream_stable = buckets_stream_stable,
};
