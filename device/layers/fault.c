/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer `fault`: lets chosen mallocs fail, for tests of programs. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/base/options.h"

typedef struct fault_layer {
    shpool_device_allocator *upstream;
    _Atomic uint64_t nth;    /* fails once; 0: never */
    _Atomic uint64_t every;  /* each multiple of it fails; 0: none */
    _Atomic uint64_t count;  /* mallocs so far */
} fault_layer;

static shpool_status fault_set(void *self, const char *key, const char *value)
{
    fault_layer *l = self;
    uint64_t number;
    int nth = (strcmp(key, "nth") == 0);
    shpool_status status;

    if (!nth && (strcmp(key, "every") != 0)) {
        return SHPOOL_ERR_NOT_FOUND;
    }
    status = shpool_option_bytes("fault", key, value, 0, UINT64_MAX, &number);
    if (status == SHPOOL_OK) {
        atomic_store(nth ? &l->nth : &l->every, number);
        atomic_store(&l->count, 0);
    }
    return status;
}

static shpool_status fault_create(const shpool_device_setup *setup, void **self_p)
{
    fault_layer *l = calloc(1, sizeof(*l));
    shpool_status status;

    if (l == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a layer");
    }
    l->upstream = setup->upstream;
    status = shpool_options_set(setup, l, fault_set);
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
    .keys = "nth=N    the nth malloc from now on fails, once\n"
            "every=N  every nth malloc fails\n",
    .create = fault_create,
    .destroy = free,
    .malloc = fault_malloc,
    .free = fault_free,
    .set = fault_set,
};
