/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices: their primary contexts are retained once, and kept until the process ends. */
#include "device.h"

#include <string.h>

#include "sync.h"

#define MAX_DEVICES 64u

/* Process-wide, because a device has one primary context in a process. */
static struct {
    pthread_mutex_t lock;
    shpool_device device[MAX_DEVICES];
    int retained[MAX_DEVICES];
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

static shpool_status current_ordinal(const shpool_driver *cu, int *ordinal_p)
{
    cu_context context = NULL;
    cu_device handle = 0;
    cu_result result = cu->context_get(&context);

    *ordinal_p = 0;
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuCtxGetCurrent", result);
    }
    if (context == NULL) {
        return SHPOOL_OK; /* the runtime's choice */
    }
    result = cu->context_device(&handle);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuCtxGetDevice", result);
    }
    *ordinal_p = handle; /* the driver's handles are the ordinals */
    return SHPOOL_OK;
}

static shpool_status retain(const shpool_driver *cu, int ordinal, shpool_device *device)
{
    int count = 0;
    cu_result result = cu->device_count(&count);

    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceGetCount", result);
    }
    if ((ordinal < 0) || (ordinal >= count) || (ordinal >= (int)MAX_DEVICES)) {
        return shpool_error(SHPOOL_ERR_NOT_FOUND, "device %d does not exist: this process sees "
                            "%d, numbered from 0", ordinal, count);
    }
    device->cu = cu;
    device->ordinal = ordinal;
    result = cu->device_get(&device->handle, ordinal);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceGet", result);
    }
    result = cu->primary_retain(&device->context, device->handle);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDevicePrimaryCtxRetain", result);
    }
    return SHPOOL_OK;
}

