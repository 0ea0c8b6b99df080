/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer `limit`: an upper bound on live bytes. */
#include "layer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/options.h"

typedef struct limit_layer {
    shpool_device_allocator *upstream;
    _Atomic uint64_t limit;
    _Atomic uint64_t live; /* as requested, not as rounded by lower layers */
    shpool_ptr_map map;
} limit_layer;

#define OPTIONS(_)                                                                                 \
    _("bytes", "N", BYTES, limit_layer, limit,                                                     \
      "Limit on live bytes as they were requested; K, M or G may follow.", .high = UINT64_MAX)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static shpool_status limit_set(void *self, const char *key, const char *value)
{
    return shpool_option_change(options, self, "limit: ", key, value);
}

static void limit_destroy(void *self)
{
    limit_layer *l = self;

    shpool_ptr_map_fini(&l->map);
    free(l);
}

static shpool_status limit_create(const shpool_device_setup *setup, void **self_p)
{
    limit_layer *l = calloc(1, sizeof(*l));
    shpool_status status;

    if (l == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a layer");
    }
    l->upstream = setup->upstream;
    atomic_store(&l->limit, UINT64_MAX);
    status = shpool_options_set(options, l, "", setup->options, setup->option_count);
    if ((status == SHPOOL_OK) && (atomic_load(&l->limit) == UINT64_MAX)) {
        status = shpool_error(SHPOOL_ERR_SPEC, "it needs bytes=N, the most bytes that may be live");
    }
    if (status != SHPOOL_OK) {
        limit_destroy(l);
        return status;
    }
    *self_p = l;
    return SHPOOL_OK;
}

/* Reserves `bytes` of the limit; 0: not enough are left. */
static int reserve(limit_layer *l, size_t bytes)
{
    uint64_t live = atomic_load(&l->live);

    do {
        if ((bytes > atomic_load(&l->limit)) || (live > atomic_load(&l->limit) - bytes)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(&l->live, &live, live + bytes));
    return 1;
}

static shpool_status limit_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    limit_layer *l = self;
    shpool_status status;

    if (!reserve(l, bytes)) {
        return shpool_error(SHPOOL_ERR_LIMIT, "%zu bytes were requested, %llu are live, and the "
                            "layer limit allows %llu", bytes,
                            (unsigned long long)atomic_load(&l->live),
                            (unsigned long long)atomic_load(&l->limit));
    }
    status = shpool_device_malloc(l->upstream, bytes, stream, ptr_p);
    if (status == SHPOOL_OK) {
        status = shpool_layer_note(l->upstream, &l->map, *ptr_p, bytes, stream);
    }
    if (status != SHPOOL_OK) {
        atomic_fetch_sub(&l->live, bytes);
    }
    return status;
}

static shpool_status limit_free(void *self, void *ptr, shpool_stream stream)
{
    limit_layer *l = self;
    shpool_ptr_entry entry;
    shpool_status status = shpool_layer_free(l->upstream, &l->map, ptr, stream, &entry);

    if (status == SHPOOL_OK) {
        atomic_fetch_sub(&l->live, entry.bytes);
    }
    return status;
}

const shpool_device_provider shpool_device_provider_limit = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE,
    .name = "limit",
    .summary = "refuses requests that would exceed a limit of live bytes",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = limit_create,
    .destroy = limit_destroy,
    .malloc = limit_malloc,
    .free = limit_free,
    .set = limit_set,
};
