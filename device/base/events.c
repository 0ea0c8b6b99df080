/* SPDX-License-Identifier: BSD-3-Clause */
/* Timelines: the events that cover their numbers, and questions about them to the driver. */
#include "timeline.h"

uint64_t shpool_thread_number(void)
{
    static _Atomic uint64_t last;
    static SHPOOL_FAST_TLS uint64_t number;

    if (number == 0) {
        /* relaxed: the addition alone makes them differ */
        number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    }
    return number;
}

/* ---- captures ---- */

cu_result shpool_timeline_captures(const shpool_timelines *table, shpool_stream stream,
                                   int *captures_p)
{
    cu_result result;

    *captures_p = 0;
    if ((stream == NULL) || (stream == SHPOOL_STREAM_LEGACY)) {
        return CU_SUCCESS;
    }
    result = shpool_device_captures(table->device, stream, captures_p);
    *captures_p |= (result != CU_SUCCESS);
    return result;
}

/* 1: an event that is recorded there, a question or a wait would become part of a graph, or end the
 * capture of one. */
static int is_off_limits(const shpool_timelines *table, shpool_stream stream)
{
    int captures;
    cu_result result = shpool_device_captures(table->device, stream, &captures);

    return captures || (result != CU_SUCCESS);
}

/* ---- events that cover numbers; the timeline is locked ---- */

/* The place for the next event.  A full ring gives up the number of its youngest event, which is
 * recorded again and then covers more. */
static unsigned next_place(shpool_timeline *timeline)
{
    if (timeline->count == SHPOOL_TIMELINE_EVENTS) {
        timeline->count--;
    }
    return (timeline->first + timeline->count) % SHPOOL_TIMELINE_EVENTS;
}

