/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of another process, mapped from a descriptor.
 *
 * A handle's contents come from another process.  Only the driver's results are trusted: it refuses
 * to map more than the memory has.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/base/device.h"
#include "handle.h"

struct shpool_device_import {
    const shpool_device *device;
    cu_ptr base;        /* of the reserved addresses; 0: none */
    size_t bytes;
    cu_granule granule; /* 0: none */
    int mapped;
};

/* ---- which device ---- */

static shpool_status too_old(void)
{
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the CUDA driver cannot import memory, or is too "
                        "old for it: CUDA 11.4 can");
}

/* This process's ordinal of the memory's device; -1: this process does not see it. */
static shpool_status find_owner(const shpool_driver *cu, const shpool_device_handle *handle,
                                int *owner_p)
{
    int count = 0;
    shpool_status status = shpool_device_count(&count);

    *owner_p = -1;
    if ((status == SHPOOL_OK) && (cu->device_uuid == NULL)) {
        status = too_old();
    }
    for (int i = 0; (i < count) && (status == SHPOOL_OK) && (*owner_p < 0); i++) {
        cu_uuid uuid;
        cu_result result = cu->device_uuid(&uuid, i); /* the driver's handles are the ordinals */

        if (result != CU_SUCCESS) {
            status = shpool_driver_failed(cu, "cuDeviceGetUuid", result);
        } else if (memcmp(uuid.bytes, handle->uuid, sizeof(uuid.bytes)) == 0) {
            *owner_p = i;
        }
    }
    return status;
}

static shpool_status not_seen(const shpool_device_handle *handle)
{
    const uint8_t *u = handle->uuid;

    return shpool_error(SHPOOL_ERR_NOT_FOUND, "the memory lies on the device GPU-%02x%02x%02x%02x-"
                        "%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x, which this process "
                        "does not see: CUDA_VISIBLE_DEVICES must name it", u[0], u[1], u[2], u[3],
                        u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
                        u[15]);
}

static shpool_status choose_device(const shpool_driver *cu, const shpool_device_handle *handle,
                                   int wanted, int *device_p)
{
    int can = 1;
    int owner;
    cu_result result = CU_SUCCESS;
    shpool_status status = find_owner(cu, handle, &owner);

    if (status != SHPOOL_OK) {
        return status;
    }
    if (owner < 0) {
        return not_seen(handle);
    }
    *device_p = (wanted == -1) ? owner : wanted;
    if (*device_p != owner) {
        result = cu->device_can_reach(&can, *device_p, owner);
    }
    if (result == CU_ERROR_INVALID_DEVICE) {
        return SHPOOL_OK; /* shpool_device_get() then says how many devices there are */
    }
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceCanAccessPeer", result);
    }
    return can ? SHPOOL_OK
               : shpool_error(SHPOOL_ERR_UNSUPPORTED, "device %d cannot reach the memory of device "
                              "%d, which the handle is for: import on device %d, and copy",
                              *device_p, owner, owner);
}

/* ---- map and unmap; the device's context is current ---- */

static shpool_status check_size(const shpool_device *device, size_t bytes)
{
    cu_granule_props props = { .alloc_type = 1, .handle_types = CU_HANDLE_DESCRIPTOR };
    size_t granule = 0;
    cu_result result;

    props.location.type = 1;
    props.location.id = device->handle;
    result = device->cu->granularity(&granule, &props, CU_GRANULARITY_MINIMUM);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(device->cu, "cuMemGetAllocationGranularity", result);
    }
    return ((granule > 0) && (bytes % granule == 0))
               ? SHPOOL_OK
               : shpool_error(SHPOOL_ERR_INVALID, "this is not a handle of shpool_device_export(): "
                              "%zu bytes are not whole granules of %zu", bytes, granule);
}

static cu_result map(shpool_device_import *import, const char **call_p)
{
    const shpool_driver *cu = import->device->cu;
    cu_access access = { .location = { 1, import->device->handle }, .flags = 3 };
    cu_result result;

    *call_p = "cuMemAddressReserve";
    result = cu->range_reserve(&import->base, import->bytes, 0, 0, 0);
    if (result != CU_SUCCESS) {
        import->base = 0;
        return result;
    }
    *call_p = "cuMemMap";
    result = cu->granule_map(import->base, import->bytes, 0, import->granule, 0);
    if (result != CU_SUCCESS) {
        return result;
    }
    import->mapped = 1;
    *call_p = "cuMemSetAccess";
    return cu->granule_access(import->base, import->bytes, &access, 1);
}

/* The message describes the descriptor: a pipe, /dev/null, a file. */
static shpool_status not_imported(const shpool_driver *cu, int fd, cu_result result)
{
    char call[160];
    char path[32];
    char what[64] = "";

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)!readlink(path, what, sizeof(what) - 1); /* `what` stays empty after a failure */
    (void)snprintf(call, sizeof(call), "cuMemImportFromShareableHandle(%d, which is %s)", fd, what);
    return shpool_driver_failed(cu, call, result);
}

