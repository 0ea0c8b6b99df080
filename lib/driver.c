/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CUDA driver says about this machine's devices; libcuda.so.1 is loaded when asked. */
#include "internal.h"

#include <dlfcn.h>
#include <string.h>

/* From cuda.h, as far as they are needed: part of the driver's frozen binary interface. */
typedef int cu_result;
typedef int cu_device;
#define CU_SUCCESS   0
#define CU_NO_DEVICE 100

enum {
    CU_SHARED_PER_BLOCK       = 8,
    CU_MULTIPROCESSOR_COUNT   = 16,
    CU_CAPABILITY_MAJOR       = 75,
    CU_CAPABILITY_MINOR       = 76,
    CU_SHARED_PER_SM          = 81,
    CU_SHARED_PER_BLOCK_OPTIN = 97,
    CU_SHARED_RESERVED        = 111
};

typedef struct driver {
    void *image;
    cu_result (*init)(unsigned flags);
    cu_result (*version)(int *version);
    cu_result (*count)(int *count);
    cu_result (*get)(cu_device *device, int ordinal);
    cu_result (*name)(char *name, int bytes, cu_device device);
    cu_result (*attribute)(int *value, int attribute, cu_device device);
    cu_result (*memory)(size_t *bytes, cu_device device);
    cu_result (*error_string)(cu_result result, const char **text);
} driver;

int shpool_symbol_set(void *function_p, void *image, const char *name)
{
    void *symbol = dlsym(image, name);

    memcpy(function_p, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static int bind_driver(driver *cu)
{
    return shpool_symbol_set(&cu->init, cu->image, "cuInit") &&
           shpool_symbol_set(&cu->version, cu->image, "cuDriverGetVersion") &&
           shpool_symbol_set(&cu->count, cu->image, "cuDeviceGetCount") &&
           shpool_symbol_set(&cu->get, cu->image, "cuDeviceGet") &&
           shpool_symbol_set(&cu->name, cu->image, "cuDeviceGetName") &&
           shpool_symbol_set(&cu->attribute, cu->image, "cuDeviceGetAttribute") &&
           shpool_symbol_set(&cu->memory, cu->image, "cuDeviceTotalMem_v2") &&
           shpool_symbol_set(&cu->error_string, cu->image, "cuGetErrorString");
}

static shpool_status driver_failed(const driver *cu, const char *call, cu_result result)
{
    const char *text = NULL;

    if ((cu->error_string(result, &text) != CU_SUCCESS) || (text == NULL)) {
        text = "unknown error";
    }
    return shpool_error((result == CU_NO_DEVICE) ? SHPOOL_ERR_UNSUPPORTED : SHPOOL_ERR_CUDA,
                        "%s of the CUDA driver failed with result %d: %s", call, result, text);
}

static shpool_status read_attributes(const driver *cu, cu_device device,
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
        { CU_CAPABILITY_MAJOR, &major },        { CU_CAPABILITY_MINOR, &minor },
        { CU_MULTIPROCESSOR_COUNT, &sm_count }, { CU_SHARED_PER_BLOCK, &block },
        { CU_SHARED_PER_BLOCK_OPTIN, &optin },  { CU_SHARED_PER_SM, &sm },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(wanted); i++) {
        cu_result result = cu->attribute(wanted[i].value, wanted[i].attribute, device);

        if (result != CU_SUCCESS) {
            return driver_failed(cu, "cuDeviceGetAttribute", result);
        }
    }
    /* younger than the drivers that are supported: 0 is what they reserve */
    if (cu->attribute(&reserved, CU_SHARED_RESERVED, device) != CU_SUCCESS) {
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

static shpool_status read_device(const driver *cu, int ordinal, shpool_driver_device *device_p)
{
    cu_device device = 0;
    size_t memory = 0;
    cu_result result;

    memset(device_p, 0, sizeof(*device_p));
    result = cu->get(&device, ordinal);
    if (result != CU_SUCCESS) {
        return driver_failed(cu, "cuDeviceGet", result);
    }
    result = cu->name(device_p->name, (int)sizeof(device_p->name) - 1, device);
    if (result != CU_SUCCESS) {
        return driver_failed(cu, "cuDeviceGetName", result);
    }
    result = cu->memory(&memory, device);
    if (result != CU_SUCCESS) {
        return driver_failed(cu, "cuDeviceTotalMem", result);
    }
    device_p->memory = memory;
    return read_attributes(cu, device, device_p);
}

static shpool_status read_devices(const driver *cu, shpool_driver_device *devices, size_t capacity,
                                  size_t *count_p, uint32_t *version_p)
{
    shpool_status status = SHPOOL_OK;
    int version = 0;
    int count = 0;
    cu_result result = cu->init(0);

    if (result != CU_SUCCESS) {
        return driver_failed(cu, "cuInit", result);
    }
    result = cu->version(&version);
    if (result != CU_SUCCESS) {
        return driver_failed(cu, "cuDriverGetVersion", result);
    }
    result = cu->count(&count);
    if (result != CU_SUCCESS) {
        return driver_failed(cu, "cuDeviceGetCount", result);
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
    driver cu = { .image = NULL };
    const char *reason;

    if ((count_p == NULL) || (version_p == NULL) || ((devices == NULL) && (capacity > 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "devices, count_p or version_p is NULL");
    }
    *count_p = 0;
    *version_p = 0;

    /* never closed: the driver does not survive being unloaded */
    cu.image = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (cu.image == NULL) {
        reason = dlerror();
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "this machine has no CUDA driver: %s",
                            (reason != NULL) ? reason : "libcuda.so.1 does not load");
    }
    if (!bind_driver(&cu)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "libcuda.so.1 lacks functions that every "
                            "driver since CUDA 11 has: update the driver");
    }
    return read_devices(&cu, devices, capacity, count_p, version_p);
}
