/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: creation, sharing, destruction, accessors, timers, the description of a device. */
#include "context.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/base/sync.h"
#include "stack.h"

#define PINNED_BYTES 4096u
#define MAX_DEVICES  64
#define ALL_FLAGS                                                                                  \
    (SHPOOL_CONTEXT_NEW_STREAM | SHPOOL_CONTEXT_ATTACH | SHPOOL_CONTEXT_PRINT |                    \
     SHPOOL_CONTEXT_ACTIVATE)

/* The standard contexts, one for each device, as long as the process lives. */
static struct {
    pthread_mutex_t lock;
    shpool_context *context[MAX_DEVICES];
} standard = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- destroy ---- */

static void drop_stream(shpool_context *context, shpool_stream stream, shpool_device_loss *loss)
{
    if (stream != NULL) {
        if (context->allocator != NULL) {
            (void)shpool_device_stream_retire(context->allocator, stream);
        }
        shpool_device_loss_add(loss, context->device->cu->stream_destroy(stream), 0);
    }
}

static void drop_event(const shpool_context *context, shpool_event event, shpool_device_loss *loss)
{
    if (event != NULL) {
        shpool_device_loss_add(loss, context->device->cu->event_destroy(event), 0);
    }
}

/* If the device's context cannot be made current, this is tried anyway. */
static void destroy(shpool_context *context)
{
    shpool_device_loss loss = { .count = 0 };
    int left;

    (void)shpool_device_enter_quietly(context->device, &left);
    drop_stream(context, context->owns_stream ? context->stream : NULL, &loss);
    drop_stream(context, context->aux_stream, &loss);
    drop_event(context, context->event, &loss);
    drop_event(context, context->timer[0], &loss);
    drop_event(context, context->timer[1], &loss);
    if (context->pinned != NULL) {
        shpool_device_loss_add(&loss, context->device->cu->host_free(context->pinned),
                               context->pinned_bytes);
    }
    shpool_device_leave(context->device, left);
    shpool_device_loss_tell(context->device, &loss, "parts of a context");
    shpool_device_allocator_unref(context->allocator);
    free(context);
}

shpool_context *shpool_context_ref(shpool_context *context)
{
    if (context != NULL) {
        /* relaxed: a thread that adds a reference already has one */
        atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
    }
    return context;
}

void shpool_context_unref(shpool_context *context)
{
    /* acquire and release: all other threads' uses happen before the end */
    if ((context != NULL) &&
        (atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) == 1) &&
        !shpool_driver_forked()) {
        destroy(context);
    }
}

/* ---- create ---- */

static shpool_status check_options(const shpool_context_options *options)
{
    if (options->bytes != sizeof(*options)) {
        return shpool_error(SHPOOL_ERR_INVALID, "the options have %u bytes, this library knows "
                            "%zu: set bytes to sizeof(shpool_context_options)", options->bytes,
                            sizeof(*options));
    }
    if ((options->flags & ~(uint32_t)ALL_FLAGS) != 0) {
        return shpool_error(SHPOOL_ERR_INVALID, "the flags 0x%x contain unknown bits, known are "
                            "0x%x",
                            options->flags, (unsigned)ALL_FLAGS);
    }
    if (((options->flags & SHPOOL_CONTEXT_NEW_STREAM) != 0) &&
        ((options->flags & SHPOOL_CONTEXT_ATTACH) != 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "a context has a stream of its own or the "
                            "caller's, not both");
    }
    return SHPOOL_OK;
}

static shpool_status set_allocator(shpool_context *context, const char *spec)
{
    shpool_device_allocator *shared;
    shpool_status status;

    if (spec != NULL) {
        return shpool_device_allocator_open(spec, context->device->ordinal, &context->allocator);
    }
    status = shpool_device_allocator_default(context->device->ordinal, &shared);
    context->allocator = shpool_device_allocator_ref(shared);
    return status;
}

