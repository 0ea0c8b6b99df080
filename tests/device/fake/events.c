/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver: events. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

cu_result f_event_create(shpool_event *event, unsigned flags)
{
    FAKE_ENTER(event_create)
    (void)flags;
    if (fake_current() < 0) {
        return CU_ERROR_INVALID_CONTEXT;
    }
    *event = calloc(1, sizeof(**event));
    (*event)->device = fake_current();
    (*event)->next = fake.events;
    fake.events = *event;
    fake.held.events++;
    return CU_SUCCESS;
}

cu_result f_event_destroy(shpool_event event)
{
    struct CUevent_st **at = &fake.events;

    FAKE_ENTER(event_destroy)
    while (*at != event) {
        at = &(*at)->next;
    }
    *at = event->next;
    free(event);
    fake.held.events--;
    return CU_SUCCESS;
}

cu_result f_event_record(shpool_event event, shpool_stream stream)
{
    FAKE_ENTER(event_record)
    int line = fake_line_of(stream);
    if ((line < 0) || (fake.line[line].device != event->device)) {
        fake_violate("an event is recorded on a stream of another device, or on none");
        return CU_ERROR_INVALID_HANDLE;
    }
    if (fake_is_off_limits(line)) {
        return CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    event->captured = fake_is_captured(stream) ? stream : NULL;
    if (event->captured != NULL) {
        event->graph = stream->graph;
        event->branch = stream->branch;
        return CU_SUCCESS;
    }
    fake_submit((unsigned)line);
    event->recorded = 1;
    memcpy(event->covers, fake.line[line].knows, sizeof(event->covers));
    return CU_SUCCESS;
}

/* A GPU that lags works on while the host looks at it. */
static void go_on(const fake_clock covers)
{
    for (unsigned i = 0; (fake.lag > 0) && (i < fake.lines); i++) {
        fake.done[i] += (fake.done[i] < covers[i]);
    }
}

cu_result f_event_query(shpool_event event)
{
    FAKE_ENTER(event_query)
    FAKE_UNSAFE("cuEventQuery")
    if (event->captured != NULL) {
        fake_violate("cuEventQuery of an event of a graph");
        return CU_ERROR_CAPTURED_EVENT;
    }
    if (!fake_is_done(event->covers)) {
        go_on(event->covers);
        return CU_ERROR_NOT_READY;
    }
    fake_join(fake.host, event->covers);
    return CU_SUCCESS;
}

cu_result f_event_sync(shpool_event event)
{
    FAKE_ENTER(event_sync)
    FAKE_UNSAFE("cuEventSynchronize")
    if (event->captured != NULL) {
        fake_violate("cuEventSynchronize of an event of a graph");
        return CU_ERROR_CAPTURED_EVENT;
    }
    fake_join(fake.done, event->covers);
    fake_join(fake.host, event->covers);
    return CU_SUCCESS;
}

/* A millisecond for each piece of work of the first stream between the two. */
cu_result f_event_elapsed(float *milliseconds, shpool_event start, shpool_event end)
{
    uint64_t sum = 0;

    FAKE_ENTER(event_elapsed)
    if (!start->recorded || !end->recorded) {
        return CU_ERROR_INVALID_HANDLE;
    }
    for (unsigned i = 0; i < fake.lines; i++) {
        sum += end->covers[i] - start->covers[i];
    }
    *milliseconds = (float)sum;
    return CU_SUCCESS;
}
