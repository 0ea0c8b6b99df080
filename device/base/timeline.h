/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timelines: an allocator's knowledge of a stream.
 *
 * Each free on a stream gets the next number of the stream's timeline.  An event that is recorded
 * later covers all frees before it, so no event is recorded while only the stream itself needs the
 * memory ("lazy events").  `done` is the number up to which frees are known to have finished.
 * (Vulkan calls a counter like this a timeline semaphore.)
 *
 * Which threads may record, and when:
 *   stable stream      any thread, at any time: it exists until it is retired
 *   per-thread stream  its own thread only: the handle means another stream in another thread
 *   any other          only a call that was just passed the handle; later the stream may be
 *                      destroyed
 * In the last two cases a timeline whose memory others need records at some of the next frees.
 *
 * An allocator's lane begins with a timeline, and the timeline's lock guards the whole lane.
 *
 * A stream that several threads use at the same time gets more timelines, its shards: a thread that
 * often finds the lock taken changes to the shard of its number.  Each shard has numbers and events
 * of its own.  They belong to one stream, so its memory may go from one to the other immediately.
 */
#ifndef SHPOOL_DEVICE_TIMELINE_H
#define SHPOOL_DEVICE_TIMELINE_H

#include <pthread.h>

#include "device.h"
#include "sync.h"

#define SHPOOL_TIMELINE_EVENTS 8u

/* Number of frees that record an event after another stream needed the memory of a stream on which
 * only its user can record. */
#define SHPOOL_TIMELINE_WANTED 64u

#pragma GCC visibility push(hidden)

/* Timelines of one stream, its first one included; a power of two. */
#define SHPOOL_TIMELINE_SHARDS 16u

/* A thread changes to its own shard once it has found the lock taken PATIENCE times within WINDOW
 * frees of the stream.  Threads that take turns, and rarely meet, share one timeline: memory of
 * two must be given a common number before it is merged. */
#define SHPOOL_TIMELINE_PATIENCE 16u
#define SHPOOL_TIMELINE_WINDOW   4096u

typedef struct shpool_timeline {
    shpool_spin lock;       /* guards the following members, and the lane */
    unsigned wanted;        /* record at this many of the next frees */
    uint64_t incarnation;   /* changes when it is reused for another stream */
    uint64_t seq;           /* number of the latest free */
    _Atomic uint64_t done;  /* written under the lock, read without */
    uint64_t covered;       /* an event covers the frees up to here, or they are done */
    shpool_stream stream;
    uint64_t thread;        /* of a per-thread default stream, else 0 */
    unsigned long long id;  /* the driver's, if it is not stable; else 0 */
    int stable;
    int named;              /* some record_stream named the stream */
    int gone;               /* retired or destroyed: the handle must not be used any more */
    unsigned first;         /* the ring of events, oldest first */
    unsigned count;
    struct {
        shpool_event event;
        uint64_t seq;
    } ring[SHPOOL_TIMELINE_EVENTS];
    uint64_t snapshot;      /* of seq, for shpool_timelines_sync() */
    struct shpool_timeline *next; /* in shpool_timelines.all; never changes */
    struct shpool_timeline *home; /* the stream's first one; never changes */
    atomic_int sharded;     /* of the first one: 1: there are others, ordered as `shard` is */
    /* of the first one: the others, by number, or NULL; each never changes when it is there.
     * Release: it is initialised; acquire: threads that look for it. */
    _Atomic(struct shpool_timeline *) shard[SHPOOL_TIMELINE_SHARDS];
} shpool_timeline;

/* All timelines of one allocator on one device. */
typedef struct shpool_timelines {
    const shpool_device *device;
    uint64_t id;            /* of this table among all of the process; never 0, never again */
    size_t lane_bytes;      /* what is allocated for each */
    int assume_stable;
    int shards;             /* 1: streams may have them */
    pthread_mutex_t lock;   /* guards the assignment of timelines to streams */
    pthread_mutex_t sync_lock; /* guards the snapshots */
    _Atomic(shpool_timeline *) all; /* release: a new one is initialised; acquire: threads that walk
                                       it */
    atomic_uint count;
    atomic_int captures;    /* pools for graphs that are open: only then does each malloc ask
                               whether its stream captures */
    _Atomic uint64_t events_recorded;
} shpool_timelines;