static shpool_status map_handle(shpool_device_import *import, const shpool_device_handle *handle)
{
    const shpool_driver *cu = import->device->cu;
    const char *call;
    cu_result result;
    shpool_status status;

    if ((cu->granule_import == NULL) || (cu->granularity == NULL) || (cu->range_reserve == NULL) ||
        (cu->range_free == NULL) || (cu->granule_release == NULL) || (cu->granule_map == NULL) ||
        (cu->granule_unmap == NULL) || (cu->granule_access == NULL)) {
        return too_old();
    }
    if (fcntl(handle->fd, F_GETFD) < 0) {
        return shpool_error(SHPOOL_ERR_INVALID, "the handle's descriptor %d is not open",
                            handle->fd);
    }
    status = check_size(import->device, import->bytes);
    if (status != SHPOOL_OK) {
        return status;
    }
    /* the driver expects the number itself as a pointer */
    result = cu->granule_import(&import->granule, (void *)(intptr_t)handle->fd,
                                CU_HANDLE_DESCRIPTOR);
    if (result != CU_SUCCESS) {
        import->granule = 0;
        return not_imported(cu, handle->fd, result);
    }
    result = map(import, &call);
    return (result == CU_SUCCESS) ? SHPOOL_OK : shpool_driver_failed(cu, call, result);
}

/* Unmap what is left; stops at a failing call, after which the rest can be retried. */
static cu_result unmap(shpool_device_import *import, const char **call_p)
{
    const shpool_driver *cu = import->device->cu;
    cu_result result = CU_SUCCESS;

    if (import->mapped) {
        *call_p = "cuMemUnmap";
        result = cu->granule_unmap(import->base, import->bytes);
        import->mapped = (result != CU_SUCCESS);
    }
    if ((result == CU_SUCCESS) && (import->granule != 0)) {
        *call_p = "cuMemRelease";
        result = cu->granule_release(import->granule);
        import->granule = (result == CU_SUCCESS) ? 0 : import->granule;
    }
    if ((result == CU_SUCCESS) && (import->base != 0)) {
        *call_p = "cuMemAddressFree";
        result = cu->range_free(import->base, import->bytes);
        import->base = (result == CU_SUCCESS) ? 0 : import->base;
    }
    return result;
}

/* ---- open ---- */

static shpool_status open_on(shpool_device_import *import, const shpool_device_handle *handle)
{
    shpool_device_loss loss = { .count = 0 };
    const char *call;
    int left;
    shpool_status status = shpool_device_enter(import->device, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    status = map_handle(import, handle);
    if (status != SHPOOL_OK) {
        shpool_device_loss_add(&loss, unmap(import, &call), import->bytes);
    }
    shpool_device_leave(import->device, left);
    shpool_device_loss_tell(import->device, &loss, "imported allocations");
    return status;
}

static shpool_status prepare(const shpool_device_handle *handle, int device,
                             shpool_device_import *import)
{
    const shpool_driver *cu;
    int ordinal = -1;
    shpool_status status = shpool_handle_check(handle);

    if ((status == SHPOOL_OK) && (device < -1)) {
        status = shpool_error(SHPOOL_ERR_NOT_FOUND, "device %d is not possible: devices are "
                              "numbered from 0, and -1 is the memory's own", device);
    }
    if (status == SHPOOL_OK) {
        status = shpool_driver_get(&cu);
    }
    if (status == SHPOOL_OK) {
        status = choose_device(cu, handle, device, &ordinal);
    }
    if (status == SHPOOL_OK) {
        status = shpool_device_get(ordinal, &import->device);
    }
    if (status == SHPOOL_OK) {
        import->bytes = (size_t)handle->bytes;
    }
    return status;
}

shpool_status shpool_device_import_open(const shpool_device_handle *handle, int device,
                                        shpool_device_import **import_p)
{
    shpool_device_import *import;
    shpool_status status;

    if (import_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "import_p is NULL");
    }
    *import_p = NULL;
    import = calloc(1, sizeof(*import));
    if (import == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for an import");
    }
    status = prepare(handle, device, import);
    if (status == SHPOOL_OK) {
        status = open_on(import, handle);
    }
    if (status != SHPOOL_OK) {
        free(import);
        return status;
    }
    *import_p = import;
    return SHPOOL_OK;
}

/* ---- use and close ---- */

void *shpool_device_import_ptr(const shpool_device_import *import)
{
    return (import != NULL) ? (void *)(uintptr_t)import->base : NULL;
}

size_t shpool_device_import_bytes(const shpool_device_import *import)
{
    return (import != NULL) ? import->bytes : 0;
}

int shpool_device_import_device(const shpool_device_import *import)
{
    return (import != NULL) ? import->device->ordinal : -1;
}

shpool_status shpool_device_import_close(shpool_device_import *import)
{
    const char *call = "cuMemFree, a wait for the device,";
    cu_result result;
    int left;
    shpool_status status;

    if ((import == NULL) || shpool_driver_forked()) {
        return SHPOOL_OK;
    }
    status = shpool_device_enter(import->device, &left);
    if (status != SHPOOL_OK) {
        return status;
    }
    result = shpool_device_wait(import->device); /* unmapping does not wait */
    if (result == CU_SUCCESS) {
        result = unmap(import, &call);
    }
    shpool_device_leave(import->device, left);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(import->device->cu, call, result);
    }
    free(import);
    return SHPOOL_OK;
}
