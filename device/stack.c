/* SPDX-License-Identifier: BSD-3-Clause */
/* The public functions of allocators: checked here, served by the outermost layer's table. */
#include "stack.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/share.h"
#include "device/base/sync.h"
#include "lib/driver.h"

/* ---- life ---- */

static void release(shpool_device_allocator *allocator)
{
    shpool_device_allocator *upstream = allocator->upstream;

    if (allocator->self != NULL) {
        allocator->ops.destroy(allocator->self);
    }
    pthread_mutex_destroy(&allocator->lock);
    pthread_mutex_destroy(&allocator->oom_lock);
    free(allocator->spec);
    free(allocator);
    shpool_device_allocator_unref(upstream);
}

shpool_device_allocator *shpool_device_allocator_ref(shpool_device_allocator *allocator)
{
    if (allocator != NULL) {
        /* relaxed: a thread that adds a reference already has one */
        atomic_fetch_add_explicit(&allocator->refs, 1, memory_order_relaxed);
    }
    return allocator;
}

void shpool_device_allocator_unref(shpool_device_allocator *allocator)
{
    /* acquire and release: all other threads' uses happen before the end */
    if ((allocator != NULL) &&
        (atomic_fetch_sub_explicit(&allocator->refs, 1, memory_order_acq_rel) == 1) &&
        !shpool_driver_forked()) {
        release(allocator);
    }
}

static void copy_ops(shpool_device_provider *to, const shpool_device_provider *from)
{
    size_t bytes = (from->bytes < sizeof(*to)) ? from->bytes : sizeof(*to);

    memset(to, 0, sizeof(*to));
    memcpy(to, from, bytes);
}

shpool_status shpool_device_stack_make(const shpool_device_provider *provider, int device,
                                       const shpool_device_option *options, uint32_t count,
                                       shpool_device_allocator *upstream,
                                       shpool_device_allocator **allocator_p)
{
    shpool_device_allocator *made = calloc(1, sizeof(*made));
    shpool_device_setup setup = {
        .bytes = sizeof(setup), .device = device, .option_count = count, .options = options,
        .upstream = upstream, .allocator = made, .provider = provider,
    };
    shpool_status status;

    *allocator_p = NULL;
    if (made == NULL) {
        shpool_device_allocator_unref(upstream);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an allocator");
    }
    copy_ops(&made->ops, provider);
    made->locks = (provider->flags & SHPOOL_DEVICE_THREAD_SAFE) == 0;
    made->device = device;
    made->upstream = upstream;
    atomic_init(&made->refs, 1);
    (void)pthread_mutex_init(&made->lock, NULL); /* default ones do not fail on Linux */
    (void)pthread_mutex_init(&made->oom_lock, NULL);
    status = provider->create(&setup, &made->self);
    if (status != SHPOOL_OK) {
        made->self = NULL;
        release(made);
        return status;
    }
    *allocator_p = made;
    return SHPOOL_OK;
}

int shpool_device_allocator_device(const shpool_device_allocator *allocator)
{
    return (allocator != NULL) ? allocator->device : -1;
}

const char *shpool_device_allocator_spec(const shpool_device_allocator *allocator)
{
    return ((allocator != NULL) && (allocator->spec != NULL)) ? allocator->spec : "";
}

/* ---- malloc and free ---- */

static void enter(shpool_device_allocator *allocator)
{
    if (allocator->locks) {
        shpool_mutex_lock(&allocator->lock);
    }
}

static void leave(shpool_device_allocator *allocator)
{
    if (allocator->locks) {
        shpool_mutex_unlock(&allocator->lock);
    }
}

static shpool_status no_argument(const char *name)
{
    return shpool_error(SHPOOL_ERR_INVALID, "%s is NULL", name);
}

static shpool_status was_forked(void)
{
    return shpool_error(SHPOOL_ERR_CUDA, "this process was forked from one that used CUDA, and "
                        "cannot use it: fork before the first call, or exec");
}

static shpool_status try_malloc(shpool_device_allocator *allocator, size_t bytes,
                                shpool_stream stream, void **ptr_p)
{
    shpool_status status;

    enter(allocator);
    status = allocator->ops.malloc(allocator->self, bytes, stream, ptr_p);
    leave(allocator);
    return status;
}

/* As long as the program's own function finds something to free. */
static shpool_status malloc_again(shpool_device_allocator *allocator, size_t bytes,
                                  shpool_stream stream, void **ptr_p, shpool_status status)
{
    for (unsigned attempt = 0; status == SHPOOL_ERR_NO_MEMORY; attempt++) {
        shpool_device_oom_fn function;
        void *user;

        shpool_mutex_lock(&allocator->oom_lock);
        function = allocator->oom;
        user = allocator->oom_user;
        shpool_mutex_unlock(&allocator->oom_lock);
        if ((function == NULL) || !function(allocator, bytes, attempt, user)) {
            break;
        }
        status = try_malloc(allocator, bytes, stream, ptr_p);
    }
    if (status != SHPOOL_OK) {
        *ptr_p = NULL;
    }
    return status;
}

