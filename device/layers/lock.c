/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer `lock`: one caller at a time.  It does not have the flag THREAD_SAFE, so the library
 * locks around each of its calls; for comparison, and to protect the layers below it. */
#include <stdlib.h>

#include "lib/options.h"

#include <shpool/device/provider.h>

typedef struct lock_layer {
    shpool_device_allocator *upstream;
} lock_layer;

static shpool_status lock_create(const shpool_device_setup *setup, void **self_p)
{
    shpool_status status = shpool_options_set(shpool_no_options, NULL, "", setup->options,
                                              setup->option_count);
    lock_layer *l = (status == SHPOOL_OK) ? calloc(1, sizeof(*l)) : NULL;

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

static shpool_status lock_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    return shpool_device_malloc(((lock_layer *)self)->upstream, bytes, stream, ptr_p);
}

static shpool_status lock_free(void *self, void *ptr, shpool_stream stream)
{
    return shpool_device_free(((lock_layer *)self)->upstream, ptr, stream);
}

static shpool_status lock_record_stream(void *self, void *ptr, shpool_stream user)
{
    return shpool_device_record_stream(((lock_layer *)self)->upstream, ptr, user);
}

static shpool_status lock_trim(void *self, size_t keep_bytes)
{
    return shpool_device_trim(((lock_layer *)self)->upstream, keep_bytes);
}

const shpool_device_provider shpool_device_provider_lock = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_LAYER,
    .name = "lock",
    .summary = "one caller at a time",
    .create = lock_create,
    .destroy = free,
    .malloc = lock_malloc,
    .free = lock_free,
    .record_stream = lock_record_stream,
    .trim = lock_trim,
};
