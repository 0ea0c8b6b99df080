/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers: ownership and copies. */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

/* A buffer without memory yet. */
static shpool_status make(shpool_context *context, shpool_type type, size_t count,
                          shpool_buffer **buffer_p)
{
    const shpool_device *device;
    shpool_buffer *buffer;
    shpool_status status = shpool_type_check_any(type);

    if (status != SHPOOL_OK) {
        return status;
    }
    if (count > PTRDIFF_MAX / SHPOOL_TYPE_BYTES(type)) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE, "%zu elements of %zu bytes do not fit in the "
                            "address space", count, SHPOOL_TYPE_BYTES(type));
    }
    status = shpool_device_get(shpool_context_device(context), &device);
    if (status != SHPOOL_OK) {
        return status;
    }
    buffer = calloc(1, sizeof(*buffer));
    if (buffer == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a buffer");
    }
    atomic_init(&buffer->references, 1);
    buffer->type = type;
    buffer->count = count;
    buffer->device = device;
    buffer->context = shpool_context_ref(context);
    *buffer_p = buffer;
    return SHPOOL_OK;
}

shpool_status shpool_buffer_create(shpool_context *context, shpool_type type, size_t count,
                                   shpool_buffer **buffer_p)
{
    shpool_buffer *buffer;
    shpool_status status;

    if (buffer_p != NULL) {
        *buffer_p = NULL;
    }
    if ((context == NULL) || (buffer_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "context or buffer_p is NULL");
    }
    status = make(context, type, count, &buffer);
    if (status != SHPOOL_OK) {
        return status;
    }
    buffer->allocator = shpool_device_allocator_ref(shpool_context_allocator(context));
    status = shpool_device_malloc(buffer->allocator, count * SHPOOL_TYPE_BYTES(type),
                                  shpool_context_stream(context), &buffer->ptr);
    if (status != SHPOOL_OK) {
        buffer->ptr = NULL;
        shpool_buffer_unref(buffer);
        return status;
    }
    *buffer_p = buffer;
    return SHPOOL_OK;
}

shpool_status shpool_buffer_create_from(shpool_context *context, shpool_type type, size_t count,
                                        const void *host, shpool_buffer **buffer_p)
{
    shpool_status status = shpool_buffer_create(context, type, count, buffer_p);

    if (status == SHPOOL_OK) {
        status = shpool_buffer_from_host(*buffer_p, 0, count, host);
        if (status != SHPOOL_OK) {
            shpool_buffer_unref(*buffer_p);
            *buffer_p = NULL;
        }
    }
    return status;
}

shpool_status shpool_buffer_wrap(shpool_context *context, void *ptr, shpool_type type, size_t count,
                                 shpool_release_fn release, void *user, shpool_buffer **buffer_p)
{
    shpool_status status;

    if (buffer_p != NULL) {
        *buffer_p = NULL;
    }
    if ((context == NULL) || (buffer_p == NULL) || ((ptr == NULL) && (count > 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "context, buffer_p or the memory of %zu elements "
                            "is NULL", count);
    }
    status = make(context, type, count, buffer_p);
    if (status == SHPOOL_OK) {
        (*buffer_p)->ptr = ptr;
        (*buffer_p)->release = release;
        (*buffer_p)->user = user;
    }
    return status;
}

shpool_buffer *shpool_buffer_ref(shpool_buffer *buffer)
{
    if (buffer != NULL) {
        /* relaxed: the thread that passes a reference on has ordered it */
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    }
    return buffer;
}

void shpool_buffer_unref(shpool_buffer *buffer)
{
    /* release: this thread's use is over; acquire: so is everyone's, for the last one */
    if ((buffer == NULL) ||
        (atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)) {
        return;
    }
    if (buffer->allocator != NULL) {
        (void)shpool_device_free(buffer->allocator, buffer->ptr,
                                 shpool_context_stream(buffer->context));
        shpool_device_allocator_unref(buffer->allocator);
    } else if (buffer->release != NULL) {
        buffer->release(buffer->ptr, buffer->user);
    }
    /* last: it may destroy the stream */
    shpool_context_unref(buffer->context);
    free(buffer);
}

void *shpool_buffer_ptr(const shpool_buffer *buffer)
{
    return (buffer != NULL) ? buffer->ptr : NULL;
}

size_t shpool_buffer_count(const shpool_buffer *buffer)
{
    return (buffer != NULL) ? buffer->count : 0;
}

shpool_type shpool_buffer_type(const shpool_buffer *buffer)
{
    return (buffer != NULL) ? buffer->type : 0;
}

shpool_context *shpool_buffer_context(const shpool_buffer *buffer)
{
    return (buffer != NULL) ? buffer->context : NULL;
}

shpool_status shpool_buffer_record_stream(shpool_buffer *buffer, shpool_stream user)
{
    if (buffer == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "buffer is NULL");
    }
    if (buffer->allocator == NULL) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the buffer wraps memory of another owner: "
                            "tell that owner which streams use it");
    }
    if (buffer->ptr == NULL) {
        return SHPOOL_OK;
    }
    return shpool_device_record_stream(buffer->allocator, buffer->ptr, user);
}

