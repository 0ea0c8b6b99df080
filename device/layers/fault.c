/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer `fault`: lets chosen mallocs fail, for tests of programs. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/options.h"

typedef struct fault_layer {
    shpool_device_allocator *upstream;
    _Atomic uint64_t nth;    /* fails once; 0: never */
    _Atomic uint64_t every;  /* each multiple of it fails; 0: none */
    _Atomic uint64_t count;  /* mallocs so far */
} fault_layer;

static shpool_status restart(void *self, const char *value)
{
    (void)value;
    atomic_store(&((fault_layer *)self)->count, 0);
    return SHPOOL_OK;
}

#define OPTIONS(_)                                                                                 \
    _("nth", "N", BYTES, fault_layer, nth, "The nth malloc from now on fails, once.",              \
      .high = UINT64_MAX, .then = restart)                                                         \
    _("every", "N", BYTES, fault_layer, every, "Every nth malloc fails.", .high = UINT64_MAX,      \
      .then = restart)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static shpool_status fault_set(void *self, const char *key, const char *value)
{
    return shpool_option_change(options, self, "fault: ", key, value);
}

static shpool_status fault_create(const shpool_device_setup *setup, void **self_p)
{
    fault_layer *l = calloc(1, sizeof(*l));
    shpool_status status;

    if (l == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a layer");
    }
    l->upstream = setup->upstream;
    status = shpool_options_set(options, l, "", setup->options, setup->option_count);
    if (status != SHPOOL_OK) {
        free(l);
        return status;
    }
    *self_p = l;
    return SHPOOL_OK;
}

static shpool_status fault_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    fault_layer *l = self;
    uint64_t number = atomic_fetch_add(&l->count, 1) + 1;
    uint64_t every = atomic_load(&l->every);

    if ((number == atomic_load(&l->nth)) || ((every > 0) && (number % every == 0))) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "malloc %llu of %zu bytes fails on purpose: the "
                            "layer fault is set so", (unsigned long long)number, bytes);
    }
    return shpool_device_malloc(l->upstream, bytes, stream, ptr_p);
}

static shpool_status fault_free(void *self, void *ptr, shpool_stream stream)
{
    return shpool_device_free(((fault_layer *)self)->upstream, ptr, stream);
}

const shpool_device_provider shpool_device_provider_fault = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE,
    .name = "fault",
    .summary = "makes chosen mallocs fail with out-of-memory",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = fault_create,
    .destroy = free,
    .malloc = fault_malloc,
    .free = fault_free,
    .set = fault_set,
};
