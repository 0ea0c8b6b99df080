/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `buckets`: sizes and data. */
#ifndef SHPOOL_DEVICE_BUCKETS_H
#define SHPOOL_DEVICE_BUCKETS_H

#include "device/base/ptr_map.h"
#include "device/base/timeline.h"

#define BUCKETS_COUNT 84u

#pragma GCC visibility push(hidden)

/* MGPU's sizes, bytes, ascending. */
extern const size_t buckets_size[BUCKETS_COUNT];

/* The bucket for a size; BUCKETS_COUNT: none, such blocks are not kept longer than the driver
 * makes. */
unsigned buckets_locate(size_t bytes, size_t max_object);

/* One block: an allocation of the driver. */
typedef struct buckets_node {
    struct buckets_node *next; /* of its bucket's idle blocks: freed before this one */
    struct buckets_node *prev;
    cu_ptr ptr;
    size_t bytes;              /* the bucket's size, or as requested */
    unsigned bucket;
    uint64_t key;              /* number of the free minus the bucket: smallest goes first */
    shpool_timeline *last;     /* freed on */
    uint64_t seq;
    shpool_timeline_use *uses; /* streams that were named to record_stream */
} buckets_node;

typedef struct buckets_self {
    shpool_timelines lanes;    /* plain timelines, no lanes around them */
    pthread_mutex_t lock;      /* guards the following members */
    uint64_t capacity;
    uint64_t max_object;
    unsigned total;            /* 1: the capacity also counts live blocks */
    uint64_t clock;            /* frees */
    struct { buckets_node *head, *tail; } idle[BUCKETS_COUNT + 1]; /* last: see compact */
    uint64_t idle_bytes;
    uint64_t cached_live;      /* live bytes in buckets */
    shpool_device_stats count;
    shpool_ptr_map map;        /* of live blocks; note: the node */
} buckets_self;

/* ---- buckets/cache.c; the caller holds the lock ---- */

/* The list of a bucket's idle blocks; the one freed last is the head. */
void buckets_push(buckets_self *b, buckets_node *node);
void buckets_unlink(buckets_self *b, buckets_node *node);

cu_result buckets_driver_alloc(buckets_self *b, buckets_node *node);

/* Gives an idle block back; the driver may refuse, and it stays. */
cu_result buckets_give(buckets_self *b, buckets_node *node);

/* Returns the oldest idle block to the driver, first those of no bucket; 0: there is none, or the
 * driver refused. */
int buckets_evict(buckets_self *b);

/* Makes room for `extra` more bytes below the capacity, and returns blocks of no bucket: the last
 * list has those that the driver refused. */
void buckets_compact(buckets_self *b, uint64_t extra);

/* ---- buckets/observe.c ---- */
shpool_status buckets_stats(void *self, shpool_device_stats *stats);
shpool_status buckets_reset_peak(void *self);
shpool_status buckets_check(void *self);
shpool_status buckets_walk(void *self, shpool_device_walk_fn function, void *user);
shpool_status buckets_base(void *self, const void *ptr, void **base_p, size_t *bytes_p);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_BUCKETS_H */
