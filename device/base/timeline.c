/* SPDX-License-Identifier: BSD-3-Clause */
/* Timelines: which stream has which, its shards, and waits. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

SHPOOL_FAST_TLS shpool_timeline_seen shpool_timeline_cache[SHPOOL_TIMELINE_SEEN];

/* ---- the table ---- */

void shpool_timelines_init(shpool_timelines *table, const shpool_device *device, size_t lane_bytes,
                           int assume_stable)
{
    static _Atomic uint64_t last;

    memset(table, 0, sizeof(*table));
    table->device = device;
    table->id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    table->lane_bytes = (lane_bytes + SHPOOL_CACHE_LINE - 1) / SHPOOL_CACHE_LINE *
                        SHPOOL_CACHE_LINE;
    table->assume_stable = assume_stable;
    (void)pthread_mutex_init(&table->lock, NULL); /* default ones do not fail on Linux */
    (void)pthread_mutex_init(&table->sync_lock, NULL);
}

static void destroy_events(const shpool_device *device, shpool_timeline *timeline,
                           shpool_device_loss *loss)
{
    for (unsigned i = 0; i < SHPOOL_TIMELINE_EVENTS; i++) {
        if (timeline->ring[i].event != NULL) {
            shpool_device_loss_add(loss, device->cu->event_destroy(timeline->ring[i].event), 0);
        }
    }
}

void shpool_timelines_fini(shpool_timelines *table)
{
    shpool_timeline *timeline = atomic_load_explicit(&table->all, memory_order_acquire);
    shpool_device_loss loss = { .count = 0 };
    int left;

    /* an event knows its context: if that cannot be made current, this is tried anyway */
    (void)shpool_device_enter_quietly(table->device, &left);
    while (timeline != NULL) {
        shpool_timeline *next = timeline->next;

        destroy_events(table->device, timeline, &loss);
        free(timeline);
        timeline = next;
    }
    shpool_device_leave(table->device, left);
    shpool_device_loss_tell(table->device, &loss, "events");
    pthread_mutex_destroy(&table->sync_lock);
    pthread_mutex_destroy(&table->lock);
    table->id = 0;
}

/* ---- which timeline a stream has; table->lock is held ---- */

static shpool_timeline *find_locked(shpool_timelines *table, shpool_stream stream, uint64_t thread)
{
    shpool_timeline *t = atomic_load_explicit(&table->all, memory_order_relaxed);

    /* stream, thread and gone are also written under table->lock */
    while ((t != NULL) && ((t->home != t) || t->gone || (t->stream != stream) ||
                           (t->thread != thread))) {
        t = t->next;
    }
    return t;
}

static shpool_timeline *shard_of(shpool_timeline *home, unsigned which)
{
    /* acquire: pairs with the release in add_shard() */
    return atomic_load_explicit(&home->shard[which], memory_order_acquire);
}

/* Whether all frees of a stream's shards are done. */
static int have_finished(shpool_timelines *table, shpool_timeline *home)
{
    int finished = 1;

    for (unsigned i = 0; finished && (i < SHPOOL_TIMELINE_SHARDS); i++) {
        shpool_timeline *t = shard_of(home, i);

        if (t != NULL) {
            shpool_spin_lock(&t->lock);
            finished = shpool_timeline_poll(table, t);
            shpool_spin_unlock(&t->lock);
        }
    }
    return finished;
}

/* A timeline whose stream is gone and has finished can be reused for another stream: its numbers
 * continue, so that all older ones stay done.  The shards of that stream stay with it. */
static shpool_timeline *recycle(shpool_timelines *table)
{
    shpool_timeline *t = atomic_load_explicit(&table->all, memory_order_relaxed);

    for (; t != NULL; t = t->next) {
        if ((t->home == t) && t->gone && have_finished(table, t)) {
            shpool_spin_lock(&t->lock);
            if (shpool_timeline_poll(table, t)) {
                return t;
            }
            shpool_spin_unlock(&t->lock);
        }
    }
    return NULL;
}

/* A new one, in no stream's use, which is not yet in the list; NULL: no memory. */
static shpool_timeline *create(const shpool_timelines *table, shpool_timeline *home)
{
    shpool_timeline *t = aligned_alloc(SHPOOL_CACHE_LINE, table->lane_bytes);

    if (t != NULL) {
        memset(t, 0, table->lane_bytes);
        t->gone = 1;
        t->home = (home != NULL) ? home : t;
    }
    return t;
}

