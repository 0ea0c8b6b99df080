/* SPDX-License-Identifier: BSD-3-Clause */
/* From a spec to an opened allocator; the shared ones. */
#include "stack.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/device.h"
#include "device/base/sync.h"

#define MAX_DEVICES 64

/* One for each device, as long as the process lives. */
static struct {
    pthread_mutex_t lock;
    /* release: it is complete; acquire: threads that use it.  Never changes again, except in
     * tests */
    _Atomic(shpool_device_allocator *) allocator[MAX_DEVICES];
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

typedef struct source {
    const char *origin; /* "spec", or the variable's name */
    const char *text;
} source;

/* ---- one spec ---- */

static shpool_status find_all(const shpool_spec *spec,
                              const shpool_device_provider *found[SHPOOL_SPEC_LAYERS])
{
    for (uint32_t i = 0; i < spec->layers; i++) {
        shpool_status status = shpool_device_provider_find(spec->layer[i].name, &found[i]);

        if (status != SHPOOL_OK) {
            return status;
        }
        if (((found[i]->flags & SHPOOL_DEVICE_LAYER) == 0) && (i + 1 < spec->layers)) {
            return shpool_error(SHPOOL_ERR_SPEC, "\"%s\" is a base, not a layer: it must be the "
                                "last name of the spec", found[i]->name);
        }
    }
    return SHPOOL_OK;
}

static shpool_status add_layer(const shpool_spec_layer *layer,
                               const shpool_device_provider *provider, int device,
                               shpool_device_allocator **top_p)
{
    const shpool_status status = shpool_device_stack_make(provider, device, layer->pair,
                                                          layer->pairs, *top_p, top_p);

    return (status == SHPOOL_OK) ? status : shpool_error_prefix(status, "in", layer->name);
}

static shpool_status build(const shpool_spec *spec, int device, shpool_device_allocator **top_p)
{
    static const shpool_spec_layer base = { .name = SHPOOL_DEFAULT_DEVICE_BASE };
    const shpool_device_provider *found[SHPOOL_SPEC_LAYERS];
    const shpool_device_provider *bottom;
    shpool_status status = find_all(spec, found);

    *top_p = NULL;
    if ((status == SHPOOL_OK) &&
        ((found[spec->layers - 1]->flags & SHPOOL_DEVICE_LAYER) != 0)) {
        status = shpool_device_provider_find(SHPOOL_DEFAULT_DEVICE_BASE, &bottom);
        if (status == SHPOOL_OK) {
            status = add_layer(&base, bottom, device, top_p);
        }
    }
    for (uint32_t i = spec->layers; (status == SHPOOL_OK) && (i > 0); i--) {
        status = add_layer(&spec->layer[i - 1], found[i - 1], device, top_p);
    }
    return status;
}

static shpool_status open_source(const source *from, int device,
                                 shpool_device_allocator **allocator_p)
{
    shpool_spec spec;
    shpool_device_allocator *top = NULL;
    shpool_status status = shpool_spec_parse(from->origin, from->text, &spec);

    if (status != SHPOOL_OK) {
        return status;
    }
    status = build(&spec, device, &top);
    if (status != SHPOOL_OK) {
        return shpool_error_prefix(status, from->origin, from->text);
    }
    top->spec = strdup(from->text);
    if (top->spec == NULL) {
        shpool_device_allocator_unref(top);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a spec");
    }
    *allocator_p = top;
    return SHPOOL_OK;
}

static source choose(const char *spec)
{
    const char *variable;

    if (spec != NULL) {
        return (source){ "spec", spec };
    }
    variable = shpool_config_value(SHPOOL_VARIABLE_DEVICE_ALLOCATOR);
    return (variable != NULL) ? (source){ "SHPOOL_DEVICE_ALLOCATOR", variable }
                              : (source){ "the default", SHPOOL_DEFAULT_DEVICE_BASE };
}

shpool_status shpool_device_check_names(const char *text)
{
    const shpool_device_provider *found[SHPOOL_SPEC_LAYERS];
    const source from = choose(text);
    shpool_spec spec;
    shpool_status status = shpool_config_check();

    if (status == SHPOOL_OK) {
        status = shpool_spec_parse(from.origin, from.text, &spec);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    status = find_all(&spec, found);
    return (status == SHPOOL_OK) ? status : shpool_error_prefix(status, from.origin, from.text);
}

static shpool_status open_on(const char *spec, int ordinal, shpool_device_allocator **allocator_p)
{
    const source from = choose(spec);

    return open_source(&from, ordinal, allocator_p);
}

shpool_status shpool_device_allocator_open(const char *spec, int device,
                                           shpool_device_allocator **allocator_p)
{
    const shpool_device *found;
    shpool_status status;

    if (allocator_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "allocator_p is NULL");
    }
    *allocator_p = NULL;
    status = shpool_device_check_names(spec);
    if (status == SHPOOL_OK) {
        status = shpool_device_get(device, &found);
    }
    return (status == SHPOOL_OK) ? open_on(spec, found->ordinal, allocator_p) : status;
}

/* ---- the shared ones ---- */

static shpool_status open_shared(int ordinal, shpool_device_allocator **allocator_p)
{
    shpool_status status = SHPOOL_OK;

    shpool_mutex_lock(&shared.lock);
    *allocator_p = atomic_load_explicit(&shared.allocator[ordinal], memory_order_relaxed);
    if (*allocator_p == NULL) {
        status = open_on(NULL, ordinal, allocator_p);
        atomic_store_explicit(&shared.allocator[ordinal], *allocator_p, memory_order_release);
    }
    shpool_mutex_unlock(&shared.lock);
    return status;
}

shpool_status shpool_device_allocator_default(int device, shpool_device_allocator **allocator_p)
{
    const shpool_device *found;
    shpool_status status;

    if (allocator_p == NULL) {
        return shpool_device_check_names(NULL);
    }
    *allocator_p = NULL;
    if ((device >= 0) && (device < MAX_DEVICES)) {
        *allocator_p = atomic_load_explicit(&shared.allocator[device], memory_order_acquire);
        if (*allocator_p != NULL) {
            return SHPOOL_OK;
        }
    }
    status = shpool_device_check_names(NULL);
    if (status == SHPOOL_OK) {
        status = shpool_device_get(device, &found);
    }
    return (status == SHPOOL_OK) ? open_shared(found->ordinal, allocator_p) : status;
}

void shpool_device_defaults_reset(void)
{
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(shared.allocator); i++) {
        shpool_device_allocator_unref(atomic_exchange(&shared.allocator[i], NULL));
    }
}
