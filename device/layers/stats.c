/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer `stats`: requested bytes, and peaks. */
#include "layer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/options.h"

typedef struct stats_layer {
    shpool_device_allocator *upstream;
    _Atomic uint64_t bytes;
    _Atomic uint64_t bytes_peak;
    _Atomic uint64_t count;
    _Atomic uint64_t count_peak;
    _Atomic uint64_t mallocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t failures;
    shpool_ptr_map map;
} stats_layer;

static shpool_status stats_create(const shpool_device_setup *setup, void **self_p)
{
    shpool_status status = shpool_options_set(shpool_no_options, NULL, "", setup->options,
                                              setup->option_count);
    stats_layer *l = (status == SHPOOL_OK) ? calloc(1, sizeof(*l)) : NULL;

    if (status != SHPOOL_OK) {
        return status;
    }
    if (l == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a layer");
    }
    l->upstream = setup->upstream;
    *self_p = l;
    return SHPOOL_OK;
}

static void stats_destroy(void *self)
{
    stats_layer *l = self;

    shpool_ptr_map_fini(&l->map);
    free(l);
}

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t seen = atomic_load(peak);

    while ((value > seen) && !atomic_compare_exchange_weak(peak, &seen, value)) {
    }
}

static shpool_status stats_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    stats_layer *l = self;
    shpool_status status = shpool_device_malloc(l->upstream, bytes, stream, ptr_p);

    if (status != SHPOOL_OK) {
        atomic_fetch_add(&l->failures, 1);
        return status;
    }
    status = shpool_layer_note(l->upstream, &l->map, *ptr_p, bytes, stream);
    if (status != SHPOOL_OK) {
        return status;
    }
    atomic_fetch_add(&l->mallocs, 1);
    raise_peak(&l->bytes_peak, atomic_fetch_add(&l->bytes, bytes) + bytes);
    raise_peak(&l->count_peak, atomic_fetch_add(&l->count, 1) + 1);
    return SHPOOL_OK;
}

static shpool_status stats_free(void *self, void *ptr, shpool_stream stream)
{
    stats_layer *l = self;
    shpool_ptr_entry entry;
    shpool_status status = shpool_layer_free(l->upstream, &l->map, ptr, stream, &entry);

    if (status != SHPOOL_OK) {
        return status;
    }
    atomic_fetch_sub(&l->bytes, entry.bytes);
    atomic_fetch_sub(&l->count, 1);
    atomic_fetch_add(&l->frees, 1);
    return SHPOOL_OK;
}

static shpool_status stats_read(void *self, shpool_device_stats *stats)
{
    stats_layer *l = self;
    shpool_status status = shpool_device_get_stats(l->upstream, stats);

    stats->requested_bytes = atomic_load(&l->bytes);
    stats->live_bytes_peak = atomic_load(&l->bytes_peak);
    stats->live_count = atomic_load(&l->count);
    stats->live_count_peak = atomic_load(&l->count_peak);
    stats->mallocs = atomic_load(&l->mallocs);
    stats->frees = atomic_load(&l->frees);
    stats->failures = atomic_load(&l->failures);
    return status;
}

static shpool_status stats_reset_peak(void *self)
{
    stats_layer *l = self;

    atomic_store(&l->bytes_peak, atomic_load(&l->bytes));
    atomic_store(&l->count_peak, atomic_load(&l->count));
    return SHPOOL_OK;
}

const shpool_device_provider shpool_device_provider_stats = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE,
    .name = "stats",
    .summary = "counts calls and requested bytes, and their peaks",
    .create = stats_create,
    .destroy = stats_destroy,
    .malloc = stats_malloc,
    .free = stats_free,
    .stats = stats_read,
    .reset_peak = stats_reset_peak,
};
