/* SPDX-License-Identifier: BSD-3-Clause */
/* A libcuda.so.1 with two devices that can only be asked about.  The call that the environment
 * variable CUDA_STAND_IN_FAILS names fails; all calls that are not here do.  For devices.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURE 999

static int fails(const char *name)
{
    const char *named = getenv("CUDA_STAND_IN_FAILS");

    return (named != NULL) && (strcmp(named, name) == 0);
}

static int init(unsigned flags)
{
    (void)flags;
    return fails("cuInit") ? FAILURE : 0;
}

static int version(int *version_p)
{
    *version_p = 12080;
    return fails("cuDriverGetVersion") ? FAILURE : 0;
}

static int error_string(int result, const char **text)
{
    *text = "a stand-in's failure";
    return (result != FAILURE);
}

static int device_count(int *count)
{
    *count = 2;
    return fails("cuDeviceGetCount") ? FAILURE : 0;
}

static int device_get(int *device, int ordinal)
{
    *device = ordinal;
    return fails("cuDeviceGet") ? FAILURE : 0;
}

static int device_name(char *name, int bytes, int device)
{
    (void)snprintf(name, (size_t)bytes, "Stand-in %d", device);
    return fails("cuDeviceGetName") ? FAILURE : 0;
}

static int device_memory(size_t *bytes, int device)
{
    *bytes = (size_t)(device + 1) << 30;
    return fails("cuDeviceTotalMem") ? FAILURE : 0;
}

static int device_attribute(int *value, int attribute, int device)
{
    static const struct { int attribute, value; } known[] = {
        {8, 49152}, {16, 132}, {75, 9}, {76, 0}, {81, 233472}, {97, 232448}, {111, 1024},
    };

    (void)device;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if ((known[i].attribute == attribute) && !fails("cuDeviceGetAttribute")) {
            *value = known[i].value;
            return 0;
        }
    }
    return FAILURE;
}

static int missing(void)
{
    return FAILURE;
}

int cuGetProcAddress_v2(const char *name, void **function, int version_asked,
                        unsigned long long flags, int *found);

int cuGetProcAddress_v2(const char *name, void **function, int version_asked,
                        unsigned long long flags, int *found)
{
    static const struct { const char *name; void (*function)(void); } known[] = {
        {"cuInit", (void (*)(void))init},
        {"cuDriverGetVersion", (void (*)(void))version},
        {"cuGetErrorString", (void (*)(void))error_string},
        {"cuDeviceGetCount", (void (*)(void))device_count},
        {"cuDeviceGet", (void (*)(void))device_get},
        {"cuDeviceGetName", (void (*)(void))device_name},
        {"cuDeviceTotalMem", (void (*)(void))device_memory},
        {"cuDeviceGetAttribute", (void (*)(void))device_attribute},
    };
    void (*chosen)(void) = (void (*)(void))missing;

    (void)version_asked;
    (void)flags;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) == 0) {
            chosen = known[i].function;
        }
    }
    memcpy(function, &chosen, sizeof(chosen));
    *found = 1;
    return 0;
}