static void publish(shpool_timelines *table, shpool_timeline *t)
{
    t->next = atomic_load_explicit(&table->all, memory_order_relaxed);
    atomic_store_explicit(&table->all, t, memory_order_release);
}

/* Returns it locked; NULL: no memory. */
static shpool_timeline *make(shpool_timelines *table)
{
    shpool_timeline *t = recycle(table);

    if (t != NULL) {
        return t;
    }
    t = create(table, NULL);
    if (t != NULL) {
        shpool_spin_lock(&t->lock);
        publish(table, t);
        atomic_fetch_add_explicit(&table->count, 1, memory_order_relaxed);
    }
    return t;
}

static void begin(shpool_timelines *table, shpool_timeline *t, shpool_stream stream,
                  uint64_t thread, unsigned long long id)
{
    t->incarnation++;
    t->stream = stream;
    t->thread = thread;
    t->id = id;
    t->named = 0;
    t->stable = table->assume_stable || shpool_stream_is_default(stream);
    t->gone = 0;
    /* the first stream is alone, and often stays so; others are there to be shared with */
    t->wanted = (t->stable && (thread == 0)) ||
                (atomic_load_explicit(&table->count, memory_order_relaxed) < 2)
                    ? 0 : SHPOOL_TIMELINE_WANTED;
}

/* A shard is as its stream's first one; both are locked, or not yet published. */
static void follow(shpool_timeline *shard, const shpool_timeline *home)
{
    shard->incarnation++;
    shard->stream = home->stream;
    shard->thread = home->thread;
    shard->id = home->id;
    shard->named = 0;
    shard->stable = home->stable;
    shard->gone = home->gone;
    shard->wanted = (home->stable || home->gone) ? 0 : SHPOOL_TIMELINE_WANTED;
}

/* The first one has changed, and is locked; so is the table, which alone permits two locks. */
static void follow_all(shpool_timeline *home)
{
    for (unsigned i = 0; i < SHPOOL_TIMELINE_SHARDS; i++) {
        shpool_timeline *t = shard_of(home, i);

        if (t != NULL) {
            shpool_spin_lock(&t->lock);
            follow(t, home);
            shpool_spin_unlock(&t->lock);
        }
    }
}

#define ID_UNKNOWN (~0ull)

/* The driver's id of a stream distinguishes it from a later one with the same handle; 0: not
 * queried.  ID_UNKNOWN: the stream captures, and a query would end the capture; the stream is then
 * alive, and thus the one that had the handle before. */
static shpool_status ask_id(const shpool_timelines *table, shpool_stream stream,
                            unsigned long long *id_p)
{
    const shpool_driver *cu = table->device->cu;
    cu_result result;
    int captures;

    *id_p = 0;
    if (table->assume_stable || shpool_stream_is_default(stream) || (cu->stream_id == NULL)) {
        return SHPOOL_OK;
    }
    result = shpool_timeline_captures(table, stream, &captures);
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuStreamIsCapturing", result);
    }
    if (captures) {
        *id_p = ID_UNKNOWN;
        return SHPOOL_OK;
    }
    result = cu->stream_id(stream, id_p);
    return (result == CU_SUCCESS) ? SHPOOL_OK : shpool_driver_failed(cu, "cuStreamGetId", result);
}

static void remember(const shpool_timelines *table, shpool_timeline *t)
{
    *shpool_timeline_slot(table, t->stream) = (shpool_timeline_seen){
        .table = table->id, .stream = t->stream, .timeline = t, .incarnation = t->incarnation,
        .id = t->stable ? 0 : t->id,
    };
}

/* The thread's shard of a stream, new if need be; table->lock is held, no timeline's is.  NULL: no
 * memory, or the first one is the thread's. */
static shpool_timeline *add_shard(shpool_timelines *table, shpool_timeline *home)
{
    unsigned which = (unsigned)(shpool_thread_number() % SHPOOL_TIMELINE_SHARDS);
    shpool_timeline *t = (which > 0) ? shard_of(home, which) : NULL;

    if ((t != NULL) || (which == 0)) {
        return t;
    }
    t = create(table, home);
    if (t != NULL) {
        shpool_spin_lock(&home->lock);
        follow(t, home);
        shpool_spin_unlock(&home->lock);
        publish(table, t);
        /* release: pairs with the acquire in shard_of() */
        atomic_store_explicit(&home->shard[which], t, memory_order_release);
        /* release: pairs with the acquire of those that look for shards only then */
        atomic_store_explicit(&home->sharded, 1, memory_order_release);
    }
    return t;
}