static shpool_status malloc_checked(shpool_device_allocator *allocator, size_t bytes,
                                    shpool_stream stream, void **ptr_p)
{
    shpool_status status;

    if (ptr_p == NULL) {
        return no_argument("ptr_p");
    }
    *ptr_p = NULL;
    if (allocator == NULL) {
        return no_argument("allocator");
    }
    if (bytes == 0) {
        return SHPOOL_OK;
    }
    if (shpool_driver_forked()) {
        return was_forked();
    }
    status = try_malloc(allocator, bytes, stream, ptr_p);
    return (status == SHPOOL_OK) ? status
                                 : malloc_again(allocator, bytes, stream, ptr_p, status);
}

shpool_status shpool_device_malloc(shpool_device_allocator *allocator, size_t bytes,
                                   shpool_stream stream, void **ptr_p)
{
    shpool_status status;

    if (SHPOOL_UNLIKELY((allocator == NULL) || (ptr_p == NULL) || (bytes == 0) ||
                        allocator->locks || shpool_driver_forked())) {
        return malloc_checked(allocator, bytes, stream, ptr_p);
    }
    status = allocator->ops.malloc(allocator->self, bytes, stream, ptr_p);
    if (SHPOOL_UNLIKELY(status != SHPOOL_OK)) {
        return malloc_again(allocator, bytes, stream, ptr_p, status);
    }
    return SHPOOL_OK;
}

shpool_status shpool_device_free(shpool_device_allocator *allocator, void *ptr,
                                 shpool_stream stream)
{
    shpool_status status;

    if (SHPOOL_UNLIKELY(ptr == NULL)) {
        return SHPOOL_OK;
    }
    if (SHPOOL_UNLIKELY(allocator == NULL)) {
        return no_argument("allocator");
    }
    if (SHPOOL_UNLIKELY(shpool_driver_forked())) {
        return SHPOOL_OK; /* the parent's memory */
    }
    if (SHPOOL_LIKELY(!allocator->locks)) {
        return allocator->ops.free(allocator->self, ptr, stream);
    }
    enter(allocator);
    status = allocator->ops.free(allocator->self, ptr, stream);
    leave(allocator);
    return status;
}

/* ---- the rest: a layer that lacks a function passes the call on ---- */

/* Finds the first of the stack whose member is set; there is none for a NULL allocator. */
#define FIND(_allocator, _member)                                                                  \
    while (((_allocator) != NULL) && ((_allocator)->ops._member == NULL)) {                        \
        (_allocator) = (_allocator)->upstream;                                                     \
    }

/* The body of a function that calls one member, with an answer for a stack without it. */
#define CALL(_allocator, _member, _without, ...)                                                   \
    do {                                                                                           \
        shpool_status call_status;                                                                 \
                                                                                                   \
        if ((_allocator) == NULL) {                                                                \
            return no_argument("allocator");                                                       \
        }                                                                                          \
        if (shpool_driver_forked()) {                                                              \
            return was_forked();                                                                   \
        }                                                                                          \
        FIND(_allocator, _member)                                                                  \
        if ((_allocator) == NULL) {                                                                \
            return (_without);                                                                     \
        }                                                                                          \
        enter(_allocator);                                                                         \
        call_status = (_allocator)->ops._member((_allocator)->self, __VA_ARGS__);                  \
        leave(_allocator);                                                                         \
        return call_status;                                                                        \
    } while (0)

static shpool_status unsupported(const char *what)
{
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "this allocator cannot %s", what);
}

shpool_status shpool_device_record_stream(shpool_device_allocator *allocator, void *ptr,
                                          shpool_stream user)
{
    if (ptr == NULL) {
        return SHPOOL_OK;
    }
    CALL(allocator, record_stream, unsupported("note a second stream"), ptr, user);
}

shpool_status shpool_device_base(shpool_device_allocator *allocator, const void *ptr,
                                 void **base_p, size_t *bytes_p)
{
    if ((ptr == NULL) || (base_p == NULL) || (bytes_p == NULL)) {
        return no_argument("ptr, base_p or bytes_p");
    }
    *base_p = NULL;
    *bytes_p = 0;
    CALL(allocator, base, unsupported("tell the driver's allocation"), ptr, base_p, bytes_p);
}

/* The handle is empty. */
static shpool_status export_to(shpool_device_allocator *allocator, const void *ptr,
                               shpool_device_handle *handle_p)
{
    CALL(allocator, export_handle,
         shpool_error(SHPOOL_ERR_UNSUPPORTED, "this allocator cannot export memory to other "
                      "processes: open bins:share=1 for what is shared"), ptr, handle_p);
}

