/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: the fast path, and the table of functions. */
#include "bins.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/nvtx.h"
#include "device/bins/vmm/vmm.h"
#include "lib/options.h"

/* Default of `wait`: about as long as a step of a small program takes. */
#define WAIT_US 20000u

/* ---- malloc and free ---- */

static inline void remove_head(bins_lists *lists, bins_list *list, bins_block *block)
{
    list->head = block->next;
    if (block->next != NULL) {
        block->next->prev = NULL;
    } else {
        list->tail = NULL;
        lists->nonempty[block->class / 64] &= ~(1ull << (block->class % 64));
    }
}

/* From the lane, which is locked and unlocked here; NULL: it has none.  A large block that was
 * freed last is not the one that leaves the least memory unusable.  So the lane has large blocks
 * only of a program that needs no more memory: those that were freed long after it last did. */
static inline bins_block *take_cached(bins_lane *lane, size_t need)
{
    bins_list *list = &lane->cache.list[bins_class(need)];
    bins_block *block = list->head;

    if (SHPOOL_LIKELY((block != NULL) && (block->bytes >= need) &&
                      ((need < BINS_LARGE_BYTES) || (block->seq >= lane->steady)))) {
        remove_head(&lane->cache, list, block);
        lane->mallocs++;
        lane->malloc_bytes += block->bytes;
        bins_set_state(block, BINS_LIVE);
    } else {
        block = NULL;
    }
    shpool_spin_unlock(&lane->timeline.lock);
    return block;
}

/* By the lane, which is locked, or else by all that there is. */
static inline shpool_status serve(bins_self *bins, size_t bytes, size_t need, shpool_timeline *t,
                                  shpool_stream stream, void **ptr_p)
{
    bins_block *block = take_cached((bins_lane *)t, need);

    if (SHPOOL_UNLIKELY(block == NULL)) {
        return bins_malloc_slow(bins, bytes, need, (bins_lane *)t, stream, ptr_p);
    }
    *ptr_p = block->address;
    return SHPOOL_OK;
}

static shpool_status malloc_any(bins_self *bins, size_t bytes, shpool_stream stream, void **ptr_p)
{
    size_t need = bins_round(bytes);
    shpool_timeline *t;
    shpool_status status;

    if (bins->whole > 0) {
        need = (need + bins->whole - 1) / bins->whole * bins->whole;
    }
    if (bytes > BINS_MAX_BYTES) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE, "%zu bytes were requested, no device has more "
                            "than %zu", bytes, BINS_MAX_BYTES);
    }
    if ((atomic_load_explicit(&bins->lanes.captures, memory_order_relaxed) > 0) &&
        bins_graph_malloc(bins, need, stream, ptr_p, &status)) {
        return status;
    }
    status = shpool_timeline_lock(&bins->lanes, stream, &t);
    if (status != SHPOOL_OK) {
        return status;
    }
    return serve(bins, bytes, need, t, stream, ptr_p);
}

/* The most frequent case alone, in few registers and without a frame: malloc_any() has all. */
static shpool_status bins_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    bins_self *bins = self;
    const shpool_timeline_seen *seen = shpool_timeline_known(&bins->lanes, stream);
    shpool_timeline *t;

    if (SHPOOL_UNLIKELY((seen == NULL) || (bins->whole > 0) || (bytes > BINS_MAX_BYTES) ||
                        (atomic_load_explicit(&bins->lanes.captures, memory_order_relaxed) > 0))) {
        return malloc_any(bins, bytes, stream, ptr_p);
    }
    t = shpool_timeline_try(seen);
    return SHPOOL_LIKELY(t != NULL) ? serve(bins, bytes, bins_round(bytes), t, stream, ptr_p)
                                    : malloc_any(bins, bytes, stream, ptr_p);
}

/* Whether it is time to compare what is idle with the capacity: each sixteenth of it. */
static inline int is_due(bins_self *bins, bins_lane *lane, size_t bytes)
{
    uint64_t capacity = atomic_load_explicit(&bins->capacity, memory_order_relaxed);

    if (SHPOOL_LIKELY(capacity == BINS_UNLIMITED)) {
        return 0;
    }
    lane->unchecked_bytes += bytes;
    if (lane->unchecked_bytes <= capacity / 16) {
        return 0;
    }
    lane->unchecked_bytes = 0;
    return 1;
}