void shpool_timeline_met(shpool_timeline_seen *seen)
{
    uint32_t now = (uint32_t)seen->timeline->seq;

    if (now - seen->since > SHPOOL_TIMELINE_WINDOW) {
        seen->since = now;
        seen->taken = 0;
    }
    seen->taken++;
}

void shpool_timeline_crowded(shpool_timelines *table, shpool_timeline_seen *seen)
{
    shpool_timeline *home = seen->timeline->home;
    shpool_timeline *t;

    if (!table->shards || (seen->taken < SHPOOL_TIMELINE_PATIENCE)) {
        return;
    }
    seen->taken = 0;
    if (home != seen->timeline) {
        return; /* another thread's number gives the same shard */
    }
    shpool_mutex_lock(&table->lock);
    t = home->gone ? NULL : add_shard(table, home); /* gone changes under table->lock, too */
    if (t != NULL) {
        shpool_spin_lock(&home->lock);
        /* otherwise the handle means another stream by now, which the caller finds */
        if (home->incarnation == seen->incarnation) {
            shpool_spin_lock(&t->lock);
            seen->timeline = t;
            seen->incarnation = t->incarnation;
            shpool_spin_unlock(&t->lock);
        }
        shpool_spin_unlock(&home->lock);
    }
    shpool_mutex_unlock(&table->lock);
}

/* If the stream was passed to record_stream, its last use also has a number; an event covers it if
 * the stream was retired in time. */
static void set_gone(shpool_timelines *table, shpool_timeline *t, int record)
{
    t->seq += (t->named != 0);
    if (record) {
        shpool_timeline_record(table, t);
    }
    t->gone = 1;
    t->incarnation++;
    t->wanted = 0;
    for (unsigned i = 0; (t->home == t) && (i < SHPOOL_TIMELINE_SHARDS); i++) {
        shpool_timeline *shard = shard_of(t, i);

        if (shard != NULL) {
            shpool_spin_lock(&shard->lock);
            set_gone(table, shard, record);
            shpool_spin_unlock(&shard->lock);
        }
    }
}

static shpool_timeline *lock_incarnation(const shpool_timeline_seen *seen)
{
    shpool_spin_lock(&seen->timeline->lock);
    if (seen->timeline->incarnation == seen->incarnation) {
        return seen->timeline;
    }
    shpool_spin_unlock(&seen->timeline->lock);
    return NULL;
}

/* A stream that is not stable, seen by this thread before: still the same one?  NULL: no; else
 * locked.  A free that records no event need not ask. */
static shpool_timeline *lock_seen(const shpool_timelines *table, shpool_stream stream, int frees)
{
    const shpool_timeline_seen *seen = shpool_timeline_slot(table, stream);
    shpool_timeline *t;
    unsigned long long id;

    if ((seen->table != table->id) || (seen->stream != stream) || (seen->id == 0)) {
        return NULL;
    }
    if (frees && (seen->id != ID_UNKNOWN)) {
        t = lock_incarnation(seen);
        if ((t == NULL) || (t->wanted == 0)) {
            return t;
        }
        shpool_spin_unlock(&t->lock);
    }
    if ((ask_id(table, stream, &id) != SHPOOL_OK) || ((seen->id != id) && (id != ID_UNKNOWN))) {
        return NULL;
    }
    return lock_incarnation(seen);
}

/* A stable stream is known by its handle; returned locked. */
static shpool_timeline *lock_stable(shpool_timelines *table, shpool_stream stream, uint64_t thread)
{
    shpool_timeline *t;

    shpool_mutex_lock(&table->lock);
    t = find_locked(table, stream, thread);
    if (t != NULL) {
        shpool_spin_lock(&t->lock);
        if (t->stable) {
            remember(table, t);
        } else {
            shpool_spin_unlock(&t->lock);
            t = NULL;
        }
    }
    shpool_mutex_unlock(&table->lock);
    return t;
}

/* The one for this stream, new if need be; returned locked.  NULL: no memory. */
static shpool_timeline *lock_or_make(shpool_timelines *table, shpool_stream stream,
                                     uint64_t thread, unsigned long long id)
{
    shpool_timeline *t;

    shpool_mutex_lock(&table->lock);
    t = find_locked(table, stream, thread);
    if (t != NULL) {
        shpool_spin_lock(&t->lock);
        if (!t->stable && (t->id == ID_UNKNOWN)) {
            t->id = id; /* it was first seen as it captured */
        } else if (!t->stable && (t->id != id) && (id != ID_UNKNOWN)) {
            set_gone(table, t, 0); /* its stream was destroyed, this is another one */
            shpool_spin_unlock(&t->lock);
            t = NULL;
        }
    }
    if (t == NULL) {
        t = make(table);
        if (t != NULL) {
            begin(table, t, stream, thread, id);
            follow_all(t);
        }
    }
    if (t != NULL) {
        remember(table, t);
    }
    shpool_mutex_unlock(&table->lock);
    return t;
}