shpool_status shpool_device_get(int ordinal, const shpool_device **device_p)
{
    const shpool_driver *cu;
    shpool_status status = shpool_driver_get(&cu);

    *device_p = NULL;
    if ((status == SHPOOL_OK) && (ordinal == -1)) {
        status = current_ordinal(cu, &ordinal);
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    shpool_mutex_lock(&devices.lock);
    if ((ordinal < 0) || (ordinal >= (int)MAX_DEVICES)) {
        shpool_device nobody;

        status = retain(cu, ordinal, &nobody);
    } else if (!devices.retained[ordinal]) {
        status = retain(cu, ordinal, &devices.device[ordinal]);
        devices.retained[ordinal] = (status == SHPOOL_OK);
    }
    shpool_mutex_unlock(&devices.lock);
    if (status == SHPOOL_OK) {
        *device_p = &devices.device[ordinal];
    }
    return status;
}

void shpool_devices_reset(void)
{
    memset(devices.retained, 0, sizeof(devices.retained));
}

/* ---- the current context, and the capture mode ---- */

/* Bits of what shpool_device_leave() is to undo. */
#define PUSHED  1
#define RELAXED 2

/* The calling thread's calls that hold its mode, one within the other, and the mode to restore at
 * the end of the outermost one. */
static SHPOOL_FAST_TLS struct {
    unsigned holds;
    int relaxed; /* 1: the mode is "relaxed", and was `mode` */
    int mode;
} capture_mode;

void shpool_device_hold(void)
{
    capture_mode.holds++;
}

void shpool_device_relax(const shpool_device *device)
{
    capture_mode.holds++;
    if (!capture_mode.relaxed && (device->cu->capture_mode != NULL)) {
        capture_mode.mode = CU_CAPTURE_MODE_RELAXED;
        capture_mode.relaxed = (device->cu->capture_mode(&capture_mode.mode) == CU_SUCCESS);
    }
}

void shpool_device_restore(const shpool_device *device)
{
    capture_mode.holds--;
    if ((capture_mode.holds == 0) && capture_mode.relaxed) {
        capture_mode.relaxed = 0;
        if (capture_mode.mode != CU_CAPTURE_MODE_RELAXED) {
            (void)device->cu->capture_mode(&capture_mode.mode);
        }
    }
}

/* The result, and the call that it is of. */
static cu_result make_current(const shpool_device *device, int *left_p, const char **call_p)
{
    cu_context current = NULL;
    cu_result result;

    *left_p = 0;
    *call_p = "cuCtxGetCurrent";
    result = device->cu->context_get(&current);
    if ((result == CU_SUCCESS) && (current != device->context)) {
        *call_p = "cuCtxPushCurrent";
        result = device->cu->context_push(device->context);
        *left_p = (result == CU_SUCCESS) ? PUSHED : 0;
    }
    if (result == CU_SUCCESS) {
        shpool_device_relax(device);
        *left_p |= RELAXED;
    }
    return result;
}

shpool_status shpool_device_enter(const shpool_device *device, int *left_p)
{
    const char *call;
    cu_result result;

    *left_p = 0;
    if (shpool_driver_forked()) {
        return shpool_error(SHPOOL_ERR_CUDA, "this process was forked from one that used CUDA");
    }
    result = make_current(device, left_p, &call);
    return (result == CU_SUCCESS) ? SHPOOL_OK : shpool_driver_failed(device->cu, call, result);
}

cu_result shpool_device_enter_result(const shpool_device *device, int *left_p)
{
    const char *call;

    *left_p = 0;
    return shpool_driver_forked() ? CU_ERROR_INVALID_CONTEXT : make_current(device, left_p, &call);
}

int shpool_device_enter_quietly(const shpool_device *device, int *left_p)
{
    return shpool_device_enter_result(device, left_p) == CU_SUCCESS;
}

void shpool_device_leave(const shpool_device *device, int left)
{
    cu_context dropped;

    if ((left & RELAXED) != 0) {
        shpool_device_restore(device);
    }
    if ((left & PUSHED) != 0) {
        (void)device->cu->context_pop(&dropped);
    }
}

/* ---- captures ---- */

static int is_legacy(shpool_stream stream)
{
    return (stream == NULL) || (stream == SHPOOL_STREAM_LEGACY);
}

/* The question alone.  The handle of a default stream means the current context's. */
static cu_result ask(const shpool_device *device, shpool_stream stream, int *captures_p)
{
    int status = CU_CAPTURE_STATUS_NONE;
    cu_result result = CU_SUCCESS;

    if (device->cu->stream_capturing != NULL) {
        result = device->cu->stream_capturing(stream, &status);
    }
    *captures_p = (result == CU_SUCCESS) && (status != CU_CAPTURE_STATUS_NONE);
    return result;
}

cu_result shpool_device_captures(const shpool_device *device, shpool_stream stream,
                                 int *captures_p)
{
    cu_result result;
    int left;

    *captures_p = 0;
    if (!is_legacy(stream) && (stream != SHPOOL_STREAM_PER_THREAD)) {
        return ask(device, stream, captures_p);
    }
    result = shpool_device_enter_result(device, &left);
    if (result == CU_SUCCESS) {
        result = ask(device, stream, captures_p);
        shpool_device_leave(device, left);
    }
    return result;
}

unsigned long long shpool_device_capture_of(const shpool_device *device, shpool_stream stream)
{
    unsigned long long id = 0;
    int status = CU_CAPTURE_STATUS_NONE;
    int left = 0;

    if (is_legacy(stream) || (device->cu->stream_capture == NULL) ||
        ((stream == SHPOOL_STREAM_PER_THREAD) && !shpool_device_enter_quietly(device, &left))) {
        return 0;
    }
    if (device->cu->stream_capture(stream, &status, &id) != CU_SUCCESS) {
        status = CU_CAPTURE_STATUS_NONE;
    }
    shpool_device_leave(device, left);
    return (status != CU_CAPTURE_STATUS_NONE) ? id : 0;
}

static shpool_status legacy_is_off_limits(void)
{
    return shpool_error(SHPOOL_ERR_CAPTURE, "work on the legacy default stream would end the "
                        "capture of a stream that is ordered with it: use a stream of your own, "
                        "capture on a non-blocking stream, or wait for the end of the capture");
}

shpool_status shpool_device_enter_stream(const shpool_device *device, shpool_stream stream,
                                         int wait, int *left_p)
{
    int legacy = is_legacy(stream);
    int captures;
    cu_result result;
    shpool_status status = shpool_device_enter(device, left_p);

    if ((status != SHPOOL_OK) || (!legacy && !wait)) {
        return status;
    }
    result = ask(device, stream, &captures);
    if (legacy && (result == CU_ERROR_STREAM_CAPTURE_IMPLICIT)) {
        status = legacy_is_off_limits();
    } else if (legacy && (result != CU_SUCCESS)) {
        status = shpool_driver_failed(device->cu, "cuStreamIsCapturing", result);
    } else if (captures) {
        status = shpool_error(SHPOOL_ERR_CAPTURE, "the stream captures a graph, so the host cannot "
                              "wait for its work: call this before or after the capture");
    }
    if (status != SHPOOL_OK) {
        shpool_device_leave(device, *left_p);
    }
    return status;
}

shpool_status shpool_device_no_capture(const shpool_device *device, shpool_stream stream,
                                       const char *what)
{
    int captures = 0;

    if (!is_legacy(stream)) { /* which cannot capture */
        (void)shpool_device_captures(device, stream, &captures);
    }
    return captures ? shpool_error(SHPOOL_ERR_CAPTURE, "the stream captures a graph, %s", what)
                    : SHPOOL_OK;
}

/* A refusal was tried once more, as no other caller could, with result `again`; then it is lost. */
static cu_result refused(const shpool_device *device, cu_result result, cu_result again,
                         const char *what)
{
    shpool_device_loss loss = { .count = 0 };

    if (again == CU_SUCCESS) {
        return again;
    }
    shpool_device_loss_add(&loss, result, 1);
    shpool_device_loss_tell(device, &loss, what);
    return result;
}

/* The driver waits before it frees memory.  If the device has none left, a page of the host does,
 * which takes a millisecond. */
cu_result shpool_device_wait(const shpool_device *device)
{
    cu_ptr ptr;
    void *page;
    cu_result result = device->cu->memory_alloc(&ptr, 1);

    if (result == CU_SUCCESS) {
        result = device->cu->memory_free(ptr);
        return (result == CU_SUCCESS)
                   ? result : refused(device, result, device->cu->memory_free(ptr), "allocations");
    }
    result = device->cu->host_alloc(&page, 1, 0);
    if (result == CU_SUCCESS) {
        result = device->cu->host_free(page);
        result = (result == CU_SUCCESS)
                     ? result : refused(device, result, device->cu->host_free(page), "host pages");
    }
    return result;
}

shpool_status shpool_device_sync(const shpool_device *device)
{
    cu_result result;
    int left;
    shpool_status status = shpool_device_enter(device, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = shpool_device_wait(device);
    shpool_device_leave(device, left);
    return (result == CU_SUCCESS)
               ? SHPOOL_OK
               : shpool_driver_failed(device->cu, "cuMemFree, a wait for the device,", result);
}

/* ---- memory ---- */

cu_result shpool_device_take(const shpool_device *device, size_t bytes, cu_ptr *ptr_p)
{
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    if (result == CU_SUCCESS) {
        result = device->cu->memory_alloc(ptr_p, bytes);
    }
    shpool_device_leave(device, left);
    return result;
}

cu_result shpool_device_give(const shpool_device *device, cu_ptr ptr)
{
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    if (result == CU_SUCCESS) {
        result = device->cu->memory_free(ptr);
    }
    shpool_device_leave(device, left);
    return result;
}

/* ---- what is lost ---- */

void shpool_device_loss_add(shpool_device_loss *loss, cu_result result, uint64_t bytes)
{
    if (result != CU_SUCCESS) {
        loss->result = result;
        loss->count++;
        loss->bytes += bytes;
    }
}

void shpool_device_loss_tell(const shpool_device *device, const shpool_device_loss *loss,
                             const char *what)
{
    const char *text = NULL;

    if ((loss->count == 0) || (loss->result == CU_ERROR_DEINITIALIZED)) {
        return;
    }
    if ((device->cu->error_string(loss->result, &text) != CU_SUCCESS) || (text == NULL)) {
        text = "unknown error";
    }
    shpool_message(SHPOOL_LEVEL_WARN, "lost until the process ends, on device %d: %u %s, %llu "
                   "bytes: the CUDA driver did not take them back, with result %d: %s",
                   device->ordinal, loss->count, what, (unsigned long long)loss->bytes,
                   loss->result, text);
}
