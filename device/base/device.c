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

/* ---- the current context ---- */

/* The result, and the call that it is of. */
static cu_result make_current(const shpool_device *device, int *left_p, const char **call_p)
{
    cu_context current = NULL;
    cu_result result;

    *left_p = 0;
    *call_p = "cuCtxGetCurrent";
    result = device->cu->context_get(&current);
    if ((result != CU_SUCCESS) || (current == device->context)) {
        return result;
    }
    *call_p = "cuCtxPushCurrent";
    result = device->cu->context_push(device->context);
    *left_p = (result == CU_SUCCESS);
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

    if (left) {
        (void)device->cu->context_pop(&dropped);
    }
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
