/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA driver's information about this machine's devices; does not create a context. */
#include "driver.h"

#include <string.h>

static shpool_status read_attributes(const shpool_driver *cu, cu_device device,
                                     shpool_driver_device *device_p)
{
    int major = 0;
    int minor = 0;
    int reserved = 0;
    int sm_count = 0;
    int block = 0;
    int optin = 0;
    int sm = 0;
    const struct { int attribute; int *value; } wanted[] = {
        { CU_ATTRIBUTE_CAPABILITY_MAJOR, &major },
        { CU_ATTRIBUTE_CAPABILITY_MINOR, &minor },
        { CU_ATTRIBUTE_MULTIPROCESSORS, &sm_count },
        { CU_ATTRIBUTE_SHARED_BLOCK, &block },
        { CU_ATTRIBUTE_SHARED_OPTIN, &optin },
        { CU_ATTRIBUTE_SHARED_SM, &sm },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(wanted); i++) {
        cu_result result = cu->device_attribute(wanted[i].value, wanted[i].attribute, device);

        if (result != CU_SUCCESS) {
            return shpool_driver_failed(cu, "cuDeviceGetAttribute", result);
        }
    }
    /* newer than the oldest supported drivers, which reserve 0 */
    if (cu->device_attribute(&reserved, CU_ATTRIBUTE_SHARED_RESERVED, device) != CU_SUCCESS) {
        reserved = 0;
    }

    device_p->arch = (uint32_t)(major * 10 + minor);
    device_p->multiprocessors = (uint32_t)sm_count;
    device_p->shared_block = (uint32_t)block;
    device_p->shared_block_optin = (uint32_t)optin;
    device_p->shared_sm = (uint32_t)sm;
    device_p->shared_reserved = (uint32_t)reserved;
    return SHPOOL_OK;
}

static shpool_status read_device(const shpool_driver *cu, int ordinal,
                                 shpool_driver_device *device_p)
{
    cu_device device = 0;
    size_t memory = 0;
    cu_result result;

    memset(device_p, 0, sizeof(*device_p));
    result = cu->device_get(&device, ordinal);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceGet", result);
    }
    result = cu->device_name(device_p->name, (int)sizeof(device_p->name) - 1, device);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceGetName", result);
    }
    result = cu->device_memory(&memory, device);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceTotalMem", result);
    }
    device_p->memory = memory;
    return read_attributes(cu, device, device_p);
}

static shpool_status read_devices(const shpool_driver *cu, shpool_driver_device *devices,
                                  size_t capacity, size_t *count_p, uint32_t *version_p)
{
    shpool_status status = SHPOOL_OK;
    int version = 0;
    int count = 0;
    cu_result result = cu->version(&version);

    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDriverGetVersion", result);
    }
    result = cu->device_count(&count);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuDeviceGetCount", result);
    }
    if (count <= 0) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the CUDA driver sees no device; is "
                            "CUDA_VISIBLE_DEVICES empty?");
    }

    for (size_t i = 0; (status == SHPOOL_OK) && (i < capacity) && (i < (size_t)count); i++) {
        status = read_device(cu, (int)i, &devices[i]);
    }
    if (status == SHPOOL_OK) {
        *count_p = (size_t)count;
        *version_p = (uint32_t)version;
    }
    return status;
}

shpool_status shpool_driver_devices(shpool_driver_device *devices, size_t capacity,
                                    size_t *count_p, uint32_t *version_p)
{
    const shpool_driver *cu;
    shpool_status status;

    if ((count_p == NULL) || (version_p == NULL) || ((devices == NULL) && (capacity > 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "devices, count_p or version_p is NULL");
    }
    *count_p = 0;
    *version_p = 0;
    status = shpool_driver_get(&cu);
    return (status == SHPOOL_OK) ? read_devices(cu, devices, capacity, count_p, version_p) : status;
}