static shpool_status make_stream(shpool_context *context, const shpool_context_options *options)
{
    const shpool_driver *cu = context->device->cu;
    cu_result result;

    context->stream = SHPOOL_STREAM_LEGACY;
    if ((options->flags & SHPOOL_CONTEXT_ATTACH) != 0) {
        context->stream = (options->stream != NULL) ? options->stream : SHPOOL_STREAM_LEGACY;
        return SHPOOL_OK;
    }
    if ((options->flags & SHPOOL_CONTEXT_NEW_STREAM) == 0) {
        return SHPOOL_OK;
    }
    result = cu->stream_create(&context->stream, CU_STREAM_DEFAULT);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuStreamCreate", result);
    }
    context->owns_stream = 1;
    return shpool_device_stream_stable(context->allocator, context->stream);
}

static shpool_status make_rest(shpool_context *context, const shpool_context_options *options)
{
    const shpool_driver *cu = context->device->cu;
    cu_result result = cu->event_create(&context->event, CU_EVENT_DISABLE_TIMING);

    if (result != CU_SUCCESS) {
        context->event = NULL;
        return shpool_driver_failed(cu, "cuEventCreate", result);
    }
    context->pinned_bytes = (options->pinned_bytes != 0) ? options->pinned_bytes : PINNED_BYTES;
    result = cu->host_alloc(&context->pinned, context->pinned_bytes, 0);
    if (result != CU_SUCCESS) {
        context->pinned = NULL;
        return shpool_driver_failed(cu, "cuMemHostAlloc", result);
    }
    return shpool_device_get_properties(context->device->ordinal, &context->properties);
}

static shpool_status fill(shpool_context *context, const shpool_context_options *options)
{
    int left;
    shpool_status status = set_allocator(context, options->allocator);

    if (status == SHPOOL_OK) {
        status = shpool_device_enter(context->device, &left);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    status = make_stream(context, options);
    if (status == SHPOOL_OK) {
        status = make_rest(context, options);
    }
    shpool_device_leave(context->device, left);
    return status;
}

static shpool_status print(const shpool_context *context)
{
    char text[1024];
    shpool_status status = shpool_context_describe(context, text, sizeof(text), NULL);

    if (status != SHPOOL_OK) {
        return status;
    }
    return (puts(text) < 0) ? shpool_error(SHPOOL_ERR_SYSTEM, "the standard output: %s",
                                           shpool_file_error(errno))
                            : SHPOOL_OK;
}

static shpool_status create(const shpool_context_options *options, shpool_context **context_p)
{
    shpool_context *context = calloc(1, sizeof(*context));
    shpool_status status;

    if (context == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a context");
    }
    atomic_init(&context->refs, 1);
    status = shpool_device_get(options->device, &context->device);
    if (status != SHPOOL_OK) {
        free(context);
        return status;
    }
    status = fill(context, options);
    if ((status == SHPOOL_OK) && ((options->flags & SHPOOL_CONTEXT_PRINT) != 0)) {
        status = print(context);
    }
    if ((status == SHPOOL_OK) && ((options->flags & SHPOOL_CONTEXT_ACTIVATE) != 0)) {
        status = shpool_context_activate(context);
    }
    if (status != SHPOOL_OK) {
        destroy(context);
        return status;
    }
    *context_p = context;
    return SHPOOL_OK;
}

shpool_status shpool_context_create(const shpool_context_options *options,
                                    shpool_context **context_p)
{
    static const shpool_context_options plain = { .bytes = sizeof(plain) };
    shpool_status status;

    if (context_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "context_p is NULL");
    }
    *context_p = NULL;
    options = (options != NULL) ? options : &plain;
    status = check_options(options);
    status = (status == SHPOOL_OK) ? shpool_device_check_names(options->allocator) : status;
    return (status == SHPOOL_OK) ? create(options, context_p) : status;
}