/* The streams that this thread used last; SHPOOL_TIMELINE_SEEN is small, it is static TLS. */
#define SHPOOL_TIMELINE_SEEN 8u
typedef struct shpool_timeline_seen {
    uint64_t table;         /* shpool_timelines.id; 0: empty */
    shpool_stream stream;
    shpool_timeline *timeline;
    uint64_t incarnation;
    unsigned long long id;  /* to be compared with the driver's; 0: need not */
    uint32_t taken;         /* how often its lock was, since a number of the timeline */
    uint32_t since;
} shpool_timeline_seen;
extern SHPOOL_FAST_TLS shpool_timeline_seen shpool_timeline_cache[SHPOOL_TIMELINE_SEEN];

/* Their handles mean the current context's, so that calls with them need one. */
static inline int shpool_stream_is_default(shpool_stream stream)
{
    return (stream == SHPOOL_STREAM_LEGACY) || (stream == SHPOOL_STREAM_PER_THREAD);
}

/* A number for the calling thread, never 0, never that of another thread, ended ones included. */
uint64_t shpool_thread_number(void);

void shpool_timelines_init(shpool_timelines *table, const shpool_device *device, size_t lane_bytes,
                           int assume_stable);

/* Destroys the events, frees the lanes.  No thread may be using them. */
void shpool_timelines_fini(shpool_timelines *table);

static inline shpool_timeline_seen *shpool_timeline_slot(const shpool_timelines *table,
                                                         shpool_stream stream)
{
    /* handles are addresses of structures, or small numbers */
    uint64_t bits = (uint64_t)(uintptr_t)stream;

    return &shpool_timeline_cache[(bits ^ (bits >> 4) ^ (bits >> 10) ^ table->id) %
                                  SHPOOL_TIMELINE_SEEN];
}

/* What this thread knows of a stream without a question to the driver, or NULL. */
static inline shpool_timeline_seen *shpool_timeline_known(const shpool_timelines *table,
                                                          shpool_stream stream)
{
    shpool_timeline_seen *seen;

    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    seen = shpool_timeline_slot(table, stream);
    return ((seen->table == table->id) && (seen->stream == stream) && (seen->id == 0)) ? seen
                                                                                       : NULL;
}

/* Its timeline, locked; NULL: another thread has the lock, or the handle means another stream. */
static inline shpool_timeline *shpool_timeline_try(const shpool_timeline_seen *seen)
{
    if (SHPOOL_UNLIKELY(!shpool_spin_try(&seen->timeline->lock))) {
        return NULL;
    }
    if (SHPOOL_LIKELY(seen->timeline->incarnation == seen->incarnation)) {
        return seen->timeline;
    }
    shpool_spin_unlock(&seen->timeline->lock);
    return NULL;
}

/* The lock of what this thread uses is taken: if that was so too often, use the thread's shard
 * instead. */
void shpool_timeline_crowded(shpool_timelines *table, shpool_timeline_seen *seen);

/* It was taken, and is this thread's now: note that. */
void shpool_timeline_met(shpool_timeline_seen *seen);

/*
 * The timeline of a stream, locked; created if there is none.  NULL is the legacy stream.
 * SHPOOL_ERR_NO_MEMORY; SHPOOL_ERR_CUDA: not a stream.
 */
shpool_status shpool_timeline_lock(shpool_timelines *table, shpool_stream stream,
                                   shpool_timeline **timeline_p);

/* The same for a caller that only marks a free before it unlocks, which often saves the questions
 * to the driver.  The timeline may be that of an earlier stream with this handle, which nobody
 * retired: its memory is not reused before the host has waited for the device, because the next
 * request on the handle notices. */
