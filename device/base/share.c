/* SPDX-License-Identifier: BSD-3-Clause */
/* How bases export mapped memory, as a descriptor. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

shpool_device_handle shpool_share_nothing(void)
{
    return (shpool_device_handle){ .fd = -1 };
}

/* Programs that this one starts do not inherit it.  The driver has no flag for that, so that a
 * fork() and exec() of another thread may come in between. */
static shpool_status close_on_exec(int fd)
{
    int error;

    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) {
        return SHPOOL_OK;
    }
    error = errno;
    (void)close(fd);
    return shpool_error(SHPOOL_ERR_SYSTEM, "the descriptor %d that the CUDA driver exported: "
                        "%s", fd, shpool_file_error(error));
}

/* Both calls, and which of them was the last. */
static cu_result export_to(const shpool_device *device, cu_granule granule,
                           shpool_device_handle *handle, const char **call_p)
{
    cu_uuid uuid;
    cu_result result;
    int fd = -1;

    *call_p = "cuDeviceGetUuid";
    result = device->cu->device_uuid(&uuid, device->handle);
    if (result == CU_SUCCESS) {
        memcpy(handle->uuid, uuid.bytes, sizeof(handle->uuid));
        *call_p = "cuMemExportToShareableHandle";
        result = device->cu->granule_export(&fd, granule, CU_HANDLE_DESCRIPTOR, 0);
        handle->fd = fd;
    }
    return result;
}

shpool_status shpool_share_export(const shpool_device *device, cu_granule granule, size_t bytes,
                                  shpool_device_handle *handle_p)
{
    shpool_device_handle handle = { .magic = SHPOOL_DEVICE_HANDLE_MAGIC,
                                    .version = SHPOOL_DEVICE_HANDLE_VERSION, .bytes = bytes };
    const char *call;
    cu_result result;
    int left;
    shpool_status status = shpool_device_enter(device, &left);

    *handle_p = shpool_share_nothing();
    if (status != SHPOOL_OK) {
        return status;
    }
    result = export_to(device, granule, &handle, &call);
    shpool_device_leave(device, left);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(device->cu, call, result);
    }
    status = close_on_exec(handle.fd);
    if (status == SHPOOL_OK) {
        *handle_p = handle;
    }
    return status;
}