shpool_status shpool_context_create_args(int argc, char *const argv[], uint32_t flags,
                                         shpool_context **context_p)
{
    shpool_context_options options = { .bytes = sizeof(options), .flags = flags };
    uint64_t ordinal = 0;

    if (context_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "context_p is NULL");
    }
    *context_p = NULL;
    if ((flags & SHPOOL_CONTEXT_ATTACH) != 0) {
        return shpool_error(SHPOOL_ERR_INVALID, "a command line names no stream to attach to");
    }
    if ((argc >= 2) && (argv != NULL) && (argv[1] != NULL) &&
        !shpool_spec_number(argv[1], 0, &ordinal)) {
        return shpool_error(SHPOOL_ERR_SPEC, "\"%.100s\" is not a device number; give digits only",
                            argv[1]);
    }
    options.device = (ordinal < INT32_MAX) ? (int32_t)ordinal : INT32_MAX;
    return shpool_context_create(&options, context_p);
}

/* ---- the standard ones ---- */

shpool_status shpool_context_standard(int device, shpool_context **context_p)
{
    shpool_context_options options = { .bytes = sizeof(options), .allocator = "simple" };
    const shpool_device *found;
    shpool_status status;

    if (context_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "context_p is NULL");
    }
    *context_p = NULL;
    status = shpool_device_get(device, &found);
    if (status != SHPOOL_OK) {
        return status;
    }
    options.device = found->ordinal;
    shpool_mutex_lock(&standard.lock);
    if (standard.context[found->ordinal] == NULL) {
        status = create(&options, &standard.context[found->ordinal]);
    }
    *context_p = standard.context[found->ordinal];
    shpool_mutex_unlock(&standard.lock);
    return status;
}

void shpool_contexts_reset(void)
{
    shpool_mutex_lock(&standard.lock);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(standard.context); i++) {
        shpool_context_unref(standard.context[i]);
        standard.context[i] = NULL;
    }
    shpool_mutex_unlock(&standard.lock);
}

/* ---- accessors ---- */

int shpool_context_device(const shpool_context *context)
{
    return (context != NULL) ? context->device->ordinal : -1;
}

int shpool_context_sm_count(const shpool_context *context)
{
    return (context != NULL) ? context->properties.sm_count : 0;
}

int shpool_context_arch(const shpool_context *context)
{
    return (context != NULL)
               ? 100 * context->properties.major + 10 * context->properties.minor : 0;
}

int shpool_context_ptx_version(const shpool_context *context)
{
    return shpool_context_arch(context); /* the driver compiles PTX up to the device's own */
}

shpool_stream shpool_context_stream(const shpool_context *context)
{
    return (context != NULL) ? context->stream : NULL;
}

shpool_event shpool_context_event(const shpool_context *context)
{
    return (context != NULL) ? context->event : NULL;
}

void *shpool_context_pinned(const shpool_context *context, size_t *bytes_p)
{
    if (bytes_p != NULL) {
        *bytes_p = (context != NULL) ? context->pinned_bytes : 0;
    }
    return (context != NULL) ? context->pinned : NULL;
}

shpool_device_allocator *shpool_context_allocator(const shpool_context *context)
{
    return (context != NULL) ? context->allocator : NULL;
}

static shpool_status no_context(void)
{
    return shpool_error(SHPOOL_ERR_INVALID, "context is NULL");
}

shpool_status shpool_context_aux_stream(shpool_context *context, shpool_stream *stream_p)
{
    cu_result result;
    int left;
    shpool_status status = SHPOOL_OK;

    if ((context == NULL) || (stream_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "context or stream_p is NULL");
    }
    *stream_p = NULL;
    if (context->aux_stream == NULL) {
        status = shpool_device_enter(context->device, &left);
        if (status != SHPOOL_OK) {
            return status;
        }
        result = context->device->cu->stream_create(&context->aux_stream, CU_STREAM_DEFAULT);
        if (result != CU_SUCCESS) {
            context->aux_stream = NULL;
            status = shpool_driver_failed(context->device->cu, "cuStreamCreate", result);
        } else {
            status = shpool_device_stream_stable(context->allocator, context->aux_stream);
        }
        shpool_device_leave(context->device, left);
    }
    *stream_p = (status == SHPOOL_OK) ? context->aux_stream : NULL;
    return status;
}