shpool_status shpool_timeline_lock_to_free(shpool_timelines *table, shpool_stream stream,
                                           shpool_timeline **timeline_p);

/* 1: both belong to one stream, and what was freed on one can be reused on the other. */
static inline int shpool_timeline_same(const shpool_timeline *a, const shpool_timeline *b)
{
    return (a == b) || ((a->home == b->home) && (a->home != NULL)); /* graphs' have none */
}

/* 1: the free of this number has finished, memory of it may go to any stream. */
static inline int shpool_timeline_is_done(const shpool_timeline *timeline, uint64_t seq)
{
    /* acquire: pairs with the release in timeline.c, after the host saw the event finished */
    return seq <= atomic_load_explicit(&((shpool_timeline *)(uintptr_t)timeline)->done,
                                       memory_order_acquire);
}

/* ---- the caller of these holds the timeline's lock ---- */

/* An event that covers all frees so far; none if the stream is another thread's own. */
void shpool_timeline_record(shpool_timelines *table, shpool_timeline *timeline);

/* 1: the calling thread may record at any time, not only in a call that was passed the handle. */
int shpool_timeline_may_record(const shpool_timeline *timeline);

/* A number for a free that happens now, in the order of this stream, whose handle is valid. */
static inline uint64_t shpool_timeline_mark(shpool_timelines *table, shpool_timeline *timeline)
{
    uint64_t seq = ++timeline->seq;

    if (SHPOOL_UNLIKELY(timeline->wanted > 0)) {
        timeline->wanted--;
        shpool_timeline_record(table, timeline);
    }
    return seq;
}

/* All frees up to here have finished, the host saw it. */
void shpool_timeline_set_done(shpool_timeline *timeline, uint64_t seq);

/* Ask the driver which events are done; 1: all frees are. */
int shpool_timeline_poll(shpool_timelines *table, shpool_timeline *timeline);

/* Another stream needs the memory: cover all frees, now if this thread may, else soon. */
void shpool_timeline_want(shpool_timelines *table, shpool_timeline *timeline);

/* Another stream needs the memory: find out how far the stream is, as cheaply as possible, and
 * cover the rest; 1: all frees are done. */
int shpool_timeline_chase(shpool_timelines *table, shpool_timeline *timeline);

/*
 * Let work that is submitted to `stream` from now on wait for the free of this number, on the
 * device.  1: it will, or need not; 0: no event covers it, and none can be recorded.
 */
int shpool_timeline_order(shpool_timelines *table, shpool_timeline *timeline, uint64_t seq,
                          shpool_stream stream);

/* ---- no lock is held ---- */

/* A stream that was named to record_stream; a list of them belongs to an allocation. */
typedef struct shpool_timeline_use {
    struct shpool_timeline_use *next;
    shpool_stream stream;
    uint64_t thread; /* that named its own default stream, else 0 */
} shpool_timeline_use;

shpool_status shpool_timeline_use_make(shpool_stream user, shpool_timeline_use **use_p);

/* Join all of them as above, and empty the list; what failed stays in it. */
shpool_status shpool_timeline_uses_join(shpool_timelines *table, shpool_timeline_use **uses_p,
                                        shpool_stream stream);
void shpool_timeline_uses_free(shpool_timeline_use *use);

/* Whether shpool_timeline_order() would succeed. */
int shpool_timeline_can_order(shpool_timeline *timeline, uint64_t seq);

/* Whether the stream captures; the legacy stream cannot.  Also 1, with the driver's error, if
 * unknown: treating a stream as capturing is harmless. */
cu_result shpool_timeline_captures(const shpool_timelines *table, shpool_stream stream,
                                   int *captures_p);

/* The stream will be destroyed, or will not before it is retired. */
shpool_status shpool_timeline_retire(shpool_timelines *table, shpool_stream stream);
shpool_status shpool_timeline_stable(shpool_timelines *table, shpool_stream stream);

/* Wait for the whole device; then all frees before this call are done. */
shpool_status shpool_timelines_sync(shpool_timelines *table);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_TIMELINE_H */