/* Into the list of its class; the lane is locked.  1: it is time to look at the capacity. */
static inline int cache(bins_self *bins, bins_block *block, shpool_timeline *t)
{
    bins_lane *lane = (bins_lane *)t;

    if (SHPOOL_UNLIKELY(block->last != t)) {
        bins_set_last(block, t);
    }
    block->seq = shpool_timeline_mark(&bins->lanes, t);
    lane->frees++;
    lane->free_bytes += block->bytes;
    bins_set_state(block, BINS_CACHED);
    bins_push(&lane->cache, block);
    if (SHPOOL_UNLIKELY(atomic_load_explicit(&lane->giver, memory_order_relaxed) != NULL)) {
        atomic_store_explicit(&lane->giver, NULL, memory_order_relaxed); /* own memory is first */
    }
    return is_due(bins, lane, block->bytes);
}

/* Into the list, and unlocked. */
static shpool_status cache_and_unlock(bins_self *bins, bins_block *block, shpool_timeline *t)
{
    int due = cache(bins, block, t);

    shpool_spin_unlock(&t->lock);
    if (SHPOOL_UNLIKELY(due)) {
        bins_keep_capacity(bins);
    }
    return SHPOOL_OK;
}

/* The lane of the malloc was locked by another thread, or the block must be freed under
 * bins.lock.  No lock is held here. */
static shpool_status free_elsewhere(bins_self *bins, bins_block *block, void *ptr,
                                    shpool_stream stream)
{
    shpool_timeline *t;
    shpool_status status;

    if (!bins_claim(block, BINS_MOVING, 1)) {
        return bins_free_slow(bins, block, ptr, stream);
    }
    status = shpool_timeline_lock_to_free(&bins->lanes, stream, &t);
    if (status != SHPOOL_OK) {
        bins_set_state(block, BINS_LIVE);
        return status;
    }
    return cache_and_unlock(bins, block, t);
}

static shpool_status free_any(bins_self *bins, void *ptr, shpool_stream stream)
{
    bins_block *block = bins_find(bins, ptr);
    shpool_timeline *t;
    shpool_status status;

    if (SHPOOL_UNLIKELY(block == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%p is not the beginning of an allocation of this "
                            "allocator", ptr);
    }
    status = shpool_timeline_lock_to_free(&bins->lanes, stream, &t);
    if (SHPOOL_UNLIKELY(status != SHPOOL_OK)) {
        return status;
    }
    if (SHPOOL_UNLIKELY((block->last != t) || (bins_state(block) != BINS_LIVE)) &&
        ((block->last == t) || !bins_claim(block, BINS_MOVING, 0))) {
        shpool_spin_unlock(&t->lock);
        return free_elsewhere(bins, block, ptr, stream);
    }
    return cache_and_unlock(bins, block, t);
}

/* 1: a free on the lane does no more than what bins_free() does. */
static inline int is_plain(bins_self *bins, bins_lane *lane)
{
    return (lane->timeline.wanted == 0) &&
           (atomic_load_explicit(&bins->capacity, memory_order_relaxed) == BINS_UNLIMITED) &&
           (atomic_load_explicit(&lane->giver, memory_order_relaxed) == NULL);
}

/* As bins_malloc(): on the stream of the malloc; free_any() has all. */
static shpool_status bins_free(void *self, void *ptr, shpool_stream stream)
{
    bins_self *bins = self;
    bins_block *block = bins_find(bins, ptr);
    const shpool_timeline_seen *seen = shpool_timeline_known(&bins->lanes, stream);
    shpool_timeline *t;
    bins_lane *lane;

    if (SHPOOL_UNLIKELY((block == NULL) || (seen == NULL) || (block->last != seen->timeline))) {
        return free_any(bins, ptr, stream);
    }
    t = shpool_timeline_try(seen);
    if (SHPOOL_UNLIKELY(t == NULL)) {
        return free_any(bins, ptr, stream);
    }
    lane = (bins_lane *)t;
    if (SHPOOL_UNLIKELY((block->last != t) || (bins_state(block) != BINS_LIVE) ||
                        !is_plain(bins, lane))) {
        shpool_spin_unlock(&t->lock);
        return free_any(bins, ptr, stream);
    }
    block->seq = ++t->seq;
    lane->frees++;
    lane->free_bytes += block->bytes;
    bins_set_state(block, BINS_CACHED);
    bins_push(&lane->cache, block);
    shpool_spin_unlock(&t->lock);
    return SHPOOL_OK;
}

/* ---- streams ---- */

static shpool_status bins_stream_retire(void *self, shpool_stream stream)
{
    bins_self *bins = self;

    bins_graph_retire(bins, stream);
    return shpool_timeline_retire(&bins->lanes, stream);
}

static shpool_status bins_stream_stable(void *self, shpool_stream stream)
{
    bins_self *bins = self;

    return shpool_timeline_stable(&bins->lanes, stream);
}

/* ---- options ---- */