shpool_status shpool_context_activate(shpool_context *context)
{
    const shpool_driver *cu;
    cu_result result;
    shpool_status status;

    if (context == NULL) {
        return no_context();
    }
    status = shpool_driver_get(&cu); /* which a forked child is refused */
    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->context_set(context->device->context);
    return (result == CU_SUCCESS)
               ? SHPOOL_OK : shpool_driver_failed(cu, "cuCtxSetCurrent", result);
}

shpool_status shpool_context_sync(shpool_context *context)
{
    cu_result result;
    int left;
    shpool_status status;

    if (context == NULL) {
        return no_context();
    }
    status = shpool_device_enter_stream(context->device, context->stream, 1, &left);
    if (status != SHPOOL_OK) {
        return status;
    }
    result = context->device->cu->stream_sync(context->stream);
    shpool_device_leave(context->device, left);
    return (result == CU_SUCCESS)
               ? SHPOOL_OK
               : shpool_driver_failed(context->device->cu, "cuStreamSynchronize", result);
}

/* Retired in the allocator that it is leaving, or not entering after all. */
static void retire_streams(const shpool_context *context, shpool_device_allocator *allocator)
{
    if (context->owns_stream) {
        (void)shpool_device_stream_retire(allocator, context->stream);
    }
    if (context->aux_stream != NULL) {
        (void)shpool_device_stream_retire(allocator, context->aux_stream);
    }
}

shpool_status shpool_context_set_allocator(shpool_context *context,
                                           shpool_device_allocator *allocator)
{
    shpool_status status = SHPOOL_OK;

    if ((context == NULL) || (allocator == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "context or allocator is NULL");
    }
    if (shpool_device_allocator_device(allocator) != context->device->ordinal) {
        return shpool_error(SHPOOL_ERR_INVALID, "the allocator is for device %d, the context for "
                            "device %d", shpool_device_allocator_device(allocator),
                            context->device->ordinal);
    }
    if (allocator == context->allocator) {
        return SHPOOL_OK;
    }
    if (context->owns_stream) {
        status = shpool_device_stream_stable(allocator, context->stream);
    }
    if ((status == SHPOOL_OK) && (context->aux_stream != NULL)) {
        status = shpool_device_stream_stable(allocator, context->aux_stream);
    }
    if (status != SHPOOL_OK) {
        retire_streams(context, allocator);
        return status;
    }
    retire_streams(context, context->allocator);
    (void)shpool_device_allocator_ref(allocator);
    shpool_device_allocator_unref(context->allocator);
    context->allocator = allocator;
    return SHPOOL_OK;
}

/* ---- timer: two events; the latest split is where the next lap begins ---- */

static shpool_status failed(const shpool_context *context, const char *call, cu_result result)
{
    return shpool_driver_failed(context->device->cu, call, result);
}

/* Record one of the two on the context's stream, made when it is needed first. */
static shpool_status record(shpool_context *context, unsigned which)
{
    const shpool_driver *cu = context->device->cu;
    cu_result result;

    if (context->timer[which] == NULL) {
        result = cu->event_create(&context->timer[which], CU_EVENT_DEFAULT);
        if (result != CU_SUCCESS) {
            context->timer[which] = NULL;
            return failed(context, "cuEventCreate", result);
        }
    }
    result = cu->event_record(context->timer[which], context->stream);
    return (result == CU_SUCCESS) ? SHPOOL_OK : failed(context, "cuEventRecord", result);
}

