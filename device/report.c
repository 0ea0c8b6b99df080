/* SPDX-License-Identifier: BSD-3-Clause */
/* A readable summary of where the memory is: the text of shpool_device_report(). */
#include <stdio.h>
#include <string.h>

#include "stack.h"

static void add(char *text, size_t bytes, size_t *used_p, const char *name, uint64_t value)
{
    size_t at = (*used_p < bytes) ? *used_p : bytes;
    int count;

    if (value == 0) {
        return;
    }
    count = snprintf((bytes > 0) ? text + at : NULL, bytes - at, "  %-18s %llu\n", name,
                     (unsigned long long)value);
    *used_p += (count > 0) ? (size_t)count : 0;
}

shpool_status shpool_device_report(shpool_device_allocator *allocator, char *text, size_t bytes,
                                   size_t *need_p)
{
    shpool_device_stats stats;
    size_t used = 0;
    int count;
    shpool_status status;

    if ((allocator == NULL) || ((text == NULL) && (bytes > 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "allocator or text is NULL");
    }
    status = shpool_device_get_stats(allocator, &stats);
    if (status != SHPOOL_OK) {
        return status;
    }
    count = snprintf(text, bytes, "%s on device %d\n", shpool_device_allocator_spec(allocator),
                     shpool_device_allocator_device(allocator));
    used = (count > 0) ? (size_t)count : 0;
#define ADD(_member) add(text, bytes, &used, #_member, stats._member);
    ADD(driver_bytes) ADD(driver_bytes_peak) ADD(live_bytes) ADD(live_bytes_peak)
    ADD(requested_bytes) ADD(live_count) ADD(live_count_peak) ADD(idle_bytes) ADD(pending_bytes)
    ADD(largest_idle) ADD(mallocs) ADD(frees) ADD(hits) ADD(hits_done) ADD(hits_wait) ADD(misses)
    ADD(driver_mallocs) ADD(driver_frees) ADD(events_recorded) ADD(retries) ADD(failures)
#undef ADD
    if (need_p != NULL) {
        *need_p = used;
    }
    return SHPOOL_OK;
}