static shpool_status forget_givers(void *self, const char *value)
{
    bins_self *bins = self;

    (void)value;
    for (bins_lane *l = bins_first_lane(bins); l != NULL; l = bins_next_lane(l)) {
        atomic_store_explicit(&l->giver, NULL, memory_order_relaxed);
    }
    return SHPOOL_OK;
}

/* Lanes and slabs are made with the fixed ones. */
#define OPTIONS(_)                                                                                 \
    _("capacity", "BYTES", BYTES, bins_self, capacity,                                             \
      "Limit on idle bytes that are cached. Default: no limit.", .high = UINT64_MAX)               \
    _("hard", "BYTES", BYTES, bins_self, hard,                                                     \
      "Limit on bytes from the driver; requests that would exceed it fail. Default: no limit.",    \
      .high = UINT64_MAX)                                                                          \
    _("soft", "BYTES", BYTES, bins_self, soft,                                                     \
      "Bytes from the driver above which streams wait for the memory of other streams before "     \
      "new memory is allocated. Default: no limit.", .high = UINT64_MAX)                           \
    _("reuse", "same|done|wait", WORD, bins_self, reuse,                                           \
      "When a stream gets the memory of another one. same: never. done: when the other stream "    \
      "has finished. wait: also after a wait on the device. Default: wait.", .low = 0,             \
      .then = forget_givers)                                                                       \
    _("memory", "auto|driver|vmm", WORD, bins_self, memory,                                        \
      "Source of memory. vmm: reserves addresses and maps memory where requests need it. "         \
      "driver: slabs of cuMemAlloc. auto: vmm if the driver supports it. Default: auto.",          \
      .low = 0, .fixed = 1)                                                                        \
    _("granule", "BYTES", BYTES, bins_self, granule_bytes,                                         \
      "Size of the pieces in which memory is mapped, rounded down to a power of two. Small "       \
      "ones reserve less, large ones need fewer calls of the driver. Default: 2M.",                \
      .low = SHPOOL_PAGE_BYTES, .high = (uint64_t)1 << 30, .fixed = 1)                             \
    _("granules", "COUNT", BYTES, bins_self, granule_count,                                        \
      "Number of such pieces from which two become one of twice the size; 0: never. Default: 64 "  \
      "if most allocations are larger; 0 with granule.",                                           \
      .high = SIZE_MAX / 2, .fixed = 1)                                                            \
    _("nvtx", "0|1", FLAG, bins_self, nvtx,                                                        \
      "1: marks allocations for compute-sanitizer --nvtx yes, which then reports accesses to "     \
      "other memory; each free waits for the device, and memory comes from cuMemAlloc. "           \
      "Default: 0.", .low = 1, .fixed = 1)                                                         \
    _("peer", "N|all", OWN, bins_self, granules,                                                   \
      "Device that may access mapped memory; set it again for one more. Default: none.",           \
      .then = bins_peer)                                                                           \
    _("share", "0|1", FLAG, bins_self, share,                                                      \
      "1: each allocation has mapped memory of its own, in granules of 2M, so that "               \
      "shpool_device_export() can share it with other processes. Default: 0.", .low = 1,           \
      .fixed = 1)                                                                                  \
    _("slab", "BYTES", BYTES, bins_self, slab_bytes,                                               \
      "Largest size of a slab that several large allocations share. Default: 512M.",               \
      .low = SHPOOL_PAGE_BYTES, .high = (uint64_t)1 << 40)                                         \
    _("wait", "USEC", BYTES, bins_self, waits.longest_us,                                          \
      "Longest wait of a request for memory that is in use, before some is unmapped; 0: it does "  \
      "not wait. Default: 20000.", .high = 1000000)                                                \
    _("stable", "0|1", FLAG, bins_self, lanes.assume_stable,                                       \
      "1: no stream is destroyed before it has been retired. Default: 0.", .low = 1, .fixed = 1)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static shpool_status bins_set(void *self, const char *key, const char *value)
{
    bins_self *bins = self;
    shpool_status status;

    shpool_mutex_lock(&bins->lock);
    status = shpool_option_change(options, bins, "bins: ", key, value);
    shpool_mutex_unlock(&bins->lock);
    if ((status == SHPOOL_OK) && (strcmp(key, "capacity") == 0)) {
        bins_keep_capacity(bins);
    }
    if ((status == SHPOOL_OK) && (strcmp(key, "hard") == 0)) {
        bins_keep_hard(bins);
    }
    return status;
}

/* ---- marks for tools ---- */