shpool_status shpool_timer_start(shpool_context *context)
{
    int left;
    shpool_status status;

    if (context == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "context is NULL");
    }
    /* an event of a graph cannot be waited for */
    status = shpool_device_enter_stream(context->device, context->stream, 1, &left);
    if (status != SHPOOL_OK) {
        return status;
    }
    status = record(context, 0);
    shpool_device_leave(context->device, left);
    return status;
}

static shpool_status split(shpool_context *context, double *seconds_p)
{
    const shpool_driver *cu = context->device->cu;
    shpool_event start = context->timer[0];
    float milliseconds = 0.0f;
    cu_result result;
    shpool_status status = record(context, 1);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->event_sync(context->timer[1]);
    if (result != CU_SUCCESS) {
        return failed(context, "cuEventSynchronize", result);
    }
    result = cu->event_elapsed(&milliseconds, start, context->timer[1]);
    if (result != CU_SUCCESS) {
        return failed(context, "cuEventElapsedTime", result);
    }
    context->timer[0] = context->timer[1];
    context->timer[1] = start;
    *seconds_p = (double)milliseconds * 1e-3;
    return SHPOOL_OK;
}

shpool_status shpool_timer_split(shpool_context *context, double *seconds_p)
{
    int left;
    shpool_status status;

    if ((context == NULL) || (seconds_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "context or seconds_p is NULL");
    }
    *seconds_p = 0.0;
    if (context->timer[0] == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "the timer was not started");
    }
    status = shpool_device_enter_stream(context->device, context->stream, 1, &left);
    if (status != SHPOOL_OK) {
        return status;
    }
    status = split(context, seconds_p);
    shpool_device_leave(context->device, left);
    return status;
}

shpool_status shpool_timer_throughput(shpool_context *context, uint64_t count,
                                      uint64_t iterations, double *per_second_p)
{
    double seconds = 0.0;
    shpool_status status;

    if (per_second_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "per_second_p is NULL");
    }
    *per_second_p = 0.0;
    status = shpool_timer_split(context, &seconds);
    if ((status == SHPOOL_OK) && (seconds > 0.0)) {
        *per_second_p = (double)count * (double)iterations / seconds;
    }
    return status;
}

/* ---- description ---- */

shpool_status shpool_context_describe(const shpool_context *context, char *text, size_t bytes,
                                      size_t *need_p)
{
    const shpool_device_properties *p;
    uint64_t left = 0;
    uint64_t total = 0;
    double bandwidth;
    int need;
    shpool_status status;

    if ((context == NULL) || ((text == NULL) && (bytes > 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "context or text is NULL");
    }
    status = shpool_device_memory(context->device->ordinal, &left, &total);
    if (status != SHPOOL_OK) {
        return status;
    }
    p = &context->properties;
    bandwidth = (double)p->memory_clock_khz * 1e3 * ((double)p->memory_bus_bits / 8.0 * 2.0) / 1e9;
    need = snprintf(text, bytes,
                    "%s : %8.3f Mhz   (Ordinal %d)\n"
                    "%d SMs enabled. Compute Capability sm_%d%d\n"
                    "FreeMem: %6lluMB   TotalMem: %6lluMB   %2d-bit pointers.\n"
                    "Mem Clock: %8.3f Mhz x %d bits   (%5.1f GB/s)\n"
                    "ECC %s\n\n",
                    p->name, (double)p->clock_khz * 1e-3, p->ordinal, p->sm_count, p->major,
                    p->minor, (unsigned long long)(left >> 20), (unsigned long long)(total >> 20),
                    (int)(8 * sizeof(void *)), (double)p->memory_clock_khz * 1e-3,
                    p->memory_bus_bits, bandwidth, p->ecc ? "Enabled" : "Disabled");
    if (need_p != NULL) {
        *need_p = (size_t)need;
    }
    return SHPOOL_OK;
}
