/* SPDX-License-Identifier: BSD-3-Clause */
/* A context's timer, and the description of its device. */
#include "context.h"

#include <stdio.h>
#include <string.h>

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
    status = shpool_device_enter(context->device, &left);
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
    status = shpool_device_enter(context->device, &left);
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