/* ---- copies ---- */

static shpool_status check_range(const shpool_buffer *buffer, size_t first, size_t count)
{
    if ((first > buffer->count) || (count > buffer->count - first)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%zu elements from %zu on are not in a buffer of "
                            "%zu", count, first, buffer->count);
    }
    return SHPOOL_OK;
}

static cu_ptr address(const shpool_buffer *buffer, size_t first)
{
    return (cu_ptr)(uintptr_t)buffer->ptr + first * SHPOOL_TYPE_BYTES(buffer->type);
}

/* Either direction; exactly one of `from` and `to` is not NULL. */
static shpool_status copy_host(const shpool_buffer *buffer, size_t first, size_t count,
                               const void *from, void *to, int wait)
{
    const shpool_device *device = buffer->device;
    const shpool_driver *cu = device->cu;
    const size_t bytes = count * SHPOOL_TYPE_BYTES(buffer->type);
    const shpool_stream stream = shpool_context_stream(buffer->context);
    int left;
    cu_result result;
    shpool_status status = shpool_device_enter_stream(device, stream, wait, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = (to != NULL) ? cu->copy_to_host(to, address(buffer, first), bytes, stream)
                          : cu->copy_from_host(address(buffer, first), from, bytes, stream);
    if (result != CU_SUCCESS) {
        status = shpool_driver_failed(cu, (to != NULL) ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync",
                                      result);
    }
    shpool_device_leave(device, left);
    return ((status == SHPOOL_OK) && wait) ? shpool_context_sync(buffer->context) : status;
}

static shpool_status check_host(const shpool_buffer *buffer, size_t first, size_t count,
                                const void *host)
{
    if ((buffer == NULL) || ((host == NULL) && (count > 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "buffer or host is NULL");
    }
    return check_range(buffer, first, count);
}

static shpool_status to_host(const shpool_buffer *buffer, size_t first, size_t count, void *host,
                             int wait)
{
    shpool_status status = check_host(buffer, first, count, host);

    if ((status != SHPOOL_OK) || (count == 0)) {
        return status;
    }
    return copy_host(buffer, first, count, NULL, host, wait);
}

static shpool_status from_host(shpool_buffer *buffer, size_t first, size_t count, const void *host,
                               int wait)
{
    shpool_status status = check_host(buffer, first, count, host);

    if ((status != SHPOOL_OK) || (count == 0)) {
        return status;
    }
    return copy_host(buffer, first, count, host, NULL, wait);
}

shpool_status shpool_buffer_to_host(const shpool_buffer *buffer, size_t first, size_t count,
                                    void *host)
{
    return to_host(buffer, first, count, host, 1);
}

shpool_status shpool_buffer_to_host_async(const shpool_buffer *buffer, size_t first, size_t count,
                                          void *host)
{
    return to_host(buffer, first, count, host, 0);
}

shpool_status shpool_buffer_from_host(shpool_buffer *buffer, size_t first, size_t count,
                                      const void *host)
{
    return from_host(buffer, first, count, host, 1);
}

shpool_status shpool_buffer_from_host_async(shpool_buffer *buffer, size_t first, size_t count,
                                            const void *host)
{
    return from_host(buffer, first, count, host, 0);
}

/* Record an event after all work submitted to a buffer's stream so far. */
static shpool_status mark(const shpool_buffer *buffer, shpool_event *event_p)
{
    const shpool_driver *cu = buffer->device->cu;
    int left;
    cu_result result;
    shpool_status status = shpool_device_enter_stream(
        buffer->device, shpool_context_stream(buffer->context), 0, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->event_create(event_p, CU_EVENT_DISABLE_TIMING);
    if (result == CU_SUCCESS) {
        result = cu->event_record(*event_p, shpool_context_stream(buffer->context));
        if (result != CU_SUCCESS) {
            (void)cu->event_destroy(*event_p);
        }
    }
    shpool_device_leave(buffer->device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(cu, "an event of a copy", result);
}

/* Let the stream of one buffer wait for all work submitted to the other's so far.  The event may be
 * destroyed immediately: the driver keeps it until it has happened.  The default streams of two
 * devices have the same handle: each call is made with its own device current. */
static shpool_status order_after(const shpool_buffer *waiting, const shpool_buffer *other)
{
    const shpool_driver *cu = waiting->device->cu;
    shpool_event event = NULL;
    int left;
    cu_result result;
    shpool_status status;

    if (shpool_device_capture_of(waiting->device, shpool_context_stream(waiting->context)) !=
        shpool_device_capture_of(other->device, shpool_context_stream(other->context))) {
        return shpool_error(SHPOOL_ERR_CAPTURE, "the stream of one buffer captures a graph, that "
                            "of the other takes no part in the capture: let it join before");
    }
    status = mark(other, &event);
    if (status != SHPOOL_OK) {
        return status;
    }
    status = shpool_device_enter_stream(waiting->device, shpool_context_stream(waiting->context),
                                        0, &left);
    if (status == SHPOOL_OK) {
        result = cu->stream_wait(shpool_context_stream(waiting->context), event, 0);
        shpool_device_leave(waiting->device, left);
        if (result != CU_SUCCESS) {
            status = shpool_driver_failed(cu, "cuStreamWaitEvent", result);
        }
    }
    (void)cu->event_destroy(event);
    return status;
}

static int same_stream(const shpool_buffer *a, const shpool_buffer *b)
{
    return (a->device == b->device) &&
           (shpool_context_stream(a->context) == shpool_context_stream(b->context));
}

/* Ensure that the source is not freed during a copy on the target's stream. */
static shpool_status keep_source(const shpool_buffer *to, const shpool_buffer *from)
{
    if ((from->allocator != NULL) && (to->device == from->device) &&
        (shpool_device_record_stream(from->allocator, from->ptr,
                                     shpool_context_stream(to->context)) == SHPOOL_OK)) {
        return SHPOOL_OK;
    }
    return order_after(from, to); /* no allocator to inform: the source's stream waits for the
                                     copy */
}

static shpool_status copy_device(const shpool_buffer *to, size_t to_first,
                                 const shpool_buffer *from, size_t from_first, size_t count)
{
    const shpool_device *device = to->device;
    int left;
    cu_result result;
    shpool_status status = shpool_device_enter_stream(
        device, shpool_context_stream(to->context), 0, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = device->cu->copy_device(address(to, to_first), address(from, from_first),
                                     count * SHPOOL_TYPE_BYTES(to->type),
                                     shpool_context_stream(to->context));
    shpool_device_leave(device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(device->cu, "cuMemcpyDtoDAsync", result);
}

static shpool_status check_copy(const shpool_buffer *to, size_t to_first,
                                const shpool_buffer *from, size_t from_first, size_t count)
{
    shpool_status status;
    cu_ptr begin[2];
    size_t bytes;

    if ((to == NULL) || (from == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "one of the buffers is NULL");
    }
    bytes = SHPOOL_TYPE_BYTES(to->type);
    if (bytes != SHPOOL_TYPE_BYTES(from->type)) {
        return shpool_error(SHPOOL_ERR_INVALID, "elements of %zu bytes cannot be copied to "
                            "elements of %zu bytes",
                            SHPOOL_TYPE_BYTES(from->type), bytes);
    }
    status = check_range(to, to_first, count);
    if (status == SHPOOL_OK) {
        status = check_range(from, from_first, count);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    begin[0] = address(to, to_first);
    begin[1] = address(from, from_first);
    if ((begin[0] < begin[1] + count * bytes) && (begin[1] < begin[0] + count * bytes)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%zu elements cannot be copied: source and "
                            "destination overlap", count);
    }
    return SHPOOL_OK;
}

shpool_status shpool_buffer_copy(shpool_buffer *to, size_t to_first, const shpool_buffer *from,
                                 size_t from_first, size_t count)
{
    shpool_status status = check_copy(to, to_first, from, from_first, count);

    if ((status != SHPOOL_OK) || (count == 0)) {
        return status;
    }
    if (same_stream(to, from)) {
        return copy_device(to, to_first, from, from_first, count);
    }
    status = order_after(to, from);
    if (status == SHPOOL_OK) {
        status = copy_device(to, to_first, from, from_first, count);
    }
    return (status == SHPOOL_OK) ? keep_source(to, from) : status;
}