static shpool_status lock_unknown(shpool_timelines *table, shpool_stream stream, int frees,
                                  shpool_timeline **timeline_p)
{
    uint64_t thread = (stream == SHPOOL_STREAM_PER_THREAD) ? shpool_thread_number() : 0;
    unsigned long long id;
    shpool_status status;

    *timeline_p = lock_seen(table, stream, frees);
    if (*timeline_p == NULL) {
        *timeline_p = lock_stable(table, stream, thread);
    }
    if (*timeline_p != NULL) {
        return SHPOOL_OK;
    }
    status = ask_id(table, stream, &id);
    if (status == SHPOOL_OK) {
        *timeline_p = lock_or_make(table, stream, thread, id);
        if (*timeline_p == NULL) {
            status = shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a stream's record");
        }
    }
    return status;
}

static shpool_status lock_for(shpool_timelines *table, shpool_stream stream, int frees,
                              shpool_timeline **timeline_p)
{
    shpool_timeline_seen *seen = shpool_timeline_known(table, stream);

    if (seen != NULL) {
        if (!shpool_spin_try(&seen->timeline->lock)) {
            shpool_timeline_crowded(table, seen);
            shpool_spin_lock(&seen->timeline->lock);
            shpool_timeline_met(seen);
        }
        if (SHPOOL_LIKELY(seen->timeline->incarnation == seen->incarnation)) {
            *timeline_p = seen->timeline;
            return SHPOOL_OK;
        }
        shpool_spin_unlock(&seen->timeline->lock);
    }
    return lock_unknown(table, (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream, frees, timeline_p);
}

shpool_status shpool_timeline_lock(shpool_timelines *table, shpool_stream stream,
                                   shpool_timeline **timeline_p)
{
    return lock_for(table, stream, 0, timeline_p);
}

shpool_status shpool_timeline_lock_to_free(shpool_timelines *table, shpool_stream stream,
                                           shpool_timeline **timeline_p)
{
    return lock_for(table, stream, 1, timeline_p);
}

shpool_status shpool_timeline_retire(shpool_timelines *table, shpool_stream stream)
{
    shpool_timeline *t;
    shpool_status status;

    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    if (shpool_stream_is_default(stream)) {
        return shpool_error(SHPOOL_ERR_INVALID, "the default streams are never destroyed");
    }
    status = shpool_timeline_lock(table, stream, &t);
    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_spin_unlock(&t->lock);

    shpool_mutex_lock(&table->lock);
    t = find_locked(table, stream, 0);
    if (t != NULL) {
        shpool_spin_lock(&t->lock);
        set_gone(table, t, 1);
        shpool_spin_unlock(&t->lock);
    }
    shpool_mutex_unlock(&table->lock);
    return SHPOOL_OK;
}

/* A stream's first timeline; table->lock is held, too. */
static void set_stable(shpool_timeline *t)
{
    if (!t->stable) {
        t->stable = 1;
        t->id = 0;
        t->wanted = 0;
        t->incarnation++; /* threads that have seen it query again, once */
        follow_all(t);
    }
}

shpool_status shpool_timeline_stable(shpool_timelines *table, shpool_stream stream)
{
    shpool_timeline *t;
    shpool_status status = shpool_timeline_lock(table, stream, &t);
    int stable;

    if (status != SHPOOL_OK) {
        return status;
    }
    stable = t->stable;
    shpool_spin_unlock(&t->lock);
    if (stable) {
        return SHPOOL_OK; /* the default streams, too */
    }

    shpool_mutex_lock(&table->lock); /* shards that an earlier stream left are locked below */
    t = find_locked(table, stream, 0);
    if (t != NULL) {
        shpool_spin_lock(&t->lock);
        set_stable(t);
        shpool_spin_unlock(&t->lock);
    }
    shpool_mutex_unlock(&table->lock);
    return SHPOOL_OK;
}

/* ---- the last resort ---- */

/* One at a time: an earlier wait does not cover a later snapshot. */
static shpool_status sync_locked(shpool_timelines *table)
{
    shpool_timeline *all = atomic_load_explicit(&table->all, memory_order_acquire);
    shpool_status status;

    for (shpool_timeline *t = all; t != NULL; t = t->next) {
        shpool_spin_lock(&t->lock);
        t->snapshot = t->seq;
        shpool_spin_unlock(&t->lock);
    }
    status = shpool_device_sync(table->device);
    for (shpool_timeline *t = all; (t != NULL) && (status == SHPOOL_OK); t = t->next) {
        shpool_spin_lock(&t->lock);
        shpool_timeline_set_done(t, t->snapshot);
        shpool_spin_unlock(&t->lock);
    }
    return status;
}

shpool_status shpool_timelines_sync(shpool_timelines *table)
{
    shpool_status status;

    shpool_mutex_lock(&table->sync_lock);
    status = sync_locked(table);
    shpool_mutex_unlock(&table->sync_lock);
    return status;
}

/* ---- streams that wait for others: for bases whose free waits on the device ---- */

/* Let work that is captured on `stream` from now on wait for all that was captured on `user`.  The
 * event is part of the graph: the driver must not be asked about it later. */
static shpool_status join_captured(const shpool_timelines *table, shpool_stream user,
                                   shpool_stream stream)
{
    const shpool_driver *cu = table->device->cu;
    shpool_event event = NULL;
    cu_result result;
    int left;
    shpool_status status;

    if (shpool_device_capture_of(table->device, user) !=
        shpool_device_capture_of(table->device, stream)) {
        return shpool_error(SHPOOL_ERR_CAPTURE, "a stream that captures a graph uses the memory: "
                            "free it on a stream of that capture, or after the capture");
    }
    status = shpool_device_enter(table->device, &left);
    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->event_create(&event, CU_EVENT_DISABLE_TIMING);
    if (result == CU_SUCCESS) {
        result = cu->event_record(event, user);
        result = (result == CU_SUCCESS) ? cu->stream_wait(stream, event, 0) : result;
        (void)cu->event_destroy(event);
    }
    shpool_device_leave(table->device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(cu, "an event of a capture", result);
}

/* Let work submitted to `stream` from now on wait for all work submitted to `user` so far: on the
 * device or, if no event can be recorded, on the host. */
static shpool_status join(shpool_timelines *table, shpool_stream user, shpool_stream stream)
{
    shpool_timeline *t;
    uint64_t seq;
    int ordered;
    int captures;
    shpool_status status;

    (void)shpool_device_captures(table->device, user, &captures);
    if (captures) {
        return join_captured(table, user, stream);
    }
    status = shpool_timeline_lock(table, user, &t);
    if (status != SHPOOL_OK) {
        return status;
    }
    seq = shpool_timeline_mark(table, t);
    if (!t->stable && (t->thread == 0)) {
        shpool_timeline_record(table, t); /* the handle is valid now, and perhaps never again */
    }
    ordered = shpool_timeline_order(table, t, seq, stream);
    shpool_spin_unlock(&t->lock);
    return ordered ? SHPOOL_OK : shpool_timelines_sync(table);
}

shpool_status shpool_timeline_use_make(shpool_stream user, shpool_timeline_use **use_p)
{
    shpool_timeline_use *use = malloc(sizeof(*use));

    if (use == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to note a stream");
    }
    use->next = NULL;
    use->stream = (user == NULL) ? SHPOOL_STREAM_LEGACY : user;
    use->thread = (user == SHPOOL_STREAM_PER_THREAD) ? shpool_thread_number() : 0;
    *use_p = use;
    return SHPOOL_OK;
}

static shpool_status join_use(shpool_timelines *table, const shpool_timeline_use *use,
                              shpool_stream stream)
{
    if ((use->thread != 0) && (use->thread != shpool_thread_number())) {
        return shpool_timelines_sync(table); /* the handle means another stream here */
    }
    return join(table, use->stream, stream);
}

shpool_status shpool_timeline_uses_join(shpool_timelines *table, shpool_timeline_use **uses_p,
                                        shpool_stream stream)
{
    while (*uses_p != NULL) {
        shpool_timeline_use *use = *uses_p;
        shpool_status status = join_use(table, use, stream);

        if (status != SHPOOL_OK) {
            return status;
        }
        *uses_p = use->next;
        free(use);
    }
    return SHPOOL_OK;
}

void shpool_timeline_uses_free(shpool_timeline_use *use)
{
    while (use != NULL) {
        shpool_timeline_use *next = use->next;

        free(use);
        use = next;
    }
}