/* Tools know divided memory only where cuMemAlloc allocated it. */
static shpool_status start_marks(bins_self *bins)
{
    if (!bins->nvtx) {
        return SHPOOL_OK;
    }
    if (bins->share || (bins->memory == BINS_MEMORY_VMM)) {
        return shpool_error(SHPOOL_ERR_SPEC, "nvtx=1 needs memory=auto or memory=driver and "
                            "share=0: tools do not accept marks of mapped memory");
    }
    bins->memory = BINS_MEMORY_DRIVER;
    if (!shpool_nvtx_attach()) {
        shpool_message(SHPOOL_LEVEL_WARN, "bins:nvtx=1 has no effect: no tool that takes marks of "
                       "memory is there, as compute-sanitizer --nvtx yes is");
    }
    return SHPOOL_OK;
}

/* ---- life ---- */

static void bins_destroy(void *self)
{
    bins_self *bins = self;

    bins_graphs_fini(bins);
    for (unsigned i = 0; i < BINS_HEAPS; i++) {
        bins_heap_fini(bins, &bins->heap[i]);
    }
    bins_slabs_fini(bins);
    shpool_timelines_fini(&bins->lanes);
    while (bins->records != NULL) {
        void *next = *(void **)bins->records;

        free(bins->records);
        bins->records = next;
    }
    shpool_page_map_fini(&bins->map);
    pthread_mutex_destroy(&bins->lock);
    free(bins);
}

static shpool_status start(bins_self *bins, const shpool_device *device)
{
    size_t bytes = 0;
    cu_result result = device->cu->device_memory(&bytes, device->handle);

    if (result != CU_SUCCESS) {
        return shpool_driver_failed(device->cu, "cuDeviceTotalMem", result);
    }
    bins->device_bytes = bytes;
    bins->granules.access[0] = (cu_access){ .location = { 1, device->handle }, .flags = 3 };
    bins->granules.accesses = 1;
    shpool_timelines_init(&bins->lanes, device, sizeof(bins_lane), 0);
    bins->lanes.shards = 1;
    (void)pthread_mutex_init(&bins->lock, NULL); /* default ones do not fail on Linux */
    return SHPOOL_OK;
}

static shpool_status bins_create(const shpool_device_setup *setup, void **self_p)
{
    const shpool_device *device;
    shpool_status status = shpool_device_get(setup->device, &device);
    bins_self *bins;

    if (status != SHPOOL_OK) {
        return status;
    }
    bins = aligned_alloc(SHPOOL_CACHE_LINE, (sizeof(*bins) + SHPOOL_CACHE_LINE - 1) /
                                                SHPOOL_CACHE_LINE * SHPOOL_CACHE_LINE);
    if (bins == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an allocator");
    }
    memset(bins, 0, sizeof(*bins));
    status = start(bins, device);
    if (status != SHPOOL_OK) {
        free(bins);
        return status;
    }
    for (unsigned i = BINS_LARGE; i < BINS_HEAPS; i++) {
        bins->heap[i].large = 1;
    }
    bins->heap[BINS_WINDOWS].windows = 1;
    bins->soft = BINS_UNLIMITED;
    atomic_store_explicit(&bins->hard, BINS_UNLIMITED, memory_order_relaxed);
    bins->reuse = BINS_REUSE_WAIT;
    bins->waits.longest_us = WAIT_US;
    bins->slab_bytes = (uint64_t)512 << 20;
    bins->granule_count = UINT64_MAX;
    atomic_store_explicit(&bins->capacity, BINS_UNLIMITED, memory_order_relaxed);
    status = shpool_options_set(options, bins, "", setup->options, setup->option_count);
    if (status == SHPOOL_OK) {
        status = start_marks(bins);
    }
    if (status == SHPOOL_OK) {
        status = bins_granules_init(bins);
    }
    if (status != SHPOOL_OK) {
        bins_destroy(bins);
        return status;
    }
    *self_p = bins;
    return SHPOOL_OK;
}

const shpool_device_provider shpool_device_provider_bins = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_THREAD_SAFE | SHPOOL_DEVICE_ORDERED | SHPOOL_DEVICE_CAPTURE,
    .name = "bins",
    .summary = "the default: lists by size and stream in front of merged slabs, lazy events",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = bins_create,
    .destroy = bins_destroy,
    .malloc = bins_malloc,
    .free = bins_free,
    .record_stream = bins_record_stream,
    .base = bins_base,
    .trim = bins_trim,
    .set = bins_set,
    .stats = bins_stats,
    .reset_peak = bins_reset_peak,
    .check = bins_check,
    .walk = bins_walk,
    .stream_retire = bins_stream_retire,
    .stream_stable = bins_stream_stable,
    .capture_begin = bins_capture_begin,
    .capture_end = bins_capture_end,
    .capture_release = bins_capture_release,
    .export_handle = bins_export,
};
