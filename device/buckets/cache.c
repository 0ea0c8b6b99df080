/* SPDX-License-Identifier: BSD-3-Clause */
/* buckets: sizes, idle blocks, eviction, and the driver. */
#include "buckets.h"

#include <stdlib.h>

/* ---- sizes: MGPU's 84, multiples of 256, from one for each doubling to twelve ---- */

const size_t buckets_size[BUCKETS_COUNT] = {
    256,       512,       1024,      2048,      4096,      8192,      12288,     16384,
    24576,     32768,     49152,     65536,     98304,     131072,    174848,    218624,
    262144,    349696,    436992,    524288,    655360,    786432,    917504,    1048576,
    1310720,   1572864,   1835008,   2097152,   2516736,   2936064,   3355648,   3774976,
    4194304,   4893440,   5592576,   6291456,   6990592,   7689728,   8388608,   9786880,
    11184896,  12582912,  13981184,  15379200,  16777216,  18874368,  20971520,  23068672,
    25165824,  27262976,  29360128,  31457280,  33554432,  36910080,  40265472,  43620864,
    46976256,  50331648,  53687296,  57042688,  60398080,  63753472,  67108864,  72701440,
    78293760,  83886080,  89478656,  95070976,  100663296, 106255872, 111848192, 117440512,
    123033088, 128625408, 134217728, 143804928, 153391872, 162978816, 172565760, 182152704,
    191739648, 201326592, 210913792, 220500736,
};

unsigned buckets_locate(size_t bytes, size_t max_object)
{
    unsigned low = 0;
    unsigned high = BUCKETS_COUNT;

    if (bytes > max_object) {
        return BUCKETS_COUNT;
    }
    while (low < high) { /* the first that is large enough */
        unsigned middle = (low + high) / 2;

        if (buckets_size[middle] < bytes) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- lists ---- */

void buckets_push(buckets_self *b, buckets_node *node)
{
    node->key = b->clock++ - node->bucket;
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
    cu_result result = shpool_device_take(b->lanes.device, node->bytes, &node->ptr);

    if (result == CU_SUCCESS) {
        b->count.driver_mallocs++;
        b->count.driver_bytes += node->bytes;
        if (b->count.driver_bytes > b->count.driver_bytes_peak) {
            b->count.driver_bytes_peak = b->count.driver_bytes;
        }
    }
    return result;
}

cu_result buckets_give(buckets_self *b, buckets_node *node)
{
    cu_result result = shpool_device_give(b->lanes.device, node->ptr);

    if (result == CU_SUCCESS) {
        b->count.driver_frees++;
        b->count.driver_bytes -= node->bytes;
        buckets_unlink(b, node);
        free(node);
    }
    return result;
}

/* ---- the capacity ---- */

int buckets_evict(buckets_self *b)
{
    buckets_node *oldest = b->idle[BUCKETS_COUNT].tail;

    for (unsigned i = 0; (i < BUCKETS_COUNT) && (b->idle[BUCKETS_COUNT].tail == NULL); i++) {
        buckets_node *node = b->idle[i].tail;

        if ((node != NULL) && ((oldest == NULL) || ((int64_t)(node->key - oldest->key) < 0))) {
            oldest = node;
        }
    }
    return (oldest != NULL) && (buckets_give(b, oldest) == CU_SUCCESS);
}

void buckets_compact(buckets_self *b, uint64_t extra)
{
    uint64_t more = b->total ? b->cached_live + extra : 0;

    while (((b->idle[BUCKETS_COUNT].tail != NULL) || (b->idle_bytes + more > b->capacity)) &&
           buckets_evict(b)) {
    }
}
