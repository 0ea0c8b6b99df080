/* SPDX-License-Identifier: BSD-3-Clause */
/* buckets: counters, the walk over all blocks, the check. */
#include "buckets.h"

shpool_status buckets_stats(void *self, shpool_device_stats *stats)
{
    buckets_self *b = self;

    shpool_mutex_lock(&b->lock);
    *stats = b->count;
    stats->idle_bytes = b->idle_bytes;
    for (unsigned i = 0; i <= BUCKETS_COUNT; i++) {
        for (const buckets_node *node = b->idle[i].head; node != NULL; node = node->next) {
            stats->largest_idle = (i < BUCKETS_COUNT) ? node->bytes : stats->largest_idle;
            if (!shpool_timeline_is_done(node->last, node->seq)) {
                stats->pending_bytes += node->bytes;
            }
        }
    }
    stats->events_recorded = atomic_load_explicit(&b->lanes.events_recorded,
                                                  memory_order_relaxed);
    shpool_mutex_unlock(&b->lock);
    return SHPOOL_OK;
}

shpool_status buckets_reset_peak(void *self)
{
    buckets_self *b = self;

    shpool_mutex_lock(&b->lock);
    b->count.driver_bytes_peak = b->count.driver_bytes;
    shpool_mutex_unlock(&b->lock);
    return SHPOOL_OK;
}

typedef struct tally {
    uint64_t bytes;
    uint64_t count;
    shpool_device_walk_fn function;
    void *user;
} tally;

static int add_live(shpool_ptr_entry *entry, void *user)
{
    tally *sum = user;

    sum->bytes += ((const buckets_node *)entry->note)->bytes;
    sum->count++;
    return 0;
}

/* MGPU's SanityCheck, of the sums; and of the lists. */
shpool_status buckets_check(void *self)
{
    buckets_self *b = self;
    tally live = { .bytes = 0 };
    uint64_t idle = 0;
    const char *what = NULL;

    shpool_mutex_lock(&b->lock);
    for (unsigned i = 0; i <= BUCKETS_COUNT; i++) {
        for (const buckets_node *node = b->idle[i].head; node != NULL; node = node->next) {
            idle += node->bytes;
            if (((i < BUCKETS_COUNT) && (node->bytes != buckets_size[i])) ||
                (node->bucket != i) || (node->ptr == 0)) {
                what = "a block is in another bucket than its size says";
            }
            if ((node->next != NULL) && ((int64_t)(node->key - node->next->key) < 0)) {
                what = "a bucket is not in the order of frees";
            }
        }
    }
    (void)shpool_ptr_walk(&b->map, add_live, &live);
    if ((live.bytes != b->count.live_bytes) || (live.count != b->count.live_count) ||
        (idle != b->idle_bytes) || (live.bytes + idle != b->count.driver_bytes)) {
        what = "the bytes do not add up";
    }
    shpool_mutex_unlock(&b->lock);
    return (what == NULL) ? SHPOOL_OK : shpool_error(SHPOOL_ERR_CORRUPT, "buckets: %s", what);
}

static int show(const buckets_node *node, uint32_t state, const tally *to)
{
    shpool_device_block block = {
        .ptr = (void *)(uintptr_t)node->ptr, .bytes = node->bytes,
        .base = (void *)(uintptr_t)node->ptr, .state = state,
        .stream = (node->last != NULL) ? node->last->stream : NULL,
    };

    return to->function(&block, to->user);
}

static int show_live(shpool_ptr_entry *entry, void *user)
{
    return show(entry->note, SHPOOL_DEVICE_LIVE, user);
}

shpool_status buckets_walk(void *self, shpool_device_walk_fn function, void *user)
{
    buckets_self *b = self;
    tally to = { .function = function, .user = user };
    int stop;

    shpool_mutex_lock(&b->lock);
    stop = shpool_ptr_walk(&b->map, show_live, &to);
    for (unsigned i = 0; !stop && (i <= BUCKETS_COUNT); i++) {
        for (const buckets_node *node = b->idle[i].head; !stop && (node != NULL);
             node = node->next) {
            stop = show(node, shpool_timeline_is_done(node->last, node->seq)
                                  ? SHPOOL_DEVICE_IDLE : SHPOOL_DEVICE_PENDING, &to);
        }
    }
    shpool_mutex_unlock(&b->lock);
    return SHPOOL_OK;
}

shpool_status buckets_base(void *self, const void *ptr, void **base_p, size_t *bytes_p)
{
    return shpool_ptr_base(&((buckets_self *)self)->map, ptr, base_p, bytes_p);
}
