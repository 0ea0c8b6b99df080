/* SPDX-License-Identifier: BSD-3-Clause */
/* buckets: idle blocks, what is given back when there are too many, and the driver. */
#include "buckets.h"

#include <stdlib.h>

/* ---- lists ---- */

void buckets_push(buckets_self *b, buckets_node *node)
{
    node->prev = NULL;
    node->next = b->idle[node->bucket].head;
    if (node->next != NULL) {
        node->next->prev = node;
    } else {
        b->idle[node->bucket].tail = node;
    }
    b->idle[node->bucket].head = node;
    b->idle_bytes += node->bytes;
}

void buckets_unlink(buckets_self *b, buckets_node *node)
{
    if (node->prev != NULL) {
        node->prev->next = node->next;
    } else {
        b->idle[node->bucket].head = node->next;
    }
    if (node->next != NULL) {
        node->next->prev = node->prev;
    } else {
        b->idle[node->bucket].tail = node->prev;
    }
    b->idle_bytes -= node->bytes;
}

/* ---- the driver ---- */

cu_result buckets_driver_alloc(buckets_self *b, buckets_node *node)
{
    const shpool_device *device = b->lanes.device;
    cu_result result;
    int left;

    if (shpool_device_enter(device, &left) != SHPOOL_OK) {
        return CU_ERROR_INVALID_CONTEXT;
    }
    result = device->cu->memory_alloc(&node->ptr, node->bytes);
    shpool_device_leave(device, left);
    if (result == CU_SUCCESS) {
        b->count.driver_mallocs++;
        b->count.driver_bytes += node->bytes;
        if (b->count.driver_bytes > b->count.driver_bytes_peak) {
            b->count.driver_bytes_peak = b->count.driver_bytes;
        }
    }
    return result;
}

static int give_back(buckets_self *b, const buckets_node *node)
{
    const shpool_device *device = b->lanes.device;
    cu_result result;
    int left;

    if (shpool_device_enter(device, &left) != SHPOOL_OK) {
        return 0;
    }
    result = device->cu->memory_free(node->ptr);
    shpool_device_leave(device, left);
    if (result != CU_SUCCESS) {
        return 0;
    }
    b->count.driver_frees++;
    b->count.driver_bytes -= node->bytes;
    return 1;
}

int buckets_driver_free(buckets_self *b, buckets_node *node)
{
    if (!give_back(b, node)) {
        return 0;
    }
    free(node);
    return 1;
}

/* ---- the capacity ---- */

int buckets_evict(buckets_self *b)
{
    buckets_node *oldest = NULL;

    for (unsigned i = 0; i < BUCKETS_COUNT; i++) {
        buckets_node *node = b->idle[i].tail;

        if ((node != NULL) && ((oldest == NULL) || ((int64_t)(node->key - oldest->key) < 0))) {
            oldest = node;
        }
    }
    if (oldest == NULL) {
        return 0;
    }
    if (!give_back(b, oldest)) {
        return 0;
    }
    buckets_unlink(b, oldest);
    free(oldest);
    return 1;
}

void buckets_compact(buckets_self *b, uint64_t extra)
{
    uint64_t counted = b->idle_bytes + (b->total ? b->cached_live + extra : 0);

    while ((counted > b->capacity) && buckets_evict(b)) {
        counted = b->idle_bytes + (b->total ? b->cached_live + extra : 0);
    }
}
