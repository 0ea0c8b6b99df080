/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's information about devices, by ordinal; they need not be current. */
#include "device.h"

#include <string.h>

shpool_status shpool_device_count(int *count_p)
{
    const shpool_driver *cu;
    cu_result result;
    shpool_status status;

    if (count_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "count_p is NULL");
    }
    *count_p = 0;
    status = shpool_driver_get(&cu);
    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->device_count(count_p);
    if (result != CU_SUCCESS) {
        *count_p = 0;
        return shpool_driver_failed(cu, "cuDeviceGetCount", result);
    }
    return SHPOOL_OK;
}

static shpool_status read_attributes(const shpool_device *device, shpool_device_properties *p)
{
    const struct { int attribute; int32_t *value; } wanted[] = {
        { CU_ATTRIBUTE_CAPABILITY_MAJOR, &p->major },
        { CU_ATTRIBUTE_CAPABILITY_MINOR, &p->minor },
        { CU_ATTRIBUTE_MULTIPROCESSORS, &p->sm_count },
        { CU_ATTRIBUTE_CLOCK_RATE, &p->clock_khz },
        { CU_ATTRIBUTE_MEMORY_CLOCK_RATE, &p->memory_clock_khz },
        { CU_ATTRIBUTE_MEMORY_BUS_WIDTH, &p->memory_bus_bits },
        { CU_ATTRIBUTE_ECC_ENABLED, &p->ecc },
        { CU_ATTRIBUTE_WARP_SIZE, &p->warp_threads },
        { CU_ATTRIBUTE_SM_THREADS, &p->sm_threads },
        { CU_ATTRIBUTE_L2_BYTES, &p->l2_bytes },
        { CU_ATTRIBUTE_SHARED_OPTIN, &p->shared_block_bytes },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(wanted); i++) {
        int value = 0;
        cu_result result = device->cu->device_attribute(&value, wanted[i].attribute,
                                                        device->handle);

        if (result != CU_SUCCESS) {
            return shpool_driver_failed(device->cu, "cuDeviceGetAttribute", result);
        }
        *wanted[i].value = value;
    }
    return SHPOOL_OK;
}

static shpool_status read_all(const shpool_device *device, shpool_device_properties *p)
{
    size_t total = 0;
    cu_result result;

    p->ordinal = device->ordinal;
    result = device->cu->device_name(p->name, (int)sizeof(p->name) - 1, device->handle);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(device->cu, "cuDeviceGetName", result);
    }
    result = device->cu->device_memory(&total, device->handle);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(device->cu, "cuDeviceTotalMem", result);
    }
    p->total_bytes = total;
    return read_attributes(device, p);
}

shpool_status shpool_device_get_properties(int device, shpool_device_properties *properties_p)
{
    const shpool_device *found;
    shpool_status status;

    if (properties_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "properties_p is NULL");
    }
    memset(properties_p, 0, sizeof(*properties_p));
    status = shpool_device_get(device, &found);
    if (status == SHPOOL_OK) {
        status = read_all(found, properties_p);
    }
    if (status != SHPOOL_OK) {
        memset(properties_p, 0, sizeof(*properties_p));
    }
    return status;
}

shpool_status shpool_device_memory(int device, uint64_t *free_p, uint64_t *total_p)
{
    const shpool_device *found;
    size_t left_bytes = 0;
    size_t total = 0;
    cu_result result;
    int left;
    shpool_status status;

    if ((free_p == NULL) || (total_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "free_p or total_p is NULL");
    }
    *free_p = 0;
    *total_p = 0;
    status = shpool_device_get(device, &found);
    if (status == SHPOOL_OK) {
        status = shpool_device_enter(found, &left);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    result = found->cu->memory_info(&left_bytes, &total);
    shpool_device_leave(found, left);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(found->cu, "cuMemGetInfo", result);
    }
    *free_p = left_bytes;
    *total_p = total;
    return SHPOOL_OK;
}