static cu_result record_at(shpool_timelines *table, shpool_timeline *timeline, unsigned place)
{
    const shpool_driver *cu = table->device->cu;
    shpool_event *event_p = &timeline->ring[place].event;
    cu_result result = CU_SUCCESS;
    int left = 0;

    if (is_off_limits(table, timeline->stream)) {
        return CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if ((*event_p == NULL) || shpool_stream_is_default(timeline->stream)) {
        if (!shpool_device_enter_quietly(table->device, &left)) {
            return CU_ERROR_INVALID_CONTEXT;
        }
    }
    if (*event_p == NULL) {
        result = cu->event_create(event_p, CU_EVENT_DISABLE_TIMING);
        if (result != CU_SUCCESS) {
            *event_p = NULL;
        }
    }
    if (result == CU_SUCCESS) {
        result = cu->event_record(*event_p, timeline->stream);
    }
    shpool_device_leave(table->device, left);
    return result;
}

void shpool_timeline_record(shpool_timelines *table, shpool_timeline *timeline)
{
    unsigned place;
    uint64_t lost = 0;

    if ((timeline->covered == timeline->seq) ||
        ((timeline->thread != 0) && (timeline->thread != shpool_thread_number()))) {
        return;
    }
    place = next_place(timeline);
    if (record_at(table, timeline, place) != CU_SUCCESS) {
        /* a full ring may have lost its youngest event, whose frees are then uncovered again */
        lost = (timeline->count > 0)
                   ? timeline->ring[(timeline->first + timeline->count - 1) %
                                    SHPOOL_TIMELINE_EVENTS].seq
                   : atomic_load_explicit(&timeline->done, memory_order_relaxed);
        timeline->covered = lost;
        return;
    }
    atomic_fetch_add_explicit(&table->events_recorded, 1, memory_order_relaxed);
    timeline->ring[place].seq = timeline->seq;
    timeline->count++;
    timeline->covered = timeline->seq;
}

int shpool_timeline_may_record(const shpool_timeline *timeline)
{
    if (timeline->gone) {
        return 0;
    }
    return (timeline->thread != 0) ? (timeline->thread == shpool_thread_number())
                                   : timeline->stable;
}

void shpool_timeline_want(shpool_timelines *table, shpool_timeline *timeline)
{
    if (timeline->covered == timeline->seq) {
        return;
    }
    if (shpool_timeline_may_record(timeline)) {
        shpool_timeline_record(table, timeline);
    } else if (!timeline->gone) {
        timeline->wanted = SHPOOL_TIMELINE_WANTED;
    }
}

void shpool_timeline_set_done(shpool_timeline *timeline, uint64_t seq)
{
    if (seq > atomic_load_explicit(&timeline->done, memory_order_relaxed)) {
        /* release: pairs with the acquire in shpool_timeline_is_done() */
        atomic_store_explicit(&timeline->done, seq, memory_order_release);
    }
    if (seq > timeline->covered) {
        timeline->covered = seq;
    }
}

int shpool_timeline_poll(shpool_timelines *table, shpool_timeline *timeline)
{
    int asks = (timeline->count > 0);

    if (asks) {
        shpool_device_relax(table->device);
    }
    while (timeline->count > 0) {
        if (table->device->cu->event_query(timeline->ring[timeline->first].event) != CU_SUCCESS) {
            break;
        }
        shpool_timeline_set_done(timeline, timeline->ring[timeline->first].seq);
        timeline->first = (timeline->first + 1) % SHPOOL_TIMELINE_EVENTS;
        timeline->count--;
    }
    if (asks) {
        shpool_device_restore(table->device);
    }
    return atomic_load_explicit(&timeline->done, memory_order_relaxed) == timeline->seq;
}

/* An idle stream has finished everything, without an event that itself takes time to complete. */
static int is_idle(const shpool_timelines *table, shpool_timeline *timeline)
{
    const shpool_device *device = table->device;
    cu_result result;
    int left = 0;

    if (!shpool_timeline_may_record(timeline) || is_off_limits(table, timeline->stream) ||
        (shpool_stream_is_default(timeline->stream) &&
         !shpool_device_enter_quietly(device, &left))) {
        return 0;
    }
    shpool_device_relax(device);
    result = device->cu->stream_query(timeline->stream);
    shpool_device_restore(device);
    shpool_device_leave(device, left);
    return result == CU_SUCCESS;
}

int shpool_timeline_chase(shpool_timelines *table, shpool_timeline *timeline)
{
    int finished;

    shpool_device_hold();
    finished = shpool_timeline_poll(table, timeline);
    if (!finished && (timeline->covered < timeline->seq) && is_idle(table, timeline)) {
        shpool_timeline_set_done(timeline, timeline->seq);
        timeline->count = 0;
        finished = 1;
    }
    if (!finished) {
        shpool_timeline_want(table, timeline);
    }
    shpool_device_restore(table->device);
    return finished;
}

int shpool_timeline_can_order(shpool_timeline *timeline, uint64_t seq)
{
    int can;

    shpool_spin_lock(&timeline->lock);
    can = (timeline->covered >= seq) || shpool_timeline_may_record(timeline);
    shpool_spin_unlock(&timeline->lock);
    return can;
}

int shpool_timeline_order(shpool_timelines *table, shpool_timeline *timeline, uint64_t seq,
                          shpool_stream stream)
{
    const shpool_driver *cu = table->device->cu;
    cu_result result = CU_ERROR_INVALID_HANDLE;
    int left = 0;

    if (shpool_timeline_is_done(timeline, seq)) {
        return 1;
    }
    if (is_off_limits(table, stream)) {
        return 0;
    }
    if (timeline->covered < seq) {
        shpool_timeline_want(table, timeline);
    }
    for (unsigned i = 0; (timeline->covered >= seq) && (i < timeline->count); i++) {
        unsigned place = (timeline->first + i) % SHPOOL_TIMELINE_EVENTS;

        if (timeline->ring[place].seq < seq) {
            continue;
        }
        if (shpool_stream_is_default(stream) &&
            !shpool_device_enter_quietly(table->device, &left)) {
            return 0;
        }
        result = cu->stream_wait(stream, timeline->ring[place].event, 0);
        shpool_device_leave(table->device, left);
        break;
    }
    return result == CU_SUCCESS;
}