shpool_status shpool_device_export(shpool_device_allocator *allocator, const void *ptr,
                                   shpool_device_handle *handle_p)
{
    if (handle_p == NULL) {
        return no_argument("handle_p");
    }
    *handle_p = shpool_share_nothing();
    return (ptr != NULL) ? export_to(allocator, ptr, handle_p) : no_argument("ptr");
}

shpool_status shpool_device_stream_retire(shpool_device_allocator *allocator,
                                          shpool_stream stream)
{
    CALL(allocator, stream_retire, SHPOOL_OK, stream);
}

shpool_status shpool_device_stream_stable(shpool_device_allocator *allocator,
                                          shpool_stream stream)
{
    CALL(allocator, stream_stable, SHPOOL_OK, stream);
}

shpool_status shpool_device_capture_begin(shpool_device_allocator *allocator, uint64_t id_high,
                                          uint64_t id_low)
{
    CALL(allocator, capture_begin, unsupported("keep a pool for a graph"), id_high, id_low);
}

shpool_status shpool_device_capture_end(shpool_device_allocator *allocator, uint64_t id_high,
                                        uint64_t id_low)
{
    CALL(allocator, capture_end, unsupported("keep a pool for a graph"), id_high, id_low);
}

shpool_status shpool_device_capture_release(shpool_device_allocator *allocator, uint64_t id_high,
                                            uint64_t id_low)
{
    CALL(allocator, capture_release, unsupported("keep a pool for a graph"), id_high, id_low);
}

shpool_status shpool_device_trim(shpool_device_allocator *allocator, size_t keep_bytes)
{
    CALL(allocator, trim, SHPOOL_OK, keep_bytes);
}

shpool_status shpool_device_set(shpool_device_allocator *allocator, const char *key,
                                const char *value)
{
    shpool_status status = SHPOOL_ERR_NOT_FOUND;

    if ((allocator == NULL) || (key == NULL) || (value == NULL)) {
        return no_argument("allocator, key or value");
    }
    if (shpool_driver_forked()) {
        return was_forked();
    }
    for (; (allocator != NULL) && (status == SHPOOL_ERR_NOT_FOUND);
         allocator = allocator->upstream) {
        if (allocator->ops.set != NULL) {
            enter(allocator);
            status = allocator->ops.set(allocator->self, key, value);
            leave(allocator);
        }
    }
    if (status == SHPOOL_ERR_NOT_FOUND) {
        return shpool_error(status, "no layer of this allocator has a key \"%s\" that can be "
                            "changed", key);
    }
    return status;
}

shpool_status shpool_device_on_oom(shpool_device_allocator *allocator,
                                   shpool_device_oom_fn function, void *user)
{
    if (allocator == NULL) {
        return no_argument("allocator");
    }
    if (shpool_driver_forked()) {
        return was_forked();
    }
    shpool_mutex_lock(&allocator->oom_lock);
    allocator->oom = function;
    allocator->oom_user = user;
    shpool_mutex_unlock(&allocator->oom_lock);
    return SHPOOL_OK;
}

shpool_status shpool_device_get_stats(shpool_device_allocator *allocator,
                                      shpool_device_stats *stats_p)
{
    if (stats_p == NULL) {
        return no_argument("stats_p");
    }
    memset(stats_p, 0, sizeof(*stats_p));
    CALL(allocator, stats, SHPOOL_OK, stats_p);
}

static shpool_status reset_one(shpool_device_allocator *allocator)
{
    shpool_status status = SHPOOL_OK;

    if (allocator->ops.reset_peak != NULL) {
        enter(allocator);
        status = allocator->ops.reset_peak(allocator->self);
        leave(allocator);
    }
    return status;
}

shpool_status shpool_device_reset_peak(shpool_device_allocator *allocator)
{
    shpool_status status = SHPOOL_OK;

    if (allocator == NULL) {
        return no_argument("allocator");
    }
    if (shpool_driver_forked()) {
        return was_forked();
    }
    for (; (allocator != NULL) && (status == SHPOOL_OK); allocator = allocator->upstream) {
        status = reset_one(allocator);
    }
    return status;
}

shpool_status shpool_device_check(shpool_device_allocator *allocator)
{
    shpool_status status = SHPOOL_OK;

    if (allocator == NULL) {
        return no_argument("allocator");
    }
    if (shpool_driver_forked()) {
        return was_forked();
    }
    for (; (allocator != NULL) && (status == SHPOOL_OK); allocator = allocator->upstream) {
        if (allocator->ops.check != NULL) {
            enter(allocator);
            status = allocator->ops.check(allocator->self);
            leave(allocator);
        }
    }
    return status;
}

shpool_status shpool_device_walk(shpool_device_allocator *allocator,
                                 shpool_device_walk_fn function, void *user)
{
    if (function == NULL) {
        return no_argument("function");
    }
    CALL(allocator, walk, unsupported("show its blocks"), function, user);
}
